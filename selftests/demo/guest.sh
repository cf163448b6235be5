#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make demo`, inside the guest: programs that know nothing of SDP exchange their data
# over TCP, then over SDP, between two network namespaces, each with a hybrid iWARP
# device on a simulated NIC. The profile is "hybrid", where the NIC computes CRCs and
# finds connections; the last step compares it with "host", where the host does.
#
# Lines that begin with DEMO- are for report.py:
#   DEMO-STEP NAME         the next step
#   DEMO-KERNEL VERSION
#   DEMO-RUN {JSON}        result of one run
#   DEMO-PROFILE {JSON}    place of the components, and CRCs, with a profile
#   DEMO-COPIES {JSON}     copies of a byte, over all runs

# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/lib.sh"
# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/stack.sh"

# shellcheck disable=SC2034 # net_up reads it
NET_LINK=hnic
SERVER=10.0.0.1
SECONDS_IPERF=${SECONDS_IPERF:-5}
REDIS_REQUESTS=${REDIS_REQUESTS:-20000}
FILE_MB=${FILE_MB:-64}
DEVICE=rdb		# of the client's namespace
T=$(mktemp -d)
defer rm -rf "$T"

step() { echo "DEMO-STEP $*"; }

# The step that fails is the last one announced.
die() {
	echo "demo: $*" >&2
	for f in "$T"/*.log; do
		[ -s "$f" ] && echo "--- ${f##*/}" >&2 && tail -20 "$f" >&2
	done
	exit 1
}

sdp_bytes() { echo $(($(sdp_counter b tx_bytes) + $(sdp_counter b rx_bytes))); }

# cpu: nanoseconds of the processors, less those of the simulated engines of the NICs
cpu() {
	local engines
	engines=$({ in_a ethtool -S va; in_b ethtool -S vb; } |
		awk '/_engine_ns:/ { n += $2 } END { printf "%.0f", n }')
	awk -v engines="$engines" '$1 == "cpu" {
		printf "%.0f\n", ($2 + $3 + $4 + $7 + $8) * 10000000 - engines
		exit }' /proc/stat
}

# serve PORT COMMAND...: in namespace a, over TCP or SDP
serve() {
	local port=$1
	shift
	# shellcheck disable=SC2086 # nothing or two words
	start_bg a $VIA "$@"
	server=$BG_PID
	ln -sf "$BG_LOG" "$T/server.log"
	wait_port a "$port" || die "$1 does not listen"
}

# client COMMAND...: in namespace b, its output to $T/out
client() {
	# shellcheck disable=SC2086 # nothing or two words
	in_b timeout 120 $VIA "$@" >"$T/out" 2>"$T/client.log" ||
		die "$1: exit status $?"
}

# json OBJECT KEY: first "KEY" after "OBJECT" in iperf3's JSON
json() {
	awk -v obj="\"$1\"" -v key="\"$2\"" '
		index($1, obj) { on = 1 }
		on && index($1, key) { sub(/,$/, "", $2); printf "%.0f\n", $2; exit }' "$T/out"
}

# A load sets RATE, and AMOUNT, the bytes or requests that the time of the processors is
# divided by; LEAST: bytes that must have gone over SDP
load_iperf3() {
	serve 5201 iperf3 -s -1 -B "$SERVER"
	client iperf3 -c "$SERVER" -t "$SECONDS_IPERF" -J
	wait "$server"
	RATE=$(($(json sum_received bits_per_second) / 8000000))
	AMOUNT=$(json sum_received bytes) LEAST=$AMOUNT
}

load_redis() {
	serve 6379 redis-server --bind "$SERVER" --save '' --protected-mode no --dir /tmp
	client redis-benchmark -h "$SERVER" -t set -n "$REDIS_REQUESTS" -c 20 -P 16 --csv
	RATE=$(awk -F'"' '$2 == "SET" { printf "%.0f", $4 }' "$T/out")
	AMOUNT=$REDIS_REQUESTS LEAST=$((AMOUNT * 20))
	stop_bg "$server"
}

