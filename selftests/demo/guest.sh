#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make demo`, inside the guest: programs that know nothing of SDP exchange
# their data over it, between two network namespaces, each with a hybrid iWARP
# device on a simulated NIC that takes CRC and demultiplexing over (profile
# "hybrid"). The figures come from sdpstat, which asks the kernel while the
# programs run.
#
# Lines that begin with DEMO- are for run.sh:
#   DEMO-STEP NAME           what is being tried
#   DEMO-KERNEL VERSION
#   DEMO-ROW {JSON}          result of one run
#   DEMO-COMPONENTS {JSON}   where the components were
#   DEMO-COPIES {JSON}       what a byte cost, over all runs

# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/lib.sh"
# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/stack.sh"

# shellcheck disable=SC2034 # net_up reads it
NET_LINK=hnic
SERVER=10.0.0.1
SECONDS_IPERF=${SECONDS_IPERF:-5}
REDIS_REQUESTS=${REDIS_REQUESTS:-10000}
FILE_MB=${FILE_MB:-32}
DEVICE=rdb		# of the client's namespace
T=$(mktemp -d)
defer rm -rf "$T"

step() {
	echo "DEMO-STEP $*"
	echo "== $*"
}

# The step that fails is the last one announced.
die() {
	echo "demo: $*" >&2
	for f in "$T"/*.log; do
		[ -s "$f" ] && echo "--- ${f##*/}" >&2 && tail -20 "$f" >&2
	done
	exit 1
}

# counter NAME: of the client's namespace
counter() {
	in_b sdpstat -s -z | awk -v name="$1" '
		$1 == name { print $2; ok = 1 }
		END { if (!ok) print 0 }'
}

sdp_bytes() {
	echo $(($(counter tx_bytes) + $(counter rx_bytes)))
}

# serve COMMAND...: start a server in namespace a through sdp-run
serve() {
	start_bg a sdp-run "$@"
	server=$BG_PID
	ln -sf "$BG_LOG" "$T/server.log"
}

# watch PID PORT: keep what sdpstat says of connections to PORT while PID runs
watch() {
	: > "$T/sample"
	while kill -0 "$1" 2>/dev/null; do
		in_b sdpstat > "$T/now" 2>> "$T/sdpstat.log"
		if grep -q "$SERVER:$2 .*$DEVICE" "$T/now"; then
			cp "$T/now" "$T/sample"
			[ -s "$T/stack" ] || {
				in_b sdpstat stack $DEVICE > "$T/stack"
				in_b sdpstat stack -j $DEVICE > "$T/stack.json"
			} 2>> "$T/sdpstat.log"
			sleep 1
		else
			sleep 0.1
		fi
	done
}

# client WHAT PORT MIN-BYTES COMMAND...: run COMMAND in namespace b through
# sdp-run with stdout to $T/out, and prove that MIN-BYTES went over SDP
client() {
	local what=$1 port=$2 min=$3 before ret

	shift 3
	before=$(sdp_bytes)
	in_b timeout 120 sdp-run "$@" > "$T/out" 2> "$T/client.log" &
	client=$!
	watch $client "$port"
	wait $client
	ret=$?
	[ $ret -eq 0 ] || { cp "$T/out" "$T/out.log"; die "$what: exit status $ret"; }
	bytes=$(($(sdp_bytes) - before))

	[ -s "$T/sample" ] || die "$what: sdpstat saw no connection to port $port on $DEVICE"
	echo "-- sdpstat, while it ran:"
	head -1 "$T/sample"
	grep "$SERVER:$port " "$T/sample" | head -3
	[ "$bytes" -ge "$min" ] || die "$what: only $bytes bytes went over SDP, expected $min"
}

# row WHAT RESULT: a line of the table
row() {
	printf 'DEMO-ROW {"what":"%s","result":"%s","sdp_bytes":%d,"device":"%s","ok":true}\n' \
		"$1" "$2" "$bytes" "$DEVICE"
	echo "-- $1: $2, $bytes bytes over SDP"
}

# field OBJECT KEY: first "KEY" after "OBJECT" in iperf3's JSON
field() {
	awk -v obj="\"$1\"" -v key="\"$2\"" '
		index($1, obj) { on = 1 }
		on && index($1, key) { sub(/,$/, "", $2); printf "%.0f\n", $2; exit }' "$T/out"
}

