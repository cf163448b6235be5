#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mutate.sh BUILD FILE [N] [SEED]: how many small faults in FILE do the tests notice?
# universalmutator makes the faults. N of them (50), chosen by SEED (1), are put into a
# copy of the tree one after the other. The unit tests that FILE is built into run, and
# where they notice nothing, the short runs of the fuzz targets. The diffs of the faults
# that survive are in BUILD/mutate/survivors.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
if [ $# -lt 2 ] || [ $# -gt 4 ]; then
	sed -n '4,8s/^# //p' "$0" >&2
	exit 2
fi
build=$(realpath -m "$1")/mutate file=$2 n=${3:-50} seed=${4:-1}
tree=$build/tree
version=1.14.1
venv=${SDP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/linux-sdp}/universalmutator-$version

die() {
	echo "mutate: $*" >&2
	exit 2
}

cd "$top"
case $file in
*.c) ;;
*) die "FILE= is a .c file, for example FILE=lib/iwarp/ddp.c" ;;
esac
[ -f "$file" ] || die "no file $file: set FILE=, for example FILE=lib/iwarp/ddp.c"
[[ $n =~ ^[1-9][0-9]*$ ]] || die "N= is a number of faults, not $n"
[[ $seed =~ ^[0-9]+$ ]] || die "SEED= is a number, not $seed"
# seconds for a make; a loop without an end is a fault that is noticed
patience=3600

# tests unit|fuzz ARG...: make of the copy, without the variables of a make that called this
tests() {
	local dir=$1
	shift
	MAKEFLAGS='' timeout "$patience" make -s -C "$tree/selftests/$dir" O="$build/$dir" \
		WARN= "$@"
}

rm -rf "$build"
mkdir -p "$build/all" "$build/survivors" "$tree"
cp -r drivers include lib selftests tools "$tree"
units=$(tests unit users FILE="$file")
fuzzers=$(tests fuzz users FILE="$file")
[ -n "$units$fuzzers" ] || die "no unit test and no fuzz target builds $file"
if [ ! -x "$venv/bin/mutate" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q "universalmutator==$version"
fi
"$venv/bin/mutate" "$file" c --noCheck --mutantDir "$build/all" >"$build/mutate.log" 2>&1

# build: does it compile?
build() {
	if [ -n "$units" ]; then
		tests unit all PROGRAMS="$units"
	else
		tests fuzz all TARGETS="$fuzzers"
	fi >"$build/build.log" 2>&1
}

# pass: do all tests pass?
pass() {
	if [ -n "$units" ]; then
		tests unit run-programs PROGRAMS="$units" >"$build/unit.log" 2>&1 || return
	fi
	[ -z "$fuzzers" ] || tests fuzz run TARGETS="$fuzzers" >"$build/fuzz.log" 2>&1
}

echo "mutate: tests of $file: ${units:-no unit test}; ${fuzzers:-no fuzz target}"
# test_layout writes the streams that wire.py reads in every run
case " $units " in
"  " | *" test_layout "*) first=$units ;;
*) first="$units test_layout" ;;
esac
[ -z "$units" ] || tests unit run-programs PROGRAMS="$first" >"$build/unit.log" 2>&1 ||
	die "the unit tests fail without a fault: $build/unit.log"
build || die "$file does not compile: $build/build.log"
began=$SECONDS
pass || die "the tests fail without a fault: $build/unit.log, $build/fuzz.log"
patience=$((60 + 10 * (SECONDS - began)))

killed=0 survived=0 invalid=0
while read -r mutant; do
	[ $((killed + survived)) -lt "$n" ] || break
	change=$(diff -U0 "$file" "$mutant" | tail -n +3 || true)
	# comments, the preprocessor, and lines that are empty in user space
	if grep -qE '^-[[:space:]]*(/?\*|//|#|EXPORT_SYMBOL)' <<<"$change"; then
		continue
	fi
	cp "$mutant" "$tree/$file"
	if ! build; then
		invalid=$((invalid + 1))
	elif pass; then
		survived=$((survived + 1))
		echo "$change" >"$build/survivors/$(basename "$mutant").diff"
		echo "survived: ${change//$'\n'/ }"
	else
		killed=$((killed + 1))
	fi
done < <(find "$build/all" -type f | sort -V | shuf --random-source=<(yes "$seed"))
cp "$file" "$tree/$file"
total=$((killed + survived))
[ "$total" -gt 0 ] || die "none of the faults compiles: $build/build.log"
echo "mutate: $file: $killed of $total noticed ($((100 * killed / total)) %)," \
	"$invalid did not compile; those that were not: $build/survivors"
