#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A program closes before a slow reader has all data. Once the peer's transport has the
# data and DisConn, the reader gets all of it, even if that takes longer than fin_timeout,
# or if the reader has finished sending long before. A program that closes with unread
# data resets the connection, as with TCP. max_orphans limits the connections that stay.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat
need_research

PROG=$(dirname "$0")/orphan.py
SERVER=10.0.0.2
PORT=7100
BYTES=262144
VIA=sdp-run
SERVER_LOG=''
GO=/run/orphan-go
RESULT=/run/orphan-result

# serve: start a server; CLOSED counts the connections that it has closed
serve() {
	PORT=$((PORT + 1))
	CLOSED=0
	start_bg b $VIA /usr/bin/python3 "$PROG" serve $SERVER $PORT
	SERVER_LOG=$BG_LOG
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
}

# reader HOW BYTES: start a client that reads as many bytes as TELL says, until enough
reader() {
	rm -f $GO
	mkfifo $GO
	exec {TELL}<>$GO
	# without the writing end: otherwise it would see no end of its input
	in_a $VIA /usr/bin/python3 "$PROG" read $SERVER $PORT "$1" "$2" \
		<$GO {TELL}>&- >$RESULT 2>&1 &
	READER=$!
	LIB_PIDS+=("$READER")
}

# enough: the reader reads the rest; its result is left in $GOT
enough() {
	exec {TELL}>&-
	wait "$READER"
	GOT=$(tail -n 1 $RESULT)
}

closed() { [ "$(grep -c closed "$SERVER_LOG")" -gt "$CLOSED" ]; }
wait_closed() {
	ktap_check "$1: the server has closed" wait_for 20 closed
	CLOSED=$((CLOSED + 1))
}

# left: the transport has all data of the server, and DisConn
left() { in_b sdpstat -a | grep -q "^FIN-WAIT-2.*:$PORT "; }
more_timeouts() { [ "$(sdp_counter b timeouts)" -gt "$1" ]; }

# patient NAME: reads until the last byte has left the server, then pauses
patient() {
	local before n=0

	before=$(sdp_counter b timeouts)
	reader open $BYTES
	wait_closed "$1"
	until left || [ $((n += 16384)) -gt $BYTES ]; do
		echo 16384 >&"$TELL"
	done
	ktap_check "$1: the server waits for the reader (after $n bytes)" left
	ktap_check "$1: the server's connection times out" wait_for 20 more_timeouts "$before"
	enough
	ktap_is "$1: the reader gets all data" "$GOT" "$BYTES -"
}

# no connection of the server is left
ended() { ! in_b sdpstat -a | grep -q "^[FC].*:$PORT "; }

# both NAME: the reader has finished as well, long before it has read all
both() {
	local n=0

	in_b sysctl -qw net.sdp.fin_timeout=60
	reader open $BYTES
	wait_closed "$1"
	until left || [ $((n += 16384)) -gt $BYTES ]; do
		echo 16384 >&"$TELL"
	done
	echo finish >&"$TELL"
	# longer than iwarp_hybrid waits for a reader, and for the end of the peer
	sleep 12
	enough
	ktap_is "$1: a reader that finishes first gets all data" "$GOT" "$BYTES -"
	ktap_check "$1: then the connection ends" wait_for 10 ended
	in_b sysctl -qw net.sdp.fin_timeout=6
}

# unread NAME: the server closes with unread data, so the reader gets an error
unread() {
	reader unread 65536
	wait_closed "$1, unread"
	enough
	ktap_is "$1, unread data: the reader sees a reset" "${GOT#* }" ECONNRESET
}

# many: thirty connections (fill() of orphan.py) whose reader reads nothing; they are
# closed all at once
many() {
	PORT=$((PORT + 1))
	start_bg a /usr/bin/python3 "$PROG" hold 10.0.0.1 $PORT
	STALLED=$BG_PID
	wait_for 20 said listening
	in_b /usr/bin/python3 "$PROG" fill 10.0.0.1 $PORT
}
orphans() { in_b sdpstat -a | grep -c ":$PORT\b"; }
few_orphans() { [ "$(orphans)" -le "$1" ]; }

# limited NAME: max_orphans limits the connections that stay
limited() {
	local before

	in_b sysctl -qw net.sdp.max_orphans=10 net.sdp.fin_timeout=600
	before=$(sdp_counter b orphan_limit)
	many
	ktap_check "$1: more closed connections than max_orphans are reset" \
		wait_for 20 few_orphans 10
	ktap_is "$1: max_orphans connections stay" "$(orphans)" 10
	ktap_is "$1: reset connections are counted" $(($(sdp_counter b orphan_limit) - before)) 20
	stop_bg "$STALLED"
	ktap_check "$1: closed connections end with their peer" wait_for 20 few_orphans 0
	in_b sysctl -qw net.sdp.max_orphans=16384 net.sdp.fin_timeout=3
}

# trickle NAME: a reader that reads little at a time cannot hold a connection for ever
trickle() {
	in_b sysctl -qw net.sdp.fin_timeout=1
	serve
	reader open 380000
	for ((i = 0; i < 200; i++)); do
		kill -0 "$READER" 2>/dev/null || break
		echo 2048 >&"$TELL"
		nap 0.1
	done
	enough
	ktap_is "$1: a reader that trickles sees a reset" "${GOT#* }" ECONNRESET
	in_b sysctl -qw net.sdp.fin_timeout=3
	stop_bg "$BG_PID"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
VIA=''
serve
unread TCP
stop_bg "$BG_PID"
VIA=sdp-run
# longer than iwarp_hybrid waits for a receive once the peer has closed: the pause of the
# reader before that does not count
in_b sysctl -qw net.sdp.fin_timeout=6
for policy in auto vwin; do
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.flow_control=$policy
	done
	serve
	unread $policy
	patient $policy
	both $policy
	stop_bg "$BG_PID"
	ktap_check "$policy: no socket is left" wait_for 20 no_sockets
done
limited vwin
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.flow_control=auto
done
limited auto
trickle auto
ktap_done
