#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# hnic: packets with the addresses and ports of an iWARP connection may come from a VLAN or a
# macvlan in another namespace, or from another socket of this one. They are sent unchanged,
# whatever their sequence number. Those received in a VLAN do not count as the connection's.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
PLAIN_PORTS=1
need python3
PEER=$(dirname "$0")/foreign.py

mac() { in-ns "$1" cat "/sys/class/net/$2/address"; }

# idle: all is acknowledged; una: the last acknowledged position
idle() { ! in_a ss -Htin "dport = :5299" | grep -q unacked; }
una() { awk '$1 == "ack" { n = $2 } END { print n }' "$WATCH"; }

# as_sent WHAT NETNS DEVICE SEQ TEXT: a packet of that device arrives as it was sent
SENT=0
as_sent() {
	SENT=$((SENT + 1))
	in-ns "$2" python3 "$PEER" send "$3" "$(mac "$2" "$3")" "$(mac b vb)" \
		"$PORT" "$4" "$5" || ktap_diag "not sent"
	wait_for 5 came $SENT
	ktap_is "$1" "$(grep ^text "$WATCH" | sed -n ${SENT}p)" "text $5"
	# a lost packet must not shift the lines of the next checks
	SENT=$(grep -c ^text "$WATCH")
}
came() { [ "$(grep -c ^text "$WATCH")" -ge "$1" ]; }

more() { [ "$(awk '$1 == "has" { n = $2 } END { print n }' "$SERVER_LOG")" -gt 80000 ]; }

# of_all WHEN SEQ: as_sent from each kind of source
of_all() {
	as_sent "$1: of a VLAN" c va.5 "$2" V
	if [ -n "$MACVLAN" ]; then
		as_sent "$1: of a macvlan" c mac0 "$2" M
	else
		ktap_skip "$1: packets of a macvlan are left alone" "this kernel has none"
	fi
	as_sent "$1: of another socket" a va "$2" S
}

start
attr profile hybrid
ip netns add c || ktap_skip_all "no namespace"
defer ip netns del c
ip -n a link add link va name va.5 type vlan id 5 || ktap_skip_all "no VLAN"
MACVLAN=
ip -n a link add link va name mac0 type macvlan && MACVLAN=mac0
for dev in va.5 $MACVLAN; do
	ip -n a link set "$dev" netns c
	ip -n c link set "$dev" up
done

start_bg b sdp-run -o python3 "$PEER" serve
SERVER_LOG=$BG_LOG
wait_for 30 said listening
mkfifo /tmp/more
start_bg a sh -c "exec sdp-run -o python3 '$PEER' connect </tmp/more"
exec 7>/tmp/more
wait_for 30 said port
PORT=$(sed -n 's/^port //p' "$BG_LOG")
start_bg b python3 "$PEER" watch "$PORT"
WATCH=$BG_LOG
wait_for 20 said watching
for total in 40000 80000; do
	echo >&7
	ktap_check "$total bytes arrive" wait_for 30 said "has $total" "$SERVER_LOG"
	wait_for 20 idle
done

# The NIC at the other end does not take packets that come in a VLAN for the connection's
looked_at() { stat_of b rx_engine_no_verdict; }
UNA=$(una)
before=$(looked_at)
for ahead in 0 1000 100000; do
	as_sent "in a VLAN, $ahead bytes ahead" c va.5 $((UNA + ahead)) W
done
ktap_is "the other NIC does not take the packets for the connection's" "$(looked_at)" "$before"

snapshot
UNA=$(una)
of_all "long acknowledged" $((UNA - 60000))
of_all "acknowledged" $((UNA - 1000))
same "acknowledged packets: none is stale" tx_engine_crc_stale

# ACKs are lost, so the provider keeps its records of the data that is sent now
UNA=$(una)
knob b loss 1000000
echo >&7
ktap_check "more data is sent without an ACK" wait_for 30 more
of_all "not acknowledged" "$UNA"
knob b loss 0
ktap_check "all data arrives" wait_for 60 said "has 120000" "$SERVER_LOG"
exec 7>&-
rm -f /tmp/more
ktap_done
