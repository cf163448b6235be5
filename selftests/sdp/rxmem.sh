#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=300
#
# A reader over a verbs link keeps the pages that it reads, and for a while there is no
# memory for others: messages wait for memory, and all data arrives once there is some.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat
DBG=/run/rxmem-debugfs
mkdir -p $DBG
mount -t debugfs d $DBG
defer umount $DBG
FAIL=$DBG/fail_page_alloc
[ -d $FAIL ] || ktap_skip_all "the kernel has no CONFIG_FAIL_PAGE_ALLOC; the debug kernel has"
PROG=$(dirname "$0")/rxmem.py

# inject PERCENT: let so many of the allocations of 8 pages or more fail
inject() {
	echo N >$FAIL/ignore-gfp-wait
	echo 3 >$FAIL/min-order
	echo N >$FAIL/task-filter
	echo -1 >$FAIL/times
	echo 0 >$FAIL/verbose
	echo "$1" >$FAIL/probability
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.shared_link=0
done
start_bg b sdp-run /usr/bin/python3 "$PROG" send 10.0.0.2 7900
wait_port b 7900
GO=/run/rxmem-go
defer rm -f $GO
start_bg a sdp-run /usr/bin/python3 "$PROG" receive 10.0.0.2 7900 $GO
wait_for 60 said connected || ktap_fail "the reader connects" "$(cat "$BG_LOG")"
short() { [ "$(sdp_counter a rx_no_mem)" -ge 8 ]; }
inject 100
defer inject 0
touch $GO
ktap_check "memory for receives is short" wait_for 60 short
ktap_check "without memory not all data has arrived" [ "$(grep -c right "$BG_LOG")" = 0 ]
inject 0
ktap_check "all data arrives" wait_for 60 said right
ktap_done
