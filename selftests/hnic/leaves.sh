#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An hnic device is removed while its files in sysfs are written, and while packets of a
# connection that is already closed wait in its queueing discipline.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
PLAIN_PORTS=1
need python3 tc

# ------------------------------------------------------------------- sysfs

# writes FILE VALUE: until the device is gone
writes() {
	start_bg - python3 -uc '
import errno, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
print("writing", flush=True)
try:
    while True:
        os.pwrite(fd, sys.argv[2].encode(), 0)
except OSError as e:
    print(errno.errorcode[e.errno])
' "$@"
}

modprobe hnic
bad=
for ((i = 0; i < $(scaled 30 10); i++)); do
	ip link add ha numrxqueues 16 numtxqueues 16 type hnic \
		peer name hb numrxqueues 16 numtxqueues 16 ||
		ktap_skip_all "no link"
	writes /sys/class/net/ha/hnic/queue_cpus "0 0 0 0"
	wait_for 20 said writing
	ip link del ha
	wait "$BG_PID" && said ENODEV || bad+="$(cat "$BG_LOG"); "
done
ktap_is "queue_cpus can be written during removal" "$bad" ""

# ----------------------------------------------------------------- packets

qps() { find /sys/class/infiniband/rda/hybrid/qp/ -mindepth 1 -maxdepth 1 -type d; }
no_qp() { [ -z "$(qps)" ]; }
waits() { in_a tc -s qdisc show dev va | grep -q 'backlog [1-9]'; }
conns() { in_a cat /sys/class/net/va/hnic/connections; }
idle() { ! in_a ss -Htin "dport = :5299" | grep -q unacked; }
no_link() { in_a test ! -e /sys/class/net/va; }

start
attr profile hybrid
start_bg b sdp-run -o python3 "$(dirname "$0")/foreign.py" serve
SERVER_LOG=$BG_LOG
wait_for 30 said listening
mkfifo /run/more
defer rm -f /run/more
# the last data it sends is lost; then it resets the connection
start_bg a sh -c 'exec sdp-run -o python3 -uc "
import socket, struct, sys
s = socket.create_connection((\"10.0.0.2\", 5299))
for line in sys.stdin:
    s.sendall(bytes(40000))
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(\"ii\", 1, 0))
s.close()
" </run/more'
exec 7>/run/more
echo >&7
ktap_check "data arrives over a connection" wait_for 30 said "has 40000" "$SERVER_LOG"
wait_for 20 idle
ktap_is "the NIC serves the connection" "$(conns)" 1
in_a tc qdisc add dev va root tbf rate 8bit burst 2000 limit 1000000 ||
	ktap_skip_all "no tbf"
echo >&7
ktap_check "packets of the connection wait" wait_for 20 waits
exec 7>&-
ktap_check "the connection is closed" wait_for 20 no_qp
ktap_check "packets of the closed connection still wait" waits
start_bg a ip link del va
ktap_check "the device can be removed" wait_for 30 no_link
# no task holds the lock that all changes of links need
ktap_check "a new device can be made" wait_for 30 ip link add ha type dummy
ip link del ha
ktap_done
