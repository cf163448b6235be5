#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# What a program can observe of an SDP socket differs from TCP only in the rows
# that sockprobe.expected-diff lists, each with its reason.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
here=$(cd "$(dirname "$0")" && pwd)
need sockprobe sdp-run diff
work=$(mktemp -d)
defer rm -rf "$work"

# compare NAME FILE-TCP FILE-SDP LIST: one TAP line per kind of difference
compare() {
	local name=$1 tcp=$2 sdp=$3 list=$4 rows

	rows=$(wc -l < "$tcp")
	ktap_diag "$name: $rows rows"
	grep -hE '^! ' "$tcp" "$sdp" | sed 's/^/# /'
	# rows "name: result" that only one of the two has, either way
	diff "$tcp" "$sdp" | sed -n 's/^[<>] \(.*\): .*/\1/p' |
		sort -u > "$work/differ"
	sed -n 's/^\([^#].*\)	.*/\1/p' "$list" | sort -u > "$work/allowed"
	grep -vxFf "$work/allowed" "$work/differ" > "$work/surprise"
	if [ "$rows" -lt 300 ]; then
		ktap_fail "$name: only $rows rows over TCP"
	elif [ -s "$work/surprise" ]; then
		ktap_fail "$name: rows that differ without a reason" \
			"$(cat "$work/surprise")" "$(diff "$tcp" "$sdp")"
	else
		ktap_ok "$name: differs only where listed" \
			"($(wc -l < "$work/differ") rows)"
	fi
	grep -vxFf "$work/differ" "$work/allowed" |
		sed "s/^/# $name: no longer differs: /"
}

# Most of what a probe takes is waiting, so TCP is asked at the same time as SDP.

# probe_tcp NAME HOST
probe_tcp() {
	in_a sockprobe -h "$2" > "$OUT/$1-tcp.txt" 2>&1 &
	TCP_PID=$!
}

# probe_sdp NAME HOST LINK: compare with what probe_tcp NAME finds
probe_sdp() {
	stack_link "$3"
	in_a sdp-run sockprobe -h "$2" > "$OUT/$1-$3.txt" 2>&1
	wait "$TCP_PID"
	compare "$1, $3 link" "$OUT/$1-tcp.txt" "$OUT/$1-$3.txt" \
		"$here/sockprobe.expected-diff"
}

dev_up "${KIND:-hybrid}" "${KIND:-hybrid}" || ktap_skip_all "no RDMA device"
ktap_plan 3
probe_tcp ipv4 10.0.0.1
probe_sdp ipv4 10.0.0.1 enhanced
probe_tcp ipv6 fd00::1
probe_sdp ipv6 fd00::1 enhanced
probe_sdp ipv4 10.0.0.1 basic
ktap_done
