#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A net device leaves its network namespace while its RDMA device is on its way out,
# and the core of RDMA knows nothing of it any more: connections that wait for the end
# of their peers do not stay behind, for their sockets do not hold the namespace.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target rdma tc ss

# sockets: TCP sockets in the namespace a, those of the kernel included
sockets() { in_a ss -Hant | grep -c 10.0.0.2; }
lingers() { [ "$(sockets)" = 1 ]; }

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-target -h 10.0.0.2 -p 7960
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"
start_bg a hyb-target -c -h 10.0.0.2 -p 7960
CLIENT=$BG_PID
wait_for 20 said connected || ktap_fail "the connection" "$(cat "$BG_LOG")"

# nor does the connection give up meanwhile, however slow this is
hold hyb_dev_free rdma asleep=1 also=hyb_cep_timeout ms=100000 || ktap_skip_all "no probes"
# the FIN gets no answer
tc -n a qdisc add dev va root netem loss 100%
start_bg a rdma link delete rda
DELETE=$BG_PID
ktap_check "the device is about to be freed" wait_for 20 is_held
ktap_check "the connection waits for the end of its peer" wait_for 20 lingers
ktap_check "the net device leaves the namespace" ip -n a link set va netns b
ktap_is "no socket stays behind" "$(sockets)" 0
hold_end
wait "$DELETE"
ktap_is "the device can be removed" $? 0

stop_bg "$CLIENT"
stop_bg "$TARGET"
ktap_check "the other device goes" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
