# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Parts of a connection (sourced after lib.sh): placement of components,
# link between SDP and the device, counters of all layers. For connections made
# afterwards, between the devices rda and rdb on va and vb.

# The profiles of the literature. "inplace" is "hybrid" with the CRC on the host, that is,
# what "hybrid" does on a NIC without engines.
# shellcheck disable=SC2034 # for users of this file
STACK_PROFILES="host assisted offload-contig offload-sg hybrid inplace"

# stack_attr NAME VALUE: set an attribute of both devices
stack_attr() {
	local dev

	for dev in rda rdb; do
		echo "$2" > "/sys/class/infiniband/$dev/hybrid/$1" || return
	done
}

# stack_profile PROFILE: one of STACK_PROFILES, at both devices
stack_profile() {
	if [ "$1" = inplace ]; then
		stack_attr profile hybrid && stack_attr crc host
	else
		stack_attr profile "$1"
	fi
}

# stack_markers off|INTERVAL: set the marker interval in bytes, or no markers, at both
# devices
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

# counters_take NAME: write the counters of both ends to $COUNTERS/NAME; counters.awk
# reads it
COUNTERS=${COUNTERS:-/tmp/counters}
counters_take() {
	local end

	[ -d "$COUNTERS" ] || mkdir -p "$COUNTERS"
	{
		for end in a b; do
			echo "@ $end sdp"
			in_$end sdpstat -s -z
			echo "@ $end nic"
			in_$end ethtool -S v$end 2>/dev/null
		done
		echo "@ - hyb"
		grep . /sys/class/infiniband/rd[ab]/ports/1/hw_counters/*
	} > "$COUNTERS/$1"
}

# counters_diff a|b BEFORE AFTER NAME...: the increase of each, one line each
counters_diff() {
	awk -v want="$1 ${*:4}" -f "$LIB_DIR/counters.awk" -e 'END {
		n = split(want, name, " ")
		for (i = 2; i <= n; i++)
			printf "%.0f\n", d[name[1], name[i]]
	}' "$COUNTERS/$2" "$COUNTERS/$3"
}
