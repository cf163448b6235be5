#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# From kernel 6.5 on, siw gives TCP the pages that it sends, and completes the request
# before they are acknowledged. With many messages under way, and loss, SDP must not change
# pages that TCP has to send again: all data arrives unchanged.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run xfer tc

dev_up siw siw || ktap_skip_all "no siw"
modprobe -q sdp
for ns in a b; do
	"in_$ns" sysctl -q -w net.sdp.rx_bufs_max=256 net.sdp.signal_every=32 \
		net.sdp.rx_bufs_min=90 || ktap_fail "the settings of $ns are accepted"
done
in_a tc qdisc add dev va root netem delay 5ms loss 0.5%
in_b tc qdisc add dev vb root netem delay 5ms
start_bg b sdp-run xfer -s -h 10.0.0.2 -p 7750
wait_port b 7750
ktap_check "messages of 5000 bytes arrive unchanged despite loss" \
	in_a sdp-run xfer -h 10.0.0.2 -p 7750 -t 120 -m block -n 8000000 -w 5000
ktap_done
