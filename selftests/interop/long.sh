#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=5400 long
#
# The large checksummed transfer between hybrid devices, hybrid and siw, siw devices, and
# rxe devices.

XFER_MB=${XFER_MB:-1024}
# shellcheck source=selftests/interop/matrix.bash
. "$(dirname "$0")/matrix.bash"
export LIMIT=2400 PAIR

for PAIR in hybrid-hybrid hybrid-siw siw-siw rxe-rxe; do
	net_down
	if ! dev_up "${PAIR%-*}" "${PAIR#*-}"; then
		ktap_skip "$PAIR" "no such devices"
		continue
	fi
	modprobe -q sdp
	serve 5010 xfer -s -p 5010 -h $SERVER
	cell "checksummed transfer of $XFER_MB MB" $((XFER_MB << 20)) "^xfer: ok" \
		xfer -h $SERVER -p 5010 -n "${XFER_MB}M" -t $LIMIT
	stop_bg "$SERVER_PID"
	cell_clean
done
ktap_done