run_iperf() {
	local what=$1

	shift
	step "$what"
	serve iperf3 -s -1 -B $SERVER
	wait_port a 5201 || die "$what: the server does not listen"
	client "$what" 5201 1000000 iperf3 -c $SERVER -t "$SECONDS_IPERF" -J "$@"
	wait "$server"
	[ "$bytes" -ge "$(field sum_received bytes)" ] ||
		die "$what: iperf3 received more than went over SDP"
	row "$what" "$(($(field sum_received bits_per_second) / 8000000)) MB/s"
}

run_redis_benchmark() {
	local what="redis SET/GET, -P $1"

	step "$what"
	client "$what" 6379 $((REDIS_REQUESTS * 2 * 20)) redis-benchmark \
		-h $SERVER -t set,get -n "$REDIS_REQUESTS" -c 20 -P "$1" --csv
	grep -q '^"GET"' "$T/out" || die "$what: no result"
	row "$what" "$(awk -F'"' '$2 == "SET" || $2 == "GET" { printf "%s%s %d/s", n++ ? ", " : "", $2, $4 }' "$T/out")"
}

run_redis() {
	step "redis-server"
	serve redis-server --bind $SERVER --port 6379 --save '' \
		--protected-mode no --dir /tmp
	wait_port a 6379 || die "redis-server does not listen"
	run_redis_benchmark 1
	run_redis_benchmark 16
	in_b timeout 10 sdp-run redis-cli -h $SERVER shutdown nosave > /dev/null 2>&1
	wait "$server"
}

run_copy() {
	local what="file copy by socat, $FILE_MB MB" sum

	step "$what"
	dd if=/dev/urandom of="$T/in" bs=1M count="$FILE_MB" 2>/dev/null
	serve socat -u -b 65536 \
		TCP4-LISTEN:7000,bind=$SERVER,reuseaddr OPEN:"$T/copy",creat,trunc
	wait_port a 7000 || die "$what: the receiver does not listen"
	client "$what" 7000 $((FILE_MB << 20)) socat -u -b 65536 OPEN:"$T/in" TCP4:$SERVER:7000
	wait "$server" || die "$what: receiver failed"
	sum=$(sha256sum < "$T/in")
	[ "$sum" = "$(sha256sum < "$T/copy")" ] || die "$what: checksums differ"
	row "$what" "sha256 equal"
	rm -f "$T/in" "$T/copy"
}

step "two network namespaces with hybrid iWARP devices"
echo "DEMO-KERNEL $(uname -r)"
modprobe crc32c-intel 2>/dev/null
net_up || die "cannot make the network"
dev_up hybrid hybrid || die "cannot make the devices"
rdma link show
stack_profile hybrid || die "the devices do not know the profile"
counters_take begin

run_iperf "iperf3"
run_iperf "iperf3 -R" -R
run_redis
run_copy

# copies tx|rx: copies of each byte by SDP and by the device, CRC passes by the
# host and by the NIC
copies() {
	counters_diff b begin end "sdp_$1_bytes" "sdp_$1_copy_bytes" "sdp_$1_merged_bytes" \
		"hyb_$1_copy_bytes" "hyb_$1_bytes" "hyb_$1_crc_bytes" "nic_$1_engine_crc_octets" |
		paste -sd' ' | awk -v what="$1" '{
			copies = ($2 + $3 + $4) / $1
			printf "%s: %.2f copies of each byte; CRC of each byte: %.2f times by the host, %.2f times by the NIC\n",
				what == "tx" ? "sent" : "received", copies, $6 / $5, $7 / $5
			printf "DEMO-COPIES {\"direction\":\"%s\",\"bytes\":%.0f,\"copies\":%.3f,\"crc_host\":%.3f,\"crc_nic\":%.3f}\n",
				what, $1, copies, $6 / $5, $7 / $5 }'
}

step "which component was where"
[ -s "$T/stack" ] || die "sdpstat saw no connection to ask about"
cat "$T/stack"
sed -n 's/.*"components": *\({[^}]*}\).*/DEMO-COMPONENTS \1/p' "$T/stack.json"

step "cost of a byte, over all of the above"
counters_take end
copies tx
copies rx

step "counters"
in_b sdpstat -s
in_b rdma statistic show link $DEVICE 2>/dev/null | tr ' ' '\n' | paste -sd' ' | fold -s -w 100
echo "DEMO-STEP done"
exit 0
