# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The cache outside the tree (sourced): kernels, module builds, package
# sources, chroots.  An entry is a directory KIND/NAME-KEY, where KEY is a hash
# of everything that went into it.  Entries are made in a temporary directory
# under a lock and renamed into place, so concurrent users either wait for the
# build or find the finished entry; a killed build leaves nothing that could be
# mistaken for an entry.

SDP_CACHE=${SDP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/linux-sdp}

msg() { echo "$*" >&2; }
die() { msg "error: $*"; exit 1; }

# cache_key WORD...: short hash of the words; give files by "$(cat FILE)"
cache_key() { printf '%s\0' "$@" | sha256sum | cut -c1-16; }

# tree_key FILE...: hash of names and contents
tree_key() { sha256sum "$@" | sha256sum | cut -c1-16; }

# source_version TARBALL: print the version of a kernel's source, for a key: that of its
# package or, without a package, the hash, which ends at the first blank
source_version() {
	[ "$1" != /usr/src/linux-source-6.1.tar.xz ] ||
		! dpkg-query -W -f '${Version}' linux-source-6.1 2>/dev/null || return 0
	sha256sum "$1"
}

# cache_has ENTRY
cache_has() { [ -e "$SDP_CACHE/$1/.complete" ]; }

# cache_make ENTRY FUNCTION [ARG...]: sets CACHED to the entry's directory, or to
# nothing if making it failed.  FUNCTION is called in an empty directory that
# becomes the entry, in a subshell with set -e; its output goes to a log, shown
# if it fails.  Never call this as a condition (if, ||, &&): bash then ignores
# set -e in everything below, and half an entry would pass for a whole one.
cache_make() {
	local entry=$1 tmp log rc lock
	shift
	set +e
	rc=$(set -e; false; echo ignored)
	set -e
	[ -z "$rc" ] || die "cache_make as a condition"
	CACHED=$SDP_CACHE/$entry
	if cache_has "$entry"; then
		touch -c "$CACHED/.complete"
		return 0
	fi
	mkdir -p "$SDP_CACHE/lock" "$SDP_CACHE/log" "$(dirname "$CACHED")"
	exec {lock}>"$SDP_CACHE/lock/${entry//\//_}"
	flock "$lock"
	if cache_has "$entry"; then
		exec {lock}>&-
		return 0
	fi
	rm -rf "$CACHED".tmp.*
	tmp=$CACHED.tmp.$$
	log=$SDP_CACHE/log/${entry//\//_}
	mkdir -p "$tmp"
	msg "  CACHE   $entry"
	set +e
	(
		exec {lock}>&-
		set -eo pipefail
		cd "$tmp"
		"$@"
	) >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	if [ $rc -ne 0 ]; then
		msg "making $entry failed ($rc); end of $log:"
		tail -n 30 "$log" >&2
		rm -rf "$tmp"
		exec {lock}>&-
		CACHED=
		return 0
	fi
	touch "$tmp/.complete"
	mv -T "$tmp" "$CACHED"
	exec {lock}>&-
}
