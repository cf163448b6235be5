#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# unit.sh BUILD: build and run the unit tests. BUILD/unit.log keeps their output;
# the last line is the sum.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
build=$1
mkdir -p "$build"
# without the variables of the command line of a make that called this
MAKEFLAGS='' make --no-print-directory -C "$top/selftests" unit O="$build/selftests" 2>&1 |
	tee "$build/unit.log"
rc=${PIPESTATUS[0]}
ok=$(grep -c '^ok ' "$build/unit.log")
bad=$(grep -c '^not ok ' "$build/unit.log")
# a run that failed without a failed test counts as one failure
if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
	bad=1
fi
echo "unit: $ok passed, $bad failed"
[ "$bad" -eq 0 ]
