#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400
#
# 10,000 connections, 2,000 of them at work; half as many with less than 3 GB of
# memory (selftests/vm/run.sh -l --mem 4G sdp/scale-many has it).

dir=$(cd "$(dirname "$0")" && pwd)
kb=$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)
if [ -e /proc/lockdep ]; then
	COUNT=500 ACTIVE=100
elif [ "$kb" -lt 3000000 ]; then
	COUNT=5000 ACTIVE=1000
else
	COUNT=10000 ACTIVE=2000
fi
echo "# $COUNT connections, $ACTIVE busy ($kb KB of memory)"
export COUNT ACTIVE
exec bash "$dir/scale.sh"
