#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make demo-filters`: pictures that travelled over SDP, through pipelines of filters on
# four hosts in a virtual machine; BUILD/demo-filters has them. The last line is
# "demo-filters: ok", or names the logs.
#
# Environment: KERNEL (6.1), BUILD (build), VM_ARGS for selftests/vm/run.sh.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/help.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
dir=$build/demo-filters
log=$dir/demo.log
mkdata=(/usr/bin/python3 -B "$top/examples/filters/mkdata.py")

rm -rf "$dir"
mkdir -p "$dir"
scope=(--source auto) iso=(--steps 1 --size 44)
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	echo "demo-filters: a test pattern and a sphere: python3-numpy is not installed;" \
		"with it and python3-skimage there are a micrograph and a reservoir"
	scope=(--source pattern) iso=(--source sphere --size 44)
fi
"${mkdata[@]}" slide "$dir/slide" --size 1536 "${scope[@]}" &&
	"${mkdata[@]}" volume "$dir/volume" "${iso[@]}" || exit 2

echo "demo-filters: kernel $kernel in a virtual machine; this takes some minutes"
# shellcheck disable=SC2086 # several words
"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$dir/vm" -t 900 \
	-f "$dir/slide:/demo/slide" -f "$dir/volume:/demo/volume" \
	-c "exec /selftests/demo/filters-guest.sh" ${VM_ARGS:-} 2>&1 |
	tee "$log" | grep --line-buffered -v '^DEMO-'
rc=${PIPESTATUS[0]}

if [ "$rc" -ne 0 ] || ! grep -q '^DEMO-DONE' "$log"; then
	[ "$rc" -ne 98 ] || echo "demo-filters: the programs ran, but the kernel complained"
	echo "demo-filters: failed; logs: $log (programs), $dir/vm/console.log (kernel)"
	exit 1
fi
/usr/bin/python3 -B "$here/png.py" "$(find "$dir/vm/files" -name scope.ppm)" "$dir/scope.png" &&
	/usr/bin/python3 -B "$here/png.py" "$(find "$dir/vm/files" -name iso.pgm)" "$dir/iso.png" ||
	exit 1
echo
sed -n 's/^DEMO-ROW //p' "$log"
echo "pictures: $dir/scope.png, $dir/iso.png"
echo "demo-filters: ok"
