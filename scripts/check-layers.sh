#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-layers.sh [-s] [-l] OBJDIR LAYERS: objects of a module may use symbols of
# lower layers only. The check asks nm(1) for the symbols of the objects in
# OBJDIR, so macros, inline functions and tables count as what the compiler made
# of them. Prints findings, and fails if there are any.
#
#   -s  strict: complain about lines of LAYERS that no object needs any more
#   -l  print the findings as "known" lines for LAYERS, and succeed
#
# LAYERS has a line for each layer, top first, with the names of its objects
# (sdp_rx for sdp_rx.o, zcopy/pool for zcopy/pool.o). Objects of one layer may not
# use each other. Some configurations leave out an object that has a '?' behind its name:
# it may lack, but its source has to be there. A '#' starts a comment. Two kinds of lines
# exempt a symbol:
#
#   hint OBJECT SYMBOL   # direct call hint, as of INDIRECT_CALL_1(), and why
#   known OBJECT SYMBOL  # violation that is still to be removed
#
# Symbols that two objects define, and those that no listed object defines, are
# not checked. Nothing is said of exemptions whose object the configuration leaves out.
#
# The first comment of a source says what it calls ("Calls sdp_rx_msg.c and ..."). A
# file that is named there, but of which no symbol is used, is a finding as well.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"

usage() {
	echo "usage: ${0##*/} [-s] [-l] OBJDIR LAYERS" >&2
	exit 2
}

strict=0 list=0
while getopts sl opt; do
	case $opt in
	s) strict=1 ;;
	l) list=1 ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 2 ] || usage
dir=${1%/} layers=$2
[ -d "$dir" ] || { echo "$dir: no such directory; build the modules first" >&2; exit 2; }
[ -r "$layers" ] || { echo "$layers: cannot be read" >&2; exit 2; }

mapfile -t listed < <(sed 's/#.*//' "$layers" |
	awk '$1 != "hint" && $1 != "known" { for (i = 1; i <= NF; i++) print $i }')
objs=() missing=() out=()
for o in "${listed[@]}"; do
	if [ -e "$dir/${o%\?}.o" ]; then
		objs+=("${o%\?}")
	elif [[ $o = *\? && -e $dir/${o%\?}.c ]]; then
		out+=("${o%\?}")
	else
		missing+=("${o%\?}")
	fi
done
if [ ${#missing[@]} -gt 0 ]; then
	echo "$layers: no such object in $dir: ${missing[*]}" >&2
	exit 1
fi

# List the objects that this configuration leaves out
left_out() {
	[ ${#out[@]} -eq 0 ] || printf 'out %s\n' "${out[@]}"
}

# List the objects that were built here from source, to find those without a layer
sources() {
	local o
	(cd "$dir" && find . -name '*.o' ! -name '*.mod.o' -printf '%P\n') |
		while read -r o; do
			[ ! -e "$dir/${o%.o}.c" ] || echo "source ${o%.o}"
		done
}

symbols() {
	local o
	for o in "${objs[@]}"; do
		nm -g "$dir/$o.o" | awk -v o="$o" '{ print "sym", o, $NF, $(NF - 1) }'
	done
}

# says OBJECT NAME: as the first comment of a source names what it calls
says() {
	local o
	for o in "${objs[@]}"; do
		[ -e "$dir/$o.c" ] || continue
		awk '/\*\// { exit } NR > 1' "$dir/$o.c" |
			sed 's/^ \*//; s/\.[ch]\>//g' | tr '\n' ' ' |
			{ grep -oE '\<Calls [^.;:]*' || true; } |
			tr -cs 'a-z0-9_/' '\n' | sed "s|^|says $o |"
	done
}

{ left_out; sources; symbols; says; } | awk -v file="$layers" -v strict=$strict -v list=$list '
function finding(text) { print file ": " text; bad = 1 }

FNR == NR {
	reason = /#/
	sub(/#.*/, "")
	if (!NF)
		next
	if ($1 == "hint" || $1 == "known") {
		if (NF != 3)
			finding("line " FNR ": want " $1 " OBJECT SYMBOL")
		else if ($1 == "hint" && !reason)
			finding("line " FNR ": a hint needs a reason (# ...)")
		exempt[$2 " " $3] = FNR
		next
	}
	layer++
	for (i = 1; i <= NF; i++) {
		sub(/\?$/, "", $i)
		if ($i in rank)
			finding("line " FNR ": " $i " is in two layers")
		rank[$i] = layer
	}
	next
}
$1 == "out" { out[$2]; next }
$1 == "source" {
	if (!($2 in rank))
		finding($2 " is in no layer")
	next
}
$1 == "says" { claim[$2 " " $3]; next }
$4 == "U" || $4 == "w" || $4 == "v" { use[$2 " " $3]; next }
{ defs[$3]++; home[$3] = $2 }

END {
	for (u in use) {
		split(u, part)
		h = home[part[2]]
		base = h
		sub(/.*\//, "", base)
		calls[part[1] " " h]
		calls[part[1] " " base]
		if (defs[part[2]] != 1 || h == part[1] || rank[h] > rank[part[1]])
			continue
		if (u in exempt) {
			needed[u]
			if (!list)
				continue
		}
		if (list)
			print "known " u | "sort"
		else
			print file ": " part[1] " -> " h ": " part[2] | "sort"
		if (!list)
			bad = 1
	}
	for (o in rank) {
		if (o in out)
			continue
		base = o
		sub(/.*\//, "", base)
		known[base]
	}
	for (u in claim) {
		split(u, part)
		if (part[2] in known && !(u in calls) && !list)
			finding(part[1] ".c says that it calls " part[2] ".c, but does not")
	}
	for (u in exempt) {
		split(u, part)
		if (strict && !(u in needed) && !(part[1] in out))
			finding("line " exempt[u] ": no longer needed: " u)
	}
	close("sort")
	exit bad
}' "$layers" -
