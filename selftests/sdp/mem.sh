#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
#
# net.sdp.mem limits the memory of all connections over verbs links whose readers wait. All
# bytes arrive when they read, nothing is left in the account, and a connection beyond the
# limit is refused.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need python3 sdpstat
HERE=$(cd "$(dirname "$0")" && pwd)
COUNT=60
PORT=7980
# pages. Half of it, above which memory is short, is more than what connections may have in any
# case: a buffer of 8 to send and one to receive
LIMIT=3000
EACH=$((COUNT * 16))
# the kernel counts per processor, up to 1 MB each
SLACK=$((256 * $(nproc)))
MOST=$((LIMIT + EACH + SLACK))
# connections that hold more than that
HOARD=20
TEMP=$(mktemp -d)
defer rm -rf "$TEMP"

# pages: number of pages in buffers, in both namespaces
pages() { echo $(($(sdp_counter a mem_pages) + $(sdp_counter b mem_pages))); }

# at_most N: at most N pages are left
at_most() { [ "$(pages)" -le "$1" ]; }

# total NAME: of a counter, in both namespaces
total() { echo $(($(sdp_counter a "$1") + $(sdp_counter b "$1"))); }

# ends COUNT CLIENT: a server, and a client that does not begin yet. DIR is theirs
ends() {
	DIR=$(mktemp -d -p "$TEMP")
	PORT=$((PORT + 1))
	start_bg b python3 "$HERE/mem.py" serve 10.0.0.2 $PORT "$1" "$DIR"
	SERVER=$BG_LOG
	wait_for 60 said listening "$SERVER" || ktap_fail "the server listens" "$(cat "$SERVER")"
	start_bg a python3 "$HERE/mem.py" "$2" 10.0.0.2 $PORT "$1" "$DIR"
	CLIENT=$BG_LOG
	wait_for 120 said accepted "$SERVER" || ktap_fail "the connections are established" "$(cat "$CLIENT")"
}

# full WHAT: fill COUNT connections whose reader waits; sets FULL to the pages
full() {
	ends "$COUNT" send
	touch "$DIR/fill"
	ktap_check "$1: nothing more is taken" wait_for 200 said full "$CLIENT"
	FULL=$(pages)
	ktap_diag "$1: $FULL pages, $(grep full "$CLIENT"), refused $(total mem_limit)"
}

# all_read WHAT: the reader gets all unread bytes, and the memory is given back
all_read() {
	touch "$DIR/read"
	ktap_check "$1: all bytes arrive" wait_for 200 said "right: $COUNT" "$SERVER"
	ktap_check "$1: the account is empty" wait_for 20 at_most 0
}

# connect_one: try one more connection; prints the result
connect_one() {
	in_a python3 -c '
import errno, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
    try:
        sock.connect(("10.0.0.2", int(sys.argv[1])))
        print("connected")
    except OSError as err:
        print(errno.errorcode[err.errno])' "$PORT"
}

# refuses NUMBERS [in_a]: a write of these to net.sdp.mem fails
refuses() { ! "${@:2}" sysctl -qw net.sdp.mem="$1"; }

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.shared_link=0
done
before=$(sysctl -n net.sdp.mem | tr '\t' ' ')
read -r _ _ most <<<"$before"
read -r _ _ tcp < <(sysctl -n net.ipv4.tcp_mem)
ktap_check "the default is like that of TCP: $most, $tcp" \
	[ "$most" -gt $((tcp / 2)) -a "$most" -lt $((tcp * 2)) ]
ktap_is "other namespaces see the limit" "$(in_a sysctl -n net.sdp.mem | tr '\t' ' ')" "$before"
ktap_check "other namespaces cannot change the limit" refuses "1 2 3" in_a
ktap_check "numbers that decrease are refused" refuses "3 2 4"
ktap_is "refused numbers change nothing" "$(sysctl -n net.sdp.mem | tr '\t' ' ')" "$before"

