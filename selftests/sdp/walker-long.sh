#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3600
#
# Ten random walks of a minute, with other seeds than those of walker.sh.

WALK_SEED=6000 WALK_COUNT=10 WALK_SECONDS=60 exec "$(dirname "$0")/walker.sh"
