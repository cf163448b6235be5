#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-deb.sh BUILD: Debian packages, and their source, in BUILD/deb, of the files that git
# does not ignore, new ones included; without .git, of all files outside build/.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
out=$(realpath -m "$1")/deb
cd "$top"
if ! command -v dpkg-checkbuilddeps >/dev/null; then
	echo "build-deb: there is no dpkg-dev: apt install dpkg-dev" >&2
	exit 1
fi
if ! missing=$(dpkg-checkbuilddeps 2>&1); then
	echo "build-deb: ${missing#*error: }; install them: apt build-dep ." >&2
	exit 1
fi
version=$(dpkg-parsechangelog -l "$top/debian/changelog" -S Version)
src=$out/iwarp-sdp-$version

rm -rf "$out"
mkdir -p "$src"
if [ -e .git ]; then
	git ls-files -co --exclude-standard
else
	find . -path ./build -prune -o -type f -print
fi | while IFS= read -r f; do
	# git also lists files that are deleted, but still in the index
	[ ! -e "$f" ] || printf '%s\n' "$f"
done | rsync -a --files-from=- ./ "$src/"
cd "$src"
# A make that called this has variables of its own
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BUILD KDIR
if ! dpkg-buildpackage -us -uc >"$out/build.log" 2>&1; then
	tail -n 30 "$out/build.log" >&2
	echo "build-deb: failed; the log is $out/build.log" >&2
	exit 1
fi
rm -rf "$src"
ls -1 "$out"/*.deb
