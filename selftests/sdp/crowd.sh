#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# More connection requests at a time than the IW CM has places for: those that find none
# are passed on when there is one again. None is refused.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run
PROG=$(dirname "$0")/crowd.py
N=60

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
start_bg b sdp-run -o /usr/bin/python3 "$PROG" serve 7900
wait_port b 7900
# the first request is looked at for a second, the others wait behind it
hold sdp_cm_listen_handler kworker asleep=1 times=1 ms=1000 || ktap_skip_all "no probes"
ktap_is "connections, beyond the backlog of 16, with the first request held" \
	"$(in_a timeout 100 sdp-run -o /usr/bin/python3 "$PROG" call 10.0.0.2 7900 $N)" \
	"$N of $N"
ktap_check "a request was held" is_held
hold_end
ktap_done
