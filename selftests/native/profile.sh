#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make profile LANE=native`: one kind of connection alone in User-Mode Linux,
# sampled by perf from outside. Lists functions and layers (bench/layers.map) with
# their nanoseconds per byte, both ends together, and draws a flame graph.
#
# Environment: BUILD (build). WHAT (sdp-enhanced/hybrid), LINK (hnic), MTU (1500),
# SIZE (65536; with TEST=lat, for round trips, 1), INTERVAL (512), DURATION (seconds, 5),
# HZ (samples per second, 1999), BASE (directory of an earlier profile to compare with),
# OUT (where the results go, BUILD/uml/profile), KEEP (leave perf.data there).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(realpath -m "${BUILD:-$top/build}")
out=$(realpath -m "${OUT:-$build/uml/profile}")
what=${WHAT:-sdp-enhanced/hybrid} link=${LINK:-hnic} mtu=${MTU:-1500} test=${TEST:-bw}
# shellcheck source=selftests/bench/profile_args.sh
. "$top/selftests/bench/profile_args.sh"
case $what in
tcp) ;;
sdp-basic/* | sdp-enhanced/*) profile_sdp "$what" basic enhanced ;;
*)
	echo "profile: WHAT is tcp, sdp-basic/PROFILE or sdp-enhanced/PROFILE, not $what" >&2
	exit 2
	;;
esac
size=${SIZE:-65536}
[ "$test" = bw ] || size=${SIZE:-1}
profile_one_of TEST "$test" bw lat
profile_one_of LINK "$link" hnic veth
profile_number MTU "$mtu" 65535
profile_number SIZE "$size" $((64 << 20))
profile_number DURATION "${DURATION:-5}" 86400
profile_number HZ "${HZ:-1999}" 100000
if [ -n "${BASE:-}" ] && [ ! -e "$BASE/stacks.txt" ]; then
	echo "profile: BASE is the directory of an earlier profile; $BASE is none" >&2
	exit 2
fi
if ! command -v perf > /dev/null; then
	echo "profile: there is no perf: make deps" >&2
	exit 2
fi
base=()
if [ -n "${BASE:-}" ]; then
	# it may be what this run writes over
	keep=$(mktemp -d)
	trap 'rm -rf "$keep"' EXIT
	cp "$BASE/stacks.txt" "$keep/"
	base=(--base "$keep")
fi
rm -rf "$out"
mkdir -p "$out"
PROFILE=$out PROFILE_WHAT=$what PROFILE_TEST=$test PROFILE_SECONDS=${DURATION:-5} \
	LINKS=$link MTUS=$mtu SIZES=$size INTERVALS=${INTERVAL:-512} HZ=${HZ:-1999} \
	"$here/run.sh"
vars=$("$top/scripts/kernel.sh" uml)
eval "$vars"
rc=0
python3 -B "$here/profile.py" --kernel "$K_BOOT" --modules "$build/uml/guest/lib/modules/$K_RELEASE/updates" \
	--title "$what over $link, MTU $mtu, $size bytes" "${base[@]}" "$out" || rc=$?
[ -n "${KEEP:-}" ] || rm -f "$out/perf.data"
echo "profile: $out/profile.txt, stacks.txt, flame.svg${BASE:+, difference.svg}"
exit $rc
