#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# The shared link: the conditions for it, and the special cases of sends and receives on
# it. Data is compared byte by byte.

# shellcheck disable=SC2317 # called by wait_for
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need sdp-run xfer sdp-actions sdp-shared sdpstat jq python3

SERVER=10.0.0.2
PORT=7500

# snap a|b NAME...: print the values of these counters
snap() {
	local ns=$1
	shift
	"in_$ns" sdpstat -s -z | awk -v names="$*" '{ is[$1] = $2 }
		END { n = split(names, name)
			for (i = 1; i <= n; i++) printf "%s ", is[name[i]] }'
}

# risen a|b NAME BEFORE
risen() { [ "$(sdp_counter "$1" "$2")" -gt "$3" ]; }

# link_is DESCRIPTION A_WANTED B_WANTED: a fresh connection from a to b has that link, flow
# control and reason, at each end
link_is() {
	local desc=$1 want_a=$2 want_b=$3 s a b i
	PORT=$((PORT + 1))
	start_bg b sdp-actions "${LISTEN_OPT[@]}" listen $SERVER $PORT 5 accept pause
	s=$BG_PID
	wait_port b $PORT
	start_bg a sdp-actions "${CONNECT_OPT[@]}" connect $SERVER $PORT \
		send 1000 pause
	for i in {1..50}; do
		a=$(state a) b=$(state b)
		[ "$a|$b" = "$want_a|$want_b" ] && break
		sleep 0.1
	done
	ktap_is "$desc: a has \"${want_a% }\", b has \"${want_b% }\"" "$a|$b" "$want_a|$want_b"
	stop_bg "$BG_PID"
	stop_bg "$s"
}

state() {
	"in_$1" sdpstat --json | jq -r '.sockets[] | select(.state == "ESTAB") |
		[.link,.flow_control,.link_reason] | join(" ")'
}

# odd DESCRIPTION WHAT [SLEEP_MS [odd]]: sdp-shared does WHAT, and all data arrives
odd() {
	local server
	PORT=$((PORT + 1))
	start_bg b sdp-shared serve $SERVER $PORT "${@:3}"
	server=$BG_PID
	wait_for 20 said listening
	ktap_check "$1" in_a timeout 60 sdp-shared "$2" $SERVER $PORT
	[[ $KTAP_OUT = *ok ]] || ktap_diag "$(cat "$BG_LOG")"
	stop_bg "$server"
}

serve() {
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h $SERVER -p $PORT
	XFER=$BG_PID
	wait_for 30 said listening
}

