#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sdpstat check without sdp_diag.ko: it reports that the connection works, and that it
# cannot be listed.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need sdpstat sdp-run socat jq
dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q sdp
start_bg b sdp-run socat TCP4-LISTEN:7001,fork,reuseaddr PIPE
wait_port b 7001
ktap_is "check works with sdp_diag" "$(in_a sdpstat check -j 10.0.0.2:7001 |
	jq -r '.sdp, (.steps[] | select(.step == "hello") | .result)' | xargs)" "true ok"
rmmod sdp_diag || ktap_skip_all "sdp_diag stays"
mkdir -p /etc/modprobe.d
echo "install sdp_diag /bin/false" >/etc/modprobe.d/nodiag.conf
defer rm -f /etc/modprobe.d/nodiag.conf
ktap_check_fails "sdpstat fails without sdp_diag" in_a sdpstat
json=$(in_a sdpstat check -j 10.0.0.2:7001 2>/run/check.err)
ktap_is "check reports a good connection without sdp_diag" "$?" 0
ktap_is "the report is one JSON document, and notes that nothing can be listed" "$(jq -r '.sdp, (.steps[] |
	select(.step == "hello") | .result, (.text | test("cannot be listed")))' \
	<<<"$json" 2>&1 | xargs)" "true note true"
ktap_is "check prints nothing to standard error" "$(cat /run/check.err)" ""
ktap_is "the last line of the report as text is SDP" "$(in_a sdpstat check 10.0.0.2:7001 | tail -n1)" SDP
ktap_done
