#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# hnic: headers of a large TCP packet whose length fields were changed behind
# the stack's back, here by tc(8). The device drops and counts such packets
# instead of cutting them by these fields, and the connection goes on later.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need ethtool python3 tc
export NET_LINK=hnic
modprobe hnic
net_up || ktap_skip_all "no link"

dropped() { in_a ethtool -S va | awk '$1 == "tx_engine_too_long:" { print $2 }'; }
more_dropped() { [ "$(dropped)" -gt "$BEFORE" ]; }

# sink ADDRESS: receive 2 MB over TCP. source_to ADDRESS: connect to it, and send them when
# /tmp/go exists
sink() {
	cat >/tmp/sink.py <<-'END'
		import socket, sys
		s = socket.create_server((sys.argv[1], 5900), family=socket.AF_INET6
		                         if ":" in sys.argv[1] else socket.AF_INET)
		print("listening", flush=True)
		c = s.accept()[0]
		n = 0
		while n < 2 << 20:
		    n += len(c.recv(1 << 16)) or sys.exit(f"only {n} bytes")
	END
	start_bg b python3 /tmp/sink.py "$1"
	SINK=$BG_PID
	wait_for 20 said listening
}

source_to() {
	rm -f /tmp/connected /tmp/go
	cat >/tmp/source.py <<-'END'
		import os, socket, sys, time
		s = socket.create_connection((sys.argv[1], 5900))
		open("/tmp/connected", "w").close()
		while not os.path.exists("/tmp/go"):
		    time.sleep(0.01)
		s.sendall(bytes(2 << 20))
		s.shutdown(socket.SHUT_WR)
		s.recv(1)
	END
	start_bg a python3 /tmp/source.py "$1"
	SOURCE=$BG_PID
	wait_for 20 test -e /tmp/connected
}

# changed DESCRIPTION ADDRESS OFFSET VALUE: tc(8) sets a byte of the headers, counted from the
# beginning of the IP header
changed() {
	local rc=hangs

	BEFORE=$(dropped)
	sink "$2"
	source_to "$2"
	in_a tc qdisc add dev va clsact
	in_a tc filter add dev va egress matchall \
		action pedit munge offset "$3" u8 set "$4"
	touch /tmp/go
	ktap_check "$1: the device drops the packet" wait_for 10 more_dropped
	in_a tc qdisc del dev va clsact
	if wait_for 30 is_gone "$SINK"; then
		wait "$SINK"
		rc=$?
	fi
	ktap_is "$1: the connection goes on" $rc 0
	stop_bg "$SOURCE"
	stop_bg "$SINK"
}

changed "IPv4, TCP data offset 0" 10.0.0.2 32 0x00
changed "IPv4, TCP data offset 4" 10.0.0.2 32 0x40
changed "IPv4, header length 15" 10.0.0.2 0 0x4f
changed "IPv4, header length 0" 10.0.0.2 0 0x40
changed "IPv6, TCP data offset 0" fd00::2 52 0x00
ktap_done
