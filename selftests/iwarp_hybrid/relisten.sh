#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# The administrator ends the listening TCP sockets of the provider (ss -K). Their owner has
# no way to tell the programs that listen: it listens again. Nor does a connection wait for
# another one that comes, when there was no memory to take it.
#
# A program that listens at the wildcard address when there is a device gets an error if
# TCP has the port at that net device or at lo. If it listened before, the device comes all
# the same, and the program is heard when the port is free.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target sdp-echo ss python3
TOOL=$(dirname "$0")/relisten.py

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
	ktap_check "$i: a client of SDP is served" sdp_echoes 10.0.0.2 5020
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

# ------------------------------------------------------------ the port has an owner

# port_of: the port of the device for SDP at that port
port_of() { port_mapped a "$1"; }

# take ARGUMENT...: listen in a, in the background; its outcome is in $BG_LOG
take() {
	start_bg a python3 "$TOOL" "$@"
	wait_for 20 test -s "$BG_LOG"
}

# refusal ARGUMENT...: why listening fails
refusal() { in_a timeout 10 python3 "$TOOL" "$@" 2>&1; }

# sockets_at PORT: how many listening sockets of TCP there are in a
sockets_at() { in_a ss -Hlnt sport = ":$1" | wc -l; }
sockets_are() { [ "$(sockets_at "$1")" = "$2" ]; }

# client_in a|b ADDRESS PORT
client_in() { "in_$1" timeout 60 hyb-target -c -n 1 -h "$2" -p "$3"; }

dev_up hybrid hybrid
for port in 7990 "$(port_of 5021)"; do
	take tcp 0.0.0.0 "$port" lo
done
ktap_is "TCP has the port at lo: verbs fail" "$(refusal verbs 0.0.0.0 7990)" EADDRINUSE
ktap_is "TCP has the port at lo: verbs fail for both families" "$(refusal verbs :: 7990)" \
	EADDRINUSE
ktap_is "TCP has the port at lo: SDP fails" "$(refusal sdp 0.0.0.0 5021)" EADDRINUSE
ktap_is "nothing is left of those that failed" "$(sockets_at 7990)" 1
take verbs 127.0.0.1 7991
ktap_is "another port is free at a loopback address" "$(sockets_at 7991)" 1
dev_down

dev_add b rdb vb hybrid
start_bg b hyb-target -h 10.0.0.2 -p 7993
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"
# at all net devices; the port at lo is taken already
take tcp 0.0.0.0 7992
OWNER=$BG_PID
take tcp 127.0.0.1 7994
for listener in "verbs 0.0.0.0 7990" "sdp 0.0.0.0 5021" "verbs 127.0.0.1 7994" \
	"verbs :: 7995" "ib 0.0.0.0 7995"; do
	# shellcheck disable=SC2086 # words
	take $listener
	ktap_is "no device is there yet: $listener" "$(cat "$BG_LOG")" listening
done
start_bg a hyb-target -h 0.0.0.0 -p 7992
wait_for 20 said listening || ktap_fail "the target listens" "$(cat "$BG_LOG")"
ktap_check "the device comes" dev_add a rda va hybrid
ktap_check "its clients connect" client_in a 10.0.0.2 7993
stop_bg "$OWNER"
ktap_check "the port is free: the program listens there" wait_for 20 sockets_are 7992 2
ktap_check "a client connects to it" client_in b 10.0.0.1 7992
ktap_check "a client on its own host does" client_in a 10.0.0.1 7992
take tcp 0.0.0.0 7996 lo
ktap_is "a program that listens now gets an error" "$(refusal verbs 0.0.0.0 7996)" EADDRINUSE
for pid in "${LIB_PIDS[@]}"; do
	[ ! -d "/proc/$pid" ] || stop_bg "$pid"
done
ktap_check "the device can be removed" dev_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
