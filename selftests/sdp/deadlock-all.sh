#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1200
#
# deadlock.sh with more sizes of buffers.
LONG=1 exec "$(dirname "$0")/deadlock.sh"
