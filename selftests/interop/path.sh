#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# The path MTU shrinks in the middle of a Write, and a router reports it by ICMP. TCP
# segments the data that it already has again; the FPDUs after it fill the new segments.
# path.host decodes the capture on the host.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
# shellcheck source=selftests/interop/dump.bash
. "$(dirname "$0")/dump.bash"
need tcpdump ethtool ss

# routed: a router between a and b, whose NIC segments what leaves for b
routed() {
	local ns

	modprobe -q veth && modprobe -q hnic
	ip netns add a && ip netns add b && ip netns add r || return
	defer ip netns del r
	ip link add va netns a type veth peer name ra netns r
	ip link add rb netns r type hnic peer name vb netns b
	for ns in "a va 10.0.1.1" "r ra 10.0.1.9" "r rb 10.0.2.9" "b vb 10.0.2.2"; do
		# shellcheck disable=SC2086 # three words
		set -- $ns
		ip -n "$1" addr add "$3/24" dev "$2"
		ip -n "$1" link set "$2" up
	done
	in-ns r sysctl -q -w net.ipv4.ip_forward=1
	ip -n a route add default via 10.0.1.9
	ip -n b route add default via 10.0.2.9
	NET_MODE=two
	dev_up hybrid hybrid
}

mss() { in_a ss -tinH dst 10.0.2.2 dport = :7800 | grep -o "\bmss:[0-9]*" | head -n1; }
mss_is() { [ "$(mss)" = "mss:$1" ]; }
came() { [ "$(in_b cat /sys/class/net/vb/statistics/rx_bytes)" -gt "$1" ]; }

routed || ktap_skip_all "no hybrid devices"
kt_load ulp_load || ktap_skip_all "no test module"
in_b ethtool -K vb gro off
# slow enough for the path to change in the middle; later a rate at which tcpdump captures all
rate() { in-ns r sh -c "echo $1 >/sys/class/net/rb/hnic/rate"; }
rate 2
kt_tell b listen 10.0.2.2 7800
dump_start path b
kt_do a "" open 10.0.2.2 7800 1
ktap_check "segments have 1448 bytes at first" mss_is 1448
{
	wait_for 20 came 300000
	ip -n r link set rb mtu 1300
	rate 20
} &
kt_do a "the path MTU shrinks meanwhile" write 65536 16
wait $!
ktap_check "the path MTU is learned from ICMP" wait_for 20 mss_is 1248
kt_do a "after the path MTU has shrunk" write 65536 64
kt_tell a close
dump_stop
ktap_done
