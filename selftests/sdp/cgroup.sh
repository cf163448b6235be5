#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# BPF programs of a control group see bind(), connect() and names of SDP sockets as those
# of TCP, and may refuse or change them. A connection that came in is in the control group
# of its listener.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3
PROG=$(dirname "$0")/cgroup.py
CGROUP=/run/cgroup2
PORT=7980

# run KIND PORT: run all cases with sockets of that KIND, see cgroup.py
run() {
	local asker
	start_bg a timeout 200 python3 "$PROG" "$1" $CGROUP/sdp "$2"
	local log=$BG_LOG pid=$BG_PID
	wait_for 120 said listening "$log"
	case $1 in
	*6) start_bg b python3 "$PROG" ask fd00::1 "$2" ;;
	*) start_bg b python3 "$PROG" ask 10.0.0.1 "$2" ;;
	esac
	asker=$BG_PID
	wait_for 60 said child: "$log"
	stop_bg "$asker"
	wait "$pid"
	cat "$log"
}

mkdir -p $CGROUP
mount -t cgroup2 none $CGROUP || ktap_skip_all "no cgroup2"
mkdir $CGROUP/sdp
grep -q cgroup_bpf_enabled_key /proc/kallsyms || ktap_skip_all "no BPF programs of control groups"
modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
start_bg b python3 "$PROG" serve $PORT $((PORT + 1)) $((PORT + 10)) $((PORT + 11))
SERVER=$BG_PID
wait_for 30 said serving || ktap_fail "the server" "$(cat "$BG_LOG")"

for v in "" 6; do
	expected=$(run tcp$v $PORT)
	ktap_is "TCP$v: BPF programs of control groups act as expected" "$expected" "connect: 0 0
connect refused: EPERM
connect elsewhere: 1 1
name of the peer: 0 5
own name: 5
bind: 0
bind refused: EPERM
bind elsewhere: 3
port of root: EACCES
port of root allowed: 0
refused afterwards: EPERM 1
free again: 0
address alone: 0
no socket: EPERM
listening
child: 4711"
	for kind in door family both; do
		mapfile -t got < <(run $kind$v $((PORT + 10)))
		mapfile -t want <<<"$expected"
		for i in "${!want[@]}"; do
			[ "${want[i]}" != listening ] || continue
			ktap_is "$kind$v: same result as TCP: ${want[i]%%:*}" "${got[i]:-nothing}" "${want[i]}"
		done
	done
done

below_sockets() { in_a ss -Htn --cgroup state established dst 10.0.0.2; }
none_below() { [ -z "$(below_sockets)" ]; }

# below NAME: make a connection; its TCP socket is in the control group of the program
below() {
	start_bg a python3 "$PROG" keep $CGROUP/sdp 10.0.0.2 $IDLE
	wait_for 90 said result || ktap_fail "$1: the program connects" "$(cat "$BG_LOG")"
	ktap_is "$1: the TCP socket below is in the control group" \
		"$(below_sockets | grep -o 'cgroup:.*')" cgroup:/sdp
	stop_bg "$BG_PID"
	wait_for 20 none_below || ktap_fail "$1: the TCP socket below ends" "$(below_sockets)"
}

IDLE=$((PORT + 20))
start_bg b python3 "$PROG" idle $IDLE
IDLER=$BG_PID
wait_for 30 said serving || ktap_fail "the idle server" "$(cat "$BG_LOG")"
below "nonblocking connect()"
# a task of the kernel makes the socket, when the neighbour has answered
ip -n a neigh flush dev va
below "nonblocking connect(), neighbour unknown"
# the task that makes the device makes TCP's listening socket, too
stop_bg "$SERVER"
stop_bg "$IDLER"
rdma link delete rdb
start_bg b python3 "$PROG" idle $IDLE $CGROUP/sdp
wait_for 30 said serving || ktap_fail "the server in the control group" "$(cat "$BG_LOG")"
dev_add b rdb vb hybrid
start_bg a python3 "$PROG" keep $CGROUP/sdp 10.0.0.2 $IDLE
wait_for 90 said "result 0" || ktap_fail "the program connects" "$(cat "$BG_LOG")"
ktap_is "a device made after listen(): the server's TCP socket is in its control group" \
	"$(in_b ss -Htn --cgroup state established src 10.0.0.2 | grep -o 'cgroup:.*')" cgroup:/sdp
stop_bg "$BG_PID"
umount $CGROUP
ktap_done
