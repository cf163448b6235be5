# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# kmake DIR ARG...: build the modules in DIR for the kernel that kernel.sh has described in
# the variables K_*, with the compiler of that kernel. To be sourced. BTF is off: it would
# need pahole if the headers package contains a vmlinux.

# shellcheck disable=SC2153 # of kernel.sh
kmake() {
	local dir=$1
	shift
	if [ -z "$K_CHROOT" ]; then
		make -s -C "$K_KDIR" M="$dir" ${K_ARCH:+ARCH="$K_ARCH"} \
			CONFIG_DEBUG_INFO_BTF_MODULES= "$@"
		return
	fi
	# objtool needs /proc, so mount it in the chroot, in a mount namespace that goes away
	# with the build
	# shellcheck disable=SC2016
	unshare -m bash -euc '
		chroot=$1 dir=$2 kdir=$3; shift 3
		mount --bind "$dir" "$chroot/build"
		mount -t proc proc "$chroot/proc"
		exec chroot "$chroot" make -s -C "$kdir" M=/build \
			CONFIG_DEBUG_INFO_BTF_MODULES= "$@"
	' - "$K_CHROOT" "$dir" "$K_KDIR" "$@"
}
