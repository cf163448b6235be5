#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run selftests, or anything, in a virtual machine.  See usage below, and
# Documentation/testing.rst.
set -euo pipefail

usage() {
	cat <<'END'
usage: selftests/vm/run.sh [OPTION]... [TEST]...

Boots a kernel with the project's modules, programs and tests, freshly built,
and runs the tests (all, if none is named): selftests/sdp/binding.sh, sdp/binding,
or a whole directory such as sdp.  Exit status 0 if none failed.

  -k KERNEL    6.1 (default), rt, 6.12, 7, debug or kcsan
  -c COMMAND   run this shell command instead of tests; its output and exit
               status are passed on
  -i           interactive shell in the guest
  -l           with the tests marked "long"
  -L           only those, the shortest first
  -j N         spread the tests over N virtual machines
  -A           if at most three tests failed, without a report from the kernel, run
               each once more by itself; one that then passes is named as flaky
  -v           show the tests' output as it comes
  -t SECONDS   time limit of COMMAND (default 600)
  -o DIR       where logs and files of the guest go (default build/KERNEL/run)
  -b DIR       build directory (default build)
  -n           build nothing, take what is in the build directory
  -p PROGRAM   put this program of the host into the guest too
  -P PACKAGE   share the files of this Debian package with the guest: packages_up of
               selftests/lib/lib.sh
  -f SRC:DST   put this file or directory into the guest
  -K FILE.ko   put this module into the guest (instead of one built here)
  -a ARGS      more kernel arguments
  --count      deterministic timing: one CPU, one instruction is one nanosecond
  --smp N      CPUs (default 2)       --mem SIZE   memory (default 2G)
  --qemu ARG   pass an argument on to qemu

In the guest: user programs in /bin, tests in /selftests, our modules found by
modprobe and by their aliases.  What is written to $OUT (/out/...) appears in
DIR/files.  DIR/console.log is the kernel's log: a warning, oops, lockdep, KASAN
or leak report in it fails the test (98 for a COMMAND that otherwise succeeded;
99: the guest died, 124: time limit).
END
	exit "${1:-2}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=scripts/cache.sh
. "$top/scripts/cache.sh"
# shellcheck source=scripts/apt.sh
. "$top/scripts/apt.sh"
# shellcheck source=selftests/vm/image.sh
. "$here/image.sh"

kernel=${KERNEL:-6.1} build=${BUILD:-$top/build} out='' nobuild='' command=''
shell='' mem='' programs=() packages=() files=() kos=() vm=() tests=() qemu=()
while [ $# -gt 0 ]; do
	case $1 in
	-[kcjtobpPfKa] | --smp | --mem | --qemu)
		if [ $# -lt 2 ]; then
			echo "run.sh: $1 needs a value; -h shows what there is" >&2
			exit 2
		fi
		;;
	esac
	case $1 in
	-k) kernel=$2; shift ;;
	-c) command=$2; shift ;;
	-i) shell=1 ;;
	-l) vm+=(--long) ;;
	-L) vm+=(--only-long) ;;
	-j) vm+=(--lanes "$2"); shift ;;
	-A) vm+=(--again) ;;
	-v) vm+=(--verbose) ;;
	-t) vm+=(--timeout "$2"); shift ;;
	-o) out=$2; shift ;;
	-b) build=$2; shift ;;
	-n) nobuild=1 ;;
	-p) programs+=("$2"); shift ;;
	-P) packages+=("$2"); shift ;;
	-f) files+=("$2"); shift ;;
	-K) kos+=("$2"); shift ;;
	-a) vm+=(--append="$2"); shift ;;
	--count) vm+=(--count) ;;
	--smp) vm+=(--smp "$2"); shift ;;
	--mem) mem=$2; shift ;;
	--qemu) qemu+=("$2"); shift ;;
	-h | --help) usage 0 ;;
	-*)
		echo "run.sh: there is no option $1; -h shows what there is" >&2
		exit 2
		;;
	*) tests+=("$1") ;;
	esac
	shift
