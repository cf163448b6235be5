#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# hnic goes while somebody writes to its files in sysfs.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need python3

# writes FILE VALUE: until the device is gone
writes() {
	start_bg - python3 -uc '
import errno, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
print("writing", flush=True)
try:
    while True:
        os.pwrite(fd, sys.argv[2].encode(), 0)
except OSError as e:
    print(errno.errorcode[e.errno])
' "$@"
}

modprobe hnic
bad=
for ((i = 0; i < $(scaled 30 10); i++)); do
	ip link add ha numrxqueues 16 numtxqueues 16 type hnic \
		peer name hb numrxqueues 16 numtxqueues 16 ||
		ktap_skip_all "no link"
	writes /sys/class/net/ha/hnic/queue_cpus "0 0 0 0"
	wait_for 20 said writing
	ip link del ha
	wait "$BG_PID" && said ENODEV || bad+="$(cat "$BG_LOG"); "
done
ktap_is "CPUs of queues are written while it goes" "$bad" ""
ktap_done
