#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: count timeout=200
#
# Benchmarks measure the time of the hosts and that of the NIC separately: their sum is the time
# that passed. The test needs run.sh --count, where an instruction takes a nanosecond.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need sdpbench ethtool python3 jq
need_research
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"
HERE=$(cd "$(dirname "$0")" && pwd)
export NET_LINK=hnic

# within WHAT EXPRESSION LOW HIGH: jq's EXPRESSION for $ROW, in per cent, is in that range
within() {
	local got

	got=$(jq -r "100 * ($2) | round" <<<"$ROW")
	ktap_check "$1: $got %, from $3 to $4" \
		test "${got:-0}" -ge "$3" -a "${got:-0}" -le "$4"
}

# account NAME: measure with the present devices, and remove the link
account() {
	local low high

	if ! ROW=$(python3 "$HERE/../bench/account.py" "$1" nic_ns); then
		ktap_fail "$1"
		return
	fi
	ROW=${ROW#BENCH }
	# some kernels are idle while a connection is made; idle time is known to 10 ms only
	low=97 high=103
	[ "$(jq .idle_ns <<<"$ROW")" -eq 0 ] || low=92 high=107
	within "$1: all tasks" \
		"(.engine_threads_ns + .host_tasks_ns + .idle_ns) / .elapsed_ns" $low $high
	# neither includes the NIC's threads as they wake up and go to sleep
	within "$1: hosts and NIC" \
		"(.host_tasks_ns + .nic_ns + .idle_ns) / .elapsed_ns" $((low - 7)) $high
	within "$1: the NIC's counters, of its threads" \
		".nic_ns / .engine_threads_ns" 50 100
	net_down
}

modprobe -q crc32c-intel
net_up || ktap_skip_all "no links"
account tcp
for what in enhanced/hybrid basic/offload-contig; do
	net_up && dev_up hybrid hybrid && stack_link ${what%/*} &&
		stack_profile ${what#*/} && stack_markers 512
	ktap_is "set up: $what" $? 0
	account "sdp-$what"
done
ktap_done
