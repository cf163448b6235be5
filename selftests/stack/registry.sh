#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Lifetimes in rdma_stack: devices, providers and NIC drivers that are removed while
# they are in use.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"

kt_load stack_test stack_mock || ktap_skip_all "no test module"
need jq

# the first four changes: the device comes, its driver registers, a component moves, the
# driver unregisters
# shellcheck disable=SC2317 # called by wait_for
listens() { awk '$2 == 16 && $4 != "00000000" { n++ } END { exit !n }' /proc/net/netlink; }
events=$(mktemp)
sdpstat stack -j -m -c 4 >"$events" &
monitor=$!
LIB_PIDS+=("$monitor")
wait_for 5 listens
kt_do - "" registry
wait_for 5 test ! -d /proc/$monitor/fd
ktap_is "programs are notified of each change, once" \
	"$(jq -r '"\(.event) \(.source) \(.components.crc)"' "$events" | tr '\n' ',')" \
	"change none unknown,change provider unknown,change provider nic,change none unknown,"
ktap_done
