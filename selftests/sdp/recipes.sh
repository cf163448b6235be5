#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1200
#
# The commands of perf and bpftrace that the documents show, as they stand there, over the
# simulated NIC, while data passes: each of them finds its events, and shows some.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/../hnic/lib.bash"
# shellcheck source=selftests/lib/documents.bash
. "$(dirname "$0")/../lib/documents.bash"
need sdpbench
[ -e $DOC/performance.rst ] || ktap_skip_all "no documentation"
packages_up
PATH=$PATH:/packages/usr/bin:/packages/usr/sbin
need perf bpftrace
[ -d /sys/kernel/tracing/events ] || ktap_skip_all "the kernel has no tracing"
T=$(mktemp -d /run/recipes.XXXXXX)
defer rm -rf "$T"
SAID=$T/said

# shown: all of them, as lines NAME COMMAND
shown() {
	local f

	for f in "$DOC"/*.rst; do
		in_document "$f" | grep -E '^(perf|bpftrace) ' | sed "s|^|$(basename "$f" .rst) |"
	done
}

terminates() { awk '{ n += $1 } END { print n }' \
	/sys/class/infiniband/rd[ab]/ports/1/hw_counters/tx_terminates; }

# terminate: a connection ends by a bad CRC, which may hit its start-up, without a Terminate
terminate() {
	local before _

	before=$(terminates)
	attr profile host
	knob b fault_corrupt 2000
	for _ in 1 2 3 4 5 6; do
		transfer 2000000
		[ "$(terminates)" -eq "$before" ] || break
	done
	knob b fault_corrupt 0
	attr profile hybrid
}

# lose: a NIC loses the stream
lose() {
	both fault_resync 100000
	transfer 300000
	both fault_resync 0
}

rename() { rdma dev set rda name rdc && rdma dev set rdc name rda; }

# events COMMAND: that it looks at
events() {
	case $1 in
	*rdma_stack:*) rename ;;
	*hyb_terminate_*) terminate ;;
	*hyb_off_resync*) lose ;;
	*) transfer 300000 ;;
	esac
}

# attached PID: bpftrace says so; perf trace does not, but it has files for its events
attached() {
	grep -q Attaching "$SAID" || find "/proc/$1/fd" -lname '*perf_event*' | grep -q .
}

# watch COMMAND: while the events happen; it ends by ^C
watch() {
	local pid rc

	bash -c "exec $1" >"$SAID" 2>&1 </dev/null &
	pid=$!
	wait_for 60 attached "$pid"
	sleep 2
	events "$1" >/dev/null 2>&1
	sleep 2
	kill -INT "$pid"
	wait "$pid"
	rc=$?
	cat "$SAID"
	return "$rc"
}

# bench COMMAND: a client of a server that runs, or what looks at its records
bench() {
	local command=${1//SERVER/10.0.0.2} rc

	in_a timeout 300 bash -o pipefail -c "cd $T && ${command//selftests\//$SELFTESTS/}" >"$SAID" 2>&1
	rc=$?
	[[ $command != *"> flame.svg" ]] || cat "$T/flame.svg" >>"$SAID"
	cat "$SAID"
	return "$rc"
}

# wanted COMMAND: a line that its output has to have, as a regular expression
wanted() {
	case $1 in
	"perf trace "*rdma_stack:*) echo 'rdma_stack_device:? ?\(?dev=rda .*event=RENAMED' ;;
	*hyb_terminate_*) echo 'hyb_terminate_tx.*layer=MPA type=0 code=2' ;;
	*hyb_off_resync*) echo 'hnic_rx_lost.*dev=v[ab]' ;;
	"perf trace "*sdp:*) echo 'sdp_down:? ?\(?sock_cookie=[0-9a-f]+ family=AF_INET .* error=none' ;;
	*sdp_down*) echo '@\[::ffff:10.0.0.[12], 0\]: [0-9]+' ;;
	*hyb_fpdu_tx*) echo '@fpdus\[[0-9]+, [0-9]+\]: [0-9]+' ;;
	*hnic_fpdu_rx*) echo '@\[v[ab], 1\]: [0-9]+' ;;
	"perf stat "*) echo 'task-clock' ;;
	"perf record "*) echo 'perf.data \([0-9]+ samples\)' ;;
	"perf report "*) echo '[0-9]%.*\[kernel' ;;
	"perf script "*) echo '<title>sdp_sendmsg \[sdp\]: [0-9.e+]+ ' ;;
	*) echo "no rule for this command" ;;
	esac
}

# title COMMAND: what the document says that it shows
title() {
	case $1 in
	"perf trace "*rdma_stack:*) echo "changes of RDMA devices" ;;
	*hyb_terminate_*) echo "the life of connections, and why one breaks" ;;
	*hyb_off_resync*) echo "the loss of the stream by the NIC" ;;
	*hyb_fpdu_tx*) echo "FPDUs per queue pair and operation" ;;
	*hnic_fpdu_rx*) echo "the packets that get a verdict" ;;
	"perf stat "*) echo "the processor time of the whole machine" ;;
	"perf record "*) echo "the number of samples" ;;
	"perf report "*) echo "the functions of the kernel" ;;
	"perf script "*) echo "a flame graph" ;;
	*) echo "a line of its own" ;;
	esac
}

# recipe DOCUMENT COMMAND
recipe() {
	local name tool=${2%% [-|]*}

	name="$1: $tool for $(title "$2")"
	case $2 in
	perf\ trace* | bpftrace*) ktap_check "$name runs" watch "$2" ;;
	*) ktap_check "$name runs" bench "$2" ;;
	esac || ktap_diag "$2"
	ktap_check "$1: $tool shows $(title "$2")" grep -Eq "$(wanted "$2")" "$SAID" ||
		ktap_diag "wanted: $(wanted "$2")" "$(head -n 40 "$SAID")"
}

start
start_bg b sdpbench -s
wait_port b 7471
while read -r document command; do
	recipe "$document" "$command"
done < <(shown)
ktap_check "the documents show eleven recipes" [ "$KTAP_N" -eq 22 ]
for system in sdp iwarp_hybrid hnic rdma_stack; do
	ktap_check "a recipe shows events of $system" \
		grep -Eq "^(perf trace|bpftrace) .*[':,]$system:" <(shown)
done
ktap_done
