# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Library of the selftests (sourced by bash, in the guest as root): TAP output,
# the two-namespace topology, RDMA devices on it, waiting and clean-up.
#
#	. /selftests/lib/lib.sh		(or "$(dirname "$0")/../lib/lib.sh")
#	net_up
#	dev_up hybrid siw
#	ktap_plan 2
#	ktap_check "ping" in_a ping -c1 10.0.0.2
#	start_bg b rping -s -a 10.0.0.2 -C 10
#	wait_port b 7174
#	ktap_check "rping" in_a rping -c -a 10.0.0.2 -C 10
#	ktap_done
#
# Files that a test writes into $OUT are copied out of the guest after the test.

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=${OUT:-/out}
# where our libraries for LD_PRELOAD are
TEST_LIBS=/usr/lib/sdp
# As "make -C selftests install" lays it out, on any machine
if [ -d "$LIB_DIR/../bin" ]; then
	TEST_LIBS=$(realpath "$LIB_DIR/../bin")
	PATH=$TEST_LIBS:$PATH:/usr/sbin:/sbin
	[ -d "$OUT" ] || OUT=$(mktemp -dt kselftest.XXXXXX)
	for tool in sdp-run sdpstat sdpbench; do
		command -v $tool >/dev/null && continue
		echo "1..0 # SKIP $tool is not installed"
		exit 4
	done
fi
export OUT LIB_DIR PATH

# sdp-run: SDP or nothing, as with -o, so that no test passes over TCP. Tests of what
# sdp-run does by default unset it.
export LIBSDP_ONLY=1
mkdir -p "$OUT"

# ---------------------------------------------------------------- TAP output

KTAP_N=0
KTAP_FAILED=0
KTAP_SKIPPED=0
KTAP_PLAN=

# ktap_plan N: print the header and the plan; without it ktap_done prints it
ktap_plan() {
	KTAP_PLAN=$1
	echo "TAP version 13"
	echo "1..$1"
}

# ktap_diag TEXT...: a comment in the TAP stream
ktap_diag() { printf '%s\n' "$@" | sed 's/^/# /'; }

# ktap_ok DESCRIPTION
ktap_ok() {
	KTAP_N=$((KTAP_N + 1))
	echo "ok $KTAP_N - $1"
}

# ktap_fail DESCRIPTION [DIAGNOSTIC...]
ktap_fail() {
	KTAP_N=$((KTAP_N + 1))
	KTAP_FAILED=$((KTAP_FAILED + 1))
	echo "not ok $KTAP_N - $1"
	shift
	[ $# -eq 0 ] || ktap_diag "$@"
}

# ktap_skip DESCRIPTION REASON
ktap_skip() {
	KTAP_N=$((KTAP_N + 1))
	KTAP_SKIPPED=$((KTAP_SKIPPED + 1))
	echo "ok $KTAP_N - $1 # SKIP ${2:-no reason given}"
}

# ktap_check DESCRIPTION COMMAND...: ok if the command succeeds; its output is
# shown only if it does not.  The output is left in $KTAP_OUT.
ktap_check() {
	local desc=$1 rc
	shift
	KTAP_OUT=$("$@" 2>&1 </dev/null)
	rc=$?
	if [ $rc -eq 0 ]; then
		ktap_ok "$desc"
	else
		ktap_fail "$desc" "rc=$rc: $*" "$KTAP_OUT"
	fi
	return $rc
}

# ktap_check_fails DESCRIPTION COMMAND...: ok if the command fails
ktap_check_fails() {
	local desc=$1
	shift
	if KTAP_OUT=$("$@" 2>&1 </dev/null); then
		ktap_fail "$desc" "succeeded: $*" "$KTAP_OUT"
		return 1
	fi
	ktap_ok "$desc"
}

# ktap_is DESCRIPTION GOT WANTED
ktap_is() {
	if [ "$2" = "$3" ]; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "got:    $2" "wanted: $3"
		return 1
	fi
}

# ktap_include FILE [PREFIX]: the TAP lines of a program become lines of this test. The
# programs print their plan at the end: without a plan the test fails.
ktap_include() {
	local line last="" plan="" before=${2:+$2: }

	while read -r line; do
		last=$line
		case $line in
		"ok "*" # SKIP"*)
			line=${line#ok * - }
			ktap_skip "$before${line% # SKIP*}" "${line#*# SKIP }"
			;;
		"ok "*) ktap_ok "$before${line#ok * - }" ;;
		"not ok "*) ktap_fail "$before${line#not ok * - }" ;;
		1..[1-9]*) plan=$line ;;
		"TAP version"*) ;;
		*) ktap_diag "$line" ;;
		esac
	done <"$1"
	[ -n "$plan" ] || ktap_fail "${before}the program ended early" "$last"
}

