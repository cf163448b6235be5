# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# image.sh: the contents of the guest (sourced by run.sh).  The initial RAM file
# system is a concatenation of uncompressed archives: the user land of the
# host (cached), the kernel's modules and ours, the project's programs and
# tests.  Uncompressed, because unpacking under emulation is what takes time.
#
# /usr is merged as on Debian; archives after the first must say usr/bin, not bin.

# Programs of the host that tests may use
GUEST_PROGRAMS=(
	bash kmod ip rdma tc ss ethtool tcpdump strace
	iperf3 redis-server redis-benchmark redis-cli socat nc
	rping rstream rcopy riostream ucmatose udaddy cmtime ibv_devinfo ibv_rc_pingpong
	rdma_server rdma_client rdma_xserver rdma_xclient
	ibv_asyncwatch qperf fi_pingpong
	ib_send_bw ib_write_bw ib_read_bw ib_send_lat ib_write_lat ib_read_lat
	ib_atomic_bw
	timeout stty dd sha256sum cmp diff grep sed tar sort stat setpriv unshare
	nsenter prlimit taskset chrt python3 find xargs pgrep pkill ps gojq checkpolicy
)

# Programs of packages that are unpacked for the guest alone: installed on this
# machine, most of them would run as daemons
GUEST_PACKAGES=(nginx memcached openssh-server wrk sockperf rsync curl openssl haproxy)
PACKAGE_PROGRAMS=(
	nginx memcached sshd ssh scp ssh-keygen wrk sockperf rsync curl openssl haproxy
)

