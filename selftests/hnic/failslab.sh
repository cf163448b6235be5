#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=900
#
# Allocations that cannot wait fail over a NIC that finishes FPDUs, in each profile that
# has one: records, packets of the NIC, copies that software finishes. What is
# transferred is right, and nothing is left. Needs fault injection, which the debug
# kernel has.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/../iwarp_hybrid/fail.bash"
need sdp-echo

more_hyb() { [ "$(hyb_of "$1")" -gt "$2" ]; }
dropped() { stat_of a tx_engine_no_memory; }

start
fail_ready
start_bg b sdp-echo -s -h "$SERVER" -p 7700
wait_port b 7700
echo=$BG_PID
for p in offload-contig offload-sg assisted hybrid; do
	attr profile "$p"
	for link in enhanced basic; do
		stack_link $link
		inject ignore-gfp-wait=Y probability=5
		each "$p, $link" in_a hyb-failnth sdp "$SERVER" 7700 15
		inject probability=0
		each "$p, $link, afterwards" in_a hyb-failnth sdp "$SERVER" 7700 1
	done
done

# starved COUNTER DESCRIPTION: with most allocations failing, in the middle of a transfer
# that is what comes of it; then all arrive
starved() {
	local before rc

	serve
	start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n 3000000 -d 3000000 -t 300
	wait_for 60 said connected || sleep 1
	[ -z "$3" ] || "$3"
	before=$(hyb_of "$1")
	inject probability=60
	[ -z "$4" ] || "$4"
	ktap_check "$2" wait_for 60 more_hyb "$1" "$before"
	inject probability=0
	[ -z "$5" ] || "$5"
	wait "$BG_PID"
	rc=$?
	ktap_is "$2: and all arrive" $rc 0
	stop_bg "$SERVER_PID"
}
lossy() { both loss 500000; }
unfinished() { sleep 0.5; flag iwarp-tx-crc off; both loss 0; }
finished() { flag iwarp-tx-crc on; }

inject ignore-gfp-wait=Y
ktap_check "packets were dropped by the NIC" test "$(dropped)" -gt 0
both delay 20000
starved nic_no_record "FPDUs that cannot be recorded are left to software"
starved nic_sw_drops "packets that software cannot finish are dropped" lossy unfinished finished
both delay 0
inject ignore-gfp-wait=N

stop_bg "$echo"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
