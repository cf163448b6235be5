/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "sdp": the counters of a network namespace.
 * Documentation/netlink/specs/sdp.yaml describes the same in YNL.
 */
#ifndef _UAPI_LINUX_SDP_NETLINK_H
#define _UAPI_LINUX_SDP_NETLINK_H

#define SDP_FAMILY_NAME		"sdp"
#define SDP_FAMILY_VERSION	1

enum {
	SDP_CMD_STATS_GET = 1,	/* do: the reply holds SDP_MIB_* attributes */

	__SDP_CMD_MAX,
	SDP_CMD_MAX = (__SDP_CMD_MAX - 1)
};

/*
 * One u64 attribute for each counter. All but the one gauge count from the
 * creation of the network namespace (or the loading of the module) and never
 * go down.
 *
 * A "message" is an SDP message: the 16-octet BSDH, its extended header and
 * the payload. "Bytes" are payload bytes of the stream unless said otherwise.
 * New counters are added at the end.
 */
enum {
	SDP_MIB_UNSPEC,
	SDP_MIB_PAD,			/* alignment only */

	/* connections */
	SDP_MIB_ACTIVE_OPENS,		/* connections established by connect() */
	SDP_MIB_PASSIVE_OPENS,		/* connections established on listeners */
	SDP_MIB_ACCEPTS,		/* connections taken by accept() */
	SDP_MIB_CURR_ESTAB,		/* connections established, not closed yet (the only gauge) */
	SDP_MIB_CONN_REQS,		/* connection requests received */
	SDP_MIB_CONN_REQS_HELD,		/* requests that waited: backlog was full */
	SDP_MIB_CONN_REQS_REFUSED,	/* requests rejected: no listener, bad Hello, no resources */
	SDP_MIB_CONN_REQS_DROPPED,	/* held requests given up: peer left or listener closed */
	SDP_MIB_CONNECT_REFUSED,	/* own connects that the peer rejected */
	SDP_MIB_CONNECT_TIMEOUTS,	/* own connects that got no answer in time */
	SDP_MIB_CONNECT_UNREACH,	/* own connects without address, route or RDMA device */
	SDP_MIB_CLOSED,			/* connections closed gracefully in both directions */
	SDP_MIB_ABORTS,			/* connections ended abortively by this side */
	SDP_MIB_RESETS_RX,		/* connections reset by the peer or the transport */
	SDP_MIB_ABORT_ON_DATA,		/* aborts: data arrived that nobody can read any more */
	SDP_MIB_ABORT_ON_CLOSE,		/* aborts: close() with unread data or zero linger */
	SDP_MIB_ABORT_ON_TIMEOUT,	/* aborts: user timeout, keepalive or orphan timer */
	SDP_MIB_ABORT_ON_MEMORY,	/* aborts: no memory for something that must not fail */
	SDP_MIB_DEVICE_REMOVALS,	/* connections and listeners lost: RDMA device removed */
	SDP_MIB_TRANSPORT_ERRORS,	/* work requests completed in error (not by flushing) */

	/* messages and bytes */
	SDP_MIB_TX_DATA_MSGS,		/* Data messages with payload sent */
	SDP_MIB_TX_DATA_BYTES,		/* payload bytes sent */
	SDP_MIB_TX_CTRL_MSGS,		/* messages without payload sent, all kinds */
	SDP_MIB_RX_DATA_MSGS,		/* messages with payload received */
	SDP_MIB_RX_DATA_BYTES,		/* payload bytes received */
	SDP_MIB_RX_CTRL_MSGS,		/* messages without payload received, all kinds */
	SDP_MIB_TX_DISCONN,		/* DisConn sent */
	SDP_MIB_RX_DISCONN,		/* DisConn received */
	SDP_MIB_TX_ABORTCONN,		/* AbortConn sent */
	SDP_MIB_RX_ABORTCONN,		/* AbortConn received */
	SDP_MIB_TX_MERGED,		/* send() calls that joined a message not yet sent */
	SDP_MIB_RX_MERGED,		/* small messages copied together in one buffer */
	SDP_MIB_TX_URGENT,		/* urgent bytes sent */
	SDP_MIB_RX_URGENT,		/* urgent bytes received */

