#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# vm: timeout=300
#
# libsdp.conf: the meaning of its lines, and messages about wrong ones; programs that
# fall back to TCP, that serve both, that are kept from SDP; where a log goes.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run sdpstat socat python3 busybox unshare
T=$(mktemp -d /run/rules.XXXXXX)
defer rm -rf "$T"
CONF=$T/conf
unset LIBSDP_CONFIG_FILE LIBSDP_ONLY

# conf LINE...: the rules from now on
conf() { printf '%s\n' "$@" >"$CONF"; }

# which_is WANTED ROLE PROGRAM ADDRESS:PORT: sdp-run -w says WANTED
which_is() {
	local wanted=$1
	shift
	ktap_is "$*: $wanted" "$(sdp-run -c "$CONF" -w "$@" 2>&1)" "$wanted"
}

# says PATTERN LINE: sdp-run refuses the line, with its number and PATTERN
says() {
	local out rc
	conf "# first" "$2"
	out=$(sdp-run -c "$CONF" true 2>&1)
	rc=$?
	case $out in
	"sdp-run: $CONF:2: "*$1*) [ $rc -eq 125 ] && ktap_ok "the line is refused: $2" && return ;;
	esac
	ktap_fail "the line is refused: $2" "rc=$rc" "$out"
}

test_format() {
	conf "# a comment" "" "  use sdp  client	curl* 10.0.0.0/24:80-90 # too" \
		"use tcp client * [fd00::]/64:*" "use tcp connect one *:*" \
		"use both server * *:7000" "use tcp listen * [fd00::9/128]:1" \
		"use sdp server * *:7000-65535"
	which_is "sdp $CONF:3" client curl 10.0.0.5:80
	which_is "sdp $CONF:3" client /usr/bin/curl-gnutls '[::ffff:10.0.0.5]:90'
	which_is "both default" client curl 10.0.0.5:91
	which_is "both default" client curl 10.0.1.5:85
	which_is "both default" client wget 10.0.0.5:85
	which_is "both default" server curl 10.0.0.5:85
	which_is "tcp $CONF:4" client wget '[fd00::7]:1'
	which_is "both default" client wget '[fd00:0:0:1::7]:1'
	which_is "tcp $CONF:5" client one 9.9.9.9:9
	which_is "both $CONF:6" server x '[::]:7000'
	which_is "sdp $CONF:8" server x 0.0.0.0:7001
	which_is "tcp $CONF:7" server x '[fd00::9]:1'
	conf
	which_is "both default" client x 1.2.3.4:5
}

test_errors() {
	local library
	says 'begins no line' "bogus sdp"
	says 'has no port' "use sdp client x 1.2.3.4"
	says 'no length of a prefix' "use sdp client x 1.2.3.4/33:5"
	says 'no length of a prefix' "use sdp client x [::1]/129:5"
	says 'is no port' "use sdp client x *:65536"
	says 'is no port' "use sdp client x *:1-"
	says 'end before they begin' "use sdp client x *:9-5"
	says 'is not a role' "use sdp peer x *:1"
	says 'is not sdp, tcp or both' "use all client x *:1"
	says 'no address' "use sdp client x host:9"
	says 'not closed' "use sdp client x [::1:80"
	says 'five words' "use sdp client x"
	says 'five words' "use sdp client x *:1 more"
	says 'begins with a slash' "log destination file x"
	says 'a log goes to' "log destination nowhere"
	says 'a number from 1 to 9' "log min-level 0"
	says 'says nothing about a log' "log colour"
	says 'more than 510 characters' "$(printf '%600s' x)"
	ktap_check_fails "a configuration file that does not exist is refused" sdp-run -c "$T/none" true
	library=$(sdp-run -v true 2>&1 | sed -n 's/^sdp-run: preloading //p')
	conf nonsense "use tcp client * *:*"
	ktap_is "preloaded, the library reports a bad file and continues" \
		"$(LIBSDP_CONFIG_FILE=$CONF LD_PRELOAD=$library \
			socat -V 2>&1 >/dev/null | sed 's/\[[0-9]*\]//')" \
		"libsdp: socat: $CONF:1: \"nonsense\" begins no line: use and log do"
	ktap_is "a static program is reported" \
		"$(sdp-run busybox true 2>&1 | sed 's/.*busybox //')" \
		"is statically linked: nothing can be preloaded, its sockets remain TCP without -s"
	cp "$(command -v socat)" "$T/suid"
	chmod 755 "$T"
	chmod u+s "$T/suid"
	ktap_is "a set-user-ID program is reported" \
		"$(setpriv --reuid=65534 --clear-groups sdp-run "$T/suid" -V \
			2>&1 >/dev/null | sed 's/.*suid //')" \
		"is set-user-ID: the dynamic linker ignores LD_PRELOAD, its sockets remain TCP; \`sdpctl trust on\` as root changes that"
	# a mount namespace with an /etc of its own
	ktap_is "the default file is read" "$(unshare -m sh -c "mount -t tmpfs none /etc
		echo 'use tcp client * *:1' >/etc/libsdp.conf
		sdp-run -w client x 1.1.1.1:1")" "tcp /etc/libsdp.conf:1"
}

