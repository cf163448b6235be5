#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug long timeout=600
#
# Allocations that cannot wait fail over a NIC that finishes FPDUs, in each profile that
# uses it: records, packets of the NIC, copies that software finishes. The data is right, and
# nothing is left. Needs fault injection, which the debug kernel has.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/../iwarp_hybrid/fail.bash"
need sdp-echo ping python3
need_research

more_hyb() { [ "$(hyb_of "$1")" -gt "$2" ]; }

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

# The pool of the NIC is full, and no page can be allocated. A datagram that is not read
# keeps one page; the others are idle.
around() { in_a ping -q -A -s 1400 -c 3500 -W 2 -w 200 "$SERVER"; }
start_bg b python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.0.0.2", 7777))
time.sleep(600)'
held=$BG_PID
ktap_check "packets that fill the pool" around
in_a python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(bytes(1000), ("10.0.0.2", 7777))'
echo 3 >$DBG/fail_page_alloc/min-order
echo Y >$DBG/fail_page_alloc/ignore-gfp-wait
echo 100 >$DBG/fail_page_alloc/probability
ktap_check "all packets go by the idle pages" grep -q " 0% packet loss" <(around)
# a new NIC has no page at all
ip link add hx type hnic peer name hy
ip link set hx up
ip link set hy up
no_page() { ethtool -S hx | grep -q "tx_engine_no_memory: [1-9]"; }
ktap_check "without a page the NIC drops packets" wait_for 20 no_page
ip link del hx
inject probability=0 ignore-gfp-wait=N min-order=0
stop_bg "$held"

stop_bg "$echo"
ktap_check "FPDUs that could not be recorded were left to software" more_hyb nic_no_record 0

# Half of the packets that the NIC sends are lost. They are sent again while its CRC engine is
# off, so software finishes them, which has no memory for most of them for a while.
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