	/* copies and wake-ups: what a transferred byte costs */
	SDP_MIB_TX_COPIES,		/* copies of user data into send buffers */
	SDP_MIB_TX_COPY_BYTES,		/* bytes copied by them */
	SDP_MIB_RX_COPIES,		/* copies of received data to user memory */
	SDP_MIB_RX_COPY_BYTES,		/* bytes copied by them */
	SDP_MIB_RX_MERGE_COPY_BYTES,	/* bytes copied to merge small messages */
	SDP_MIB_TX_POSTS,		/* calls that gave sends to the RDMA device */
	SDP_MIB_RX_POSTS,		/* calls that gave receive buffers to the RDMA device */
	SDP_MIB_TX_COMPLETIONS,		/* send completions handled */
	SDP_MIB_RX_WAKEUPS,		/* times a reader was told of data */
	SDP_MIB_TX_WAKEUPS,		/* times a writer was told of space */
	SDP_MIB_RX_BACKLOGGED,		/* messages deferred: a process held the socket */
	SDP_MIB_TX_SNDBUF_FULL,		/* times a writer found the send buffer full */
	SDP_MIB_RX_RCVBUF_FULL,		/* times receive buffers were held back: nobody reads */
	SDP_MIB_RX_ALLOC_FAILED,	/* receive buffers that could not be allocated at once */

	/* credits */
	SDP_MIB_TX_CREDIT_UPDATES,	/* empty Data messages sent to give credits */
	SDP_MIB_RX_CREDIT_UPDATES,	/* empty Data messages received */
	SDP_MIB_CREDIT_STALLS,		/* times data waited for credits */

	/* messages about zero copy and resizing */
	SDP_MIB_RX_SRCAVAIL,		/* SrcAvail received */
	SDP_MIB_RX_SRCAVAIL_CANCEL,	/* SrcAvailCancel received */
	SDP_MIB_TX_SENDSM,		/* SendSm sent (a SrcAvail answered with "send by copy") */
	SDP_MIB_RX_SINKAVAIL,		/* SinkAvail received */
	SDP_MIB_RX_CHRCVBUF,		/* ChRcvBuf received (and answered) */
	SDP_MIB_RX_MODECHANGE,		/* ModeChange received */

	/* peer broke the protocol: each ends the connection */
	SDP_MIB_ERR_SHORT,		/* message shorter than its headers */
	SDP_MIB_ERR_LENGTH,		/* BSDH length differs from the received length */
	SDP_MIB_ERR_MSEQ,		/* MSeq is not the expected one */
	SDP_MIB_ERR_MSEQACK,		/* MSeqAck acknowledges what was never sent */
	SDP_MIB_ERR_MID,		/* unknown or unsupported message id */
	SDP_MIB_ERR_FLAGS,		/* reserved flag set, or urgent flag where none may be */
	SDP_MIB_ERR_STATE,		/* message not allowed in the present state */
	SDP_MIB_ERR_CREDITS,		/* peer sent without credit or announced absurd ones */
	SDP_MIB_ERR_HELLO,		/* malformed Hello or HelloAck */
	SDP_MIB_ERR_VERSION,		/* Hello or HelloAck of another major version */
	SDP_MIB_ERR_MAX_ADVERTS,	/* Hello or HelloAck with MaxAdverts 0 */
	SDP_MIB_ERR_BUF_SIZE,		/* announced or requested buffer size is impossible */
	SDP_MIB_ERR_ADVERT,		/* bad SrcAvail, SinkAvail, cancel or completion */

	__SDP_MIB_MAX,
	SDP_MIB_MAX = (__SDP_MIB_MAX - 1)
};

#endif /* _UAPI_LINUX_SDP_NETLINK_H */
