#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1800
#
# CPython's own tests of sockets, asyncio and TLS. They use loopback addresses only: with a
# device on lo their connections are SDP's. Each test has the result that it has over TCP.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need python3 sdpctl

S=test.test_socket A=test.test_asyncio
# the tests that open streams
SOCKET=("$S".{BasicTCPTest,BasicTCPTest2,NonBlockingTCPTests,FileObjectClassTestCase}
	"$S".{UnbufferedFileObjectClassTestCase,LineBufferedFileObjectClassTestCase}
	"$S".{SmallBufferedFileObjectClassTestCase,NetworkConnectionNoServer}
	"$S".{NetworkConnectionAttributesTest,NetworkConnectionBehaviourTest,TCPTimeoutTest}
	"$S".{TCPCloserTest,ContextManagersTest,SendmsgTCPTest,RecvmsgTCPTest,RecvmsgIntoTCPTest}
	"$S".{SendfileUsingSendTest,SendfileUsingSendfileTest,CreateServerTest}
	"$S".{CreateServerFunctionalTest,InheritanceTest,NonblockConstantTest})
ASYNCIO=("$A".test_{streams,server,sock_lowlevel,sendfile,buffered_proto})
SSL=(test.test_ssl.{ThreadedTests,SimpleBackgroundTests})

# tests NAME TEST...: the result of each, "CLASS.TEST ok"
tests() {
	local name=$1

	shift
	(cd "$DIR" && PYTHONPATH=$DIR/lib run /usr/bin/python3 -m unittest -v "$@") \
		>"$OUT/$name.${VIA:-tcp}" 2>&1
	# the result may be on the next line, after a description, or after the test's own output
	awk '/^test[A-Za-z0-9_]* \(/ { name = $2; gsub(/[()]/, "", name) }
		name && match($0, /(\.\.\. |^)(ok|FAIL|ERROR|skipped .*|expected failure)$/) {
			result = substr($0, RSTART)
			sub(/^\.\.\. /, "", result)
			print name, result
			name = ""
		}' "$OUT/$name.${VIA:-tcp}" | sort
}

# suite NAME LEAST BYTES TEST...: LEAST tests succeed at least, and BYTES go over SDP
suite() {
	local name=$1 least=$2 bytes=$3 before count

	shift 3
	VIA=
	tests "$name" "$@" >"$DIR/$name.tcp"
	count=$(grep -c ' ok$' "$DIR/$name.tcp")
	ktap_check "$name: $count tests succeed over TCP, $least at least" [ "$count" -ge "$least" ]
	before=$(sdp_bytes)
	VIA=sdp-run
	tests "$name" "$@" >"$DIR/$name.sdp"
	ktap_is "$name: each test has the result that it has over TCP" \
		"$(diff "$DIR/$name.tcp" "$DIR/$name.sdp")" ""
	ktap_check "$name: at least $bytes bytes go over SDP" [ $(($(sdp_bytes) - before)) -ge "$bytes" ]
	ktap_check "$name: no socket is left" wait_for 30 no_sockets
	ktap_diag "$name: $count of $(wc -l <"$DIR/$name.tcp") tests succeed"
}

LIMIT=$(scaled 600 1700)
programs_up
packages_up
unset LD_LIBRARY_PATH
mkdir "$DIR/lib"
ln -s /packages/usr/lib/python3.*/test "$DIR/lib/test"
ktap_check "sdpctl makes a device on lo" in_a sdpctl setup lo
suite socket 150 50000000 "${SOCKET[@]}"
suite asyncio 80 10000000 "${ASYNCIO[@]}"
suite ssl 50 1000000 "${SSL[@]}"
ktap_done
