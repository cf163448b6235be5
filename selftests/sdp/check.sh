#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# sdpstat check: each reason why a connection is not an SDP one is found and
# reported; for a connection that would be one no reason is reported.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
PLAIN_PORTS=1
need sdpstat sdp-run socat jq
need_research
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp

# answer RC STEP RESULT TEXT ARGUMENT...: sdpstat check has that exit status, and its STEP
# that RESULT and text
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
		ktap_ok "sdpstat check $*: $step is $result: $text"
	else
		ktap_fail "sdpstat check $*: $step is $result: $text" "rc=$got" "$json"
	fi
}

# advised TARGET: every step that fails comes with advice
advised() {
	ktap_is "sdpstat check $1: each step that fails has advice" "$(in_a sdpstat check -j -t 1 "$1" |
		jq '[.steps[] | select(.result == "fail" and (.advice | not))] | length')" 0
}

established_a() { in_a sdpstat | grep -q ESTAB; }

SERVERS=()
start_bg b sdp-run -o socat TCP4-LISTEN:7001,fork,reuseaddr PIPE
SERVERS+=("$BG_PID")
start_bg b sdp-run -o socat TCP6-LISTEN:7002,fork,reuseaddr PIPE
SERVERS+=("$BG_PID")
start_bg b socat TCP4-LISTEN:7003,fork,reuseaddr PIPE
for port in 7001 7002 7003; do
	wait_port b $port
done
answer 0 policy ok "link shared, flow control transport" 10.0.0.2:7001
answer 0 device ok "rda .iw. on va" 10.0.0.2:7001
answer 0 address ok "IPv6" '[fd00::2]:7002'
answer 0 hello ok "the peer speaks SDP, on rda" '[fd00::2]:7002'
answer 0 route ok "^by va, from 10.0.0.1" '[::ffff:10.0.0.2]:7001'
answer 1 connect fail "no SDP listener at port 7009" 10.0.0.2:7009
advised 10.0.0.2:7009
answer 1 connect fail "no answer|refuses" -t 1 10.0.0.2:7003
answer 1 tcp note "^TCP connects$" -t 1 10.0.0.2:7003
in_a sysctl -qw net.sdp.fallback=0
answer 1 tcp note "^TCP connects, but net.sdp.fallback is 0" -t 1 10.0.0.2:7003
in_a sysctl -qw net.sdp.fallback=1
answer 1 route fail "no route" 10.200.0.1:1
advised 10.200.0.1:1
answer 1 address fail "no.such.host" no.such.host:1
ktap_is "check uses the first of two addresses" "$(in_a unshare -m sh -c '
	mount -t tmpfs -o mode=755 none /etc
	echo "multi on" >/etc/host.conf
	echo "hosts: files" >/etc/nsswitch.conf
	printf "10.0.0.2 peer\n10.0.0.3 peer\n" >/etc/hosts
	sdpstat check -n peer:7001' | grep ^address)" \
	"address   ok    10.0.0.2, port 7001, IPv4, the first of 2 addresses"
answer 1 device note "lo has no RDMA device" \
	-t 1 127.0.0.1:7001
answer 1 device fail "lo has no RDMA device" -n 127.0.0.1:7001
answer 0 device ok "rda" -n 10.0.0.2:7009
start_bg a sdp-run -o socat TCP4:10.0.0.2:7001 PIPE
wait_for 20 established_a
in_a sysctl -qw net.sdp.max_connections=1
answer 1 connect fail "no more connections" 10.0.0.2:7001
in_a sysctl -qw net.sdp.max_connections=0
stop_bg "$BG_PID"
in_a sysctl -qw net.sdp.port_offset=20000
answer 1 port ok "27001 for the device" 10.0.0.2:7001
answer 1 connect fail "no SDP listener at port 27001" 10.0.0.2:7001
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
answer 1 device fail "d0 has no RDMA device" -n 10.3.0.2:1
ip -n a link add link va name va.5 up type vlan id 5
ip -n a addr add 10.5.0.1/24 dev va.5
answer 0 device note "va.5 has no RDMA device" -n 10.5.0.2:1
ip -n a link del va.5
ktap_is "check without -j prints text, at its end SDP" "$(in_a sdpstat check 10.0.0.2:7001 | sed -n '1p;$p')" \
	"address   ok    10.0.0.2, port 7001, IPv4
