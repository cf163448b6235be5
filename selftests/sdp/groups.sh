#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# net.sdp.group_range: the groups whose members may open SDP sockets. A program that may not
# is one of TCP under sdp-run. Landlock's rules for TCP do not reach the TCP socket of an SDP
# socket with SDP_FALLBACK: this setting and net.sdp.fallback close that way.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdp-run
# sdp-run: with TCP, too
unset LIBSDP_ONLY
PROG=$(dirname "$0")/groups.py
RANGE=net.sdp.group_range

# opens GROUP[,GROUP...] KIND: what a process of these groups gets
opens() { in_a setpriv --regid "${1%%,*}" --groups "$1" python3 "$PROG" open "$2"; }
# all_kinds GROUPS RESULT NAME: socket() of each kind has that result for these groups
all_kinds() {
	local kind

	for kind in family family6 door door6; do
		ktap_is "$3: socket() of kind $kind: $2" "$(opens "$1" $kind)" "$2"
	done
}

modprobe -q sdp
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
ktap_is "all groups are in the range at first" \
	"$(in_a cat /proc/sys/net/sdp/group_range | tr '\t' ' ')" "0 4294967294"
all_kinds 4294967294 ok "the last group"
in_a sysctl -qw "$RANGE=100 200"
all_kinds 99 EACCES "a group below the range"
all_kinds 201 EACCES "a group above it"
all_kinds 100 ok "the lowest group"
all_kinds 200 ok "the highest group"
all_kinds 50,150 ok "a further group in it"
all_kinds 0 EACCES "root"
ktap_is "another namespace has its own range" \
	"$(in_b setpriv --regid 50 --groups 50 python3 "$PROG" open door)" ok
ktap_is "TCP sockets are open to a group outside of the range" "$(opens 50 tcp)" ok
ktap_is "a range without an end is refused" \
	"$(in_a sysctl -w "$RANGE=100 4294967295" 2>&1 | grep -c 'Invalid argument')" 1
ktap_is "a user namespace that lacks the groups cannot set them" \
	"$(unshare -Urn sh -c "echo 100 200 >/proc/sys/net/sdp/group_range" 2>&1 | grep -c 'Invalid argument')" 1
ktap_is "a refused range changes nothing" \
	"$(in_a cat /proc/sys/net/sdp/group_range | tr '\t' ' ')" "100 200"

# a listener from before a change of the range still accepts
in_b sysctl -qw "$RANGE=0 0"
start_bg b python3 "$PROG" serve 7990
wait_for 30 said listening || ktap_fail "the server listens" "$(cat "$BG_LOG")"
in_b sysctl -qw "$RANGE=1 0"
ktap_is "a range without groups: root opens no SDP socket" "$(in_b python3 "$PROG" open door)" EACCES
ktap_is "a range without groups can be read" "$(in_b cat /proc/sys/net/sdp/group_range | tr '\t' ' ')" "1 0"
ktap_is "a listener from before accepts" \
	"$(in_a setpriv --regid 100 --groups 100 python3 "$PROG" ask 10.0.0.2 7990)" served

# kind GROUP COMMAND...: the kind of a stream socket, SDP or TCP, for that group, under COMMAND
kind() { in_a setpriv --regid "$1" --groups "$1" "${@:2}" python3 "$PROG" kind; }
for run in sdp-run "sdp-run -s"; do
	# shellcheck disable=SC2086
	ktap_is "$run: SDP for the group" "$(kind 100 $run)" SDP
	# shellcheck disable=SC2086
	ktap_is "$run: other groups get TCP" "$(kind 50 $run 2>&1 | tail -n 1)" TCP
done

ktap_is "sdp-run names the sysctl to others" \
	"$(kind 50 sdp-run 2>&1 | sed -n 's/^sdp-run: \(net.sdp.group_range\) .*/\1/p')" \
	net.sdp.group_range
ktap_is "the library names the sysctl, once for all sockets" \
	"$(in_a setpriv --regid 50 --groups 50 sdp-run -v python3 "$PROG" late 50 2>&1 |
		grep -c '^libsdp: .*: no SDP sockets: net.sdp.group_range')" 1
in_a sysctl -qw "$RANGE=1000 1000"
ktap_is "sdp-run: SDP for a program from when it enters the group" \
	"$(in_a sdp-run python3 "$PROG" late 1000 2>/dev/null)" "TCP SDP"
in_a sysctl -qw "$RANGE=100 200"
# shellcheck disable=SC2016 # for the inner shell
said=$(in_a setpriv --regid 100 --groups 100 \
	sh -c 'ulimit -n 20 && sdp-run -v python3 "$0" full' "$PROG" 2>&1)
ktap_is "too many files are no reason to continue with TCP" \
	"$(tail -n 1 <<<"$said") $(grep -c 'no SDP sockets' <<<"$said")" "EMFILE 0"

