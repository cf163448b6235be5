#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measurements of `make bench`, inside the guest. One instruction is one
# nanosecond there, so short runs suffice. Prints, beside progress, one line
#   BENCH {JSON}                   for each figure
#   BENCH-FAILED WHAT              for what did not work
# All rows come from one boot, because boots differ a little.
#
# Parts (environment PARTS):
#   veth     over a veth pair, where every component is the host's
#   hnic     over the simulated NIC: all profiles, SDP basic and enhanced
#   sweep    marker intervals, over the simulated NIC
#   append   10,000 small sends to a reader that sleeps
#   account  is the sum of host and NIC what the processor did?
#   verbs    Send, Write, Read of the kernel, see verbs.sh; not by default
#   lossy    the same with loss and reordering; not by default
#   sides    instructions of the sender and of the receiver; not by default
#   qps      connections of verbs, what idle ones take; not by default
#   fc       flow controls, small sends, see sdp.sh; not by default
#   zcopy    large sends with and without copies, see sdp.sh; not by default
#   rxmap    reading with and without copies, see sdp.sh; not by default
#   conn     connections, see sdp.sh; not by default
#   costs    copies, checksums, DMA operations by counters, see costs.sh; not by default
#   filters  filter streams between hosts at a bridge, see filters.sh; not by default
#   hot      a client and many servers, see hot.sh; not by default
#   peers    WHATS, other ways to move the same bytes, see peers.sh; not by default
#   one      WHATS over LINK

# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/lib.sh"
# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/stack.sh"
# shellcheck source=/dev/null
. "${SELFTESTS:-/selftests}/lib/smc.sh"

PARTS=${PARTS:-veth hnic sweep append account}
REPS=${REPS:-3}
DURATION=${DURATION:-12}	# ms of guest time for a repetition
PINGS=${PINGS:-40}
MTUS=${MTUS:-1500 9000}
SIZES=${SIZES:-64,1K,4K,16K,64K,1M}
LAT_SIZES=${LAT_SIZES:-1,64,1K,4K,16K,64K}
INTERVALS=${INTERVALS-256 512 1024 2048 4096 8192 16384 off}
PROFILES=${PROFILES:-$STACK_PROFILES}
# Rows to measure over veth: tcp, or TRANSPORT/DEVICE; a profile in place of the device is
# that of a hybrid device. profile.sh has its own.
WHATS=${WHATS:-tcp sdp-basic/hybrid sdp-enhanced/hybrid sdp/siw rsocket/siw}
# part "verbs" is over veth if nothing is said
# shellcheck disable=SC2034 # verbs.sh reads it
VERBS_ON=${LINK:-veth}
LINK=${LINK:-hnic}
# where markers are inserted by each component in turn
SWEEP_WHATS=${SWEEP_WHATS:-sdp-basic/assisted sdp-enhanced/hybrid sdp-basic/offload-contig sdp-basic/offload-sg}
# options of sdpbench
MEASURE=${MEASURE:--r $REPS -d $DURATION -P $PINGS -S $SIZES -L $LAT_SIZES}

failed=0

fail() {
	echo "BENCH-FAILED $*"
	failed=1
}

# setup LINK WHAT MTU INTERVAL: fresh namespaces each time, so that a row cannot
# be influenced by what the one before left behind
setup() {
	local kind=hybrid

	# shellcheck disable=SC2034 # net_up reads them
	NET_LINK=$1 NET_MTU=$3
	net_up && sender_first "$1" && set_tcp || return
	case $2 in
	tcp) set_nics "$1"; return ;;
	*/siw) kind=siw ;;
	*/rxe) kind=rxe ;;
	esac
	set_nics "$1" || return
	dev_up "$kind" "$kind" || return
	[ "$kind" != hybrid ] || set_devices || return
	case $2 in
	smc/*) smc_up ;;
	sdp-*)
		stack_link "$(expr "$2" : 'sdp-\([a-z-]*\)/')" &&
			stack_profile "${2#*/}" && stack_markers "$4" &&
			sdp_kind "$(expr "$2" : 'sdp-\([a-z-]*\)/')" && set_sdp
		;;
	esac
}

# Settings that differ from the default, "NAME=VALUE ...", at both ends: attributes of
# simulated NICs, of RDMA devices that are ours, sysctls net.sdp and net.ipv4 (comma for a
# space). All of them are in the rows.
HNIC_SET=${HNIC_SET:-}
DEV_SET="${DEV_SET:-}${CRC_DRIVER:+ crc_driver=$CRC_DRIVER}"
SDP_SET=${SDP_SET:-}
TCP_SET=${TCP_SET:-}
read -r SET_TEXT <<<"$HNIC_SET $DEV_SET $SDP_SET $TCP_SET${FIRST:+ first=$FIRST}"

# set_nics LINK
set_nics() {
	local set

	for set in $HNIC_SET; do
		[ "$1" = hnic ] || return 0
		in_a sh -c "echo '${set#*=}' >/sys/class/net/va/hnic/${set%%=*}" &&
			in_b sh -c "echo '${set#*=}' >/sys/class/net/vb/hnic/${set%%=*}" || return
	done
}

