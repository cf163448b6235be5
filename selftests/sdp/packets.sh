#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# SO_MARK, SO_PRIORITY, IP_TOS and IPV6_TCLASS, IP_TTL and IPV6_UNICAST_HOPS are those of
# the packets, over iwarp_hybrid, by both links: set before a connection, on its listener,
# or later.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
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
