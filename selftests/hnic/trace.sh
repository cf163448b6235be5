#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Tracepoints of iwarp_hybrid, hnic and rdma_stack: each event occurs, with names
# instead of numbers, and the FPDUs in the trace are those that the device counts.
# sdp/trace.sh has those of SDP.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need rping

TRACING=/sys/kernel/tracing
SYSTEMS="iwarp_hybrid hnic rdma_stack"
SEEN=$OUT/trace

[ -d $TRACING/events ] || ktap_skip_all "the kernel has no tracing"
modprobe hnic
modprobe iwarp_hybrid

# tracing 0|1
tracing() {
	local system

	for system in $SYSTEMS; do
		echo "$1" > "$TRACING/events/$system/enable" || return
	done
}

# port COUNTER: of both devices
port() { cat /sys/class/infiniband/rd[ab]/ports/1/hw_counters/"$1" | awk '{ n += $1 } END { print n }'; }

# traced EVENT: the number of FPDUs in all lines of that event
traced() {
	awk -v event="$1:" '{
		for (i = 1; i < NF && $i != event; i++)
			;
		for (; i <= NF; i++)
			if (sub(/^nr=/, "", $i))
				n += $i
	} END { print n + 0 }' "$SEEN"
}

# shows DESCRIPTION REGEX: a line of the trace matches
shows() { ktap_check "$1" grep -Eq "$2" "$SEEN"; }

# pings DESCRIPTION: RDMA Writes and Reads
pings() {
	start_bg b rping -s -a "$SERVER" -C 20 -S 4096
	wait_port b 7174
	ktap_check "$1" ping_all 20 -a "$SERVER" -S 4096
	wait "$BG_PID"
}

# damaged: a transfer fails, and a Terminate arrives, in one of six attempts: the first damage may
# hit the start-up, which has no Terminate. Only one direction is damaged, so that it arrives.
damaged() {
	local _

	for _ in 1 2 3 4 5 6; do
		transfer 2000000 && return 1
		grep -q hyb_terminate_rx "$TRACING/trace" && return
	done
	return 1
}

echo 8192 > $TRACING/buffer_size_kb
ktap_check "events are switched on" tracing 1
start

ktap_check "transfer over the shared link" transfer 300000
pings "Writes and Reads"
tx=$(port tx_fpdus) rx=$(port rx_fpdus)
cp $TRACING/trace "$SEEN"
read -r kept written < <(sed -n 's|.*entries-in-buffer/entries-written: \([0-9]*\)/\([0-9]*\) .*|\1 \2|p' "$SEEN")
ktap_is "no event is lost" "$kept" "$written"
ktap_is "FPDUs sent are those that the devices count" "$(traced hyb_fpdu_tx)" "$tx"
ktap_is "FPDUs received are those that the devices count" "$(traced hyb_fpdu_rx)" "$rx"

# Rare events
both fault_resync 100000
ktap_check "transfer while a NIC loses track" transfer 300000
both fault_resync 0
attr placement nic
pings "payload placed by the NIC"
attr placement host
knob b fault_corrupt 2000
attr profile host
ktap_check "a bad CRC ends the connection" damaged
knob b fault_corrupt 0
rdma dev set rda name rdc
rdma dev set rdc name rda
net_down
tracing 0
cp $TRACING/trace "$SEEN"

for system in $SYSTEMS; do
	for event in "$TRACING/events/$system"/*/; do
		event=$(basename "$event")
		ktap_check "the event $system:$event occurs" grep -q " $event: " "$SEEN"
	done
done
shows "state of a queue pair" "hyb_qp_state: dev=rda qp=[0-9]+ (IDLE|RTR) -> RTS"
shows "event of a connection" "hyb_cep_event: dev=rd[ab] cep=[0-9a-f]+ state=RDMA event=(EOF|GRACEFUL|ABORT)"
shows "a Send" 'hyb_fpdu_tx: .* op="Send"'
shows "a Write" 'hyb_fpdu_rx: .* op="Write".* stag=0x[0-9a-f]+ '
shows "a Read" 'hyb_fpdu_tx: .* op="Read Request" last .* qn=1 '
shows "a Terminate for a bad CRC" "hyb_terminate_tx: dev=rd[ab] qp=[0-9]+ layer=MPA type=0 code=2"
shows "placement of components" "hyb_place: dev=rd[ab] qp=[0-9]+ crc=nic demux=nic markers=inplace payload=copy"
shows "a connection at the NIC" "hnic_conn_add: dev=va \[::ffff:10.0.0.1\]:[0-9]+ -> \[::ffff:10.0.0.2\]:[0-9]+ features=tx-crc.* queue=[0-9]"
shows "a good verdict" "hnic_fpdu_rx: dev=vb ports=[0-9]+,[0-9]+ .* verdict=good"
shows "payload placed" "hnic_place: .* placed"
shows "a device" "rdma_stack_device: dev=rda index=[0-9]+ event=ADDED"
shows "engines" "rdma_stack_offload: netdev=va ifindex=101 event=CHANGED"
# an unknown value is shown as a number
ktap_is "no value is without a name" \
	"$(grep -Ec '(state|event|op|layer|crc|demux|markers|payload|layout)="?0x|0x[0-9]+ ->|-> 0x' "$SEEN")" 0
ktap_done
