/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * SDP sockets over NETLINK_SOCK_DIAG (module sdp_diag).
 *
 * A dump (NLM_F_DUMP) lists the sockets of the caller's network namespace that
 * are in one of the wanted states; a request without NLM_F_DUMP gets the one
 * socket with the given cookie, which is that of a dump (sdp_diag_msg.id), or
 * SO_COOKIE. SOCK_DESTROY ends that socket and needs CAP_NET_ADMIN.
 *
 * Messages, credits and MSeq are those of the SDP specification.
 */
#ifndef _UAPI_LINUX_SDP_DIAG_H
#define _UAPI_LINUX_SDP_DIAG_H

#include <linux/types.h>
#include <linux/inet_diag.h>

struct sdp_diag_req {
	__u8	sdiag_family;		/* AF_SDP */
	__u8	sdiag_protocol;		/* must be 0: all protocols */
	__u16	pad;			/* must be 0 */
	__u32	states;			/* bit n: sockets in TCP state n */
	__u32	show;			/* SDP_DIAG_SHOW_* */
	__u32	cookie[2];		/* of the wanted socket, if no dump; the
					 * lower half first, as idiag_cookie
					 */
};

/* Attributes wanted, by their names below. MARK and TCP_REASON come in any case. */
#define SDP_DIAG_SHOW_CONN	(1 << 0)	/* DEVICE to RX_MSEQ, LINK_REASON to
						 * ZCOPY_REASON, CGROUP_ID, TOS, TCLASS
						 */
#define SDP_DIAG_SHOW_MEMINFO	(1 << 1)	/* MEMINFO */
#define SDP_DIAG_SHOW_STATS	(1 << 2)	/* STATS */

struct sdp_diag_msg {
	__u8	diag_family;		/* of the addresses: AF_INET or AF_INET6 */
	__u8	diag_state;		/* TCP state number */
	__u8	diag_shutdown;		/* bit 0: no more receives, bit 1: sends */
	__u8	pad;
	struct inet_diag_sockid id;
	__u32	diag_rqueue;		/* bytes to read; LISTEN: queue length */
	__u32	diag_wqueue;		/* bytes not acknowledged; LISTEN: limit of
					 * the queue (backlog)
					 */
	__u32	diag_uid;
	__u32	diag_inode;		/* 0: no file any more */
};

/* Attributes of a reply. */
enum {
	SDP_DIAG_UNSPEC,
	SDP_DIAG_PAD,		/* alignment only */

	/* a connection: absent while there is none */
	SDP_DIAG_DEVICE,	/* string: RDMA device */
	SDP_DIAG_DEVICE_PORT,	/* u32: port of the device */
	SDP_DIAG_FLOW_CONTROL,	/* string: flow control policy */
	SDP_DIAG_LINK,		/* string: how messages reach the device: "verbs" or
				 * "shared"
				 */
	SDP_DIAG_TX_CREDITS,	/* u32: messages we may send now; 0 if "shared" */
	SDP_DIAG_RX_CREDITS,	/* u32: messages the peer may send now; same */
	SDP_DIAG_RX_POSTED,	/* u32: receive buffers posted now; same */
	SDP_DIAG_TX_SIZE,	/* u32: largest message we may send, bytes */
	SDP_DIAG_RX_SIZE,	/* u32: largest message we accept, bytes */
	SDP_DIAG_TX_MSEQ,	/* u32: sequence number of our last message */
	SDP_DIAG_TX_MSEQ_ACK,	/* u32: last one that the peer acknowledged */
	SDP_DIAG_RX_MSEQ,	/* u32: last one received */

	SDP_DIAG_MEMINFO,	/* array of u32, indexed by SK_MEMINFO_* */
	SDP_DIAG_STATS,		/* nest of SDP_DIAG_STATS_* */
	SDP_DIAG_MARK,		/* u32: SO_MARK, for CAP_NET_ADMIN only */
	SDP_DIAG_LINK_REASON,	/* string: why the link is not "shared": sysctl,
				 * option, policy, device, stack, peer or
				 * memory; else empty
				 */
	SDP_DIAG_FC_REASON,	/* string: why the flow control is not the one
				 * asked for: as above; empty if it is, or if
				 * none was
				 */
	SDP_DIAG_RX_RESERVED,	/* u32: bytes of memory kept for receiving */
	SDP_DIAG_ZCOPY_KEPT,	/* u32: bytes of net.sdp.zcopy_cache in use: user
				 * memory that stays pinned between transfers
				 */
	SDP_DIAG_ZCOPY_REASON,	/* string: why no send can go without copies: link
				 * (it is shared), policy or device; empty if
				 * it can, or if SDP_ZCOPY is 0
				 */

	SDP_DIAG_TCP_REASON,	/* string: why a socket with SDP_FALLBACK is one of
				 * TCP, a name of enum sdp_tcp_reason after
				 * SDP_TCP_, in lower case;
				 * absent if it is not. State, shutdown, addresses,
				 * queues, memory, mark, TOS and bytes are those of
				 * TCP then
				 */

	SDP_DIAG_CGROUP_ID,	/* u64: control group, as INET_DIAG_CGROUP_ID; with CONN */

	SDP_DIAG_TOS,		/* u8: IP_TOS; with CONN, as the next */
	SDP_DIAG_TCLASS,	/* u8: IPV6_TCLASS, of sockets of IPv6 */

	__SDP_DIAG_MAX,
	SDP_DIAG_MAX = (__SDP_DIAG_MAX - 1)
};

/* Counters of one socket, all u64, since it was made. */
enum {
	SDP_DIAG_STATS_UNSPEC,
	SDP_DIAG_STATS_PAD,		/* alignment only */
	SDP_DIAG_STATS_TX_BYTES,	/* payload bytes sent */
	SDP_DIAG_STATS_RX_BYTES,	/* payload bytes received */
	SDP_DIAG_STATS_TX_MSGS,		/* messages sent, all kinds */
	SDP_DIAG_STATS_RX_MSGS,		/* messages received, all kinds */
	SDP_DIAG_STATS_CREDIT_STALLS,	/* times data waited for credits */

	__SDP_DIAG_STATS_MAX,
	SDP_DIAG_STATS_MAX = (__SDP_DIAG_STATS_MAX - 1)
};

#endif /* _UAPI_LINUX_SDP_DIAG_H */
