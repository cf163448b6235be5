#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# Zero copy with memory that is used again: it is pinned once, as counters show.
# Every byte is right for any change of the mapping in between, and errors are those
# of a copy. The kept memory is limited. It is released when it is idle, and when process,
# connection, device or module goes.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PROGRAM=sdp-zcache
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-zcache sdp-run sdpstat jq
need_research

SERVER=10.0.0.2
PORT=7600
PIPELINED=0

ALL="a_tx_zcopy_cancels == 0 && b_tx_zcopy_cancels == 0"
# new mappings are noticed, and are not the only transfers
STALE="$ALL && a_zcopy_cache_stale > 0 && a_zcopy_no_mem == 0"
# the memory was missing once, which a copy found out
FAULTS="$ALL && a_zcopy_cache_stale > 0 && a_zcopy_no_mem > 0"

# same DEVICES: the same memory again and again
same() {
	zc "$1: the same memory is pinned once" "$ALL && a_zcopy_cache_misses > 0 &&
		a_zcopy_cache_hits == 7 * a_zcopy_cache_misses && a_tx_srcavail > 0 &&
		b_zcopy_cache_hits == 7 * b_zcopy_cache_misses && a_rx_zcopy_reads > 0" reuse
	zc "$1: new mappings at the same address are noticed" "$FAULTS" remap
	zc "$1: fork: parent and child continue" "$STALE && a_zcopy_cache_hits > 0" fork
}

# late [PREFIX]: the mapping changes when the transfer is over, after the last look at it
late() {
	local who

	for who in late late_recv; do
		if ! hold sdp_zc_cache_keep late asleep=1 ms=60000; then
			ktap_skip "$1memory mapped again at the end of a transfer is noticed ($who)" "no probes"
			continue
		fi
		zc "$1memory mapped again at the end of a transfer is noticed ($who)" "$STALE" $who
		ktap_is "$1the task was stopped there ($who)" "$(hold_hits)" 1
		hold_end
	done
}

# mappings [PREFIX]: what may happen to them
mappings() {
	zc "$1other lengths and addresses are other memory" "$ALL && a_zcopy_cache_hits == 8 && a_zcopy_cache_misses == 7" sizes
	zc "$1mremap() is noticed" "$FAULTS" move
	zc "$1mprotect() is noticed" "$FAULTS" protect
	zc "$1madvise() is noticed" "$STALE" advise
	zc "$1huge pages work, whole and split" "$STALE && a_zcopy_cache_hits > 1" thp
	if sysctl -q -w vm.nr_hugepages=4 && [ "$(sysctl -n vm.nr_hugepages)" -ge 2 ]; then
		zc "$1huge pages of hugetlbfs work" "$STALE && a_zcopy_cache_hits > 1" hugetlb
		sysctl -q -w vm.nr_hugepages=0
	else
		ktap_skip "$1huge pages of hugetlbfs work" "no memory for them"
	fi
	zc "$1changes of a shared file that is written to and truncated are noticed" "$FAULTS && a_zcopy_cache_hits > 0" shared
	zc "$1changes of a private file that is written to and truncated are noticed" "$FAULTS && a_zcopy_cache_hits > 0" private
	if kver_ge 6.13; then
		ktap_skip "$1memory of a device is copied" \
			"the vvar page of this kernel is memory that can be pinned"
	else
		zc "$1memory of a device is copied" \
			"a_zcopy_no_mem == 1 && a_tx_zcopy_bytes == 0" device
	fi
	if [ -e /dev/dma_heap/system ]; then
		zc "$1a dma-buf is copied" "a_zcopy_no_mem > 0 && a_tx_zcopy_bytes == 0 &&
			a_rx_zcopy_bytes == 0" dmabuf
	else
		ktap_skip "$1a dma-buf is copied" "this kernel has no heaps of them"
	fi
	zc "$1another process uses the socket after the first has ended" "$STALE" pass
	late "$1"
	zc "$1mappings may change all the time" "a_zcopy_cache_stale > 0 && a_tx_bytes == b_rx_bytes" churn
	zc "$1the reader's mappings may change all the time" "a_zcopy_cache_stale > 0 && b_tx_bytes == a_rx_bytes" churn_recv
}

