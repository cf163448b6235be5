#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400
#
# 10,000 connections, 2,000 of them at work. Wants 4 GB of memory.

dir=$(cd "$(dirname "$0")" && pwd)
if [ -e /proc/lockdep ]; then
	COUNT=500 ACTIVE=100
else
	COUNT=10000 ACTIVE=2000
fi
export COUNT ACTIVE
exec bash "$dir/scale.sh"
