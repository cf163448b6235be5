#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpstat -K: the sockets that a filter selects end and are shown, others continue; a socket
# that has become one of TCP ends, too; without a filter none ends.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpstat sdp-run python3 jq setpriv
unset LIBSDP_ONLY
T=$(mktemp -d /run/kill.XXXXXX)
defer rm -rf "$T"

# server PORT...: takes connections there, and keeps them
server() {
	start_bg b "${VIA[@]}" python3 -c '
import select, socket, sys
servers = [socket.create_server(("10.0.0.2", int(port))) for port in sys.argv[1:]]
print("listening", flush=True)
kept = []
while True:
    for server in select.select(servers, [], [])[0]:
        try:
            kept.append(server.accept())
        except OSError:
            print("ended", server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), flush=True)
            servers.remove(server)' "$@"
	wait_for 20 said listening
}

# client PORT...: a connection to each; it says how each of them ends
client() {
	start_bg a sdp-run python3 -c '
import errno, socket, sys, threading
def wait(port, sock):
    try:
        print(port, "closed" if not sock.recv(1) else "data", flush=True)
    except OSError as e:
        print(port, errno.errorcode[e.errno], flush=True)
conns = [(p, socket.create_connection(("10.0.0.2", int(p)))) for p in sys.argv[1:]]
for conn in conns:
    threading.Thread(target=wait, args=conn).start()
print("connected", flush=True)' "$@"
	wait_for 30 said connected
}

# ends N: the client has reported so many ends
ends() { [ "$(grep -vc connected "$BG_LOG")" -ge "$1" ]; }

# ended N: print how the connections ended, sorted, once there are N
ended() {
	wait_for 20 ends "$1"
	grep -v connected "$BG_LOG" | sort | tr '\n' ','
}

# halves: a TCP server that reads all of what a client sends, and then says how much; a
# client that sets options, sends a million bytes, and finishes its half
halves() {
	start_bg b python3 -c '
import socket, time
conn = socket.create_server(("10.0.0.2", 7954)).accept()[0]
print("got", sum(map(len, iter(lambda: conn.recv(65536), b""))), flush=True)
conn.sendall(bytes(1000))
time.sleep(600)'
	wait_port b 7954
	HALVES=$BG_LOG
	start_bg a sdp-run python3 -c '
import socket, time
conn = socket.create_connection(("10.0.0.2", 7954))
conn.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 77)
conn.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 16)
conn.sendall(bytes(1000000))
conn.shutdown(socket.SHUT_WR)
conn.recv(1)
print("answered", flush=True)
time.sleep(600)'
	wait_for 30 said "got 1000000" "$HALVES"
	wait_for 30 said answered
}

# peers: ports that the client is connected to
peers() { in_a sdpstat -j | jq -r '.sockets[].peer.port' | sort | tr '\n' ','; }

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
VIA=(sdp-run)
server 7951 7952
LISTENERS=$BG_LOG
VIA=()
server 7953
client 7951 7951 7952 7953
ktap_is "three connections are of SDP, and one is of TCP" \
	"$(in_a sdpstat -H | awk '{ print /TCP:/ ? "tcp" : "sdp" }' | sort | uniq -c | tr -s ' \n' ' ')" \
	" 3 sdp 1 tcp "

ktap_check_fails "-K alone is refused" in_a sdpstat -K
ktap_is "-K alone says what it takes" "$(grep -c "'-K' is for a cookie.*or a filter" <<<"$KTAP_OUT")" 1
ktap_check_fails "-K with a cookie and a filter is refused" in_a sdpstat -K5 dport = :7951
ktap_check_fails "-K with an interval is refused" in_a sdpstat -i 1 -K dport = :7951
ktap_check "-K takes a filter that fits no socket" in_a sdpstat -K -H dport = :7999
ktap_is "-K with a filter that fits no socket shows none" "$KTAP_OUT" ""
ktap_check_fails "-K needs a privilege" in_a setpriv --reuid 65534 --clear-groups \
	--inh-caps=-all --bounding-set=-all sdpstat -K dport = :7951
ktap_is "refused calls end no connection" "$(peers)" "7951,7951,7952,7953,"

ktap_check "-K ends two connections, by their port" in_a sdpstat -K -H dport = :7951
ktap_is "-K shows the two connections that it ended" "$(awk '{ print $1, $5 }' <<<"$KTAP_OUT" | uniq -c | tr -s ' ')" \
	" 2 ESTAB 10.0.0.2:7951"
ktap_is "the program of the two connections gets the error" "$(ended 2)" "7951 ECONNABORTED,7951 ECONNABORTED,"
ktap_is "connections that the filter does not select go on" "$(peers)" "7952,7953,"

echo "dst 10.0.0.2:7953" >"$T/filter"
ktap_check "-K ends a connection that has become one of TCP, by a filter in a file" in_a sdpstat -K -j -F "$T/filter"
ktap_is "-K shows the TCP connection that it ended" "$(jq -c '[.sockets[] | [.peer.port, .state, has("tcp_reason")]]' <<<"$KTAP_OUT")" \
	'[[7953,"ESTAB",true]]'
ktap_is "the program of the TCP connection gets the error" "$(ended 3 | tr ',' '\n' | grep 7953)" "7953 ECONNABORTED"
ktap_is "TCP has no such connection any more" "$(in_a ss -Htn state established 'dport = :7953')" ""

cookie=$(in_a sdpstat -j 'dport = :7952' | jq -r '.sockets[0].cookie')
ktap_check "--kill=COOKIE ends the last connection" in_a sdpstat --kill="$cookie"
ktap_is "no connection is left" "$(ended 4 | tr ',' '\n' | grep -c ECONNABORTED) $(peers)" "4 "
ktap_check "-K ends a listener" in_b sdpstat -K -H state listening sport = :7951
ktap_is "-K shows the listener that it ended" "$(awk '{ print $1, $4 }' <<<"$KTAP_OUT")" "LISTEN 10.0.0.2:7951"
ktap_check "the program of the listener gets the error" wait_for 20 said "ended 103" "$LISTENERS"
ktap_is "the listener that the filter does not select listens" "$(in_b sdpstat -lj | jq -c '[.sockets[].local.port]')" "[7952]"

halves
ktap_is "a socket that TCP has taken over is shown with TCP's figures: state, shut half, mark, TOS, bytes" \
	"$(in_a sdpstat -aj 'fwmark = 77' | jq -c '.sockets[] | [.peer.port, .state, .shutdown, .mark, .tos, .stats.tx_bytes, .stats.rx_bytes]')" \
	'[7954,"FIN-WAIT-2",2,77,16,1000000,1000]'
ktap_done
