#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands for a real machine of the README, then of the first steps in deployment.rst,
# unchanged, in a fresh Debian 12 and 13: those of make and apt in a chroot, with the
# release's own compiler and lintian; the others in a virtual machine with that disk, the
# release's kernel and systemd as init. The test prints the seconds that they took, which no
# check depends on. Run by scripts/check.sh --long, and alone, without arguments. RELEASES:
# the releases to test.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
# shellcheck source=selftests/host/chroot.bash
. "$(dirname "$0")/chroot.bash"
# shellcheck source=scripts/cache.sh
. "$TOP/scripts/cache.sh"
# shellcheck source=scripts/apt.sh
. "$TOP/scripts/apt.sh"
# shellcheck source=selftests/lib/documents.bash
. "$TOP/selftests/lib/documents.bash"
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR PREFIX BUILD KDIR LD_PRELOAD

# A machine with a network, a mirror of Debian, and nothing else
SYSTEM=apt,ca-certificates,systemd-sysv,udev,dbus,iproute2,linux-image-amd64,initramfs-tools,zstd
# Other packages of the commands, fetched beforehand, so that a run does not wait for them
FETCH="build-essential debhelper dh-dkms libmnl-dev rsync dkms linux-headers-amd64 kmod procps
	iperf3 redis-server nginx-light curl postgresql apparmor nftables openssl lintian
	memcached openssh-server openssh-client haproxy netcat-openbsd"

# debian SUITE: fills a cache entry
debian() {
	mmdebstrap --variant=minbase --include="$SYSTEM" --skip=cleanup/apt \
		--keyring=/usr/share/keyrings "$1" chroot "deb $(debian_uri) $1 main"
	ROOT=$PWD/chroot
	# dpkg need not wait for the disk, nor apt for an answer, nor the kernel for drivers
	echo force-unsafe-io >chroot/etc/dpkg/dpkg.cfg.d/test
	echo 'APT::Get::Assume-Yes "true";' >chroot/etc/apt/apt.conf.d/test
	echo MODULES=list >chroot/etc/initramfs-tools/conf.d/test
	printf '%s\n' virtio_pci virtio_blk ext4 >>chroot/etc/initramfs-tools/modules
	# no service starts in a chroot
	printf '#!/bin/sh\nexit 101\n' >chroot/usr/sbin/policy-rc.d
	chmod 755 chroot/usr/sbin/policy-rc.d
	cp /etc/resolv.conf chroot/etc/
	in_root update-initramfs -u
	# shellcheck disable=SC2086 # several words
	in_root apt-get -q -d install $FETCH
}

# commands: those of the README's chapter for a real machine, and of the first steps
commands() {
	sed -n '/^Use it on a real machine/,/^Limits/p' "$TOP/README.rst" >"$WORK/chapter.rst"
	sed -n '/^First steps/,/^Packages/p' "$TOP/Documentation/deployment.rst" \
		>>"$WORK/chapter.rst"
	in_document "$WORK/chapter.rst"
}

# there COMMAND: run it in the source tree of the chroot
there() { in_root sh -c "cd /root/iwarp-sdp && $1"; }

