#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# Actions of an administrator on running connections: unload modules, remove
# devices, interfaces and namespaces, kill programs. Nothing hangs, nothing
# stays behind, and afterwards everything works again. With LONG there is more.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdp-echo sdp-actions xfer sdpstat rdma jq sdp-zcopy sdp-zcache sdp-rxmap
need_research

SERVER=10.0.0.2
SOON=$(scaled 20 60)	# seconds by which a program has to notice

up() {
	dev_up hybrid hybrid || ktap_fail "the devices are set up"
	modprobe -q sdp
	in_a sysctl -q -w "net.sdp.flow_control=$POLICY"
	in_b sysctl -q -w "net.sdp.flow_control=$POLICY"
}

# load: a server in b, and clients in a that send without end
load() {
	start_bg b sdp-run xfer -s -h "$SERVER" -p 5010
	XS=$BG_PID
	wait_for 20 said listening
	start_bg a sdp-run xfer -h "$SERVER" -p 5010 -n 100G -d 100G -C 4 -t 300
	XC=$BG_PID XC_LOG=$BG_LOG
	wait_for 20 sending || ktap_fail "the load is started" "$(cat "$BG_LOG")" "$(in_a sdpstat -e)"
}

# sending: all of them, by this flow control
sending() {
	[ "$(in_a sdpstat --json | jq "[.sockets[] | select(.state == \"ESTAB\" and
		.flow_control == \"$POLICY\")] | length")" -ge 4 ]
}

no_links() { ! rdma link | grep -Eq "rda|rdb"; }

ended() { ! kill -0 "$1" 2>/dev/null; }

# after NAME: the clients have ended by themselves, nothing is left, and a
# transfer works on a new set-up
after() {
	if wait_for "$SOON" ended "$XC"; then
		ktap_ok "$1: the clients end by themselves"
	else
		ktap_fail "$1: the clients end by themselves" "$(in_a sdpstat -a -e)"
	fi
	stop_bg "$XC"
	stop_bg "$XS"
	ktap_check "$1: no queue pair is left" wait_for "$SOON" no_queue_pairs
	net_down
	again "$1"
}

again() {
	up
	start_bg b sdp-run xfer -s -h "$SERVER" -p 5010
	XS=$BG_PID
	wait_for 20 said listening
	ktap_check "$1: a transfer works again" in_a sdp-run xfer -h "$SERVER" -p 5010 \
		-n 1M -d 1M -t 60
	stop_bg "$XS"
	ktap_check "$1: no socket is left" wait_for "$SOON" no_sockets
}

interface_down() {
	load
	ip -n a link set va down
	sleep 3
	ip -n a link set va up
	ip -n a addr replace fd00::1/64 dev va nodad
	if sleep 1 && ! ended "$XC"; then
		ktap_ok "interface down for 3 s: connections survive"
	else
		ktap_fail "interface down for 3 s: connections survive"
	fi
	kill_tree "$XC"
	kill_tree "$XS"
	wait "$XC" "$XS" 2>/dev/null
	ktap_check "kill -9: no socket is left" wait_for "$SOON" no_sockets
	ktap_check "kill -9: no queue pair is left" wait_for "$SOON" no_queue_pairs
}

# removals a|b BEFORE N: as many more connections and listeners were lost
removals() { [ "$(($(sdp_counter "$1" device_removals) - $2))" -eq "$3" ]; }

# lost_listeners: lines of the kernel's log
lost_listeners() { dmesg | grep -c "sdp: the listener at $SERVER:[0-9]* has lost its RDMA device"; }

# lost BEFORE N: as many more listeners
lost() { [ $(($(lost_listeners) - $1)) -eq "$2" ]; }

# device_goes a|b: the client's or the server's, which has a listener as well
device_goes() {
	local before bound lost n=4

	load
	# one that is only bound loses nothing
	start_bg "$1" sdp-run -o /usr/bin/python3 -c 'import socket, sys, time
s = socket.socket()
s.bind((sys.argv[1], 5999))
print("bound", flush=True)
time.sleep(1000)' "$(ip -n "$1" -4 -o addr show "v$1" | sed 's/.* inet \([0-9.]*\).*/\1/')"
	bound=$BG_PID
	ktap_check "rdma link delete in $1: a socket is bound" wait_for "$SOON" said bound
	lost=$(lost_listeners)
	[ "$1" = a ] || n=5
	before=$(sdp_counter "$1" device_removals)
	ktap_check "rdma link delete in $1 works under load" \
		timeout "$SOON" rdma link delete "rd$1"
	ktap_check "rdma link delete in $1: $n device_removals" \
		wait_for "$SOON" removals "$1" "$before" "$n"
	# what a server does not tell
	[ "$1" = b ] || ktap_check "rdma link delete in a: the error is ENETRESET" \
		wait_for "$SOON" said "Network dropped connection on reset" "$XC_LOG"
	after "rdma link delete in $1"
	# the device has gone by now, and with it all that would write such a line
	ktap_check "rdma link delete in $1: the kernel's log has $((n - 4)) listeners as lost" \
		lost "$lost" $((n - 4))
	stop_bg "$bound"
}

interface_goes() {
	load
	ktap_check "ip link del works under load" timeout "$SOON" ip -n a link del va
	after "ip link del"
}

namespaces_go() {
	load
	ktap_check "ip netns del works under load" timeout "$SOON" \
		sh -c "ip netns del a; ip netns del b"
	kill_tree "$XC"
	kill_tree "$XS"
	ktap_check "ip netns del removes the devices" \
		wait_for "$SOON" no_links
	net_down
	again "ip netns del"
}

module_goes() {
	load
	modprobe -r iwarp_hybrid 2>/dev/null
	ktap_diag "modprobe -r iwarp_hybrid under load: rc=$?"
	rdma link delete rda 2>/dev/null
	rdma link delete rdb 2>/dev/null
	after "unloading the device's module"
}

# out NAME PROGRAM [OPTION]...: a connection whose memory is held like that, when
# the client has said NAME or, with an empty one, when the counter has risen
out() {
	local name=$1 counter=$2
	shift 2
	start_bg b "$1" serve "$SERVER" 5030
	XS=$BG_PID
	wait_for 20 said listening
	# one that waits for its input waits for us
	start_bg a sh -c "exec 8<>/tmp/misuse.fifo; $* $SERVER 5030 <&8"
	XC=$BG_PID
	if [ -n "$name" ]; then
		wait_for 60 said "$name"
	else
		wait_for 60 rose "${counter%:*}" "${counter#*:}"
	fi
}

rose() { [ "$(sdp_counter "$1" "$2")" -gt 0 ]; }

# held WHAT: namespaces go while memory of programs is advertised, or kept for the
# next transfer, or mapped to them
held() {
	local desc="ip netns del with memory held ($1)" ns

	up
	PINNED=$(pinned)
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.zcopy_wait=60000000 \
			net.sdp.zcopy_threshold=65536 || ktap_fail "the settings are accepted"
	done
	[ -p /tmp/misuse.fifo ] || mkfifo /tmp/misuse.fifo
	case $1 in
	source)	# the reader sleeps
		in_a sysctl -qw net.sdp.zcopy_pipelined=0
		out "" a:tx_srcavail sdp-zcopy -n 4194304 -w 1048576 -l 600000
		;;
	sink)	# the reader waits for the next send
		out "" b:tx_sinkavail sdp-zcopy -n 104857600 -w 1048576 \
			-R 1048576 -L 3000
		;;
	kept) out held "" sdp-zcache hold ;;
	mapped)
		for ns in a b; do
			"in_$ns" sysctl -qw net.sdp.zcopy_threshold=0
		done
		out mapped "" sdp-rxmap -m gone
		;;
	esac || ktap_fail "$desc: memory is in use" "$(cat "$BG_LOG")"
	[ "$1" = mapped ] || ktap_check_fails "$desc: memory is pinned" none_pinned
	ip netns del a
	ip netns del b
	kill_tree "$XC"
	kill_tree "$XS"
	ktap_check "$desc: all memory is released" wait_for "$SOON" none_pinned
	ktap_check "$desc: the devices can be removed" wait_for "$SOON" no_links
	net_down
	again "$desc"
	net_down
}

