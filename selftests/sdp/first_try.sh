#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# The first commands of a new user, without rules and with the default settings: SDP
# where both ends have it, TCP where the peer, the address, the device, a sandbox or the
# kernel has none, and a message that says so.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run sdpstat redis-server redis-cli curl python3 socat setpriv
T=$(mktemp -d /run/first.XXXXXX)
defer rm -rf "$T"
WITHOUT=
TRY="/usr/bin/python3 $(cd "$(dirname "$0")" && pwd)/first_try.py"
unset LIBSDP_CONFIG_FILE LIBSDP_ONLY

# grown a|b COUNTER COMMAND...: print by how much the counter grew, and the command's output
grown() {
	local ns=$1 name=$2 before said
	shift 2
	before=$(sdp_counter "$ns" "$name")
	said=$("$@" 2>&1 </dev/null)
	echo "$(($(sdp_counter "$ns" "$name") - before)) $said"
}

# redis NS ARGUMENT...: start a redis-server under sdp-run
redis() {
	local ns=$1
	shift
	start_bg "$ns" sdp-run redis-server --save '' --dir "$T" "$@"
	wait_for 30 said "Ready to accept" ||
		ktap_fail "redis-server starts" "$(cat "$BG_LOG")"
}

test_redis() {
	redis b
	ktap_is "redis-server with its defaults answers over IPv4 and IPv6" \
		"$(in_b sdp-run redis-cli ping 2>&1) $(in_b sdp-run redis-cli -h ::1 ping 2>&1)" \
		"PONG PONG"
	stop_bg "$BG_PID"
	redis b --bind 127.0.0.1 -::1 --port 6379
	ktap_is "a server at 127.0.0.1 answers a client under sdp-run" \
		"$(in_b sdp-run redis-cli ping 2>&1)" PONG
	ktap_is "a server at 127.0.0.1 answers a client without sdp-run" "$(in_b redis-cli ping 2>&1)" PONG
	stop_bg "$BG_PID"
	redis b --bind 10.0.0.2 --protected-mode no --port 6379
	ktap_is "a server at 10.0.0.2 takes a client under sdp-run over SDP" \
		"$(grown b accepts in_a sdp-run redis-cli -h 10.0.0.2 ping)" "1 PONG"
	ktap_is "a server at 10.0.0.2 takes a client without sdp-run over TCP" \
		"$(grown b tcp_accepts in_a redis-cli -h 10.0.0.2 ping)" "1 PONG"
	ktap_is "a server at 10.0.0.2 takes a client under sdp-run -o over SDP" \
		"$(grown b accepts in_a sdp-run -o redis-cli -h 10.0.0.2 ping)" "1 PONG"
	stop_bg "$BG_PID"
}

test_web() {
	echo hello >"$T/page"
	start_bg b /usr/bin/python3 -m http.server -b 10.0.0.2 -d "$T" 8080
	wait_port b 8080
	ktap_is "a server of TCP answers a client under sdp-run, over TCP" "$(grown a tcp_connects in_a sdp-run curl -sS \
		http://10.0.0.2:8080/page)" "1 hello"
	ktap_is "sdp-run -v shows the decision for a server of TCP" "$(in_a sdp-run -v curl -sS http://10.0.0.2:8080/page \
		2>&1 | sed -n 's/\[[0-9]*\]//; /^libsdp: curl: connect /p')" \
		"libsdp: curl: connect 10.0.0.2:8080: both (no rules)"
	ktap_check_fails "a server of TCP is refused with -o" in_a sdp-run -o curl -sS \
		http://10.0.0.2:8080/page
	stop_bg "$BG_PID"
	# a network device without an RDMA device
	ip -n a link add d0 type veth peer name d1 netns b
	ip -n a link set d0 up
	ip -n b link set d1 up
	ip -n a addr add 10.9.0.1/24 dev d0
	ip -n b addr add 10.9.0.2/24 dev d1
	start_bg b sdp-run -v socat -u TCP4-LISTEN:8081,bind=10.9.0.2,reuseaddr \
		CREATE:"$T/got"
	wait_port b 8081
	echo data >"$T/data"
	ktap_is "sdp-run -v says that it is TCP where there is no device" "$(in_a sdp-run -v socat -u \
		FILE:"$T/data" TCP4:10.9.0.2:8081 2>&1 |
		sed -n 's/\[[0-9]*\]//; /connected/p')" \
		"libsdp: socat: connected to 10.9.0.2:8081 over TCP: no_device"
	ktap_check "the data arrives without a device" wait_for 20 cmp "$T/data" "$T/got"
	ip -n a link del d0
}

