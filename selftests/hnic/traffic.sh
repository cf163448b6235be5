#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# hnic: data arrives unchanged over links of all kinds, in packets as on a real wire, and the
# counters count what happened.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

need socat ethtool tcpdump taskset
ktap_plan 47
NET_LINK=hnic

data=/tmp/data
head -c "$(scaled 1500000 500000)" /dev/urandom >$data
want=$(sha256sum <$data)
port=7000

knob() { "in_$1" sh -c "echo '$3' >/sys/class/net/v$1/hnic/$2"; }
both() { knob a "$1" "$2" && knob b "$1" "$2"; }
stat_of() { "in_$1" ethtool -S "v$1" | awk -v n="$2:" '$1 == n { print $2 }'; }

# transfer ADDRESS [4|6 [OPTIONS]]: the file from a to b, compared by its checksum. OPTIONS are
# those of socat for the sender.
transfer() {
	port=$((port + 1))
	start_bg b socat -u "TCP-LISTEN:$port,pf=ip${2:-4}" OPEN:/tmp/got,creat,trunc
	wait_port b $port || return
	in_a timeout 60 socat -u OPEN:$data "TCP:$1:$port${3:+,$3}" || return
	wait "$BG_PID"
	[ "$(sha256sum </tmp/got)" = "$want" ]
}

