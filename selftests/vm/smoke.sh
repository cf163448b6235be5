#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=60
#
# Does the guest work: namespaces, siw, a ping, rping, files for the host?
. "$(dirname "$0")/../lib/lib.sh"

ktap_plan 4
net_up
ktap_check "ping" in_a ping -c1 -W2 10.0.0.2
ktap_check "siw devices" dev_up siw siw
start_bg b rping -s -a 10.0.0.2 -C 10
wait_port b 7174
ktap_check "rping" in_a timeout 20 rping -c -a 10.0.0.2 -C 10
ktap_check "files for the host" cp /proc/version "$OUT/version"
ktap_done
