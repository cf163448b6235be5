# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Part "filters" of guest.sh (sourced): filter streams between hosts at a bridge, see
# examples/filters/README.rst. Prints a row for each combination of FS_WHATS and FS_BLOCK.
#
#   FS_APP        synth (default): 3 sources, 3 + 3 stages, a viewer, on 10 hosts
#                 waste: a source, 3 stages of which one is slow, a viewer, on 5 hosts
#                 scope: the microscope on 4 hosts; iso: the iso-surface on 4 hosts
#                 groups: FS_GROUPS pipelines of FS_FILTERS filters, on FS_NODES hosts
#   FS_WHATS      tcp, sdp-basic/PROFILE, sdp-enhanced/PROFILE, sdp-POLICY/hybrid,
#                 rsocket/siw, sdp-run/PROFILE
#   FS_BLOCK      bytes of a buffer
#   FS_UOW        bytes of a tile or brick: 1K (default), 8K, 1M
#   FS_QUERY      complete, partial, mixed; default: complete, then partial
#   FS_COUNT      queries of each kind
#   FS_FRACTION   share of complete queries in FS_QUERY=mixed, per cent; the others are zoom
#                 queries
#   FS_PARTS      partitions of the image: the block is image / partitions
#   FS_IMAGE      bytes of the image, 4M; waste: 12 blocks
#   FS_DATA_MB    scope, iso: MB that pass; the same small data again and again
#   FS_WINDOW     buffers that may wait at one copy of a filter (default 4)
#   FS_POLICY     rr, dd        FS_SLOW  factor of one of three hosts
#   FS_COMPUTE_NS computation per byte in ns; a filter sleeps that long, or spins with
#                 FS_SPIN=1
#   FS_IMPOSE     delay messages as on the network with this name: p3-2000/tcp,
#                 p3-2000/socketvia, or one in FS_CURVE (JSON, as curves.json)
#   FS_DILATION   factor by which guest time and imposed times are stretched
#   SDP_SET       sysctls net.sdp.NAME=VALUE     HNIC_SET  attributes of the NICs
#   FS_LINK       hnic (default), veth

FS_WHATS=${FS_WHATS:-tcp}
FS_BLOCK=${FS_BLOCK:-8K}
FS_LINK=${FS_LINK:-hnic}

# fs_hosts: print how many hosts the application takes
fs_hosts() {
	case ${FS_APP:-synth} in
	synth) echo 10 ;;
	waste) echo 5 ;;
	groups) echo "${FS_NODES:-4}" ;;
	*) echo 4 ;;
	esac
}

# fs_each COMMAND...: run it on each host
fs_each() {
	local i

	for ((i = 1; i <= STAR_N; i++)); do
		in_n "$i" "$@" || return
	done
}

# fs_policy KIND: the settings of a row sdp-KIND/DEVICE, as for two hosts
fs_policy() {
	case $1 in
	basic) sdp_sysctl shared_link=0 ;;
	enhanced) sdp_sysctl shared_link=1 ;;
	transport) sdp_kind transport ;;
	credit | alone | literature | rdma | rdma-app | announced | vwin)
		sdp_sysctl shared_link=0 && sdp_kind "$1"
		;;
	*) return 1 ;;
	esac
}

# fs_devices WHAT: make and set up the devices for this row
fs_devices() {
	local dev set profile=${1#*/}

	case $1 in
	tcp) return ;;
	*/siw)
		dev_up_all siw
		return
		;;
	esac
	dev_up_all hybrid && modprobe -q sdp || return
	for dev in /sys/class/infiniband/rd*/hybrid; do
		if [ "$profile" = inplace ]; then
			echo hybrid >"$dev/profile" && echo host >"$dev/crc"
		else
			echo "$profile" >"$dev/profile"
		fi || return
		for set in $DEV_SET; do
			echo "${set#*=}" >"$dev/${set%%=*}" || return
		done
	done
	case $1 in
	sdp-run/* | rsocket/*) ;;
	sdp-*) fs_policy "$(expr "$1" : 'sdp-\([a-z-]*\)/')" || return ;;
	esac
	set_sdp
}

# fs_nics: settings of the simulated NICs, those of the bridge included
fs_nics() {
	local i set

	[ "$FS_LINK" = hnic ] || return 0
	for set in $HNIC_SET; do
		for ((i = 1; i <= STAR_N; i++)); do
			in_n "$i" sh -c "echo '${set#*=}' >/sys/class/net/v$i/hnic/${set%%=*}" &&
				in-ns sw sh -c "echo '${set#*=}' >/sys/class/net/s$i/hnic/${set%%=*}" ||
				return
		done
	done
}

part_filters() {
	local what block

	for what in $FS_WHATS; do
		# shellcheck disable=SC2034 # star_up reads them
		NET_LINK=$FS_LINK NET_MTU=${MTUS%% *}
		if ! star_up "$(fs_hosts)" || ! fs_devices "$what" || ! fs_nics; then
			fail "filters $what: setup"
			net_down
			continue
		fi
		for block in $FS_BLOCK; do
			FS_WHAT=$what FS_BLOCK=$block FS_HOSTS=$STAR_N FS_LINK=$FS_LINK FS_MTU=$NET_MTU \
				SET_TEXT=$SET_TEXT \
				python3 -B "$BENCH_DIR/filters.py" || fail "filters $what, block $block"
		done
		net_down
	done
}
