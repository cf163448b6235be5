#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The variants of the literature, which SDP_RESEARCH=n leaves out: with them each can
# be selected; without them each attempt has an error of its own and changes nothing,
# and connections work over both links.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run sdpstat xfer jq
PORT=7970

# option VALUE: what setsockopt(SDP_FLOW_CONTROL) says
option() {
	in_a python3 -c '
import os, socket, sys
SOL_SDP, SDP_FLOW_CONTROL = 1027, 5
with socket.socket(27, socket.SOCK_STREAM) as sock:
    try:
        sock.setsockopt(SOL_SDP, SDP_FLOW_CONTROL, int(sys.argv[1]))
        print(sock.getsockopt(SOL_SDP, SDP_FLOW_CONTROL))
    except OSError as err:
        print(f"{os.strerror(err.errno)}: {sock.getsockopt(SOL_SDP, SDP_FLOW_CONTROL)}")
' "$1"
}

# setting NAME VALUE: what a write to net.sdp.NAME says, and the value afterwards
setting() {
	in_a sh -c "echo $2 >/proc/sys/net/sdp/$1" 2>&1 | sed 's/.*: //'
	in_a cat "/proc/sys/net/sdp/$1"
}

# attr NAME VALUE: what a write to the attribute of the device says, and the value
attr() {
	in_a sh -c "echo $2 >/sys/class/infiniband/rda/hybrid/$1" 2>&1 | sed 's/.*: //'
	in_a cat "/sys/class/infiniband/rda/hybrid/$1"
}

# tells NAME VALUES: the kernel's log has them when a value is refused; not each time
tells() {
	local before

	before=$(dmesg | grep -c "rda: $1 takes: $2\$")
	refused_and_logged() {
		attr "$1" nonsense >/dev/null
		[ "$(dmesg | grep -c "rda: $1 takes: $2\$")" -gt "$before" ]
	}
	ktap_check "the log says: $1 takes: $2" wait_for 20 refused_and_logged "$@"
}

# transfer WHAT: 1 MB, both ends with the settings as they are
transfer() {
	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h 10.0.0.2 -p $PORT
	wait_for 30 said listening
	ktap_check "$1: 1 MB arrives" in_a sdp-run xfer -h 10.0.0.2 -p $PORT -t 60 -m block \
		-n 1048576
	stop_bg "$BG_PID"
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
# blanks alone, an unknown word, two words
for value in "' '" nonsense "'auto credit'"; do
	ktap_is "net.sdp.flow_control refuses $value" "$(setting flow_control "$value")" \
		"Invalid argument"$'\n'auto
done
if has_research; then
	ktap_diag "built with the variants"
	ktap_is "SDP_FLOW_CONTROL takes rdma" "$(option 3)" 3
	ktap_is "SDP_FLOW_CONTROL takes vwin" "$(option 4)" 4
	for s in "flow_control rdma" "flow_control vwin" "rdma_progress app" \
		"rdma_immediate 1" "zcopy_pipelined 1"; do
		# shellcheck disable=SC2086 # two words
		ktap_is "net.sdp.${s% *} takes ${s#* }" "$(setting $s)" "${s#* }"
	done
	in_a sysctl -q -w net.sdp.flow_control=auto net.sdp.rdma_progress=kernel
	ktap_is "tx_payload takes reference" "$(attr tx_payload reference)" reference
	ktap_is "profile takes offload-sg" "$(attr profile offload-sg)" offload-sg
	ktap_is "profile takes hybrid" "$(attr profile hybrid)" hybrid
	attr tx_payload copy >/dev/null
	tells marker_placement "copy, inplace, sg, contig"
	tells tx_payload "copy, reference"
else
	ktap_diag "built without the variants"
	ktap_is "SDP_FLOW_CONTROL refuses rdma" "$(option 3)" "Operation not supported: 0"
	ktap_is "SDP_FLOW_CONTROL refuses vwin" "$(option 4)" "Operation not supported: 0"
	for s in "flow_control rdma auto" "flow_control vwin auto" \
		"rdma_progress app kernel" "rdma_immediate 1 0" "zcopy_pipelined 1 0"; do
		# shellcheck disable=SC2086 # three words
		set -- $s
		ktap_is "net.sdp.$1 refuses $2" "$(setting "$1" "$2")" \
			"Invalid argument"$'\n'"$3"
	done
	ktap_is "tx_payload refuses reference" "$(attr tx_payload reference)" \
		"Operation not supported"$'\n'copy
	for s in offload-sg offload-contig; do
		ktap_is "profile refuses $s" "$(attr profile $s)" \
			"Operation not supported"$'\n'hybrid
	done
	tells profile "host, assisted, hybrid"
	tells marker_placement "copy, inplace"
	tells tx_payload copy
fi
ktap_is "SDP_FLOW_CONTROL takes credit" "$(option 2)" 2
ktap_is "SDP_FLOW_CONTROL takes transport" "$(option 5)" 5
transfer "shared link"
in_a sysctl -q -w net.sdp.shared_link=0
transfer "verbs link"
in_a sysctl -q -w net.sdp.zcopy_threshold=16384
in_b sysctl -q -w net.sdp.zcopy_threshold=16384
transfer "verbs link, zero copy"
ktap_done
