#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# net.sdp.*: defaults, limits, one set for each namespace, effect on new sockets.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpstat sdp-actions sdp-run jq python3
need_research

# All of it runs in one shell in namespace a: entering it takes a while.
if [ "$1" != inside ]; then
	modprobe -q sdp
	net_up || exit 1
	in_a "$0" inside
	exit
fi
DIR=/proc/sys/net/sdp

get() {
	local v
	read -r v <"$DIR/$1"
	echo "${v//$'\t'/ }"
}

set_to() { echo "$2" >"$DIR/$1"; }

# accepts NAME VALUE / refuses NAME VALUE
accepts() {
	if set_to "$1" "$2" 2>/dev/null; then
		ktap_is "$1 accepts '$2'" "$(get "$1")" "$2"
	else
		ktap_fail "$1 takes '$2'"
	fi
}

refuses() {
	local before
	before=$(get "$1")
	if set_to "$1" "$2" 2>/dev/null; then
		ktap_fail "$1 refuses '$2'" "taken: $(get "$1")"
	else
		ktap_is "$1 refuses '$2'" "$(get "$1")" "$before"
	fi
}

# limits NAME DEFAULT MIN MAX
limits() {
	ktap_is "$1 is $2" "$(get "$1")" "$2"
	accepts "$1" "$3"
	accepts "$1" "$4"
	refuses "$1" $(($3 - 1))
	refuses "$1" $(($4 + 1))
	refuses "$1" x
	set_to "$1" "$2"
}

# words NAME DEFAULT OTHER...
words() {
	local name=$1 word
	ktap_is "$1 is $2" "$(get "$1")" "$2"
	shift
	for word; do
		accepts "$name" "$word"
	done
	refuses "$name" "${word}x"
	refuses "$name" ""
	refuses "$name" 1
	set_to "$name" "$1"
}

limits rx_bufs_min 8 8 96
limits rx_bufs_max 96 8 256
limits rx_buf_size 32768 4096 32768
limits rx_merge 2048 -1 32768
limits signal_every 16 1 32
limits shared_link 1 0 1
words flow_control auto credit rdma vwin transport
limits credit_join 1 0 1
words credit_update third half each
limits vwin_posted 8 1 32
words rdma_progress kernel app
limits rdma_immediate 1 0 1
limits zcopy_threshold 0 0 2147483647
limits zcopy_floor 262144 0 2147483647
limits zcopy_wait 1000 1 60000000
limits zcopy_pipelined 1 0 1
limits zcopy_cache 67108864 0 2147483647
limits zcopy_entries 16 1 1024
limits fin_timeout 60 1 3600
limits resolve_timeout 5000 10 60000
limits connect_timeout 127 1 3600
limits confirm_timeout 20 1 3600
limits hold_max 128 0 65535
limits max_connections 0 0 2147483647
limits max_orphans 16384 0 2147483647
limits max_adverts 1 1 255
limits port_offset 20257 0 64511
limits fallback 1 0 1
limits fallback_timeout 3 1 3600
limits fallback_memory 10 0 3600
limits tx_latency 0 0 1
limits keepalive_time 7200 1 32767
limits keepalive_intvl 75 1 32767
limits keepalive_probes 9 1 127

# tells NAME VALUE SENTENCE: the kernel's log has it when that value is refused; not each time
tells() {
	local before

	before=$(dmesg | grep -cF "net.sdp.$1 $3")
	refused_and_logged() {
		set_to "$1" "$2" 2>/dev/null
		[ "$(dmesg | grep -cF "net.sdp.$1 $3")" -gt "$before" ]
	}
	ktap_check "the log says: net.sdp.$1 $3" wait_for 20 refused_and_logged "$@"
}

tells port_offset 64512 "takes a number from 0 to 64511"
tells tx_latency 2 "takes a number from 0 to 1"
tells rx_bufs_min 97 "takes a number from 8 to 96"
tells rmem "1 2 3" "takes three numbers that do not decrease, from 2304 to 1073741823"
tells flow_control fast "takes one of auto, credit, rdma, vwin, transport"

# each of the pair limits the other
set_to rx_bufs_max 20
refuses rx_bufs_min 21
accepts rx_bufs_min 20
refuses rx_bufs_max 19
set_to rx_bufs_max 96
set_to rx_bufs_min 8

# waits_or_gone PID: it has done what it could so far
waits_or_gone() {
	local stat

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } = [DZX]* ]]
}

# in_turn FILE VALUE FILE VALUE: one task writes while another one has begun to
in_turn() {
	local first

	hold proc_dointvec_minmax sh asleep=1 ms=60000 || return
	start_bg - sh -c "echo $2 >$DIR/$1"
	first=$BG_PID
	wait_for 20 is_held
	start_bg - bash -c "echo $4 >$DIR/$3"
	wait_for 20 waits_or_gone "$BG_PID"
	hold_go
	wait "$first" "$BG_PID"
	hold_end
}

