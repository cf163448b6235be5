#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Time of DMA and of the NIC's memory: packets wait for as long as the settings and the
# counters of operations and bytes say, and no transfer takes less. Delayed interrupts: there
# are fewer of them, on the chosen processor.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need sdpbench jq
need_research

TRACING=/sys/kernel/tracing

stat_of() { "in_$1" ethtool -S "v$1" | awk -v n="$2:" '$1 == n { print $2 }'; }

# of_queues a|b NAME: sum a counter over all queues; "polls" counts runs of NAPI
of_queues() { "in_$1" ethtool -S "v$1" | awk -v n="^queue_[0-9]+_$2:" '$1 ~ n { s += $2 } END { print s }'; }

# take: keep the counters that DMA time consists of. diff_of a|b NAME: the increase since then
take() {
	local end name
	for end in a b; do
		for name in tx_engine_dma_ops tx_engine_dma_bytes tx_engine_crc_bytes \
			tx_engine_move_read_bytes tx_engine_move_write_bytes \
			tx_engine_send_bytes tx_engine_dma_wait_ns rx_engine_bytes \
			rx_engine_dma_ops rx_engine_dma_bytes rx_engine_crc_bytes \
			rx_engine_dma_wait_ns; do
			WAS[$end.$name]=$(stat_of $end $name)
		done
	done
}
declare -A WAS
diff_of() { echo $(($(stat_of "$1" "$2") - ${WAS[$1.$2]})); }

# bytes a|b tx|rx NAME...: the sum of counters in bytes
bytes() {
	local end=$1 way=$2 name sum=0
	shift 2
	for name; do
		sum=$((sum + $(diff_of "$end" "${way}_engine_$name")))
	done
	echo $sum
}

# near DESCRIPTION GOT WANTED: within 2 %, since the time of each packet is rounded
near() {
	ktap_diag "$1: $2 ns, $3 by counters"
	if [ "$2" -gt 0 ] && [ "$2" -le $(($3 + $3 / 50)) ] && [ "$2" -ge $(($3 - $3 / 50)) ]; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "$2, not $3"
	fi
}

# ran DESCRIPTION FUNCTION...: it succeeds. It runs in this shell, not in a subshell as ktap_check's
ran() {
	if "${@:2}" >/run/dma.out 2>&1; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "$(cat /run/dma.out)"
	fi
}

# transfer: from a to b, in messages of $SIZE; ns that it took are left in NS, its bytes in BYTES
transfer() {
	take
	in_a timeout 120 sdpbench -t tcp -w 10 -T bw -S "${SIZE:-16K}" -n "${MESSAGES:-$(scaled 100 20)}" -r 1 -j "$SERVER" \
		>/run/bench.json || return
	BYTES=$(jq '.rows[0] | .messages * .size' /run/bench.json)
	NS=$(jq '.rows[0] | .messages * .size * .host_ns_per_byte | floor' /run/bench.json)
}

# no_less: the measured time is no less than the DMA of the bytes that sdpbench measures, but for
# 20 %. The counters include more: the first messages, the connection's start and end, and
# retransmissions.
no_less() {
	local wait

	wait=$(($(diff_of a tx_engine_dma_wait_ns) * (BYTES / 1000) /
		($(bytes a tx dma_bytes) / 1000)))
	ktap_diag "$NS ns for $BYTES bytes, whose DMA takes $wait ns"
	ktap_check "a transfer takes no less than its DMA" test "$NS" -ge $((wait * 8 / 10))
}

net_up || ktap_skip_all "no links"
start_bg b sdpbench -s -t tcp
wait_port b 7471 || ktap_skip_all "no server"

ran "a transfer" transfer
ktap_is "DMA takes no time by default" "$(diff_of a tx_engine_dma_wait_ns) $(diff_of b rx_engine_dma_wait_ns)" \
	"0 0"

both dma_ns 20000
ran "20 us for an operation" transfer
near "the sender's DMA" "$(diff_of a tx_engine_dma_wait_ns)" \
	$((20000 * $(diff_of a tx_engine_dma_ops)))
near "the receiver's DMA" "$(diff_of b rx_engine_dma_wait_ns)" \
	$((20000 * $(diff_of b rx_engine_dma_ops)))
no_less
both dma_ns 0

both dma_rate 100
ran "100 Mbit/s of DMA" transfer
near "the sender's DMA" "$(diff_of a tx_engine_dma_wait_ns)" \
	$((80 * $(bytes a tx dma_bytes)))
near "the receiver's DMA" "$(diff_of b rx_engine_dma_wait_ns)" \
	$((80 * $(bytes b rx dma_bytes)))
no_less
# short messages, so that the middle box can join two of them, and cut the packet elsewhere
both coalesce 1000000
both split 300000
SIZE=400 MESSAGES=$(scaled 2000 500) ran "100 Mbit/s of DMA, packets that are joined and cut" transfer
no_less
ktap_check "the middle box has joined packets" test "$(stat_of a link_coalesced)" -gt 0
both coalesce 0
both split 0
both dma_rate 0

