#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=1500
#
# Allocations of the kernel fail, one after the other, of what a connection asks for
# with flow control by rings and by held messages, of what sends and receives without a
# copy ask for, of pages that are sent by reference or mapped, and of a socket that
# continues with TCP: first on behalf of the client, then of the server, then in softirq.
# The data is complete and right, or an end is reported; nothing is left.
# iwarp_hybrid/failslab has the other links.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/../iwarp_hybrid/fail.bash"
need sdp-echo sdp-zcopy sdpstat
need_research
modprobe sdp 2>/dev/null || ktap_skip_all "no sdp module"

SERVER=10.0.0.1
PORT=7700

both() {
	if ! in_a sysctl -qw "$@" || ! in_b sysctl -qw "$@"; then
		ktap_fail "the settings are accepted" "$*"
	fi
}

# serve COMMAND...: a server whose allocations fail when inject says so, except for
# those of its user memory
serve() {
	start_bg a sh -c 'echo 1 >/proc/self/make-it-fail; exec "$@"' sh "$@"
	wait_for 30 said listening || ktap_fail "$1 listens" "$(cat "$BG_LOG")"
}

# through WHAT THING: connections to the server on $PORT, with each way to fail
through() {
	each "$1" in_b hyb-failnth "$2" $SERVER $PORT "${@:3}"
	inject task-filter=Y ignore-gfp-highmem=Y probability=2
	each "$1, the server's" in_b hyb-failnth "$2" $SERVER $PORT 20
	inject probability=0
	[ -d "/proc/$BG_PID" ] || ktap_fail "$1: the server is there" "$(cat "$BG_LOG")"
	inject task-filter=N ignore-gfp-highmem=N ignore-gfp-wait=Y probability=5
	each "$1, softirq" in_b hyb-failnth "$2" $SERVER $PORT 20
	inject probability=0 ignore-gfp-wait=N
	each "$1, afterwards" in_b hyb-failnth "$2" $SERVER $PORT 1
	stop_bg "$BG_PID"
	PORT=$((PORT + 1))
	ktap_check "$1: no socket is left" wait_for 20 no_sockets
	ktap_check "$1: no queue pair is left" wait_for 20 no_queue_pairs
	ktap_check "$1: no page is pinned" wait_for 20 none_pinned
}

# more COUNTER...: these counters of the client have risen since the call before
declare -A BEFORE
more() {
	local name now

	for name; do
		now=$(sdp_counter b "$name")
		ktap_check "the counter $name rises, by $((now - ${BEFORE[$name]:-0}))" \
			[ "$now" -gt "${BEFORE[$name]:-0}" ]
		BEFORE[$name]=$now
	done
}

net_up
fail_ready
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
PINNED=$(pinned)
both net.sdp.shared_link=0 net.sdp.fin_timeout=2
for policy in rdma vwin; do
	both net.sdp.flow_control=$policy
	serve sdp-echo -s -h $SERVER -p $PORT
	through $policy sdp
done
more ring_links vwin_links
both net.sdp.flow_control=credit net.sdp.zcopy_threshold=16384 \
	net.sdp.zcopy_floor=0 net.sdp.zcopy_wait=1000000
serve sdp-zcopy serve $SERVER $PORT
through "zero copy" zcopy
more tx_srcavail tx_sinkavail tx_zcopy_bytes rx_zcopy_writes
both net.sdp.zcopy_threshold=0
for thing in refer rxmap; do
	serve sdp-echo -s -h $SERVER -p $PORT
	through $thing $thing
done
more tx_ref_bytes rx_mapped_bytes
# calls on listeners and sockets of both kinds of link; earlier sockets may take a while to end
for link in 1 0; do
	both net.sdp.shared_link=$link
	each "calls, shared link $link" in_b hyb-failnth calls 10.0.0.2 0 /4
done
ktap_check "calls: no socket is left" wait_for 20 no_sockets
# SDP finds no listener at its port, TCP does
in_b sysctl -qw net.sdp.port_offset=20000
serve sdp-echo -s -f 2 -h $SERVER -p $PORT
through "fallback to TCP" fallback
more tcp_connects
ktap_done
