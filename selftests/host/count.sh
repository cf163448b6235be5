#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compare instruction counts with the reference: sends of 64 KB and round trips of one
# byte, MTU 1500, enhanced SDP over a veth pair, where the same code repeats within 1 %. If
# a figure is worse, the test lists the functions that take more, by a profile over the same
# pair. Run alone, without arguments, or by scripts/check.sh host/count.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
bench=$TOP/selftests/bench
build=${BUILD:-$TOP/build}

# count: run the benchmark. Its status 1 says that a goal is missed, which a single row may do.
count() {
	KERNEL=6.1 PARTS=veth MTUS=1500 SIZES=64K LAT_SIZES=1 REPS=2 \
		WHATS=sdp-enhanced/hybrid "$bench/run.sh"
	[ $? -le 1 ] && [ -s "$build/bench.json" ] && ! grep '^BENCH-FAILED' "$build/6.1/bench.log"
}

rm -f "$build/bench.json"
check "bench/run.sh writes figures and no BENCH-FAILED line" count
report=$(python3 -B "$bench/compare.py" --some "$bench/reference" "$build/bench.json")
rc=$?
echo "# ${report//$'\n'/$'\n# '}"
check "two figures are compared" grep -q "of 2 figures" <<< "$report"
check "no figure is worse than in selftests/bench/reference" test $rc -eq 0
if [ $rc -eq 1 ]; then
	"$bench/profile.sh" -L veth -r 1 -B "$bench/reference.profile" 2>&1 | sed "s/^/# /"
fi
tap_done
