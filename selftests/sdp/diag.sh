#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# sock_diag and the counters, through sdpstat: sockets of every state are listed
# with the right values, in their own namespace only.
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpstat sdp-actions jq

# act a|b ARGUMENT...: start sdp-actions in the background, and wait until it pauses
act() {
	local ns=$1
	shift
	start_bg "$ns" sdp-actions "$@" pause
	wait_for 20 said ready ||
		ktap_diag "sdp-actions $*: $(cat "$BG_LOG")"
}

# sock a|b FILTER: the list of all sockets, filtered by jq
sock() { "in_$1" sdpstat -a -p --json | jq -c "[.sockets[] | $2]"; }

# sock_is DESCRIPTION a|b FILTER WANTED: sock prints WANTED, within two seconds
sock_is() {
	local i got
	for i in {1..20}; do
		got=$(sock "$2" "$3")
		[ "$got" = "$4" ] && break
		sleep 0.1
	done
	ktap_is "$1" "$got" "$4"
}

# listens PORT: a socket does, in b
# shellcheck disable=SC2317 # called by wait_for
listens() { in_b sdpstat -l | grep -q ":$1 "; }

# inodes PID: of the sockets that the process or its children hold
inodes() {
	local p
	for p in "$1" $(pgrep -P "$1"); do
		find "/proc/$p/fd" -lname 'socket:*' -printf '%l\n'
	done 2>/dev/null | tr -dc '0-9\n'
}

counter() { "in_$1" sdpstat -s -z --json | jq ".counters.$2"; }

ktap_check "sdpstat --help succeeds" sdpstat -h
ktap_check "sdpstat --version succeeds" sdpstat -V
ktap_check_fails "an unknown option is refused" sdpstat --nosuch
ktap_check_fails "an unknown argument is refused" sdpstat nosuch
ktap_check_fails "a bad interval is refused" sdpstat -i never

modprobe -q -r sdp_diag sdp
if [ ! -d /sys/module/sdp ]; then
	ktap_check_fails "without the module there is no list" sdpstat
	ktap_is "the message says what to do" \
		"$(grep -c 'modprobe sdp' <<<"$KTAP_OUT")" 1
fi

modprobe sdp
net_up && dev_up hybrid hybrid || exit 1
ktap_check "the diag module is loaded on demand" in_a sdpstat
ktap_is "the diag module is loaded" "$(ls -d /sys/module/sdp_diag)" /sys/module/sdp_diag
ktap_is "without a socket the list is empty" "$(in_a sdpstat -a | wc -l)" 1
ktap_is "without a socket the JSON is valid" "$(in_a sdpstat -a --json)" '{"sockets":[]}'

# listener, connection, unread data
act b listen 10.0.0.2 7301 5
sock_is "a listener" b '[.state,.family,.local.address,.local.port,.recv_q,.send_q]' \
	'[["LISTEN",4,"10.0.0.2",7301,0,5]]'
ktap_is "sdpstat -l shows the listener" "$(in_b sdpstat -l | grep -c LISTEN)" 1
ktap_is "sdpstat without -l does not show it" "$(in_b sdpstat | wc -l)" 1
ktap_is "sdpstat -p shows its process" "$(sock b '.processes[].name')" '["sdp-actions"]'
act a connect 10.0.0.2 7301
sock_is "an unaccepted connection counts" b \
	'select(.state == "LISTEN").recv_q' '[1]'
stop_bg "$BG_PID"
stop_bg "${LIB_PIDS[0]}"

act a bind 10.0.0.1 7303
ktap_is "-B shows a bound socket, -Q no queues" \
	"$(in_a sdpstat -B -Q -H | awk '{ print $1, $2, NF }')" "UNCONN 10.0.0.1:7303 5"
sock_is "an unconnected socket" a '[.state,.local.port,.peer.port]' \
	'[["UNCONN",7303,0]]'
stop_bg "$BG_PID"

start_bg b sdp-actions listen 10.0.0.2 7304 5 accept pause
server=$BG_PID
wait_for 10 listens 7304
act a connect 10.0.0.2 7304 send 1000
client=$BG_PID
E='select(.state == "ESTAB") |'
sock_is "the receiver: state and unread bytes" b \
	"$E [.state,.recv_q,.send_q,.local.port,.peer.address]" \
	'[["ESTAB",1000,0,7304,"10.0.0.1"]]'
