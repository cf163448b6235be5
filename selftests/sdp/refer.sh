#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Sending by reference: data of MSG_ZEROCOPY by programs that do not wait, of sendfile and
# of splice is not copied, as counters show. The notification comes when the memory is no
# longer needed, and no page stays pinned, however the connection ends.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck disable=SC2034 # zcopy.sh reads it
PROGRAM=sdp-refer
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-refer sdpstat
need_research

SERVER=10.0.0.2
PORT=7600
SAME="a_tx_bytes == b_rx_bytes"
# but for the request and the result of each connection, which are copied
ALL="$SAME && a_tx_copy_bytes < 100 && a_tx_ref_bytes > 100000"

flow() {
	set_both net.sdp.flow_control="$1"
	zc "$1: a stopped reader gets the right data" "$ALL" nonblock
	zc "$1: memory is used again only after its notification" "$ALL" block
	zc "$1: unaligned memory is sent by reference" "$SAME && a_tx_ref_bytes > 1000000 && a_tx_copy_bytes < 200000" odd
	zc "$1: sendfile transfers the data" "$SAME && a_tx_ref_bytes > 3100000 && a_tx_copy_bytes < 5000" file
}

ends() {
	zc "aborted: memory is released" "a_tx_ref_bytes > 100000" abort
	zc "closed: the transfer continues, then memory is released" "$ALL" close
	zc "killed: memory is released" "a_tx_ref_bytes > 100000" kill
	zc "RLIMIT_MEMLOCK is respected" "$ALL" limit
	zc "splice transfers the data" "$SAME && a_tx_ref_bytes > 3100000 && a_tx_copy_bytes < 5000" splice
}

full() { said full; }

removed() {
	start_bg a sdp-refer hold $SERVER $PORT
	wait_for 20 full
	in_a rdma link delete rda
	ktap_check "device removal: notified, and memory is released" wait_for 30 said ok
	stop_bg "$BG_PID"
	stop_bg "$ZCOPY"
	dev_add a rda va hybrid
	serve
}

shared() {
	set_both net.sdp.flow_control=auto
	zc "a shared link copies once, and notifies at once" \
		"$SAME && a_tx_ref_bytes == 0 && a_shared_links > 0" copied
	zc "a shared link: sendfile transfers the data" "$SAME && a_tx_ref_bytes == 0" file
}

# foreign DEVICES
foreign() {
	zc "$1: a stopped reader gets the right data" "$ALL" nonblock
	zc "$1: memory is used again only after its notification" "$ALL" block
	zc "$1: sendfile transfers the data" "$SAME && a_tx_ref_bytes > 3100000" file
}

# pair A B
pair() {
	net_down
	if ! dev_up "$1" "$2"; then
		ktap_skip "$1 to $2" "no such device"
		return
	fi
	serve
	foreign "$1 to $2"
	stop_bg "$ZCOPY"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
serve
for fc in credit rdma vwin; do
	flow $fc
done
set_both net.sdp.flow_control=credit
ends
removed
shared
stop_bg "$ZCOPY"
pair siw hybrid
# rxe of 6.1 reads a packet that it has freed
if is_debug; then
	ktap_skip "rxe-rxe" "use after free in rxe"
else
	pair rxe rxe
fi
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
