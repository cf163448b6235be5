#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rtrs-modules.sh KERNEL: RTRS and RNBD, block devices over RDMA, which Debian's
# kernels do not have, from their source. Prints the directory of the modules,
# which is in the cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"
# shellcheck source=scripts/kmake.sh
. "$here/kmake.sh"

vars=$("$here/kernel.sh" "$1")
eval "$vars"
vars=$("$here/kernel.sh" --more "$1")
eval "$vars"
[ -n "$K_MORE_SRC" ] || exit 0

# Their own Makefiles, without the paths of a kernel tree
build_rtrs() {
	cp -r "$K_MORE_SRC"/drivers/infiniband/ulp/rtrs "$K_MORE_SRC"/drivers/block/rnbd .
	# shellcheck disable=SC2016 # make's
	sed -i 's|\$(srctree)/drivers/infiniband/ulp|$(src)/..|' rnbd/Makefile
	echo 'obj-m := rtrs/ rnbd/' >Kbuild
	kmake "$PWD" CONFIG_INFINIBAND_RTRS=m CONFIG_INFINIBAND_RTRS_CLIENT=m \
		CONFIG_INFINIBAND_RTRS_SERVER=m CONFIG_BLK_DEV_RNBD=y \
		CONFIG_BLK_DEV_RNBD_CLIENT=m CONFIG_BLK_DEV_RNBD_SERVER=m \
		modules >&2
	mkdir out
	find r* -name '*.ko' | while read -r ko; do
		strip -g -o "out/$(basename "$ko")" "$ko"
	done
	find . -mindepth 1 -maxdepth 1 ! -name out -exec rm -rf {} +
	mv out/*.ko . && rmdir out
}

cache_make "rtrs/$K_RELEASE-$(cache_key 1 "$K_KDIR" "$(cat "${BASH_SOURCE[0]}")")" \
	build_rtrs
echo "$CACHED"
