#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A connection that could not begin leaves nothing at its queue pair: when the peer
# is gone already as its Reply comes, the queue pair can be connected again, as often
# as that happens.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-again rdma

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-again -s -h 10.0.0.2 -p 7950
SERVER=$BG_PID
wait_for 20 said listening || ktap_fail "the peer listens" "$(cat "$BG_LOG")"
in_a timeout 100 hyb-again -h 10.0.0.2 -p 7950 > "$OUT/again.tap" 2>&1
ktap_include "$OUT/again.tap"
ktap_check "the peer has seen all of it" wait "$SERVER"
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_check "the devices go" dev_down
ktap_check "the module goes" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
