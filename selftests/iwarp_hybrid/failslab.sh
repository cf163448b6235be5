#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=900
#
# Allocations of the kernel fail: each one that a connection, its transfers and
# its end ask for in a system call, on behalf of either end, with each copy from and
# to user space, then those in softirq at random: also where payload is placed before
# its turn, and where TCP gets it by reference. Programs get an error or succeed,
# data are right, nothing is left. Needs fault injection, which the debug kernel has.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/fail.bash"
# shellcheck source=selftests/iwarp_hybrid/ooo.bash
. "$(dirname "$0")/ooo.bash"
need sdp-echo tc ethtool
need_research
modprobe sdp 2> /dev/null || ktap_skip_all "no sdp module"

net_up
fail_ready
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
each verbs in_b hyb-failnth verbs 10.0.0.2 7600
each "verbs, who accepts" in_b hyb-failnth accept 10.0.0.2 7602 /2
start_bg a sdp-echo -s -h 10.0.0.1 -p 7700
wait_port a 7700
for link in 1 0; do
	in_a sysctl -qw net.sdp.shared_link=$link
	in_b sysctl -qw net.sdp.shared_link=$link
	each "sdp, shared link $link" in_b hyb-failnth sdp 10.0.0.1 7700
done

# what cannot wait, wherever it is asked for: in softirq as a rule
inject ignore-gfp-wait=Y probability=5
each "verbs, softirq" in_b hyb-failnth verbs 10.0.0.2 7601 20
for link in 0 1; do
	in_a sysctl -qw net.sdp.shared_link=$link
	in_b sysctl -qw net.sdp.shared_link=$link
	each "sdp, shared link $link, softirq" in_b hyb-failnth sdp 10.0.0.1 7700 20
done
inject probability=0
# The tables of what came early, and the pieces that TCP gets. Both ends are in b.
both ooo on
both markers on
changes_order() {
	in_b ip link set lo mtu 1500 && in_b ethtool -K lo tso off gso off &&
		in_b tc qdisc add dev lo root netem delay 1ms reorder 25% limit 10000
}
ktap_check "a link that changes the order" changes_order
placed=$(early)
inject probability=5
each "verbs, out of order, softirq" in_b hyb-failnth verbs 10.0.0.2 7603 20
inject probability=0
ktap_check "FPDUs were placed out of order" test "$(early)" -gt "$placed"
in_b tc qdisc del dev lo root
both ooo off
both markers auto
both tx_payload reference
sent=$(counter rdb tx_ref_bytes)
inject probability=5
each "verbs, by reference, softirq" in_b hyb-failnth verbs 10.0.0.2 7604 20
inject probability=0
ktap_check "payload was by reference" test "$(counter rdb tx_ref_bytes)" -gt "$sent"
both tx_payload copy
each "sdp, afterwards" in_b hyb-failnth sdp 10.0.0.1 7700 1
stop_bg "$BG_PID"

ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
