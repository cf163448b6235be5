#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random load on the shared link of iwarp_hybrid: two queue pairs of kernel
# code over TCP, both directions, path MTU changes between reserve and commit.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/lib.sh"

st_load
net_up
dev_up hybrid hybrid
in_b sh -c "echo listen 10.0.0.2 7777 >$ST/run"

for profile in hybrid host; do
	echo $profile >/sys/class/infiniband/rda/hybrid/profile
	echo $profile >/sys/class/infiniband/rdb/hybrid/profile
	ktap_diag "profile $profile"
	st_do a link 10.0.0.2 7777 "$(scaled 4000000)"
done
ktap_done
