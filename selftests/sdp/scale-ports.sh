#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long count timeout=900 mem=4G
#
# Cost of bind(), listen(), close() and a connection while none, 10,000 and 50,000 other sockets
# have ports of their own, at either end, 10,000 of them listeners: at most 30 % more
# beside 10,000 than beside none, and half more beside 50,000. The same figures for TCP, in
# the same guest, where listen() takes a tenth more. An instruction is a nanosecond here.
#
# The other sockets have chosen their ports. TCP gives every second port of the range to
# sockets that do not choose, and looks at all of these once few are left.
#
# As many sockets are at one port, that of a server, as those of a program that calls
# its peers from the port where it listens: binding one more to it, binding one to another
# port that the table has in the same place, and connections to the server take at most a
# fifth more beside 10,000 than beside none, and half more beside 50,000.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-scale
[ "$(nproc)" -eq 1 ] || ktap_skip_all "needs run.sh --count"

PORT=700
TIMES=50
OPS="any bind listen end rate"
declare -A COST

# tell LINE...: what the client is to do; its answer is left in REPLY
tell() {
	echo "$*" >&"${CALL[1]}"
	read -r -t 600 REPLY <&"${CALL[0]}" || REPLY="no answer to $*"
	[ "${REPLY%% *}" = ok ]
}

# tell_crowd LINE...: the same for the process whose sockets are at the server's end
tell_crowd() {
	echo "$*" >&"${CROWD[1]}"
	read -r -t 600 REPLY <&"${CROWD[0]}" || REPLY="no answer to $*"
	[ "${REPLY%% *}" = ok ]
}

# cost TELL FAMILY OPERATION OTHERS: its microseconds are left in COST, and added to ROW
cost() {
	local us=-

	if "$1" "$3" $TIMES; then
		us=$(awk "BEGIN { printf \"%.1f\", ${REPLY#ok } / 1000 / $TIMES }")
		COST["$2 $3 $4"]=$us
	else
		ktap_fail "$2: $3 beside $4" "$REPLY"
	fi
	ROW+=$(printf '%10s' "$us")
	[ "$us" != - ]
}

# row FAMILY OTHERS: what cost() has put there
row() { echo "# $(printf '%-4s %-15s' "$1" "$2")$ROW"; }

# more FAMILY bound|listeners N
more() {
	if ! tell "$2" "$3" || ! tell_crowd "$2" "$3"; then
		ktap_fail "$1: $3 $2" "$REPLY"
		return 1
	fi
	# what is done later is not part of what follows
	sleep 10
}

# beside FAMILY OTHERS: a row of costs in us, left in COST[FAMILY OPERATION OTHERS]
beside() {
	local op

	ROW=
	for op in $OPS; do
		cost tell "$1" "$op" "$2" || return
	done
	row "$1" "$2"
}

# family NAME
family() {
	coproc CALL { in_a sdp-scale call "$1" 10.0.0.2 $PORT; }
	# the shell warns of a second one
	{ coproc CROWD { in_b sdp-scale call "$1" 10.0.0.2 $PORT; } } 2>/dev/null
	beside "$1" 0 &&
		more "$1" listeners 10000 && beside "$1" "10000 listeners" &&
		more "$1" bound 40000 && beside "$1" 50000
	end_coproc CALL
	end_coproc CROWD
}

# at_port FAMILY OTHERS: a row of costs with so many at the port of the server
at_port() {
	ROW=
	cost tell_crowd "$1" reuse "$2 at the port" || return
	cost tell_crowd "$1" near "$2 at the port" || return
	start_bg b sdp-scale serve "$1" 10.0.0.2 $PORT 1024
	wait_port b $PORT
	# the shell warns of a second one
	{ coproc CALL { in_a sdp-scale call "$1" 10.0.0.2 $PORT; } } 2>/dev/null
	cost tell "$1" rate "$2 at the port"
	end_coproc CALL
	stop_bg "$BG_PID"
	row "$1" "$2"
}

# crowd FAMILY: as many sockets more at the port each time. Once TCP has had a listener
# there, each bind() walks over all of them, 40,000 times.
crowd() {
	local n all=0 more=40000

	[ "$1" = sdp ] || more=

	coproc CROWD { in_b sdp-scale call "$1" 10.0.0.2 $PORT; }
	for n in 0 10000 $more; do
		all=$((all + n))
		if ! tell_crowd crowd "$n"; then
			ktap_fail "$1: $n sockets more at the port" "$REPLY"
			break
		fi
		at_port "$1" $all || break
	done
	end_coproc CROWD
}

# slower OPERATION OTHERS NONE TIMES: does it take more than TIMES as long as beside NONE?
slower() {
	local a=${COST["sdp $1 $3"]:-0} b=${COST["sdp $1 $2"]:-0}

	awk "BEGIN { exit !($a <= 0 || $b <= 0 || $b > $4 * $a) }"
}

# up: new namespaces with devices
up() {
	net_down
	dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
	in_a sh -c 'echo "1024 65535" >/proc/sys/net/ipv4/ip_local_port_range'
	in_b sh -c 'echo 4096 >/proc/sys/net/core/somaxconn'
}

modprobe -q crc32c-intel
modprobe -q sdp
echo "# us with so many at the port  the port      near   connect"
for f in tcp sdp; do
	up
	crowd $f
done
for op in reuse near rate; do
	slower $op "10000 at the port" "0 at the port" 1.2
	ktap_check "$op takes at most a fifth more with 10000 sockets at the port" [ $? = 1 ]
	slower $op "50000 at the port" "0 at the port" 1.5
	ktap_check "$op takes at most half more with 50000 sockets at the port" [ $? = 1 ]
done
echo "# us beside              any port      bind    listen     close   connect"
for f in tcp sdp; do
	up
	start_bg b sdp-scale serve $f 10.0.0.2 $PORT 1024
	wait_port b $PORT
	family $f
	stop_bg "$BG_PID"
done
for op in $OPS; do
	slower "$op" "10000 listeners" 0 1.3
	ktap_check "$op takes at most 30 % more beside 10000 listeners than beside none" [ $? = 1 ]
	slower "$op" 50000 0 1.5
	ktap_check "$op takes at most half more beside 50000 than beside none" [ $? = 1 ]
done
ktap_done
