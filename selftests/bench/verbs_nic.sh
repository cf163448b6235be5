# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "verbs" of guest.sh with LINK=hnic (sourced by verbs.sh): verbs of the kernel over
# the simulated NIC, so that each profile is measured without sockets. A row for each
# profile, MTU, marker interval (INTERVALS, 512 by default), test, request and size:
#
#   VERBS_TESTS  bw    one way, a window of each of VERBS_Q, refilled by halves
#                lat   there and back, half of it; a Write is noticed by its last byte,
#                      and its completion by looking at the queue
#                bibw, bilat  both ways at once; the time of an iteration
#                fifo  as bw, in VERBS_BUFFERS buffers in turn at both ends
#                reuse as bw, VERBS_REUSE per cent in one buffer, others in new regions
#                spin  as bw, VERBS_SPIN_NS of computation before each request
#                poll, event  as lat, completions noticed by looking at the queue, by a
#                      thread that an event wakes
#   VERBS_OPS    send write read
#   VERBS_SIZES, VERBS_COUNT (requests; by default as many as are 4 MB)
#
# "mbps" includes the time of the NICs, which is beside it. "counters" are for a request,
# of its sender (tx) and receiver (rx); those of the NIC are of the sending one.

VERBS_TESTS=${VERBS_TESTS:-bw lat}
VERBS_OPS=${VERBS_OPS:-send write}
VERBS_SIZES=${VERBS_SIZES:-1 64 1024 4096 16384 65536 262144}
VERBS_Q=${VERBS_Q:-16}
VERBS_BUFFERS=${VERBS_BUFFERS:-1 4 16 32}
VERBS_REUSE=${VERBS_REUSE:-0 25 50 75 100}
VERBS_SPIN_NS=${VERBS_SPIN_NS:-0 2000 4000 8000 16000 32000}

# verbs_count TEST SIZE: requests of a row
verbs_count() {
	local n=$(((4 << 20) / $2))

	case $1 in
	lat | bilat | poll | event) n=$((n > 100 ? 100 : n)) ;;
	esac
	n=$((n > 512 ? 512 : n < 16 ? 16 : n))
	echo "${VERBS_COUNT:-$n}"
}

# verbs_timed CQ TEST...: over a fresh connection, once before it counts
verbs_timed() {
	local cq=$1 op=$2 size=$3 count=$4

	shift 4
	{ kt_tell a cq "$cq" && verbs_run "$op" "$size" 16 "$@"; } || return
	echo clear >"$KT/run"
	kt_tell a open 10.0.0.2 7800 1 || return
	counters_take before
	echo 1 >"$VERBS_MARKS"
	kt_tell a "$op" "$size" "$count" "$@"
	echo 0 >"$VERBS_MARKS"
	NSECS=$(nsecs)
	counters_take after
	kt_tell a close
	! grep -v '^ok' "$KT/results" >&2
}

# verbs_point PROFILE MTU INTERVAL TEST OP SIZE [FIELD VALUE [OPTION...]]: one row
verbs_point() {
	local profile=$1 mtu=$2 interval=$3 test=$4 op=$5 size=$6 cq=softirq count kind

	shift 6
	count=$(verbs_count "$test" "$size")
	case $test in
	lat | bilat | poll | event) kind=${op/send/ping} kind=${kind/write/write-ping} ;;
	*) kind=$op ;;
	esac
	case $test/$op in
	poll/* | event/*) cq=$test ;;
	lat/write) cq=poll ;;
	esac
	if ! verbs_timed "$cq" "$kind" "$size" "$count" "${@:3}"; then
		fail "verbs-$op/$profile, MTU $mtu: $test $size $*"
		return
	fi
	awk -v head="\"part\":\"verbs\",\"link\":\"hnic\",\"what\":\"verbs-$op/$profile\",\"mtu\":$mtu,\"interval\":\"$interval\",\"crc\":\"$(crc_driver hnic "verbs/$profile")\",\"test\":\"$test\",\"size\":$size${1:+,\"$1\":$2}${SET_TEXT:+,\"set\":\"$SET_TEXT\"}" \
		-v test="$test" -v op="$op" -v size="$size" -v count="$count" -v ns="$NSECS" \
		-f "$LIB_DIR/counters.awk" -f "$BENCH_DIR/verbs_nic.awk" \
		"$COUNTERS/before" "$COUNTERS/after"
}

# verbs_points PROFILE MTU INTERVAL TEST OP SIZE: the rows of a test
verbs_points() {
	local v

	case $4 in
	bw) for v in $VERBS_Q; do verbs_point "$@" q "$v" "window=$v"; done ;;
	bibw) for v in $VERBS_Q; do verbs_point "$@" q "$v" "window=$v" both; done ;;
	bilat) verbs_point "$@" q 1 both ;;
	fifo) for v in $VERBS_BUFFERS; do verbs_point "$@" buffers "$v" "buffers=$v"; done ;;
	reuse) for v in $VERBS_REUSE; do verbs_point "$@" reuse "$v" "reuse=$v"; done ;;
	spin) for v in $VERBS_SPIN_NS; do verbs_point "$@" compute_ns "$v" "spin=$v"; done ;;
	*) verbs_point "$@" ;;
	esac
}

# verbs_profile PROFILE MTU INTERVAL
verbs_profile() {
	local test op size

	echo "bench: verbs/$1 over hnic, MTU $2, marker interval $3 ..."
	if ! setup hnic "verbs/$1" "$2" "$3" || ! stack_profile "$1" || ! stack_markers "$3" ||
		! verbs_listen; then
		fail "verbs/$1, MTU $2: setup"
	else
		for test in $VERBS_TESTS; do
			for op in $VERBS_OPS; do
				# these are Sends only, or have no regions at the other end
				case $test/$op in
				bilat/write | bilat/read | lat/read | poll/write | poll/read | \
					event/write | event/read | reuse/read) continue ;;
				esac
				for size in $VERBS_SIZES; do
					verbs_points "$1" "$2" "$3" "$test" "$op" "$size"
				done
			done
		done
	fi
	modprobe -q -r ulp_load
	net_down
}

verbs_nic_all() {
	local mtu profile interval

	for mtu in $MTUS; do
		for profile in $PROFILES; do
			for interval in ${INTERVALS_VERBS:-512}; do
				verbs_profile "$profile" "$mtu" "$interval"
			done
		done
	done
}
