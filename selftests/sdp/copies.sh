#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Cost of a byte, by counters: copies, checksum passes, cache traffic,
# messages, FPDUs, segments, header bytes, DMA operations, wake-ups; for each
# profile, over SDP basic (verbs) and SDP enhanced (shared link), by message
# size. Messages go to and fro one at a time, so that nothing depends on time.
# The whole table is in copies.txt.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need sdpbench sdpstat rdma ethtool
need_research

# the costs are the same under the debug kernel, where a row takes 15 seconds
SIZES=$(scaled "64 1024 4096 65536 1048576" "1024 65536")
# shellcheck disable=SC2034 # net_up reads it
NET_LINK=hnic
MSS=1448	# of MTU 1500, with time stamps
TABLE=$OUT/copies.txt
HERE=$(cd "$(dirname "$0")" && pwd)

# judge BASIC|ENHANCED PROFILE SIZE [AWK-OPTION...]: costs of the last exchange
judge() {
	awk -v link="$1" -v profile="$2" -v size="$3" -v mss="$MSS" "${@:4}" \
		-f "$LIB_DIR/counters.awk" -f "$HERE/copies.awk" \
		"$COUNTERS/before" "$COUNTERS/after"
}

# stuck: print the state of connections that do not end
stuck() {
	local end

	for end in a b; do
		in_$end sdpstat -e
		in_$end ss -tinmo
	done
}

ended() {
	! kill -0 "$1" 2> /dev/null
}

# exchange SIZE: messages of a size, one at a time in each direction
exchange() {
	local n=10 pid rc

	[ "$1" -ge 65536 ] || n=30
	[ "$1" -lt 1048576 ] || n=2
	counters_take before
	in_b timeout 60 sdpbench -w 5 -T lat -L "$1" -P $n -r 1 10.0.0.1 \
		> /tmp/bench 2>&1 &
	pid=$!
	wait_for 12 ended $pid || stuck >> /tmp/bench 2>&1
	wait $pid
	rc=$?
	KTAP_OUT="exit status $rc"$'\n'$(cat /tmp/bench)
	[ $rc -eq 0 ] || return 1
	counters_take after
}

# cell basic|enhanced PROFILE SIZE [AWK-OPTION...]: one row of the table
cell() {
	local desc="SDP $1, $2, $3 bytes: all costs are within their limits"

	if ! exchange "$3"; then
		ktap_fail "$desc" "$KTAP_OUT"
		return
	fi
	judge "$@" > /tmp/costs
	grep -v '^BAD' /tmp/costs >> "$TABLE"
	if grep -q '^BAD' /tmp/costs || [ "$(wc -l < /tmp/costs)" -ne 2 ]; then
		ktap_fail "$desc" "$(cat /tmp/costs)"
	else
		ktap_ok "$desc"
	fi
}

# broken DESCRIPTION: the last exchange must exceed the limits of one with one copy
broken() {
	if judge enhanced hybrid 65536 | grep -q '^BAD copies_[tr]x of [ab]'; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "$(judge enhanced hybrid 65536)"
	fi
}

net_up || ktap_skip_all "no simulated NIC"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
start_bg a sdpbench -s -b 10.0.0.1
wait_port a 7471
exchange 64
judge - - 1 -v names=1 > "$TABLE"

for profile in $STACK_PROFILES; do
	stack_profile "$profile"
	for link in basic enhanced; do
		stack_link $link
		for size in $SIZES; do
			cell $link "$profile" "$size"
		done
	done
done

# The check can fail: without the one-copy path it does
stack_profile hybrid
stack_link basic
exchange 65536 && broken "without the shared link there is more than one copy"
stack_link enhanced
stack_profile host
exchange 65536 && broken "with the host's own staging copy there is more than one copy"

# Work of a NIC for a message of 2 KB with its header, in one packet: with
# markers in place it fetches it in one piece. TCP since 6.5 takes a compound
# page by its pages: data in two of them, half of all, is two pieces
piece=1.1
if kver_ge 6.5; then piece=1.6; fi
in_a ip link set va mtu 9000
in_b ip link set vb mtu 9000
MSS=8948
stack_link enhanced
for want in "assisted 0.9 $piece 2.5 3.1" "offload-sg 4.5 7 2.5 3.1" "offload-contig 0.9 2.2 3.9 5.1"; do
	read -r profile dma_min dma_max touches_min touches_max <<< "$want"
	stack_profile "$profile"
	cell enhanced "$profile" 2032 -v dma_min="$dma_min" -v dma_max="$dma_max" \
		-v touches_min="$touches_min" -v touches_max="$touches_max"
done

ktap_diag "$(cat "$TABLE")"
ktap_done
