#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900 long
#
# SDP over hnic in each profile, basic and enhanced: the data arrive while the link cuts,
# joins, loses and reorders packets, goes down and comes up, and while engines are switched
# and components move. The NIC can be deleted under load.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need_research

start
bytes=$(scaled 1000000 50000)

# lossy PROFILE NAME
lossy() {
	local loss

	attr profile "$1"
	snapshot
	both split 200000
	both coalesce 300000
	ktap_check "$2: data survives a middle box that cuts and joins" transfer "$bytes"
	grew "$2: packets were cut" link_split
	grew "$2: packets were joined" link_coalesced
	both reorder 20000
	# in parts per million
	for loss in 10000 30000 100000; do
		snapshot
		both loss $loss
		ktap_check "$2: data survives reordering and $((loss / 10000)) % of loss" transfer "$bytes"
		grew "$2: packets were reordered" link_reordered
		grew "$2: packets were lost, $((loss / 10000)) %" link_lost
	done
	both loss 0
	both reorder 0
	both split 0
	both coalesce 0
}

# ended DESCRIPTION PID: wait for a process of start_bg, which ends with success. Not by
# ktap_check, whose subshell cannot wait for it.
ended() {
	local rc

	wait "$2"
	rc=$?
	ktap_is "$1" $rc 0
}

beyond() { [ "$(stat_of a "$1")" -gt "$2" ]; }
qps() { find /sys/class/infiniband/rd[ab]/hybrid/qp/ -mindepth 1 -maxdepth 1 -type d; }
two_qps() { [ "$(qps | wc -l)" = 2 ]; }
no_qp() { [ -z "$(qps)" ]; }

# slow BYTES: begin a transfer both ways over a slow link; its client is $CLIENT. Buffers are
# small, so that packets made before a change leave soon. quick DESCRIPTION: complete it
slow() {
	both rate "$(scaled 4 1)"
	port=$((port + 1))
	start_bg b sdp-run xfer -s -h "$SERVER" -p "$port" -B 65536
	SLOW=$BG_PID
	wait_for 30 said listening
	start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n "$1" -d "$1" -B 65536 -t 200
	CLIENT=$BG_PID
	wait_for 30 two_qps
}
running() { kill -0 "$CLIENT" && two_qps; }
quick() {
	both rate 0
	ended "$1" "$CLIENT"
	stop_bg "$SLOW"
	wait_for 20 no_qp
}

# down PROFILE NAME: the link goes down in the middle and comes up again
down() {
	local counter=tx_engine_crc_filled

	attr profile "$1"
	[ "$1" != host ] || counter=tx_engine_packets
	snapshot
	slow 2000000
	wait_for 30 beyond $counter $(($(was $counter) + 100))
	in_a ip link set va down
	ktap_check "$2: data survives a link that is down for a while" running
	snapshot
	in_a ip link set va up
	quick "$2: up again, and the data arrive"
	grew "$2: the NIC goes on" $counter
}

more_hyb() { [ "$(hyb_of "$1")" -gt "$2" ]; }

# rests COUNTER OF: COUNTER stands still while OF shows that packets pass
rests() {
	local before packets

	before=$(stat_of a "$1")
	packets=$(stat_of a "$2")
	wait_for 5 beyond "$2" $((packets + 20)) || return
	[ "$(stat_of a "$1")" = "$before" ]
}

# engine FLAG NAME COUNTER OF [OURS]: without the engine COUNTER of the NIC stands still while
# OF shows that packets pass, and OURS of the provider grows; with the engine COUNTER grows
engine() {
	local ours

	[ -z "$5" ] || ours=$(hyb_of "$5")
	flag "iwarp-$1" off
	ktap_check "$2, $1 off: the engine does nothing" wait_for 20 rests "$3" "$4"
	[ -z "$5" ] || ktap_check "$2, $1 off: software does the work of the engine" wait_for 20 more_hyb "$5" "$ours"
	flag "iwarp-$1" on
	ktap_check "$2, $1 on: the engine works again" wait_for 20 beyond "$3" "$(stat_of a "$3")"
}

