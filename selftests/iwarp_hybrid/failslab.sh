#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=900
#
# Allocations of the kernel fail: each one that a connection, its transfers and
# its end ask for in a system call, with each copy from and to user space, then
# those in softirq at random. Programs get an error or succeed, data are right,
# nothing is left. Needs fault injection, which the debug kernel has.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

# /sys is another one in a network namespace
DBG=/run/failslab-debugfs
mkdir -p $DBG
mount -t debugfs d $DBG
defer umount $DBG
if [ ! -d $DBG/failslab ] || [ ! -e /proc/self/fail-nth ]; then
	ktap_skip_all "the kernel has no CONFIG_FAILSLAB; the debug kernel has"
fi
need hyb-failnth sdp-echo rdma
modprobe sdp 2> /dev/null || ktap_skip_all "no sdp module"

# inject FIELD=VALUE...: in what fails allocations of objects and of pages
inject() {
	local kind f

	for kind in failslab fail_page_alloc; do
		for f; do
			[ ! -e "$DBG/$kind/${f%%=*}" ] ||
				echo "${f#*=}" > "$DBG/$kind/${f%%=*}"
		done
	done
}

# each WHAT COMMAND...: hyb-failnth, whose lines become ours
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

net_up
# silence is not the matter here, and all that can wait can fail
inject verbose=0 space=0 times=-1 task-filter=N ignore-gfp-wait=N \
	ignore-gfp-highmem=N min-order=0 probability=0
[ ! -d $DBG/fail_usercopy ] || echo 0 > $DBG/fail_usercopy/verbose
defer inject probability=0

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
each verbs in_b hyb-failnth verbs 10.0.0.2 7600
start_bg a sdp-echo -s -h 10.0.0.1 -p 7700
wait_port a 7700
for link in 1 0; do
	in_a sysctl -qw net.sdp.shared_link=$link
	in_b sysctl -qw net.sdp.shared_link=$link
	each "sdp, shared link $link" in_b hyb-failnth sdp 10.0.0.1 7700
done

# what cannot wait, wherever it is asked for: in softirq as a rule
inject ignore-gfp-wait=Y probability=5
each "verbs, softirq" in_b hyb-failnth verbs 10.0.0.2 7601 20
for link in 0 1; do
	in_a sysctl -qw net.sdp.shared_link=$link
	in_b sysctl -qw net.sdp.shared_link=$link
	each "sdp, shared link $link, softirq" in_b hyb-failnth sdp 10.0.0.1 7700 20
done
inject probability=0
each "sdp, afterwards" in_b hyb-failnth sdp 10.0.0.1 7700 1
stop_bg "$BG_PID"

ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
