#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# A listener that waits for the Requests of too many silent peers ends the oldest of the
# address that has most, so that a client that talks is served, and a client at another
# address has its time. Nothing is left of those that were ended, though
# their peer does not answer the end. TCP does not ask it again for a socket of the
# kernel.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target rdma tc ss python3

STARTING=1024 # HYB_MAX_STARTING
MORE=64
PORT=7970
REFUSED=1024 # HYB_MAX_REFUSED

# sockets STATE: in b, of the listener's port. The small ones of TIME_WAIT, which ss lists in
# the state before it, do not count
sockets() { in_b ss -Hanto state "$1" sport = :$PORT | grep -vc timewait; }
none_left() { [ "$(sockets fin-wait-2)" -eq 0 ]; }

# answered COUNT: so many clients of the listener that refuses, until "exec 5>&-"
answered() {
	in_a python3 "$(dirname "$0")/refused.py" 10.0.0.2 $PORT "$1" answered \
		</run/more >"$OUT/refused.log" 2>&1 &
	PEER=$!
	exec 5>/run/more
}
as_many() { [ "$(sockets established)" -le "$STARTING" ]; }

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-target -h 10.0.0.2 -p 7970
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"

# FINs are lost
tc -n b qdisc add dev vb clsact
tc -n b filter add dev vb egress protocol ip u32 match ip protocol 6 0xff \
	match u8 0x01 0x01 at 33 action drop || ktap_skip_all "no filter for FIN"
mkfifo /run/more
in_a python3 "$(dirname "$0")/refused.py" 10.0.0.2 7970 $STARTING $MORE \
	</run/more >"$OUT/refused.log" 2>&1 &
PEER=$!
exec 5>/run/more
ktap_check "the largest number of requests waits" wait_for 20 said "connected $STARTING" \
	"$OUT/refused.log"
echo >&5
ktap_check "more requests arrive" wait_for 20 said "connected $((STARTING + MORE))" \
	"$OUT/refused.log"
ktap_check "the oldest requests end" wait_for 20 as_many
ktap_check "younger requests still wait" [ "$(sockets established)" -gt 0 ]
ktap_is "no socket of them is left" "$(sockets fin-wait-1)" 0
ktap_diag "$(in_b ss -Hanto state fin-wait-1 sport = :7970 | head -n 2)"
tc -n b qdisc del dev vb clsact
ktap_check "a client is served beside the silent peers" in_a timeout 60 hyb-target -c -n 2 \
	-h 10.0.0.2 -p 7970
exec 5>&-
wait $PEER
for other in 10.0.0.9 10.0.0.10; do
	ip -n a addr add $other/24 dev va
done
in_a python3 "$(dirname "$0")/refused.py" 10.0.0.2 7970 $((STARTING + MORE)) from 10.0.0.9 10.0.0.10 \
	>"$OUT/refused.log" 2>&1
cat "$OUT/refused.log"
if is_debug && grep -q slow "$OUT/refused.log"; then
	for what in "peers of one address end others of that address" \
		"clients at other addresses stay connected"; do
		ktap_skip "$what" "this kernel takes longer for them than a Request may"
	done
else
	ktap_check "peers of one address end others of that address" grep -qx "others ended" \
		"$OUT/refused.log"
	ktap_check "clients at other addresses stay connected" grep -qx "client waits" \
		"$OUT/refused.log"
fi
# The IW CM has no memory for it, so the Request is offered again and again
if hold cm_event_handler kworker asleep=1 ret=-12 times=1000000; then
	in_a python3 "$(dirname "$0")/refused.py" 10.0.0.2 7970 $((STARTING + MORE)) stuck \
		>"$OUT/refused.log" 2>&1
	if grep -q slow "$OUT/refused.log"; then
		ktap_skip "a client whose Request cannot be passed on ends as others do" \
			"this machine takes longer than a Request may"
	else
		ktap_is "a client whose Request cannot be passed on ends as others do" \
			"$(cat "$OUT/refused.log")" "client ended"
	fi
	ktap_check "the Request was offered" is_held
	hold_end
else
	ktap_skip "a client whose Request cannot be passed on ends as others do" "no probes"
fi
stop_bg "$TARGET"

# Clients get their refusal and do not close: TCP does not count such sockets as orphans.
# The listener is one of SDP, which refuses a Request without Hello, and without a program.
modprobe -q sdp
PORT=$((7970 + $(in_b sysctl -n net.sdp.port_offset)))
start_bg b python3 -c 'import socket, time
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as s:  # IPPROTO_SDP
    s.bind(("10.0.0.2", 7970))
    s.listen()
    print("listening", flush=True)
    time.sleep(150)'
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the listener that refuses" "$(cat "$BG_LOG")"
answered $((REFUSED + 4 * MORE))
most=0
begin=$SECONDS
until said answered "$OUT/refused.log" || ! kill -0 $PEER; do
	now=$(sockets fin-wait-2)
	most=$((now > most ? now : most))
	sleep 0.1
done
took=$((SECONDS - begin))
ktap_diag "$(cat "$OUT/refused.log"), at most $most sockets"
ktap_check "all of them are refused" said "answered" "$OUT/refused.log"
ktap_check "sockets of refused clients that do not close are limited" [ "$most" -le $REFUSED ]
if [ "$most" -lt $REFUSED ] && [ $took -ge 10 ]; then
	ktap_skip "so many stay" "this machine takes longer for them than they stay"
else
	ktap_check "so many stay" [ "$most" -ge $((REFUSED * 3 / 4)) ]
fi
exec 5>&-
wait $PEER
# A refused client that acknowledges everything and stays gets 10 seconds. Where TCP's time for
# it is more than TIME_WAIT lasts, TCP would keep the whole socket
for time in 60 120; do
	in_b sysctl -qw net.ipv4.tcp_fin_timeout=$time
	answered 1
	ktap_check "tcp_fin_timeout $time: a client is refused" wait_for 20 said answered "$OUT/refused.log"
	ktap_check "tcp_fin_timeout $time: no socket waits for its end for long" wait_for 17 none_left
	exec 5>&-
	wait $PEER
done
rm /run/more
stop_bg "$TARGET"
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