# switching PROFILE NAME: engines are switched in the middle
switching() {
	local f

	attr profile "$1"
	slow 20000000
	case $1 in
	host)
		for f in tx-crc rx-crc rx-demux tx-contig tx-sg rx-place; do
			flag "iwarp-$f" off
			ktap_check "$2, $f off: packets still pass" wait_for 20 rests \
				tx_engine_crc_filled tx_engine_packets
			flag "iwarp-$f" on
		done
		;;
	*)
		engine tx-crc "$2" tx_engine_crc_filled tx_engine_packets tx_crc_bytes
		engine rx-crc "$2" rx_engine_verdicts rx_engine_packets rx_crc_bytes
		engine rx-demux "$2" rx_engine_steered_conn rx_engine_packets
		;;
	esac
	case $1 in
	offload-contig) engine tx-contig "$2" tx_engine_contig_fpdus tx_engine_packets ;;
	offload-sg) engine tx-sg "$2" tx_engine_dma_marker_ops tx_engine_packets ;;
	esac
	ktap_check "$2: engines were switched during the transfer" running
	quick "$2: and the data arrive"
}

for link in enhanced basic; do
	stack_link $link
	for p in $PROFILES; do
		lossy "$p" "$p, $link"
		switching "$p" "$p, $link"
		down "$p" "$p, $link"
	done
done
stack_link enhanced

# counts: the CRCs, gaps and markers by the NIC of a; the bytes of CRCs and copies by its host
counts() {
	in_a ethtool -S va | awk '{ n[$1] = $2 } END { printf "%d %d %d ",
		n["tx_engine_crc_filled:"], n["tx_engine_contig_fpdus:"],
		n["tx_engine_dma_marker_ops:"] }'
	echo "$(hyb_of tx_crc_bytes) $(hyb_of tx_copy_bytes)"
}

# now_is CRC MARKERS: these components made the packets that have left since the call
now_is() {
	local packets before

	before=$(counts)
	packets=$(stat_of a tx_engine_packets)
	wait_for 5 beyond tx_engine_packets $((packets + 40))
	NOW=$(echo "$before $(counts)" | awk '{
		nic = $6 - $1; contig = $7 - $2; sg = $8 - $3; host = $9 - $4
		crc = nic && host ? "both" : nic ? "nic" : host ? "host" : "none"
		mark = contig ? "contig" : $10 - $5 ? "copy" : "inplace"
		if (sg > nic)
			mark = contig ? "both" : "sg"
		print crc, mark }')
	[ "$NOW" = "$*" ]
}

# moves "CRC MARKERS" ATTRIBUTE VALUE: set it for the connected queue pairs; components follow
moves() {
	local qp

	for qp in $PAIRS; do
		echo "$3" >"$qp/$2"
	done
	# shellcheck disable=SC2086 # two words
	wait_for 20 now_is $1
	ktap_is "$2 $3" "$NOW" "$1"
}

# Components move while data do: enough of them for a slow machine, too
slow "$(scaled 40000000 20000000)"
PAIRS=$(qps)
moves "nic inplace" profile hybrid
moves "nic contig" profile offload-contig
moves "nic sg" profile offload-sg
moves "nic contig" marker_placement contig
moves "nic copy" marker_placement copy
moves "host copy" profile host
moves "nic copy" crc nic
moves "nic sg" marker_placement sg
# the CRC covers the markers, so a host that computes it inserts the markers, too
moves "host inplace" crc host
moves "host inplace" marker_placement contig
moves "nic contig" crc nic
moves "nic inplace" profile hybrid

# The device's settings apply to new connections
for p in "offload-contig tx_engine_contig_fpdus" "offload-sg tx_engine_dma_marker_ops"; do
	attr profile "${p% *}"
	snapshot
	ktap_check "${p% *}: a new connection works" transfer 50000
	grew "${p% *}: the NIC's markers" "${p#* }"
	# shellcheck disable=SC2086 # one word each
	ktap_is "${p% *}: the other connections stay" "$(cd ${PAIRS%%$'\n'*} && cat profile)" hybrid
done
ktap_check "the connections exist" running
quick "the data arrive"
attr profile hybrid

both max_conns 0
snapshot
ktap_check "connections work with a full table" transfer 100000
same "a full table leaves connections to software" tx_engine_crc_filled
both max_conns 1024

# has_connection: the NIC serves a connection
has_connection() { [ "$(in_a cat /sys/class/net/va/hnic/connections)" -gt 0 ]; }

serve
start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n 60000000 -t 100
ktap_check "the NIC gets a connection" wait_for 30 has_connection
in_a ip link set va down
sleep 0.2
in_a ip link set va up
ktap_check "connections stay over down and up" has_connection
ktap_check "the NIC can be deleted under load" in_a ip link del va
stop_bg "$BG_PID"
stop_bg "$SERVER_PID"

ktap_done
