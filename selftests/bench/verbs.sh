# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "verbs" of guest.sh (sourced): verbs of the kernel over hybrid and siw,
# driven by completions in softirq, 16 requests under way (ulp_load.ko). "nocrc" is
# hybrid without CRC, "unmarked" without markers, "plain" without either, as siw to siw
# is; "siw-crc" is siw with CRC, "siw-gso" with segments larger than the MSS, which it has
# switched off. "referred" and "copied" are without markers, payload by reference or not,
# and only measured when asked for (VERBS_KINDS). Part "lossy": the same while the network
# loses or reorders packets, each of them a segment; "early" is hybrid that places what
# arrives out of order.

# shellcheck source=selftests/lib/ktest.sh
. "${SELFTESTS:-/selftests}/lib/ktest.sh"
# shellcheck source=selftests/bench/verbs_nic.sh
. "${SELFTESTS:-/selftests}/bench/verbs_nic.sh"

# what, size, times; run twice, the first is not counted
VERBS_FLOWS=(
	"send 4096 512" "write 4096 512" "read 4096 512"
	"send 65536 512" "write 65536 512" "read 65536 512"
	"send 1048576 32" "write 1048576 32" "read 1048576 32"
	"ping 1 400" "ping 4096 200" "ping 65536 50"
)

# profile.sh wants one of them
[ -z "${VERBS_FLOW:-}" ] || VERBS_FLOWS=("$VERBS_FLOW")

# Of one packet in a hundred, in both directions; RTT is 0.2 ms
LOSSY_NETEM=("loss 1%" "reorder 1%")
LOSSY_FLOWS=("send 65536 256" "write 65536 256" "read 65536 256")

# Part "sides": the share of the work that each end does, see ulp_load/load_side.c.
# report.py adds the counts of the emulator to the rows: as many, in the same order.
SIDES_FLOWS=(
	"send 4096 512" "write 4096 512" "read 4096 512"
	"send 65536 512" "write 65536 512" "read 65536 512"
	"send 1048576 32" "write 1048576 32" "read 1048576 32"
)
SIDES=

# Part "qps": how many connections at a time, and how often. The first round does not
# count: it allocates what all connections share
QPS_CONNS=${QPS_CONNS:-1000}
QPS_ROUNDS=${QPS_ROUNDS:-3}

# what the rows call the link
VERBS_LINK=verbs

VERBS_EARLY=/sys/class/infiniband/rdb/ports/1/hw_counters/rx_ooo_fpdus
VERBS_MARKS=/sys/module/ulp_load/parameters/marks

# verbs_run TEST...: over a fresh connection; the time it took is left in NSECS
verbs_run() {
	echo clear >"$KT/run"
	kt_tell a open 10.0.0.2 7800 1 && kt_tell a "$@"
	NSECS=$(cat /sys/module/ulp_load/parameters/nsecs)
	kt_tell a close
	! grep -v '^ok' "$KT/results" >&2
}

# verbs_row KIND MTU WHAT SIZE TIMES
verbs_row() {
	local what=verbs-$3/$1 crc=none row figure

	[ "$3" != ping ] || what=verbs-send/$1
	case $1 in
	hybrid | unmarked | early | referred | copied) crc=$(crc_driver veth verbs/host) ;;
	siw-crc) crc=$(crc_driver veth verbs/siw) ;;
	esac
	echo 0 >$VERBS_MARKS
	if ! verbs_run "$3" "$4" 16 || ! echo 1 >$VERBS_MARKS ||
		! verbs_run "$3" "$4" "$5"; then
		fail "$what, MTU $2: $3 $4"
		return
	fi
	if [ -n "$SIDES" ]; then
		row="\"part\":\"sides\",\"what\":\"$what\",\"mtu\":$2"
		echo "BENCH {$row,\"crc\":\"$crc\",\"size\":$4,\"bytes\":$(($4 * $5))}"
		return
	fi
	if [ "$3" = ping ]; then
		figure="\"lat_us\":$(awk "BEGIN { print $NSECS / $5 / 2000 }")"
	else
		figure="\"mbps\":$(awk "BEGIN { print $4 * $5 * 1000 / $NSECS }")"
	fi
	row="\"link\":\"$VERBS_LINK\",\"what\":\"$what\",\"mtu\":$2,\"interval\":\"512\""
	echo "BENCH {$row,\"crc\":\"$crc\",\"size\":$4,$figure}"
}

# verbs_siw KIND: what the next connections are made with
verbs_siw() {
	local p=/sys/module/siw/parameters crc=0 gso=0

	case $1 in
	siw-crc) crc=1 ;;
	siw-gso) gso=1 ;;
	esac
	echo $crc >$p/mpa_crc_required && echo $gso >$p/try_gso && verbs_listen
}

verbs_listen() { modprobe ulp_load ${SIDES:+sides=1} && kt_tell b listen 10.0.0.2 7800; }

# verbs_up KIND MTU
verbs_up() {
	local d kind=$1

	case $kind in
	nocrc | plain | unmarked | referred | copied | early) kind=hybrid ;;
	siw-*) kind=siw ;;
	esac
	setup veth "verbs/$kind" "$2" 512 || return
	case $1 in
	siw*) verbs_siw "$1"; return ;;
	esac
	for d in rda rdb; do
		case $1 in
		nocrc | plain)
			echo 0 >/sys/class/infiniband/$d/hybrid/crc || return
			;;
		esac
		case $1 in
		unmarked | referred | copied | plain)
			echo off >/sys/class/infiniband/$d/hybrid/markers || return
			;;
		early)
			echo on >/sys/class/infiniband/$d/hybrid/ooo || return
			;;
		esac
		case $1 in
		referred) echo reference >/sys/class/infiniband/$d/hybrid/tx_payload ;;
		copied) echo copy >/sys/class/infiniband/$d/hybrid/tx_payload ;;
		esac || return
	done
	verbs_listen
}

