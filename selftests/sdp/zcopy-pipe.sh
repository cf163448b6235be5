#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# Zero copy in pipelined mode: a reader that waits offers its memory, and large
# sends are written there by RDMA Write, as counters show. Without such a reader they are
# read by RDMA Read, to the last byte. For all actions of sender, reader or connection every
# byte is right, and no page stays pinned. Combined mode is in zcopy.sh.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-zcopy sdp-run xfer sdpstat
need_research

SERVER=10.0.0.2
PORT=7600
PIPELINED=1

# Condition for N bytes that went without copies, except those which travel with the
# first send, which is in combined mode
DIRECT="a_tx_bytes == b_rx_bytes && b_rx_zcopy_bytes == a_tx_zcopy_bytes &&
	a_tx_copy_bytes < 200 && b_rx_copy_bytes < 200 && a_mode_changes == 1"
# and that some were written to readers that waited
WRITTEN="a_tx_zcopy_writes > 0 && a_tx_zcopy_writes == b_rx_zcopy_writes &&
	b_tx_sinkavail >= b_rx_zcopy_writes && a_rx_sinkavail <= b_tx_sinkavail"

writes() {
	local send off recv at mode

	while read -r send off recv at mode; do
		zc "written: send $send at $off, receive $recv at $at, $mode" \
			"$DIRECT && $WRITTEN" -n $((send * 5)) -w "$send" -o "$off" \
			-R "$recv" -P "$at" -L 60 -m "$mode"
	done <<-END
		65536 0 1048576 0 plain
		65537 1 65537 4095 plain
		300000 3000 300000 7 waitall
		262143 4095 131072 4090 plain
		1048576 0 1048576 1 file
	END
	zc "a send larger than the reader's buffer is written in part, and read in part" "$DIRECT && $WRITTEN && a_tx_srcavail > 0" \
		-n 3000000 -w 1000000 -R 400000 -L 60
	zc "pages shared with a child that writes stay the sender's" "$DIRECT && $WRITTEN" \
		-n 1500000 -w 300000 -S private -L 60
	zc "another thread of the process receives" "$WRITTEN" -n 1500000 -w 300000 -S threads -L 60
	zc "written: two threads read" "$WRITTEN" -n 1500000 -w 300000 -m threads -L 60
	zc "signals do not disturb the sender" "a_tx_bytes == b_rx_bytes" -n 3000000 -w 1000000 -S signal -L 60
}

reads() {
	zc "read: buffers of the size of the threshold" "$DIRECT && b_rx_zcopy_reads > 0" \
		-n 655360 -w 65536 -R 65536
	zc "read: without a waiting reader the data is advertised" "$DIRECT && a_tx_srcavail > 1" -n 1200000 -w 300000 -R 300000 -l 200
	zc "4 MB with crossing advertisements are not copied" "$DIRECT && a_tx_srcavail + a_tx_zcopy_writes >= 4" \
		-n 4194304 -w 4194304 -R 1048576 -o 1
	zc "small receives ask for messages" "$SOME && a_tx_zcopy_declined > 0" \
		-n 900000 -w 300000 -R 1000
	zc "poll() and MSG_DONTWAIT ask for messages" "a_tx_bytes == b_rx_bytes && a_tx_zcopy_cancels == 0 &&
		b_rx_zcopy_bytes == 0 && a_tx_zcopy_declined > 1" \
		-n 3000000 -w 300000 -R 100000 -m poll
	zc "FIONREAD asks for messages" "b_rx_zcopy_bytes == 0 && a_tx_zcopy_declined > 1" \
		-n 3000000 -w 300000 -R 100000 -m inq
	zc "MSG_PEEK asks for messages" "b_rx_zcopy_bytes == 0 && a_tx_zcopy_declined > 1" \
		-n 3000000 -w 300000 -R 100000 -m peek
	zc "MSG_TRUNC asks for messages" "b_rx_zcopy_bytes == 0 && a_tx_zcopy_declined > 1" \
		-n 3000000 -w 300000 -R 100000 -m trunc
	zc "MSG_OOB is copied, the sends in between are not" "a_tx_bytes == b_rx_bytes && a_tx_oob == 5 &&
		a_tx_zcopy_bytes > 0 && a_tx_zcopy_bytes <= 1500000" \
		-n 3000000 -w 300000 -S urgent -m inline
	zc "splice asks for messages" "b_rx_zcopy_bytes == 0 && a_tx_zcopy_declined > 1" \
		-n 3000000 -w 300000 -R 100000 -m splice
	zc "receives of any size get the data" "a_tx_bytes == b_rx_bytes" -n 3000000 -w 300000 -R 400000 -m pieces
	zc "two threads get the data, one reads while the other would offer" "b_rx_zcopy_reads > 0" \
		-n 9000000 -w 1000000 -R 1000000 -m threads -l 200
}

