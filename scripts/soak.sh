#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# soak.sh BUILD [HOURS]: run sdp/soak for HOURS (24) of guest time, on KERNEL (6.1); the
# guest's clock skips the time in which nothing runs. SEED (1) seeds the random choices. The
# log is in BUILD/KERNEL/soak.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
build=$(realpath -m "$1") hours=${2:-24} seed=${SEED:-1}
if [[ ! $hours =~ ^[1-9][0-9]*$ || ! $seed =~ ^[0-9]+$ ]]; then
	echo "soak: HOURS is a number from 1 on, SEED one from 0 on, not $hours and $seed" >&2
	exit 2
fi
kernel=${KERNEL:-6.1}
exec "$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$build/$kernel/soak" --count \
	-t $((3600 * hours)) -c "SOAK_HOURS=$hours SOAK_SEED=$seed exec /selftests/sdp/soak.sh"
