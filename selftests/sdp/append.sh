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
need sdp-append sdpstat rdma

COUNT=$(scaled 10000)
# A tenth of the sends would leave at once, while the window is open, if nothing
# closed it before
FILL=$(scaled 0 262144)
FIFO=/tmp/append.fifo
PORT=7000
SLEEP=40	# s at most

# it has sent all, or sleeps as the buffers are full: no octet for three seconds
sent_or_full() {
	local octets

	said sent && return
	octets=$(sdp_counter b tx_bytes)
	[ "$octets" = "${TAKEN#* }" ] || TAKEN="$SECONDS $octets"
	[ "$octets" -gt "$BEFORE" ] && [ $((SECONDS - ${TAKEN% *})) -gt 3 ]
}

# run SIZE [-e]: the octets that arrived are left in OCTETS, data messages in MSGS, and
# what was given to TCP in WIRE, FPDUs, all messages
run() {
	local reader reader_log

	PORT=$((PORT + 1)) OCTETS=0 MSGS=0 APPENDED=0 SAVED=0
	WIRE=0 FPDUS=0 ALL=0
	rm -f $FIFO
	mkfifo $FIFO
	start_bg a timeout 60 sdp-append -s -h 10.0.0.1 -p $PORT -r 8192 -w $FIFO
	reader=$BG_PID reader_log=$BG_LOG
	wait_port a $PORT || return
	counters_take before
	BEFORE=$(sdp_counter b tx_bytes)
	start_bg b timeout 60 sdp-append -h 10.0.0.1 -p $PORT -i "$FILL" -n "$COUNT" -m "$@"
	# all is in buffers, or they are full and the writer sleeps, too
	TAKEN=
	PATIENCE=1 wait_for "$SLEEP" sent_or_full
	SENT=0
	said sent && SENT=1
	timeout 10 sh -c ": > $FIFO" || { KTAP_OUT="nobody reads: $(cat "$reader_log")"; return 1; }
	wait "$reader" || { KTAP_OUT=$(cat "$reader_log"); return 1; }
	counters_take after
	read -r OCTETS _ < "$reader_log"
	{ read -r MSGS; read -r APPENDED; read -r SAVED; read -r WIRE; read -r FPDUS; read -r ALL; } \
		< <(counters_diff b before after sdp_tx_data_msgs hyb_tx_appended \
			hyb_tx_saved_bytes hyb_tx_bytes hyb_tx_fpdus sdp_tx_msgs)
}

# appended SIZE: the claim
appended() {
	local desc="$COUNT sends of $1 octets"

	if ! run "$1"; then
		ktap_fail "$desc: transfer" "$KTAP_OUT"
		return
	fi
	ktap_is "$desc: all octets arrive, unchanged" "$OCTETS" $((FILL + COUNT * $1))
	ktap_check "$desc: $MSGS messages, at most 1/20" test "$MSGS" -le $((COUNT / 20))
	ktap_check "$desc: $APPENDED joined a message, $SAVED header octets saved" \
		test "$APPENDED" -ge $((COUNT - COUNT / 20)) -a "$SAVED" -ge $((APPENDED * 16))
	# 16 of SDP for a message; 24, and PAD, for an FPDU; markers of 4 every 512
	ktap_check "$desc: all but $((WIRE - OCTETS)) octets on the wire are payload" \
		test $((WIRE - OCTETS)) -le $((16 * ALL + 27 * FPDUS + 4 * (WIRE / 512 + 1)))
}

net_up
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
stack_link enhanced
for profile in ${PROFILES:-host}; do
	stack_profile "$profile"
	ktap_diag "$profile"
	appended 64
done
# over a NIC that is all
[ -z "${PROFILES-}" ] || ktap_done
stack_profile hybrid
ktap_diag "markers in place"
for size in 64 300 1024; do
	appended $size
done

# Ends of records keep messages apart: as many wait as there are, and nothing
# is lost when there is no place for one more
FILL=0
COUNT=400
run 64 -e
ktap_is "MSG_EOR: all octets arrive" "$OCTETS" $((COUNT * 64))
ktap_is "MSG_EOR: each send is a message" "$MSGS" $COUNT
ktap_check "MSG_EOR: all $COUNT found a place while the reader slept" test "$SENT" -eq 1
COUNT=1500
run 64 -e
ktap_is "MSG_EOR, more than there are places: all octets arrive" "$OCTETS" $((COUNT * 64))
ktap_is "MSG_EOR, more than there are places: each send is a message" "$MSGS" $COUNT

COUNT=$(scaled 10000)
stack_link basic
run 64
ktap_is "SDP basic: all octets arrive" "$OCTETS" $((COUNT * 64))
ktap_is "SDP basic: no provider appends" "$APPENDED" 0

# each send by itself: 16 octets of SDP and 24 of iWARP for each
in_b sysctl -qw net.sdp.credit_join=0
run 64
ktap_is "SDP basic, one by one: all octets arrive" "$OCTETS" $((COUNT * 64))
ktap_is "SDP basic, one by one: each send is a message" "$MSGS" "$COUNT"
ktap_check "SDP basic, one by one: $((WIRE - OCTETS)) octets of headers, 40 each" \
	test $((WIRE - OCTETS)) -ge $((40 * COUNT)) -a $((WIRE - OCTETS)) -le \
	$((16 * ALL + 27 * FPDUS + 4 * (WIRE / 512 + 1)))
in_b sysctl -qw net.sdp.credit_join=1
ktap_done
