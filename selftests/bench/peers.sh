# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "peers" of guest.sh (sourced): ways to move the same bytes, one connection over a
# veth pair, one row for each size of SIZES (stream) and LAT_SIZES (one message). WHATS:
#
#   tcp, sdp-*/hybrid, sdp/DEVICE, rsocket/DEVICE, smc/rxe   sdpbench
#   verbs/DEVICE        Sends of the kernel, see verbs.sh
#   mpi-tcp, mpi/DEVICE NetPIPE under Open MPI, see selftests/lib/mpi.sh: it needs
#                       -P netpipe-openmpi of selftests/vm/run.sh. One message only:
#                       the receiver alone times a stream, and on one processor it
#                       finds most of it in its buffers already

# shellcheck source=selftests/lib/mpi.sh
. "${SELFTESTS:-/selftests}/lib/mpi.sh"
# shellcheck source=selftests/bench/verbs.sh
. "${SELFTESTS:-/selftests}/bench/verbs.sh"

# Messages of a repetition of NetPIPE, which makes seven and takes the best
PEERS_MPI=${PEERS_MPI:-12}
# Bytes that a row of verbs moves, 8 messages at least
PEERS_BYTES=4194304

# times SIZE MOST: messages of a row
times() {
	local n=$((PEERS_BYTES / $1))

	[ "$n" -ge 8 ] || n=8
	[ "$n" -le "$2" ] || n=$2
	echo "$n"
}

# peers_verbs DEVICE MTU
peers_verbs() {
	local flows=() size

	verbs_module || return
	# shellcheck disable=SC2153 # SIZES is of guest.sh
	for size in $(each_size "$SIZES"); do
		flows+=("send $size $(times "$size" 512)")
	done
	for size in $(each_size "$LAT_SIZES"); do
		flows+=("ping $size $(times "$size" 200)")
	done
	verbs_kind "$1" "$2" '' "${flows[@]}"
}

# netpipe DEVICE LIST TIMES: lines "BYTES MBIT/S SECONDS" in the file, for these sizes and some
# between them
NETPIPE_OUT=/run/netpipe.out
NETPIPE_LOG=/run/netpipe.log
netpipe() {
	local list

	mapfile -t list < <(each_size "$2")
	rm -f $NETPIPE_OUT
	mpi_run "$1" NPopenmpi -l "${list[0]}" -u "${list[-1]}" -p 0 -n "$3" -o $NETPIPE_OUT \
		>$NETPIPE_LOG 2>&1 && return
	tail -n 20 $NETPIPE_LOG
	return 1
}

# mpi_fetch DEVICE: the first time the programs come from the host, and virtual time leaps
# while the processor waits for them, unless it has something to do
mpi_fetch() {
	local rc

	start_bg - chrt -i 0 sh -c 'while :; do :; done'
	netpipe "$1" 1 1
	rc=$?
	stop_bg "$BG_PID"
	return $rc
}

# mpi_rows WHAT MTU DEVICE: half of a round trip
mpi_rows() {
	mpi_fetch "$3" && netpipe "$3" "$LAT_SIZES" "$PEERS_MPI" || return
	awk -v want=" $(each_size "$LAT_SIZES" | tr '\n' ' ')" -v what="$1" -v mtu="$2" '
		index(want, " " $1 " ") {
			printf "BENCH {\"link\":\"veth\",\"what\":\"%s\",\"mtu\":%d,\"test\":\"lat\",\"size\":%d,\"lat_us\":%.6g}\n",
				what, mtu, $1, $3 * 1e6
		}' $NETPIPE_OUT
}

# peers_mpi WHAT MTU: the bytes have to be counted at the device, if it is one
peers_mpi() {
	local device=${1#*/} kind=tcp was moved

	[ "$device" != "$1" ] || device=tcp
	echo "bench: $1, MTU $2 ..."
	[ "$device" = tcp ] || kind=verbs/$device
	if ! setup veth "$kind" "$2" || ! mpi_up; then
		fail "$1: setup"
		net_down
		return
	fi
	was=$(mpi_bytes)
	mpi_rows "$1" "$2" "$device" || fail "$1, MTU $2: NetPIPE"
	moved=$(($(mpi_bytes) - was))
	[ "$device" = tcp ] || [ "$moved" -ge "$(bytes_of "${LAT_SIZES##*,}")" ] ||
		fail "$1: the bytes did not go over the device"
	net_down
}

part_peers() {
	local mtu what

	for mtu in $MTUS; do
		for what in $WHATS; do
			case $what in
			verbs/*) peers_verbs "${what#*/}" "$mtu" ;;
			mpi*) peers_mpi "$what" "$mtu" ;;
			*) row veth "$what" "$mtu" ;;
			esac
		done
	done
}
