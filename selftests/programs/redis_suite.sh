#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Redis' own tests, those that have to do with connections: servers, clients in Tcl
# and the test driver are all under sdp-run, at one address of this machine. Without
# unit/introspection, which needs 127.0.0.1, and without the tests that are too slow on
# an emulated machine over TCP, too.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"

LIMIT=$((LIMIT * 2))
TCLSH=/packages/usr/bin/tclsh8.6
SUITE=$DIR/suite

# suite UNIT...: what the units print, without times, processes and ports
suite() {
	local unit status rc=0

	for unit; do
		(cd "$SUITE" && run "$TCLSH" tests/test_helper.tcl --clients 1 \
			--tags -slow --config protected-mode no --single "$unit") \
			>"$DIR/said" 2>&1
		status=$?
		cat "$DIR/said" >>"$OUT/suite.${VIA:-tcp}"
		echo "$unit: exit status $status"
		sed -n 's/\x1b\[[0-9;]*m//g; s/ ([0-9]* ms)$//
			/^\[\(ok\|err\|exception\|ignore\|skip\)\]/p' "$DIR/said"
		if [ "$status" -ne 0 ]; then
			tail -n 20 "$DIR/said"
			rc=1
		fi
	done
	return "$rc"
}

session_client() {
	suite unit/protocol unit/pubsub unit/multi unit/tracking unit/quit unit/auth \
		unit/networking unit/querybuf unit/pause unit/limits
}

session_replica() {
	suite unit/wait unit/shutdown integration/redis-benchmark
}

[ -d /redis/tests ] || ktap_skip_all "the sources of Redis could not be fetched"
programs_up
packages_up
mkdir -p $SUITE/src
cp -r /redis/tests "$SUITE"/
for p in server cli benchmark; do
	ln -s "$(command -v redis-$p)" $SUITE/src/redis-$p
done
# one address for all, which has a device
grep -rlIE '127\.0\.0\.1|socket localhost' $SUITE/tests |
	xargs sed -i "s/127\.0\.0\.1/$CLIENT/g; s/socket localhost/socket $CLIENT/"
# some N: at least N tests were ok over SDP; two runs without tests would be the same, too
some() { [ "$(grep -c '^\[ok\]' "$DIR/out.sdp")" -ge "$1" ]; }

same client 10000
ktap_check "client: at least 100 tests are ok over SDP" some 100
same replica 10000
ktap_check "replica: at least 15 tests are ok over SDP" some 15
ktap_done
