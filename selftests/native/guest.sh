#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# First program in User-Mode Linux, see run.sh. Opens a connection of each kind
# and measures them in turn. Prints, on the console:
#   BENCH {JSON}         one measurement
#   BENCH-FAILED WHAT    what did not work
#   BENCH-END            it came to its end
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

# They may be under /tmp
mount -t tmpfs tmpfs /mnt
for dir in WORK TOP TOOLS PROGRAMS; do
	mkdir /mnt/$dir
	mount --bind "${!dir}" /mnt/$dir
	export $dir=/mnt/$dir
done
export PATH=$TOOLS:$PROGRAMS:$PATH IP_LIB_DIR=$TOOLS

mount -t proc proc /proc
# what this prints goes to the console
exec > /dev/console 2>&1
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /run/netns
echo "$WORK/modprobe" > /proc/sys/kernel/modprobe

export OUT=/tmp/out
# shellcheck source=/dev/null
. "$TOP/selftests/lib/lib.sh"
# shellcheck source=/dev/null
. "$TOP/selftests/lib/stack.sh"

# shellcheck disable=SC2317 # called by the libraries
modprobe() { "$WORK/modprobe" "$@"; }

REPS=${REPS:-8}
FIRST=${FIRST:-0}
TRIES=${TRIES:-6}
MTUS=${MTUS:-1500 9000}
LINKS=${LINKS:-veth hnic}
if [ "${ROWS:-main}" = all ]; then
	SIZES=${SIZES:-64 1024 4096 16384 65536 1048576}
	LAT_SIZES=${LAT_SIZES:-1 64 1024 4096 16384 65536}
	INTERVALS=${INTERVALS-256 512 1024 2048 4096 8192 16384 off}
	PROFILES=${PROFILES:-$STACK_PROFILES}
else
	SIZES=${SIZES:-65536 1048576}
	LAT_SIZES=${LAT_SIZES:-1}
	INTERVALS=${INTERVALS-}
	PROFILES=${PROFILES:-host hybrid}
fi
SIZES=$(each_size "$SIZES")
LAT_SIZES=$(each_size "$LAT_SIZES")
CONTROL=/sys/kernel/debug/native_load/control
NAMES=()	# of the slots: WHAT|INTERVAL

finish() {
	echo "BENCH-END"
	sleep 0.1
	exec busybox poweroff -f
}
trap finish EXIT

# nic_ns: time that both NICs worked, in NIC_NS; starts no program
nic_ns() {
	local a=0 b=0

	if [ "$LINK" = hnic ]; then
		read -r a < /run/sys-a/class/net/va/hnic/nic_ns
		read -r b < /run/sys-b/class/net/vb/hnic/nic_ns
	fi
	NIC_NS=$((a + b))
}

# load COMMAND: of native_load; descriptors 8 and 9 are namespaces a and b
load() { echo "$*" 8< /run/netns/a 9< /run/netns/b > $CONTROL; }