# With FIRST the sender is not preempted by its own reader, as on a machine of its own:
# engines and NAPI have a higher priority than the sender, the reader none. FIRST=both:
# neither end preempts the other one; FIRST=nic: either end may, only the NICs are first.
# sender_first LINK
sender_first() {
	local task name

	[ -n "${FIRST:-}" ] || return 0
	if [ "$1" != hnic ]; then
		echo "FIRST needs LINK=hnic, whose packets threads deliver" >&2
		return 1
	fi
	for task in /proc/[0-9]*; do
		read -r name <"$task/comm" 2>/dev/null || continue
		case $name in
		hnic-[tr]x/* | napi/v[ab]-*) chrt -f -p 20 "${task#/proc/}" || return ;;
		esac
	done
}

set_devices() {
	local set

	for set in $DEV_SET; do
		stack_attr "${set%%=*}" "${set#*=}" || return
	done
}

set_tcp() {
	local set

	for set in $TCP_SET; do
		in_a sysctl -q -w "net.ipv4.${set//,/ }" &&
			in_b sysctl -q -w "net.ipv4.${set//,/ }" || return
	done
}

set_sdp() {
	local set

	for set in $SDP_SET; do
		sdp_sysctl "${set//,/ }" || return
	done
}

# crc_driver LINK WHAT: who computes CRC32c; what TCP and siw use is the kernel's
crc_driver() {
	local f=/sys/class/infiniband/rdb/hybrid lib who

	lib=$(awk '$1 == "name" { n = $3 } $1 == "driver" { d = $3 }
		$1 == "priority" && n == "crc32c" && $3 + 0 > p { p = $3; best = d }
		END { print best }' /proc/crypto)
	case $2 in
	tcp) echo none ;;
	*/siw) echo "$lib" ;;
	*/rxe) echo rxe ;;
	*)
		who=$(cat "$f/crc_driver")
		# the engine of a simulated NIC has the instruction in any case
		if [ "$1" != hnic ] || [ "$(crc_wish "$2")" != nic ]; then
			echo "$who"
		elif grep -qw sse4_2 /proc/cpuinfo; then
			echo "nic: crc32q"
		else
			echo "nic: kernel"
		fi
		;;
	esac
}

crc_wish() {
	case ${1#*/} in
	host | inplace) echo host ;;
	*) echo nic ;;
	esac
}

# ends_up: with ENDS, marks tell the emulator which end works, see ulp_load/load_side.c
ends_up() {
	local end=/sys/module/ulp_load/parameters/end

	[ -n "${ENDS:-}" ] || return 0
	modprobe ulp_load sides=1 && in_a sh -c "echo a >$end" && in_b sh -c "echo b >$end"
}

# measure LINK TRANSPORT: rows on stdout
measure() {
	local ret nic=() server=()

	[ "$1" != hnic ] || nic=(--nic "a/va:$NIC_TIME" --nic "b/vb:$NIC_TIME")
	case ${FIRST:-nic} in
	nic) ;;
	# the priority of the client with --first
	both) server=(chrt -f 10) ;&
	*) nic+=(--first) ;;
	esac
	ends_up || return
	start_bg a "${server[@]}" sdpbench -s -1 -t "$2" -b 10.0.0.1
	# shellcheck disable=SC2086 # several options
	in_b sdpbench -t "$2" -j -w 10 --timeout 20 "${nic[@]}" $MEASURE 10.0.0.1
	ret=$?
	[ "$ret" -eq 0 ] || sed 's/^/server: /' "$BG_LOG" >&2
	stop_bg "$BG_PID"
	# a profile has its functions by name
	[ -z "${ENDS:-}" ] || [ -n "${KALLSYMS:-}" ] || modprobe -q -r ulp_load
	return "$ret"
}

# Counter of ethtool -S that says how long the engines worked
NIC_TIME=nic_ns

