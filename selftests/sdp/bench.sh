#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpbench over SDP: each kind of test, the ways to send, receive and wait, many
# clients of one server, two transports side by side.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpbench sdpstat jq
dev_up hybrid hybrid || ktap_skip_all "no devices"
modprobe -q sdp

SERVER=10.0.0.2
# a file for each run
ROWS=/run/bench.json

# bench OPTION...: rows are left in $ROWS
bench() {
	in_a timeout 120 sdpbench -w 10 -j -r 2 -n "$(scaled 100 10)" -P 20 -S 10K -L 10K "$@" \
		$SERVER >$ROWS
}

# rows FILTER: is the filter true of all rows?
rows() { jq -e "[.rows[] | $1] | length > 0 and all" "$ROWS"; }


start_bg b sdpbench -s -t sdp,tcp
wait_port b 7471 || ktap_skip_all "no server"
wait_port b 7472 || ktap_skip_all "no server of TCP"

for test in bw bibw; do
	ktap_check "sdpbench -T $test runs" bench -T $test
	ktap_check "$test: all rows have a rate" rows ".test == \"$test\" and .mbps > 0"
done
for test in lat bilat; do
	ktap_check "sdpbench -T $test runs" bench -T $test
	ktap_check "$test: all rows have latencies" rows ".test == \"$test\" and .p50_us > 0 and .p999_us >= .p50_us"
done
ktap_check "sdpbench -T overlap runs" bench -T overlap --compute sleep:0,3000
ktap_check "overlap: all rows name the computation" rows '.compute == "sleep"'
ktap_check "overlap: the computation precedes each message" \
	jq -e '.rows[1].mbps < 10240 / 3000' $ROWS
ktap_check "sdpbench -T progress runs" bench -T progress --burst 20 -n 4 --compute sleep:0,30000
ktap_check "progress: all rows have the burst and a time" rows '.burst == 20 and .iter_us > 0'
ktap_check "progress: each iteration includes the computation" jq -e '.rows[1].iter_us >= 30000' $ROWS

# util: the share of the memory that waiting data takes
ktap_check "sdpbench -T util runs" bench -T util -n "$(scaled 4000 200)"
ktap_check "util: all rows are percentages" rows '.samples > 0 and .util_pct >= 0 and .util_pct <= 100'

# --first, and one processor for all: the reader does not preempt the sender, which takes
# samples all the same
start_bg b taskset -c 0 sdpbench -s -1 -p 7500
wait_port b 7500
util_first() {
	in_a taskset -c 0 timeout 120 sdpbench -w 10 -j -p 7500 --first -T util -r 2 -n 64 -S 64 \
		"$SERVER" >"$ROWS"
}
ktap_check "sdpbench -T util --first runs" util_first
ktap_check "util --first: all rows are percentages" rows '.samples > 0 and .util_pct <= 100'

ktap_check "sdpbench -T hot runs" bench -T hot $SERVER $SERVER
ktap_check "hot: the rows have one to three servers" jq -e '[.rows[].servers] == [1, 2, 3, 1, 2, 3]' $ROWS

for how in epoll busy; do
	ktap_check "sdpbench --wait $how runs" bench --wait $how
	ktap_check "--wait $how: bw and lat have a row each" jq -e '.rows | length == 2' $ROWS
done

# a window of one message is a round trip for each of them
n=$(sdp_counter b tx_data_msgs)
ktap_check "sdpbench --window 1 runs" bench -T bw --window 1
ktap_check "--window 1: the server reports each message" \
	test $(($(sdp_counter b tx_data_msgs) - n)) -ge "$(scaled 100 10)"
ktap_check "--window 1: all rows have the window" rows '.window == 1'

# over the verbs link, where transfers without copies are counted
for end in a b; do
	in_$end sysctl -q -w net.sdp.flow_control=credit net.sdp.zcopy_threshold=32768
