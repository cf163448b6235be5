#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# The flow controls over a device: the choice and its reason; messages for many sends
# to a slow reader; the share of the receiver's memory that holds data; progress while
# the sender computes; two ends that only write.

# shellcheck disable=SC2317 # called by wait_for
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpbench sdp-run xfer sdp-actions sdp-fc sdpstat jq python3
need_research

SERVER=10.0.0.2
PORT=7700
MAP=/run/fc.map
KINDS=${KINDS:-hybrid}
# least average of bytes in a message, without the first and the last
MESSAGE=24576
BULK=$(scaled 262144 32768)

# sysctls NAME VALUE [a|b]: set net.sdp.NAME on both sides, or on one
sysctls() {
	[ "$3" = b ] || in_a sh -c "echo $2 >/proc/sys/net/sdp/$1"
	[ "$3" = a ] || in_b sh -c "echo $2 >/proc/sys/net/sdp/$1"
}

# established a|b FILTER: what jq finds in the client's socket (a), or the server's (b)
established() {
	local side='.peer.port == '$PORT
	[ "$1" = a ] || side='.local.port == '$PORT
	"in_$1" sdpstat --json | jq -r ".sockets[] |
		select(.state == \"ESTAB\") | select($side) | $2"
}

fallbacks() { echo $(($(sdp_counter a fc_fallbacks) - $1)) $(($(sdp_counter b fc_fallbacks) - $2)); }

# falls_back A_WANTED B_WANTED: how many fallbacks are counted at each end: one where there
# is a reason
falls_back() {
	local a=0 b=0
	[ -z "${1#* }" ] || a=1
	[ -z "${2#* }" ] || b=1
	# with both ends in one namespace both are counted there
	if [ "$NET_MODE" = one ]; then
		echo $((a + b)) $((a + b))
	else
		echo $a $b
	fi
}

# policy_is DESCRIPTION A_WANTED B_WANTED: "FLOW-CONTROL REASON" of both ends of a fresh
# connection from a to b
policy_is() {
	local desc=$1 want="$2|$3" s a b i before
	PORT=$((PORT + 1))
	before=$(fallbacks 0 0)
	start_bg b sdp-actions "${LISTEN_OPT[@]}" listen $SERVER $PORT 5 accept pause
	s=$BG_PID
	wait_port b $PORT
	start_bg a sdp-actions "${CONNECT_OPT[@]}" connect $SERVER $PORT \
		send 1000 pause
	for i in {1..50}; do
		a=$(established a '[.flow_control,.fc_reason] | join(" ")')
		b=$(established b '[.flow_control,.fc_reason] | join(" ")')
		[ "$a|$b" = "$want" ] && break
		sleep 0.1
	done
	ktap_is "$desc: a has ${2% }, b has ${3% }" "$a|$b" "$want"
	# shellcheck disable=SC2086 # two words
	ktap_is "$desc: fallbacks are counted" "$(fallbacks $before)" \
		"$(falls_back "$2" "$3")"
	stop_bg "$BG_PID"
	stop_bg "$s"
}

# server: start one of sdp-fc, at a port of its own
server() {
	PORT=$((PORT + 1))
	rm -f $MAP
	start_bg b sdp-fc serve $SERVER $PORT $MAP
	FC=$BG_PID
	wait_for 30 said listening
}

# many POLICY SIZE COUNT SHARE: COUNT sends to a reader that reads when no more are taken.
# At least SHARE per cent of the sends wait, and those that wait join a message
many() {
	local n msgs most waited rounds
	n=$(scaled "$3" 500)
	msgs=$(sdp_counter a tx_data_msgs)
	ktap_check "$KIND $1: $n sends of $2 bytes arrive" in_a timeout 120 \
		sdp-fc send $SERVER $PORT $MAP "$n" "$2" || return
	msgs=$(($(sdp_counter a tx_data_msgs) - msgs))
	read -r _ waited rounds <<<"$KTAP_OUT"
	most=$((n - waited / $2 + waited / MESSAGE + 2 * rounds + 4))
	# those of the transport have been messages before
	[ "$1" != transport ] || most=$n
	ktap_diag "$KIND $1: $n sends of $2 bytes: $msgs messages, at most $most;" \
		"$waited bytes have waited, $rounds times"
	if [ $msgs -gt 0 ] && [ $msgs -le "$most" ]; then
		ktap_ok "$KIND $1: $n sends of $2 bytes that wait join"
	else
		ktap_fail "$KIND $1: $n sends of $2 bytes that wait join" \
			"$msgs messages, $most are enough"
	fi
	# under the debug kernel too few to fill the buffers
	if ! is_debug && [ "$4" -gt 0 ]; then
		ktap_check "$KIND $1: at least $4 % of the sends wait" \
			test $((waited * 100)) -ge $((n * $2 * $4))
	fi
}

# fill SIZE: sends until no more are taken; sets what is held and reserved by the reader,
# what waits at the sender, in how many messages it left when the reader reads, and
# what the sender says
fill() {
	mkfifo /run/fc.go
	in_a timeout 120 sdp-fc fill $SERVER $PORT $MAP "$1" \
		</run/fc.go >/run/fc.log 2>&1 &
	local job=$!
	exec 7>/run/fc.go
	wait_for 60 grep -q full /run/fc.log
	held=$(established b .recv_q) reserved=$(established b .rx_reserved)
	waiting=$(awk '$1 == "full" { print $3 }' /run/fc.log)
	msgs=$(sdp_counter a tx_data_msgs)
	echo go >&7
	exec 7>&-
	wait $job
	msgs=$(($(sdp_counter a tx_data_msgs) - msgs))
	log=$(cat /run/fc.log)
	rm -f /run/fc.go /run/fc.log
}

# full POLICY SIZE LEAST: a reader sleeps. When no more is taken, at least LEAST per cent of
# its memory are in use; then few messages carry what waits
full() {
	local held reserved log msgs waiting most i
	# on a busy machine vwin's device may have taken large messages, and most of what
	# fits: another time, then
	for i in 1 2 3; do
		fill "$2"
		if [ "$1" != vwin ] || [[ $log != *ok* ]] ||
			[ "$waiting" -gt $((4 * MESSAGE)) ]; then
			break
		fi
	done
	ktap_diag "$KIND $1: sends of $2 bytes: $held of ${reserved:-0} bytes held"
	if [ "$((held * 100))" -ge "$((reserved * $3))" ] && [ "$held" -gt 0 ]; then
		ktap_ok "$KIND $1: at least $3 % of the memory is used, sends of $2 bytes"
	else
		ktap_fail "$KIND $1: at least $3 % of the memory is used, sends of $2 bytes" \
			"$held of $reserved"
	fi
	most=$((waiting / MESSAGE + 4))
	ktap_diag "$KIND $1: $((waiting / $2)) sends of $2 bytes that wait:" \
		"$msgs messages"
	# those of the transport have been messages before
	if [ "$1" = transport ]; then
		:
	elif [ "$msgs" -gt 0 ] && [ "$waiting" -gt $((4 * MESSAGE)) ] &&
		[ "$msgs" -le $most ]; then
		ktap_ok "$KIND $1: sends of $2 bytes that wait join"
	else
		ktap_fail "$KIND $1: sends of $2 bytes that wait join" \
			"$waiting bytes in $msgs messages, $most are enough"
	fi
	case $log in
	*ok*) ktap_ok "$KIND $1: all sends of $2 bytes arrive" ;;
	*) ktap_fail "$KIND $1: all sends of $2 bytes arrive" "$log" ;;
	esac
}

