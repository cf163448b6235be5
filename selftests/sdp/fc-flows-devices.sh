#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# fc-flows.sh over siw and rxe instead of iwarp_hybrid.
KINDS="siw rxe" exec "$(dirname "$0")/fc-flows.sh"
