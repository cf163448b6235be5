#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# Go, whose programs are static and call the kernel themselves: sdp-run -s.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need gonet

KB=$(scaled 256 32)
LIMIT=$((LIMIT * 3))
SDP_RUN="sdp-run -s"

session_go() {
	serve 7711 gonet server "$SERVER" &&
		run gonet client "$CLIENT" "$SERVER" "$KB"
}

programs_up
same go $((KB << 12))
ktap_done
