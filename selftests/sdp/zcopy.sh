#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# Zero copy: large sends between programs that wait for each other are copied by
# neither end, as counters show. For all actions of sender, reader and connection every
# byte is right, and no page stays pinned.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-zcopy sdp-run xfer sdpstat jq
need_research

SERVER=10.0.0.2
PORT=7600
PIPELINED=0	# for the other mode see zcopy-pipe.sh

# Condition for N bytes that all went without copies, in SENDS sends
whole() {
	echo "a_tx_zcopy_bytes == $1 - 64 * $2 && b_rx_zcopy_bytes == a_tx_zcopy_bytes &&
		a_tx_copy_bytes < 100 * ($2 + 1) && b_rx_copy_bytes < 100 * ($2 + 1) &&
		a_tx_srcavail == $2 && b_rx_srcavail == $2"
}

sizes() {
	local send off recv at

	zc "1 MB is not copied" "$(whole 1048576 1)" -n 1048576 -w 1048576
	while read -r send off recv at; do
		zc "not copied: $((send * 3)) bytes, send $send at $off, receive $recv at $at" \
			"$(whole $((send * 3)) 3)" -n $((send * 3)) -w "$send" -o "$off" \
			-R "$recv" -P "$at"
	done <<-END
		65536 0 1048576 0
		65537 1 65537 4095
		262143 4095 131072 7
		300000 3000 70000 4090
	END
	zc "4 MB at an unaligned address go in several parts" \
		"a_tx_zcopy_bytes > 4190000 && b_rx_copy_bytes < 20000 && a_tx_srcavail > 3" \
		-n 4194304 -w 4194304 -o 1 -P 4095 -R 4194304
}

readers() {
	zc "MSG_WAITALL waits for all bytes" "$SOME || $(whole 900000 3)" -n 900000 -w 300000 -R 300000 -m waitall
	zc "small receives ask for messages" "$SOME && a_tx_zcopy_declined > 0 &&
		b_rx_zcopy_declined > 0" -n 600000 -w 300000 -R 1000
	zc "receives of any size get the data" "$SOME" -n 900000 -w 300000 -R 200000 -m pieces
	zc "MSG_PEEK returns the data" "$COPIED && a_tx_zcopy_declined > 0" -n 600000 -w 300000 -R 100000 -m peek
	# 20000 bytes of the first send and the 64 that come with the second are enough
	zc "a receive that has read enough does not ask for a copy" "$(whole 600000 2)" \
		-n 600000 -w 300000 -R 70000 -m lowat
	zc "poll() and MSG_DONTWAIT see the data" "$COPIED && a_tx_zcopy_declined > 0" \
		-n 600000 -w 300000 -R 100000 -m poll
	# a reader that asks gets the data; it does not wait until the sender gives up
	zc "FIONREAD counts the data" "$COPIED && a_tx_zcopy_declined > 0 && a_tx_zcopy_cancels == 0" \
		-n 600000 -w 300000 -R 100000 -m inq
	zc "poll() gets the data before the sender cancels" \
		"$COPIED && a_tx_zcopy_declined > 0 && a_tx_zcopy_cancels == 0" \
		-n 600000 -w 300000 -R 100000 -m pollinq
	zc "MSG_TRUNC drops the data" "$COPIED && a_tx_zcopy_declined > 0" -n 300000 -w 300000 -R 100000 -m trunc
	zc "splice transfers the data" "$COPIED && a_tx_zcopy_declined > 0" -n 600000 -w 300000 -R 100000 -m splice
	zc "a receive into a mapped file is not copied" "$(whole 600000 2)" -n 600000 -w 300000 -R 300000 -m file
	zc "two threads that read get all data" "$SOME || b_rx_zcopy_bytes > 0" \
		-n 900000 -w 300000 -R 200000 -m threads
	zc "shutdown of the receiving side declines" "a_tx_srcavail > 0 && a_tx_zcopy_cancels == 0" -n 600000 -w 300000 -R 100000 -m kill
	zc "close by the reader resets" "a_estab_resets == 1" -n 900000 -w 300000 -m close
	zc "close by a reader that has read a part resets at once" \
		"a_estab_resets == 1 && a_tx_zcopy_cancels == 0" -n 900000 -w 300000 -R 100000 -m close
}

