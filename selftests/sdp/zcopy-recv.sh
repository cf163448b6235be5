#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# SDP_ZEROCOPY_RECEIVE: received pages are mapped into a program instead of being
# copied. For all uses of them every byte is right, the connection continues,
# nothing can be written, and all pages come back.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-lend sdp-run sdpstat
need_research

SERVER=10.0.0.2
PORT=8000
LIMIT=$(scaled 100 300)	# seconds, of one run

# up: a server at the next port
up() {
	PORT=$((PORT + 1))
	start_bg b sdp-lend serve $SERVER $PORT
	SERVE=$BG_PID
	wait_for 30 said listening
	look
}

# setup, gone: called by pair(), before and after its command
setup() {
	set_both net.sdp.shared_link=0
	up
}

gone() {
	stop_bg "$SERVE"
	ktap_check "no socket is left" wait_for 20 no_sockets
}

# lends DESCRIPTION EXPRESSION OPTION...: sdp-lend succeeds with these options, and the
# expression is not 0. Its variables: a_COUNTER, b_COUNTER, by which a counter of either
# end rose (risen()); lent, copied, read, the bytes of each kind that sdp-lend reports
lends() {
	local desc=$1 want=$2 out word lent copied read

	shift 2
	out=$(in_a timeout "$LIMIT" sdp-lend "$@" $SERVER $PORT 2>&1)
	read -r word lent copied read <<<"$out"
	look
	if [ "$word" != ok ]; then
		ktap_fail "$desc" "$out" "$(risen | grep -v '=0$')"
	elif ! (eval "$(risen)"; [ $((want)) -ne 0 ]); then
		ktap_fail "$desc" "not: $want" "lent=$lent copied=$copied read=$read" \
			"$(risen | grep -v '=0$')"
	else
		ktap_ok "$desc"
	fi
}

# ALL: N bytes, what is lent is not copied; MOST: and most is lent
all() { echo "lent + copied + read == $1 && a_rx_lent_bytes == lent && a_rx_lent_copied == copied"; }
most() { echo "$(all "$1") && lent > $1 / 2"; }
none() { echo "$(all "$1") && lent == 0"; }

behaves() {
	lends "8 MB: most is lent" "$(most 8388608) && a_rx_copy_bytes < 4194304"
	lends "with a buffer for copies: nothing needs to be read" \
		"$(all 8388608) && lent > 8388608 / 4 && copied > 0" -c 32768 -w 100000
	lends "a window of one page" "$(most 2097152)" -n 2097152 -W 4096
	lends "sends of 33333 bytes" "$(all 4194304) && lent > 0" -n 4194304 -w 33333
	lends "small sends: copied" "$(all 200000)" -n 200000 -w 500
	lends "all that fits is copied" "$(all 1000000) && copied > 0" \
		-n 1000000 -w 3000 -c 1000000
	lends "a small receive buffer" "$(all 4194304) && lent > 0" -n 4194304 -r 32768
	lends "nothing is given back: the connection goes on" \
		"lent + read == 16777216 && a_rx_lend_full > 0" -m keep -n 16777216
	set_a net.sdp.rmem="4096 4194304 8388608"
	lends "a large receive buffer: more is lent" \
		"lent + read == 8388608 && lent > 2097152" -m keep
	set_a net.sdp.rmem="4096 262144 8388608"
	lends "fork: a child keeps what it has" "lent > 0" -m fork
	lends "munmap of a part, mremap" "lent > 0" -m move
	lends "close before munmap" "lent > 0" -m close
	lends "vmsplice: nothing writes to what is lent" "lent > 0" -m pipe
	lends "MSG_PEEK, splice, SO_RCVLOWAT between the calls" "lent > 0" -m mix
	lends "wrong addresses, lengths, structures, writing" "lent > 0" -m misuse
	lends "threads lend, read, map and look" "a_rx_lent_bytes > 0" -m race -n 33554432
	lends "and one shuts the connection down" "1" -m cut -n 33554432
}

