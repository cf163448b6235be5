#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make profile`: where the instructions go. Runs one measurement of sdpbench in the
# virtual machine that counts instructions, and lists them by function, both ends
# of the connection together. Only the measured repetitions count.
#
# LANE=native: selftests/native/profile.sh instead, where the time goes.
set -euo pipefail

[ "${LANE:-count}" != native ] || exec "$(dirname "$0")/../native/profile.sh"

usage() {
	cat <<'END'
usage: selftests/bench/profile.sh [OPTION]...

  -w WHAT    sdp-enhanced/PROFILE or sdp-basic/PROFILE (default
             sdp-enhanced/hybrid), sdp/siw, tcp or rsocket/siw; credit, rdma,
             announced, vwin, transport, copy, zcopy or nocache instead of enhanced: see sdp.sh;
             verbs-send, -write, -read or -ping/KIND: see verbs.sh;
             conn-WHAT: connections instead, see sdp.sh
  -L LINK    hnic (default; of connections veth) or veth
  -s SIZE    message size for bandwidth (default 65536), in bytes
  -c COUNT   messages of a repetition (default 16 MB of data)
  -l         latency instead: round trips of one byte
  -m MTU     (default 1500)
  -r ROWS    functions to show (default 50)
  --layers   a table by layer, too, see layers.map; fails if more than 2 % of the
             instructions have no layer
  --cache    bytes between cache and memory instead, by a model of a cache of 512 KB
             for both ends together, see cache_model.c; with ENDS=1 of a cache for each
             end of sdpbench, b sends and a receives
  -B FILE    show the difference to this profile.txt of an earlier run, by layer and
             by function

The third column is instructions per byte, with -l per one-way message, of
connections per connection. All rows are in BUILD/KERNEL/profile.txt. Environment: KERNEL,
BUILD, VM_ARGS as for run.sh; FIRST, HNIC_SET, SDP_SET and TCP_SET go to the guest. With ENDS=1 only
what both ends of sdpbench do is counted: not the threads of simulated NICs, not what
interrupts do before it is known for whom.
END
	exit "${1:-2}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
kernel=${KERNEL:-6.1}
build=${BUILD:-$top/build}
# shellcheck source=selftests/bench/profile_args.sh
. "$here/profile_args.sh"
what=${WHAT:-sdp-enhanced/hybrid} link=${LINK:-hnic} conn_link=${LINK:-veth} mtu=${MTU:-1500} size=${SIZE:-65536}
base=${BASE:-} layers='' cache='' count='' lat='' rows=50 reps=3 pings=200
profile_one_of TEST "${TEST:-bw}" bw lat
[ "${TEST:-bw}" = bw ] || lat=1
args=()
for arg in "$@"; do
	case $arg in
	--layers) layers=1 ;;
	--cache) cache=1 ;;
	--help) args+=(-h) ;;
	*) args+=("$arg") ;;
	esac
done
set -- "${args[@]}"
while getopts w:L:s:c:lm:r:B:h opt; do
	case $opt in
	w) what=$OPTARG ;;
	L) link=$OPTARG conn_link=$OPTARG ;;
	s) size=$OPTARG ;;
	c) count=$OPTARG ;;
	l) lat=1 ;;
	m) mtu=$OPTARG ;;
	r) rows=$OPTARG ;;
	B) base=$OPTARG ;;
	h) usage 0 ;;
	*) usage ;;
	esac
done

# Before anything is built: is there such a measurement?
case ${what#conn-} in
tcp | sdp/siw | sdp/rxe) ;;
rsocket/siw | rsocket/rxe)
	[ "${what#conn-}" = "$what" ] ||
		profile_refuse "$what: connections of rsockets are not measured"
	;;
verbs-send/* | verbs-write/* | verbs-read/* | verbs-ping/*)
	profile_one_of "KIND of WHAT=$what, verbs-OPERATION/KIND," "${what#*/}" hybrid unmarked \
		nocrc plain siw siw-crc siw-gso early referred copied
	;;
