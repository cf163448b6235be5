#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# cover.sh BUILD [TEST...]: what share of the drivers do the tests run? The drivers are
# compiled with a call in each basic block, and the tests (all, if none is named) run as in
# make check, on KERNEL (6.1). Prints blocks and lines by source file; the lines that did
# not run are in BUILD/cover/missed. Environment: KERNEL, LANES, BUDGET, as in make check;
# LONG=1 adds the long tests. A test that fails is named, and counts as far as it ran. Tests
# that count instructions fail, as these calls are instructions, too.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
build=$(realpath -m "$1")/cover
shift
kernel=${KERNEL:-6.1}
case $kernel in
debug | kcsan)
	# debug has CONFIG_KCOV, kcsan instruments the same code
	echo "cover: not on KERNEL=$kernel: choose 6.1, rt, 6.12 or 7" >&2
	exit 2
	;;
esac

mkdir -p "$build"
MODFLAGS="IWARP_SDP_COVER=m KCFLAGS=-fsanitize-coverage=trace-pc" \
	"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -j "${LANES:-3}" ${LONG:+-l} \
	-o "$build/run" "$@" || echo "cover: some tests failed, see above"
"$top/selftests/cover/cover.py" "$build/$kernel/src" "$build/run/files" "$build/missed" |
	tee "$build/table"
