#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# A peer that is gone, or never reads: TCP_USER_TIMEOUT, keepalive and the time
# that connect() has end the connection with ETIMEDOUT, whether a program has
# chosen them or the namespace, on TCP and on SDP over each kind of link.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run tc hyb-hostile sdpstat
need_research
PLAIN_PORTS=1

PORT=7700
PROG=$(dirname "$0")/dead.py

# Time until the first probe, until the next one, how many; for connect() a limit that is
# longer than what connect_option waits. Those of TCP are not set for SDP, below which TCP is
KEEPALIVE=(time=1 intvl=1 probes=2)
RETRIES=net.ipv4.tcp_retries2=3
TIMES_TCP=("$RETRIES" net.ipv4.tcp_syn_retries=2 "${KEEPALIVE[@]/#/net.ipv4.tcp_keepalive_}")
TIMES_SDP=("$RETRIES" net.sdp.connect_timeout=6 "${KEEPALIVE[@]/#/net.sdp.keepalive_}")

# dead NAME [COMMAND...]: run the cases of dead.py under that command, without the cases NOT
NOT=()
dead() {
	local name=$1 case err want ns

	shift
	# shorter than slow readers take, with either half closed or both, and longer than one
	# message takes them, also under the debug kernel
	for ns in a b; do
		"in_$ns" sysctl -q -w net.sdp.fin_timeout=8
	done
	in_a sysctl -q -w "${TIMES[@]}" || ktap_fail "$name: the settings are accepted"
	start_bg b "$@" /usr/bin/python3 "$PROG" server $PORT
	wait_port b $PORT
	in_a timeout 150 "$@" /usr/bin/python3 "$PROG" client 10.0.0.2 $PORT va \
		"${NOT[@]}" >/run/dead || ktap_fail "$name" "$(cat /run/dead)"
	while read -r case err; do
		case $case in
		alive | *_reader* | connect_option) want=- ;;
		*) want=ETIMEDOUT ;;
		esac
		ktap_is "$name: $case, error: ${want/#-/none}" "$err" "$want"
	done </run/dead
	ktap_is "$name: all cases ran" "$(wc -l </run/dead)" $((20 - ${#NOT[@]}))
	in_a tc qdisc del dev va root 2>/dev/null
	ktap_is "$name: a signal ends the wait of connect(), and the attempt goes on" "$(in_a timeout 60 "$@" /usr/bin/python3 "$PROG" \
		interrupted 10.0.0.2 $PORT va)" "EINTR goes on"
	stop_bg "$BG_PID"
	in_a tc qdisc del dev va root 2>/dev/null
	PORT=$((PORT + 1))
}

timeouts() { sdp_counter b timeouts; }
more_timeouts() { [ "$(timeouts)" -gt "$1" ]; }

# left NAME: a program has closed with unsent data, and the peer takes nothing, but sends all
# the time
left() {
	local before

	PORT=$((PORT + 1))
	in_b sysctl -q -w net.sdp.fin_timeout=1
	wait_for 20 no_sockets
	before=$(timeouts)
	start_bg a hyb-hostile -h 10.0.0.1 -p $PORT -x \
		"in-ns b sdp-run /usr/bin/python3 $PROG leave 10.0.0.1 $PORT" talk
	ktap_check "$1: the orphaned socket times out" wait_for 5 more_timeouts "$before"
	stop_bg "$BG_PID"
}

# used: print how many connections of a have had flow control rdma and vwin; used RINGS
# WINDOWS: print 1 for each that has risen since, else 0
used() {
	local name

	for name in ring_links vwin_links; do
		sdp_counter a $name
	done | if [ $# -eq 0 ]; then
		xargs
	else
		xargs | { read -r r w; echo $((r > $1)) $((w > $2)); }
	fi
}

# up KIND: over that kind of device from here on
up() {
	net_down
	KIND=$1
	dev_up "$1" "$1"
}

# policy NAME: run dead with this flow control
policy() {
	local before wanted

	in_a sysctl -q -w net.sdp.flow_control="$1"
	before=$(used)
	dead "$KIND, $1" sdp-run
	case $1 in
	rdma) wanted="1 0" ;;
	vwin) wanted="0 1" ;;
	*) wanted="0 0" ;;
	esac
	# shellcheck disable=SC2086 # two numbers
	ktap_is "$KIND, $1: of rdma and vwin only the requested one was used" "$(used $before)" "$wanted"
}

modprobe -q sdp
net_up
TIMES=("${TIMES_TCP[@]}")
# each segment of the peer puts off TCP's probe of the closed window, and only that
# looks at the user timeout: whether it ever does is a matter of chance
NOT=(flooded)
ktap_skip "TCP: flooded" "TCP may never look at its user timeout then"
dead TCP
NOT=()
TIMES=("${TIMES_SDP[@]}")
if up hybrid; then
	dead "shared link" sdp-run
	for ns in a b; do
		"in_$ns" sysctl -q -w net.sdp.shared_link=0
	done
	# how the transport has lost the peer is not known over verbs
	NOT=(retries)
	policy credit
	left "hybrid, credit"
	policy rdma
	policy vwin
else
	ktap_skip hybrid "no such device"
fi
# the cases that do not depend on the device are left out
NOT=(alive not_reading flooded second_connection slow_reader slow_reader_open
	slow_reader_late held_reader retries)
if up rxe; then
	policy credit
	policy rdma
	# here it is the device that holds data back, by sending them again and again:
	# a slow reader beside that may be too slow
	NOT=(not_reading flooded second_connection slow_reader slow_reader_open
		slow_reader_late retries)
	policy vwin
else
	ktap_skip rxe "no such device"
fi
NOT=(alive not_reading flooded second_connection slow_reader slow_reader_open
	slow_reader_late held_reader retries)
if up siw; then
	policy credit
	policy rdma
else
	ktap_skip siw "no such device"
fi
ktap_done
