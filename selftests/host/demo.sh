#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make demo", the first thing that a newcomer does. Run by scripts/check.sh --long, and
# alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
unset MAKEFLAGS MAKELEVEL MFLAGS
build=${BUILD:-$TOP/build}

last_line() {
	[ "$(tail -n 1 "$WORK/demo")" = "demo: ok" ]
}

# Every program ran over TCP and SDP, and used no SDP bytes over TCP; SDP copied a byte less than
# 1.3 times, and the CRCs moved from the hosts to the NICs
facts() {
	python3 - "$build/demo.json" <<'END'
import json, sys
with open(sys.argv[1], encoding="ascii") as f:
    demo = json.load(f)
print(json.dumps(demo, indent=1))
runs = {(run["what"], run["over"]): run for run in demo["runs"]}
ways = {way["direction"]: way for way in demo["copies"]}
host, hybrid = demo["profiles"]
sys.exit(not (demo["ok"] and demo["last_step"] == "done"
              and all((runs[what, "sdp"]["sdp_bytes"] > 0) and
                      (runs[what, "tcp"]["sdp_bytes"] == 0) and
                      runs[what, "tcp"]["rate"] > 0 and runs[what, "sdp"]["rate"] > 0
                      for what in ("iperf3", "redis", "nginx", "postgres"))
              and all(ways[way]["copies"] < 1.3 for way in ("tx", "rx"))
              and host["components"]["crc"] == "host" and hybrid["components"]["crc"] == "nic"
              and hybrid["components"]["demux"] == "nic"
              and host["crc_nic"] == 0 and hybrid["crc_nic"] > 0.9 * hybrid["bytes"]
              and hybrid["crc_host"] < 0.1 * host["crc_host"]))
END
}

# Two charts, and two tables: the time of the processors, and the places of the components
page() {
	[ "$(grep -o '<svg' "$build/demo.html" | wc -l)" -eq 2 ] &&
		[ "$(grep -o '<table' "$build/demo.html" | wc -l)" -eq 2 ]
}

demo() {
	make -C "$TOP" --no-print-directory demo 2>&1 | tee "$WORK/demo"
	return "${PIPESTATUS[0]}"
}

demo_filters() {
	make -C "$TOP" --no-print-directory demo-filters 2>&1 | tee "$WORK/filters"
	[ "${PIPESTATUS[0]}" -eq 0 ] && [ "$(tail -n 1 "$WORK/filters")" = "demo-filters: ok" ]
}

rm -f "$build/demo.json"
check "make demo succeeds" demo
check "make demo ends with demo: ok" last_line
check "demo.json has the results that are expected" facts
check "demo.html has charts and tables" page
check "make demo-filters ends with demo-filters: ok" demo_filters
check "make demo-filters leaves pictures" test -s "$build/demo-filters/scope.png" -a -s "$build/demo-filters/iso.png"
tap_done