# open_slot WHAT FAMILY INTERVAL
open_slot() {
	local slot=${#NAMES[@]}

	if load open "$slot" "$2" 0 10.0.0.1 $((7000 + slot)) 8 9; then
		NAMES+=("$1|$3")
	else
		echo "BENCH-FAILED $LINK $1, MTU $NET_MTU, interval $3: no connection"
		NAMES+=("")
	fi
}

# open_sdp basic|enhanced PROFILE INTERVAL
open_sdp() {
	if stack_link "$1" && stack_profile "$2" && stack_markers "$3"; then
		open_slot "sdp-$1/$2" 27 "$3"
	else
		echo "BENCH-FAILED $LINK sdp-$1/$2, interval $3: settings"
	fi
}

# measure bw|lat SLOT SIZE COUNT REP [FOR]: once, or again if the host took the
# processor away; FOR is the slot that this one is the base of
measure() {
	local name=${NAMES[$2]} try nic begin elapsed cpu bytes switches faults

	[ -n "$name" ] || return
	for ((try = 0; try < TRIES; try++)); do
		nic_ns
		nic=$NIC_NS
		if ! load "$1" "$2" "$3" "$4"; then
			echo "BENCH-FAILED $LINK $1 $name, MTU $NET_MTU, size $3"
			NAMES[$2]=
			return
		fi
		nic_ns
		read -r begin elapsed cpu bytes switches faults < "$CONTROL"
		if [ "$5" -eq 0 ] || [ "$switches" -eq 0 ]; then
			break
		fi
	done
	printf 'BENCH {"test":"%s","link":"%s","what":"%s","interval":"%s","mtu":%d,"size":%d,"count":%d,"rep":%d,"begin_ns":%d,"elapsed_ns":%d,"cpu_ns":%d,"bytes":%d,"switches":%d,"faults":%d,"nic_ns":%d,"base_of":"%s"}\n' \
		"$1" "$LINK" "${name%|*}" "${name#*|}" "$NET_MTU" "$3" "$4" "$5" \
		"$begin" "$elapsed" "$cpu" "$bytes" "$switches" "$faults" $((NIC_NS - nic)) \
		"${6:+${NAMES[$6]}}"
}

# each bw|lat SIZE COUNT: all slots in turn, each after TCP, its base, REPS times.
# The first turn, number 0, is not counted
each() {
	local turn slot number

	for ((turn = 0; turn <= REPS; turn++)); do
		number=$((turn ? FIRST + turn : 0))
		for slot in "${!NAMES[@]}"; do
			[ "$slot" -gt 0 ] || continue
			measure "$1" 0 "$2" "$3" $number "$slot"
			measure "$1" "$slot" "$2" "$3" $number
		done
	done
}

setup() {
	local ns

	NAMES=()
	# shellcheck disable=SC2034 # net_up reads it
	NET_LINK=$LINK
	net_up || return
	for ns in a b; do
		mkdir -p /run/sys-$ns
		nsenter --net=/run/netns/$ns mount -t sysfs sysfs /run/sys-$ns
	done
	open_slot tcp 2 512
	dev_up hybrid hybrid
}

teardown() {
	local slot

	for slot in "${!NAMES[@]}"; do
		load close "$slot"
	done
	umount /run/sys-a /run/sys-b
	net_down
}

# Messages of a measurement: some 10 ms of work
count_for() {
	local n=$((16 * 1048576 / $1))

	echo $((n > 4000 ? 4000 : n))
}

profiles() {
	local profile size

	echo "bench: $LINK, MTU $NET_MTU ..."
	setup || { echo "BENCH-FAILED $LINK, MTU $NET_MTU: setup"; net_down; return; }
	for profile in $PROFILES; do
		open_sdp basic "$profile" 512
		open_sdp enhanced "$profile" 512
	done
	for size in $SIZES; do
		each bw "$size" "$(count_for "$size")"
	done
	for size in $LAT_SIZES; do
		each lat "$size" $((size > 4096 ? 100 : 300))
	done
	teardown
}

sweep() {
	local ivl

	echo "bench: $LINK, MTU $NET_MTU, marker intervals ..."
	setup || { net_down; return; }
	for ivl in $INTERVALS; do
		[ "$ivl" != 512 ] || continue
		open_sdp basic assisted "$ivl"
		open_sdp enhanced hybrid "$ivl"
	done
	each bw 65536 "$(count_for 65536)"
	each lat 1 300
	teardown
}

# fill_memory: the host gives a page when it is touched first, and that takes longer
# than to copy it
fill_memory() {
	local kb

	kb=$(awk '$1 == "MemAvailable:" { print int($2 * 0.9) }' /proc/meminfo)
	mkdir /tmp/fill
	mount -t tmpfs -o "size=${kb}k" tmpfs /tmp/fill
	dd if=/dev/zero of=/tmp/fill/all bs=1M 2> /dev/null
	umount /tmp/fill
}

fill_memory
# profile: one kind of connection alone; the host takes samples between the two
# lines, and finds here what makes names of addresses
profile() {
	local count rep slot=0 end module

	setup || { echo "BENCH-FAILED $LINK, MTU $NET_MTU: setup"; return; }
	case $PROFILE_WHAT in
	sdp-*)
		slot=1
		open_sdp "$(expr "$PROFILE_WHAT" : 'sdp-\([a-z]*\)/')" "${PROFILE_WHAT#*/}" "$INTERVALS"
		;;
	esac
	count=$(count_for "$SIZES")
	[ "$PROFILE_TEST" = bw ] || count=300
	for ((rep = 0; rep < 5; rep++)); do
		measure "$PROFILE_TEST" $slot "$SIZES" "$count" 0
	done
	echo "PROFILE-BEGIN"
	sleep 0.5
	end=$((SECONDS + PROFILE_SECONDS))
	for ((rep = 1; SECONDS < end; rep++)); do
		TRIES=1 measure "$PROFILE_TEST" $slot "$SIZES" "$count" $rep
	done
	echo "PROFILE-END"
	sleep 0.5
	mkdir /tmp/profile
	mount -t hostfs -o "$PROFILE" hostfs /tmp/profile
	cat /proc/kallsyms > /tmp/profile/kallsyms
	for module in /sys/module/*/sections/.text; do
		echo "$(expr "$module" : '/sys/module/\([^/]*\)') $(cat "$module")"
	done > /tmp/profile/modules
	umount /tmp/profile
	teardown
}

for m in veth sdp iwarp_hybrid native_load; do
	modprobe $m || echo "BENCH-FAILED no module $m"
done
echo "BENCH-KERNEL $(uname -r)"
for LINK in $LINKS; do
	for NET_MTU in $MTUS; do
		if [ -n "${PROFILE:-}" ]; then
			profile
			continue
		fi
		profiles
		[ -z "$INTERVALS" ] || sweep
	done
done
