#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# The parts of iwarp_hybrid/offload that depend on the address family, over IPv6: the
# NIC knows
# the connection, software finishes on another device, a filter steers.
FAMILY=6 exec "$(dirname "$0")/offload.sh"
