#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Filters of an ordinary NIC for connections: the table stays the administrator's,
# however many connections an ordinary user makes. hnic has room for 64 filters.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need python3 ethtool rdma

NET_LINK=hnic
PORT=5101
NR=70

attr() { echo "$1" >/sys/class/infiniband/rda/hybrid/ntuple_filters; }
rules() { in_a ethtool -n va | grep -c "^Filter:"; }
rules_are() { [ "$(rules)" = "$1" ]; }
steered() { cat /sys/class/infiniband/rda/hybrid/qp/*/steering | grep -c "^$1$"; }
steered_are() { [ "$(steered "$1")" = "$2" ]; }
has_filter() { in_a ethtool -n va | grep -q "Dest port: $1 "; }

# places PORT: of the filters with this port at either end, in order
places() {
	in_a ethtool -n va | awk -v port="$1" '
		/^Filter:/ { at = $2 }
		/(Src|Dest) port: / && $3 == port { places = places (places ? " " : "") at }
		END { print places }'
}

# start: the server, and a client that makes $NR connections, and one more for each
# line that it reads
start() {
	start_bg b python3 -c '
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.bind(("10.0.0.2", '"$PORT"'))
sock.listen(128)
print("listening", flush=True)
held = []
while True:
    held.append(sock.accept()[0])
    held[-1].send(b"x")'
	SERVER=$BG_PID
	wait_for 20 said listening
	mkfifo "$FIFO"
	start_bg a sh -c 'exec python3 -c "
import os, socket, sys
os.setuid(65534)
held = []
def connect():
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.connect((\"10.0.0.2\", '"$PORT"'))
    assert sock.recv(1) == b\"x\"
    held.append(sock)
for _ in range('"$NR"'):
    connect()
print(\"connected\", flush=True)
for line in sys.stdin:
    connect()
    print(line.strip(), held[-1].getsockname()[1], flush=True)
" <'"$FIFO"
	CLIENT=$BG_PID
	exec 7>"$FIFO"
	wait_for 60 said connected
}

by_default() {
	start
	ktap_check "an ordinary user connects $NR times" said connected
	ktap_check "the host steers all connections by default" wait_for 20 steered_are host $NR
	ktap_is "connections take no filter by default" "$(rules)" 0
}

within_limit() {
	local port

	attr 2
	ktap_check "a limit of 2 gives 2 connections a filter" wait_for 20 steered_are ntuple 2
	ktap_is "the NIC has 2 filters" "$(rules)" 2
	in_a ethtool -N va flow-type tcp4 dst-port 9 action 0 >/dev/null
	ktap_is "the administrator can add one" "$(rules)" 3

	# longer than a connection without data keeps its filter
	sleep 1.5
	echo newest >&7
	wait_for 20 said newest
	port=$(sed -n 's/^newest //p' "$BG_LOG")
	ktap_check "a new connection takes the filter of an idle one" \
		wait_for 20 has_filter "$port"
	ktap_check "2 connections have a filter" wait_for 20 steered_are ntuple 2
	ktap_is "the NIC has as many filters as before" "$(rules)" 3
}

no_limit_left() {
	attr 1
	attr 0
	ktap_check "a limit of 0 removes the filters" wait_for 20 rules_are 1
	ktap_check "the host steers all connections" wait_for 20 steered_are host $((NR + 1))
	in_a ethtool -N va delete "$(in_a ethtool -n va | awk '/^Filter:/ { print $2 }')"
	attr 2
	ktap_check "a limit of 2 sets 2 filters again" wait_for 20 rules_are 2
}

# The last place of a table is often the one of least priority, so filters of connections
# go there. The administrator has it, and a place before it
places_of_the_driver() {
	attr 0
	ktap_check "a limit of 0 removes the filters" wait_for 20 rules_are 0
	if ! modprobe test_place; then
		! grep -qw register_kretprobe /proc/kallsyms ||
			ktap_fail "the probe of hnic's answer can be set"
		ktap_skip "a NIC that leaves the place to its caller" "no probes"
		ktap_skip "filters of connections are at the last free places" "no probes"
		ktap_skip "the administrator's filters stay" "no probes"
	else
		in_a ethtool -N va flow-type tcp4 dst-port 9 action 0 loc 63 >/dev/null
		in_a ethtool -N va flow-type tcp4 dst-port 10 action 0 loc 61 >/dev/null
		attr 2
		ktap_check "a NIC that leaves the place to its caller" wait_for 20 rules_are 4
		ktap_is "filters of connections are at the last free places" \
			"$(places 5101)" "60 62"
		ktap_is "the administrator's filters stay" "$(places 9) $(places 10)" "63 61"
		in_a ethtool -N va delete 63
		in_a ethtool -N va delete 61
		modprobe -r test_place
	fi
}

end() {
	exec 7>&-
	wait "$CLIENT"
	stop_bg "$SERVER"
	ktap_check "filters are removed with their connections" wait_for 20 rules_are 0
}

FIFO=$(mktemp -u)
ktap_plan 17
net_up
dev_up hybrid hybrid || ktap_fail "devices"
modprobe -q sdp
in_a ethtool -L va combined 2
in_a ethtool --set-priv-flags va iwarp-rx-demux off
by_default
within_limit
no_limit_left
places_of_the_driver
end
rm -f "$FIFO"
dev_down
net_down
ktap_done
