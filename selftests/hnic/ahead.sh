#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=200
#
# The engine does not wait to be kicked. On another processor it may fetch a packet,
# and NAPI free it, before hnic_xmit() has returned. The packet has to be counted in the
# byte queue limits before that; they panic otherwise. Packets are small and come one by
# one, so that the engine completes all packets again and again.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
need ethtool python3
[ "$(nproc)" -gt 1 ] || ktap_skip_all "needs two processors"
NET_LINK=hnic
COUNT=$(scaled 300000 100000)

# knob FILE VALUE: set a parameter of the sender's end
knob() { in_a sh -c "echo '$2' >/sys/class/net/va/hnic/$1"; }

sent() { in_a cat /sys/class/net/va/statistics/tx_packets; }

# none_left: all packets that were handed to the device are completed
none_left() { ! in_a sh -c 'cat /sys/class/net/va/queues/tx-*/byte_queue_limits/inflight' | grep -qvx 0; }

# send_one_by_one: past the queueing discipline; send() fails with ENOBUFS if the ring is full
send_one_by_one() {
	in_a python3 - "$COUNT" <<-'END'
		import errno, os, socket, sys

		SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
		os.sched_setaffinity(0, {0})
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
		s.bind(("va", 0x88b5))  # for experiments
		frame = b"\xff" * 12 + b"\x88\xb5" + bytes(46)
		left = int(sys.argv[1])
		while left:
		    try:
		        s.send(frame)
		        left -= 1
		    except OSError as e:
		        if e.errno != errno.ENOBUFS:
		            raise
	END
}

net_up || ktap_skip_all "no links"
knob tx_cpu 1
knob queue_cpus "$(in_a cat /sys/class/net/va/hnic/queue_cpus | sed -E 's/-?[0-9]+/1/g')"
knob loss 1000000	# no receiver is needed
in_a ethtool -C va tx-usecs 0 tx-frames 1
before=$(sent)
ktap_check "packets are sent one by one" send_one_by_one
ktap_check "all packets are completed" wait_for 20 none_left
ktap_check "all packets were sent" test $(($(sent) - before)) -ge "$COUNT"
ktap_done
