/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Sockets Direct Protocol: interface for applications.
 */
#ifndef _UAPI_LINUX_SDP_H
#define _UAPI_LINUX_SDP_H

#include <linux/types.h>

/*
 * The number that earlier SDP stacks used. Linux names it AF_IB, but AF_IB is
 * an address format of the RDMA connection manager only: no kernel registers
 * a socket family there.
 */
#ifndef AF_SDP
#define AF_SDP		27
#define PF_SDP		AF_SDP
#endif

/* Third argument of socket(AF_SDP, SOCK_STREAM, protocol). */
#define SDPPROTO_SDP	0	/* IPv4 addresses */
#define SDPPROTO_SDP6	1	/* IPv6 addresses, IPv4-mapped ones included */

/*
 * The same in the Internet families: socket(AF_INET or AF_INET6, SOCK_STREAM,
 * IPPROTO_SDP). SO_DOMAIN then returns that family.
 */
#ifndef IPPROTO_SDP
#define IPPROTO_SDP	257
#endif

/* Level of the socket options below, outside of every SOL_* in use. */
#define SOL_SDP		1027

/*
 * A kernel that does not leave SOL_SOCKET to the protocol refuses SO_REUSEPORT
 * there for all families except the Internet ones, and SO_ZEROCOPY for all
 * protocols except those that it knows, so both have their own numbers here.
 * Values are int unless noted.
 */
#define SDP_REUSEPORT	1	/* get/set: as SO_REUSEPORT */
#define SDP_LAST_CREDITS	2	/* get: credits held towards the peer: messages
					 * that may be sent now; 0 over a shared link
					 */
#define SDP_DEVICE	3	/* get: name of the RDMA device, a string;
				 * ENOTCONN without a connection
				 */
#define SDP_SHARED_LINK	4	/* get/set: 0: connections made from now on do
				 * not share buffers with the RDMA device
				 */
#define SDP_FLOW_CONTROL 5	/* get/set: a value below, for connections
				 * made from now on; where the peer or the
				 * device lacks support, VWIN becomes RDMA,
				 * and the others become CREDIT
				 */
#define SDP_ZCOPY	6	/* get/set: size in bytes from which sends and
				 * receives avoid the copy; 0: never
				 */

/* Values of SDP_FLOW_CONTROL. */
#define SDP_FLOW_DEFAULT	0	/* as net.sdp.flow_control says */
#define SDP_FLOW_AUTO		1	/* TRANSPORT where possible, else CREDIT;
					 * accepted connections: as the peer asks
					 */
#define SDP_FLOW_CREDIT		2	/* the standard's credits */
#define SDP_FLOW_RDMA		3	/* the sender manages a ring at the peer */
#define SDP_FLOW_VWIN		4	/* the RDMA device delays messages */
#define SDP_FLOW_TRANSPORT	5	/* shared buffers; the transport's own */

#define SDP_ZEROCOPY	7	/* get/set: stands for SO_ZEROCOPY */
#define SDP_INFO	8	/* get: struct sdp_info */
#define SDP_ZEROCOPY_RECEIVE 9	/* get: struct sdp_zerocopy_receive */

#define SDP_FALLBACK	32	/* get/set: TCP where SDP fails, SDP_FALLBACK_* */

/* Values of SDP_FALLBACK. */
#define SDP_FALLBACK_NONE	0	/* SDP only */
#define SDP_FALLBACK_TCP	1	/* connect: SDP, then TCP; listen: both */
#define SDP_FALLBACK_ONLY	2	/* a TCP socket from now on */

/*
 * Why a socket with SDP_FALLBACK is one of TCP: SDP_DIAG_TCP_REASON of sock_diag, by
 * name, the tracepoint sdp_tcp, and counters from SDP_MIB_TCP_NO_DEVICE on. Not to be
 * confused with enum sdp_reason, which is about a connection of SDP: the values of both
 * begin at 0, and no field of these interfaces holds both.
 */
enum sdp_tcp_reason {
	SDP_TCP_NONE,		/* it is not */
	SDP_TCP_NO_DEVICE,	/* no RDMA device has, or leads to, the address; or the
				 * device was removed
				 */
	SDP_TCP_NO_ROUTE,	/* the peer's address or route was not found */
	SDP_TCP_REFUSED,	/* the peer has no SDP there, or takes no more */
	SDP_TCP_TIMEOUT,	/* no answer in time, net.sdp.fallback_timeout at most */
	SDP_TCP_LIMIT,		/* net.sdp.max_connections or mem, or no memory */
	SDP_TCP_PORT,		/* the port is in use at the RDMA device */
	SDP_TCP_RESET,		/* the peer or the device ended the attempt */
	SDP_TCP_OTHER,		/* another error */
	SDP_TCP_RECENT,		/* TCP answered there, and SDP did not, just before */
	SDP_TCP_REQUESTED,	/* SDP_FALLBACK_ONLY; not counted */
};

/* Values of sdp_info.link. */
#define SDP_LINK_NONE		0	/* no connection */
#define SDP_LINK_VERBS		1	/* messages in registered buffers */
#define SDP_LINK_SHARED		2	/* buffers of the RDMA device */

