#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# Memory of an idle connection is freed, except the memory that waiting FPDUs need. A NIC that
# computes CRCs needs records of FPDUs. Blocks of them are full, TCP cannot send, and the
# answer to a probe waits. On one of the connections its record is the first of the next block.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need python3 tc jq
PROG=$(dirname "$0")/idle.py
PORT=5390
CONNECTIONS=16

# program a|b WHAT: start idle.py WHAT, which reads lines from /run/idle.WHAT
program() {
	rm -f "/run/idle.$2"
	mkfifo "/run/idle.$2"
	start_bg "$1" sh -c "exec sdp-run python3 $PROG $2 $PORT <>/run/idle.$2"
}

# connects PROFILE: both programs are connected
connects() {
	attr profile "$1"
	program b serve
	SERVER=$BG_PID SERVER_LOG=$BG_LOG
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
	program a send
	CLIENT=$BG_PID CLIENT_LOG=$BG_LOG
	ktap_check "$1: connections" wait_for 60 said ready "$CLIENT_LOG"
}

ends() {
	stop_bg "$CLIENT"
	stop_bg "$SERVER"
}

# memory: bytes of the queue pair that has most
memory() { rdma -jdd resource show qp | jq '[.[] | .drv_memory // 0] | max'; }
light() { [ "$(memory)" -lt $((HOST + 4096)) ]; }

answered() { [ "$(hyb_of tx_fpdus)" -ge $((BEFORE + CONNECTIONS)) ]; }

start
# nothing but an acknowledgment makes TCP send again
in_a sysctl -qw net.ipv4.tcp_wmem="4096 1000000 4000000" net.ipv4.tcp_early_retrans=0
ip -n a route replace 10.0.0.0/24 dev va src 10.0.0.1 initcwnd 140 rto_min 100s
connects host
# two visits, and some more
nap 5
HOST=$(memory)
ends
connects hybrid
ktap_check "an idle connection keeps no empty block of records" wait_for 20 light
in_a tc qdisc add dev va root netem delay 20s limit 10000
snapshot
echo >/run/idle.send
ktap_check "messages are sent" wait_for 30 said sent "$CLIENT_LOG"
BEFORE=$(hyb_of tx_fpdus)
echo >/run/idle.serve
PATIENCE=1 ktap_check "probes are answered" wait_for 10 answered
ktap_check_fails "no message has arrived so far" said received "$SERVER_LOG"
ktap_check "all messages arrive" wait_for 60 said received "$SERVER_LOG"
ktap_is "no data is wrong" "$(grep wrong "$SERVER_LOG")" ""
grew "the NIC has filled in CRCs" tx_engine_crc_filled
ends
ktap_done
