#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=3000 long
#
# The large checksummed transfer between hybrid devices.

XFER_MB=${XFER_MB:-1024}
# shellcheck source=selftests/interop/matrix.bash
. "$(dirname "$0")/matrix.bash"
export LIMIT=2400 PAIR=hybrid-hybrid
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
serve 5010 xfer -s -p 5010 -h $SERVER
cell "checksummed transfer of $XFER_MB MB" $((XFER_MB << 20)) "^xfer: ok" \
	xfer -h $SERVER -p 5010 -n "${XFER_MB}M" -t $LIMIT
stop_bg "$SERVER_PID"
ktap_done
