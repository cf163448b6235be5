#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Both ends write without reading: SDP takes at least as much as TCP with the
# same buffers before it stops, and what TCP brings through, SDP does.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run xfer

SERVER=10.0.0.2

# stalled RUN BUFFERS: bytes each end could write, the smaller of the two
stalled() {
	local out

	# shellcheck disable=SC2086 # "sdp-run", or nothing
	out=$(in_a $1 xfer -h $SERVER -p "$PORT" -m stall -B "$2" -t 120 \
		-w 4096 -R 65536) || return
	sed -n 's/.*up=\([0-9]*\) down=\([0-9]*\)/\1 \2/p' <<<"$out" |
		awk '{ print ($1 < $2) ? $1 : $2 }'
}

# serve RUN PORT BUFFERS
serve() {
	PORT=$2
	# shellcheck disable=SC2086 # as above
	start_bg b $1 xfer -s -h $SERVER -p "$PORT" -B "$3"
	SERVER_PID=$BG_PID
	wait_for 30 grep -q listening "$BG_LOG"
}

dev_up "${KIND:-hybrid}" "${KIND:-hybrid}" || ktap_skip_all "no devices"
modprobe -q sdp
port=5100
for buffers in 0 16384 65536 262144 1048576; do
	port=$((port + 2))
	serve "" $port $buffers
	tcp=$(stalled "" $buffers)
	stop_bg "$SERVER_PID"
	serve sdp-run $((port + 1)) $buffers
	sdp=$(stalled sdp-run $buffers)
	ktap_diag "buffers $buffers: each end wrote $tcp bytes over TCP, $sdp over SDP"
	if [ "${sdp:-0}" -gt 0 ]; then
		ktap_ok "buffers $buffers: both stall, then all is read"
	else
		ktap_fail "buffers $buffers: both stall, then all is read"
	fi
	# what fits TCP by a margin of a tenth has to fit SDP
	bytes=$((${tcp:-0} * 9 / 10))
	ktap_check "buffers $buffers: both write $bytes bytes, then both read" \
		in_a sdp-run xfer -h $SERVER -p "$PORT" -m mutual -n $bytes \
		-d $bytes -B $buffers -w 4096 -t 60
	stop_bg "$SERVER_PID"
done
ktap_done
