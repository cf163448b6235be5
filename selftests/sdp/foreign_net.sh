#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A network namespace with a dummy device that has the addresses of the device of host a.
# The RDMA CM finds the RDMA device of a by these, but no connection leaves through it. An
# ordinary user can make such a namespace, too.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 rping
PORT=7970
TOOL=$(dirname "$0")/../iwarp_hybrid/relisten.py

# CONNECT: print the outcome of connect() over SDP, without fallback
CONNECT='
import errno, socket
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
    sock.settimeout(20)
    err = sock.connect_ex(("10.0.0.2", '$PORT'))
print(errno.errorcode[err] if err else "connected")'

# tried NAMESPACE: print the outcome of connect() in that namespace
tried() { timeout 60 in-ns "$1" python3 -c "$CONNECT"; }

# tried_by_user: the same for an ordinary user, in a user and a network namespace of its own
# with such a device. Prints the address of the device first, to show that it exists
tried_by_user() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urn sh -c '
		ip link add d0 address "$1" type dummy &&
		ip addr add 10.0.0.1/24 dev d0 &&
		ip link set d0 up &&
		ip -br addr show dev d0 | grep -o 10.0.0.1/24 &&
		exec python3 -c "$0"' "$CONNECT" "$(in_a cat /sys/class/net/va/address)" 2>&1
}

# arrived: TCP segments at the host of the listener, and connections that it has accepted
arrived() {
	# shellcheck disable=SC2016 # for awk
	echo "$(in_b awk '$1 == "Tcp:" && $2 != "RtoAlgorithm" { print $11 }' /proc/net/snmp)" \
		"$(grep -c accepted "$LISTENER_LOG")"
}

# closed: no connection is left, and no more segments arrive
closed() {
	local was

	was=$(arrived)
	nap 1
	no_queue_pairs && [ "$(arrived)" = "$was" ]
}

# namespace_like_a: a namespace c with the addresses of the net device of host a
namespace_like_a() {
	ip netns add c
	ip link add d0 address "$(in_a cat /sys/class/net/va/address)" netns c type dummy
	ip -n c addr add 10.0.0.1/24 dev d0
	ip -n c link set d0 up
}

# listener: accepts over SDP
listener() {
	start_bg b python3 -c '
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
sock.bind(("10.0.0.2", '$PORT'))
sock.listen(8)
print("listening", flush=True)
while True:
    sock.accept()
    print("accepted", flush=True)'
	LISTENER=$BG_PID
	LISTENER_LOG=$BG_LOG
	wait_for 20 said listening
}

# accepted N: the listener has accepted N connections
accepted() { [ "$(grep -c accepted "$LISTENER_LOG")" -eq "$1" ]; }

# listening ADDRESS: the outcome of listen() over SDP in the namespace c
listening() {
	timeout 60 in-ns c python3 -c '
import errno, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
    try:
        sock.bind((sys.argv[1], '$PORT'))
        sock.listen(8)
        print("listens")
    except OSError as error:
        print(errno.errorcode[error.errno])' "$1"
}

# LISTEN: a socket of a namespace that its owner has made is bound to port 80 there. A task of
# this namespace, an ordinary user, calls listen(); print the outcome.
LISTEN='
import ctypes, errno, os, socket
here, there = socket.socketpair()
if not os.fork():
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)
    with open("/proc/sys/net/sdp/port_offset", "w") as file:
        file.write("0")
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.bind(("0.0.0.0", 80))
    socket.send_fds(there, [b"x"], [sock.fileno()])
    os._exit(0)
there.close()
fds = socket.recv_fds(here, 1, 1)[1]
if not fds:
    print("no socket")
else:
    try:
        socket.socket(fileno=fds[0]).listen(8)
        print("listens")
    except OSError as error:
        print(errno.errorcode[error.errno])'

# siw_cases: siw makes its sockets in the namespace of the task
siw_cases() {
	ktap_is "a privilege in another namespace is none in that of the device" \
		"$(timeout 60 in-ns a setpriv --reuid 65534 --regid 65534 --clear-groups \
			python3 -c "$LISTEN" 2>&1 | tail -n 1)" EACCES
}

# is_refused ERRNO: an address that only another namespace can listen at. Which call says so
# depends on what the RDMA CM knows of the device.
is_refused() {
	[ "$1" = ENETUNREACH ] || [ "$1" = EADDRNOTAVAIL ]
}

# listener_refused: a program of verbs in the namespace c cannot listen at its own address,
# which bind() says where the RDMA CM knows whose device it is, else listen()
listener_refused() {
	local rc

	timeout 20 in-ns c rping -s -a 10.0.0.1 -p 7971 -C 1
	rc=$?
	[ "$rc" -ne 0 ] && [ "$rc" -ne 124 ]
}

# iwarp_hybrid itself refuses programs of verbs in another namespace
verbs_cases() {
	start_bg b rping -s -a 10.0.0.2 -C 1
	RPING=$BG_PID
	wait_for 20 pgrep rping
	ktap_check_fails "a program of verbs in the namespace with the same addresses fails" \
		timeout 20 in-ns c rping -c -a 10.0.0.2 -C 1
	ktap_check "a program of verbs in the namespace of the device connects" \
		in_a timeout 20 rping -c -a 10.0.0.2 -C 1
	stop_bg "$RPING"
	ktap_check "a program of verbs cannot listen at an address that it would not be heard at" \
		listener_refused
	ktap_check "a program of SDP cannot listen at that address either" is_refused "$(listening 10.0.0.1)"
	ip -n c link set lo up
	ktap_is "a program of SDP listens at the wildcard address" "$(listening 0.0.0.0)" listens
	for addr in 0.0.0.0 127.0.0.1; do
		start_bg - in-ns c /usr/bin/python3 "$TOOL" verbs $addr 7971
		ktap_check "a program of verbs listens at $addr" wait_for 20 said listening
		stop_bg "$BG_PID"
	done
}

modprobe -q sdp
for kind in hybrid siw; do
	dev_up $kind $kind || ktap_skip_all "no RDMA device"
	namespace_like_a
	listener
	none=$(arrived)
	ktap_is "$kind: the namespace of the device connects" "$(tried a)" connected
	wait_for 20 accepted 1 || ktap_fail "$kind: the connection is accepted" "$(arrived)"
	ktap_check "$kind: both ends close the connection" wait_for 20 closed
	was=$(arrived)
	ktap_check "$kind: the host of the listener counts that connection, $was" test "$was" != "$none"
	ktap_is "$kind: the namespace with the same addresses gets ENETUNREACH" "$(tried c)" ENETUNREACH
	ktap_is "$kind: an ordinary user in such a namespace gets ENETUNREACH" \
		"$(tried_by_user | tr '\n' ' ')" "10.0.0.1/24 ENETUNREACH "
	ktap_is "$kind: no TCP segment and no connection of these arrives" "$(arrived)" "$was"
	case $kind in
	siw) siw_cases ;;
	*) verbs_cases ;;
	esac
	stop_bg "$LISTENER"
	ip netns del c
	dev_down
done
ktap_done
