#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-user.sh [OUT]: build tools, test programs and examples into OUT/tools,
# OUT/selftests and OUT/examples (OUT is build/ of the tree by default).
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"

out=$(realpath -m "${1:-$top/build}")
mkdir -p "$out/tools" "$out/selftests"
exec {lock}>"$out/user.lock"
flock "$lock"
for dir in tools selftests examples/filters; do
	[ -e "$top/$dir/Makefile" ] || continue
	msg "  USER    $dir"
	make -s -C "$top/$dir" -j"${JOBS:-$(nproc)}" O="$out/${dir%/*}" >&2 {lock}>&-
done