if in_turn rmem 5000 rmem "8192 100000 200000"; then
	ktap_is "a concurrent write is not lost" "$(get rmem)" "8192 100000 200000"
	in_turn rx_bufs_min 96 rx_bufs_max 8
	ktap_is "limits are checked under the lock" "$(get rx_bufs_min) $(get rx_bufs_max)" "96 96"
	set_to rx_bufs_min 8
else
	ktap_skip "a concurrent write is not lost" "no probes"
fi

# of all namespaces; sdp/mem writes it
refuses mem "1 2 3"

for f in rmem wmem; do
	accepts $f "8192 100000 200000"
	refuses $f "8192 300000 200000"
	refuses $f "200000 100000 300000"
	refuses $f "1 100000 200000"
	refuses $f "8192 100000 -1"
done

ktap_is "another namespace keeps its own values" \
	"$(in-ns b cat $DIR/rmem | tr '\t' ' ')" "4096 262144 8388608"
ktap_is "a new namespace has the defaults" \
	"$(unshare -n cat $DIR/keepalive_time)" 7200

# raised SETTING...: all lines of sdp-sysctl.conf, with other values of some, for a new
# namespace, which may not write mem
raised() {
	local setting file=/run/sysctl.raised

	sed -n '/^#net\.sdp\.mem /d; s/^#\(net\.sdp\.\)/\1/p' \
		/usr/share/doc/sdp-tools/examples/sdp-sysctl.conf >$file
	for setting; do
		sed -i "s/^\(net\.sdp\.${setting%=*} = \).*/\1${setting#*=}/" $file
	done
	unshare -n sh -ec "sysctl -q -p $file && cd $DIR && cat rx_bufs_min rx_bufs_max"
	rm $file
}

ktap_is "sdp-sysctl.conf can be applied" "$(raised 2>&1)" $'8\n96'
ktap_is "sdp-sysctl.conf can raise rx_bufs_min above the default of rx_bufs_max" \
	"$(raised rx_bufs_min=128 rx_bufs_max=256 2>&1)" $'128\n256'

# a new file has to be added here, and tested above
ktap_is "net.sdp has the files that this test knows" "$(cd $DIR && echo *)" \
	"confirm_timeout connect_timeout credit_join credit_update fallback fallback_memory fallback_timeout fin_timeout flow_control group_range hold_max keepalive_intvl keepalive_probes keepalive_time max_adverts max_connections max_orphans mem port_offset rdma_immediate rdma_progress resolve_timeout rmem rx_buf_size rx_bufs_max rx_bufs_min rx_merge shared_link signal_every tx_latency vwin_posted wmem zcopy_cache zcopy_entries zcopy_floor zcopy_pipelined zcopy_threshold zcopy_wait"

# may_fall_back HOW [PORT]: SDP_FALLBACK of a new socket, which may be bound: 1 tries both, 2
# is a TCP socket at once
may_fall_back() {
	python3 -c '
import errno, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257) as sock:
    if len(sys.argv) > 2:
        sock.bind(("0.0.0.0", int(sys.argv[2])))
    try:
        sock.setsockopt(1027, 32, int(sys.argv[1]))
        print("ok")
    except OSError as err:
        print(errno.errorcode[err.errno])' "$@"
}

# The rules say TCP for port 7312, and SDP for others
may_listen() {
	printf 'use tcp server * *:7312\nuse sdp server * *:*\n' >/run/sysctl.conf
	sdp-run -c /run/sysctl.conf /usr/bin/python3 -c '
import errno, socket
with socket.socket() as sock:
    sock.bind(("0.0.0.0", 7312))
    try:
        sock.listen()
        print("listens")
    except OSError as err:
        print(errno.errorcode[err.errno])'
}

ktap_is "fallback is allowed" "$(may_fall_back 1)" ok
ktap_is "fallback is allowed for a bound socket" "$(may_fall_back 2 7311)" ok
ktap_is "a rule decides for TCP when the socket is bound" "$(may_listen)" listens
set_to fallback 0
ktap_is "fallback=0 refuses fallback" "$(may_fall_back 1)" EPERM
ktap_is "fallback=0 lets a program choose TCP" "$(may_fall_back 2)" ok
# the kernel would bind the TCP socket, and security modules not see it
ktap_is "fallback=0 refuses TCP for a bound socket" "$(may_fall_back 2 7311)" EPERM
ktap_is "fallback=0 refuses TCP by a rule for a bound socket" "$(may_listen)" EPERM
set_to fallback 1

start_bg - sdp-actions bind 0.0.0.0 7310 pause
wait_for 10 said ready
mem=$(sdpstat -a --json | jq -c '.sockets[0].memory | [.rcvbuf, .sndbuf]')
ktap_is "a new socket has the new buffer sizes" "$mem" "[100000,100000]"

ktap_done
