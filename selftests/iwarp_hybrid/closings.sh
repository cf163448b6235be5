#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# A device keeps the packets of many connections that end, and with them memory of
# their requests. The connections wait for it longer than a workqueue runs items at a
# time. Others connect meanwhile, without a delay.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run python3 rdma tc
need_research

# four times as many as run at a time, each for two seconds; on the debug kernel one more
# than runs at a time, where the time says nothing
CONNS=$(scaled 1030 260)
waiting() { in_a tc -s qdisc show dev st | sed -n 's/.* \([0-9]*\)p .*/\1/p'; }
# one was sent
all_wait() { [ "$(waiting)" -ge $((CONNS - 1)) ]; }

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe sdp
ulimit -n 4096
for dev in rda rdb; do
	echo reference >/sys/class/infiniband/$dev/hybrid/tx_payload
done
for end in a b; do
	in_$end sysctl -qw net.sdp.shared_link=0 net.sdp.rmem="8192 32768 32768"
done
in_b ip addr add 10.0.0.3/24 dev vb

start_bg b sdp-run python3 -uc '
import socket
s = socket.create_server(("", 5299), backlog=1000)
print("listening", flush=True)
have = []
while True:
    have.append(s.accept())'
SERVER=$BG_PID
wait_for 30 said listening
mkfifo /run/go
defer rm -f /run/go
# shellcheck disable=SC2016
start_bg a sh -c 'exec sdp-run python3 -uc "
import socket, struct, sys
have = [socket.create_connection((\"10.0.0.2\", 5299)) for _ in range(int(sys.argv[1]))]
print(\"connected\")
sys.stdin.readline()
for s in have:
    s.setblocking(False)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(\"ii\", 1, 0))
    s.send(bytes(30000))
print(\"sent\")
sys.stdin.readline()
for s in have:
    s.close()
print(\"closed\")
sys.stdin.readline()
" "$@" </run/go' x "$CONNS"
exec 7>/run/go
ktap_check "$CONNS connections are established" wait_for 200 said connected

in_a ip link add st type dummy
in_a ip link set st up
in_a ip neigh add 10.0.0.2 dev st nud permanent lladdr 02:00:00:00:00:02
in_a tc qdisc add dev st root tbf rate 8bit burst 2000 limit 100000000 ||
	ktap_skip_all "no tbf"
in_a ip route add 10.0.0.2/32 dev st src 10.0.0.1
echo >&7
ktap_check "all connections have sent" wait_for 60 said sent
ktap_check "the packets of all connections wait" wait_for 60 all_wait
ktap_check "payload goes by reference" test \
	"$(cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_ref_bytes)" -gt 0

aborts() { cat /sys/class/infiniband/rda/ports/1/hw_counters/cm_aborts; }
was=$(aborts)
echo >&7
wait_for 60 said closed
# connects for ten seconds; prints the longest time, in ms
slowest=$(in_a sdp-run -o python3 -c '
import socket, time
slow, end = 0, time.monotonic() + 10
while time.monotonic() < end:
    began = time.monotonic()
    socket.create_connection(("10.0.0.3", 5299)).close()
    slow = max(slow, time.monotonic() - began)
    time.sleep(0.1)
print(int(slow * 1000))')
ktap_diag "the slowest connect took ${slowest:-?} ms"
is_debug || ktap_check "connects wait for no connection that ends" test "${slowest:-99999}" -lt 4500
ktap_is "connections that ended meanwhile" $(($(aborts) - was)) "$CONNS"
exec 7>&-
in_a ip link del st
stop_bg "$SERVER"
queue_pairs() { rdma resource show qp | grep -cw "type RC"; }
none_left() { [ "$(queue_pairs)" = 0 ]; }
ktap_check "no queue pair is left" wait_for 90 none_left
ktap_done
