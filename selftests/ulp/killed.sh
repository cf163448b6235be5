#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Programs that are killed at any moment of a connection, from its set-up on; then
# the module, the devices and the net devices go while there is load. Nothing
# hangs, nothing is left.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need rping rdma xfer sdp-run

ROUNDS=$(scaled 40 12)

# pair_of_programs: rping, under way; their pids in SERVER and CLIENT
pair_of_programs() {
	start_bg b rping -s -a 10.0.0.2 -S 4000
	SERVER=$BG_PID
	wait_port b 7174 || return
	start_bg a rping -c -a 10.0.0.2 -S 4000
	CLIENT=$BG_PID
}

# killed client|server MS: after so long; the other one ends by itself
killed() {
	local victim=$CLIENT other=$SERVER

	[ "$1" = client ] || victim=$SERVER other=$CLIENT
	sleep "0.$(printf %03d "$2")"
	kill_tree "$victim"
	# a server whose client died before it said a word waits for another one
	PATIENCE=1 wait_for 1 ended "$other" || kill_tree "$other"
	wait "$CLIENT" "$SERVER" 2> /dev/null
	return 0
}

ended() { ! grep -q '^State:.*[RSD] ' "/proc/$1/status" 2> /dev/null; }

kill_programs() {
	local i ms

	for ((i = 0; i < ROUNDS; i++)); do
		pair_of_programs || return
		# set-up takes a few ms, transfers do the rest of the time
		ms=$((RANDOM % 4 ? RANDOM % 60 : RANDOM % 500))
		case $((i % 2)) in
		0) killed client "$ms" ;;
		1) killed server "$ms" ;;
		esac
	done
}

sdp_listening() { in_b sdpstat -l 2> /dev/null | grep -q ":5030 "; }

# load: SDP over both links, verbs by programs; they are ended by unload
load() {
	if load_start; then
		ktap_ok "the load is started"
	else
		ktap_fail "the load is started" "$(cat "$BG_LOG")"
	fi
}

load_start() {
	local link

	pair_of_programs || return
	start_bg b sdp-run xfer -s -p 5030 -h 10.0.0.2
	wait_for 20 sdp_listening || return
	for link in 0 1; do
		in_b sysctl -qw net.sdp.shared_link=$link
		in_a sysctl -qw net.sdp.shared_link=$link
		start_bg a sdp-run xfer -h 10.0.0.2 -p 5030 -n 2000M -d 2000M -t 60
		sleep 0.5
	done
}

unload() {
	local pid

	kill_tree "$CLIENT"
	kill_tree "$SERVER"
	for pid in "${LIB_PIDS[@]}"; do
		[ ! -d "/proc/$pid" ] || stop_bg "$pid"
	done
	LIB_PIDS=()
}

ping_once() {
	start_bg b timeout 60 rping -s -a 10.0.0.2 -C 10
	wait_port b 7174 && ping_all 10 -a 10.0.0.2 &&
		wait "$BG_PID"
}

devices_up() { dev_add a rda va hybrid && dev_add b rdb vb hybrid; }
no_devices() { [ -z "$(ls /sys/class/infiniband)" ]; }

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp || ktap_skip_all "no sdp module"
ktap_check "$ROUNDS times one of two programs is killed" kill_programs
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs

load
ktap_check "devices can be deleted under load" timeout 60 sh -c \
	"rdma link delete rda && rdma link delete rdb"
unload
ktap_check "no socket is left" wait_for 60 no_sockets
ktap_check "devices can be made again" devices_up

load
ktap_check "a net device can be deleted under load" timeout 60 ip -n a link del va
ktap_check "the devices can be removed" wait_for 30 no_devices
unload
ktap_check "no socket is left" wait_for 60 no_sockets
net_down
net_up && devices_up

load
ktap_check "the module can be removed under load" timeout 60 modprobe -r iwarp_hybrid
ktap_check "the devices are removed" no_devices
unload
ktap_check "no socket is left" wait_for 60 no_sockets
ktap_check "the device can be made again" devices_up
ktap_check "new connections work" ping_once
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
