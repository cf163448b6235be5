# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Captures (sourced after lib.sh).

# dump_start NAME [a|b], dump_stop: capture TCP packets in that namespace (a)
dump_start() {
	local ns=${2:-a}

	# the buffer (-B, KiB) has places for packets of the length of -s
	start_bg "$ns" tcpdump -i "v$ns" -s 2048 -B 32768 -U --immediate-mode -Z root -w \
		"$OUT/$1.pcap" tcp
	DUMP=$BG_PID
	wait_for 20 test -s "$OUT/$1.pcap"
}

dump_stop() {
	sleep 1
	kill -INT "$(pgrep -x tcpdump | head -n1)" 2>/dev/null
	wait_for 10 sh -c "! pgrep -x tcpdump"
	stop_bg "$DUMP"
}
