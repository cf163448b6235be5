#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=300
#
# The attributes of a device and of its queue pairs: which values they take, what they
# refuse, who may write them, what two ends agree to, that a connection whose
# placement is changed all the time goes on, and that connections are made while
# attributes are written.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need hyb-target sdp-run xfer rdma rping setpriv unshare nsenter
need_research

ATTR=/sys/class/infiniband/rda/hybrid
PROFILES="host assisted offload-contig offload-sg hybrid"
# bytes of a ping: the server reads them, into memory that has to be as large
PING=100

# put FILE VALUE: fails with the error of the system in KTAP_OUT
put() { echo "$2" > "$1"; }

# takes FILE VALUE [SHOWN]
takes() {
	if ! ktap_check "$1 takes $2" put "$ATTR/$1" "$2"; then
		return
	fi
	ktap_is "$1 is ${3:-$2}" "$(cat "$ATTR/$1")" "${3:-$2}"
}

# refuses FILE VALUE [DIRECTORY]: with EINVAL, and nothing has changed
refuses() {
	local before after dir=${3:-$ATTR}

	before=$(cat "$dir/$1")
	KTAP_OUT=$(put "$dir/$1" "$2" 2>&1)
	after=$(cat "$dir/$1")
	if grep -q "Invalid argument" <<<"$KTAP_OUT" &&
	   [ "$before" = "$after" ]; then
		ktap_ok "$1 refuses '$2'"
	else
		ktap_fail "$1 refuses '$2'" "$KTAP_OUT" "$before -> $after"
	fi
}

# tells FILE VALUES: the kernel's log has them when a value is refused; not each time
tells() {
	local before

	before=$(dmesg | grep -c "rda: $1 takes: $2\$")
	refused_and_logged() {
		put "$ATTR/$1" nonsense 2>/dev/null
		[ "$(dmesg | grep -c "rda: $1 takes: $2\$")" -gt "$before" ]
	}
	ktap_check "the log says: $1 takes: $2" wait_for 20 refused_and_logged "$@"
}

check_values() {
	local v

	# a device without engines: what is asked of the NIC the host does
	for v in $PROFILES; do
		takes profile "$v"
	done
	takes crc 0
	takes crc 1 host
	takes crc nic host
	takes crc host
	takes demux nic host
	takes demux host
	takes marker_placement copy
	takes marker_placement contig inplace
	ktap_is "a combination without a name is custom" "$(cat $ATTR/profile)" custom
	takes marker_placement sg inplace
	takes marker_placement inplace
	takes tx_payload reference
	takes profile host
	ktap_is "a profile does not change tx_payload" "$(cat $ATTR/tx_payload)" reference
	takes tx_payload copy
	takes markers on
	takes markers off
	takes markers 1 on
	takes markers 0 off
	takes markers auto
	for v in 256 1024 2048 4096 8192 16384 512; do
		takes marker_interval "$v"
	done
	takes verify 1
	takes verify 0
	takes mpa_rev 1
	takes mpa_rev 2
	takes ntuple_filters 8192
	takes ntuple_filters 0
	takes profile hybrid
}

NONSENSE=("" x nowhere "host nic" -1 4294967297)

check_nonsense() {
	local file v

	for file in profile crc demux marker_placement markers tx_payload \
		    marker_interval mpa_rev ntuple_filters ooo placement \
		    verify; do
		for v in "${NONSENSE[@]}"; do
			refuses "$file" "$v"
		done
	done
	refuses placement inplace
	for v in 0 3 255; do
		refuses mpa_rev "$v"
	done
	for v in 0 128 500 511 513 768 32768; do
		refuses marker_interval "$v"
	done
	refuses ntuple_filters 8193
	tells profile "host, assisted, offload-contig, offload-sg, hybrid"
	tells crc "host, nic; of a device also 0, 1"
	tells ntuple_filters "a number from 0 to 8192"
	tells marker_interval "a power of two from 256 to 16384"
	refuses profile custom
	refuses demux inplace
	refuses marker_placement nic
}

# place of the component $2 in the file $1
component() { awk -v c="$2" '$1 == c { print $2 }' "$1"; }

check_components() {
	ktap_is "a net device without engines shows none" "$(cat $ATTR/offload)" none
	ktap_is "without engines the CRC is on the host" "$(component $ATTR/components crc)" host
	put $ATTR/markers off
	ktap_is "markers that are off are absent" \
		"$(component $ATTR/components markers)" absent
	put $ATTR/markers auto
	ktap_is "markers in place are on the host" \
		"$(component $ATTR/components markers)" host
	ktap_is "flow control is on the host" \
		"$(component $ATTR/components flow_control)" host
}

# All users may read; CAP_NET_ADMIN where the net device is allows to write
check_rights() {
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

	ktap_check "all users can read the files" "${nobody[@]}" cat $ATTR/profile
	ktap_check_fails "an ordinary user cannot write" \
		"${nobody[@]}" sh -c "echo host > $ATTR/profile"
	ktap_check_fails "root without CAP_NET_ADMIN cannot write" \
		setpriv --bounding-set -net_admin --inh-caps -net_admin \
		sh -c "echo host > $ATTR/profile"
	ktap_is "no value has changed" "$(cat $ATTR/profile)" hybrid
}

