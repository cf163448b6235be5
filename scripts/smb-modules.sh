#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# smb-modules.sh KERNEL: cifs.ko and ksmbd.ko with SMB Direct, which Debian builds
# without it, from the kernel's source; and the program of ksmbd's daemon. Prints
# their directory, which is in the cache. There is nothing for other kernels than
# 6.1, whose source is on this machine (deps.sh).
#
# The daemon is that of the next release: since 6.1.192 ksmbd needs the length of a
# share's path, where the daemon of this release (3.4.7) sends 0.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"
# shellcheck source=scripts/apt.sh
. "$here/apt.sh"
# shellcheck source=scripts/kmake.sh
. "$here/kmake.sh"

SOURCE=/usr/src/linux-source-6.1.tar.xz

[ "$1" = 6.1 ] || exit 0
vars=$("$here/kernel.sh" "$1")
eval "$vars"

# Out of the kernel's tree; files that it generates first are generated here
build_smb() {
	local f

	xz -T0 -dc "$SOURCE" | tar --strip-components=1 --wildcards -xf - \
		'*/fs/smb/*' '*/fs/internal.h' '*/scripts/asn1_compiler.c' \
		'*/include/linux/asn1*.h'
	gcc -Iinclude -o asn1_compiler scripts/asn1_compiler.c
	for f in fs/smb/*/*.asn1; do
		./asn1_compiler "$f" "$f.c" "$f.h"
		rm "$f"
	done
	sed -i 's|"../../internal.h"|"../internal.h"|' fs/smb/server/vfs.c
	mv fs/internal.h fs/smb/
	# smb2_open() of 6.1.192 puts what is NULL for a file without an oplock: the
	# first open of a share's root, over TCP too, ends with an oops
	sed -i 's/^\tif (!atomic_dec_and_test(&opinfo->refcount))/\tif (!opinfo || !atomic_dec_and_test(\&opinfo->refcount))/' \
		fs/smb/server/oplock.c
	grep -q '!opinfo ||' fs/smb/server/oplock.c
	# a file that was closed, and so has no number any more, stays in the list of
	# its inode, and is freed: the next open of it finds a corrupted list
	sed -i '/^static void __ksmbd_remove_fd/,/^}/{
		/has_file_id/d
		/^\t\treturn;/,+1d
		s/^\tidr_remove/\tif (has_file_id(fp->volatile_id))\n\t\tidr_remove/
	}' fs/smb/server/vfs_cache.c
	grep -q '^.if (has_file_id' fs/smb/server/vfs_cache.c
	echo 'obj-m := client/ server/' >fs/smb/Kbuild
	kmake "$PWD/fs/smb" -j"$(nproc)" CONFIG_CIFS=m CONFIG_SMB_SERVER=m \
		CONFIG_CIFS_SMB_DIRECT=y CONFIG_SMB_SERVER_SMBDIRECT=y \
		KCFLAGS="-DCONFIG_CIFS_SMB_DIRECT -DCONFIG_SMB_SERVER_SMBDIRECT" \
		modules
	strip -g fs/smb/*/*.ko
	mv fs/smb/*/*.ko .
	rm -r fs scripts include asn1_compiler
}

build_daemon() {
	mmdebstrap --variant=extract --include=ksmbd-tools \
		--aptopt='Apt::Install-Recommends "false"' \
		--keyring=/usr/share/keyrings trixie all "deb $1 trixie main"
	mv all/usr/libexec/ksmbd.tools .
	rm -r all
}

build_all() {
	build_smb
	build_daemon "$(debian_uri)"
}

cache_make "smb/$K_RELEASE-$(cache_key "$K_KDIR" "$(cat "${BASH_SOURCE[0]}")")" build_all
echo "$CACHED"