# clean: lintian reports nothing about the packages of make deb
clean() {
	there 'apt-get -q install lintian >/dev/null &&
		lintian --allow-root --fail-on error,warning build/deb/*.changes'
}

# disk: the chroot as the disk of a machine that runs the commands in its source tree
disk() {
	local kernel

	rm -f "$WORK/disk"
	in_root apt-get -q install nginx-light curl postgresql apparmor nftables openssl \
		memcached openssh-server openssh-client haproxy netcat-openbsd >/dev/null || return
	rm -rf "$ROOT"/usr/sbin/policy-rc.d "$ROOT"/var/cache/apt/archives/*.deb
	echo sdp >"$ROOT/etc/hostname"
	echo 0123456789abcdef0123456789abcdef >"$ROOT/etc/machine-id"
	printf '[Match]\nName=eth0\n[Network]\nAddress=10.9.0.1/24\n' \
		>"$ROOT/etc/systemd/network/eth0.network"
	cp "$TOP/selftests/host/readme_guest.sh" "$ROOT/root/"
	cat >"$ROOT/etc/systemd/system/readme.service" <<-'END_UNIT' || return
	[Service]
	WorkingDirectory=/root
	Environment=HOME=/root
	ExecStart=/root/readme_guest.sh
	[Install]
	WantedBy=multi-user.target
	END_UNIT
	in_root systemctl -q enable systemd-networkd readme || return
	kernel=$(echo "$ROOT"/boot/vmlinuz-*)
	cp "$kernel" "$WORK/vmlinuz" && cp "${kernel/vmlinuz/initrd.img}" "$WORK/initrd" &&
		truncate -s 4G "$WORK/disk" && mke2fs -q -t ext4 -d "$ROOT" "$WORK/disk"
}

# machine: run it. Its second serial port is in $WORK/said, its console in $WORK/console.
machine() {
	rm -f "$WORK/said"
	timeout 1500 qemu-system-x86_64 -nodefaults -no-user-config -display none -machine q35 \
		-accel tcg,thread=multi -cpu max,-erms,-fsrm -smp 2 -m 1G \
		-kernel "$WORK/vmlinuz" -initrd "$WORK/initrd" -append "root=/dev/vda rw
			console=ttyS0 net.ifnames=0 no_timer_check tsc=reliable norandmaps
			mitigations=off" \
		-drive "file=$WORK/disk,format=raw,if=virtio,cache=unsafe" \
		-nic user,model=virtio-net-pci,restrict=on \
		-serial "file:$WORK/console" -serial "file:$WORK/said" || {
		tail -n 20 "$WORK/console"
		return 1
	}
	[ "$(tail -n 1 "$WORK/said" | tr -d '\r')" = end ] || {
		tail -n 20 "$WORK/console"
		return 1
	}
}

# details TITLE: fails, and prints the output of that check in the machine
details() {
	sed -n "/^not ok $(sed 's/[][\/.*^$]/\\&/g' <<<"$1")\r*\$/,/^[^#]/{/^#/s/^# //p}" "$WORK/said"
	false
}

# results SUITE: each check in the machine becomes a check of this test
results() {
	local line

	while IFS= read -r line; do
		line=${line%$'\r'}
		case $line in
		"ok "*) check "$1: ${line#ok }" true ;;
		"not ok "*) check "$1: ${line#not ok }" details "${line#not ok }" ;;
		"# took "*) echo "# $1: ${line#\# }" ;;
		esac
	done <"$WORK/said"
}

# release SUITE
release() {
	local suite=$1 command begin

	cache_make "debian/$suite-machine-$(cache_key 1 "$SYSTEM" "$FETCH" "$(date +%G-%V)")" \
		debian "$suite"
	if [ -z "$CACHED" ]; then
		check "$suite: a chroot" false
		return
	fi
	ROOT=$WORK/$suite
	cp -a "$CACHED/chroot" "$ROOT"
	cp /etc/resolv.conf "$ROOT/etc/"
	rsync -a --exclude=/build --exclude=/.git "$TOP/" "$ROOT/root/iwarp-sdp"
	: >"$ROOT/root/commands"
	while IFS= read -r command; do
		case $command in
		apt* | make*)
			begin=$SECONDS
			check "$suite: $command" there "$command"
			echo "# $suite: took $((SECONDS - begin)) s: $command"
			;;
		*) echo "$command" >>"$ROOT/root/commands" ;;
		esac
	done < <(commands)
	check "$suite: lintian has nothing to say" clean
	check "$suite: a disk" disk
	check "$suite: a machine starts, runs the commands, reboots and ends" machine
	results "$suite"
	rm -rf "$ROOT"
}

check "the documents have commands" [ "$(commands | wc -l)" -ge 8 ]
for suite in ${RELEASES:-bookworm trixie}; do
	release "$suite"
done
tap_done
