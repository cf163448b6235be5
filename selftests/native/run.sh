#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make bench LANE=native`: the same modules in User-Mode Linux, where code of
# the kernel runs at the speed of the machine, under load from kernel threads
# (native_load). Connections of all kinds exist side by side and are measured
# in turn, REPS times (12), so that what else the machine does hits all of
# them. Trust ratios only. Writes BUILD/bench-native.json.
#
# Environment: BUILD (build). REPS, LINKS, MTUS, SIZES, LAT_SIZES, INTERVALS,
# PROFILES go to guest.sh.
# Exit status: 0, or 2 if something did not work.
set -uo pipefail

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
{
	printf '#!/bin/bash\n'
	printf 'export %s=%q\n' WORK "$work" TOP "$top" \
		TOOLS "$build/tools" PROGRAMS "$build/selftests"
	for var in REPS LINKS MTUS SIZES LAT_SIZES INTERVALS PROFILES; do
		[ -z "${!var+set}" ] || printf 'export %s=%q\n' "$var" "${!var}"
	done
	printf 'exec /bin/bash %q\n' "${GUEST:-$here/guest.sh}"
} > "$work/init"
chmod +x "$work/init" "$work/modprobe"

echo "bench: native lane, User-Mode Linux $K_RELEASE; ratios count, not figures"
# Its memory is a file: keep that off the disk
TMPDIR=/dev/shm timeout -k 5 "${NATIVE_TIMEOUT:-900}" "$K_BOOT" mem=1024M \
	root=/dev/root rootfstype=hostfs rootflags=/ ro init="$work/init" \
	con=null con0=null,fd:1 < /dev/null 2>&1 |
	tr -d '\r' | tee "$log" | grep --line-buffered -a '^bench:'
if ! grep -q '^BENCH-END' "$log"; then
	echo "bench: failed; see $log"
	tail -n 20 "$log"
	exit 2
fi
if ! python3 "$here/report.py" "$build/bench-native.json" < "$log"; then
	echo "bench: failed; see $log"
	exit 2
fi
echo "bench: figures in $build/bench-native.json"
