#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long count timeout=900 mem=4G
#
# Cost of a connection from connect() to close(), with a request between, while none,
# 5,000 and 10,000 others are open: with 10,000 at most a fifth more than with none. Of
# 2,000 busy connections beside them none is starved. The same figures for TCP, in the
# same guest. An instruction is a nanosecond here.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-scale jq
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"

OPEN="0 5000 10000"
ACTIVE=2000
ROUNDS=5
PORT=7000
VISITS=200

# tell LINE...: send the client a command; its answer is left in REPLY
tell() {
	echo "$*" >&"${CALL[1]}"
	read -r -t 1200 REPLY <&"${CALL[0]}" || REPLY="no answer to $*"
	[ "${REPLY%% *}" = ok ]
}

# micro NANOSECONDS NUMBER: microseconds of each
micro() { awk "BEGIN { printf \"%.0f\", $1 / 1000 / $2 }"; }

row() { printf '%-6s %-22s %9s %9s\n' "$@" | tee -a "$OUT/rate.txt" | sed 's/^/# /'; }

# visits KIND ALREADY: short connections while ALREADY are open; the microseconds of each
# are left in EACH
visits() {
	if ! tell rate $VISITS; then
		ktap_fail "$1: $VISITS connections beside $2" "$REPLY"
		EACH=0
		return 1
	fi
	EACH=$(micro "${REPLY#ok }" $VISITS)
	row "$1" "beside $2" "$EACH us" "$((1000000 / EACH))/s"
}

# more KIND NUMBER: open so many more, which stay
more() {
	[ "$2" -gt 0 ] || return 0
	if ! tell open "$2"; then
		ktap_fail "$1: $2 more connections" "$REPLY"
		return 1
	fi
	local each
	each=$(micro "${REPLY#ok }" "$2")
	row "$1" "$2 more" "$each us" "$((1000000 / each))/s"
	# exclude work that is done once they are idle from the next measurement
	sleep 10
}

# busy KIND FIRST: ROUNDS requests on ACTIVE connections from number FIRST on
busy() {
	local fewest most jain gap

	tell run "$2" $ACTIVE $ROUNDS 16384 || REPLY="$REPLY - - -"
	read -r _ fewest most jain gap <<<"$REPLY"
	row "$1" "$ACTIVE busy, Jain" "$jain/1000" ""
	row "$1" "fewest, most" "$fewest" "$most"
	row "$1" "others between" "$gap" ""
	ktap_check "$1: none of $ACTIVE busy connections is starved (all: $gap)" \
		[ "${gap:-1000000}" -le $((10 * ACTIVE)) ]
}

# kind NAME: all measurements for tcp or sdp
kind() {
	local n open=0

	coproc CALL { in_a sdp-scale call "$1" 10.0.0.2 $PORT; }
	COSTS=()
	for n in $OPEN; do
		more "$1" $((n - open)) && visits "$1" "$n" || return
		open=$n
		COSTS+=("$EACH")
	done
	ktap_ok "$1: connections beside $OPEN others work, and take ${COSTS[*]} us"
	tell touch 0 "$n" && tell open $ACTIVE && busy "$1" "$n"
	ktap_check "$1: the idle connections still work" tell touch 0 "$n"
	ktap_check "$1: all connections end" tell close 0 $((n + ACTIVE))
	end_coproc CALL
}

modprobe -q crc32c-intel
modprobe -q sdp
for family in tcp sdp; do
	# connections of the first family in TIME_WAIT would make ports scarce for the second
	net_down
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	in_b sh -c 'echo 4096 >/proc/sys/net/core/somaxconn'
	start_bg b sdp-scale serve $family 10.0.0.2 $PORT 1024
	wait_port b $PORT
	kind $family
	ktap_check "$family: no queue pair is left" wait_for 120 no_queue_pairs
	stop_bg "$BG_PID"
done
ktap_check "beside 10000 connections SDP takes at most a fifth more than beside none" \
	[ "${COSTS[2]:-0}" -gt 0 -a "${COSTS[2]:-0}" -le $((COSTS[0] * 6 / 5)) ]
ktap_done
