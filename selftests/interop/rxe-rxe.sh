#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600 nodebug
#
# SDP between a client on rxe and a server on rxe. Not under the debug kernel:
# rxe of 6.1 reads a packet that it has passed on (rxe_resp_queue_pkt), which
# KASAN reports.

# shellcheck source=selftests/interop/matrix.bash
. "$(dirname "$0")/matrix.bash"
matrix rxe rxe
