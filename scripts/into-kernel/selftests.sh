#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests.sh TREE: copy the selftests into a kernel source tree, in
# tools/testing/selftests/net/sdp. Used by into-kernel.sh. Then, there:
#
#	make headers
#	make -C tools/testing/selftests \
#		TARGETS="net/sdp/bin net/sdp/hnic net/sdp/iwarp_hybrid net/sdp/sdp" install
#
# Each collection of selftests/ is a directory with a Makefile for lib.mk, because lib.mk
# drops directories from the names of tests. The programs are built in net/sdp/bin, where
# lib.sh looks for them. Long tests, and tests that need a guest of their own (count, debug,
# mem=), are installed, but not run (TEST_PROGS_EXTENDED). Tests that need a test module, and
# those of documents and of upper layers, are not copied.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
to=$1/tools/testing/selftests/net/sdp
collections=(sdp iwarp_hybrid hnic)

# list NAME FILE...: assign the files to a variable of make
list() {
	local name=$1

	shift
	[ $# -gt 0 ] || return 0
	printf '\n%s := \\\n' "$name"
	printf '\t%s \\\n' "$@"
	printf '# end of %s\n' "$name"
}

# named FILE...: print the files of other directories that these name, as ../DIRECTORY/FILE
named() { grep -hoE '\.\./(sdp|iwarp_hybrid|hnic|bench)/[A-Za-z_-]+\.[a-z]+' "$@" | sort -u; }

# others COLLECTION: print the files of other directories that a collection needs
others() {
	local found=() new

	cd "$to/$1"
	shopt -s nullglob
	mapfile -t new < <(named ./*.sh ./*.bash ./*.py)
	while [ ${#new[@]} -gt 0 ]; do
		found+=("${new[@]}")
		mapfile -t new < <(named "${new[@]}" | grep -vxF "$(printf '%s\n' "${found[@]}")")
	done
	printf '%s\n' ../lib/*.sh ../lib/*.awk "${found[@]}" | grep -v "^\.\./$1/" | sort -u
}

# collection NAME: write its Makefile, settings and config
collection() {
	local dir=$to/$1 f test=() long=() file=() include words

	for f in "$dir"/*; do
		case $f in
		*.[ch] | */Makefile | */settings | */config) continue ;;
		*.sh) ;;
		*)
			file+=("${f##*/}")
			continue
			;;
		esac
		words=" $(sed -n '1,20s/^# vm://p' "$f") "
		if [ ! -x "$f" ]; then
			file+=("${f##*/}")
		elif [[ $words =~ \ (long|count|debug|mem=[^ ]*)\  ]]; then
			long+=("${f##*/}")
		else
			test+=("${f##*/}")
		fi
	done
	mapfile -t include < <(others "$1")
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		list TEST_PROGS "${test[@]}"
		list TEST_PROGS_EXTENDED "${long[@]}"
		list TEST_FILES "${file[@]}"
		list TEST_INCLUDES "${include[@]}"
		printf '\ninclude ../../../lib.mk\n'
	} >"$dir/Makefile"
	echo "timeout=$(cd "$dir" && sed -n 's/^# vm:.*timeout=\([0-9]*\).*/\1/p' "${test[@]}" |
		sort -n | tail -n 1)" >"$dir/settings"
	cp "$top/scripts/into-kernel/selftests.config" "$dir/config"
}

mkdir -p "$to"/{bin,bench,programs}
cp -p "$top"/selftests/sources.mk "$to/bin/"
for c in "${collections[@]}" lib; do
	mkdir -p "$to/$c"
	find "$top/selftests/$c" -maxdepth 1 -type f ! -name Makefile ! -name Kbuild \
		-exec cp -p {} "$to/$c/" \;
done
# Test modules, and commands in documents
rm "$to"/lib/ktest.* "$to"/lib/documents.bash
# A test that needs one of them or the upper layers, and one that runs such a test
mapfile -t gone < <(cd "$to" && grep -lE '\.\./(lib/ktest\.sh|lib/documents\.bash|ulp/)' -- */*.sh)
for f in "${gone[@]}"; do
	rm "$to/$f"
	{ grep -lF "../$f" "$to"/*/*.sh || true; } | xargs -r rm
done
cp -p "$top/selftests/bench/account.py" "$to/bench/"
cp "$top/tools/sdpbench/mark.h" "$to/lib/"
sed -i 's|"\.\./\.\./tools/sdpbench/mark\.h"|"../lib/mark.h"|' "$to"/*/*.c
for c in "${collections[@]}"; do
	collection "$c"
done
cp -p "$top/selftests/programs/any.c" "$to/programs/"
cp "$top/scripts/into-kernel/selftests.mk" "$to/bin/Makefile"
printf '%s\n' '# SPDX-License-Identifier: GPL-2.0-only' '/*' '!/.gitignore' '!/Makefile' '!/sources.mk' \
	>"$to/bin/.gitignore"
