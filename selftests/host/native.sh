#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The smallest run of "make bench LANE=native", in User-Mode Linux: it builds, boots, and
# has figures for each kind of connection over each link. In CI the test is skipped unless
# the cache has the User-Mode Linux kernel, because building it takes ten minutes. Run by
# scripts/check.sh --long, and alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
if [ -n "${CI:-}" ] && ! "$TOP/scripts/kernel.sh" --cached uml >/dev/null 2>&1; then
	echo "1..0 # SKIP no User-Mode Linux in the cache, and it takes ten minutes to build"
	exit
fi
# a directory of its own, so that the results of a full run are not overwritten
build=${BUILD:-$TOP/build}/host-native

native() {
	LANE=native BUILD=$build REPS=4 BOOTS=2 AGAIN=1 LINKS='veth hnic' MTUS=1500 SIZES=65536 \
		LAT_SIZES=1 INTERVALS='' PROFILES='host hybrid' "$TOP/selftests/bench/run.sh"
}

# Bandwidth and latency of TCP, and of both kinds of SDP under both profiles. The host takes
# time in every row, and the NIC takes time exactly when the link is hnic.
facts() {
	python3 - "$build/bench-native.json" <<'END'
import json, sys
with open(sys.argv[1], encoding="ascii") as f:
    bench = json.load(f)
print(json.dumps(bench, indent=1))
rows = {}
for row in bench["rows"]:
    rows.setdefault((row["link"], row["what"]), {}).update(row)
wanted = {(link, what) for link in ("veth", "hnic") for what in ["tcp"] + [
    f"sdp-{kind}/{profile}" for kind in ("basic", "enhanced") for profile in ("host", "hybrid")]}
sys.exit(not (bench["lane"] == "native" and wanted <= set(rows) and all(
    rows[key]["host_ns_per_byte"] > 0 and rows[key]["lat_cpu_us"] > 0
    and (rows[key]["nic_ns_per_byte"] > 0) == (key[0] == "hnic") for key in wanted)))
END
}

# Caches and copy costs differ between machines, and so do the ratios: by up to a third where
# other guests disturb the caches. The table shows every change.
compare() {
	python3 "$TOP/selftests/bench/compare.py" --some --tolerance 0.6 \
		"$TOP/selftests/native/reference" "$build/bench-native.json"
}

# With the hybrid profile "enhanced" took 0.5 to 0.9 of the time of "basic" on all machines, both
# measured in turn
faster() {
	python3 - "$build/bench-native.json" <<'END'
import json, sys
with open(sys.argv[1], encoding="ascii") as f:
    rows = json.load(f)["rows"]
failed = 0
for link in "veth", "hnic":
    for field in "host_ns_per_byte_x_tcp", "lat_cpu_us_x_tcp":
        basic, enhanced = (next(row[field][1] for row in rows if field in row
                                and (row["link"], row["what"]) == (link, what))
                           for what in ("sdp-basic/hybrid", "sdp-enhanced/hybrid"))
        print(f"{link} {field}: {enhanced / basic:.2f} of basic")
        failed += enhanced > basic
sys.exit(failed > 0)
END
}

mkdir -p "$build"
rm -f "$build/bench-native.json"
check "make bench LANE=native succeeds" native
check "bench-native.json has a row of each kind over each link" facts
compare | sed "s/^/# /"
check "no ratio to TCP is 60 % above that of the reference" compare
check "with the hybrid profile, enhanced SDP takes less time than basic SDP" faster
tap_done
