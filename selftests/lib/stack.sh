# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a connection is made of (sourced after lib.sh): placement of components,
# link between SDP and the device, counters of all layers. For connections made
# afterwards, between the devices rda and rdb on va and vb.

# The profiles of the literature, and "inplace": markers in place, CRC by the
# host, which is "hybrid" where the NIC has no engines
# shellcheck disable=SC2034 # for users of this file
STACK_PROFILES="host assisted offload-contig offload-sg hybrid inplace"

# stack_attr NAME VALUE: of both devices
stack_attr() {
	local dev

	for dev in rda rdb; do
		echo "$2" > "/sys/class/infiniband/$dev/hybrid/$1" || return
	done
}

# stack_profile PROFILE
stack_profile() {
	if [ "$1" = inplace ]; then
		stack_attr profile hybrid && stack_attr crc host
	else
		stack_attr profile "$1"
	fi
}

# stack_markers off|INTERVAL
stack_markers() {
	if [ "$1" = off ]; then
		stack_attr markers off
	else
		stack_attr markers auto && stack_attr marker_interval "$1"
	fi
}

# stack_link basic|enhanced: copying through verbs, or the shared link
stack_link() {
	local on=0

	[ "$1" = basic ] || on=1
	modprobe -q sdp
	in_a sysctl -q -w "net.sdp.shared_link=$on" &&
		in_b sysctl -q -w "net.sdp.shared_link=$on"
}

# ------------------------------------------------------------------ counters

# counters_of a|b: "NAME VALUE" lines of SDP (sdp_*), of the iWARP device (hyb_*),
# of the NIC (nic_*, if it counts) and of the NIC's queues (net_*) there
counters_of() {
	in_"$1" sdpstat -s -z | awk '{ print "sdp_" $1, $2 }'
	in_"$1" rdma statistic show link "rd$1" | tr ' ' '\n' |
		awk '/^[a-z_]+$/ { name = $1 } /^[0-9]+$/ && name != "" { print "hyb_" name, $1; name = "" }'
	in_"$1" ethtool -S "v$1" 2>/dev/null |
		sed -nE 's/^ *([a-z0-9_]+): ([0-9]+)$/nic_\1 \2/p'
	in_"$1" ip -s -j link show "v$1" | jq -r '.[0].stats64 |
		"net_tx_packets \(.tx.packets)", "net_tx_bytes \(.tx.bytes)",
		"net_rx_packets \(.rx.packets)", "net_rx_bytes \(.rx.bytes)"'
	# shellcheck disable=SC2016 # fields of awk
	in_"$1" awk '$1 == "Tcp:" && ++n == 2 { print "tcp_tx_segs", $12; print "tcp_rx_segs", $11 }' /proc/net/snmp
}

# counters_take NAME: those of both ends now, into $COUNTERS/NAME.a and NAME.b
COUNTERS=${COUNTERS:-/tmp/counters}
counters_take() {
	mkdir -p "$COUNTERS"
	counters_of a > "$COUNTERS/$1.a"
	counters_of b > "$COUNTERS/$1.b"
}

# counters_diff a|b BEFORE AFTER: "NAME DIFFERENCE" lines
counters_diff() {
	awk 'NR == FNR { old[$1] = $2; next } { printf "%s %.0f\n", $1, $2 - old[$1] }' \
		"$COUNTERS/$2.$1" "$COUNTERS/$3.$1"
}

# counter NAME < LINES: one of them, 0 if it is not there
counter() { awk -v name="$1" '$1 == name { v = $2 } END { printf "%.0f\n", v }'; }