# ktap_skip_all REASON: end the test, none of which can run here
ktap_skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 4
}

# ktap_done: print the totals and end the test with the kselftest exit status
ktap_done() {
	[ -n "$KTAP_PLAN" ] || echo "1..$KTAP_N"
	echo "# totals: pass:$((KTAP_N - KTAP_FAILED - KTAP_SKIPPED))" \
		"fail:$KTAP_FAILED skip:$KTAP_SKIPPED"
	[ -z "$KTAP_PLAN" ] || [ "$KTAP_PLAN" -eq "$KTAP_N" ] || exit 1
	[ "$KTAP_FAILED" -eq 0 ] || exit 1
	exit 0
}

# --------------------------------------------------------------- environment

# kver: 6.1, 6.12, 7.2 ...
kver() { uname -r | sed -E 's/^([0-9]+\.[0-9]+).*/\1/'; }

# kver_ge X.Y
kver_ge() { [ "$(printf '%s\n%s\n' "$1" "$(kver)" | sort -V | head -n1)" = "$1" ]; }

# is_debug: this is a kernel with the checkers on (everything is slow)
is_debug() { [ -e /proc/lockdep ] || [ -e /sys/kernel/debug/kcsan ]; }

# scaled N [M]: N, or under the debug kernel M (default N/10, at least 1)
scaled() {
	if is_debug; then
		echo "${2:-$((($1 + 9) / 10))}"
	else
		echo "$1"
	fi
}

# need PROGRAM...: skip the whole test if one is missing
need() {
	local p
	for p; do
		command -v "$p" >/dev/null || ktap_skip_all "no program $p"
	done
}

# has_research: the modules were built with the variants of the literature, which
# SDP_RESEARCH=n leaves out. Asked in a namespace of its own, where nothing changes.
has_research() {
	local loaded=1 ret=0

	[ -d /sys/module/sdp ] || loaded=
	modprobe -q sdp
	unshare -n sh -c 'echo rdma >/proc/sys/net/sdp/flow_control' 2>/dev/null || ret=1
	[ "$loaded" ] || modprobe -q -r sdp
	return $ret
}

need_research() {
	has_research || ktap_skip_all "modules without the variants of the literature"
}

# klog TEXT: a line in the kernel log
klog() { echo "sdp-test: $*" >/dev/kmsg; }

# klog_allow REGEX: kernel messages matching it are expected until this test ends
klog_allow() { klog "allow $*"; }

# --------------------------------------------------------- clean-up, helpers

LIB_PIDS=()
LIB_DEFERRED=()

# defer COMMAND...: run when the test ends, last one first
defer() { LIB_DEFERRED+=("$(printf '%q ' "$@")"); }

# start_bg a|b|- COMMAND...: run in the background in that namespace; its pid is
# left in BG_PID, its output in $BG_LOG; killed when the test ends
start_bg() {
	local ns=$1
	shift
	BG_LOG=$(mktemp /tmp/bg.XXXXXX)
	case $ns in
	a | b) "in_$ns" "$@" >"$BG_LOG" 2>&1 </dev/null & ;;
	*) "$@" >"$BG_LOG" 2>&1 </dev/null & ;;
	esac
	BG_PID=$!
	LIB_PIDS+=("$BG_PID")
}

