#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each action of a program is counted once in the counters of its namespace, on both kinds of
# link. Each tracepoint of SDP fires, if the kernel has tracing.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat

PROG=$(dirname "$0")/counters.py
EVENTS=/sys/kernel/tracing/events/sdp

# traced FILE: the file has an event of each tracepoint
traced() {
	local name

	for name in "$EVENTS"/*/; do
		name=$(basename "$name")
		ktap_check "the tracepoint $name fires" grep -q " $name: " "$1"
	done
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
tracing=
if [ -d $EVENTS ]; then
	tracing=1
	echo 1 > $EVENTS/enable
fi
# for zero copy: slow machines, too, find a reader in time; for a connect() without answer
in_a sysctl -q -w net.sdp.zcopy_wait=2000000 net.sdp.resolve_timeout=60000
for flow in transport credit; do
	in_a sysctl -q -w net.sdp.flow_control=$flow
	ktap_diag "flow control $flow"
	in_a timeout 100 sdp-run /usr/bin/python3 "$PROG" 10.0.0.1 $flow \
		> "$OUT/counters.$flow" 2>&1
	ktap_include "$OUT/counters.$flow" "$flow"
done
if [ "$tracing" ]; then
	# a socket that TCP takes over
	in_a env -u LIBSDP_ONLY sdp-run /usr/bin/python3 -c '
import socket
socket.socket().connect_ex(("127.0.0.1", 9))'
	echo 0 > $EVENTS/enable
	cp /sys/kernel/tracing/trace "$OUT/trace"
	ktap_is "SDP has six tracepoints" "$(find $EVENTS -mindepth 1 -type d | wc -l)" 6
	traced "$OUT/trace"
else
	ktap_skip "SDP has six tracepoints" "the kernel has no tracing"
fi
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
