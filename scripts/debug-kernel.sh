#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel.sh [--check] debug|kcsan: build a debug kernel, or one with KCSAN, from
# Debian's kernel source package, keep it in the cache, and print the directory that holds
# it.  With --check: only say (by exit status) whether it is there.
#
# The directory has: release, bzImage, root/lib/modules/..., kdir (what
# "make -C kdir M=..." needs) and config.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"

check=
if [ "${1:-}" = --check ]; then
	check=1
	shift
fi
[ $# -eq 1 ] || { echo "usage: ${0##*/} [--check] debug|kcsan" >&2; exit 2; }
name=$1
src=${DEBUG_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
config=("$here/../selftests/vm/debug.config")
[ "$name" = debug ] || config+=("$here/../selftests/vm/$name.config")
recipe=1	# increment when build() changes, so that cached kernels are built again

build() {
	local jobs
	jobs=${JOBS:-$(nproc)}
	export KBUILD_BUILD_USER=debug KBUILD_BUILD_HOST=debug
	mkdir src
	tar -C src --strip-components=1 -xf "$src"
	cd src
	make -s tinyconfig
	./scripts/kconfig/merge_config.sh -m .config "${config[@]}"
	make -s olddefconfig
	check_config
	nice -n 5 make -s -j"$jobs" bzImage modules
	make -s INSTALL_MOD_PATH=../root INSTALL_MOD_STRIP=1 modules_install
	make -s kernelrelease >../release
	cp arch/x86/boot/bzImage .config ..
	cd ..
	mv .config config
	rm -f root/lib/modules/*/{build,source}
	mkdir kdir
	keep_for_modules | rsync -a --files-from=- src/ kdir/
	rm -rf src
}

# Print the lines of the fragments, the last one for each option
wanted() { awk -F= '/^CONFIG_/ { line[$1] = $0 } END { for (o in line) print line[o] }' "${config[@]}"; }

# A line of the fragments that Kconfig silently dropped is a mistake
check_config() {
	local line bad=0
	while read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" .config || bad=1 ;;
		*) grep -qxF "$line" .config || bad=1 ;;
		esac
		[ $bad = 0 ] || { echo "not applied: $line"; return 1; }
	done < <(wanted)
}

# The same set of files that a distribution's headers package holds
keep_for_modules() {
	cd src
	find . \( -name 'Makefile*' -o -name 'Kconfig*' -o -name '*.pl' \) -type f
	find include scripts arch/x86/include -type f -o -type l
	find arch/x86 -name 'module.lds' -o -name '*.lds' -type f
	find tools/objtool -name objtool -type f
	ls Module.symvers .config
}

key=$(cache_key "$recipe" "$(cat "${config[@]}" | grep '^CONFIG')" "$(gcc -dumpfullversion)" \
	"$(source_version "$src")")
if [ -n "$check" ]; then
	cache_has "kernel/$name-$key"
	exit
fi
[ -e "$src" ] || die "no $src: it needs linux-source-6.1, which only Debian 12 has"
cache_make "kernel/$name-$key" build
[ -n "$CACHED" ] || exit 1
echo "$CACHED"