SDP"
in_a sdpstat check 10.0.0.2 >/dev/null 2>&1
ktap_is "wrong arguments are refused" $? 2
start_bg b sdp-run -o socat -u TCP4-LISTEN:7005 CREATE:/run/check.got
wait_port b 7005
in_a sh -c 'exec sdpstat check 10.0.0.2:7005 >&-' 2>/dev/null
ktap_is "a closed standard output is a failure" $? 1
wait "$BG_PID"
ktap_is "no output goes to the server" "$(stat -c %s /run/check.got)" 0
rm /run/check.got
# Requests that cannot be met
in_a sysctl -qw net.sdp.flow_control=rdma
in_b sysctl -qw net.sdp.flow_control=credit
answer 0 policy ok "^link verbs .policy., flow control credit .peer.$" 10.0.0.2:7001
in_b sysctl -qw net.sdp.flow_control=auto
answer 0 policy ok "^link verbs .policy., flow control rdma$" 10.0.0.2:7001
in_a sysctl -qw net.sdp.flow_control=auto

# An iWARP peer that accepts each connection, with private data that is no HelloAck
start_bg b python3 -c '
import socket
s = socket.create_server(("10.0.0.2", 7004))
while True:
    c = s.accept()[0]
    req = b""
    while len(req) < 20 or len(req) < 20 + int.from_bytes(req[18:20], "big"):
        more = c.recv(4096)
        if not more:
            break
        req += more
    if not more:
        continue
    enhanced = req[20:24] if req[17] == 2 and req[16] & 0x10 else b""
    data = enhanced + 40 * b"\xff"
    c.sendall(b"MPA ID Rep Frame" + req[16:18] + len(data).to_bytes(2, "big") + data)
    c.recv(1)
'
wait_port b 7004
answer 1 hello fail "not a valid one" 10.0.0.2:7004
advised 10.0.0.2:7004

ip -n b link set vb down
answer 1 device fail "rda .iw. on va is not active" -n 10.0.0.2:7001
ip -n b link set vb up
rdma link delete rda
answer 1 device fail "va has no RDMA device" -n 10.0.0.2:7001
answer 1 resolve fail "no RDMA device leads there" 10.0.0.2:7001
in_a sysctl -qw net.sdp.resolve_timeout=5000


for pid in "${SERVERS[@]}"; do
	stop_bg "$pid"
done

# on KIND TRANSPORT VWIN REFUSAL: over devices that share no buffers. VWIN: the flow control
# that is reported when vwin is requested, REFUSAL: the text of a refused connection
on() {
	local kind=$1

	dev_down
	dev_up "$kind" "$kind" || { ktap_skip "$kind" "no such devices"; return; }
	start_bg b sdp-run -o socat TCP4-LISTEN:7011,fork,reuseaddr PIPE
	wait_port b 7011
	answer 0 device ok "^rda .$2. on va" 10.0.0.2:7011
	answer 0 hello ok "the peer speaks SDP, on rda" 10.0.0.2:7011
	answer 0 policy ok "^link verbs .device., flow control credit$" \
		10.0.0.2:7011
	in_a sysctl -qw net.sdp.flow_control=vwin
	answer 0 policy ok "flow control $3$" 10.0.0.2:7011
	in_a sysctl -qw net.sdp.flow_control=auto
	answer 1 connect fail "$4" 10.0.0.2:7019
	advised 10.0.0.2:7019
	stop_bg "$BG_PID"
}

on siw iw "rdma .device." "no SDP listener at port 7019"
on rxe roce "vwin" "the peer refuses: no SDP listener at port 7019"

# Without the module, and without a helper that would load it
helper=$(cat /proc/sys/kernel/modprobe)
defer sh -c "echo $helper >/proc/sys/kernel/modprobe"
ktap_check "the module can be removed" wait_for 20 modprobe -r sdp_diag sdp
echo /bin/false >/proc/sys/kernel/modprobe
answer 1 module fail "the kernel has no SDP sockets" 10.0.0.2:7011
advised 10.0.0.2:7011
ktap_done