# transfer DESCRIPTION OPTION...
transfer() {
	local desc=$1
	shift
	ktap_check "$desc" in_a sdp-run xfer -h $SERVER -p $PORT -t 90 "$@"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp

# conditions for a shared link
LISTEN_OPT=() CONNECT_OPT=()
link_is "both sides can" "shared transport " "shared transport "
in_a sh -c 'echo 0 >/proc/sys/net/sdp/shared_link'
link_is "switched off here" "verbs credit sysctl" "verbs credit peer"
in_a sh -c 'echo 1 >/proc/sys/net/sdp/shared_link'
in_b sh -c 'echo 0 >/proc/sys/net/sdp/shared_link'
link_is "switched off there" "verbs credit peer" "verbs credit sysctl"
in_b sh -c 'echo 1 >/proc/sys/net/sdp/shared_link'
CONNECT_OPT=(opt 1027 4 0)
link_is "not wanted here" "verbs credit option" "verbs credit peer"
CONNECT_OPT=() LISTEN_OPT=(opt 1027 4 0)
link_is "not wanted there" "verbs credit peer" "verbs credit option"
LISTEN_OPT=()

# a device whose component table lacks what SDP would leave to it: flow control, buffering,
# coalescing; other components do not matter
if kt_load stack_test stack_mock; then
	for comp in 3 4 7; do
		kt_tell - veil rda $comp
		link_is "component $comp is not there" "verbs credit stack" "verbs credit peer"
	done
	kt_tell - veil rda 0
	link_is "no CRC" "shared transport " "shared transport "
	dev_down
	dev_up hybrid hybrid
fi

# sends that do not go smoothly
before=$(sdp_counter a tx_faults)
odd "holes in the send buffer: send() reports them, and all data arrives" fault
odd "pages that are not there yet: all data arrives" fresh
ktap_check "faults are counted" risen a tx_faults "$before"
before=$(sdp_counter b rx_pauses)
odd "a send that a signal interrupts is short, and all data arrives" signal 1000
ktap_check "a reader that sleeps pauses the peer" risen b rx_pauses "$before"
odd "sends of growing sizes: all data arrives" grow
odd "reads of odd lengths, some into holes: all data arrives" grow 300 odd
# On a busy machine the first piece may still wait when the second one comes, and both leave
# in one message.
declare -A PIECES=([more]="with MSG_MORE" [cork]="under TCP_CORK"
	[nodelay]="under TCP_CORK, and TCP_NODELAY after half of them"
	[late]="with MSG_MORE, without a next one,")
for what in "more 1" "cork 1" "nodelay 2" "late 1"; do
	for _ in {1..20}; do
		before=$(sdp_counter a tx_data_msgs)
		odd "pieces ${PIECES[${what% *}]}: all data arrives" "${what% *}"
		made=$(($(sdp_counter a tx_data_msgs) - before))
		[[ $KTAP_OUT = *slow* || $what-$made = nodelay*-1 ]] || break
	done
	ktap_is "pieces ${PIECES[${what% *}]} make ${what#* } message(s)" "$made" "${what#* }"
done

# large transfers, and what disturbs them
size=$(scaled 64000000 4000000)
serve
before=$(snap a tx_bytes tx_copy_bytes rx_bytes rx_copy_bytes)
transfer "$size bytes arrive each way" -m block -n "$size" -d "$size"
after=$(snap a tx_bytes tx_copy_bytes rx_bytes rx_copy_bytes)
ktap_is "each byte is copied once on either side" \
	"$(paste <(echo "$before") <(echo "$after") | awk '{
		print $6 - $2 == $5 - $1 && $8 - $4 == $7 - $3 ? "once" : $0 }')" once
transfer "small and large reads: all data arrives" -m poll -n 2000000 -d 2000000 -w 0 -R 0
transfer "sendfile and peek: all data arrives" -m poll -n 2000000 -d 2000000 -o sendfile,peek
transfer "20 connections at once: all data arrives" -m poll -C 20 -n 300000 -d 300000 -w 0 -R 0

