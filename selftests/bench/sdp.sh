# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Parts "fc", "zcopy", "rxmap" and "conn" of guest.sh (sourced): flow controls,
# sends without copies, reading without, connections. Rows are sdp-POLICY/DEVICE.
#
#   fc     small sends at full speed to a reader that drains, 64 KB of buffers at
#          each end (8 of 8 KB in the literature), MTU 1500, everything by the
#          host; "messages" is how many left for one send. fc-delay: the same over
#          a path on which a packet takes FC_DELAY us, on the simulated NIC
#          (that alone with FC_DEVICES empty), for 20 round trips at least;
#          sdp-alone is credit as in the literature, without messages that
#          sends join, sdp-literature has eight messages under way, too, an
#          update after half of the credits, and no merging at the receiver,
#          sdp-announced is rdma without immediate data, sdp-rdma-app is rdma that
#          goes on only while the program calls. FC_POLICIES: those rows only
#   zcopy  large sends, MTU 9000 over the simulated NIC, MTU 1500 over veth with
#          CRC by the host. The peer reads into one buffer of 1 MB. "nocache":
#          memory is pinned for each send and receive; "unmarked": without
#          markers; "placed": the same, and the NIC places payload
#   rxmap  sends of 1 MB, MTU 9000 over the simulated NIC, read WINDOW bytes at a
#          time, by recv() ("copied") and by SDP_ZEROCOPY_RECEIVE ("mapped")
#   conn   connect, a request of 64 bytes, the answer, close; one after the other

FC_DEVICES=${FC_DEVICES-hybrid siw rxe}
FC_SIZES=${FC_SIZES:-256 1024 4096}
FC_LAT_SIZES=${FC_LAT_SIZES:-1}
FC_DELAY=${FC_DELAY:-500}
FC_POLICIES=${FC_POLICIES:-credit alone literature rdma announced vwin transport}
ZCOPY_SIZES=${ZCOPY_SIZES:-65536 262144 1048576}
RXMAP_WINDOWS=${RXMAP_WINDOWS:-32768 131072}
CONN_WHATS=${CONN_WHATS:-tcp sdp-enhanced/hybrid sdp-basic/hybrid sdp/siw}
CONN_LINKS=${CONN_LINKS:-veth hnic}
CONNS=${CONNS:-50}

# sdp_sysctl NAME=VALUE...: at both ends, or on all hosts of a star
sdp_sysctl() {
	local setting

	for setting; do
		if [ "$NET_MODE" = star ]; then
			fs_each sysctl -q -w "net.sdp.$setting" || return
			continue
		fi
		in_a sysctl -q -w "net.sdp.$setting" || return
		in_b sysctl -q -w "net.sdp.$setting" || return
	done
}

# sdp_kind KIND: what a row sdp-KIND/DEVICE needs of the sysctls
sdp_kind() {
	case $1 in
	credit | vwin | transport) sdp_sysctl "flow_control=$1" ;;
	rdma) sdp_sysctl flow_control=rdma rdma_immediate=1 ;;
	alone) sdp_sysctl flow_control=credit credit_join=0 ;;
	# eight messages of data under way, an update after half of the credits, and
	# none that joins another one at the receiver
	literature)
		sdp_kind alone &&
			sdp_sysctl rx_bufs_max=11 rx_bufs_min=11 credit_update=half rx_merge=-1
		;;
	rdma-app) sdp_sysctl flow_control=rdma rdma_immediate=1 rdma_progress=app ;;
	announced) sdp_sysctl flow_control=rdma rdma_immediate=0 ;;
	copy) sdp_sysctl flow_control=credit zcopy_threshold=0 ;;
	zcopy) sdp_sysctl flow_control=credit zcopy_threshold=32768 ;;
	nocache) sdp_sysctl flow_control=credit zcopy_threshold=32768 zcopy_cache=0 ;;
	unmarked) sdp_kind zcopy && sdp_attr markers off ;;
	placed) sdp_kind unmarked && sdp_attr placement nic ;;
	esac
}

# sdp_attr NAME VALUE: of the devices, which are ours
sdp_attr() {
	echo "$2" >/sys/class/infiniband/rda/hybrid/"$1" &&
		echo "$2" >/sys/class/infiniband/rdb/hybrid/"$1"
}

