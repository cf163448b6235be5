#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400
#
# sdp/hostile with 400 random walks through the states of a connection under each flow
# control, with a step that is wrong now and then.

WALKS=400 exec "$(dirname "$0")/hostile.sh"