sock_is "the receiver: device, flow control and link" b \
	"$E [.device,.device_port,.flow_control,.link,.link_reason]" \
	'[["rdb",1,"transport","shared",""]]'
sock_is "the receiver: received bytes are counted" b "$E .stats.rx_bytes" '[1000]'
sock_is "the sender: sent bytes are counted, and nothing is unread" a "$E [.recv_q,.stats.tx_bytes]" '[[0,1000]]'
sock_is "the sender: the inode is that of the descriptor" a "$E .inode" "[$(inodes "$client")]"
ktap_is "the table shows the same" \
	"$(in_b sdpstat | awk 'NR == 2 { print $1, $2, $3, $4, $6, $7 }')" \
	"ESTAB 1000 0 10.0.0.2:7304 rdb transport"
sock_is "messages as large as those of a shared link are" a \
	"$E [.tx_size,.rx_size]" '[[1048592,1048592]]'
ktap_is "sdpstat -e shows the cookie" "$(in_a sdpstat -e | grep -c ' sk:[0-9a-f]')" 1
ktap_is "the initial namespace shows none of the sockets" "$(sdpstat -a --json)" '{"sockets":[]}'

# counters
ktap_is "active opens are counted" "$(counter a active_opens)" 2
ktap_is "one connection is left" "$(counter a curr_estab)" 1
ktap_is "a passive open is counted" "$(counter b accepts)" 1
ktap_is "bytes are counted" "$(counter a tx_bytes)" "$(counter b rx_bytes)"
ktap_is "the histograms have the send" \
	"$(counter a tx_sends_1k) $(in_a sdpstat -s | grep -c tx_sends_)" "1 1"
ktap_is "the histograms have the message" "$(counter b rx_msgs_1k) $(in_b sdpstat -s | grep -c rx_msgs_)" "1 1"
ktap_is "a pattern selects counters, as nstat has it" \
	"$(in_b sdpstat -s -z accepts 'RX_SRCAVAI?' | awk '{ print $1, $2 }' | tr '\n' ',')" \
	"accepts 1,rx_srcavail 0,"
ktap_is "a pattern selects counters in JSON and in OpenMetrics, too" \
	"$(in_b sdpstat -s -j accepts) $(in_b sdpstat -M accepts | grep -v '^#')" \
	'{"counters":{"accepts":1}} sdp_accepts_total 1'
ktap_is "another namespace has its own counters" \
	"$(sdpstat -s -z --json | jq .counters.active_opens)" 0
ktap_is "JSON has all counters" "$(in_a sdpstat -s --json | jq '.counters | length')" \
	"$(in_a sdpstat -s -z | wc -l)"
# CONFIG_SOCK_CGROUP_DATA
GROUPS_OF_SOCKETS=$(grep -w cgroup_sk_alloc /proc/kallsyms)
ktap_is "the keys of a socket are those of the manual" "$(sock a "$E keys" | jq -c '.[0]')" \
	"[${GROUPS_OF_SOCKETS:+\"cgroup\",}"'"cookie","device","device_port","family","fc_reason","flow_control","ifindex","inode","link","link_reason","local","mark","memory","peer","processes","recv_q","rx_credits","rx_mseq","rx_posted","rx_reserved","rx_size","send_q","shutdown","state","stats","tos","tx_credits","tx_mseq","tx_mseq_ack","tx_size","uid","zcopy_kept","zcopy_reason"]'

# below: in the words of ss, which sees the same connection
in_ss() { in_a ss -tin state established | grep -Eo "\\b$1:[^ ]*"; }
in_sdpstat() { in_a sdpstat -t | grep -Eo "\\b$1:[^ ]*"; }
for word in rtt mss cwnd; do
	ktap_is "sdpstat -t shows the $word of the TCP connection below" "$(in_sdpstat $word)" \
		"$(in_ss $word)"
done
ktap_is "sdpstat -t shows the TCP connection at the other end" "$(in_b sdpstat -t | grep -c ' cwnd:')" 1
ktap_is "JSON has the TCP connection below" "cwnd:$(in_a sdpstat -t -j | jq '.sockets[0].tcp.cwnd')" \
	"$(in_ss cwnd)"

