#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installation in the two ways that the documents name: "make install", and DKMS. Into
# directories of its own; the modules that DKMS builds are loaded in a guest. Run by
# scripts/check.sh --long, and alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"

MODULES=(hnic iwarp_hybrid libiwarp rdma_stack sdp sdp_diag)
build=${BUILD:-$TOP/build}
# our own, not those of a make that called this
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BUILD KDIR

# A copy as a user has it, nothing built
rsync -a --exclude=/build --exclude=/.git "$TOP/" "$WORK/src"
cd "$WORK/src" || exit 2
# The kernel that the guest has: newer headers may be installed here
vars=$("$TOP/scripts/kernel.sh" 6.1) || exit 2
eval "$vars"
export KDIR=$K_KDIR
release=$K_RELEASE
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)

# ------------------------------------------------------------- make install

installed() {
	local f missing=0

	for f; do
		[ -s "$WORK/stage$f" ] || { echo "missing: $f"; missing=1; }
	done
	return $missing
}

headers_compile() {
	local f
	for f in include/uapi/linux/*.h; do
		echo "#include <linux/${f##*/}>" | gcc -Wall -Werror -fsyntax-only \
			-idirafter "$WORK/stage/usr/include" -x c - || return
	done
}

# modules_in DIR: these modules and no others, for that kernel, with this version and the alias
# that loads sdp
modules_in() {
	local name

	[ "$(cd "$1" && echo ./*.ko | tr -d './')" = \
		"${MODULES[*]/%/ko}" ] || { ls "$1"; return 1; }
	for name in "${MODULES[@]}"; do
		[[ $(modinfo -F vermagic "$1/$name.ko") = "$release "* ]] || return
		[[ $(modinfo -F license "$1/$name.ko") = *GPL* ]] || return
		[ "$(modinfo -F version "$1/$name.ko")" = "$version" ] || return
	done
	modinfo -F alias "$1/sdp.ko" | grep -qx net-pf-27
}

# Built for the default /usr/local, then installed for /usr
check "make succeeds" make
check "make install succeeds" make install DESTDIR="$WORK/stage" PREFIX=/usr
check "programs, headers and manual pages are installed" installed \
	/usr/bin/sdp-run /usr/bin/sdpbench /usr/sbin/sdpstat \
	/usr/lib/sdp/libsdp.so /usr/include/linux/sdp.h \
	/usr/share/man/man1/sdp-run.1 /usr/share/man/man7/sdp.7 \
	/usr/share/man/man8/sdpstat.8
check "the headers can be included" headers_compile
check "the modules are installed" modules_in "$WORK/stage/lib/modules/$release/updates"

# fails_midway: a directory of pages cannot be made, while later ones can
fails_midway() {
	mkdir -p "$WORK/half/usr/share/man"
	: >"$WORK/half/usr/share/man/man1"
	! make install-doc DESTDIR="$WORK/half" PREFIX=/usr
}
check "a page that cannot be installed is a failure" fails_midway

# relative: all names are relative to the directory where make was called
relative() {
	make install-tools install-doc DESTDIR=stage BUILD=out PREFIX=/usr || return
	[ -x stage/usr/bin/sdp-run ] && [ -s stage/usr/share/man/man1/sdp-run.1 ] &&
		[ -x out/tools/sdp-run ] && [ ! -e tools/stage ] && [ ! -e tools/out ]
}
check "make install works with relative directory names" relative
rm -rf stage out

# runs PREFIX: the programs there print the version, and sdp-run has the path of the library there
runs() {
	[[ $("$1/bin/sdp-run" --version) = *"$version"* ]] &&
		[[ $("$1/sbin/sdpstat" --version) = *"$version"* ]] &&
		grep -qaF "$1/lib/sdp" "$1/bin/sdp-run"
}

check "make install-tools succeeds" make install-tools install-doc PREFIX="$WORK/opt"
check "sdp-run finds the library where it was installed" runs "$WORK/opt"

# outside: no file in /usr whose name has "sdp" is newer than the mark
outside() { ! find / -xdev -newer "$WORK/before" -name '*sdp*' -not -path '/proc/*' \
	-not -path "$WORK/*" -not -path '/tmp/*' -not -path "$TOP/*" -not -path "$build/*" \
	-path '/usr/*' | grep .; }
touch "$WORK/before"
check "make install-tools succeeds again" make install-tools install-doc PREFIX="$WORK/opt"
check "make install-tools writes below PREFIX only" outside
check "make uninstall elsewhere succeeds" make uninstall PREFIX="$WORK/opt" DESTDIR="$WORK/none"
check "make uninstall elsewhere leaves this installation" runs "$WORK/opt"
check "make uninstall succeeds" make uninstall PREFIX=/usr DESTDIR="$WORK/stage"
nothing_left() { ! find "$WORK/stage" -type f -o -type l | grep .; }
check "make uninstall leaves no file" nothing_left

