#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The native lane of "make bench", as little of it as there can be: it builds, and
# has figures for each kind of connection. Its kernel takes ten minutes to build;
# not in CI, where nothing else would fit then.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
if [ -n "${CI:-}" ] && ! "$TOP/scripts/kernel.sh" --cached uml >/dev/null 2>&1; then
	echo "1..0 # SKIP no User-Mode Linux in the cache, and it takes ten minutes to build"
	exit
fi
# not where what was measured with patience is kept
build=${BUILD:-$TOP/build}/host-native

native() {
	LANE=native BUILD=$build REPS=1 MTUS=1500 SIZES=65536 LAT_SIZES=1 \
		INTERVALS='' PROFILES='host hybrid' "$TOP/selftests/bench/run.sh"
}

# Bandwidth and latency of TCP, and of both kinds of SDP under both profiles
facts() {
	python3 - "$build/bench-native.json" <<'END'
import json, sys
with open(sys.argv[1], encoding="ascii") as f:
    bench = json.load(f)
print(json.dumps(bench, indent=1))
rows = {row["what"]: {} for row in bench["rows"]}
for row in bench["rows"]:
    rows[row["what"]].update(row)
wanted = {"tcp"} | {f"sdp-{kind}/{profile}" for kind in ("basic", "enhanced")
                    for profile in ("host", "hybrid")}
sys.exit(not (bench["lane"] == "native" and wanted <= set(rows)
              and all(rows[what]["mbps"] > 0 and rows[what]["lat_us"] > 0
                      for what in wanted)))
END
}

mkdir -p "$build"
rm -f "$build/bench-native.json"
check "make bench LANE=native succeeds" native
check "bench-native.json has the results" facts
tap_done
