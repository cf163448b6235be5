#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# sdp-run -s: SDP sockets for a static program, and what a program would notice
# of being supervised: nothing.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run sdpstat sdp-echo-static python3 setpriv unshare
HERE=$(cd "$(dirname "$0")" && pwd)
SERVER=10.0.0.2
T=$(mktemp -d /run/supervise.XXXXXX)
defer rm -rf "$T"
unset LIBSDP_CONFIG_FILE

# no_supervisors: sdp-run ends with the last it serves
no_supervisors() { ! pgrep -x sdp-run >/dev/null; }

established() { in_a sdpstat -n | grep -q "$SERVER:$1"; }

# echo_over VIA PORT: a session of the static program; what it printed
echo_over() {
	local port=$2 server client
	# shellcheck disable=SC2086 # nothing or words
	start_bg b $1 sdp-echo-static -f 2 -s -h $SERVER -p "$port"
	server=$BG_PID
	wait_for 20 said listening
	# shellcheck disable=SC2086 # nothing or words
	start_bg a timeout -s TERM --preserve-status 60 $1 \
		sdp-echo-static -f 2 -h $SERVER -p "$port"
	client=$BG_PID
	wait_for 20 said connected
	IS_SDP=$(established "$port" && echo yes || echo no)
	nap 1
	pkill -TERM -xf "sdp-echo-static -f 2 -h $SERVER -p $port"
	wait "$client"
	RC=$?
	SAID=$(cat "$BG_LOG")
	stop_bg "$server"
}

# told WHAT PATTERN: the output of the last program, in SAID, has one such line
told() { ktap_is "$1: a message has \"$2\"" "$(grep -c "$2" <<<"$SAID")" 1; }

test_static() {
	echo_over "sdp-run" 7301
	ktap_is "preloaded: the program uses TCP" "$IS_SDP $RC" "no 0"
	told "preloaded" "statically linked: .* remain TCP without -s"
	echo_over "sdp-run -s" 7302
	ktap_is "supervised: the program uses SDP" "$IS_SDP $RC" "yes 0"
	ktap_is "supervised: no message is printed" "$(grep -c sdp-run <<<"$SAID")" 0
	ktap_check "the supervisors have ended" wait_for 20 no_supervisors
	ktap_check "no socket is left" wait_for 20 no_sockets
}

# an ordinary user may supervise, too; the program can then gain no privileges
test_user() {
	echo_over "setpriv --reuid=65534 --clear-groups sdp-run -s" 7303
	ktap_is "supervised by a non-root user: the program uses SDP" "$IS_SDP $RC" "yes 0"
	cp /bin/ls "$T/suid"
	chmod 4755 "$T" "$T/suid"
	SAID=$(setpriv --reuid=65534 --clear-groups sdp-run -s "$T/suid" 2>&1)
	told "set-user-ID" "gets no privileges"
}

test_status() {
	local rc what
	for what in "exit 0" "exit 7" 'kill -TERM $$'; do
		sh -c "$what"
		rc=$?
		sdp-run -s sh -c "$what"
		ktap_is "exit status after '$what' is the same as without sdp-run" $? $rc
	done
	sdp-run -s /nowhere 2>/dev/null
	ktap_is "a missing program gives status 127" $? 127
	ktap_check "the supervisor of a missing program has ended" wait_for 20 no_supervisors
	# as daemons and some shells start programs
	ktap_is "a program starts with SIGCHLD ignored" \
		"$(bash -c 'trap "" CHLD; exec sdp-run -s echo runs' 2>&1)" runs
	ktap_is "the program has no pending SIGCHLD" "$(/usr/bin/python3 -c '
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
os.execvp("sdp-run", ["sdp-run", "-s", "grep", "ShdPnd", "/proc/self/status"])')" \
		"$(grep ShdPnd /proc/self/status)"
	ktap_is "as the init of a container the program has no unknown child" \
		"$(unshare -pf --mount-proc sdp-run -s /usr/bin/python3 -c '
import os
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")' 2>&1)" none
	start_bg - sdp-run -s sleep 60
	wait_for 20 grep -q sleep "/proc/$BG_PID/comm"
	ktap_is "the program runs in the process of sdp-run" \
		"$(cat "/proc/$BG_PID/comm")" sleep
	stop_bg "$BG_PID"
	# no process holds the end of a pipe
	ktap_is "the supervisor keeps no pipe of the program open" \
		"$(timeout 20 sdp-run -s sh -c 'sleep 60 >/dev/null & echo $!' |
			(read -r pid; cat; kill "$pid"; echo ended))" ended
	ktap_check "the last supervisor has ended" wait_for 20 no_supervisors
}

# a service that is stopped: all its processes get a signal
test_stopped() {
	local what
	mkfifo "$T/go"
	start_bg a sdp-run -s /usr/bin/python3 -c '
import socket, sys
print("ready", flush=True)
open(sys.argv[1]).read()
s = socket.socket()
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))' "$T/go"
	wait_for 20 said ready
	for what in TERM INT HUP QUIT USR1 USR2 PIPE ALRM TSTP; do
		pkill -$what -x sdp-run
	done
	: >"$T/go"
	wait "$BG_PID"
	ktap_is "the supervisor runs while the program does" "$(tail -n1 "$BG_LOG")" 257
	ktap_check "the supervisor ends with the program" wait_for 20 no_supervisors
}

# sdp-run does not use closed standard descriptors for files of its own
test_closed() {
	local got="" i
	for i in 1 2 3 4 5 6 7 8; do
		# there is no listener
		in_a sdp-run -s bash -c ": <>/dev/tcp/$SERVER/7399" <&- >&- 2>"$T/err"
		got+=" $(grep -c refused "$T/err")"
	done
	ktap_is "sdp-run -s works without standard input and output: connect() is refused" \
	"$got" " 2 2 2 2 2 2 2 2"
	ktap_check "these supervisors have ended" wait_for 20 no_supervisors
}

test_rules() {
	printf 'use tcp %s * *:*\n' server client >"$T/tcp"
	printf 'use both %s * *:*\n' server client >"$T/both"
	echo 'use tcp client * 10.0.0.0/8:*' >"$T/mixed"
	echo_over "sdp-run -s -c $T/tcp" 7304
	ktap_is "rules that say TCP give TCP" "$IS_SDP $RC" "no 0"
	echo_over "sdp-run -s -c $T/both" 7305
	ktap_is "rules that say both give SDP where the peer has it" "$IS_SDP $RC" "yes 0"
	SAID=$(sdp-run -s -c "$T/mixed" true 2>&1)
	ktap_is "rules by address are refused" $? 125
	told "rules by address" "has rules by address"
	SAID=$(sdp-run -s sdp-run -s true 2>&1)
	ktap_is "nested supervision is refused" $? 125
	told "supervised twice" "takes no filter: Device or resource busy"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
test_static
test_user
test_status
test_stopped
test_closed
test_rules
while read -r result what; do
	case $result in
	ok) ktap_ok "$what" ;;
	*) ktap_fail "$result $what" ;;
	esac
done < <(in_a sdp-run -s /usr/bin/python3 "$HERE/supervise.py" 2>&1)
ktap_check "no supervisor is left" wait_for 20 no_supervisors
ktap_done
