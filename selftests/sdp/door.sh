#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SDP): an SDP socket that reports
# domain, names and addresses as a socket of the family does, and loads its module.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q -r sdp_diag
modprobe -q -r sdp
echo "TAP version 13"
/usr/bin/python3 "$(dirname "$0")/door.py"
