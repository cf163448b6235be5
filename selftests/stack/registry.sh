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
kt_do - "" registry
ktap_done
