#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A peer that speaks proper iWARP but breaks the rules of SDP, against an SDP
# server, or looks whether the server keeps to those about credits. Each connection
# ends or goes on as it has to, the counter of that mistake rises, a healthy
# connection is not disturbed, and nothing is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-hostile sdp-actions sdp-echo sdp-run sdpstat python3

SERVER=10.0.0.2

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
start_bg b sdp-echo -s -h $SERVER -p 5020
server=$BG_PID
wait_for 20 said listening ||
	ktap_fail "the server listens" "$(cat "$BG_LOG")"
start_bg a sdp-echo -h $SERVER -p 5020
healthy=$BG_PID
log=$BG_LOG
wait_for 20 said connected "$log" ||
	ktap_fail "the healthy connection" "$(cat "$log")"

for what in hello credits sdp shared ring immediate hold; do
	in_a hyb-hostile -h $SERVER -p 5020 \
		-s "in-ns b sdpstat -s -z" $what > "$OUT/$what.tap" 2>&1
	ktap_include <(grep -v '# SKIP' "$OUT/$what.tap")
done

# to a connection that nobody has accepted
start_bg b sdp-actions listen $SERVER 5022 100 pause
wait_port b 5022
for only in "SDP: MSeq" "SDP: unknown message 4" "Data after DisConn" "SDP: AbortConn"; do
	in_a hyb-hostile -h $SERVER -p 5022 -s "in-ns b sdpstat -s -z" -o "$only" sdp \
		> "$OUT/unaccepted.tap" 2>&1
	ktap_include "$OUT/unaccepted.tap" "not accepted"
done
stop_bg "$BG_PID"

# a peer whose MSeqAck does not move: timers end what waits for credits
in_b sysctl -q -w net.sdp.fin_timeout=2
start_bg b sdp-run /usr/bin/python3 "$(dirname "$0")/frozen.py" $SERVER 5023
frozen_log=$BG_LOG
wait_for 30 said listening || ktap_fail "frozen.py listens" "$(cat "$BG_LOG")"
# frozen SUITE RESULTS: what the program is told of peers that keep it waiting
frozen() {
	local before

	before=$(wc -l <"$frozen_log")
	in_a hyb-hostile -h $SERVER -p 5023 -s "in-ns b sdpstat -s -z" "$1" \
		> "$OUT/$1.tap" 2>&1
	ktap_include "$OUT/$1.tap" "$1"
	ktap_is "what the program is told of $1 peers" \
		"$(tail -n +$((before + 1)) "$frozen_log" | xargs)" "$2"
}
all="u ETIMEDOUT u ETIMEDOUT k ETIMEDOUT c - c - l - 0 -"
frozen frozen "$all"
frozen frozen-ring "$all"
# keepalive leaves the peer to TCP, which it answers
frozen frozen-hold "u ETIMEDOUT c - l - 0 -"
frozen frozen-shared "u ETIMEDOUT c - l - 0 -"
stop_bg "$BG_PID"
in_b sysctl -q -w net.sdp.fin_timeout=60

# what goes wrong somewhere on the way, a few times; hostile-walk has more
PINNED=$(pinned)
for what in walk walk-shared walk-ring walk-hold; do
	in_a hyb-hostile -h $SERVER -p 5020 -n "${WALKS:-25}" "$what" \
		> "$OUT/$what.tap" 2>&1
	ktap_include "$OUT/$what.tap"
done
ktap_check "nothing is pinned" wait_for 20 none_pinned

# what is wrong below SDP, on a shared link: without markers and with them
for interval in 0 256; do
	in_a hyb-hostile -h $SERVER -p 5020 -i $interval \
		-s "rdma statistic show link rdb/1" wire > "$OUT/wire.tap" 2>&1
	# without markers those about markers skip themselves
	ktap_include <(grep -v '# SKIP' "$OUT/wire.tap")
done

kill -TERM "$(pgrep -x sdp-echo -P "$healthy" || echo "$healthy")"
wait "$healthy"
rc=$?
if [ $rc -eq 0 ] && grep -q " echoes" "$log"; then
	ktap_ok "the healthy connection was not disturbed"
else
	ktap_fail "the healthy connection was not disturbed" "rc=$rc $(cat "$log")"
fi
ktap_check "the server still works" in_a timeout 20 sh -c \
	"sdp-echo -h $SERVER -p 5020 & sleep 2; kill \$!; wait \$!"
stop_bg "$server"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module goes" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
