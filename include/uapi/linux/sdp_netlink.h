/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "sdp": the counters of a network namespace, and the changes of
 * state of its sockets.
 * Documentation/netlink/specs/sdp.yaml describes the same in YNL.
 */
#ifndef _UAPI_LINUX_SDP_NETLINK_H
#define _UAPI_LINUX_SDP_NETLINK_H

#define SDP_FAMILY_NAME		"sdp"
#define SDP_FAMILY_VERSION	1
#define SDP_MCGRP_STATES	"states"	/* of SDP_CMD_STATE_NTF */

enum {
	SDP_CMD_STATS_GET = 1,	/* do: the reply holds SDP_MIB_* attributes */
	SDP_CMD_STATE_NTF,	/* a socket has another state: SDP_STATE_* */

	__SDP_CMD_MAX,
	SDP_CMD_MAX = (__SDP_CMD_MAX - 1)
};

/*
 * Attributes of SDP_CMD_STATE_NTF. For a socket that has become a TCP socket, see the
 * notifications of sock_diag(7).
 */
enum {
	SDP_STATE_UNSPEC,
	SDP_STATE_PAD,		/* alignment only */
	SDP_STATE_OLD,		/* u32: number of the TCP state */
	SDP_STATE_NEW,		/* u32 */
	SDP_STATE_COOKIE,	/* u64: as in sdp_diag.h */
	SDP_STATE_LOCAL,	/* struct sockaddr_in or sockaddr_in6; 0.0.0.0, port 0 without an
				 * address
				 */
	SDP_STATE_PEER,		/* the same */
	SDP_STATE_UID,		/* u32 */
	SDP_STATE_DEVICE,	/* string: RDMA device; absent without one */

	__SDP_STATE_MAX,
	SDP_STATE_MAX = (__SDP_STATE_MAX - 1)
};

/*
 * One u64 attribute for each counter. All but the gauges, CURR_ESTAB and
 * MEM_PAGES, count from the creation of the network namespace (or the loading
 * of the module) and never go down.
 *
 * A "message" is an SDP message: the base header (BSDH, 16 bytes), its
 * extended header and the payload. The names of messages (SrcAvail) and header
 * fields (MSeq) are those of the SDP specification, see Documentation/wire.rst.
 * "Bytes" are payload bytes of the stream unless said otherwise. New counters
 * are added at the end.
 */
enum {
	SDP_MIB_UNSPEC,
	SDP_MIB_PAD,			/* alignment only */

	/* connections */
	SDP_MIB_ACTIVE_OPENS,		/* connects begun, whatever their outcome */
	SDP_MIB_PASSIVE_OPENS,		/* connections established on listeners */
	SDP_MIB_ACCEPTS,		/* connections taken by accept() */
	SDP_MIB_CURR_ESTAB,		/* connections that exist now: a gauge */
	SDP_MIB_ATTEMPT_FAILS,		/* own connects that failed, whatever the reason */
	SDP_MIB_ESTAB_RESETS,		/* established connections that ended with an error */
	SDP_MIB_CONN_REQS,		/* connection requests received */
	SDP_MIB_HELD_REQS,		/* requests that had to wait: the backlog was full */
	SDP_MIB_REFUSED_REQS,		/* requests refused: no listener, too many, no resources */
	SDP_MIB_LISTEN_DROPS,		/* requests ended: too many, unconfirmed, listener closed */
	SDP_MIB_ABORTS_SENT,		/* connections ended abortively by this side */
	SDP_MIB_ABORTS_RCVD,		/* AbortConn received; the peer may reset without it */
	SDP_MIB_DISCON_SENT,		/* DisConn sent: end of our data */
	SDP_MIB_DISCON_RCVD,		/* DisConn received: end of the peer's data */
	SDP_MIB_TIMEOUTS,		/* connections and connects ended by a timer */
	SDP_MIB_KEEPALIVES,		/* keepalive probes sent */
	SDP_MIB_TRANSPORT_ERRORS,	/* work requests completed in error (not by flushing) */
	SDP_MIB_DEVICE_REMOVALS,	/* connections and listeners lost: RDMA device removed */

