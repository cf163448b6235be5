#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# hnic: addresses of a new pair, the padding of short frames, filters by traffic
# class, the hash switched off, wrong numbers for a file in sysfs.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need ethtool python3
NET_LINK=hnic
TOOL=$(dirname "$0")/details.py

mac() { "in_$1" cat "/sys/class/net/v$1/address"; }
knob() { "in_$1" cat "/sys/class/net/v$1/hnic/$2"; }
set_knob() { "in_$1" sh -c "echo '$3' >/sys/class/net/v$1/hnic/$2"; }
stat_of() { "in_$1" ethtool -S "v$1" | awk -v n="$2:" '$1 == n { print $2 }'; }

# ------------------------------------------------------------------ addresses

modprobe hnic
ktap_check "an address for one end is accepted" ip link add ha address 02:00:00:00:00:11 type hnic
ktap_is "the end has the address" "$(cat /sys/class/net/ha/address)" 02:00:00:00:00:11
ktap_check "the other end has another address" \
	grep -qvx 02:00:00:00:00:11 "/sys/class/net/$(ip -o link show type hnic |
		sed -n 's/^[0-9]*: \(hnic[0-9]*\)@.*/\1/p')/address"
ip link del ha
ktap_check "addresses for both ends are accepted" ip link add ha address 02:00:00:00:00:11 type hnic \
	peer name hb address 02:00:00:00:00:22
ktap_is "both ends have their addresses" "$(cat /sys/class/net/h[ab]/address | tr '\n' ' ')" \
	"02:00:00:00:00:11 02:00:00:00:00:22 "
ip link del ha

# -------------------------------------------------------------------- padding

net_up || ktap_skip_all "no links"

# padded KNOB TEXT: of a padded frame with TEXT, TEXT alone arrives as TCP payload
padded() {
	set_knob a "$1" 1000000
	start_bg b python3 "$TOOL" payload
	wait_for 20 said watching
	in_a python3 "$TOOL" frame "$(mac a)" "$(mac b)" "$2"
	wait_for 10 said payload
	ktap_is "$1, $((54 + ${#2})) bytes and padding" \
		"$(sed -n 's/^payload //p' "$BG_LOG")" "'$2'"
	stop_bg "$BG_PID"
	set_knob a "$1" 0
}

padded split ""
padded split abc
padded fault_corrupt ""
ktap_is "a packet without payload is not damaged" "$(stat_of a link_corrupted)" 0

# ------------------------------------------------------------ filters and hash

ktap_check "a filter by traffic class is accepted" in_b ethtool -N vb flow-type udp6 \
	dst-port 9 tclass 0x20 m 0x03 action -1
before=$(stat_of b rx_engine_dropped_ntuple)
for class in 0 0x20 0x21 0x40; do
	in_a python3 "$TOOL" tclass $class
done
ktap_check "a packet that no filter matches passes" in_a ping -c 1 fd00::2
ktap_is "packets of the filtered class are dropped" $(($(stat_of b rx_engine_dropped_ntuple) - before)) 2

# RX_CLS_LOC_LAST, a special value like RX_CLS_LOC_FIRST and RX_CLS_LOC_ANY
ktap_is "a filter at the last place is refused" "$(in_b ethtool -N vb flow-type udp4 \
	dst-port 9 action -1 loc 4294967293 2>&1)" \
	"rmgr: Cannot insert RX class rule: Invalid argument"
ktap_is "there is one filter" "$(in_b ethtool -n vb | grep -c '^Filter:')" 1

# hash_is on|off RESULT
hash_is() {
	in_b ethtool -K vb rxhash "$1"
	start_bg b python3 "$TOOL" hash
	wait_for 20 said watching
	in_a bash -c 'printf xyz >/dev/udp/10.0.0.2/9000'
	wait_for 10 grep -q 'hash\|none' "$BG_LOG"
	ktap_is "rxhash $1" "$(tail -n1 "$BG_LOG")" "$2"
	stop_bg "$BG_PID"
}
hash_is on hash
hash_is off none

# ------------------------------------------------------------ numbers in sysfs

refused() { ktap_check_fails "$1 refuses '$2'" set_knob a "$1" "$2"; }
refused path_delay 4294967296
refused path_delay "1 4294967297"
refused path_delay -1
refused path_delay "1 2x"
refused path_delay ""
refused queue_cpus 4294967296
refused queue_cpus "0 y"
set_knob a paths 3
ktap_check "path_delay accepts numbers" set_knob a path_delay "10  20"
ktap_is "the file shows them" "$(knob a path_delay)" "10 20 0"
ktap_check "queue_cpus accepts numbers" set_knob a queue_cpus "0"
ktap_is "the file shows them" "$(knob a queue_cpus | cut -d' ' -f1)" 0
ktap_done
