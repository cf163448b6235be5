#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# accel.sh: print kvm or tcg.  Some machines have a /dev/kvm that emulates every
# instruction and takes minutes to boot, so the answer is found by trying: a
# boot of the 6.1 kernel up to its panic without a root file system must be
# quick.  It is remembered per machine and kernel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/../../scripts/cache.sh"

if [ ! -w /dev/kvm ]; then
	echo tcg
	exit
fi

probe() {
	local vars rc=0
	vars=$("$here/../../scripts/kernel.sh" 6.1)
	eval "$vars"
	timeout 6 qemu-system-x86_64 -nodefaults -no-user-config -display none \
		-no-reboot -machine q35,accel=kvm -cpu host -m 512M -kernel "$K_BOOT" \
		-append "console=ttyS0 panic=-1 quiet" -serial stdio </dev/null || rc=$?
	if [ $rc -eq 0 ]; then
		echo kvm >answer
	else
		echo tcg >answer
	fi
}

cache_make "accel/$(cache_key "$(cat /proc/sys/kernel/random/boot_id)" "$(uname -r)" \
	"$(grep -m1 'model name' /proc/cpuinfo)")" probe
cat "$CACHED/answer"