	/* messages and bytes sent */
	SDP_MIB_TX_MSGS,		/* messages sent, all kinds */
	SDP_MIB_TX_BYTES,		/* payload bytes sent */
	SDP_MIB_TX_DATA_MSGS,		/* messages with payload sent */
	SDP_MIB_TX_CTL,			/* messages without payload sent, credit updates included */
	SDP_MIB_TX_OOB,			/* urgent bytes sent */
	SDP_MIB_TX_COPIES,		/* copies of user data into send buffers */
	SDP_MIB_TX_COPY_BYTES,		/* bytes copied by them */
	SDP_MIB_TX_COALESCED,		/* send() calls whose bytes joined a message not yet sent */
	SDP_MIB_TX_SIGNALLED,		/* sends that asked the device for a completion */
	SDP_MIB_TX_NO_CREDIT,		/* times that data waited for credits, or room in a ring */
	SDP_MIB_TX_SNDBUF_FULL,		/* times that a writer found the send buffer full */
	SDP_MIB_TX_CREDIT_UPDATES,	/* empty Data or Ring messages sent to give credits */

	/* messages and bytes received */
	SDP_MIB_RX_MSGS,		/* messages received, all kinds */
	SDP_MIB_RX_BYTES,		/* payload bytes received */
	SDP_MIB_RX_DATA_MSGS,		/* messages with payload received */
	SDP_MIB_RX_COPIES,		/* copies of received data to user memory */
	SDP_MIB_RX_COPY_BYTES,		/* bytes copied by them */
	SDP_MIB_RX_MERGED,		/* messages copied together into one buffer */
	SDP_MIB_RX_MERGED_BYTES,	/* bytes copied to merge them */
	SDP_MIB_RX_CREDIT_UPDATES,	/* empty Data or Ring messages received */
	SDP_MIB_RX_OOB,			/* urgent bytes received */
	SDP_MIB_RX_SRCAVAIL,		/* SrcAvail received */
	SDP_MIB_RX_REPOSTED,		/* receive buffers given to the device */
	SDP_MIB_RX_NO_MEM,		/* receive buffers that could not be allocated */
	SDP_MIB_WAKEUPS_RX,		/* times that a reader was woken for data */
	SDP_MIB_WAKEUPS_TX,		/* times that a writer was woken for space */

	/* the peer broke the protocol: each ends the connection */
	SDP_MIB_HELLO_BAD,		/* malformed Hello or HelloAck */
	SDP_MIB_BAD_VERSION,		/* Hello or HelloAck of another major version */
	SDP_MIB_BAD_ADVERTS,		/* Hello or HelloAck with MaxAdverts 0 */
	SDP_MIB_BAD_LEN,		/* message short, or its length field wrong */
	SDP_MIB_BAD_MID,		/* unknown message id */
	SDP_MIB_BAD_MSEQ,		/* MSeq is not the expected one */
	SDP_MIB_BAD_ACK,		/* MSeqAck acknowledges what was never sent, or goes back */
	SDP_MIB_BAD_FLAGS,		/* reserved flag, or an urgent flag where none may be */
	SDP_MIB_BAD_CREDIT,		/* peer sent without credit, or without room in the ring */
	SDP_MIB_BAD_STATE,		/* message not allowed in the present state */
	SDP_MIB_BAD_RDMA,		/* bad advertisement, completion, Ring or ModeChange */

	/* coalescing, and links that share buffers with the provider */
	SDP_MIB_TX_COALESCED_BYTES,	/* bytes of the sends in TX_COALESCED */
	SDP_MIB_TX_HDR_SAVED,		/* header bytes that coalescing saved */
	SDP_MIB_TX_FAULTS,		/* copies restarted: user memory was not present */
	SDP_MIB_TX_NO_ROOM,		/* times that the provider had no room */
	SDP_MIB_SHARED_LINKS,		/* connections made with a shared link */
	SDP_MIB_RX_PAUSES,		/* times that the provider was paused */

