#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# RNBD, block devices over RTRS, over two hybrid devices: every request takes
# Writes with immediate data, and regions that the peer invalidates.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ulp-verify
modprobe -r rnbd-client rnbd-server rtrs-client rtrs-server 2>/dev/null
# the first receives are for what all of them may ask for at once
modprobe -q rtrs-server sess_queue_depth=32 || ktap_skip_all "no module rtrs-server"
need_modules rnbd-server rnbd-client brd

CTL=/sys/class/rnbd-client/ctl
DISK=/dev/rnbd0
MB=$(scaled 16 4)

map() {
	timeout 60 sh -c "echo '$1' >$CTL/map_device" && wait_for 20 test -b "$DISK"
}

unmap() {
	timeout 60 sh -c "echo $1 >/sys/block/rnbd0/rnbd/unmap_device" &&
		wait_for 20 test ! -e "$DISK"
}

same_on_both_sides() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	cmp -n $((MB << 20)) "$DISK" /dev/ram0
}

session_is() { grep -qx "$1" /sys/class/rtrs-client/s1/paths/*/state; }

# The server's device goes under load and comes back; the client tries again
server_returns() {
	local load rc

	ulp-verify -s "$MB" -t 2 -n "$(scaled 100 20)" "$DISK" >/tmp/load 2>&1 &
	load=$!
	sleep 0.3
	rdma link delete rdb && wait_for 60 session_is disconnected || return
	dev_add b rdb vb hybrid || return
	wait_for 60 session_is connected || return
	wait "$load"
	rc=$?
	cat /tmp/load
	# what was under way fails, since there is one path only
	[ "$rc" -le 1 ] && ulp-verify -s "$MB" -t 2 -n 20 "$DISK"
}

hybrid_here || ktap_skip_all "no hybrid devices"
wait_for 20 ping -c 1 -W 1 -I 10.0.0.1 10.0.0.2
modprobe -r brd
modprobe brd rd_nr=1 rd_size=65536
defer modprobe -r brd
defer modprobe -r rnbd-client rnbd-server rtrs-client rtrs-server
counters_save

ktap_check "a device of the server is mapped" \
	map "sessname=s1 path=ip:10.0.0.1@ip:10.0.0.2 device_path=/dev/ram0"
ktap_check "random reads return the written data" \
	ulp-verify -s "$MB" -t 4 -n "$(scaled 60 20)" "$DISK"
ktap_diag "$KTAP_OUT"
ktap_check "the server's disk holds the same" same_on_both_sides
ktap_check "the client uses immediate data, and regions that the server invalidates" \
	counters_grew rda tx_immediates fast_regs remote_invalidates
ktap_check "the server uses immediate data and regions" \
	counters_grew rdb rx_immediates fast_regs local_invalidates
ktap_check "no error is counted" counters_same rdb err_stag err_local err_access err_bounds
ktap_check "data survives a server that is removed under load" server_returns
ktap_check "the device can be unmapped" unmap normal
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_done
