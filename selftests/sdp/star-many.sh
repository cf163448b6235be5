#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=1500 long
#
# Sixteen hosts at a bridge, in a guest of 2 GB.
STAR=16 exec "$(dirname "$0")/star.sh"