# computing POLICY through|stalls MS...
computing() {
	local policy=$1 how=$2 ms
	shift 2
	for ms; do
		ktap_check "$KIND $policy: data $how while the sender computes for $ms ms" \
			in_a timeout 120 sdp-fc compute $SERVER $PORT $MAP 1000 \
			"$ms" "$how"
		ktap_diag "$(head -n 1 <<<"$KTAP_OUT")"
	done
}

# transfers POLICY: data in both directions, on many connections, by other calls
transfers() {
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h $SERVER -p $PORT
	local x=$BG_PID n
	wait_for 30 said listening
	n=$(scaled 4000000 1000000)
	ktap_check "$KIND $1: large messages in both directions" in_a sdp-run xfer -h $SERVER \
		-p $PORT -t 90 -m block -n "$n" -d "$n"
	ktap_check "$KIND $1: small and large messages on many connections" in_a sdp-run xfer \
		-h $SERVER -p $PORT -t 90 -m poll -C 8 -n 150000 -d 150000 -w 0 -R 0
	ktap_check "$KIND $1: sendfile and MSG_PEEK transfer the data" in_a sdp-run xfer -h $SERVER \
		-p $PORT -t 90 -m poll -n 500000 -d 500000 -o sendfile,peek
	ktap_check "$KIND $1: both ends write first, then read" in_a sdp-run xfer \
		-h $SERVER -p $PORT -t 90 -m mutual -n 250000 -d 250000 -w 4096
	stop_bg "$x"
}