# filters, as ss has them; the unit tests have their meaning
fits() { in_b sdpstat -H "$@" | wc -l; }
ktap_is "a filter selects by state" "$(fits state listening) $(fits state established)" "1 1"
ktap_is "a filter selects by port" "$(fits sport = :7304) $(fits sport = :7305)" "1 0"
ktap_is "a filter selects by an expression" "$(fits state all '( sport = :7304 or dport = :1 )' and \
	not src 10.9.0.0/16)" 2
ktap_is "a filter selects by mark, and by a part of it" \
	"$(fits fwmark = 0) $(fits fwmark 0/0xff00) $(fits fwmark != 0) $(fits fwmark = 1/1)" "1 1 0 0"
ktap_is "a filter selects by device, in the word of ss" "$(fits dev rdb) $(fits dev != rdb)" "1 0"
ktap_is "-O shows a socket in one line" "$(in_b sdpstat -e -O -H state all | wc -l)" 2
ktap_is "-N shows another namespace" "$(sdpstat -H -N b sport = :7304 | wc -l)" 1
ktap_is "-N shows the namespace of a process" \
	"$(sdpstat -H -N "$(sock a "$E .processes[0].pid" | jq '.[0]')" | wc -l)" 1
# ip-netns(8) mounts another /sys, without cgroup2
by_group() {
	local group member

	group=$(mktemp -d /run/cgroup.XXXXXX)
	mount -t cgroup2 none "$group"
	defer rmdir "$group"
	defer umount "$group"
	mkdir "$group/sdp-diag"
	# shellcheck disable=SC2016 # expanded there
	start_bg b sh -c 'echo $$ >"$1/sdp-diag/cgroup.procs"
		exec sdp-actions listen 10.0.0.2 7308 5 pause' sh "$group"
	member=$BG_PID
	wait_for 10 listens 7308
	ktap_is "a filter selects by control group" "$(fits state all cgroup = /sdp-diag)" 1
	ktap_is "a filter selects by control group, given with its mount point" \
		"$(fits state all cgroup "$group/sdp-diag")" 1
	ktap_is "a filter selects all other control groups" \
		"$(fits state all cgroup != /sdp-diag)" 2
	ktap_is "JSON has the control group" \
		"$(sock b 'select(.local.port == 7308).cgroup')" '["/sdp-diag"]'
	ktap_is "-e shows the control group" \
		"$(in_b sdpstat -e -l sport = :7308 | grep -c ' cgroup:/sdp-diag$')" 1
	stop_bg "$member"
	mkdir "$group/sdp-diag/"$'\e[J'
	# shellcheck disable=SC2016 # expanded there
	start_bg b sh -c 'echo $$ >"$1/cgroup.procs"
		exec sdp-actions listen 10.0.0.2 7308 5 pause' sh "$group/sdp-diag/"$'\e[J'
	member=$BG_PID
	wait_for 10 listens 7308
	ktap_is "-e shows nothing of a control group that a terminal obeys" \
		"$(in_b sdpstat -e -l sport = :7308 | grep -c ' cgroup:/sdp-diag/?\[J$')" 1
	stop_bg "$member"
	rmdir "$group/sdp-diag/"$'\e[J' "$group/sdp-diag"
}
if [ -n "$GROUPS_OF_SOCKETS" ]; then
	by_group
else
	ktap_skip "filters by control group" "this kernel knows no control group of a socket"
fi
ktap_check_fails "a filter refuses a control group that is not there" \
	in_b sdpstat cgroup = /nosuch
ktap_check_fails "-N refuses an unknown namespace" sdpstat -N nosuch
ktap_is "-N with an unknown namespace: sdpstat prints a message" "${KTAP_OUT%%:*}" "sdpstat"
ktap_is "a wrong filter is refused" "$(in_b sdpstat state none 2>&1; echo $?)" \
	"sdpstat: 'none' is no state: established, listening, connected, all and those of ss are: see 'sdpstat --help'
2"
ktap_is "-w writes plain text to a pipe" "$(in_b sdpstat -w -i 0.1 -c 2 |
	grep -c $'\033')" 0
