#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# What hybrid and siw say to each other, captured on the wire and decoded by an
# independent program (tshark): every FPDU has a good CRC. The guest captures,
# capture.host decodes on the host what is left in $OUT.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need tcpdump sdp-run xfer

# capture NAME CLIENT-KIND SERVER-KIND: SDP both ways between the two
capture() {
	local name=$1 server dump

	dev_up "$2" "$3" || {
		ktap_fail "$name: devices"
		return
	}
	# what is on the wire, not what the stack hands down in one piece
	for dev in "a va" "b vb"; do
		ip netns exec "${dev% *}" ethtool -K "${dev#* }" \
			tso off gso off gro off >/dev/null 2>&1
	done
	start_bg a tcpdump -i va -s 0 -U --immediate-mode -Z root -w \
		"$OUT/$name.pcap" tcp
	dump=$BG_PID
	wait_for 20 test -s "$OUT/$name.pcap"
	start_bg b sdp-run xfer -s -h 10.0.0.2 -p 5010
	server=$BG_PID
	wait_for 20 grep -q listening "$BG_LOG"
	ktap_check "$name: transfer" in_a sdp-run xfer -h 10.0.0.2 -p 5010 \
		-n 300000 -d 300000 -w 0 -R 0 -o eof -t 60
	sleep 1
	kill -INT "$(pgrep -x tcpdump | head -n1)" 2>/dev/null
	wait_for 10 sh -c "! pgrep -x tcpdump"
	stop_bg "$dump"
	stop_bg "$server"
	net_down
}

capture hybrid-siw hybrid siw
capture siw-hybrid siw hybrid
capture hybrid-hybrid hybrid hybrid
ktap_done