# bulk POLICY: credits and free room are announced now and then, not for each message
bulk() {
	local n=$((32 * BULK)) x msgs updates most
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h $SERVER -p $PORT
	x=$BG_PID
	wait_for 30 said listening
	msgs=$(sdp_counter a tx_data_msgs)
	updates=$(sdp_counter b tx_credit_updates)
	ktap_check "$KIND $1: $n bytes arrive" in_a sdp-run xfer -h $SERVER \
		-p $PORT -t 90 -m block -n $n -w 65536
	msgs=$(($(sdp_counter a tx_data_msgs) - msgs))
	updates=$(($(sdp_counter b tx_credit_updates) - updates))
	# a third of the 7 receives that are announced at first, or half of a ring of
	# 256 KB, at a time
	most=$((msgs / 3 + 8))
	[ "$1" != rdma ] || most=$((msgs / 32 + n / 131072 + 8))
	ktap_diag "$KIND $1: $msgs messages, $updates updates, $most allowed"
	case $1 in
	credit | rdma)
		if [ "$updates" -gt 0 ] && [ "$updates" -le $most ]; then
			ktap_ok "$KIND $1: few credit updates are sent"
		else
			ktap_fail "$KIND $1: few credit updates are sent" "$updates, $msgs messages"
		fi
		;;
	*)
		ktap_is "$KIND $1: no credit updates are sent" "$updates" 0
		;;
	esac
	stop_bg "$x"
}

# announced DESCRIPTION BY: messages one way, larger than what goes along: "immediate" data
# announce nearly all of them, or "messages" all
announced() {
	local x msgs sent got
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h $SERVER -p $PORT
	x=$BG_PID
	wait_for 30 said listening
	msgs=$(sdp_counter a tx_data_msgs)
	sent=$(sdp_counter a tx_immediates)
	got=$(sdp_counter b rx_immediates)
	ktap_check "$1: the transfer works" in_a sdp-run xfer -h $SERVER -p $PORT -t 90 -m block \
		-n $((8 * BULK)) -d 50000 -w 1000
	msgs=$(($(sdp_counter a tx_data_msgs) - msgs))
	sent=$(($(sdp_counter a tx_immediates) - sent))
	got=$(($(sdp_counter b rx_immediates) - got))
	ktap_diag "$1: $msgs messages, $sent with immediate data"
	if [ "$2" = messages ]; then
		ktap_is "$1: messages announce the data" "$sent $got" "0 0"
	elif [ "$sent" -ge $((msgs / 2)) ] && [ "$sent" -gt 0 ] && [ "$got" -ge "$sent" ]; then
		ktap_ok "$1: announced by immediate data"
	else
		ktap_fail "$1: announced by immediate data" \
			"$sent sent, $got received, $msgs messages"
	fi
	stop_bg "$x"
}

# answered KIND: requests and answers; immediate data announce most of them, and the other
# messages announce free room as well
answered() {
	local x sent told rounds
	PORT=$((PORT + 1))
	rounds=$(scaled 400 100)
	start_bg b sdpbench -s -b $SERVER -p $PORT
	x=$BG_PID
	wait_port b $PORT
	sent=$(sdp_counter a tx_immediates)
	told=$(($(sdp_counter a tx_credit_updates) + $(sdp_counter b tx_credit_updates)))
	ktap_check "$1 rdma: $rounds answers of 16 KB arrive" in_a timeout 90 \
		sdpbench -p $PORT -T lat -L 16384 -P "$rounds" -r 1 $SERVER
	sent=$(($(sdp_counter a tx_immediates) - sent))
	told=$(($(sdp_counter a tx_credit_updates) + $(sdp_counter b tx_credit_updates) - told))
	ktap_diag "$1 rdma: $sent with immediate data, $told updates"
	ktap_check "$1 rdma: immediate data announce at least half of the requests" test $sent -ge $((rounds / 2))
	ktap_check "$1 rdma: few updates for request/response traffic" test $told -le 4
	stop_bg "$x"
}

