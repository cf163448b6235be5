#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# SDP over the engines of hnic: each profile uses those that it should, and the
# data arrive; damage that only the CRC sees is found, and so are engines that err.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need_research
need python3
TOOL=$(dirname "$0")/foreign.py

# profile NAME BYTES
profile() {
	attr profile "$1"
	snapshot
	ktap_check "profile $1, MTU $NET_MTU" transfer "$2"
	same "$1: no bad CRC" rx_engine_crc_bad
	case $1 in
	host)
		same "host: the NIC fills in no CRC" tx_engine_crc_filled
		same "host: the NIC gives no verdict" rx_engine_verdicts
		same "host: the NIC does not steer" rx_engine_steered_conn
		;;
	*)
		grew "$1: CRCs filled in" tx_engine_crc_filled
		grew "$1: verdicts" rx_engine_verdicts
		grew "$1: steered" rx_engine_steered_conn
		;;
	esac
	case $1 in
	offload-contig) grew "$1: gaps opened" tx_engine_contig_fpdus ;;
	offload-sg) grew "$1: markers gathered" tx_engine_dma_marker_ops ;;
	esac
}

# damaged: repeat transfers until one fails after data have arrived, since the first damage may
# hit the start-up. Status 1 then; 0 if one succeeds, or if no data have arrived in 20 of them.
damaged() {
	local out

	for _ in {1..20}; do
		out=$(transfer 2000000) && return
		echo "$out"
		! grep -q "received [1-9]" <<<"$out" || return
	done
}

start
bytes=$(scaled 200000 50000)
for p in $PROFILES; do
	profile "$p" "$bytes"
done

# Steering and CRCs, each without the other
attr profile hybrid
attr demux host
snapshot
ktap_check "the NIC does CRCs and does not steer" transfer "$bytes"
grew "CRCs filled in" tx_engine_crc_filled
grew "verdicts" rx_engine_verdicts
same "packets are not steered by the connection" rx_engine_steered_conn
same "packets are not steered by a filter" rx_engine_steered_ntuple
attr crc host
attr demux nic
snapshot
ktap_check "the NIC steers and does no CRCs" transfer "$bytes"
same "the NIC fills in no CRC" tx_engine_crc_filled
same "the NIC gives no verdict" rx_engine_verdicts
grew "steered by the connection" rx_engine_steered_conn
attr crc nic

# No CRC at all, and the NIC's markers
attr crc 0
for p in "offload-contig tx_engine_contig_fpdus" "offload-sg tx_engine_dma_marker_ops"; do
	attr profile "${p% *}"
	snapshot
	ktap_check "no CRC, ${p% *}" transfer "$bytes"
	grew "no CRC, ${p% *}: the NIC's markers" "${p#* }"
	same "no CRC, ${p% *}: the NIC computes none" tx_engine_crc_filled
	same "no CRC, ${p% *}: nothing dropped" tx_engine_crc_dropped
done
attr crc 1
attr profile hybrid

# Damage that only the CRC detects: the connection ends, wrong data never arrive
both fault_corrupt 20000
ktap_check_fails "damage ends the connection" damaged
said=$KTAP_OUT
ktap_check "data had arrived before" test -n "$(grep "received [1-9]" <<<"$said")"
ktap_is "no data is wrong at either end" \
	"$(grep -E 'differ|server: request|did not get' <<<"$said")" ""
both fault_corrupt 0

# A NIC whose verdict is the opposite now and then, or always
attr verify 1
both fault_verdict 50000
ktap_check "wrong verdicts are found when the host verifies" transfer "$bytes"
both fault_verdict 1000000
hyb_mark
ktap_check "connections work when all verdicts are wrong and the host verifies" transfer "$bytes"
hyb_most "the host has checked most itself" rx_crc_bytes 50
both fault_verdict 0
attr verify 0

# Good packets never get a good verdict: software checks them, without "verify" as well
both fault_verdict 1000000
hyb_mark
ktap_check "good packets without a verdict are accepted" transfer "$bytes"
hyb_most "software has checked most" rx_crc_bytes 50
both fault_verdict 0
hyb_mark
ktap_check "the next connection works" transfer "$bytes"
hyb_most "the NIC checks most again" rx_nic_bytes 50

# The NIC loses its position in the stream, now and then, and at every packet
both fault_resync 100000
snapshot
ktap_check "the NIC loses synchronisation" transfer "$bytes"
grew "lost synchronisation is counted" rx_engine_resync_lost
ktap_check "the NIC finds synchronisation again" test $(($(stat_of a rx_engine_resync_host) +
	$(stat_of a rx_engine_resync_self))) -gt \
	$(($(was rx_engine_resync_host) + $(was rx_engine_resync_self)))
both fault_resync 1000000
snapshot
hyb_mark
ktap_check "data survives a NIC that loses track at every packet" transfer "$bytes"
hyb_most "software has checked all" rx_crc_bytes 95
same "the NIC gives no verdict" rx_engine_verdicts
both fault_resync 0

