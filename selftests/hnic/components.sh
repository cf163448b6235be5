#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The place of each component with a NIC that has engines: nic, host or absent, for
# devices and for queue pairs, through each interface. A reader that waits for changes
# is notified of switched engines.

# shellcheck source=selftests/hnic/lib.bash
. "$(dirname "$0")/lib.bash"
need hyb-target sdpstat jq python3
need_research
ATTR=/sys/class/infiniband/rda/hybrid
HYBRID="nic nic host"

three() { awk '$1 ~ /^(crc|demux|markers)$/ { print $2 }' "$1" | tr '\n' ' '; }
told() { jq -r '.components | "\(.crc) \(.demux) \(.markers) "'; }

# device|pair DESCRIPTION "CRC DEMUX MARKERS": by sysfs, and by netlink
device() {
	ktap_is "$1" "$(three $ATTR/components)$(in_a sdpstat stack -j rda | told)" \
		"$2 $2 "
}
pair() {
	ktap_is "$1" "$(three "$QP/components")$(in_a sdpstat stack -j rda "${QP##*/}" | told)" \
		"$2 $2 "
}

qps() { find "$ATTR/qp/" -mindepth 1 -maxdepth 1 -type d; }
one_qp() { [ "$(qps | wc -l)" = 1 ]; }
no_qp() { [ -z "$(qps)" ]; }

# connect: a queue pair, whose directory is $QP; disconnect: end it
connect() {
	start_bg a hyb-target -c -h "$SERVER" -p 7900
	CLIENT=$BG_PID
	wait_for 20 said connected && wait_for 10 one_qp
	QP=$(qps)
}
disconnect() {
	stop_bg "$CLIENT"
	wait_for 10 no_qp
}

# heard DESCRIPTION "CRC DEMUX MARKERS" COMMAND...: the command makes the monitor
# report these places
heard() {
	local before

	before=$(wc -l <"$EVENTS")
	if "${@:3}" && wait_for 5 newer "$before" "$2 "; then
		ktap_ok "$1 is reported"
	else
		ktap_fail "$1 is reported" "$(tail -n "+$((before + 1))" "$EVENTS")"
	fi
}
newer() { tail -n "+$(($1 + 1))" "$EVENTS" | told | grep -qx "$2"; }

# polled a|- COMMAND...: poll() on the attribute, in that namespace, returns after the
# command, and the contents have changed
polled() {
	start_bg "$1" python3 -uc '
import os, select
f = os.open("'"$ATTR"'/components", os.O_RDONLY)
p = select.poll()
p.register(f, select.POLLPRI)
before = os.read(f, 4096)
print("reading")
while os.pread(f, 4096, 0) == before:
    if not p.poll(60000):
        print("nothing")
        break
else:
    print("changed")'
	wait_for 20 said reading && "${@:2}" && wait_for 20 said changed
}

engine() { in_a ethtool --set-priv-flags va "iwarp-$1" "$2"; }
put() { echo "$2" >"$1"; }

start
EVENTS=/tmp/events
start_bg b hyb-target -h "$SERVER" -p 7900
wait_for 20 said listening

# offers: engines of the NIC, and its limits
offers() { xargs <"$ATTR/offload"; }
ENGINES="tx-crc: on rx-crc: on rx-demux: on tx-contig: on tx-sg: on rx-place: on"
LIMITS="max_frags: 17 max_fpdu: 9600 max_bufs: 256"
ktap_is "offload shows engines and limits" "$(offers)" "$ENGINES max_conns: 1024 $LIMITS"
engine tx-sg off
knob a max_conns 7
ktap_is "offload shows an engine that is off, and a short table" "$(offers)" \
	"${ENGINES/tx-sg: on/tx-sg: off} max_conns: 7 $LIMITS"
engine tx-sg on
knob a max_conns 1024

# the places with each profile, for new queue pairs and for one that is connected
connect
for p in "host host host host" "assisted nic nic host" "offload-contig nic nic nic" \
	 "offload-sg nic nic nic" "hybrid $HYBRID"; do
	attr profile "${p%% *}"
	device "${p%% *}" "${p#* }"
	put "$QP/profile" "${p%% *}"
	pair "${p%% *}, a queue pair" "${p#* }"
done

# one component at a time, of a queue pair that is connected
for c in "crc host:host nic host" "demux host:host host host" "crc nic:nic host host" \
	 "marker_placement contig:nic host nic" "marker_placement sg:nic host nic" \
	 "marker_placement copy:nic host host" "profile hybrid:$HYBRID"; do
	set=${c%:*}
	put "$QP/${set% *}" "${set#* }"
	pair "queue pair: $set" "${c#*:}"
done
device "the device's are others" "$HYBRID"
disconnect

# engines that are switched, with nothing connected
in_a sdpstat stack -j -m rda >$EVENTS &
LIB_PIDS+=("$!")
wait_for 10 grep -q rda $EVENTS
heard "no verdicts" "host nic host" engine rx-crc off
device "no verdicts: the host's" "host nic host"
heard "verdicts" "$HYBRID" engine rx-crc on
heard "no table of connections" "nic host host" engine rx-demux off
heard "a table of connections" "$HYBRID" engine rx-demux on
attr profile offload-sg
heard "no gathering" "nic nic host" engine tx-sg off
heard "gathering" "nic nic nic" engine tx-sg on
attr profile hybrid
ktap_check "poll() returns" polled - engine tx-crc off
ktap_check "poll() returns in the NIC's namespace" polled a engine tx-crc on

# the same with a connection: a change of its places is reported as well
connect
pair "a new queue pair" "$HYBRID"
heard "no verdicts for a queue pair" "host nic host" engine rx-crc off
pair "no verdicts, a queue pair" "host nic host"
heard "verdicts for a queue pair" "$HYBRID" engine rx-crc on
pair "verdicts, a queue pair" "$HYBRID"
heard "a queue pair's profile" "$HYBRID" put "$QP/profile" host
pair "a queue pair's profile" "host host host"
disconnect

# a CRC that no end wants is absent from a queue pair; the device, whose peers are unknown, has it
attr crc 0
attr markers off
device "no markers" "nic nic absent"
connect
pair "no CRC, no markers, a queue pair" "absent nic absent"
disconnect
attr crc 1
connect
pair "no markers, a queue pair" "nic nic absent"
disconnect
attr crc 0
attr markers on
connect
pair "no CRC, a queue pair" "absent nic host"
put "$QP/profile" offload-contig
pair "no CRC, the NIC's markers" "absent nic nic"
disconnect

# the NIC goes, and the RDMA device with it
in_a ip link del va
wait_for 10 grep -q gone $EVENTS
ktap_is "the end of the device is reported" "$(tail -n 1 $EVENTS | jq -r .event)" gone
ktap_done
