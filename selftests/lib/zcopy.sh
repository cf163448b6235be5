# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # variables are for scripts that source this
#
# For tests of zero copy with sdp-zcopy, or another PROGRAM, at both ends: to be
# sourced after lib.sh, with SERVER, PORT and PIPELINED.

PROGRAM=${PROGRAM:-sdp-zcopy}

PATIENT=8000000	# us, for a reader that is slow on a busy machine
HASTY=1000

set_a() { in_a sysctl -q -w "$@"; }
set_both() { in_a sysctl -q -w "$@" && in_b sysctl -q -w "$@"; }

# look: read all counters, as lines "a_COUNTER value"; the values of the call before are kept
look() {
	mv -f /tmp/zcopy.after /tmp/zcopy.before 2>/dev/null
	{ in_a sdpstat -s -z | sed 's/^/a_/'; in_b sdpstat -s -z | sed 's/^/b_/'; } > /tmp/zcopy.after
}

# risen: increase of the counters between the last two looks, as shell variables
risen() {
	awk '$2 !~ /^-?[0-9]+$/ { next } FNR == NR { was[$1] = $2; next }
		{ print $1 "=" $2 - was[$1] }' /tmp/zcopy.before /tmp/zcopy.after
}

# serve: start the server at the next port
serve() {
	PORT=$((PORT + 1))
	start_bg b "$PROGRAM" serve "$SERVER" "$PORT"
	ZCOPY=$BG_PID
	wait_for 30 said listening
	look
}

# zc DESCRIPTION EXPRESSION OPTION...: the program succeeds, and the arithmetic expression,
# whose variables are the increases of the counters, is not 0
zc() {
	local desc=$1 want=$2 out rc

	shift 2
	out=$(in_a timeout 60 "$PROGRAM" "$@" "$SERVER" "$PORT" 2>&1)
	rc=$?
	look
	if [ $rc -ne 0 ] || [ "$out" != ok ]; then
		ktap_fail "$desc" "rc=$rc $out" "$(risen | grep -v '=0$')"
	elif ! (eval "$(risen)"; [ $((want)) -ne 0 ]); then
		ktap_fail "$desc" "not: $want" "$(risen | grep -v '=0$')"
	else
		ktap_ok "$desc"
	fi
}

# both_directions OPTIONS...: xfer, once with each of them
both_directions() {
	local what

	start_bg b sdp-run xfer -s -h "$SERVER" -p 7700
	wait_for 30 said listening
	for what in "$@"; do
		# shellcheck disable=SC2086 # options
		ktap_check "data arrives in both directions: xfer -m $what" in_a sdp-run xfer -h "$SERVER" -p 7700 -t 60 \
			-m $what -w 131072 -R 131072
	done
	stop_bg "$BG_PID"
}

# Expressions for zc: a part was advertised, and a part copied; all was copied
SOME="a_tx_srcavail > 0 && a_tx_bytes == b_rx_bytes && a_tx_copy_bytes > 64"
COPIED="a_tx_zcopy_bytes == 0 && b_rx_zcopy_bytes == 0"

# setup, gone: begin and end the tests of a pair of devices
setup() {
	set_both net.sdp.shared_link=0 net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 net.sdp.zcopy_wait=$PATIENT \
		net.sdp.zcopy_pipelined="$PIPELINED"
	PINNED=$(pinned)
	serve
}

gone() {
	stop_bg "$ZCOPY"
	ktap_check "all pages are unpinned" wait_for 20 none_pinned
	ktap_check "no socket is left" wait_for 20 no_sockets
}

# pair A B COMMAND...: run the command, with "A to B" as an argument, between devices of
# these kinds
pair() {
	local name="$1 to $2"

	net_down
	if ! dev_up "$1" "$2"; then
		ktap_skip "$name" "no such device"
		return
	fi
	shift 2
	setup
	"$@" "$name"
	gone
}
