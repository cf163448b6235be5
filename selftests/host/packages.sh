#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The Debian packages, as "make deb" builds them, in a fresh Debian 12 and 13: installed,
# used, upgraded, removed. The chroots are made from this machine's mirror. Run by
# scripts/check.sh --long, and alone, without arguments. RELEASES: the releases to test.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
# shellcheck source=selftests/host/chroot.bash
. "$(dirname "$0")/chroot.bash"
# shellcheck source=scripts/cache.sh
. "$TOP/scripts/cache.sh"
# shellcheck source=scripts/apt.sh
. "$TOP/scripts/apt.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BUILD KDIR LD_PRELOAD

# The dependencies of the packages beside a minimal system, so that the network is used once, and
# programs for the tests
INCLUDE=dkms,linux-headers-amd64,iproute2,procps,kmod,systemd,redis-server,curl,pkgconf,gcc,libc6-dev

# A copy as a user has it
rsync -a --exclude=/build --exclude=/.git "$TOP/" "$WORK/src"
cd "$WORK/src" || exit 2
version=$(dpkg-parsechangelog -S Version)
new=$version+next1

check "make deb" scripts/build-deb.sh "$WORK/out"
check "lintian has nothing to say" lintian --allow-root --fail-on error,warning \
	"$WORK/out/deb/iwarp-sdp_${version}_amd64.changes"
# The packages of RPM, built where apt installed what they need, have the same files
rpm_files() {
	local rpms=$WORK/out/rpm/RPMS what=' /usr/share/(doc|licenses|lintian)| /usr/lib/.build-id|/$'

	RPMFLAGS=--nodeps scripts/build-rpm.sh "$WORK/out" || return
	dpkg-deb -c "$WORK"/out/deb/sdp-tools_*.deb | sed -n 's/^-.* \.\// \//p' >"$WORK/files.deb"
	rpm -qlvp "$rpms"/*/sdp-tools-*.rpm | sed -n 's/^-[^/]* \// \//p' >"$WORK/files.rpm"
	diff <(grep -Ev "$what" "$WORK/files.deb" | sed 's/\.gz$//' | sort) \
		<(grep -Ev "$what" "$WORK/files.rpm" | sed 's/\.gz$//' | sort) || return
	rpm -qlp "$rpms"/*/iwarp-sdp-dkms-*.rpm | grep -q "/usr/src/iwarp-sdp-$version/dkms.conf" &&
		rpm -qlp "$rpms"/*/libsdp-devel-*.rpm | grep -qx /usr/include/linux/sdp.h
}

check "make rpm has the files of the Debian packages" rpm_files

# rpm_bin: sbin is bin, as in Fedora 42
rpm_bin() {
	local home=$WORK/home

	mkdir -p "$home/files"
	echo '%_sbindir %{_bindir}' >"$home/.rpmmacros"
	HOME=$home RPMFLAGS=--nodeps scripts/build-rpm.sh "$home" || return
	rpm2cpio "$home"/rpm/RPMS/*/sdp-tools-*.rpm | (cd "$home/files" && cpio -idm --quiet) || return
	[ -x "$home/files/usr/bin/sdpctl" ] && [ ! -e "$home/files/usr/sbin" ] &&
		grep -q '^ExecStart=/usr/bin/sdpctl' "$home/files/usr/lib/systemd/system/sdp@.service"
}

check "make rpm where sbin is bin" rpm_bin

# musl_symbols: the library of the package needs no symbol that only glibc has
musl_symbols() {
	local out

	dpkg-deb -x "$WORK"/out/deb/sdp-tools_*.deb "$WORK/tools" || return
	out=$(nm -D --undefined-only "$WORK/tools/usr/lib/sdp/libsdp.so") || return
	! grep ' U __' <<<"$out" | grep -vE ' __(errno_location|progname|stack_chk_fail)(@|$)'
}

check "the library of the package needs no symbol that musl lacks" musl_symbols

# The next version
sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$new\"/" dkms.conf
sed -i "1s/($version)/($new)/" debian/changelog
check "make deb, of the next version" scripts/build-deb.sh "$WORK/next"

# debian SUITE: fills a cache entry
debian() {
	mmdebstrap --variant=minbase --include="$INCLUDE,apt,ca-certificates" \
		--aptopt='Apt::Install-Recommends "false"' --keyring=/usr/share/keyrings \
		"$1" chroot "deb $(debian_uri) $1 main"
}

