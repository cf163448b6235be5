#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# NFS over RDMA: the kernel's server in one namespace, its client in the other.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need ulp-verify nsenter python3
need_modules rpcrdma nfsd nfsv4

EXPORT=/tmp/nfs-export
MNT=/tmp/nfs-mnt
NFSD=/tmp/nfsd
MB=$(scaled 8 4)
END=4102444800

# Without ip's own mount namespace: what is mounted is to be seen here
net_a() { nsenter --net=/run/netns/a "$@"; }
net_b() { nsenter --net=/run/netns/b "$@"; }

# tell CACHE LINE: an answer that mountd would give, known beforehand
tell() { net_b sh -c "echo '$2' >/proc/net/rpc/$1/channel"; }

# The client's address, what is exported to it, which file handle that has; 9218:
# any port, root stays root, no subtree check, fsid=0
server_up() {
	mkdir -p "$EXPORT" "$NFSD"
	mount -t tmpfs none "$EXPORT"
	net_b mount -t nfsd none "$NFSD" &&
	echo "-2 -3 +4 +4.1 +4.2" >"$NFSD/versions" &&
	echo 10 >"$NFSD/nfsv4leasetime" && echo 10 >"$NFSD/nfsv4gracetime" &&
	echo "rdma 20049" >"$NFSD/portlist" && echo 4 >"$NFSD/threads" &&
	{ echo Y >"$NFSD/v4_end_grace" || :; } &&
	tell auth.unix.ip "nfsd 10.0.0.1 $END client" &&
	tell nfsd.export "client $EXPORT $END 9218 65534 65534 0" &&
	tell nfsd.fh "client 1 \\x00000000 $END $EXPORT"
}

server_down() {
	umount -l "$MNT" 2>/dev/null
	echo 0 >"$NFSD/threads"
	umount "$NFSD"
	umount "$EXPORT"
}

# mount_nfs OPTIONS: the system call, as mount.nfs makes it
mount_nfs() {
	mkdir -p "$MNT"
	net_a timeout 60 python3 - "$1" <<-'END'
	import ctypes, os, sys
	libc = ctypes.CDLL(None, use_errno=True)
	if libc.mount(b"10.0.0.2:/", b"/tmp/nfs-mnt", b"nfs4", 0,
	              ("proto=rdma,port=20049,addr=10.0.0.2,clientaddr=10.0.0.1,"
	               "sec=sys," + sys.argv[1]).encode()):
	    sys.exit(os.strerror(ctypes.get_errno()))
	END
}

# In either direction, past no cache and past both
same() {
	head -c $((MB << 20)) /dev/urandom >/tmp/in &&
	dd if=/tmp/in of="$MNT/big" bs=1M conv=fsync &&
	cmp /tmp/in "$EXPORT/big" &&
	echo 3 >/proc/sys/vm/drop_caches && cmp /tmp/in "$MNT/big" &&
	dd if="$MNT/big" bs=384K iflag=direct | cmp - /tmp/in
	local rc=$?
	rm -f /tmp/in "$MNT/big"
	return "$rc"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
ktap_check "the NFS server listens" server_up
defer server_down
for version in 4.1 4.0; do
	counters_save
	ktap_check "v$version: the client can mount" mount_nfs "vers=$version" || break
	ktap_check "v$version a file is the same on both sides" same
	ktap_check "v$version random writes and reads" ulp-verify -s "$MB" -t 4 \
		-n "$(scaled 30 10)" "$MNT/random"
	ktap_diag "$KTAP_OUT"
	ktap_check "v$version small files" small_files
	ktap_check "v$version client: pages registered, invalidated by the server" \
		counters_grew rda fast_regs remote_invalidates
	ktap_check "v$version server: pages registered to read" \
		counters_grew rdb fast_regs
	ktap_check "v$version: no error is counted" counters_same rda err_stag err_local \
		err_access err_bounds rx_terminates
	ktap_check "v$version: the client can unmount" umount "$MNT"
	ktap_check "v$version all queue pairs of the client are gone" \
		no_queue_pairs_of rda
done
ktap_done
