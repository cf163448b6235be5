#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Messages between hybrid and siw, captured on the wire and decoded by
# independent programs: every FPDU has a good CRC, every marker is at its place
# and points to its FPDU, also where the NIC has made them. The guest captures,
# capture.host decodes on the host what is left in $OUT.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
# shellcheck source=selftests/lib/stack.sh
. "$(dirname "$0")/../lib/stack.sh"
# shellcheck source=selftests/interop/dump.bash
. "$(dirname "$0")/dump.bash"
need tcpdump sdp-run xfer hyb-target ethtool tc
need_research
NETEM=

# serve COMMAND...: start a server in b, wait until it listens
serve() {
	start_bg b "$@"
	SERVER=$BG_PID
	wait_for 20 said listening
}

# devices NAME CLIENT-KIND SERVER-KIND MARKERS [INTERVAL]
devices() {
	local dev

	dev_up "$2" "$3" || {
		ktap_fail "$1: the devices are set up"
		return 1
	}
	for dev in rda rdb; do
		dev=/sys/class/infiniband/$dev/hybrid
		[ -e $dev/markers ] || continue
		echo "$4" > $dev/markers
		echo "${5:-512}" > $dev/marker_interval
	done
	# capture the packets of the wire, not what the stack passes on in one piece
	for dev in "a va" "b vb"; do
		ip netns exec "${dev% *}" ethtool -K "${dev#* }" \
			tso off gso off gro off >/dev/null 2>&1
	done
}

# capture NAME CLIENT-KIND SERVER-KIND MARKERS [INTERVAL]: SDP in both directions; packets
# of the client pass a qdisc netem with the options NETEM
capture() {
	devices "$@" || return
	dump_start "$1"
	[ -z "$NETEM" ] || in_a sh -c "tc qdisc add dev va root netem $NETEM"
	serve sdp-run -o xfer -s -h 10.0.0.2 -p 5010
	ktap_check "$1: a transfer works" in_a sdp-run -o xfer -h 10.0.0.2 -p 5010 \
		-n 300000 -d 300000 -w 0 -R 0 -o eof -t 60
	dump_stop
	stop_bg "$SERVER"
	net_down
}

# messages NAME MARKERS [INTERVAL]: single messages, each in a segment of its own
messages() {
	devices "$1" hybrid hybrid "$2" "${3-}" || return
	dump_start "$1"
	serve hyb-target -h 10.0.0.2 -p 7900
	ktap_check "$1: messages pass" in_a hyb-target -c -n 100 -h 10.0.0.2 -p 7900
	dump_stop
	stop_bg "$SERVER"
	net_down
}

# nic_made NAME PROFILE: the NIC of a completes packets of a as the profile says; the host of b
# completes those of b. b captures: there the NIC of a has completed the packets, and GRO has
# not merged them yet.
nic_made() {
	local n

	stack_attr markers on
	echo "$2" > /sys/class/infiniband/rda/hybrid/profile
	echo host > /sys/class/infiniband/rdb/hybrid/profile
	in_a ethtool -K va tso on gso on > /dev/null
	n=$(in_a ethtool -S va | awk '$1 == "tx_engine_crc_bytes:" { print $2 }')
	dump_start "$1" b
	serve sdp-run -o xfer -s -h 10.0.0.2 -p 5010
	ktap_check "$1: a transfer works" in_a sdp-run -o xfer -h 10.0.0.2 -p 5010 \
		-n 300000 -d 300000 -w 0 -R 0 -o eof -t 60
	dump_stop
	stop_bg "$SERVER"
	dump_start "$1-messages" b
	serve hyb-target -h 10.0.0.2 -p 7900
	ktap_check "$1: messages pass" in_a hyb-target -c -n 100 -h 10.0.0.2 -p 7900
	dump_stop
	stop_bg "$SERVER"
	n=$(($(in_a ethtool -S va | awk '$1 == "tx_engine_crc_bytes:" { print $2 }') - n))
	ktap_check "$1: the NIC has computed CRCs of $n bytes" test "$n" -gt 300000
}

# aligned NAME MTU...: RDMA Writes with each MTU over hnic, which cuts the large packets of TCP;
# captured where they arrive
aligned() {
	local mtu name=$1

	shift
	dump_start "$name" b
	kt_do a "$name" open 10.0.0.2 7800 1
	for mtu; do
		ip -n a link set va mtu "$mtu"
		ip -n b link set vb mtu "$mtu"
		kt_do a "$name, MTU $mtu" write 65536 16
	done
	kt_tell a close
	dump_stop
}

# segments: FPDUs begin where segments begin, although the NIC cuts the packets
segments() {
	NET_LINK=hnic
	if ! dev_up hybrid hybrid || ! kt_load ulp_load; then
		ktap_fail "hybrid devices over hnic, and a load"
		return
	fi
	in_b ethtool -K vb gro off
	# a rate at which tcpdump captures all
	in_a sh -c "echo 20 >/sys/class/net/va/hnic/rate"
	ktap_check "segmentation by the NIC (TSO) is on" \
		sh -c "ip netns exec a ethtool -k va | grep 'tcp-seg.*: on'"
	kt_tell b listen 10.0.0.2 7800
	aligned aligned 1500
	aligned aligned-mtu 1500 1280 1500
	# TCP has 1398 bytes in a segment, FPDUs are multiples of 4
	aligned aligned-odd 1450 1500 1283
}

capture hybrid-siw hybrid siw auto
capture siw-hybrid siw hybrid auto
NETEM="delay 6ms reorder 70% 50%"
capture siw-reordered siw hybrid auto
NETEM=
capture hybrid-hybrid hybrid hybrid off
capture hybrid-markers hybrid hybrid auto
capture hybrid-markers-256 hybrid hybrid on 256
capture hybrid-markers-16384 hybrid hybrid auto 16384
NET_MTU=1283	# no multiple of 4 is left for TCP
capture hybrid-markers-odd hybrid hybrid auto
NET_MTU=1500
messages hybrid-messages auto
# shellcheck disable=SC2034 # net_up reads it
NET_LINK=hnic
modprobe -q sdp
devices nic hybrid hybrid on && for profile in offload-contig offload-sg hybrid; do
	nic_made nic-$profile $profile
done
net_down
segments
ktap_done
