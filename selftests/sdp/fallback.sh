#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sockets with SDP_FALLBACK: a client continues with TCP, at the same descriptor,
# where SDP fails; a listener takes connections of both kinds.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need python3 sdpstat
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
ip -n b addr add 10.9.9.9/32 dev lo
ip -n b addr add fd99::9/128 dev lo
echo "TAP version 13"
/usr/bin/python3 "$(dirname "$0")/fallback.py"
