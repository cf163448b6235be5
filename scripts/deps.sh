#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# deps.sh [--report] [--list]: install the packages that building, testing and checking
# need, as far as they are missing, with apt; with --report also those of "make report".
# Says what it installs; does nothing if all is there. --list: print the packages only.
set -euo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"

packages=(
	# modules, tools, the debug kernel
	build-essential flex bison bc libelf-dev libssl-dev lz4 zstd xz-utils cpio rsync kmod
	python3 perl librdmacm-dev libibverbs-dev libmnl-dev liblz4-dev
	linux-headers-amd64 mmdebstrap
	# the guest
	qemu-system-x86 busybox-static iproute2 ethtool tcpdump strace socat
	netcat-openbsd procps util-linux iperf3 redis-tools gojq checkpolicy
	rdmacm-utils ibverbs-utils ibverbs-providers perftest qperf libfabric-bin
	# tests and lint
	debhelper dh-dkms lintian rpm
	dkms openssl linux-perf clang libclang-rt-dev tshark shellcheck sparse unifdef clang-format
	python3-docutils python3-sphinx python3-jsonschema
	python3-yaml python3-venv mandoc
)

# The source of the kernels debug, kcsan and uml, which no other release has
# shellcheck source=/dev/null
[ "$(. /etc/os-release && echo "${VERSION_ID:-}")" != 12 ] || packages+=(linux-source-6.1)

if [ "${1:-}" = --report ]; then
	# plots, page and PDF, cross-checks
	packages+=(python3-matplotlib python3-numpy python3-jinja2 weasyprint python3-simpy3
		python3-skimage)
	shift
fi

if [ "${1:-}" = --list ]; then
	printf '%s\n' "${packages[@]}"
	exit
fi

missing=()
for p in "${packages[@]}"; do
	case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
	installed) ;;
	*) missing+=("$p") ;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "deps: installing ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
	echo "deps: not root; please run: apt-get install ${missing[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
opts=(-q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { apt-get "${opts[@]}" --no-install-recommends install "${missing[@]}" >"$log" 2>&1; }
# An index that is missing or too old shows as a failure
if ! install; then
	apt-get "${opts[@]}" update >>"$log" 2>&1 || true
	install || { tail -n 30 "$log" >&2; exit 1; }
fi
echo "deps: done"
