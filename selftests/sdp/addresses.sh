#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Advertised and requested memory is named by offset: no address of the kernel or of a
# process is on the wire. A software device would otherwise disclose kernel addresses, since
# these are the DMA addresses of its memory.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/zcopy.sh
. "$(dirname "$0")/../lib/zcopy.sh"
need python3 sdp-zcopy sdpstat
need_research

SERVER=10.0.0.2
PORT=7600
PIPELINED=1
FOUND=/tmp/addresses
LARGEST=4194304 # more than any region, so that offsets are below

# told DESCRIPTION KIND...: each kind was on the wire, with offsets only
told() {
	local desc=$1 kind

	shift
	for kind; do
		# shellcheck disable=SC2016 # awk's
		ktap_check "$desc: each $kind carries an offset as address" awk -v kind="$kind" -v max="$LARGEST" '
			$1 == kind { print; n++; far += $3 >= max }
			END { exit far || !n }' "$FOUND"
	done
}

# exchange OPTION...: both ends advertise something
exchange() {
	in_a timeout 60 /usr/bin/python3 "$(dirname "$0")/addresses.py" va \
		sdp-zcopy "$@" "$SERVER" "$PORT" > "$FOUND" ||
		ktap_fail "sdp-zcopy $*" "$(cat "$FOUND")"
}

# all [KIND] DEVICES: all kinds of advertisement, and KIND
all() {
	local name=${!#} pause dev

	# no marker in the middle of a message, which addresses.py would not find then
	for dev in rda rdb; do
		dev=/sys/class/infiniband/$dev/hybrid/markers
		[ ! -e "$dev" ] || echo off > "$dev"
	done
	# odd places, pieces of what was advertised
	exchange -n 1500000 -w 300000 -o 4321 -R 200000
	told "$name" SrcAvail "${@:1:$#-1}"
	# SinkAvail needs a reader that waits before the data comes
	for pause in 60 200 600 2000 6000; do
		exchange -n 1500000 -w 300000 -o 1234 -L "$pause"
		! grep -q SinkAvail "$FOUND" || break
	done
	told "$name, pipelined" SinkAvail
	set_both net.sdp.flow_control=rdma
	exchange -n 300000 -w 100000
	told "$name, flow control rdma" RingAvail
	set_both net.sdp.flow_control=auto
}

modprobe -q sdp
pair hybrid hybrid all ReadRequest
pair siw siw all ReadRequest
pair rxe rxe all
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
ktap_done
