#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Lifetimes in rdma_stack: devices, providers and NIC drivers that go while
# somebody looks at them.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/lib.sh"

st_load
st_do - registry
ktap_done
