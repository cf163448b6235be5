#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# A program that writes nonsense into the rings it shares with the driver. Its
# requests fail, nobody else's, and the module can be unloaded afterwards.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-rings hyb-target rdma

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

in_a hyb-rings -h 10.0.0.2 -p 7900 -n "$(scaled 100 10)" > "$OUT/rings.tap" 2>&1
ktap_diag "$(grep '^#' "$OUT/rings.tap")"
while read -r line; do
	case $line in
	"ok "*) ktap_ok "${line#ok * - }" ;;
	"not ok "*) ktap_fail "${line#not ok * - }" ;;
	esac
done < "$OUT/rings.tap"

kill -TERM "$(pgrep -x hyb-target -P "$HEALTHY" || echo "$HEALTHY")"
if wait "$HEALTHY" && grep -q " echoes" "$HEALTHY_LOG"; then
	ktap_ok "the healthy connection was not disturbed"
else
	ktap_fail "the healthy connection was not disturbed" \
		"$(cat "$HEALTHY_LOG")"
fi
stop_bg "$TARGET"
ktap_check "the devices go" dev_down
ktap_check "the module goes" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
