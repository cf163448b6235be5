#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# A limit of a control group holds for connections over the shared link as it does for TCP:
# two programs of one group make many connections without a reader, and send on them until
# the buffers are full, or until the kernel ends a program for its memory. If the group's
# memory is full of what the kernel can reclaim, sends reclaim it.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/sdp/memcg.bash
. "$(dirname "$0")/memcg.bash"
need python3
MANY=$(scaled 1000 100)
LIMIT=$(scaled $((64 << 20)) $((24 << 20)))
ALL=/sys/fs/cgroup/limited

# full_or_killed: the sender's buffers are full, or one of the programs has ended
full_or_killed() {
	said full "${LOG[connect]}" || is_gone "${PID[connect]}" || is_gone "${PID[serve]}"
}

# group: create a group with a limit, for the groups of both programs
group() {
	mkdir $ALL
	echo +memory >$ALL/cgroup.subtree_control
	echo "$LIMIT" >$ALL/memory.max
	GROUP=$ALL/sdp PORT=$((PORT + 1))
}

# limited NAME PROTOCOL
limited() {
	local peak

	group
	program serve "$MANY" "$MANY" "$2"
	program connect "$MANY" "$MANY" "$2"
	ktap_check "$1: $MANY connections are established" connected
	tell connect
	ktap_check "$1: the buffers are full, or the kernel ends a program" \
		wait_for 120 full_or_killed
	peak=$(cat $ALL/memory.peak)
	ktap_diag "$1: peak $((peak >> 10)) KiB, $(tr '\n' ' ' <$ALL/memory.events)"
	ktap_check "$1: the group has reached its limit" test "$peak" -ge $((LIMIT * 9 / 10))
	# TCP charges packets beyond it, and uncharges them for the next pages of the group
	ktap_check "$1: the group has not exceeded it by half" test "$peak" -le $((LIMIT * 3 / 2))
	exec 7>&- 8>&-
	stop_bg "${PID[connect]}"
	stop_bg "${PID[serve]}"
	wait_for 20 rmdir $GROUP-serve $GROUP-connect
	wait_for 20 rmdir $ALL
}

# names: fill the group with negative dentries, which the kernel can reclaim
names() {
	# shellcheck disable=SC2016
	sh -c 'mkdir "$1" && echo $$ >"$1/cgroup.procs" && exec python3 -c "import os
for i in range($2): os.path.exists(f\"/sys/{i}\")"' x $GROUP-names $((LIMIT / 256))
}

# reclaimed NAME: two programs in a group whose memory is full of such names
reclaimed() {
	local sent

	group
	names
	program serve 1 1
	program connect 1 1
	ktap_check "$1, names: a connection is established" connected
	# the group has room for 128 KiB; the rest of the data needs reclaimed memory
	echo $(($(cat $ALL/memory.current) + (128 << 10))) >$ALL/memory.max
	tell connect
	ktap_check "$1, names: the buffers of the connection are full" wait_for 60 said full "${LOG[connect]}"
	sent=$(sed -n 's/^full: \(.*\) bytes/\1/p' "${LOG[connect]}")
	ktap_diag "$sent bytes, $(tr '\n' ' ' <$ALL/memory.events)"
	ktap_check "$1, names: at least 512 KiB were sent, more than the group had room for" \
		test "$sent" -ge $((512 << 10))
	ktap_check "$1, names: the group was at its limit" grep -q '^max [1-9]' $ALL/memory.events
	exec 7>&- 8>&-
	stop_bg "${PID[connect]}"
	stop_bg "${PID[serve]}"
	wait_for 20 rmdir $GROUP-serve $GROUP-connect $GROUP-names
	wait_for 20 rmdir $ALL
}

groups_up
modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
klog_allow 'oom|Memory cgroup|Tasks state|Killed process|Out of memory'
limited TCP 0
limited SDP 257
reclaimed "shared link"
for ns in a b; do
	in_$ns sysctl -qw net.sdp.shared_link=0
done
reclaimed "verbs link"
ktap_done
