#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random load on the shared link of iwarp_hybrid: two queue pairs of kernel
# code over TCP, both directions, path MTU changes between reserve and commit.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
[[ " ${PROFILES:-}" != *" offload-"* ]] || need_research

kt_load stack_test stack_mock || ktap_skip_all "no test module"
net_up
dev_up hybrid hybrid
kt_tell b listen 10.0.0.2 7777

# counter NAME: of the device of a, whose path MTU changes
counter() { cat "/sys/class/infiniband/rda/ports/1/hw_counters/$1"; }

for profile in ${PROFILES:-hybrid host}; do
	# the load of the profile before has changed the MTU
	ip -n a link set va mtu 1500
	ip -n b link set vb mtu 1500
	mss=$(counter tx_mss_changed) appended=$(counter tx_appended)
	echo "$profile" >/sys/class/infiniband/rda/hybrid/profile
	echo "$profile" >/sys/class/infiniband/rdb/hybrid/profile
	kt_do a "$profile" link 10.0.0.2 7777 "$(scaled 4000000)"
	ktap_check "$profile: the MSS changed during a reservation" \
		test "$(counter tx_mss_changed)" -gt "$mss"
	ktap_check "$profile: appends are counted" \
		test "$(counter tx_appended)" -gt "$appended"
done
ktap_done
