#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make demo`: programs that know nothing of SDP run over it, in a virtual
# machine. Shows what happens, then a table; writes BUILD/demo.json. The last
# line is "demo: ok", or names the step that failed and the logs.
#
# Environment: KERNEL (6.1), BUILD (build), VM_ARGS for selftests/vm/run.sh.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
out=$build/$kernel/demo
log=$build/$kernel/demo.log

mkdir -p "$build/$kernel"
echo "demo: kernel $kernel in a virtual machine; this takes about a minute after the build"
# shellcheck disable=SC2086 # several words
"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$out" -t 600 \
	-c "exec /selftests/demo/guest.sh" ${VM_ARGS:-} 2>&1 |
	tee "$log" | grep --line-buffered -v '^DEMO-'
rc=${PIPESTATUS[0]}

if ! awk -v json="$build/demo.json" -v rc="$rc" -f "$here/table.awk" "$log"; then
	[ "$rc" -ne 98 ] || echo "demo: the programs ran, but the kernel complained"
	echo "demo: failed; logs: $log (programs), $out/console.log (kernel)"
	exit 1
fi
echo "demo: ok"
