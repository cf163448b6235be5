#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# No call reads past an urgent byte, as in TCP: neither recv() with MSG_WAITALL nor
# splice(), nor a reader that looks while the urgent byte arrives.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3
PROG=$(dirname "$0")/urgent.py
STOPS="read ab, mark 1, urgent !"
port=7730

set_both() { in_a sysctl -q -w "${@/#/net.sdp.}" && in_b sysctl -q -w "${@/#/net.sdp.}"; }

# urgent PROTOCOL CASE: run this case of urgent.py; prints what it reads
urgent() {
	port=$((port + 1))
	timeout "$(scaled 60 200)" /usr/bin/python3 "$PROG" "$1" $port "$2" 2>&1
}

# links NAME: all cases, with the present settings of link and flow control
links() {
	local case

	for case in waitall splice; do
		ktap_is "$1: $case stops at the urgent byte" "$(urgent 257 $case)" "$STOPS"
	done
	ktap_is "$1: no read of 2000 passes an urgent byte that arrives" "$(urgent 257 stress)" "0 wrong of 2000"
	hold sdp_sock_oob_pres "" ms=2000 || { ktap_skip "$1: a reader while the mark is set stops at the urgent byte" "no probes"; return; }
	ktap_is "$1: a reader while the mark is set stops at the urgent byte" "$(urgent 257 held)" "$STOPS"
	hold_end
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
for case in waitall splice; do
	ktap_is "TCP: $case stops at the urgent byte" "$(urgent 0 $case)" "$STOPS"
done
links "shared link"
set_both flow_control=rdma
links "ring"
set_both flow_control=credit shared_link=0
links "verbs link"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
