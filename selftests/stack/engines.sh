#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Calls of iwarp_hybrid to the driver of a NIC with engines, about a connection: their number,
# and the layout of FPDUs that each call announces.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need hyb-target
need_research

kt_load stack_test stack_mock || ktap_skip_all "no test module"
net_up
dev_up hybrid hybrid
ATTR=/sys/class/infiniband/rda/hybrid
qps() { find "$ATTR/qp/" -mindepth 1 -maxdepth 1 -type d; }
one_qp() { [ "$(qps | wc -l)" = 1 ]; }

for dev in rda rdb; do
	echo on >/sys/class/infiniband/$dev/hybrid/markers
done
echo offload-contig >$ATTR/profile
start_bg b hyb-target -h 10.0.0.2 -p 7900
wait_for 20 said listening
start_bg a hyb-target -c -f -h 10.0.0.2 -p 7900
wait_for 20 said connected && wait_for 10 one_qp
QP=$(qps)

# called WHAT MASK "CALLS": switch the engines; the calls since the last report are these
called() {
	kt_do a "$1" engines va "$2"
	ktap_is "$1: the driver counts these calls" "$(sed -n 's/^ok //p;q' "$KT/results")" "$3"
}
called "none" 0 "0 added, 0 updates, 0 deleted"
called "all" 1f "1 added, 0 updates, 0 deleted"
for profile in hybrid offload-sg offload-contig; do
	echo $profile >"$QP/profile"
	called "then $profile" 1f "0 added, 2 updates, 0 deleted"
done
called "without moving" f7 "0 added, 1 updates, 0 deleted"
called "with it" 1f "0 added, 1 updates, 0 deleted"
called "none again" 0 "0 added, 0 updates, 1 deleted"
ktap_done
