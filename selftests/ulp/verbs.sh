#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# The verbs that upper layers of the kernel use, one by one (ulp_verbs.ko), and
# those of programs (ulp-uverbs).

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need ulp-uverbs tc
need_research

hybrid_here || ktap_skip_all "no hybrid devices"

# results WHOSE: lines of TAP become ours
results() {
	local line
	while read -r line; do
		case $line in
		"ok "*) ktap_ok "$1: ${line#ok * - }" ;;
		"not ok "*) ktap_fail "$1: ${line#not ok * - }" ;;
		"# "*) ktap_diag "${line#\# }" ;;
		esac
	done
}

adaptive() { rdma dev show "$1" -d | grep "adaptive-moderation on"; }

kt_load ulp_verbs || ktap_skip_all "no test module"
kt_do - kernel all 10.0.0.2 7800
# The core changes moderation as it sees fit, by what completes
for dev in rda rdb; do
	rdma dev set $dev adaptive-moderation on
	ktap_check "adaptive moderation of $dev" adaptive $dev
done
kt_do - "adaptive moderation" all 10.0.0.2 7800
kt_do - "adaptive moderation" adaptive 10.0.0.2 7800
for dev in rda rdb; do
	rdma dev set $dev adaptive-moderation off
done
echo reference >/sys/class/infiniband/rda/hybrid/tx_payload
tc qdisc add dev va root netem delay 200ms
counters_save
kt_do - refer refer 10.0.0.2 7800
ktap_check "refer: payload goes by reference" counters_grew rda tx_ref_bytes
tc qdisc del dev va root
TRACE=/sys/kernel/tracing
ktap_check "a probe on the receive engine" sh -c "
	echo 'p:rx_run iwarp_hybrid:hyb_rx_run' >>$TRACE/kprobe_events &&
	echo 1 >$TRACE/events/kprobes/rx_run/enable"
timeout -k 5 200 ulp-uverbs >"$OUT/uverbs.tap" 2>&1
ktap_is "the program ran" $? 0
results program <"$OUT/uverbs.tap"
echo 0 >$TRACE/events/kprobes/enable
echo >$TRACE/kprobe_events
ktap_check "the module can be removed" modprobe -r ulp_verbs
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
