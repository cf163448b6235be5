#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A peer that breaks the rules of MPA, DDP, RDMAP and RFC 7306, as plain TCP program,
# against a listener and an initiator on a hybrid device. Each connection ends
# as it has to, the counter of that mistake rises, a healthy connection on the
# same device goes on all the time, and the module can be unloaded afterwards.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need hyb-hostile hyb-target rdma

SERVER=10.0.0.2
STATS="rdma statistic show link rdb/1"

healthy_start() {
	start_bg a hyb-target -c -h $SERVER -p 7900
	HEALTHY=$BG_PID
	HEALTHY_LOG=$BG_LOG
	wait_for 20 said connected "$HEALTHY_LOG" ||
		ktap_fail "the healthy connection" "$(cat "$HEALTHY_LOG")"
}

# healthy_check: it lives, and still does when asked to end
healthy_check() {
	kill -TERM "$(pgrep -x hyb-target -P "$HEALTHY" || echo "$HEALTHY")"
	if wait "$HEALTHY" && grep -q " echoes" "$HEALTHY_LOG"; then
		ktap_ok "the healthy connection was not disturbed"
	else
		ktap_fail "the healthy connection was not disturbed" \
			"$(cat "$HEALTHY_LOG")"
	fi
}

# attacks SET ARGUMENTS...: in the background; the sets wait for timeouts of
# the device and count different mistakes, so they run side by side
attacks() {
	local set=$1

	shift
	in_a hyb-hostile -s "$STATS" "$@" "$set" > "$OUT/$set.tap" 2>&1 &
	SETS+=($!)
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
kt_load verbs_test || ktap_skip_all "no test module"
start_bg b hyb-target -h $SERVER -p 7900
TARGET=$BG_PID
TARGET_LOG=$BG_LOG
start_bg b hyb-target -g -h $SERVER -p 7902
GREETER=$BG_PID
wait_for 20 said listening || ktap_fail "the target that greets listens"
start_bg b hyb-target -r -h $SERVER -p 7904
REJECTER=$BG_PID
wait_for 20 said listening || ktap_fail "the target that rejects listens"
wait_for 20 said listening "$TARGET_LOG" ||
	ktap_fail "the target listens" "$(cat "$TARGET_LOG")"
healthy_start
SETS=()
attacks fpdu -h $SERVER -p 7900
attacks ext -h $SERVER -p 7900
attacks start -h $SERVER -p 7900
attacks ends -h $SERVER -p 7900
# the other way round: a hybrid initiator connects to a hostile server in a
attacks reply -h 10.0.0.1 -p 7901 \
	-x "in-ns b hyb-target -c -1 -h 10.0.0.1 -p 7901"
attacks fence -h $SERVER -p 7902
# a client in the kernel, for programs have no atomic operations
attacks answer -h 10.0.0.1 -p 7903 \
	-x "in-ns b sh -c 'echo fetch 10.0.0.1 7903 >$KT/run'"
# and one whose peer does not even answer TCP
ip -n b neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev vb
in_b hyb-target -c -1 -h 10.0.0.9 -p 7900 >"$OUT/nobody.log" 2>&1 &
SETS+=($!)
wait "${SETS[@]}"
ktap_check "no peer: the client is not connected" grep -q "not connected" "$OUT/nobody.log"
ktap_check "no peer: cm_timeouts is counted" test \
	"$(cat /sys/class/infiniband/rdb/ports/1/hw_counters/cm_timeouts)" -gt 0
for set in fpdu ext start ends reply fence answer; do
	# what needs markers has its turn below
	ktap_include <(grep -v '# SKIP' "$OUT/$set.tap")
done
# one NAME SET ARGUMENTS...: by itself, for others count the same mistakes
one() {
	local name=$1

	shift
	SETS=()
	attacks "$@"
	wait "${SETS[@]}"
	ktap_diag "$name:"
	ktap_include "$OUT/$1.tap"
}

one "slow readers" slow -h $SERVER -p 7900
one "first FPDUs" ready -h $SERVER -p 7900
one "rejected" refuse -h $SERVER -p 7904
one "ready to receive" rtr -h 10.0.0.1 -p 7905 \
	-x "in-ns b hyb-target -c -n 2 -h 10.0.0.1 -p 7905"
# again NAME ARGUMENTS...: attacks in full operation once more, none skipped
again() {
	local name=$1

	shift
	SETS=()
	attacks fpdu -h $SERVER -p 7900 "$@"
	wait "${SETS[@]}"
	ktap_diag "$name:"
	ktap_include <(grep -v '# SKIP' "$OUT/fpdu.tap")
	if grep -q SKIP "$OUT/fpdu.tap"; then
		ktap_fail "$name: the device has markers" \
			"$(grep SKIP "$OUT/fpdu.tap")"
	else
		ktap_ok "$name: the device has markers"
	fi
}

# with markers in what the device receives, then both ways
echo on > /sys/class/infiniband/rdb/hybrid/markers
again "markers from the peer" -o marker
echo auto > /sys/class/infiniband/rdb/hybrid/markers
again "markers both ways" -i 256
again "markers, sequence numbers wrap" -i 512 -w -o marker
again "rare markers, sequence numbers wrap" -i 16384 -w -o everywhere
echo on > /sys/class/infiniband/rdb/hybrid/markers
echo on > /sys/class/infiniband/rdb/hybrid/ooo
again "placed out of order"
one "first FPDUs, markers, out of order" ready -h $SERVER -p 7900
healthy_check

stop_bg "$TARGET"
stop_bg "$GREETER"
stop_bg "$REJECTER"
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_check_fails "nothing is written without a right" \
	grep "after the end" "$TARGET_LOG"
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
