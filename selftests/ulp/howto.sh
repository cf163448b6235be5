#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1200
#
# The commands of Documentation/howto.rst, as they stand there, with the programs of
# Debian's packages. Its server is namespace a, its client b; NVMe, which knows the initial
# namespace only, has both there.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/documents.bash
. "$(dirname "$0")/../lib/documents.bash"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/mpi.sh
. "$(dirname "$0")/../lib/mpi.sh"
need sdpctl sdpstat sdp-run redis-server redis-cli nsenter jq
need_modules rpcrdma nfsd nfsv4 nvme-rdma nvmet-rdma brd
[ -e $DOC/howto.rst ] || ktap_skip_all "no documentation"
UNITS=/packages/lib/systemd/system

# As in sdp/manual: where it runs, and the command. a and b are the network namespaces of
# server and client; - is the initial one; a word of its own is a function below
commands() {
	cat <<'END'
both	sdpctl setup eth0
no the packages are shared by the host|	apt install openmpi-bin
mpi	mpirun --allow-run-as-root -np 2 --host server,client --mca pml cm --mca mtl ofi -x FI_PROVIDER="verbs;ofi_rxm" ./program
a	rdma statistic show link hyb_eth0/1
no the packages are shared by the host|	apt install nfs-kernel-server
a	echo '/srv *(rw,fsid=0,no_root_squash,no_subtree_check)' >> /etc/exports
a	printf '[nfsd]\nrdma=y\nrdma-port=20049\n' > /etc/nfs.conf.d/rdma.conf
unit	systemctl restart nfs-server
no the packages are shared by the host|	apt install nfs-common
b	mount -t nfs4 -o rdma,port=20049 server:/ /mnt
-	grep proto=rdma /proc/mounts
-	rdma resource show qp
same_file
-	modprobe -a sdp sdp_diag iwarp_hybrid
pod	nsenter -t PID -n rdma link add hyb_PID type hybrid netdev eth0
no the guest has no podman: what its options do is done below|	podman run -v /usr/lib/sdp:/usr/lib/sdp:ro -e LD_PRELOAD=/usr/lib/sdp/libsdp.so IMAGE redis-server
pods_talk
one_host
-	modprobe -a brd nvmet-rdma
-	mkdir /sys/kernel/config/nvmet/subsystems/disk
-	echo 1 > /sys/kernel/config/nvmet/subsystems/disk/attr_allow_any_host
-	mkdir /sys/kernel/config/nvmet/subsystems/disk/namespaces/1
-	echo /dev/ram0 > /sys/kernel/config/nvmet/subsystems/disk/namespaces/1/device_path
-	echo 1 > /sys/kernel/config/nvmet/subsystems/disk/namespaces/1/enable
-	mkdir /sys/kernel/config/nvmet/ports/1
-	echo rdma > /sys/kernel/config/nvmet/ports/1/addr_trtype
-	echo ipv4 > /sys/kernel/config/nvmet/ports/1/addr_adrfam
-	echo 10.0.0.1 > /sys/kernel/config/nvmet/ports/1/addr_traddr
-	echo 4420 > /sys/kernel/config/nvmet/ports/1/addr_trsvcid
-	ln -s /sys/kernel/config/nvmet/subsystems/disk /sys/kernel/config/nvmet/ports/1/subsystems/
no the packages are shared by the host|	apt install nvme-cli
-	modprobe nvme-rdma
-	nvme connect -t rdma -a 10.0.0.1 -s 4420 -n disk
-	nvme list-subsys
same_disk
-	nvme disconnect -n disk
END
}

shown() { in_document $DOC/howto.rst; }

# Without ip's own mount namespace: what is mounted is to be seen here
net() { nsenter --net=/run/netns/"$1" "${@:2}"; }

