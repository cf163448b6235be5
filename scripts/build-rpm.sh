#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-rpm.sh BUILD: RPM packages, in BUILD/rpm, of the files that git does not ignore, new
# ones included; without .git, of all files outside build/. RPMFLAGS: options of rpmbuild,
# --nodeps where its database does not have what apt installed.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
out=$(realpath -m "$1")/rpm
cd "$top"
if ! command -v rpmbuild >/dev/null; then
	echo "build-rpm: there is no rpmbuild: install the package rpm-build (Debian: rpm)" >&2
	exit 1
fi
version=$(sed -n 's/^PACKAGE_VERSION=//p' dkms.conf | tr -d '"')
rm -rf "$out"
mkdir -p "$out/SOURCES"
if [ -e .git ]; then
	git ls-files -co --exclude-standard
else
	find . -path ./build -prune -o -type f -print | sed 's|^\./||'
fi | while IFS= read -r f; do
	# git also lists files that are deleted, but still in the index
	[ ! -e "$f" ] || printf '%s\n' "$f"
done | tar -czf "$out/SOURCES/iwarp-sdp-$version.tar.gz" --transform "s|^|iwarp-sdp-$version/|" -T -
# A make that called this has variables of its own
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BUILD KDIR
# shellcheck disable=SC2086 # several options
if ! rpmbuild ${RPMFLAGS:-} --define "_topdir $out" --define "version_of_dkms $version" \
	-ba rpm/iwarp-sdp.spec >"$out/build.log" 2>&1; then
	tail -n 30 "$out/build.log" >&2
	echo "build-rpm: failed; the log is $out/build.log" >&2
	exit 1
fi
rm -rf "$out/BUILD" "$out/BUILDROOT"
ls -1 "$out"/RPMS/*/*.rpm
