#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3600
#
# sdp/races-all over the verbs link of iwarp_hybrid.
LINK=verbs exec "$(dirname "$0")/races-all.sh"
