#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A nonblocking connect() waits neither for the link-layer address of the peer nor for the
# device, with iwarp_hybrid over veth and hnic, with rxe and with siw. The attempt goes on in
# the background, and its result is reported as TCP reports it.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 setpriv
PORT=7972
RUN=(/usr/bin/python3 "$(cd "$(dirname "$0")" && pwd)/nonblock.py")

# run TASK [COMMAND...]: nonblock.py TASK in a, under COMMAND; prints its output
run() { in_a timeout 120 "${@:2}" "${RUN[@]}" "$1" $PORT 2>&1; }

# background a|b TASK WORD [COMMAND...]: start it, and wait until it prints WORD
background() {
	start_bg "$1" "${@:4}" "${RUN[@]}" "$2" $PORT
	wait_for 60 said "$3" || cat "$BG_LOG"
}

# forget: no neighbour is known when connect() begins
forget() { in_a ip neigh flush dev va; }

test_device() {
	# all addresses of rxe are known in its one namespace
	[ "$1" = rxe ] ||
		ktap_is "$1: connect() to an unknown neighbour returns at once" \
			"$(run sleeps)" "EINPROGRESS 10.0.0.1 does not sleep"
	background b serve listening
	SERVER=$BG_PID
	forget
	ktap_is "$1: a connection to a neighbour that is not known yet is established" \
		"$(run works)" "EINPROGRESS connected same name x"
	ktap_is "$1: a connection to a neighbour that is known is established" \
		"$(run works)" "EINPROGRESS connected same name x"
	[ "$1" != rxe ] || return
	forget
	ktap_is "$1: the TCP connection below is the user's" \
		"$(run owner setpriv --reuid 1000 --regid 1000 --clear-groups)" \
		"EINPROGRESS connected uid 1000"
}

# siw uses a port that the RDMA CM chooses, which does not look at TCP's ports
test_ports() {
	local range port
	range=$(in_a sysctl -n net.ipv4.ip_local_port_range)
	in_a sysctl -qw net.ipv4.ip_local_port_range="40000 40007"
	start_bg a python3 -c '
import socket, time
held = [socket.create_server(("10.0.0.1", port)) for port in range(40000, 40007)]
print("held", flush=True)
time.sleep(1000)'
	port=$BG_PID
	wait_for 20 said held
	forget
	ktap_is "siw: ports that TCP uses are passed over" \
		"$(run ports)" "EINPROGRESS connected"
	stop_bg "$port"
	in_a sysctl -qw net.ipv4.ip_local_port_range="$range"
}

# Hosts that do not answer: siw blocks as long as TCP does
test_lost() {
	ip -n a neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev va nud permanent
	background a many held setpriv --reuid 1000 --regid 1000 --clear-groups
	ktap_is "siw: a user has 256 attempts that block" \
		"$(tail -n 1 "$BG_LOG")" "held 256 EAGAIN"
	MANY=$BG_PID
	ktap_is "siw: other programs connect meanwhile" "$(run works)" \
		"EINPROGRESS connected same name x"
	background a lost E
	ktap_is "siw: connect() to a host that does not answer goes on" \
		"$(tail -n 1 "$BG_LOG")" "EINPROGRESS EALREADY"
	ktap_check "siw: the device can be removed meanwhile" \
		in_a timeout 60 rdma link delete rda
	stop_bg "$BG_PID"
	stop_bg "$MANY"
	ktap_check "siw: the threads that connect end" wait_for 20 threads_ended
}

threads_ended() { ! grep -qx sdp_connect /proc/[0-9]*/comm; }

modprobe -q sdp
for NET_LINK in veth hnic; do
	dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
	test_device "hybrid over $NET_LINK"
	stop_bg "$SERVER"
	dev_down
	net_down
done
NET_LINK=veth
if dev_up rxe rxe; then
	test_device rxe
	stop_bg "$SERVER"
	dev_down
else
	ktap_skip rxe "no rxe devices"
fi
dev_up siw siw || ktap_skip_all "no siw"
test_device siw
test_ports
test_lost
stop_bg "$SERVER"
ktap_done
