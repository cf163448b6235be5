#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A burst needs memory, the silence after it does not: the pages of the outgoing stream
# are given back, also while a byte follows now and then.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq rdma sdp-run
PROG=$(dirname "$0")/burst.py
LIMIT=65536

# memory: of the sender's queue pairs
memory() {
	rdma -jdd resource show qp |
		jq '[.[] | select(.ifname == "rda") | .drv_memory // empty] | add // 0'
}

# burst PORT GAP WHAT
burst() {
	local before after

	start_bg b sdp-run -o /usr/bin/python3 "$PROG" serve "$1"
	wait_port b "$1"
	mkfifo "/run/burst-$1"
	# shellcheck disable=SC2016
	start_bg a sh -c 'fifo=$1; shift; exec "$@" <"$fifo"' x "/run/burst-$1" \
		sdp-run -o /usr/bin/python3 "$PROG" send 10.0.0.2 "$1" "$2"
	exec 7>"/run/burst-$1"
	wait_for 20 said connected || ktap_fail "$3: a connection is established" "$(cat "$BG_LOG")"
	sleep 2
	before=$(memory)
	echo >&7
	wait_for 60 said sent || ktap_fail "$3: the burst is sent" "$(cat "$BG_LOG")"
	sleep 3
	after=$(memory)
	exec 7>&-
	wait "$BG_PID"
	ktap_check "$3: the queue pair is seen, $before bytes" test "$before" -gt 0
	ktap_check "$3: $((after - before)) bytes more than before the burst" \
		test $((after - before)) -le $LIMIT
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
burst 7900 0 "silence"
burst 7901 0.9 "a byte now and then"
ktap_done
