#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# SMB Direct: the kernel's server of files and its client over two hybrid devices.
# Both know the initial namespace only. Data go by Reads and Writes of the server,
# into and out of pages that the client has registered; those of a signed session
# by Sends. Of these only small files: the signatures of this client's larger writes
# over SMB Direct are refused, over siw, too, not over TCP.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ulp-verify ksmbd.tools
need_modules ksmbd cifs nls_utf8

DIR=/tmp/smb
EXPORT=$DIR/export
MNT=$DIR/mnt
CONF=$DIR/ksmbd.conf
USERS=$DIR/users
MB=$(scaled 8 4)
LOG=$DIR/daemon
IN=$DIR/in

# ksmbd NAME ARG...: one program under several names
ksmbd() {
	local name=$1
	shift
	(exec -a "ksmbd.$name" ksmbd.tools "$@")
}

server_up() {
	mkdir -p "$EXPORT" "$MNT"
	mount -t tmpfs none "$EXPORT"
	printf '%s\n' '[global]' 'server min protocol = SMB3_11' \
		'[share]' "path = $EXPORT" 'read only = no' >"$CONF"
	ksmbd adduser -a -p secret -C "$CONF" -P "$USERS" somebody || return
	ksmbd mountd -n -C "$CONF" -P "$USERS" >"$LOG" 2>&1 &
	wait_port b 5445
}

server_down() {
	umount -l "$MNT" 2>/dev/null
	ksmbd control -s
	umount "$EXPORT"
	modprobe -r cifs ksmbd
}

# mount_smb OPTIONS
mount_smb() {
	timeout 120 mount -i -t cifs -o \
		"rdma,ip=10.0.0.2,username=somebody,password=secret,vers=3.1.1,$1" \
		//10.0.0.2/share "$MNT"
}

# In either direction, past no cache and past both
same() {
	head -c $((MB << 20)) /dev/urandom >"$IN" &&
	dd if="$IN" of="$MNT/big" bs=1M conv=fsync &&
	cmp "$IN" "$EXPORT/big" &&
	echo 3 >/proc/sys/vm/drop_caches && cmp "$IN" "$MNT/big" &&
	dd if="$MNT/big" bs=384K iflag=direct | cmp - "$IN"
	local rc=$?
	rm -f "$IN" "$MNT/big"
	return "$rc"
}

# Around what goes by Send, what is registered, and pages
sizes() {
	local n
	for n in 1 1340 4095 4096 4097 8192 65537 1048577; do
		head -c "$n" /dev/urandom >"$IN" &&
		cp "$IN" "$MNT/s$n" && sync "$MNT/s$n" && cmp "$IN" "$EXPORT/s$n" &&
		echo 3 >/proc/sys/vm/drop_caches && cmp "$IN" "$MNT/s$n" || return
		rm "$MNT/s$n"
	done
}

# moved DEVICE COUNTER: all that was written and read went over it
moved() {
	echo "$1 $2: $(grown "$1" "$2") bytes"
	[ "$(grown "$1" "$2")" -gt $((MB << 20)) ]
}

# large NAME: what is read and written by RDMA
large() {
	ktap_check "$1: a file is the same on both sides" same
	ktap_check "$1: files of many sizes are the same on both sides" sizes
	ktap_check "$1: random writes and reads" \
		ulp-verify -s "$MB" -t 4 -n "$(scaled 30 10)" "$MNT/random"
	ktap_diag "$KTAP_OUT"
	ktap_check "$1: written data goes through the client's device" moved rda tx_bytes
	ktap_diag "$KTAP_OUT"
	ktap_check "$1: read data goes through the server's device" moved rdb tx_bytes
	ktap_diag "$KTAP_OUT"
	ktap_check "$1: the client registers pages" counters_grew rda fast_regs
	ktap_diag "$KTAP_OUT"
}

# session NAME OPTIONS
session() {
	counters_save
	ktap_check "$1: the client can mount" mount_smb "$2" || return
	[ "$1" = signed ] || large "$1"
	ktap_check "$1: small files are the same on both sides" small_files
	[ "$1" != signed ] || ktap_check "$1: nothing is registered" counters_same rda fast_regs
	done_with "$1"
}

# done_with NAME
done_with() {
	ktap_check "$1: no errors at the client" counters_same rda err_stag err_local \
		err_access err_bounds rx_terminates tx_terminates
	ktap_check "$1: no errors at the server" counters_same rdb err_stag err_local \
		err_access err_bounds
	ktap_check "$1: the client can unmount" timeout 120 umount "$MNT"
	ktap_check "$1: no queue pair is left" wait_for 60 no_queue_pairs
}

hybrid_here || ktap_skip_all "no hybrid devices"
wait_for 20 ping -c 1 -W 1 -I 10.0.0.1 10.0.0.2
defer server_down
ktap_check "the SMB server listens" server_up || ktap_diag "$(cat "$LOG")"
session plain cache=strict
session signed sign
ktap_done
