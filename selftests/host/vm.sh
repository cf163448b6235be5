#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "make vm": the commands of its greeting, typed at a terminal.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
unset MAKEFLAGS MAKELEVEL MFLAGS
build=${BUILD:-$TOP/build}

# shown: the commands of the greeting
shown() { sed -n "/^cat <<'END'/,/^END/p" "$TOP/selftests/vm/bashrc" | awk -F'\t+' '/^\t/ { print $2 }'; }

# typed: the commands, with time for each server to listen, and without a pager
typed() {
	echo PAGER=cat
	shown | sed -E '/^(in_b )?sdp-run (iperf3 -s|redis-server)/a sleep 10'
}

session() {
	typed | python3 -B "$(dirname "$0")/vm_shell.py" 'vm:~# ' \
		make -C "$TOP" --no-print-directory vm BUILD="$build" >"$WORK/said" ||
		{ tail -n 40 "$WORK/said"; false; }
}

# printed COMMAND: its output, then its status
printed() { awk -v c="@@> $1" 'on; /^@@/ { on = $0 == c }' "$WORK/said"; }

succeeds() {
	printed "$1"
	[ "$(printed "$1" | tail -n 1)" = @@0 ]
}

# prints COMMAND REGEX: a line of its output matches
prints() {
	printed "$1"
	printed "$1" | grep -Eq "$2"
}

check "the greeting has commands" [ "$(shown | wc -l)" -ge 10 ]
check "make vm starts, answers, and ends with 0" session
while IFS= read -r command; do
	check "$command" succeeds "$command"
done < <(shown)
check "iperf3 was over SDP" prints "in_a sdpstat; in_a sdpstat -s" '^active_opens +[1-9]'
check "rdma link shows the device of lo" \
	prints "rdma link" 'netdev lo'
check "Redis answers at a loopback address" prints "sdp-run redis-cli ping" '^PONG'
check "psql answers" prints "in_a sdp-run psql -h 10.0.0.2 -U postgres -c 'select version()'" \
	'^ PostgreSQL [0-9]'
check "perf counts FPDUs" prints \
	"perf stat -ae iwarp_hybrid:hyb_fpdu_tx in-ns a sdp-run iperf3 -c 10.0.0.2 -t 1" \
	'[1-9][0-9,]* +iwarp_hybrid:hyb_fpdu_tx'
check "the manual is shown" prints "man sdp-run" 'SDP-RUN\(1\)'
check "the test passes" prints "/selftests/sdp/embryo.sh; up" 'fail:0'
tap_done
