#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long mem=4G timeout=1800
#
# The memory that connections take, and how much of it the programs' control groups are
# charged for: idle, with data that the peer does not read, and when their program has
# ended with such data. For each flow control, and TCP. Prints KiB.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/sdp/memcg.bash
. "$(dirname "$0")/memcg.bash"
need python3 sdpstat
need_research
COUNT=$(scaled 1000 100)
FULL=$((COUNT / 5))
# KiB that an idle end may take, TCP's socket and file included
declare -A LIMIT=([tcp]=6 [transport]=20 [credit]=48 [rdma]=384 [vwin]=48)

# used: KiB of memory taken since FREE
used() { echo $((FREE - $(free_kb))); }

# both: KiB charged to both groups since BEFORE
both() { echo $(($(charged serve) + $(charged connect) - BEFORE)); }

# current: KiB of memory.current of the server's group
current() { echo $(($(cat $GROUP-serve/memory.current) / 1024)); }

# orphans NAME: number of connections of the program that has ended
orphans() {
	if [ "$1" = tcp ]; then
		in_a ss -Hnt dport = :$PORT | wc -l
	else
		in_a sdpstat -a | grep -c ":$PORT\b"
	fi
}

# cost NAME PROTOCOL
cost() {
	local idle full

	PORT=$((PORT + 1))
	program serve "$COUNT" "$FULL" "$2"
	program connect "$COUNT" "$FULL" "$2"
	FREE=$(free_kb) BEFORE=$(($(charged serve) + $(charged connect)))
	ktap_check "$1: $COUNT connections are established" connected
	sleep 5
	idle=$(used)
	ktap_diag "$1: idle, an end: $((idle / COUNT / 2)) used; all: $idle used," \
		"$(both) charged, memory.current of the server: $(current)"
	is_debug || ktap_check "$1: an idle end takes at most ${LIMIT[$1]} KiB" \
		[ $((idle / COUNT / 2)) -le "${LIMIT[$1]}" ]
	ktap_check "$1: the buffers of $FULL connections are full" filled
	sleep 5
	full=$(used)
	ktap_diag "$1: unread, a connection: $(((full - idle) / FULL)) used; all: $full used," \
		"$(both) charged, memory.current of the server: $(current)"
	end connect
	sleep 5
	ktap_diag "$1: closed with data: $(orphans "$1") connections, $(used) used"
	end serve
	ktap_check "$1: the control groups can be removed" wait_for 30 rmdir $GROUP-serve $GROUP-connect
}

groups_up
modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
# more than any of them needs, in pages
sysctl -qw net.sdp.mem="500000 500000 500000"
sysctl -qw net.ipv4.tcp_max_orphans=32
in_a sysctl -q -w net.sdp.max_orphans=32
cost tcp 0
cost transport 257
for ns in a b; do
	in_$ns sysctl -qw net.sdp.shared_link=0
done
for policy in credit rdma vwin; do
	for ns in a b; do
		in_$ns sysctl -qw net.sdp.flow_control=$policy
	done
	cost $policy 257
done
ktap_done
