#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The contract of the shared link on a provider that is not iwarp_hybrid.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"

kt_load stack_test stack_mock || ktap_skip_all "no test module"
kt_do - "" mock "$(scaled 4000000)"
ktap_done