# run WHERE COMMAND: here client and server of NVMe are one host, whose address is to differ
run() {
	local command=$2

	[[ $command != "nvme connect"* ]] || command+=" -w 10.0.0.2"
	case $1:$command in
	-:*) timeout 120 bash -c "$command" ;;
	*:mount*) net "$1" timeout 120 bash -c "$command" ;;
	*) "in_$1" timeout 120 bash -c "$command" ;;
	esac
}

# one WHERE COMMAND
one() {
	case $1 in
	a | b | -) ktap_check "$2" run "$1" "$2" ;;
	both) ktap_check "$2 succeeds at both ends" both "$2" ;;
	unit) ktap_check "$2: its units start the server" nfs_server ;;
	mpi) ranks "$2" ;;
	pod) pods "$2" ;;
	no*) ktap_skip "$2" "${1#no }" ;;
	*) "$1" ;;
	esac
}

both() { run a "$1" && run b "$1"; }

# received: bytes, by the device of the server
received() { cat /sys/class/infiniband/hyb_eth0/ports/1/hw_counters/rx_bytes; }

# ranks COMMAND: with NetPIPE as the program, which looks at what it has received; an agent in
# the place of ssh, and ranks that share processors
ranks() {
	local before

	mpi_up
	# the command has an option for that
	unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
	ln -sf "$(command -v mpirun.openmpi)" /run/howto/mpirun
	printf '#!/bin/sh\nexec NPopenmpi -i -u 65536 -n 3 -o /run/howto/np.out\n' >/run/howto/program
	chmod 755 /run/howto/program
	before=$(received)
	ktap_check "$1" in_howto "$1"
	ktap_check "MPI: messages are as they were sent" test \
		"$(grep -c 'Integrity check passed' <<<"$KTAP_OUT")" -ge 10
	ktap_check "MPI: they came by the device" test $(($(received) - before)) -gt 196608
	ktap_check "MPI: no queue pair is left" wait_for 30 no_queue_pairs
}

in_howto() {
	cd /run/howto && OMPI_MCA_plm_rsh_agent=$MPI_AGENT OMPI_MCA_mpi_yield_when_idle=1 \
		PATH=/run/howto:$PATH in_a timeout -k 5 "$MPI_LIMIT" unshare -u \
		bash -c "hostname host-a; $1"
}

# starts UNIT: the commands that it executes
starts() { sed -nE 's/^ExecStart(Pre)?=-?//p' "$UNITS/$1.service"; }

# nfs_server: with a lease of seconds, since the test waits for the grace of a new server
nfs_server() {
	local command

	printf '[nfsd]\ngrace-time=10\nlease-time=10\n' >/etc/nfs.conf.d/test.conf
	net a mount -t nfsd nfsd /proc/fs/nfsd || return
	while read -r command; do
		echo "$command"
		net a timeout 120 bash -c "$command" || return
	done < <(echo rpcbind; starts nfs-mountd; starts nfs-server)
	grep rdma /proc/fs/nfsd/portlist
}

no_daemons() { ! pgrep 'rpc.mountd|rpcbind'; }

nfs_down() {
	net a rpc.nfsd 0
	pkill 'rpc.mountd|rpcbind'
	wait_for 20 no_daemons
	umount /proc/fs/nfsd
	umount /srv
}

same_file() {
	ktap_check "the client writes a file over NFS" dd if=/dev/urandom of=/mnt/file bs=64K count=16 conv=fsync
	ktap_check "the server has the same file" cmp /mnt/file /srv/file
	ktap_check "rdma resource shows the queue pair of NFS" \
		bash -c "rdma resource show qp | grep -q 'link hyb_eth0.* type RC state RTS'"
	ktap_check "the client unmounts the file system" timeout 60 umount /mnt
	ktap_check "the NFS server ends" nfs_down
	both "sdpctl undo eth0"
}

# pods COMMAND: a process in each namespace stands for a container
pods() {
	nsenter --net=/run/netns/a sleep 10000 >/dev/null 2>&1 &
	POD_A=$!
	nsenter --net=/run/netns/b sleep 10000 >/dev/null 2>&1 &
	POD_B=$!
	LIB_PIDS+=("$POD_A" "$POD_B")
	ktap_check "$1" run - "${1//PID/$POD_A}"
	ktap_check "$1, for the other one" run - "${1//PID/$POD_B}"
}

