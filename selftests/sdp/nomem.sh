#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# A program in a control group that has too little memory for its connections, with every
# flow control and with zero copy. It is refused or killed, and does not hang. No socket,
# pinned page or queue pair is left, and afterwards a transfer works again.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run xfer sdp-zcopy sdpstat
need_research

SERVER=10.0.0.2
GROUP=/run/cgroup2
BOX=$GROUP/sdp
PORT=7100

# boxed BYTES COMMAND...: run it in a, in the group BOX limited to BYTES
boxed() {
	echo "$1" >$BOX/memory.max
	shift
	in_a sh -c "echo \$\$ >$BOX/cgroup.procs; exec $*"
}

# hits: how many times the group has hit its limit
hits() { awk '$1 == "max" { print $2 }' $BOX/memory.events; }

both() {
	if ! in_a sysctl -qw "$@" || ! in_b sysctl -qw "$@"; then
		ktap_fail "the settings are accepted" "$*"
	fi
}

# short WHAT SERVER CLIENT: the client with 5000 and with 1500 KB
short() {
	local what=$1 server=$2 client=$3 kb before rc answers

	PORT=$((PORT + 1))
	# shellcheck disable=SC2086 # options
	start_bg b $server $PORT
	wait_for 30 said listening
	before=$(hits)
	for kb in 5000 1500; do
		boxed $((kb << 10)) timeout 60 "$client $PORT" >/dev/null 2>&1
		rc=$?
		answers+=" $rc"
		[ $rc -ne 124 ] || ktap_fail "$what: the client ends with $kb KB"
	done
	ktap_diag "$what: exit status$answers"
	if [ "$(hits)" -gt "$before" ]; then
		ktap_ok "$what: the group has hit its memory limit"
	else
		ktap_fail "$what: the group has hit its memory limit" "$(cat $BOX/memory.events)"
	fi
	echo max >$BOX/memory.max
	# shellcheck disable=SC2086
	ktap_check "$what: a transfer works again" in_a timeout 60 $client $PORT
	stop_bg "$BG_PID"
	ktap_check "$what: no socket is left" wait_for 20 no_sockets
	ktap_check "$what: no page is pinned" wait_for 20 none_pinned
	ktap_check "$what: no queue pair is left" wait_for 20 no_queue_pairs
}

# transfer WHAT
transfer() {
	short "$1" "sdp-run xfer -s -h $SERVER -p" \
		"sdp-run xfer -h $SERVER -n 1M -d 1M -C 12 -t 50 -p"
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
modprobe -q sdp
mkdir -p $GROUP
mount -t cgroup2 none $GROUP 2>/dev/null || ktap_skip_all "no cgroup2"
defer umount $GROUP
echo +memory >$GROUP/cgroup.subtree_control 2>/dev/null
mkdir -p $BOX
[ -e $BOX/memory.max ] || ktap_skip_all "no control of memory in cgroup2"
defer rmdir $BOX
PINNED=$(pinned)
both net.sdp.fin_timeout=2
for policy in transport credit rdma vwin; do
	both net.sdp.flow_control=$policy
	transfer $policy
done
both net.sdp.flow_control=credit net.sdp.zcopy_threshold=65536 \
	net.sdp.zcopy_wait=1000000
short "zero copy" "sdp-zcopy serve $SERVER" \
	"sdp-zcopy -n 8388608 -w 1048576 $SERVER"
ktap_done
