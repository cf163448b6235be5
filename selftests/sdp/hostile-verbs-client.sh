#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A peer that listens over verbs, and breaks the rules of SDP towards its clients:
# in its HelloAck, then in all that follows. connect() fails as with TCP, or the
# connection ends or continues as it must, the counter of that mistake rises, and nothing
# is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need hyb-hostile sdp-actions sdp-echo sdpstat tc
need_research

KIND=${KIND:-hybrid}
PORT=5021
CLIENTS=/run/clients.$$

dev_up "$KIND" "$KIND" || ktap_skip_all "no $KIND devices"
case $KIND in
hybrid)
	IN_B="in-ns b "
	ALL="ack sdp ring hold"
	REFUSED="19 refused, 13 not"
	;;
rxe)
	IN_B=
	ALL="ack sdp ring immediate hold"
	# with the six attacks that do not fit RoCE, whose connections the peer closes
	REFUSED="22 refused, 10 not"
	;;
esac
modprobe -q sdp
PINNED=$(pinned)

# attacks SET LINK POLICY: on clients with these settings
attacks() {
	in_b sysctl -qw net.sdp.shared_link="$2" net.sdp.flow_control="$3"
	in_a hyb-hostile -v -h 10.0.0.1 -p $PORT -s "${IN_B}sdpstat -s -z" \
		-x "${IN_B}sdp-echo -r -h 10.0.0.1 -p $PORT >> $CLIENTS.$1 2>&1" \
		"$1" > "$OUT/$1.tap" 2>&1
	ktap_include "$OUT/$1.tap" "$KIND"
}

# refused: count the outcomes of the clients that got a HelloAck
refused() {
	awk '/^sdp-echo: connect: Connection refused$/ { refused++; next }
		/^sdp-echo: connected$|Connection reset by peer$/ { rest++; next }
		{ print "unexpected:", $0 }
		END { print refused " refused, " rest " not" }' $CLIENTS.ack
}

for set in $ALL; do
	case $set in
	ack) attacks ack 1 auto ;;
	sdp) attacks sdp 0 credit ;;
	ring | immediate) attacks "$set" 0 rdma ;;
	hold) attacks hold 0 vwin ;;
	esac
done
# a peer that is gone before the client's confirmation has arrived
if [ "$KIND" = rxe ]; then
	in_b sysctl -qw net.sdp.shared_link=0 net.sdp.flow_control=auto
	ktap_check "data of the client is delayed" in_b tc qdisc add dev vb root netem delay 300ms
	hyb-hostile -v -h 10.0.0.1 -p $PORT -x "sdp-actions connect 10.0.0.1 $PORT recv 1 \
		> $CLIENTS.gone 2>&1" verbs > "$OUT/gone.tap" 2>&1
	ktap_include "$OUT/gone.tap" "$KIND"
	tc qdisc del dev vb root
	ktap_is "the client sees a reset" "$(cat $CLIENTS.gone)" \
		"sdp-actions: recv: Connection reset by peer"
fi
ktap_is "connect() is refused for every wrong HelloAck, and for no other" "$(refused)" "$REFUSED"
ktap_check "no page is pinned" wait_for 20 none_pinned
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