# terminal [NAME=VALUE]: what -w writes to a terminal
terminal() {
	in_b env TERM=xterm "$@" python3 -c 'import pty, sys
pty.spawn(sys.argv[1:])' sdpstat -w -i 0.1 -c 2 </dev/null
}
ktap_is "-w has a heading in bold on a terminal, once a listing" \
	"$(terminal | grep -c $'\033\\[1mState.*\033\\[0m')" 2
ktap_is "-w has no colours with NO_COLOR" "$(terminal NO_COLOR=1 | grep -c $'\033\\[1m')" 0
start_bg b sdp-run -o python3 -c 'import socket, time
all = [socket.create_server(("10.0.0.2", 7400 + i)) for i in range(20)]
time.sleep(1000)'
wait_for 20 listens 7419
# a terminal of 24 lines with 80 columns; rows are wider with -e
# shellcheck disable=SC2016 # expanded there
in_b env TERM=dumb python3 -c 'import pty, sys
pty.spawn(["sh", "-c", "stty rows 24 cols 80; exec sdpstat $*", "sh"] + sys.argv[1:])' \
	-w -a -e -c 1 </dev/null | tr -d '\r' |
	sed -E $'s/\033\\[[0-9;]*[A-Za-z]//g; s/\t/        /' >"$BG_LOG.screen"
ktap_is "-w shows as many sockets as a terminal has room for, longer rows being wrapped" \
	"$(awk '/^LISTEN/ { rows++ } { lines += int((length + 79) / 80) }
		END { print (rows < 5 ? "few" : "several"), (lines > 23 ? lines " lines" : "in room") }' \
		"$BG_LOG.screen")" "several in room"
rm "$BG_LOG.screen"
stop_bg "$BG_PID"
ktap_is "-w writes rates from the second listing on" \
	"$(in_b sdpstat -w -i 0.1 -c 2 | grep -c 'Send/s')" 1
ktap_is "OpenMetrics has each counter once" "$(in_a sdpstat -M | grep -vc '^#')" \
	"$(in_a sdpstat -s -z | wc -l)"
ktap_is "OpenMetrics has its end mark" "$(in_a sdpstat -M | sed -n '/^sdp_curr_estab /p; $p')" \
	"sdp_curr_estab 1
# EOF"
ktap_is "the table fits into 80 columns" "$(in_a sdpstat | awk 'length > 80' | wc -l)" 0
ktap_is "sdpstat advise: nothing calls for a change" "$(in_a sdpstat advise)" "no counter calls for a change"
ktap_is "sdpstat advise -j: nothing calls for a change" "$(in_a sdpstat advise -j)" '{"advice":[]}'
ktap_is "every counter has a name" \
	"$(in_a sdpstat -s -z --json | jq '[.counters | keys[] | select(startswith("counter_"))] | length')" 0

# a summary
ktap_is "-S sums up by state" "$(in_b sdpstat -S | sed -n 's/^States: //p')" "LISTEN 1, ESTAB 1"
ktap_is "-S -j has the same sums" "$(in_b sdpstat -S -j |
	jq -c '[.total, .no_file, .states.ESTAB, .protocols.SDP, .families.IPv4, .devices.rdb, .recv_q]')" \
	"[2,0,1,2,2,1,1000]"
ktap_is "-S takes a filter" "$(in_b sdpstat -S -j state listening | jq .total)" 1

ktap_is "-4 shows the family of IPv4, -6 that of IPv6" \
	"$(in_b sdpstat -4 -H | wc -l) $(in_b sdpstat -6 -a -H | wc -l)" "1 0"
echo "state listening" >"$BG_LOG.filter"
ktap_is "-F takes the filter from a file" "$(in_b sdpstat -H -F "$BG_LOG.filter" | wc -l)" 1
ktap_is "-F has the same states before -a and after it" \
	"$(in_b sdpstat -H -F "$BG_LOG.filter" -a | wc -l) $(in_b sdpstat -H -a -F "$BG_LOG.filter" |
		wc -l)" "1 1"
ktap_is "-F takes the filter from standard input" "$(echo 'sport = :1' | in_b sdpstat -H -F - | wc -l)" 0
rm "$BG_LOG.filter"
ktap_is "-T shows the thread, of a process with one" \
	"$(in_b sdpstat -T -j | jq '.sockets[0].processes[0] | .pid == .tid')" true
