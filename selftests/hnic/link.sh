#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# hnic: life of a link and its settings. Values that are set must be shown, invalid
# ones must be refused; either end may vanish at any time, also under load.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

need ethtool iperf3 nsenter unshare
ktap_plan 54
modprobe hnic

pair() { ip link add ha type hnic peer name hb; }
exists() { [ -e "/sys/class/net/$1" ]; }
knob() { cat "/sys/class/net/ha/hnic/$1"; }
set_knob() { echo "$2" >"/sys/class/net/ha/hnic/$1"; }
refused() { ktap_check_fails "knob $1 refuses '$2'" set_knob "$1" "$2"; }
up() { ip link set ha up && ip link set hb up; }
carrier() { cat "/sys/class/net/$1/carrier" 2>/dev/null || echo none; }

# ------------------------------------------------------------------ creation

ktap_check "a pair is made" pair
ktap_is "no carrier while one end is down" "$(ip link set ha up; carrier ha)" 0
ip link set hb up
ktap_is "carrier when both are up" "$(carrier ha) $(carrier hb)" "1 1"
ip link set hb down
ktap_is "carrier is lost with the other end" "$(carrier ha)" 0
ktap_is "each end names the other" "$(cat /sys/class/net/ha/iflink)" \
	"$(cat /sys/class/net/hb/ifindex)"
ip link del hb
ktap_check_fails "the other end goes, too" exists ha
ktap_check "the peer's name is optional" ip link add ha type hnic
ip link del ha
ktap_check_fails "an unusable address is refused" \
	ip link add ha address 01:00:00:00:00:01 type hnic peer name hb
ktap_check_fails "an unusable address of the peer is refused" \
	ip link add ha type hnic peer name hb address 01:00:00:00:00:01
ktap_check_fails "nothing is left of a refused link" exists ha
ktap_check_fails "the same name for both ends is refused" ip link add ha type hnic peer name ha
ktap_check_fails "nothing is left of a link with one name" exists ha
ktap_check "queues, MTU and index are accepted" ip link add ha index 201 mtu 9000 numtxqueues 4 \
	numrxqueues 4 type hnic peer name hb index 202 mtu 9000 numtxqueues 4 numrxqueues 4
ktap_is "the values are as requested" "$(cat /sys/class/net/h[ab]/{ifindex,mtu} | tr '\n' ' ')" \
	"201 202 9000 9000 "
ktap_check_fails "an MTU that is too large" ip link set ha mtu 9601

# not_made ERROR OPTION...: ip(8) makes no pair, and its message has ERROR
not_made() {
	local error=$1 out
	shift
	! out=$(ip link add hx "$@" 2>&1) && [[ $out = *"$error"* ]] && ! exists hx
}

ktap_check "more TX queues than possible are refused" not_made "at most 16" numtxqueues 17 type hnic
ktap_check "more RX queues of the peer than possible are refused" \
	not_made "at most 16" type hnic peer name hy numrxqueues 4096
ktap_check "the largest number of queues is accepted" ip link add hx numtxqueues 16 numrxqueues 16 \
	type hnic peer name hy numtxqueues 16 numrxqueues 16
ip link del hx
# shellcheck disable=SC2016 # for the other shell
ktap_check "a user namespace makes no pair: its kernel threads are charged to no control group" \
	unshare -Urn sh -c '! out=$(ip link add hx type hnic peer name hy 2>&1) &&
	echo "$out" | grep -q "in a user namespace"'
ktap_check "numbers of queues may differ" sh -c 'ip link add hx numtxqueues 4 numrxqueues 8 type hnic &&
	ethtool -l hx | grep -q "^RX:.*4$" && ! ethtool -l hx | grep -q "^TX:.*4$"'
ip link del hx

# ------------------------------------------------------------------ settings

ktap_check "channels can be changed while the device is up" sh -c 'ip link set ha up; ip link set hb up
	ethtool -L ha combined 2 && ethtool -l ha | tail -n1 | grep -q 2'
ktap_is "the carrier is back after the change" "$(carrier ha)" 1
ktap_check_fails "a device without channels is refused" ethtool -L ha combined 0
ktap_check "private flags can be set" sh -c 'ethtool --set-priv-flags ha iwarp-rx-crc off &&
	ethtool --show-priv-flags ha | grep -q "iwarp-rx-crc *: off"'
ktap_check "an ntuple filter is accepted" ethtool -N ha flow-type tcp4 dst-port 5201 action 1 loc 3
ktap_check "the filter is shown" sh -c 'ethtool -n ha rule 3 | grep -q "Dest port: 5201"'
ethtool -N ha flow-type tcp4 dst-port 1 action 9 2>/dev/null
ktap_is "a filter to a missing queue is refused" "$(ethtool -n ha | grep -c '^Filter')" 1
ktap_check "the filter is deleted" ethtool -N ha delete 3
ktap_check_fails "a filter is deleted once only" ethtool -N ha delete 3
ktap_check "coalescing can be set" ethtool -C ha tx-usecs 0 tx-frames 1
ktap_check "pause can be switched off" ethtool -A ha tx off

