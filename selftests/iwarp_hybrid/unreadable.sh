#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A NIC puts payload into the memory of a device, which the host cannot read. The connection
# ends, with an error at both ends, and nothing of that payload arrives; others go on.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3
modinfo test_unreadable >/dev/null 2>&1 ||
	ktap_skip_all "this kernel has no packets that cannot be read"
PORT=7940
MARK=/sys/module/test_unreadable/parameters

# serve PORT: counts the bytes of each client, prints how it ended
serve() {
	start_bg b python3 -uc '
import errno, socket, sys
lis = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
lis.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
lis.bind(("10.0.0.2", int(sys.argv[1])))
lis.listen(8)
print("listening")
while True:
    sock = lis.accept()[0]
    got = 0
    try:
        while data := sock.recv(1 << 16):
            got += len(data)
            sock.send(b"x" * (got == 65536))
        print("end", got)
    except OSError as err:
        print("end", got, errno.errorcode[err.errno])' "$1"
	wait_for 30 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
}

# client PORT FILE N: sends 64 KB, then, when FILE is there, N times as much
client() {
	in_a timeout 120 python3 -uc '
import errno, os, socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.connect(("10.0.0.2", int(sys.argv[1])))
sock.settimeout(60)
sock.sendall(bytes(65536))
sock.recv(1)
print("sent")
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
try:
    for _ in range(int(sys.argv[3])):
        sock.sendall(bytes(65536))
    print("end")
except OSError as err:
    print("end", errno.errorcode[err.errno])' "$@"
}

err_local() { cat /sys/class/infiniband/rdb/ports/1/hw_counters/err_local; }

# ends LINK
ends() {
	local before bad

	before=$(err_local)
	rm -f /run/go
	# what they said before must not count
	tee /run/bad /run/good </dev/null
	client $PORT /run/go 1000 >/run/bad &
	bad=$!
	client $((PORT + 1)) /run/go 2 >/run/good &
	LIB_PIDS+=("$bad" "$!")
	wait_for 60 said sent /run/bad && wait_for 60 said sent /run/good
	echo 1 >$MARK/on
	touch /run/go
	wait_for 60 said end /run/bad
	ktap_is "$1: the sender gets ECONNRESET" "$(grep end /run/bad)" "end ECONNRESET"
	wait_for 60 said end /run/good
	ktap_is "$1: a connection to another port goes on" "$(grep end /run/good)" end
	echo 0 >$MARK/on
	ktap_check "$1: packets were marked" test "$(cat $MARK/marked)" -gt 0
	ktap_check "$1: the server gets none of them" wait_for 30 said "end 65536 ECONNRESET" "$SERVER"
	ktap_is "$1: the error is counted" $(($(err_local) - before)) 1
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe test_unreadable port="$(port_mapped b $PORT)"
defer modprobe -r test_unreadable
defer rm -f /run/go /run/bad /run/good
serve $((PORT + 1))
GOOD=$BG_PID
for link in shared verbs; do
	[ $link = shared ] || for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.shared_link=0
	done
	serve $PORT
	SERVER=$BG_LOG
	ends $link
	stop_bg "$BG_PID"
done
stop_bg "$GOOD"
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_done
