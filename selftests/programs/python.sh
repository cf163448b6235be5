#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Common parts of Python programs: asyncio with and without TLS, http.server,
# selectors, sendfile.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need python3 openssl

HERE=$(cd "$(dirname "$0")" && pwd)
MB=$(scaled 4 1)

session_asyncio() {
	serve 7001 python3 "$HERE/asyncio_echo.py" server "$SERVER" 7001 &&
		run python3 "$HERE/asyncio_echo.py" client "$SERVER" 7001 "$MB"
}

session_tls() {
	serve 7002 python3 "$HERE/asyncio_echo.py" server "$SERVER" 7002 \
		"$DIR/cert.pem" "$DIR/key.pem" &&
		run python3 "$HERE/asyncio_echo.py" client "$SERVER" 7002 "$MB" \
			"$DIR/cert.pem"
}

session_http() {
	serve 7003 python3 -m http.server -b "$SERVER" -d "$DIR/www" 7003 &&
		run python3 "$HERE/fetch.py" "http://$SERVER:7003/"
}

programs_up
mkdir $DIR/www
random_file www/large $((MB << 20))
random_file www/small 1000
certificate
same asyncio $((MB << 21))
same tls $((MB << 21))
same http $((MB << 20))
ktap_done
