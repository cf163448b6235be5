#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# SDP over hybrid devices with the settings of markers, marker interval and CRC, over both
# kinds of link of SDP, with several MTUs: each combination moves data both ways, compared
# byte by byte. Messages between hybrid and siw with each setting of markers.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run xfer hyb-target

SERVER=10.0.0.2
SIZE=$(scaled 300000 100000)

# set_option DEVICE NAME VALUE
set_option() {
	echo "$3" > "/sys/class/infiniband/$1/hybrid/$2"
}

# transfer NAME: transfers over each kind of link that there is
transfer() {
	local link

	for link in "${LINKS[@]}"; do
		[ "$link" = any ] || in_both sysctl -qw net.sdp.shared_link="$link"
		ktap_check "$1, shared link $link: all data arrives unchanged" in_a sdp-run xfer \
			-h $SERVER -p 5010 -n "$SIZE" -d "$SIZE" -w 0 -R 0 \
			-o eof -t 60
	done
}

in_both() { in_a "$@" && in_b "$@"; }

# with_markers CLIENT SERVER
with_markers() {
	set_option rda markers "$1"
	set_option rdb markers "$2"
	transfer "MTU $NET_MTU, markers $1 at the client, $2 at the server"
}

# with_interval INTERVAL: set it at the client, whose interval decides
with_interval() {
	set_option rda marker_interval "$1"
	set_option rda markers auto
	set_option rdb markers auto
	transfer "MTU $NET_MTU, marker interval $1"
	set_option rda marker_interval 512
}

crc_bytes() { cat /sys/class/infiniband/rd[ab]/ports/1/hw_counters/[tr]x_crc_bytes; }

with_crc() {
	local before

	before=$(crc_bytes)
	set_option rda crc 0
	transfer "MTU $NET_MTU, one side wants no CRC"
	ktap_is "MTU $NET_MTU, one side's request for CRC is enough: each counter of CRC bytes rises" \
		"$(paste <(echo "$before") <(crc_bytes) | awk '$1 == $2' | wc -l)" 0
	set_option rdb crc 0
	before=$(crc_bytes)
	transfer "MTU $NET_MTU, no side wants CRC"
	ktap_is "MTU $NET_MTU, no side wants CRC: no counter of CRC bytes rises" "$(crc_bytes)" "$before"
}

# run_mtu [full]: "full" for all combinations, else those that differ most
run_mtu() {
	local pair pairs=("auto auto" "on off" "off on") intervals="256 16384"

	if [ "${1-}" = full ]; then
		pairs+=("off off" "on on" "auto on" "on auto" "auto off" "off auto")
		intervals="256 1024 2048 4096 8192 16384"
	fi
	net_up
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	modprobe -q sdp
	LINKS=(any)
	[ -e /proc/sys/net/sdp/shared_link ] && LINKS=(0 1)
	start_bg b sdp-run xfer -s -h $SERVER -p 5010
	wait_for 20 said listening
	for pair in "${pairs[@]}"; do
		with_markers "${pair% *}" "${pair#* }"
	done
	for pair in $intervals; do
		with_interval "$pair"
	done
	with_crc
	stop_bg "$BG_PID"
	net_down
}

# messages NAME yes|no: whether a verbs client in a can exchange messages with the target in b
messages() {
	if in_a timeout 60 hyb-target -c -n 10 -h $SERVER -p 7900 >/dev/null; then
		ktap_is "$1: messages pass: $2" yes "$2"
	else
		ktap_is "$1: messages pass: $2" no "$2"
	fi
}

# run_siw CLIENT SERVER DEVICE: siw has no markers. With "auto" the hybrid DEVICE connects to
# it, with "on" it rejects the connection, at either side.
run_siw() {
	dev_up "$1" "$2" || ktap_fail "devices $1 and $2"
	start_bg b hyb-target -h $SERVER -p 7900
	wait_for 20 said listening
	messages "$1 to $2, markers auto" yes
	set_option "$3" markers on
	messages "$1 to $2, markers on" no
	set_option "$3" markers off
	messages "$1 to $2, markers off" yes
	stop_bg "$BG_PID"
	net_down
}

run_siw hybrid siw rda
ktap_check "the kernel's log says that markers are on" \
	sh -c "dmesg | grep -q 'rejects a connection for which markers are on'"
run_siw siw hybrid rdb
NET_MTU=1500
run_mtu full
# 1283 leaves TCP no multiple of 4
for NET_MTU in 1280 1283 4000 9000 65535; do
	run_mtu
done
ktap_done
