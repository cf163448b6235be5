#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# 10,000 small sends to a reader that sleeps leave as few messages: a send that
# finds the one before not yet begun joins it. Nothing is lost, nothing is held
# back, and without the shared link it does not happen (the proof that this
# test proves something).

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need sdp-append sdpstat rdma nsenter

COUNT=$(scaled 10000)
FIFO=/tmp/append.fifo
PORT=7000

# run SIZE: the octets that arrived are left in OCTETS, data messages in MSGS
run() {
	local reader reader_log

	PORT=$((PORT + 1)) OCTETS=0 MSGS=0 APPENDED=0 SAVED=0
	rm -f $FIFO
	mkfifo $FIFO
	start_bg a timeout 60 sdp-append -s -h 10.0.0.1 -p $PORT -r 8192 -w $FIFO
	reader=$BG_PID reader_log=$BG_LOG
	wait_port a $PORT || return
	counters_take before
	start_bg b timeout 60 sdp-append -h 10.0.0.1 -p $PORT -n "$COUNT" -m "$1"
	# all is in buffers, or they are full and the writer sleeps, too
	wait_for 5 grep -q sent "$BG_LOG"
	timeout 10 sh -c ": > $FIFO" || { KTAP_OUT="nobody reads: $(cat "$reader_log")"; return 1; }
	wait "$reader" || { KTAP_OUT=$(cat "$reader_log"); return 1; }
	counters_take after
	read -r OCTETS _ < "$reader_log"
	{ read -r MSGS; read -r APPENDED; read -r SAVED; } < <(counters_diff b before after \
		sdp_tx_data_msgs hyb_tx_appended hyb_tx_saved_bytes)
}

# appended SIZE: the claim
appended() {
	local desc="$COUNT sends of $1 octets"

	if ! run "$1"; then
		ktap_fail "$desc: transfer" "$KTAP_OUT"
		return
	fi
	ktap_is "$desc: all octets arrive, unchanged" "$OCTETS" $((COUNT * $1))
	ktap_check "$desc: $MSGS messages, at most 1/20" test "$MSGS" -le $((COUNT / 20))
	ktap_check "$desc: $APPENDED joined a message, $SAVED header octets saved" \
		test "$APPENDED" -ge $((COUNT - COUNT / 20)) -a "$SAVED" -ge $((APPENDED * 16))
}

net_up
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
for profile in hybrid host; do
	stack_profile $profile
	stack_link enhanced
	ktap_diag "profile $profile"
	appended 64
done

stack_profile hybrid
stack_link basic
run 64
ktap_is "SDP basic: all octets arrive" "$OCTETS" $((COUNT * 64))
ktap_is "SDP basic: no provider appends" "$APPENDED" 0
ktap_done
