#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# Payload that TCP gets by reference (attribute tx_payload): no byte of a Send or
# Write is copied, with markers and without, at any segment size, and all arrive as
# they were; also through loss, and when the connection ends while TCP has memory of
# requests. Read Responses and short messages are still copied.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need xfer sdp-run rping rdma tc ib_write_bw
need_research

SERVER=10.0.0.2
PORT=5300

attr() {
	echo "$2" > "/sys/class/infiniband/rda/hybrid/$1" &&
		echo "$2" > "/sys/class/infiniband/rdb/hybrid/$1"
}

stat() { cat "/sys/class/infiniband/rd$1/ports/1/hw_counters/$2"; }

# take: remember; more COUNTER: what was added to that of rda
declare -A WAS
take() {
	local c
	for c in tx_copies tx_copy_bytes tx_ref_bytes tx_crc_bytes; do
		WAS[$c]=$(stat a $c)
	done
}
more() { echo $(($(stat a "$1") - WAS[$1])); }
referred() { [ "$(more tx_ref_bytes)" -gt 0 ]; }

# flow NAME WHAT SIZE TIMES REFERRED COPIED: requests of the kernel, over a connection
# of their own, and the bytes that go by reference and by copies; after Writes
# comes a Send of one byte
flow() {
	local got

	echo clear > "$KT/run"
	kt_tell a open "$SERVER" 7800 1
	take
	kt_tell a "${@:2:3}"
	got="$(more tx_ref_bytes) $(more tx_copy_bytes)"
	kt_tell a close
	ktap_check_fails "$1: $2" grep -v '^ok' "$KT/results"
	ktap_is "$1: $2, bytes by reference, copied" "$got" "$5 $6"
}

# transfer MEGABYTES: SDP by verbs, both ways, every byte checked
transfer() {
	local rc server

	PORT=$((PORT + 1))
	start_bg b sdp-run xfer -s -h "$SERVER" -p "$PORT"
	server=$BG_PID
	wait_for 20 said listening || return
	in_a timeout 200 sdp-run xfer -h "$SERVER" -p "$PORT" -n "$1M" -d "$1M" -t 180
	rc=$?
	stop_bg "$server"
	return "$rc"
}

# Sends, Writes and Reads, the client compares
pinged() {
	local rc server

	start_bg b timeout 100 rping -s -a "$SERVER" -C 20 -S 50000 -V
	server=$BG_PID
	wait_for 20 port_listening b 7174
	ping_all 20 -a "$SERVER" -S 50000
	rc=$?
	wait "$server"
	return "$rc"
}

# proof NAME: nothing is copied, and nothing is wrong
proof() {
	flow "$1" write 65536 64 $((64 * 65536)) 1
	flow "$1" send 65000 64 $((64 * 65000)) 0
	ktap_check "$1: a transfer over SDP works" transfer "$(scaled 3 1)"
	ktap_check "$1: rping finds the data intact" pinged
}

case_up() {
	NET_MTU=$1
	net_up && dev_up hybrid hybrid && attr tx_payload reference &&
		attr markers "$2" && modprobe ulp_load &&
		in_a sysctl -qw net.sdp.shared_link=0 &&
		in_b sysctl -qw net.sdp.shared_link=0 &&
		kt_tell b listen "$SERVER" 7800
}

case_down() {
	modprobe -r ulp_load
	dev_down
	net_down
}

modprobe -q sdp
kt_load ulp_load || ktap_skip_all "no test module"
modprobe -r ulp_load
for mtu in 1500 4096 9000; do
	for markers in off auto; do
		name="MTU $mtu, markers $markers"
		case_up $mtu $markers || ktap_fail "$name: the devices are set up"
		proof "$name"
		[ $mtu$markers = 9000auto ] || case_down
	done
done

ktap_check "without a CRC nothing is copied either" attr crc 0
proof "no CRC"
attr crc 1

attr tx_payload copy
flow "copied again" write 65536 64 0 $((64 * 65536 + 1))
attr tx_payload reference
flow "short" send 200 100 0 20000
responses=$(stat b tx_ref_bytes)
flow "the memory of others may change" read 65536 64 0 0
ktap_is "Read Responses are copied" "$(stat b tx_ref_bytes)" "$responses"

for end in "a va" "b vb"; do
	tc -n "${end% *}" qdisc add dev "${end#* }" root netem delay 1ms loss 2% \
		reorder 5% duplicate 1%
done
ktap_check "loss, reordering, copies: a transfer over SDP works" transfer "$(scaled 2 1)"
ktap_check "loss, reordering, copies: rping finds the data intact" pinged

# TCP has the memory of many Writes when the program is killed, then the device
# taken away: it gets nothing to send any more
for how in program device; do
	start_bg b timeout 60 ib_write_bw -R -d rdb -s 65536 -D 30
	server=$BG_PID
	# that of ib_write_bw
	wait_port b 18515
	take
	start_bg a timeout 60 ib_write_bw -R -d rda -s 65536 -D 30 "$SERVER"
	client=$BG_PID
	ktap_check "$how: Writes are under way by reference" wait_for 20 referred
	sleep 1
	tc -n a qdisc replace dev va root netem loss 100%
	sleep 0.5
	if [ $how = program ]; then
		pkill -9 -x ib_write_bw
	else
		rdma link delete rda
	fi
	pkill -9 -x ib_write_bw
	wait "$client" "$server"
	ktap_check "$how gone: no queue pair is left" wait_for 30 no_queue_pairs
	tc -n a qdisc del dev va root
done
case_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid

# A NIC that computes CRCs but does not gather: the host computes
modprobe sdp
NET_LINK=hnic
if case_up 1500 off; then
	attr profile assisted
	crc=$(stat a tx_crc_bytes)
	proof "a NIC that does not gather"
	ktap_check "the host has computed CRCs" \
		test "$(stat a tx_crc_bytes)" -gt "$((crc + 64 * 65536))"
	attr profile offload-sg
	attr markers auto
	ktap_check "a NIC that gathers: a transfer over SDP works" transfer 1
	ktap_check "a NIC that gathers: rping finds the data intact" pinged
	case_down
else
	ktap_fail "hnic: the devices are set up"
fi
ktap_done
