#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Changes of devices, and their effect on users: port events, net devices
# that are renamed, change their MTU or address or go, devices that go while programs
# have them open, network namespaces, resource tracking.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/ulp/lib.bash
. "$(dirname "$0")/lib.bash"
need rping ibv_asyncwatch socat rdma python3

# ping_once: a short rping from a to b, data compared
ping_once() {
	start_bg b timeout 60 rping -s -a 10.0.0.2 -C 10 -v
	wait_port b 7174 || return
	ping_all 10 -a 10.0.0.2 || return
	wait "$BG_PID"
}

# endless_ping: one that is still under way; PING is the client
endless_ping() {
	start_bg b rping -s -a 10.0.0.2 -v -S 4000
	SERVER=$BG_PID
	wait_port b 7174 || return
	start_bg a rping -c -a 10.0.0.2 -v -V -S 4000
	PING=$BG_PID
	PING_LOG=$BG_LOG
	wait_for 20 grep -q "ping data" "$PING_LOG"
}

running() { [ -d "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status"; }
not_running() { ! running "$1"; }
watched() { grep -q "$1" "$WATCH_LOG"; }
has_netdev() { in_a rdma link show "$1/1" | grep "netdev $2"; }
has_gid() { grep "^$1" /sys/class/infiniband/rda/ports/1/gids/0; }
no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }
tracked() { rdma resource show "$1" -dd | grep -e "$2"; }
pings() { grep -c "ping data" "$PING_LOG"; }
more_pings() { [ "$(pings)" -gt "$1" ]; }

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"

start_bg a socat -u "EXEC:ibv_asyncwatch -d rda,pty" STDOUT
WATCH=$BG_PID WATCH_LOG=$BG_LOG
wait_for 20 watched rda
ip -n a link set va down
ktap_check "the event port down is reported" wait_for 20 watched PORT_ERR
ip -n a link set va name vx
ip -n a link set vx up
ktap_check "the event port active is reported" wait_for 20 watched PORT_ACTIVE
ip -n a addr replace fd00::1/64 dev vx nodad
ktap_check "the net device can be renamed" has_netdev rda vx
ktap_check "a connection works" ping_once
# The core finds the device by its GID (and tells programs of RoCE only that it changes)
ip -n a link set vx address 02:00:00:00:00:10
ktap_check "another address gives another GID" wait_for 20 has_gid 0200:0000:0010
ktap_check "connections use the new GID" ping_once

endless_ping || ktap_fail "rping" "$(cat "$PING_LOG")"
for mtu in 9000 1280 1500; do
	ip -n a link set vx mtu $mtu
	ip -n b link set vb mtu $mtu
	ktap_check "the device continues with MTU $mtu" wait_for 30 more_pings $(($(pings) + 20))
done
ip -n a link set vx address 02:00:00:00:00:11
ktap_check "the device continues with another address" wait_for 30 more_pings $(($(pings) + 20))
for what in qp:sq_active cq:completions mr:max_pages cm_id:dst-addr; do
	ktap_check "rdma resource shows ${what%:*} of the driver" tracked "${what%:*}" "${what#*:}"
done

ktap_check "the client's device can be removed while it is open" \
	timeout 60 rdma link delete rda
ktap_check "the device is gone" wait_for 20 no_device rda
ktap_check "the event device fatal is reported" wait_for 20 watched DEVICE_FATAL
ktap_check "the client ends after the removal" wait_for 60 not_running "$PING"
kill_tree "$SERVER"
stop_bg "$WATCH"
ktap_check "the device can be made again" dev_add a rda vx hybrid
ktap_check "a connection works" ping_once

endless_ping || ktap_fail "rping" "$(cat "$PING_LOG")"
ktap_check "the net device can be removed" timeout 60 ip -n a link del vx
ktap_check "the RDMA device is removed with its net device" wait_for 20 no_device rda
ktap_check "the device of the other end is removed, too" wait_for 20 no_device rdb
ktap_check "the client ends after the removal" wait_for 60 not_running "$PING"
kill_tree "$SERVER"

net_up && dev_add a rda va hybrid && dev_add b rdb vb hybrid
endless_ping || ktap_fail "rping" "$(cat "$PING_LOG")"
ip -n a link set va netns b
ktap_check "the device is removed when the net device changes its namespace" \
	wait_for 20 no_device rda
ktap_check "the client ends after the removal" wait_for 60 not_running "$PING"
kill_tree "$SERVER"
net_down

# Each device is seen in its own namespace alone; possible while there is none, and
# the kernel removes those of net_down a little later
exclusive() { rdma system set netns exclusive; }
shared() { wait_for 20 rdma system set netns shared; }
seen() { "in_$1" ls /sys/class/infiniband | tr '\n' ' '; }
if ktap_check "namespaces of their own for devices" wait_for 20 exclusive; then
	defer shared
	defer net_down
	net_up
	# the RDMA CM asks the device to listen again when it has changed its namespace
	modprobe -q sdp
	for listener in "tcp $(port_mapped a 5021)" "sdp 5021"; do
		start_bg a python3 "$LIB_DIR/../iwarp_hybrid/relisten.py" "${listener% *}" 0.0.0.0 \
			"${listener#* }"
		wait_for 20 said listening || ktap_fail "listening: $listener" "$(cat "$BG_LOG")"
	done
	dev_add a rda va hybrid && dev_add b rdb vb hybrid
	rdma dev set rda netns a && rdma dev set rdb netns b
	ktap_is "a sees its device" "$(seen a)" "rda "
	ktap_is "b sees its device" "$(seen b)" "rdb "
	ktap_check "connections between them work, though TCP has the port of a listener" ping_once
	in_a rdma link delete rda
	in_b rdma link delete rdb
fi
ktap_check "no resource is left: the module can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
