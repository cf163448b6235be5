#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# CRC and demultiplexing on a NIC: nothing of it is left to software, and where
# the NIC does not or cannot do it, software does, in the middle of a
# connection. All data are checked by the programs that transfer them.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need xfer sdp-run rping ethtool rdma hyb-target taskset jq
need_research

NET_LINK=hnic
FAMILY=${FAMILY:-4}
SERVER=10.0.0.2
[ "$FAMILY" = 4 ] || SERVER=fd00::2
PORT=5100
SIZE=$(scaled 8 3)M

knob() { "in_$1" sh -c "echo '$3' >/sys/class/net/v$1/hnic/$2"; }
both() { knob a "$1" "$2" && knob b "$1" "$2"; }
engine() { "in_$1" ethtool --set-priv-flags "v$1" "iwarp-$2" "$3"; }
attr() { echo "$3" >"/sys/class/infiniband/rd$1/hybrid/$2"; }

# stat a|b COUNTER
stat() {
	local all
	all="$(rdma statistic show link "rd$1/1") "
	all=${all##* "$2" }
	echo "${all%% *}"
}

# mark COUNTER...: remember the counters of rda; grown, still COUNTER
declare -A MARK
mark() {
	local c
	for c in "$@"; do
		MARK[$c]=$(stat a "$c")
	done
}
grown() { ktap_check "$1 grew" test "$(stat a "$1")" -gt "${MARK[$1]}"; }
still() { ktap_is "$1 did not grow" "$(stat a "$1")" "${MARK[$1]}"; }

# transfer: SDP both ways, checked byte by byte, in the background; the client on
# CPU $RUN_ON if that is set
transfer() {
	PORT=$((PORT + 1))
	start_bg b sdp-run -o xfer -s -h $SERVER -p $PORT
	XS=$BG_PID XS_LOG=$BG_LOG
	wait_for "$(scaled 20 100)" said listening || return
	start_bg a ${RUN_ON:+taskset -c $RUN_ON} timeout 200 sdp-run -o xfer -h $SERVER -p $PORT -n "${1:-$SIZE}" \
		-d "${1:-$SIZE}" -t 180
	XC=$BG_PID
	XLOG=$BG_LOG
}

moving() { kill -0 "$XC" 2>/dev/null; }
begun() { [ "$(stat a tx_nic_bytes)" -gt "${MARK[tx_nic_bytes]}" ]; }
connected() { [ -n "$(ls /sys/class/infiniband/rda/hybrid/qp 2>/dev/null)" ]; }

# finish DESCRIPTION
finish() {
	local rc

	wait "$XC"
	rc=$?
	stop_bg "$XS"
	if [ $rc -eq 0 ] && grep -q "xfer: ok" "$XLOG"; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "rc=$rc" "$(tail -n 5 "$XLOG")"
	fi
}

all_on_nic() {
	mark tx_crc_bytes rx_crc_bytes tx_nic_bytes rx_nic_bytes nic_sw_packets
	transfer
	finish "transfer"
	still tx_crc_bytes
	still nic_sw_packets
	grown tx_nic_bytes
	grown rx_nic_bytes
	# a window that ends within a segment cuts an FPDU in two
	ktap_check "most of what is received was checked by the NIC" \
		test $(($(stat a rx_crc_bytes) - MARK[rx_crc_bytes])) -lt \
		$((($(stat a rx_nic_bytes) - MARK[rx_nic_bytes]) / 2))

	mark tx_crc_bytes tx_nic_bytes
	start_bg b timeout 60 rping -s -a $SERVER -C 50 -S 30000 -V
	wait_for 20 port_listening b 7174
	ktap_check "rping over verbs works" ping_all 50 -a $SERVER -S 30000
	still tx_crc_bytes
	grown tx_nic_bytes
}

# software computes: the counter has grown, or the transfer is over
sealed() {
	local n

	moving || return 0
	n=$(cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_crc_bytes)
	test "$n" -gt "${MARK[tx_crc_bytes]}"
}

# while the engines are switched all the time
switched() {
	local n=0

	mark tx_crc_bytes tx_nic_bytes nic_fills
	both loss 3000
	transfer "$(scaled 25 8)M"
	wait_for 10 connected
	while moving; do
		engine a tx-crc off
		engine b rx-crc off
		sleep 0.1
		# a slow machine may have sent nothing meanwhile
		wait_for 20 sealed
		engine a tx-crc on
		engine a rx-crc off
		sleep 0.1
		engine b rx-crc on
		engine a rx-crc on
		sleep 0.1
		n=$((n + 1))
	done
	finish "transfer while engines are switched, and packets lost"
	both loss 0
	ktap_check "engines were switched $n times" test "$n" -gt 1
	grown tx_crc_bytes
	grown tx_nic_bytes
}

# off when much is on its way: what is sent again is finished by software
retransmitted() {
	mark nic_sw_packets
	both delay 20000
	transfer "$(scaled 6000 2000)K"
	wait_for 10 connected
	sleep 0.1
	# half of what the NIC sends now is lost, and sent again after the switch
	both loss 500000
	sleep 0.1
	engine a tx-crc off
	both loss 0
	finish "transfer, engine off among lost packets"
	grown nic_sw_packets
	engine a tx-crc on
	both delay 0
}

nic_stat() { in_a ethtool -S va | awk -v n="tx_engine_$1:" '$1 == n { print $2 }'; }

# markers that the NIC puts in their places; layout NAME COUNTER
layout() {
	local before

	attr a profile "offload-$1"
	attr b profile "offload-$1"
	before=$(nic_stat "$2")
	mark tx_crc_bytes tx_copy_bytes
	transfer
	finish "transfer, $1"
	ktap_check "the NIC did it" test "$(nic_stat "$2")" -gt "$before"
	still tx_crc_bytes
	still tx_copy_bytes
	start_bg b timeout 60 rping -s -a $SERVER -C 50 -S 30000 -V
	wait_for 20 port_listening b 7174
	ktap_check "rping over verbs works, $1" ping_all 50 -a $SERVER -S 30000

	mark nic_sw_packets
	both loss 10000
	transfer "$(scaled 12 4)M"
	while moving; do
		engine a "tx-$1" off
		sleep 0.2
		engine a "tx-$1" on
		engine a tx-crc off
		sleep 0.1
		engine a tx-crc on
		sleep 0.2
	done
	finish "transfer, $1, engines switched, and packets lost"
	both loss 0
	grown nic_sw_packets
	attr a profile hybrid
	attr b profile hybrid
}

path() {
	both "$1" "$2"
	transfer "$(scaled 4000 1000)K"
	finish "transfer, $1"
	both "$1" 0
}

# an IPv6 address of another device gets no answer
other_route() {
	if [ "$FAMILY" = 4 ]; then
		ip -n a route add $SERVER/32 dev wa src 10.0.0.1
	else
		ip -n a neigh add $SERVER dev wa \
			lladdr "$(in_b cat /sys/class/net/wb/address)"
		ip -n a route add $SERVER/128 dev wa src fd00::1
	fi
}

# the route changes to a device that knows nothing of the connection
other_device() {
	local ns
	ip link add wa netns a type veth peer name wb netns b
	for ns in a b; do
		ip -n $ns link set w$ns up
		"in_$ns" sh -c "echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
			echo 0 >/proc/sys/net/ipv4/conf/w$ns/rp_filter"
	done
	mark nic_sw_packets
	transfer "$(scaled 30 10)M"
	wait_for 10 connected
	sleep 0.2
	other_route
	finish "transfer, in the middle by another device"
	grown nic_sw_packets
	ip -n a link del wa
}

echoed() {
	start_bg b hyb-target -h "$SERVER" -p 7900
	wait_for 20 said listening
	ktap_check "echoes over verbs pass, $1" in_a timeout 60 hyb-target -c -n 20 \
		-h "$SERVER" -p 7900
	stop_bg "$BG_PID"
}

# other addresses, or another port, from here to the peer, and back there
translated() {
	local what

	for what in "nat egress 10.0.0.1/32 10.0.0.9:nat egress 10.0.0.9/32 10.0.0.1" \
		"pedit ex munge tcp dport set 7901:pedit ex munge tcp dport set 7900"; do
		ip netns exec a tc qdisc add dev va clsact
		ip netns exec b tc qdisc add dev vb clsact
		# shellcheck disable=SC2086
		if tc -n a filter add dev va egress protocol ip matchall action ${what%:*} &&
			tc -n b filter add dev vb ingress protocol ip matchall action ${what#*:}; then
			mark nic_sw_packets
			echoed "${what%% *}"
			grown nic_sw_packets
		else
			ktap_skip "echoes over verbs pass, ${what%% *}" "no such action"
			ktap_skip "nic_sw_packets grew" "no such action"
		fi
		tc -n a qdisc del dev va clsact
		tc -n b qdisc del dev vb clsact
	done
}

# IPsec for one direction; its cipher needs nothing that a kernel may lack
esp() {
	local ns=$1 src=$2 dst=$3 dir=$4
	ip -n "$ns" xfrm state add src "$src" dst "$dst" proto esp spi "0x${src##*.}" \
		reqid 1 mode transport \
		enc 'ecb(cipher_null)' '' \
		auth 'hmac(sha256)' 0x00112233445566778899aabbccddeeff || return
	[ "$dir" = in ] || ip -n "$ns" xfrm policy add src "$src" dst "$dst" dir out \
		tmpl src "$src" dst "$dst" proto esp reqid 1 mode transport
}

esp_on() {
	esp b 10.0.0.1 "$SERVER" in && esp a "$SERVER" 10.0.0.1 in &&
		esp a 10.0.0.1 "$SERVER" out && esp b "$SERVER" 10.0.0.1 out
}

esp_off() {
	local ns

	for ns in a b; do
		ip -n "$ns" xfrm policy flush
		ip -n "$ns" xfrm state flush
	done
}

# IPsec wraps packets before the NIC sees them
encrypted() {
	local n

	if ! esp_on; then
		esp_off
		for n in 1 2 3 4 5 6 7; do
			ktap_skip "a transfer works over IPsec, $n" "this kernel has none"
		done
		return
	fi
	mark tx_nic_bytes nic_sw_packets
	echoed "IPsec"
	still tx_nic_bytes
	still nic_sw_packets
	esp_off

	# the server stands still until IPsec is there
	both delay 20000
	transfer
	pkill -STOP -f "xfer -s -h $SERVER -p $PORT"
	ktap_check "bytes leave by the NIC before IPsec comes" wait_for 10 begun
	esp_on
	ktap_check "IPsec comes in the middle of a transfer" moving
	pkill -CONT -f "xfer -s -h $SERVER -p $PORT"
	finish "transfer, from its middle on with IPsec"
	grown nic_sw_packets
	both delay 0
	esp_off
}

# of xfer: the client says so of what the server reports
WRONG_DATA="differ|server: request|did not get"

liar() {
	attr b verify 1
	transfer
	finish "transfer, the host verifies"
	MARK[mismatch]=$(stat b nic_rx_mismatch)
	klog_allow "passed an FPDU with a bad CRC"
	knob b fault_verdict 1000000
	knob a fault_corrupt 3000
	transfer
	wait "$XC"
	stop_bg "$XS"
	ktap_check_fails "corrupted data are never passed on" \
		grep -q "xfer: ok" "$XLOG"
	ktap_is "neither end sees wrong data" "$(cat "$XLOG" "$XS_LOG" | grep -E "$WRONG_DATA")" ""
	ktap_check "the lie was noticed" \
		test "$(stat b nic_rx_mismatch)" -gt "${MARK[mismatch]}"
	knob b fault_verdict 0
	knob a fault_corrupt 0
	attr b verify 0
}

full() {
	mark nic_refused tx_crc_bytes
	knob a max_conns 0
	transfer
	finish "transfer, the NIC takes no connection"
	grown nic_refused
	grown tx_crc_bytes
	knob a max_conns 1024
}

# limits of the NIC: FPDUs that are too long for it are the host's, and pieces
# that are too many are copied
limits() {
	local dma packets

	knob a max_fpdu 1000
	mark tx_crc_bytes tx_nic_bytes rx_crc_bytes
	transfer "$(scaled 2000 500)K"
	finish "transfer, FPDUs too long for the NIC"
	grown tx_crc_bytes
	still tx_nic_bytes
	grown rx_crc_bytes
	knob a max_fpdu 9600

	attr a profile offload-sg
	knob a max_frags 4
	dma=$(nic_stat dma_ops) packets=$(nic_stat packets)
	mark tx_copy_bytes tx_crc_bytes
	transfer "$(scaled 2000 500)K"
	finish "transfer, gathering of 4 pieces"
	grown tx_copy_bytes
	still tx_crc_bytes
	dma=$(($(nic_stat dma_ops) - dma)) packets=$(($(nic_stat packets) - packets))
	ktap_check "$dma pieces in $packets packets: at most 4 each" test "$dma" -le $((4 * packets))
	knob a max_frags 2
	mark tx_copy_bytes
	transfer "$(scaled 2000 500)K"
	finish "transfer, gathering of 2 pieces"
	grown tx_copy_bytes
	knob a max_frags 17
	attr a profile hybrid
}

# Bytes that went, and then nothing more: the records go with their ACKs
cat >/tmp/hold.py <<'END'
import socket, sys
s = socket.socket()
if sys.argv[1] == "b":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("10.0.0.2", 5099))
    s.listen(1)
    s, _ = s.accept()
    print("got", sum(map(len, iter(lambda: s.recv(1 << 20), b""))))
else:
    s.connect(("10.0.0.2", 5099))
    print("connected", flush=True)
    sys.stdin.readline()
    s.sendall(bytes(6 << 20))
    print("sent", flush=True)
    sys.stdin.read()
END
records() {
	cat /sys/class/infiniband/rda/hybrid/qp/*/offload 2>/dev/null |
		awk '$1 == "records:" { n += $2 } END { print n + 0 }'
}
few_records() { [ "$(records)" -lt 200 ]; }

# memory: bytes that the queue pairs of rda take; as_before: as many as $MEMORY
memory() {
	rdma -jdd resource show qp |
		jq '[.[] | select(.ifname == "rda") | .drv_memory // empty] | add'
}

# It is given back after seconds: to ask all the time is work for the emulator
as_before() { sleep 0.5 && [ "$(memory)" = "$MEMORY" ]; }

# without pages of the stream: they are given back within 2 s, and are up to 32 KiB each
small() {
	local was
	was=$(memory)
	sleep 2.5
	[ "$was" -lt 32768 ] && [ "$(memory)" = "$was" ]
}

idle() {
	local server

	mkfifo /tmp/hold
	start_bg b sdp-run -o python3 /tmp/hold.py b
	server=$BG_PID
	wait_port b 5099
	start_bg a sh -c 'exec sdp-run -o python3 /tmp/hold.py a </tmp/hold'
	exec 7>/tmp/hold
	wait_for 30 said connected
	ktap_check "an idle queue pair uses little memory" wait_for 30 small
	MEMORY=$(memory)
	echo >&7
	ktap_check "6 MB are sent" wait_for 30 said sent
	ktap_check "an idle sender keeps few records" wait_for 20 few_records
	ktap_diag "records: $(records)"
	ktap_check "memory use is as before" wait_for 60 as_before
	ktap_diag "$MEMORY bytes before, $(memory) now"
	exec 7>&-
	wait "$BG_PID" "$server"
	rm -f /tmp/hold
}

fpdus() { [ "$(stat a tx_fpdus)" -gt "${MARK[tx_fpdus]}" ]; }
recorded() { fpdus && [ "$(records)" -gt 0 ]; }

# more_by BYTES: the queue pair has taken so many since $MEMORY, and keeps them: what may be
# given back at all, as the page of the stream, is given back within 2 s
more_by() {
	[ "$(memory)" = $((MEMORY + $1)) ] && sleep 2.5 && [ "$(memory)" = $((MEMORY + $1)) ]
}

# grows UNTIL BYTES: the same request, sent and lost; the queue pair takes so many bytes, and
# gives them back
grows() {
	local client log

	start_bg a hyb-target -c -f -h "$SERVER" -p 7903
	log=$BG_LOG
	wait_for 20 said connected "$log"
	client=$(pgrep -xf "hyb-target -c -f .*")
	ktap_check "$1: an idle queue pair uses little memory" wait_for 30 small
	MEMORY=$(memory)
	mark tx_fpdus
	knob a loss 1000000
	kill -TERM "$client"
	ktap_check "$1: a request is sent, and lost" wait_for 20 "$1"
	ktap_check "$1: it takes $2 bytes more" wait_for 60 more_by "$2"
	knob a loss 0
	ktap_check "$1: the request arrives" wait_for 60 said success "$log"
	ktap_check "$1: memory use is as before" wait_for 60 as_before
	kill -TERM "$client"
	wait "$BG_PID"
}

# a record of what the NIC has to finish is in a block, which is memory that counts
accounted() {
	local server

	start_bg b hyb-target -h "$SERVER" -p 7903
	server=$BG_PID
	wait_for 20 said listening
	engine a tx-crc off
	grows fpdus 0
	engine a tx-crc on
	grows recorded 4096
	stop_bg "$server"
}

# memory of a request is not sent from any more when the request has failed
lent() {
	local server client log

	attr a profile offload-sg
	start_bg b hyb-target -h "$SERVER" -p 7902
	server=$BG_PID
	wait_for 20 said listening
	start_bg a hyb-target -c -f -h "$SERVER" -p 7902
	log=$BG_LOG
	wait_for 20 said connected "$log"
	client=$(pgrep -xf "hyb-target -c -f .*")
	knob a loss 1000000
	mark tx_copy_bytes tx_nic_bytes
	kill -TERM "$client"
	ktap_check "a request is sent, and lost" wait_for 20 said "sent" "$log"
	still tx_copy_bytes
	grown tx_nic_bytes
	stop_bg "$server"
	ktap_check "the request fails when the peer is gone" \
		wait_for 20 said Flushed "$log"
	ktap_is "TCP holds none of its memory" "$(in_a ss -Hnta dport = :7902)" ""
	kill -TERM "$client"
	wait "$BG_PID"
	knob a loss 0
	attr a profile hybrid
}

rules() { in_a ethtool -n va | grep -c "^Filter:"; }
no_rules() { [ "$(rules)" = 0 ]; }
has_rule() { [ "$(rules)" != 0 ]; }
steering() { cat /sys/class/infiniband/rda/hybrid/qp/*/steering 2>/dev/null; }

# to_queue: that of the only filter, has_queue: into $queue; of_qp FILE: of the only queue pair
to_queue() { in_a ethtool -n va | awk '/Direct to queue/ { print $NF }'; }
has_queue() { queue=$(to_queue) && [ -n "$queue" ]; }
of_qp() { cat /sys/class/infiniband/rda/hybrid/qp/*/"$1"; }
comes_in() { [ "$(of_qp cpu)" = "$1" ]; }
in_queue() { in_a ethtool -S va | awk -v n="queue_$1_rx_packets:" '$1 == n { print $2 }'; }

# filtered: the filter leads to the queue whose CPU is that of the consumer, and packets
# come there, and there only. CPUs are those of the queues, in another order than theirs.
filtered() {
	local queue other cpus=(1 0) was

	# the filter may be on its way to another queue, and none for that time
	wait_for 10 has_queue
	ktap_check "the filter leads to a queue" test -n "$queue"
	[ -n "$queue" ] || return
	other=$((1 - queue))
	ktap_is "the queue pair knows its queue" "$(of_qp queue)" "$queue"
	ktap_is "the queue is that of the consumer's CPU" "${cpus[queue]}" 1
	ktap_check "packets come in on that CPU" wait_for 10 comes_in 1
	was="$(in_queue "$queue") $(in_queue "$other")"
	sleep 0.5
	was=$(($(in_queue "$queue") - ${was% *}))/$(($(in_queue "$other") - ${was#* }))
	ktap_check "packets use that queue: $was packets through it and the other" \
		test "${was%/*}" -gt $((20 * ${was#*/}))
}

