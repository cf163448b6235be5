#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh NAME: make sure that everything needed to build for and boot the
# kernel NAME is in the cache, and print it as shell assignments:
#
#	K_NAME     the name asked for
#	K_RELEASE  uname -r
#	K_BOOT     file for qemu -kernel; of uml, the program
#	K_ROOT     directory that holds lib/modules/$K_RELEASE
#	K_KDIR     for make -C $K_KDIR M=... (inside K_CHROOT, if that is set)
#	K_CHROOT   chroot with the compiler of that kernel, or empty
#	K_ARCH     for make ARCH=, or empty
#	K_SRC      parts of its source: scripts/, drivers/infiniband/sw/siw
#
# Names: 6.1 (this Debian release), rt (the same with PREEMPT_RT), 6.12 (the newer one
# that it maintains as well), 7 (newest: backports of the next release, built with that
# release's compiler), debug and kcsan (see debug-kernel.sh), uml (see
# selftests/native/uml-kernel.sh), host (the headers in KDIR; nothing to boot).  Packages
# come from the mirror that this machine's apt uses, other suites through a private apt
# state that leaves the machine's own alone.
#
# kernel.sh --cached NAME: fail rather than fetch or build anything.
#
# kernel.sh --more NAME: modules of upper layers that few tests use, in an entry of
# their own. Prints
#
#	K_MORE     directory that holds lib/modules/$K_RELEASE; empty for uml and host, and
#		   if the release is not on the mirror any more
#	K_MORE_SRC sources of upper layers that Debian does not build, see
#		   rtrs-modules.sh; or empty
#
# kernel.sh --tree [--cached] NAME: the distribution's source of it, whole. Prints
#
#	K_TREE     source tree, not to be written to; with --cached, empty if it is not in
#		   the cache
#
# The release that a name stands for is looked up again after KERNEL_MAX_AGE days (14).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"
# shellcheck source=scripts/apt.sh
. "$here/apt.sh"

max_age=${KERNEL_MAX_AGE:-14}

# recipe NAME: a number that changes with the content of an entry
recipe() {
	case $1 in
	6.12) echo 5 ;;
	*) echo 4 ;;
	esac
}

# ------------------------------------------------------------------ packages

# The machine's own apt state (includes security updates)
apt_machine() {
	APT=(-q)
	machine_lists
}

# apt_suites NAME SUITE...: private apt state for these suites; options for
# apt-get/apt-cache are left in APT.  Kernels come from the first suite, which
# as a backports suite would rank below the others.  This process has the state alone until
# its end, as entries of several kinds are made with it.
apt_suites() {
	local dir=$SDP_CACHE/apt/$1 backports=$2 suite uri lock
	exec {lock}>"$SDP_CACHE/lock/apt_$1"
	flock "$lock"
	shift
	uri=$(debian_uri)
	mkdir -p "$dir"/{lists/partial,cache/archives/partial,etc}
	for suite; do
		echo "deb $uri $suite main"
	done >"$dir/etc/sources.list.new"
	APT=(-q -o "Dir::Etc::SourceList=$dir/etc/sources.list"
		-o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$dir/lists"
		-o "Dir::Cache=$dir/cache" -o "Dir::State::status=$dir/status"
		-o "Dir::Etc::Preferences=$dir/etc/preferences"
		-o Dir::Etc::PreferencesParts=/dev/null
		-o APT::Sandbox::User=root -o Acquire::Retries=3)
	touch "$dir/status"
	printf 'Package: linux-*\nPin: release n=%s\nPin-Priority: 900\n' "$backports" \
		>"$dir/etc/preferences"
	mv "$dir/etc/sources.list.new" "$dir/etc/sources.list"
	apt-get "${APT[@]}" update
}

# apt_of NAME: options for the suites that this kernel is in
apt_of() {
	case $1 in
	6.1 | rt | 6.12) apt_machine ;;
	7) apt_suites "$1" trixie-backports trixie ;;
	esac
}

# source_of RELEASE: the package with its source
source_of() { sed -E 's/^([0-9]+\.[0-9]+).*/linux-source-\1/' <<<"$1"; }

# needs PACKAGE REGEX: dependencies whose names match
needs() {
	apt-cache "${APT[@]}" depends --important "$1" |
		sed -n 's/^ *Depends: //p' | { grep -E "$2" || true; }
}

# version PACKAGE
version() {
	apt-cache "${APT[@]}" show --no-all-versions "$1" | sed -n 's/^Version: //p' | head -n1
}

