#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The place of each component: the attribute of every RDMA device in every
# namespace that sees it, sdpstat stack, errors of generic netlink, changes.
. "$(dirname "$0")/../lib/lib.sh"
need jq

# of DEV COMPONENT: its place, from the attribute
of() { awk -v c="$2" '$1 == c { print $2 }' "/sys/class/infiniband/$1/hybrid/components"; }

attribute() { in_a cat "/sys/class/infiniband/$1/hybrid/components"; }

# same DEV: attribute and netlink show the same
same() {
	diff <(in_a sdpstat stack -j "$1" |
		jq -r '(.components | to_entries[] | "\(.key) \(.value)"),
			"shared_link \(if .shared_link then "yes" else "no" end)",
			"source \(.source)"' | sort) <(attribute "$1" | sort)
}

ktap_plan 27
net_up
dev_up hybrid siw

# ---- attribute
ktap_check "hybrid has the attribute" attribute rda
ktap_is "hybrid registers a table" "$(of rda source)" provider
ktap_is "hybrid without an offloading NIC: CRC on the host" "$(of rda crc)" host
ktap_is "the components of siw are known" "$(attribute rdb | tr '\n' ' ')" \
	"crc host demux host markers absent flow_control host buffering host ordering host reliability host coalescing absent shared_link no source driver "
ktap_is "all users can read the attribute" "$(stat -c %a /sys/class/infiniband/rda/hybrid/components /sys/class/infiniband/rdb/hybrid/components | tr '\n' ' ')" "444 444 "
ktap_check "other attributes of hybrid are still there" test -e /sys/class/infiniband/rda/hybrid/crc
ktap_check "another namespace sees it, too" in_b cat /sys/class/infiniband/rdb/hybrid/components

# ---- netlink
ktap_check "sdpstat stack lists both" in_a sdpstat stack
ktap_is "... and nothing else" "$(in_a sdpstat stack -j | jq -r .device | sort | tr '\n' ' ')" "rda rdb "
ktap_check "attribute and netlink agree, hybrid" same rda
ktap_check "attribute and netlink agree, siw" same rdb
ktap_check_fails "a device that does not exist is an error" in_a sdpstat stack nosuch
ktap_is "the message has the reason" "$KTAP_OUT" "sdpstat: nosuch: no such device in this network namespace"
ktap_check_fails "no such queue pair" in_a sdpstat stack rda 0xabcdef
ktap_is "the message has the reason" "$KTAP_OUT" "sdpstat: rda: the device has no such queue pair"
ktap_check_fails "wrong options are an error" in_a sdpstat stack rda x
ktap_check "no privilege is needed" in_a setpriv --reuid 65534 sdpstat stack rda

# ---- one queue pair
start_bg b rping -s -a 10.0.0.2 -C 1 -P
server=$BG_PID
wait_port b 7174
in_a rping -c -a 10.0.0.2 -C 1000000 >/dev/null 2>&1 &
client=$!
LIB_PIDS+=("$client")
qpn() { rdma -j resource show qp | jq -r '.[] | select(.ifname == "rda" and .type == "RC") | .lqpn' | head -n1; }
wait_for 10 sh -c "rdma resource show qp | grep -q 'link rda.*RTS'"
ktap_is "sdpstat stack shows a queue pair" "$(in_a sdpstat stack -j rda "$(qpn)" | jq -r '"\(.device) \(.source) \(.components.crc)"')" \
	"rda provider host"
stop_bg $client
# siw does not let a device go as long as a program has opened it
stop_bg "$server"

# ---- changes
events=$(mktemp)
in_a sdpstat stack -j -m -c 4 >"$events" &
monitor=$!
LIB_PIDS+=("$monitor")
wait_for 5 grep -q rdb "$events"
rdma link delete rdb
in_b rdma link add rdc type siw netdev vb
rdma dev set rdc name rdd
rdma link delete rdd
wait_for 5 test ! -d /proc/$monitor/fd
ktap_is "devices that go, come and are renamed are reported" \
	"$(jq -r '"\(.event) \(.device)"' "$events" | tail -n 4 | tr '\n' ' ')" \
	"gone rdb change rdc change rdd gone rdd "

: >"$events"
in_a sdpstat stack -j -m -c 1 rda >"$events" &
monitor=$!
LIB_PIDS+=("$monitor")
wait_for 5 grep -q rda "$events"
attr=/sys/class/infiniband/rda/hybrid/profile
echo host >$attr
echo hybrid >$attr
wait_for 5 test ! -d /proc/$monitor/fd
ktap_is "a change of the profile is reported" "$(jq -r '.event // empty' "$events")" change

# ---- a device that exists before the module is loaded
rdma link delete rda
modprobe -r -q stack_test stack_mock sdp_diag sdp hnic
ktap_check "the modules can be removed" modprobe -r iwarp_hybrid siw rdma_stack
modprobe siw
in_b rdma link add rdb type siw netdev vb
ktap_check "no directory without the module" test ! -e /sys/class/infiniband/rdb/hybrid
ktap_check "sdpstat loads the module" in_b sdpstat stack rdb
ktap_is "an existing device has the attribute" "$(of rdb markers)" absent
ktap_check "an existing device of another namespace has it" in_b cat /sys/class/infiniband/rdb/hybrid/components
modprobe -r rdma_stack
ktap_check "the directory is removed with the module" test ! -e /sys/class/infiniband/rdb/hybrid

# ---- rxe
modprobe rdma_stack
dev_down
if dev_up rxe rxe; then
	ktap_is "the components of rxe are known" "$(of rda crc) $(of rda markers) $(of rda source)" \
		"host absent driver"
else
	ktap_skip "the components of rxe are known" "no rxe devices"
fi
ktap_done
