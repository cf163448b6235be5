#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# SDP between a client on siw and a server on hybrid.

# shellcheck source=selftests/interop/matrix.bash
. "$(dirname "$0")/matrix.bash"
matrix siw hybrid