# sdp_setup LINK DEVICE MTU
sdp_setup() {
	# shellcheck disable=SC2034 # net_up reads them
	NET_LINK=$1 NET_MTU=$3
	net_up || return
	sender_first "$1" && set_nics "$1" || return
	[ "$2" != tcp ] || return 0
	dev_up "$2" "$2" || return
	if [ "$2" = hybrid ]; then
		stack_profile hybrid && set_devices || return
	fi
	modprobe -q sdp
}

# data messages and sends that joined one, so far
sdp_sends() {
	in_b sdpstat -s -z --json |
		jq -r '.counters | "\(.tx_data_msgs) \(.tx_coalesced)"'
}

# sends_per_row WAS NOW: messages on the wire for one send, a field of a row
sends_per_row() {
	awk -v was="$1" -v now="$2" 'BEGIN {
		split(was, w)
		split(now, n)
		msgs = n[1] - w[1]
		sends = msgs + n[2] - w[2]
		if (sends)
			printf ",\"msgs_per_send\":%.4f", msgs / sends
	}'
}

# sdp_measure TABLE LINK WHAT MTU OPTION...: rows of one connection
sdp_measure() {
	local table=$1 link=$2 what=$3 mtu=$4 crc more='' transport=sdp was now MEASURE

	# shellcheck disable=SC2034 # what measure in guest.sh takes
	MEASURE="-r $REPS -d $DURATION -P $PINGS ${*:5}"
	case $what in
	tcp) transport=tcp was="0 0" now="0 0" crc=none ;;
	*/rxe) crc=rxe ;;
	*) crc=$(crc_driver "$link" "$what") ;;
	esac
	[ "$table" != fc-delay ] || more=",\"delay_us\":$FC_DELAY"
	[ -n "$was" ] || was=$(sdp_sends)
	measure "$link" "$transport" >/tmp/rows || fail "$what, $table: ${*:5}"
	[ -n "$now" ] || now=$(sdp_sends)
	awk -v head="\"link\":\"$table\",\"what\":\"$what\",\"mtu\":$mtu,\"interval\":\"512\",\"crc\":\"$crc\"$more" \
		-v was="$was" -v now="$now" '
		/^ *[{]"test"/ {
			gsub(/^ *[{]|[}],*$/, "")
			split(was, w)
			split(now, n)
			msgs = n[1] - w[1]
			sends = msgs + n[2] - w[2]
			# those of round trips are not asked for
			if (sends && /"test":"bw"/)
				$0 = $0 sprintf(",\"msgs_per_send\":%.4f", msgs / sends)
			print "BENCH {" head "," $0 "}"
		}' /tmp/rows
	rm -f /tmp/rows
}

# fc_rows LINK WHAT
fc_rows() {
	local size table=fc DURATION=$DURATION

	if [ "$1" = hnic ]; then
		table=fc-delay
		# runs are half as long as that at least
		[ "$DURATION" -ge $((FC_DELAY * 80 / 1000)) ] || DURATION=$((FC_DELAY * 80 / 1000))
		in_a sh -c "echo $FC_DELAY >/sys/class/net/va/hnic/delay"
		in_b sh -c "echo $FC_DELAY >/sys/class/net/vb/hnic/delay"
	fi
	for size in $FC_SIZES; do
		sdp_measure $table "$1" "$2" 1500 -T bw -S "$size"
	done
	sdp_measure $table "$1" "$2" 1500 -T lat -L "${FC_LAT_SIZES// /,}"
}

# fc_device LINK DEVICE
fc_device() {
	local policy

	for policy in $FC_POLICIES; do
		# what a device cannot do is in selftests/sdp/fc.sh
		case $policy/$2 in
		vwin/siw | announced/siw | transport/siw | transport/rxe) continue ;;
		esac
		echo "bench: sdp-$policy/$2 with small buffers over $1 ..."
		if sdp_setup "$1" "$2" 1500 &&
			sdp_sysctl "rmem=4096 65536 65536" "wmem=4608 65536 65536" &&
			sdp_kind "$policy" && set_sdp; then
			fc_rows "$1" "sdp-$policy/$2"
		else
			fail "sdp-$policy/$2: setup"
		fi
		net_down
	done
}

