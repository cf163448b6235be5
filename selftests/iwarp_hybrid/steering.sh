#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device without filters: the host steers packets of a connection to where its
# consumer runs (RFS), and follows when that moves.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need xfer sdp-run taskset rdma

QP=/sys/class/infiniband/rda/hybrid/qp
comes_in() { [ "$(cat "$QP"/*/cpu 2>/dev/null)" = "$1" ]; }

[ "$(nproc)" -ge 2 ] || ktap_skip_all "one CPU only"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
if ! echo 1024 >/proc/sys/net/core/rps_sock_flow_entries; then
	ktap_skip_all "this kernel has no RFS"
fi
defer sh -c "echo 0 >/proc/sys/net/core/rps_sock_flow_entries"
in_a sh -c 'cd /sys/class/net/va/queues/rx-0 && echo 3 >rps_cpus && echo 1024 >rps_flow_cnt'

# the server stays, and what it sends would come in on its CPU
start_bg b taskset -c 0 sdp-run xfer -s -h 10.0.0.2 -p 5500
wait_for 20 said listening
start_bg a taskset -c 1 sdp-run xfer -h 10.0.0.2 -p 5500 -n 100G -d 100G -t 600
client=$BG_PID
ktap_check "packets come in where the client runs" wait_for 20 comes_in 1
ktap_is "steered by the host" "$(cat $QP/*/steering) $(cat $QP/*/queue)" "host -1"
for cpu in 0 1; do
	for pid in $(pgrep -f '^xfer -h 10.0.0.2'); do
		taskset -apc $cpu "$pid" >/dev/null
	done
	ktap_check "packets follow the client to CPU $cpu" wait_for 20 comes_in $cpu
done
stop_bg "$client"
ktap_done
