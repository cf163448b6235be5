#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1200
#
# fc.sh over all devices, with more sends.
LONG=1 KINDS="hybrid siw rxe" exec "$(dirname "$0")/fc.sh"
