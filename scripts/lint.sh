#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh [BUILD]: check style and static correctness of everything; prints
# findings, and fails if there are any.
#
# Types of checkpatch that are switched off, and the reason:
#   FILE_PATH_CHANGES, NOT_UNIFIED_DIFF  about patches, not files
#   BIT_MACRO in include/uapi            BIT() does not exist there
#   OPEN_ENDED_LINE, PARENTHESIS_ALIGNMENT in *_trace.h
#                                        TRACE_EVENT() is not laid out as a call
#   in user space: advice to use what only the kernel has (ARRAY_SIZE, BIT,
#   kstrto*, ...), CAMELCASE (Elf64_Ehdr), and layout, which clang-format decides
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
build=$(realpath -m "${1:-$top/build}")
# shellcheck source=scripts/cache.sh
. "$here/cache.sh"
bad=0

vars=$("$here/kernel.sh" 6.1) || exit 1
eval "$vars"
cd "$top" || exit 1
mkdir -p "$build"

for f in checkpatch.pl kernel-doc; do
	[ -s "$K_SRC/scripts/$f" ] || die "no $K_SRC/scripts/$f, or it is empty: remove ${K_SRC%/src}"
done

# files PATTERN...: files of the project (tracked, or new and not ignored)
files() { git ls-files -co --exclude-standard -- "$@" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

# verdict NAME: takes findings on stdin
verdict() {
	local out
	out=$(cat)
	if [ -n "$out" ]; then
		echo "$out"
		echo "lint: $1: $(wc -l <<<"$out") lines of findings"
		bad=$((bad + 1))
	else
		echo "lint: $1: ok"
	fi
}

# findings COMMAND...: prints its output or, if it fails without output, its exit status
findings() {
	local out rc
	out=$("$@" 2>&1)
	rc=$?
	[ $rc -eq 0 ] || [ -n "$out" ] || out="$1: exit status $rc"
	[ -z "$out" ] || echo "$out"
}

[ -n "$(files Kbuild)" ] || die "git does not list the files of $top"

# Code of modules below selftests/, not of programs
mapfile -t test_modules < <(echo 'selftests/lib/ktest.[ch]'
	files 'selftests/*/Kbuild' | xargs -r dirname | sed 's|$|/*.[ch]|')
mapfile -t kernel_c < <(files 'drivers/*.[ch]' 'include/*.[ch]' 'lib/*.[ch]' "${test_modules[@]}" \
	':!*_trace.h' ':!include/uapi')
mapfile -t trace_h < <(files '*_trace.h')
mapfile -t uapi_h < <(files 'include/uapi')
mapfile -t user_c < <(files 'tools/*.[ch]' 'examples/*.[ch]' 'selftests/*.[ch]' "${test_modules[@]/#/:!}")
mapfile -t shell < <(files | while read -r f; do
	case $f in
	*.sh) echo "$f" ;;
	*) head -n1 "$f" | grep -aqE '^#!.*\b(ba)?sh\b' && echo "$f" ;;
	esac
done)
mapfile -t python < <(files '*.py' examples/filters/fs-run)

# on_all COMMAND...: it gets the files of stdin as arguments, a few at a time, on all
# processors. Exit status 1 is that of findings; a higher one is a finding itself.
on_all() {
	# shellcheck disable=SC2016 # for the inner shell
	xargs -r -d '\n' -n 8 -P "$(nproc)" sh -c 'out=$("$@"); rc=$?
		[ -z "$out" ] || echo "$out"
		[ $rc -le 1 ] || echo "error: $*: exit status $rc"' sh "$@" ||
		echo "error: $*: exit status $? of xargs"
}

checkpatch() {
	local ignore=$1
	shift
	# Not in the tree, because checkpatch leaves a file in a git tree
	(
		cd "$build" || exit
		printf '%s\n' "${@/#/$top/}" |
			on_all perl "$K_SRC/scripts/checkpatch.pl" --no-tree --strict --terse --quiet \
				--no-summary --max-line-length=100 --ignore "$ignore" -f 2>/dev/null
	) | sed "s|$top/||"
}

