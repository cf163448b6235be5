#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=2400 mem=4G
#
# 12,000 connections, 2,000 of them at work: what sdp/scale looks at, and 10,000 that
# do nothing meanwhile.

dir=$(cd "$(dirname "$0")" && pwd)
if [ -e /proc/lockdep ] || [ -e /sys/kernel/debug/kcsan ]; then
	COUNT=600 ACTIVE=100
else
	COUNT=12000 ACTIVE=2000
fi
echo "# $COUNT connections, $ACTIVE busy ($(grep MemTotal: /proc/meminfo))"
export COUNT ACTIVE
exec bash "$dir/scale.sh"
