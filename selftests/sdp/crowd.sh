#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# More connection requests at a time than the IW CM has places for: a request that finds
# none is passed on when a place is free again. None is refused.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run
PROG=$(dirname "$0")/crowd.py
N=60

# crowd NAME PORT BACKLOG...: N clients connect at a time; the handler of the first request is
# held for a second, and the other requests wait for it
crowd() {
	start_bg b sdp-run -o /usr/bin/python3 "$PROG" serve "${@:2}"
	wait_for 20 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
	hold sdp_cm_listen_handler kworker asleep=1 times=1 ms=1000 ||
		ktap_skip_all "no probes"
	ktap_is "$1: all of $N connections are established while the first request is held" \
		"$(in_a timeout 100 sdp-run -o /usr/bin/python3 "$PROG" call 10.0.0.2 "$2" $N)" \
		"$N of $N"
	ktap_check "$1: a request was held" is_held
	hold_end
	stop_bg "$BG_PID"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
crowd "a backlog of 16" 7900 16
net_down
# siw does not try again: the requests need places
dev_up siw siw || ktap_skip_all "no siw"
crowd "siw, two listeners, the first with a backlog of 1" 7901 1 200
ktap_done
