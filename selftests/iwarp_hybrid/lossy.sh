#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3000
#
# Checksummed transfers, LOSSY_MB (1024) in all, over a link that loses, reorders,
# duplicates and damages packets: over the shared link, the verbs link, and that
# with placement out of order.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/ooo.bash"
need sdp-run sdpstat xfer tc rdma

LOSSY_MB=${LOSSY_MB:-$(scaled 1024 8)}
LIMIT=1200	# seconds for one transfer
PORT=5020

sdp_listening() { in_b sdpstat -l 2> /dev/null | grep -q ":$PORT "; }

# link shared|verbs|ooo: what new connections use
link() {
	local shared=0 ns

	[ "$1" != shared ] || shared=1
	for ns in a b; do
		"in_$ns" sysctl -qw net.sdp.shared_link=$shared
	done
	if [ "$1" = ooo ]; then
		both ooo on && both markers on
	else
		both ooo off && both markers auto
	fi
}

# packets NAME: retransmissions of TCP, segments out of order, of both ends
packets() {
	local ns

	for ns in a b; do
		"in_$ns" cat /proc/net/netstat /proc/net/snmp
	done | awk -v n="$1" '$1 != p { p = $1; split($0, name); next }
		{ for (i = 2; i <= NF; i++) if (name[i] == n) sum += $i; p = "" }
		END { print sum + 0 }'
}

# run LINK PER-MILLE NAME NETEM...: so much of the whole, each way a half
run() {
	local link=$1 bytes=$((LOSSY_MB * 1048 * $2)) name="$1, $3" sent early
	local again

	shift 3
	ktap_check "$name: the link is set up" link "$link"
	netem "$@" || ktap_fail "$name: netem $*"
	early=$(early)
	sent=$(packets RetransSegs)
	ktap_check "$name: $((bytes >> 20)) MB arrive" in_a timeout -k 5 $LIMIT \
		sdp-run xfer -h 10.0.0.2 -p $PORT -n $((bytes / 2)) \
		-d $((bytes / 2)) -t $LIMIT
	again=$(($(packets RetransSegs) - sent))
	early=$(($(early) - early))
	ktap_diag "$name: $again segments sent again, $early FPDUs placed early"
	[ "$link" != ooo ] || [ "$again" = 0 ] ||
		EARLY_ALL=$((EARLY_ALL + early))
	AGAIN_ALL=$((AGAIN_ALL + again))
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp || ktap_skip_all "no sdp module"
AGAIN_ALL=0
EARLY_ALL=0
# segments, not the large packets that they are cut from, are what gets lost
segmentation off
for kind in shared verbs ooo; do
	link $kind
	start_bg b sdp-run xfer -s -p $PORT -h 10.0.0.2
	SERVER_PID=$BG_PID
	wait_for 20 sdp_listening || ktap_fail "$kind: the server listens"
	run $kind 150 "loss 1%" limit 10000 loss 1%
	run $kind 50 "loss 3%" limit 10000 loss 3%
	run $kind 10 "loss 10%" limit 10000 loss 10%
	run $kind 50 "reorder 20%" limit 10000 delay 1ms reorder 80%
	run $kind 30 "duplicate 5%" limit 10000 duplicate 5%
	run $kind 30 "corrupt 1%" limit 10000 corrupt 1%
	run $kind 13 "all of it" limit 10000 delay 500us 200us loss 1% \
		duplicate 2% corrupt 0.5%
	stop_bg "$SERVER_PID"
done
ktap_check "segments were sent again" test $AGAIN_ALL -gt 0
ktap_check "FPDUs were placed early" test $EARLY_ALL -gt 0
for d in rda rdb; do
	ktap_is "$d: no bad CRC was seen: TCP had checked" \
		"$(counter $d err_crc)" 0
done
ktap_check "no socket is left" wait_for 60 no_sockets
ktap_check "no queue pair is left" wait_for 60 no_queue_pairs
ktap_check "the devices can be removed" dev_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r sdp_diag sdp iwarp_hybrid
ktap_done
