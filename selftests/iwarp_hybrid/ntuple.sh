#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Filters of an ordinary NIC for connections: the table stays the administrator's,
# however many connections an ordinary user makes, and other users get some, however
# busy these connections are. hnic has room for 64 filters.

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

# client USER FIFO NR: makes NR connections, and one more for each line that it reads
client() {
	mkfifo "$2"
	start_bg a sh -c 'exec python3 -c "
import os, socket, sys
os.setuid('"$1"')
held = []
def connect():
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.connect((\"10.0.0.2\", '"$PORT"'))
    assert sock.recv(1) == b\"x\"
    held.append(sock)
for _ in range('"$3"'):
    connect()
print(\"connected\", flush=True)
for line in sys.stdin:
    connect()
    print(line.strip(), held[-1].getsockname()[1], flush=True)
" <'"$2"
}

# start: the server, and a client that makes $NR connections. While the file $BUSY exists,
# the server sends to all connections.
start() {
	start_bg b python3 -c '
import os, socket, threading, time
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.bind(("10.0.0.2", '"$PORT"'))
sock.listen(128)
print("listening", flush=True)
held = []
def keep_busy():
    while True:
        time.sleep(0.1)
        for conn in held[:] if os.path.exists("'"$BUSY"'") else []:
            try:
                conn.send(b"x")
            except OSError:
                held.remove(conn)
threading.Thread(target=keep_busy, daemon=True).start()
while True:
    held.append(sock.accept()[0])
    held[-1].send(b"x")'
	SERVER=$BG_PID
	wait_for 20 said listening
	client 65534 "$FIFO" $NR
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

	attr 4
	ktap_check "a limit of 4 gives 2 connections of a user a filter" \
		wait_for 20 steered_are ntuple 2
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
	attr 4
	ktap_check "a limit of 4 sets 2 filters again" wait_for 20 rules_are 2
}

# others USER NR WANT: connections of another user that have a filter, left in OTHERS
others() {
	local before

	before=$(steered ntuple)
	client "$1" "$FIFO.other" "$2"
	exec 8>"$FIFO.other"
	wait_for 60 said connected
	wait_for 5 steered_are ntuple $((before + $3))
	OTHERS=$(($(steered ntuple) - before))
	exec 8>&-
	wait "$BG_PID"
	wait_for 20 steered_are ntuple "$before"
	rm "$FIFO.other"
}

# Connections that receive all the time keep their filters
share_of_a_user() {
	: >"$BUSY"
	attr 0
	wait_for 20 rules_are 0
	attr 4
	ktap_check "busy connections of a user have half of 4 filters" \
		wait_for 20 steered_are ntuple 2
	others 65533 3 2
	ktap_is "3 connections of a second user have the other half" "$OTHERS" 2
	rm "$BUSY"
}

# The connections of ordinary users have ended
share_of_root() {
	attr 4
	others 0 4 4
	ktap_is "4 connections of root have 4 filters" "$OTHERS" 4
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
		ktap_skip "places that the administrator takes meanwhile are not used" "no probes"
	else
		in_a ethtool -N va flow-type tcp4 dst-port 9 action 0 loc 63 >/dev/null
		in_a ethtool -N va flow-type tcp4 dst-port 10 action 0 loc 61 >/dev/null
		attr 4
		ktap_check "a NIC that leaves the place to its caller" wait_for 20 rules_are 4
		ktap_is "filters of connections are at the last free places" \
			"$(places 5101)" "60 62"
		ktap_is "the administrator's filters stay" "$(places 9) $(places 10)" "63 61"
		attr 0
		wait_for 20 rules_are 2
		in_a ethtool -N va flow-type tcp4 dst-port 11 action 0 loc 62 >/dev/null
		attr 4
		wait_for 20 rules_are 5
		ktap_is "places that the administrator takes meanwhile are not used" \
			"$(places 5101) $(places 11)" "59 60 62"
		in_a ethtool -N va delete 62
		in_a ethtool -N va delete 63
		in_a ethtool -N va delete 61
		modprobe -r test_place
	fi
}

end() {
	exec 7>&-
	wait "$CLIENT"
	ktap_check "filters are removed with their connections" wait_for 20 rules_are 0
	share_of_root
	stop_bg "$SERVER"
}

FIFO=$(mktemp -u)
BUSY=$(mktemp -u)
ktap_plan 21
net_up
dev_up hybrid hybrid || ktap_fail "devices"
modprobe -q sdp
in_a ethtool -L va combined 2
in_a ethtool --set-priv-flags va iwarp-rx-demux off
by_default
within_limit
no_limit_left
share_of_a_user
places_of_the_driver
end
rm -f "$FIFO"
dev_down
net_down
ktap_done
