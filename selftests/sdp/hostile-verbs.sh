#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# A peer of SDP that goes over verbs and breaks the rules, those of SDP and those of
# advertised memory, against servers on a verbs link. Each connection ends or
# continues as it must, the counter of that mistake rises, a healthy connection is not
# disturbed, and nothing is left. The variables SUITES, FROZEN and ZCOPY select some.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
# shellcheck source=selftests/sdp/hostile.bash
. "$(dirname "$0")/hostile.bash"
need hyb-hostile sdp-actions sdp-echo sdp-run sdp-zcopy sdpstat python3
need_research

KIND=${KIND:-hybrid}
SERVER=10.0.0.2

dev_up "$KIND" "$KIND" || ktap_skip_all "no $KIND devices"
case $KIND in
hybrid)
	# libsiw has no immediate data: sdp/hostile tests them
	all="hello credits sdp ring hold verbs verbs-ring walk walk-ring walk-hold"
	STATS="in-ns b sdpstat -s -z"
	TOLD="u ETIMEDOUT u ETIMEDOUT c - c - l - 0 -"
	;;
rxe)
	all="hello short credits sdp ring immediate hold verbs verbs-ring walk walk-ring walk-hold"
	STATS="sdpstat -s -z"
	TOLD="u ETIMEDOUT u ETIMEDOUT k ETIMEDOUT c - c - l - 0 -"
	;;
esac
FROZEN=${FROZEN:-frozen frozen-ring}
modprobe -q sdp
PINNED=$(pinned)
in_a sysctl -q -w net.sdp.shared_link=0
in_b sysctl -q -w net.sdp.shared_link=0

attacks() {
	in_a hyb-hostile -v -h $SERVER -p "$1" -s "$STATS" -n "${WALKS:-25}" "${@:3}" "$2" \
		> "$OUT/$2.tap" 2>&1
	ktap_include "$OUT/$2.tap" "$KIND${STATE:+ $STATE}"
}

servers_up
for what in ${SUITES:-$all}; do
	attacks 5020 "$what"
done

STATE="not accepted" attacks_unaccepted
attacks_overrun

frozen_up
for what in $FROZEN; do
	frozen "$what" "$TOLD"
done
frozen_down

# up to two advertisements, of which SDP cancels its own after 300 ms, and receives for all
# messages of a script: see zcopy-hostile
in_b sysctl -q -w net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 \
	net.sdp.fin_timeout=3 net.sdp.zcopy_wait=300000 net.sdp.max_adverts=2 \
	net.sdp.rx_bufs_min=16
start_bg b sdp-zcopy serve $SERVER 6000
zcopy=$BG_PID
wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
for what in ${ZCOPY:-zcopy verbs-zcopy}; do
	attacks 6000 "$what"
done
ktap_check "the zero copy server still works" in_a timeout 30 sdp-zcopy -t 65536 $SERVER 6000
stop_bg "$zcopy"

servers_down
ktap_done