# children PID: leaves their PIDs in CHILDREN, without pgrep if the kernel lists them:
# starting it, and its look at all processes, takes a second under emulation
children() {
	local list of_thread

	CHILDREN=()
	if [ ! -e /proc/$$/task/$$/children ]; then
		mapfile -t CHILDREN < <(pgrep -P "$1")
		return
	fi
	for list in "/proc/$1/task"/*/children; do
		of_thread=()
		read -ra of_thread 2>/dev/null <"$list"
		CHILDREN+=("${of_thread[@]}")
	done
}

# kill_tree PID: the process and all that descends from it; stopped first, so
# that it does not replace a child meanwhile
kill_tree() {
	local child CHILDREN
	kill -STOP "$1" 2>/dev/null
	children "$1"
	for child in "${CHILDREN[@]}"; do
		kill_tree "$child"
	done
	kill -9 "$1" 2>/dev/null
	KILLED+=("$1")
}

# is_gone PID: the process has ended, or all of its threads are zombies; in both cases its
# files are closed
is_gone() {
	local task stat

	for task in "/proc/$1/task"/*/stat; do
		{ read -r stat <"$task"; } 2>/dev/null || continue
		[[ ${stat##*) } = [ZX]* ]] || return
	done
}

# stop_bg PID: end what start_bg started and wait for it. The shell cannot wait for
# its descendants, which may take a while to close their files; a process that hangs
# in the kernel is left alone after some time.
stop_bg() {
	local KILLED=() pid

	kill_tree "$1"
	wait "$1" 2>/dev/null
	for pid in "${KILLED[@]}"; do
		is_gone "$pid" || wait_for 5 is_gone "$pid"
	done
	return 0
}

# end_coproc NAME: close its input, and wait until it ends by itself: the shell reports
# one that is killed
end_coproc() {
	local -n pipes=$1
	local pid_name=$1_PID
	local pid=${!pid_name:-} in=${pipes[1]:-}

	[ -z "$in" ] || exec {in}>&-
	[ -n "$pid" ] || return 0
	wait_for 30 is_gone "$pid" || stop_bg "$pid"
	wait "$pid" 2>/dev/null
	return 0
}

lib_cleanup() {
	local rc=$? i
	trap - EXIT
	for i in "${LIB_PIDS[@]}"; do
		[ -d "/proc/$i" ] && stop_bg "$i"
	done
	for ((i = ${#LIB_DEFERRED[@]} - 1; i >= 0; i--)); do
		eval "${LIB_DEFERRED[i]}"
	done
	[ -z "$NET_MODE" ] || net_down
	exit $rc
}
trap lib_cleanup EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# said TEXT [FILE]: is it in the file, or else in $BG_LOG?
said() {
	local lines
	mapfile -t lines <"${2:-$BG_LOG}"
	[[ "${lines[*]}" = *"$1"* ]]
}

# nap SECONDS: as sleep, but no program is started: under emulation that costs more
# than what is waited for
exec {LIB_NAP}<> <(:)
nap() { read -rt "$1" -u "$LIB_NAP" || :; }

# wait_for SECONDS COMMAND...: wait until the command succeeds. The limit is PATIENCE (4)
# times SECONDS, which are enough on an idle machine.
wait_for() {
	local end=$((SECONDS + $1 * ${PATIENCE:-4}))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $end ]; then
			echo "# waited in vain: $*" >&2
			return 1
		fi
		nap 0.1
	done
}

# port_mapped a|b PORT: the port of the device for an SDP listener at that port
port_mapped() {
	local offset
	offset=$("in_$1" cat /proc/sys/net/sdp/port_offset 2>/dev/null)
	if [ "${offset:-0}" -eq 0 ] || [ "$2" -eq 0 ]; then
		echo "$2"
	elif [ "$2" -lt 1024 ]; then
		echo $(($2 + offset < 1024 ? 1024 : $2 + offset))
	else
		echo $((1024 + ($2 - 1024 + offset) % 64512))
	fi
}

port_listening() {
	local ns=$1 port=$2 mapped
	mapped=$(port_mapped "$1" "$2")
	if [ -n "$("in_$ns" ss -Hltn "sport = :$port or sport = :$mapped" 2>/dev/null)" ]; then
		return 0
	fi
	# A cm_id is in state LISTEN before its device listens. For iWARP the TCP listener shows
	# that the device does.
	[ "$NET_MODE" = one ] &&
		rdma resource show cm_id 2>/dev/null |
		grep -Eq "state LISTEN.*src-addr [^ ]*:($port|$mapped)( |\$)"
}

# no_sockets, no_queue_pairs: no SDP socket, no queue pair is left. no_sockets fails if
# sdpstat does; no_queue_pairs takes the output of an rdma that fails for an empty list.
no_sockets() {
	local all

	all=$(in_a sdpstat -a && in_b sdpstat -a) && ! grep -Evq '^(State|$)' <<<"$all"
}

no_queue_pairs() {
	local all

	all=$(rdma resource show qp) && ! grep -Evq '^$|type (GSI|SMI)' <<<"$all"
}

# bytes_of SIZE: SIZE may end in K or M
bytes_of() {
	case $1 in
	*K) echo $((${1%K} << 10)) ;;
	*M) echo $((${1%M} << 20)) ;;
	*) echo "$1" ;;
	esac
}

# each_size LIST: sizes between commas or spaces; one a line, in bytes
each_size() {
	local size

	for size in ${1//,/ }; do
		bytes_of "$size"
	done
}

# free_kb: KiB that are free, once nothing is being freed any more. MemFree does not
# include the per-CPU lists, which hold megabytes.
free_kb() {
	local kb last=-1

	for _ in {1..20}; do
		echo 3 >/proc/sys/vm/drop_caches
		kb=$(awk '$1 == "MemFree:" { kb += $2 } $1 == "count:" { kb += 4 * $2 }
			END { print kb }' /proc/meminfo /proc/zoneinfo)
		[ $((kb - last)) -gt 200 ] || [ $((last - kb)) -gt 200 ] || break
		last=$kb
		sleep 0.5
	done
	echo "$kb"
}

# pinned: pages that are pinned. Each processor counts by itself, so the kernel sums them
# first. none_pinned: as many as $PINNED, which the test has set before
pinned() {
	echo >/proc/sys/vm/stat_refresh
	awk '/nr_foll_pin_acquired/ { n += $2 } /nr_foll_pin_released/ { n -= $2 }
		END { print n + 0 }' /proc/vmstat
}

none_pinned() { [ "$(pinned)" -eq "$PINNED" ]; }

# wait_port a|b PORT [SECONDS]: until there is a listener, by TCP or RDMA
# (an iWARP listener is a TCP listener as well; others show as cm_id)
wait_port() { wait_for "${3:-20}" port_listening "$1" "$2"; }

# packages_up: programs of large packages, which the host shares with the guest
# (package_tree in selftests/vm/image.sh)
packages_up() {
	local root=/packages arch dir

	mkdir -p $root
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose \
		packages $root || ktap_skip_all "the host shares no packages"
	defer umount $root
	# paths that are compiled into the programs; some of the links are dangling
	for dir in "$root"/etc/* "$root"/usr/share/*; do
		[ -e "${dir#"$root"}" ] || ln -sf "$dir" "${dir#"$root"}"
	done
	arch=$(uname -m)-linux-gnu
	export LD_LIBRARY_PATH=$root/usr/lib/$arch:$root/lib/$arch TZ=GMT
}

# hold FUNCTION COMM [PARAMETER...]: load test_hold, see test_hold.c, until hold_end or the
# end of the test. Returns 1 on a kernel without probes, and ends the test with a failure if
# the kernel has no such function.
hold() {
	if modprobe test_hold symbol="$1" comm="$2" "${@:3}"; then
		defer hold_end
		return
	fi
	# A kernel without probes is a reason to skip. A function that is gone, or that the
	# compiler has inlined, is not.
	if grep -qw register_kprobe /proc/kallsyms && ! grep -qw "$1" /proc/kallsyms; then
		ktap_fail "the kernel has a function $1 to stop in"
		ktap_done
	fi
	return 1
}

hold_end() {
	hold_go
	modprobe -q -r test_hold
	return 0
}

HOLD=/sys/module/test_hold/parameters
hold_go() { [ ! -e $HOLD ] || echo 1 >$HOLD/go; }
hold_hits() { cat $HOLD/hits; }
is_held() { [ "$(hold_hits)" -gt 0 ]; }

# ------------------------------------------------------------------ topology

# NET_MODE: empty, "two" (namespaces a and b), "one" (both ends in the initial
# namespace, the only one that rxe supports) or "star" (see star_up)
NET_MODE=
NET_MTU=${NET_MTU:-1500}
# Kind of va and vb: veth or hnic
NET_LINK=${NET_LINK:-veth}

# Not empty: the devices' ports are those of the programs, for tests with peers that
# speak MPA themselves, or that look at packets
PLAIN_PORTS=${PLAIN_PORTS:-}

# plain_ports COMMAND...: no offset of ports in the namespace where the command runs
# programs
plain_ports() {
	modprobe -q sdp
	"$@" sysctl -qw net.sdp.port_offset=0
}

# in_a, in_b COMMAND...: run a program at that end
in_a() { if [ "$NET_MODE" = one ]; then "$@"; else in-ns a "$@"; fi; }
in_b() { if [ "$NET_MODE" = one ]; then "$@"; else in-ns b "$@"; fi; }

# ping_all N ARGUMENT...: rping from a, N times, data compared. Its exit status is 0
# whenever the peer ends the connection, so its lines of output, one for each answer, are
# counted.
ping_all() {
	local n=$1 out rc seen

	shift
	out=$(mktemp)
	in_a timeout 200 rping -c -C "$n" -V -v "$@" > "$out" 2>&1
	rc=$?
	seen=$(grep -c '^ping data: ' "$out")
	echo "rc=$rc, $seen of $n"
	grep -v '^ping data: ' "$out"
	rm -f "$out"
	[ "$rc" -eq 0 ] && [ "$seen" -eq "$n" ]
}

# sdp_echoes ADDRESS PORT: for a second, a client of sdp-echo in a gets back what it sends
sdp_echoes() {
	local client

	start_bg a sdp-echo -h "$1" -p "$2"
	client=$BG_PID
	if ! wait_for 20 said connected; then
		cat "$BG_LOG"
		stop_bg "$client"
		return 1
	fi
	nap 1
	kill -TERM "$(pgrep -x sdp-echo -P "$client" || echo "$client")"
	wait "$client" || return
	cat "$BG_LOG"
	grep -q ' [1-9][0-9]* echoes' "$BG_LOG"
}

# sdp_counter a|b NAME: one of what sdpstat -s shows
sdp_counter() { "in_$1" sdpstat -s -z | awk -v name="$2" '$1 == name { print $2 }'; }

# net_up: a has va 10.0.0.1/24 fd00::1/64 (ifindex 101), b has vb 10.0.0.2/24
# fd00::2/64 (ifindex 102).  Distinct indexes, or wildcard listens on the two
# RDMA devices collide. With NETIF_A and NETIF_B, two devices of the machine that are
# connected to each other, va and vb are these.
net_up() {
	net_down
	modprobe -q "$NET_LINK"
	ip netns add a && ip netns add b || return
	NET_MODE=two
	if [ "$NET_LINK" = veth ] && [ -n "${NETIF_A:-}" ]; then
		net_borrow a va "$NETIF_A" && net_borrow b vb "${NETIF_B:-}" || return
	else
		ip link add va index 101 mtu "$NET_MTU" netns a type "$NET_LINK" \
			peer name vb index 102 mtu "$NET_MTU" netns b || return
	fi
	net_addr a va 1 && net_addr b vb 2
}

# net_borrow NETNS NAME DEV: take a device of the machine, until net_return
net_borrow() {
	ip link set "$3" down && ip link set "$3" netns "$1" name "$2" &&
		ip -n "$1" link set "$2" mtu "$NET_MTU"
}

# net_return NETNS NAME DEV: give the device back; does nothing if that was done
net_return() {
	[ -z "$3" ] || ip link show dev "$3" >/dev/null 2>&1 ||
		ip -n "$1" link set "$2" netns $$ name "$3" 2>/dev/null
}

# net_addr NETNS DEV HOST: set up the device with the addresses of that host
net_addr() {
	[ -z "$PLAIN_PORTS" ] || plain_ports in-ns "$1"
	# No duplicate address detection: addresses are usable at once
	in-ns "$1" sh -c "echo 0 > /proc/sys/net/ipv6/conf/$2/accept_dad"
	ip -n "$1" link set lo up
	ip -n "$1" addr add "10.0.0.$3/24" dev "$2"
	ip -n "$1" addr add "fd00::$3/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# star_up N: namespaces n1 ... nN, each with vI 10.0.0.I/24 fd00::I/64 (ifindex 100 + I),
# whose other end is a port of a bridge in the namespace sw. See in_n, dev_up_all.
star_up() {
	local i

	net_down
	modprobe -q -a "$NET_LINK" bridge
	NET_MODE=star
	STAR_N=$1
	ip netns add sw && ip -n sw link add br0 type bridge && ip -n sw link set br0 up || return
	for ((i = 1; i <= STAR_N; i++)); do
		ip netns add "n$i" || return
		ip link add "v$i" index $((100 + i)) mtu "$NET_MTU" netns "n$i" type "$NET_LINK" \
			peer name "s$i" mtu "$NET_MTU" netns sw || return
		ip -n sw link set "s$i" master br0 up
		net_addr "n$i" "v$i" "$i" || return
	done
}

# in_n I COMMAND...: in the namespace of host I
in_n() { in-ns "n$1" "${@:2}"; }

# dev_up_all KIND: RDMA links rd1 ... rdN, hybrid or siw
dev_up_all() {
	local i

	modprobe -q -a ib_uverbs rdma_ucm
	for ((i = 1; i <= STAR_N; i++)); do
		in_n "$i" rdma link add "rd$i" type "$1" netdev "v$i" || return
	done
}

star_down() {
	local i

	for ((i = 1; i <= STAR_N; i++)); do
		rdma link delete "rd$i" 2>/dev/null
		ip netns del "n$i" 2>/dev/null
	done
	ip netns del sw 2>/dev/null
}

# net_up_one: both ends in the initial namespace; policy routing forces the
# traffic between 10.0.0.1 (va) and 10.0.0.2 (vb) over the wire
net_up_one() {
	local d
	net_down
	if [ -n "$PLAIN_PORTS" ]; then
		modprobe -q sdp
		defer sysctl -qw net.sdp.port_offset="$(sysctl -n net.sdp.port_offset)"
		plain_ports
	fi
	modprobe -q "$NET_LINK"
	ip link add va mtu "$NET_MTU" type "$NET_LINK" peer name vb mtu "$NET_MTU" || return
	NET_MODE=one
	for d in va vb; do
		echo 1 >/proc/sys/net/ipv4/conf/$d/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$d/rp_filter
		ip link set $d up
	done
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	ip addr add 10.0.0.1/32 dev va
	ip addr add 10.0.0.2/32 dev vb
	ip route add 10.0.0.2 dev va src 10.0.0.1 table 77
	ip route add 10.0.0.1 dev vb src 10.0.0.2 table 77
	ip rule add pref 100 iif va to 10.0.0.1 lookup local
	ip rule add pref 100 iif vb to 10.0.0.2 lookup local
	ip rule add pref 101 to 10.0.0.0/24 lookup 77
	ip rule add pref 200 lookup local
	ip rule del pref 0
}

# net_down: undo net_up and dev_up; no error if there is nothing to undo
net_down() {
	dev_down
	[ "$NET_MODE" != star ] || star_down
	net_return a va "${NETIF_A:-}"
	net_return b vb "${NETIF_B:-}"
	ip netns del a 2>/dev/null
	ip netns del b 2>/dev/null
	if [ "$NET_MODE" = one ] || ip link show va >/dev/null 2>&1; then
		ip rule add pref 0 lookup local 2>/dev/null
		ip rule del pref 100 2>/dev/null
		ip rule del pref 100 2>/dev/null
		ip rule del pref 101 2>/dev/null
		ip rule del pref 200 2>/dev/null
		ip route flush table 77 2>/dev/null
		ip link del va 2>/dev/null
	fi
	NET_MODE=
	return 0
}

# dev_up KIND_A KIND_B: RDMA links rda (a, on va) and rdb (b, on vb); a kind is
# hybrid, siw or rxe.  If one is rxe, both must be; the topology has one namespace then.
dev_up() {
	local m
	for m in ib_uverbs rdma_ucm; do
		modprobe -q "$m"
	done
	if [ "$1" = rxe ] || [ "$2" = rxe ]; then
		if [ "$1" != "$2" ]; then
			echo "# dev_up: rxe talks only to rxe" >&2
			return 1
		fi
		[ "$NET_MODE" = one ] || net_up_one || return
	else
		[ "$NET_MODE" = two ] || net_up || return
	fi
	dev_add a rda va "$1" && dev_add b rdb vb "$2"
}

# dev_add a|b NAME NETDEV KIND: the module of the kind is loaded by its alias
dev_add() { "in_$1" rdma link add "$2" type "$4" netdev "$3"; }

dev_down() {
	local d
	for d in rda rdb; do
		rdma link delete "$d" 2>/dev/null
	done
	return 0
}
