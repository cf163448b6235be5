#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make demo`: programs that know nothing of SDP run over TCP and over SDP, in a virtual
# machine. Shows the steps, then a screen of results; writes BUILD/demo.json and
# BUILD/demo.html. The last line is "demo: ok", or names the step that failed and the
# logs.
#
# Environment: KERNEL (6.1), BUILD (build), VM_ARGS for selftests/vm/run.sh. By default these
# are --count: the clock counts instructions, so that other work on this machine does not
# change a figure.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/help.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
out=$build/$kernel/demo
log=$build/$kernel/demo.log
args=${VM_ARGS---count}

mkdir -p "$build/$kernel"
echo "demo: kernel $kernel in a virtual machine; this takes some minutes, more at the first time"
# shellcheck disable=SC2086 # several words
"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$out" -t 3000 \
	-P postgresql -c "exec /selftests/demo/guest.sh" $args 2>&1 |
	tee "$log" | sed -nu 's/^  [A-Z]\{3,\} /&/p; s/^DEMO-STEP done$//p; s/^DEMO-STEP /  .../p'
rc=${PIPESTATUS[0]}

if ! python3 "$here/report.py" "$log" "$rc" "$build" "$out/files/command/counters.txt" "$args"; then
	[ "$rc" -ne 98 ] || echo "demo: the programs ran, but the kernel complained"
	echo "demo: failed; logs: $log (programs), $out/console.log (kernel)"
	exit 1
fi
echo "demo: ok"
