#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A peer that speaks proper iWARP but breaks the rules of SDP, against an SDP
# server, or checks whether the server keeps the rules about credits. Each connection
# ends or continues as it must, the counter of that mistake rises, a healthy
# connection is not disturbed, and nothing is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
# shellcheck source=selftests/sdp/hostile.bash
. "$(dirname "$0")/hostile.bash"
need hyb-hostile sdp-actions sdp-echo sdp-run sdpstat python3
need_research

SERVER=10.0.0.2

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
PINNED=$(pinned)

attacks() {
	in_a hyb-hostile -h $SERVER -p "$1" -s "in-ns b sdpstat -s -z" -n "${WALKS:-25}" \
		"${@:3}" "$2" > "$OUT/$2.tap" 2>&1
	# attacks on markers are skipped where there are none: without a line
	ktap_include <(grep -v '# SKIP' "$OUT/$2.tap") "$STATE"
}

servers_up
for what in hello credits sdp shared ring immediate hold; do
	attacks 5020 $what
done
STATE="not accepted" attacks_unaccepted
attacks_overrun

frozen_up
all="u ETIMEDOUT u ETIMEDOUT k ETIMEDOUT c - c - l - 0 -"
STATE=frozen frozen frozen "$all"
STATE=frozen-ring frozen frozen-ring "$all"
# no k: keepalive leaves the probes to TCP, which the peer answers
STATE=frozen-hold frozen frozen-hold "u ETIMEDOUT c - l - 0 -"
STATE=frozen-shared frozen frozen-shared "u ETIMEDOUT c - l - 0 -"
frozen_down

# walks with a mistake somewhere, a few; hostile-walk has more
for what in walk walk-shared walk-ring walk-hold; do
	attacks 5020 $what
done

ktap_is "no error of SDP is counted as one of an atomic operation" \
	"$(rdma statistic show link rdb/1 | grep -o 'err_atomic [0-9]*')" "err_atomic 0"

# mistakes below SDP, on a shared link: without markers and with them
for interval in 0 256; do
	attacks 5020 wire -i $interval -s "rdma statistic show link rdb/1"
done
servers_down
ktap_done
