#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the tests that "make -C selftests install" has put beside this script, as root, on
# the machine itself. Output and most options are those of the kernel's run_kselftest.sh;
# -h lists all options.
set -u

usage() {
	cat <<'END'
usage: run_kselftest.sh [OPTION]...

Runs installed tests, one after the other, and prints TAP: "ok", "not ok" or, with the
reason, "SKIP" for each, and the totals. Exit status 0 if none failed, 1 if one failed, 2 for
a wrong option, 4 if none ran.

  -t COLLECTION:TEST  run this test (several times: these); sdp:binding or
                      sdp:binding.sh
  -c COLLECTION       run the tests of this collection (several times: of these)
  -l                  list the tests, and run none
  -d                  say what would run, and run nothing
  -s                  no output of the tests, which goes to files
  -o SECONDS          time limit of each test, instead of its own
  -L                  with the tests that take long
  -A DEV  -B DEV      two network devices that are connected to each other. The tests
                      use them instead of a veth pair, in network namespaces, and give
                      them back without addresses.
  -h                  this text

Files of the tests go to $OUT, a new directory in /tmp if it is not set. Tests load and
remove modules, make the network namespaces a and b, and remove the RDMA links rda and
rdb: use a machine that does nothing else.
END
	exit "$1"
}

fail() {
	echo "run_kselftest.sh: $*; -h shows what there is" >&2
	exit 2
}

BASE=$(realpath "$(dirname "$0")")
LIST=$BASE/kselftest-list.txt
# A line of the kernel's log that fails a test, as in the VM
TROUBLE='BUG:|WARNING:|Oops|general protection fault|KASAN|UBSAN:|refcount_t:|blocked for more'
TROUBLE+='|unregister_netdevice: waiting|soft lockup|Unknown symbol'
declare -A named=()
picked=() list='' dry='' quiet='' limit='' long='' dev_a='' dev_b=''

# pick TEXT PATTERN: the tests of the list that match, in FOUND
pick() {
	mapfile -t FOUND < <(grep -E "^$2\$" "$LIST")
	[ ${#FOUND[@]} -gt 0 ] || fail "there is no $1"
	picked+=("${FOUND[@]}")
}

# pick_test COLLECTION:TEST: runs even if it is a long one
pick_test() {
	local name=${1%.sh}

	pick "test $1" "${name//[^A-Za-z0-9_:-]/.}\\.sh"
	named[${FOUND[0]}]=1
}

[ -r "$LIST" ] || fail "there is no $LIST: this script runs where it was installed"
while getopts t:c:ldso:LA:B:h opt; do
	case $opt in
	t) pick_test "$OPTARG" ;;
	c) pick "collection $OPTARG" "${OPTARG//[^a-z_]/.}:.*" ;;
	l) list=1 ;;
	d) dry=1 ;;
	s) quiet=1 ;;
	o) limit=$OPTARG ;;
	L) long=1 ;;
	A) dev_a=$OPTARG ;;
	B) dev_b=$OPTARG ;;
	h) usage 0 ;;
	*) usage 2 >&2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || fail "$1 is no option"
[[ -z $limit || $limit =~ ^[1-9][0-9]*$ ]] || fail "-o takes seconds, not \"$limit\""
[ ${#picked[@]} -gt 0 ] || mapfile -t picked <"$LIST"
if [ -n "$list" ]; then
	printf '%s\n' "${picked[@]}"
	exit 0
fi
if [ -n "$dev_a$dev_b" ]; then
	if [ -z "$dev_a" ] || [ -z "$dev_b" ] || [ "$dev_a" = "$dev_b" ]; then
		fail "-A and -B name two devices"
	fi
	for dev in "$dev_a" "$dev_b"; do
		ip link show dev "$dev" >/dev/null 2>&1 || fail "there is no network device $dev"
	done
	export NETIF_A=$dev_a NETIF_B=$dev_b
fi
[ -n "$dry" ] || [ "$(id -u)" -eq 0 ] || fail "the tests require root"
PATH=$BASE/bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin

# words FILE: what its line "# vm:" asks for
words() { sed -n '1,20s/^# vm://p' "$1"; }

# word NAME WORDS: the value of NAME=VALUE
word() { sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" <<<"$2"; }

# unfit WORDS: print why the test cannot run here; nothing if it can
unfit() {
	local kb mem m

	for m in sdp iwarp_hybrid; do
		modprobe -n -q "$m" && continue
		echo "no module $m for this kernel"
		return
	done
	case " $1 " in
	*" count "*)
		echo "counts instructions, in the VM only"
		return
		;;
	*" debug "*)
		[ -e /proc/lockdep ] || echo "needs a kernel with lockdep and fault injection"
		;;
	*" nodebug "*)
		[ ! -e /proc/lockdep ] || echo "needs a kernel without lockdep"
		;;
	esac
	mem=$(word mem "$1")
	kb=$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)
	# nine tenths, which is what the kernel leaves of a machine of that size
	[ -z "$mem" ] || [ "$kb" -ge $((${mem%G} * 943718)) ] || echo "needs $mem of memory"
}

