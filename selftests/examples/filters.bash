# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Filter streams between four hosts at a bridge (sourced): the synthetic server, the
# microscope and the iso-surface of examples/filters.

# shellcheck disable=SC2034 # the library reads it
NET_LINK=hnic
# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need fs-run fs-node sdp-run sdpstat rdma python3

N=4
IMAGE=200000
PLAN=/run/filters.plan
LINES=/tmp/filters.lines
SAID=/tmp/filters.said

cat >$PLAN <<'END'
node n1 10.0.0.1
node n2 10.0.0.2
node n3 10.0.0.3 slow=${SLOW:-1}
node n4 10.0.0.4
filter source source on ${SOURCES:-n1 n2}
filter stage stage on ${ON:-n1 n2}
filter sink sink on n4 nocompute=1
stream source -> stage block=${BLOCK:-8K} policy=${POLICY:-rr} window=${WINDOW:-4}
stream stage -> sink block=${BLOCK:-8K} policy=${POLICY:-rr}
transport ${TRANSPORT}
compute ${NS:-0} sleep
param image=${IMAGE}
set start=60
uow complete repeat=${REPEAT:-1}
END

# all_n COMMAND...: on each host
all_n() {
	local i

	for ((i = 1; i <= N; i++)); do
		in_n "$i" "$@" || return
	done
}

# set_all FLOW-CONTROL LINK PROFILE: of connections that are made from now on
set_all() {
	local shared=0 i

	[ "$2" = basic ] || shared=1
	all_n sysctl -q -w "net.sdp.flow_control=$1" "net.sdp.shared_link=$shared" || return
	for ((i = 1; i <= N; i++)); do
		echo "$3" >"/sys/class/infiniband/rd$i/hybrid/profile" || return
	done
}

# fs TRANSPORT [OPTION...]: run the plan; TRANSPORT sdp-run is "plain" under sdp-run
fs() {
	local transport=$1 options=()

	shift
	if [ "$transport" = sdp-run ]; then
		transport=plain
		options=(--sdp-run)
	fi
	timeout 200 fs-run --netns -o $LINES -t 150 "${options[@]}" -d "TRANSPORT=$transport" \
		-d IMAGE=$IMAGE "$@" $PLAN 2>$SAID
}

hash_of() { sed -n 's/.*"hash":"\([0-9a-f]*\)".*/\1/p' $LINES; }

# sdp_sent: bytes that left all hosts over SDP
sdp_sent() {
	local i

	for ((i = 1; i <= N; i++)); do
		in_n "$i" sdpstat -s -z
	done | awk '$1 == "tx_bytes" { n += $2 } END { printf "%.0f\n", n }'
}

# nodes_of COPIES: the nodes that have so many copies of a filter
nodes_of() {
	case $1 in
	1) echo n2 ;;
	2) echo n2 n3 ;;
	3) echo n1 n2 n3 ;;
	esac
}

# same TRANSPORT COPIES POLICY BLOCK TEXT: the hash of the image is $WANTED, and the bytes
# went over SDP if the transport is sdp or sdp-run, else not
same() {
	local what="$1, $5, $2 copies, $3, blocks of $4" before after got

	before=$(sdp_sent)
	if ! fs "$1" -d "ON=$(nodes_of "$2")" -d "SOURCES=$(nodes_of "$2")" -d "POLICY=$3" -d "BLOCK=$4"; then
		ktap_fail "$what" "$(cat $SAID)"
		return
	fi
	got=$(hash_of)
	after=$(sdp_sent)
	if [ "$got" != "$WANTED" ]; then
		ktap_fail "$what: another image" "$got, not $WANTED"
	elif [[ $1 = sdp* ]] && [ $((after - before)) -lt $IMAGE ]; then
		ktap_fail "$what: bytes are not on SDP" "$((after - before))"
	elif [[ $1 != sdp* ]] && [ $((after - before)) -ne 0 ]; then
		ktap_fail "$what: bytes are on SDP" "$((after - before))"
	else
		ktap_ok "$what: the same image, over the right transport"
	fi
}

no_sdp_left() {
	local i

	for ((i = 1; i <= N; i++)); do
		[ "$(in_n "$i" sdpstat -a | grep -cv '^State')" -eq 0 ] || return
	done
}

no_qp_left() {
	local all

	all=$(rdma res show qp) && ! grep -q 'type RC' <<<"$all"
}

# killed TRANSPORT NODE: the node is killed while it works
killed() {
	local left=no_sdp_left

	[ "$1" != verbs ] || left=no_qp_left
	rm -f /tmp/pids $LINES
	fs "$1" -d REPEAT=1000 -d NS=100 --pids /tmp/pids &
	local run=$! rc

	wait_for 60 test -s $LINES
	kill -9 "$(awk -v n="$2" '$1 == n { print $2 }' /tmp/pids)"
	wait $run
	rc=$?
	ktap_is "$1, node $2 is killed: fs-run ends with status 3 and names that node alone" \
		"$rc $(grep -c "^fs-run: node $2 is gone$" $SAID) $(grep -c 'is gone' $SAID)" "3 1 1"
	ktap_check "$1, node $2 is killed: no connection is left" wait_for 10 $left
}

# scope_plan: the microscope, three pictures
scope_plan() {
	mkdata.py slide /tmp/slide --size 256 --height 100 --tile 16 --source pattern >/tmp/made ||
		ktap_fail "a slide" "$(cat /tmp/made)"
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
}

# iso_plan: an iso-surface, two levels
iso_plan() {
	mkdata.py volume /tmp/volume --size 22 --brick 11 --source sphere >/tmp/made ||
		ktap_fail "a volume" "$(cat /tmp/made)"
	cat >$PLAN <<-'END'
		node n1 10.0.0.1
		node n2 10.0.0.2
		node n3 10.0.0.3
		node n4 10.0.0.4
		filter read read_bricks on n1 n2 volume=/tmp/volume
		filter extract extract on n2 n3
		filter raster raster on n2 n3
		filter merge merge on n4
		stream read -> extract block=8K policy=dd
		stream extract -> raster block=8K
		stream raster -> merge block=8K
		transport ${TRANSPORT}
		set start=60
		uow iso level=300
		uow iso level=500
	END
}

# same_pictures N TRANSPORT...: the N pictures of the plan are those that TCP gives
same_pictures() {
	local wanted transport

	fs tcp || cat $SAID
	wanted=$(hash_of)
	ktap_is "over TCP: $1 pictures" "$(wc -l <<<"$wanted")" "$1"
	for transport in "${@:2}"; do
		fs "$transport" || cat $SAID
		ktap_is "over $transport: the same pictures" "$(hash_of)" "$wanted"
	done
}

filters_up() {
	if ! star_up $N || ! dev_up_all hybrid; then
		ktap_skip_all "no simulated NICs at a bridge"
	fi
	modprobe -q sdp
	fs tcp || ktap_fail "over TCP" "$(cat $SAID)"
	WANTED=$(hash_of)
	ktap_diag "the image is $WANTED"
}