test_verbose() {
	start_bg b sdp-run -v socat -u TCP4-LISTEN:8082,bind=10.0.0.2,reuseaddr \
		/dev/null
	wait_port b 8082
	ktap_is "sdp-run -v says that it is SDP" "$(in_a sdp-run -v socat -u /dev/null \
		TCP4:10.0.0.2:8082 2>&1 | sed -n 's/\[[0-9]*\]//; /connected/p')" \
		"libsdp: socat: connected to 10.0.0.2:8082 over SDP"
	ktap_is "sdp-run -v of a server says that it takes both" \
		"$(sed -n 's/\[[0-9]*\]//; /^libsdp/p' "$BG_LOG")" \
		"libsdp: socat: listen 10.0.0.2:8082: both (no rules)"
	in_b sysctl -qw net.sdp.port_offset=0
	start_bg b sdp-run -v socat -u TCP4-LISTEN:8083,bind=10.0.0.2,reuseaddr \
		/dev/null
	wait_port b 8083
	ktap_check "sdp-run warns that iWARP has no second port" \
		said "net.sdp.port_offset is 0"
	ktap_check "the library says that the listener is TCP" \
		said "listening on 10.0.0.2:8083 over TCP: port"
	stop_bg "$BG_PID"
	in_b sysctl -qw net.sdp.port_offset=20257
}

# echo_over COMMAND...: print how many SDP connections a client under that command made, and
# what it got
echo_over() {
	grown a active_opens in_a "$@" socat -u TCP4:10.0.0.2:8084 -
}

test_sandbox() {
	local error reason

	start_bg b sdp-run socat TCP4-LISTEN:8084,bind=10.0.0.2,reuseaddr,fork \
		SYSTEM:"echo hello"
	wait_port b 8084
	# shellcheck disable=SC2086 # several words
	ktap_is "a filter of AF_SDP alone: the client has SDP" \
		"$(echo_over $TRY sandbox FAMILY sdp-run)" "1 hello"
	# shellcheck disable=SC2086
	ktap_is "a filter of AF_SDP alone, with EACCES as AppArmor: the client has SDP" \
		"$(echo_over $TRY sandbox FAMILY:EACCES sdp-run)" "1 hello"
	for error in EAFNOSUPPORT EPERM EACCES; do
		reason="a filter (seccomp, systemd) forbids"
		[ $error != EACCES ] ||
			reason="net.sdp.group_range has no group of this user, or a filter (AppArmor, SELinux) forbids"
		# shellcheck disable=SC2086
		ktap_is "family and protocol are refused with $error: the client has TCP, with the reason" \
			"$(echo_over $TRY sandbox SDP:$error sdp-run)" \
			"0 sdp-run: $reason SDP sockets here; sockets remain TCP
hello"
	done
	# shellcheck disable=SC2086
	ktap_is "a filter that the program sets itself: the client has TCP" \
		"$(echo_over sdp-run $TRY sandbox SDP)" "0 hello"
	# shellcheck disable=SC2086
	ktap_is "a filter of AF_SDP alone: a server listens, and its socket looks like one of TCP" "$(in_a $TRY sandbox FAMILY sdp-run \
		/usr/bin/python3 -c '
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL),
      s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN),
      s.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
s.bind(("10.0.0.1", 8085))
s.listen()
print(s.getsockname())')" "6 2 1
('10.0.0.1', 8085)"
	stop_bg "$BG_PID"
}

# privileged USER: how often sdp-run -v warns that the sockets of the program remain TCP,
# since the dynamic linker preloads nothing then
privileged() {
	in_a setpriv --reuid="$1" --regid="$1" --clear-groups sdp-run -v "$T/prog" -V \
		2>&1 | grep -c "its sockets remain TCP"
}

test_privileges() {
	chmod 755 "$T"
	cp -L "$(command -v socat)" "$T/prog"
	ktap_is "sdp-run does not warn of an ordinary program" "$(privileged 65534)" 0
	chmod 4755 "$T/prog"
	ktap_is "sdp-run warns another user of a set-user-ID program" "$(privileged 65534)" 1
	ktap_is "sdp-run does not warn root of a set-user-ID program of root" "$(privileged 0)" 0
	chmod 755 "$T/prog"
	$TRY capability "$T/prog"
	case $? in
	0) test_capabilities ;;
	4)
		ktap_skip "file capabilities" "tmpfs of this kernel has no extended attributes"
		WITHOUT=capabilities
		;;
	*) ktap_fail "a file with capabilities" ;;
	esac
	test_trust
}

test_capabilities() {
	ktap_is "sdp-run warns a user of file capabilities" "$(privileged 65534)" 1
	ktap_is "sdp-run does not warn root of file capabilities" "$(privileged 0)" 0
	# the warning is right: count messages of the library
	echo_as() {
		in_a setpriv --reuid="$1" --regid="$1" --clear-groups sdp-run -v \
			"$T/prog" -u /dev/null TCP4:10.0.0.2:8086 2>&1 |
			grep -c "^libsdp"
	}
	ktap_is "the library is not loaded into a program with file capabilities, for a user" "$(echo_as 65534)" 0
	ktap_check "the library is loaded into a program with file capabilities, for root" [ "$(echo_as 0)" -gt 0 ]
}

