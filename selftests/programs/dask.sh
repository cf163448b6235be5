#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1800 mem=3G
#
# Dask distributed, an engine that knows nothing of SDP, on four hosts at a bridge: a
# scheduler and three workers that exchange blocks; the client is on the scheduler's host.
# Over TCP, then under sdp-run: the same results, and the bytes are on SDP.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need python3

HERE=$(cd "$(dirname "$0")" && pwd)
N=4
WORKERS=3
MB=$(scaled 6 1)

job() { in_n "$1" timeout -k 5 1500 "${@:2}"; }

# session VIA...: run scheduler, workers and client under VIA; the output of the client
session() {
	local pids=() i

	start_bg - job 1 "$@" python3 "$HERE/dask_job.py" scheduler 10.0.0.1 8786
	pids+=("$BG_PID")
	for ((i = 2; i <= N; i++)); do
		start_bg - job $i "$@" python3 "$HERE/dask_job.py" worker 10.0.0.1 8786 "10.0.0.$i" "w$i"
		pids+=("$BG_PID")
	done
	job 1 "$@" python3 "$HERE/dask_job.py" client 10.0.0.1 8786 $WORKERS "$MB" 2>$DIR/errors ||
		tail -n 20 $DIR/errors
	for i in "${pids[@]}"; do
		stop_bg "$i"
	done
}

cluster_up $N
packages_up
export PYTHONPATH=/packages/usr/lib/python3/dist-packages
session >$DIR/tcp
ktap_check "over TCP: the job is done" grep -q '^error: ZeroDivisionError$' $DIR/tcp ||
	ktap_diag "$(cat $DIR/tcp $DIR/errors)"
ktap_is "over TCP: nothing is on SDP" "$(cluster_sent)" 0
session sdp-run >$DIR/sdp
ktap_is "under sdp-run: the same results" "$(cat $DIR/sdp)" "$(cat $DIR/tcp)"
# two of three parts of each block go to another worker
least=$(((MB << 20) * 2 / 3))
moved=$(cluster_sent)
ktap_check "under sdp-run: $moved bytes on SDP, $least at least" test "$moved" -ge "$least"
ktap_diag "$(cat $DIR/sdp)"
ktap_done
