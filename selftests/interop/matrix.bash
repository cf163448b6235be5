# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One row of the interoperability matrix: unmodified programs and xfer, client in
# namespace a, server in b, over AF_SDP by sdp-run, on a given kind of RDMA device at each
# end. Sourced by the scripts named after the pair, and by long.sh.
#
#	XFER_MB		size of the checksummed transfer (64; under a debug
#			kernel 8)
#
# Each cell is one TAP line: the program succeeds, and its bytes go over SDP.

# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"
need sdp-run sdpstat xfer iperf3 redis-server redis-benchmark

SERVER=10.0.0.2
XFER_MB=${XFER_MB:-$(scaled 64 8)}
LIMIT=$(scaled 240 400)		# seconds for one program

# counter NAME: counter of the client's namespace, 0 if there is none
counter() {
	in_a sdpstat -s -z | awk -v name="$1" '
		$1 == name { print $2; ok = 1 }
		END { if (!ok) print 0 }'
}

sdp_bytes() {
	echo $(($(counter tx_bytes) + $(counter rx_bytes)))
}

sdp_listening() {
	in_b sdpstat -l 2>/dev/null | grep -q ":$1 "
}

# serve PORT COMMAND...: start a server in b over SDP, wait until it listens
serve() {
	local port=$1

	shift
	start_bg b sdp-run "$@"
	SERVER_PID=$BG_PID
	SERVER_LOG=$BG_LOG
	wait_for "$(scaled 20 60)" sdp_listening "$port" && return
	ktap_diag "server $1 does not listen on $port:" "$(cat "$SERVER_LOG")"
	return 1
}

# cell NAME MIN-BYTES PATTERN COMMAND...: the program in a ends with status 0, prints
# PATTERN (an extended regular expression, may be empty) and moves at least MIN-BYTES over SDP
cell() {
	local name="$PAIR $1: succeeds over SDP" min=$2 pattern=$3 before moved rc

	shift 3
	before=$(sdp_bytes)
	CELL_OUT=$(in_a timeout -k 5 "$LIMIT" sdp-run "$@" 2>&1 </dev/null)
	rc=$?
	moved=$(($(sdp_bytes) - before))
	if [ $rc -ne 0 ]; then
		ktap_fail "$name" "rc=$rc: $*" "$CELL_OUT" \
			"server: $(tail -n 20 "$SERVER_LOG")" \
			"$(in_a sdpstat -a -e 2>&1 | head -n 20)"
	elif [ -n "$pattern" ] && ! grep -qE "$pattern" <<<"$CELL_OUT"; then
		ktap_fail "$name" "no '$pattern' in:" "$CELL_OUT"
	elif [ "$moved" -lt "$min" ]; then
		ktap_fail "$name" "$moved bytes over SDP, expected $min" \
			"$CELL_OUT"
	else
		ktap_ok "$name"
	fi
}

cells_iperf3() {
	local mb min

	# iperf3 stops reading when the sender has sent enough
	mb=$(scaled 16 4)
	min=$((mb * 9 << 20))
	min=$((min / 10))
	serve 5201 iperf3 -s -B $SERVER -p 5201
	cell "iperf3" $min "receiver" \
		iperf3 -c $SERVER -p 5201 -n "${mb}M"
	cell "iperf3 reverse" $min "receiver" \
		iperf3 -c $SERVER -p 5201 -n "${mb}M" -R
	cell "iperf3 4 streams" $min "SUM.*receiver" \
		iperf3 -c $SERVER -p 5201 -n "${mb}M" -P 4
	stop_bg "$SERVER_PID"
}

cells_redis() {
	local n

	n=$(scaled 2000 200)
	serve 6379 redis-server --bind $SERVER --port 6379 --save "" \
		--appendonly no --protected-mode no
	cell "redis-benchmark" $((n * 20)) "GET: [0-9.]+ requests" \
		redis-benchmark -h $SERVER -p 6379 -t set,get -n "$n" -c 20 -q
	cell "redis-benchmark pipelined" $((n * 2000)) \
		"GET: [0-9.]+ requests" \
		redis-benchmark -h $SERVER -p 6379 -t set,get -n "$n" -c 10 \
		-P 16 -d 1000 -q
	stop_bg "$SERVER_PID"
}

cells_xfer() {
	local bytes=$((XFER_MB << 20)) up

	up=$((bytes / 2))
	serve 5010 xfer -s -p 5010 -h $SERVER
	cell "checksummed transfer of $XFER_MB MB" $bytes "^xfer: ok" \
		xfer -h $SERVER -p 5010 -n "${XFER_MB}M" -t "$LIMIT"
	cell "both ways at once, random sizes, half close" $((up / 4)) \
		"^xfer: ok" xfer -h $SERVER -p 5010 -n $((up / 8)) \
		-d $((up / 8)) -w 0 -R 0 -o eof -t "$LIMIT"
	cell "blocking calls, iovecs, peeking" $((up / 8)) "^xfer: ok" \
		xfer -h $SERVER -p 5010 -m block -n $((up / 16)) \
		-d $((up / 16)) -w 0 -R 0 -o iov,peek,eof -t "$LIMIT"
	cell "sendfile" $((up / 8)) "^xfer: ok" \
		xfer -h $SERVER -p 5010 -m block -n $((up / 8)) \
		-o sendfile,eof -t "$LIMIT"
	cell "$(scaled 1000 100) short connections" 100000 "^xfer: ok" \
		xfer -h $SERVER -p 5010 -r "$(scaled 1000 100)" -n 1000 \
		-t "$LIMIT"
	cell "$(scaled 200 50) concurrent connections" 1000000 "^xfer: ok" \
		xfer -h $SERVER -p 5010 -C "$(scaled 200 50)" -n 20000 \
		-d 20000 -o eof -t "$LIMIT"
	stop_bg "$SERVER_PID"
}

cells_xfer6() {
	local keep=$SERVER

	[ "$NET_MODE" = two ] || return
	SERVER=fd00::2
	serve 5011 xfer -s -p 5011 -h $SERVER
	cell "IPv6 transfer" 4000000 "^xfer: ok" \
		xfer -h $SERVER -p 5011 -n 2M -d 2M -w 0 -R 0 -t "$LIMIT"
	stop_bg "$SERVER_PID"
	SERVER=$keep
}

# cell_clean: no socket and no queue pair is left behind
cell_clean() {
	local left

	nothing_left() { no_sockets && no_queue_pairs; }
	if wait_for "$(scaled 30 90)" nothing_left; then
		ktap_ok "$PAIR: no socket and no queue pair is left behind"
	else
		left=$(in_a sdpstat -a; in_b sdpstat -a; rdma resource show qp)
		ktap_fail "$PAIR: no socket and no queue pair is left behind" "$left"
	fi
}

# matrix KIND-OF-A KIND-OF-B: all cells; IPv6 only if each end has a namespace
matrix() {
	PAIR="$1-$2"
	dev_up "$1" "$2" || ktap_skip_all "cannot make devices $PAIR"
	modprobe -q sdp
	cells_iperf3
	cells_redis
	cells_xfer
	cells_xfer6
	cell_clean
	ktap_done
}
