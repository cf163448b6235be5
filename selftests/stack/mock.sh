#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The contract of the shared link on a provider that is not iwarp_hybrid.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/lib.sh"

st_load
st_do - mock "$(scaled 4000000)"
ktap_done
