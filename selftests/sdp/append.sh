#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# 10,000 small sends to a reader that sleeps leave in few messages: a send joins the
# one before it if that has not begun to leave. Nothing is lost, and nothing is
# delayed. Without the shared link the provider joins no sends, which shows that the
# test measures the link.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need sdp-append sdpstat rdma socat python3
[[ " ${PROFILES:-}" != *" offload-"* ]] || need_research

COUNT=$(scaled 10000)
# On a debug kernel COUNT is a tenth. So few sends would leave at once, while the window
# is open: FILL bytes close it before.
FILL=$(scaled 0 262144)
FIFO=/tmp/append.fifo
PORT=7000
SLEEP=40	# s at most

# sent_or_full: the writer has sent all, or sleeps since the buffers are full: no byte for
# three seconds
sent_or_full() {
	local bytes

	said sent && return
	bytes=$(sdp_counter b tx_bytes)
	[ "$bytes" = "${TAKEN#* }" ] || TAKEN="$SECONDS $bytes"
	[ "$bytes" -gt "$BEFORE" ] && [ $((SECONDS - ${TAKEN% *})) -gt 3 ]
}

# run SIZE [-e]: the bytes that arrived are left in BYTES, data messages in MSGS, and
# bytes given to TCP in WIRE, FPDUs, all messages
run() {
	local reader reader_log

	PORT=$((PORT + 1)) BYTES=0 MSGS=0 APPENDED=0 JOINED=0 SAVED=0
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
	timeout 10 sh -c ": > $FIFO" || { KTAP_OUT="no reader: $(cat "$reader_log")"; return 1; }
	wait "$reader" || { KTAP_OUT=$(cat "$reader_log"); return 1; }
	counters_take after
	read -r BYTES _ < "$reader_log"
	{ read -r MSGS; read -r APPENDED; read -r JOINED; read -r SAVED; read -r WIRE; read -r FPDUS; read -r ALL; } \
		< <(counters_diff b before after sdp_tx_data_msgs hyb_tx_appended hyb_tx_appended_bytes \
			hyb_tx_saved_bytes hyb_tx_bytes hyb_tx_fpdus sdp_tx_msgs)
}

# appended SIZE: check that most of COUNT sends of SIZE bytes join a message
appended() {
	local desc="$COUNT sends of $1 bytes"

	if ! run "$1"; then
		ktap_fail "$desc: the transfer works" "$KTAP_OUT"
		return
	fi
	ktap_is "$desc: all bytes arrive, unchanged" "$BYTES" $((FILL + COUNT * $1))
	ktap_check "$desc: $MSGS messages, at most 1/20" test "$MSGS" -le $((COUNT / 20))
	ktap_check "$desc: $APPENDED joined a message, $SAVED header bytes saved" \
		test "$APPENDED" -ge $((COUNT - COUNT / 20)) -a "$SAVED" -ge $((APPENDED * 16))
	# the last one to join a message may have found room for a part only
	ktap_check "$desc: $JOINED bytes joined a message" test "$JOINED" -le $((APPENDED * $1)) \
		-a "$JOINED" -ge $(((APPENDED - MSGS) * $1))
	# 16 of SDP for a message; 24, and PAD, for an FPDU; markers of 4 every 512
	ktap_check "$desc: all but $((WIRE - BYTES)) bytes on the wire are payload" \
		test $((WIRE - BYTES)) -le $((16 * ALL + 27 * FPDUS + 4 * (WIRE / 512 + 1)))
}

# A program that sends a byte on request, and prints how many have not left when
# send() returns
cat >/run/alone.py <<'END'
import fcntl, socket, struct, sys
SIOCOUTQNSD = 0x894B
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[3]))
s.send(b"x")
s.recv(1)
print("ready", flush=True)
for line in sys.stdin:
    s.send(b"x")
    left = struct.unpack("i", fcntl.ioctl(s, SIOCOUTQNSD, struct.pack("i", -1)))
    print("message", line.strip(), *left, flush=True)
END