# under POLICY CASE...
under() {
	local what

	POLICY=$1
	ktap_diag "flow control $POLICY"
	up
	for what in "${@:2}"; do
		$what
	done
	net_down
}

POLICY=transport
up
start_bg b sdp-echo -s -h "$SERVER" -p 5020
echo_server=$BG_PID
wait_for 20 said listening
ktap_check_fails "sdp is not unloaded while there is a listener" \
	modprobe -r sdp
start_bg a sdp-echo -h "$SERVER" -p 5020
wait_for 20 said connected
ktap_check_fails "sdp is not unloaded while connections exist" \
	modprobe -r sdp
stop_bg "$BG_PID"
stop_bg "$echo_server"
ktap_check "an unused sdp module can be unloaded" \
	wait_for "$SOON" modprobe -r sdp_diag sdp
ktap_check "the next socket loads the sdp module" in_a timeout 10 \
	sh -c 'sdp-actions bind 10.0.0.1 0'
net_down

# Over the shared link, where a connection keeps buffers of the device, all of it;
# the flow controls of the verbs link, two with memory of their own, in turn.
under transport interface_down "device_goes a" "device_goes b" interface_goes \
	namespaces_go module_goes
under credit "device_goes b"
under rdma "device_goes a" module_goes
under vwin namespaces_go
if [ -n "$LONG" ]; then
	under credit interface_down interface_goes namespaces_go module_goes
	under rdma namespaces_go
	under vwin "device_goes b" module_goes
	for what in source sink kept mapped; do
		held $what
	done
fi
ktap_check "all modules can be removed at the end" wait_for "$SOON" \
	modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
