#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# sdpstat check: each reason why a connection is not an SDP one is found, and
# said; a connection that would be one is not put in doubt.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpstat sdp-run socat jq
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp

# answer RC STEP RESULT TEXT ARGUMENT...: the exit status, and how that step went
answer() {
	local rc=$1 step=$2 result=$3 text=$4 json got
	shift 4
	json=$(in_a sdpstat check -j "$@" 2>&1)
	got=$?
	if [ $got -eq "$rc" ] && [ "$(jq -r .sdp <<<"$json")" = \
		"$([ "$rc" -eq 0 ] && echo true || echo false)" ] &&
		jq -e --arg s "$step" --arg r "$result" --arg t "$text" \
			'.steps[] | select(.step == $s and .result == $r) |
			 select(.text | test($t))' <<<"$json" >/dev/null; then
		ktap_ok "$* $step: $text"
	else
		ktap_fail "$* $step: $text" "rc=$got" "$json"
	fi
}

# every failure comes with advice
advised() {
	ktap_is "advice for $1" "$(in_a sdpstat check -j -t 1 "$1" |
		jq '[.steps[] | select(.result == "fail" and (.advice | not))] | length')" 0
}

established_a() { in_a sdpstat | grep -q ESTAB; }

start_bg b sdp-run socat TCP4-LISTEN:7001,fork,reuseaddr PIPE
start_bg b sdp-run socat TCP6-LISTEN:7002,fork,reuseaddr PIPE
start_bg b socat TCP4-LISTEN:7003,fork,reuseaddr PIPE
for port in 7001 7002 7003; do
	wait_port b $port
done
answer 0 policy ok "link shared, flow control transport" 10.0.0.2:7001
answer 0 device ok "rda .iw. on va" 10.0.0.2:7001
answer 0 address ok "IPv6" '[fd00::2]:7002'
answer 0 hello ok "the peer speaks SDP, on rda" '[fd00::2]:7002'
answer 1 connect fail "nobody listens for SDP at port 7009" 10.0.0.2:7009
advised 10.0.0.2:7009
answer 1 connect fail "no answer|refuses" -t 1 10.0.0.2:7003
answer 1 tcp note "^TCP connects" -t 1 10.0.0.2:7003
answer 1 route fail "no route" 10.200.0.1:1
advised 10.200.0.1:1
answer 1 address fail "no.such.host" no.such.host:1
answer 1 device note "iWARP does not connect to loopback|lo has no RDMA device" \
	-t 1 127.0.0.1:7001
answer 0 device ok "rda" -n 10.0.0.2:7009
start_bg a sdp-run socat TCP4:10.0.0.2:7001 PIPE
wait_for 20 established_a
in_a sysctl -qw net.sdp.max_connections=1
answer 1 connect fail "no more connections" 10.0.0.2:7001
in_a sysctl -qw net.sdp.max_connections=0
stop_bg "$BG_PID"
in_a sysctl -qw net.sdp.port_offset=20000
answer 1 port ok "27001 for the device" 10.0.0.2:7001
answer 1 connect fail "nobody listens for SDP at port 27001" 10.0.0.2:7001
in_a sysctl -qw net.sdp.port_offset=0
in_a sysctl -qw net.sdp.resolve_timeout=300
answer 1 resolve fail "neighbour does not answer" 10.0.0.77:1
advised 10.0.0.77:1
ip -n a link add d0 type veth peer name d1
ip -n a link set d1 up
ip -n a link set d0 up
ip -n a addr add 10.3.0.1/24 dev d0
answer 1 device note "d0 has no RDMA device .there are [12] " 10.3.0.2:1
answer 1 resolve fail "no RDMA device leads there|neighbour" 10.3.0.2:1
ktap_is "text" "$(in_a sdpstat check 10.0.0.2:7001 | sed -n '1p;$p')" \
	"address   ok    10.0.0.2, port 7001, IPv4
SDP"
in_a sdpstat check 10.0.0.2 >/dev/null 2>&1
ktap_is "wrong use" $? 2
rdma link delete rda
answer 1 resolve fail "no RDMA device leads there" 10.0.0.2:7001
ktap_done
