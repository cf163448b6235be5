#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1800
#
# misuse.sh, and all that goes under the other flow controls, or while memory of
# programs is advertised, kept or mapped.
LONG=1 exec "$(dirname "$0")/misuse.sh"