test_log() {
	local log=$T/log held
	conf "log destination file /tmp/sdp.log"
	chmod 1777 /tmp
	ktap_check_fails "a log in a directory that others can write is refused" sdp-run -c "$CONF" true
	ktap_is "the message has the reason" "${KTAP_OUT##*: }" \
		"its directory can be written by others"
	ktap_check_fails "no file is left there" test -e /tmp/sdp.log
	echo keep >"$T/target"
	ln -s "$T/target" "$log"
	conf "log destination file $log min-level 7"
	ktap_check_fails "a log that is a symbolic link is refused" sdp-run -c "$CONF" true
	rm "$log"
	echo "use both client * *:*" >>"$CONF"
	talk 7100 "" TCP >/dev/null
	ktap_is "a log file is written" "$(sed 's/\[[0-9]*\]//' "$log")" \
		"libsdp: socat: connect 10.0.0.2:7100: both ($CONF:2)
libsdp: socat: connected to 10.0.0.2:7100 over TCP: refused"
	# so many that the kernel's list of them is longer than 8 KB
	start_bg a python3 -c '
import signal, socket
held = [socket.socket(27, socket.SOCK_STREAM) for _ in range(200)]
print("ready", flush=True)
signal.pause()'
	held=$BG_PID
	wait_for 20 said ready
	talk 7101 "" TCP >/dev/null
	ktap_is "the reason is found among many sockets" \
		"$(tail -n 1 "$log" | sed 's/\[[0-9]*\]//')" \
		"libsdp: socat: connected to 10.0.0.2:7101 over TCP: refused"
	stop_bg "$held"
	ktap_is "the log file is private" "$(stat -c %a "$log")" 600
	ktap_is "a user without access to the system's log is no error" "$(unshare -m sh -c "
		mount -t tmpfs -o mode=755 none /etc
		echo 'log destination file /etc/log' >/etc/libsdp.conf
		setpriv --reuid 65534 --clear-groups sdp-run /usr/bin/python3 -c '
print(\"ran\")' 2>&1")" \
		"sdp-run: /etc/libsdp.conf: the log /etc/log is not written: it cannot be opened for writing
ran"
}

# talk PORT SERVER CLIENT: a file from a server started by SERVER (a command,
# empty for none) to a client under the rules; its output
head -c 300000 /dev/urandom >"$T/data" 2>/dev/null
talk() {
	local run=$2 port=$1
	# shellcheck disable=SC2086 # words are meant
	start_bg b $run socat -u FILE:"$T/data" TCP4-LISTEN:"$port",reuseaddr
	wait_for 20 listens "$port"
	rm -f "$T/got"
	in_a timeout 60 sdp-run -c "$CONF" socat -u TCP4:10.0.0.2:"$port" \
		CREATE:"$T/got" 2>&1
	# a server without a client would continue
	stop_bg "$BG_PID" >/dev/null 2>&1
	cmp "$T/data" "$T/got"
}

listens() { port_listening b "$1"; }

# counter a|b NAME
counter() { "in_$1" sdpstat -s -z | awk -v n="$2" '$1 == n { print $2 }'; }

# grown A|B NAME COMMAND...: by how much a counter grew while it ran
grown() {
	local ns=$1 name=$2 before
	shift 2
	before=$(counter "$ns" "$name")
	"$@" >/dev/null
	echo $(($(counter "$ns" "$name") - before))
}