# queued PROFILE: packets on the way to the NIC. A queueing discipline makes copies, which the
# NIC must not finish, and delays packets, whose data may be acknowledged meanwhile.
queued() {
	attr profile "$1"
	snapshot
	in_b tc qdisc add dev vb root netem duplicate 50%
	ktap_check "$1: packets copied on the way are final" transfer "$bytes"
	same "$1, copied: no bad CRC" rx_engine_crc_bad
	in_b tc qdisc change dev vb root netem delay 5ms 4ms
	ktap_check "$1: late packets are final" transfer "$bytes"
	same "$1, late: no bad CRC" rx_engine_crc_bad
	in_b tc qdisc del dev vb root
}

# filled NUMBER: the NIC of the server has filled in at least NUMBER CRCs
filled() { [ "$(stat_of b tx_engine_crc_filled)" -ge "$1" ]; }

# none_open DESCRIPTION: no packet that foreign.py has seen lacks its CRC
none_open() {
	local final

	final=$(grep -c final "$BG_LOG")
	ktap_is "$1 ($final are final)" "$(grep -c open "$BG_LOG"), $((final > 0))" "0, 1"
}

# Copies that leave by another device, where they cannot be finished
copied_away() {
	if ! in_b ip link add dup0 type veth peer name dup1 ||
		! in_b ip link set dup0 up || ! in_b ip link set dup1 up; then
		ktap_fail "a device for copies is made"
		return
	fi
	start_bg b python3 "$TOOL" final dup1
	wait_for 20 said watching
	local seen=$BG_PID log=$BG_LOG
	in_b tc qdisc add dev vb clsact
	in_b tc filter add dev vb egress matchall action mirred egress mirror dev dup0
	ktap_check "packets are copied to another device" transfer "$bytes"
	in_b tc qdisc del dev vb clsact
	BG_LOG=$log
	none_open "no copy leaves with its CRC missing"
	stop_bg "$seen"
	in_b ip link del dup0
}

sw_packets() { cat /sys/class/infiniband/rdb/ports/1/hw_counters/nic_sw_packets; }

# Filters of incoming packets change nothing for those that leave
filtered_in() {
	local sent

	in_b tc qdisc add dev vb clsact
	in_b tc filter add dev vb ingress matchall action ok ||
		ktap_fail "the kernel takes a filter of incoming packets"
	sent=$(sw_packets)
	ktap_check "incoming packets meet a filter" transfer "$bytes"
	ktap_is "packets that no filter meets leave without a copy" \
		"$(sw_packets)" "$sent"
	in_b tc qdisc del dev vb clsact
}

# Packets that get a tag which the NIC does not know, on their way to it
tagged() {
	local rc seen log client

	start_bg a python3 "$TOOL" final va
	wait_for 20 said watching
	seen=$BG_PID log=$BG_LOG
	serve
	start_bg a timeout 90 sdp-run xfer -h "$SERVER" -p "$port" -n 8000000 -d 8000000 -t 80
	client=$BG_PID
	wait_for 30 filled $(($(stat_of b tx_engine_crc_filled) + 50))
	in_b tc qdisc add dev vb clsact
	in_b tc filter add dev vb egress matchall action vlan push id 5 protocol 802.1ad ||
		ktap_diag "no tags"
	nap 2
	in_b tc qdisc del dev vb clsact
	wait "$client"
	rc=$?
	ktap_is "the data arrive after a while with tags" $rc 0
	stop_bg "$SERVER_PID"
	BG_LOG=$log
	none_open "no packet leaves with a tag and without its CRC"
	stop_bg "$seen"
}

NET_MTU=9000
start
for p in offload-contig offload-sg hybrid; do
	profile "$p" "$bytes"
	queued "$p"
done
filtered_in
copied_away
tagged

# The path becomes a second longer each way. TCP waits less than that for an acknowledgment,
# and retransmits. The acknowledgment comes before the retransmission has reached the NIC.
sudden() {
	local pid rc

	serve || return
	in_a timeout 90 sdp-run xfer -h "$SERVER" -p "$port" -n 8000000 -d 8000000 -t 80 &
	pid=$!
	wait_for 30 filled $(($(stat_of b tx_engine_crc_filled) + 50))
	in_a tc qdisc add dev va root netem delay 1s
	in_b tc qdisc add dev vb root netem delay 1s
	sleep 4
	in_a tc qdisc del dev va root
	in_b tc qdisc del dev vb root
	wait "$pid"
	rc=$?
	stop_bg "$SERVER_PID"
	return "$rc"
}

before=$(stat_of b tx_engine_crc_stale)
ktap_check "data survives a path that is suddenly a second longer" sudden
stale=$(stat_of b tx_engine_crc_stale)
# not so on the debug kernel: there it is a matter of luck
for ((i = 0; stale == before && i < 10; i++)); do
	queued hybrid
	stale=$(stat_of b tx_engine_crc_stale)
done
ktap_check "acknowledged retransmissions are dropped" test "$stale" -gt "$before"
ktap_check "dropped retransmissions are in tx_dropped" \
	test "$(in_b cat /sys/class/net/vb/statistics/tx_dropped)" -ge "$stale"

ktap_done