/*
 * Why a connection does not have a shared link, the requested flow control, or sends
 * without copies: link_reason, flow_reason and zcopy_reason of struct sdp_info.
 * sock_diag has them by name.
 */
enum sdp_reason {
	SDP_REASON_NONE,	/* it has, or nothing else was requested */
	SDP_REASON_SYSCTL,	/* net.sdp.shared_link is 0: no shared link, and not its
				 * flow control
				 */
	SDP_REASON_OPTION,	/* SDP_SHARED_LINK is 0: same */
	SDP_REASON_DEVICE,	/* the device lacks support */
	SDP_REASON_PEER,	/* the peer does not agree */
	SDP_REASON_MEMORY,	/* there was not enough memory */
	SDP_REASON_POLICY,	/* the flow control excludes it: no shared link with the
				 * requested one; no zero copy with the one in use
				 */
	SDP_REASON_STACK,	/* the device shares buffers, but lacks flow control,
				 * buffering or coalescing, which SDP leaves to it then
				 */
	SDP_REASON_LINK,	/* no zero copy: the link is shared */
};

#define SDP_INFO_VERSION	3
#define SDP_INFO_DEVICE		64

/*
 * Answer to SDP_INFO: as much of it as the caller has room for; optlen returns the
 * length. The kernel writes nothing after that: a caller with a longer structure clears it
 * before. New fields are added at the end, or use padding, which was 0 before; version says
 * which exist, size is that of the kernel's structure.
 */
struct sdp_info {
	__u16	version;		/* SDP_INFO_VERSION */
	__u16	size;
	__u8	state;			/* TCP_ESTABLISHED and so on */
	__u8	link;			/* SDP_LINK_* */
	__u8	link_reason;		/* enum sdp_reason: why not shared */
	__u8	flow_control;		/* SDP_FLOW_*, 0 without connection */
	__u8	flow_reason;		/* same: why not as requested */
	__u8	zcopy_able;		/* link, flow control and device allow it */
	__u8	zcopy_reason;		/* same: why not; version 3 */
	__u8	pad;
	__u32	zcopy_threshold;	/* as SDP_ZCOPY */
	__u32	rx_queue;		/* bytes to be read; of a listener,
					 * connections to be accepted
					 */
	__u32	tx_queue;		/* bytes not acknowledged; of a
					 * listener, its backlog
					 */
	__u32	tx_unsent;		/* bytes of it not sent */
	__u32	tx_size;		/* most payload of one message */
	__u32	tx_credits;		/* messages that may be sent now; 0 over a
					 * shared link, which has no credits
					 */
	__u32	rx_credits;		/* messages that the peer may send; same */
	__u32	rx_reserved;		/* bytes kept for receiving */
	char	device[SDP_INFO_DEVICE];	/* "" without connection */
	__u64	tx_bytes;		/* payload */
	__u64	rx_bytes;
	__u64	tx_msgs;		/* all kinds */
	__u64	rx_msgs;
	__u64	tx_no_credit;		/* times that data waited for credits */
	__u64	tx_zcopy_bytes;		/* sent without a copy */
	__u64	rx_zcopy_bytes;		/* received without a copy */
	__u64	tx_zcopy_fails;		/* attempts that ended in copying */
	/* version 2 */
	__u32	rx_mapped;		/* bytes of receive buffers of which
					 * SDP_ZEROCOPY_RECEIVE has mapped pages
					 */
	__u32	zcopy_kept;		/* bytes of net.sdp.zcopy_cache in use */
	__u64	rx_mapped_bytes;	/* payload that it has mapped so far */
};

/**
 * struct sdp_zerocopy_receive - SDP_ZEROCOPY_RECEIVE: map received data
 * @address: in: address in a mapping of the socket (mmap(), PROT_READ); on a page
 *	     boundary
 * @length: in: bytes of room there, of which whole pages count; pages mapped
 *	    there before are given back. Out: bytes that are there now; they count
 *	    as received
 * @recv_skip_hint: out: bytes after them that must be read in another way
 *		    before more can be mapped
 * @inq: out: bytes in the receive queue, as for TCP_INQ
 * @err: out: as SO_ERROR, which is cleared
 * @copybuf_address: in: memory for bytes that cannot be mapped
 * @copybuf_len: in: bytes of it, may be 0; the queue is copied if all of it
 *		 fits. Out: bytes that are there now, which follow those mapped
 * @flags: in: 0 or TCP_RECEIVE_ZEROCOPY_FLAG_TLB_CLEAN_HINT, without effect
 * @msg_control: not used
 * @msg_controllen: not used
 * @msg_flags: out: 0, there are no timestamps
 * @reserved: 0
 *
 * The structure is that of TCP_ZEROCOPY_RECEIVE, which can be used as well. A
 * caller may leave out the fields after @length, or after a later one.
 */
struct sdp_zerocopy_receive {
	__u64	address;
	__u32	length;
	__u32	recv_skip_hint;
	__u32	inq;
	__s32	err;
	__u64	copybuf_address;
	__s32	copybuf_len;
	__u32	flags;
	__u64	msg_control;
	__u64	msg_controllen;
	__u32	msg_flags;
	__u32	reserved;
};

#endif /* _UAPI_LINUX_SDP_H */
