#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets carry the values of SO_MARK, SO_PRIORITY, IP_TOS and IPV6_TCLASS, IP_TTL and
# IPV6_UNICAST_HOPS. The program sets them before the connection, on the listener, or later.
# Tested over iwarp_hybrid with the shared link and the verbs link; packets.py has the
# cases.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# packets.py looks for the port on the wire, so net.sdp.port_offset must be 0
PLAIN_PORTS=1
need python3 tc
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
modprobe -q sch_prio
tc -n a qdisc add dev va root handle 1: prio || ktap_skip_all "no queues for priorities"
port=7700
for link in shared verbs; do
	for addr in 10.0.0.2 fd00::2; do
		port=$((port + 1))
		/usr/bin/python3 "$(dirname "$0")/packets.py" $port $addr $link va \
			>"$OUT/$link-$port" 2>&1
		ktap_include "$OUT/$link-$port" "$link $addr"
	done
done
ktap_done
