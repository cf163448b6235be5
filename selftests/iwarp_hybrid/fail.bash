# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common code of the tests with failing allocations (sourced after lib.sh).

# /sys is another one in a network namespace
DBG=/run/failslab-debugfs
mkdir -p $DBG
mount -t debugfs d $DBG
defer umount $DBG
if [ ! -d $DBG/failslab ] || [ ! -e /proc/self/fail-nth ]; then
	ktap_skip_all "the kernel has no CONFIG_FAILSLAB; the debug kernel has"
fi
need hyb-failnth rdma

# inject FIELD=VALUE...: set up the failures of allocations, of objects and of pages
inject() {
	local kind f

	for kind in failslab fail_page_alloc; do
		for f; do
			[ ! -e "$DBG/$kind/${f%%=*}" ] ||
				echo "${f#*=}" > "$DBG/$kind/${f%%=*}"
		done
	done
}

# each WHAT COMMAND...: run hyb-failnth, whose lines become results of this test
each() {
	local what=$1 line rc

	shift
	while read -r line; do
		case $line in
		"ok "*) ktap_ok "$what: ${line#ok * - }" ;;
		"not ok "*) ktap_fail "$what: ${line#not ok * - }" ;;
		1..*) ;;
		"exit "*) rc=${line#exit } ;;
		*) ktap_diag "$what: ${line#\# }" ;;
		esac
	done < <("$@" 2>&1; echo "exit $?")
	[ "$rc" -le 1 ] || ktap_fail "$what: exit status $rc"
}

# fail_ready: set up the allocations that can fail; none fails yet
fail_ready() {
	# no messages; allocations that may wait can fail, too
	inject verbose=0 space=0 times=-1 task-filter=N ignore-gfp-wait=N \
		ignore-gfp-highmem=N min-order=0 probability=0
	[ ! -d $DBG/fail_usercopy ] || echo 0 > $DBG/fail_usercopy/verbose
	defer inject probability=0
}
