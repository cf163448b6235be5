#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Zero copy waits no longer than necessary. A peer that gives no answer is waited for as long
# as SO_SNDTIMEO or SO_RCVTIMEO says, and three seconds at least, but not net.sdp.fin_timeout.
# A reader that waits for the lock of a page does not delay the removal of the device.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 rdma sdpstat tc
SERVER=10.0.0.2
PIPELINED=0
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
# FIN: seconds of net.sdp.fin_timeout. LIMIT: seconds within which a call with a timeout of
# 1 s, and three for the peer, must end; less than FIN.
FIN=90
LIMIT=45

cat >/run/waits.py <<'END'
import errno, fcntl, socket, sys, threading, time

SO_RCVTIMEO, SO_SNDTIMEO = 20, 21
SIOCOUTQNSD = 0x894B
what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
one = (1).to_bytes(8, "little") + bytes(8)
data = bytearray(600000)


def timed(function):
    sys.stdin.readline()
    began = time.monotonic()
    print("begins", flush=True)
    try:
        result = function()
    except OSError as err:
        result = errno.errorcode[err.errno]
    print("result", result, int(time.monotonic() - began), flush=True)


def take_all():
    view, got = memoryview(data), 0
    while got < len(data):
        got += sock.recv_into(view[got:], 0, socket.MSG_WAITALL)
    return "all"


def drip(conn):
    while True:
        conn.send(b"x")
        time.sleep(0.005)


def drink():
    while sock.recv(1000):
        pass


def waits():
    unsent = bytearray(4)
    fcntl.ioctl(sock, SIOCOUTQNSD, unsent)
    return any(unsent)


# until data has no credits for as long as the peer does not read
def fill():
    since = None
    while not since or time.monotonic() - since < 2:
        if waits():
            since = since or time.monotonic()
            time.sleep(0.05)
        else:
            since = None
            sock.sendall(data[:4096])


sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
if what == "serve":
    sock.bind((address, port))
    sock.listen()
    print("listening", flush=True)
    conn = sock.accept()[0]
    time.sleep(200)
elif what == "drip":
    sock.bind((address, port))
    sock.listen()
    print("listening", flush=True)
    drip(sock.accept()[0])
elif what == "push":
    sock.bind((address, port))
    sock.listen()
    print("listening", flush=True)
    sock.accept()[0].sendall(data)
    time.sleep(200)
elif what == "take":
    sock.connect((address, port))
    print("connected", flush=True)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVTIMEO, one)
    timed(take_all)
elif what == "full":
    sock.connect((address, port))
    threading.Thread(target=drink, daemon=True).start()
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDTIMEO, one)
    fill()
    print("connected", flush=True)
    timed(lambda: sock.send(data[:300000]))
else:
    sock.connect((address, port))
    print("connected", flush=True)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDTIMEO, one)
    timed(lambda: sock.sendall(data))
END

# start ROLE NS NAME: NAME is the name of the program
start() { start_bg "$2" "$3" /run/waits.py "$1" $SERVER "$PORT"; }
cut_off() { tc -n a qdisc add dev va root netem loss 100%; }
joined() { tc -n a qdisc del dev va root; }
# advertised a|b
advertised() { [ "$("in_$1" sdpstat -s -z | awk '$1 == "tx_srcavail" { print $2 }')" -gt 0 ]; }
result() { sed -n 's/^result //p' "$BG_LOG"; }
# ends NAME: the call ends with an error, in time
ends() {
	wait_for $((FIN + 30)) said result
	local got took
	read -r got took <<<"$(result)"
	ktap_diag "$1: $got after $took s"
	ktap_check "$1: the call ends with ETIMEDOUT" test "${got:-0}" = ETIMEDOUT
	ktap_check "$1: the call ends within $LIMIT s" test "${took:-999}" -lt $LIMIT
}

modprobe -q sdp
modprobe -q sch_netem
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
set_both net.sdp.shared_link=0 net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 \
	net.sdp.zcopy_wait=2000000 net.sdp.fin_timeout=$FIN net.sdp.zcopy_cache=0
PINNED=$(pinned)
mkfifo /run/waits
defer rm -f /run/waits

# pair PORT PEER DO: two connected programs, PEER in b and DO in a; a line to fd 7 lets the
# one in a go on
pair() {
	PORT=$1
	start "$2" b /usr/bin/python3
	OTHER=$BG_PID
	wait_for 30 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
	# shellcheck disable=SC2016
	start_bg a sh -c 'exec /usr/bin/python3 /run/waits.py "$@" </run/waits' x \
		"$3" "$SERVER" "$PORT"
	exec 7>/run/waits
	wait_for 30 said connected || ktap_fail "a connection is established" "$(cat "$BG_LOG")"
}

pair 7801 serve send
echo >&7
ktap_check "the sender advertises its memory" wait_for 30 advertised a
ktap_check "all packets are dropped from now on" cut_off
ends "a send with SO_SNDTIMEO whose peer gives no answer"
exec 7>&-
joined
stop_bg "$OTHER"

# packets in flight do not count as progress for ever
pair 7804 serve send
ktap_check "all packets are dropped from now on" cut_off
echo >&7
ends "a send with SO_SNDTIMEO whose advertisement is lost"
exec 7>&-
joined
stop_bg "$OTHER"

# answers to the peer's messages are no progress of the sender's data
in_a sysctl -qw net.sdp.zcopy_wait=1000000
pair 7805 drip full
echo >&7
wait_for $LIMIT said result
read -r got took <<<"$(result)"
ktap_diag "$got after $took s"
ktap_check "a send with SO_SNDTIMEO that waits for credits ends while the peer sends" \
	test "${took:-999}" -lt 15
exec 7>&-
stop_bg "$BG_PID"
stop_bg "$OTHER"
in_a sysctl -qw net.sdp.zcopy_wait=2000000

in_b sysctl -qw net.sdp.zcopy_wait=60000000
pair 7802 push take
ktap_check "the peer advertises its memory" wait_for 30 advertised b
ktap_check "all packets are dropped from now on" cut_off
echo >&7
ends "a receive with SO_RCVTIMEO whose RDMA Read gets no answer"
exec 7>&-
joined
stop_bg "$OTHER"

# The hold stands for a file system that keeps the page locked
PORT=7803
in_b sysctl -qw net.sdp.zcopy_wait=2000000
cp -L /usr/bin/python3 /run/reader
defer rm -f /run/reader
start push b /usr/bin/python3
OTHER=$BG_PID
wait_for 30 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
if hold unpin_user_pages_dirty_lock reader asleep=1 ms=100000; then
	# shellcheck disable=SC2016
	start_bg a sh -c 'exec /run/reader /run/waits.py take "$@" </run/waits' x $SERVER $PORT
	exec 7>/run/waits
	wait_for 30 said connected || ktap_fail "a connection is established" "$(cat "$BG_LOG")"
	echo >&7
	ktap_check "a reader waits for a page" wait_for 30 is_held
	start_bg a rdma link delete rda
	DELETE=$BG_PID
	gone() { [ ! -e /sys/class/infiniband/rda ]; }
	ktap_check "the device can be removed meanwhile" wait_for 30 gone
	hold_end
	wait "$DELETE"
	exec 7>&-
else
	ktap_skip "a reader waits for a page" "no probes"
fi
stop_bg "$OTHER"
ktap_check "all pages are unpinned" wait_for 20 none_pinned
ktap_done