part_fc() {
	local device link

	for link in ${FC_DEVICES:+veth} hnic; do
		echo "bench: tcp over $link ..."
		sdp_setup "$link" tcp 1500 && fc_rows "$link" tcp
		net_down
	done
	for device in $FC_DEVICES; do
		fc_device veth "$device"
	done
	fc_device hnic hybrid
}

# zcopy_rows TABLE LINK DEVICE MTU
zcopy_rows() {
	local way ways="copy nocache zcopy" sizes=${ZCOPY_SIZES// /,}

	if [ "$3" = tcp ]; then
		echo "bench: tcp, large sends over $2 ..."
		sdp_setup "$2" tcp "$4" &&
			sdp_measure "$1" "$2" tcp "$4" -T bw -S "$sizes"
		net_down
		return
	fi
	[ "$1/$3" != zcopy-nic/hybrid ] || ways+=" unmarked placed"
	for way in $ways; do
		echo "bench: sdp-$way/$3, large sends over $2 ..."
		if sdp_setup "$2" "$3" "$4" && sdp_kind "$way"; then
			sdp_measure "$1" "$2" "sdp-$way/$3" "$4" -T bw -S "$sizes"
		else
			fail "sdp-$way/$3: setup"
		fi
		net_down
	done
}

part_zcopy() {
	local device

	for device in tcp hybrid; do
		zcopy_rows zcopy-nic hnic "$device" 9000
	done
	for device in tcp $FC_DEVICES; do
		zcopy_rows zcopy-host veth "$device" 1500
	done
}

# rxmap_row HOW WINDOW: two runs, since what a process takes to begin counts
rxmap_row() {
	local how=$1 window=$2 n answer was=0

	echo "bench: 1 MB sends, $how, $window bytes at a time ..."
	if ! sdp_setup hnic hybrid 9000 || ! sdp_kind credit; then
		fail "rxmap $how $window: setup"
		net_down
		return
	fi
	start_bg a sdp-rxmap serve 10.0.0.1 7000
	wait_port a 7000
	for n in 8 24; do
		answer=$(in_b sdp-rxmap -m "$how" -n $((n << 20)) -w 1048576 -W "$window" 10.0.0.1 7000)
		# "cpu NS", "ok MAPPED COPIED READ"
		# shellcheck disable=SC2086
		set -- $answer
		[ "$1/$3" = cpu/ok ] || { fail "rxmap $how $window: $answer"; break; }
		[ "$n" -eq 8 ] && was=$2 || echo "BENCH {\"part\":\"rxmap\",\"link\":\"hnic\",\"what\":\"sdp-$how/hybrid\",\"window\":$window,\"mapped\":$4,\"read\":$6,\"cpu_ns_per_byte\":$(
			awk "BEGIN { print ($2 - $was) / (16 * 1048576) }")}"
	done
	net_down
}

part_rxmap() {
	local window

	for window in $RXMAP_WINDOWS; do
		rxmap_row copied "$window"
		rxmap_row mapped "$window"
	done
}

# conn_row LINK WHAT: how long one takes
conn_row() {
	local link=$1 what=$2 kind=sdp answer

	[ "$what" != tcp ] || kind=tcp
	echo "bench: connections of $what, $link ..."
	setup "$link" "$what" 1500 512 || { fail "conn $link $what: setup"; return; }
	start_bg a sdp-scale serve $kind 10.0.0.1 7000 64
	wait_port a 7000
	answer=$(echo "rate $CONNS" |
		in_b sdp-scale call $kind 10.0.0.1 7000)
	case $answer in
	ok*)
		echo "BENCH {\"part\":\"conn\",\"link\":\"$link\",\"what\":\"$what\",\"conns\":$CONNS,\"us\":$(
			awk "BEGIN { print ${answer#ok } / 1000 / $CONNS }")}"
		;;
	*) fail "conn $link $what: $answer" ;;
	esac
	net_down
}

part_conn() {
	local link what

	for link in $CONN_LINKS; do
		for what in $CONN_WHATS; do
			conn_row "$link" "$what"
		done
	done
}
