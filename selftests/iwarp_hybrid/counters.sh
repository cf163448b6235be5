#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Counters of queue pairs: their sum over a device is the counter of its port, each
# queue pair counts for itself, and the numbers of segments are those that TCP reports.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/ooo.bash"
need rdma ss tc

COUNT=3
CLASS=/sys/class/infiniband

# counters DEVICE: "NAME VALUE", the sum over its queue pairs
counters() {
	awk '{ sum[$1] += $2 } END { for (n in sum) print n, sum[n] }' \
		"$CLASS/$1"/hybrid/qp/*/counters | sort
}

# port DEVICE: the same of the port, without what was there before
port() {
	local name value

	counters "$1" | while read -r name value; do
		value=$(cat "$CLASS/$1/ports/1/hw_counters/$name")
		echo "$name $((value - ${BEFORE[$1$name]-0}))"
	done
}

same() { [ -n "$(counters "$1")" ] && [ "$(counters "$1")" = "$(port "$1")" ]; }

# shown DEVICE: each queue pair has its directory
shown() { [ "$(cat "$CLASS/$1"/hybrid/qp/*/counters | grep -c tx_fpdus)" = "$COUNT" ]; }

# of_qps DEVICE NAME: of each queue pair, the largest first
of_qps() {
	awk -v n="$2" '$1 == n { print $2 }' \
		"$CLASS/$1"/hybrid/qp/*/counters | sort -rn
}

# of_tcp a|b in|out: segments with data of each connection as TCP has counted
# them, the largest first
of_tcp() {
	"in_$1" ss -tin state established | tr ' ' '\n' |
		awk -F: -v n="data_segs_$2" '$1 == n { print $2 }' | sort -rn
}

# again a|b: segments that its TCP has sent once more
again() {
	"in_$1" ss -tin state established | tr ' ' '\n' |
		awk -F'[:/]' '$1 == "retrans" { n += $3 } END { print n + 0 }'
}

check_port() {
	local dev name

	for dev in rda rdb; do
		ktap_check "$dev: the sum over queue pairs is the port's" \
			wait_for 20 same $dev
		ktap_diag "$(counters $dev | tr '\n' ' ')"
		same $dev || ktap_diag "$(port $dev | tr '\n' ' ')"
		for name in $(counters $dev | cut -d' ' -f1); do
			case $name in *_ooo_*) continue ;; esac
			ktap_check "$dev: $name" test \
				"$(of_qps $dev "$name" | head -n 1)" -gt 0
		done
	done
	ktap_check "segments arrive out of order" test \
		"$(of_qps rdb rx_ooo_segments | head -n 1)" -gt 0
	ktap_check "FPDUs are placed early" test \
		"$(of_qps rdb rx_ooo_fpdus | head -n 1)" -gt 0
}

check_own() {
	local -a bytes

	mapfile -t bytes < <(of_qps rda tx_bytes)
	ktap_is "queue pairs have counters" "${#bytes[@]}" "$COUNT"
	ktap_check "tx_bytes grows with payload" test "${bytes[0]}" -gt $((20 * 65536))
	ktap_check "tx_bytes of other queue pairs does not" test "${bytes[1]}" -lt 4096
}

# at_least TIME|"": TCP sends nothing again before that time is over. A segment of start-up
# that a busy machine acknowledges late would be sent twice, and TCP does not tell which
# segments those were.
at_least() {
	local route="10.0.0.0/24 proto kernel scope link"

	# shellcheck disable=SC2086 # words, or nothing
	ip -n a route change $route dev va src 10.0.0.1 ${1:+rto_min $1} &&
		ip -n b route change $route dev vb src 10.0.0.2 ${1:+rto_min $1}
}

# as_tcp a|b in|out NAME: each has counted all but its start-up, a segment each way
as_tcp() {
	paste <(of_tcp "$1" "$2") <(of_qps "rd$1" "$3") |
		awk -v count="$COUNT" '
			$1 - $2 != 1 { wrong = 1 }
			END { exit wrong || NR != count }'
}

# Those received are counted when TCP acknowledges them
check_segments() {
	local ns

	for ns in a b; do
		ktap_check "$ns: segments sent are counted" wait_for 20 as_tcp $ns out tx_segments
		ktap_check "$ns: segments received are counted" wait_for 20 as_tcp $ns in rx_segments
		ktap_diag "TCP: $(of_tcp $ns out | xargs) out, $(of_tcp $ns in | xargs) in," \
			"once more $(again $ns); queue pairs:" \
			"$(of_qps rd$ns tx_segments | xargs) out," \
			"$(of_qps rd$ns rx_segments | xargs) in"
	done
}

# all_fit: the core has one page for the answer, and the name of the device is in it
all_fit() {
	local name

	name=$(printf 'h%.0s' {1..63})
	in_a ip link add long0 type dummy || return
	in_a rdma link add "$name" type hybrid netdev long0 || return
	in_a rdma statistic show link "$name/1"
	set -- $?
	in_a ip link delete long0
	return "$1"
}

declare -A BEFORE
dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
ktap_check "rdma shows the counters of a device with the longest name" all_fit
kt_load ulp_load || ktap_skip_all "no test module"
both markers on
both ooo on
kt_tell b listen 10.0.0.2 7800
# the port keeps the counts of queue pairs that are gone
kt_do a "first" open 10.0.0.2 7800 1
kt_do a "first" touch
kt_tell a close
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
for dev in rda rdb; do
	for file in "$CLASS/$dev"/ports/1/hw_counters/*; do
		[ ! -f "$file" ] || BEFORE[$dev${file##*/}]=$(cat "$file")
	done
done
ktap_check "TCP retransmits after 20 s at the earliest" at_least 20s
kt_do a "" open 10.0.0.2 7800 "$COUNT"
ktap_check "TCP's shortest retransmission timeout is the default" at_least ""
kt_do a "" touch
ktap_check "each queue pair of rda has a directory" wait_for 20 shown rda
ktap_check "each queue pair of rdb has a directory" wait_for 20 shown rdb
segmentation off
ktap_check "netem" netem delay 2ms reorder 10% limit 10000
kt_do a "" read 65536 20
kt_do a "" write 65536 40
check_port
check_own
check_segments

# the first FPDU is there before the queue pair that has sent the Reply is ready
kt_tell a close
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
netem delay 1ms
ktap_check "TCP retransmits after 20 s at the earliest" at_least 20s
COUNT=1
if hold hyb_xmit_attach kworker times=1 ms=2000; then
	kt_do a "one that is quick" open 10.0.0.2 7800 1
	kt_do a "one that is quick" touch
	ktap_is "hyb_xmit_attach() was held" "$(hold_hits)" 1
	hold_end
	ktap_check "each queue pair of rda has a directory" wait_for 20 shown rda
	ktap_check "each queue pair of rdb has a directory" wait_for 20 shown rdb
	check_segments
	kt_tell a close
else
	ktap_skip "segments of a short connection are counted" "no probes"
fi
ktap_done
