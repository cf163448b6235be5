#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every socket option of AF_SDP, compared with TCP; see sockopt.c.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-sockopt

modprobe -q sdp
net_up && dev_up hybrid hybrid || exit 1
in_a sdp-sockopt 10.0.0.1
