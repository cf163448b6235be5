#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long count timeout=3000
#
# Hours of connections that come and go, with pauses of minutes. The link is good, or loses,
# reorders, duplicates and damages packets, or goes down for a while; programs are killed,
# and devices removed. No byte is lost, nothing is left, and memory does not grow.
#
# SOAK_HOURS (1) are those of the guest, whose clock skips idle time. SOAK_SEED (1) seeds the
# random choices. "make soak HOURS=24" is a day.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run sdpstat xfer tc rdma
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"

HOURS=${SOAK_HOURS:-1}
RANDOM=${SOAK_SEED:-1}
PORT=5060
PAUSE=240	# seconds without a connection, on average
GROWTH=1024	# KiB that the end may take more than the beginning
ROUNDS=0 BAD=0 LOST=0 BYTES=0
FREE=()
declare -A EVENTS

# pick VALUE...: one of them is left in PICK; a subshell would draw from a seed of its own
pick() { shift $((RANDOM % $#)) && PICK=$1; }

# link NETEM...: these options for both directions; none: a good link
link() {
	local ns dev

	for ns in a b; do
		dev=v$ns
		if [ $# -eq 0 ]; then
			tc -n $ns qdisc del dev $dev root 2>/dev/null
		else
			tc -n $ns qdisc replace dev $dev root netem "$@"
		fi
	done
}

# random_link: choose the properties of the link in this round
random_link() {
	case $((RANDOM % 5)) in
	0) link delay 5ms 1ms loss 1% ;;
	1) link delay 5ms reorder 25% 50% ;;
	2) link delay 2ms loss 0.5% duplicate 1% corrupt 0.5% ;;
	*) link ;;
	esac
}

# random_policy: flow control and zero copy of connections from now on
random_policy() {
	local ns policy

	pick auto auto credit transport
	policy=$PICK
	pick 0 0 65536
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.flow_control="$policy" net.sdp.zcopy_threshold="$PICK"
	done
}

serve() {
	start_bg b sdp-run -o xfer -s -p $PORT
	SERVER=$BG_PID
	wait_port b $PORT
}

# call: start a client in the background; its arguments are left in CALL, the bytes that it
# has to transfer in SIZE
call() {
	local up=$((RANDOM * 64)) down=$((RANDOM * 64))

	CALL=(-n "$up" -d "$down" -S "$RANDOM")
	pick 1 1 2 8
	CALL+=(-C "$PICK")
	SIZE=$(((up + down) * PICK))
	pick 1 3
	CALL+=(-r "$PICK")
	SIZE=$((SIZE * PICK))
	pick poll block
	CALL+=(-m "$PICK")
	pick 512 4096 65536
	CALL+=(-w "$PICK")
	start_bg a sdp-run -o timeout 900 xfer -h 10.0.0.2 -p $PORT -t 800 "${CALL[@]}"
}

# completes: wait for the client, and count it in LOST unless all bytes arrived, both ways
completes() {
	if wait "$BG_PID" && said "xfer: ok"; then
		BYTES=$((BYTES + SIZE))
		return
	fi
	LOST=$((LOST + 1))
	ktap_diag "round $ROUNDS: xfer ${CALL[*]}" "$(tail -n 3 "$BG_LOG")"
}

# event_*: what happens during a transfer
event_nothing() { completes; }

event_link() {
	nap 0.2
	in_a ip link set va down
	nap $((1 + RANDOM % 20))
	in_a ip link set va up
	completes
}

event_kill() {
	nap 0.1
	stop_bg "$BG_PID"
}

event_device() {
	local dev

	pick a b
	dev=$PICK
	nap 0.1
	rdma link delete "rd$dev" || BAD=$((BAD + 1))
	wait "$BG_PID"
	stop_bg "$SERVER"
	dev_add "$dev" "rd$dev" "v$dev" hybrid || BAD=$((BAD + 1))
	serve
}

nothing_left() { no_sockets && no_queue_pairs; }

# a_round: a transfer, something that happens meanwhile, a pause
a_round() {
	local event

	ROUNDS=$((ROUNDS + 1))
	pick nothing nothing nothing link kill device
	event=$PICK
	EVENTS[$event]=$((${EVENTS[$event]:-0} + 1))
	random_link
	random_policy
	call
	"event_$event"
	link
	nap $((PAUSE / 2 + RANDOM % PAUSE))
}

# quiet: stop the server, wait until no connection is left, and add the free memory to FREE
quiet() {
	stop_bg "$SERVER"
	if ! wait_for 120 nothing_left; then
		BAD=$((BAD + 1))
		ktap_diag "after round $ROUNDS" "$(in_a sdpstat -ae)" "$(in_b sdpstat -ae)"
	fi
	FREE+=("$(free_kb)")
	serve
}

# most FROM TO: of these values of FREE
most() { printf '%s\n' "${FREE[@]:$1:$(($2 - $1))}" | sort -n | tail -n 1; }

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.fin_timeout=5
done
serve
end=$((SECONDS + HOURS * 3600))
while [ $SECONDS -lt $end ]; do
	a_round
	[ $((ROUNDS % 3)) -ne 0 ] || quiet
done
stop_bg "$SERVER"
ktap_diag "$ROUNDS rounds in $HOURS h, $((BYTES >> 20)) MB" \
	"$(for e in "${!EVENTS[@]}"; do printf '%s: %s  ' "$e" "${EVENTS[$e]}"; done)" \
	"KiB free: ${FREE[*]}"
ktap_check "there were at least six rounds an hour" test "$ROUNDS" -ge $((HOURS * 6))
ktap_is "no transfer fails or loses a byte" $LOST 0
ktap_is "no socket or queue pair stays, and devices can be removed and added" $BAD 0
# the first value was taken before some caches were filled
n=${#FREE[@]}
grown=$(($(most 1 $((1 + n / 2))) - $(most $((n / 2)) "$n")))
ktap_check "memory does not grow: $grown KiB" test "$n" -ge 3 -a "$grown" -le $GROWTH
ktap_check "the devices can be removed" sh -c "rdma link delete rda && rdma link delete rdb"
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
