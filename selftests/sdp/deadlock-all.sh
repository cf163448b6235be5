#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1200
#
# deadlock.sh with buffers of all sizes.
LONG=1 exec "$(dirname "$0")/deadlock.sh"
