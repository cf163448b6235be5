#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# htmldocs.sh [BUILD]: make HTML of all documents and of the kernel-doc comments,
# in BUILD/html. A warning of kernel-doc or of Sphinx is an error.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
build=$(realpath -m "${1:-$top/build}")
src=$build/htmldocs
said=$build/htmldocs.log
vars=$("$here/kernel.sh" 6.1)
eval "$vars"
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$top/dkms.conf")
cd "$top"

# Escape names that reStructuredText would take as markup
escaped() { sed -E 's/\b(\w+)_([ ,.;)]|$)/\1\\_\2/g; s/(\*\*\w+\*\*)\[/\1\\ [/g'; }

# api TITLE NAME FILE...: a page with the kernel-doc comments of the files
api() {
	local title=$1 name=$2 f out
	shift 2
	{
		printf '%s\n%s\n\n' "$title" "${title//?/=}"
		for f; do
			out=$(perl "$K_SRC/scripts/kernel-doc" -rst -sphinx-version 5.3.0 "$f" \
				2>>"$said" | escaped) || echo "$f: kernel-doc failed" >>"$said"
			[ -z "$out" ] || printf '%s\n%s\n\n%s\n\n' "$f" "${f//?/-}" "$out"
		done
	} >"$src/api/$name.rst"
	echo "   $name" >>"$src/api/index.rst"
}

rm -rf "$src" "$said"
mkdir -p "$src/api"
cp -r Documentation ./*.rst "$src"
rm -rf "$src"/Documentation/man "$src"/Documentation/netlink
printf '%s\n' 'Interfaces' '==========' '' \
	'From the kernel-doc comments of the source.' '' \
	'.. toctree::' '   :maxdepth: 1' '' >"$src/api/index.rst"
api 'To programs' uapi include/uapi/linux/*.h
api 'Between modules' rdma include/rdma/*.h
for dir in drivers/*/ lib/*/; do
	[ -d "$dir" ] || continue
	name=$(basename "$dir")
	mapfile -t files < <(find "$dir" -name '*.[ch]' | LC_ALL=C sort)
	api "$name" "$name" "${files[@]%/}"
done
# Not every file has such comments
status=0
! grep -v 'no structured comments found' "$said" >&2 || status=1
printf '%s\n' '' '.. toctree::' '   :hidden:' '' '   ../README' '   ../CONTRIBUTING' \
	'   ../CHANGELOG' '   ../api/index' >>"$src/Documentation/index.rst"

sphinx-build -q -W --keep-going -b html -d "$build/html/.doctrees" -C \
	-D project='SDP over iWARP' -D version="$version" -D release="$version" \
	-D c_id_attributes=__user,__net_init,__net_exit \
	-D root_doc=Documentation/index -D html_theme=alabaster -D highlight_language=none \
	"$src" "$build/html" || status=1
[ $status -eq 0 ] || exit 1
echo "$build/html/Documentation/index.html"
