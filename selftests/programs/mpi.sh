#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Open MPI over iwarp_hybrid: NetPIPE between two hosts compares what it receives with what
# was sent, from five bytes to a megabyte, and the bytes are counted at the devices. The
# same over TCP leaves nothing there.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/mpi.sh
. "$(dirname "$0")/../lib/mpi.sh"

LARGEST=$(scaled 1048576 65536)
TIMES=$(scaled 10 3)

# checked DEVICE: how many sizes pass the integrity check of NetPIPE
checked() {
	mpi_run "$1" NPopenmpi -i -u "$LARGEST" -n "$TIMES" -o /run/np.out >/run/np.log 2>&1 &&
		grep -c 'Integrity check passed' /run/np.log
}

dev_up hybrid hybrid || ktap_skip_all "no devices"
mpi_up

for device in hybrid tcp; do
	before=$(mpi_bytes)
	sizes=$(checked $device)
	ktap_check "over $device: ${sizes:-0} sizes pass the integrity check of NetPIPE, 20 at least" \
		test "${sizes:-0}" -ge 20 || ktap_diag "$(tail -n 30 /run/np.log)"
	moved=$(($(mpi_bytes) - before))
	if [ $device = hybrid ]; then
		# each message goes there and back
		least=$((LARGEST * TIMES * 2))
		ktap_check "over hybrid: $moved bytes over the devices, $least at least" test "$moved" -ge "$least"
	else
		ktap_is "over TCP: nothing over the devices" "$moved" 0
	fi
done
ktap_check "no queue pair is left" wait_for 30 no_queue_pairs
ktap_done