	/* TCP beside SDP, see SDP_FALLBACK */
	SDP_MIB_TCP_CONNECTS,		/* connects that continued with TCP */
	SDP_MIB_TCP_LISTENS,		/* listeners that became TCP listeners */
	SDP_MIB_TCP_ACCEPTS,		/* TCP connections taken by accept() */

	/* flow control */
	SDP_MIB_FC_FALLBACKS,		/* connections without the flow control asked for */
	SDP_MIB_RING_LINKS,		/* connections made with a ring at each end */
	SDP_MIB_RING_UPDATES,		/* messages that announce space and credits alone */
	SDP_MIB_VWIN_LINKS,		/* connections whose device delays messages */

	/* zero copy */
	SDP_MIB_TX_SRCAVAIL,		/* SrcAvail sent: zero copy begun */
	SDP_MIB_TX_ZCOPY_BYTES,		/* payload bytes read by the peer, or written to it */
	SDP_MIB_TX_ZCOPY_DECLINED,	/* SendSm received: the peer wants messages */
	SDP_MIB_TX_ZCOPY_CANCELS,	/* SrcAvailCancel sent: the peer did not read */
	SDP_MIB_RX_ZCOPY_READS,		/* RDMA Reads into memory of readers */
	SDP_MIB_RX_ZCOPY_BYTES,		/* payload bytes read by them, or written by the peer */
	SDP_MIB_RX_ZCOPY_DECLINED,	/* SrcAvail answered with SendSm */
	SDP_MIB_RX_ZCOPY_CANCELS,	/* SrcAvailCancel received in time */
	SDP_MIB_ZCOPY_NO_DEVICE,	/* sends copied: no support by the device */
	SDP_MIB_ZCOPY_NO_MEM,		/* transfers copied: memory could not be pinned */
	SDP_MIB_MODE_CHANGES,		/* ModeChange sent */
	SDP_MIB_RX_SINKAVAIL,		/* SinkAvail received: a reader of the peer waits */
	SDP_MIB_SINKAVAIL_STALE,		/* SinkAvail received that data had crossed */
	SDP_MIB_SRCAVAIL_CROSSED,	/* SrcAvail void: a SinkAvail crossed it */
	SDP_MIB_TX_ZCOPY_WRITES,		/* RDMA Writes into memory of the peer's readers */
	SDP_MIB_TX_SINKAVAIL,		/* SinkAvail sent: memory of a reader */
	SDP_MIB_TX_SINK_CANCELS,	/* SinkAvailCancel sent: the reader stopped waiting */
	SDP_MIB_RX_ZCOPY_WRITES,		/* RDMA Writes of the peer into memory of readers */

	SDP_MIB_CONN_LIMIT,		/* connects and requests refused: net.sdp.max_connections */

	/* SDP_ZEROCOPY_RECEIVE */
	SDP_MIB_RX_MAPPED_BYTES,	/* payload bytes mapped into programs */
	SDP_MIB_RX_MAPPED_COPIED,	/* bytes that the same calls copied */
	SDP_MIB_RX_MAP_FULL,		/* calls that found the limit reached */

	/* memory that zero copy keeps */
	SDP_MIB_ZCOPY_CACHE_HITS,	/* transfers whose memory was still pinned and mapped */
	SDP_MIB_ZCOPY_CACHE_MISSES,	/* transfers whose memory was not */
	SDP_MIB_ZCOPY_CACHE_STALE,	/* kept memory whose mapping the process changed */
	SDP_MIB_ZCOPY_CACHE_EVICTED,	/* kept memory released to make room for other */
	SDP_MIB_ZCOPY_CACHE_IDLE,	/* kept memory released because it was not used */

	SDP_MIB_TX_REF_BYTES,		/* payload bytes sent by reference */
	SDP_MIB_ZCOPY_NO_LINK,		/* large sends copied: link or flow control */

