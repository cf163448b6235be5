#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# into-kernel-check.sh [--cached] [BUILD]: copy the project into the source tree of the
# newest kernel (into-kernel.sh) and build it there with W=1 and C=1, its documentation
# and its selftests. It fails on any finding, and if a file names a document that does not
# exist. The tree is an overlay in BUILD/into-kernel.
#
# AS is "m" (default), "y" or "m y": as modules, into the kernel, or one after the other.
# With ARCH=arm64 the drivers are compiled for arm64, with pages of 4 and of 64 KB, which
# needs gcc-aarch64-linux-gnu. With ARCH=i386 they are compiled for 32 bits, one processor
# and no IPv6. Both build neither documentation nor selftests.
#
# With --cached nothing is downloaded: if the source is not in the cache, nothing is done.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"

cached=
if [ "${1:-}" = --cached ]; then
	cached=--cached
	shift
fi
build=$(realpath -m "${1:-$top/build}")/into-kernel
# nothing, if only the cache may be used and has no such kernel
vars=$("$here/kernel.sh" --tree $cached 7) || [ -n "$cached" ]
K_TREE=
eval "$vars"
if [ -z "$K_TREE" ]; then
	echo "into-kernel: skipped, the source of the newest kernel is not in the cache"
	exit 0
fi
[ "$(id -u)" = 0 ] || die "root is needed to mount the overlay"

if [ -z "${INTO_KERNEL_MOUNTED:-}" ]; then
	rm -rf "$build"
	mkdir -p "$build"/{upper,work,tree}
	INTO_KERNEL_MOUNTED=1 exec unshare -m "$BASH" "${BASH_SOURCE[0]}" $cached "$(dirname "$build")"
fi
mount -t overlay -o "lowerdir=$K_TREE,upperdir=$build/upper,workdir=$build/work" \
	overlay "$build/tree"
cd "$build/tree"
"$here/into-kernel.sh" .

# Files that the kernel does not have
mapfile -t ours < <(cd ../upper && find . -type f -printf '%P\n' | sort |
	while IFS= read -r f; do [ -e "$K_TREE/$f" ] || echo "$f"; done)

# references: paths of documents in our files that are not there, by the kernel's script. It
# looks at the files that git knows.
references() {
	local script=tools/docs/documentation-file-ref-check
	[ -e $script ] || script=scripts/documentation-file-ref-check
	git init -q .
	printf '%s\n' "${ours[@]}" | git add -f --pathspec-from-file=-
	$script --warn 2>&1
	rm -rf .git
}

# names: those that the script does not look at: in Makefiles and scripts, and without a path
names() {
	local file line name
	grep -noP '(?<![\w./*-])[\w/-]+\.rst\b(?!\()' "${ours[@]}" |
		while IFS=: read -r file line name; do
			[ -e "$name" ] || [ -e "Documentation/networking/sdp/$name" ] ||
				echo "$file:$line: there is no $name"
		done
}

command -v git >/dev/null || die "git is not installed; documentation-file-ref-check needs it"
found=$(references; names)
[ -z "$found" ] || { printf '%s\n' "$found"; die "documents are named that are not there"; }

# The specifications of netlink families by the schemas of the kernel
PYTHONPATH=tools/net/ynl/pyynl /usr/bin/python3 -B -c 'if True:
	import sys
	from lib import SpecFamily
	for path in sys.argv[1:]:
		SpecFamily(path)
	' Documentation/netlink/specs/{rdma_stack,sdp}.yaml || die "a netlink specification is not valid"

dirs=(lib/iwarp/ drivers/infiniband/sw/rdma_stack/ drivers/infiniband/sw/iwarp_hybrid/
	drivers/net/hnic/ net/sdp/)
symbols=(RDMA_STACK RDMA_IWARP_HYBRID HNIC SDP)
log=$build/log
# sparse has no __typeof_unqual__ yet; the kernel uses it where the compiler has it
check="sparse -D__typeof_unqual__=__typeof__"

arch=${ARCH:-x86_64}
pages=("")
case $arch in
x86_64) config=x86_64_defconfig ;;
i386) config=i386_defconfig ;;
arm64)
	config=defconfig pages=(ARM64_4K_PAGES ARM64_64K_PAGES)
	export CROSS_COMPILE=${CROSS_COMPILE-aarch64-linux-gnu-}
	command -v "${CROSS_COMPILE}gcc" >/dev/null || die "no ${CROSS_COMPILE}gcc: install gcc-aarch64-linux-gnu"
	;;
