#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Promises of the VM runner about a COMMAND: the run has its exit status, or one for the
# failure of the guest, and a log that shows the reason. Also the choice of tests. Run by
# scripts/check.sh --long, and alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
unset MAKEFLAGS MAKELEVEL MFLAGS
build=${BUILD:-$TOP/build}
out=$WORK/out

# guest STATUS OPTION...: a run with these options ends with that status
guest() {
	local want=$1 got

	shift
	rm -rf "$out"
	"$TOP/selftests/vm/run.sh" -k 6.1 -b "$build" -o "$out" "$@"
	got=$?
	echo "exit status $got, not $want"
	[ $got -eq "$want" ]
}

# logged WORDS: they are in the console's log
logged() { grep -aq "$1" "$out/console.log" || { tail -n 5 "$out/console.log"; false; }; }

# asks WORDS "FIELD...": the runner's fields for a test whose "# vm:" line has these words
asks() {
	mkdir -p "$WORK/tree/made"
	printf '#!/bin/sh\n# vm: %s\n' "$1" >"$WORK/tree/made/up.sh"
	chmod +x "$WORK/tree/made/up.sh"
	PYTHONPATH=$TOP/selftests/vm python3 -B -c 'if True:
		import sys, vm
		test, = vm.find_tests(sys.argv[1], [], (False, True), False, 1)
		print(*[test[word] for word in sys.argv[2].split()])' "$WORK/tree" "$2"
}

# says WANTED COMMAND...: its output is WANTED
says() {
	local want=$1 got

	shift
	got=$("$@")
	echo "\"$got\", not \"$want\""
	[ "$got" = "$want" ]
}

# shares PART...: the tests of each part, out of six
shares() {
	PYTHONPATH=$TOP/selftests/vm python3 -B -c 'if True:
		import sys, vm
		tests = [{"name": name} for name in ("a/1", "a/2", "vm/leak", "a/3", "a/4", "a/5")]
		for part in sys.argv[1:]:
			print(*[test["name"] for test in vm.share(tests, part)])' "$@" | sed '/^#/d'
}

# refused PART: status 2, with a sentence about the part
refused() {
	PART=$1 "$TOP/selftests/vm/run.sh" 2>"$WORK/said"
	[ $? -eq 2 ] && grep "PART=$1: a part of the tests is" "$WORK/said"
}

# built FILE: modules that are there after 20 seconds, with the lock of a build until then
built() {
	mkdir -p "$WORK/build/6.1"
	(
		flock 9
		echo locked >"$1"
		sleep 20
		cp -r "$build/6.1/modules" "$WORK/build/6.1/"
	) 9>"$WORK/build/6.1/lock" &
	until [ -s "$1" ]; do
		sleep 0.1
	done
}

# a process that takes a while to give its memory back, and is no child of the shell
cat >"$WORK/ended" <<'END'
. /selftests/lib/lib.sh
echo never >/sys/kernel/mm/transparent_hugepage/enabled
start_bg - sh -c 'python3 -uc "import time; x = bytes([1]) * (1 << 30); print(1); time.sleep(600)"; :'
wait_for 60 said 1 || exit 2
children "$BG_PID"
while [ ${#CHILDREN[@]} -eq 1 ]; do
	pid=${CHILDREN[0]}
	children "$pid"
done
grep -q '^python3' "/proc/$pid/cmdline" || exit 3
stop_bg "$BG_PID"
{ read -r stat <"/proc/$pid/stat"; } 2>/dev/null || exit 0
echo "$stat"
[[ $stat = *') Z '* ]]
END

check "a test without requests shares a guest" says "120 0 False" asks "" "timeout mem fresh"
check "a test that requests memory has a guest of its own" \
	says "30 4G True" asks "long mem=4G timeout=30" "timeout mem fresh"
check "the parts of the tests are all of them, and each has the tests of the runner" \
	says $'vm/leak a/1 a/3 a/5\nvm/leak a/2 a/4' shares 1/2 2/2
check "a part that is not there is refused" refused 3/2
check "the status of a command is returned" guest 7 -c 'exit 7'
# shellcheck disable=SC2016 # in the guest
check "a successful test passes" guest 0 -n -c 'echo it is there >$OUT/file'
check "the file of a successful test is kept" grep -rqx "it is there" "$out/files"
check "processes that a test ended are gone" guest 0 -n -f "$WORK/ended:/ended" -c 'bash /ended'
built "$WORK/locked"
check "modules that another run builds are awaited" guest 0 -n -b "$WORK/build" -c 'modprobe sdp'
check "a program that is given by its path is refused" guest 2 -n -p /bin/true -c true
check "a program that is not there is refused" guest 2 -n -p no-such-program -c true
check "a guest that dies is a failure" guest 99 -n -c 'echo c >/proc/sysrq-trigger; sleep 600'
check "the reason is shown" logged "sysrq triggered crash"
check "a command that takes too long is a failure" guest 124 -n -t 5 -c 'sleep 600'
check "the tasks of the guest are shown" logged "task:sleep "
check "a warning of the kernel is a failure" guest 98 -n -c 'echo "WARNING: CPU: 0 PID: 1 at made/up.c:1" >/dev/kmsg'
check "a command that fails with a warning is one failure" guest 7 -n \
	-c 'echo "WARNING: CPU: 0 PID: 1 at made/up.c:1" >/dev/kmsg; exit 7'
check "a directory of tests runs" guest 0 -n vm
check "tests for this kernel run" test -e "$out/vm-smoke.tap"
check "other tests do not run" test ! -e "$out/vm-leak.tap"
tap_done
