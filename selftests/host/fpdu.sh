#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Cost of an FPDU in the provider's own code, in instructions counted by the emulator (see
# selftests/bench/run.sh): Sends of 64 KB over a veth pair, MTU 1500, with CRC and without
# markers. Copies of payload, TCP and IP are functions of the kernel, and are not counted.
# Then the share of markers in all instructions at both ends. Run by scripts/check.sh
# --long, and alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
build=${BUILD:-$TOP/build}
PAYLOAD=1424	# of an FPDU there, in bytes: 1448 of TCP, 4 of CRC, 20 of headers

# Of profile.txt: instructions for an FPDU to send it, to receive it, and for a byte of one
# CRC (the mean of sender and receiver). Functions that are not listed as transmit functions
# count as receive: a new transmit function must be added to the list.
sum() {
	awk -v payload=$PAYLOAD '
		$5 != "[iwarp_hybrid]" && $5 != "[libiwarp]" { next }
		$4 ~ /crc/ { crc += $3; next }
		$4 ~ /^(hyb_tx|hyb_fpdu|hyb_fast_(segs|tx|lay|plain|marked|next|put_hdr|split_hdr)|ddp_next|hyb_stream|hyb_sq|hyb_xmit|hyb_post_send|hyb_sg|mpa_build|mpa_ulpdu|compat_tcp|hyb_off_leaves|hyb_ooo_sent|hyb_qp_complete)/ {
			tx += $3; next }
		{ rx += $3 }
		END { printf "%.0f %.0f %.3f\n", tx * payload, rx * payload, crc / 2 }' \
		"$build/6.1/profile.txt"
}

# profile KIND: of 32 MB, of which the start of the connection is a small part
profile() {
	rm -f "$build/6.1/profile.txt"
	BUILD=$build KERNEL=6.1 "$TOP/selftests/bench/profile.sh" -L veth \
		-w "verbs-send/$1" -c 512
}

total() { awk '$4 == "total" { print $1 }' "$build/6.1/profile.txt"; }

check "a profile is taken" profile unmarked
read -r tx rx crc < <(sum)
plain=$(total)
echo "# instructions: $tx to send an FPDU, $rx to receive one, $crc for the CRC of a byte"
check "at most 350 instructions to send an FPDU" test "$tx" -gt 100 -a "$tx" -le 350
check "at most 450 instructions to receive an FPDU" test "$rx" -gt 100 -a "$rx" -le 450
check "at most 0.2 instructions for the CRC of a byte" \
	awk "BEGIN { exit !(${crc:-0} > 0.1 && ${crc:-0} <= 0.2) }"
check "a profile with markers is taken" profile hybrid
marked=$(total)
more=$(awk "BEGIN { printf \"%.1f\", 100 * ${marked:-0} / ${plain:-1} - 100 }")
echo "# markers take $more % more instructions"
check "markers take at most 15 % more instructions" \
	awk "BEGIN { exit !($more > 1 && $more <= 15) }"
read -r tx rx crc < <(sum)
echo "# instructions with markers: $tx to send an FPDU, $rx to receive one"
tap_done