bounds() {
	zc "six buffers are all kept" "$ALL && a_zcopy_cache_misses == 6 && a_zcopy_cache_hits == 16 &&
		a_zcopy_cache_evicted == 0" many
	set_a net.sdp.zcopy_entries=4
	zc "the oldest of more than four buffers is released" "$ALL && a_zcopy_cache_misses == 20 &&
		a_zcopy_cache_hits == 2 && a_zcopy_cache_evicted == 16" many
	set_a net.sdp.zcopy_entries=16 net.sdp.zcopy_cache=600000
	zc "with room for two the oldest is released" "$ALL && a_zcopy_cache_misses == 20 &&
		a_zcopy_cache_hits == 2 && a_zcopy_cache_evicted == 18" many
	set_a net.sdp.zcopy_cache=200000
	zc "without room nothing is kept" "$ALL && a_zcopy_cache_misses == 22 && a_zcopy_cache_hits == 0 &&
		a_zcopy_cache_evicted == 0" many
	set_a net.sdp.zcopy_cache=0
	zc "a switched-off cache keeps nothing" "$ALL && a_zcopy_cache_misses == 0 && a_zcopy_cache_hits == 0 &&
		a_tx_srcavail == 8 && b_zcopy_cache_hits == 14" reuse
	set_a net.sdp.zcopy_cache=67108864
	zc "kept memory gives way at RLIMIT_MEMLOCK" "$ALL && a_zcopy_no_mem == 0 &&
		a_zcopy_cache_hits == 2 && a_zcopy_cache_evicted == 18" limit
}

# keep: start a connection whose ends both keep memory
keep() {
	start_bg a "$PROGRAM" hold $SERVER "$PORT"
	CLIENT=$BG_PID
	wait_for 30 said held || ktap_fail "nothing is held" "$(cat "$BG_LOG")"
}

# bytes of two pieces of memory, as sdpstat shows them
KEPT=557056
kept() { "in_$1" sdpstat --json | jq -c '[.sockets[] | select(.state == "ESTAB").zcopy_kept]'; }
none_kept() { [ "$(kept a)$(kept b)" = "[0][0]" ]; }

idle_rose() { [ "$(in_a sdpstat -s -z | awk '$1 == "zcopy_cache_idle" { print $2 }')" -ge 2 ]; }

ends() {
	keep
	ktap_is "sdpstat shows the kept memory" "$(kept a)$(kept b)" "[$KEPT][$KEPT]"
	ktap_is "SDP_INFO shows the kept memory" "$(cat "$BG_LOG")" "held $KEPT"
	ktap_check "idle memory is released" wait_for 20 none_pinned
	ktap_check "released memory is counted" idle_rose
	ktap_check "released memory is not shown any more" none_kept
	stop_bg "$CLIENT"
	keep
	stop_bg "$CLIENT"
	ktap_check "killing the client releases all memory" wait_for 20 none_pinned
	keep
	in_a rdma link delete rda
	in_b rdma link delete rdb
	ktap_check "device removal releases all memory" wait_for 20 none_pinned
	stop_bg "$CLIENT"
	stop_bg "$ZCOPY"
	dev_add a rda va hybrid
	dev_add b rdb vb hybrid
	serve
}

written() {
	set_both net.sdp.zcopy_pipelined=1
	zc "pipelined: the same memory is pinned once" "$ALL && a_zcopy_cache_hits >= 12 && b_zcopy_cache_hits >= 12" reuse
	zc "pipelined: new mappings at the same address are noticed" "$FAULTS" remap
	zc "pipelined: fork: parent and child continue" "$STALE" fork
	mappings
	set_both net.sdp.zcopy_pipelined=0
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
setup
same "hybrid to hybrid"
mappings ""
bounds
written
ends
gone
pair siw siw same
pair rxe rxe same
serve
keep
stop_bg "$CLIENT"
stop_bg "$ZCOPY"
ktap_check "the module can be removed while memory is cached" wait_for 20 modprobe -r sdp_diag sdp
ktap_check "all pages are unpinned" wait_for 20 none_pinned
ktap_done
