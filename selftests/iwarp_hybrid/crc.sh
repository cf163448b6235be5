#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Attribute crc_driver: CRCs of a host by the instruction or by the kernel's tables, for
# connections made afterwards; both agree with what the peer computes in the other way.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need rping
TRACE=/sys/kernel/tracing
dev_up hybrid hybrid || ktap_skip_all "no devices"
ATTR=/sys/class/infiniband/rda/hybrid/crc_driver
grep -qw sse4_2 /proc/cpuinfo || ktap_skip_all "no CRC32 instruction"
[ -d $TRACE/events ] || mount -t tracefs t $TRACE

# ping: from a to b, the payload is compared
ping() {
	PORT=$((PORT + 1))
	start_bg b rping -s -a 10.0.0.2 -p "$PORT" -C 20 -S 4000
	wait_port b "$PORT"
	ping_all 20 -a 10.0.0.2 -p "$PORT" -S 4000
}
PORT=7800

# hits: calls of the kernel's code so far. The probe is on the function of libiwarp that calls
# it: many kernels refuse probes on the functions of their own libraries.
hits() { awk '$1 == "crc_kernel" { print $2 }' $TRACE/kprobe_profile; }

ktap_is "the instruction by default" "$(cat $ATTR)" crc32q
for dev in rda rdb; do
	echo host >/sys/class/infiniband/$dev/hybrid/profile
done
ktap_check "a probe on the kernel's code" sh -c \
	"echo 'p:crc_kernel libiwarp:iwarp_crc32c_kernel' >$TRACE/kprobe_events &&
	echo 1 >$TRACE/events/kprobes/crc_kernel/enable"
for how in crc32q kernel; do
	echo $how >$ATTR
	ktap_is "crc_driver shows $how" "$(cat $ATTR)" $how
	was=$(hits)
	ktap_check "$how at one end, the instruction at the other" ping
	if [ $how = kernel ]; then
		ktap_check "$how: by the kernel's code" test $(($(hits) - was)) -ge 40
	else
		ktap_is "$how: not by the kernel's code" $(($(hits) - was)) 0
	fi
done
echo kernel >/sys/class/infiniband/rdb/hybrid/crc_driver
ktap_check "rping with the kernel's code at both ends" ping
echo on >/sys/class/infiniband/rdb/hybrid/ooo
ktap_check "rping with placement out of order" ping
for wrong in "" x crc32 "kernel x"; do
	ktap_check_fails "crc_driver refuses '$wrong'" sh -c "echo '$wrong' >$ATTR"
done
ktap_is "refused values change nothing" "$(cat $ATTR)" kernel
echo 0 >$TRACE/events/kprobes/crc_kernel/enable
echo >$TRACE/kprobe_events
ktap_done