ktap_is "-e shows the type of service" "$(in_b sdpstat -e | grep -c ' tos:0')" 1

# counters since the last look
last=$(mktemp -d /run/diag.XXXXXX)
defer rm -rf "$last"
since() { in_a env XDG_RUNTIME_DIR="$last" sdpstat -C -j; }
ktap_is "-C has all counters at first" "$(since | jq -c '[.counters.active_opens, has("change")]')" \
	"[$(counter a active_opens),false]"
ktap_is "-C shows that nothing has changed" "$(since | jq '[.change[]] | add')" 0
in_a sdp-run -o socat -u /dev/null TCP4:10.0.0.2:1 2>/dev/null
ktap_is "-C shows an attempt to connect" "$(since | jq .change.active_opens)" 1
ln -sf /etc/hosts "$last/$(ls "$last")"
ktap_check_fails "-C follows no link" since

# labels
pid=$(sock b "$E .processes[0].pid" | jq '.[0]')
if label=$(tr -d "\0" 2>/dev/null <"/proc/$pid/attr/current") && [ -n "$label" ]; then
	ktap_is "-Z shows the label of the process" \
		"$(in_b sdpstat -Z | grep -o 'proc_ctx=[^,)]*')" "proc_ctx=$label"
	ktap_is "-Z -j has the label of the process" \
		"$(in_b sdpstat -Z -j | jq -r '.sockets[0].processes[0].proc_ctx')" "$label"
else
	ktap_skip "-Z shows the label of the process" "this kernel gives processes no labels"
	ktap_skip "-Z -j has the label of the process" "this kernel gives processes no labels"
fi

# states as they change
# shellcheck disable=SC2317 # called by wait_for
# shellcheck disable=SC2016 # awk's
listens_to_states() {
	in_b awk -v n="$1" '$2 == 16 && $4 != "00000000" { n-- } END { exit n > 0 }' \
		/proc/net/netlink
}
start_bg b sdpstat -E sport = :7309
events=$BG_LOG
start_bg b sdpstat -E -j -c 1 state close-wait
event=$BG_LOG
start_bg b sdpstat -E -4 -l sport = :7309
events4=$BG_LOG
start_bg b sdpstat -l -E -6
events6=$BG_LOG
wait_for 20 listens_to_states 4
start_bg b sdp-run -o socat -u TCP4-LISTEN:7309,bind=10.0.0.2 /dev/null
wait_for 10 listens 7309
in_a sdp-run -o socat -u /dev/null TCP4:10.0.0.2:7309
wait_for 20 grep -q '^LAST-ACK .*UNCONN' "$events"
ktap_is "-E shows that a socket listens" \
	"$(awk '$3 == "LISTEN" { print $1, $4, $5 }' "$events")" "UNCONN 10.0.0.2:7309 0.0.0.0:*"
ktap_is "-E shows the life of a connection" \
	"$(awk '$5 ~ /^10.0.0.1:/ { printf "%s %s, ", $3, $6 }' "$events")" \
	"SYN-RECV -, ESTAB rdb, CLOSE-WAIT rdb, LAST-ACK rdb, UNCONN rdb, "
ktap_is "-E -4 -l shows a listener of IPv4, -l -E -6 does not" \
	"$(wc -l <"$events4") $(wc -l <"$events6")" "1 0"
ktap_is "-E -j -c 1 shows one event, and ends" \
	"$(jq -c '[.old_state, .state, .local.port, .peer.address, .device]' "$event")" \
	'["ESTAB","CLOSE-WAIT",7309,"10.0.0.1","rdb"]'

# live view
ktap_is "an interval prints one object per line" \
	"$(in_a sdpstat -i 0.1 -c 3 --json | jq -c 'has("sockets")' | sort | uniq -c | tr -s ' ')" \
	" 3 true"
ktap_is "counters are printed periodically" \
	"$(in_a sdpstat -s -i 0.1 -c 2 --json | jq -c 'has("change")' | tr '\n' ' ')" \
	"false true "
ktap_check "tables are printed periodically" in_a sdpstat -i 0.1 -c 2
ktap_check "the counter table is printed periodically" in_a sdpstat -s -i 0.1 -c 2