# transfer_with DESCRIPTION COUNTER KNOB VALUE...: with these settings, which then are reset
transfer_with() {
	local desc=$1 counter=$2 before
	shift 2
	before=$(stat_of a "$counter")
	while [ $# -gt 0 ]; do
		both "$1" "$2"
		shift 2
	done
	ktap_check "a transfer works: $desc" transfer 10.0.0.2
	ktap_check "$counter counts packets" test "$(stat_of a "$counter")" -gt "$before"
	both loss 0
	both reorder 0
	both split 0
	both coalesce 0
	both paths 1
	both path_delay 0
	both delay 0
	both rate 0
}

net_up
ktap_check "ping reaches the peer" in_a ping -c 2 10.0.0.2
ktap_check "a transfer works" transfer 10.0.0.2
ktap_check "a transfer over IPv6 works" transfer '[fd00::2]' 6
ktap_check "the NIC segments packets (TSO)" test "$(stat_of a tx_engine_tso)" -gt 0
ktap_is "all packets have a good checksum" "$(stat_of b rx_engine_csum_bad)" 0

# The wire sees packets of MTU size, GRO merges them
start_bg b tcpdump -i vb -w /tmp/cap -s 100 tcp
sleep 1
before=$(stat_of b rx_engine_packets) bytes=$(stat_of b rx_engine_bytes)
transfer 10.0.0.2
packets=$(($(stat_of b rx_engine_packets) - before))
bytes=$(($(stat_of b rx_engine_bytes) - bytes))
stop_bg "$BG_PID"
ktap_check "the mean packet does not exceed the MTU" test $((bytes / packets)) -le 1514
ktap_check "GRO merges received packets" test "$(tcpdump -r /tmp/cap 2>/dev/null | grep -c 'length [1-9]')" -lt $((packets / 2))

# The engine does not cut packets that it does not understand
# not_cut DESCRIPTION ADDRESS 4|6 OPTIONS
not_cut() {
	local desc=$1 before
	shift
	before=$(stat_of a tx_engine_tso)
	ktap_check "a transfer works: $desc" transfer "$@"
	ktap_is "the engine does not segment: $desc" "$(stat_of a tx_engine_tso)" "$before"
}

dstopts=setsockopt=41:59:x0000010400000000
in_a ip link add link va name vlan7 up type vlan id 7
in_b ip link add link vb name vlan7 up type vlan id 7
in_a ip addr add fd07::1/64 dev vlan7 nodad
in_b ip addr add fd07::2/64 dev vlan7 nodad
not_cut "destination options" '[fd00::2]' 6 $dstopts
not_cut "destination options in a VLAN" '[fd07::2]' 6 $dstopts
not_cut "IPv4 options" 10.0.0.2 4 ip-options=x01010101
ktap_is "packets that are not cut have good checksums" "$(stat_of b rx_engine_csum_bad)" 0

in_a ethtool -K va tso off tx off
in_b ethtool -K vb rx off gro off
ktap_check "a transfer works without TSO, checksums and GRO" transfer 10.0.0.2
in_a ethtool -K va sg off >/dev/null
ktap_check "a transfer works without scatter-gather" transfer 10.0.0.2
in_a ethtool -K va sg on tx on tso on >/dev/null
in_b ethtool -K vb rx on gro on

transfer_with "loss" link_lost loss 20000
transfer_with "reordering" link_reordered reorder 50000
transfer_with "middle box cuts" link_split split 500000
transfer_with "middle box cuts and joins" link_coalesced split 500000 coalesce 500000
transfer_with "all of that" link_split split 300000 coalesce 300000 loss 5000 reorder 20000
transfer_with "paths of different delay" tx_engine_packets paths 3 path_delay "0 100 300"
transfer_with "delay and rate" tx_engine_packets delay 500 rate 1000

# The link takes at least its time, on any machine
both delay 20000
in_a ping -c 3 -i 0.2 10.0.0.2 >/tmp/ping
rtt=$(sed -n 's|.*min/avg.* = *\([0-9]*\).*|\1|p' /tmp/ping)
ktap_check "a round trip takes $rtt ms: at least twice the delay" test "$rtt" -ge 40
both delay 0
both rate 4
began=${EPOCHREALTIME/[.,]/}
ktap_check "a transfer works at 4 Mbit/s" transfer 10.0.0.2
took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
# in ms: bytes * 8 / 4000
ktap_check "a transfer at 4 Mbit/s takes its time: $took ms" test "$took" -ge $(($(stat -c %s $data) / 500))
both rate 0

# cpus_of THREAD: the CPUs where threads whose names begin with THREAD may run
cpus_of() {
	local pid

	for pid in $(pgrep "^$1"); do
		taskset -pc "$pid" | sed 's/.*: //'
	done | sort -u
}
runs_on() { [ "$(cpus_of "$1")" = "$2" ]; }
both tx_cpu 1
both rx_cpu 0
ktap_is "engines run on the chosen CPUs" "$(cpus_of hnic-tx/va) $(cpus_of hnic-rx/va)" "1 0"
mapfile -t dirs < <(in_a sh -c 'ls -d /sys/class/net/va/queues/rx-*')
knob a queue_cpus "${dirs[*]/*/1}"
ktap_is "NAPI threads run on the chosen CPUs" "$(cpus_of napi/va-)" 1
# new threads
for again in "down and up" "fewer channels" "all channels"; do
	case $again in
	down*) in_a sh -c 'ip link set va down && ip link set va up' ;;
	fewer*) in_a ethtool -L va combined 1 ;;
	*) in_a ethtool -L va combined "${#dirs[@]}" ;;
	esac
	ktap_check "after $again, engines run on the chosen CPUs" wait_for 10 runs_on hnic-tx/va 1
	sleep 0.5
	ktap_check "after $again, NAPI threads run on the chosen CPUs" runs_on napi/va- 1
done
ktap_check "a transfer works with pinned engines" transfer 10.0.0.2
knob a queue_cpus "${dirs[*]/*/-1}"
both tx_cpu -1
ktap_is "engines can run anywhere again" "$(cpus_of hnic-tx/va) $(cpus_of napi/va-)" "0,1 0,1"

for cpu in 0 -1; do
	both tx_cpu $cpu
	both rx_cpu $cpu
done
in_b sh -c 'echo 0 >/sys/class/net/vb/threaded'
ktap_check "a transfer works without threaded NAPI" transfer 10.0.0.2

in_b ethtool -A vb tx off
ktap_check "a transfer works without pause" transfer 10.0.0.2

in_a ip link set va mtu 9000
in_b ip link set vb mtu 9000
ktap_check "a transfer works at MTU 9000" transfer 10.0.0.2

queues=$(in_b sh -c 'ls -d /sys/class/net/vb/queues/rx-*' | wc -l)
in_b ethtool -N vb flow-type tcp4 dst-port $((port + 1)) action $((queues - 1)) >/dev/null
before=$(stat_of b rx_engine_steered_ntuple)
transfer 10.0.0.2
ktap_check "an ntuple filter steers" test "$(stat_of b rx_engine_steered_ntuple)" -gt "$before"

ktap_done
