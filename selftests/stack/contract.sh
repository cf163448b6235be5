#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The contract of the shared link on iwarp_hybrid, case by case: errors,
# appends, one call for one request, pauses, ends with a reservation open.
# vm: timeout=300
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"

need hyb-target

# of_program STATE: numbers of hyb-target's queue pairs of b in that state
of_program() {
	rdma resource show qp link rdb/1 |
		sed -n "s/.* lqpn \([0-9]*\) .* state $1 .* comm hyb-target.*/\1/p"
}

kt_load stack_test stack_mock || ktap_skip_all "no test module"
net_up
dev_up hybrid hybrid
kt_tell b listen 10.0.0.2 7777

start_bg b python3 -c 'import signal, socket
s = socket.create_server(("10.0.0.2", 7778))
signal.pause()'
wait_port b 7778
kt_do a "reset" reset 10.0.0.2 7778

start_bg b hyb-target -h 10.0.0.2 -p 7900
wait_for 20 said listening || ktap_fail "the program listens" "$(cat "$BG_LOG")"
start_bg a hyb-target -c -h 10.0.0.2 -p 7900
wait_for 20 said connected || ktap_fail "the program is connected" "$(cat "$BG_LOG")"
qp=$(of_program RTS)
kt_do a "program" program "$qp"
ktap_is "program: its queue pair is unchanged" "$(of_program RTS)" "$qp"
stop_bg "$BG_PID"

# The last case removes the device of a
kt_do a "" link 10.0.0.2 7777
ktap_check "the device of one end is removed" wait_for 10 test ! -e /sys/class/infiniband/rda
ktap_done