# own_alone: the link of "sdpctl trust on" is removed as well, and no directory that existed before
own_alone() {
	local own=$WORK/own
	local where=(O="$own/out" PREFIX="$own/usr" LIBDIR="$own/lib/sdp" TRUSTDIR="$own/trust")

	mkdir -p "$own/lib" "$own/trust"
	make -s -C tools install "${where[@]}" || return
	ln -s "$own/lib/sdp/libsdp.so" "$own/trust" || return
	make -s -C tools uninstall "${where[@]}" || return
	[ -d "$own/lib" ] && [ ! -e "$own/lib/sdp" ] && [ ! -L "$own/trust/libsdp.so" ] &&
		[ ! -e "$own/usr/share/doc/sdp-tools" ]
}
check "make uninstall removes all of its own files, and no others" own_alone

# refuses WORDS COMMAND...: it fails, and its output has these words
refuses() {
	local words=$1 said

	shift
	said=$("$@" 2>&1) && return 1
	echo "$said"
	grep -q -- "$words" <<<"$said"
}

check "make without headers of the running kernel names them" refuses \
	"no headers of the running kernel\|KDIR=" make modules KDIR=
check "a KDIR= that is no directory is refused" refuses "KDIR=/nowhere is no directory of kernel headers" \
	make modules KDIR=/nowhere
check "a KDIR= without a configured kernel is refused" refuses "holds no configured kernel" \
	make modules KDIR="$WORK/src"
check "an unknown KERNEL= is refused" refuses 'there is no kernel "5.4"' \
	selftests/vm/run.sh -k 5.4 -c true
for name in debug kcsan uml; do
	check "KERNEL=$name without the kernel's source is refused" refuses \
		"KERNEL=$name .*needs linux-source-6.1, which only Debian 12 has" \
		env DEBUG_SOURCE=/nowhere UML_SOURCE=/nowhere scripts/kernel.sh $name
done
check "an unknown name in TESTS= is refused" refuses "no test sdp/nothing: there are sdp/" \
	make check TESTS=sdp/nothing
check "an unknown name in TESTS= is refused before the build" test ! -e build/6.1
check "an option without its value is refused" refuses "-k needs a value" selftests/vm/run.sh -k
check "an unknown option is refused" refuses "no option -Q" selftests/vm/run.sh -Q

# --------------------------------------------------------------------- DKMS

mkdir -p "$WORK/dkms" "$WORK/usr-src" "$WORK/lib/$release"
run_dkms() {
	dkms --dkmstree "$WORK/dkms" --sourcetree "$WORK/usr-src" \
		--installtree "$WORK/lib" "$@"
}

status_is() {
	local got
	got=$(run_dkms status "iwarp-sdp/$version")
	[[ "$got" = *": $1"* || "$got" = "$1" ]] || { echo "$got"; false; }
}

# loads DIR: the modules of that directory, in a guest with this kernel
loads() {
	local name args=()

	for name in "${MODULES[@]}"; do
		args+=(-K "$1/$name.ko")
	done
	"$TOP/selftests/vm/run.sh" -b "$build" -k 6.1 "${args[@]}" -c \
		'modprobe -a iwarp_hybrid sdp hnic sdp_diag && lsmod && uname -r'
}

make clean > "$WORK/clean.log"
check "dkms add succeeds" run_dkms add .
check "dkms build succeeds" run_dkms build -k "$release" --kernelsourcedir "$KDIR" "iwarp-sdp/$version"
check "dkms shows it as built" status_is built
check "dkms install succeeds" run_dkms install -k "$release" --no-depmod "iwarp-sdp/$version"
check "dkms shows it as installed" status_is installed
check "the modules are installed" modules_in "$WORK/lib/$release/updates/dkms"
check "the modules can be loaded" loads "$WORK/lib/$release/updates/dkms"
check "dkms remove succeeds" run_dkms remove --no-depmod "iwarp-sdp/$version" --all
check "no file is left" status_is ""

# by_make TARGET: with this test's directories in the place of those of DKMS, and no kernel to
# build for
by_make() {
	# shellcheck disable=SC2016 # expanded there
	unshare --mount sh -c 'mount --bind "$1/dkms" /var/lib/dkms &&
		mount --bind "$1/usr-src" /usr/src &&
		mount -t tmpfs none /lib/modules && make "$2"' sh "$WORK" "$1"
}

sources() { [ "$(ls "$WORK/usr-src")" = "$1" ]; }

check "make install-dkms succeeds" by_make install-dkms
check "dkms shows the modules as added" status_is added
check "make install-dkms gives DKMS the sources" sources "iwarp-sdp-$version"
check "make install-dkms replaces an earlier one" by_make install-dkms
check "make uninstall-dkms succeeds" by_make uninstall-dkms
check "make uninstall-dkms leaves nothing in DKMS" status_is ""
check "make uninstall-dkms leaves no sources" sources ""
tap_done
