#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600 long
#
# iwarp_hybrid/hostile over a NIC that checks CRCs and follows the stream.
NET_LINK=hnic exec "$(dirname "$0")/../iwarp_hybrid/hostile.sh"
