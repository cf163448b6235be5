#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3600
#
# sdp/races-all over siw.
LINK=siw exec "$(dirname "$0")/races-all.sh"
