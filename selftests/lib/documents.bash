# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The commands that manual pages and documents show, one a line.

# shellcheck disable=SC2034 # for the tests
MAN=/usr/share/man DOC=/usr/share/doc/sdp-tools

# in_page FILE: commands in the examples of a manual page
in_page() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$1" |
		sed -n 's/^\.Dl //p; /^\.Bd/,/^\.Ed/{/^\./!p}' | sed -E 's/^(server|client)\$ //'
}

# in_document FILE: commands in the literal blocks of a document whose program is in the list
# below. A backslash at the end or an open quotation continues a line.
in_document() {
	awk '/^[^ ]/ || /::$/ { on = /::$/ }
		on && /^    [^ ]/ || line != "" {
			sub(/^ +/, "")
			sub(/ +# .*/, "")
			line = line == "" ? $0 : line " " $0
			quotes = line
			if (sub(/ *\\$/, "", line) || gsub(/\047/, "", quotes) % 2)
				next
			print line
			line = ""
		}' "$1" |
		grep -E '^(make|apt|systemctl|sdp-run|sdpstat|sdpctl|sdpbench|rdma|ip|ethtool|modprobe|rping|sysctl|perf|bpftrace|echo|printf|cat|cd|mokutil|mkdir|ln|mount|grep|nsenter|podman|nvme|mpirun) '
}

# each_is_listed: the commands that commands() lists after a tab, and those of shown(),
# are the same
each_is_listed() {
	local want have

	want=$(commands | sed -n 's/^[^\t]*\t//p' | sed 's/^timeout [0-9]* //' | sort -u)
	have=$(shown | sort -u)
	ktap_is "each command that the documents show is in the list of this test" "$(grep -vxFf <(echo "$want") <<<"$have")" ""
	ktap_is "the documents show each command in the list of this test" "$(grep -vxFf <(echo "$have") <<<"$want")" ""
}
