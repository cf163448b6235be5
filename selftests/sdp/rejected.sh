#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# connect() to a port without a listener fails with ECONNREFUSED, also if the work requests
# of the queue pair are flushed before the connection manager reports the refusal.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run

refused() {
	in_a timeout 60 sdp-run /usr/bin/python3 -c '
import errno, socket
with socket.socket() as sock:
    print(errno.errorcode[sock.connect_ex(("10.0.0.2", 7999))])'
}

modprobe -q sdp
for kind in rxe hybrid; do
	dev_up $kind $kind || { ktap_skip "$kind" "no device"; continue; }
	ktap_is "$kind: connect() is refused" "$(refused)" ECONNREFUSED
	# delay every event, that of the address as well as that of the refusal
	hold sdp_cm_conn_handler kworker asleep=1 times=10 ms=150 || ktap_skip_all "no probes"
	ktap_is "$kind, events delayed by 150 ms: connect() is refused" "$(refused)" ECONNREFUSED
	# address and refusal; over rxe the route, too
	ktap_check "$kind: at least two events were delayed" test "$(hold_hits)" -ge 2
	hold_end
	net_down
done
ktap_done