both mem_rate 200
ran "200 Mbit/s of memory" transfer
near "the sender's memory" "$(diff_of a tx_engine_dma_wait_ns)" \
	$((40 * $(bytes a tx dma_bytes move_read_bytes move_write_bytes crc_bytes send_bytes)))
near "the receiver's memory" "$(diff_of b rx_engine_dma_wait_ns)" \
	$((40 * $(bytes b rx bytes dma_bytes crc_bytes)))
both mem_rate 0

# with a CRC by the NIC: 5 touches of a byte with a move, 4 if the CRC is computed on the way
stop_bg "$BG_PID"
if ! dev_up hybrid hybrid || ! attr markers on || ! attr profile offload-contig; then
	ktap_fail "the devices are set up"
fi
start_bg b sdp-run xfer -s -h $SERVER -p 7000
wait_for 30 said listening
both mem_rate 2000
for fly in 0 1; do
	both crc_on_the_fly $fly
	take
	ktap_check "a transfer over iWARP works with crc_on_the_fly $fly" in_a sdp-run xfer -h $SERVER -p 7000 \
		-t 90 -m block -n "$(scaled 1000000 200000)"
	crc=crc_bytes
	[ $fly = 0 ] || crc=
	near "the sender's memory" "$(diff_of a tx_engine_dma_wait_ns)" \
		$((4 * $(bytes a tx dma_bytes move_read_bytes move_write_bytes send_bytes $crc)))
	ktap_check "the CRC was computed there" test "$(bytes a tx crc_bytes)" -gt 0
done
both mem_rate 0

# interrupts: with many packets under way, fewer runs of NAPI. At this rate 64 packets
# take 8 ms. The longest delay there is leaves a slow machine time for them.
USECS=10000
start_bg b sdpbench -s -t tcp -p 7472
wait_port b 7472
# many: leaves the runs of NAPI in POLLS, the packets in PACKETS, and in MS the milliseconds that
# this number of packets takes at the measured speed
many() {
	local was packets
	was=$(of_queues b polls) packets=$(of_queues b rx_packets)
	in_a timeout 120 sdpbench -t tcp -w 10 -T bw -S 64K -n "$(scaled 100 20)" -r 1 -j -p 7472 \
		"$SERVER" >/run/bench.json || return
	POLLS=$(($(of_queues b polls) - was)) PACKETS=$(($(of_queues b rx_packets) - packets))
	MS=$(jq ".rows[0].host_ns_per_byte * $PACKETS * $NET_MTU / 1000000 | floor" /run/bench.json)
}
both rate 100
ran "packets one by one" many
each=$POLLS
in_b ethtool -C vb rx-usecs "$USECS" rx-frames 64 tx-usecs "$USECS" tx-frames 64
ran "up to 64 packets at a time" many
# By their number, and by a timer of each direction; twice that for packets that come during a
# run. A busy processor takes several packets in a run in any case, so two measurements cannot
# be compared.
most=$((2 * (PACKETS / 64 + 2 * MS * 1000 / USECS)))
ktap_diag "$each runs of NAPI, $POLLS with usecs $USECS and frames 64: $PACKETS packets, $MS ms"
ktap_check "at most $most runs of NAPI for $PACKETS packets" test "$POLLS" -le "$most"

# cpus_of_polls COMMAND...: the processors where NAPI of vb ran meanwhile
cpus_of_polls() {
	echo >$TRACING/trace
	echo 1 >$TRACING/events/napi/napi_poll/enable
	"$@" >/dev/null
	echo 0 >$TRACING/events/napi/napi_poll/enable
	sed -n 's/.*\[0*\([0-9][0-9]*\)\].*for device vb .*/\1/p' $TRACING/trace | sort -un | tr '\n' ' '
}
in_b sh -c 'echo 0 >/sys/class/net/vb/threaded'
mapfile -t queues < <(in_b sh -c 'ls -d /sys/class/net/vb/queues/rx-*')
for cpu in 0 1; do
	knob b rx_cpu $((1 - cpu))
	knob b queue_cpus "${queues[*]/*/$cpu}"
	ktap_is "delayed interrupts go to CPU $cpu" \
		"$(cpus_of_polls in_a ping -c 20 -i 0.02 "$SERVER")" "$cpu "
done
ktap_is "ethtool shows the delay of interrupts" \
	"$(in_b ethtool -c vb | grep -cE "^rx-usecs:\s*$USECS\$|^rx-frames:\s*64\$")" 2
ktap_check_fails "ethtool -C refuses rx-usecs 10001" in_b ethtool -C vb rx-usecs 10001
ktap_check_fails "ethtool -C refuses rx-frames 0" in_b ethtool -C vb rx-frames 0

for wrong in "dma_ns 1000001" "dma_ns -1" "dma_rate 400001" "mem_rate x" "crc_on_the_fly 2"; do
	# shellcheck disable=SC2086 # two words
	ktap_check_fails "$wrong is refused" knob a $wrong
done
ktap_done
