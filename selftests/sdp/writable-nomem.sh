#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=900
#
# A nonblocking send() on the shared link finds no pages. Then poll() does not say that there
# is room, so that the program does not try again in a loop. Where there are small pages
# only, poll() knows when these are used up.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/../iwarp_hybrid/fail.bash"
need python3 sdp-run
HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$(mktemp -d)
defer rm -rf "$DIR"
PORT=7963
PAGES=$DBG/fail_page_alloc
[ -d "$PAGES" ] || ktap_skip_all "the kernel has no CONFIG_FAIL_PAGE_ALLOC"

# pages ORDER PERCENT: let PERCENT of the sender's allocations of at least ORDER fail, those
# that cannot sleep as well
pages() {
	echo "$1" >"$PAGES/min-order"
	echo "$2" >"$PAGES/probability"
}

# step NAME: let the client do this; sets ANSWER to what it prints
step() {
	touch "$DIR/$1"
	wait_for 200 said "$1:" "$CLIENT"
	ANSWER=$(grep "^$1:" "$CLIENT" | cut -d' ' -f2-)
	ktap_diag "$1: $ANSWER"
}

modprobe -q sdp
fail_ready
echo Y >"$PAGES/ignore-gfp-wait"
# of the sender alone: the kernel's debugging needs pages, too
echo Y >"$PAGES/task-filter"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
start_bg b sdp-run python3 "$HERE/writable_nomem.py" serve "$DIR" "$PORT"
SERVER=$BG_LOG
wait_for 60 said listening || ktap_fail "the server listens" "$(cat "$SERVER")"
start_bg a sdp-run -o python3 "$HERE/writable_nomem.py" send "$DIR" "$PORT"
CLIENT=$BG_LOG

step large
read -r large again <<<"$ANSWER"
ktap_is "large pages: poll() never says writable without room" "$again" 0
# iwarp_hybrid's table of transmit pages stays as large as it is, as long as it has pages
pages 1 100
step small
read -r small again <<<"$ANSWER"
pages 0 0
ktap_check "small pages hold less" test "$small" -lt "$large" -a "$small" -gt 100000
ktap_is "small pages: poll() never says writable without room" "$again" 0
step drain-all
pages 0 100
step none
pages 0 0
ktap_is "without pages poll() says not writable" "$ANSWER" "not writable"
step drain-none
step end
wait_for 60 said read: "$SERVER"
ktap_is "all bytes arrive" "$(sed -n 's/^read: //p' "$SERVER")" "$ANSWER"
ktap_done
