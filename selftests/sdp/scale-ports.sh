#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long count timeout=900 mem=4G
#
# Cost of bind(), listen(), close() and a connection while none, 10,000 and 50,000 other sockets
# have ports of their own: at most a fifth more beside 10,000 than beside none. The same
# figures for TCP, in the same guest. An instruction is a nanosecond here.
#
# The other sockets have chosen their ports. TCP gives every second port of the range to
# sockets that do not choose, and looks at all of these once few are left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-scale
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"

PORT=700
TIMES=50
OPS="any bind listen end rate"
declare -A COST

# tell LINE...: what the client is to do; its answer is left in REPLY
tell() {
	echo "$*" >&"${CALL[1]}"
	read -r -t 600 REPLY <&"${CALL[0]}" || REPLY="no answer to $*"
	[ "${REPLY%% *}" = ok ]
}

# more FAMILY bound|listeners N
more() {
	if ! tell "$2" "$3"; then
		ktap_fail "$1: $3 $2" "$REPLY"
		return 1
	fi
	# what is done later is not part of what follows
	sleep 2
}

# beside FAMILY OTHERS: a row of costs in us, left in COST[FAMILY OPERATION OTHERS]
beside() {
	local op us row=

	for op in $OPS; do
		if ! tell "$op" $TIMES; then
			ktap_fail "$1: $op beside $2" "$REPLY"
			return 1
		fi
		us=$(awk "BEGIN { printf \"%.1f\", ${REPLY#ok } / 1000 / $TIMES }")
		COST["$1 $op $2"]=$us
		row+=$(printf '%10s' "$us")
	done
	echo "# $(printf '%-4s %-15s' "$1" "$2")$row"
}

# family NAME
family() {
	coproc CALL { in_a sdp-scale call "$1" 10.0.0.2 $PORT; }
	beside "$1" 0 &&
		more "$1" listeners 1000 && beside "$1" "1000 listeners" &&
		more "$1" bound 9000 && beside "$1" 10000 &&
		more "$1" bound 40000 && beside "$1" 50000
	end_coproc CALL
}

# slower OPERATION OTHERS: is it by more than a fifth?
slower() {
	local a=${COST["sdp $1 0"]:-0} b=${COST["sdp $1 $2"]:-0}

	awk "BEGIN { exit !($a <= 0 || $b <= 0 || $b > 1.2 * $a) }"
}

modprobe -q crc32c-intel
modprobe -q sdp
echo "# us beside              any port      bind    listen     close   connect"
for f in tcp sdp; do
	net_down
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	in_a sh -c 'echo "1024 65535" >/proc/sys/net/ipv4/ip_local_port_range'
	in_b sh -c 'echo 4096 >/proc/sys/net/core/somaxconn'
	start_bg b sdp-scale serve $f 10.0.0.2 $PORT 1024
	wait_port b $PORT
	family $f
	stop_bg "$BG_PID"
done
for n in "1000 listeners" 10000; do
	for op in $OPS; do
		slower "$op" "$n"
		ktap_check "$op takes at most a fifth more beside $n than beside none" [ $? = 1 ]
	done
done
ktap_done
