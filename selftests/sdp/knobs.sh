#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# Settings for measurements: size of receive buffers, merging off, when credits are reported,
# messages that the device has, zero copy off. Each takes effect, and data arrives.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run xfer sdp-actions sdp-fc sdpstat jq
need_research
dev_up hybrid hybrid || ktap_skip_all "no devices"
modprobe -q sdp

SERVER=10.0.0.2
PORT=7700
TRACE=/sys/kernel/tracing
MAP=/run/knobs.map

# set_both NAME=VALUE...: set net.sdp.NAME at both ends
set_both() { in_a sysctl -q -w "${@/#/net.sdp.}" && in_b sysctl -q -w "${@/#/net.sdp.}"; }

# established a|b FILTER: what jq finds in the client's end of the connection (a), or in the
# server's (b)
established() {
	local side='.peer.port == '$PORT
	[ "$1" = a ] || side='.local.port == '$PORT
	"in_$1" sdpstat --json | jq -r ".sockets[] | select(.state == \"ESTAB\") |
		select($side) | $2"
}

up() { [ "$(established a .state)" = ESTAB ]; }

# fill SIZE: sends to a reader that sleeps, until no more are taken; what the reader has
# is left in HELD, RESERVED, RX_SIZE, messages so far in MSGS; then it reads
fill() {
	local job was
	PORT=$((PORT + 1))
	rm -f $MAP /run/knobs.go
	start_bg b sdp-fc serve $SERVER $PORT $MAP
	wait_for 30 said listening
	was=$(sdp_counter a tx_data_msgs)
	mkfifo /run/knobs.go
	in_a timeout 120 sdp-fc fill $SERVER $PORT $MAP "$1" </run/knobs.go >/run/knobs.log 2>&1 &
	job=$!
	exec 7>/run/knobs.go
	wait_for 60 grep -q full /run/knobs.log
	HELD=$(established b .recv_q) RESERVED=$(established b .rx_reserved)
	RX_SIZE=$(established b .rx_size)
	MSGS=$(($(sdp_counter a tx_data_msgs) - was))
	echo go >&7
	exec 7>&-
	wait $job
	ktap_check "$WHAT: all sends of $1 bytes arrive" grep -q ok /run/knobs.log
	stop_bg "$BG_PID"
}

# transfer BYTES: one way, read at once
transfer() {
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h $SERVER -p $PORT
	wait_for 30 said listening
	ktap_check "$WHAT: $1 bytes arrive" in_a sdp-run xfer -h $SERVER -p $PORT -t 90 -m block \
		-n "$1" -d 100000 -w 16384
	stop_bg "$BG_PID"
}

set_both flow_control=credit "rmem=4096 65536 65536"

for size in 32768 8192 5000; do
	WHAT="buffers of $size bytes"
	set_both rx_buf_size=$size
	fill 16384
	ktap_diag "$WHAT: $HELD of $RESERVED bytes held, $MSGS messages"
	ktap_is "$WHAT: the peer learns the size" "$RX_SIZE" $((size + 16))
	ktap_is "$WHAT: whole buffers are reserved" $((RESERVED % size)) 0
	ktap_check "$WHAT: messages carry at most $size bytes on average" test $((MSGS * size)) -ge "$HELD"
	ktap_check "$WHAT: no more than the reserved bytes are held" test "$HELD" -le "$RESERVED"
	transfer 1000000
done
set_both rx_buf_size=32768

# of small messages that wait, each takes a buffer unless they are merged
set_both credit_join=0
for merge in -1 2048; do
	WHAT="rx_merge $merge"
	set_both rx_merge=$merge
	was=$(sdp_counter b rx_merged)
	fill 100
	merged=$(($(sdp_counter b rx_merged) - was))
	ktap_diag "$WHAT: $MSGS messages, $merged merged"
	if [ $merge = -1 ]; then
		ktap_is "$WHAT: no message is merged" $merged 0
		few=$MSGS
	else
		ktap_check "$WHAT: messages are merged" test $merged -gt 0
		ktap_check "$WHAT: more messages are accepted" test "$MSGS" -gt "$few"
	fi
done
set_both credit_join=1