steered() {
	local loc

	mark nic_filters
	in_a ethtool -L va combined 2
	in_b ethtool -L vb combined 2
	knob a queue_cpus "1 0"
	attr a ntuple_filters 64
	RUN_ON=1 transfer "$(scaled 40 20)M"
	wait_for 10 connected
	ktap_is "packets are steered by the NIC" "$(steering)" nic
	engine a rx-demux off
	ktap_check "a filter is set" wait_for 10 has_rule
	ktap_is "packets are steered by the filter" "$(steering)" ntuple
	filtered
	finish "transfer, steered"
	grown nic_filters
	ktap_check "the filter is removed with the connection" wait_for 10 no_rules

	# delete it, and use its place for another one
	RUN_ON=1 transfer "$(scaled 40 20)M"
	wait_for 10 connected
	ktap_check "another filter is set" wait_for 10 has_rule
	loc=$(in_a ethtool -n va | awk '/^Filter:/ { print $2 }')
	in_a ethtool -N va delete "$loc"
	in_a ethtool -N va flow-type tcp4 dst-port 9 action 0 loc "$loc"
	finish "transfer, its filter deleted"
	ktap_check "the connection is gone" wait_for 10 no_queue_pairs
	ktap_is "the filter in its place stays" "$(to_queue) $(rules)" "0 1"
	in_a ethtool -N va delete "$loc"

	# nothing is left to the NIC once it is switched off, except earlier FPDUs
	engine a rx-demux on
	transfer "$(scaled 20 8)M"
	wait_for 10 connected
	in_a ethtool --set-priv-flags va iwarp-tx-crc off iwarp-rx-demux off
	mark tx_nic_bytes tx_crc_bytes
	ktap_check "a filter is set, no CRC by the NIC" wait_for 10 has_rule
	finish "transfer, steered, no CRC by the NIC"
	still tx_nic_bytes
	grown tx_crc_bytes
	engine a rx-demux on
	engine a tx-crc on
}

# nothing of a connection is left to its NIC when that goes
gone() {
	transfer 100G
	wait_for 10 connected
	sleep 0.3
	ktap_check "the device can be removed" ip -n a link del va
	wait "$XC"
	ktap_check_fails "the connections of a removed device end" grep -q "xfer: ok" "$XLOG"
	stop_bg "$XS"
}

# what does not depend on the family, once
ipv4() { [ "$FAMILY" != 4 ] || "$@"; }

net_up
dev_up hybrid hybrid || ktap_fail "the devices are set up"
modprobe -q sdp
all_on_nic
ipv4 switched
ipv4 retransmitted
layout contig contig_fpdus
ipv4 layout sg crc_filled
ipv4 path split 200000
ipv4 path coalesce 200000
ipv4 path reorder 20000
other_device
ipv4 translated
ipv4 encrypted
ipv4 liar
ipv4 full
ipv4 limits
ipv4 idle
ipv4 accounted
steered
ipv4 lent
gone
dev_down
net_down
ktap_done
