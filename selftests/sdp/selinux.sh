#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: boot=security=selinux
#
# SELinux decides about sockets of SDP as about those of TCP: about each operation, by the type of
# the socket, which an accepted one has from its listener.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need checkpolicy python3 sdp-run
HERE=$(cd "$(dirname "$0")" && pwd)
SELINUX=/sys/fs/selinux

[ -d $SELINUX ] || ktap_skip_all "the kernel has no SELinux"
mount -t selinuxfs none $SELINUX
# a version that all kernels take
ktap_check "there is a policy" checkpolicy -U allow -c 31 -o /run/policy "$HERE/selinux.conf"
ktap_check "the kernel takes the policy" \
	sh -c "cat /run/policy >$SELINUX/load && echo 1 >$SELINUX/enforce"
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp

# rules WHAT COMMAND...: of the results of selinux.py
rules() {
	local what=$1 call got

	got=$("${@:2}" 2>&1)
	ktap_diag "$(tail -n 1 <<<"$got")"
	for call in create bind listen connect accept recv send setsockopt; do
		ktap_is "$what: without the right to it, $call() fails" \
			"$(grep "^$call " <<<"$got")" "$call EACCES"
	done
	ktap_is "$what: the rights to an accepted socket are those to its listener" \
		"$(grep "^accepted " <<<"$got")" "accepted ok"
	ktap_is "$what: the file of an accepted socket has the label of the listener" \
		"$(grep "^label " <<<"$got")" "label ok"
	[ "$what" = TCP ] ||
		ktap_is "$what: without rights to sockets of TCP there is no SDP_FALLBACK" \
			"$(grep "^fallback " <<<"$got")" "fallback EACCES"
}

rules TCP in_a python3 "$HERE/selinux.py" 7801
rules "AF_SDP" in_a sdp-run -o /usr/bin/python3 "$HERE/selinux.py" 7802
rules "IPPROTO_SDP" in_a python3 "$HERE/selinux.py" 7803 257
ktap_done