# A network namespace of an ordinary user, with a device in it
check_user_namespace() {
	local dev=/sys/class/infiniband/rdu/hybrid pid

	start_bg - setpriv --reuid 1000 --regid 1000 --clear-groups \
		unshare --user --map-root-user --net sleep 100
	wait_for 10 pgrep -x -u 1000 sleep
	pid=$(pgrep -x -u 1000 sleep)
	ip link add vu netns "$pid" type veth peer name vv
	nsenter -t "$pid" -n ip link set vu up
	nsenter -t "$pid" -n rdma link add rdu type hybrid netdev vu ||
		ktap_fail "a device in a user's namespace"
	ktap_check "the owner of the namespace can write" \
		setpriv --reuid 1000 --regid 1000 --clear-groups \
		nsenter -t "$pid" -U --preserve-credentials \
		sh -c "echo assisted > $dev/profile"
	ktap_is "the value is changed" "$(cat $dev/profile)" assisted
	ktap_check_fails "another user cannot write" \
		setpriv --reuid 1001 --regid 1001 --clear-groups \
		sh -c "echo host > $dev/profile"
	rdma link delete rdu
	ip link del vv
	kill "$pid"
}

qp_dirs() { find "${1:-$ATTR}/qp/" -mindepth 1 -maxdepth 1 -type d; }

one_qp() { [ "$(qp_dirs "$@" | wc -l)" = 1 ]; }

no_qp() { [ -z "$(qp_dirs)" ]; }

# check_qp_nonsense DIRECTORY: of a queue pair
check_qp_nonsense() {
	local file v

	for file in profile crc demux marker_placement tx_payload; do
		for v in "${NONSENSE[@]}" 0 1; do
			refuses "$file" "$v" "$1"
		done
	done
	refuses profile custom "$1"
	refuses crc copy "$1"
	refuses demux inplace "$1"
	refuses marker_placement nic "$1"
	refuses tx_payload sg "$1"
}

# A target in b that serves one connection after the other
target_start() {
	start_bg b hyb-target -h 10.0.0.2 -p 7900
	TARGET=$BG_PID
	wait_for 20 said listening
}

check_qp() {
	local qp file profile i client log

	target_start
	start_bg a hyb-target -c -h 10.0.0.2 -p 7900
	client=$BG_PID log=$BG_LOG
	wait_for 20 said connected "$log"
	ktap_check "a queue pair has a directory" wait_for 10 one_qp
	qp=$(qp_dirs)
	for file in "$qp"/*; do
		ktap_check "${file##*/} of the queue pair" cat "$file"
	done
	ktap_is "the queue pair has the profile of the device" \
		"$(cat "$qp/profile")" hybrid
	check_qp_nonsense "$qp"
	ktap_check_fails "an ordinary user cannot write to a queue pair" \
		setpriv --reuid 65534 --regid 65534 --clear-groups \
		sh -c "echo host > $qp/profile"
	ktap_check_fails "root without CAP_NET_ADMIN cannot write to a queue pair" \
		setpriv --bounding-set -net_admin --inh-caps -net_admin \
		sh -c "echo host > $qp/profile"
	ktap_is "no value has changed" "$(cat "$qp/profile")" hybrid
	for i in 1 2 3; do
		for profile in $PROFILES; do
			put "$qp/profile" "$profile" || ktap_fail "$profile"
			ktap_is "round $i: profile $profile" \
				"$(cat "$qp/profile")" "$profile"
			put "$qp/marker_placement" copy
			put "$qp/crc" nic
			put "$qp/demux" host
		done
	done
	ktap_is "the device's profile is independent" \
		"$(cat $ATTR/profile)" hybrid
	kill -TERM "$(pgrep -x hyb-target -P "$client" || echo "$client")"
	if wait "$client" && grep -q " echoes" "$log"; then
		ktap_ok "the connection lived through it"
	else
		ktap_fail "the connection lived through it" "$(cat "$log")"
	fi
	ktap_check "the directory is removed with the queue pair" wait_for 10 no_qp
	stop_bg "$TARGET"
}

# agree CLIENT SERVER INTERVAL TO-SERVER TO-CLIENT: what the two ends come to
agree() {
	local client sent

	echo "$1" > $ATTR/markers
	echo "$2" > ${ATTR/rda/rdb}/markers
	echo "$3" > $ATTR/marker_interval
	start_bg a hyb-target -c -h 10.0.0.2 -p 7900
	client=$BG_PID
	wait_for 20 said connected
	wait_for 10 one_qp
	wait_for 10 one_qp ${ATTR/rda/rdb}
	sent="$(cat $ATTR/qp/*/marker_interval)"
	sent+=" $(cat $ATTR/qp/*/rx_marker_interval)"
	sent+=" $(cat ${ATTR/rda/rdb}/qp/*/marker_interval)"
	sent+=" $(cat ${ATTR/rda/rdb}/qp/*/rx_marker_interval)"
	ktap_is "markers $1 and $2, interval $3" "$sent" "$4 $5 $5 $4"
	kill -TERM "$(pgrep -x hyb-target -P "$client" || echo "$client")"
	if wait "$client"; then
		ktap_ok "echoes pass with these markers"
	else
		ktap_fail "echoes pass with these markers" "$(cat "$BG_LOG")"
	fi
	wait_for 10 no_qp
}