# test_trust: a trusted library in programs with file capabilities, as $T/prog is now unless
# WITHOUT is set, and in set-user-ID programs
test_trust() {
	# SDP connections of the program, for a user
	privileged_opens() {
		grown a active_opens in_a setpriv --reuid=65534 --regid=65534 --clear-groups \
			sdp-run "$T/prog" -u /dev/null TCP4:10.0.0.2:8086 |
			head -n 1 | cut -d" " -f1
	}
	start_bg b sdp-run socat -u TCP4-LISTEN:8086,bind=10.0.0.2,reuseaddr,fork /dev/null
	wait_port b 8086
	ktap_check_fails "sdpctl trust needs root" \
		setpriv --reuid=65534 --clear-groups sdpctl trust on
	ktap_check_fails "sdpctl trust needs on or off" sdpctl trust maybe
	chmod 777 /usr/lib/sdp
	ktap_check_fails "sdpctl trust refuses a library that others can replace" sdpctl trust on
	chmod 755 /usr/lib/sdp
	ktap_check "sdpctl trust on succeeds" sdpctl trust on
	if [ -z "$WITHOUT" ]; then
		ktap_is "with a trusted library sdp-run does not warn of file capabilities" "$(privileged 65534)" 0
		ktap_is "with a trusted library a program with file capabilities has SDP" "$(privileged_opens)" 1
	fi
	chmod 4755 "$T/prog"
	ktap_is "with a trusted library a set-user-ID program has SDP" "$(privileged_opens)" 1
	ktap_is "sdp-run says that a trusted library is silent" "$(in_a setpriv --reuid=65534 \
		--clear-groups sdp-run -v "$T/prog" -V 2>&1 | grep -c "and is silent")" 1
	ktap_check "sdpctl trust off succeeds" sdpctl trust off
	ktap_is "without a trusted library a set-user-ID program has TCP" "$(privileged_opens)" 0
	ktap_is "the library without trust is an ordinary file" "$(stat -c %a /usr/lib/sdp/libsdp.so)" 644
	stop_bg "$BG_PID"
}

# has_device: e0 has an RDMA device
has_device() { in_a rdma link show | grep -q 'netdev e0 *$'; }

test_sdpctl() {
	local word

	ip -n a link add e0 type veth peer name e1
	ktap_check "sdpctl setup makes the device" in_a sdpctl setup e0
	ktap_is "sdpctl setup says what is missing" "$(grep -c "e0 has no address" <<<"$KTAP_OUT")" 1
	ktap_check "sdpctl setup: the device is there" has_device
	ktap_is "sdpctl has nothing to do the second time" "$(in_a sdpctl setup e0 | head -n 1)" \
		"sdpctl: e0 has the RDMA device hyb_e0"
	ktap_check "sdpctl status works" in_a sdpctl status
	ip -n a link set e1 netns b name e0
	ktap_check "another network namespace with an e0 gets a device, too" in_b sdpctl setup e0
	ktap_check "sdpctl undo removes the device of that namespace" in_b sdpctl undo e0
	ktap_check "sdpctl undo leaves the first device" has_device
	in_a sdpctl report >"$T/report"
	ktap_is "sdpctl report succeeds" "$?" 0
	for word in "link hyb_e0/1" active_opens "== sdpstat -a -e -p -t" "tx_fpdus 0" \
		"== kernel_log"; do
		ktap_check "sdpctl report has $word" grep -qe "$word" "$T/report"
	done
	ktap_is "sdpctl report finds each program" "$(grep -c 'command not found' "$T/report")" 0
	ktap_check "sdpctl undo removes the device" in_a sdpctl undo e0
	ktap_check_fails "sdpctl undo: the device is gone" has_device
	ktap_check "sdpctl undo without a device succeeds" in_a sdpctl undo e0
	ktap_check_fails "an unknown network device is refused" in_a sdpctl setup nosuch
	ktap_is "sdpctl setup names the network devices" "$(grep -cw va <<<"$KTAP_OUT")" 1
	ktap_check_fails "sdpctl setup without the rights is refused" \
		in_a setpriv --reuid=65534 --clear-groups sdpctl setup e0
	ip -n a link del e0
}

test_no_module() {
	local helper
	ip netns del a
	ip netns del b
	NET_MODE=
	wait_for 20 modprobe -qr sdp_diag
	wait_for 20 modprobe -qr sdp || { ktap_skip "no module" "sdp is in use"; return; }
	helper=$(cat /proc/sys/kernel/modprobe)
	# the kernel finds no module then
	echo >/proc/sys/kernel/modprobe
	ip link set lo up
	ktap_is "without the module sdp-run says so, and sockets are TCP" "$(sdp-run /usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
print(c.getpeername() == s.getsockname())' 2>&1)" \
		"sdp-run: the kernel has no SDP sockets: run \`modprobe sdp\` as root; sockets remain TCP
True"
	echo "$helper" >/proc/sys/kernel/modprobe
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
test_redis
test_web
test_verbose
test_sandbox
test_privileges
test_sdpctl
test_no_module
ktap_done
