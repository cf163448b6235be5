#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Memory of connections is charged to the control group of the program, at both ends: a
# connection request is handled by a task of the kernel, for the listener's program.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/sdp/memcg.bash
. "$(dirname "$0")/memcg.bash"
need python3 rdma sdpstat
COUNT=50

# pages serve|connect: KiB of kernel memory charged to the program's group, without slab
# objects. Completion queues of the core's pool, which the device keeps, are included.
pages() {
	awk '$1 == "kernel" || $1 == "sock" { sum += $2 } $1 == "slab" { sum -= $2 }
		END { print int(sum / 1024) }' "$GROUP-$1/memory.stat"
}

# given_back: hardly any kernel memory is charged to the groups of both programs
given_back() {
	[ "$(pages serve)" -lt 300 ] && [ "$(pages connect)" -lt 300 ]
}

# grown NAME LEAST DESCRIPTION: at least LEAST KiB more than BEFORE are charged to the program
grown() {
	local now

	now=$(charged "$1")
	ktap_check "$3: $((now - BEFORE)) KiB" test $((now - BEFORE)) -ge "$2"
}

holds() { [ $(($(charged serve) - HELD)) -ge "$1" ]; }

# link NAME LEAST-SERVER LEAST-CLIENT LEAST-FULL LEAST-UNREAD
link() {
	local before

	program serve $COUNT $COUNT
	program connect $COUNT $COUNT
	BEFORE=$(charged serve)
	before=$(charged connect)
	ktap_check "$1: $COUNT connections are established" connected
	grown serve "$2" "$1: the program that accepts is charged"
	BEFORE=$before
	grown connect "$3" "$1: the program that connects is charged"
	BEFORE=$(charged connect) HELD=$(charged serve)
	ktap_check "$1: the connections are full" filled
	grown connect "$4" "$1: the program that connects is charged for data that wait"
	ktap_check "$1: the reader is charged for data that wait for it" wait_for 20 holds "$5"
	ktap_diag "$(($(charged serve) - HELD)) KiB"
	end connect
	end serve
	ktap_check "$1: all is given back" wait_for 10 given_back
	rmdir $GROUP-serve $GROUP-connect
}

# established: number of connections of the program that accepts
established() {
	in_b sdpstat -a | grep -c ESTAB
}

none_established() {
	[ "$(established)" -eq 0 ]
}

# ended LEAST: the connections end before the program has read
ended() {
	PORT=$((PORT + 1))
	program serve $COUNT $COUNT
	program connect $COUNT $COUNT
	ktap_check "ended: $COUNT connections are established" connected
	HELD=$(charged serve)
	ktap_check "ended: the connections are full" filled
	ktap_check "ended: the reader is charged for data that wait for it" wait_for 20 holds "$1"
	ktap_is "ended: all connections are established before the device goes" "$(established)" $COUNT
	rdma link delete rda
	ktap_check "ended: the device goes, and the connections with it" \
		wait_for 20 none_established
	# the engines end, and what is charged for the time being is given back
	sleep 1
	ktap_check "ended: the reader is still charged, $(($(charged serve) - HELD)) KiB" holds "$1"
	end connect
	end serve
	ktap_check "ended: all is given back" wait_for 10 given_back
	rmdir $GROUP-serve $GROUP-connect
}

groups_up
modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
link "shared link" 300 300 3000 $((COUNT * 96))
for ns in a b; do
	in_$ns sysctl -qw net.sdp.shared_link=0
done
PORT=$((PORT + 1))
# the core's completion queues are charged to the program whose connection needed them first
link "verbs link" 800 800 10000 $((COUNT * 200))
for ns in a b; do
	in_$ns sysctl -qw net.sdp.shared_link=1
done
ended $((COUNT * 96))
ktap_done
