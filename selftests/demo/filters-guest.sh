#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make demo-filters`, inside the guest: the microscope and the iso-surface on four hosts,
# over TCP, then over SDP. Lines that begin with DEMO- are for filters.sh.

# shellcheck disable=SC2034 # star_up reads it
NET_LINK=hnic
# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/lib.sh"
N=4
HERE=${SELFTESTS:-/selftests}/demo

die() {
	echo "demo-filters: $*" >&2
	exit 1
}

# counter NAME: sum of a counter over all hosts
counter() {
	local i

	for ((i = 1; i <= N; i++)); do
		in_n "$i" sdpstat -s -z
	done | awk -v name="$1" '$1 == name { n += $2 } END { printf "%.0f\n", n }'
}

# run PLAN TRANSPORT: run it, and print the hash of the last picture
run() {
	fs-run --netns -t 300 -d "TRANSPORT=$2" -d "OUT=$OUT" -o /tmp/lines "$HERE/$1.plan" >&2 ||
		die "$1 over $2 did not work"
	sed -n 's/.*"hash":"\([0-9a-f]*\)".*/\1/p' /tmp/lines | tail -n 1
}

# show PLAN WHAT: run it over TCP and over SDP, and compare the pictures
show() {
	local tcp sdp before after

	echo "== $2, over TCP"
	tcp=$(run "$1" tcp)
	before=$(counter tx_bytes)
	echo "== $2, over SDP"
	sdp=$(run "$1" sdp)
	after=$(counter tx_bytes)
	[ -n "$sdp" ] || die "$2: no picture"
	[ "$tcp" = "$sdp" ] || die "$2: the pictures differ, $tcp over TCP, $sdp over SDP"
	jq -r 'select(.type == "copy") |
		"   \(.node) \(.filter): \(.in_buffers) buffers in, \(.out_buffers) out, \(.in_bytes + .out_bytes) bytes"' /tmp/lines
	echo "-- the same picture; $((after - before)) bytes over SDP"
	[ $((after - before)) -gt 100000 ] || die "$2: the bytes are not on SDP"
	echo "DEMO-ROW $2: $((after - before)) bytes over SDP, hash $sdp"
}

echo "== four hosts at a bridge, with hybrid iWARP devices"
modprobe crc32c-intel 2>/dev/null
star_up $N || die "cannot make the network"
dev_up_all hybrid || die "cannot make the devices"
modprobe -q sdp
for dev in /sys/class/infiniband/rd*/hybrid; do
	echo hybrid >"$dev/profile"
done
rdma link show
show scope "virtual microscope"
show iso "iso-surface"
echo "DEMO-DONE"
