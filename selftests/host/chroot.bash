# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Run commands in a chroot of a fresh Debian, in the directory $ROOT (sourced).

# in_root COMMAND...: run it in the chroot, as root, with namespaces of its own
in_root() {
	# shellcheck disable=SC2016 # expanded there
	unshare --mount --uts --ipc --pid --fork --kill-child sh -c '
		mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
		mount -t sysfs -o ro sysfs "$1/sys"
		root=$1; shift; exec chroot "$root" "$@"' sh "$ROOT" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		DEBIAN_FRONTEND=noninteractive "$@"
}