# acked: nothing of a is under way to b
acked() { ! in_a ss -tin state established dst 10.0.0.2 | grep -q unacked; }

sent() {
	echo "$(sdp_counter a tx_data_msgs) $(cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_fpdus)"
}

# alone LINK NODELAY: a send leaves at once, alone. No acknowledgment comes, so a sender that
# waited for one, or for more to send, would have data left when send() returns. No timer of
# TCP runs out meanwhile.
alone() {
	local name="$1, nodelay $2" server client log i before

	stack_link "$1"
	PORT=$((PORT + 1))
	start_bg b timeout 100 sdp-run socat -b 1 TCP-LISTEN:$PORT,bind=10.0.0.2 PIPE
	server=$BG_PID
	wait_port b $PORT
	rm -f $FIFO
	mkfifo $FIFO
	start_bg a sh -c "exec timeout 100 sdp-run python3 /run/alone.py 10.0.0.2 $PORT $2 <$FIFO"
	client=$BG_PID log=$BG_LOG
	exec 7>$FIFO
	if wait_for 30 said ready "$log" && wait_for 20 acked; then
		tc -n b qdisc add dev vb root netem loss 100%
		for i in 1 2 3 4; do
			before=$(sent)
			echo $i >&7
			wait_for 20 said "message $i" "$log"
			ktap_is "$name: message $i has left when send() returns" \
				"$(grep "message $i" "$log")" "message $i 0"
			ktap_is "$name: message $i is in an FPDU of its own" "$(sent)" \
				"$((${before% *} + 1)) $((${before#* } + 1))"
		done
		ktap_check_fails "$name: no message is acknowledged" acked
		tc -n b qdisc del dev vb root
	else
		ktap_fail "$name: a connection is established" "$(cat "$log")"
	fi
	exec 7>&-
	stop_bg "$client"
	stop_bg "$server"
}

net_up
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
if [ -z "${PROFILES-}" ]; then
	ip -n a route replace 10.0.0.0/24 dev va src 10.0.0.1 rto_min 100s
	for link in enhanced basic; do
		alone $link 0
		alone $link 1
	done
	ip -n a route replace 10.0.0.0/24 dev va src 10.0.0.1
fi
stack_link enhanced
for profile in ${PROFILES:-host}; do
	stack_profile "$profile"
	ktap_diag "$profile"
	appended 64
done
# with PROFILES nothing else is tested
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
ktap_is "MSG_EOR: all bytes arrive" "$BYTES" $((COUNT * 64))
ktap_is "MSG_EOR: each send is a message" "$MSGS" $COUNT
ktap_is "MSG_EOR: no send joins a message" "$APPENDED $JOINED" "0 0"
ktap_check "MSG_EOR: all $COUNT messages were queued while the reader slept" test "$SENT" -eq 1
COUNT=1500
run 64 -e
ktap_is "MSG_EOR, more messages than places: all bytes arrive" "$BYTES" $((COUNT * 64))
ktap_is "MSG_EOR, more messages than places: each send is a message" "$MSGS" $COUNT

COUNT=$(scaled 10000)
stack_link basic
run 64
ktap_is "SDP basic: all bytes arrive" "$BYTES" $((COUNT * 64))
ktap_is "SDP basic: no provider appends" "$APPENDED" 0

# without joining: each send has 16 bytes of SDP and 24 of iWARP
in_b sysctl -qw net.sdp.credit_join=0
run 64
ktap_is "SDP basic, one by one: all bytes arrive" "$BYTES" $((COUNT * 64))
ktap_is "SDP basic, one by one: each send is a message" "$MSGS" "$COUNT"
ktap_check "SDP basic, one by one: $((WIRE - BYTES)) bytes of headers, 40 each" \
	test $((WIRE - BYTES)) -ge $((40 * COUNT)) -a $((WIRE - BYTES)) -le \
	$((16 * ALL + 27 * FPDUS + 4 * (WIRE / 512 + 1)))
in_b sysctl -qw net.sdp.credit_join=1
ktap_done