# immediate KIND: how data are announced; either end can refuse immediate data
immediate() {
	local by=immediate
	[ "$1" != siw ] || by=messages
	sysctls flow_control rdma
	announced "$1 rdma" $by
	[ "$1" = siw ] || answered "$1"
	sysctls rdma_immediate 0 a
	announced "$1 rdma, not offered" messages
	sysctls rdma_immediate 1 a
	sysctls rdma_immediate 0 b
	announced "$1 rdma, not agreed to" messages
	sysctls rdma_immediate 1
}

# takes RUN: bytes that each end can write without a reader, the smaller number. On a busy
# machine both may not run for a second, so a stall is three.
takes() {
	local s out
	PORT=$((PORT + 1))
	# shellcheck disable=SC2086 # "sdp-run", or nothing
	start_bg b $1 xfer -s -h $SERVER -p $PORT -B 65536
	s=$BG_PID
	wait_for 30 said listening
	# shellcheck disable=SC2086
	out=$(in_a $1 xfer -h $SERVER -p $PORT -m stall -q 3000 -B 65536 -t 120 -w 4096)
	stop_bg "$s"
	sed -n 's/.*up=\([0-9]*\) down=\([0-9]*\)/\1 \2/p' <<<"$out" |
		awk '{ print ($1 < $2) ? $1 : $2 }'
}

# policy NAME UTILISATION: all tests with this flow control; with credit and vwin the first
# messages are short ones in long buffers
policy() {
	local sdp size share
	sysctls flow_control "$1"
	server
	# the device or TCP queue some themselves, so not all sends wait
	share=0
	[ "$1" != rdma ] || share=25
	[ "$1" != credit ] || share=35
	many "$1" 64 10000 $share
	for size in ${LONG:+256 2000 16384}; do
		many "$1" "$size" 10000 0
	done
	for size in 64 500 3000; do
		full "$1" $size "$2"
	done
	# a buffer has room for one of these only
	full "$1" 16384 $(($2 < 50 ? $2 : 50))
	computing "$1" through 1 10 100
	stop_bg "$FC"
	transfers "$1"
	bulk "$1"
	sdp=$(takes sdp-run)
	ktap_diag "$KIND $1: two ends that only write: ${sdp:-0} bytes, TCP $TCP"
	if [ "${sdp:-0}" -ge $((TCP * 9 / 10)) ]; then
		ktap_ok "$KIND $1: two ends that only write: at least nine tenths of what TCP takes"
	else
		ktap_fail "$KIND $1: two ends that only write: at least nine tenths of what TCP takes"
	fi
}

# calls SERVER CLIENT DESCRIPTION: see fc_threads.py
calls() {
	local prog s
	prog=$(dirname "$0")/fc_threads.py
	PORT=$((PORT + 1))
	start_bg b sdp-run python3 "$prog" "$1" $SERVER $PORT
	s=$BG_PID
	wait_for 60 said listening
	ktap_check "$KIND $3" in_a timeout 120 sdp-run python3 "$prog" "$2" $SERVER $PORT
	stop_bg "$s"
}

# threads NAME: calls of several threads, see fc_threads.py
threads() {
	calls serve send "$1: one thread sends while another receives"
	calls late splice "$1: splice() waits for an answer"
}

