#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How a connection has ended, by cm_closes and cm_aborts of both devices: by the will of
# its programs, by the death of one, by a fault of the peer, by a reset of TCP.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target python3

SERVER=10.0.0.2
PORT=7950

# counter DEVICE NAME
counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

now() { echo "$(counter "$1" cm_closes) $(counter "$1" cm_aborts)"; }

declare -A BEFORE
remember() {
	local dev

	for dev in rda rdb; do
		BEFORE[$dev]=$(now "$dev")
	done
}

# more DEVICE: closes and aborts since then
more() {
	local -a was is

	read -ra was <<<"${BEFORE[$1]}"
	read -ra is <<<"$(now "$1")"
	echo "$((is[0] - was[0])) $((is[1] - was[1]))"
}

some() { [ "$(more "$1")" != "0 0" ]; }

# ended WHAT DEVICE CLOSES ABORTS
ended() {
	wait_for 20 some "$2"
	ktap_is "$1: $2 counts connections closed and aborted" "$(more "$2")" "$3 $4"
}

# peer WORD: a connection of TCP with MPA start-up, which then ends like that;
# peer unread: until the end of the connection is seen;
# peer late-WORD LOG N: when the N-th program is asked, late-held-WORD: when it is held up
# after that; peer unreceived PID: of the target
peer() {
	in_a timeout 60 python3 - "$1" "$SERVER" "$PORT" "${@:2}" <<'END'
import os, signal, socket, struct, sys, time

def send(msn, byte):
    s.sendall(struct.pack(">HBBIIII", 19, 0x41, 0x43, 0, 0, msn, 0) + byte +
              bytes(3 + 4))

def take_reply():
    reply = b""
    while len(reply) < 20:
        got = s.recv(20 - len(reply))
        assert got, "no Reply"
        reply += got
    assert reply[:16] == b"MPA ID Rep Frame" and not reply[16] & 0xa0, reply

how, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket()
if how == "unread":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.settimeout(20)
s.connect((host, port))
crc = 0x40 if not how.startswith("un") else 0
s.sendall(b"MPA ID Req Frame" + bytes([crc, 1, 0, 0]))
if how.startswith("late"):
    while open(sys.argv[4]).read().count("asked") < int(sys.argv[5]):
        time.sleep(0.01)
    while "held" in how and open("/sys/module/test_hold/parameters/hits").read() == "0\n":
        time.sleep(0.01)
else:
    take_reply()
if how == "close":
    s.shutdown(socket.SHUT_WR)
    while s.recv(1000):
        pass
elif how == "late-close":
    s.shutdown(socket.SHUT_WR)
    try:
        assert not s.recv(1000), "a Reply"
    except ConnectionResetError:
        pass
elif how.endswith("reset"):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
elif how == "unreceived":
    # more Sends than receives of a program that takes no more of them
    os.kill(int(sys.argv[4]), signal.SIGSTOP)
    for msn in range(1, 21):
        s.sendall(struct.pack(">HBBIIII", 20, 0x41, 0x43, 0, 0, msn, 0) +
                  b"--" + bytes(2 + 4))
    s.shutdown(socket.SHUT_WR)
    s.settimeout(50)
    while s.recv(1000):
        pass
elif how == "unread":
    # it has to send 2 MB, closes, and that is not read
    for msn, byte in enumerate((b"L", b"S", b"C"), 1):
        send(msn, byte)
    while struct.unpack("B", s.getsockopt(socket.SOL_TCP, socket.TCP_INFO, 1))[0] == 1:
        time.sleep(0.1)
elif how == "fault":
    # an FPDU whose CRC is bad; a Terminate and the end of the stream come back
    s.sendall(struct.pack(">H", 18) + bytes(18 + 4))
    while s.recv(1000):
        pass
s.close()
END
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-target -h $SERVER -p $PORT
TARGET=$BG_PID
LOG=$BG_LOG
wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$LOG")"

remember
ktap_check "a client that ends closes its connection" in_a timeout 60 hyb-target -c -h $SERVER -p $PORT -n 3
ended "a client that ends" rda 1 0
ended "a client that ends" rdb 1 0

remember
start_bg a hyb-target -c -h $SERVER -p $PORT
wait_for 20 said connected || ktap_fail "the client is connected" "$(cat "$BG_LOG")"
stop_bg "$BG_PID"
ended "a client that is killed" rda 0 1
ended "a client that is killed" rdb 1 0

remember
ktap_check "a peer ends with FIN" peer close
ended "a peer ends with FIN" rdb 1 0

remember
ktap_check "a peer ends with RST" peer reset
ended "a peer ends with RST" rdb 0 1

# before the server is through with its Reply
remember
if hold hyb_xmit_attach hyb-target asleep=1; then
	ktap_check "a peer sends RST during the Reply" peer reset
	ktap_check "RST during the Reply: the accepting task was held up" is_held
	hold_end
	ended "a peer sends RST during the Reply" rdb 0 1
else
	ktap_skip "a peer sends RST during the Reply" "no probes"
fi

remember
ktap_check "a peer sends a bad CRC" peer fault
ended "a peer sends a bad CRC" rdb 0 1

# A peer that closes, and resets nothing, while its messages wait for receives
remember
echo 0 >/sys/class/infiniband/rdb/hybrid/crc
paused=$(counter rdb rx_paused)
TARGET=$(pgrep -x hyb-target -P "$TARGET" || echo "$TARGET")
ktap_check "FIN after messages without receives is reported" peer unreceived "$TARGET"
ended "FIN after messages without receives" rdb 1 0
ktap_check "FIN after messages without receives: the device has waited" test "$(counter rdb rx_paused)" -gt "$paused"
kill -CONT "$TARGET"
ktap_check "the program continues, no queue pair is left" wait_for 20 no_queue_pairs

# A program that closes, and a peer that does not take what is to be sent before
remember
ktap_check "a peer that reads nothing is reset" peer unread
ended "a peer that reads nothing" rdb 0 1
echo 1 >/sys/class/infiniband/rdb/hybrid/crc

# Peers that are gone when a program has made up its mind
PORT=7951
start_bg b hyb-target -d -h $SERVER -p $PORT
LATE=$BG_PID
LOG=$BG_LOG
wait_for 20 said listening "$LOG" || ktap_fail "the late one listens" "$(cat "$LOG")"

# times N TEXT: has it said so that often?
times() { [ "$(grep -c "$2" "$LOG")" -eq "$1" ]; }

decide() { kill -TERM "$(pgrep -x hyb-target -P "$LATE" || echo "$LATE")"; }

# no_connections: TCP has no connection at the port any more
no_connections() { [ -z "$(in_b ss -Hnt "sport = :$PORT")" ]; }

asked=0
for how in late-close late-reset; do
	ktap_check "$how: the peer ends after the program gets the request" peer "$how" "$LOG" $((++asked))
	ktap_check "$how: the connection is over" wait_for 20 no_connections
	decide
	ktap_check "$how: the program gets the event" \
		wait_for 20 times "$asked" "rdma_accept: \|: gone"
	ktap_check "$how: no queue pair is left" wait_for 20 no_queue_pairs
done
# it has taken the request, and finds no connection any more
if hold hyb_cm_qp hyb-target asleep=1 ms=60000; then
	asked=$((asked + 1))
	peer late-held-reset "$LOG" "$asked" &
	pid=$!
	ktap_check "late-held: the program gets the request" wait_for 20 times "$asked" asked
	decide
	ktap_check "late-held: the program is about to accept" wait_for 20 is_held
	wait "$pid"
	ktap_is "late-held: the peer resets the connection" $? 0
	ktap_check "late-held: the connection is over" wait_for 20 no_connections
	hold_end
	ktap_check "late-held: the program gets the event" \
		wait_for 20 times "$asked" "rdma_accept: \|: gone"
	ktap_check "late-held: no queue pair is left" wait_for 20 no_queue_pairs
else
	ktap_skip "late-held: the program gets the event" "no probes"
fi
ktap_check "late: rdma_accept() reports the FIN" grep "rdma_accept: Connection reset" "$LOG"
start_bg a hyb-target -c -1 -h $SERVER -p $PORT
ktap_check "late: the program gets another request" wait_for 20 times $((++asked)) asked
decide
ktap_check "late: the next client is connected" wait_for 20 said connected

stop_bg "$BG_PID"
ktap_check "late: no queue pair is left at the end" wait_for 20 no_queue_pairs

# A peer that knows no revision 2 closes, and there is no memory to ask again
remember
start_bg a timeout 60 python3 -c '
import os, socket, time
s = socket.create_server(("10.0.0.1", 7952)).accept()[0]
assert s.recv(20)
print("asked", flush=True)
while not os.path.exists("/run/close"):
    time.sleep(0.01)
'
PEER=$BG_LOG
wait_port a 7952
start_bg b hyb-target -c -h 10.0.0.1 -p 7952
ktap_check "a second attempt: the peer is asked" wait_for 20 said asked "$PEER"
if hold hyb_tcp_create kworker asleep=1 ret=-12; then
	touch /run/close
	ended "no memory for a second attempt" rdb 0 1
	ktap_is "no memory for a second attempt: the attempt was made" "$(hold_hits)" 1
	hold_end
else
	ktap_skip "no memory for a second attempt" "no probes"
fi
ktap_done
