#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Two things happen to a connection at the same time: one is held up in the middle, the
# other one comes, then both go on. The programs end, the devices can be removed, and no queue
# pair and no socket is left. RACES: others than these, see races-all.sh.

# shellcheck disable=SC2317 # called by their names
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat jq
PORT=7990
# LINK/FIRST:SECOND
RACES=${RACES:-shared/request:device shared/up:destroy shared/teardown:device
	shared/timer:destroy shared/close:destroy shared/destroy:kill_server
	shared/receive:device verbs/flush:destroy verbs/device:flush shared/namespace:kill_client
	verbs/request:timer}

# Each function is where the first of the two is held up. A task sleeps there. A completion
# is handled in a softirq, which cannot sleep: it spins for two seconds at most.
declare -A AT=(
	[request]="sdp_cm_use_hello kworker"
	[up]="sdp_fc_verify kworker"
	[teardown]="sdp_shared_close kworker"
	[timer]="sdp_timer_work kworker"
	[close]="sdp_timer_start_orphan python3"
	[destroy]="sdp_cm_abort sdpstat"
	[device]="sdp_cm_conn_handler rdma"
	[namespace]="sdp_net_exit kworker"
	[verbs_receive]=sdp_verbs_rx_done
	[verbs_send]=sdp_verbs_tx_done
	[verbs_flush]=sdp_conn_flushed
	[shared_receive]=sdp_shared_rx
	[shared_send]=sdp_shared_tx_space
	[shared_flush]=sdp_shared_closed
)

# Both programs send a lot, or reset their connections, when the file of that name is there
DIR=/run/races
cat >/run/races.py <<'END'
import os, socket, struct, sys, threading, time

def command(name):
    while not os.path.exists("/run/races/" + name):
        time.sleep(0.05)

def options(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)

def send(sock):
    command("data")
    try:
        for _ in range(100):
            sock.sendall(bytes(16384))
    except OSError:
        pass

def reset(socks):
    command("flush")
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os._exit(0)

def drain(sock):
    try:
        while sock.recv(1 << 16):
            pass
    except OSError as err:
        print(err, flush=True)

def start(call, *args):
    threading.Thread(target=call, args=args, daemon=True).start()

def serve(address):
    listener = socket.create_server(address)
    options(listener)
    print("listening", flush=True)
    kept = []
    start(reset, kept)
    while True:
        sock = listener.accept()[0]
        try:
            sock.settimeout(20)
            what = sock.recv(1)
            sock.sendall(what)
            sock.settimeout(None)
        except OSError:
            continue
        if what == b"c":
            sock.close()
            continue
        kept.append(sock)
        start(send, sock)
        start(drain, sock)

def connect(address, what, limit):
    sock = socket.socket()
    options(sock)
    if limit:
        sock.setsockopt(socket.IPPROTO_TCP, 18, limit)   # TCP_USER_TIMEOUT
    start(reset, [sock])
    try:
        sock.connect(address)
        sock.sendall(what)
        print("answer", sock.recv(1), flush=True)
    except OSError as err:
        print(err, flush=True)
        return
    start(send, sock)
    drain(sock)

address = "10.0.0.2", int(sys.argv[2])
if sys.argv[1] == "serve":
    serve(address)
else:
    connect(address, sys.argv[1].encode(), int(sys.argv[3]))
END

serve() {
	start_bg b sdp-run python3 /run/races.py serve $PORT
	SERVER=$BG_PID
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
}

# connects WORD: a client says it, and waits for the end of the connection
connects() {
	start_bg a timeout 60 sdp-run python3 /run/races.py "$1" "$PORT" "$LIMIT"
	CLIENT=$BG_PID
}

# is_up: a client has got an answer
is_up() {
	connects x
	wait_for 20 said answer
}

# has_b: the namespace of the server is there
has_b() { [ "$NET_MODE" = one ] || [ -e /run/netns/b ]; }

