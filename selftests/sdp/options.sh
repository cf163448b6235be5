#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every option number of four levels: works, is stored, or is refused; see options.py.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3

modprobe -q sdp
python3 "$(dirname "$0")/options.py" "$(dirname "$0")/options.list"
