// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: the names of the counters, see linux/sdp_netlink.h. */
#include "sdpstat.h"

struct counter {
	const char *name;
	const char *text;
};

#define C(id, name, text) [SDP_MIB_##id] = { name, text }

/* clang-format off */
static const struct counter counters[] = {
	C(ACTIVE_OPENS, "active_opens",
	  "connections established by connect()"),
	C(PASSIVE_OPENS, "passive_opens",
	  "connections established on listeners"),
	C(ACCEPTS, "accepts",
	  "connections taken by accept()"),
	C(CURR_ESTAB, "curr_estab",
	  "connections that exist now (the only gauge)"),
	C(ATTEMPT_FAILS, "attempt_fails",
	  "own connects that failed: refused, unreachable, no answer"),
	C(ESTAB_RESETS, "estab_resets",
	  "established connections that ended with an error"),
	C(CONN_REQS, "conn_reqs",
	  "connection requests received"),
	C(HELD_REQS, "held_reqs",
	  "requests that had to wait: the backlog was full"),
	C(REFUSED_REQS, "refused_reqs",
	  "requests refused: nobody listens, or no resources"),
	C(LISTEN_DROPS, "listen_drops",
	  "held requests given up: too many, or the listener closed"),
	C(ABORTS_SENT, "aborts_sent",
	  "connections ended abortively by this side"),
	C(ABORTS_RCVD, "aborts_rcvd",
	  "connections ended abortively by the peer"),
	C(DISCON_SENT, "discon_sent",
	  "DisConn sent: end of our data"),
	C(DISCON_RCVD, "discon_rcvd",
	  "DisConn received: end of the peer's data"),
	C(TIMEOUTS, "timeouts",
	  "connections ended by a timer: user timeout, keepalive, close"),
	C(KEEPALIVES, "keepalives",
	  "keepalive probes sent"),
	C(TRANSPORT_ERRORS, "transport_errors",
	  "work requests completed in error (not by flushing)"),
	C(DEVICE_REMOVALS, "device_removals",
	  "connections and listeners lost: RDMA device removed"),
	C(TX_MSGS, "tx_msgs",
	  "messages sent, all kinds"),
	C(TX_BYTES, "tx_bytes",
	  "payload bytes sent"),
	C(TX_DATA_MSGS, "tx_data_msgs",
	  "messages with payload sent"),
	C(TX_CTL, "tx_ctl",
	  "messages without payload sent, credit updates included"),
	C(TX_OOB, "tx_oob",
	  "urgent bytes sent"),
	C(TX_COPIES, "tx_copies",
	  "copies of user data into send buffers"),
	C(TX_COPY_BYTES, "tx_copy_bytes",
	  "bytes copied by them"),
	C(TX_COALESCED, "tx_coalesced",
	  "send() calls whose bytes joined a message not yet sent"),
	C(TX_SIGNALLED, "tx_signalled",
	  "sends that asked the device for a completion"),
	C(TX_NO_CREDIT, "tx_no_credit",
	  "times that data had to wait for credits"),
	C(TX_SNDBUF_FULL, "tx_sndbuf_full",
	  "times that a writer found the send buffer full"),
	C(TX_CREDIT_UPDATES, "tx_credit_updates",
	  "empty Data messages sent to give credits"),
	C(RX_MSGS, "rx_msgs",
	  "messages received, all kinds"),
	C(RX_BYTES, "rx_bytes",
	  "payload bytes received"),
	C(RX_DATA_MSGS, "rx_data_msgs",
	  "messages with payload received"),
	C(RX_COPIES, "rx_copies",
	  "copies of received data to user memory"),
	C(RX_COPY_BYTES, "rx_copy_bytes",
	  "bytes copied by them"),
	C(RX_MERGED, "rx_merged",
	  "small messages copied together into one buffer"),
	C(RX_MERGED_BYTES, "rx_merged_bytes",
	  "bytes copied to merge them"),
	C(RX_CREDIT_UPDATES, "rx_credit_updates",
	  "empty Data messages received"),
	C(RX_OOB, "rx_oob",
	  "urgent bytes received"),
	C(RX_SRCAVAIL, "rx_srcavail",
	  "SrcAvail received, answered with SendSm (send by copy)"),
	C(RX_REPOSTED, "rx_reposted",
	  "receive buffers given to the device"),
	C(RX_NO_MEM, "rx_no_mem",
	  "receive buffers that could not be allocated"),
	C(WAKEUPS_RX, "wakeups_rx",
	  "times that a reader was told of data"),
	C(WAKEUPS_TX, "wakeups_tx",
	  "times that a writer was told of space"),
	C(HELLO_BAD, "hello_bad",
	  "malformed Hello or HelloAck"),
	C(BAD_VERSION, "bad_version",
	  "Hello or HelloAck of another major version"),
	C(BAD_ADVERTS, "bad_adverts",
	  "Hello or HelloAck with MaxAdverts 0"),
	C(BAD_LEN, "bad_len",
	  "message short, or its length field wrong"),
	C(BAD_MID, "bad_mid",
	  "unknown or unsupported message id"),
	C(BAD_MSEQ, "bad_mseq",
	  "MSeq is not the expected one"),
	C(BAD_ACK, "bad_ack",
	  "MSeqAck acknowledges what was never sent"),
	C(BAD_FLAGS, "bad_flags",
	  "reserved flag, or an urgent flag where none may be"),
	C(BAD_CREDIT, "bad_credit",
	  "peer sent without credit, or announced absurd ones"),
	C(BAD_STATE, "bad_state",
	  "message not allowed in the present state"),
	C(BAD_RDMA, "bad_rdma",
	  "bad SrcAvail, SinkAvail, cancel or completion"),
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
