#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# SDP refuses a packet filter, since its data does not pass the filter: when the filter is
# attached, or in the next call. No data passes a filter that drops everything.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
while IFS=: read -r name result; do
	ktap_is "a filter that is attached $name is refused" "$result" refused
done < <(in_a /usr/bin/python3 "$(dirname "$0")/filter.py" 10.0.0.1 7910)
ktap_check "all cases ran" [ "$KTAP_N" -eq 6 ]
ktap_done
