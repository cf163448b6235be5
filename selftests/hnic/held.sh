#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# hnic: packets that wait. Those ahead of the device leave after the number of queues has
# changed, although no further packets follow. Those on the wire are limited in bytes, and
# charged to the control group that made the link.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need ethtool python3 tc
modprobe hnic

knob() { echo "$2" >"/sys/class/net/ha/hnic/$1"; }
stat_of() { ethtool -S "$1" | awk -v n="$2:" '$1 == n { print $2 }'; }

# pair OPTION...: ha and hb, where nothing is sent unasked, and a neighbour
pair() {
	# shellcheck disable=SC2016
	sh -c '[ -z "$1" ] || echo $$ >"$1"; shift; exec ip link add "$@"' x \
		"${GROUP:+$GROUP/cgroup.procs}" ha "$@" type hnic peer name hb "$@" ||
		ktap_skip_all "no link"
	sysctl -qw net.ipv6.conf.ha.disable_ipv6=1 net.ipv6.conf.hb.disable_ipv6=1
	ip addr add 10.9.0.1/24 dev ha
	ip link set ha up
	ip link set hb up
	ip neigh add 10.9.0.2 dev ha nud permanent lladdr "$(cat /sys/class/net/hb/address)"
}

# datagrams N SIZE: send all of them, without waiting for room
datagrams() {
	python3 - "$@" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.SOL_SOCKET, 32, 1 << 28)  # SO_SNDBUFFORCE
		s.setblocking(False)
		for _ in range(int(sys.argv[1])):
		    s.sendto(bytes(int(sys.argv[2])), ("10.9.0.2", 9))
	END
}

backlog() { tc -s qdisc show dev ha | awk '/backlog/ { sub("p", "", $3); n += $3 } END { print n + 0 }'; }
empty() { [ "$(backlog)" = 0 ]; }

pair numtxqueues 2 numrxqueues 2
ethtool -L ha combined 1
echo 1514 >/sys/class/net/ha/queues/tx-0/byte_queue_limits/limit_max
knob rate 1
datagrams 900 1400
ktap_check "packets wait ahead of the device" test "$(backlog)" -gt 0
ktap_check "the number of queues can be changed" ethtool -L ha combined 2
ktap_check "the packets still wait" test "$(backlog)" -gt 0
knob rate 0
ktap_check "the packets are sent" wait_for 10 empty
ip link del ha

# A control group; its processes pay for what they allocate
GROUP=/sys/fs/cgroup/hnic
[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
if echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir $GROUP; then
	defer rmdir $GROUP
else
	GROUP=
fi
charged() { cat $GROUP/memory.current; }

# packets take 2 s on the way, and are twice as many bytes as the wire may hold
pair mtu 9600 txqueuelen 4000
limit=$((8 << 20))
knob delay 1000000
knob path_delay 1000000
[ -z "$GROUP" ] || before=$(charged)
all=$((2 * limit / 9000))
datagrams $all 9000
most=0
for ((i = 0; i < 20; i++)); do
	there=$(stat_of ha tx_engine_bytes)
	there=$((there - $(stat_of hb rx_engine_bytes)))
	[ $there -lt $most ] || most=$there
	sleep 0.1
done
ktap_check "$most bytes on the wire: a burst more than its limit at most" \
	test $most -lt $((limit + limit / 4))
# some of it is kept for those that come next
what="the link's creator is charged for that"
if [ -n "$GROUP" ]; then
	ktap_check "$what" test $(($(charged) - before)) -gt $((3 << 20))
else
	ktap_skip "$what" "no control group for memory"
fi
ip link del ha
ktap_done