# alone EVERY: each send is a message, however long it has to wait for credit; one
# of EVERY asks for a completion
alone() {
	local n msgs all asked most desc="$KIND credit, alone"
	n=$(scaled 2000 500)
	sysctls flow_control credit
	sysctls credit_join 0
	sysctls signal_every "$1"
	server
	msgs=$(sdp_counter a tx_data_msgs)
	all=$(sdp_counter a tx_msgs)
	asked=$(sdp_counter a tx_signalled)
	ktap_check "$desc: $n sends of 64 bytes arrive" in_a timeout 120 \
		sdp-fc send $SERVER $PORT $MAP "$n" 64
	msgs=$(($(sdp_counter a tx_data_msgs) - msgs))
	all=$(($(sdp_counter a tx_msgs) - all))
	asked=$(($(sdp_counter a tx_signalled) - asked))
	ktap_is "$desc: each send is a message" "$msgs" "$n"
	# there are messages without data, too, and those of the peer, if it is here
	most=$((all + 4 * $1))
	[ "$KIND" = rxe ] || [ $most -le $((n * 5 / 4 + 2 * $1)) ] || most=$((n * 5 / 4 + 2 * $1))
	if [ $((asked * $1)) -ge "$n" ] && [ $((asked * $1)) -le $most ]; then
		ktap_ok "$desc: one of $1 asks for a completion"
	else
		ktap_fail "$desc: one of $1 asks for a completion" "$asked of $all"
	fi
	stop_bg "$FC"
	sysctls credit_join 1
	sysctls signal_every 16
}

# no_memory FLOW_CONTROL FUNCTION: the end that accepts has no memory for that flow control,
# since FUNCTION fails
no_memory() {
	if ! hold "$2" kworker asleep=1 ms=0 ret=-12; then
		ktap_skip "$KIND: no memory for $1 falls back to credit" "no probes"
		return
	fi
	sysctls flow_control "$1"
	policy_is "$KIND: no memory for $1 falls back to credit" "credit peer" "credit memory"
	sysctls flow_control auto
	hold_end
}

# device KIND AUTO VWIN [REASON]: choices over such devices. AUTO: when nothing is requested,
# VWIN: when vwin is, REASON: why vwin is not taken where the peer wants rdma (peer)
device() {
	local before
	KIND=$1
	dev_down
	dev_up "$1" "$1" || { ktap_skip "$1" "no such devices"; return; }
	LISTEN_OPT=() CONNECT_OPT=()
	sysctls flow_control auto
	policy_is "$1: nothing requested" "$2 " "$2 "
	before=$(sdp_counter a fc_fallbacks)
	CONNECT_OPT=(opt 1027 5 3)
	policy_is "$1: rdma requested by the socket" "rdma " "rdma "
	CONNECT_OPT=(opt 1027 5 2)
	policy_is "$1: credit requested" "credit " "credit "
	ktap_is "$1: no request was refused" "$(sdp_counter a fc_fallbacks)" "$before"
	CONNECT_OPT=(opt 1027 5 4)
	policy_is "$1: vwin requested" "$3" "${3%% *} "
	CONNECT_OPT=(opt 1027 5 5)
	if [ "$2" = transport ]; then
		policy_is "$1: transport requested" "transport " "transport "
	else
		policy_is "$1: transport requested" "credit device" "credit "
	fi
	CONNECT_OPT=()
	no_memory rdma sdp_ring_create
	[ "$2" != transport ] || no_memory transport sdp_shared_open
	if [ "$NET_MODE" = two ]; then
		sysctls flow_control credit b
		CONNECT_OPT=(opt 1027 5 3)
		policy_is "$1: the peer requests credit" "credit peer" "credit "
		CONNECT_OPT=(opt 1027 5 4)
		sysctls flow_control rdma b
		policy_is "$1: the peer requests rdma" "rdma ${4:-peer}" "rdma "
		CONNECT_OPT=()
		policy_is "$1: only the listener requests rdma" "credit " "credit peer"
		sysctls flow_control auto
	fi
	CONNECT_OPT=()
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
TCP=$(takes "")
for kind in $KINDS; do
	case $kind in
	hybrid) device hybrid transport "vwin " ;;
	siw) device siw credit "rdma device" device ;;
	rxe) device rxe credit "vwin " ;;
	esac
	[ -n "$(rdma link show rda/1 2>/dev/null || rdma link show)" ] || continue
	policy credit 40
	alone 1
	alone 32
	policy rdma 80
	immediate "$kind"
	sysctls rdma_progress app
	server
	computing "rdma (app)" stalls 1 100
	stop_bg "$FC"
	threads "rdma (app)"
	[ -z "$LONG" ] || transfers "rdma (app)"
	sysctls rdma_progress kernel
	[ "$kind" = siw ] || policy vwin 75
	[ "$kind" != hybrid ] || policy transport 40
	sysctls flow_control auto
done
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
