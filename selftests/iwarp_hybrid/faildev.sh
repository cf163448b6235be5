#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=1800
#
# Allocations of the kernel fail while devices are made and go: net devices of kind
# hnic, RDMA devices of kind hybrid with listeners waiting for them, both at once.
# There are up to 4000 of them, so only one in FAIL_STEP (40) fails. The first one that
# fails differs from run to run.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/fail.bash"
need sdp-echo
modprobe sdp 2> /dev/null || ktap_skip_all "no sdp module"
modprobe hnic 2> /dev/null || ktap_skip_all "no hnic module"
modprobe iwarp_hybrid

FAIL_STEP=${FAIL_STEP:-40}
RCU=/sys/kernel/rcu_expedited

net_up
fail_ready
# most of the time is waiting for readers
[ ! -e $RCU ] || echo 1 > $RCU
defer sh -c "[ ! -e $RCU ] || echo 0 > $RCU"

# a listener on any device that comes
start_bg a sdp-echo -s -h 0.0.0.0 -p 7700
each "RDMA device" in_a hyb-failnth add fn0 va "/$FAIL_STEP"
each "net devices" in_a hyb-failnth pair ha hb "/$FAIL_STEP"
each "net device under an RDMA device" in_a hyb-failnth under fn0 ha "/$((FAIL_STEP / 8))"
stop_bg "$BG_PID"

# what is made now works
ktap_check "devices can be made" dev_up hybrid hybrid
each "verbs, afterwards" in_b hyb-failnth verbs 10.0.0.2 7600 1
ktap_check "the devices can be removed" dev_down
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
net_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid hnic
ktap_done