check_agreement() {
	target_start
	echo 4096 > ${ATTR/rda/rdb}/marker_interval
	agree off off 512 0 0
	agree off auto 512 0 0
	agree off on 1024 512 0
	agree auto off 512 0 0
	agree auto auto 512 512 512
	agree auto on 1024 1024 1024
	agree on off 1024 0 512
	agree on auto 256 256 256
	agree on on 16384 16384 16384
	stop_bg "$TARGET"
}

# SDP moves data both ways while the profile of its queue pairs changes
check_data() {
	local server client profile dir n=0

	modprobe -q sdp
	start_bg b sdp-run xfer -s -h 10.0.0.2 -p 5010
	server=$BG_PID
	wait_for 20 said listening
	start_bg a sdp-run xfer -h 10.0.0.2 -p 5010 -n "$(scaled 20 2)M" \
		-d "$(scaled 20 2)M" -w 0 -R 0 -o eof -t 100
	client=$BG_PID
	while [ -d "/proc/$client" ] && [ $n -lt 2000 ]; do
		for profile in $PROFILES; do
			for dir in "$ATTR"/qp/*/ "${ATTR/rda/rdb}"/qp/*/; do
				echo "$profile" > "$dir/profile" &&
					n=$((n + 1))
			done 2>/dev/null
		done
	done
	if wait "$client" && [ $n -gt 10 ]; then
		ktap_ok "data while the profile changes"
	else
		ktap_fail "data while the profile changes" "$n changes" \
			"$(cat "$BG_LOG")"
	fi
	ktap_diag "$n changes"
	stop_bg "$server"
	wait_for 20 modprobe -r sdp_diag sdp
}

# write_always: to the devices and to queue pairs that have no connection yet
write_always() {
	local dev=${ATTR/rda/rdb} dir i=0

	while :; do
		i=$((1 - i))
		echo $i > "$ATTR/verify"
		echo $i > "$dev/verify"
		for dir in "$ATTR"/qp/*/ "$dev"/qp/*/; do
			echo assisted > "$dir/profile"
			echo hybrid > "$dir/profile"
		done
	done 2>/dev/null
}

# pings N: so many connections. At its end, when all is back, rping closes the channel
# that another of its threads reads; when that is the faster one, rping ends with 255.
pings() {
	local i text

	for ((i = 0; i < $1; i++)); do
		text=$(ping_all 1 -a 10.0.0.2 -S "$PING") ||
			[[ $text = "rc=255, 1 of 1"*"Bad file descriptor"* ]] ||
			{ echo "ping $i: $text"; return 1; }
	done
}

check_connecting() {
	local server writer n

	n=$(scaled 60 20)
	start_bg b rping -s -P -a 10.0.0.2 -S "$PING" -V
	server=$BG_PID
	wait_port b 7174
	write_always &
	writer=$!
	ktap_check "$n connections are made meanwhile" pings "$n"
	kill $writer
	wait $writer
	stop_bg "$server"
	echo 0 > "$ATTR/verify"
	echo 0 > "${ATTR/rda/rdb}/verify"
}

# logged LINE COMMAND...: the kernel's log has that line when the command has been run; it is
# rate limited, hence a new name each time, which %s stands for
logged() {
	local line=$1 name=told$((TOLD += 1))

	rdma link add "$name" type hybrid netdev va2 && rdma link delete "$name" || return
	dmesg | grep -qF "iwarp_hybrid: ${line/\%s/$name}"
}

check_log() {
	TOLD=0
	ip link add va2 type dummy
	ktap_check "the log has a device that comes" wait_for 20 logged "new device %s on va2"
	ktap_check "the log has a device that goes" wait_for 20 logged "device %s is gone"
	ip link del va2
}

dev_up hybrid hybrid || ktap_skip_all "no hybrid devices"
ktap_is "the default profile is hybrid" "$(cat $ATTR/profile)" hybrid
ktap_is "the default of markers is auto" "$(cat $ATTR/markers)" auto
check_log
check_values
check_nonsense
check_components
check_rights
check_user_namespace
check_qp
check_agreement
echo auto > $ATTR/markers
echo auto > ${ATTR/rda/rdb}/markers
echo 512 > $ATTR/marker_interval
check_data
check_connecting
ktap_check "the devices can be removed" dev_down
ktap_check "the modules can be removed" wait_for 20 modprobe -r iwarp_hybrid
ktap_done
