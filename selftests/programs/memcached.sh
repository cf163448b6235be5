#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# memcached, which has a listener that several threads take connections from:
# text protocol, pipelines, values up to its limit, requests that are refused.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need memcached python3

HERE=$(cd "$(dirname "$0")" && pwd)
N=$(scaled 2000 200)

session_memcached() {
	serve 7301 memcached -u root -l "$SERVER" -p 7301 -U 0 -m 64 -t 4 &&
		run python3 "$HERE/memcached_client.py" "$SERVER" 7301 "$N"
}

programs_up
same memcached $((N * 200))
ktap_done