# install_debs DIR
install_debs() {
	rm -rf "$ROOT/debs"
	mkdir "$ROOT/debs"
	cp "$1"/deb/*.deb "$ROOT/debs"
	rm -f "$ROOT"/debs/*dbgsym*
	in_root sh -c 'apt-get -q -y install /debs/*.deb'
}

# built VERSION: DKMS has the modules of that version, and of no other, installed for the
# kernel whose headers are there
built() {
	local kernel status m

	kernel=$(in_root sh -c 'ls /lib/modules | grep amd64 | tail -n1')
	status=$(in_root dkms status)
	echo "$status"
	[[ $status = "iwarp-sdp/$1, $kernel, "*": installed"* ]] || return
	[ "$(grep -c . <<<"$status")" -eq 1 ] || return
	for m in sdp sdp_diag iwarp_hybrid libiwarp rdma_stack hnic; do
		in_root modinfo -k "$kernel" -F filename "$m" || return
	done
	[ "$(in_root ls /usr/src | grep -c iwarp-sdp)" -eq 1 ]
}

# only_sources VERSION: DKMS has got the sources of the modules, and nothing else
only_sources() {
	! find "$ROOT/usr/src/iwarp-sdp-$1" -type f ! -name '*.[ch]' ! -name 'Kbuild*' \
		! -name probe.sh ! -name dkms.conf ! -name COPYING | grep . &&
		[ ! -e "$ROOT/usr/src/iwarp-sdp-$1/selftests" ]
}

# A kernel without our modules: TCP, which is what a new user must have at least
fallback() {
	local got

	# shellcheck disable=SC2016 # expanded there
	got=$(in_root sh -c 'ip link set lo up 2>/dev/null
		redis-server --port 6390 --save "" --daemonize yes \
			--bind 127.0.0.1 >/dev/null
		for i in $(seq 50); do redis-cli -p 6390 ping 2>/dev/null && break; sleep 0.1; done
		sdp-run redis-cli -p 6390 ping
		redis-cli -p 6390 shutdown nosave' 2>&1)
	echo "$got"
	grep -qx "sdp-run: the kernel has no SDP sockets: .*sockets remain TCP" <<<"$got" &&
		[ "$(grep -cx PONG <<<"$got")" -eq 2 ]
}

# unit: sdp-run enables and disables Debian's redis-server.service; systemd accepts the units
unit() {
	local file=$ROOT/etc/systemd/system/redis-server.service.d/50-sdp.conf

	in_root sdp-run enable redis-server || return
	cat "$file"
	grep -qx 'Environment="LD_PRELOAD=/usr/lib/sdp/libsdp.so"' "$file" || return
	in_root systemd-analyze --man=no verify redis-server.service sdp@eth0.service \
		sdp@lo.service || return
	in_root systemctl enable sdp@eth0 || return
	in_root systemctl is-enabled sdp@eth0 || return
	in_root sdp-run disable redis-server && [ ! -e "${file%/*}" ]
}

# trusted: the library is preloaded into a set-user-ID program that a user starts
trusted() {
	# shellcheck disable=SC2016 # expanded there
	in_root sh -c 'install -m 4755 "$(command -v cat)" /tmp/cat
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			sdp-run /tmp/cat /proc/self/maps' | grep "/usr/lib/sdp/libsdp.so"
}

not_trusted() { ! trusted; }

# no_overrides: nothing is left of "sdpctl trust on" with dpkg
no_overrides() { ! in_root dpkg-statoverride --list | grep sdp; }

programs() {
	# shellcheck disable=SC2016 # expanded there
	in_root sh -e -c '
		sdp-run --version; sdpstat --version; sdpbench --version; sdpctl --version
		sdp-run -w client x 1.2.3.4:5
		[ "$(pkg-config --modversion sdp)" = "$0" ]
		echo "#include <linux/sdp.h>
			#include <linux/sdp_diag.h>
			int main(void) { return SDP_FALLBACK_TCP; }" >/tmp/x.c
		gcc $(pkg-config --cflags sdp) -o /tmp/x /tmp/x.c
		bash -c ". /usr/share/bash-completion/completions/sdpctl
			COMP_WORDS=(sdpctl s) COMP_CWORD=1; _sdpctl; echo \${COMPREPLY[*]}" |
			grep -x "setup status"' "$1"
}

# The files of the chroot, without what package management, journals and depmod(8) keep
files() {
	find "$ROOT" -xdev \( -path "$ROOT/debs" -o -path "$ROOT/tmp" -o -path "$ROOT/run" -o \
		-path "$ROOT/var/log" -o -path "$ROOT/var/cache" -o -path "$ROOT/var/tmp" -o \
		-path "$ROOT/var/lib/dpkg" -o -path "$ROOT/var/lib/apt" -o \
		-path "$ROOT/var/lib/systemd" -o -path "$ROOT/var/lib/dkms/mok.*" -o \
		-path "$ROOT/root" -o -path '*/lib/modules/*/modules.*' \) -prune -o \
		-printf '/%P\n' | sort
}

# leftovers: no file exists that did not exist before the packages
leftovers() {
	files >"$WORK/after"
	! comm -13 "$WORK/before" "$WORK/after" | grep .
}

# release SUITE
release() {
	local suite=$1

	cache_make "debian/$suite-$(cache_key 1 "$INCLUDE" "$(date +%G-%V)")" debian "$suite"
	if [ -z "$CACHED" ]; then
		check "$suite: a chroot" false
		return
	fi
	ROOT=$WORK/$suite
	cp -a "$CACHED/chroot" "$ROOT"
	files >"$WORK/before"
	check "$suite: installed" install_debs "$WORK/out"
	check "$suite: DKMS has built the modules" built "$version"
	check "$suite: from sources and nothing else" only_sources "$version"
	check "$suite: programs, headers, completion" programs "$version"
	check "$suite: Redis, with a kernel that has no SDP" fallback
	check "$suite: Redis as a service" unit
	check "$suite: nothing is preloaded into set-user-ID programs" not_trusted
	check "$suite: sdpctl trust on" in_root sdpctl trust on
	check "$suite: after sdpctl trust on libsdp is preloaded into set-user-ID programs" trusted
	check "$suite: upgraded" install_debs "$WORK/next"
	check "$suite: after the upgrade libsdp is still preloaded into them" trusted
	check "$suite: DKMS has the new modules alone" built "$new"
	check "$suite: a service is enabled before the removal" in_root sdp-run enable redis-server
	check "$suite: removed" in_root apt-get -q -y --auto-remove \
		purge iwarp-sdp-dkms sdp-tools libsdp-dev
	check "$suite: nothing is left" leftovers
	check "$suite: no override of dpkg is left" no_overrides
	rm -rf "$ROOT"
}

for suite in ${RELEASES:-bookworm trixie}; do
	release "$suite"
done
tap_done
