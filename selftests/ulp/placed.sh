#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# The verbs that upper layers of the kernel use, where a NIC places the payload.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
export NET_LINK=hnic
need_research

hybrid_here || ktap_skip_all "no hybrid devices"
kt_load ulp_verbs || ktap_skip_all "no test module"
for dev in rda rdb; do
	echo nic >/sys/class/infiniband/$dev/hybrid/placement
	ktap_is "$dev: the NIC places payload" "$(cat /sys/class/infiniband/$dev/hybrid/placement)" nic
done
counters_save
kt_do - kernel all 10.0.0.2 7800
ktap_check "the NIC has placed payload" counters_grew rdb rx_nic_placed
ktap_check "the module can be removed" modprobe -r ulp_verbs
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
