#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=120
#
# FPDUs and segments: short ones that are posted together share a segment, and none
# waits until those before it are acknowledged. interop/capture checks on the wire where
# FPDUs begin in segments.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need rdma ss tc

count() { cat "/sys/class/infiniband/rda/ports/1/hw_counters/$1"; }

check_shared() {
	local fpdus segments

	kt_do a "" open 10.0.0.2 7800 1
	kt_do a "" touch
	fpdus=$(count tx_fpdus) segments=$(count tx_segments)
	kt_do a "" chain 64 16
	fpdus=$(($(count tx_fpdus) - fpdus))
	segments=$(($(count tx_segments) - segments))
	# 16 of 84 bytes, and one Send that tells that they are there
	ktap_is "16 short Writes and a Send are transferred" "$fpdus" 17
	ktap_check "their FPDUs share segments ($segments)" test "$segments" -le 4
	kt_tell a close
}

# The next message begins in the room that a message leaves in a segment, and a packet
# of TCP continues after it. Without markers a Write of 1176 bytes leaves 252 of 1448.
check_filled() {
	local segments dev

	for dev in rda rdb; do
		echo off >/sys/class/infiniband/$dev/hybrid/markers
	done
	kt_do a "" open 10.0.0.2 7800 1
	kt_do a "" touch
	ktap_check "segments have 1448 bytes" eval \
		'in_a ss -tin state established dst 10.0.0.2 | grep -w mss:1448'
	# the first 32 KB of a stream are in small pages, whose ends segments cannot share
	for _ in 1 2 3; do
		kt_do a "" chain 1176 16
	done
	segments=$(count tx_segments)
	kt_do a "" chain 1176 16
	segments=$(($(count tx_segments) - segments))
	ktap_check "16 Writes that leave room share segments ($segments)" \
		test "$segments" -le 15
	kt_tell a close
}

# acked: b has acknowledged all that a has sent
acked() { ! in_a ss -tin state established dst 10.0.0.2 | grep unacked; }

# No acknowledgment comes from b, so a segment that waited for one would never leave.
# Nor does a timer run out meanwhile, after which TCP sends one segment at a time.
check_alone() {
	ktap_check "TCP's timeouts are long" ip -n a route replace 10.0.0.0/24 \
		dev va src 10.0.0.1 rto_min 100s
	kt_do a "" open 10.0.0.2 7800 1
	kt_do a "" touch
	ktap_check "all data is acknowledged" wait_for 20 acked
	ktap_check "acknowledgments are blocked" tc -n b qdisc add dev vb root netem loss 100%
	kt_do a "the first one" touch
	ktap_check_fails "the first one is not acknowledged" acked
	kt_do a "the second one" touch
	ktap_check_fails "the second one is not acknowledged" acked
	ktap_check "acknowledgments arrive again" tc -n b qdisc del dev vb root
	kt_do a "one more" touch
	ktap_check "all data is acknowledged" wait_for 20 acked
	kt_tell a close
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
kt_load ulp_load || ktap_skip_all "no test module"
kt_tell b listen 10.0.0.2 7800
check_shared
check_alone
check_filled
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_done
