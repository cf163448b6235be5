#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mutate.sh BUILD FILE [N] [SEED]: how many small faults in FILE do the tests notice?
# universalmutator makes the faults. N of them, chosen by SEED (1), are put into a copy of
# the tree one after the other. The unit tests that FILE is built into run, and where they
# notice nothing, the short runs of the fuzz targets, and then the tests in the virtual
# machine that TESTS in the environment names. The diffs of the faults that survive are in
# BUILD/mutate/survivors. N is 50, with TESTS 10.
#
# A file that no unit test and no fuzz target builds needs TESTS, for example "sdp/fc
# sdp/hostile". A fault is noticed by a failed test, a report of the kernel, the death of a
# guest, or a run of more than three times (without TESTS, ten times) the usual time plus a
# minute. A fault that leaves the module's code as it is does not count. KERNEL (6.1), LANES
# (3): as in make check. The modules of the copy stay in BUILD/mutate-vm for the next run.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
# shellcheck source=scripts/cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
top=$(dirname "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)")
if [ $# -lt 2 ] || [ $# -gt 4 ]; then
	sed -n '4,15s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
read -ra named <<<"${TESTS:-}"
few=50
[ ${#named[@]} -eq 0 ] || few=10
build=$(realpath -m "$1")/mutate file=$2 n=${3:-$few} seed=${4:-1}
tree=$build/tree vm=$build-vm kernel=${KERNEL:-6.1}
version=1.14.1

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
for t in "${named[@]#selftests/}"; do
	if [[ $t = host* || ! -d selftests/$t && ! -x selftests/${t%.sh}.sh ]]; then
		die "no test $t: TESTS= are tests of the virtual machine, for example TESTS=sdp/fc"
	fi
done
# seconds for a make or a run; a loop without an end is a fault that is noticed
patience=3600

# within COMMAND...: end it after that time; without the variables of a make that called this
within() {
	MAKEFLAGS='' timeout "$patience" "$@" &
	wait $!
}
# timeout(1) has a process group of its own, which it ends
trap 'kill $! 2>/dev/null; exit 130' INT TERM

# tests unit|fuzz ARG...: run make in the copy; the only warnings are those that end a build
# of the kernel
tests() {
	local dir=$1
	shift
	within make -s -C "$tree/selftests/$dir" O="$build/$dir" \
		WARN="-Werror=return-type -Werror=incompatible-pointer-types" "$@"
}

# mutator: an environment with universalmutator, here. Its programs name the directory that
# they are installed in, which is another one later, so python runs the module.
mutator() {
	python3 -m venv .
	bin/python -m pip install -q "universalmutator==$version"
}

rm -rf "$build"
mkdir -p "$build/all" "$build/survivors" "$tree"
cp -r Kbuild README.rst Documentation drivers examples include lib scripts selftests tools "$tree"
units=$(tests unit users FILE="$file")
fuzzers=$(tests fuzz users FILE="$file")
[ -n "$units$fuzzers${named[*]}" ] || die "no unit test and no fuzz target builds $file:" \
	"set TESTS= to tests of the virtual machine, for example TESTS=sdp/fc"
cache_make "mutate/$version-$(cache_key "$(python3 --version)" "$(declare -f mutator)")" mutator
[ -n "$CACHED" ] || die "universalmutator $version cannot be installed"
# it leaves a file where it runs
(cd "$tree" && "$CACHED/bin/python" -m universalmutator.genmutants "$file" c --noCheck --mutantDir "$build/all") \
	>"$build/mutate.log" 2>&1

# modules: build what is for the guest
modules() {
	within "$tree/scripts/build-modules.sh" "$kernel" "$vm" &&
		within "$tree/scripts/build-user.sh" "$vm"
}

# build: does it compile? One program shows it
build() {
	if [ ${#named[@]} -gt 0 ]; then
		modules
	elif [ -n "$units" ]; then
		tests unit all PROGRAMS="${units%% *}"
	else
		tests fuzz all TARGETS="${fuzzers%% *}"
	fi >"$build/build.log" 2>&1
}

# code NAME: keep the code that the kernel's compiler makes of FILE
code() { strip -g -o "$build/$1.o" "$vm/$kernel/src/${file%.c}.o" 2>/dev/null; }

# unchanged: is it the code without a fault?
unchanged() { [ -e "$build/right.o" ] && code now && cmp -s "$build/right.o" "$build/now.o"; }

# guest: do the tests in the virtual machine pass?
guest() {
	within "$tree/selftests/vm/run.sh" -n -k "$kernel" -b "$vm" -o "$build/run" \
		-j "${LANES:-3}" "${named[@]}" >"$build/guest.log" 2>&1
}

# pass: do all tests pass? The first that fails is enough
pass() {
	local unit

	for unit in $units; do
		tests unit run-programs PROGRAMS="$unit" >"$build/unit.log" 2>&1 || return
	done
	if [ -n "$fuzzers" ]; then
		tests fuzz run TARGETS="$fuzzers" >"$build/fuzz.log" 2>&1 || return
	fi
	[ ${#named[@]} -eq 0 ] || guest
}

# try MUTANT CHANGE: what do the tests make of this fault?
try() {
	cp "$1" "$tree/$file"
	if ! build; then
		invalid=$((invalid + 1))
	elif unchanged; then
		same=$((same + 1))
	elif pass; then
		survived=$((survived + 1))
		echo "$2" >"$build/survivors/$(basename "$1").diff"
		echo "survived: ${2//$'\n'/ }"
	else
		killed=$((killed + 1))
	fi
}

echo "mutate: tests of $file: ${units:-no unit test}; ${fuzzers:-no fuzz target};" \
	"${named[*]:-none in the virtual machine}"
build || die "$file does not compile: $build/build.log"
code right || rm -f "$build/right.o"
began=$SECONDS
pass || die "the tests fail without a fault: see unit.log, fuzz.log, guest.log in $build"
times=10
if [ ${#named[@]} -gt 0 ]; then
	read -r passed _ <"$build/run/summary"
	[ "$passed" -gt 0 ] || die "none of $TESTS runs on KERNEL=$kernel: $build/guest.log"
	times=3
fi
patience=$((60 + times * (SECONDS - began)))

killed=0 survived=0 invalid=0 same=0
while read -r mutant; do
	[ $((killed + survived)) -lt "$n" ] || break
	change=$(diff -U0 "$file" "$mutant" | tail -n +3 || true)
	# not comments, the preprocessor, exports, and lines that are empty without lockdep
	if ! grep -qE '^-[[:space:]]*(/?\*|//|#|EXPORT_SYMBOL|lockdep_)' <<<"$change"; then
		try "$mutant" "$change"
	fi
done < <(find "$build/all" -type f | sort -V | shuf --random-source=<(yes "$seed"))
cp "$file" "$tree/$file"
total=$((killed + survived))
[ "$total" -gt 0 ] || die "none of the faults compiles: $build/build.log"
echo "mutate: $file: $killed of $total noticed ($((100 * killed / total)) %)," \
	"$invalid did not compile${named[0]:+, $same are the same code};" \
	"those that were not: $build/survivors"
