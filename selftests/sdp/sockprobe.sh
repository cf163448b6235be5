#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A program can observe a difference between SDP and TCP only in the rows that
# sockprobe.expected-diff lists, each with its reason. Each link is probed with one version
# of IP. LONG adds the other version, the other flow controls, IPPROTO_SDP of AF_INET, and
# other devices.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
here=$(cd "$(dirname "$0")" && pwd)
need sockprobe sdp-run diff
need_research
work=$(mktemp -d)
defer rm -rf "$work"

# compare NAME FILE-TCP FILE-SDP LIST: one TAP line: SDP differs only in rows of LIST
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
		ktap_fail "$name: SDP differs from TCP only in listed rows" \
		"only $rows rows over TCP"
	elif [ -s "$work/surprise" ]; then
		ktap_fail "$name: SDP differs from TCP only in listed rows" \
			"$(cat "$work/surprise")" "$(diff "$tcp" "$sdp")"
	else
		ktap_ok "$name: SDP differs from TCP only in listed rows" \
			"($(wc -l < "$work/differ") rows)"
	fi
	grep -vxFf "$work/differ" "$work/allowed" |
		sed "s/^/# $name: no longer differs: /"
}

# A probe mostly waits, so TCP is probed at the same time as SDP.

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

# probe_again WHAT [sdp-run|-P PROTOCOL]: probe SDP, and compare with what probe_tcp ipv4 has
# found
probe_again() {
	local what=$1 run=() options=()

	shift
	if [ "$1" = sdp-run ]; then
		run=("$1")
	else
		options=("$@")
	fi
	in_a "${run[@]}" sockprobe "${options[@]}" -h 10.0.0.1 \
		> "$OUT/$what.txt" 2>&1
	compare "$what" "$OUT/ipv4-tcp.txt" "$OUT/$what.txt" "$LIST"
}

# used POLICY: most connections of the probe had this flow control
used() {
	local name=${1/rdma/ring}_links n

	n=$(sdp_counter a "$name")
	if [ "$n" -gt 100 ]; then
		ktap_ok "$1: the flow control was used"
	else
		ktap_fail "$1: the flow control was used" "$name $n"
	fi
}

# others: the other flow controls, and IPPROTO_SDP
others() {
	for policy in rdma vwin; do
		in_a sysctl -qw net.sdp.flow_control=$policy
		probe_again "flow control $policy" sdp-run
		used $policy
	done
	in_a sysctl -qw net.sdp.flow_control=auto
	stack_link enhanced
	# without the library the values are the kernel's
	{
		cat "$LIST"
		printf 'get SO_PROTOCOL\tit is IPPROTO_SDP\n'
	} > "$work/door"
	LIST=$work/door probe_again "IPPROTO_SDP" -P "$IPPROTO_SDP"
	ktap_check "IPPROTO_SDP: SDP sockets were used" \
		grep -qx "get SO_PROTOCOL: $IPPROTO_SDP" "$OUT/IPPROTO_SDP.txt"
}

# device KIND: probe over devices of this kind
device() {
	net_down
	dev_up "$1" "$1" || { ktap_skip "$1" "no such devices"; return; }
	probe_tcp ipv4 10.0.0.1
	wait "$TCP_PID"
	probe_again "$1" sdp-run
}

IPPROTO_SDP=257
LIST=$here/sockprobe.expected-diff
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
probe_tcp ipv4 10.0.0.1
probe_sdp ipv4 10.0.0.1 enhanced
probe_tcp ipv6 fd00::1
probe_sdp ipv6 fd00::1 basic
if [ -n "$LONG" ]; then
	probe_sdp ipv6 fd00::1 enhanced
	probe_sdp ipv4 10.0.0.1 basic
	others
	device siw
	device rxe
fi
ktap_done
