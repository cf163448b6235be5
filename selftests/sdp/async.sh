#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that send with MSG_ZEROCOPY, or through io_uring, see over SDP what they see
# over TCP, on both kinds of link; SDP_INFO reports link, flow control and zero copy.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-notify sdp-uring sdp-echo sdp-run sdpstat
need_research

SERVER=10.0.0.2
PORT=7950

# serve PROGRAM...: at the next port, once it listens
serve() {
	start_bg b "$@" $PORT
	SERVE=$BG_PID SERVE_LOG=$BG_LOG
	wait_port b $PORT
}

# notify NAME [sdp-run]
notify() {
	PORT=$((PORT + 1))
	# shellcheck disable=SC2086 # "sdp-run", or nothing
	serve $2 sdp-echo -f 2 -s -h $SERVER -p
	# shellcheck disable=SC2086
	in_a timeout 60 $2 sdp-notify $SERVER $PORT >"/tmp/notify.$1" 2>&1
	echo "exit $?" >>"/tmp/notify.$1"
	stop_bg "$SERVE"
}

# uring NAME [sdp-run]
uring() {
	PORT=$((PORT + 1))
	# shellcheck disable=SC2086 # "sdp-run", or nothing
	serve $2 sdp-uring serve $SERVER
	# shellcheck disable=SC2086
	in_a timeout 60 $2 sdp-uring $SERVER $PORT >"/tmp/uring.$1" 2>&1
	echo "exit $?" >>"/tmp/uring.$1"
	wait_for 20 grep -q ^over "$SERVE_LOG"
	cat "$SERVE_LOG" >>"/tmp/uring.$1"
	stop_bg "$SERVE"
}

# usage COPIED LINK: io_uring reports whether sent memory was copied (COPIED: 1 or 0)
usage() {
	local out

	PORT=$((PORT + 1))
	serve sdp-run sdp-uring serve $SERVER
	out=$(in_a timeout 60 sdp-run sdp-uring usage $SERVER $PORT 2>&1)
	stop_bg "$SERVE"
	if [[ "$out" = *"more 0"* ]]; then
		ktap_skip "io_uring over $2: the kernel reports copied $1" "this kernel does not tell"
		return
	fi
	ktap_is "io_uring over $2: the kernel reports copied $1" "$out" "own: copied $1
recv 20000 is right
registered: copied $1
recv 20000 is right"
}

# same WHAT NAME: the output is the same as over TCP, and the program succeeded
same() {
	ktap_check "$1 over $2: same output as over TCP" diff "/tmp/$1.tcp" "/tmp/$1.$2"
	ktap_check "$1 over $2: the program succeeds" grep -q '^exit 0$' "/tmp/$1.$2"
}

accepted() { in_b sdpstat -s -z | awk '$1 == "accepts" { print $2 }'; }

# native LINK REASON FLOW COPIED ZCOPY_REASON: AF_SDP without sdp-run; what SDP_INFO has to
# report, and whether sends of 10000 bytes are copied
native() {
	local out
	PORT=$((PORT + 1))
	serve sdp-echo -s -h $SERVER -p
	out=$(in_a timeout 60 sdp-notify -n $SERVER $PORT 2>&1)
	stop_bg "$SERVE"
	ktap_is "AF_SDP, link $1, copied $4: notifications and SDP_INFO are right" "$out" \
"nothing: Resource temporarily unavailable
without the flag: Resource temporarily unavailable
notified of 1
echo is right
copied $4
notified of 2
echo is right
copied $4
bad memory: Bad address
nothing to send: ok
level 0 type 11 errno 0 origin 5
notified of 5
copied 1
off: Resource temporarily unavailable
version 3 size right state 1 device rda link $1 $2 flow $3 0 zcopy $5
bytes right messages some queues 0 0 0
set: Protocol not available"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
notify tcp
uring tcp
ktap_diag "$(cat /tmp/uring.tcp)"
for flow in transport rdma vwin credit; do
	in_a sysctl -q -w net.sdp.flow_control=$flow
	before=$(accepted)
	notify $flow sdp-run
	uring $flow sdp-run
	ktap_is "$flow: the transfer uses SDP" "$(($(accepted) - before))" 3
	same notify $flow
	same uring $flow
done
native 1 6 2 0 0
for ns in a b; do
	in_$ns sysctl -q -w net.sdp.zcopy_threshold=4096 net.sdp.zcopy_wait=1000000
done
native 1 6 2 0 0
in_a sysctl -q -w net.sdp.flow_control=auto
native 2 0 5 1 8
usage 1 "a shared link"
in_a sysctl -q -w net.sdp.flow_control=credit net.sdp.zcopy_threshold=0
usage 0 "a verbs link"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