# a larger buffer: with the few receives of 64 KB the sender would need each update
set_both "rmem=4096 1048576 1048576"
declare -A UPDATES
for update in third half each; do
	WHAT="credit_update $update"
	set_both credit_update=$update
	was=$(sdp_counter b tx_credit_updates)
	transfer "$(scaled 4000000 1000000)"
	UPDATES[$update]=$(($(sdp_counter b tx_credit_updates) - was))
done
ktap_diag "updates: ${UPDATES[half]} by half, ${UPDATES[third]} by third, ${UPDATES[each]} each"
ktap_check "credit_update half sends fewer updates than third" test "${UPDATES[half]}" -lt "${UPDATES[third]}"
ktap_check "credit_update third sends fewer updates than each" test "${UPDATES[third]}" -lt "${UPDATES[each]}"
set_both credit_update=third

set_both flow_control=vwin
for posted in 8 1 32; do
	WHAT="vwin_posted $posted"
	set_both vwin_posted=$posted
	PORT=$((PORT + 1))
	start_bg b sdp-actions listen $SERVER $PORT 5 accept pause
	server=$BG_PID
	wait_port b $PORT
	start_bg a sdp-actions connect $SERVER $PORT pause
	wait_for 20 up
	# the message that opens the connection may be among them
	credits=$(established a .tx_credits)
	ktap_diag "$WHAT: $credits more may be sent"
	ktap_check "$WHAT: this many messages may be sent at a time" \
		test $((posted - credits)) -ge 0 -a $((posted - credits)) -le 1
	stop_bg "$BG_PID"
	stop_bg $server
	transfer 1000000
done

# zc_hits: calls of all functions of zero copy
zc_hits() { awk '$1 ~ /^sdp_zc_/ { n += $2 } END { print n + 0 }' $TRACE/kprobe_profile; }

# zc_probes: count the calls of each function of zero copy that is not inlined
zc_probes() {
	awk '$2 ~ /[tT]/ && $3 ~ /^sdp_zc_[a-z0-9_]*$/ && $4 == "[sdp]" {
		print "p:" $3 " sdp:" $3 }' /proc/kallsyms >>$TRACE/kprobe_events
	defer sh -c "echo 0 >$TRACE/events/kprobes/enable; echo >$TRACE/kprobe_events"
	echo 1 >$TRACE/events/kprobes/enable
	PROBES=$(grep -c sdp_zc_ $TRACE/kprobe_events)
	# the calls of a send among them
	grep -q sdp_zc_send $TRACE/kprobe_events
}

# thousand: sends of 16 bytes to a program that does not read. How many calls of functions of
# zero copy there are meanwhile is left in CALLS.
thousand() {
	local link server

	PORT=$((PORT + 1))
	start_bg b sdp-actions listen $SERVER $PORT 5 accept pause
	server=$BG_PID
	wait_port b $PORT
	rm -f /run/knobs.go
	mkfifo /run/knobs.go
	# shellcheck disable=SC2016 # for the inner shell
	start_bg a sh -c 'python3 -c "
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
    sock.connect((sys.argv[1], int(sys.argv[2])))
    for word in \"connected\", \"sent\":
        print(word, flush=True)
        sys.stdin.readline()
        for _ in range(1000 if word == \"connected\" else 0):
            sock.send(bytes(16))
" "$0" "$1" </run/knobs.go' $SERVER $PORT
	exec 7>/run/knobs.go
	wait_for 30 said connected || ktap_fail "$WHAT: connection" "$(cat "$BG_LOG")"
	link=$(established a .link)
	CALLS=$(zc_hits)
	echo >&7
	wait_for 60 said sent || ktap_fail "$WHAT: 1,000 sends" "$(cat "$BG_LOG")"
	CALLS=$(($(zc_hits) - CALLS))
	ktap_is "$WHAT: the link is one of verbs" "$link" verbs
	exec 7>&-
	stop_bg "$BG_PID"
	stop_bg $server
}

set_both flow_control=credit
if [ -d $TRACE/events ] && zc_probes; then
	for threshold in 0 1; do
		WHAT="zcopy_threshold $threshold"
		set_both zcopy_threshold=$threshold
		thousand
		if [ $threshold = 0 ]; then
			ktap_is "$WHAT: 1,000 sends call none of $PROBES functions of zero copy" \
				"$CALLS" 0
		else
			ktap_check "$WHAT: 1,000 sends call them, $CALLS times" test "$CALLS" -ge 1000
		fi
	done
else
	ktap_fail "probes on the functions of zero copy"
fi
ktap_done
