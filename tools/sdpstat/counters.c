// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: the names of the counters, see linux/sdp_netlink.h. */
#include "sdpstat.h"

struct counter {
	const char *name;
	const char *text;
};

/* clang-format off */
static const struct counter counters[] = {
	[SDP_MIB_ACTIVE_OPENS] = { "active_opens",
		"connections established by connect()" },
	[SDP_MIB_PASSIVE_OPENS] = { "passive_opens",
		"connections established on listeners" },
	[SDP_MIB_ACCEPTS] = { "accepts",
		"connections taken by accept()" },
	[SDP_MIB_CURR_ESTAB] = { "curr_estab",
		"connections that exist now (the only gauge)" },
	[SDP_MIB_ATTEMPT_FAILS] = { "attempt_fails",
		"own connects that failed: refused, unreachable, no answer" },
	[SDP_MIB_ESTAB_RESETS] = { "estab_resets",
		"established connections that ended with an error" },
	[SDP_MIB_CONN_REQS] = { "conn_reqs",
		"connection requests received" },
	[SDP_MIB_HELD_REQS] = { "held_reqs",
		"requests that had to wait: the backlog was full" },
	[SDP_MIB_REFUSED_REQS] = { "refused_reqs",
		"requests refused: nobody listens, or no resources" },
	[SDP_MIB_LISTEN_DROPS] = { "listen_drops",
		"held requests given up: too many, or the listener closed" },
	[SDP_MIB_ABORTS_SENT] = { "aborts_sent",
		"connections ended abortively by this side" },
	[SDP_MIB_ABORTS_RCVD] = { "aborts_rcvd",
		"connections ended abortively by the peer" },
	[SDP_MIB_DISCON_SENT] = { "discon_sent",
		"DisConn sent: end of our data" },
	[SDP_MIB_DISCON_RCVD] = { "discon_rcvd",
		"DisConn received: end of the peer's data" },
	[SDP_MIB_TIMEOUTS] = { "timeouts",
		"connections ended by a timer: user timeout, keepalive, close" },
	[SDP_MIB_KEEPALIVES] = { "keepalives",
		"keepalive probes sent" },
	[SDP_MIB_TRANSPORT_ERRORS] = { "transport_errors",
		"work requests completed in error (not by flushing)" },
	[SDP_MIB_DEVICE_REMOVALS] = { "device_removals",
		"connections and listeners lost: RDMA device removed" },
	[SDP_MIB_TX_MSGS] = { "tx_msgs",
		"messages sent, all kinds" },
	[SDP_MIB_TX_BYTES] = { "tx_bytes",
		"payload bytes sent" },
	[SDP_MIB_TX_DATA_MSGS] = { "tx_data_msgs",
		"messages with payload sent" },
	[SDP_MIB_TX_CTL] = { "tx_ctl",
		"messages without payload sent, credit updates included" },
	[SDP_MIB_TX_OOB] = { "tx_oob",
		"urgent bytes sent" },
	[SDP_MIB_TX_COPIES] = { "tx_copies",
		"copies of user data into send buffers" },
	[SDP_MIB_TX_COPY_BYTES] = { "tx_copy_bytes",
		"bytes copied by them" },
	[SDP_MIB_TX_COALESCED] = { "tx_coalesced",
		"send() calls whose bytes joined a message not yet sent" },
	[SDP_MIB_TX_SIGNALLED] = { "tx_signalled",
		"sends that asked the device for a completion" },
	[SDP_MIB_TX_NO_CREDIT] = { "tx_no_credit",
		"times that data had to wait for credits" },
	[SDP_MIB_TX_SNDBUF_FULL] = { "tx_sndbuf_full",
		"times that a writer found the send buffer full" },
	[SDP_MIB_TX_CREDIT_UPDATES] = { "tx_credit_updates",
		"empty Data messages sent to give credits" },
	[SDP_MIB_RX_MSGS] = { "rx_msgs",
		"messages received, all kinds" },
	[SDP_MIB_RX_BYTES] = { "rx_bytes",
		"payload bytes received" },
	[SDP_MIB_RX_DATA_MSGS] = { "rx_data_msgs",
		"messages with payload received" },
	[SDP_MIB_RX_COPIES] = { "rx_copies",
		"copies of received data to user memory" },
	[SDP_MIB_RX_COPY_BYTES] = { "rx_copy_bytes",
		"bytes copied by them" },
	[SDP_MIB_RX_MERGED] = { "rx_merged",
		"small messages copied together into one buffer" },
	[SDP_MIB_RX_MERGED_BYTES] = { "rx_merged_bytes",
		"bytes copied to merge them" },
	[SDP_MIB_RX_CREDIT_UPDATES] = { "rx_credit_updates",
		"empty Data messages received" },
	[SDP_MIB_RX_OOB] = { "rx_oob",
		"urgent bytes received" },
	[SDP_MIB_RX_SRCAVAIL] = { "rx_srcavail",
		"SrcAvail received, answered with SendSm (send by copy)" },
	[SDP_MIB_RX_REPOSTED] = { "rx_reposted",
		"receive buffers given to the device" },
	[SDP_MIB_RX_NO_MEM] = { "rx_no_mem",
		"receive buffers that could not be allocated" },
	[SDP_MIB_WAKEUPS_RX] = { "wakeups_rx",
		"times that a reader was told of data" },
	[SDP_MIB_WAKEUPS_TX] = { "wakeups_tx",
		"times that a writer was told of space" },
	[SDP_MIB_HELLO_BAD] = { "hello_bad",
		"malformed Hello or HelloAck" },
	[SDP_MIB_BAD_VERSION] = { "bad_version",
		"Hello or HelloAck of another major version" },
	[SDP_MIB_BAD_ADVERTS] = { "bad_adverts",
		"Hello or HelloAck with MaxAdverts 0" },
	[SDP_MIB_BAD_LEN] = { "bad_len",
		"message short, or its length field wrong" },
	[SDP_MIB_BAD_MID] = { "bad_mid",
		"unknown or unsupported message id" },
	[SDP_MIB_BAD_MSEQ] = { "bad_mseq",
		"MSeq is not the expected one" },
	[SDP_MIB_BAD_ACK] = { "bad_ack",
		"MSeqAck acknowledges what was never sent" },
	[SDP_MIB_BAD_FLAGS] = { "bad_flags",
		"reserved flag, or an urgent flag where none may be" },
	[SDP_MIB_BAD_CREDIT] = { "bad_credit",
		"peer sent without credit, or announced absurd ones" },
	[SDP_MIB_BAD_STATE] = { "bad_state",
		"message not allowed in the present state" },
	[SDP_MIB_BAD_RDMA] = { "bad_rdma",
		"bad SrcAvail, SinkAvail, cancel or completion" },
	[SDP_MIB_TX_COALESCED_BYTES] = { "tx_coalesced_bytes",
		"bytes of the sends in tx_coalesced" },
	[SDP_MIB_TX_HDR_SAVED] = { "tx_hdr_saved",
		"header bytes that coalescing saved" },
	[SDP_MIB_TX_FAULTS] = { "tx_faults",
		"copies begun again: user memory was not there" },
	[SDP_MIB_TX_NO_ROOM] = { "tx_no_room",
		"times that the provider had no room" },
	[SDP_MIB_SHARED_LINKS] = { "shared_links",
		"connections made with a shared link" },
	[SDP_MIB_RX_PAUSES] = { "rx_pauses",
		"times that the provider was told to stop" },
	[SDP_MIB_TCP_CONNECTS] = { "tcp_connects",
		"connects that went on with TCP" },
	[SDP_MIB_TCP_LISTENS] = { "tcp_listens",
		"listeners that are of TCP alone" },
	[SDP_MIB_TCP_ACCEPTS] = { "tcp_accepts",
		"TCP connections taken by accept()" },
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(counters) == __SDP_MIB_MAX, "a counter has no name");

/* A newer kernel may have counters that we have never heard of. */
const char *counter_name(unsigned int id, char *buf, size_t len)
{
	if (id < ARRAY_SIZE(counters) && counters[id].name)
		return counters[id].name;
	snprintf(buf, len, "counter_%u", id);
	return buf;
}

const char *counter_text(unsigned int id)
{
	if (id < ARRAY_SIZE(counters) && counters[id].text)
		return counters[id].text;
	return "not known to this sdpstat";
}
