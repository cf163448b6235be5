#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# Placement by the NIC: payload of Writes and Read Responses is in its place before the host
# sees the packet, so the host copies nothing. With any faults of the link, of the peer or of a
# forger, and with any change of settings, every byte is right, and later data that a program
# has written there is not overwritten.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-zcopy sdp-run sdpstat rping hyb-ooo hyb-target
need_research

SERVER=10.0.0.2
PORT=7600
PIPELINED=0
RAW=10.0.0.9	# an address that no kernel has

# hyb a|b COUNTER; nic a|b COUNTER
hyb() { cat "/sys/class/infiniband/rd$1/ports/1/hw_counters/$2"; }
nic() { stat_of "$1" "rx_engine_$2"; }

# mark a|b: remember the counters of that end; placed, copied: bytes since then
mark() {
	AT=$1 PLACED=$(hyb "$1" rx_nic_placed) COPIED_WAS=$(hyb "$1" rx_copy_bytes)
	ENGINE=$(nic "$1" placed_bytes)
}
placed() { echo $(($(hyb "$AT" rx_nic_placed) - PLACED)); }
copied() { echo $(($(hyb "$AT" rx_copy_bytes) - COPIED_WAS)); }

# most DESCRIPTION BYTES: of that many bytes received the NIC has placed 90 % or more. The host
# places FPDUs that do not come whole in one packet.
most() {
	local p c e

	p=$(placed) c=$(copied) e=$(($(nic "$AT" placed_bytes) - ENGINE))
	ktap_check "$1: placed by the NIC ($p of $2, $c copied)" \
		test "$p" -ge $(($2 * 9 / 10)) -a "$c" -le $(($2 / 10 + 2000))
	ktap_check "$1: the engine says so ($e)" test "$e" -ge "$p"
}

# some DESCRIPTION: the NIC places at least some; none DESCRIPTION: it places nothing
some() { ktap_check "$1: placed by the NIC ($(placed), $(copied) copied)" test "$(placed)" -gt 0; }
none() { ktap_is "$1: the NIC places nothing" "$(placed)" 0; }

# large DESCRIPTION [BYTES]: in sends of 1 MB, without copies by SDP
large() { zc "$1" "a_tx_bytes == b_rx_bytes" -n "${2:-4194304}" -w 1048576 -R 1048576; }

zero_copy() {
	large "first"
	mark b
	large "Reads"
	most "Reads" 4194304
	set_both net.sdp.zcopy_pipelined=1
	mark b
	large "Writes"
	most "Writes" 4194304
	set_both net.sdp.zcopy_pipelined=0
}

# referred PLACEMENT LEAST MOST: payload of RDMA Writes is not copied to be sent; LEAST to MOST
# per cent of all bytes are copied when they are received. Data for which no reader waits in
# time is transferred by RDMA Reads, and is copied to be sent.
referred() {
	local bytes=16777216 size=1048576 sent refs read

	attr placement "$1"
	mark b
	sent=$(hyb a tx_copy_bytes) refs=$(hyb a tx_ref_bytes)
	large "Writes by reference, placed by the $1" $bytes
	sent=$(($(hyb a tx_copy_bytes) - sent)) refs=$(($(hyb a tx_ref_bytes) - refs))
	# shellcheck disable=SC2154 # risen sets it
	read=$(eval "$(risen)"; echo $((bytes - a_tx_zcopy_writes * size)))
	ktap_check "$1: $refs bytes are sent without a copy" test "$refs" -ge $size
	ktap_check "$1: $sent are copied, of $read that are read" \
		test "$sent" -le $((read + bytes / 100))
	ktap_check "$1: $(($(copied) * 100 / bytes)) of 100 are copied to receive" \
		test $(($(copied) * 100 / bytes)) -ge "$2" -a $(($(copied) * 100 / bytes)) -le "$3"
}

# The path without copies: none to send, and one to receive, or none if the NIC places
no_copies() {
	attr tx_payload reference
	set_both net.sdp.zcopy_pipelined=1
	referred host 99 101
	referred nic 0 10
	set_both net.sdp.zcopy_pipelined=0
	attr tx_payload copy
}

