#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The contract of the shared link on iwarp_hybrid, case by case: errors,
# appends, one call for one request, pauses, ends with a reservation open.
# vm: timeout=300
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"

kt_load stack_test stack_mock || ktap_skip_all "no test module"
net_up
dev_up hybrid hybrid
kt_tell b listen 10.0.0.2 7777

start_bg b python3 -c 'import signal, socket
s = socket.create_server(("10.0.0.2", 7778))
signal.pause()'
wait_port b 7778
kt_do a "reset" reset 10.0.0.2 7778
# The last case takes the device of a away
kt_do a "" link 10.0.0.2 7777
ktap_check "the device of one end is gone" wait_for 10 test ! -e /sys/class/infiniband/rda
ktap_done
