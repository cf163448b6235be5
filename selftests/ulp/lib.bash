# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common code of the tests of upper layer protocols (sourced after lib.sh).

# need_modules NAME...: skip the whole test if one is missing. Those that are
# not in the guest by default come from an entry of the cache of their own, see
# scripts/kernel.sh --more.
need_modules() {
	local m
	for m; do
		modprobe -q "$m" || ktap_skip_all "no module $m"
	done
}

# hybrid_here: rda on va and rdb on vb, all in the initial namespace, what they
# say to each other goes over the wire
hybrid_here() {
	net_up_one && dev_add a rda va hybrid && dev_add b rdb vb hybrid
}

mount_configfs() {
	grep -q ' /sys/kernel/config ' /proc/mounts ||
		mount -t configfs configfs /sys/kernel/config
}

# counter DEVICE NAME
counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

# counters_save: of both devices, for counters_grew
declare -A COUNTERS_OLD
counters_save() {
	local d f
	for d in rda rdb; do
		for f in /sys/class/infiniband/"$d"/ports/1/hw_counters/*; do
			COUNTERS_OLD[$d.${f##*/}]=$(cat "$f" 2>/dev/null)
		done
	done
}

# grown DEVICE NAME: by how much since counters_save
grown() { echo $(($(counter "$1" "$2") - ${COUNTERS_OLD[$1.$2]})); }

# counters_grew DEVICE NAME...: all of them
counters_grew() {
	local d=$1 n rc=0
	shift
	for n; do
		echo "$d $n: $(grown "$d" "$n")"
		[ "$(grown "$d" "$n")" -gt 0 ] || rc=1
	done
	return $rc
}

# counters_same DEVICE NAME...: none of them
counters_same() {
	local d=$1 n rc=0
	shift
	for n; do
		echo "$d $n: $(grown "$d" "$n")"
		[ "$(grown "$d" "$n")" -eq 0 ] || rc=1
	done
	return $rc
}

has_no_qp() { ! rdma resource show qp link "$1" | grep -Evq 'type (GSI|SMI)'; }

# no_queue_pairs_of DEVICE: the last ones may go in the background
no_queue_pairs_of() { wait_for 30 has_no_qp "$1"; }

# Many small files, made, renamed and removed in $MNT; $EXPORT is the same at the server
small_files() {
	local i
	mkdir "$MNT/d" || return
	for ((i = 0; i < 40; i++)); do
		echo "file $i" >"$MNT/d/$i" || return
	done
	[ "$(find "$MNT/d" -type f | wc -l)" = 40 ] &&
	mv "$MNT/d/7" "$MNT/d/new" && [ "$(cat "$EXPORT/d/new")" = "file 7" ] &&
	rm -r "$MNT/d" && [ ! -e "$EXPORT/d" ]
}