python_version() { /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# Packages too large for the guest's memory; tests that call packages_up see them
# in the host's file system
TREE_PACKAGES=(postgresql nodejs default-jdk-headless open-iscsi golang-go stress-ng tcl8.6
	python3-requests python3-distributed fio "libpython$(python_version)-testsuite"
	linux-perf bpftrace nfs-kernel-server mount nvme-cli netpipe-openmpi)

SPARK_VERSION=3.5.3

# Modules of the kernel, with what they depend on
GUEST_MODULES=(
	virtio_pci virtio_console 9p 9pnet_virtio overlay
	ib_core ib_uverbs rdma_ucm rdma_cm iw_cm rdma_rxe smc smc_diag
	veth dummy tun bridge 8021q macvlan ifb sch_netem sch_tbf sch_fq sch_prio
	sch_ingress cls_u32 cls_matchall act_gact act_mirred act_nat act_pedit act_vlan
	xfrm_user esp4 authenc crypto_null iptable_filter xt_owner
	tcp_diag udp_diag inet_diag unix_diag af_packet af_packet_diag
	crc32c-intel crc32c_generic libcrc32c crc32-pclmul crc32_generic
	tls tcp_bbr tcp_dctcp ip6_udp_tunnel udp_tunnel
)

pack() { (cd "$1" && find . -print0 | sort -z | cpio --null -o -H newc -R 0:0 --quiet); }

# add_libs ROOT FILE...: shared libraries of the files
add_libs() {
	local root=$1 lib
	shift
	{ ldd "$@" 2>/dev/null || true; } | sed -nE 's|.*[[:space:]](/[^ ]+) \(0x.*|\1|p' | sort -u |
		while read -r lib; do
			lib=/usr${lib#/usr}
			[ -e "$root$lib" ] || install -D "$lib" "$root$lib"
		done
}

skeleton() {
	mkdir -p "$1"/{dev,proc,sys,tmp,run,etc,root,out,var,host} \
		"$1"/usr/{bin,lib,lib64,share,local/lib,local/bin}
	ln -s usr/bin "$1/bin"
	ln -s usr/bin "$1/sbin"
	ln -s bin "$1/usr/sbin"
	ln -s usr/lib "$1/lib"
	ln -s usr/lib64 "$1/lib64"
	ln -s ../run "$1/var/run"
	ln -s /proc/mounts "$1/etc/mtab"
	echo 'root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/:/bin/sh' >"$1/etc/passwd"
	echo 'root:x:0:
nogroup:x:65534:' >"$1/etc/group"
	echo '127.0.0.1 localhost
::1 localhost' >"$1/etc/hosts"
	echo 'hosts: files' >"$1/etc/nsswitch.conf"
	echo 'guest' >"$1/etc/hostname"
	cp /etc/protocols /etc/services "$1/etc/" 2>/dev/null || true
}

# Busybox for everything small; real programs over it.  Its shell prefers its
# own applets to PATH, hence bash as sh, and the real kmod.
add_programs() {
	local root=$1 p real
	shift
	cp "$(command -v busybox)" "$root/usr/bin/busybox"
	for p in $(busybox --list); do
		[ -e "$root/usr/bin/$p" ] || ln -s busybox "$root/usr/bin/$p"
	done
	for p; do
		if ! real=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$p"); then
			msg "guest: no program $p on this machine"
			continue
		fi
		rm -f "$root/usr/bin/$p"
		cp -L "$real" "$root/usr/bin/$p"
		add_libs "$root" "$real"
	done
	# One program under two names; the package of this one runs a daemon
	[ -e "$root/usr/bin/redis-server" ] ||
		cp "$(command -v redis-check-rdb)" "$root/usr/bin/redis-server"
	ln -sf bash "$root/usr/bin/sh"
	# jq itself takes a fifth of a second to begin, this one a seventh of that
	ln -sf gojq "$root/usr/bin/jq"
	for p in modprobe insmod rmmod lsmod modinfo depmod; do
		ln -sf kmod "$root/usr/bin/$p"
	done
}

# Libraries that programs open by name
add_plugins() {
	local root=$1 arch f
	arch=usr/lib/$(uname -m)-linux-gnu
	mkdir -p "$root/$arch" "$root/etc"
	cp -rL "/$arch/libibverbs" "$root/$arch/"
	cp -r /etc/libibverbs.d "$root/etc/"
	for f in "/$arch"/{libgcc_s.so.1,librdmacm.so.1,libnss_files.so.2,rsocket}; do
		[ ! -e "$f" ] || cp -rL "$f" "$root/$arch/"
	done
	add_libs "$root" "$root/$arch"/libibverbs/* "$root/$arch/librdmacm.so.1"
}

add_python() {
	local root=$1 dir
	dir=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))')
	mkdir -p "$root/usr/lib"
	tar -C / --exclude=test --exclude=tests --exclude=idlelib --exclude=tkinter \
		--exclude=turtledemo --exclude=lib2to3 --exclude=ensurepip \
		--exclude=distutils --exclude=pydoc_data --exclude='config-*' \
		--exclude='*.opt-?.pyc' --exclude=dist-packages \
		-cf - "${dir#/}" | tar -C "$root" -xf -
	# shellcheck disable=SC2046
	add_libs "$root" $(find "$root$dir/lib-dynload" -name '*.so')
}

# unpack DIR PACKAGE...: with what they depend on
unpack() {
	local dir=$1 uri suite
	shift
	uri=$(debian_uri)
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mmdebstrap --variant=extract --include="$(IFS=,; echo "$*")" \
		--aptopt='Apt::Install-Recommends "false"' \
		--keyring=/usr/share/keyrings "$suite" "$dir" "deb $uri $suite main"
}

make_tree() {
	unpack tree "${TREE_PACKAGES[@]}"
	rm -rf tree/usr/share/{doc,man,locale,i18n} tree/dev
}

# package_tree: the directory, in PACKAGE_TREE
package_tree() {
	cache_make "tree/$(cache_key "${TREE_PACKAGES[*]}" "$(declare -f make_tree unpack)" \
		"$(dpkg-query -W libc6)")" make_tree
	# shellcheck disable=SC2034 # for run.sh
	PACKAGE_TREE=$CACHED/tree
}

# Spark's jars come with its interface for Python, from PyPI
make_spark() {
	/usr/bin/python3 -m venv venv
	venv/bin/pip install -q --no-deps --target all "pyspark==$1"
	mv all/pyspark/jars .
	rm -rf venv all
}

# spark_jars: the directory with Spark's jars, in SPARK; empty where PyPI does not answer
spark_jars() {
	cache_make "spark/$SPARK_VERSION-$(cache_key "$(declare -f make_spark)")" \
		make_spark "$SPARK_VERSION"
	# shellcheck disable=SC2034 # for run.sh
	SPARK=$CACHED
}

# The source as its authors made it: Debian's changes are not in their tests
make_redis() {
	local uri suite apt

	uri=$(debian_uri)
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mkdir -p apt/lists/partial apt/archives/partial
	touch apt/status
	echo "deb-src $uri $suite main" >apt/sources.list
	apt=(-q -o "Dir::Etc::SourceList=$PWD/apt/sources.list"
		-o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/apt/lists"
		-o "Dir::Cache=$PWD/apt" -o "Dir::State::status=$PWD/apt/status"
		-o APT::Sandbox::User=root -o Acquire::Retries=3)
	apt-get "${apt[@]}" update
	apt-get "${apt[@]}" source --download-only --tar-only redis
	tar --strip-components=1 --wildcards -xf redis_*.orig.tar.* '*/tests'
	rm -r apt redis_*
}

# redis_tests: the directory of Redis' own tests, in REDIS_TESTS; empty without sources
redis_tests() {
	cache_make "redis/$(cache_key "$(declare -f make_redis)" \
		"$(dpkg-query -W redis-tools)")" make_redis
	# shellcheck disable=SC2034 # for run.sh
	REDIS_TESTS=${CACHED:+$CACHED/tests}
}

make_go() {
	local go
	go=$(echo "$1"/usr/lib/go-*/bin/go)
	GOROOT=$(dirname "$(dirname "$go")") GOPATH=$PWD/path GOCACHE=$PWD/objects \
		CGO_ENABLED=0 GO111MODULE=off GOTOOLCHAIN=local GOFLAGS=-trimpath \
		"$go" build -ldflags=-s -o "$(basename "$2" .go)" "$2"
	rm -rf path objects
}

# go_program FILE: built by the compiler of package_tree, the directory in GO_DIR
go_program() {
	cache_make "go/$(cache_key "$PACKAGE_TREE" "$(cat "$1")" "$(declare -f make_go)")" \
		make_go "$PACKAGE_TREE" "$1"
	# shellcheck disable=SC2034 # for run.sh
	GO_DIR=$CACHED
}

# Keep the programs of the packages and their libraries
make_packages() {
	local arch lib p
	arch=$(uname -m)-linux-gnu
	unpack all "${GUEST_PACKAGES[@]}"
	mkdir -p usr/bin
	for p in "${PACKAGE_PROGRAMS[@]}"; do
		cp "$(PATH=$PWD/all/usr/sbin:$PWD/all/usr/bin command -v "$p")" usr/bin/
	done
	LD_LIBRARY_PATH=$PWD/all/usr/lib/$arch:$PWD/all/lib/$arch ldd usr/bin/* >libs
	if grep "not found" libs; then
		return 1
	fi
	sed -nE "s|.*[[:space:]]($PWD/all/[^ ]+) \\(0x.*|\\1|p" libs | sort -u |
		while read -r lib; do
			install -D -t "usr/lib/$arch" "$lib"
		done
	rm -r all libs
}

make_userland() {
	mkdir root
	cp -r "$1/usr" root/
	shift
	skeleton root
	add_programs root "$@"
	add_plugins root
	add_python root
	pack root >userland.cpio
	rm -rf root
}

# userland PROGRAM...: the cached archive, in USERLAND
userland() {
	local p list packages
	cache_make "packages/$(cache_key "${GUEST_PACKAGES[*]}" "${PACKAGE_PROGRAMS[*]}" \
		"$(declare -f make_packages unpack)" "$(dpkg-query -W libc6)")" make_packages
	[ -n "$CACHED" ] || exit 1
	packages=$CACHED
	list=("$(command -v busybox || true)")
	for p in "${GUEST_PROGRAMS[@]}" "$@"; do
		list+=("$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$p" || true)")
	done
	cache_make "guest/$(cache_key "$packages" "$(stat -L -c '%n %s %Y' "${list[@]}" 2>/dev/null)" \
		"$(cat "${BASH_SOURCE[0]}")" "$(dpkg-query -W libc6 librdmacm1 ibverbs-providers)")" \
		make_userland "$packages" "${GUEST_PROGRAMS[@]}" "$@"
	[ -n "$CACHED" ] || exit 1
	# shellcheck disable=SC2034 # for run.sh
	USERLAND=$CACHED/userland.cpio
}

# modules_image ROOT FILE.ko...: the kernel's modules and these
modules_image() {
	local root=$1 mods=lib/modules/$K_RELEASE m dir
	shift
	dir=$root/usr/$mods
	mkdir -p "$dir/updates"
	for m in "${GUEST_MODULES[@]}"; do
		modprobe -d "$K_ROOT" -S "$K_RELEASE" --show-depends "$m" 2>/dev/null || true
	done | awk '$1 == "insmod" { print $2 }' | sed "s|.*/$mods/||" | sort -u |
		rsync -a --files-from=- "$K_ROOT/$mods/" "$dir/"
	[ -z "${K_MORE:-}" ] || rsync -a "$K_MORE/$mods/" "$dir/"
	cp "$K_ROOT/$mods"/modules.{builtin,builtin.modinfo,order} "$dir/" 2>/dev/null || true
	[ $# -eq 0 ] || cp "$@" "$dir/updates/"
	mkdir -p "$root/lib"
	ln -s ../usr/lib/modules "$root/lib/modules"
	depmod -b "$root" "$K_RELEASE"
	rm -r "${root:?}/lib"
}