# fetch PACKAGE DIR: download and unpack
fetch() {
	mkdir -p "$2" deb
	(cd deb && apt-get "${APT[@]}" download "$1")
	dpkg-deb -x deb/"$1"_*.deb "$2"
	rm -rf deb
}

# ----------------------------------------------------------- Debian's kernels

# debian_kernel NAME: fills the entry (current directory)
debian_kernel() {
	local name=$1 rel src pkg meta=linux-image-amd64
	apt_of "$name"
	case $name in
	rt) meta=linux-image-rt-amd64 ;;
	6.12) meta=linux-image-6.12-amd64 ;;
	esac
	rel=$(needs $meta '^linux-image-[0-9]' | head -n1)
	[ -n "$rel" ]
	rel=${rel#linux-image-}
	src=$(source_of "$rel")
	echo "$rel $(version "linux-image-$rel")"
	fetch "linux-image-$rel" image
	# Newer kernels come in several packages
	for pkg in $(needs "linux-image-$rel" '^linux-(base|binary|modules)-[0-9]'); do
		fetch "$pkg" image
	done
	unpack_image "$rel"
	if [ "$name" = 7 ]; then
		newer_chroot "$rel"
	else
		unpack_headers "$rel"
	fi
	fetch "$src" source
	unpack_source source/usr/src/linux-source-*.tar.xz
	rm -rf source
	echo "$rel" >release
}

# Keep the kernel as ELF (boots by PVH, no decompression in the guest) and the
# kinds of modules that tests use
unpack_image() {
	local rel=$1 mods boot
	boot=$(find image -name vmlinuz -o -name 'vmlinuz-*')
	python3 "$here/extract-vmlinux.py" "$boot" vmlinux
	for mods in image/lib/modules/$rel image/usr/lib/modules/$rel; do
		[ -d "$mods" ] && break
	done
	mkdir -p "root/lib/modules/$rel"
	(
		cd "$mods"
		find . -maxdepth 1 -type f -name 'modules.*'
		find kernel/{net,crypto,lib,arch,fs} \
			kernel/drivers/{net,infiniband,virtio,char,block,crypto,ptp} \
			-name '*.ko*' -not -path '*/net/ethernet/*' \
			-not -path '*/net/wireless/*' 2>/dev/null || true
	) | rsync -a --files-from=- "$mods/" "root/lib/modules/$rel/"
	find root -name '*.ko.xz' -exec xz -d {} +
	find root -name '*.ko.zst' -exec zstd -q -d --rm {} +
	depmod -b root "$rel"
	rm -rf image
}

# Put the headers packages into the entry and make their absolute paths point
# there, so that nothing needs to be installed
unpack_headers() {
	local rel=$1 pkg final
	final=$CACHED
	fetch "linux-headers-$rel" headers
	for pkg in $(needs "linux-headers-$rel" '^linux-(headers|kbuild)-'); do
		fetch "$pkg" headers
	done
	ln -s "headers/usr/src/linux-headers-$rel" kdir
	(
		cd "headers/usr/src/linux-headers-$rel"
		grep -lI '/usr/src/linux-headers-' Makefile .kernelvariables 2>/dev/null |
			xargs -r sed -i "s|/usr/src/linux-headers-|$final/headers/usr/src/linux-headers-|g"
	)
	find headers/usr/src -type l -lname '*/linux-kbuild-*' | while read -r pkg; do
		ln -sfnr "headers/usr/lib/$(readlink "$pkg" | grep -o 'linux-kbuild-.*')" "$pkg"
	done
}

# The newest kernels need a newer compiler and C library: make a chroot of the
# release they are built for, with the headers installed
newer_chroot() {
	local rel=$1 uri
	uri=$(debian_uri)
	mmdebstrap --variant=apt --include="gcc-14,make,libelf1t64,linux-headers-$rel" \
		--aptopt='Apt::Install-Recommends "false"' \
		--keyring=/usr/share/keyrings --skip=cleanup/apt/lists \
		trixie chroot "deb $uri trixie main" "deb $uri trixie-backports main"
	rm -rf chroot/var/cache/apt chroot/var/lib/apt/lists chroot/usr/share/{doc,man,locale}
	mkdir -p chroot/build
}