switches() {
	attr placement host
	mark b
	large "placement by the host"
	none "placement by the host"
	attr placement nic
	flag iwarp-rx-place off
	large "engine off"
	none "engine off"
	ktap_is "the setting is shown" "$(cat /sys/class/infiniband/rdb/hybrid/placement)" host
	flag iwarp-rx-place on
	ktap_is "the placement by the NIC is shown" "$(cat /sys/class/infiniband/rdb/hybrid/placement)" nic
	mark b
	large "engine on again"
	most "engine on again" 4194304
	attr verify 1
	mark b
	large "the host verifies"
	none "the host verifies"
	attr verify 0
	both max_bufs 0
	large "no room for buffers"
	none "no room for buffers"
	ktap_check "buffers without room are counted" test "$(hyb b nic_no_buffer)" -gt 0
	both max_bufs 1
	large "room for one buffer"
	both max_bufs 256
	flag iwarp-rx-crc off
	mark b
	large "no verdicts"
	none "no verdicts"
	flag iwarp-rx-crc on
}

# Back and forth while data move; a transfer lasts as long as it takes
toggled() {
	local client rc

	mark b
	start_bg a sdp-zcopy -n "$(scaled 64 16)000000" -w 1000000 -R 1000000 $SERVER "$PORT"
	client=$BG_PID
	while kill -0 "$client" 2>/dev/null; do
		flag iwarp-rx-place off
		attr placement host
		flag iwarp-rx-place on
		attr placement nic
		flag iwarp-rx-crc off
		flag iwarp-rx-crc on
	done
	wait "$client"
	rc=$?
	ktap_is "placement can be switched all the time" $rc 0
	some "switched all the time"
	look
}

# link DESCRIPTION KNOB VALUE...: transfers with these settings; the defaults are restored
link() {
	local what=$1 knobs=("${@:2}") i off

	for ((i = 0; i < ${#knobs[@]}; i += 2)); do
		both "${knobs[i]}" "${knobs[i + 1]}"
	done
	mark b
	large "$what, Reads" 2097152
	set_both net.sdp.zcopy_pipelined=1
	large "$what, Writes" 2097152
	set_both net.sdp.zcopy_pipelined=0
	some "$what"
	for ((i = 0; i < ${#knobs[@]}; i += 2)); do
		off=0
		[ "${knobs[i]}" != paths ] || off=1
		both "${knobs[i]}" $off
	done
}

links() {
	link "loss" loss 5000
	link "reordering" reorder 10000
	link "sprayed" path_delay "0 100" paths 2
	link "cut" split 100000
	link "joined" coalesce 100000
	link "all of it" loss 2000 reorder 5000 split 50000 coalesce 50000
	link "synchronisation lost" fault_resync 50000
	# damage that only the CRC detects: the connection ends
	both fault_corrupt 50000
	ktap_check_fails "damage ends the connection" in_a timeout 60 sdp-zcopy \
		-n 16777216 -w 1048576 -R 1048576 $SERVER "$PORT"
	# a send that notices the end first makes sdp-zcopy print "wrong: it ends"
	ktap_is "no data is wrong" \
		"$(grep -Ei 'wrong|differ' <<<"$KTAP_OUT" | grep -v 'wrong: it ends')" ""
	both fault_corrupt 0
	look
}

# Memory of programs, which stays registered
programs() {
	start_bg b rping -s -a $SERVER -C 20 -S 60000
	wait_port b 7174
	mark b
	ktap_check "rping transfers its data" ping_all 20 -a $SERVER -S 60000
	wait "$BG_PID"
	some "rping"
}

mac_of() { ip -n "$1" -br link show dev "$2" | awk '{ print $3 }'; }

# rules DESCRIPTION: hyb-ooo as the peer, which makes every packet itself
rules() {
	ip -n b neigh replace $RAW lladdr "$(mac_of a va)" dev vb nud permanent
	start_bg b hyb-target -h $SERVER -p 7900
	wait_for 20 said listening
	in_a hyb-ooo -n -i "$(in_a cat /sys/class/net/va/ifindex)" -m "$(mac_of b vb)" \
		-f $RAW -h $SERVER -p 7900 -s "rdma statistic show link rdb/1
			in-ns b ethtool -S vb | tr -d :" > "$OUT/placement.tap" 2>&1
	ktap_include "$OUT/placement.tap" "$1"
	stop_bg "$BG_PID"
}

start
attr placement nic
rules "markers"
setup
large "markers, MTU 1500: first"
mark b
large "markers, MTU 1500"
some "markers, MTU 1500"
gone
NET_MTU=9000
start
attr markers off
attr placement nic
rules "no markers"
setup
zero_copy
no_copies
switches
toggled
links
programs
gone
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
