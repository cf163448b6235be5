#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=600
#
# Node.js: http and https servers and clients with connections that are kept,
# large bodies both ways, sockets of its net module.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need openssl

HERE=$(cd "$(dirname "$0")" && pwd)
MB=$(scaled 4 1)

NODE=(/packages/usr/bin/node "$HERE/node_http.js")

session_node() {
	serve 7601 "${NODE[@]}" server "$SERVER" 7601 &&
		run "${NODE[@]}" client "$SERVER" 7601 "$MB"
}

session_node_tls() {
	serve 7602 "${NODE[@]}" server "$SERVER" 7602 "$DIR/cert.pem" "$DIR/key.pem" &&
		run "${NODE[@]}" client "$SERVER" 7602 "$MB" "$DIR/cert.pem"
}

session_node_net() {
	serve 7603 "${NODE[@]}" echo "$SERVER" 7603 &&
		run "${NODE[@]}" net "$SERVER" 7603 "$MB"
}

programs_up
packages_up
certificate
same node $((MB << 21))
same node_tls $((MB << 21))
same node_net $((MB << 21))
ktap_done
