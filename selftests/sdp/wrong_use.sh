#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The mistakes of a new user, with each tool: one sentence that says what to do, and the
# exit status of wrong use or of failure.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdp-run sdpstat sdpctl sdpbench setpriv
unset LIBSDP_ONLY

# Exit status, the command, and a part of the sentence
mistakes() {
	cat <<'END'
125	sdp-run	no program given: see 'sdp-run --help'
125	sdp-run --onyl true	See 'sdp-run --help'
125	sdp-run -c	See 'sdp-run --help'
125	sdp-run -c /nosuch true	/nosuch: No such file
125	sdp-run -o -c /etc/hosts true	-o uses no rules: leave out -c
127	sdp-run nosuch	nosuch: No such file
126	sdp-run /etc	/etc: Permission denied: it is a directory
127	sdp-run /run/wrong_use	the interpreter that it names is not there
127	sdp-run redis-server.service	services are for sdp-run enable
127	sdp-run DEBUG=1 true	variables stand before sdp-run
125	sdp-run -c /run/wrong_rules true	/run/wrong_rules:2: a rule has five words
125	sdp-run -p 80 true	See 'sdp-run --help'
125	sdp-run -c /tmp true	/tmp: Is a directory
125	sdp-run enable redis nginx	enable takes one unit: call it for each
125	sdp-run enable -v redis	options stand before enable
125	sdp-run enable ../redis	lists the names
125	sdp-run enable redis.socket	sockets that systemd opens stay TCP
125	sdp-run -c /run/wrong%rules enable redis	/run/wrong%rules: systemd accepts no path
125	/run/wrong%bin/sdp-run -c /run/rules enable redis	/run/wrong%bin/libsdp.so: systemd accepts no path
125	sdp-run disable nosuch	nosuch.service is not enabled
125	sdp-run -w both redis 10.0.0.2:1	use server or client
125	sdp-run enable	needs the name of a unit
125	sdp-run -s enable redis	put sdp-run -s into ExecStart=
125	sdp-run -w server redis	-w takes a role, a program and ADDRESS:PORT
125	sdp-run -w client redis server:1	not ADDRESS:PORT, in numbers
2	sdpstat --foo	See 'sdpstat --help'
2	sdpstat chek 1.2.3.4:5	no command (advise, check, stack)
2	sdpstat -j stack	'stack' stands before its options: sdpstat stack [OPTION]... [DEV [QPN]]
2	sdpstat -j check	'check' stands before its options: sdpstat check [OPTION]... HOST:PORT
2	sdpstat -t check 10.0.0.2:1	'check' stands before its options
2	sdpstat -j advise	'advise' stands before its options: sdpstat advise [-j]
2	sdpstat state open	established, listening, connected
2	sdpstat -i never	number of seconds (0.01 to 86400)
2	sdpstat -s dport = :1	counters are not of one socket
2	sdpstat -s nosuch	no name of counters, as -s -z lists them
2	sdpstat established	put 'state' before it
2	sdpstat 10.0.0.2:6379	put 'src' or 'dst' before it
2	sdpstat :6379	put 'sport =' or 'dport =' before a port
2	sdpstat dport	the filter is incomplete
2	sdpstat dst [::1]80	more than /PREFIX and :PORT after its bracket
2	sdpstat dst [::1]junk	more than /PREFIX and :PORT after its bracket
2	sdpstat dst [::1:80	an address without its bracket
2	sdpstat dst [::1]/129:80	no length of a prefix
2	sdpstat dst 10.0.0.0/4294967296	no length of a prefix
2	sdpstat -K dst [::]/4294967296	no length of a prefix
2	sdpstat -K dst [::1]80	more than /PREFIX and :PORT after its bracket
2	sdpstat fwmark = red	0x1 or 0x1/0xff are
2	sdpstat -s -t	leave it out with -s, -C and -M
2	sdpstat -s -F /run/wrong_filter	leave it out with -s, -C and -M
2	sdpstat -F /run/wrong_filter -F /run/wrong_filter	join the filters by 'and'
2	sdpstat -F /run/wrong_filter dport = :1	a second filter, beside that of -F
2	sdpstat -K5 -F /run/wrong_filter	for one socket: leave out the filter
2	sdpstat -M -j	leave out -j
2	sdpstat -E -i 1	leave out -S, -i and -w
2	sdpstat -E -p	leave out -B, -e, -p, -T, -t and -Z
2	sdpstat -E -B	leave out -B, -e, -p, -T, -t and -Z
2	sdpstat -E dport = :1 or fwmark = 1	leave out fwmark and cgroup
2	sdpstat -E not fwmark = 1	leave out fwmark and cgroup
2	sdpstat check	takes one HOST:PORT
2	sdpstat check ::1:80	an IPv6 address stands in brackets
2	sdpstat check 10.0.0.2:0	not HOST:PORT, as in
2	sdpstat stack hyb0 1 2	DEV and QPN are all
1	sdpstat -N nosuch	'ip netns' lists those that have names
1	sdpstat -K 123456789	see 'sdpstat -ae'
1	sdpstat --kill=123456789	see 'sdpstat -ae'
2	sdpstat -K	for a cookie, which -e shows, or a filter
2	sdpstat -K -4	for a cookie, which -e shows, or a filter
2	sdpstat -K -F /dev/null	for a cookie, which -e shows, or a filter
2	sdpstat -K -F -	for a cookie, which -e shows, or a filter
2	sdpstat -K -F /run/wrong_blank	for a cookie, which -e shows, or a filter
2	/run/wrong_words sdpstat -K	for a cookie, which -e shows, or a filter
2	sdpstat -K -w dport = :1	once: leave out -B, -c, -E, -i, -S and -w
2	sdpstat -K5 dport = :1	for one socket: leave out the filter
2	sdpstat check server	not HOST:PORT
2	sdpstat check -x	See 'sdpstat check --help'
1	sdpstat stack nosuch	nosuch:
2	sdpctl setup	takes the name of one network device
1	sdpctl setup nosuch	there is no network device nosuch
2	sdpctl status all	takes no argument
2	sdpctl trust	takes on or off
2	sdpctl show	none of setup, undo, trust
2	sdpctl enable lo	systemctl enable sdp@lo
2	sdpctl setup rda	give its network device
2	sdpctl undo rda	give its network device
2	sdpctl undo	takes the name of one network device
2	sdpctl setup va vb	takes the name of one network device
1	sdpctl setup 10.0.0.1	there is no network device 10.0.0.1
1	sdpctl setup /dev/va	is not the name of a network device
1	sdpctl setup ..	is not the name of a network device
1	sdpctl undo .	is not the name of a network device
2	sdpctl trust maybe	neither on nor off
2	sdpctl report all	takes no argument
2	sdpctl --foo	none of setup, undo, trust
2	sdpbench	give the host of a server, or -s to be one
2	sdpbench --foo	See 'sdpbench --help'
2	sdpbench -s server	-b has its address
2	sdpbench -p 99999 10.0.0.2	not a number from 1 to 65535
2	sdpbench -t smc --send zerocopy 10.0.0.2	smc has no MSG_ZEROCOPY
2	sdpbench -t udp 10.0.0.2	unknown transport, sdp, tcp, rsocket and smc are known: udp
1	sdpbench 10.0.0.2	connect to 10.0.0.2 port 7471: Connection refused (does sdpbench -s -t sdp run there?)
1	sdpbench 10.0.0.2:7471	the port is given with -p
1	sdpbench -6 10.0.0.2	is -4 or -6 for the other kind of address?
1	sdpbench -s -b 10.9.9.9	-b takes an address of this host
2	sdpbench -s -T bw	a server takes -t, -p, -b, -1, -4 and -6 alone
2	sdpbench -1 10.0.0.2	only a server, which has -s, ends after a client
2	sdpbench -b 10.0.0.1 10.0.0.2	only a server, which has -s, listens
2	sdpbench -S 64X 10.0.0.2	no size, 64 and 64K and 1M are
2	sdpbench -S 65M 10.0.0.2	sizes are from 1 to 64M
2	sdpbench -T nosuch 10.0.0.2	no such test, bw and lat are some
2	sdpbench -t tcp,sdp 10.0.0.2	a list of transports is for -s and --compare
2	sdpbench --wait 5 10.0.0.2	seconds to connect are -w
2	sdpbench --compare sdp 10.0.0.2	two transports are compared
1	sdpbench nosuch.host	nosuch.host: Name or service not known
2	sdpbench --recv map -t tcp 10.0.0.2	only sdp maps
1	sdpbench -t tcp 10.0.0.2	does sdpbench -s -t tcp run there? A server of several transports has it at its port + 1
1	sdpbench 10.9.9.9	`sdpstat check HOST:7471` finds what is missing
END
}

# Without an RDMA device
without_device() {
	cat <<'END'
1	sdpbench 10.0.0.2	`sdpstat check HOST:7471` finds what is missing
1	sdpbench -t rsocket 10.0.0.2	there is no RDMA device, see sdpctl(8)
1	sdpbench -t rsocket -s	there is no RDMA device, see sdpctl(8)
END
}

# Commands that print something
printing() {
	cat <<'END'
sdp-run --help
sdp-run -w client x 10.0.0.1:1
sdpstat --help
sdpstat -a
sdpstat -s
sdpstat -M
sdpstat stack
sdpstat advise
sdpstat check 10.0.0.2:1
sdpctl status
sdpctl report
sdpctl --help
sdpctl --version
sdpbench --help
END
}

# result TITLE RC STATUS SENTENCE SAID: is it that status, and that sentence alone?
result() {
	if [ "$2" -eq "$3" ] && [[ $5 = *"$4"* ]] && [ "$(wc -l <<<"$5")" -le 2 ]; then
		ktap_ok "$1: $4"
	else
		ktap_fail "$1: $4" "exit status $2: $5"
	fi
}

# each: lines of a status, a command and a sentence
each() {
	local status command sentence said

	while IFS=$'\t' read -r status command sentence; do
		# shellcheck disable=SC2086 # several words
		said=$(in_a timeout 60 $command 2>&1 </dev/null)
		result "$command" $? "$status" "$sentence" "$said"
	done
}

# full_device: each of them fails, as what it printed is nowhere
full_device() {
	local command said rc

	while read -r command; do
		# shellcheck disable=SC2086 # several words
		said=$(in_a timeout 60 $command 2>&1 >/dev/full </dev/null)
		rc=$?
		result "$command, to a full device" $((rc > 0)) 1 "cannot write" "$said"
	done
}

# as_user COMMAND...: without rights
as_user() {
	in_a setpriv --reuid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@" 2>&1
}

net_up || ktap_skip_all "no network"
modprobe -q -a sdp sdp_diag
each < <(without_device)
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
printf '#!/nosuch\n' >/run/wrong_use
chmod 755 /run/wrong_use
echo 'dport = :1' >/run/wrong_filter
printf ' \n\n' >/run/wrong_blank
# two words, of variables that are empty
printf '#!/bin/sh\nexec "$@" "" " "\n' >/run/wrong_words
chmod 755 /run/wrong_words
printf '# of nothing\nuse sdp client\n' >/run/wrong_rules
echo 'use sdp client * *:*' | tee /run/rules >'/run/wrong%rules'
mkdir '/run/wrong%bin'
cp "$(command -v sdp-run)" '/run/wrong%bin'
# sdp-run takes the library beside it
touch '/run/wrong%bin/libsdp.so'
defer rm -r /run/wrong_use /run/wrong_filter /run/wrong_blank /run/wrong_words \
	/run/wrong_rules /run/rules '/run/wrong%rules' '/run/wrong%bin'
each < <(mistakes)
full_device < <(printing)
for command in "setup va" "undo va" "trust on"; do
	# shellcheck disable=SC2086 # several words
	ktap_is "sdpctl $command, as a user" "$(as_user sdpctl $command)" \
		"sdpctl: ${command% *} needs root"
done
ktap_is "sdpstat -N, as a user, of a process of root" "$(as_user sdpstat -N $$)" \
	"sdpstat: cannot open the network namespace of $$: Permission denied"
start_bg b sdpbench -s -t tcp -p 7470
wait_for 20 said "tcp server on port" || ktap_fail "sdpbench -s starts" "$(cat "$BG_LOG")"
ktap_is "sdpbench --first, as a user" "$(as_user sdpbench -t tcp --first -p 7470 10.0.0.2)" \
	"sdpbench: --first needs CAP_SYS_NICE, run as root: Operation not permitted"
ktap_done
