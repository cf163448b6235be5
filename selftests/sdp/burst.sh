#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A burst needs memory, the silence after it does not: both ends give back the pages of
# the stream and their tables, also while a byte follows now and then, and the sender does
# while it receives much. While the sender holds them, its control group is charged for them.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 jq rdma sdp-run taskset
PROG=$(dirname "$0")/burst.py
LIMIT=65536
# a group is charged for up to 64 pages of each processor before they are used
AHEAD=$((64 * 4096 * $(nproc)))
GROUP=/sys/fs/cgroup/burst

# memory: bytes of the queue pairs of both ends, left in SENDER and RECEIVER
memory() {
	read -r SENDER RECEIVER < <(rdma -jdd resource show qp | jq -r '
		[("rda", "rdb") as $dev | [.[] | select(.ifname == $dev) | .drv_memory // empty] |
		add // 0] | join(" ")')
}

# settled IDLE: the sender holds more than when it is idle, and can send no more
settled() {
	local last=$SENDER

	memory
	[ "$SENDER" -gt "$1" ] && [ "$SENDER" -eq "$last" ]
}

# stir: wake up each processor now and then. The timer that looks at idle connections is
# deferrable, so it does not wake one up itself.
stir() {
	local cpu

	for cpu in $(seq 0 $(($(nproc) - 1))); do
		# shellcheck disable=SC2016 # for the inner shell
		start_bg here taskset -c "$cpu" bash -c '
			exec {nap}<> <(:)
			while :; do
				for ((i = 0; i < 2000; i++)); do :; done
				read -rt 0.02 -u "$nap"
			done'
	done
}

# eased IDLE BYTES: the sender, which is still connected, holds at most BYTES
eased() {
	memory
	[ "$SENDER" -ge "$1" ] && [ "$SENDER" -le "$2" ]
}

# released SENDER RECEIVER: both ends, which are still connected, hold at most LIMIT more
released() {
	memory
	[ "$SENDER" -gt 0 ] && [ "$RECEIVER" -gt 0 ] &&
		[ "$SENDER" -le $(($1 + LIMIT)) ] && [ "$RECEIVER" -le $(($2 + LIMIT)) ]
}

# burst PORT GAP WHAT [ANSWER]
burst() {
	local sent receiver current held pid

	mkfifo "/run/burst-$1" "/run/serve-$1"
	# shellcheck disable=SC2016 # for the inner shells
	start_bg b sh -c 'fifo=$1; shift; exec "$@" <"$fifo"' x "/run/serve-$1" \
		sdp-run -o /usr/bin/python3 "$PROG" serve "$1" "${@:4}"
	exec 8>"/run/serve-$1"
	pid=$BG_PID
	wait_port b "$1"
	# shellcheck disable=SC2016
	start_bg here sh -c '
		echo $$ >"$1/cgroup.procs" && fifo=$2 && shift 2 && exec "$@" <"$fifo"' \
		x $GROUP "/run/burst-$1" in-ns a \
		sdp-run -o /usr/bin/python3 "$PROG" send 10.0.0.2 "$1" "$2"
	exec 7>"/run/burst-$1"
	wait_for 20 said connected || ktap_fail "$3: a connection is established" "$(cat "$BG_LOG")"
	sleep 2
	memory
	sent=$SENDER receiver=$RECEIVER current=$(cat $GROUP/memory.current)
	ktap_check "$3: the memory of both queue pairs is shown, $sent and $receiver bytes" \
		test "$sent" -gt 0 -a "$receiver" -gt 0

	echo >&7
	wait_for 20 settled "$sent"
	held=$((SENDER - sent)) current=$(($(cat $GROUP/memory.current) - current))
	ktap_check "$3: the burst takes $held bytes of the sender's queue pair" \
		test $held -gt $((LIMIT + AHEAD))
	ktap_check "$3: the sender's control group is charged for them, $current bytes" \
		test $current -ge $((held - AHEAD))

	echo >&8
	wait_for 60 said sent || ktap_fail "$3: the burst is sent" "$(cat "$BG_LOG")"
	if [ $# -gt 3 ]; then
		# twice a second half of the pages that are free goes
		ktap_check "$3: the sender gives its pages back" wait_for 20 eased "$sent" $((sent + LIMIT))
	else
		# after silence of half a second to a second, and more on a busy machine
		ktap_check "$3: both ends give their pages back" wait_for 5 released "$sent" "$receiver"
		memory
		ktap_diag "$3: $((SENDER - sent)) and $((RECEIVER - receiver)) bytes more than before"
	fi
	exec 7>&- 8>&-
	wait "$BG_PID" "$pid"
}

[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control || ktap_skip_all "no control groups"
mkdir $GROUP
defer rmdir $GROUP
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
stir
burst 7900 0 "silence"
# more often than the driver looks, or one look would find no traffic
burst 7901 0.2 "a byte now and then"
burst 7902 0 "much comes back" answers
ktap_done
