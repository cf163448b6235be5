#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A network namespace loses its last process and its last name while the provider
# accepts a connection there: the namespace stays until the connection is in the list of
# those that the device closes. Programs of other namespaces listen meanwhile.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target rdma

# The namespace b takes its end of a pair of net devices with it, and so the other end.
there() { ip -n a link show witness >/dev/null 2>&1; }
gone() { ! there; }

# deserted: no process is left in the namespace b
deserted() { [ -z "$(ip netns pids b)" ]; }

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
ip -n a link add witness type veth peer name inside netns b
start_bg b hyb-target -h 10.0.0.2 -p 7965
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"

# ib_unregister_work() sleeps as well, so the removal of the device does not begin
hold hyb_cep_enlist kworker asleep=1 also=ib_unregister_work ms=100000 || ktap_skip_all "no probes"
start_bg a hyb-target -c -h 10.0.0.2 -p 7965
CLIENT=$BG_PID
ktap_check "a connection is being accepted" wait_for 20 is_held
ktap_check "the net device leaves the namespace" ip -n b link set vb netns a
ip netns add c
for addr in 0.0.0.0 127.0.0.1; do
	start_bg - in-ns c hyb-target -h $addr -p 7966
	ktap_check "a program in another namespace listens at $addr" wait_for 5 said listening
	stop_bg "$BG_PID"
done
ip netns del c
stop_bg "$TARGET"
ktap_check "the last process ends" wait_for 20 deserted
ip netns del b
# much longer than an unused namespace needs to go
sleep 3
ktap_check "the namespace stays while the connection is being accepted" there
hold_end
ktap_check "the namespace goes after that" wait_for 60 gone

stop_bg "$CLIENT"
net_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