# unpack_source TARBALL: the needed files of a kernel's source
unpack_source() {
	local said
	mkdir src
	# No kernel has all of these files. After any other failure, such as a full disk, there
	# must be no entry in the cache
	if ! said=$({ xz -T0 -dc "$1" | LC_ALL=C tar -C src --strip-components=1 --wildcards \
		--warning=no-timestamp -xf - '*/scripts/checkpatch.pl' '*/scripts/kernel-doc*' \
		'*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' \
		'*/scripts/lib/kdoc/*' '*/tools/lib/python/*' '*/drivers/infiniband/sw/siw/*'; } 2>&1); then
		echo "$said"
		! echo "$said" | grep -Evx 'tar: (.*: Not found in archive|Exiting with failure status .*)' ||
			return 1
	fi
	[ -s src/scripts/checkpatch.pl ] && [ -d src/drivers/infiniband/sw/siw ] || return 1
	# newer kernels have a link here
	[ -s src/scripts/kernel-doc ] || [ -L src/scripts/kernel-doc ]
}

# Upper layers of RDMA, with all that they depend on
more_modules=(
	nvme-rdma nvmet-rdma rpcrdma nfsd nfsv4
	ib_iser ib_isert target_core_iblock sd_mod brd
)

# more_of NAME RELEASE: fills the entry
more_of() {
	local rel=$2 pkg mods
	apt_of "$1"
	fetch "linux-image-$rel" image
	for pkg in $(needs "linux-image-$rel" '^linux-(base|binary|modules)-[0-9]'); do
		fetch "$pkg" image
	done
	mods=image/usr
	[ -d "$mods/lib/modules/$rel" ] || mods=image
	depmod -b "$mods" "$rel"
	for pkg in "${more_modules[@]}"; do
		modprobe -d "$PWD/$mods" -S "$rel" --show-depends "$pkg"
	done | awk '$1 == "insmod" { print $2 }' | sed "s|.*/lib/modules/$rel/||" |
		sort -u >list
	mkdir -p "lib/modules/$rel"
	rsync -a --files-from=list "$mods/lib/modules/$rel/" "lib/modules/$rel/"
	rm -rf image list
	find lib -name '*.ko.xz' -exec xz -d {} +
	find lib -name '*.ko.zst' -exec zstd -q -d --rm {} +
	find lib -name '*.ko' -exec strip -g -R .BTF {} +
}

# more_source_of NAME RELEASE: fills the entry
more_source_of() {
	local src tar
	apt_of "$1"
	src=$(source_of "$2")
	tar=/usr/src/$src.tar.xz
	if [ ! -e "$tar" ]; then
		fetch "$src" source
		tar=source$tar
	fi
	xz -T0 -dc "$tar" | tar --strip-components=1 --wildcards -xf - \
		'*/drivers/infiniband/ulp/rtrs/*' '*/drivers/block/rnbd/*'
	rm -rf source
}

# tree_of NAME RELEASE: fills the entry
tree_of() {
	local src
	apt_of "$1"
	src=$(source_of "$2")
	fetch "$src" source
	mkdir tree
	xz -T0 -dc "source/usr/src/$src.tar.xz" | tar -C tree --strip-components=1 -xf -
	rm -rf source
}

# built_from NAME TARBALL: set CACHED to the entry with parts of the source of a kernel that
# is built here
built_from() {
	local version
	[ -e "$2" ] ||
		die "KERNEL=$1 is built from $2: it needs linux-source-6.1, which only Debian 12 has"
	version=$(source_version "$2")
	cache_make "ksrc/6.1-${version%% *}" unpack_source "$2"
}

# ---------------------------------------------------------------------- main

# current NAME: set CACHED to the entry that NAME stands for at present; fail if it is not
# known
current() {
	local entry link
	link=$SDP_CACHE/kernel/$1.v$(recipe "$1")
	entry=$(cat "$link" 2>/dev/null) || return 1
	cache_has "$entry" || return 1
	[ -n "$cached_only" ] || [ -n "$(find "$link" -mtime "-$max_age")" ] || return 1
	CACHED=$SDP_CACHE/$entry
}

prepare_debian() {
	local entry link
	link=$SDP_CACHE/kernel/$1.v$(recipe "$1")
	entry=kernel/$1-$(cache_key "$(recipe "$1")" "$(date +%G-%V)")
	if current "$1"; then
		return
	fi
	[ -z "$cached_only" ] || exit 1
	cache_make "$entry" debian_kernel "$1"
	if [ -z "$CACHED" ]; then
		# No mirror: an older one will do
		cached_only=1
		current "$1" || exit 1
		return
	fi
	# by rename: concurrent runs never read half of it
	echo "$entry" >"$link.$$"
	mv "$link.$$" "$link"
}

