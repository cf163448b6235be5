# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Tests that run on the machine itself, not in a guest (sourced). Sets TOP, the
# project, and WORK, an empty directory that goes with the test.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
tap_n=0 tap_failed=0

# check DESCRIPTION COMMAND...: ok if the command succeeds, else the end of its output is
# shown. It runs in a subshell.
check() {
	local text what=$1
	shift
	tap_n=$((tap_n + 1))
	if text=$("$@" 2>&1); then
		echo "ok $tap_n - $what"
	else
		echo "not ok $tap_n - $what"
		tail -n 30 <<< "$text" | sed 's/^/# /'
		tap_failed=$((tap_failed + 1))
	fi
}

tap_done() {
	echo "1..$tap_n"
	[ $tap_failed -eq 0 ]
}