done
# Before anything is fetched or built
for p in "${programs[@]}"; do
	if [[ $p = */* ]] || ! PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$p" >/dev/null; then
		echo "run.sh: -p needs the name of a program in the directories of the system: $p" >&2
		exit 2
	fi
done
PYTHONPATH=$here /usr/bin/python3 -B -c 'if True:
	import sys, vm
	vm.share(vm.find_tests(sys.argv[1], sys.argv[3:], (False, True), False, 1), sys.argv[2])
	' "$top/selftests" "${PART:-1/1}" "${tests[@]}" >/dev/null || exit 2
mkdir -p "$build"
build=$(cd "$build" && pwd)
out=$(realpath -m "${out:-$build/$kernel/run}")
# It is emptied below; a shell does without
if [ -z "$shell" ]; then
	mkdir -p "$(dirname "$out")"
	exec {own}>>"$out.lock"
	# one that was ended may need a moment
	if ! flock -w 3 "$own"; then
		echo "run.sh: process $(cat "$out.lock") writes to $out: wait for its end, or name another directory by -o DIR" >&2
		exit 2
	fi
	echo $$ >"$out.lock"
fi

vars=$("$top/scripts/kernel.sh" "$kernel")
eval "$vars"
# Modules that only tests of upper layers want, most of them long ones
case " ${vm[*]} ${tests[*]} " in
*"-long "* | *ulp*)
	vars=$("$top/scripts/kernel.sh" --more "$kernel")
	eval "$vars"
	dir=$("$top/scripts/rtrs-modules.sh" "$kernel")
	[ -z "$dir" ] || kos+=("$dir"/*.ko)
	;;
esac
# They take ten minutes to build, once
case " ${vm[*]} ${tests[*]} " in
*" --long "* | *ulp/smb* | *" ulp "*)
	dir=$("$top/scripts/smb-modules.sh" "$kernel")
	if [ -n "$dir" ]; then
		kos+=("$dir"/*.ko)
		files+=("$dir/ksmbd.tools:/bin/ksmbd.tools")
		# some of what they need they ask for by name only
		GUEST_MODULES+=(cifs ksmbd nls_utf8
			crypto-{ecb,cmac,ctr,ccm,gcm,ghash,sha512})
	fi
	;;
esac
if [ -z "$nobuild" ]; then
	"$top/scripts/build-modules.sh" "$kernel" "$build"
	"$top/scripts/build-user.sh" "$build"
fi
userland "${programs[@]}"
# Programs too large for the guest's memory, for those tests that want them
share='' spark=
case " ${vm[*]} " in *"-long "*) share=1 spark=1 ;; esac
for f in "${tests[@]#selftests/}"; do
	! grep -Erqs '^spark_up' "$top/selftests/${f%.sh}"{,.sh} || spark=1
	! grep -Erqs '^packages_up|^need gonet' "$top/selftests/${f%.sh}"{,.sh} || share=1
done
[ -n "$share" ] || TREE_PACKAGES=()
# For a shell: programs that people look for there
[ -z "$shell" ] || packages+=(linux-perf postgresql mandoc)
TREE_PACKAGES+=("${packages[@]}")
[ ${#TREE_PACKAGES[@]} -eq 0 ] || package_tree
if [ -d "${PACKAGE_TREE:-}" ]; then
	qemu+=(-virtfs "local,path=$PACKAGE_TREE,mount_tag=packages,security_model=none,readonly=on")
fi
if [ -n "$share" ]; then
	go_program "$top/selftests/programs/gonet.go"
	redis_tests
	files+=("$GO_DIR/gonet:/bin/gonet")
	[ -z "$REDIS_TESTS" ] || files+=("$REDIS_TESTS:/redis/tests")
fi
if [ -n "$spark" ]; then
	spark_jars
	[ -z "$SPARK" ] ||
		qemu+=(-virtfs "local,path=$SPARK,mount_tag=spark,security_model=none,readonly=on")
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The project's part of the guest
stage() {
	local root=$work/root f src dst
	mkdir -p "$root"/usr/{bin,lib/sdp} "$root/selftests"
	cp "$here/init" "$root/init"
	rsync -a --exclude='*.[cho]' --exclude=Makefile "$top/selftests/" "$root/selftests/"
	if [ -d "$build/selftests" ]; then
		rsync -a --exclude='*.[do]' --exclude=/unit --exclude=/obj "$build/selftests/" "$root/selftests/"
	fi
	for f in "$build/tools"/* "$build/selftests"/* "$build/examples"/*; do
		case $f in
		*.so) install -t "$root/usr/lib/sdp" "$f" ;;
		*) [ ! -f "$f" ] || [ ! -x "$f" ] || install -t "$root/usr/bin" "$f" ;;
		esac
	done
	for f in "$top"/Documentation/man/*; do
		install -D -m 644 -t "$root/usr/share/man/man${f##*.}" "$f"
	done
	install -D -m 644 -t "$root/usr/share/doc/sdp-tools" "$top/README.rst" \
		"$top"/Documentation/*.rst
	install -D -m 644 -t "$root/usr/share/doc/sdp-tools/examples" \
		"$top/tools/conf/sdp-sysctl.conf"
	for f in "${files[@]}"; do
		src=${f%%:*} dst=${f#*:}
		case $dst in
		/bin/* | /sbin/* | /lib/*) dst=/usr$dst ;;
		esac
		mkdir -p "$root$(dirname "$dst")"
		cp -rL "$src" "$root$dst"
	done
	if [ -n "$command" ]; then
		printf '#!/bin/bash\ncd /\n%s\n' "$command" >"$root/selftests/command"
		chmod +x "$root/selftests/command"
	fi
	# shellcheck disable=SC2046
	add_libs "$root" $(find "$root" -type f -perm -100)
}

# unchanged FILE: take the lock of the builders, so that what is read now does not change
unchanged() {
	local lock
	[ -e "$1" ] || return 0
	exec {lock}<"$1"
	flock -s "$lock"
	locks+=("$lock")
}

locks=()
unchanged "$build/$kernel/lock"
unchanged "$build/user.lock"
# Modules built here, unless replaced by -K
for f in "$build/$kernel/modules"/*.ko; do
	[ -e "$f" ] || continue
	case " ${kos[*]##*/} " in
	*" ${f##*/} "*) ;;
	*) kos+=("$f") ;;
	esac
