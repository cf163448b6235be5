#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400 long
#
# SDP over hnic in each profile while the link cuts, joins, loses and reorders,
# while engines are switched, and when the NIC goes: the data arrive.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"

start
bytes=$(scaled 200000 50000)
for p in $PROFILES; do
	attr profile "$p"
	both split 200000
	both coalesce 300000
	ktap_check "$p: middle box cuts and joins" transfer "$bytes"
	both loss 10000
	both reorder 20000
	ktap_check "$p: and loses and reorders" transfer "$bytes"
	both loss 0
	both reorder 0
	both split 0
	both coalesce 0
done

switch_engines() {
	local i f

	for ((i = 0; i < 6; i++)); do
		for f in tx-crc rx-crc rx-demux tx-contig tx-sg rx-place; do
			flag "iwarp-$f" off
			sleep 0.05
			flag "iwarp-$f" on
		done
	done
}

for p in hybrid offload-contig offload-sg; do
	attr profile "$p"
	serve
	start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n 6000000 -d 6000000 -t 100
	client=$BG_PID
	sleep 0.3
	switch_engines
	ktap_check "$p: engines switched under load" wait "$client"
	stop_bg "$SERVER_PID"
done
attr profile hybrid

both max_conns 0
snapshot
ktap_check "a full table" transfer 100000
same "leaves it to software" tx_engine_crc_filled
both max_conns 1024

serve
start_bg a sdp-run xfer -h "$SERVER" -p "$port" -n 60000000 -t 100
sleep 0.5
in_a ip link set va down
sleep 0.2
in_a ip link set va up
ktap_check "connections stay over down and up" \
	test "$(in_a cat /sys/class/net/va/hnic/connections)" -gt 0
ktap_check "NIC deleted under load" in_a ip link del va
stop_bg "$BG_PID"
stop_bg "$SERVER_PID"

ktap_done