# verbs_kind KIND MTU NETEM FLOW...: all flows over one kind of device
verbs_kind() {
	local kind=$1 mtu=$2 netem=$3 flow

	shift 3
	echo "bench: $VERBS_LINK/$kind, MTU $mtu ..."
	verbs_up "$kind" "$mtu" || fail "$VERBS_LINK/$kind: setup"
	# shellcheck disable=SC2086 # several words
	[ -z "$netem" ] || lossy_net $netem || fail "$VERBS_LINK/$kind: netem"
	for flow in "$@"; do
		# shellcheck disable=SC2086 # several words
		verbs_row "$kind" "$mtu" $flow
	done
	if [ "$kind" = early ] && ! [ "$(cat $VERBS_EARLY)" -gt 0 ]; then
		fail "$VERBS_LINK/early, MTU $mtu: nothing was placed early"
	fi
	modprobe -r ulp_load
	net_down
}

# lossy_net NETEM...
lossy_net() {
	local end

	for end in "a va" "b vb"; do
		in-ns "${end% *}" ethtool -K "${end#* }" tso off gso off gro off &&
			tc -n "${end% *}" qdisc replace dev "${end#* }" root netem \
				delay 100us limit 10000 "$@" || return
	done
}

verbs_module() {
	kt_load ulp_load && modprobe -r ulp_load && return
	fail "verbs: no test module"
	return 1
}

verbs_all() {
	local mtu kind

	verbs_module || return
	# shellcheck disable=SC2153 # from the environment, not VERBS_OPS
	if [ "$VERBS_ON" = hnic ]; then
		verbs_nic_all
		return
	fi
	for mtu in $MTUS; do
		for kind in ${VERBS_KINDS:-hybrid unmarked nocrc plain siw siw-crc siw-gso}; do
			verbs_kind "$kind" "$mtu" '' "${VERBS_FLOWS[@]}"
		done
	done
}

lossy_all() {
	local mtu kind netem

	verbs_module || return
	for netem in "${LOSSY_NETEM[@]}"; do
		VERBS_LINK="verbs, $netem"
		for mtu in $MTUS; do
			for kind in hybrid early unmarked nocrc plain siw siw-crc; do
				verbs_kind "$kind" "$mtu" "$netem" \
					"${LOSSY_FLOWS[@]}"
			done
		done
	done
}

sides_all() {
	local mtu kind

	verbs_module || return
	SIDES=1
	for mtu in $MTUS; do
		for kind in ${VERBS_KINDS:-hybrid unmarked siw-crc nocrc plain siw}; do
			verbs_kind "$kind" "$mtu" '' "${SIDES_FLOWS[@]}"
		done
	done
	SIDES=
}

# objects_kb: what kmalloc(), caches and vmalloc() have given out
objects_kb() { awk '/^Slab:|^VmallocUsed:/ { sum += $2 } END { print sum }' /proc/meminfo; }

nsecs() { cat /sys/module/ulp_load/parameters/nsecs; }

# qps_row KIND CONNS ROUND MADE ENDED OBJECTS FREE: ns and KiB, of all connections
qps_row() {
	awk -v what="verbs/$1" -v n="$2" -v round="$3" -v made="$4" -v ended="$5" \
		-v objects="$6" -v free="$7" 'BEGIN {
		printf "BENCH {\"part\":\"qps\",\"what\":\"%s\",\"conns\":%d,\"round\":%d," \
			"\"open_us\":%.3f,\"close_us\":%.3f," \
			"\"objects\":%.1f,\"memory\":%.1f}\n",
			what, n, round, made / n / 1000, ended / n / 1000,
			objects * 1024 / n / 2, free * 1024 / n / 2 }'
}

# qps_round KIND CONNS ROUND: connections that do nothing, made and ended
qps_round() {
	local objects free made

	free=$(free_kb)
	objects=$(objects_kb)
	echo clear >"$KT/run"
	kt_tell a open 10.0.0.2 7800 "$2" || return
	made=$(nsecs)
	! grep -v '^ok' "$KT/results" >&2 || return
	# an idle queue pair of hybrid gives back the memory that it does not need within seconds
	sleep 20
	free=$((free - $(free_kb)))
	objects=$(($(objects_kb) - objects))
	kt_tell a close || return
	[ "$3" = 0 ] || qps_row "$1" "$2" "$3" "$made" "$(nsecs)" "$objects" "$free"
	wait_for 60 no_queue_pairs
}

qps_all() {
	local kind round

	verbs_module || return
	for kind in ${VERBS_KINDS:-hybrid siw}; do
		echo "bench: $QPS_CONNS connections of verbs/$kind ..."
		verbs_up "$kind" 1500 || fail "qps/$kind: setup"
		for ((round = 0; round <= QPS_ROUNDS; round++)); do
			qps_round "$kind" "$QPS_CONNS" "$round" ||
				fail "qps/$kind: round $round"
		done
		modprobe -r ulp_load
		net_down
	done
}
