#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Two things happen to a connection at the same time: one is held up in the middle, the
# other one comes, then both go on. Programs come to their end, the device can be removed,
# and nothing is left. RACES: others than these, see races-all.sh.

# shellcheck disable=SC2317 # called by their names
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat
PORT=7990
RACES=${RACES:-request:device up:destroy up:device teardown:device timer:destroy close:destroy close:device destroy:kill_server}

serve() {
	start_bg b sdp-run python3 -c '
import socket
lis = socket.create_server(("10.0.0.2", '"$PORT"'))
lis.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
lis.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
print("listening", flush=True)
kept = []
while True:
    sock = lis.accept()[0]
    try:
        sock.settimeout(20)
        what = sock.recv(1)
        sock.sendall(what)
        if what == b"c":
            sock.close()
        else:
            kept.append(sock)
    except OSError:
        pass'
	SERVER=$BG_PID
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
}

# connects WORD: a client says it, and waits for the end of the connection
connects() {
	start_bg a timeout 60 sdp-run python3 -c '
import socket, sys
try:
    sock = socket.create_connection(("10.0.0.2", '"$PORT"'), timeout=30)
    sock.sendall(sys.argv[1].encode())
    print("answer", sock.recv(1), flush=True)
    sock.recv(1)
except OSError as err:
    print(err, flush=True)' "$1"
	CLIENT=$BG_PID
}

# is_up: a client has got an answer
is_up() {
	connects x
	wait_for 20 said answer
}

destroy_all() {
	local ns cookie

	for ns in a b; do
		"in_$ns" sdpstat -a --json | python3 -c '
import json, sys
for sock in json.load(sys.stdin)["sockets"]:
    if sock["state"] != "LISTEN":
        print(sock["cookie"])' | while read -r cookie; do
			"in_$ns" timeout 60 sdpstat -K "$cookie"
		done
	done
}

# ---- what is held up

first_request() { hold sdp_cm_use_hello kworker "${HOW[@]}" && connects x; }
first_up() { hold sdp_fc_verify kworker "${HOW[@]}" && connects x; }
first_teardown() { is_up && hold sdp_shared_close kworker "${HOW[@]}" && kill_tree "$CLIENT"; }
first_timer() { is_up && hold sdp_timer_work kworker "${HOW[@]}"; }
first_close() { hold sdp_timer_start_orphan python3 "${HOW[@]}" && connects c; }
first_destroy() {
	is_up && hold sdp_cm_abort sdpstat "${HOW[@]}" || return
	destroy_all &
}

# ---- what comes meanwhile

second_destroy() { destroy_all; }
second_kill_server() { kill_tree "$SERVER"; }
second_kill_client() { kill_tree "$CLIENT"; }
second_device() { timeout 60 rdma link delete rdb; }
second_other_device() { timeout 60 rdma link delete rda; }
second_link() { in_b ip link set vb down; }
second_namespace() {
	kill_tree "$SERVER"
	ip netns del b
}

HOW=(asleep=1 ms=60000)

gone() { no_queue_pairs && { [ "$1" = namespace ] || no_sockets; }; }

# race FIRST SECOND
race() {
	local second

	dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.fin_timeout=2
	done
	serve
	"first_$1" || ktap_skip_all "no probes"
	if ! wait_for 20 is_held; then
		ktap_fail "$1, $2: nothing is held up" "$(cat "$BG_LOG")"
	fi
	"second_$2" &
	second=$!
	nap 0.3
	hold_end
	wait_for 60 is_gone "$second" || ktap_fail "$1, $2: the second does not end"
	kill_tree "$CLIENT" 2>/dev/null
	[ "$2" = namespace ] || stop_bg "$SERVER"
	ktap_check "$1, $2: nothing is left" wait_for 60 gone "$2"
	ktap_check "$1, $2: the devices can be removed" timeout 60 sh -c \
		"rdma link delete rda; rdma link delete rdb; ! rdma link | grep -q rd[ab]"
	net_down
}

modprobe -q -a sdp sdp_diag
for r in $RACES; do
	race "${r%:*}" "${r#*:}"
done
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
