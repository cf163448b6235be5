#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cache model (bench/cache_model.c) on copies whose traffic is known: each byte of a
# cold copy is fetched, its destination is fetched and written back; a copy within the
# cache moves nothing. And sdpbench marks the repetitions that count, not the one before
# them: insn_count.c has a line for each pair of marks. Run by scripts/check.sh --long, and
# alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
build=${BUILD:-$TOP/build}

# guest COMMAND ARGUMENT...: run with the model; its lines go to $WORK/lines
guest() {
	rm -f "$WORK/lines"
	"$TOP/selftests/vm/run.sh" -k 6.1 -b "$build" -o "$build/6.1/cache" --count -t 1200 \
		--qemu -plugin --qemu "$WORK/cache_model.so,out=$WORK/lines" -c "$*"
}

# traffic BYTES: bytes between cache and memory for each of BYTES, in the last round
traffic() {
	tail -n 3 "$WORK/lines" | awk -v bytes="$1" '
		{ lines += $3 + $4 }
		END { if (NR == 3) printf "%.3f\n", lines * 64 / bytes }'
}

check "the plugin builds" "${CC:-cc}" -O2 -Wall -shared -fPIC -fvisibility=hidden \
	-o "$WORK/cache_model.so" "$TOP/selftests/bench/cache_model.c"
check "a cold copy runs" guest sdp-copy cold
cold=$(traffic $((16 << 20)))
check "$cold bytes of traffic for a byte of a cold copy, 3.0 within 2 %" \
	awk "BEGIN { exit !(${cold:-0} >= 2.94 && ${cold:-0} <= 3.06) }"
check "a hot copy runs" guest sdp-copy hot
hot=$(traffic $((16 << 20)))
check "$hot bytes of traffic for a byte of a hot copy, at most 0.02" \
	awk "BEGIN { exit !(${hot:-9} <= 0.02) }"

benchmark="ip link set lo up; sdpbench -s -1 -t tcp &
sdpbench -w 10 -t tcp -T bw -r 3 -n 8 -S 4K 127.0.0.1"

marked() {
	"${CC:-cc}" -O2 -Wall -shared -fPIC -fvisibility=hidden -o "$WORK/insn_count.so" \
		"$TOP/selftests/bench/insn_count.c" &&
		"$TOP/selftests/vm/run.sh" -k 6.1 -b "$build" -o "$build/6.1/cache" --count -t 1200 \
			--qemu -plugin --qemu "$WORK/insn_count.so,sides=$WORK/pairs" \
			-c "exec sh -c '$benchmark'"
}
check "a benchmark runs" marked
check "sdpbench marks each of three repetitions, nothing else" \
	test "$(wc -l <"$WORK/pairs")" = 3
tap_done
