#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install-dkms.sh [-r]: register the modules with DKMS, which builds them for the running
# kernel and for kernels that are installed later. Replaces an earlier registration of the
# same version. -r: remove the modules. DKMS_OPTIONS: extra options for dkms(8).
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# value NAME: of dkms.conf, which is no script for a shell: it has variables of dkms(8)
value() { sed -n "s/^$1=//p" "$here/../dkms.conf" | tr -d '"'; }
name=$(value PACKAGE_NAME)
version=$(value PACKAGE_VERSION)
module=$name/$version
dir=/usr/src/$name-$version

if ! command -v dkms >/dev/null; then
	echo "install-dkms.sh: there is no dkms: install the package dkms" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "install-dkms.sh: run this as root" >&2
	exit 1
fi
# shellcheck disable=SC2086 # several words
run_dkms() { dkms ${DKMS_OPTIONS:-} "$@"; }

[ -z "$(run_dkms status "$module")" ] || run_dkms remove "$module" --all
if [ "${1:-}" = -r ]; then
	rm -rf "$dir"
	exit
fi
"$here/dkms-sources.sh" "$dir"
run_dkms add "$module"
if [ -e "/lib/modules/$(uname -r)/build" ]; then
	run_dkms install "$module"
else
	echo "no headers of the running kernel $(uname -r): DKMS builds for kernels that have them"
fi
