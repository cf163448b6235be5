#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=7200
#
# An hour of random walks of a minute each, with other seeds than those of walker.sh. The
# variables of walker.sh choose others.

export WALK_SEED=${WALK_SEED:-6000} WALK_COUNT=${WALK_COUNT:-60} WALK_SECONDS=${WALK_SECONDS:-60}
exec "$(dirname "$0")/walker.sh"
