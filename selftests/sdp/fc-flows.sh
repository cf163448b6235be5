#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# Typical use of connections, under every flow control: echo, bulk, slow
# readers and writers, both ways at once, low water marks, signals, urgent data,
# half close, abort, keepalive.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-flows sdpstat
need_research

SERVER=10.0.0.2
PORT=7900
KINDS=${KINDS:-hybrid}
# values of SDP_FLOW_CONTROL
declare -A FLOW=([credit]=2 [rdma]=3 [vwin]=4 [transport]=5)
# counter of the connections with that flow control, "" if there is none
declare -A USED=([credit]="" [rdma]=ring_links [vwin]=vwin_links
	[transport]=shared_links)

# flows KIND POLICY [OPTION]...: run sdp-flows, whose connections request that flow control
flows() {
	local desc="$1 $2" used=${USED[$2]} before=0 fallbacks rc line ns=()

	shift 2
	PORT=$((PORT + 1))
	[ -z "$used" ] || before=$(sdp_counter a "$used")
	fallbacks=$(sdp_counter a fc_fallbacks)
	[ "$NET_MODE" != two ] || ns=(-n b)
	in_a timeout 300 sdp-flows "${ns[@]}" -F "${FLOW[${desc#* }]}" \
		-p $PORT "$@" $SERVER >/tmp/flows.tap 2>&1
	rc=$?
	while read -r line; do
		case $line in
		"ok "*) ktap_ok "$desc: ${line#ok * - }" ;;
		"not ok "*) ktap_fail "$desc: ${line#not ok * - }" ;;
		*) ktap_diag "$line" ;;
		esac
	done </tmp/flows.tap
	ktap_is "$desc: sdp-flows succeeds" $rc 0
	[ -z "$used" ] || [ "$(sdp_counter a "$used")" -gt "$before" ] ||
		ktap_fail "$desc: the flow control was used"
	ktap_is "$desc: no connection falls back to another flow control" "$(sdp_counter a fc_fallbacks)" "$fallbacks"
	rm -f /tmp/flows.tap
}

ran=
for kind in $KINDS; do
	dev_down
	if ! dev_up "$kind" "$kind"; then
		ktap_skip "$kind" "no such devices"
		continue
	fi
	modprobe -q sdp
	ran=$kind
	# fc.sh tests what a device does not support
	case $kind in
	hybrid) policies="credit rdma vwin transport" ;;
	siw) policies="credit rdma" ;;
	rxe) policies="credit rdma vwin" ;;
	esac
	for policy in $policies; do
		flows "$kind" "$policy"
	done
	flows "$kind" rdma -B 4000000 -w watermark
	[ "$kind" != hybrid ] || flows hybrid vwin -w keepalive
	in_b sysctl -q -w net.sdp.rx_bufs_max=8
	for policy in credit vwin; do
		[[ " $policies " != *" $policy "* ]] ||
			flows "$kind" $policy -B 400000 -w few-receives
	done
	in_b sysctl -q -w net.sdp.rx_bufs_max=96
	ktap_check "$kind: no socket is left" wait_for 20 no_sockets
done
[ -n "$ran" ] || ktap_skip_all "no RDMA devices"
ktap_done