# in_pod PID COMMAND...: with the library of the host and its variable as podman gives
# them, and without any capability
in_pod() {
	nsenter -t "$1" -n setpriv --no-new-privs --inh-caps=-all --bounding-set=-all \
		--reuid 65534 --regid 65534 --clear-groups \
		env LD_PRELOAD=/usr/lib/sdp/libsdp.so "${@:2}"
}

pods_talk() {
	local server

	start_bg - in_pod "$POD_A" redis-server --bind 10.0.0.1 --protected-mode no --save ""
	server=$BG_PID
	wait_port a 6379 60
	ktap_is "Redis in one container answers a client in the other" \
		"$(in_pod "$POD_B" timeout 60 redis-cli -h 10.0.0.1 ping)" PONG
	ktap_is "sdpstat -N PID shows from the host that Redis listens for SDP" \
		"$(sdpstat -N "$POD_A" -l | grep -c ':6379 ')" 1
	ktap_is "sdpstat -N PID shows that the connection was one of SDP" \
		"$(sdpstat -N "$POD_A" -sj accepts | jq .counters.accepts)" 1
	stop_bg "$server"
	stop_bg "$POD_A"
	stop_bg "$POD_B"
}

one_host() {
	net_down
	hybrid_here || ktap_fail "devices in the initial namespace"
	modprobe -r brd
	mount_configfs
}

same_disk() {
	wait_for 20 test -b /dev/nvme0n1
	ktap_check "the host writes to the disk of NVMe" \
		dd if=/dev/urandom of=/dev/nvme0n1 bs=64K count=16 oflag=direct
	ktap_check "the disk of the server has the same data" cmp -n 1048576 /dev/nvme0n1 /dev/ram0
}

nvme_down() {
	rm -f /sys/kernel/config/nvmet/ports/1/subsystems/disk
	rmdir /sys/kernel/config/nvmet/ports/1 \
		/sys/kernel/config/nvmet/subsystems/disk/namespaces/1 \
		/sys/kernel/config/nvmet/subsystems/disk
	modprobe -r nvme-rdma nvmet-rdma brd
}

net_up || ktap_skip_all "no network"
for ns in a b; do
	ip -n $ns link set v$ns down && ip -n $ns link set v$ns name eth0 up
done
mkdir -p /etc/nfs.conf.d /etc/exports.d /srv /mnt /run/rpcbind /var/lib/nfs/rpc_pipefs
# whose rights rpcbind takes
grep -q ^_rpc: /etc/passwd || echo '_rpc:x:105:65534::/run/rpcbind:/bin/false' >>/etc/passwd
touch /var/lib/nfs/{etab,rmtab,xtab}
packages_up
PATH=/packages/usr/bin:/packages/bin:$PATH:/packages/usr/sbin:/packages/sbin
# the units know them by these names
for program in exportfs rpc.nfsd rpc.mountd; do
	[ -e /usr/sbin/$program ] || ln -s "$(command -v $program)" /usr/sbin/
done
# mount(8) takes the libraries' path away
printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%s\nexec /packages/sbin/mount.nfs4 "$@"\n' \
	"$LD_LIBRARY_PATH" >/usr/sbin/mount.nfs4
chmod 755 /usr/sbin/mount.nfs4
need nvme rpc.nfsd
mount -t tmpfs none /srv
defer nvme_down
printf '%s\n' "10.0.0.1 server" "10.0.0.2 client" >>/etc/hosts
defer sed -Ei '/ (server|client)$/d' /etc/hosts
mkdir -p /run/howto
each_is_listed
while IFS=$'\t' read -r where command; do
	one "${where%|}" "$command" </dev/null
done < <(commands)
ktap_done
