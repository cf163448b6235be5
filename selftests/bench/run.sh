#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make bench`: sdpbench in a virtual machine whose clock counts instructions,
# so that figures can be compared between machines and from day to day. Prints
# tables with ratios to TCP, checks the goals, writes BUILD/bench.json.
#
# LANE=native: selftests/native/run.sh instead.
#
# BASE names a file of figures, see compare.py, that none may be worse than by more
# than TOLERANCE (a share; as in the file).
#
# Environment: KERNEL (6.1), BUILD (build), BASE, TOLERANCE. PARTS, REPS, DURATION, PINGS, MTUS,
# SIZES, LAT_SIZES, INTERVALS, PROFILES, WHATS, SWEEP_WHATS, FC_DEVICES, FC_SIZES, FC_LAT_SIZES,
# FC_DELAY, FC_POLICIES, ZCOPY_SIZES, RXMAP_WINDOWS, CONN_LINKS, CONN_WHATS, CONNS, VERBS_KINDS, QPS_CONNS
# QPS_ROUNDS, COSTS_SIZES, COSTS_INTERVALS, HOT_SERVERS, HOT_SIZE, LINK, MEASURE, HNIC_SET, DEV_SET, SDP_SET, TCP_SET,
# CRC_DRIVER, FIRST, VERBS_*, FS_* and INTERVALS_VERBS go to the guest (see guest.sh), VM_ARGS to selftests/vm/run.sh.
# Exit status: 0 all goals reached that were measured, 1 not, 2 something did not work.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/help.sh"

[ "${LANE:-count}" != native ] || exec "$(dirname "$0")/../native/run.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
out=$build/$kernel/bench
log=$build/$kernel/bench.log

# Before anything is built
parts=$(sed -n 's/^part_\([a-z]*\)() .*/\1/p' "$here"/*.sh | sort | paste -sd' ')
for part in ${PARTS:-}; do
	[[ " $parts " != *" $part "* ]] || continue
	echo "bench: there is no part $part: PARTS takes some of $parts" >&2
	exit 2
done

command='exec env'
for var in PARTS REPS DURATION PINGS MTUS SIZES LAT_SIZES INTERVALS PROFILES WHATS SWEEP_WHATS \
	FC_DEVICES FC_SIZES FC_LAT_SIZES FC_DELAY FC_POLICIES ZCOPY_SIZES RXMAP_WINDOWS CONN_LINKS CONN_WHATS CONNS VERBS_KINDS \
	QPS_CONNS QPS_ROUNDS COSTS_SIZES COSTS_INTERVALS HOT_SERVERS HOT_SIZE LINK MEASURE HNIC_SET DEV_SET SDP_SET TCP_SET \
	CRC_DRIVER VERBS_TESTS VERBS_OPS VERBS_SIZES VERBS_Q VERBS_BUFFERS VERBS_REUSE \
	VERBS_SPIN_NS VERBS_COUNT INTERVALS_VERBS FIRST "${!FS_@}"; do
	[ -z "${!var+set}" ] || command+=" $(printf '%s=%q' "$var" "${!var}")"
done
mkdir -p "$build/$kernel"

# The emulator counts what is whose, if that is asked for
sides=$build/$kernel/bench.sides
plugin=()
rm -f "$sides"
case " ${PARTS:-} " in
*" sides "*)
	"${CC:-cc}" -O2 -Wall -shared -fPIC -fvisibility=hidden \
		-o "$build/$kernel/insn_count.so" "$here/insn_count.c" || exit 2
	plugin=(--qemu -plugin --qemu "$build/$kernel/insn_count.so,sides=$sides")
	;;
esac

echo "bench: kernel $kernel, one instruction is one nanosecond"
# shellcheck disable=SC2086 # several words
"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$out" --count -t 3600 \
	"${plugin[@]}" -c "$command /selftests/bench/guest.sh" ${VM_ARGS:-} 2>&1 |
	tee "$log" | grep --line-buffered -v '^BENCH'
rc=${PIPESTATUS[0]}
if ! grep -q '^BENCH-KERNEL' "$log"; then
	echo "bench: failed before the first measurement; see $log and $out/console.log"
	exit 2
fi

# A choice of rows leaves goals without a figure
for var in MTUS SIZES LAT_SIZES INTERVALS PROFILES WHATS; do
	[ -z "${!var+set}" ] || export PARTIAL=1
done
python3 -B "$here/report.py" "$build/bench.json" "$sides" < "$log"
result=$?
if [ "$rc" -ne 0 ] || [ $result -gt 1 ]; then
	echo "bench: failed (exit status $rc of the guest); see $log and $out/console.log"
	exit 2
fi
if [ -n "${BASE:-}" ]; then
	python3 -B "$here/compare.py" ${TOLERANCE:+--tolerance "$TOLERANCE"} "$BASE" \
		"$build/bench.json" || exit
fi
[ $result -eq 0 ] || { echo "bench: goals not reached; figures in $build/bench.json"; exit 1; }
echo "bench: ok; figures in $build/bench.json"