*) die "ARCH=$arch: x86_64, arm64 or i386" ;;
esac
export ARCH=$arch

# configure m|y [OPTION]
configure() {
	local s
	make -s $config
	[ -z "${2:-}" ] || scripts/config -e "$2"
	for s in INFINIBAND INFINIBAND_USER_ACCESS INET_DIAG "${symbols[@]}"; do
		scripts/config --set-val "$s" "$1"
	done
	scripts/config -e INFINIBAND_ADDR_TRANS -e IPV6 -d RUST -d GCC_PLUGINS
	[ "$arch" != i386 ] || scripts/config -d IPV6 -d SMP -d HIGHMEM4G
	make -s olddefconfig
	# off by default, so the variants would not be compiled
	scripts/config -e SDP_RESEARCH -e RDMA_IWARP_HYBRID_RESEARCH
	make -s olddefconfig
	for s in "${symbols[@]}" SDP_DIAG LIB_IWARP; do
		grep -qxF "CONFIG_$s=$1" .config || die "CONFIG_$s=$1 cannot be set: see $build/tree/.config"
	done
	grep -qxF CONFIG_SDP_RESEARCH=y .config || die "CONFIG_SDP_RESEARCH cannot be set"
	[ -z "${2:-}" ] || grep -qxF "CONFIG_$2=y" .config || die "CONFIG_$2=y cannot be set"
}

# findings: of compiler and sparse. Sparse 0.6.4 reports every MODULE_*() of 7.x.
findings() {
	local where line
	grep -E '(warning|error):' "$log" | sort -u | while IFS= read -r line; do
		where=${line%%: *}
		if [[ $line == *'error: bad constant expression'* ]] &&
			sed -n "$(cut -d: -f2 <<<"$where")p" "${where%%:*}" | grep -q '^MODULE_'; then
			continue
		fi
		echo "$line"
	done
}

failed=0
for how in ${AS:-m}; do for page in "${pages[@]}"; do
	configure "$how" "$page"
	make -s -j"${JOBS:-$(nproc)}" W=1 C=1 CHECK="$check" prepare >"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; die "the kernel's own preparation fails"; }
	rc=0
	make -s -k -j"${JOBS:-$(nproc)}" W=1 C=1 CHECK="$check" "${dirs[@]}" >"$log" 2>&1 || rc=$?
	found=$(findings)
	if [ -n "$found" ] || [ $rc -ne 0 ]; then
		printf '%s\n' "${found:-$(tail -n 20 "$log")}"
		failed=1
	fi
done; done
objects=$(find "${dirs[@]}" -name '*.o' | wc -l)
[ "$objects" -gt 100 ] || die "only $objects objects were built"
version=$(make -s kernelversion)
if [ "$arch" != x86_64 ]; then
	[ $failed = 0 ] || exit 1
	echo "into-kernel: Linux $version for $arch with $objects objects of ours: no finding of W=1 and C=1"
	exit
fi

make -s SPHINXDIRS=networking/sdp htmldocs >"$log" 2>&1 || { tail -n 20 "$log"; failed=1; }
if grep -E 'networking/sdp|include/(rdma|linux/iwarp)/' "$log" | grep -E 'WARNING|ERROR|error|warning'; then
	failed=1
fi

# Selftests, as the kernel builds and installs them. With FORCE_TARGETS=1, a
# program that does not build is an error. A sample of the installed files is checked.
programs=$build/selftests
{
	make -s headers
	make -s -C tools/testing/selftests FORCE_TARGETS=1 \
		TARGETS="net/sdp/bin net/sdp/hnic net/sdp/iwarp_hybrid net/sdp/sdp" \
		KSFT_INSTALL_PATH="$programs" install
} >"$log" 2>&1 || { tail -n 20 "$log"; failed=1; }
if grep -E '(warning|error|Error):' "$log"; then
	failed=1
fi
tests=$("$programs/run_kselftest.sh" -l | wc -l)
for f in "$programs"/net/sdp/{lib/lib.sh,bin/sdp-echo,bin/hyb-hostile,sdp/binding.py}; do
	[ -e "$f" ] || { echo "${f#"$programs/"} is not installed"; failed=1; }
done
[ "$tests" -gt 50 ] || { echo "only $tests selftests are installed"; failed=1; }
[ $failed = 0 ] || exit 1
echo "into-kernel: Linux $version with $objects objects and $tests selftests of ours:" \
	"no finding of W=1, C=1 and htmldocs"