# The second reader waits for the first one, which reads a part of the advertised memory
two_readers() {
	local log

	set_both net.sdp.zcopy_wait=60000000
	start_bg b sdp-run -o python3 "$(dirname "$0")/zcopy_readers.py" serve $SERVER 7599
	log=$BG_LOG
	wait_for 30 said listening
	look
	in_a timeout 150 sdp-run -o python3 "$(dirname "$0")/zcopy_readers.py" send $SERVER 7599 >/dev/null 2>&1
	look
	ktap_is "data that one reader leaves wakes the other one" "$(tail -n 1 "$log")" ok
	ktap_check "data for the readers was advertised" eval "$(risen | grep '^b_rx_srcavail='); [ \$b_rx_srcavail -gt 0 ]"
	stop_bg "$BG_PID"
	set_both net.sdp.zcopy_wait=$PATIENT
}

senders() {
	zc "several pieces of memory in one send are not copied" "$(whole 1200000 6) || a_tx_zcopy_bytes > 600000" \
		-n 1200000 -w 600000 -R 1048576 -S iov
	zc "pages shared with a child that writes stay the sender's" "$(whole 600000 2)" -n 600000 -w 300000 -S private
	zc "a send out of a mapped file is not copied" "$(whole 600000 2)" -n 600000 -w 300000 -S file
	zc "another thread of the process receives: sends are not copied" "$(whole 600000 2)" -n 600000 -w 300000 -S threads
	zc "MSG_OOB is copied, the sends in between are not" "a_tx_srcavail == 2 && a_tx_oob == 2 &&
		a_tx_zcopy_bytes == 2 * (300000 - 64)" -n 1200000 -w 300000 -S urgent -m inline
	zc "MSG_DONTWAIT is copied" "$COPIED && a_tx_srcavail == 0" -n 600000 -w 300000 -S nonblock
	zc "without RLIMIT_MEMLOCK sends are copied" "$COPIED && a_zcopy_no_mem > 0" \
		-n 300000 -w 300000 -S limit
	zc "a send is copied up to a missing page" "a_zcopy_no_mem > 0" \
		-n 600000 -w 300000 -S fault
	zc "the server sends without copies, too" "a_rx_zcopy_reads > 0 && b_tx_srcavail == 1" \
		-n 1000000 -R 300000 -m source
}

# An attempt in vain costs time, so attempts become rare
backs_off() {
	zc "200 sends to a polling reader: attempts become rare" "$COPIED && a_tx_srcavail > 2 && a_tx_srcavail <= 10" \
		-n 13107200 -w 65536 -R 65536 -m poll
}

# Below the floor only memory that is used again is worth it
pays() {
	set_both net.sdp.zcopy_floor=262144
	zc "below the floor, other memory each time is copied" "$COPIED && a_tx_srcavail == 0" \
		-n 1000000 -w 100000 -S fresh
	zc "below the floor, the same memory is not copied from the second send on" \
		"a_tx_srcavail == 9 && a_tx_zcopy_bytes > 800000" -n 1000000 -w 100000
	zc "above the floor no send is copied" "$(whole 900000 3)" -n 900000 -w 300000 -S fresh
	set_both net.sdp.zcopy_floor=0
}

# The reader sleeps: the sender waits a millisecond, cancels and copies
cancels() {
	set_both net.sdp.zcopy_wait=$HASTY
	zc "a sleeping reader: the send is cancelled" "a_tx_zcopy_cancels == 1 && a_tx_zcopy_declined == 1 &&
		b_rx_zcopy_cancels == 1" -n 100000 -w 100000 -l 300
	zc "a reader that wakes up after cancelled sends gets all data" "$SOME && a_tx_zcopy_cancels > 0" -n 900000 -w 300000 -l 300
	zc "signals during a transfer: all data arrives" "a_tx_bytes == b_rx_bytes && a_tx_srcavail > 0" \
		-n 2000000 -w 1000000 -S signal
	set_both net.sdp.zcopy_wait=$PATIENT
	# a send that a signal has interrupted already is copied
	zc "signals before the data is read: sends are cancelled, all data arrives" "a_tx_bytes == b_rx_bytes && a_tx_zcopy_cancels > 0" \
		-n 3000000 -w 300000 -S signal -l 300
	zc "abort during a transfer ends the send" "a_tx_srcavail > 0" -n 6000000 -w 300000 -S abort -l 400
	set_both net.sdp.zcopy_wait=$HASTY
	both_directions "mutual -n 150000 -d 150000" "block -n 1m -d 1m"
	set_both net.sdp.zcopy_wait=$PATIENT
}