done
n=$(sdp_counter a tx_ref_bytes)
ktap_check "sdpbench --send zerocopy runs" bench -T bw -S 256K -n 20 --send zerocopy
ktap_check "--send zerocopy: data is sent without copies" test "$(sdp_counter a tx_ref_bytes)" -gt "$n"
n=$(sdp_counter b rx_mapped_bytes)
ktap_check "sdpbench --recv map runs" bench -T bw -S 256K -n 20 --recv map
ktap_check "--recv map: pages are mapped" test "$(sdp_counter b rx_mapped_bytes)" -gt "$n"
ktap_check "sdpbench -T lat --recv map runs" bench -T lat -L 64K --recv map
ktap_check "sdpbench with --recv map and --send zerocopy runs" bench -T bw,lat -L 64K -S 256K -n 20 --recv map --send zerocopy

# buffers that are used again are kept registered, others are not
misses() {
	local was

	was=$(sdp_counter a zcopy_cache_misses)
	bench -T bw -S 256K -n 40 "$@" || return
	MISSES=$(($(sdp_counter a zcopy_cache_misses) - was))
}
misses --reuse 100
few=$MISSES
misses --reuse 50
some=$MISSES
misses --reuse 0
ktap_diag "registrations: $few with one buffer, $some with half of the messages in it, $MISSES"
ktap_check "--reuse 100: one registration serves most messages" test "$few" -le 10
ktap_check "--reuse 50: there are more registrations" test "$some" -gt "$few"
ktap_check "--reuse 0: there are most registrations" test "$MISSES" -gt "$some"
misses --buffers 4
ktap_check "--buffers 4: registrations are used again" test "$MISSES" -le 20

ktap_check "sdpbench --first runs" bench -T bw --first
ktap_check_fails "--first needs the right to real-time priority" in_a setpriv --bounding-set -sys_nice \
	--inh-caps -sys_nice sdpbench -w 10 -n 1 -T bw --first $SERVER
ktap_is "--first without that right names the capability" "$(grep -c CAP_SYS_NICE <<<"$KTAP_OUT")" 1

# streams are connections; the intervals have all bytes
n=$(sdp_counter b accepts)
ktap_check "sdpbench --streams 3 runs" bench -T bw --streams 3 -S 64K -i 0.05
ktap_is "streams: each is a connection of SDP" $(($(sdp_counter b accepts) - n)) 3
ktap_check "streams: the row counts the messages of all streams" jq -e '.rows[-1] |
	.streams == 3 and .messages == 3 * '"$(scaled 100 10)" $ROWS
# shellcheck disable=SC2016 # a variable of jq
ktap_check "streams: intervals have the bytes of each stream and of all" jq -e '(.rows[-1].messages * 65536) as $all |
	[.rows[] | select(.test == "interval" and .repetition == 2)] |
	(map(select(.stream | not).bytes) | add) == $all and
	(group_by(.stream) | map(map(.bytes) | add)) == [$all, $all / 3, $all / 3, $all / 3]' $ROWS

ktap_check "sdpbench --compare tcp,sdp runs" bench --compare tcp,sdp
ktap_check "--compare: both transports have rows" \
	jq -e '[.rows[].transport] == ["tcp", "sdp", "tcp", "sdp"]' $ROWS
ktap_check "--compare: ratios agree with the values" jq -e '[.compare[] | .sdp / .tcp / .ratio |
	. > 0.99 and . < 1.01] | length == 2 and all' $ROWS
ktap_check "--compare without -j runs" in_a timeout 120 sdpbench -w 10 -r 2 -n 10 -P 5 \
	--compare tcp,sdp $SERVER
ktap_is "--compare: the output says which transport is ahead" \
	"$(grep -cE '^(tcp is ahead of sdp|sdp is ahead of tcp) ' <<<"$KTAP_OUT")" 2
ktap_check_fails "sdpbench -t tcp fails at the port where the server has SDP" in_a sdpbench -t tcp -n 1 $SERVER
ktap_done
