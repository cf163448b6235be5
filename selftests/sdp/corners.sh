#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# Corner cases of stream sockets, one after the other over TCP and over SDP,
# with both kinds of link, over a plain device and over one with engines: SDP
# does what TCP does.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

PROG=$(dirname "$0")/corners.py
LIMIT=$(scaled 300 1000)	# seconds, for all cases of one kind

# same PREFIX: each as over TCP
same() {
	local name tcp sdp

	while IFS='|' read -r name tcp sdp; do
		ktap_diag "over TCP: $tcp"
		ktap_is "$1: $name" "$sdp" "$tcp"
	done < <(paste -d '|' <(sed 's/: /|/' /run/tcp) <(sed 's/[^:]*: //' /run/sdp))
}

# cases PREFIX
cases() {
	timeout "$LIMIT" /usr/bin/python3 "$PROG" 257 7700 >/run/sdp ||
		ktap_fail "$1: corners.py" "$(cat /run/sdp)"
	same "$1"
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
if ! timeout "$LIMIT" /usr/bin/python3 "$PROG" 0 7600 >/run/tcp; then
	ktap_fail "corners.py over TCP" "$(cat /run/tcp)"
	ktap_done
	exit
fi
cases "shared link"
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.shared_link=0
done
cases "verbs link"
net_down
export NET_LINK=hnic
dev_up hybrid hybrid || ktap_skip_all "no simulated NIC"
cases "simulated NIC"
ktap_done
