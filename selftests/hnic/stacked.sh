#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# The route of a connection changes to a device on top of the NIC that finishes its packets,
# and back again, in the middle of a transfer: each packet is finished exactly once.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"

sent() { in_a cat /sys/class/net/va.5/statistics/tx_packets; }
more() { [ "$(sent)" -gt "$1" ] || ! kill -0 "$CLIENT" 2>/dev/null; }
over() { in_a ip route add "$SERVER/32" dev va.5 src 10.0.0.1; }
under() { in_a ip route del "$SERVER/32" dev va.5; }
sw_packets() { hyb_of nic_sw_packets; }
by_nic() { in_a cat /sys/class/net/va/statistics/tx_bytes; }
has_begun() { [ "$(by_nic)" -gt $((BEGIN + 20000)) ]; }

start
for end in a b; do
	in_$end ip link add link v$end name v$end.5 type vlan id 5 ||
		ktap_skip_all "no VLAN"
	in_$end ip link set v$end.5 up
done
in_a ip neigh add $SERVER dev va.5 nud permanent \
	lladdr "$(in_b cat /sys/class/net/vb/address)"
for p in $PROFILES; do
	attr profile "$p"
	both rate "$(scaled 100 20)"
	serve
	# stop the server, so that data is left when the route changes, however long that takes
	children "$SERVER_PID"
	kill -STOP "$SERVER_PID" "${CHILDREN[@]}"
	BEGIN=$(by_nic)
	start_bg a sdp-run xfer -h $SERVER -p "$port" -n "$(scaled 12 2)M" \
		-d "$(scaled 12 2)M" -t 200
	CLIENT=$BG_PID
	ktap_check "$p: data leaves by the NIC" wait_for 60 has_begun
	before=$(sw_packets)
	for ((i = 0; i < 4; i++)); do
		packets=$(sent)
		over
		kill -CONT "$SERVER_PID" "${CHILDREN[@]}"
		wait_for 20 more $((packets + 20))
		under
		nap 0.2
	done
	both rate 0
	wait "$CLIENT"
	ktap_is "$p: all data arrives" $? 0
	stop_bg "$SERVER_PID"
	[ "$p" = host ] || ktap_check "$p: software has finished some packets" \
		test "$(sw_packets)" -gt "$before"
done
ktap_check "packets went through the other device" test "$(sent)" -gt 100
ktap_done
