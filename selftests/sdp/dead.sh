#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# A peer that is gone, or never reads: TCP_USER_TIMEOUT and keepalive end the
# connection with ETIMEDOUT, on TCP and on SDP over each kind of link.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run tc hyb-hostile sdpstat

PORT=7700
PROG=$(dirname "$0")/dead.py

# dead NAME [COMMAND...]: under that command, without the cases NOT
NOT=()
dead() {
	local name=$1 case err want

	shift
	in_b sysctl -q -w net.sdp.fin_timeout=1
	start_bg b "$@" /usr/bin/python3 "$PROG" server $PORT
	wait_port b $PORT
	in_a timeout 150 "$@" /usr/bin/python3 "$PROG" client 10.0.0.2 $PORT va \
		"${NOT[@]}" >/run/dead || ktap_fail "$name" "$(cat /run/dead)"
	while read -r case err; do
		case $case in
		alive | slow_reader | connect_option) want=- ;;
		*) want=ETIMEDOUT ;;
		esac
		ktap_is "$name: $case" "$err" "$want"
	done </run/dead
	ktap_is "$name: all cases" "$(wc -l </run/dead)" $((13 - ${#NOT[@]}))
	in_a tc qdisc del dev va root 2>/dev/null
	ktap_is "$name: a signal" "$(in_a timeout 60 "$@" /usr/bin/python3 "$PROG" \
		interrupted 10.0.0.2 $PORT va)" EINTR
	stop_bg "$BG_PID"
	in_a tc qdisc del dev va root 2>/dev/null
	PORT=$((PORT + 1))
}

timeouts() { sdp_counter b timeouts; }
more_timeouts() { [ "$(timeouts)" -gt "$1" ]; }

# What a program has left to a peer that takes nothing, but says something all the time
left() {
	local before

	PORT=$((PORT + 1))
	wait_for 20 no_sockets
	before=$(timeouts)
	start_bg a hyb-hostile -h 10.0.0.1 -p $PORT -x \
		"in-ns b sdp-run /usr/bin/python3 $PROG leave 10.0.0.1 $PORT" talk
	ktap_check "$1: an orphan is given up" wait_for 5 more_timeouts "$before"
	stop_bg "$BG_PID"
}

# over KIND NAME
over() {
	net_down
	if ! dev_up "$1" "$1"; then
		ktap_skip "$2" "no such device"
		return
	fi
	dead "$2" sdp-run
}

modprobe -q sdp
net_up
dead TCP
over hybrid "shared link"
for ns in a b; do
	"in_$ns" sysctl -q -w net.sdp.shared_link=0
done
dead "hybrid, credit" sdp-run
left "hybrid, credit"
# what does not depend on the device has been seen
NOT=(alive not_reading flooded second_connection slow_reader)
over rxe rxe
# it waits for the peer's TCP whoever connects, and however
NOT+=(connect connect_option)
over siw siw
ktap_done
