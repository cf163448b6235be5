#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# SDP over hybrid devices with every setting of theirs, and on links of other
# sizes: each combination moves data both ways, compared byte by byte.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run xfer

SERVER=10.0.0.2
SIZE=$(scaled 1000000 200000)

# set_option DEVICE NAME VALUE
set_option() {
	echo "$3" > "/sys/class/infiniband/$1/hybrid/$2"
}

# transfer NAME
transfer() {
	ktap_check "$1" in_a sdp-run xfer -h $SERVER -p 5010 -n "$SIZE" \
		-d "$SIZE" -w 0 -R 0 -o eof -t 60
}

for NET_MTU in 1280 1500 4000 9000 65535; do
	net_up
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	modprobe -q sdp
	start_bg b sdp-run xfer -s -h $SERVER -p 5010
	server=$BG_PID
	wait_for 20 grep -q listening "$BG_LOG"
	for markers in "0 0" "1 1" "0 1" "1 0"; do
		set_option rda markers "${markers% *}"
		set_option rdb markers "${markers#* }"
		transfer "MTU $NET_MTU, markers wanted by client ${markers% *}, by server ${markers#* }"
	done
	set_option rda markers 0
	set_option rdb markers 0
	if [ -w /sys/class/infiniband/rda/hybrid/crc ]; then
		set_option rda crc 0
		transfer "MTU $NET_MTU, one side wants no CRC"
		set_option rdb crc 0
		transfer "MTU $NET_MTU, no side wants CRC"
	fi
	stop_bg "$server"
	net_down
done
ktap_done
