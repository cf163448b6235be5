#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=5000 long
#
# Filter streams: the same image over each transport, flow control and profile, with each
# number of copies, policy and block size.

# shellcheck source=selftests/examples/filters.bash
. "$(dirname "$0")/filters.bash"
need_research

# each TRANSPORT TEXT
each() {
	local copies policy block

	for copies in 1 2 3; do
		for policy in rr dd; do
			for block in 1K 8K 64K; do
				same "$1" $copies $policy $block "$2"
			done
		done
	done
}

filters_up
for transport in tcp sdp-run rsocket; do
	each $transport "as set by default"
done
for profile in host assisted offload-contig offload-sg hybrid; do
	for fc in credit rdma vwin; do
		set_all $fc basic $profile
		each sdp "$fc basic $profile"
	done
	set_all transport enhanced $profile
	each sdp "transport enhanced $profile"
done
ktap_done
