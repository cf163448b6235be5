# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common code of the tests of out-of-order placement (sourced after lib.sh).

ATTR=/sys/class/infiniband/rda/hybrid

# counter DEVICE NAME
counter() {
	rdma statistic show link "$1/1" | tr -s ' ' '\n' |
		awk -v n="$2" 'p == n { print $1 } { p = $1 }'
}

# both FILE VALUE: attribute of both devices
both() { echo "$2" > "$ATTR/$1" && echo "$2" > "${ATTR/rda/rdb}/$1"; }

# knob NAME VALUE: of both hnic ends
knob() {
	in_a sh -c "echo '$2' > /sys/class/net/va/hnic/$1" &&
		in_b sh -c "echo '$2' > /sys/class/net/vb/hnic/$1"
}

# segmentation on|off: by the devices
segmentation() {
	in_a ethtool -K va tso "$1" gso "$1" > /dev/null &&
		in_b ethtool -K vb tso "$1" gso "$1" > /dev/null
}

# early: FPDUs that both ends have placed out of order
early() { echo $(($(counter rda rx_ooo_fpdus) + $(counter rdb rx_ooo_fpdus))); }

# transfer NAME [COUNT]: Sends, Writes and Reads, compared
transfer() {
	local n=${2:-$N} before

	before=$(early)
	start_bg b timeout 250 rping -s -a 10.0.0.2 -C "$n" -S 60000
	wait_port b 7174
	ktap_check "$1: all data arrives" ping_all "$n" -a 10.0.0.2 -S 60000
	wait "$BG_PID"
	EARLY=$(($(early) - before))
}

# netem ARGUMENTS: in both directions
netem() {
	tc -n a qdisc replace dev va root netem "$@" &&
		tc -n b qdisc replace dev vb root netem "$@"
}