ignore=FILE_PATH_CHANGES,NOT_UNIFIED_DIFF
trace_ignore=$ignore,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
uapi_ignore=$ignore,BIT_MACRO
user_ignore=$ignore,ARRAY_SIZE,BIT_MACRO,CAMELCASE,PREFER_KERNEL_TYPES,SSCANF_TO_KSTRTO
user_ignore+=,PREFER_FALLTHROUGH,STRCPY,STRNCPY,STRLCPY,USLEEP_RANGE,ENOSYS,VOLATILE
user_ignore+=,PREFER_DEFINED_ATTRIBUTE_MACRO,AVOID_EXTERNS,SPACING,LINE_SPACING
user_ignore+=,EMBEDDED_FUNCTION_NAME,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,MULTIPLE_ASSIGNMENTS,TRAILING_STATEMENTS

# A pipeline's last part runs in a subshell otherwise, and "bad" would be lost
shopt -s lastpipe
{
	checkpatch $ignore "${kernel_c[@]}"
	checkpatch $trace_ignore "${trace_h[@]}"
	checkpatch $uapi_ignore "${uapi_h[@]}"
} | verdict "checkpatch, kernel"
checkpatch $user_ignore "${user_c[@]}" | verdict "checkpatch, user space"

printf '%s\n' "${kernel_c[@]}" "${uapi_h[@]}" | on_all perl "$K_SRC/scripts/kernel-doc" -none 2>&1 |
	grep -E 'warning|error' | verdict "kernel-doc"

rm -rf "$build/lint"
# without the variables of a make that called this: O means something else to the kernel's
MAKEFLAGS='' MODFLAGS='W=1 C=1' "$here/build-modules.sh" 6.1 "$build/lint" \
	>"$build/lint.log" 2>&1 ||
	{
		tail -n 20 "$build/lint.log"
		echo "ERROR: the modules could not be built" >>"$build/lint.log"
	}
grep -E '(warning|error):|^ERROR|^WARNING' "$build/lint.log" |
	sed "s|$build/lint/6.1/src/||g" | verdict "sparse and W=1"

for layers in drivers/*/LAYERS lib/*/LAYERS; do
	findings "$here/check-layers.sh" -s "$build/lint/6.1/src/${layers%/LAYERS}" "$layers"
done | verdict "layers"

printf '%s\n' "${user_c[@]}" | on_all clang-format --dry-run -Werror 2>&1 |
	grep -E 'error:|warning:' | verdict "clang-format, user space"

findings "$here/check-docs.sh" | verdict "documentation"
{ "$here/htmldocs.sh" "$build" 2>&1 >/dev/null || echo "scripts/htmldocs.sh fails"; } |
	verdict "documentation, HTML"

findings "$here/check-prose.py" | verdict "prose"
# The messages of the commits that follow BASE, by default this one: the style of earlier
# ones varies
base=${BASE:-9c2d29597cfef126fac0564b0e66a5a7cc75bd6f}
if [ "$(git rev-parse --is-shallow-repository)" = true ] && ! git cat-file -e "$base" 2>/dev/null; then
	echo "lint: commit messages: not checked, because this shallow clone lacks commit $base"
else
	findings "$here/check-prose.py" -c "$base..HEAD" | verdict "commit messages"
fi

printf '%s\n' "${shell[@]}" | on_all shellcheck -f gcc | verdict "shellcheck"

for f in "${python[@]}"; do
	/usr/bin/python3 - "$f" <<-'END' || echo "$f: not checked"
	import ast, sys
	try:
	    ast.parse(open(sys.argv[1]).read(), sys.argv[1])
	except SyntaxError as err:
	    print(f"{sys.argv[1]}: {err}")
	END
done | verdict "python"

files | while read -r f; do
	case $f in
	COPYING | LICENSES/* | MAINTAINERS | debian/* | *.json | *.expected* | *.txt) ;;
	*) head -n 4 "$f" | grep -aq 'SPDX-License-Identifier:' || echo "$f: no SPDX line" ;;
	esac
done | verdict "SPDX"

files | xargs -d '\n' grep -nIE '[[:space:]]+$' | grep -v '^COPYING\|^LICENSES/' |
	verdict "white space at line ends"

# Functions that tests put probes on must exist; those tests run seldom
files 'selftests/*.sh' 'selftests/*.py' | xargs -d '\n' grep -hoE '\bp:[a-z]+ [a-z_]+:[a-z_]+' |
	sed 's/.*://' | sort -u | while read -r function; do
	grep -rqw "$function" drivers lib --include='*.c' || echo "probe on $function, which does not exist"
done | verdict "functions that tests put probes on"

[ $bad -eq 0 ] || { echo "lint: $bad checks have findings"; exit 1; }
echo "lint: ok"
