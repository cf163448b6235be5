#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# Both ends write without reading: before it stops, SDP takes nine tenths at least of
# what TCP takes with the same buffers; and if both write that much first and then read,
# all arrives. Where the sizes of the buffers are not set (0), SDP may take less. With
# LONG there are more sizes.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
need sdp-run xfer sdpstat
need_research

SERVER=10.0.0.2
# counter of the connections with that flow control
declare -A USED=([rdma]=ring_links [vwin]=vwin_links)

# stalled RUN BUFFERS MS: bytes each end could write until it could not for that
# long, the smaller of the two
stalled() {
	local out

	# shellcheck disable=SC2086 # "sdp-run", or nothing
	out=$(in_a $1 xfer -h $SERVER -p "$PORT" -m stall -B "$2" -q "$3" -t 120 \
		-w 4096 -R 65536) || return
	sed -n 's/.*up=\([0-9]*\) down=\([0-9]*\)/\1 \2/p' <<<"$out" |
		awk '{ print ($1 < $2) ? $1 : $2 }'
}

# serve RUN PORT BUFFERS
serve() {
	PORT=$2
	# shellcheck disable=SC2086 # as above
	start_bg b $1 xfer -s -h $SERVER -p "$PORT" -B "$3"
	SERVER_PID=$BG_PID
	wait_for 30 said listening
}

# mutual BUFFERS BYTES: both write, then both read; ROUNDS times, since the result of a
# mistake depends on which messages cross each other
mutual() {
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		in_a sdp-run xfer -h "$SERVER" -p "$PORT" -m mutual -n "$2" \
			-d "$2" -B "$1" -w "$PIECE" -t 60 || return
	done
}

# data_msgs: messages with data that a sent and received
data_msgs() { echo $(($(sdp_counter a tx_data_msgs) + $(sdp_counter a rx_data_msgs))); }

# Bytes that TCP takes with these buffers: they vary, so the least of three runs
declare -A TCP
ask_tcp() {
	local i took

	serve "" "$2" "$1"
	for i in 1 2 3; do
		took=$(stalled "" "$1" 300)
		[ "$i" -gt 1 ] && [ "${took:-0}" -ge "${TCP[$1]}" ] || TCP[$1]=${took:-0}
	done
	stop_bg "$SERVER_PID"
}

# both_write LINK BUFFERS PORT
both_write() {
	local what="$1, buffers $2" buffers=$2 tcp sdp ms updates data bytes

	[ -n "${TCP[$2]:-}" ] || ask_tcp "$2" "$3"
	tcp=${TCP[$2]}
	serve sdp-run "$(($3 + 1))" "$buffers"
	updates=$(sdp_counter a tx_credit_updates) data=$(data_msgs)
	# with a margin of a tenth: TCP and SDP take a little more or less each time, on
	# which programs cannot rely
	bytes=$((${tcp:-0} * 9 / 10))
	# less may be a busy machine taken for a stall: what has stalled takes no
	# more in a longer time
	for ms in 300 3000 30000; do
		sdp=$(stalled sdp-run "$buffers" $ms)
		if [ "${sdp:-0}" -ge $bytes ] || [ "$buffers" -eq 0 ]; then
			break
		fi
	done
	updates=$(($(sdp_counter a tx_credit_updates) - updates))
	data=$(($(data_msgs) - data))
	ktap_diag "$what: each end wrote $tcp bytes over TCP," \
		"${sdp:-0} over SDP ($data messages, $updates credit updates)"
	if [ "$buffers" -eq 0 ] && [ "${sdp:-0}" -lt "${tcp:-0}" ]; then
		# no promise of an amount; but what was taken once has to be taken below, too
		bytes=$((${sdp:-0} * 9 / 10))
		ktap_check "$what: SDP takes something" test $bytes -gt 0
	else
		ktap_check "$what: SDP takes $bytes bytes at least, TCP $tcp" \
			test "${sdp:-0}" -ge $bytes -a $bytes -gt 0
	fi
	# two ends that cannot move data must not exchange credit updates for ever
	if [ "$updates" -le $((data + 50)) ]; then
		ktap_ok "$what: few credit updates are sent"
	else
		ktap_fail "$what: few credit updates are sent" "$updates, $data messages"
	fi
	ktap_check "$what: both write $bytes bytes, then both read, and all arrives" \
		mutual "$buffers" $bytes
	stop_bg "$SERVER_PID"
}

dev_up "${KIND:-hybrid}" "${KIND:-hybrid}" || ktap_skip_all "no devices"
ROUNDS=$(scaled 8 3)
MORE=()
[ -z "$LONG" ] || MORE=(65536 1048576)
PIECE=4096	# bytes of a send
port=5100
# over the verbs link with credits, over the shared link without
for link in basic enhanced; do
	ktap_check "$link: the link can be selected" stack_link $link
	for buffers in 0 16384 262144 "${MORE[@]}"; do
		both_write $link "$buffers" $port
		port=$((port + 2))
	done
done
# over the verbs link with the other flow controls
for policy in rdma vwin; do
	[ "$policy/${KIND:-hybrid}" != vwin/siw ] || continue
	in_a sysctl -q -w net.sdp.flow_control=$policy
	links=$(sdp_counter a "${USED[$policy]}")
	for buffers in 16384 262144; do
		both_write $policy $buffers $port
		port=$((port + 2))
	done
	[ "$(sdp_counter a "${USED[$policy]}")" -gt "$links" ] ||
		ktap_fail "$policy: the flow control was used"
done
# with sends that wait for their reader, and go into the buffers when none comes
in_a sysctl -q -w net.sdp.flow_control=credit
PIECE=20000
for pipelined in 0 1; do
	for ns in a b; do
		"in_$ns" sysctl -q -w net.sdp.zcopy_threshold=4096 \
			net.sdp.zcopy_pipelined=$pipelined || ktap_fail "the settings are accepted"
	done
	for buffers in 16384 262144 "${MORE[@]}"; do
		tried=$(sdp_counter a tx_srcavail) gave_up=$(sdp_counter a tx_zcopy_cancels)
		both_write "zero copy, pipelined $pipelined" "$buffers" $port
		tried=$(($(sdp_counter a tx_srcavail) - tried))
		gave_up=$(($(sdp_counter a tx_zcopy_cancels) - gave_up))
		ktap_diag "$tried advertisements, $gave_up cancelled"
		if [ $tried -eq 0 ] || [ $gave_up -eq 0 ]; then
			ktap_fail "zero copy, buffers $buffers: this is what was tried"
		fi
		port=$((port + 2))
	done
done
ktap_done
