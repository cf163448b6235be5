# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Of the tests in this directory (sourced after ../lib/lib.sh): drive
# stack_test.ko, whose checks become results.

DBG=/run/stack-debugfs
ST=$DBG/stack_test

st_load() {
	modprobe stack_test || return
	mkdir -p $DBG
	# /sys is another one in a network namespace of ip netns exec
	mount -t debugfs d $DBG 2>/dev/null
	defer umount $DBG
	defer modprobe -r stack_test stack_mock
}

# st_do a|b|- TEST...: a test in that namespace, and its results
st_do() {
	local verdict rest ns=in_$1 before=$KTAP_N
	[ "$1" != - ] || ns=
	shift
	echo clear >$ST/run
	$ns sh -c "echo '$*' >$ST/run" || ktap_fail "$* does not run"
	while read -r verdict rest; do
		case $verdict in
		ok) ktap_ok "$rest" ;;
		not) ktap_fail "${rest#ok }" ;;
		esac
	done <$ST/results
	[ "$KTAP_N" -gt "$before" ] || ktap_fail "$* has no results"
}
