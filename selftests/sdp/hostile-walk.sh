#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400
#
# Some hundred random walks through the states of a connection, with a step that
# is wrong now and then, under each flow control.

WALKS=400 exec "$(dirname "$0")/hostile.sh"
