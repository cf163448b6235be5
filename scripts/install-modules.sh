#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install-modules.sh BUILD: install the modules that "make modules" built.
# install-modules.sh -r: remove them, of all kernels
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# remove RELEASE: delete the modules, and the directory if nothing else is in it
remove() {
	local dir=${DESTDIR:-}/lib/modules/$1/updates name

	sed -n 's/^obj-m *[+:]*= *//p' "$here"/../{drivers,lib}/*/Kbuild | xargs -n1 |
		while read -r name; do
			rm -fv "$dir/${name%.o}.ko"
		done
	[ ! -d "$dir" ] || rmdir --ignore-fail-on-non-empty "$dir"
	[ -n "${DESTDIR:-}" ] || depmod "$1"
}

if [ "${1:-}" = -r ]; then
	for dir in "${DESTDIR:-}"/lib/modules/*/updates; do
		[ ! -d "$dir" ] || remove "$(basename "$(dirname "$dir")")"
	done
	exit
fi
vars=$("$here/kernel.sh" host)
eval "$vars"
dir=${DESTDIR:-}/lib/modules/$K_RELEASE/updates
install -D -m 644 -t "$dir" "$1"/host/modules/*.ko
echo "modules are in $dir"
if [ -z "${DESTDIR:-}" ]; then
	depmod "$K_RELEASE"
fi
