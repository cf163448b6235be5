#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=400
#
# Several hosts at a bridge: each host sends to every other one over SDP, and the engines of
# the simulated NICs compute the CRCs, without drops. Then the same over veth, without
# engines. STAR: number of hosts.

# shellcheck disable=SC2034 # the library reads NET_LINK
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpbench sdpstat rdma

N=${STAR:-5}
BYTES=$((65536 * 4))

# sdp_of I NAME: counter of sdpstat -s on host I
sdp_of() { in_n "$1" sdpstat -s -z | awk -v name="$2" '$1 == name { print $2 }'; }

# hw_of I NAME: counter of the device of host I
hw_of() { cat "/sys/class/infiniband/rd$1/ports/1/hw_counters/$2"; }

listening() { in_n "$1" sdpstat -lH | grep -q ':7471 '; }

# send I J: data from host I to host J
send() { in_n "$1" timeout 60 sdpbench -w 10 -T bw -S 64K -n 4 -r 1 "10.0.0.$2"; }

# exchange NAME: send between all pairs, and look at the counters of each host
exchange() {
	local i j bad=''

	for ((j = 1; j <= N; j++)); do
		start_bg - in_n "$j" sdpbench -s -b "10.0.0.$j"
		wait_for 20 listening "$j" || bad+=" $j does not listen;"
	done
	for ((i = 1; i <= N; i++)); do
		for ((j = 1; j <= N; j++)); do
			[ "$i" -eq "$j" ] || KTAP_OUT=$(send "$i" "$j" 2>&1) ||
				bad+=" $i to $j: $KTAP_OUT"
		done
	done
	ktap_is "$1: each of $N hosts sends to every other one" "$bad" ""
	for ((i = 1; i <= N; i++)); do
		for n in tx_bytes rx_bytes; do
			[ "$(sdp_of "$i" $n)" -ge $(((N - 1) * BYTES)) ] || bad+=" $n of $i"
		done
	done
	ktap_is "$1: SDP counts all bytes, sent and received" "$bad" ""
}

# engines: the NICs computed the CRCs of all data, and software neither finished nor dropped
# packets
engines() {
	local i bad=''

	for ((i = 1; i <= N; i++)); do
		[ "$(hw_of "$i" nic_sw_packets)" -eq 0 ] || bad+=" $i: software finished packets"
		[ "$(hw_of "$i" nic_sw_drops)" -eq 0 ] || bad+=" $i: drops"
		[ "$(in_n "$i" ethtool -S "v$i" | awk '/tx_engine_crc_bytes/ { print $2 }')" \
			-gt $(((N - 1) * BYTES)) ] || bad+=" $i: no CRC by the NIC"
	done
	ktap_is "the engines of all NICs work, and nothing is dropped" "$bad" ""
}

for NET_LINK in hnic veth; do
	if ! star_up "$N" || ! dev_up_all hybrid; then
		ktap_fail "$NET_LINK: $N hosts at a bridge"
		continue
	fi
	if [ $NET_LINK = hnic ]; then
		for dev in /sys/class/infiniband/rd*/hybrid; do
			echo hybrid >"$dev/profile"
		done
	fi
	exchange $NET_LINK
	[ $NET_LINK != hnic ] || engines
	for pid in "${LIB_PIDS[@]}"; do
		stop_bg "$pid"
	done
	LIB_PIDS=()
	ktap_diag "$NET_LINK: $(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo) MB available of $(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)"
	net_down
	ktap_check "$NET_LINK: no network namespace is left" sh -c '! ip netns list | grep -q .'
done
ktap_done