# becomes GROUP GROUPS GROUP GROUPS: what a program gets that takes the latter after sdp-run -s
# has started it with the former
becomes() {
	in_a setpriv --regid "$1" --groups "$2" sdp-run -s \
		setpriv --regid "$3" --groups "$4" python3 "$PROG" kind
}
ktap_is "sdp-run -s: TCP for a program that leaves the group" "$(becomes 100 100 50 50)" TCP
ktap_is "sdp-run -s: SDP for one that enters it" "$(becomes 0 0 100 100)" SDP
ktap_is "sdp-run -s: TCP for one that leaves a further group" "$(becomes 50 50,150 50 50)" TCP
ktap_is "sdp-run -s: SDP for one that enters a further group" "$(becomes 50 50 50 50,150)" SDP
ktap_is "sdp-run -s: TCP for one that leaves the effective group only" \
	"$(becomes 100 50 50 50)" TCP
ktap_is "sdp-run -s: SDP for one that enters the effective group only" \
	"$(becomes 50 50 100 50)" SDP
ktap_is "sdp-run -s: SDP for one that enters as many groups as there may be" \
	"$(in_a setpriv --regid 50 --groups 50 sdp-run -s python3 "$PROG" most)" SDP

# in_turn LEAVE COMMAND...: two programs of one supervisor, the second with its groups
in_turn() {
	# shellcheck disable=SC2016 # for the inner shell
	in_a "${@:2}" sdp-run -s sh -c 'setpriv $1 python3 "$0" kind; python3 "$0" kind' \
		"$PROG" "$1" 2>/dev/null | tr '\n' ' '
}
ktap_is "sdp-run -s: TCP for one that leaves the group, SDP for the next" \
	"$(in_turn "--regid 50 --groups 50" setpriv --regid 100 --groups 100)" "TCP SDP "
ktap_is "sdp-run -s: SDP for one that enters the group, TCP for the next" \
	"$(in_turn "--regid 100 --groups 100" setpriv --regid 50 --groups 50)" "SDP TCP "
# the group cannot be given back to the supervisor: it has no number there
ktap_is "sdp-run -s: in a user namespace TCP for one that leaves the group, SDP for the next" \
	"$(in_turn "--clear-groups" setpriv --regid 50 --groups 50,150 \
		python3 "$PROG" mapped 50)" "TCP SDP "
ktap_is "sdp-run -s: SDP in a user namespace without setgroups" \
	"$(in_turn "--regid 0 --keep-groups" setpriv --regid 50 --groups 50,150 \
		unshare -Ur)" "SDP SDP "
# there the first process has the group
# shellcheck disable=SC2016 # for the inner shell
ktap_is "sdp-run -s: TCP where /proc shows another PID namespace" \
	"$(in_a setpriv --regid 100 --groups 100 unshare -pf --mount-proc sh -c '
		unshare -pf sdp-run -s setpriv --regid 50 --groups 50 python3 "$0" kind
		exit' "$PROG" 2>/dev/null)" TCP

# SDP_FALLBACK cannot be set: there is SDP or nothing
in_a sysctl -qw net.sdp.fallback=0
for run in sdp-run "sdp-run -s"; do
	# shellcheck disable=SC2086
	ktap_is "$run: SDP with fallback 0" "$(kind 100 $run)" SDP
	# shellcheck disable=SC2086
	ktap_is "$run: TCP for others with fallback 0" "$(kind 50 $run 2>&1 | tail -n 1)" TCP
done
in_a sysctl -qw net.sdp.fallback=1

# landlocked GROUP: results of connect() of a TCP socket and of SDP sockets with SDP_FALLBACK 1,
# with 2, and with 2 after bind(), then those of listen(), for a program of this group that may
# use no TCP port
landlocked() { in_a setpriv --regid "$1" --groups "$1" python3 "$PROG" landlock 10.0.0.2 7991; }
# landlock WHERE CONNECT LISTEN CLOSED: with the default settings SDP_FALLBACK bypasses such
# rules; each of two settings prevents that. The last arguments are the results with SDP_FALLBACK 2
# after bind(): with the default settings, and with fallback 0.
landlock() {
	in_a sysctl -qw "$RANGE=0 4294967294"
	ktap_is "Landlock, $1: the default settings let an SDP socket connect and listen over TCP" \
		"$(landlocked 50)" "EACCES TCP EACCES $2 EACCES TCP EACCES $3"
	in_a sysctl -qw net.sdp.fallback=0
	ktap_is "Landlock, $1: an SDP socket does not become one of TCP with fallback 0" \
		"$(landlocked 50)" "EACCES EPERM EACCES $4 EACCES EPERM EACCES $4"
	in_a sysctl -qw net.sdp.fallback=1 "$RANGE=100 200"
	ktap_is "Landlock, $1: TCP and SDP are closed to a group outside of the range" \
		"$(landlocked 50)" "$(printf "%.0sEACCES " {1..7})EACCES"
}

start_bg b python3 "$PROG" tcp 7991
wait_for 30 said listening || ktap_fail "the TCP server listens" "$(cat "$BG_LOG")"
if [ "$(landlocked 50)" = "no Landlock" ]; then
	ktap_skip "Landlock" "this kernel has no rules for TCP"
	ktap_done
	exit
fi
landlock "RDMA device" EACCES TCP EPERM
dev_down
# no SDP socket is bound without SDP_FALLBACK then
landlock "no RDMA device" EADDRNOTAVAIL EADDRNOTAVAIL EADDRNOTAVAIL
ktap_done