# tcp_program: TCP_ZEROCOPY_RECEIVE of a program that knows nothing of SDP
tcp_program() {
	ktap_check "a program written for TCP runs" in_a timeout "$LIMIT" sdp-run sdp-lend -t $SERVER $PORT
	look
	ktap_check "received pages are mapped" [ "$(risen | sed -n 's/^a_rx_lent_bytes=//p')" -gt 0 ]
}

# ends DEVICE: something goes while pages are lent
ends() {
	local fifo=/tmp/lend.fifo what

	rm -f $fifo
	mkfifo $fifo
	# seconds that data of a killed server waits for a reader
	set_both net.sdp.fin_timeout=3
	for what in server "device of the server" device; do
		start_bg a sh -c "sdp-lend -m gone $SERVER $PORT <$fifo"
		exec 7>$fifo
		wait_for 30 said borrowed
		case $what in
		server) stop_bg "$SERVE" ;;
		"device of the server") in_b rdma link delete rdb ;;
		device) in_a rdma link delete rda ;;
		esac
		wait_for 30 no_connection
		exec 7>&-
		ktap_check "the $what goes: mapped pages stay" wait_for 30 grep -q ^ok "$BG_LOG"
		stop_bg "$BG_PID"
		stop_bg "$SERVE"
		case $what in
		"device of the server") dev_add b rdb vb "$1" ;;
		device) dev_add a rda va "$1" ;;
		esac
		up
	done
	set_both net.sdp.fin_timeout=60
}

no_connection() { ! in_a sdpstat | grep -q ESTAB; }

# killed: a program that has borrowed
killed() {
	mkfifo /tmp/lend.wait
	start_bg a sh -c "sdp-lend -m gone $SERVER $PORT </tmp/lend.wait"
	exec 7>/tmp/lend.wait
	wait_for 30 said borrowed
	stop_bg "$BG_PID"
	exec 7>&-
	ktap_check "killed: no socket is left" wait_for 30 no_clients
	look
}

no_clients() { ! in_a sdpstat -a | grep -vq '^State'; }

# no_lending LINK: where pages hold other things as well
no_lending() {
	lends "$1: nothing is lent, all is read" "$(none 2097152)" -n 2097152
	lends "$1: or copied" "$(none 2097152) && copied > 0" -n 2097152 -c 65536
	lends "$1: threads read, map and look" "1" -m race -n 4194304
}

# advertised MODE: what could be read by RDMA comes as messages
advertised() {
	set_both net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 net.sdp.zcopy_pipelined="$1"
	stop_bg "$SERVE"
	up
	lends "sends without copies, pipelined $1: asked for as messages" \
		"$(most 8388608) && a_rx_srcavail > 0 && a_rx_zcopy_declined > 0 && a_rx_zcopy_bytes == 0"
	set_both net.sdp.zcopy_threshold=0 net.sdp.zcopy_pipelined=1
	stop_bg "$SERVE"
	up
}

# foreign DEVICES: with other RDMA devices than iwarp_hybrid at one end or both
foreign() {
	lends "$1" "$(most 8388608)"
	lends "$1: nothing is given back" "lent + read == 8388608" -m keep
	lends "$1: threads" "a_rx_lent_bytes > 0" -m race
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
setup
behaves
tcp_program
ends hybrid
killed
advertised 0
advertised 1
set_both net.sdp.flow_control=vwin
lends "vwin" "$(most 8388608)"
set_both net.sdp.flow_control=rdma
no_lending "the ring of rdma"
set_both net.sdp.flow_control=auto net.sdp.shared_link=1
no_lending "shared link"
gone
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
pair hybrid siw foreign
pair siw hybrid foreign
# rxe of 6.1 accesses packets after it has freed them, which KASAN reports
if is_debug; then
	ktap_skip "rxe to rxe" "use after free in rxe_resp_queue_pkt()"
else
	pair rxe rxe foreign
fi
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
