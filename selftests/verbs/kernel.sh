#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Verbs in the kernel, by verbs_test.ko; most of them programs cannot request. Private data and
# the number of Reads, on which both sides agree when they connect, and a rejection. Immediate
# data and atomic operations of RFC 7306 between hybrid devices, and keys that are invalidated
# after Writes with them, over every way of placing markers; posting the former is refused when
# the peer is siw. Ends of connections, also when the peer is gone. Queues change their sizes,
# and lose nothing when they are flushed. A lot of waiting data is received in several rounds.
# Memory that TCP had by reference may change when a request is complete.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"

SERVER="10.0.0.2 7990"

# vt TEST...: run it in a
vt() { kt_do a "$NAME" "$@"; }

# counter DEVICE NAME
counter() {
	rdma statistic show link "$1/1" | tr ' ' '\n' | grep -x -A1 "$2" | tail -n 1
}

# devices NAME CLIENT SERVER: make devices of these kinds; NAME is for the titles
devices() {
	NAME=$1
	dev_up "$2" "$3" || ktap_skip_all "no devices $2 and $3"
}

# connect: set up the listener, and tell the module its address
connect() {
	# shellcheck disable=SC2086 # address and port
	if ! kt_tell b listen $SERVER || ! kt_tell - peer $SERVER; then
		ktap_fail "$NAME: the listener is set up"
	fi
}

need hyb-target rdma tc
need_research
kt_load verbs_test || ktap_skip_all "no test module"

devices hybrid hybrid hybrid
connect
vt agree
rejects=$(counter rda cm_rejects).$(counter rdb cm_rejects)
vt reject
ktap_is "a rejection is counted by both sides" \
	"$(counter rda cm_rejects).$(counter rdb cm_rejects)" \
	"$((${rejects%.*} + 1)).$((${rejects#*.} + 1))"
vt imm
vt atomic
if hold hyb_mem_use "" ms=3000; then
	vt withdraw
	ktap_is "one access to memory was held up" "$(hold_hits)" 1
	hold_end
else
	ktap_skip "access to withdrawn memory is held up" "no probes"
fi
ended=$(counter rdb remote_invalidates).$(counter rda local_invalidates)
vt inval
ktap_is "invalidated keys are refused, by the peer and locally" \
	"$(counter rdb remote_invalidates).$(counter rda local_invalidates)" \
	"$((${ended%.*} + 21)).$((${ended#*.} + 20))"
vt close
# hits FUNCTION: calls of a function of iwarp_hybrid that is probed
TRACE=/sys/kernel/tracing
hits() { awk -v f="$1" '$1 == f { print $2 }' $TRACE/kprobe_profile; }
for f in hyb_srq_kick_work hyb_post_srq_recv; do
	ktap_check "a probe on $f is set" sh -c "echo 'p:$f iwarp_hybrid:$f' >>$TRACE/kprobe_events &&
		echo 1 >$TRACE/events/kprobes/$f/enable"
done
vt resize
posts=$(hits hyb_post_srq_recv)
ktap_check "a shared receive queue gets receives: $posts" test "$posts" -gt 0
ktap_is "no queue pair waits for one, so none is looked at" "$(hits hyb_srq_kick_work)" 0
echo 0 >$TRACE/events/kprobes/enable
echo >$TRACE/kprobe_events
vt flush

# waiting: on both connections much more than the 1 MiB of a round has arrived, before any of it
# can be received, and nothing is on its way that could begin another round
waiting() {
	[ "$(in_b ss -Hnt sport = :7990 | awk '$1 == "ESTAB" && $2 > 2000000' | wc -l)" -eq 2 ] &&
		[ -z "$(in_a ss -Hnt dport = :7990 | awk '$1 == "ESTAB" && $3 > 0')" ]
}
in_b sysctl -qw net.ipv4.tcp_rmem="4096 8388608 8388608"
connect
vt flood
ktap_check "$NAME: all data waits in TCP" wait_for 20 waiting
vt drain
in_b sysctl -qw net.ipv4.tcp_rmem="4096 131072 6291456"
connect
ktap_check "waiting data is received in several rounds" [ "$(counter rdb rx_budget)" -ge 2 ]
ktap_check "Immediate Data are counted by the sender" \
	[ "$(counter rda tx_immediates)" -gt 100 ]
ktap_is "Immediate Data are counted by the receiver" "$(counter rdb rx_immediates)" \
	"$(counter rda tx_immediates)"
ktap_check "atomic operations are counted by the requester" \
	[ "$(counter rda tx_atomics)" -gt 100 ]
# four failed, which the responder does not count
ktap_is "atomic operations are counted by the responder" "$(counter rdb rx_atomics)" \
	$(($(counter rda tx_atomics) - 4))
ktap_is "one target that is not aligned is counted" "$(counter rdb err_atomic)" 1
for NAME in host offload-sg offload-contig; do
	for dev in rda rdb; do
		echo $NAME >/sys/class/infiniband/$dev/hybrid/profile
	done
	vt imm
	vt atomic
	vt inval
done
for dev in rda rdb; do
	echo off >/sys/class/infiniband/$dev/hybrid/markers
done
NAME="no markers"
vt imm
vt atomic

# TCP sends from the memory of the requests, and the peer's TCP receives references to it
for dev in rda rdb; do
	echo reference >/sys/class/infiniband/$dev/hybrid/tx_payload
done
for crc in 1 0; do
	for dev in rda rdb; do
		echo $crc >/sys/class/infiniband/$dev/hybrid/crc
	done
	NAME="by reference, crc $crc"
	sent=$(counter rda tx_ref_bytes)
	copied=$(counter rda tx_ref_copied_bytes)
	vt reuse
	sent=$(($(counter rda tx_ref_bytes) - sent))
	ktap_check "$NAME: $sent bytes are sent so" [ "$sent" -ge 16384 ]
	ktap_check "$NAME: the copy that the peer needs is counted" \
		[ $(($(counter rda tx_ref_copied_bytes) - copied)) -ge "$sent" ]
done
modprobe -r verbs_test

# The peer is gone without ending the connection, and there is nothing to send to it
connected() { rdma resource show qp link rdb/1 | grep -q "state RTS"; }
gone() { ! connected; }
in_b sysctl -qw net.ipv4.tcp_keepalive_time=1 net.ipv4.tcp_keepalive_intvl=1 \
	net.ipv4.tcp_keepalive_probes=2
start_bg b hyb-target -h 10.0.0.2 -p 7991
wait_for 20 said listening
start_bg a hyb-target -c -h 10.0.0.2 -p 7991
wait_for 20 said connected
ktap_check "half-open: the connection is established" wait_for 20 connected
CLIENT=$(pgrep -x hyb-target -P "$BG_PID" || echo "$BG_PID")
kill -STOP "$CLIENT"
# packets under way arrive meanwhile
sleep 1
in_a tc qdisc add dev va root netem loss 100%
ktap_check "half-open: the remaining side ends the connection" \
	wait_for 60 gone
in_a tc qdisc del dev va root
kill -CONT "$CLIENT"
kill "$CLIENT"
net_down

modprobe verbs_test
devices "hybrid to siw" hybrid siw
echo 1 >/sys/class/infiniband/rda/hybrid/mpa_rev
connect
vt stranger a
modprobe -r verbs_test
net_down

modprobe verbs_test
devices "siw to hybrid" siw hybrid
connect
vt stranger b
ktap_done
