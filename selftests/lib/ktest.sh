# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Test modules (sourced after lib.sh): what they check become results; see
# ktest.h.

# /sys is another one in a network namespace of ip netns exec
KT_DBG=/run/ktest-debugfs

# kt_load MODULE...: the first is the one with the tests; all go at the end
kt_load() {
	modprobe "$1" || return
	KT=$KT_DBG/$1
	# there is more than one who asks
	if ! grep -q " $KT_DBG " /proc/mounts; then
		mkdir -p $KT_DBG
		mount -t debugfs d $KT_DBG
		defer umount $KT_DBG
	fi
	defer modprobe -r "$@"
}

# kt_tell a|b|- TEST...: have it run in that namespace
kt_tell() {
	local ns=in_$1

	[ "$1" != - ] || ns=
	$ns sh -c "echo '${*:2}' >$KT/run"
}

# kt_do a|b|- WHAT TEST...: and its results, with WHAT in front
kt_do() {
	local verdict rest what=${2:+$2: } before=$KTAP_N

	echo clear >"$KT/run"
	kt_tell "$1" "${@:3}" || ktap_fail "$what${*:3} does not run"
	while read -r verdict rest; do
		case $verdict in
		ok) ktap_ok "$what$rest" ;;
		not) ktap_fail "$what${rest#ok }" ;;
		esac
	done <"$KT/results"
	[ "$KTAP_N" -gt "$before" ] || ktap_fail "$what${*:3} has no results"
}
