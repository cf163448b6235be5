#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=200
#
# sdp/append over a NIC that puts the markers in their places.
export PROFILES="offload-contig offload-sg"
NET_LINK=hnic exec "$(dirname "$0")/append.sh"
