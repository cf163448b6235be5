# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "hot" of guest.sh (sourced): one client exchanges HOT_SIZE bytes with one server, with
# two, and so on up to HOT_SERVERS, each of them a host at a bridge, for each WHAT of WHATS
# (transport and profile) over LINK. guest.sh sets WHATS, LINK, REPS and PINGS.

HOT_SERVERS=${HOT_SERVERS:-7}
HOT_SIZE=${HOT_SIZE:-4}

# hot_device I WHAT: the RDMA device and the sysctls of host I
hot_device() {
	local dev=/sys/class/infiniband/rd$1/hybrid on=1

	[[ "$2" != sdp-basic/* ]] || on=0
	echo "${2#*/}" >"$dev/profile" && in_n "$1" sysctl -q -w "net.sdp.shared_link=$on"
}

# hot_setup LINK WHAT: make the hosts and their devices
hot_setup() {
	local i

	# shellcheck disable=SC2034 # star_up reads it
	NET_LINK=$1
	star_up $((HOT_SERVERS + 1)) || return
	[ "$2" != tcp ] || return 0
	dev_up_all hybrid && modprobe -q sdp || return
	for ((i = 1; i <= HOT_SERVERS + 1; i++)); do
		hot_device "$i" "$2" || return
	done
}

# hot_row LINK WHAT: run the servers and the client, and print a line BENCH {JSON} for each
# number of servers
hot_row() {
	local i rc hosts=() servers=() transport=${2%%[-/]*}

	for ((i = 2; i <= HOT_SERVERS + 1; i++)); do
		hosts+=("10.0.0.$i")
		start_bg - in_n "$i" sdpbench -s -t "$transport" -b "10.0.0.$i"
		servers+=("$BG_PID")
	done
	in_n 1 sdpbench -t "$transport" -j -w 10 --timeout 20 -T hot -r "$REPS" -P "$PINGS" \
		-L "$HOT_SIZE" "${hosts[@]}" >/tmp/rows
	rc=$?
	for i in "${servers[@]}"; do
		stop_bg "$i"
	done
	[ $rc -eq 0 ] || return
	sed -n "s#^ *{\(.*}\),*\$#BENCH {\"part\":\"hot\",\"link\":\"$1\",\"what\":\"$2\",\"mtu\":1500,\1#p" /tmp/rows
}

part_hot() {
	local what

	for what in $WHATS; do
		echo "bench: hot spot, $what over $LINK, up to $HOT_SERVERS servers ..."
		if ! hot_setup "$LINK" "$what"; then
			fail "hot $what: setup"
		else
			hot_row "$LINK" "$what" || fail "hot $what"
		fi
		net_down
	done
}
