#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# clean-cache.sh: remove everything from the cache, SDP_CACHE (~/.cache/linux-sdp), the
# inputs that the fuzz targets have found included.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
# shellcheck source=scripts/cache.sh
. "$(dirname "$0")/cache.sh"

[ -d "$SDP_CACHE" ] || exit 0
echo "removing $SDP_CACHE"
# Entries of all kinds are alike. Files of other origin in that directory stay
find "$SDP_CACHE" -mindepth 3 -maxdepth 3 -name .complete -printf '%h\0' |
	xargs -0 -r rm -rf
rm -rf "$SDP_CACHE"/{apt,fuzz,log,lock} "$SDP_CACHE"/*/*.tmp.[0-9]* \
	"$SDP_CACHE"/kernel/*.v[0-9]*
find "$SDP_CACHE" -mindepth 1 -maxdepth 1 -type d -empty -delete
rmdir "$SDP_CACHE"
