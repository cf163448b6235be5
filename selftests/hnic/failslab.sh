#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug long timeout=600
#
# Allocations that cannot wait fail over a NIC that finishes FPDUs, in each profile that
# has one: records, packets of the NIC, copies that software finishes. The data is
# right, and nothing is left. Needs fault injection, which the debug
# kernel has.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/../iwarp_hybrid/fail.bash"
need sdp-echo
need_research

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
		each "$p, $link" in_a hyb-failnth sdp "$SERVER" 7700 8
		inject probability=0
		each "$p, $link, afterwards" in_a hyb-failnth sdp "$SERVER" 7700 1
	done
done

stop_bg "$echo"
ktap_check "FPDUs that could not be recorded were left to software" more_hyb nic_no_record 0
ktap_check "packets were dropped by the NIC" test "$(dropped)" -gt 0

# Half of what the NIC sends is lost. It is sent again by software, which has no memory
# for most of it, for a while.
connected() { [ -n "$(ls /sys/class/infiniband/rda/hybrid/qp 2>/dev/null)" ]; }
attr profile hybrid
stack_link enhanced
both rate 4
both delay 20000
serve
start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n 10000000 -d 10000000 -t 400
client=$BG_PID
wait_for 60 connected
both loss 500000
sleep 1
flag iwarp-tx-crc off
inject ignore-gfp-wait=Y probability=60
both loss 0
ktap_check "packets that cannot be finished are dropped" wait_for 60 more_hyb nic_sw_drops 0
inject probability=0 ignore-gfp-wait=N
flag iwarp-tx-crc on
both rate 0
both delay 0
wait "$client"
rc=$?
ktap_is "all data arrives" $rc 0
stop_bg "$SERVER_PID"

ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