load_nginx() {
	cat >"$T/nginx.conf" <<-END
	daemon off;
	user root;
	pid $T/nginx.pid;
	error_log $T/error.log;
	events { worker_connections 100; }
	http {
		access_log off;
		client_body_temp_path $T/body;
		proxy_temp_path $T/proxy;
		fastcgi_temp_path $T/fastcgi;
		uwsgi_temp_path $T/uwsgi;
		scgi_temp_path $T/scgi;
		sendfile on;
		server { listen $SERVER:8080; root $T/www; }
	}
	END
	serve 8080 nginx -p "$T" -e "$T/error.log" -c "$T/nginx.conf"
	client curl -sS -o "$T/copy" -w '%{speed_download}' "http://$SERVER:8080/file"
	RATE=$(awk '{ printf "%.0f", $1 / 1000000 }' "$T/out")
	AMOUNT=$((FILE_MB << 20)) LEAST=$AMOUNT
	stop_bg "$server"
}

check_nginx() {
	cmp "$T/www/file" "$T/copy" || die "the file is another one"
	rm "$T/copy"
}

# pg_start: the server of the database, which pg_stop ends
pg_start() { serve 5432 "$T/postgres" -D "$T/db" -h "$SERVER" -k "" -F; }

pg_stop() {
	kill -INT "$(head -n 1 "$T/db/postmaster.pid")"
	wait "$server"
}

# pg_make: a database, and the programs of PostgreSQL in $T, with their own libraries, as a
# user: it refuses to serve root
pg_make() {
	local program libs

	packages_up
	libs=$LD_LIBRARY_PATH
	unset LD_LIBRARY_PATH
	for program in initdb postgres pgbench; do
		cat >"$T/$program" <<-END
		#!/bin/sh
		export LD_LIBRARY_PATH=$libs
		exec setpriv --reuid=65534 --regid=65534 --clear-groups \
			/packages/usr/lib/postgresql/*/bin/$program "\$@"
		END
		chmod 755 "$T/$program"
	done
	chmod 755 "$T"
	mkdir "$T/db"
	chown 65534:65534 "$T/db"
	"$T/initdb" -D "$T/db" -U postgres -A trust --no-sync --locale=C \
		>"$T/client.log" 2>&1 || die "initdb: exit status $?"
	echo "host all all all trust" >>"$T/db/pg_hba.conf"
	VIA=
	pg_start
	client "$T/pgbench" -h "$SERVER" -U postgres -i -q -I dtGp postgres
	pg_stop
}

load_postgres() {
	pg_start
	client "$T/pgbench" -h "$SERVER" -U postgres -n -S -c 4 -T "$SECONDS_IPERF" postgres
	RATE=$(awk '$1 == "tps" { printf "%.0f", $3 }' "$T/out")
	AMOUNT=$(sed -n 's/.*actually processed: \([0-9]*\).*/\1/p' "$T/out")
	LEAST=$((AMOUNT * 50))
	pg_stop
}

# over tcp|sdp NAME
over() {
	local before moved cpu

	VIA=
	[ "$1" = tcp ] || VIA="sdp-run -o"
	before=$(sdp_bytes)
	cpu=$(cpu)
	"load_$2"
	cpu=$(($(cpu) - cpu))
	moved=$(($(sdp_bytes) - before))
	[ "$2" != nginx ] || check_nginx
	if [ "$1" = sdp ] && [ "$moved" -lt "$LEAST" ]; then
		die "$2: $moved bytes went over SDP, not $LEAST"
	fi
	printf 'DEMO-RUN {"what":"%s","over":"%s","rate":%d,"amount":%d,"cpu_ns":%d,"sdp_bytes":%d}\n' \
		"$2" "$1" "$RATE" "$AMOUNT" "$cpu" "$moved"
}

# moving: has the client sent a megabyte since?
moving() { [ $(($(sdp_bytes) - MOVED)) -gt 1000000 ]; }

