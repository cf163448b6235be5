#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# soak.sh BUILD [HOURS]: sdp/soak for so many hours (24) of a guest whose clock leaps while
# nothing runs, on KERNEL (6.1). SEED (1) draws what happens. The log is in
# BUILD/KERNEL/soak.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
build=$(realpath -m "$1") hours=${2:-24} seed=${SEED:-1}
if [[ ! $hours =~ ^[1-9][0-9]*$ || ! $seed =~ ^[0-9]+$ ]]; then
	echo "soak: HOURS= and SEED= are numbers, not $hours and $seed" >&2
	exit 2
fi
kernel=${KERNEL:-6.1}
exec "$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$build/$kernel/soak" --count \
	-t $((3600 * hours)) -c "SOAK_HOURS=$hours SOAK_SEED=$seed exec /selftests/sdp/soak.sh"
