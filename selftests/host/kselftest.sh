#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the tests as kselftest does, and run them in a guest with run_kselftest.sh: in
# network namespaces, and between two network devices. Run by scripts/check.sh --long, and
# alone, without arguments. BUILD: directory of the built modules.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
unset MAKEFLAGS MAKELEVEL MFLAGS
build=${BUILD:-$TOP/build}
KS=$WORK/ks

refuses() {
	local words=$1 said

	shift
	said=$("$@" 2>&1) && return 1
	echo "$said"
	grep -q -- "$words" <<<"$said"
}

installed() {
	local line

	make -s -C "$TOP/selftests" install INSTALL_PATH="$KS" O="$build/selftests" || return
	[ "$(wc -l <"$KS/kselftest-list.txt")" -gt 100 ] || return
	while IFS=: read -r -a line; do
		[ -x "$KS/${line[0]}/${line[1]}" ] || return
	done <"$KS/kselftest-list.txt"
}

# guest COMMAND: in a guest that has the modules, and the directory at /ks
guest() {
	local built=()

	[ ! -e "$WORK/guest" ] || built=(-n)
	"$TOP/selftests/vm/run.sh" -b "$build" -o "$WORK/run" -f "$KS:/ks" -t 900 "${built[@]}" \
		-c "$1" 2>&1 | tee "$WORK/guest"
	return "${PIPESTATUS[0]}"
}

# has LINE...: regular expressions of whole lines that the guest said
has() {
	local line

	for line; do
		grep -Eqx -- "$line" "$WORK/guest" && continue
		echo "no $line in:"
		cat "$WORK/guest"
		return 1
	done
}

check "make install without INSTALL_PATH= says so" refuses "INSTALL_PATH=DIR says where" \
	make -s -C "$TOP/selftests" install O="$build/selftests"
check "make install" installed
check "run_kselftest.sh refuses an unknown test" refuses "there is no test sdp:nothing" \
	"$KS/run_kselftest.sh" -t sdp:nothing
check "run_kselftest.sh refuses a single device" refuses "name two devices" "$KS/run_kselftest.sh" -A lo
check "run_kselftest.sh runs without the modules" guest "rm /lib/modules/*/modules.{dep,alias}.bin
	/ks/run_kselftest.sh -t sdp:embryo; echo exit \$?"
check "without the modules each test skips, with the reason" has \
	"ok 1 selftests: sdp: embryo.sh # SKIP no module sdp for this kernel" \
	"# Totals: pass:0 fail:0 .* skip:1 error:0" "exit 4"
check "run_kselftest.sh runs in network namespaces" guest "/ks/run_kselftest.sh -t sdp:embryo.sh -t sdp:scale-rate \
	-t sdp:failslab; echo exit \$?"
check "in namespaces a test passes; others skip, with their reasons" has \
	"# ok 1 - the server answers" "ok 1 selftests: sdp: embryo.sh" \
	"ok 2 selftests: sdp: scale-rate.sh # SKIP counts instructions, in the VM only" \
	"ok 3 selftests: sdp: failslab.sh # SKIP takes a kernel with lockdep and fault .*" \
	"exit 0"
check "run_kselftest.sh runs between two devices" guest "ip link add e0 type veth peer name e1
	/ks/run_kselftest.sh -s -A e0 -B e1 -t sdp:embryo; echo exit \$?
	echo packets \$(cat /sys/class/net/e0/statistics/rx_packets)"
check "between two devices a test passes, and its packets use them" has "ok 1 selftests: sdp: embryo.sh" "exit 0" \
	"packets [1-9][0-9]+"
check "run_kselftest.sh runs a test that fails" guest "sed -i 's/^ktap_done/ktap_is false 1 2; ktap_done/' \
	/ks/sdp/embryo.sh
	/ks/run_kselftest.sh -t sdp:embryo; echo exit \$?
	sed -i '2i echo \"BUG: of the test\" >/dev/kmsg' /ks/sdp/foreign_net.sh
	/ks/run_kselftest.sh -s -t sdp:foreign_net; echo exit \$?"
check "a failure is in the line of the test and in the exit status" has \
	"not ok 1 selftests: sdp: embryo.sh # exit=1" "exit 1" \
	"not ok 1 selftests: sdp: foreign_net.sh # the kernel's log has a report"
tap_done
