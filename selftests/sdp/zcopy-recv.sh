#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# SDP_ZEROCOPY_RECEIVE: received pages are mapped into a program instead of being
# copied. For all uses of them every byte is right, the connection continues,
# the program cannot write to the pages, and all pages are freed in the end.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need sdp-rxmap sdp-run sdpstat
need_research

SERVER=10.0.0.2
PORT=8000
LIMIT=$(scaled 100 300)	# seconds for one run

# up: a server at the next port
up() {
	PORT=$((PORT + 1))
	start_bg b sdp-rxmap serve $SERVER $PORT
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

# maps DESCRIPTION EXPRESSION OPTION...: sdp-rxmap succeeds with these options, and the
# expression is not 0. Its variables: a_COUNTER, b_COUNTER, by which a counter of either
# end rose (risen()); mapped, copied, read, the bytes of each kind that sdp-rxmap reports
maps() {
	local desc=$1 want=$2 out word mapped copied read

	shift 2
	out=$(in_a timeout "$LIMIT" sdp-rxmap "$@" $SERVER $PORT 2>&1)
	read -r word mapped copied read <<<"$out"
	look
	if [ "$word" != ok ]; then
		ktap_fail "$desc" "$out" "$(risen | grep -v '=0$')"
	elif ! (eval "$(risen)"; [ $((want)) -ne 0 ]); then
		ktap_fail "$desc" "not: $want" "mapped=$mapped copied=$copied read=$read" \
			"$(risen | grep -v '=0$')"
	else
		ktap_ok "$desc"
	fi
}

# all N, most N, none N: expressions for maps. N bytes arrived, and the counters agree with
# the program's; most: more than half was mapped; none: nothing was mapped.
all() { echo "mapped + copied + read == $1 && a_rx_mapped_bytes == mapped && a_rx_mapped_copied == copied"; }
most() { echo "$(all "$1") && mapped > $1 / 2"; }
none() { echo "$(all "$1") && mapped == 0"; }

behaves() {
	maps "8 MB: most is mapped" "$(most 8388608) && a_rx_copy_bytes < 4194304"
	maps "with a buffer for copies: a part is mapped, a part copied" \
		"$(all 8388608) && mapped > 8388608 / 4 && copied > 0" -c 32768 -w 100000
	maps "a window of one page: most is mapped" "$(most 2097152)" -n 2097152 -W 4096
	maps "sends of 33333 bytes: a part is mapped" "$(all 4194304) && mapped > 0" -n 4194304 -w 33333
	maps "small sends: all data arrives" "$(all 200000)" -n 200000 -w 500
	maps "a large buffer for copies: a part is copied" "$(all 1000000) && copied > 0" \
		-n 1000000 -w 3000 -c 1000000
	maps "a small receive buffer: a part is mapped" "$(all 4194304) && mapped > 0" -n 4194304 -r 32768
	maps "mapped pages are not given back: the connection goes on" \
		"mapped + read == 16777216 && a_rx_map_full > 0" -m keep -n 16777216
	set_a net.sdp.rmem="4096 4194304 8388608"
	maps "a large receive buffer: more than 2 MB is mapped" \
		"mapped + read == 8388608 && mapped > 2097152" -m keep
	set_a net.sdp.rmem="4096 262144 8388608"
	maps "fork: a child keeps the pages that it has mapped" "mapped > 0" -m fork
	maps "munmap of a part, mremap: the data is right" "mapped > 0" -m move
	maps "close before munmap: the pages stay" "mapped > 0" -m close
	maps "vmsplice: nothing writes to what is mapped" "mapped > 0" -m pipe
	maps "MSG_PEEK, splice, SO_RCVLOWAT between the calls: the data is right" "mapped > 0" -m mix
	maps "wrong addresses, lengths, structures and writes are refused" "mapped > 0" -m misuse
	maps "threads receive, read, map and look at the same time" "a_rx_mapped_bytes > 0" -m race -n 33554432
	maps "threads end when one shuts the connection down" "1" -m cut -n 33554432
}

# tcp_program: a program written for TCP uses TCP_ZEROCOPY_RECEIVE
tcp_program() {
	ktap_check "a program written for TCP runs" in_a timeout "$LIMIT" sdp-run sdp-rxmap -t $SERVER $PORT
	look
	ktap_check "a program written for TCP: received pages are mapped" [ "$(risen | sed -n 's/^a_rx_mapped_bytes=//p')" -gt 0 ]
}

# ends DEVICE: the server or a device goes while pages are mapped
ends() {
	local fifo=/tmp/rxmap.fifo what

	rm -f $fifo
	mkfifo $fifo
	# seconds that data of a killed server waits for a reader
	set_both net.sdp.fin_timeout=3
	for what in server "device of the server" device; do
		start_bg a sh -c "sdp-rxmap -m gone $SERVER $PORT <$fifo"
		exec 7>$fifo
		wait_for 30 said mapped
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

# killed: a program is killed while received pages are mapped
killed() {
	mkfifo /tmp/rxmap.wait
	start_bg a sh -c "sdp-rxmap -m gone $SERVER $PORT </tmp/rxmap.wait"
	exec 7>/tmp/rxmap.wait
	wait_for 30 said mapped
	stop_bg "$BG_PID"
	exec 7>&-
	ktap_check "killed: no socket is left" wait_for 30 no_clients
	look
}

no_clients() { ! in_a sdpstat -a | grep -vq '^State'; }

# no_mapping LINK: a link whose pages hold other things than payload as well
no_mapping() {
	maps "$1: nothing is mapped, all is read" "$(none 2097152)" -n 2097152
	maps "$1: nothing is mapped, a part is copied" "$(none 2097152) && copied > 0" -n 2097152 -c 65536
	maps "$1: threads read, map and look at the same time" "1" -m race -n 4194304
}

# advertised 0|1: the peer advertises its memory; the data comes as messages all the same
advertised() {
	set_both net.sdp.zcopy_threshold=65536 net.sdp.zcopy_floor=0 net.sdp.zcopy_pipelined="$1"
	stop_bg "$SERVE"
	up
	maps "sends without copies, pipelined $1: the reader asks for messages, and maps most" \
		"$(most 8388608) && a_rx_srcavail > 0 && a_rx_zcopy_declined > 0 && a_rx_zcopy_bytes == 0"
	set_both net.sdp.zcopy_threshold=0 net.sdp.zcopy_pipelined=1
	stop_bg "$SERVE"
	up
}

# foreign DEVICES: with other RDMA devices than iwarp_hybrid at one end or both
foreign() {
	maps "$1: most is mapped" "$(most 8388608)"
	maps "$1: mapped pages are not given back: the connection goes on" "mapped + read == 8388608" -m keep
	maps "$1: threads receive, read, map and look at the same time" "a_rx_mapped_bytes > 0" -m race
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
maps "flow control vwin: most is mapped" "$(most 8388608)"
set_both net.sdp.flow_control=rdma
no_mapping "the ring of rdma"
set_both net.sdp.flow_control=auto net.sdp.shared_link=1
no_mapping "shared link"
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
