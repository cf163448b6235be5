#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long count timeout=600 mem=2G
#
# Posting a receive to the shared queue of 10,000 queue pairs, and making and destroying one
# more queue pair, take at most a fifth more instructions than without these queue pairs. So
# does a receive for a waiting message, until it has the message, while 1,000 other queue pairs
# have a waiting message, too; no more queue pairs continue than there are receives. An
# instruction takes a nanosecond here.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"

SERVER="10.0.0.2 7990"

kt_load verbs_test || ktap_skip_all "no test module"
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
# shellcheck disable=SC2086 # address and port
if ! kt_tell b listen $SERVER || ! kt_tell - peer $SERVER; then
	ktap_fail "the listener is set up"
fi
kt_do a hybrid scale
ktap_done
