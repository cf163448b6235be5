#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600 nodebug
#
# sdp/hostile-verbs-client over rxe. Not under the debug kernel, see interop/rxe-rxe.

KIND=rxe exec "$(dirname "$0")/hostile-verbs-client.sh"
