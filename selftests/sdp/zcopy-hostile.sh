#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A peer that breaks the rules of zero copy, as the side that reads or writes our memory and
# as the side whose memory we read or write. Each connection ends or continues as the attack
# requires, and the counter of that mistake rises. No socket and no pinned page is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need hyb-hostile sdp-zcopy sdpstat
need_research

SERVER=10.0.0.2

# attacks SET [OPTION]...
attacks() {
	in_a hyb-hostile -h $SERVER -p 6000 -s "in-ns b sdpstat -s -z" "${@:2}" \
		"$1" > "$OUT/$1.tap" 2>&1
	ktap_include "$OUT/$1.tap"
}

# sum COUNTER...: of the server
sum() {
	in_b sdpstat -s -z | awk -v names=" $* " 'index(names, " " $1 " ") { n += $2 }
		END { print n + 0 }'
}

# in_vain: how often a reader has pinned memory without a read or an offer
in_vain() {
	echo $(($(sum zcopy_cache_hits zcopy_cache_misses) - $(sum rx_zcopy_reads tx_sinkavail)))
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
PINNED=$(pinned)
# Up to two advertisements at a time; SDP cancels its own after 300 ms. It has receives for
# all messages of a script, which does not wait for credits.
in_b sysctl -q -w net.sdp.shared_link=0 net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 net.sdp.fin_timeout=3 \
	net.sdp.zcopy_wait=300000 net.sdp.max_adverts=2 net.sdp.rx_bufs_min=16
start_bg b sdp-zcopy serve $SERVER 6000
wait_for 20 said listening ||
	ktap_fail "the server listens" "$(cat "$BG_LOG")"
attacks zcopy
vain=$(in_vain)
attacks zcopy -o "another one waits"
ktap_is "a second waiting reader does not pin" "$(in_vain)" "$vain"
# held up where SDP pins the pages of a reader
if hold pin_user_pages_fast sdp-zcopy asleep=1 times=0 ms=40000; then
	attacks held
	hold_end
else
	ktap_skip "held up" "no probes"
fi
in_a sysctl -q -w net.sdp.shared_link=0
ktap_check "the server still works" in_a timeout 30 sdp-zcopy -t 65536 $SERVER 6000
ktap_check "all pages are unpinned" wait_for 20 none_pinned
stop_bg "$BG_PID"
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
