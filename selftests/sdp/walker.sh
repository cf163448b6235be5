#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=900
#
# Random calls on sockets, settings, sock_diag, verbs and devices that come and go, all at
# once, see walker.py; one walk is over siw. WALK_SEED, WALK_COUNT and WALK_SECONDS: other
# walks, as many, as long.

# shellcheck disable=SC2317 # called by wait_for
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 hyb-target sdpstat ss
WALKS=${WALK_COUNT:-1}
SECS=${WALK_SECONDS:-$(scaled 15 30)}

# gone: nothing of a walk is left
gone() { no_sockets && no_queue_pairs; }

# walk SEED KIND: over devices of this kind, which are there
walk() {
	local ns

	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.fin_timeout=2 net.sdp.connect_timeout=2
	done
	ktap_check "$2, walk $1 comes to its end" timeout $((SECS + 300)) \
		/usr/bin/python3 "$(dirname "$0")/walker.py" "$1" "$SECS" "$2"
	ktap_diag "$KTAP_OUT"
	ktap_check "$2, walk $1 leaves nothing" wait_for 60 gone
	ktap_check "$2, walk $1: the devices can be removed" timeout 60 sh -c \
		"rdma link delete rda; rdma link delete rdb; ! rdma link | grep -q rd[ab]"
	net_down
}

modprobe -q -a sdp sdp_diag
SEED=${WALK_SEED:-5044}
for ((i = 0; i < WALKS; i++)); do
	dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
	walk $((SEED + i)) hybrid
done
if dev_up siw siw; then
	walk "$SEED" siw
else
	ktap_skip siw "no such device"
fi
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
