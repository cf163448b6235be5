#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpbench --nic: the time of the engines counts once. A test is refused if no time is left when
# that of the NICs is subtracted.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpbench ethtool jq
NET_LINK=hnic
net_up || ktap_skip_all "no links"

start_bg b sdpbench -s -t tcp
wait_port b 7471 || ktap_skip_all "no server"
rates() {
	in_a sh -c "echo $1 >/sys/class/net/va/hnic/rate"
	in_b sh -c "echo $1 >/sys/class/net/vb/hnic/rate"
}

# bench OPTION...: a test of bandwidth: five repetitions, after one that does not count
bench() {
	in_a timeout 120 sdpbench -t tcp -T bw -S 64K -n 200 -r 5 -j "$@" 10.0.0.2
}
field() { jq -r "[.. | objects | select(has(\"nic_ns_per_byte\"))][0].nic_ns_per_byte * $1 | floor"; }
stat_of() { in_a ethtool -S va | awk -v n="$1:" '$1 == n { print $2 }'; }

# slow enough for the engines to be idle most of the time
rates 400
before=$(stat_of nic_ns)
json=$(bench --nic va)
ktap_is "sdpbench measures a NIC" $? 0
most=$(($(stat_of nic_ns) - before))
got=$(field $((200 * 65536 * 5)) <<<"$json")
ktap_diag "$got of at most $most ns"
ktap_check "the time of the NIC is counted" test "$got" -gt 0
ktap_check "the time of the NIC is counted once only" test "$got" -le "$most"
# each engine several times, and at full speed
rates 0
much=()
for nic in a/va a/va b/vb b/vb; do
	much+=(--nic "$nic:*_ns")
done
ktap_check_fails "more time of the NIC than the test took is refused" bench "${much[@]}"
ktap_is "the reason is shown" "$(grep -c "longer than it took" <<<"$KTAP_OUT")" 1
ktap_done
