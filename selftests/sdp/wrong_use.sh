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
126	sdp-run /etc	/etc: Permission denied
125	sdp-run enable	needs the name of a unit
125	sdp-run -s enable redis	put sdp-run -s into ExecStart=
125	sdp-run -w server redis	-w takes a role, a program and ADDRESS:PORT
125	sdp-run -w client redis server:1	not ADDRESS:PORT, in numbers
2	sdpstat --foo	See 'sdpstat --help'
2	sdpstat chek 1.2.3.4:5	no command (advise, check, stack)
2	sdpstat state open	established, listening, connected
2	sdpstat -i never	number of seconds (0.01 to 86400)
2	sdpstat -s dport = :1	counters are not of one socket
1	sdpstat -N nosuch	'ip netns' lists those that have names
1	sdpstat -K 123456789	see 'sdpstat -ae'
2	sdpstat check server	not HOST:PORT
2	sdpstat check -x	See 'sdpstat check --help'
1	sdpstat stack nosuch	nosuch:
2	sdpctl setup	takes the name of one network device
1	sdpctl setup nosuch	there is no network device nosuch
2	sdpctl status all	takes no argument
2	sdpctl trust	takes on or off
2	sdpctl start	none of setup, undo, trust
2	sdpbench	give the host of a server, or -s to be one
2	sdpbench --foo	See 'sdpbench --help'
2	sdpbench -s server	-b has its address
2	sdpbench -p 99999 10.0.0.2	not a number from 1 to 65535
2	sdpbench -t udp 10.0.0.2	unknown transport: udp
1	sdpbench 10.0.0.2	connect to 10.0.0.2 port 7471: Connection refused (does sdpbench -s -t sdp run there?)
1	sdpbench -t tcp 10.0.0.2	does sdpbench -s -t tcp run there?
1	sdpbench 10.9.9.9	`sdpstat check HOST:7471` finds what is missing
END
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q -a sdp sdp_diag
while IFS=$'\t' read -r status command sentence; do
	# shellcheck disable=SC2086 # several words
	said=$(in_a timeout 60 $command 2>&1 </dev/null)
	rc=$?
	if [ $rc -eq "$status" ] && [[ $said = *"$sentence"* ]] && [ "$(wc -l <<<"$said")" -le 2 ]; then
		ktap_ok "$command: $sentence"
	else
		ktap_fail "$command: $sentence" "exit status $rc: $said"
	fi
done < <(mistakes)
for command in "sdpctl setup va" "sdpctl trust on"; do
	# shellcheck disable=SC2086 # several words
	said=$(in_a setpriv --reuid=65534 --clear-groups $command 2>&1)
	ktap_is "$command, as a user" "$said" "sdpctl: $(cut -d' ' -f2 <<<"$command") needs root"
done
ktap_done