# The reader's offer is not used
unused() {
	zc "a copied send in between voids the offer" "a_tx_bytes == b_rx_bytes && b_tx_sinkavail > 0 &&
		b_rx_zcopy_writes < b_tx_sinkavail" -n 2000000 -w 200000 -S mixed -L 30
	zc "200 small sends to a waiting reader: offers become rare" \
		"a_tx_bytes == b_rx_bytes && b_tx_sinkavail > 2 && b_tx_sinkavail <= 12" \
		-n 800000 -w 300000 -S small -L 5
	zc "signals cancel the reader's offer" "a_tx_bytes == b_rx_bytes &&
		b_tx_sink_cancels > 0" -n 1200000 -w 300000 -m alarm -L 60
	zc "a timeout cancels the reader's offer" "a_tx_bytes == b_rx_bytes &&
		b_tx_sink_cancels > 0" -n 1500000 -w 300000 -m timeout -L 300
	set_both net.sdp.zcopy_wait=$HASTY
	zc "a sender that waits 1 ms for the reader sends all data" "a_tx_bytes == b_rx_bytes" -n 3000000 -w 300000 -L 10
	zc "a sleeping reader: sends are cancelled, and all data arrives" "a_tx_bytes == b_rx_bytes && a_tx_zcopy_cancels > 0" \
		-n 3000000 -w 300000 -l 300
	both_directions "mutual -n 1500000 -d 150000" "block -n 4m -d 4m"
	set_both net.sdp.zcopy_wait=$PATIENT
}

# The reader stops
leaves() {
	zc "shutdown of the receiving side declines" "a_tx_zcopy_declined > 0 && a_tx_zcopy_cancels == 0" \
		-n 1200000 -w 300000 -R 100000 -m kill
	zc "close by the reader resets" "a_estab_resets == 1" -n 1500000 -w 300000 -m close
}

offered() { [ "$(sdp_counter b tx_sinkavail)" -gt "$SEEN" ]; }

# begin [OPTION...]: start a client, and wait until the reader has offered its memory
begin() {
	SEEN=$(sdp_counter b tx_sinkavail)
	start_bg a sdp-zcopy -n 9000000 -w 300000 -L 400 "$@" $SERVER $PORT
	CLIENT=$BG_PID
	ktap_check "the waiting reader offers its memory" wait_for 30 offered
}

cancelled() { [ "$(sdp_counter b tx_sink_cancels)" -eq $((CANCELS + 1)) ]; }

# The sender has sent once, and pauses
halted() {
	CANCELS=$(sdp_counter b tx_sink_cancels)
	# the sender's second send tells the reader the mode, then the reader offers
	begin -L 6000 -m halt
	pkill -USR1 -P "$ZCOPY"
	ktap_check "shutdown of the receiving side cancels the reader's offer" wait_for 30 cancelled
	stop_bg "$CLIENT"
}

ends() {
	begin
	stop_bg "$CLIENT"
	ktap_check "killing the sender unpins the pages" wait_for 20 none_pinned
	begin
	stop_bg "$ZCOPY"
	ktap_check "killing the reader unpins the pages" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	serve
	begin
	in_a rdma link delete rda
	ktap_check "removal of the sender's device unpins the pages" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	dev_add a rda va hybrid
	begin
	in_b rdma link delete rdb
	ktap_check "removal of the reader's device unpins the pages" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	stop_bg "$ZCOPY"
	dev_add b rdb vb hybrid
	serve
}

combined() {
	local mode="a_mode_changes == 0 && b_tx_sinkavail == 0 && a_tx_zcopy_bytes > 800000"

	in_a sysctl -q -w net.sdp.zcopy_pipelined=0
	zc "a sender that knows only combined mode: combined mode is used" "$mode" -n 900000 -w 300000 -L 30
	in_a sysctl -q -w net.sdp.zcopy_pipelined=1
	in_b sysctl -q -w net.sdp.zcopy_pipelined=0
	zc "a reader that knows only combined mode: combined mode is used" "$mode" -n 900000 -w 300000 -L 30
	in_b sysctl -q -w net.sdp.zcopy_pipelined=1
}

# foreign DEVICES: with other RDMA devices than iwarp_hybrid at one end or both
foreign() {
	zc "$1: sends to a waiting reader are written" "$DIRECT && $WRITTEN" -n 1500000 -w 300000 -o 1 -L 60
	zc "$1: sends without pauses are not copied" "$DIRECT" -n 1500000 -w 300000 -R 300000
	zc "$1: a timeout cancels the reader's offer" "a_tx_bytes == b_rx_bytes && b_tx_sink_cancels > 0" \
		-n 1500000 -w 300000 -L 300 -m timeout
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
setup
writes
reads
leaves
unused
halted
ends
combined
gone
pair hybrid siw foreign
pair rxe rxe foreign
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
