#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Python's requests: sessions that keep their connections, bodies as streams.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need python3

HERE=$(cd "$(dirname "$0")" && pwd)
MB=$(scaled 4 1)

session_requests() {
	serve 7004 python3 "$HERE/requests_http.py" server "$SERVER" 7004 &&
		run python3 "$HERE/requests_http.py" client "$SERVER" 7004 "$MB"
}

programs_up
packages_up
export PYTHONPATH=/packages/usr/lib/python3/dist-packages
same requests $((MB * 5 << 20))
ktap_done
