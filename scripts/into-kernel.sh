#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# into-kernel.sh TREE: copy modules, headers, Kconfig entries, documentation, selftests
# and MAINTAINERS entries into a kernel source tree of 7.0 or later, as they would be
# proposed for it: without include/compat.h and what it stands for.
#
# TREE must not have them yet, so that nothing of a person's work is overwritten.
# Then, there:
#
#	scripts/config -m LIB_IWARP -m RDMA_STACK -m RDMA_IWARP_HYBRID -m HNIC -m SDP
#	make olddefconfig && make W=1 C=1 lib/iwarp/ net/sdp/ ...
#
# into-kernel-check.sh does that with the newest kernel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
parts=$here/into-kernel

die() {
	echo "into-kernel: $*" >&2
	exit 2
}

case ${1:-} in
-h | --help)
	sed -n '3,/^[^#]/s/^# \?//p' "$0" | tail -n +2
	exit 0
	;;
esac
[ $# -eq 1 ] || die "give the directory of a kernel source tree; --help says more"
tree=$(realpath -eq "$1") || die "there is no directory $1"
version=$(sed -n 's/^VERSION = //p' "$tree/Makefile" 2>/dev/null) || true
if [ -z "$version" ] || [ ! -d "$tree/drivers/infiniband/sw" ] || [ ! -d "$tree/net" ]; then
	die "$1 is no kernel source tree"
fi
[ "$version" -ge 7 ] || die "$1 is Linux $version.x; the sources are written for 7.0 and later"
for dir in lib/iwarp net/sdp drivers/net/hnic drivers/infiniband/sw/iwarp_hybrid \
	tools/testing/selftests/net/sdp; do
	[ ! -e "$tree/$dir" ] || die "$1 has $dir already; take a clean tree"
done
command -v unifdef >/dev/null || die "unifdef is not installed (package unifdef)"

# after FILE LINE TEXT: put TEXT after the first line that is LINE
after() {
	local file=$tree/$1
	grep -qxF -- "$2" "$file" || die "$1 has no line '$2' to follow; the tree is too different"
	LINE=$2 TEXT=$3 awk '
		{ print }
		!done && $0 == ENVIRON["LINE"] { print ENVIRON["TEXT"]; done = 1 }' \
		"$file" >"$file.new"
	mv "$file.new" "$file"
}

# module SOURCE TARGET CONFIG KCONFIG: a directory of a module
module() {
	local to=$tree/$2 f
	mkdir -p "$to"
	(cd "$top/$1" && find . -name '*.[ch]' -exec cp --parents {} "$to" \;)
	sed -E -e '/Kbuild\.probe/d' -e '/_RESEARCH \?=/d' -e '/-DCONFIG_/d' \
		-e "s/^obj-m := ([a-z_]+\.o)/obj-\$($3) += \1/" \
		-e "s/^(obj-.*) ([a-z_]+_diag\.o)/\1\nobj-\$(${3}_DIAG) += \2/" \
		-e 's| -I\$\(src\)/../../lib||' "$top/$1/Kbuild" >"$to/Makefile"
	cp "$parts/Kconfig/$4" "$to/Kconfig"
	[ "$2" != lib/iwarp ] || mv "$to"/*.h "$tree/include/linux/iwarp/"
	find "$to" -name '*.[ch]' -print0 >>"$sources"
	printf '%s\0' "$to/Makefile" >>"$others"
}

sources=$(mktemp)
others=$(mktemp)
trap 'rm -f "$sources" "$others"' EXIT

mkdir "$tree/include/linux/iwarp"
module lib/iwarp lib/iwarp CONFIG_LIB_IWARP iwarp
module drivers/rdma_stack drivers/infiniband/sw/rdma_stack CONFIG_RDMA_STACK rdma_stack
module drivers/iwarp_hybrid drivers/infiniband/sw/iwarp_hybrid CONFIG_RDMA_IWARP_HYBRID \
	iwarp_hybrid
module drivers/hnic drivers/net/hnic CONFIG_HNIC hnic
module drivers/sdp net/sdp CONFIG_SDP sdp

# Headers between modules
cp "$top"/include/rdma/*.h "$tree/include/rdma/"
cp "$top"/include/uapi/linux/*.h "$tree/include/uapi/linux/"
for f in "$top"/include/rdma/*.h "$top"/include/uapi/linux/*.h \
	"$tree"/include/linux/iwarp/*.h; do
	printf '%s/include/%s\0' "$tree" "${f##*/include/}"
done >>"$sources"
xargs -0 python3 "$parts/source.py" <"$sources"

# Where they are built
# shellcheck disable=SC2016 # of make
{
	after lib/Makefile 'obj-$(CONFIG_FONT_SUPPORT) += fonts/' 'obj-$(CONFIG_LIB_IWARP) += iwarp/'
	after lib/Kconfig 'source "lib/fonts/Kconfig"' $'\nsource "lib/iwarp/Kconfig"'
	after drivers/infiniband/sw/Makefile $'obj-$(CONFIG_RDMA_SIW)\t\t\t+= siw/' \
		$'obj-$(CONFIG_RDMA_STACK)\t\t+= rdma_stack/
obj-$(CONFIG_RDMA_IWARP_HYBRID)\t\t+= iwarp_hybrid/'
	after drivers/infiniband/Kconfig 'source "drivers/infiniband/sw/siw/Kconfig"' \
		'source "drivers/infiniband/sw/rdma_stack/Kconfig"
source "drivers/infiniband/sw/iwarp_hybrid/Kconfig"'
	after drivers/net/Makefile 'obj-$(CONFIG_NETDEVSIM) += netdevsim/' 'obj-$(CONFIG_HNIC) += hnic/'
	after drivers/net/Kconfig 'source "drivers/net/hyperv/Kconfig"' $'\nsource "drivers/net/hnic/Kconfig"'
	after net/Makefile $'obj-$(CONFIG_SMC)\t\t+= smc/' $'obj-$(CONFIG_SDP)\t\t+= sdp/'
	after net/Kconfig 'source "net/smc/Kconfig"' 'source "net/sdp/Kconfig"'
}

# Documentation
docs=$tree/Documentation/networking/sdp
pages=(sdp security iwarp_hybrid rdma_stack hnic features glossary tour architecture wire
	iwarp_offload knobs)
mkdir -p "$docs"
for page in "${pages[@]}"; do
	cp "$top/Documentation/$page.rst" "$docs/"
done
cp "$top"/Documentation/netlink/specs/*.yaml "$tree/Documentation/netlink/specs/"
mkdir "$docs/figures"
cp "$top"/Documentation/figures/*.svg "$docs/figures/"
{
	printf '%s\n' '.. SPDX-License-Identifier: GPL-2.0' '' '=======================' \
		'SDP over RDMA and iWARP' '=======================' '' '.. toctree::' \
		'   :maxdepth: 1' ''
	printf '   %s\n' "${pages[@]}" api
} >"$docs/index.rst"
{
	printf '%s\n' '.. SPDX-License-Identifier: GPL-2.0' '' '==========' 'Interfaces' \
		'==========' ''
	for f in "$top"/include/rdma/*.h "$top"/lib/iwarp/*.h; do
		f=include/${f##*/include/}
		f=${f/#include\/*lib\/iwarp/include/linux/iwarp}
		grep -q '^/\*\*' "$tree/$f" || continue
		printf '%s\n' "$f" "${f//?/-}" '' ".. kernel-doc:: $f" ''
	done
} >"$docs/api.rst"
python3 "$parts/source.py" --documents "$docs"/*.rst
after Documentation/networking/index.rst '   sctp' '   sdp/index'

# Selftests
"$parts/selftests.sh" "$tree"
find "$tree/tools/testing/selftests/net/sdp" -type f -print0 >>"$others"
xargs -0 python3 "$parts/source.py" --paths <"$others"
after tools/testing/selftests/Makefile 'TARGETS += net/rds' \
	"$(printf 'TARGETS += net/sdp/%s\n' bin hnic iwarp_hybrid sdp)"

# Maintainers
LC_ALL=C awk -f "$parts/MAINTAINERS.awk" "$parts/MAINTAINERS" "$tree/MAINTAINERS" \
	>"$tree/MAINTAINERS.new"
mv "$tree/MAINTAINERS.new" "$tree/MAINTAINERS"