full "the default"
ktap_check "the default: connections take much more than the low limit, $MOST pages" \
	[ "$FULL" -gt $((MOST + LIMIT / 2)) ]
ktap_is "with the default limit nothing is refused" "$(total mem_limit)" 0
all_read "the default"

defer sysctl -qw net.sdp.mem="$before"
sysctl -qw net.sdp.mem="$((LIMIT / 4)) $((LIMIT / 2)) $LIMIT"
full "low limit"
ktap_check "low limit: memory stays below it" [ "$FULL" -le "$MOST" ]
ktap_check "low limit: the refusals are counted" [ "$(total mem_limit)" -gt 0 ]
ktap_check "low limit: poll() does not say that there is room" \
	[ "$(sed -n 's/^full, for nothing: //p' "$CLIENT")" -lt $((COUNT * 20)) ]
ktap_is "low limit: /proc/net/protocols says that memory is short" \
	"$(awk '$1 == "SDP" { print $5 }' /proc/net/protocols)" yes

# now each connection has only what it may have in any case
sysctl -qw net.sdp.mem="1 1 1"
limited=$(total mem_limit)
ktap_is "one more connection is refused" "$(connect_one)" ENOBUFS
ktap_check "one more connection: the refusal is counted" [ "$(total mem_limit)" -gt "$limited" ]
all_read "low limit"

# filled CLIENT: nothing more is taken, or all of it has been
filled() { said full "$1" || said sent "$1"; }

# settled: what is under way has arrived. HELD is left as pages()
settled() {
	local last=$HELD

	HELD=$(pages)
	[ "$HELD" = "$last" ] && return
	sleep 0.5
	return 1
}

# hoard WHAT: others that hold memory, so that the limit is exceeded
hoard() {
	ends "$HOARD" send
	HOARD_DIR=$DIR HOARD_SERVER=$SERVER
	touch "$DIR/fill"
	ktap_check "$1: other connections hold memory" wait_for 200 filled "$CLIENT"
	HELD=
	wait_for 20 settled
	ktap_check "$1: the kernel counts their memory: $HELD pages" [ "$HELD" -gt $((2 * SLACK)) ]
}

hoard_ends() {
	touch "$HOARD_DIR/read"
	ktap_check "$1: the other connections get all their bytes" wait_for 200 said "right: $HOARD" "$HOARD_SERVER"
	ktap_check "$1: the account is empty at the end" wait_for 20 at_most 0
}

# answers WHAT PAGES: the server of one connection sends and does not read yet, and has no more
# than it may have in any case, PAGES at least: the credits of its client come after the
# client's data
answers() {
	sysctl -qw net.sdp.mem="$before"
	hoard "$1"
	ends 1 both
	[ "$2" = 0 ] || ktap_check "$1: memory is charged to the account" [ "$(pages)" -ge $((HELD + $2)) ]
	sysctl -qw net.sdp.mem="1 1 1"
	touch "$DIR/fill"
	ktap_check "$1: a server that does not read yet sends all" \
		wait_for 60 said answered "$SERVER"
	ktap_check "$1: the client of that server gets all" wait_for 60 said "answer right" "$CLIENT"
	touch "$DIR/read"
	ktap_check "$1: that server reads all afterwards" wait_for 60 said "right: 1" "$SERVER"
	ktap_check "$1: the memory of that connection is given back" wait_for 20 at_most "$HELD"
	hoard_ends "$1"
}

answers "credit" 0
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.flow_control=vwin
done
answers "vwin" 0
if has_research; then
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.flow_control=rdma
	done
	# a ring of 256 KB at each end
	answers "rdma" 128
fi
dev_down
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.flow_control=credit
done
if dev_up siw siw; then
	# 8 receives of 32 KB at each end
	answers "siw" 128
else
	ktap_skip "siw" "no such device"
fi
ktap_done
