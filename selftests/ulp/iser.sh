#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# iSER, iSCSI over RDMA: the kernel's target and initiator over two hybrid devices,
# log-in by the programs of open-iscsi. The target opens TCP on a portal before it
# asks for RDMA on the same port, which an iWARP device needs: so the portal is made
# in a network namespace of its own. RDMA is in the initial one.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/../programs/lib.bash"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ulp-verify nsenter
need_modules ib_iser ib_isert sd_mod
packages_up

IQN=iqn.2014-08.org.example:hybrid
TARGET=/sys/kernel/config/target
TPG=$TARGET/iscsi/$IQN/tpgt_1
PORTAL=10.0.0.2:3260
STORE=$TARGET/core/rd_mcp_0/ram
MB=$(scaled 16 4)
ISCSI=/packages/sbin

# A device of the target's: memory, 64 MB
store_up() {
	mkdir -p "$STORE" && echo rd_pages=16384 > "$STORE/control" &&
		echo 1 > "$STORE/enable"
}

portal_up() {
	ip netns add portal && ip -n portal link set lo up &&
		ip -n portal addr add 10.0.0.2/32 dev lo &&
		nsenter --net=/run/netns/portal mkdir "$TPG/np/$PORTAL" &&
		echo 1 > "$TPG/np/$PORTAL/iser"
}

target_up() {
	mkdir -p "$TPG/lun/lun_0" &&
		ln -s "$STORE" "$TPG/lun/lun_0/store" || return
	echo 0 > "$TPG/attrib/authentication"
	echo 1 > "$TPG/attrib/generate_node_acls"
	echo 1 > "$TPG/attrib/cache_dynamic_acls"
	echo 0 > "$TPG/attrib/demo_mode_write_protect"
	portal_up && echo 1 > "$TPG/enable"
}

target_down() {
	echo 0 > "$TPG/enable"
	rmdir "$TPG/np/$PORTAL"
	rm -f "$TPG/lun/lun_0/store"
	rmdir "$TPG/lun/lun_0" "$TPG" "${TPG%/*}" "$STORE"
	ip netns del portal
}

# Files of the daemon, which logs the kernel's initiator in
daemon_files() {
	rm -f /etc/iscsi
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo InitiatorName=iqn.2014-08.org.example:initiator \
		> /etc/iscsi/initiatorname.iscsi
	{
		echo node.startup = manual
		echo node.session.timeo.replacement_timeout = 10
		echo node.conn[0].timeo.login_timeout = 20
	} > /etc/iscsi/iscsid.conf
}

answers() { iscsi -m session 2>&1 | grep -q "No active"; }

iscsi() { timeout 60 $ISCSI/iscsiadm "$@"; }
node() { iscsi -m node -T $IQN -p $PORTAL "$@"; }

# The disk is left in DISK
find_disk() {
	local f

	for f in /sys/block/sd*; do
		[ ! -e "$f" ] || DISK=/dev/${f##*/}
	done
	[ -b "$DISK" ]
}

no_disk() { ! ls -d /sys/block/sd* > /dev/null 2>&1; }
no_session() { ! ls -d /sys/class/iscsi_session/* > /dev/null 2>&1; }

login() { node -l && wait_for 20 find_disk; }
logout() { node -u && wait_for 30 no_disk; }

# The target's device goes under load and comes back, the portal is opened again;
# the initiator has tried all the time
target_returns() {
	local load

	ulp-verify -s "$MB" -t 2 -n "$(scaled 100 20)" "$DISK" > /tmp/load 2>&1 &
	load=$!
	sleep 0.3
	rdma link delete rdb && dev_add b rdb vb hybrid || return
	echo 0 > "$TPG/np/$PORTAL/iser"
	echo 1 > "$TPG/np/$PORTAL/iser" || return
	wait "$load"
	cat /tmp/load
	wait_for 60 ulp-verify -s "$MB" -t 1 -n 20 "$DISK"
}

device_goes() {
	ulp-verify -s "$MB" -t 2 -n 100000 "$DISK" > /tmp/load 2>&1 &
	sleep 0.5
	rdma link delete rda || return
	# its disk fails when no target has come back in ten seconds
	wait $!
	[ $? -eq 1 ] && no_queue_pairs_of rdb
}

hybrid_here || ktap_skip_all "no hybrid devices"
mount_configfs
defer modprobe -r ib_iser ib_isert
ktap_check "a disk in memory is made" store_up
ktap_check "the iSCSI target listens" target_up
defer target_down
daemon_files
start_bg - $ISCSI/iscsid -f -d 1
DAEMON=$BG_PID DAEMON_LOG=$BG_LOG
ktap_check "iscsid runs" wait_for 20 answers
counters_save
ktap_check "the initiator knows the portal" node -I iser -o new
ktap_check "the initiator logs in" login || ktap_diag "$(cat "$DAEMON_LOG")"
ktap_check "the session uses iSER" sh -c "$ISCSI/iscsiadm -m session | grep ^iser:"
find_disk
ktap_check "random reads return the written data" \
	ulp-verify -s "$MB" -t 4 -n "$(scaled 60 20)" "$DISK"
ktap_diag "$KTAP_OUT"
ktap_check "the initiator registers pages" counters_grew rda fast_regs
ktap_check "the target moves data by Writes and Reads" counters_grew rdb tx_fpdus rx_fpdus
ktap_check "no error is counted" counters_same rdb err_stag err_local err_access err_bounds
ktap_check "the initiator logs out" logout
ktap_check "the initiator logs in again" login
find_disk
ktap_check "data survives a target that is removed under load" target_returns
ktap_check "the initiator's device can be removed under load" device_goes
node -u > /dev/null 2>&1
stop_bg "$DAEMON"
ktap_check "no session is left" wait_for 60 no_session
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_done
