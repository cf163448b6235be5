#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The administrator ends the listening TCP sockets of the provider (ss -K). Their owner has
# no way to tell the programs that listen: it listens again. Nor does a connection wait for
# another one that comes, when there was no memory to take it.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target sdp-echo ss

client() { in_a timeout 60 hyb-target -c -n 1 -h 10.0.0.2 -p 7971; }

# listeners: how many listening sockets of TCP there are
listeners() { in_b ss -Hlnt | wc -l; }

# listen_as_before
listen_as_before() { [ "$(listeners)" = "$BEFORE" ]; }

# end_listeners: all of them
end_listeners() {
	in_b ss -HKlnt >/run/ended
	[ "$(wc -l </run/ended)" = "$BEFORE" ]
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
start_bg b hyb-target -h 10.0.0.2 -p 7971
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"
start_bg b sdp-echo -s -h 0.0.0.0 -p 5020
ECHO=$BG_PID
wait_for 20 said listening || ktap_fail "the server of SDP listens" "$(cat "$BG_LOG")"
BEFORE=$(listeners)
ktap_check "a client is served" client
for i in 1 2 3; do
	end_listeners || ktap_skip_all "no SOCK_DESTROY: $(cat /run/ended)"
	ktap_check "$i: as many sockets listen again" wait_for 20 listen_as_before
	ktap_check "$i: a client is served" client
	ktap_check "$i: a client of SDP is served" in_a timeout 20 sh -c \
		"sdp-echo -h 10.0.0.2 -p 5020 & sleep 1; kill \$!; wait \$!"
done
if hold kernel_accept kworker asleep=1 ret=-12; then
	ktap_check "no memory to take a connection: the client is served a little later" client
	ktap_is "there was none once" "$(hold_hits)" 1
	hold_end
else
	ktap_skip "no memory to take a connection" "no probes"
fi
stop_bg "$ECHO"
stop_bg "$TARGET"
ktap_is "no socket listens any more" "$(listeners)" 0
ktap_check "the devices can be removed" dev_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
