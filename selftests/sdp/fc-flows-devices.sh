#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# fc-flows.sh over the devices that are not ours.
KINDS="siw rxe" exec "$(dirname "$0")/fc-flows.sh"
