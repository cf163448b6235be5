#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Programs of the distribution that interop/verbs does not run, hybrid to hybrid:
# examples of rdma-core, rsockets, all of perftest, qperf, libfabric.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need rping ucmatose riostream rstream cmtime rdma_server rdma_client rdma_xserver \
	rdma_xclient rcopy ib_send_lat ib_write_lat ib_read_lat ib_read_bw \
	ib_atomic_bw qperf fi_pingpong

SERVER=10.0.0.2
LIMIT=$(scaled 60 300)

port_open() { in_b ss -Hltn "sport = :$PORT" | grep -q .; }

# pair NAME PORT SERVER-COMMAND -- CLIENT-COMMAND: both must end with 0
pair() {
	local name=$1 server=() log rc server_rc

	PORT=$2
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	start_bg b timeout -k 5 "$LIMIT" "${server[@]}"
	log=$BG_LOG
	wait_for 20 port_open
	in_a timeout -k 5 "$LIMIT" "$@" >"$log.client" 2>&1 </dev/null
	rc=$?
	[ $rc -eq 0 ] || kill_tree "$BG_PID"
	wait "$BG_PID"
	server_rc=$?
	if [ $rc -eq 0 ] && [ $server_rc -eq 0 ]; then
		ktap_ok "$name"
	else
		ktap_fail "$name" "client rc=$rc, server rc=$server_rc" \
			"$(tail -n 15 "$log.client")" "server:" \
			"$(tail -n 15 "$log")"
	fi
}

# Each program of perftest has its own port: the listener of the one before is
# closed in the background
PERF_PORT=18700
perf() {
	local prog=$1

	shift
	PERF_PORT=$((PERF_PORT + 1))
	pair "$prog $*" $PERF_PORT "$prog" -d rdb -R -F -p $PERF_PORT "$@" -- \
		"$prog" -d rda -R -F -p $PERF_PORT "$@" $SERVER
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
n=$(scaled 100 20)

pair "rping, IPv6" 7174 rping -s -a fd00::2 -C 20 -v -- \
	rping -c -a fd00::2 -C 20 -v -V
ktap_is "rping over IPv6: all data came back" "$(grep -ac '^ping data: ' "$BG_LOG.client")" 20
pair "ucmatose" 7471 ucmatose -b $SERVER -c 4 -C 20 -S 2000 -- \
	ucmatose -s $SERVER -c 4 -C 20 -S 2000
# Its server goes on for ever
PORT=18515
start_bg b cmtime -b $SERVER -c 10
wait_for 20 port_open
ktap_check "cmtime succeeds" in_a timeout -k 5 "$LIMIT" cmtime -b 10.0.0.1 -s $SERVER -c 10
stop_bg "$BG_PID"
pair "riostream" 7471 riostream -b $SERVER -C "$n" -I 10 -S 65536 -- \
	riostream -s $SERVER -C "$n" -I 10 -S 65536
pair "rstream, nonblocking" 7471 rstream -b $SERVER -T n -C "$n" -I 10 -S 4096 -- \
	rstream -s $SERVER -T n -C "$n" -I 10 -S 4096
pair "rdma_server, rdma_client" 7472 rdma_server -s $SERVER -p 7472 -- \
	rdma_client -s $SERVER -p 7472
pair "rdma_xserver, rdma_xclient" 7473 rdma_xserver -p 7473 -- \
	rdma_xclient -s $SERVER -p 7473
# Its server, too, goes on for ever
PORT=7427
start_bg b rcopy
wait_for 20 port_open
head -c 3000000 /dev/urandom >/run/rcopy.in
ktap_check "rcopy succeeds" in_a timeout -k 5 "$LIMIT" rcopy /run/rcopy.in $SERVER:/run/rcopy.out
ktap_check "rcopy copies the whole file" cmp /run/rcopy.in /run/rcopy.out
stop_bg "$BG_PID"
rm -f /run/rcopy.in /run/rcopy.out
perf ib_send_lat -n "$n"
perf ib_send_lat -n "$n" -s 64 -I 64
perf ib_write_lat -n "$n"
perf ib_read_lat -n "$n"
perf ib_send_bw -n "$n" -e
perf ib_send_bw -n "$n" -r 64 --use-srq
perf ib_write_bw -n "$n" -q 4
perf ib_read_bw -n "$n" -o 16
perf ib_send_bw -n 20 -s 1048576
# There are no atomic operations in the ABI: an error of the program, at once
PORT=18690
start_bg b timeout -k 5 "$LIMIT" ib_atomic_bw -d rdb -R -F -p $PORT -n "$n"
wait_for 20 port_open
in_a timeout -k 5 "$LIMIT" ib_atomic_bw -d rda -R -F -p $PORT -n "$n" $SERVER \
	>"$BG_LOG.client" 2>&1 </dev/null
rc=$?
if [ $rc -gt 0 ] && [ $rc -lt 124 ]; then
	ktap_ok "ib_atomic_bw ends with an error"
else
	ktap_fail "ib_atomic_bw ends with an error" "rc=$rc" \
		"$(tail -n 15 "$BG_LOG.client")"
fi
ktap_diag "$(grep -i "error\|fail\|couldn" "$BG_LOG.client" | head -n 1)"
stop_bg "$BG_PID"
# One server for all: -cm1 takes the connection manager's addresses
qperf_is_up() { in_b ss -Hltn "sport = :19765" | grep -q .; }
start_bg b qperf
wait_for 20 qperf_is_up
# It serves one client after the other, who wait 5 s at most; and rc_bi_bw leaves
# messages without a receive, for which a device waits a while
qperf_is_idle() { [ "$(pgrep -cx qperf)" -eq 1 ]; }
# (rc_rdma_write_lat and _bw want immediate data, for which the ABI has no room)
for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw \
	rc_rdma_write_poll_lat; do
	wait_for 20 qperf_is_idle
	ktap_check "qperf $test succeeds" in_a timeout -k 5 "$LIMIT" qperf -t 1 -cm1 \
		$SERVER $test
done
# -S: all sizes would take long; the receive queue of this program runs empty, and
# the ABI has no doorbell for receives
for size in 64 65536; do
	pair "fi_pingpong, verbs, $size" 47592 \
		fi_pingpong -p verbs -e msg -I 20 -S $size -- \
		fi_pingpong -p verbs -e msg -I 20 -S $size $SERVER
	pair "fi_pingpong, verbs;ofi_rxm, $size" 47592 \
		fi_pingpong -p 'verbs;ofi_rxm' -e rdm -I 20 -S $size -- \
		fi_pingpong -p 'verbs;ofi_rxm' -e rdm -I 20 -S $size $SERVER
done
ktap_done
