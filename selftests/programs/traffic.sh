#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Programs that make traffic: iperf3 with several streams, both directions at
# once, sendfile; sockperf; socat. They check few bytes, but move many at a time.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need iperf3 jq sockperf socat

MB=$(scaled 16 2)

# iperf WHAT ARGUMENT...: streams and whether each of them did something
iperf() {
	run iperf3 -J -c "$SERVER" -p 7501 -n "${MB}M" "${@:2}" >"$DIR/json"
	echo "$1: $(jq -c '[.error, (.end.streams | length),
		([.end.streams[] | .sender.bytes > 0 and .receiver.bytes > 0] | all)]' \
		"$DIR/json")"
}

session_iperf3() {
	serve 7501 iperf3 -s -B "$SERVER" -p 7501 || return
	iperf "four streams" -P 4
	iperf "four back" -P 4 -R
	iperf "both directions" --bidir
	iperf "sendfile" -Z
	iperf "small" -l 200 -n 200K
	iperf "options" -M 1000 -w 100K -N
}

session_sockperf() {
	serve 7502 sockperf server --tcp -i "$SERVER" -p 7502 || return
	run sockperf ping-pong --tcp -i "$SERVER" -p 7502 -t 1 -m 300 2>&1 |
		grep -cE 'Total [1-9][0-9]* observations|dropped messages = 0'
	run sockperf throughput --tcp -i "$SERVER" -p 7502 -t 1 -m 1000 2>&1 |
		grep -cE 'Summary: (Message|BandWidth)'
}

session_socat() {
	serve 7503 socat -u TCP-LISTEN:7503,bind="$SERVER",fork SYSTEM:sha256sum \
		>/dev/null || return
	run socat -u OPEN:"$DIR/file" TCP:"$SERVER":7503,shut-down &&
		wait_for "$LIMIT" grep -q "$(sha <"$DIR/file")" "$BG_LOG" &&
		echo "socat: the same"
	run socat - TCP:"$SERVER":7504 2>&1 | sed 's/.*\] . //'
}

programs_up
random_file file $((MB << 20))
same iperf3 $((MB << 22))
same sockperf 10000
same socat $((MB << 20))
ktap_done
