# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the scripts that source this set the rest
#
# For tests with hyb-hostile as the peer of servers of SDP: to be sourced after lib.sh.
# They set SERVER and define
#
#	attacks PORT SUITE [OPTION]...

# servers_up: an echo server, and a healthy connection to it
servers_up() {
	start_bg b sdp-echo -s -h "$SERVER" -p 5020
	ECHO=$BG_PID
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
	start_bg a sdp-echo -h "$SERVER" -p 5020
	HEALTHY=$BG_PID
	HEALTHY_LOG=$BG_LOG
	wait_for 20 said connected || ktap_fail "the healthy connection" "$(cat "$BG_LOG")"
}

# attacks_unaccepted: on a connection that is not accepted
attacks_unaccepted() {
	local nobody only

	start_bg b sdp-actions listen "$SERVER" 5022 100 pause
	nobody=$BG_PID
	wait_port b 5022
	for only in "SDP: MSeq" "SDP: unknown message 4" "Data after DisConn" \
		"SDP: AbortConn"; do
		attacks 5022 sdp -o "$only"
	done
	stop_bg "$nobody"
}

# attacks_overrun: on a connection that no program reads from, whose receives do not grow in
# number
attacks_overrun() {
	local bufs merge nobody

	bufs=$(in_b sysctl -n net.sdp.rx_bufs_max)
	merge=$(in_b sysctl -n net.sdp.rx_merge)
	in_b sysctl -q -w net.sdp.rx_bufs_max=8 net.sdp.rx_merge=-1
	start_bg b sdp-actions listen "$SERVER" 5024 100 pause
	nobody=$BG_PID
	wait_port b 5024
	attacks 5024 overrun
	stop_bg "$nobody"
	in_b sysctl -q -w net.sdp.rx_bufs_max="$bufs" net.sdp.rx_merge="$merge"
}

# logged N: so many lines of frozen.py
logged() { [ "$(wc -l <"$FROZEN_LOG")" -ge "$1" ]; }

# Peers whose MSeqAck does not move: timers end what waits for credits. frozen_up, then
# frozen SUITE RESULTS, the errors that the program sees with these peers
frozen_up() {
	in_b sysctl -q -w net.sdp.fin_timeout=2
	start_bg b sdp-run -o /usr/bin/python3 "$(dirname "$0")/frozen.py" "$SERVER" 5023
	FROZEN_LOG=$BG_LOG
	FROZEN_PID=$BG_PID
	wait_for 30 said listening || ktap_fail "frozen.py listens" "$(cat "$BG_LOG")"
}

frozen() {
	local before results

	before=$(wc -l <"$FROZEN_LOG")
	attacks 5023 "$1"
	# a line of two words for each; the last one may come after its peer has gone
	read -ra results <<<"$2"
	wait_for 20 logged $((before + ${#results[@]} / 2))
	ktap_is "the program sees the expected error of $1 peers" \
		"$(tail -n +$((before + 1)) "$FROZEN_LOG" | xargs)" "$2"
}

frozen_down() {
	stop_bg "$FROZEN_PID"
	in_b sysctl -q -w net.sdp.fin_timeout=60
}

# servers_down: the healthy connection is as it was, and nothing is left
servers_down() {
	local rc

	kill -TERM "$(pgrep -x sdp-echo -P "$HEALTHY" || echo "$HEALTHY")"
	wait "$HEALTHY"
	rc=$?
	if [ $rc -eq 0 ] && grep -q " echoes" "$HEALTHY_LOG"; then
		ktap_ok "the healthy connection was not disturbed"
	else
		ktap_fail "the healthy connection was not disturbed" \
			"rc=$rc $(cat "$HEALTHY_LOG")"
	fi
	ktap_check "the server still works" sdp_echoes "$SERVER" 5020
	stop_bg "$ECHO"
	ktap_check "no page is pinned" wait_for 20 none_pinned
	ktap_check "no socket is left" wait_for 20 no_sockets
	ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
}
