#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A net device goes while packets with memory of many connections' requests wait in
# another one: they are waited for together, as all changes of links wait meanwhile. The
# module stays as long as such packets wait, and an attempt to remove it fails at once.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run python3 tc
need_research

SERVER=10.0.0.2
CONNS=40
waiting() { in_a tc -s qdisc show dev st | sed -n 's/.* \([0-9]*\)p .*/\1/p'; }
# one was sent
all_wait() { [ "$(waiting)" -ge $((CONNS - 1)) ]; }
gone() { in_a test ! -e /sys/class/net/va; }
not_held() { [ "$(</sys/module/iwarp_hybrid/refcnt)" -eq 0 ]; }

net_up
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe sdp
for dev in rda rdb; do
	echo reference >/sys/class/infiniband/$dev/hybrid/tx_payload
done
in_a sysctl -qw net.sdp.shared_link=0
in_b sysctl -qw net.sdp.shared_link=0

start_bg b sdp-run python3 -uc '
import socket
s = socket.create_server(("'$SERVER'", 5299), backlog=100)
print("listening", flush=True)
have = []
while True:
    have.append(s.accept())'
wait_for 30 said listening
mkfifo /run/go
defer rm -f /run/go
# shellcheck disable=SC2016
start_bg a sh -c 'exec sdp-run python3 -uc "
import socket, sys
have = [socket.create_connection((sys.argv[1], 5299)) for _ in range(int(sys.argv[2]))]
print(\"connected\")
sys.stdin.readline()
for s in have:
    s.setblocking(False)
    s.send(bytes(100000))
print(\"sent\")
sys.stdin.readline()
" "$@" </run/go' x $SERVER $CONNS
exec 7>/run/go
ktap_check "$CONNS connections are established" wait_for 60 said connected

in_a ip link add st type dummy
in_a ip link set st up
in_a ip neigh add $SERVER dev st nud permanent lladdr 02:00:00:00:00:02
in_a tc qdisc add dev st root tbf rate 8bit burst 2000 limit 10000000 ||
	ktap_skip_all "no tbf"
in_a ip route add $SERVER/32 dev st src 10.0.0.1
echo >&7
ktap_check "all connections have sent" wait_for 30 said sent
ktap_check "packets of all connections wait" wait_for 30 all_wait
ktap_check "payload goes by reference" test \
	"$(cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_ref_bytes)" -gt 0
start_bg a ip link del va
# and not two seconds for each
ktap_check "the device can be removed" wait_for 10 gone
ktap_check "other links can be made" wait_for 10 ip link add other type dummy
ip link del other
start_bg - rmmod iwarp_hybrid
ktap_check "the module cannot be removed while packets wait" wait_for 10 said "in use"
in_a ip link del st
ktap_check "packets that do not wait any more do not hold the module" wait_for 20 not_held
ktap_check "the module can be removed" wait_for 20 rmmod iwarp_hybrid
exec 7>&-
ktap_done
