#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Errors in the middle of a long message on the shared link. A NIC has cut its FPDUs into
# packets of their own, and NAPI has merged the packets. The loop that takes merged packets
# finds the errors, with CRCs by the host, and by the NIC.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need hyb-hostile sdp-echo
PLAIN_PORTS=1

start
start_bg b sdp-echo -s -h "$SERVER" -p 5020
server=$BG_PID
wait_for 20 said listening
for crc in host nic; do
	attr crc $crc
	for interval in 256 512; do
		in_a hyb-hostile -h "$SERVER" -p 5020 -i $interval -o "full segments" \
			-s "rdma statistic show link rdb/1" wire >"$OUT/bulk.tap" 2>&1
		ktap_diag "CRC by the $crc, markers every $interval bytes"
		ktap_include <(grep -v '# SKIP' "$OUT/bulk.tap")
	done
done
stop_bg "$server"
ktap_done
