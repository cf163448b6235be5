#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# uml-kernel.sh [--check]: build a User-Mode Linux kernel from Debian's kernel source
# package into the cache (about 11 CPU minutes, once) and print the directory
# that holds it: linux (the program), root/lib/modules/..., release, and kdir
# (for make -C kdir M=... ARCH=um). --check: only say (by exit status) whether it
# is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/cache.sh
. "$here/../../scripts/cache.sh"

src=${UML_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
config=$here/uml.config
xstate=$here/uml-xstate.diff
recipe=1

build() {
	export ARCH=um KBUILD_BUILD_USER=native KBUILD_BUILD_HOST=native
	mkdir src
	tar -C src --strip-components=1 -xf "$src"
	cd src
	patch -s -p1 <"$xstate"
	KCONFIG_ALLCONFIG=$config make -s allnoconfig
	check_config
	nice -n 10 make -s -j"${JOBS:-$(nproc)}" linux modules
	make -s INSTALL_MOD_PATH=../root INSTALL_MOD_STRIP=1 modules_install
	make -s kernelrelease >../release
	strip -g -o ../linux linux
	cp .config ../config
	cd ..
	rm -f root/lib/modules/*/{build,source}
	mkdir kdir
	keep_for_modules | rsync -a --files-from=- src/ kdir/
	rm -rf src
}

# A line that Kconfig silently dropped is a mistake
check_config() {
	local line
	while read -r line; do
		grep -qxF "$line" .config || { echo "not applied: $line"; return 1; }
	done < <(grep '^CONFIG_' "$config")
}

# Files that the build of a module reads
keep_for_modules() {
	cd src
	find . \( -name 'Makefile*' -o -name 'Kconfig*' \) -type f
	find include scripts arch/um/include arch/x86/um arch/x86/include \
		arch/um/scripts -type f -o -type l
	find arch -name '*.lds*' -type f
	ls Module.symvers .config
}

key=$(cache_key "$recipe" "$(grep '^CONFIG' "$config")" "$(cat "$xstate")" \
	"$(gcc -dumpfullversion)" "$(source_version "$src")")
[ -e "$src" ] || die "no $src: it needs linux-source-6.1, which only Debian 12 has"
if [ "${1:-}" = --check ]; then
	cache_has "kernel/uml-$key"
	exit
fi
cache_make "kernel/uml-$key" build
[ -n "$CACHED" ] || exit 1
echo "$CACHED"