# where nothing can be written they would go on for ever
for command in "-i 0.1" "-s -i 0.1" "-j -i 0.1" "-S -i 0.1" "stack -m" "stack -jm"; do
	ktap_is "sdpstat $command fails when its output is full" \
		"$(in_a timeout 60 sh -c "sdpstat $command >/dev/full" 2>&1; echo $?)" \
		"sdpstat: cannot write: No space left on device
1"
done

# ending a socket from outside
cookie=$(sock a "$E .cookie" | jq -r '.[0]')
nobody=(setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
if in_a "${nobody[@]}" sdpstat -V >/dev/null 2>&1; then
	ktap_check_fails "ending a socket needs a privilege" \
		in_a "${nobody[@]}" sdpstat -K "$cookie"
	ktap_is "the message says that ending a socket needs a privilege" \
	"$(grep -c 'no permission' <<<"$KTAP_OUT")" 1
	ktap_check "listing needs no privilege" in_a "${nobody[@]}" sdpstat -a
else
	ktap_skip "ending a socket needs a privilege" "no setpriv here"
	ktap_skip "the message says that ending a socket needs a privilege" "no setpriv here"
	ktap_skip "listing needs no privilege" "no setpriv here"
fi
ktap_check "a socket is ended by its cookie" in_a sdpstat -K "$cookie"
sock_is "a socket ended by its cookie is gone" a "$E .cookie" '[]'
ktap_check_fails "an unknown cookie is refused" in_a sdpstat -K ffffffff1
stop_bg "$client"
stop_bg "$server"

# a connection with credits
start_bg b sdp-actions opt 1027 4 0 listen 10.0.0.2 7307 5 accept pause
server=$BG_PID
wait_for 10 listens 7307
act a connect 10.0.0.2 7307
client=$BG_PID
sock_is "a verbs link: the side that wanted it shows why" b \
	"$E [.flow_control,.link,.link_reason]" '[["credit","verbs","option"]]'
sock_is "a verbs link: the other side shows why" a \
	"$E [.flow_control,.link,.link_reason]" '[["credit","verbs","peer"]]'
sock_is "a verbs link: both ends hold credits" a \
	"$E [.tx_credits > 2, .rx_credits > 2, .rx_posted > 2, .tx_size > 1016]" \
	'[[true,true,true,true]]'
sock_is "a verbs link: messages are as large as a buffer" a \
	"$E [.tx_size,.rx_size]" '[[32784,32784]]'
stop_bg "$client"
stop_bg "$server"

# half closed
start_bg b sdp-actions listen 10.0.0.2 7305 5 accept pause
server=$BG_PID
wait_for 10 listens 7305
act a connect 10.0.0.2 7305 shut
C='select(.local.port == 7305 or .peer.port == 7305) | select(.state != "LISTEN") |'
sock_is "half closed: the end that has closed is in FIN-WAIT" a "$C [.state[0:8],.shutdown]" '[["FIN-WAIT",2]]'
sock_is "half closed: the other end is in CLOSE-WAIT" b "$C [.state,.shutdown]" '[["CLOSE-WAIT",1]]'
stop_bg "$BG_PID"
stop_bg "$server"

# IPv6
start_bg b sdp-actions -6 listen fd00::2 7306 5 accept pause
wait_for 10 listens 7306
act a -6 connect fd00::2 7306
sock_is "a connection over IPv6 is listed with its address" a 'select(.peer.port == 7306) | [.state,.family,.peer.address]' \
	'[["ESTAB",6,"fd00::2"]]'
ktap_is "the table shows IPv6 addresses" "$(in_a sdpstat | grep -c '\[fd00::2\]:7306')" 1

# more than one message holds
act a many 300
ktap_is "300 sockets are listed once each" \
	"$(sock a 'select(.state == "UNCONN" and .local.port != 0) | .cookie' |
		jq 'unique | length')" 300
ktap_is "all sockets are listed while others come and go" \
	"$(in_a "$(dirname "$0")/dump.py")" "1: 250"
ktap_check "a program ends in the middle of a dump" in_a "$(dirname "$0")/dump.py" quit
sock_is "no socket without an inode is left" a 'select(.inode == 0)' '[]'

ktap_done