	/* rings */
	SDP_MIB_TX_IMMEDIATES,		/* messages sent as a Write with immediate data */
	SDP_MIB_RX_IMMEDIATES,		/* messages received as such */

	/* SDP_FALLBACK: why sockets use TCP, in the order of SDP_TCP_* */
	SDP_MIB_TCP_NO_DEVICE,		/* no RDMA device */
	SDP_MIB_TCP_NO_ROUTE,		/* no route to the peer */
	SDP_MIB_TCP_REFUSED,		/* the peer refused SDP */
	SDP_MIB_TCP_TIMEOUT,		/* no answer in time */
	SDP_MIB_TCP_LIMIT,		/* a limit, or no memory */
	SDP_MIB_TCP_PORT,		/* the device's port is in use */
	SDP_MIB_TCP_RESET,		/* the attempt was ended */
	SDP_MIB_TCP_OTHER,		/* another error */
	SDP_MIB_TCP_RECENT,		/* SDP failed there just before */

	/* histograms, smallest size first; sdp_mib_size() of the kernel relies on that */
	SDP_MIB_TX_SENDS_64,		/* send() calls, of at most 64 bytes */
	SDP_MIB_TX_SENDS_256,		/* send() calls, of 65 to 256 bytes */
	SDP_MIB_TX_SENDS_1K,		/* send() calls, of 257 bytes to 1 KB */
	SDP_MIB_TX_SENDS_4K,		/* send() calls, of more than 1 KB, up to 4 KB */
	SDP_MIB_TX_SENDS_16K,		/* send() calls, of more than 4 KB, up to 16 KB */
	SDP_MIB_TX_SENDS_64K,		/* send() calls, of more than 16 KB, up to 64 KB */
	SDP_MIB_TX_SENDS_MORE,		/* send() calls, of more than 64 KB */
	SDP_MIB_RX_MSGS_64,		/* data messages received, of at most 64 bytes */
	SDP_MIB_RX_MSGS_256,		/* data messages received, of 65 to 256 bytes */
	SDP_MIB_RX_MSGS_1K,		/* data messages received, of 257 bytes to 1 KB */
	SDP_MIB_RX_MSGS_4K,		/* data messages received, of more than 1 KB, up to 4 KB */
	SDP_MIB_RX_MSGS_16K,		/* data messages received, of over 4 KB, up to 16 KB */
	SDP_MIB_RX_MSGS_64K,		/* data messages received, of over 16 KB, up to 64 KB */
	SDP_MIB_RX_MSGS_MORE,		/* data messages received, of more than 64 KB */

	SDP_MIB_ORPHAN_LIMIT,		/* closed connections reset: net.sdp.max_orphans */

	/* from a send to its acknowledgment, one send at a time: net.sdp.tx_latency */
	SDP_MIB_TX_LATENCY_16US,	/* timed sends: at most 16 us */
	SDP_MIB_TX_LATENCY_64US,	/* timed sends: 17 to 64 us */
	SDP_MIB_TX_LATENCY_256US,	/* timed sends: 65 to 256 us */
	SDP_MIB_TX_LATENCY_1MS,		/* timed sends: over 256 us, up to 1 ms */
	SDP_MIB_TX_LATENCY_4MS,		/* timed sends: over 1 ms, up to 4 ms */
	SDP_MIB_TX_LATENCY_16MS,	/* timed sends: over 4 ms, up to 16 ms */
	SDP_MIB_TX_LATENCY_64MS,	/* timed sends: over 16 ms, up to 64 ms */
	SDP_MIB_TX_LATENCY_MORE,	/* timed sends: over 64 ms */

	/* net.sdp.mem */
	SDP_MIB_MEM_PAGES,		/* pages of buffers of verbs links, now: a gauge */
	SDP_MIB_MEM_LIMIT,		/* buffers and connections that it did not allow */

	__SDP_MIB_MAX,
	SDP_MIB_MAX = (__SDP_MIB_MAX - 1)
};

#endif /* _UAPI_LINUX_SDP_NETLINK_H */
