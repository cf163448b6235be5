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

# run KIND PORT: all cases of sockets of that kind
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
wait_for 30 said serving || ktap_fail "the server" "$(cat "$BG_LOG")"

for v in "" 6; do
	expected=$(run tcp$v $PORT)
	ktap_is "TCP$v: programs of control groups" "$expected" "connect: 0 0
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
			ktap_is "$kind$v: as TCP: ${want[i]%%:*}" "${got[i]:-nothing}" "${want[i]}"
		done
	done
done
umount $CGROUP
ktap_done