# begin MS: start a send to a reader that sleeps so long, and wait for the advertisement
begin() {
	start_bg a sdp-zcopy -n 900000 -w 900000 -l "$1" $SERVER $PORT
	CLIENT=$BG_PID
	wait_for 20 advertised
}

advertised() { [ "$(srcavail)" -gt "$SEEN" ]; }
srcavail() { in_b sdpstat -s -z | awk '$1 == "rx_srcavail" { print $2 }'; }
seen() { SEEN=$(srcavail); }

ends() {
	seen
	begin 2000
	stop_bg "$CLIENT"
	ktap_check "killing the sender unpins its pages" wait_for 20 none_pinned
	seen
	begin 2000
	stop_bg "$ZCOPY"
	ktap_check "killing the reader unpins the pages" wait_for 20 none_pinned
	wait "$CLIENT"
	serve
	seen
	begin 2000
	in_a rdma link delete rda
	ktap_check "removal of the sender's device unpins the pages" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	dev_add a rda va "$1"
	seen
	begin 2000
	in_b rdma link delete rdb
	ktap_check "removal of the reader's device unpins the pages" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	stop_bg "$ZCOPY"
	dev_add b rdb vb "$1"
	serve
}

because() {
	[ "$(in_a sdpstat -e --json | jq -r '[.sockets[].zcopy_reason] | join(" ")')" = "$1" ]
}

off() {
	zc "option 0 disables zero copy" "$COPIED && a_tx_srcavail == 0" -t 0 -n 600000 -w 300000
	set_a net.sdp.zcopy_threshold=0
	zc "sysctl 0 disables zero copy" "$COPIED && a_tx_srcavail == 0" -n 600000 -w 300000
	zc "the option overrides the sysctl" "$(whole 600000 2)" -t 65536 -n 600000 -w 300000
	set_a net.sdp.zcopy_threshold=400000
	zc "sends below the threshold are copied" "$COPIED && a_tx_srcavail == 0" -n 600000 -w 300000
	set_both net.sdp.zcopy_threshold=0
	stop_bg "$ZCOPY"
	serve
	zc "zero copy off: splice moves the received pages" "b_rx_copy_bytes < 1000 && b_rx_bytes > 4000000" \
		-n 4194304 -w 1048576 -R 1048576 -m splice
	zc "a reader with zero copy off answers SendSm at once" \
		"$COPIED && a_tx_srcavail > 0 && a_tx_zcopy_declined == a_tx_srcavail &&
			a_tx_zcopy_cancels == 0" -t 65536 -n 600000 -w 300000
	set_both net.sdp.shared_link=1
	zc "a shared link has no zero copy" "$COPIED && a_tx_srcavail == 0 && a_zcopy_no_link == 2" -t 65536 -n 600000 -w 300000
	zc "a shared link: splice copies the pieces between markers once" \
		"b_rx_copy_bytes > 4000000 && b_rx_copy_bytes <= b_rx_bytes" \
		-n 4194304 -w 1048576 -R 1048576 -m splice
	start_bg a sdp-zcopy -t 65536 -n 900000 -w 900000 -l 2000 $SERVER $PORT
	ktap_check "a shared link: sdpstat says why there is no zero copy" wait_for 20 because link
	stop_bg "$BG_PID"
}

# foreign DEVICES: with other RDMA devices than iwarp_hybrid at one end or both
foreign() {
	zc "$1: sends are not copied" "$(whole 900000 3)" -n 900000 -w 300000 -o 1
	set_both net.sdp.zcopy_wait="$HASTY"
	zc "$1: a sleeping reader: sends are cancelled, all data arrives" "a_tx_bytes == b_rx_bytes && a_tx_zcopy_cancels > 0" -n 300000 -w 300000 -l 300
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
setup
sizes
readers
two_readers
senders
backs_off
pays
cancels
ends hybrid
off
gone
pair hybrid siw foreign
pair siw hybrid foreign
pair rxe rxe foreign
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
