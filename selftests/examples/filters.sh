#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=500
#
# Filter streams over SDP: the same image over each transport, flow control, profile,
# number of copies, policy and block size (some of each here, all in filters-all); shares
# of a slow node; a node that is killed; the microscope.

# shellcheck source=selftests/examples/filters.bash
. "$(dirname "$0")/filters.bash"
need_research

# shares: buffers that the copies of the stage got
shares() {
	jq -r 'select(.type == "copy" and .filter == "source") | .out[0].buffers | @tsv' $LINES
}

scheduling() {
	local a b c some=(-d SOURCES=n1 -d "ON=n1 n2 n3" -d SLOW=4 -d BLOCK=4K)

	fs sdp "${some[@]}" || cat $SAID
	read -r a b c <<<"$(shares)"
	ktap_check "round robin: a third each ($a, $b, $c)" \
		test "$a" -ge 16 -a $((a - b)) -le 1 -a $((b - c)) -le 1 -a $((c - a)) -le 1
	# steps of 160 ms, so that the emulator does not decide
	fs sdp "${some[@]}" -d POLICY=dd -d WINDOW=1 -d NS=40000 || cat $SAID
	read -r a b c <<<"$(shares)"
	ktap_check "demand driven: the slow node gets at most 0.35 of the others ($a, $b, $c)" \
		test "$c" -gt 0 -a $((c * 200)) -le $((35 * (a + b)))
}

no_sdp_left() {
	local i

	for ((i = 1; i <= N; i++)); do
		[ "$(in_n "$i" sdpstat -a | grep -cv '^State')" -eq 0 ] || return
	done
}

# killed NODE: while it works
killed() {
	rm -f /tmp/pids $LINES
	fs sdp -d REPEAT=1000 -d NS=100 --pids /tmp/pids &
	local run=$! rc

	wait_for 60 test -s $LINES
	kill -9 "$(awk -v n="$1" '$1 == n { print $2 }' /tmp/pids)"
	wait $run
	rc=$?
	ktap_is "node $1 is killed: the others end with status 3 and its name" \
		"$rc $(grep -c "^fs-run: node $1 is gone$" $SAID) $(grep -c 'is gone' $SAID)" "3 1 1"
	ktap_check "node $1 is killed: no socket is left" wait_for 10 no_sdp_left
}

# scope: a picture of the microscope, over TCP and SDP
scope() {
	cat >$PLAN <<-'END'
	node n1 10.0.0.1
	node n2 10.0.0.2
	node n3 10.0.0.3
	node n4 10.0.0.4
	filter read read_tiles on n1 n2 slide=/tmp/slide
	filter decompress decompress on n1 n2
	filter clip clip on n2 n3
	filter zoom zoom on n2 n3
	filter view view on n4
	stream read -> decompress block=1K policy=dd
	stream decompress -> clip block=1K
	stream clip -> zoom block=2K policy=dd
	stream zoom -> view block=8K
	transport ${TRANSPORT}
	set start=60
	uow complete x=90 y=30 w=100 h=40 zoom=1
	uow move dx=7 dy=-3
	uow zoom zoom=2
	END
	mkdata.py slide /tmp/slide --size 256 --height 100 --tile 16 --source pattern >/tmp/made ||
		ktap_fail "a slide" "$(cat /tmp/made)"
	fs tcp || cat $SAID
	WANTED=$(hash_of)
	fs sdp || cat $SAID
	ktap_is "the microscope shows the same over TCP and SDP" \
		"$(hash_of | wc -l) $(hash_of)" "3 $WANTED"
}

filters_up
while read -r transport fc link profile copies policy block; do
	set_all "$fc" "$link" "$profile"
	same "$transport" "$copies" "$policy" "$block" "$fc $link $profile"
done <<-END
	tcp auto enhanced hybrid 3 dd 1K
	sdp-run auto enhanced hybrid 2 rr 8K
	sdp auto enhanced hybrid 3 dd 64K
	sdp transport enhanced host 2 dd 1K
	sdp credit basic assisted 3 rr 1K
	sdp rdma basic offload-sg 2 dd 8K
	sdp vwin basic offload-contig 1 rr 64K
	sdp rdma basic hybrid 3 rr 64K
	sdp credit basic host 1 dd 8K
END
set_all auto enhanced hybrid
scheduling
for node in n2 n4; do
	killed $node
done
scope
ktap_done
