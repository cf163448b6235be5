#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdp-run -s: a socket belongs to the user that asked for it, as one of TCP does, and
# so does what is decided by that: who may share a port, and what a firewall says.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run python3 setpriv socat
HERE=$(cd "$(dirname "$0")" && pwd)
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
[[ $(in_a sdp-run -s true 2>&1) != *"takes no filter"* ]] ||
	ktap_skip_all "no seccomp filters in this kernel"

cat >/run/owner.py <<'END'
import errno, os, socket, sys

s = socket.socket()
print("protocol", s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))
print("owner", os.fstat(s.fileno()).st_uid, flush=True)
if len(sys.argv) > 1:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind(("10.0.0.1", int(sys.argv[1])))
        s.listen(1)
        print("listening", flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
    sys.stdin.read()
END

# as USER [PORT]: what owner.py prints under that user: the protocol of its socket (257:
# SDP, 6: TCP), the owner of the socket's file, and whether it can listen at the port
as() {
	local user=$1

	shift
	in_a sdp-run -s setpriv --reuid="$user" --clear-groups /usr/bin/python3 \
		/run/owner.py "$@" </dev/null 2>&1 | tr '\n' ' '
}

ktap_is "supervised by root: root owns the file" "$(as 0)" "protocol 257 owner 0 "
ktap_is "supervised for another user: the user owns the file" "$(as 65534)" "protocol 257 owner 65534 "
ktap_is "supervised by a non-root user: the user owns the file" \
	"$(in_a setpriv --reuid=65533 --clear-groups sdp-run -s /usr/bin/python3 \
		/run/owner.py 2>&1 | tr '\n' ' ')" "protocol 257 owner 65533 "
ktap_is "supervised without CAP_CHOWN: the file has the right owner" \
	"$(in_a setpriv --bounding-set=-chown --inh-caps=-chown sdp-run -s \
		setpriv --reuid=65534 --clear-groups /usr/bin/python3 /run/owner.py 2>&1 |
		tr '\n' ' ')" "protocol 257 owner 65534 "
# an ordinary user's supervisor, whose programs may get other users all the same
cp -L /usr/bin/python3 /run/owner-python
chmod 4755 /run/owner-python
ktap_is "sockets that the supervisor cannot open for a user are TCP" \
	"$(in_a setpriv --reuid=65533 --clear-groups --inh-caps=+sys_admin \
		--ambient-caps=+sys_admin sdp-run -s /run/owner-python /run/owner.py 2>&1 |
		tr '\n' ' ')" "protocol 6 owner 0 "
rm /run/owner-python

# A socket of the supervisor would be in its control group, for limits and BPF programs
GROUP=/run/owner-cgroup
test_group() {
	# shellcheck disable=SC2016 # for the inner shell
	local join='echo $$ >"$0/cgroup.procs" && exec "$@"'

	mkdir -p $GROUP/program
	ktap_is "sockets of a program that has changed its control group are TCP" \
		"$(in_a sdp-run -s sh -c "$join" $GROUP/program /usr/bin/python3 /run/owner.py 2>&1 |
			tr '\n' ' ')" "protocol 6 owner 0 "
	ktap_is "sockets of a program in the supervisor's control group are SDP" \
		"$(in_a sh -c "$join" $GROUP/program sdp-run -s /usr/bin/python3 /run/owner.py 2>&1 |
			tr '\n' ' ')" "protocol 257 owner 0 "
	wait_for 10 rmdir $GROUP/program
	umount $GROUP
}

mkdir -p $GROUP
if mount -t cgroup2 none $GROUP; then
	test_group
else
	ktap_skip "control groups of supervised programs" "no cgroup2"
fi

mkfifo /tmp/hold
start_bg a sh -c 'exec sdp-run -s setpriv --reuid=65533 --clear-groups /usr/bin/python3 \
	/run/owner.py 7400 </tmp/hold'
exec 7>/tmp/hold
ktap_check "a listener with SO_REUSEPORT exists" wait_for 20 said listening
ktap_is "a listener of the same user shares the port" "$(as 65533 7400)" \
	"protocol 257 owner 65533 listening "
ktap_is "a listener of another user cannot share the port" "$(as 65534 7400)" \
	"protocol 257 owner 65534 EADDRINUSE "
exec 7>&-
rm -f /tmp/hold

# Connections that continue with TCP pass a firewall, which checks the owner of the file
rule() { in_a /usr/bin/python3 "$HERE/owner_rule.py" "$@"; }

# packets user|group NUMBER [COMMAND...]: makes a connection under that command; its
# protocol, and the packets that the firewall's rule for that user or group has counted
packets() {
	rule "$1" "$2" || return
	in_a "${@:3}" setpriv --reuid=65534 --groups 65532 /usr/bin/python3 -c '
import socket
with socket.create_connection(("10.0.0.2", 7401)) as s:
    print("protocol", s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))
    s.sendall(b"data")' 2>&1
	echo "packets $(rule count)"
}

# sees user|group NUMBER: a rule for that one counts the same with and without sdp-run
sees() {
	local want

	want=$(packets "$1" "$2" 2>&1)
	ktap_check "the rule for a $1 sees packets of TCP: $want" [ "${want##* }" -ge 3 ]
	ktap_is "the rule for a $1 sees as many of a connection that falls back to TCP" \
		"$(packets "$1" "$2" sdp-run -s -c /run/owner.conf)" "$want"
	ktap_is "the rule for a $1 sees as many with the library" \
		"$(packets "$1" "$2" sdp-run -c /run/owner.conf)" "$want"
}

test_firewall() {
	if ! modprobe -aq iptable_filter xt_owner; then
		ktap_skip "rules for a user or a group" "no iptables in this kernel"
		return
	fi
	printf 'use both %s * *:*\n' server client >/run/owner.conf
	# there is no SDP listener, which is known at once
	start_bg b socat -u TCP4-LISTEN:7401,reuseaddr,fork /dev/null
	wait_port b 7401
	sees user 65534
	# one of the further groups: xt_owner with --suppl-groups
	sees group 65532
	stop_bg "$BG_PID"
	rm /run/owner.conf
}

test_firewall
ktap_done
