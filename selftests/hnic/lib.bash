# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library of the tests of SDP over hnic: devices, transfers, settings, counters.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"

need sdp-run xfer ethtool rdma
export NET_LINK=hnic
# shellcheck disable=SC2034 # for files that source this
PROFILES="host assisted offload-contig offload-sg hybrid"
SERVER=10.0.0.2
port=5300
modprobe -q sdp

# start: set up the link, with a hybrid device that wants markers at both ends
start() {
	if ! net_up || ! dev_up hybrid hybrid || ! attr markers on; then
		ktap_skip_all "no devices"
	fi
}

# knob a|b FILE VALUE, both FILE VALUE: set a parameter of the link at one end, at both ends
knob() { "in_$1" sh -c "echo '$3' >/sys/class/net/v$1/hnic/$2"; }
both() { knob a "$1" "$2" && knob b "$1" "$2"; }

# attr FILE VALUE: set an attribute of both RDMA devices
attr() {
	echo "$2" >"/sys/class/infiniband/rda/hybrid/$1" &&
		echo "$2" >"/sys/class/infiniband/rdb/hybrid/$1"
}

# flag NAME on|off: switch an engine of both NICs
flag() {
	in_a ethtool --set-priv-flags va "$1" "$2" &&
		in_b ethtool --set-priv-flags vb "$1" "$2"
}

# serve: start xfer as a server in b, on another port than before
serve() {
	port=$((port + 1))
	start_bg b sdp-run xfer -s -h "$SERVER" -p "$port"
	SERVER_PID=$BG_PID
	wait_for 30 said listening
}

# transfer BYTES: both ways, compared; prints the messages of both ends
transfer() {
	local rc

	serve || return
	in_a timeout 90 sdp-run xfer -h "$SERVER" -p "$port" -n "$1" -d "$1" -t 80
	rc=$?
	stop_bg "$SERVER_PID"
	cat "$BG_LOG"
	return $rc
}

# snapshot: keep the counters of the NIC of a. grew|same DESCRIPTION COUNTER: compare one with it
stat_of() { "in_$1" ethtool -S "v$1" | awk -v n="$2:" '$1 == n { print $2 }'; }
was() { awk -v n="$1:" '$1 == n { print $2 }' /tmp/before; }
snapshot() { in_a ethtool -S va >/tmp/before; }
grew() { ktap_check "$1" test "$(stat_of a "$2")" -gt "$(was "$2")"; }
same() {
	local before

	before=$(was "$2")
	ktap_is "$1" "$(stat_of a "$2")" "${before:-no counter $2}"
}

# hyb_mark; hyb_most DESCRIPTION COUNTER PERCENT: of the bytes whose CRC was checked at device a
# since hyb_mark, at least PERCENT are in COUNTER: rx_crc_bytes (software), rx_nic_bytes (the NIC)
hyb_of() { cat "/sys/class/infiniband/rda/ports/1/hw_counters/$1"; }
hyb_mark() { HYB_CRC=$(hyb_of rx_crc_bytes) HYB_NIC=$(hyb_of rx_nic_bytes); }
hyb_most() {
	local crc nic this

	crc=$(($(hyb_of rx_crc_bytes) - HYB_CRC)) nic=$(($(hyb_of rx_nic_bytes) - HYB_NIC))
	this=$crc
	[ "$2" != rx_nic_bytes ] || this=$nic
	ktap_check "$1 ($crc by software, $nic by the NIC)" \
		test "$this" -ge $(((crc + nic) * $3 / 100)) -a "$this" -gt 0
}