# trouble MARK: lines of the kernel's log since MARK that match TROUBLE, except for those that
# the test allows by klog_allow
trouble() {
	local allow

	dmesg | sed "0,/$1/d" >"$OUT/dmesg"
	allow=$(sed -n 's/.*sdp-test: allow //p' "$OUT/dmesg" | paste -sd'|')
	grep -E "$TROUBLE" "$OUT/dmesg" | grep -Ev "${allow:-^\$}"
	rm -f "$OUT/dmesg"
}

# run NUMBER COLLECTION TEST: run it, and print its result; returns 0, 4 if it was skipped, or
# another status if it failed
run() {
	local path=$BASE/$2/$3 name="selftests: $2: $3" log=$TOP_OUT/$2-$3.log mark rc secs what
	local ask why

	ask=$(words "$path")
	why=$(unfit "$ask")
	if [ -n "$why" ]; then
		echo "ok $1 $name # SKIP $why"
		return 4
	fi
	secs=${limit:-$(word timeout "$ask")}
	secs=${secs:-120}
	echo "# timeout set to $secs"
	echo "# $name"
	export OUT=$TOP_OUT/$2-$3
	mkdir -p "$OUT"
	mark="kselftest: $2-$3 $1 $$"
	echo "<5>$mark" >/dev/kmsg
	cd "$BASE/$2" || return 1
	if [ -n "$quiet" ]; then
		timeout -k 20 "$secs" "$path" </dev/null >"$log" 2>&1
	else
		timeout -k 20 "$secs" "$path" </dev/null 2>&1 | tee "$log" | sed -u 's/^/# /'
		(exit "${PIPESTATUS[0]}")
	fi
	rc=$?
	what=$(trouble "$mark")
	rmdir "$OUT" 2>/dev/null
	if [ -n "$what" ]; then
		printf '# %s\n' "${what//$'\n'/$'\n# '}"
		echo "not ok $1 $name # the kernel's log has a report"
		return 1
	fi
	case $rc in
	0) echo "ok $1 $name" ;;
	4) echo "ok $1 $name # SKIP $(sed -n 's/^1\.\.0 # SKIP //p' "$log")" ;;
	124 | 137) echo "not ok $1 $name # TIMEOUT $secs seconds" ;;
	*) echo "not ok $1 $name # exit=$rc" ;;
	esac
	return $rc
}

wanted=()
for test in "${picked[@]}"; do
	path=$BASE/${test%%:*}/${test#*:}
	if [ -n "$long${named[$test]:-}" ] || [[ " $(words "$path") " != *" long "* ]]; then
		wanted+=("$test")
	fi
done
if [ -n "$dry" ]; then
	for test in "${wanted[@]}"; do
		why=$(unfit "$(words "$BASE/${test%%:*}/${test#*:}")")
		echo "$test${why:+ # SKIP $why}"
	done
	exit 0
fi
TOP_OUT=${OUT:-$(mktemp -dt kselftest.XXXXXX)}
export TOP_OUT PATH SELFTESTS=$BASE
echo "TAP version 13"
echo "1..${#wanted[@]}"
n=0 pass=0 skip=0 bad=0
for test in "${wanted[@]}"; do
	n=$((n + 1))
	run $n "${test%%:*}" "${test#*:}"
	case $? in
	0) pass=$((pass + 1)) ;;
	4) skip=$((skip + 1)) ;;
	*) bad=$((bad + 1)) ;;
	esac
done
echo "# Totals: pass:$pass fail:$bad xfail:0 xpass:0 skip:$skip error:0"
echo "# logs: $TOP_OUT"
[ $bad -eq 0 ] || exit 1
[ $pass -gt 0 ] || exit 4