# tcp_adv_win_scale says which part of TCP's memory is for bytes: hardly any, and yet all
# data arrives
little_is_for_bytes() {
	local scale scale_server scale_log

	mkfifo /run/shared-scale
	defer rm -f /run/shared-scale
	start_bg b sh -c "exec sdp-run python3 -uc '
import socket, sys
l = socket.create_server((\"$SERVER\", 7594))
print(\"listening\")
s = l.accept()[0]
print(\"accepted\")
sys.stdin.readline()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200000)
n = 0
while n < 8000000:
    n += len(s.recv(65536)) or sys.exit(\"the end after %d\" % n)
print(\"all\")
' </run/shared-scale"
	scale_server=$BG_PID scale_log=$BG_LOG
	exec 7>/run/shared-scale
	wait_for 30 said listening
	start_bg a sdp-actions connect $SERVER 7594 send 8000000 pause
	ktap_check "a connection is established" wait_for 30 said accepted "$scale_log"
	scale=$(in_b sysctl -n net.ipv4.tcp_adv_win_scale)
	in_b sysctl -qw net.ipv4.tcp_adv_win_scale=-16
	echo >&7
	ktap_check "all data arrives with TCP memory for one byte in 65536" \
		wait_for 30 said all "$scale_log"
	in_b sysctl -qw "net.ipv4.tcp_adv_win_scale=$scale"
	exec 7>&-
	stop_bg "$BG_PID"
	stop_bg "$scale_server"
}
if kver_ge 6.6; then
	ktap_skip "all data arrives with TCP memory for one byte in 65536" \
		"this kernel measures what is, and has no scale"
else
	little_is_for_bytes
fi

# TCP then copies the pages, and must not sleep to map them
for ns in a b; do
	"in_$ns" ethtool -K "v$ns" sg off >/dev/null
done
transfer "devices without scatter-gather: all data arrives" -m block -n 2000000 -d 2000000
for ns in a b; do
	"in_$ns" ethtool -K "v$ns" sg on tso on gso on >/dev/null
done

mtus() {
	local mtu
	while :; do
		for mtu in 9000 576 1500 4000; do
			ip -n a link set va mtu "$mtu"
			ip -n b link set vb mtu "$mtu"
			sleep 0.2
		done
	done
}
start_bg - mtus
mtu_job=$BG_PID
transfer "all data arrives while the MTU changes" -m block -n "$(scaled 30000000 3000000)" \
	-d "$(scaled 30000000 3000000)"
stop_bg "$mtu_job"
ip -n a link set va mtu "$NET_MTU"
ip -n b link set vb mtu "$NET_MTU"

start_bg a sdp-run xfer -h $SERVER -p $PORT -m block -n 4000000000 \
	-d 4000000000 -t 60
client=$BG_PID
sleep 1
rdma link delete rda
gone() { ! kill -0 "$client" 2>/dev/null; }
ktap_check "a device that disappears ends the connection" wait_for 30 gone
in_a rdma link add rda type hybrid netdev va
transfer "a device that is back takes a new connection" -m block -n 100000 -d 100000
stop_bg "$XFER"

# server_first WHAT PORT COUNT: so many connections, one after the other
server_first() {
	start_bg b python3 "$LIB_DIR/../sdp/server_first.py" server $SERVER "$2" "$3"
	wait_port b "$2"
	ktap_check "data of $3 servers that send first arrives$1" in_a timeout 200 \
		python3 "$LIB_DIR/../sdp/server_first.py" client $SERVER "$2" "$3"
	stop_bg "$BG_PID"
}

# the server's data may arrive before connect() has returned
server_first "" 7590 "$(scaled 200)"
# always, if the client's link is opened late
if hold hyb_link_open kworker ms=300 times=1000; then
	server_first ", opened late" 7592 3
	hold_end
else
	ktap_skip "data of 3 servers that send first arrives, opened late" "no probes"
fi
# and the server may send() before the client's first FPDU has arrived, which the data has
# to wait for
modprobe -q sch_netem
in_a tc qdisc add dev va root netem delay 20ms
server_first ", far away" 7591 5
in_a tc qdisc del dev va root

# the verbs link of the same devices
in_a sh -c 'echo 0 >/proc/sys/net/sdp/shared_link'
serve
before=$(sdp_counter a shared_links)
transfer "verbs link: large sends arrive" -m block -n 5000000 -d 5000000
transfer "verbs link: small sends arrive" -m poll -C 5 -n 200000 -d 200000 -w 0 -R 0
transfer "verbs link: all data arrives if both ends send first" -m mutual -n 200000 -d 200000
ktap_is "verbs link: no link is shared" "$(sdp_counter a shared_links)" "$before"
stop_bg "$XFER"
in_a sh -c 'echo 1 >/proc/sys/net/sdp/shared_link'

# a peer without the shared link
dev_down
dev_up hybrid siw
link_is "towards siw" "verbs credit peer" "verbs credit device"
serve
transfer "all data arrives from hybrid to siw, and back" -m block -n 3000000 -d 3000000
stop_bg "$XFER"
dev_down
dev_up siw hybrid
link_is "from siw" "verbs credit device" "verbs credit peer"
serve
transfer "all data arrives from siw to hybrid, and back" -m block -n 3000000 -d 3000000
stop_bg "$XFER"

ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
