#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measurements of `make bench`, inside the guest. One instruction is one
# nanosecond there, so short runs suffice. Prints, beside progress, one line
#   BENCH WHAT MTU JSON-ROW       for each figure
#   BENCH-FAILED WHAT MTU         for each transport that did not work
# All rows come from one boot, because boots differ a little.

# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/lib.sh"

REPS=${REPS:-5}
DURATION=${DURATION:-20}	# ms of guest time for a repetition
PINGS=${PINGS:-50}
MTUS=${MTUS:-1500 9000}
WHATS=${WHATS:-tcp sdp/hybrid sdp/siw rsocket/siw}
# what to measure; a profile has options of its own
MEASURE=${MEASURE:--r $REPS -d $DURATION -P $PINGS -S 64,4K,64K,1M -L 1}

failed=0

# topology MTU DEVICE: fresh namespaces each time, so that a row cannot be
# influenced by what the one before left behind
topology() {
	# shellcheck disable=SC2034 # net_up reads it
	NET_MTU=$1
	net_up || return
	[ "$2" = none ] || dev_up "$2" "$2"
}

# measure TRANSPORT: rows on stdout
measure() {
	local ret

	start_bg a sdpbench -s -1 -t "$1" -b 10.0.0.1
	# shellcheck disable=SC2086 # several options
	in_b sdpbench -t "$1" -j -w 10 --timeout 20 $MEASURE 10.0.0.1
	ret=$?
	[ $ret -eq 0 ] || sed 's/^/server: /' "$BG_LOG" >&2
	stop_bg "$BG_PID"
	return $ret
}

# row WHAT MTU: WHAT is TRANSPORT or TRANSPORT/DEVICE
row() {
	local dev=none

	[ "$1" = tcp ] || dev=${1#*/}
	echo "bench: $1, MTU $2 ..."
	if ! topology "$2" "$dev"; then
		echo "BENCH-FAILED $1 $2"
		failed=1
	elif ! measure "${1%/*}" > /tmp/rows; then
		echo "BENCH-FAILED $1 $2"
		failed=1
	fi
	[ -s /tmp/rows ] && sed -n "s#^ *\({.*}\),*\$#BENCH $1 $2 \1#p" /tmp/rows
	rm -f /tmp/rows
	net_down
}

# The accelerated CRC32c has to be there before libcrc32c chooses one.
modprobe crc32c-intel
echo "BENCH-KERNEL $(uname -r)"
for mtu in $MTUS; do
	for what in $WHATS; do
		row "$what" "$mtu"
	done
done
# for a profile; the modules are still where they were
[ -z "${KALLSYMS:-}" ] || cat /proc/kallsyms > "$OUT/kallsyms"
exit $failed
