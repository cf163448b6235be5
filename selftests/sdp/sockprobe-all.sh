#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400
#
# sockprobe.sh under all flow controls, through all doors, over all devices.
LONG=1 exec "$(dirname "$0")/sockprobe.sh"
