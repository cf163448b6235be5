#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A filter of packets, which no packet of SDP reaches, is refused: when it is attached, or
# by the next call. Data never pass a filter that lets nothing pass.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
while IFS=: read -r name result; do
	ktap_is "a filter that is attached $name" "$result" refused
done < <(in_a /usr/bin/python3 "$(dirname "$0")/filter.py" 10.0.0.1 7910)
ktap_check "all cases ran" [ "$KTAP_N" -eq 6 ]
ktap_done
