#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make bench LANE=native`: the same modules in User-Mode Linux, where code of
# the kernel runs at the speed of the machine, under load from kernel threads
# (native_load). Connections of all kinds exist side by side and are measured in
# turn, each after TCP, so that other work of the machine affects both. The
# process is kept on one processor, ahead of others where that is allowed. Where
# pages lie in the caches differs from boot to boot: the machine is booted BOOTS
# times (3) and measures REPS turns (8) each time, and AGAIN times (2) more while
# a figure is in doubt (figures.py). Trust ratios only. Writes
# BUILD/bench-native.json.
#
# BASE names a file of such figures, see bench/compare.py, that none may be worse than
# by more than TOLERANCE (a share; as in the file).
#
# Environment: BUILD (build), BOOTS, AGAIN, BASE, TOLERANCE. REPS, TRIES, ROWS
# (main, or all: more sizes, profiles and marker intervals), LINKS, MTUS, SIZES,
# LAT_SIZES, INTERVALS, PROFILES go to guest.sh.
# Exit status: 0, 1 if a figure is worse, or 2 if something did not work.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/help.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(realpath -m "${BUILD:-$top/build}")
log=$build/uml/bench.log
work=$build/uml/guest

vars=$("$top/scripts/kernel.sh" uml) || exit 2
eval "$vars"
if [ -z "${NO_BUILD:-}" ]; then
	"$top/scripts/build-modules.sh" uml "$build" || exit 2
	"$top/scripts/build-user.sh" "$build" || exit 2
fi

# The guest's root is that of this machine, read-only; modules and settings are
# under $work
rm -rf "$work"
mkdir -p "$work/lib/modules/$K_RELEASE/updates"
cp -r "$K_ROOT/lib/modules/$K_RELEASE/." "$work/lib/modules/$K_RELEASE/"
cp "$build/uml/modules/"*.ko "$work/lib/modules/$K_RELEASE/updates/"
depmod -b "$work" "$K_RELEASE"
# guest.sh has it at /mnt/WORK
printf '#!/bin/sh\nexec /sbin/modprobe -d /mnt/WORK "$@"\n' > "$work/modprobe"
# init FIRST: the guest's first program; FIRST is the number that its turns begin at
init() {
	printf '#!/bin/bash\nexport FIRST=%d\n' "$1"
	printf 'export %s=%q\n' WORK "$work" TOP "$top" \
		TOOLS "$build/tools" PROGRAMS "$build/selftests"
	for var in REPS TRIES ROWS LINKS MTUS SIZES LAT_SIZES INTERVALS PROFILES \
		PROFILE PROFILE_WHAT PROFILE_TEST PROFILE_SECONDS; do
		[ -z "${!var+set}" ] || printf 'export %s=%q\n' "$var" "${!var}"
	done
	printf 'exec /bin/bash %q\n' "${GUEST:-$here/guest.sh}"
}
chmod +x "$work/modprobe"

# A measurement counts only if nothing else had the processor meanwhile
alone=(taskset -c "$(nproc --all | awk '{ print $1 - 1 }')")
"${alone[@]}" true 2> /dev/null || alone=()
if chrt -r 1 true 2> /dev/null; then
	alone+=(chrt -r 1)
else
	echo "bench: no right to real-time priority: measurements are disturbed more often"
fi

# The machine's memory is a file, all of which it touches: in memory, if that is there
memory=/dev/shm
[ "$(df --output=avail -m $memory 2> /dev/null | tail -n 1)" -gt 1100 ] 2> /dev/null ||
	memory=${TMPDIR:-/tmp}

perf=()
if [ -n "${PROFILE:-}" ]; then
	mkfifo "$PROFILE/control"
	exec {control}<> "$PROFILE/control"
	perf=(perf record -q -D -1 --control "fifo:$PROFILE/control" -o "$PROFILE/perf.data"
		-m 16M -k CLOCK_MONOTONIC -e cpu-clock -F "${HZ:-1999}" --call-graph "dwarf,8192" --)
fi

# Lines of the guest that are for the terminal, and those that start and stop perf
follow() {
	local line

	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		bench:*) echo "$line" ;;
		PROFILE-BEGIN) echo enable >&"$control" ;;
		PROFILE-END) echo disable >&"$control" ;;
		esac
	done
}

# It does not end with this program by itself
machine=
trap '[ -z "$machine" ] || kill "$machine" 2> /dev/null' EXIT
trap 'exit 2' INT TERM

# boot NUMBER: measures all once
boot() {
	init $(($1 * 1000)) > "$work/init"
	chmod +x "$work/init"
	# The console is a file, because a pipe sends SIGIO to the machine whenever the
	# other end reads
	: > "$log.$1"
	TMPDIR=$memory timeout -k 5 "${NATIVE_TIMEOUT:-900}" "${alone[@]}" "${perf[@]}" \
		"$K_BOOT" mem=1024M root=/dev/root rootfstype=hostfs rootflags=/ ro \
		init="$work/init" con=null con0=null,fd:1 < /dev/null >> "$log.$1" 2>&1 &
	machine=$!
	tail -n +1 -f -s 0.2 --pid=$machine "$log.$1" | follow
	wait $machine
	machine=
	if ! grep -q '^BENCH-END' "$log.$1"; then
		echo "bench: failed; see $log.$1"
		tail -n 20 "$log.$1"
		exit 2
	fi
	cat "$log.$1" >> "$log"
}

echo "bench: native lane, User-Mode Linux $K_RELEASE; ratios count, not figures"
boots=${BOOTS:-3} again=${AGAIN:-2}
[ -z "${PROFILE:-}" ] || boots=1 again=0
rm -f "$log" "$log".*
for ((n = 1; n <= boots + again; n++)); do
	if [ $n -gt "$boots" ]; then
		doubts=$(python3 "$here/figures.py" < "$log" | wc -l)
		[ "$doubts" -gt 0 ] || break
		echo "bench: $doubts figures in doubt, once more ..."
	fi
	boot $n
done
if [ -n "${PROFILE:-}" ]; then
	rm -f "$PROFILE/control"
	cp "$log" "$PROFILE/bench.log"
	grep '^BENCH-FAILED' "$log" && exit 2
	exit 0
fi
if ! python3 "$here/report.py" "$build/bench-native.json" < "$log"; then
	echo "bench: failed; see $log"
	exit 2
fi
echo "bench: figures in $build/bench-native.json"
[ -z "${BASE:-}" ] || exec python3 "$top/selftests/bench/compare.py" \
	${TOLERANCE:+--tolerance "$TOLERANCE"} "$BASE" "$build/bench-native.json"
