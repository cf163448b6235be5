#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A peer that listens, speaks proper iWARP, and breaks the rules of SDP towards
# its clients: in its HelloAck, then in all that follows. connect() fails as
# with TCP, or the connection ends or continues as it must, the counter of that
# mistake rises, and nothing is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need hyb-hostile sdp-echo sdpstat
need_research

PORT=5021
CLIENTS=/run/clients.$$

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp

# attacks SET LINK POLICY: on clients with these settings
attacks() {
	in_b sysctl -qw net.sdp.shared_link="$2" net.sdp.flow_control="$3"
	in_a hyb-hostile -h 10.0.0.1 -p $PORT -s "in-ns b sdpstat -s -z" \
		-x "in-ns b sdp-echo -r -h 10.0.0.1 -p $PORT >> $CLIENTS.$1 2>&1" \
		"$1" > "$OUT/$1.tap" 2>&1
	ktap_include <(grep -v '# SKIP' "$OUT/$1.tap")
}

# refused: count the outcomes of the clients that got a HelloAck
refused() {
	awk '/^sdp-echo: connect: Connection refused$/ { refused++; next }
		/^sdp-echo: connected$|Connection reset by peer$/ { rest++; next }
		{ print "unexpected:", $0 }
		END { print refused " refused, " rest " not" }' $CLIENTS.ack
}

attacks ack 1 auto
# a reset may arrive before connect() has returned
ktap_is "connect() is refused for every wrong HelloAck, and for no other" "$(refused)" \
"19 refused, 13 not"
# the reset is there when the HelloAck is looked at
tcp_gone() { [ -z "$(in_b ss -Htn "dport = :$PORT")" ]; }
if hold cma_iw_handler kworker asleep=1 ms=60000; then
	start_bg a hyb-hostile -h 10.0.0.1 -p $PORT -o "the peer resets" \
		-x "in-ns b sdp-echo -r -h 10.0.0.1 -p $PORT > $CLIENTS.reset 2>&1" ack
	ktap_check "a client has received HelloAck" wait_for 20 is_held
	ktap_check "the client is reset after HelloAck" wait_for 10 tcp_gone
	hold_end
	wait "$BG_PID"
	ktap_is "a reset after the HelloAck: connect() fails with ECONNRESET" "$(cat $CLIENTS.reset)" \
		"sdp-echo: connect: Connection reset by peer"
else
	ktap_skip "a reset after the HelloAck: connect() fails with ECONNRESET" "no probes"
fi
attacks sdp 0 credit
attacks shared 1 auto
attacks ring 0 rdma
attacks hold 0 vwin
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
