#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# The commands that the manual pages and the documents show, run unchanged. Each of them
# has a line in the list below, and each line is a command shown. The host "server" is
# namespace a (10.0.0.1), where eth0 is; its client is b.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/documents.bash
. "$(dirname "$0")/../lib/documents.bash"
need sdp-run sdpctl sdpstat sdpbench redis-server redis-benchmark iperf3 ethtool rping jq
[ -e $DOC/README.rst ] || ktap_skip_all "no documentation"
T=$(mktemp -d /run/manual.XXXXXX)
defer rm -rf "$T"
unset LIBSDP_ONLY

# commands: lines of a place and a command. Place: - is the initial namespace, a and b are
# those of server and client; ">" begins a server there, with its port; "end" ends it;
# "host/..." and "sdp/..." name the test that runs the command; "no" is followed by the
# reason why it is not run, then by "|".
commands() {
	cat <<'END'
-	modprobe iwarp_hybrid
a	rdma link add hyb0 type hybrid netdev eth0
a	rdma link show
-	echo host > /sys/class/infiniband/hyb0/hybrid/crc
-	cat /sys/class/infiniband/hyb0/hybrid/components
a	rdma statistic show link hyb0/1
a	sdpstat stack hyb0
a	sdpstat stack --json hyb0
peer
a>7174	rping -s -a 10.0.0.1 -v -C 10
b	rping -c -a 10.0.0.1 -v -C 10
end
a	rdma link delete hyb0
alone
-	ip link add nic0 type hnic peer name nic1
-	echo 10000 > /sys/class/net/nic0/hnic/rate
-	echo 100 > /sys/class/net/nic0/hnic/loss
-	ethtool --set-priv-flags nic1 iwarp-rx-crc off
-	ethtool -S nic0
-	ip link delete nic0
-	ip link add A type hnic peer name B
-	ethtool --show-priv-flags A
-	ethtool --set-priv-flags A iwarp-rx-crc off
-	ip link delete A
-	ip link add A netns a type hnic peer name B netns b mtu 9000
setup
a	sdpctl setup lo
a>6380	sdp-run redis-server --port 6380
a	sdp-run redis-cli -p 6380 ping
over_sdp
end
a>6379	sdp-run redis-server --bind 10.0.0.1 --protected-mode no
b	sdp-run redis-cli -h 10.0.0.1 ping
a	sysctl net.sdp.tx_latency=1
b	sdp-run redis-benchmark -h 10.0.0.1 -t set,get -n 10000
a	sdpstat -s | grep tx_latency
a	sdpstat -K dst 10.0.0.0/24
a	sdpstat -l
end
a>5201	sdp-run iperf3 -s
b	sdp-run iperf3 -c SERVER
end
a>7471	sdpbench -s -t tcp,sdp
b	sdpbench --compare tcp,sdp server
end
a>7471	sdpbench -s
b	sdpbench -T bw --trim --less-reply --window 16 server
end
a	timeout 4 sdpstat -i 1
a	sdpstat -s -j | jq '.counters | .tx_copy_bytes / .tx_bytes'
a>7471	sdpbench -s -t sdp,tcp
b	sdpbench --compare sdp,tcp -S 64K SERVER
end
-	echo 'qpn == 3' > /sys/kernel/tracing/events/iwarp_hybrid/filter
-	echo 1 > /sys/kernel/tracing/events/iwarp_hybrid/enable
-	timeout 2 cat /sys/kernel/tracing/trace_pipe
-	echo 'sock_cookie == 0x1001' > /sys/kernel/tracing/events/sdp/filter
-	echo 1 > /sys/kernel/tracing/events/sdp/enable
a	sysctl net.sdp.max_connections=1000
a	sysctl net.sdp.zcopy_threshold=0
a	sysctl net.ipv4.ip_local_reserved_ports=20258-21280
sdp/recipes	perf trace --libtraceevent_print -e 'iwarp_hybrid:hyb_qp_state,iwarp_hybrid:hyb_cep_event,iwarp_hybrid:hyb_terminate_*'
sdp/recipes	bpftrace -e 'tracepoint:iwarp_hybrid:hyb_fpdu_tx { @fpdus[args->qpn, args->op] = sum(args->nr); @size = hist(args->len / args->nr); }'
sdp/recipes	perf trace --libtraceevent_print -e 'hnic:hnic_rx_*,iwarp_hybrid:hyb_off_resync'
sdp/recipes	bpftrace -e 'tracepoint:hnic:hnic_fpdu_rx { @[args->dev, args->good] = count(); }'
sdp/recipes	perf trace --libtraceevent_print -e 'rdma_stack:*'
sdp/recipes	perf trace --libtraceevent_print -e 'sdp:sdp_state,sdp:sdp_cm_event,sdp:sdp_down'
sdp/recipes	bpftrace -e 'tracepoint:sdp:sdp_down { @[ntop(args->daddr_v6), args->error] = count(); }'
sdp/recipes	perf stat -a -e task-clock,cycles,instructions,cache-misses -- sdpbench -T bw -S 64K SERVER
sdp/recipes	perf record -a -g -F 1999 -- sdpbench -T bw -S 64K SERVER
sdp/recipes	perf report --no-children --sort dso,symbol
sdp/recipes	perf script | selftests/bench/perf_flame.py > flame.svg
host/demo	make demo
host/readme	apt build-dep . && make deb
host/readme	apt install ./build/deb/*.deb linux-headers-amd64 iperf3
host/readme	apt install redis-server
host/packages	apt install ./iwarp-sdp-dkms_*.deb ./sdp-tools_*.deb linux-headers-amd64
host/readme	systemctl enable --now sdp@eth0
host/readme	systemctl enable --now sdp@lo
host/readme	sdp-run enable redis-server && systemctl restart redis-server
host/readme	sdp-run enable redis-server
host/readme	systemctl restart redis-server
host/readme	echo "LD_PRELOAD = '/usr/lib/sdp/libsdp.so'" >> /etc/postgresql/17/main/environment
host/readme	systemctl restart postgresql@17-main
no it runs this test|	make check
no programs/go runs other static programs so|	sdp-run -s ./caddy file-server
END
}

# shown: all commands, without synopses, rules, and measurements by make that take hours
shown() {
	local f

	for f in "$MAN"/man[1-8]/*; do
		in_page "$f"
	done | grep -Ev '^(use|log) '
	for f in README sdp deployment iwarp_hybrid hnic rdma_stack security; do
		in_document $DOC/$f.rst
	done | grep -v '[[]ARG'
	in_document $DOC/performance.rst | grep -v '^make '
}

# run NS COMMAND: in that namespace; a command under timeout may run to its limit
run() {
	local ns=in_$1 command=${2//SERVER/10.0.0.1}

	[ "$1" != - ] || ns=
	$ns timeout 300 bash -o pipefail -c "$command" ||
		[[ $? -eq 124 && $command = timeout* ]]
}

# one WHERE COMMAND: handle a line of the list
one() {
	case $1 in
	a | b | -) ktap_check "$2" run "$1" "$2" ;;
	a\>*)
		start_bg a bash -c "exec $2"
		ktap_check "$2" wait_port a "${1#*>}" 60
		;;
	end) stop_bg "$BG_PID" ;;
	peer) ktap_check "the client has a device, too" device ;;
	alone) ktap_check "the client's device can be removed" rdma link delete peer ;;
	over_sdp) ktap_check "the connection is one of SDP" [ "$(sdp_counter a accepts)" -ge 1 ] ;;
	setup) ktap_check "sdpctl setup eth0 succeeds at both ends" setup ;;
	no*) ktap_skip "$2" "${1#no }" ;;
	*/*) ktap_check "$2: the test $1, which runs it, exists" test -x "$(dirname "$0")/../$1.sh" ;;
	esac
}

device() { in_b rdma link add peer type hybrid netdev eth0; }

setup() { in_a sdpctl setup eth0 && in_b sdpctl setup eth0; }

modprobe -q -a ib_uverbs rdma_ucm sdp
net_up || ktap_skip_all "no network"
for ns in a b; do
	ip -n $ns link set v$ns down && ip -n $ns link set v$ns name eth0 up
done
if ! grep -q ' server$' /etc/hosts; then
	echo "10.0.0.1 server" >>/etc/hosts
	defer sed -i '/ server$/d' /etc/hosts
fi
cd "$T" || exit 1
each_is_listed
while IFS=$'\t' read -r where command; do
	one "${where%|}" "$command" </dev/null
done < <(commands)
ktap_done
