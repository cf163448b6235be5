#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dkms-sources.sh DIR: copy the sources that DKMS builds the modules from to DIR, and
# nothing else. Files that were there before are removed.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
if [ -e "$1" ] && [ ! -e "$1/dkms.conf" ]; then
	echo "dkms-sources.sh: $1 exists, and is not a directory of DKMS sources" >&2
	exit 1
fi
dir=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rm -rf "$dir"
mkdir -p "$dir"
find Kbuild dkms.conf COPYING drivers include lib scripts/compat -type f \
	! -path 'include/generated/*' ! -name '.*' ! -name '*.mod.c' \
	\( -name '*.[ch]' -o -name 'Kbuild*' -o -name '*.sh' -o -name dkms.conf -o -name COPYING \) \
	-exec cp -p --parents -t "$dir" {} +
