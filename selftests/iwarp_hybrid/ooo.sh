#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# Placement of FPDUs that come out of order: each rule of it with a peer
# that sends segments in any order, with any content; then data over links that
# lose and reorder packets.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/ooo.bash"
need hyb-ooo hyb-target rdma rping tc ethtool

PEER=10.0.0.9	# an address that no kernel has

# mac_of a|b NETDEV
mac_of() { ip -n "$1" -br link show dev "$2" | awk '{ print $3 }'; }

check_attribute() {
	local v

	for v in on off 1 0; do
		ktap_check "ooo accepts $v" sh -c "echo $v > $ATTR/ooo"
	done
	ktap_is "ooo shows the value" "$(cat $ATTR/ooo)" off
	for v in maybe 2 ""; do
		ktap_check_fails "refuses '$v'" sh -c "echo '$v' > $ATTR/ooo"
	done
}

# rules [TARGET OPTION [HYB-OOO OPTION]]: cases for that kind of target
rules() {
	# shellcheck disable=SC2086 # may be none
	start_bg b hyb-target -h 10.0.0.2 -p 7900 $1
	wait_for 20 said listening
	# shellcheck disable=SC2086 # may be none
	in_a hyb-ooo -i 101 -m "$(mac_of b vb)" -f $PEER -h 10.0.0.2 -p 7900 \
		-s "rdma statistic show link rdb/1" $2 > "$OUT/ooo.tap" 2>&1
	ktap_include "$OUT/ooo.tap"
	stop_bg "$BG_PID"
}

# tcp_counter NAME: of namespace b
tcp_counter() {
	# shellcheck disable=SC2016 # awk's
	in_b awk -v n="$1" '$1 == "TcpExt:" && !k { k = split($0, name) ; next }
		$1 == "TcpExt:" { for (i = 2; i <= k; i++)
			if (name[i] == n) print $i }' /proc/net/netstat
}

# little_memory BYTES: for what TCP has received, as little as that
little_memory() {
	local ipv4=/proc/sys/net/ipv4

	# of that all but a sixteenth may be bytes, where there is a choice
	in_b sh -c "echo 4 > $ipv4/tcp_adv_win_scale
		echo 4096 $1 $1 > $ipv4/tcp_rmem"
}

check_rules() {
	local given_up together

	echo on > ${ATTR/rda/rdb}/markers
	echo on > ${ATTR/rda/rdb}/ooo
	ip -n b neigh replace $PEER lladdr "$(mac_of a va)" dev vb nud permanent
	rules
	rules -q -q
	given_up=$(tcp_counter OfoPruned)
	together=$(tcp_counter TCPRcvCollapsed)
	ktap_check "data arrives with little memory for TCP" little_memory 16000
	rules "" -b
	given_up=$(($(tcp_counter OfoPruned) - given_up))
	together=$(($(tcp_counter TCPRcvCollapsed) - together))
	ktap_diag "little memory: $given_up times packets given up," \
		"$together copied together"
	if kver_ge 6.12 && [ "$given_up" -eq 0 ]; then
		ktap_skip "TCP discards out-of-order packets" "not by the TCP of this kernel"
	else
		ktap_check "TCP discards out-of-order packets" test "$given_up" -gt 0
	fi
	ktap_check "TCP collapses out-of-order packets" test "$together" -gt 0
	in_b sh -c "echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_rmem
		echo 1 > /proc/sys/net/ipv4/tcp_adv_win_scale"
	echo auto > ${ATTR/rda/rdb}/markers
}

# off_without NAME: the device has it on, but not the connection: data are right
off_without() {
	local before client server

	start_bg b hyb-target -h 10.0.0.2 -p 7900
	server=$BG_PID
	wait_for 20 said listening
	start_bg a hyb-target -c -h 10.0.0.2 -p 7900
	client=$BG_PID
	wait_for 20 said connected
	ktap_check "$1: both ends show the queue pair" wait_for 20 \
		sh -c "[ -e $ATTR/qp/*/ooo ] && [ -e ${ATTR/rda/rdb}/qp/*/ooo ]"
	ktap_is "$1: the queue pairs place nothing early" \
		"$(cat $ATTR/qp/*/ooo ${ATTR/rda/rdb}/qp/*/ooo | xargs)" "off off"
	stop_bg "$client"
	stop_bg "$server"
	ktap_check "$1: no queue pair is left" wait_for 20 no_queue_pairs
	before=$(early)
	transfer "$1"
	ktap_is "$1: no FPDU is placed early" "$(($(early) - before))" 0
}

# placed NAME: as above, and FPDUs were placed early
placed() {
	local tries=5

	# how packets overtake each other is a matter of chance
	transfer "$1"
	while [ "$EARLY" = 0 ] && [ $((tries--)) -gt 0 ]; do
		transfer "$1, again"
	done
	ktap_diag "$1: $EARLY FPDUs placed early"
	ktap_check "$1: FPDUs are placed early" test "$EARLY" -gt 0
}

# Print the counters of both ends
show_counters() {
	local d

	for d in rda rdb; do
		rdma statistic show link $d/1 | tr -s ' ' '\n' |
			awk -v d=$d '/^rx_ooo/ { n = $1; next }
				n && $1 { s = s " " n "=" $1 }
				{ n = "" } END { print "# " d ":" s }'
	done
}

check_data() {
	N=$(scaled 12 3)
	both ooo on
	both markers on
	segmentation off
	ktap_check "netem delays packets" netem delay 2ms loss 1% limit 10000
	placed "loss 1%"
	segmentation on
	ktap_check "netem delays packets" netem delay 2ms reorder 10% limit 10000
	placed "reorder 10%"
	show_counters
	both markers off
	off_without "no markers"
	both markers on
	both crc 0
	off_without "no CRC"
	both crc 1
}

# Packets sprayed over paths of different delay, cut and joined on their way
check_paths() {
	dev_down
	net_down
	# shellcheck disable=SC2034 # used by the library
	NET_LINK=hnic
	ktap_check "devices on hnic are set up" dev_up hybrid hybrid || return
	both ooo on
	both markers on
	knob path_delay "0 100 300"
	knob paths 3
	placed "sprayed paths"
	segmentation off
	placed "sprayed paths, no TSO"
	knob split 300000
	knob coalesce 300000
	placed "sprayed paths, cut and joined"
	segmentation on
	placed "sprayed paths, cut and joined, TSO"
	show_counters
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
check_attribute
check_rules
check_data
check_paths
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
