#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=360
#
# The guest works: namespaces, siw, a ping, rping, files for the host.
. "$(dirname "$0")/../lib/lib.sh"

ktap_plan 8
net_up
ktap_check "ping reaches the peer" in_a ping -c1 -W2 10.0.0.2
ktap_check "siw devices can be made" dev_up siw siw
# More than one: siw could miss the first message of a connection (siw.sed)
for port in {7174..7178}; do
	start_bg b rping -s -a 10.0.0.2 -p "$port" -C 10
	wait_port b "$port"
	ktap_check "rping to port $port succeeds" \
		in_a timeout 60 rping -c -a 10.0.0.2 -p "$port" -C 10
done
ktap_check "files for the host are kept" cp /proc/version "$OUT/version"
ktap_done
