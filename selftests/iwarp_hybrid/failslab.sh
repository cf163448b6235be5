#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=900
#
# Allocations of the kernel fail: each one that a connection, its transfers and
# its end ask for in a system call, with each copy from and to user space, then
# those in softirq at random. Programs get an error or succeed, data are right,
# nothing is left. Needs fault injection, which the debug kernel has.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"

# shellcheck source=selftests/iwarp_hybrid/fail.bash
. "$(dirname "$0")/fail.bash"
need sdp-echo
modprobe sdp 2> /dev/null || ktap_skip_all "no sdp module"

net_up
fail_ready
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
each verbs in_b hyb-failnth verbs 10.0.0.2 7600
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
each "sdp, afterwards" in_b hyb-failnth sdp 10.0.0.1 7700 1
stop_bg "$BG_PID"

ktap_check "no socket is left" wait_for 20 no_sockets
ktap_check "no queue pair is left" wait_for 20 no_queue_pairs
ktap_done