done
stage
modules_image "$work/root" "${kos[@]}"
for lock in "${locks[@]}"; do
	exec {lock}<&-
done
pack "$work/root" >"$work/project.cpio"
cat "$USERLAND" "$work/project.cpio" >"$work/initrd"
rm -f "$work/project.cpio"

case $kernel in
debug | kcsan) vm+=(--debug --factor "${FACTOR:-8}" --mem "${mem:-4G}") ;;
*) vm+=(--factor "${FACTOR:-4}" --mem "${mem:-2G}") ;;
esac
vm+=(--budget "${BUDGET:-0}" --part "${PART:-1/1}" --accel "$("$here/accel.sh")" --kernel "$K_BOOT" --initrd "$work/initrd" --out "$out")
for f in "${tests[@]}"; do
	vm+=(--test "$f")
done
if [ -n "$shell" ]; then
	vm+=(--shell)
elif [ -n "$command" ]; then
	vm+=(--command /selftests/command --verbose)
else
	vm+=(--tree "$work/root/selftests")
fi
if [ -z "$shell" ]; then
	rm -rf "$out"
	mkdir -p "$out"
fi
rc=0
# It ends with this script, and leaves nothing behind
TMPDIR=$work setpriv --pdeathsig TERM /usr/bin/python3 "$here/vm.py" "${vm[@]}" -- "${qemu[@]}" || rc=$?
# isa-debug-exit knows no other end of a shell, see init
[ -z "$shell" ] || [ $rc -ne 1 ] || rc=0
exit $rc