# phase PROFILE: measure the running iperf3 for SECONDS_IPERF, with the profile that it has
# now: bytes, time of the processors, and CRCs by the hosts and by the NICs
phase() {
	local crc cpu bytes all

	MOVED=$(sdp_bytes)
	wait_for 30 moving || die "iperf3 with the profile $1 moves nothing"
	counters_take begin
	cpu=$(cpu)
	bytes=$(sdp_bytes)
	nap "$SECONDS_IPERF"
	bytes=$(($(sdp_bytes) - bytes))
	cpu=$(($(cpu) - cpu))
	counters_take end
	in_b sdpstat stack -j $DEVICE "$QPN" >"$T/stack.json"
	# the counters cover a little more time
	all=$(($(counters_diff b begin end sdp_tx_bytes)))
	crc=$(for end in a b; do
		counters_diff $end begin end hyb_tx_crc_bytes hyb_rx_crc_bytes \
			nic_tx_engine_crc_bytes nic_rx_engine_crc_bytes
	done | awk -v share="$bytes/$all" '
		BEGIN { split(share, s, "/") }
		{ n[NR % 4] += $1 * s[1] / s[2] }
		END { printf "\"crc_host\":%.0f,\"crc_nic\":%.0f", n[1] + n[2], n[3] + n[0] }')
	printf 'DEMO-PROFILE {"profile":"%s","bytes":%d,"cpu_ns":%d,%s,"components":%s}\n' \
		"$1" "$bytes" "$cpu" "$crc" \
		"$(sed -n 's/.*"components": *\({[^}]*}\).*/\1/p' "$T/stack.json")"
}

# switch PROFILE: set it for all queue pairs, while data moves
switch() {
	local file

	for file in /sys/class/infiniband/rd[ab]/hybrid/qp/*/profile; do
		echo "$1" >"$file" || die "$file does not take $1"
	done
}

# profiles: an iperf3 over SDP that begins with "host" and continues with "hybrid"
profiles() {
	local client

	stack_profile host || die "the devices do not know the profile host"
	VIA="sdp-run -o"
	serve 5201 iperf3 -s -1 -B "$SERVER"
	MOVED=$(sdp_bytes)
	# shellcheck disable=SC2086 # two words
	in_b timeout 300 $VIA iperf3 -c "$SERVER" -t 300 >"$T/client.log" 2>&1 &
	client=$!
	wait_for 60 moving || die "iperf3 moves nothing"
	QPN=$(cd /sys/class/infiniband/$DEVICE/hybrid/qp && printf '%s\n' * | sort -n | tail -n 1)
	phase host
	step "the same iperf3, switched to the profile \"hybrid\" while it runs"
	switch hybrid
	phase hybrid
	stop_bg "$client"
	stop_bg "$server"
}

# copies tx|rx: copies of each byte by SDP and by the device
copies() {
	counters_diff b first last "sdp_$1_bytes" "sdp_$1_copy_bytes" "sdp_$1_merged_bytes" \
		"hyb_$1_copy_bytes" | paste -sd' ' | awk -v what="$1" '{
			printf "DEMO-COPIES {\"direction\":\"%s\",\"bytes\":%.0f,\"copies\":%.3f}\n",
				what, $1, ($2 + $3 + $4) / $1 }'
}

step "two hosts, each with a NIC and an iWARP device"
echo "DEMO-KERNEL $(uname -r)"
modprobe crc32c-intel 2>/dev/null
net_up || die "cannot make the network"
dev_up hybrid hybrid || die "cannot make the devices"
stack_profile hybrid || die "the devices do not know the profile"
step "a database, and a large file"
pg_make
mkdir "$T/www"
dd if=/dev/urandom of="$T/www/file" bs=1M count="$FILE_MB" 2>/dev/null
counters_take first
for name in iperf3 redis nginx postgres; do
	for way in tcp sdp; do
		step "$name over ${way^^}"
		over $way $name
	done
done
counters_take last
copies tx
copies rx
step "iperf3 over SDP with the profile \"host\""
profiles
in_b sdpstat -s >"$OUT/counters.txt"
in_b rdma statistic show link $DEVICE >>"$OUT/counters.txt" 2>/dev/null
echo "DEMO-STEP done"
exit 0
