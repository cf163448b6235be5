#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600
# Races: connections that come and go in every possible way, processes that are
# killed, listeners, devices and namespaces that disappear meanwhile. Nothing may
# hang or stay behind; the kernel's own checkers look for the rest.
# shellcheck disable=SC2317 # called by wait_for
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-stress sdpstat
need_research

SECS=$(scaled 3 6)
modprobe -q sdp

# setup KIND: orphans must not make us wait
setup() {
	net_up && dev_up "$1" "$1" || return
	in_a sh -c 'echo 2 >/proc/sys/net/sdp/fin_timeout'
	in_b sh -c 'echo 2 >/proc/sys/net/sdp/fin_timeout'
}

# policy NAME: flow control of the connections from now on
policy() {
	in_a sysctl -q -w "net.sdp.flow_control=$1" &&
		in_b sysctl -q -w "net.sdp.flow_control=$1"
}

# load ADDR SECONDS: both sides in the background; two servers share the port
load() {
	start_bg b sdp-stress serve "$1" 7400 "$2" 3
	SERVER2=$BG_PID SERVER2_LOG=$BG_LOG
	start_bg b sdp-stress serve "$1" 7400 "$2" 3
	SERVER=$BG_PID SERVER_LOG=$BG_LOG
	start_bg a sdp-stress call "$1" 7400 "$2" 6
	CLIENT=$BG_PID CLIENT_LOG=$BG_LOG
}

# finished DESCRIPTION: servers and client end with success, and none hangs
finished() {
	local rc=0
	wait "$SERVER" || rc=1
	wait "$SERVER2" || rc=1
	wait "$CLIENT" || rc=1
	if [ $rc -eq 0 ]; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "$(cat "$SERVER_LOG" "$SERVER2_LOG" "$CLIENT_LOG")"
	fi
	ktap_diag "server: $(tr '\n' ' ' <"$SERVER_LOG")" \
		"server: $(tr '\n' ' ' <"$SERVER2_LOG")" \
		"client: $(tr '\n' ' ' <"$CLIENT_LOG")"
}

# clean DESCRIPTION: nothing stays behind
clean() {
	if wait_for 60 no_sockets; then
		ktap_ok "$1: no socket is left"
	else
		ktap_fail "$1: no socket is left" "$(in_a sdpstat -ae)" \
			"$(in_b sdpstat -ae)"
	fi
	ktap_is "$1: no connection is left" \
		"$(sdp_counter a curr_estab) $(sdp_counter b curr_estab)" "0 0"
}

# Not over siw: it counts the references of a listener wrong when connections
# arrive while it is closed, and later failures would not be SDP's.
setup hybrid || exit 1
load 10.0.0.2 "$SECS"
finished "load: servers and client end"
clean "load"

load fd00::2 "$SECS"
finished "load over IPv6: servers and client end"
clean "IPv6"

# devices that disappear and come back, under one flow control after the other
load 10.0.0.2 $((SECS * 2))
for fc in transport rdma vwin credit; do
	policy $fc
	sleep "0.$((2 + RANDOM % 8))"
	rdma link delete rda
	in_a rdma link add rda type hybrid netdev va
	case $fc in
	rdma | credit) ;;
	*) continue ;;
	esac
	rdma link delete rdb
	in_b rdma link add rdb type hybrid netdev vb
done
finished "devices disappear under load: servers and client end"
clean "devices"

# the module cannot go while it is used
load 10.0.0.2 "$SECS"
sleep 1
ktap_check_fails "the module stays while it is used" rmmod sdp
finished "rmmod fails under load: servers and client end"
clean "module"

# namespaces that disappear with everything in them
for fc in transport rdma vwin credit; do
	policy $fc
	load 10.0.0.2 60
	sleep $((SECS / 3))
	ip netns del a
	ip netns del b
	stop_bg "$CLIENT"
	stop_bg "$SERVER"
	stop_bg "$SERVER2"
	if setup hybrid; then
		ktap_ok "namespaces disappear under load, $fc: devices can be made again"
	else
		ktap_fail "namespaces disappear under load, $fc: devices can be made again"
		exit 1
	fi
done

net_down
gone() { modprobe -r sdp_diag sdp; }
ktap_check "the module can be removed" wait_for 60 gone
modprobe sdp

ktap_done
