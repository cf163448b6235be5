#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Immediate data, atomic operations and keys that are invalidated after Writes, by
# verbs_test.ko, while payload is placed out of order: over links that lose packets, change
# their order, cut and join them. Operations are carried out in order, and nothing is lost.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/../iwarp_hybrid/ooo.bash"
need rdma tc ethtool

SERVER="10.0.0.2 7990"
COUNTERS="rx_ooo_segments rx_ooo_fpdus rx_ooo_wait_order"

# of_both NAME: the sum of a counter of both devices
of_both() { echo $(($(counter rda "$1") + $(counter rdb "$1"))); }

# have_all: each of $COUNTERS has grown
have_all() {
	local name

	for name in $COUNTERS; do
		[ "$(of_both "$name")" -gt 0 ] || return
	done
}

# start NAME LINK: devices that place early, and a listener
start() {
	NAME=$1
	# shellcheck disable=SC2034 # used by the library
	NET_LINK=$2
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	both ooo on
	both markers on
	segmentation off
	# shellcheck disable=SC2086 # address and port
	if ! kt_tell b listen $SERVER || ! kt_tell - peer $SERVER; then
		ktap_fail "$NAME: the listener is set up"
	fi
}

# operations: run the tests until each counter has grown, at most seven times: the order in which
# packets arrive is a matter of chance
operations() {
	local name tries=6

	kt_do a "$NAME" imm
	kt_do a "$NAME" atomic
	kt_do a "$NAME" inval
	until have_all || [ $((tries--)) -eq 0 ]; do
		kt_do a "$NAME, again" imm
		kt_do a "$NAME, again" atomic
	done
	for name in $COUNTERS; do
		ktap_check "$NAME: $name grows" test "$(of_both "$name")" -gt 0
	done
}

stop() {
	modprobe -r verbs_test
	net_down
	modprobe verbs_test
}

kt_load verbs_test || ktap_skip_all "no test module"
start "loss and reordering" veth
ktap_check "netem loses and reorders packets" netem delay 2ms loss 3% reorder 20% limit 10000
operations
stop
start "cut and joined, three paths" hnic
knob path_delay "0 100 300"
knob paths 3
knob split 300000
knob coalesce 300000
operations
ktap_done
