#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ulp_load.ko, which benchmarks rely on: each kind of request with each option over each
# device, completions noticed in each way, and wrong use.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/ktest.sh
. "$(dirname "$0")/../lib/ktest.sh"
need rdma
kt_load ulp_load || ktap_skip_all "no test module"
modprobe -r ulp_load

# flow TEST...: over a fresh connection
flow() {
	kt_tell a open 10.0.0.2 7800 1 || ktap_fail "$KIND: the connections are opened"
	kt_do a "$KIND $CQ" "$@"
	kt_tell a close
}

# refused TEST...
refused() {
	kt_tell a open 10.0.0.2 7800 1 || ktap_fail "$KIND: the connections are opened"
	ktap_check_fails "$KIND: $* is refused" kt_tell a "$@"
	kt_tell a close
}

# took TEST...: ns, of the median of three
took() {
	for _ in 1 2 3; do
		kt_tell a open 10.0.0.2 7800 1
		kt_tell a "$@"
		cat /sys/module/ulp_load/parameters/nsecs
		kt_tell a close
	done | sort -n | sed -n 2p
}

for KIND in hybrid siw; do
	if ! dev_up $KIND $KIND || ! modprobe ulp_load || ! kt_tell b listen 10.0.0.2 7800; then
		ktap_fail "$KIND: the devices are set up"
		continue
	fi
	for CQ in softirq poll event; do
		kt_tell a cq $CQ
		for op in send write read ping write-ping; do
			flow $op 1 20
			flow $op 70000 20
		done
	done
	CQ=softirq
	kt_tell a cq $CQ
	for op in send write read; do
		flow $op 4096 100 window=1
		flow $op 4096 300 window=100
		flow $op 4096 100 window=8 buffers=5
		flow $op 4096 100 both
		flow $op 4096 100 both window=7 buffers=3
		flow $op 4096 100 spin=1000
	done
	flow ping 4096 50 both
	for reuse in 0 30 100; do
		flow send 4096 100 reuse=$reuse
		flow write 4096 100 reuse=$reuse window=8
	done
	flow chain 4096 16

	# computation takes its time
	least=$((100 * 100000))
	ktap_check "$KIND: computation before each request" \
		test "$(took write 4096 100 spin=100000)" -ge $least

	for wrong in "send 0 1" "send 1 0" "send 1048577 1" "send 1" "none 1 1" \
		"send 1 1 window=0" "send 1 1 window=129" "send 1 1 buffers=65" \
		"send 1 1 reuse=101" "send 1 1 reuse=1 buffers=2" "read 1 1 reuse=1" \
		"send 1 1 what=1" "send 1 1 window" "ping 1 1 window=2" \
		"chain 1 17" "chain 1 1 both" "cq none" "cq poll"; do
		# shellcheck disable=SC2086 # several words
		refused $wrong
	done
	modprobe -r ulp_load
	net_down
done
ktap_done
