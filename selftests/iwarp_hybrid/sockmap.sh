#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A BPF program puts TCP connections into a sockmap as soon as they are established, also
# those of the provider. One that came in is refused then, others are the provider's.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target python3

PROG=$(dirname "$0")/sockmap.py
CGROUP=/run/cgroup2
FIFO=/run/sockmap

# attach OP: until detach
attach() {
	mkfifo $FIFO
	start_bg host sh -c "exec python3 $PROG $CGROUP $1 <$FIFO"
	ATTACHED=$BG_PID
	exec 6>$FIFO
	wait_for 20 said attached
}

detach() {
	exec 6>&-
	wait "$ATTACHED"
	rm $FIFO
}

client() { in_a timeout 60 hyb-target -c -n 1 -h 10.0.0.2 -p 7971; }

mkdir -p $CGROUP
mount -t cgroup2 none $CGROUP || ktap_skip_all "no cgroup2"
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-target -h 10.0.0.2 -p 7971
TARGET=$BG_PID
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"
ktap_check "a client is served" client

attach 4 || ktap_skip_all "no sockmap: $(cat "$BG_LOG")"
ktap_check "a client whose sockets go to a sockmap is served" client
detach
attach 5
ktap_check_fails "a client whose connection came in to a sockmap is refused" client
detach
ktap_is "no socket of it is left" "$(in_b ss -Hnto state established sport = :7971)" ""
ktap_check "a client is served again" client
stop_bg "$TARGET"
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
umount $CGROUP
ktap_done