# row LINK WHAT MTU [INTERVAL]
row() {
	local ivl=${4:-512} transport=${2%%/*} crc was sends=

	transport=${transport%%-*}
	echo "bench: $2 over $1, MTU $3, marker interval $ivl ..."
	if ! setup "$1" "$2" "$3" "$ivl"; then
		fail "$*: setup"
	else
		crc=$(crc_driver "$1" "$2")
		[ "$transport" != sdp ] || was=$(sdp_sends)
		measure "$1" "$transport" > /tmp/rows || fail "$*"
		if [ "$transport" = sdp ] && [ "$(grep -c '^ *{"test"' /tmp/rows)" -eq 1 ]; then
			sends=$(sends_per_row "$was" "$(sdp_sends)")
		fi
		sed -n "s#^ *{\(.*}\),*\$#BENCH {\"link\":\"$1\",\"what\":\"$2\",\"mtu\":$3,\"interval\":\"$ivl\",\"crc\":\"$crc\"${SET_TEXT:+,\"set\":\"$SET_TEXT\"}$sends,\1#p" /tmp/rows
	fi
	rm -f /tmp/rows
	net_down
}

part_veth() { LINK=veth part_one; }

part_one() {
	local mtu what

	for mtu in $MTUS; do
		for what in $WHATS; do
			row "$LINK" "$what" "$mtu"
		done
	done
}

part_hnic() {
	local mtu profile

	for mtu in $MTUS; do
		row hnic tcp "$mtu"
		for profile in $PROFILES; do
			row hnic "sdp-basic/$profile" "$mtu"
			row hnic "sdp-enhanced/$profile" "$mtu"
		done
		# again: TCP has a slow and a fast state, and stays in one of them
		row hnic tcp "$mtu"
	done
}

part_sweep() {
	local MEASURE="-r $REPS -d $DURATION -P $PINGS -S 64K -L 1"
	local mtu ivl what

	for mtu in $MTUS; do
		for ivl in $INTERVALS; do
			# the part "hnic" has these
			[ "$ivl" != 512 ] || [[ " $PARTS " != *" hnic "* ]] || continue
			for what in $SWEEP_WHATS; do
				row hnic "$what" "$mtu" "$ivl"
			done
		done
	done
}

# append_row LINK KIND SIZE: messages on the wire, and how fast they are read;
# alone is basic where each send is a message, as in the literature
append_row() {
	local count=10000 fifo=/tmp/fifo link=${2/alone/basic}

	echo "bench: $count sends of $3 bytes to a sleeping reader, $2 over $1 ..."
	rm -f "$fifo"
	mkfifo "$fifo"
	if ! setup "$1" "sdp-$link/hybrid" 1500 512 || ! sdp_kind "$2"; then
		fail "append $*: setup"
		return
	fi
	start_bg a sdp-append -s -h 10.0.0.1 -p 7000 -r 8192 -w "$fifo"
	reader=$BG_PID reader_log=$BG_LOG
	wait_port a 7000
	counters_take before
	start_bg b sdp-append -h 10.0.0.1 -p 7000 -n "$count" -m "$3"
	# all is in buffers, or the sender waits for the reader
	PATIENCE=1 wait_for 3 said sent
	if : > "$fifo" && wait "$reader"; then
		counters_take after
		read -r bytes ns < "$reader_log"
		msgs=$(counters_diff b before after sdp_tx_data_msgs)
		awk -v link="$1" -v kind="$2" -v size="$3" -v n="$count" -v msgs="$msgs" -v o="$bytes" -v ns="$ns" 'BEGIN {
			printf "BENCH {\"part\":\"append\",\"link\":\"%s\",\"what\":\"sdp-%s/hybrid\",\"size\":%d,\"sends\":%d,\"messages\":%d,\"bytes\":%.0f,\"mbps\":%.3f}\n",
				link, kind, size, n, msgs, o, o / ns * 1000 }'
	else
		cat "$reader_log" "$BG_LOG"
		fail "append $*"
	fi
	net_down
}

part_append() {
	local size

	for size in 64 256 1024; do
		append_row veth alone "$size"
		append_row veth basic "$size"
		append_row veth enhanced "$size"
	done
}

part_account() {
	local what

	for what in sdp-enhanced/hybrid sdp-basic/offload-contig tcp; do
		echo "bench: accounting of $what ..."
		if setup hnic "$what" 1500 512; then
			python3 "${SELFTESTS:-/selftests}/bench/account.py" "$what" "$NIC_TIME" ||
				fail "account $what"
		else
			fail "account $what: setup"
		fi
		net_down
	done
}

# shellcheck source=selftests/bench/verbs.sh
part_verbs() { . "${SELFTESTS:-/selftests}/bench/verbs.sh" && verbs_all; }

# shellcheck source=selftests/bench/verbs.sh
part_lossy() { . "${SELFTESTS:-/selftests}/bench/verbs.sh" && lossy_all; }

# shellcheck source=selftests/bench/verbs.sh
part_sides() { . "${SELFTESTS:-/selftests}/bench/verbs.sh" && sides_all; }

# shellcheck source=selftests/bench/verbs.sh
part_qps() { . "${SELFTESTS:-/selftests}/bench/verbs.sh" && qps_all; }

BENCH_DIR=${SELFTESTS:-/selftests}/bench
# shellcheck source=selftests/bench/sdp.sh
. "$BENCH_DIR/sdp.sh"
# shellcheck source=selftests/bench/costs.sh
. "$BENCH_DIR/costs.sh"
# shellcheck source=selftests/bench/filters.sh
. "$BENCH_DIR/filters.sh"
# shellcheck source=selftests/bench/hot.sh
. "$BENCH_DIR/hot.sh"
# shellcheck source=selftests/bench/peers.sh
. "$BENCH_DIR/peers.sh"

# The accelerated CRC32c has to be there before libcrc32c chooses one.
modprobe crc32c-intel
echo "BENCH-KERNEL $(uname -r)"
for part in $PARTS; do
	"part_$part"
done
# for a profile; the modules are still where they were
[ -z "${KALLSYMS:-}" ] || cat /proc/kallsyms > "$OUT/kallsyms"
exit $failed
