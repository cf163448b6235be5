#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A program of verbs sends in a control group whose memory is full. Its calls do not reclaim
# memory for the stream: a work item does, as long as there is something to reclaim.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ib_write_bw taskset tc
need_modules brd
SERVER=10.0.0.2
GROUP=/sys/fs/cgroup/verbs

# cache: memory of the group that the kernel can reclaim without I/O
cache() {
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$1/cgroup.procs" && exec dd if=/dev/ram0 of=/dev/null bs=1M count=16' \
		x $GROUP 2>/dev/null
}

# of_group FILE NAME
of_group() {
	sed -n "s/^$2 //p" "$GROUP/$1"
}

# written: what the device of a has sent
written() {
	cat /sys/class/infiniband/rda/ports/1/hw_counters/tx_bytes
}

more_written() {
	[ "$(written)" -gt $(($1 + (1 << 20))) ]
}

both() {
	pkill "-$1" -x ib_write_bw
}

[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control || ktap_skip_all "no control groups"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
# the last close would free what has been read
exec 9</dev/ram0
mkdir $GROUP
defer rmdir $GROUP
start_bg b timeout 100 ib_write_bw -R -d rdb -s 65536 -D 90
server=$BG_PID
sleep 2
# shellcheck disable=SC2016
start_bg here sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' x $GROUP \
	in-ns a timeout 100 ib_write_bw -R -d rda -s 65536 -D 90 "$SERVER"
client=$BG_PID
ktap_check "the program writes" wait_for 20 more_written 0
both STOP
# the pages of the stream go, by a timer that does not wake up a processor
for ((cpu = 0; cpu < $(nproc); cpu++)); do
	timeout 3 taskset -c "$cpu" sh -c 'while :; do :; done' &
done
sleep 3
# the file is larger than what is left
echo $(($(cat $GROUP/memory.current) + (8 << 20))) >$GROUP/memory.max
cache
# what is on its way needs pages
tc -n a qdisc add dev va root netem delay 20ms
before=$(of_group memory.stat file) at=$(written) hits=$(of_group memory.events max)
both CONT
ktap_check "it goes on in a full group" wait_for 20 more_written "$at"
sleep 2
ktap_diag "$(written) bytes, $(tr '\n' ' ' <$GROUP/memory.events)"
ktap_check "the group reaches its limit" test "$(of_group memory.events max)" -gt "$hits"
after=$(of_group memory.stat file)
ktap_check "memory of the group was reclaimed: $((before - after)) bytes" \
	test $((before - after)) -ge $((128 << 10))
both KILL
wait "$client" "$server"
ktap_done
