#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpbench over SMC-R, over rxe: the data are in RDMA packets. A connection that has fallen
# back to TCP is refused, with the reason.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/smc.sh
. "$(dirname "$0")/../lib/smc.sh"
need sdpbench jq python3

ROWS=/run/smc.json

# bench OPTION...: rows are left in $ROWS
bench() {
	in_b timeout 120 sdpbench -t smc -w 10 -j -r 2 -n "$(scaled 50 10)" -P 20 -S 64K -L 1 "$@" \
		10.0.0.1 >"$ROWS"
}

# serve: start a server for one client
serve() {
	start_bg a sdpbench -s -1 -t smc -b 10.0.0.1
	wait_for 20 said "port 7471"
}

net_up || ktap_skip_all "no network"
if ! modprobe -q smc; then
	ktap_check_fails "sdpbench -t smc fails without SMC" in_a sdpbench -t smc 10.0.0.2
	ktap_is "sdpbench -t smc says that the kernel has no SMC" "$(grep -c "the kernel has no SMC sockets" <<<"$KTAP_OUT")" 1
	ktap_skip "sdpbench -t smc runs over rxe" "this kernel has no SMC"
	ktap_done
fi

# a network without RDMA
serve
ktap_check_fails "sdpbench -t smc fails without an RDMA device" bench
ktap_is "sdpbench -t smc says that SMC fell back to TCP" \
	"$(grep -c "fell back to TCP, reason 0x03" <<<"$KTAP_OUT")" 1
stop_bg "$BG_PID"
net_down

if ! kver_ge 6.12; then
	ktap_skip "sdpbench -t smc runs over rxe" "SMC of this kernel waits for ever in smc_wr_drain_cq() with rxe"
	ktap_done
fi
dev_up rxe rxe || ktap_skip_all "no devices"
ktap_check "SMC accepts its ID and the rxe devices" smc_up
serve
before=$(rxe_packets)
ktap_check "sdpbench -t smc runs over rxe" bench || ktap_diag "$(cat "$BG_LOG")"
moved=$(($(rxe_packets) - before))
ktap_check "bw and lat have a row of smc each" jq -e '[.rows[] | .transport] == ["smc", "smc"]' $ROWS
# 64 KB take 64 packets of 1 KB
ktap_check "the data passes over RoCE ($moved packets)" test "$moved" -gt $(($(scaled 50 10) * 2 * 64))
wait_for 20 is_gone "$BG_PID"
ktap_done
