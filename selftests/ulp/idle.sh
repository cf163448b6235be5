#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Memory of idle queue pairs: at most 9.5 KiB each with their directories, or 11.5 KiB
# without if they are a program's, after any activity, and they get it back when they
# need it. With COUNT many of them.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need rdma jq rping

COUNT=${COUNT:-16}
# a debug kernel's locks are larger
LIMIT=$(scaled 9728 16384)
PROGRAM_LIMIT=$(scaled 11776 16384)
# nodes in sysfs of one queue pair: its directory and the files there
NODE=128

# memory: of each queue pair, one a line
memory() {
	rdma -jdd resource show qp | jq '.[] | .drv_memory // empty'
}

# all_within COUNT LIMIT: as many, none takes more
all_within() {
	memory >/tmp/memory
	sort -n /tmp/memory | uniq -c
	[ "$(wc -l </tmp/memory)" -eq "$1" ] &&
		[ "$(sort -n /tmp/memory | tail -n 1)" -le "$2" ]
}

# idle_within WHAT [SECONDS]: they become small, without being asked to
idle_within() {
	local files dirs=(/sys/class/infiniband/rda/hybrid/qp/*/)
	files=$(find "${dirs[0]}" | wc -l)
	ktap_check "$1: idle queue pairs take at most $LIMIT bytes each" \
		wait_for "${2:-60}" all_within "$((2 * COUNT))" $((LIMIT - NODE * files))
	ktap_diag "bytes, and $files nodes in sysfs: $(sort -n /tmp/memory |
		uniq -c | tr -s ' \n' ' ')"
}

# FPDUs of the device so far, of all queue pairs
sends() { cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_fpdus; }
sent() { [ "$(sends)" -ge "$1" ]; }

# A program has its queues in pages of their own. It is stopped while it sends,
# reads and writes.
program_idle() {
	local before

	before=$(sends)
	start_bg b rping -s -a 10.0.0.2 -p 7802
	wait_port b 7802
	start_bg a rping -c -a 10.0.0.2 -p 7802
	ktap_check "a program sends data" wait_for 60 sent $((before + 100))
	pkill -STOP -x rping
	ktap_check "programs: idle queue pairs take at most $PROGRAM_LIMIT bytes each, besides sysfs" \
		wait_for 60 all_within 2 "$PROGRAM_LIMIT"
	ktap_diag "bytes: $(sort -n /tmp/memory | uniq -c | tr -s ' \n' ' ')"
	pkill -KILL -x rping
	ktap_check "no queue pair of a program is left" wait_for 60 no_queue_pairs
}

# free_kb: what is free, and what may be
free_kb() { sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo; }

# per_connection NSECS: of the last test
per_connection() {
	echo $(($(cat /sys/module/ulp_load/parameters/nsecs) / COUNT))
}

# other_cpu_receives: we run on CPU 0, packets are received on CPU 1
other_cpu_receives() {
	local ns
	for ns in a b; do
		"in_$ns" sh -c 'echo 2 | tee /sys/class/net/v?/queues/rx-*/rps_cpus'
	done
	taskset -cp 0 $$
} >/dev/null

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
kt_load ulp_load || ktap_skip_all "no test module"
kt_tell b listen 10.0.0.2 7800
# addresses are resolved
kt_do a first open 10.0.0.2 7800 1
kt_tell a close
before=$(free_kb)
kt_do a "" open 10.0.0.2 7800 "$COUNT"
verbs=$(per_connection)
idle_within "connected"
# with few of them what they share would be most of it
[ "$COUNT" -lt 1000 ] || ktap_diag "a connection, both ends, all layers:" \
	"$(((before - $(free_kb)) * 1024 / COUNT)) bytes"
kt_do a "connected" touch
idle_within "after a Send"
kt_do a "idle" touch
# more Reads at once than the rings have room for at first
kt_do a "" read 4096 200
idle_within "after Reads"
kt_do a "idle again" touch
# more pages in flight than there are at first
kt_do a "" write 1048576 16
idle_within "after Writes"
# One CPU sends, the other receives and returns the packets, to be freed where
# they come from (skb_attempt_defer_free()). That happens when the next packet
# comes in there, of which there is none but for the odd neighbour solicitation.
other_cpu_receives
for i in 1 2 3; do
	kt_do a "$i, by another CPU" write 1048576 1
	idle_within "after Write $i" "$(scaled 20 60)"
done
kt_do a "again" write 1048576 16
kt_do a "after Writes" touch
kt_tell a close
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
program_idle
kt_do a "" tcp 10.0.0.1 7801 "$COUNT"
ktap_diag "$COUNT connections, one after the other: $verbs ns each;" \
	"of TCP, over lo: $(per_connection) ns each"
ktap_done
