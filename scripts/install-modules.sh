#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install-modules.sh BUILD: install the modules that "make modules" built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vars=$("$here/kernel.sh" host)
eval "$vars"

dir=${DESTDIR:-}/lib/modules/$K_RELEASE/updates
install -D -m 644 -t "$dir" "$1"/host/modules/*.ko
echo "modules are in $dir"
if [ -z "${DESTDIR:-}" ]; then
	depmod "$K_RELEASE"
fi
