#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tracepoints of SDP: the events of a socket, with names instead of numbers, its
# addresses, and the cookie that sdpstat shows, on both kinds of link.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat

PROG=$(dirname "$0")/trace.py

[ -d /sys/kernel/tracing/events ] || ktap_skip_all "the kernel has no tracing"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
defer sh -c "echo 0 >/sys/kernel/tracing/events/sdp/enable"
# slow machines, too, find a reader in time
in_a sysctl -q -w net.sdp.zcopy_wait=2000000
for flow in transport credit; do
	in_a sysctl -q -w net.sdp.flow_control=$flow
	# in_a gives it a /sys of its own
	in_a sh -c 'mount -t tracefs t /sys/kernel/tracing && exec "$@"' - \
		timeout 100 sdp-run /usr/bin/python3 "$PROG" $flow >"$OUT/trace.$flow" 2>&1
	ktap_include "$OUT/trace.$flow" "flow control $flow"
done
ktap_done
