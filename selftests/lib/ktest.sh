# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For test modules, to be sourced after lib.sh: run tests in the kernel, and make each of
# their checks a result of the script. ktest.h has the module's side.

# Not /sys/kernel/debug: "ip netns exec" mounts another /sys without debugfs
KT_DBG=/run/ktest-debugfs

# kt_load MODULE...: load the first one, which has the tests; its debugfs directory is left
# in $KT. All of them are removed at the end of the script.
kt_load() {
	modprobe "$1" || return
	KT=$KT_DBG/$1
	# a script may load more than one module
	if ! grep -q " $KT_DBG " /proc/mounts; then
		mkdir -p $KT_DBG
		mount -t debugfs d $KT_DBG
		defer umount $KT_DBG
	fi
	defer modprobe -r "$@"
}

# kt_tell a|b|- TEST...: run it in that namespace; -: in the present one
kt_tell() {
	local ns=in_$1

	[ "$1" != - ] || ns=
	$ns sh -c "echo '${*:2}' >$KT/run"
}

# kt_do a|b|- WHAT TEST...: run it and take its results, lines "ok TITLE" and "not ok
# TITLE", with WHAT before the title
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
