#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# Addresses and devices: link-local addresses and their scope, IPV6_V6ONLY and
# mapped addresses, SO_BINDTODEVICE, ports that a program does not choose. SDP does all
# of it as TCP does.

# shellcheck disable=SC2317 # called by wait_for
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need python3 sdp-run

PROG=$(dirname "$0")/binding.py

# cases FILE PREFIX [COMMAND...]: run the cases with that prefix, see binding.py, under the
# command; the results are left in FILE
cases() {
	local file=$1 prefix=$2

	shift 2
	timeout 250 "$@" /usr/bin/python3 "$PROG" 7600 "$prefix" >"$file" ||
		ktap_fail "binding.py ${*:-TCP}" "$(cat "$file")"
}

# linklocal a|b DEV: the device has its link-local address
linklocal() { "in_$1" ip -6 addr show dev "$2" scope link | grep -q fe80; }

# same [PREFIX]: each case has the result that it has over TCP; PREFIX is of the titles
same() {
	local name tcp sdp

	while IFS='|' read -r name tcp sdp; do
		ktap_diag "over TCP: $tcp"
		ktap_is "$1$name: same result as over TCP" "$sdp" "$tcp"
	done < <(paste -d '|' <(sed 's/: /|/' /run/tcp) <(sed 's/[^:]*: //' /run/sdp))
}

# killed a|b WHAT N: a program killed while it looks for one of 100 ports tries no other port
# and has made N sockets of TCP then
killed() {
	local ns=$1 dir=/proc/sys/net/ipv4 range

	if ! hold sock_create_kern walker asleep=1 times=1000 ms=60000; then
		ktap_skip "a program that is killed during $2 tries no other port" "no probes"
		return
	fi
	range=$("in_$ns" cat $dir/ip_local_port_range)
	start_bg - sdp-run -o /usr/bin/python3 "$PROG" 7900 --killed "$2"
	wait_for 20 is_held
	kill -9 "$BG_PID"
	hold_go
	wait_for 20 is_gone "$BG_PID"
	ktap_is "a program that is killed during $2 tries no other port" "$(hold_hits)" "$3"
	hold_end
	"in_$ns" sh -c "echo '$range' >$dir/ip_local_port_range
		echo >$dir/ip_local_reserved_ports"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
# where few ports are free, none is to be in TIME_WAIT, which the end that closes first gets
for ns in a b; do
	"in_$ns" sysctl -qw net.ipv4.tcp_max_tw_buckets=0
done
ip link add wa index 103 netns a type veth peer name wb index 104 netns b
ip -n a link add da type dummy
for end in "a wa 1" "b wb 2"; do
	read -r ns dev host <<<"$end"
	"in_$ns" sh -c "echo 0 >/proc/sys/net/ipv6/conf/$dev/accept_dad"
	ip -n "$ns" addr add "10.0.1.$host/24" dev "$dev"
	ip -n "$ns" link set "$dev" up
	dev_add "$ns" "rd$dev" "$dev" hybrid
done
ip -n a link set da up
for end in "a va" "b vb" "a wa" "b wb"; do
	read -r ns dev <<<"$end"
	wait_for 10 linklocal "$ns" "$dev"
done
cases /run/tcp ""
cases /run/sdp "" sdp-run -o
same
ktap_is "all cases ran" "$(wc -l </run/sdp)" "$(grep -c '^@case' "$PROG")"
# a server listens for SDP and TCP without -o, where the device's ports are others
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.port_offset=20257
done
# each connect() tries SDP
in_a sysctl -qw net.sdp.fallback_memory=0
cases /run/tcp both
unset LIBSDP_ONLY
cases /run/sdp both sdp-run
export LIBSDP_ONLY=1
for ns in a b; do
	"in_$ns" sysctl -qw net.sdp.port_offset=0
done
in_a sysctl -qw net.sdp.fallback_memory=10
same
ktap_is "all cases with SDP and TCP ran" "$(wc -l </run/sdp)" "$(grep -c '^@both' "$PROG")"
killed b bind 1
# the provider tries the port that the RDMA CM has chosen, then any
killed a connect 2
wait_for 20 no_sockets
dev_down
rdma link delete rdwa
rdma link delete rdwb
# the same listeners without an RDMA device: all of them are TCP's alone
unset LIBSDP_ONLY
for prefix in both_reuseport both_devices; do
	cases /run/tcp $prefix
	cases /run/sdp $prefix sdp-run
	same "no RDMA device: "
	ktap_is "no RDMA device: all cases of $prefix ran" "$(wc -l </run/sdp)" \
		"$(grep -c "^def $prefix" "$PROG")"
done
export LIBSDP_ONLY=1
# siw has no other port than that of the program
if dev_up siw siw; then
	cases /run/tcp port_connect
	cases /run/sdp port_connect sdp-run -o
	same "siw: "
	ktap_is "siw: all cases ran" "$(wc -l </run/sdp)" 5
else
	ktap_skip siw "no such device"
fi
ktap_check "no socket is left" wait_for 20 no_sockets
ktap_done
