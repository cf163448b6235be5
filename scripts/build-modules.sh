#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-modules.sh KERNEL [OUT]: build the project's modules for the kernel of
# that name (see kernel.sh) from a copy of the sources, never in the tree, and
# siw, the peer to test against, into the cache.  Modules are left in
# OUT/KERNEL/modules/; OUT is build/ of the tree by default.  Test modules
# (selftests/*/Kbuild) and siw are among them, except for "host", whose modules are
# installed.
#
# MODFLAGS of the environment are arguments of make: W=1, C=1 and the like. SDP_RESEARCH=n
# leaves out the variants of the literature, see Documentation/knobs.rst.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"
# shellcheck source=scripts/kmake.sh
. "$here/kmake.sh"

name=$1
out=$(realpath -m "${2:-$top/build}")/$name
vars=$("$here/kernel.sh" "$name")
eval "$vars"

build_siw() {
	cp "$K_SRC"/drivers/infiniband/sw/siw/*.[ch] .
	cat >Kbuild <<-'END'
	obj-m := siw.o
	siw-y := siw_cm.o siw_cq.o siw_main.o siw_mem.o siw_qp.o siw_qp_tx.o \
		 siw_qp_rx.o siw_verbs.o
	END
	sed -i -Ef "$here/siw.sed" ./*.[ch]
	kmake "$PWD" modules
	mkdir out
	strip -g -o out/siw.ko siw.ko
	find . -mindepth 1 -maxdepth 1 ! -name out -exec rm -rf {} +
	mv out/siw.ko . && rmdir out
}

siw_dir=
if [ "$name" != host ]; then
	# the debug kernel's configuration is part of its directory's name
	cache_make "siw/$K_RELEASE-$(cache_key 2 "$K_KDIR" "$(cat "$here/siw.sed")" \
		"$(cat "$K_SRC"/drivers/infiniband/sw/siw/*.[ch])")" build_siw
	siw_dir=$CACHED
fi

mkdir -p "$out/src" "$out/modules"
exec {lock}>"$out/lock"
flock "$lock"
# By content and without times: changed files are newer than their objects
rsync -rlpcR --delete --include='*.ko' --exclude='*.o' --exclude='*.ko' \
	--exclude='*.mod' --exclude='*.mod.c' --exclude='.*.cmd' --exclude='.*.d' \
	--exclude=Module.symvers --exclude=modules.order --exclude='*.a' \
	--exclude=/include/generated --exclude='.module-common*' \
	--include='/selftests/*/' --include='/selftests/*/Kbuild' \
	--include='/selftests/*/*.[ch]' --exclude='/selftests/**' \
	"$top/./Kbuild" "$top/./drivers" "$top/./include" "$top/./lib" "$top/./scripts/compat" \
	"$top/./selftests" \
	"$out/src/" >&2
# Generated headers and objects belong to one kernel
if [ "$(cat "$out/kernel" 2>/dev/null)" != "$K_RELEASE $K_KDIR" ]; then
	find "$out/src" \( -name '*.o' -o -name '*.ko' -o -name '.*.cmd' \) -delete
	rm -rf "$out/src/include/generated"
	echo "$K_RELEASE $K_KDIR" >"$out/kernel"
fi
rm -f "$out"/modules/*.ko
[ -z "$siw_dir" ] || cp "$siw_dir/siw.ko" "$out/modules/"
msg "  MODULES $name ($K_RELEASE)"
tests=m
[ "$name" != host ] || tests=
# User-Mode Linux is compiled with -fno-builtin, as no other x86 kernel is: to write four
# bytes would be a call of memcpy()
flags=
[ "$name" != uml ] || flags=KCFLAGS=-fbuiltin
# one switch of ours, a symbol for each module as in the kernel's tree
research=${SDP_RESEARCH:-y}
# shellcheck disable=SC2086
kmake "$out/src" IWARP_SDP_SELFTESTS=$tests CONFIG_SDP_RESEARCH="$research" \
	CONFIG_RDMA_IWARP_HYBRID_RESEARCH="$research" -j"${JOBS:-$(nproc)}" $flags ${MODFLAGS:-} \
	modules >&2 {lock}>&-
find "$out/src" -name '*.ko' | while read -r ko; do
	strip -g -o "$out/modules/$(basename "$ko")" "$ko"
done
