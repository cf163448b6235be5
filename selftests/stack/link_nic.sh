#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=200
#
# stack/link over a NIC that inserts the markers, or computes CRCs only.
export PROFILES="offload-contig offload-sg assisted"
NET_LINK=hnic exec "$(dirname "$0")/link.sh"
