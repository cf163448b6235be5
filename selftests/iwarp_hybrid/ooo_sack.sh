#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# A device notices segments out of order by the ACK that TCP sends for it,
# and SACK compression puts that off: by how much, and how many segments share a
# look. Measured by probes in the kernel; the data are compared as ever. Mind that
# only with --count are times what they say.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/ooo.bash"
need rdma rping tc python3

TRACING=/sys/kernel/tracing
N=$(scaled 40 5)

# waits: from the arrival of a segment to the look, in the trace
waits() { python3 "$(dirname "$0")/ooo_sack.py" < "$TRACING/trace"; }

# A packet's numbers are the first words of its skb->cb
probes_on() {
	[ -e "$TRACING/trace" ] || mount -t tracefs t "$TRACING" || return
	{
		echo "p:rcv tcp_rcv_established sk=%di:x64" \
			"seq=+0x28(%si):u32 end=+0x2c(%si):u32"
		echo "p:xmit iwarp_hybrid:hyb_xmit_queue sk=%di:x64"
	} > "$TRACING/kprobe_events" || return
	echo mono > "$TRACING/trace_clock" &&
		echo 16384 > "$TRACING/buffer_size_kb" &&
		echo 1 > "$TRACING/events/kprobes/enable"
}

probes_off() {
	[ -e "$TRACING/events/kprobes" ] || return
	echo 0 > "$TRACING/events/kprobes/enable"
	echo > "$TRACING/kprobe_events"
}

# compression NSECS: the longest that an ACK is put off, 0: none is
compression() {
	local ns

	for ns in a b; do
		"in_$ns" sh -c "echo $1 > /proc/sys/net/ipv4/tcp_comp_sack_delay_ns"
	done
}

# show RTT NSECS: a transfer; the segments that came out of order, and what became of them
show() {
	local what="RTT $1 ms, SACKs put off by up to $2 ns" text n name old=()

	ktap_check "$what: the delay is set" compression "$2"
	for name in segments looks fpdus; do
		old+=($(($(counter rda rx_ooo_$name) + $(counter rdb rx_ooo_$name))))
	done
	echo > "$TRACING/trace"
	transfer "$what"
	text=$(waits)
	n=0
	for name in segments looks fpdus; do
		text+=", $name $(($(counter rda rx_ooo_$name) +
			$(counter rdb rx_ooo_$name) - old[n]))"
		n=$((n + 1))
	done
	ktap_diag "$what: $text"
	ktap_check "$what: FPDUs are placed early" test "$EARLY" -gt 0
	echo "$what: $text" >> "$OUT/sack.txt"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
both ooo on
both markers on
segmentation off
ktap_check "the probes are set" probes_on
defer probes_off
for rtt in 4 40; do
	ktap_check "netem sets an RTT of $rtt ms" netem delay $((rtt / 2))ms loss 3% limit 10000
	for ns in 0 100000 1000000 10000000; do
		show $rtt $ns
	done
done
ktap_done
