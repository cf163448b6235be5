#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Things that meet while one of them is in the middle, where test_hold.ko holds it up:
# nothing is used that is gone, and nothing gets lost.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run hyb-hostile rdma

PORT=7800
PROG=$(dirname "$0")/held.py

# results FILE: "ok NAME" or "not ok NAME: WHY", one at least
results() {
	local result what

	[ -s "$1" ] || ktap_fail "no result in $1"
	while read -r result what; do
		case $result in
		ok) ktap_ok "$what" ;;
		*) ktap_fail "${what#ok }" ;;
		esac
	done <"$1"
}

# case_of NAME: by itself
case_of() {
	PORT=$((PORT + 1))
	in_a timeout 60 sdp-run /usr/bin/python3 "$PROG" "$1" $PORT \
		>"/run/held-$1" 2>&1
	results "/run/held-$1"
}

# hostile NAME SET ATTACK: as the client of a peer that makes that attack
hostile() {
	PORT=$((PORT + 1))
	in_a timeout 60 hyb-hostile -h 10.0.0.1 -p $PORT -o "$3" -x \
		"in-ns b sdp-run /usr/bin/python3 $PROG $1 $PORT >/run/held-$1 2>&1" \
		"$2" >/run/hostile 2>&1
	results "/run/held-$1"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
hold sk_stream_wait_memory none || ktap_skip_all "no probes"
hold_end
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.shared_link=0 net.sdp.resolve_timeout=100000
done
case_of connect_ended
hostile late_data ack "then Data, too early"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module goes" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
