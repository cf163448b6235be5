#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# net.sdp.tx_latency: a histogram of the time from a send to its acknowledgment, over a
# shared link and over one of verbs. Without it nothing is timed.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat jq tc

PROG="/usr/bin/python3 $(dirname "$0")/latency.py"
PORT=7840

# timed NS: how many sends are in the histogram, and how many of them took less than 16 ms
timed() {
	"in_$1" sdpstat -s -j | jq -r '[.counters | to_entries[] | select(.key | startswith("tx_latency")) |
		[.key, .value]] | [(map(.[1]) | add), (map(select(.[0] | test("us$|_[14]ms$|_16ms$")) |
		.[1]) | add)] | join(" ")'
}

# traffic NAME: both clients, of a; sets SENDS and SOON
traffic() {
	local before now kind

	PORT=$((PORT + 1))
	before=$(timed a)
	# shellcheck disable=SC2086 # several words
	start_bg b sdp-run -o $PROG server 10.0.0.2 $PORT
	wait_port b $PORT
	for kind in pingpong bulk; do
		# shellcheck disable=SC2086
		ktap_check "$1: all data arrives, $kind" \
			in_a timeout 100 sdp-run -o $PROG $kind 10.0.0.2 $PORT
	done
	stop_bg "$BG_PID"
	now=$(timed a)
	SENDS=$((${now% *} - ${before% *})) SOON=$((${now#* } - ${before#* }))
	ktap_diag "$1: $SENDS sends were timed, $SOON of them took less than 16 ms"
}

set_both() { in_a sysctl -qw "$1" && in_b sysctl -qw "$1"; }

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q -a sdp sch_netem
traffic "off"
ktap_is "off: no send is timed" "$SENDS" 0
in_a sysctl -qw net.sdp.tx_latency=1
traffic "on"
ktap_check "on: the latency of sends is measured" [ "$SENDS" -gt 1 ]
ktap_is "another namespace times none" "$(timed b)" "0 0"

ktap_check "packets of a are delayed by 20 ms from now on" in_a tc qdisc add dev va root netem delay 20ms
traffic "with delay"
ktap_check "with delay: the latency of sends is measured" [ "$SENDS" -gt 1 ]
ktap_is "with delay: no send takes less than 16 ms" "$SOON" 0
in_a tc qdisc del dev va root

for policy in credit rdma vwin; do
	set_both net.sdp.flow_control=$policy 2>/dev/null || {
		ktap_skip "$policy" "this module has no $policy"
		continue
	}
	traffic "$policy"
	ktap_check "$policy: the latency of sends is measured" [ "$SENDS" -gt 1 ]
done
in_a sysctl -qw net.sdp.tx_latency=0
traffic "off again"
ktap_is "off again: no send is timed" "$SENDS" 0
ktap_done
