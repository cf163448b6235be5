#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A connection that could not begin leaves nothing at its queue pair: when the peer
# is gone already as its Reply comes, the queue pair can be connected again, as often
# as that happens, and as soon as the program has the event.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-again rdma

# again NAME: one queue pair, until it has a connection
again() {
	local server

	PORT=$((PORT + 1))
	start_bg b hyb-again -s -h 10.0.0.2 -p $PORT
	server=$BG_PID
	wait_for 20 said listening || ktap_fail "$1: the peer listens" "$(cat "$BG_LOG")"
	in_a timeout 100 hyb-again -h 10.0.0.2 -p $PORT > "$OUT/again.tap" 2>&1
	ktap_include "$OUT/again.tap" "$1"
	ktap_check "$1: the peer sees the whole message" wait_for 20 said "all of it"
	stop_bg "$server"
}

PORT=7950

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
again "in peace"
# stop the task that reports the failure after the report
if hold cm_event_handler kworker behind=1 times=3 ms=1000; then
	again "at once"
	ktap_is "the reaction was immediate" "$(hold_hits)" 3
	hold_end
else
	ktap_skip "the reaction is immediate" "no probes"
fi
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