show() {
	local chroot='' kdir=$CACHED/kdir boot=$CACHED/vmlinux src=$CACHED/src
	[ -e "$boot" ] || boot=$CACHED/bzImage
	[ -z "${3:-}" ] || boot=$CACHED/linux
	if [ -d "$CACHED/chroot" ]; then
		chroot=$CACHED/chroot
		kdir=/usr/src/linux-headers-$(cat "$CACHED/release")
	fi
	printf 'K_NAME=%q\nK_RELEASE=%q\nK_BOOT=%q\n' "$1" "$(cat "$CACHED/release")" "$boot"
	printf 'K_ROOT=%q\nK_KDIR=%q\n' "$CACHED/root" "$kdir"
	printf 'K_CHROOT=%q\nK_SRC=%q\nK_ARCH=%q\n' "$chroot" "${2:-$src}" "${3:-}"
}

# Headers on this machine
show_host() {
	local rel
	if [ -z "${KDIR:-}" ]; then
		rel=$(uname -r)
		die "there are no headers of the running kernel $rel: install linux-headers-$rel, or name others by KDIR=DIR; \"make tools\" needs none"
	fi
	[ -e "$KDIR/Makefile" ] || die "KDIR=$KDIR is no directory of kernel headers: it has no Makefile"
	# Not "make kernelrelease", which lacks Debian's suffix
	rel=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' "$KDIR/include/generated/utsrelease.h" 2>/dev/null || true)
	[ -n "$rel" ] || die "KDIR=$KDIR holds no configured kernel: it has no include/generated/utsrelease.h"
	printf 'K_NAME=host\nK_RELEASE=%q\n' "$rel"
	printf 'K_BOOT=\nK_ROOT=\nK_KDIR=%q\nK_CHROOT=\nK_SRC=\nK_ARCH=\n' "$KDIR"
}

show_more() {
	local rel
	prepare_debian "$1"
	rel=$(cat "$CACHED/release")
	cache_make "more/$rel-$(cache_key "${more_modules[@]}")" more_of "$1" "$rel"
	printf 'K_MORE=%q\n' "$CACHED"
	cache_make "more-src/$rel-$(cache_key 1)" more_source_of "$1" "$rel"
	printf 'K_MORE_SRC=%q\n' "$CACHED"
}

show_tree() {
	local rel
	prepare_debian "$1"
	rel=$(cat "$CACHED/release")
	if [ -n "$cached_only" ] && ! cache_has "linux/$rel"; then
		echo K_TREE=
		return
	fi
	cache_make "linux/$rel" tree_of "$1" "$rel"
	printf 'K_TREE=%q\n' "${CACHED:+$CACHED/tree}"
}

if [ "${1:-}" = --tree ]; then
	shift
	cached_only=
	[ "$1" != --cached ] || { cached_only=1; shift; }
	show_tree "$1"
	exit
fi
if [ "${1:-}" = --more ]; then
	cached_only=
	case ${2:-} in
	6.1 | rt | 6.12 | 7) show_more "$2" ;;
	debug | kcsan) printf 'K_MORE=%q\nK_MORE_SRC=\n' "$("$here/debug-kernel.sh" "$2")/root" ;;
	*) printf 'K_MORE=\nK_MORE_SRC=\n' ;;
	esac
	exit
fi
cached_only=
if [ "${1:-}" = --cached ]; then
	cached_only=1
	shift
fi
case ${1:-} in
host) show_host ;;
6.1 | rt | 6.12 | 7)
	prepare_debian "$1"
	show "$1"
	;;
debug | kcsan)
	if [ -n "$cached_only" ]; then
		"$here/debug-kernel.sh" --check "$1" || exit 1
	fi
	built_from "$1" "${DEBUG_SOURCE:-/usr/src/linux-source-6.1.tar.xz}"
	src=$CACHED/src
	CACHED=$("$here/debug-kernel.sh" "$1")
	show "$1" "$src"
	;;
uml)
	if [ -n "$cached_only" ]; then
		"$here/../selftests/native/uml-kernel.sh" --check || exit 1
	fi
	built_from "$1" "${UML_SOURCE:-/usr/src/linux-source-6.1.tar.xz}"
	src=$CACHED/src
	CACHED=$("$here/../selftests/native/uml-kernel.sh")
	show uml "$src" um
	;;
*)
	die "there is no kernel \"${1:-}\": KERNEL is 6.1, rt, 6.12, 7, debug, kcsan, uml or host"
	;;
esac
