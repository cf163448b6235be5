# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "costs" of guest.sh (sourced): the cost of a byte by counters, not by time, in a
# stream of one direction: copies, checksums, DMA operations and messages of the sender
# and of the receiver, for WHATS over LINK with COSTS_SIZES. Input of the report.

COSTS_SIZES=${COSTS_SIZES:-64 1024 4096 16384 65536 262144}

# costs_row LINK WHAT MTU INTERVAL SIZE: b sends, a receives
costs_row() {
	local n=$(((1 << 20) / $5))

	[ "$n" -le 256 ] || n=256
	[ "$n" -ge 4 ] || n=4
	start_bg a sdpbench -s -1 -b 10.0.0.1
	counters_take before
	in_b sdpbench -j -w 10 --timeout 20 -T bw -r 1 -n "$n" -S "$5" 10.0.0.1 >/tmp/rows ||
		{ fail "costs $*"; cat /tmp/rows; }
	wait_for 10 no_queue_pairs
	counters_take after
	stop_bg "$BG_PID"
	awk -v link="$1" -v transport="$2" -v mtu="$3" -v interval="$4" -v size="$5" \
		-f "$LIB_DIR/counters.awk" -f "$BENCH_DIR/costs.awk" \
		"$COUNTERS/before" "$COUNTERS/after"
}

part_costs() {
	local mtu what interval size

	for mtu in $MTUS; do
		for what in $WHATS; do
			for interval in ${COSTS_INTERVALS:-512}; do
				echo "bench: costs of $what over $LINK, MTU $mtu, marker interval $interval ..."
				if setup "$LINK" "$what" "$mtu" "$interval"; then
					for size in $COSTS_SIZES; do
						costs_row "$LINK" "$what" "$mtu" "$interval" "$size"
					done
				else
					fail "costs $what: setup"
				fi
				net_down
			done
		done
	done
}
