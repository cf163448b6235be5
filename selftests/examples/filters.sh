#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=500
#
# Filter streams: the same image over each transport, flow control, profile, number of
# copies, policy and block size (some of each here, all in filters-all); shares of a slow
# node; a node that is killed; the microscope.

# shellcheck source=selftests/examples/filters.bash
. "$(dirname "$0")/filters.bash"
need_research

# shares: how many buffers each copy of the stage got
shares() {
	jq -r 'select(.type == "copy" and .filter == "source") | .out[0].buffers | @tsv' $LINES
}

scheduling() {
	local a b c some=(-d SOURCES=n1 -d "ON=n1 n2 n3" -d SLOW=4 -d BLOCK=4K)

	fs sdp "${some[@]}" || cat $SAID
	read -r a b c <<<"$(shares)"
	ktap_check "round robin: a third each ($a, $b, $c)" \
		test "$a" -ge 16 -a $((a - b)) -le 1 -a $((b - c)) -le 1 -a $((c - a)) -le 1
	# steps of 160 ms, more on a debug kernel, so that the emulator does not decide
	fs sdp "${some[@]}" -d POLICY=dd -d WINDOW=1 -d NS="$(scaled 40000 120000)" || cat $SAID
	read -r a b c <<<"$(shares)"
	ktap_check "demand driven: the slow node gets at most 35 % of the mean of the others ($a, $b, $c)" \
		test "$c" -gt 0 -a $((c * 200)) -le $((35 * (a + b)))
}

filters_up
while read -r transport fc link profile copies policy block; do
	set_all "$fc" "$link" "$profile"
	same "$transport" "$copies" "$policy" "$block" "$fc $link $profile"
done <<-END
	tcp auto enhanced hybrid 3 dd 1K
	sdp-run auto enhanced hybrid 2 rr 8K
	sdp auto enhanced hybrid 3 dd 64K
	sdp transport enhanced host 2 dd 1K
	sdp credit basic assisted 3 rr 1K
	sdp rdma basic offload-sg 2 dd 8K
	sdp vwin basic offload-contig 1 rr 64K
	sdp rdma basic hybrid 3 rr 64K
	sdp credit basic host 1 dd 8K
	rsocket auto enhanced hybrid 2 dd 1K
	verbs auto enhanced hybrid 3 dd 1K
	verbs auto enhanced assisted 2 rr 64K
END
set_all auto enhanced hybrid
scheduling
for node in n2 n4; do
	killed sdp $node
done
scope_plan
same_pictures 3 sdp verbs
ktap_done
