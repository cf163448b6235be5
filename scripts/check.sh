#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [--long | --only-long] [TEST...]: unit tests, then, with --long, those on
# this machine (selftests/host), then the tests in virtual machines (only those named, if
# any are).  The last line is the sum.
# --only-long: nothing but the tests that --long adds.
# Environment: KERNEL, BUILD, LANES (virtual machines at a time),
# BUDGET (seconds after which no more tests are begun), PART (1/2: every second test in
# virtual machines, 2/2: the others; vm/ is in each), NO_UNIT, NO_NATIVE (no unit
# tests, no host/native: another run had them), AGAIN (if at
# most three tests failed, run each once more by itself, as run.sh -A does).
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
out=$build/$kernel/check
opts=(-k "$kernel" -b "$build" ${AGAIN:+-A})
passed=0 failed=0 skipped=0

rest=
case ${1:-} in
--long) opts+=(-l); shift ;;
--only-long) opts+=(-L); rest=1; shift ;;
esac

# add PASSED FAILED SKIPPED
add() {
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
}

# The unit tests do not depend on the kernel: once per run of CI is enough
unit() {
	local log=$build/unit.log sum ok bad
	echo "== unit tests"
	if ! sum=$("$here/unit.sh" "$build" | tail -n 1); then
		tail -n 60 "$log"
		echo "unit tests: log in $log"
	fi
	echo "$sum"
	read -r _ ok _ bad _ <<<"$sum"
	add "$ok" "$bad" 0
}

if [ $# -eq 0 ] && [ -z "${NO_UNIT:-}$rest" ]; then
	unit
fi
# tests DIR ARGUMENT...: in virtual machines, logs in DIR
tests() {
	local dir=$1 p f s
	shift
	rm -f "$dir/summary"
	"$top/selftests/vm/run.sh" -o "$dir" "${opts[@]}" "$@" |
		sed -u '/^[0-9]* passed, [0-9]* failed, [0-9]* skipped$/d' || true
	if [ -e "$dir/summary" ]; then
		read -r p f s <"$dir/summary"
		add "$p" "$f" "$s"
	else
		echo "the tests in the virtual machine did not run"
		add 0 1 0
	fi
}

# host NAME...: selftests/host/NAME.sh, on this machine
host() {
	local name log ok bad

	for name; do
		log=$out/host-$name.tap
		if [ -n "${BUDGET:-}" ] && [ $SECONDS -ge "$BUDGET" ]; then
			echo "skip  host/$name: no time left in this run"
			add 0 0 1
			continue
		fi
		mkdir -p "$out"
		"$top/selftests/host/$name.sh" >"$log" 2>&1 </dev/null || true
		ok=$(grep -c '^ok ' "$log" || true)
		bad=$(grep -c '^not ok ' "$log" || true)
		if grep -q '^1\.\.0' "$log"; then
			echo "skip  host/$name: $(sed -n 's/^1\.\.0 # SKIP //p' "$log")"
			add 0 0 1
			continue
		elif grep -q '^1\.\.' "$log" && [ "$bad" -eq 0 ]; then
			echo "ok    host/$name: $ok passed"
		else
			echo "FAIL  host/$name: $ok passed, $bad failed"
			grep -A 30 '^not ok ' "$log" | sed 's/^/    | /'
			echo "      output: $log"
			[ "$bad" -gt 0 ] || bad=1
		fi
		add "$ok" "$bad" 0
	done
}

# Of the tests named, run those of this machine here
named=()
for test in "$@"; do
	case $test in
	host/*) host "${test#host/}" ;;
	*) named+=("$test") ;;
	esac
done
if [ $# -eq 0 ] && [[ "${opts[*]}" = *" -"[lL]* ]]; then
	echo "== tests on this machine"
	host runner install kselftest vm demo fpdu filters cache count packages readme report
	[ -n "${NO_NATIVE:-}" ] || host native
fi

# 40 per cent of what tests do is waiting; not so under the checkers
lanes=${LANES:-3}
[[ "$kernel" != @(debug|kcsan) ]] || lanes=${LANES:-2}
if [ $# -eq 0 ] || [ ${#named[@]} -gt 0 ]; then
	echo "== tests on kernel $kernel"
	[ -z "${BUDGET:-}" ] || BUDGET=$((BUDGET > SECONDS ? BUDGET - SECONDS : 1))
	tests "$out" -j "$lanes" "${named[@]}"
fi
echo "logs are in $out"
mkdir -p "$out"
echo "$passed $failed $skipped" >"$build/$kernel/check.sum"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