# destroy_all: all sockets but listeners; fails if there are none
destroy_all() {
	local ns cookie found=1

	for ns in a b; do
		[ "$ns" = a ] || has_b || continue
		for cookie in $("in_$ns" sdpstat -a --json | jq -r '.sockets[] |
				select(.state != "LISTEN") | .cookie'); do
			found=0
			"in_$ns" timeout 60 sdpstat -K "$cookie"
		done
	done
	return "$found"
}

# timers: how many times a timer has done something at an end of the connection
timers() {
	local ns name sum=0

	for ns in a b; do
		for name in keepalives timeouts; do
			sum=$((sum + $(sdp_counter $ns $name)))
		done
	done
	echo $sum
}

timer_came() { [ "$(timers)" -gt "$TIMERS" ]; }

# ---- what is held up

# held NAME: where the table says
held() {
	local function comm how=(ms=2000)

	read -r function comm <<<"${AT[$1]:-${AT[${KIND}_$1]}}"
	[ -z "$comm" ] || how=(asleep=1 ms=60000)
	hold "$function" "$comm" "${how[@]}"
}

first_request() { held request && connects x; }
first_up() { held up && connects x; }
first_teardown() { is_up && held teardown && kill_tree "$CLIENT"; }
first_timer() { is_up && held timer; }
first_close() { held close && connects c; }
first_destroy() { is_up && held destroy && { destroy_all & }; }
first_receive() { is_up && held receive && touch "$DIR"/data; }
first_send() { is_up && held send && touch "$DIR"/data; }
first_flush() { is_up && held flush && kill_tree "$CLIENT"; }
first_device() { is_up && held device && { second_device & }; }
first_namespace() { is_up && held namespace && second_namespace; }

# ---- what comes meanwhile

second_data() { touch "$DIR"/data; }
second_flush() { touch "$DIR"/flush; }
second_timer() { wait_for 20 timer_came; }
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

gone() { no_queue_pairs && { ! has_b || no_sockets; }; }

# kind_of LINK: of its RDMA devices
kind_of() {
	case $1 in
	siw | rxe) echo "$1" ;;
	*) echo hybrid ;;
	esac
}

# can_run: skips all if there are no probes, or no devices for one of the races
can_run() {
	local kind

	hold sdp_cm_use_hello - asleep=1 || ktap_skip_all "no probes"
	hold_end
	for kind in $(for r in $RACES; do kind_of "${r%%/*}"; done | sort -u); do
		dev_up "$kind" "$kind" || ktap_skip_all "no RDMA device of kind $kind"
		net_down
	done
}

# race LINK FIRST SECOND
race() {
	local name="$1: $2, $3" second kind shared=0

	KIND=verbs LIMIT=0
	kind=$(kind_of "$1")
	[ "$1" != shared ] || KIND=shared shared=1
	# the timer must not come before timers() has read the counters
	[ "$3" != timer ] || LIMIT=$(scaled 1500 6000)
	rm -rf "$DIR"
	mkdir "$DIR"
	dev_up "$kind" "$kind" || ktap_fail "$name: the devices are set up"
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.fin_timeout=2 net.sdp.shared_link=$shared
	done
	serve
	if ! "first_$2"; then
		ktap_fail "$name: the first begins" "$(cat "$BG_LOG")"
	elif ! wait_for 20 is_held; then
		ktap_fail "$name: nothing is held up" "$(cat "$BG_LOG")"
	fi
	[ "$3" != timer ] || TIMERS=$(timers)
	"second_$3" &
	second=$!
	nap 0.3
	[ "$3" != timer ] || wait "$second" || ktap_fail "$name: no timer runs"
	hold_end
	if ! wait_for 60 is_gone "$second"; then
		ktap_fail "$name: the second does not end"
	elif [ "$3" = destroy ] && [[ "$2" != @(namespace|device|close) ]]; then
		# by those the connection may have gone before sdpstat sees it
		wait "$second" || ktap_fail "$name: there is a socket to destroy"
	fi
	kill_tree "$CLIENT" 2>/dev/null
	! has_b || stop_bg "$SERVER"
	ktap_check "$name: no queue pair and no socket is left" wait_for 60 gone
	ktap_check "$name: the devices can be removed" timeout 60 sh -c \
		"rdma link delete rda; rdma link delete rdb; ! rdma link | grep -q rd[ab]"
	net_down
}

modprobe -q -a sdp sdp_diag
can_run
for r in $RACES; do
	pair=${r#*/}
	race "${r%/*}" "${pair%:*}" "${pair#*:}"
done
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
