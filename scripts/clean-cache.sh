#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Remove everything from the cache.
set -euo pipefail
# shellcheck source=scripts/cache.sh
. "$(dirname "$0")/cache.sh"

[ -d "$SDP_CACHE" ] || exit 0
echo "removing $SDP_CACHE"
rm -rf "$SDP_CACHE"/{kernel,ksrc,more,siw,guest,packages,accel,apt,log,lock}
rmdir "$SDP_CACHE" 2>/dev/null || true
