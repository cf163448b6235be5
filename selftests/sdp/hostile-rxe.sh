#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900 nodebug
#
# sdp/hostile-verbs over rxe, whose connections are those of RoCE. Not under the debug
# kernel, see interop/rxe-rxe.

KIND=rxe exec "$(dirname "$0")/hostile-verbs.sh"
