#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Things that meet while one of them is in the middle, where test_hold.ko holds it up:
# nothing is used that is gone, and nothing gets lost.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need python3 sdp-run sdpstat sdp-rxmap hyb-hostile rdma tc
need_research

PORT=7800
PROG=$(dirname "$0")/held.py

both() { in_a sysctl -qw "$@" && in_b sysctl -qw "$@"; }

# results FILE LINK: "ok NAME", "not ok NAME: WHY" or "skip NAME WHY", one at least
results() {
	local result what

	# a case that was killed has left these
	hold_end
	both net.sdp.port_offset=0
	[ -s "$1" ] || ktap_fail "no result in $1"
	while read -r result what; do
		case $result in
		ok) ktap_ok "$2: $what" ;;
		skip) ktap_skip "$2: ${what%% *}" "${what#* }" ;;
		*) ktap_fail "$2: ${what#ok }" ;;
		esac
	done <"$1"
}

# over LINK CASE...: each by itself
over() {
	local name

	for name in "${@:2}"; do
		PORT=$((PORT + 1))
		in_a timeout "$(scaled 60 150)" sdp-run -o /usr/bin/python3 "$PROG" "$name" $PORT \
			>"/run/held-$name" 2>&1
		results "/run/held-$name" "$1"
	done
}

# hostile NAME SET ATTACK [LINK]: as the client of a peer that makes that attack
hostile() {
	PORT=$((PORT + 1))
	in_a timeout 60 hyb-hostile -h 10.0.0.1 -p $PORT -o "$3" -x \
		"in-ns b sdp-run -o /usr/bin/python3 $PROG $1 $PORT >/run/held-$1 2>&1" \
		"$2" >/run/hostile 2>&1
	results "/run/held-$1" "${4:-verbs}"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
hold sk_stream_wait_memory none || ktap_skip_all "no probes"
hold_end
both net.sdp.resolve_timeout=60000
over "shared link" absent_send absent_recv killed_send moved_send moved_recv moved_splice moved_lend
over "shared link" whole_send whole_send_shutdown whole_send_removal no_pressure
over "shared link" whole_recv whole_recv_signal whole_recv_nowait whole_recv_removal deaf_memory
over "shared link" moved_tcp_send moved_tcp_recv moved_connect connect_signal late_options
over "shared link" no_notice lost_fin tcp_fails accept_removal old_removal close_wait other_request
both net.sdp.shared_link=0
over verbs absent_send absent_zerocopy absent_recv killed_send moved_send moved_recv
over verbs moved_splice moved_lend
over verbs whole_send whole_send_shutdown whole_send_removal
over verbs whole_recv whole_recv_signal whole_recv_nowait whole_recv_removal
over verbs deaf_memory sleeping_reader
over verbs connect_ended no_memory no_memory_again no_memory_waits bind_removal bind_twice
over verbs no_answer no_pressure rxmap_mappings zerocopy_mappings bytes_acked
over verbs other_request many_requests
both net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=65536 net.sdp.zcopy_wait=60000000
both net.sdp.zcopy_pipelined=0
over verbs pin_send pin_recv pin_send_late pin_recv_late small_reader unmapped_send unmapped_part
over verbs unmapped_removal whole_zcopy
both net.sdp.zcopy_wait=1000000
over verbs whole_zcopy_recv
both net.sdp.zcopy_wait=60000000
both net.sdp.zcopy_pipelined=1
over verbs pin_offer
both net.sdp.zcopy_threshold=0
hostile reset_reply ack "HelloAck: the peer resets"
hostile small_receives ack "HelloAck: receive buffers of 256 bytes"
hostile late_data ack "then Data, too early"
both net.sdp.shared_link=1
hostile early_data ack "then Data, too early"
hostile late_record shared "SDP: ChRcvBuf 0" "shared link"
both net.sdp.shared_link=0
hostile old_teardown sdp "MSeqAck of what was never sent"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
