#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Zero copy over a slow link, and over one with a long delay: a send is not cancelled as long
# as its data moves, however long that takes, nor before the reader can have received the
# advertisement. It is cancelled if no program reads. Over iwarp_hybrid, which reports
# progress.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-zcopy sdpstat
need_research

SERVER=10.0.0.2
PORT=7600
NET_LINK=hnic
WAIT=1000000	# us; 1 MB takes longer at 5 Mbit/s
MOVED="a_tx_bytes == b_rx_bytes && a_tx_copy_bytes < 1000 && a_tx_zcopy_cancels == 0"

# slow NAME 0|1: pipelined or not
slow() {
	set_both net.sdp.zcopy_pipelined="$2" net.sdp.zcopy_wait=$WAIT
	zc "$1: nothing is cancelled while data moves" "$MOVED" -n 2097152 -w 1048576 -R 1048576
	zc "$1: a sleeping reader: a send is cancelled, and all data arrives" "a_tx_bytes == b_rx_bytes && a_tx_zcopy_cancels > 0" \
		-n 2097152 -w 1048576 -R 1048576 -l 4000
}

# long NAME 0|1: the first acknowledgment comes after three times zcopy_wait
long() {
	set_both net.sdp.zcopy_pipelined="$2" net.sdp.zcopy_wait=$((WAIT / 10))
	zc "$1: nothing is cancelled before the reader can have the advertisement" "$MOVED" -n 1048576 -w 524288 -R 524288
}

PIPELINED=0
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
setup
in_a sh -c "echo 5 > /sys/class/net/va/hnic/rate"
slow combined 0
slow pipelined 1
in_a sh -c "echo 0 > /sys/class/net/va/hnic/rate"
in_a sh -c "echo $((WAIT * 3 / 20)) > /sys/class/net/va/hnic/delay"
in_b sh -c "echo $((WAIT * 3 / 20)) > /sys/class/net/vb/hnic/delay"
long combined 0
long pipelined 1
gone
ktap_done
