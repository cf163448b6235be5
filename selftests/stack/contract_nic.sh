#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# stack/contract over a NIC that finishes FPDUs.
NET_LINK=hnic exec "$(dirname "$0")/contract.sh"