test_programs() {
	conf "use both client * *:*" "use both server * *:*"
	ktap_is "client: TCP where SDP is not available" \
		"$(grown a tcp_connects talk 7001 "")" 1
	ktap_check "client: all data arrives over TCP" cmp "$T/data" "$T/got"
	ktap_is "client: SDP where it is available" \
		"$(grown b accepts talk 7002 "sdp-run -c /dev/null")" 1
	ktap_check "client: all data arrives over SDP" cmp "$T/data" "$T/got"
	conf "use tcp client socat *:7000-7099" "use sdp client * *:*"
	ktap_is "client: TCP where the rules require it" \
		"$(grown a active_opens talk 7003 "")" 0
	ktap_check "TCP by the rules: all data arrives" cmp "$T/data" "$T/got"
	conf "use tcp server * *:*" "use both client * *:*"
	ktap_is "a server that the rules restrict to TCP uses TCP" \
		"$(grown b passive_opens talk 7005 "sdp-run -c $CONF")" 0
	ktap_check "a server restricted to TCP: all data arrives" cmp "$T/data" "$T/got"
	conf "use sdp client * *:*"
	ktap_is "client: SDP only, it makes no TCP connection" "$(grown a tcp_connects talk 7004 "")" 0
	ktap_check_fails "client: SDP only, no data arrives" cmp "$T/data" "$T/got"
}

# a library of the program opens sockets before the rules have been needed
test_early() {
	local library
	library=$(sdp-run -v true 2>&1 | sed -n 's/^sdp-run: preloading //p')
	conf "use tcp client * *:*"
	start_bg b socat -u TCP4-LISTEN:7006,reuseaddr /dev/null
	wait_for 20 listens 7006
	ktap_is "a socket of a constructor is TCP" "$(export LIBSDP_CONFIG_FILE="$CONF" \
		EARLY_HOST=10.0.0.2 EARLY_PORT=7006 \
		LD_PRELOAD="$library:$TEST_LIBS/sdp-early.so"
		in_a stat -c %F / 2>&1)" "early: connected
directory"
	stop_bg "$BG_PID"
}

# one server, asked by clients of each kind
cat >"$T/server.py" <<'END'
import asyncio, socket

async def serve(r, w):
    w.write((await r.readline()).upper())
    await w.drain()
    w.close()

async def main():
    s = await asyncio.start_server(serve, "10.0.0.2", 7010)
    print("ready", s.sockets[0].getsockname(), flush=True)
    await s.serve_forever()

asyncio.run(main())
END
cat >"$T/client.py" <<'END'
import asyncio, socket, sys

async def one(i):
    r, w = await asyncio.open_connection("10.0.0.2", int(sys.argv[1]))
    w.write(b"line %d\n" % i)
    assert (await r.readline()) == b"LINE %d\n" % i
    w.close()

async def main():
    await asyncio.gather(*[one(i) for i in range(int(sys.argv[2]))])
    print("done")

asyncio.run(main())
END

test_server() {
	conf "use both server * *:*" "use both client * *:*"
	start_bg b sdp-run -c "$CONF" /usr/bin/python3 "$T/server.py"
	wait_for 30 said ready
	ktap_is "the server sees its own port" "$(cat "$BG_LOG")" \
		"ready ('10.0.0.2', 7010)"
	ktap_is "TCP clients are served" "$(grown b tcp_accepts in_a timeout 60 \
		/usr/bin/python3 "$T/client.py" 7010 10)" 10
	ktap_is "SDP clients are served" "$(grown b accepts in_a timeout 60 \
		sdp-run -c /dev/null /usr/bin/python3 "$T/client.py" 7010 10)" 10
	start_bg b sh -c "sed 's/7010/7011/' '$T/server.py' | /usr/bin/python3"
	wait_for 30 said ready
	ktap_is "nonblocking clients fall back to TCP" \
		"$(grown a tcp_connects in_a timeout 60 sdp-run -c "$CONF" \
			/usr/bin/python3 "$T/client.py" 7011 10)" 10
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
test_format
test_errors
test_log
test_programs
test_early
test_server
ktap_done