set_knob path_delay "10 20" && set_knob paths 3
ktap_is "delays of paths can be set" "$(knob path_delay)" "10 20 0"
refused path_delay "1 x"
refused paths 9
refused loss 1000001
refused rate -1
refused tx_cpu 4096

# tells KNOB VALUE SENTENCE: the value is refused, and the kernel's log has the sentence. Such
# messages are rate-limited, so several attempts may be needed.
tells() {
	local before

	before=$(dmesg | grep -cF "ha: $1 $3")
	refused_and_logged() {
		set_knob "$1" "$2" 2>/dev/null
		[ "$(dmesg | grep -cF "ha: $1 $3")" -gt "$before" ]
	}
	ktap_check "the log says: $1 $3" wait_for 20 refused_and_logged "$@"
}

cpus=$(</sys/devices/system/cpu/possible)
tells rate -1 "takes a number from 0 to 400000"
tells seed 0 "takes a number from 1 to 4294967295"
tells path_delay "1 1000001" "takes up to 8 numbers from 0 to 1000000"
tells tx_cpu 4096 "takes -1 for any, or an online CPU from 0 to ${cpus##*-}"
tells queue_cpus 4096 "takes for each queue -1 for any, or an online CPU from 0 to ${cpus##*-}"
# A pair that is given to a user namespace
start_bg - unshare -Urnm sh -c 'mount -t sysfs none /sys && echo there && exec sleep 1000'
wait_for 20 said there
given() { nsenter -t "$BG_PID" -U --preserve-credentials -m -n sh -c "$1"; }
ip link add hx type hnic peer name hy
ip link set hx netns "$BG_PID"
ktap_is "a refused value of a user namespace is not logged" "$(given \
	'echo x >/sys/class/net/hx/hnic/rate' 2>&1) $(dmesg | grep -c "hx: rate takes")" \
	"sh: line 1: echo: write error: Invalid argument 0"
# shellcheck disable=SC2016 # for the other shell
ktap_is "a user namespace does not choose CPUs of the kernel's threads" "$(given \
	'for f in tx_cpu rx_cpu queue_cpus; do echo 0 >/sys/class/net/hx/hnic/$f; done' 2>&1 |
	grep -c "not permitted")" 3
ip link del hy
stop_bg "$BG_PID"
set_knob tx_cpu 0
set_knob queue_cpus "0 0"
ktap_is "CPUs can be set" "$(knob tx_cpu) $(knob queue_cpus)" "0 0 0 $(knob queue_cpus | cut -d' ' -f3-)"
ip link del ha

# ---------------------------------------------------------- end under load

# load_on [OPTION...]: make a pair, and start iperf3 over it with these options
load_on() {
	pair && ip netns add a && ip netns add b && ip link set ha netns a &&
		ip link set hb netns b || return
	NET_MODE=two
	net_addr a ha 1 && net_addr b hb 2
	start_bg b iperf3 -s
	server=$BG_PID
	wait_port b 5201 || return
	start_bg a iperf3 -c 10.0.0.2 -t 60 -P 2 "$@"
	sleep 0.5
}

load_stop() {
	stop_bg "$BG_PID"
	stop_bg "$server"
}

load_off() {
	load_stop
	ip netns del a 2>/dev/null
	ip netns del b 2>/dev/null
	NET_MODE=
}

# channels N SECONDS: set the number of channels; ethtool is killed after SECONDS
channels() { timeout -s KILL "$2" in-ns a ethtool -L ha combined "$1"; } 2>/dev/null
reaches() { in_a ping -c 1 -W 1 10.0.0.2; }

# many packets wait below the driver
load_on -u -b 0 -l 64
for ((n = $(scaled 20 6); n > 0; n--)); do
	channels $((1 + n % 2)) 60 || break
done
ktap_is "channels can be changed under load" "$(in_a ethtool -l ha | tail -n1 | tr -dc 0-9) $n" "2 0"
load_stop
ktap_check "packets arrive" wait_for 10 reaches

killed=0 closed=0
# the device is closed if it cannot be opened again
for ((ms = 3; ms <= $(scaled 30 320); ms += $(scaled 1 35))); do
	channels $((1 + ms % 2)) "$(printf 0.%03d $ms)" || killed=$((killed + 1))
	in_a ip link show ha | grep -q ,UP || closed=$((closed + 1))
	ip -n a link set ha up || break
done
ktap_diag "killed $killed times, closed $closed times"
ktap_check "a task that sets channels can be killed" in_a ip link set ha down
ktap_check "the device is up again" in_a ip link set ha up
ktap_check "packets arrive again" wait_for 10 reaches
load_off

load_on
ktap_check "the device can be set up and down under load" sh -c 'for i in 1 2 3; do
	ip -n a link set ha down; ip -n a link set ha up; ip -n b link set hb down; ip -n b link set hb up; done'
ktap_check "the device can be deleted under load" ip -n b link del hb
load_off
load_on
ktap_check "the namespace can be removed under load" ip netns del a
load_off
load_on
ktap_check "the module can be removed under load" rmmod hnic
load_off
modprobe hnic

ktap_done
