#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The verbs of programs over a NIC that places payload: the NIC does not write to memory for
# which a queue pair or a region has withdrawn the right, although it has written there before.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/../ulp/lib.bash"
need ulp-uverbs
need_research
export NET_LINK=hnic

hybrid_here || ktap_skip_all "no hybrid devices over hnic"
for dev in rda rdb; do
	echo nic >/sys/class/infiniband/$dev/hybrid/placement
done
ktap_is "the NIC is to place payload" "$(cat /sys/class/infiniband/rdb/hybrid/placement)" nic
counters_save
timeout -k 5 200 ulp-uverbs >"$OUT/uverbs.tap" 2>&1
ktap_is "the program ran" $? 0
ktap_include "$OUT/uverbs.tap"
ktap_check "the NIC has placed payload" counters_grew rdb rx_nic_placed

# The removal of the NIC is held up before the NIC has given up the buffers.
ends() { ! kill -0 "$PROGRAM" 2>/dev/null; }
start_bg - ulp-uverbs -w "$OUT/go"
PROGRAM=$BG_PID TAP=$BG_LOG
wait_for 20 said "waits for" "$TAP"
if hold hyb_off_place_end ip asleep=1 ms=60000; then
	ip link del vb &
	ktap_check "the NIC is about to leave" wait_for 20 is_held
	touch "$OUT/go"
	wait_for 20 said "has looked" "$TAP"
	hold_end
	ktap_check "the program with queue pairs ends" wait_for 20 ends
	ktap_include "$TAP"
	wait
else
	ktap_skip "the NIC leaves while programs have buffers" "no probes"
fi
ktap_done