*)
	profile_sdp "$what" enhanced basic credit alone literature rdma rdma-app announced \
		vwin transport copy zcopy nocache unmarked placed
	;;
esac
profile_one_of LINK "$link" hnic veth
profile_number MTU "$mtu" 65535
profile_number SIZE "$size" $((64 << 20))
profile_number COUNT "${count:-1}" 1000000000
profile_number ROWS "$rows" 1000000
profile_number CONNS "${CONNS:-1}" 1000000
[ -z "$base" ] || [ -f "$base" ] ||
	profile_refuse "BASE is the profile.txt of an earlier run; $base is none"

if [ -n "$lat" ]; then
	measure="-T lat -r $reps -P $pings -L 1"
	unit=$((2 * reps * pings))
else
	count=${count:-$((((16 << 20) + size - 1) / size))}
	measure="-T bw -r $reps -n $count -S $size"
	# the reader has one buffer of a message, not a larger one
	[ -z "$cache" ] || measure+=" --buffers 1"
	unit=$((reps * count * size))
fi

guest="PARTS=one LINK=$link MTUS=$mtu WHATS=$what MEASURE='$measure'"
case $what in
conn-*)
	unit=${CONNS:-50}
	guest="PARTS=conn CONNS=$unit CONN_LINKS=$conn_link CONN_WHATS=${what#conn-}"
	;;
verbs-ping/*)
	guest="PARTS=verbs MTUS=$mtu VERBS_KINDS=${what#*/} VERBS_FLOW='ping 1 400'"
	unit=800
	;;
verbs-*)
	op=${what%/*}
	guest="PARTS=verbs MTUS=$mtu VERBS_KINDS=${what#*/} VERBS_FLOW='${op#verbs-} $size $count'"
	unit=$((count * size))
	;;
esac

for name in ENDS FIRST HNIC_SET SDP_SET TCP_SET; do
	[ -z "${!name:-}" ] || guest+=" $name='${!name}'"
done

out=$build/$kernel/profile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$build/$kernel"
# it may be the file that this run writes
[ -z "$base" ] || cp "$base" "$work/base"
plugin=insn_count
[ -z "$cache" ] || plugin=cache_model
"${CC:-cc}" -O2 -Wall -shared -fPIC -fvisibility=hidden \
	-o "$work/$plugin.so" "$here/$plugin.c"

# shellcheck disable=SC2086 # several words
"$top/selftests/vm/run.sh" -k "$kernel" -b "$build" -o "$out" --count -t 3600 \
	--qemu -plugin --qemu "$work/$plugin.so,out=$work/counts${ENDS:+,ends=1}" \
	-c "exec env KALLSYMS=1 $guest /selftests/bench/guest.sh" \
	${VM_ARGS:-}

if [ -n "$cache" ]; then
	# the first of the repetitions is not in the file
	awk -v unit=$((unit * (reps - 1) / reps)) '
		{ accesses += $2; fills += $3; back += $4; fills_of[$1] += $3; back_of[$1] += $4 }
		END {
			if (!NR) {
				print "profile: --cache needs repetitions: connections by sdpbench only"
				exit 1
			}
			for (end in fills_of)
				printf "%s: %.3f bytes fetched, %.3f written back per unit\n",
					end, fills_of[end] * 64 / unit, back_of[end] * 64 / unit
			printf "%.3f accesses, %.3f bytes fetched, %.3f written back per unit\n",
				accesses / unit, fills * 64 / unit, back * 64 / unit
		}' "$work/counts"
	exit
fi
symbols=$(find "$out/files" -name kallsyms)
export LC_ALL=C
sed 's/ / - /' "$work/counts" | sort -s -k1,1 "$symbols" - |
	awk -v unit="$unit" -f "$here/symbols.awk" | sort -rn > "$build/$kernel/profile.txt"
head -n "$rows" "$build/$kernel/profile.txt"
if [ -n "$layers$base" ]; then
	python3 -B "$here/layers.py" ${base:+--base "$work/base"} "$build/$kernel/profile.txt"
fi
