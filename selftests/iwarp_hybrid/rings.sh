#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A program that writes nonsense into the rings it shares with the driver, and makes
# calls that it should not. Its requests fail, others' do not, and the module can be
# unloaded afterwards. The rings are charged to its control group.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-rings hyb-target rdma jq

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
start_bg b hyb-target -h 10.0.0.2 -p 7900
TARGET=$BG_PID
wait_for 20 said listening ||
	ktap_fail "the target listens" "$(cat "$BG_LOG")"
start_bg a hyb-target -c -h 10.0.0.2 -p 7900
HEALTHY=$BG_PID
HEALTHY_LOG=$BG_LOG
wait_for 20 said connected "$HEALTHY_LOG" ||
	ktap_fail "the healthy connection" "$(cat "$HEALTHY_LOG")"

# drv_memory is all, of which a ring is nearly all here
GROUP=/sys/fs/cgroup/rings
drv_memory() {
	rdma -jdd resource show qp |
		jq "[.[] | select(.pid == $1) | .drv_memory // empty] | add // 0"
}
charged() { awk '$1 == "vmalloc" { print $2 }' $GROUP/memory.stat; }
kept() {
	local before pid

	mkfifo /run/keep
	# in a there is another /sys
	# shellcheck disable=SC2016
	start_bg here sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@" </run/keep' \
		x $GROUP in-ns a hyb-rings -h 10.0.0.2 -p 7900 -q 4
	exec 7>/run/keep
	wait_for 20 said kept || ktap_fail "queue pairs" "$(cat "$BG_LOG")"
	pid=$(cat $GROUP/cgroup.procs)
	before=$(drv_memory "$pid")
	ktap_check "the queues take much memory: $before bytes" test "$before" -gt 2000000
	ktap_diag "$(charged) bytes charged"
	ktap_check "a program is charged for its queues" test "$(charged)" -gt $((before * 9 / 10))
	exec 7>&-
	wait "$BG_PID"
	rm -f /run/keep
}
[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
if echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir $GROUP; then
	kept
	ktap_check "only the queues are charged: the group can be removed" wait_for 20 rmdir $GROUP
else
	ktap_fail "a control group for memory"
fi

# A message that waits for a receive is checked when it comes, and once more when there is one
late_counter() {
	awk -v n="$1" '$1 == n { print $2 }' \
		/sys/class/infiniband/rda/hybrid/qp/"$QP"/counters
}
late() {
	local crc

	mkfifo /run/late
	start_bg a sh -c 'exec hyb-rings -h 10.0.0.2 -p 7900 -l </run/late'
	exec 7>/run/late
	wait_for 20 said waits || ktap_fail "an answer without a receive" "$(cat "$BG_LOG")"
	QP=$(awk '$1 == "waits" { print $2 }' "$BG_LOG")
	# it is looked for again and again
	sleep 2
	echo >&7
	ktap_check "a late receive is found" wait_for 20 said received
	crc=$(late_counter rx_crc_bytes)
	ktap_check "a message for a late receive is checked twice at most: $crc bytes" \
		test "$crc" -gt 256 -a "$crc" -le $((2 * $(late_counter rx_bytes)))
	exec 7>&-
	wait "$BG_PID"
	rm -f /run/late
}
late

in_a hyb-rings -h 10.0.0.2 -p 7900 -n "$(scaled 100 10)" > "$OUT/rings.tap" 2>&1
ktap_include "$OUT/rings.tap"

kill -TERM "$(pgrep -x hyb-target -P "$HEALTHY" || echo "$HEALTHY")"
if wait "$HEALTHY" && grep -q " echoes" "$HEALTHY_LOG"; then
	ktap_ok "the healthy connection was not disturbed"
else
	ktap_fail "the healthy connection was not disturbed" \
		"$(cat "$HEALTHY_LOG")"
fi
stop_bg "$TARGET"
ktap_check "the devices can be removed" dev_down
ktap_check "the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
