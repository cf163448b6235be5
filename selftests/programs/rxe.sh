#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3300 nodebug
#
# Most tests of this directory over rxe, whose connections are those of RoCE: another
# device, another form of Hello, no shared link. Not under the debug kernel, see
# interop/rxe-rxe.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
need gonet
OUT=$(mktemp)
defer rm -f "$OUT"

# over_rxe TEST SECONDS: run the test; its results become results of this one
over_rxe() {
	local n=0 line what

	DEVICES="rxe rxe" timeout -k 10 "$2" "$HERE/$1.sh" >"$OUT" 2>&1
	while read -r line; do
		what="$1: ${line#*- }"
		case $line in
		*"# SKIP"*) ktap_skip "${what%% # SKIP*}" "${line##*# SKIP }" ;;
		"ok "*) ktap_ok "$what" ;;
		*) ktap_fail "$what" "$(grep -A20 -Fx "$line" "$OUT" | tail -n +2)" ;;
		esac
		n=$((n + 1))
	done < <(grep -E '^(not )?ok ' "$OUT")
	ktap_check "$1: ran to its end" grep -qx "1..$n" "$OUT"
}

for t in redis memcached python requests stress web ssh traffic \
	postgres node java go; do
	over_rxe $t 500
done
over_rxe redis_suite 900
ktap_done
