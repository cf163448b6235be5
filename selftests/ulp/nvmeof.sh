#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# NVMe over Fabrics: the kernel's target and host over two hybrid devices. Both
# know the initial namespace only, so policy routing sends what they say to
# each other over the wire.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/../programs/lib.bash"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ulp-verify
need_modules nvme-rdma nvmet-rdma brd

FIO=/packages/usr/bin/fio
NQN=nqn.2014-08.org.example:hybrid
FABRICS=/dev/nvme-fabrics
SUB=/sys/kernel/config/nvmet/subsystems/$NQN
PORT=/sys/kernel/config/nvmet/ports/1
MB=$(scaled 16 4)

target_up() {
	mkdir -p "$SUB" && echo 1 >"$SUB/attr_allow_any_host" &&
	mkdir -p "$SUB/namespaces/1" &&
	echo /dev/ram0 >"$SUB/namespaces/1/device_path" &&
	echo 1 >"$SUB/namespaces/1/enable" &&
	mkdir -p "$PORT" && echo rdma >"$PORT/addr_trtype" &&
	echo ipv4 >"$PORT/addr_adrfam" && echo 10.0.0.2 >"$PORT/addr_traddr" &&
	echo 4420 >"$PORT/addr_trsvcid" && listen
}

listen() { ln -sf "$SUB" "$PORT/subsystems/$NQN"; }
unlisten() { rm -f "$PORT/subsystems/$NQN"; }

target_down() {
	unlisten
	rmdir "$PORT"
	echo 0 >"$SUB/namespaces/1/enable"
	rmdir "$SUB/namespaces/1" "$SUB"
}

# connect OPTION,...: a host; the kernel answers with the instance
connect() {
	echo "transport=rdma,traddr=10.0.0.2,trsvcid=4420,host_traddr=10.0.0.1,nqn=$NQN,$1" \
		>"$FABRICS" && find_disk
}

controller() {
	local f
	for f in /sys/class/nvme/nvme[0-9]*; do
		[ ! -e "$f" ] || echo "${f##*/}"
	done
}

# The controller is left in CTRL, its disk in DISK
find_disk() {
	CTRL=/sys/class/nvme/$(controller)
	DISK=/dev/$(controller)n1
	wait_for 20 test -b "$DISK"
}

no_controller() { [ -z "$(controller)" ]; }
live() { grep -q live "$CTRL/state"; }

disconnect() {
	echo 1 >"$CTRL/delete_controller"
	wait_for 30 no_controller
}

same_on_both_sides() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	cmp -n $((MB << 20)) "$DISK" /dev/ram0
}

# Many requests of each thread under way; ulp-verify has one
deep() {
	# it is linked with what knows Ceph
	LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(echo /packages/usr/lib/*/ceph) $FIO --name=deep \
		--filename="$DISK" --size="${MB}M" --direct=1 --ioengine=io_uring --iodepth=32 \
		--rw=randwrite --bsrange=4k-256k --verify=crc32c --verify_fatal=1 --loops=2 \
		--fallocate=none --unlink=0 >/run/fio 2>&1
	local rc=$?

	cat /run/fio
	[ "$rc" -eq 0 ] && grep -q " READ:" /run/fio && grep -q " WRITE:" /run/fio
}

# Scattered pages: anonymous memory, 1 MB
one_registration() {
	local limit=$(($(cat "/sys/block/${DISK##*/}/queue/max_hw_sectors_kb")))

	echo "the largest request is $limit KB"
	[ "$limit" -ge 1020 ]
	counters_save
	dd if="$DISK" of=/dev/null bs=512K count=8 iflag=direct || return
	echo "8 reads: $(grown rda fast_regs) registrations"
	[ "$(grown rda fast_regs)" -le 8 ]
}

reset_under_load() {
	local load rc

	ulp-verify -s "$MB" -t 2 -n "$(scaled 100 20)" "$DISK" >/tmp/load 2>&1 &
	load=$!
	sleep 0.3
	echo 1 >"$CTRL/reset_controller"
	wait "$load"
	rc=$?
	cat /tmp/load
	return "$rc"
}

# The port is taken away with its queue pairs; the host tries until it is there
target_returns() {
	unlisten
	wait_for 20 not_live || return
	listen
	wait_for 60 live || return
	ulp-verify -s "$MB" -t 1 -n 20 "$DISK"
}

not_live() { ! live; }

device_goes() {
	connect nr_io_queues=2,queue_size=64,ctrl_loss_tmo=0 || return
	ulp-verify -s "$MB" -t 2 -n 100000 "$DISK" >/tmp/load 2>&1 &
	sleep 0.5
	rdma link delete rda || return
	wait_for 60 no_controller || return
	# its disk is gone
	wait $!
	[ $? -eq 1 ] && no_queue_pairs_of rdb
}

hybrid_here || ktap_skip_all "no hybrid devices"
packages_up
modprobe -r brd
modprobe brd rd_nr=1 rd_size=65536
defer modprobe -r brd
defer modprobe -r nvme-rdma nvmet-rdma
mount_configfs
ktap_check "the target listens" target_up
defer target_down
counters_save

ktap_check "the host connects" connect nr_io_queues=2,queue_size=64
find_disk
ktap_check "random reads return the written data" \
	ulp-verify -s "$MB" -t 4 -n "$(scaled 60 20)" "$DISK"
ktap_diag "$KTAP_OUT"
ktap_check "the target's disk holds the same" same_on_both_sides
ktap_check "fio verifies the data with 32 requests in flight" deep
ktap_check "the target's disk holds the same, again" same_on_both_sides
ktap_check "host: pages registered, invalidated by the target" \
	counters_grew rda fast_regs remote_invalidates
ktap_check "target: pages registered to read" counters_grew rdb fast_regs
ktap_check "no error is counted" counters_same rdb err_stag err_local err_access err_bounds
ktap_check "256 pages are one registration" one_registration
ktap_check "the host can be reset under load" reset_under_load
ktap_check "data survives a target that is removed" target_returns
ktap_check "the host disconnects" disconnect
ktap_check "the host's device can be removed under load" device_goes
ktap_done
