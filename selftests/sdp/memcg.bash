# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two programs, each in a memory control group of its own, with connections between them.
# For memcg.sh and memcost.sh.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PORT=7974
GROUP=/sys/fs/cgroup/sdp
declare -A LOG PID

# groups_up: there can be such groups. The kernel leaves up to skb_defer_max packets that TCP
# has read to the processor that allocated them, charged until its next packet: not here.
groups_up() {
	[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control || ktap_skip_all "no control groups"
	defer sysctl -qw net.core.skb_defer_max="$(sysctl -n net.core.skb_defer_max)"
	sysctl -qw net.core.skb_defer_max=0
}

# program SERVE|CONNECT ARGUMENT...: in a group of its own; tell() speaks to it
program() {
	local ns=a name=$1

	[ "$name" != serve ] || ns=b
	mkdir -p "$GROUP-$name"
	rm -f "/run/memcg-$name"
	mkfifo "/run/memcg-$name"
	# shellcheck disable=SC2016
	start_bg here sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@" </run/memcg-'"$name" \
		x "$GROUP-$name" in-ns $ns /usr/bin/python3 "$HERE/memcg.py" "$name" $PORT "${@:2}"
	PID[$name]=$BG_PID
	LOG[$name]=$BG_LOG
	if [ "$name" = serve ]; then
		exec 7>"/run/memcg-$name"
	else
		exec 8>"/run/memcg-$name"
	fi
	wait_for 20 said ready "$BG_LOG" || ktap_fail "$name" "$(cat "$BG_LOG")"
}

# tell SERVE|CONNECT: to go on
tell() {
	if [ "$1" = serve ]; then
		echo >&7
	else
		echo >&8
	fi
}

# connected: the programs make their connections
connected() {
	tell serve
	tell connect
	wait_for 60 said accepted "${LOG[serve]}" && wait_for 60 said connected "${LOG[connect]}"
}

# filled: and one of them sends until nothing more is taken
filled() {
	tell connect
	wait_for 60 said full "${LOG[connect]}"
}

# end SERVE|CONNECT
end() {
	tell "$1"
	if [ "$1" = serve ]; then
		exec 7>&-
	else
		exec 8>&-
	fi
	wait "${PID[$1]}"
}

# charged SERVE|CONNECT: KiB of the kernel's memory and of pages of sockets
charged() {
	awk '$1 == "kernel" || $1 == "sock" { sum += $2 } END { print int(sum / 1024) }' \
		"$GROUP-$1/memory.stat"
}
