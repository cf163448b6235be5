/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SDP sockets: objects and the functions that cross a file border.
 *
 * Layers, each may call only what stands below it:
 *   af_sdp.c            proto_ops: what a system call does
 *   sdp_inet.c          the same sockets as a protocol of AF_INET, AF_INET6
 *   sdp_fallback.c      TCP beside SDP: the kernel's TCP sockets
 *   sdp_sockopt.c       socket options
 *   sdp_info.c          SDP_INFO
 *   sdp_errq.c          MSG_ZEROCOPY: notifications
 *   sdp_cm.c            connections: rdma_cm events, set-up, teardown
 *   sdp_lend.c          received pages in a mapping of the socket
 *   sdp_rx.c sdp_tx.c   the two halves of the stream
 *   sdp_verbs_rx.c sdp_verbs_tx.c    the same over a verbs link: messages in
 *                       private buffers, posted
 *   sdp_shared_rx.c sdp_shared_tx.c    the same over a shared link: buffers
 *                       of the provider
 *   sdp_rx_pages.c      references to received pages
 *   sdp_tx_pages.c      references to pages that are sent
 *   sdp_fc_policy.c     which flow control a connection has, and why
 *   sdp_fc_*.c          flow control: credits, a ring that the sender manages,
 *                       messages that the device holds, the transport's own
 *   sdp_ring.c          that ring: its memory, and the receive queue in it
 *   sdp_zcopy*.c        large sends and receives over a verbs link without copies
 *   sdp_qp.c    queue pair, buffers, posting
 *   sdp_conn.c          the connection as an object
 *   sdp_sock.c          the socket as an object
 *   sdp_wire.c          message formats, pure functions
 *
 * Locks, outermost first:
 *   lock_sock(sk)    serialises system calls on a socket. CM handlers never
 *                    take it, so rdma_cm calls below it cannot deadlock
 *                    with a handler. The teardown does: copies from and to
 *                    user memory wait for no page with it, and nothing is
 *                    pinned with it.
 *   conn->tx_lock    (BH) the transmit half, credits, posting to the QP. The
 *                    provider takes its TCP lock below it.
 *   sdp->lock        (BH) socket state, receive queue, accept queue. Nothing is
 *                    posted and no lock but socks_lock and that of a wait
 *                    queue is taken under it, so that a provider may call
 *                    up to us under its own locks. A child's lock nests
 *                    below its listener's.
 *   sdp_net.socks_lock (BH) who is there and bound to what. Innermost.
 * Ports that sockets share (sdp_cm.c) have a mutex for who joins and leaves,
 * sdp_net.port_mutex, and a spinlock each for the handler, which is innermost.
 *
 * Callbacks of a shared link run under the provider's TCP lock: they take
 * sdp->lock only. What they want sent is left to a work item.
 */
#ifndef _SDP_H
#define _SDP_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/sockptr.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_stack.h>
#include <linux/sdp.h>

#include "sdp_wire.h"
#include "zcopy/zcopy.h"

/* Limits of this implementation; what users can tune is in struct sdp_net. */
#define SDP_BUF_ORDER		3	/* pages of a send or receive buffer */
#define SDP_BUF_SIZE		(PAGE_SIZE << SDP_BUF_ORDER)
#define SDP_SQ_DEPTH		64	/* sends in flight; a power of two */
#define SDP_TXQ_DEPTH		64	/* messages not sent; a power of two */
#define SDP_CTL_SLOT		64	/* octets for one header or control message */
#define SDP_TX_PIECES		5	/* of payload; software devices take one more */
#define SDP_TX_SPLIT_MIN	2048	/* payloads worth an SGE of their own */
#define SDP_MIN_RX_BUFS		8	/* data, and see sdp_fc_credit.c */
#define SDP_MAX_RX_BUFS		256
#define SDP_FC_DATA		3	/* no payload with fewer credits */
#define SDP_FC_FLOW		4	/* told of; with fewer, data wait for the reader */
#define SDP_FC_SPARE		1	/* receives that the peer is not told of */
#define SDP_PD_MAX		252	/* private data that we send, at most */
#define SDP_STX_RECORDS		64	/* unacknowledged; a power of two */
#define SDP_BIND_BUCKETS	256
#define SDP_RX_FRAGS		84	/* of a block, which takes 2 KB */
#define SDP_RING_MIN		SDP_BUF_SIZE	/* octets; a power of two */
#define SDP_RING_MAX		(SDP_BUF_SIZE * 64)
#define SDP_RING_INLINE		264	/* payload that goes along with a message */
#define SDP_RING_SLOT		(24 + SDP_RING_INLINE)	/* of a receive */

struct sdp_mib;
struct sdp_conn;
struct sdp_lend;
struct sdp_sock;
struct sdp_port;
struct ctl_table_header;
struct iov_iter;
struct pipe_inode_info;
struct ubuf_info;

/*
 * struct sdp_net - what a network namespace holds
 * @mib: per-CPU counters (sdp_mib.c)
 * @sysctl_hdr: table under net/sdp (sdp_sysctl.c)
 * @socks: every socket of the namespace, linked by sdp_sock.net_node
 * @bound: those with a port, by its number, linked by sdp_sock.bind_node
 * @socks_lock: (BH) protects @socks, @bound and sdp_sock.local; innermost
 * @ports: what their ports are to rdma_cm (sdp_cm.c), by number
 * @port_mutex: who joins and leaves which of @ports; below lock_sock, no
 *	handler takes it
 * @nconns: connections that have memory, whatever their state
 *
 * The sysctl_ fields are written by sdp_sysctl.c after validation and read
 * with READ_ONCE() when a socket or a connection is made.
 */
struct sdp_net {
	struct sdp_mib __percpu *mib;
	struct ctl_table_header *sysctl_hdr;
	struct list_head socks;
	struct hlist_head bound[SDP_BIND_BUCKETS];
	spinlock_t socks_lock;		/* see above */
	struct hlist_head ports[SDP_BIND_BUCKETS];
	struct mutex port_mutex;	/* see above */
	atomic_t nconns;
	struct sdp_zc_cache zc_cache;
	/* of its own: what waits here for a lock that a stopped process holds
	 * must not keep other namespaces waiting
	 */
	struct workqueue_struct *wq;

	int sysctl_rmem[3];		/* min, default, max octets */
	int sysctl_wmem[3];
	int sysctl_rx_bufs_min;		/* receives a connection starts with */
	int sysctl_rx_bufs_max;		/* and may grow to, by rcvbuf */
	int sysctl_rx_merge;		/* payloads up to this are merged */
	int sysctl_shared_link;		/* use shared buffers where possible */
	int sysctl_flow_control;	/* SDP_FLOW_*, not the default */
	int sysctl_credit_join;		/* sends without credit join a message */
	int sysctl_rdma_progress;	/* enum sdp_progress */
	int sysctl_rdma_immediate;	/* rings: Write with immediate data */
	int sysctl_zcopy_threshold;	/* octets of a send; 0: never */
	int sysctl_zcopy_floor;		/* octets of one that always pays */
	int sysctl_zcopy_wait;		/* us without progress */
	int sysctl_zcopy_cache;		/* octets kept pinned; 0: none */
	int sysctl_zcopy_entries;	/* pieces, of one connection */
	int sysctl_zcopy_pipelined;	/* pipelined mode where both ends can */
	int sysctl_signal_every;	/* signalled send at least every n */
	int sysctl_fin_timeout;		/* seconds, after close() */
	int sysctl_resolve_timeout;	/* ms, address and route */
	int sysctl_connect_timeout;	/* seconds, whole connect */
	int sysctl_hold_max;		/* requests held above the backlog */
	int sysctl_max_connections;	/* 0: no limit */
	int sysctl_port_offset;		/* from a port to that of the device */
	int sysctl_fallback_timeout;	/* seconds, until TCP is tried */
	int sysctl_max_adverts;		/* announced in Hello */
	int sysctl_keepalive_time;	/* seconds */
	int sysctl_keepalive_intvl;
	int sysctl_keepalive_probes;
};

/* net.sdp.rdma_progress: who lets data go when the ring has room again */
enum sdp_progress {
	SDP_PROGRESS_KERNEL,		/* whoever learns of it */
	SDP_PROGRESS_APP,		/* the next system call on the socket */
};

extern unsigned int sdp_net_id;

/* Of payload for a ring: goes with the message that announces it. */
static inline bool sdp_ring_along(u32 octets)
{
	return octets <= SDP_RING_INLINE;
}

static inline struct sdp_net *sdp_pernet(struct net *net)
{
	return net_generic(net, sdp_net_id);
}

/*
 * Registered memory is known by where it begins in its page. The verbs name it by
 * the address that the device has for it, which is one of the kernel with
 * software devices: the peer, who is told, need not know that.
 */
static inline void sdp_mr_rename(struct ib_mr *mr)
{
	mr->iova &= mr->page_size - 1;
}

/* An IPv4 or IPv6 address; IPv4-mapped ones are kept as IPv4. */
union sdp_addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/**
 * struct sdp_rx_buf - one receive buffer
 * @cqe: completion of the receive that it is posted for
 * @node: on conn->rx_free or sdp->rx_queue
 * @conn: connection whose QP it belongs to; valid while posted
 * @page: compound page of SDP_BUF_ORDER, the payload lands at its start
 * @sg: @page for the device
 * @hdr: where the headers land, inside of conn->rx_hdrs
 * @off: first payload octet not yet read
 * @len: end of the payload in @page
 * @idx: place in conn->rx_bufs
 */
struct sdp_rx_buf {
	struct ib_cqe cqe;
	struct list_head node;
	struct sdp_conn *conn;
	struct page *page;
	struct scatterlist sg;
	u8 *hdr;
	u32 off;
	u32 len;
	u16 idx;
};

/* Send buffer that several small messages may share, or memory of others. */
struct sdp_chunk {
	struct list_head node;		/* conn->tx_free_chunks */
	struct page *page;		/* NULL: see sdp_tx_pages.c */
	u64 dma;
	u32 size;
	u32 used;			/* lock_sock: where the next octet goes */
	int refs;			/* messages, and tx_chunk; tx_lock */
};

/**
 * struct sdp_tx_msg - Data message that has not been sent yet
 * @chunk: where its octets are; the message holds a reference
 * @off: offset of the payload; an inline header stands in front of it
 * @len: payload octets
 * @split: header in the slot of the send, not in front of the payload
 * @oob: last octet is urgent; nothing may be appended
 * @busy: sendmsg is copying behind @len; do not send yet
 * @eor: nothing may be appended
 * @avail: SrcAvail, see zcopy/src_read.c
 */
struct sdp_tx_msg {
	struct sdp_chunk *chunk;
	u32 off;
	u32 len;
	u8 split:1, oob:1, busy:1, eor:1, avail:1;
};

/**
 * struct sdp_tx_slot - a send in flight, index MSeq modulo SDP_SQ_DEPTH
 * @cqe: completion, meaningful for signalled sends
 * @conn: owner
 * @chunk: reference to drop when complete, or NULL
 * @mseq: its sequence number
 * @charge: octets to take from sk_wmem_queued when complete
 * @mid: kind of message
 */
struct sdp_tx_slot {
	struct ib_cqe cqe;
	struct sdp_conn *conn;
	struct sdp_chunk *chunk;
	u32 mseq;
	u32 charge;
	u8 mid;
};

/* Control messages that wait for a credit; bits of conn->tx_ctl. */
enum sdp_ctl {
	SDP_CTL_SENDSM,
	SDP_CTL_RD_COMPL,	/* zero copy: octets have been read */
	SDP_CTL_SRC_CANCEL,
	SDP_CTL_MODE,		/* zero copy: ModeChange */
	SDP_CTL_SINK_AVAIL,	/* a reader waits */
	SDP_CTL_SINK_CANCEL,
	SDP_CTL_SINK_ACK,
	SDP_CTL_CHRCVBUF_ACK,
	SDP_CTL_FIRST,		/* empty Data that opens an iWARP stream */
	SDP_CTL_RING,		/* tell the peer of our ring */
	SDP_CTL_OOB_PEND,	/* flag for the next message of any kind */
	SDP_CTL_SETTLE,		/* verbs link: which messages are complete? */
	SDP_CTL_KEEPALIVE,	/* does the peer live? */
	SDP_CTL_PUSH,		/* shared link: send what was held back */
};

/* Which message a bit of tx_ctl asks for, in the order in which they go. */
struct sdp_ctl_msg {
	u8 bit;
	u8 mid;
};

#define SDP_CTL_MSGS	10
extern const struct sdp_ctl_msg sdp_ctl_msgs[SDP_CTL_MSGS];

/* Bits of conn->flags. */
enum sdp_conn_flags {
	SDP_CONN_IWARP,		/* transport is iWARP */
	SDP_CONN_ACTIVE,	/* we called connect */
	SDP_CONN_READY,		/* QP made, receives posted */
	SDP_CONN_UP,		/* transport connected; sends allowed */
	SDP_CONN_DOWN,		/* teardown has been queued */
	SDP_CONN_FENCED,	/* passive iWARP side before the first message */
	SDP_CONN_GRACEFUL,	/* both DisConn exchanged */
	SDP_CONN_CM_CONNECTED,	/* rdma_disconnect makes sense */
	SDP_CONN_ESTAB_COUNTED,	/* in CURR_ESTAB */
	SDP_CONN_SHARED,	/* shared link is open */
	SDP_CONN_ABORT,		/* the user gave it up: data may be lost */
	SDP_CONN_BAD,		/* the peer broke the rules: nothing counts */
	SDP_CONN_FLUSHED,	/* the QP has failed */
};

/* Why a connection does not use the shared link, conn->unshared. */
enum sdp_unshared {
	SDP_UNSHARED_NOT	= SDP_REASON_NONE,	/* it does */
	SDP_UNSHARED_SYSCTL	= SDP_REASON_SYSCTL,
	SDP_UNSHARED_OPTION	= SDP_REASON_OPTION,
	SDP_UNSHARED_DEVICE	= SDP_REASON_DEVICE,
	SDP_UNSHARED_PEER	= SDP_REASON_PEER,
	SDP_UNSHARED_MEMORY	= SDP_REASON_MEMORY,	/* not opened */
	SDP_UNSHARED_POLICY	= SDP_REASON_POLICY,
	SDP_UNSHARED_STACK	= SDP_REASON_STACK,
	SDP_UNSHARED_LINK	= SDP_REASON_LINK,	/* of zero copy */
};

struct sdp_rx_ctx;

/**
 * struct sdp_fc_ops - a flow control policy
 * @name: as diag shows it
 * @credits: messages that may be sent before the peer says more
 * @may_send: whether one more may leave, with octets of the stream or without
 * @update_due: whether the peer should hear of new receives now
 * @bufs: value of Bufs for a message that leaves now with this MSeqAck
 * @overrun: whether the peer had no right to send this message
 * @peer: take over Bufs and MSeqAck of a message of the peer
 * @room: of a message with so much payload, octets that may leave now, if
 *	  @may_send lets it. NULL: all
 * @rx: act on a message that only this policy has; 0 or the SDP_MIB_BAD_ number.
 *	Sets m.payload_len to the octets that a message of @mid has brought, which
 *	the caller queues. NULL: there is no such message. Context: sdp->lock.
 * @mid: MID of messages with payload
 * @wish: value of SDP_FLOW_CONTROL that asks for it
 * @signal: while so many messages are in the transport, one of as many asks for
 *	    a completion; 0: as net.sdp.signal_every says
 * @held: messages wait in the transport for a slow reader
 * @zcopy: large sends may go without copies
 *
 * Context: @overrun and @peer: reception; @credits: any; others: tx_lock.
 */
struct sdp_fc_ops {
	const char *name;
	u8 mid;
	u8 wish;
	u8 signal;
	bool held;
	bool zcopy;
	u32 (*credits)(const struct sdp_conn *conn);
	bool (*may_send)(const struct sdp_conn *conn, bool payload);
	bool (*update_due)(const struct sdp_conn *conn);
	u16 (*bufs)(struct sdp_conn *conn, u32 ack);
	bool (*overrun)(const struct sdp_conn *conn, u32 mseq);
	void (*peer)(struct sdp_conn *conn, u16 bufs, u32 ack);
	u32 (*room)(const struct sdp_conn *conn, u32 len);
	int (*rx)(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
};

extern const struct sdp_fc_ops sdp_fc_credit, sdp_fc_transport;
extern const struct sdp_fc_ops sdp_fc_rdma, sdp_fc_vwin;

/**
 * struct sdp_link_ops - the transmit half over one kind of link
 * @name: as diag shows it
 * @shared: sends and receives in buffers of the provider
 * @send: take a piece of user data. Octets taken, 0 without room, -ENOMEM,
 *	  -EFAULT, -ERESTART after lock_sock was released in vain. Context:
 *	  lock_sock.
 * @sent: a sendmsg is over; what it left incomplete may wait if @cork.
 *	  Context: lock_sock.
 * @push: let go what @sent or a corked @send held back. Context: no spinlock.
 * @run: send control messages, and whatever else may go now; an error ends
 *	 the connection. Context: tx_lock.
 * @want_space: a writer waits: see to it that sk_write_space comes. Context:
 *	 no spinlock; the caller has a reference.
 * @full: more may not be written, whatever sk_sndbuf says. Context: any.
 * @outq: octets written and not acknowledged. Context: lock_sock.
 * @settle: start to find out what is acknowledged; true if that takes time.
 *	 NULL: known at any time. Context: lock_sock.
 * @unproven: something may be unacknowledged that @outq does not know; starts to
 *	      find out, by a probe. NULL: never. Context: lock_sock.
 * @unsent: octets written and not sent. Context: any.
 * @progress: a number that changes while payload leaves. Context: lock_sock.
 * @probed: a probe has come through, and all messages up to @mseq. Context:
 *	 softirq.
 */
struct sdp_link_ops {
	const char *name;
	bool shared;
	int (*send)(struct sock *sk, struct msghdr *msg, int flags);
	void (*sent)(struct sdp_conn *conn, bool cork);
	void (*push)(struct sdp_conn *conn);
	int (*run)(struct sdp_conn *conn);
	void (*want_space)(struct sdp_conn *conn);
	bool (*full)(const struct sdp_conn *conn);
	u32 (*outq)(struct sdp_conn *conn);
	bool (*settle)(struct sdp_conn *conn);
	bool (*unproven)(struct sdp_conn *conn);
	u32 (*unsent)(const struct sdp_conn *conn);
	u32 (*progress)(const struct sdp_conn *conn);
	void (*probed)(struct sdp_conn *conn, u32 mseq);
};

extern const struct sdp_link_ops sdp_link_verbs, sdp_link_shared;

/* Received octets in one piece. */
struct sdp_rx_run {
	struct page *page;
	u32 off;		/* in @page, which may be a compound one */
	u32 len;
};

/**
 * struct sdp_rxq_ops - the receive queue of one kind of link
 * @queue: take in the payload of a message, more than 0 octets. NULL: it is there
 *	   already. Context: sdp->lock.
 * @find: octets at stream position @seq, which the queue has. Octets in one
 *	  piece.
 * @copy: copy @len octets from stream position @seq on, which the queue has,
 *	  to the user. Octets copied, may be fewer; 0 is a fault.
 * @consume: drop octets at the front, which the queue has
 * @purge: drop all
 * @orphan: the connection is about to go, the data stay
 * @own: the pages may not be given away: they are written again once consumed
 * @lend: pages that a run fills hold nothing else, and nothing writes to them as
 *	  long as somebody else has a reference: a program may see them
 *
 * Context: lock_sock, which keeps other readers away; @purge also when
 * nobody can use the socket any more.
 */
struct sdp_rxq_ops {
	void (*queue)(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
	u32 (*find)(struct sock *sk, u32 seq, struct sdp_rx_run *run);
	u32 (*copy)(struct sock *sk, u32 seq, u32 len, struct iov_iter *to);
	void (*consume)(struct sock *sk, u32 len);
	void (*purge)(struct sock *sk);
	void (*orphan)(struct sock *sk, struct sdp_conn *conn);
	bool own;
	bool lend;
};

extern const struct sdp_rxq_ops sdp_rxq_verbs, sdp_rxq_shared, sdp_rxq_ring;

/**
 * struct sdp_ring - memory that the peer writes its payload to
 * @refs: one of the connection, while the peer may write, one of the socket,
 *	  until it is read
 * @base: rx_seq of the socket at the beginning of the ring
 * @size: octets, a power of two
 * @nr: pages, each of SDP_BUF_SIZE octets
 * @page: the pages
 *
 * There is nothing in it but payload: the peer can change it at any time.
 */
struct sdp_ring {
	refcount_t refs;
	u32 base;
	u32 size;
	u32 nr;
	struct page *page[];
};

/* Where a message, or several, end in the transport's stream. */
struct sdp_stx_rec {
	u64 end;		/* position behind it */
	u32 sum;		/* payload octets up to there */
};

/**
 * struct sdp_stx - transmit state of a shared link
 * @rec: messages not acknowledged; sdp->lock
 * @head: next free entry of @rec
 * @tail: the oldest
 * @base: the message before @tail
 * @sum: payload octets committed; whoever holds the reservation
 * @fin_end: position behind DisConn
 * @held: octets committed that the provider was allowed to keep back
 * @no_room: the provider has none, tx_space will follow
 * @in_call: not the first piece of a sendmsg; lock_sock
 */
struct sdp_stx {
	struct sdp_stx_rec rec[SDP_STX_RECORDS];
	struct sdp_stx_rec base;
	u32 head, tail;
	u32 sum;
	u32 held;
	u64 fin_end;
	bool no_room;
	bool in_call;
};

/**
 * struct sdp_rx_ctx - what a message did, for work to be done without locks
 * @sk: socket of the connection
 * @conn: connection
 * @buf: verbs link: where the message is; NULL: payload is queued elsewhere
 * @m: the message
 * @along: payload of a ring that came with its message
 * @keep: @buf is on the receive queue
 * @readable: wake readers
 * @urgent: raise SIGURG
 * @pending: SrcAvail: wake readers
 * @eof: DisConn
 * @reset: AbortConn, or data that nobody will read
 * @graceful: both DisConn exchanged
 */
struct sdp_rx_ctx {
	struct sock *sk;
	struct sdp_conn *conn;
	struct sdp_rx_buf *buf;
	struct sdp_msg m;
	bool along;
	bool keep;
	bool readable;
	bool urgent;
	bool pending;
	bool eof;
	bool reset;
	bool graceful;
};

/**
 * struct sdp_srx - the message that a shared link is receiving
 * @hdr: private copy of its headers
 * @have: octets of @hdr
 * @need: octets that @hdr will have
 * @left: payload octets to come
 * @last: the last one that came, of a message with an urgent octet
 * @c: parsed when @have is @need; its flags collect what the whole batch did
 */
struct sdp_srx {
	u8 hdr[SDP_MSG_HDR_MAX];
	u32 have;
	u32 need;
	u32 left;
	u8 last;
	struct sdp_rx_ctx c;
};

/* Progress of connect(), conn->cm_step. */
enum sdp_cm_step {
	SDP_CM_RESOLVING,
	SDP_CM_RESOLVED,	/* rdma_connect is next */
	SDP_CM_CONNECTING,
	SDP_CM_DONE,		/* connected or failed, see sk_state */
};

/*
 * struct sdp_conn - a transport connection and its buffers
 *
 * Lives from connect() or the connection request until the teardown work has
 * destroyed QP and cm_id; the socket may have moved on by then. Holds a
 * reference to its socket for its whole life. It is attached while
 * sdp_sk(sk)->conn points to it; that pointer is changed under lock_sock,
 * tx_lock and sdp->lock, so that each of them is enough to read it.
 *
 * @refs: one for the life up to the end of the teardown work, one for every
 *	other work item that is queued, one for connect() while it sleeps.
 */
struct sdp_conn {
	struct sock *sk;
	refcount_t refs;
	struct rcu_head rcu;		/* poll looks at it without a lock */
	unsigned long flags;
	const struct sdp_link_ops *link;
	const struct sdp_fc_ops *fc;
	const struct sdp_zc_ops *zco;	/* NULL: no zero copy so far */
	const struct rdma_stack_link *stack;	/* NULL: no shared link */
	u8 unshared;			/* enum sdp_unshared */
	u8 peer_ext;			/* SDP_EXT_* in its Hello */
	u8 fc_wish;			/* SDP_FLOW_* */
	u8 fc_reason;			/* enum sdp_unshared: why it is not that */
	u8 fc_ext;			/* SDP_EXT_* offered, or agreed to */
	struct rdma_cm_id *id;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	unsigned int nr_cqe;
	struct rdma_stack_ip ip;	/* what the device knows of it */
	bool lean;			/* queues of qp for a shared link */
	int error;			/* why it ended, for sk_err */
	struct work_struct down_work;
	struct work_struct setup_work;	/* held request whose turn it is, or
					 * address to be asked for again
					 */
	struct delayed_work kick_work;	/* corked data waited long enough, memory
					 * may be there again
					 */
	struct work_struct ctl_work;	/* shared link: a callback has found
					 * something to send; verbs link:
					 * receives are wanted
					 */
	struct completion disconnected;	/* DISCONNECTED was seen */

	/* passive side until in an accept queue; the listener's lock */
	struct sock *listener;		/* holds a reference */
	struct list_head held_node;

	/* connect(); sdp->lock */
	wait_queue_head_t cm_wait;
	u8 cm_step;
	bool cm_waiter;			/* connect() itself calls rdma_connect */
	bool cm_inside;			/* it uses id: the teardown waits */
	unsigned long cm_deadline;	/* for the address */
	union sdp_addr cm_dst;

	/* receive half; the completion handler is the only writer */
	struct sdp_rx_buf *rx_bufs;	/* array of rx_max */
	u8 *rx_hdrs;			/* rx_slot each */
	u32 rx_slot;
	u64 rx_hdrs_dma;
	u32 rx_start;			/* receives that it starts with */
	u32 rx_max;			/* size of the arrays and of the RQ */
	u32 rx_mseq;			/* last message processed */
	bool rx_update;			/* it was a credit update */
	bool rx_grows;			/* receives are about to be added */
	u8 rx_mode;			/* enum sdp_mode */
	bool rx_discon;			/* DisConn received */
	bool rx_src_avail;		/* SrcAvail not yet answered */
	struct sdp_srx srx;
	u32 peer_total;			/* Bufs + MSeqAck of the peer */
	u32 peer_ack;			/* MSeqAck of the peer */
	u32 peer_rcvsz;			/* its receive buffers, with BSDH */
	u32 peer_desired;		/* its DesRemRcvSz */
	u8 peer_adverts;
	struct sdp_ring *rx_ring;	/* RING: where the peer writes to */
	struct ib_mr *rx_ring_mr;
	struct scatterlist *rx_ring_sg;	/* mapped for the device, */
	u32 rx_ring_mapped;		/* so many of it */
	u32 ring_len;			/* the peer's ring; 0 until it is known */
	u32 ring_rkey;			/* valid with ring_len */
	u64 ring_va;
	u32 ring_freed;			/* octets of it that the peer has freed */

	/* transmit half and posting */
	spinlock_t tx_lock ____cacheline_aligned_in_smp;
	struct list_head rx_free;	/* receive buffers to be posted */
	u32 rx_nbufs;			/* buffers that have a page */
	u32 rx_posted_total;		/* receives posted since the start */
	u32 rx_told_total;		/* as the peer knows */
	u32 tx_mseq;			/* last MSeq given out */
	u32 tx_done;			/* last MSeq completed */
	u32 tx_acct;			/* last MSeq completed or acknowledged */
	u32 tx_signalled;		/* last MSeq sent signalled */
	u32 tx_unsig_bytes;		/* payload octets since then */
	u32 tx_head, tx_tail;		/* tx_q: fill at head, send at tail */
	u32 tx_queued;			/* payload octets not in tx_acct */
	u32 tx_unsent;			/* payload octets not posted */
	u32 tx_max_payload;		/* of one message */
	u32 tx_pieces;			/* the same, 0: it has to be copied */
	unsigned long tx_ctl;		/* enum sdp_ctl */
	u32 tx_probe_mseq;		/* last MSeq before the probe */
	u32 tx_proven;			/* last MSeq that a probe has proved */
	unsigned long tx_probe_at;	/* jiffies, when it was posted */
	bool tx_probe_proves;		/* its completion says that the peer lives */
	bool tx_probing;
	bool tx_want;			/* a writer waits for completions */
	bool tx_lends;			/* see sdp_tx_signal() */
	bool ring_app;			/* SDP_PROGRESS_APP */
	bool tx_alone;			/* credit: each send is a message */
	bool ring_imm;			/* Writes with immediate data */
	bool ring_away;			/* and the program is doing something else */
	bool tx_away;			/* a sender is away, see sdp_tx_leave() */
	u32 tx_turns;			/* others that wait for it */
	u32 ring_put;			/* octets written to the peer's ring */
	u32 ring_told;			/* octets that it knows we have freed */
	struct ib_cqe ring_cqe;		/* of the registration, if it fails */
	bool tx_fin;			/* DisConn wanted after all data */
	bool tx_fin_sent;
	bool tx_fin_done;		/* and completed */
	struct sdp_chunk *tx_chunk;	/* being filled */
	struct list_head tx_free_chunks;
	u32 tx_free_count;
	u8 *tx_ctl_area;		/* SDP_SQ_DEPTH slots */
	u64 tx_ctl_dma;
	struct ib_cqe ka_cqe;
	struct sdp_zc zc;
	struct sdp_stx stx;
	struct sdp_tx_msg *tx_q;	/* verbs link: SDP_TXQ_DEPTH */
	struct sdp_tx_slot *tx_slots;	/* same: SDP_SQ_DEPTH */
};

/**
 * struct sdp_port_walk - see sdp_port_next()
 * @low: first port of the range
 * @n: ports in it; 0: not begun
 * @at: how far the next one is behind the first
 * @left: how many have not been there
 * @tries: how many were of no use after all
 * @port: that of sdp_port_next_free(); 0: none yet
 */
struct sdp_port_walk {
	u32 low, n, at, left, tries;
	__be16 port;
};

/**
 * struct sdp_rx_frag - payload in a received page
 * @page: the page
 * @off: where its first octet is
 * @len: octets, without the gaps
 * @gaps: what is between them
 * @held: a reference to the page goes with it. Pieces of one page in a row
 *	  share that of the last one.
 */
struct sdp_rx_frag {
	struct page *page;
	u32 off;
	u32 len;
	struct rdma_stack_gaps gaps;
	bool held;
};

/**
 * struct sdp_rx_block - references in the order of the stream
 * @node: in sdp_rx_pages.blocks
 * @head: first that is not read to its end
 * @tail: next to be filled in
 * @frag: the references
 */
struct sdp_rx_block {
	struct list_head node;
	u32 head;
	u32 tail;
	struct sdp_rx_frag frag[SDP_RX_FRAGS];
};

/**
 * struct sdp_rx_pages - receive queue of a shared link; sdp->lock
 * @blocks: at least one while the link is open
 * @last: of @blocks, NULL if there is none
 * @spare: an empty block for the producer, or NULL
 * @merge: page that small payloads are copied into, with a reference
 * @merged: octets of it in use
 * @charge: memory that the references hold
 * @rcvbuf: sk_rcvbuf as the provider knows it
 * @paused: the provider was told to stop
 * @starved: it was since the last look at the size of the buffer
 */
struct sdp_rx_pages {
	struct list_head blocks;
	struct sdp_rx_block *last;
	struct sdp_rx_block *spare;
	struct page *merge;
	u32 merged;
	u32 charge;
	u32 rcvbuf;
	bool paused;
	bool starved;
};

/* Urgent octet, as seen by the reader; sdp->urg_state. */
enum sdp_urg {
	SDP_URG_NONE,
	SDP_URG_NOTYET,		/* announced by OOB_PEND */
	SDP_URG_VALID,		/* there, not read */
	SDP_URG_READ,		/* read by MSG_OOB, still in the stream */
};

/*
 * struct sdp_sock - an SDP socket
 *
 * sk_family and sk_protocol are the arguments of socket(). sk_state
 * takes TCP_* values. The inet_sock fields (ports, addresses, tos, ttl) are
 * kept valid for options and diag.
 */
struct sdp_sock {
	struct inet_sock inet;		/* must be first */

	spinlock_t lock;		/* see the top of the file */
	struct list_head net_node;	/* sdp_net.socks; socks_lock */
	struct hlist_node bind_node;	/* sdp_net.bound; socks_lock */
	struct sdp_conn *conn;		/* see struct sdp_conn */
	struct sdp_port *port;		/* cm_ids; changed under lock_sock and
					 * sdp_net.port_mutex
					 */
	struct list_head port_node;	/* sdp_port.socks; sdp_port.lock */
	union sdp_addr local;		/* port 0: not bound; written under
					 * lock and sdp_net.socks_lock
					 */
	union sdp_addr peer;
	bool v6;			/* made for IPv6 */
	bool user_bound;		/* bind() gave address or port */

	/* TCP beside SDP, sdp_fallback.c */
	u8 fallback;			/* SDP_FALLBACK; lock_sock */
	bool tcp_on;			/* the file is that of tcp */
	bool tcp_turn;			/* whose turn it is in accept() */
	struct socket *tcp;		/* set once, until release */
	wait_queue_entry_t tcp_bridge;	/* from its queue to ours */

	/* listener; lock */
	struct list_head accept_q;	/* sdp_sock.accept_node of children */
	struct list_head held;		/* sdp_conn.held_node, above backlog */
	u32 nheld;
	struct work_struct hold_work;
	struct list_head accept_node;
	struct work_struct unbind_work;	/* the device of port went away */

	/* receive queue; lock. Only a reader (lock_sock) removes the head. */
	const struct sdp_rxq_ops *rxq;
	struct list_head rx_queue;	/* verbs link */
	struct sdp_rx_pages rx_pages;	/* shared link */
	struct sdp_ring *rx_ring;	/* verbs link with RING */
	u32 ring_calls;			/* see sdp_ring_enter(); lock_sock */
	u32 rx_tight;			/* quarter of it, 0 without one */
	u32 rx_seq;			/* stream octets received */
	u32 copied_seq;			/* stream octets read; lock_sock */
	u32 urg_seq;
	struct sdp_lend *lend;		/* lock_sock; sdp_lend.c */
	u32 nlent;			/* buffers that it holds; lock_sock */
	bool rx_done;			/* the peer has finished; SOCK_DONE
					 * would race with setsockopt()
					 */
	u8 urg_state;			/* enum sdp_urg */
	u8 urg_byte;

	struct delayed_work timer_work;	/* sdp_timer.c */
	unsigned long last_rx;		/* jiffies */
	unsigned long deadline;		/* jiffies; timer of connect() and of
					 * an orphan. lock_sock
					 */
	u8 orphan_state;		/* sk_state that it is for */
	u32 last_progress;		/* timer: progress since last time */
	unsigned long user_since;	/* jiffies, last progress seen */
	bool user_watched;		/* the timer looks after user_timeout;
					 * lock_sock
					 */
	unsigned long ka_sent;		/* jiffies, last probe */
	u8 ka_probes;			/* without an answer */

	/* options; lock_sock to change, READ_ONCE to read. sdp_sockopt.c */
	u8 nodelay;			/* TCP_NODELAY */
	u8 cork;			/* TCP_CORK */
	u8 quickack;			/* TCP_QUICKACK, starts at 1 */
	u8 recvmsg_inq;			/* TCP_INQ */
	u8 shared_link;			/* SDP_SHARED_LINK */
	u8 flow_control;		/* SDP_FLOW_CONTROL */
	int zcopy_threshold;		/* SDP_ZCOPY; 0: never */
	u8 syn_retries;			/* TCP_SYNCNT, 0: default */
	u8 keepcnt;			/* 0: per-namespace default */
	u8 last_reset;			/* why the connection was aborted */
	u16 user_mss;			/* TCP_MAXSEG */
	int keepidle;			/* seconds; 0: default */
	int keepintvl;
	int linger2;			/* seconds; 0: default, < 0: none */
	int defer_accept;		/* seconds */
	u32 user_timeout;		/* ms */
	u32 notsent_lowat;		/* 0: none */
	u32 window_clamp;
	u32 fastopen_qlen;
	u32 opt_bits;			/* switches that are only stored */
	u32 ip6_bits;			/* the same at SOL_IPV6 */
	u32 ip6_set;			/* of those, what the program has set */
	s16 ip6_hops;			/* IPV6_UNICAST_HOPS, -1: default */
	u8 ip6_tclass;			/* IPV6_TCLASS */
	u8 ip6_pmtudisc;		/* IPV6_MTU_DISCOVER */

	/* for SDP_INFO and diag; written under tx_lock, lock: READ_ONCE */
	u64 tx_bytes;			/* payload octets sent */
	u64 tx_msgs;			/* messages sent, all kinds */
	u64 tx_no_credit;		/* times that data waited for credits */
	u64 tx_zcopy_bytes;		/* sent without a copy */
	u64 tx_zcopy_fails;		/* attempts that ended in copying */
	u64 tx_ref_bytes;		/* queued without a copy */
	u64 rx_bytes;
	u64 rx_msgs;
	u64 rx_zcopy_bytes;
	u64 rx_lent_bytes;		/* lent to the program */

	struct ipv6_pinfo inet6;	/* inet.pinet6 of an IPv6 socket; must be
					 * last, see sdp_inet_init()
					 */
};

static inline struct sdp_sock *sdp_sk(const struct sock *sk)
{
	return (struct sdp_sock *)sk;
}

/* Of sdp_net.bound and sdp_net.ports */
static inline unsigned int sdp_bind_bucket(u16 port)
{
	return port % SDP_BIND_BUCKETS;
}

/* Where work for this socket is queued */
static inline struct workqueue_struct *sdp_wq(const struct sock *sk)
{
	return sdp_pernet(sock_net(sk))->wq;
}


/* sdp_timer.c */
void sdp_set_keepalive(struct sock *sk, int on);
void sdp_start_orphan(struct sock *sk);
void sdp_timer_work(struct work_struct *work);

/* sdp_inet.c */
int sdp_inet_init(struct proto *prot, const struct proto_ops *ops,
		  const struct proto_ops *ops6);
void sdp_inet_exit(void);
void sdp_inet_lock_class(struct sock *sk);

/* sdp_fallback.c */
int sdp_tcp_prepare(struct sock *sk);
int sdp_tcp_turn(struct sock *sk, bool share);
bool sdp_tcp_instead(struct sock *sk);
int sdp_tcp_listen(struct sock *sk, int backlog);
bool sdp_tcp_only(struct sock *sk);
void sdp_tcp_stop(struct sock *sk);
bool sdp_tcp_waiting(const struct sock *sk);
int sdp_tcp_accept(struct sock *sk, struct socket *newsock);
void sdp_tcp_release(struct sock *sk, struct socket *sock);

/* The TCP socket, if the program's file is given to it; no lock. */
static inline struct socket *sdp_tcp_on(const struct sock *sk)
{
	/* pairs with sdp_tcp_take_over() */
	return smp_load_acquire(&sdp_sk(sk)->tcp_on) ? sdp_sk(sk)->tcp : NULL;
}

/*
 * The same for a call that waited at the socket when it had been disconnected @dis
 * times: a connection that has come since is none of its business.
 */
static inline struct socket *sdp_tcp_goes_on(const struct sock *sk, int dis)
{
	return READ_ONCE(sk->sk_disconnects) == dis ? sdp_tcp_on(sk) : NULL;
}

/* sdp_cm.c */
void sdp_cm_init(struct sock *(*child)(struct sock *listener));
int sdp_cm_bind(struct sock *sk, const union sdp_addr *addr);
int sdp_cm_connect(struct sock *sk, const union sdp_addr *dst, long *timeo);
void sdp_cm_stop_listen(struct sock *sk);
void sdp_abort(struct sock *sk);
void sdp_connect_expired(struct sock *sk);
void sdp_hold_work(struct work_struct *work);
void sdp_unbind_work(struct work_struct *work);
void sdp_accept_next(struct sock *sk);

/* sdp_lend.c */
int sdp_lend_mmap(struct file *file, struct socket *sock,
		  struct vm_area_struct *vma);
int sdp_lend_getsockopt(struct socket *sock, char __user *optval,
			int __user *optlen);
void sdp_lend_free(struct sdp_sock *sdp);

/* sdp_tx.c */
int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
ssize_t sdp_sendpage(struct socket *sock, struct page *page, int offset,
		     size_t size, int flags);
void sdp_tx_settle(struct sock *sk);
void sdp_write_space(struct sock *sk);
bool sdp_stream_memory_free(const struct sock *sk, int wake);

#define SDP_TX_OVER	2048	/* octets a send may go over sk_sndbuf */
#define SDP_TX_CORK_TIME	(HZ / 5)	/* as TCP: no longer than this */

/* sdp_verbs_tx.c */
void sdp_tx_recycle(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_tx_done(struct ib_cq *cq, struct ib_wc *wc);

/* sdp_tx_pages.c */
struct sdp_chunk *sdp_ref_alloc(struct sdp_conn *conn);
void sdp_ref_free(struct sdp_conn *conn, struct sdp_chunk *c);
u32 sdp_ref_fill(struct sdp_conn *conn, struct sdp_chunk *c,
		 struct msghdr *msg, u32 max);
bool sdp_ref_room(const struct sdp_conn *conn, const struct sdp_chunk *c,
		  const struct msghdr *msg);
int sdp_ref_sge(const struct sdp_tx_msg *m, struct ib_sge *sge);

/* sdp_shared_tx.c */
void sdp_shared_choose(struct sdp_conn *conn);
int sdp_shared_open(struct sdp_conn *conn);
void sdp_shared_close(struct sdp_conn *conn);
void sdp_shared_work(struct work_struct *work);

/* sdp_shared_rx.c: struct rdma_stack_ulp */
int sdp_shared_rx(void *ctx, const struct rdma_stack_rx *rx);
void sdp_shared_rx_done(void *ctx);

/* sdp_rx_pages.c */
int sdp_pages_init(struct sdp_conn *conn);
void sdp_pages_undo(struct sdp_conn *conn);
bool sdp_pages_add(struct sdp_sock *sdp, const struct rdma_stack_rx *rx,
		   u32 skip, u32 merge);
bool sdp_pages_full(struct sock *sk);
void sdp_pages_rcvbuf(struct sdp_conn *conn);

/* sdp_rx.c */
int sdp_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		int flags);
ssize_t sdp_splice_read(struct socket *sock, loff_t *ppos,
			struct pipe_inode_info *pipe, size_t len,
			unsigned int flags);
void sdp_rx_purge(struct sock *sk);

/* sdp_verbs_rx.c */
void sdp_rx_done(struct ib_cq *cq, struct ib_wc *wc);
void sdp_rx_work(struct work_struct *work);

/* sdp_fc_policy.c */
void sdp_fc_choose(struct sdp_conn *conn);
int sdp_fc_use(struct sdp_conn *conn, u8 ext);
u8 sdp_fc_agree(const struct sdp_conn *conn);
void sdp_fc_judge(struct sdp_conn *conn);

/* sdp_ring.c */
int sdp_ring_create(struct sdp_conn *conn);
void sdp_ring_destroy(struct sdp_conn *conn);
bool sdp_ring_tight(const struct sdp_sock *sdp);
void sdp_ring_drop(struct sdp_sock *sdp);
u32 sdp_ring_untold(const struct sdp_conn *conn);
bool sdp_ring_by_imm(const struct sdp_conn *conn, const struct sdp_tx_msg *m);
int sdp_ring_send_imm(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		      const struct sdp_tx_msg *m, u32 imm, bool signal);
int sdp_ring_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal);
u32 sdp_ring_tell(struct sdp_conn *conn);
void sdp_ring_enter_app(struct sock *sk);
void sdp_ring_leave(struct sock *sk);
void sdp_ring_poll(struct sock *sk);

/*
 * The program enters a system call on a socket. Returns whether sdp_ring_leave()
 * has to be called when it leaves. Context: as sdp_ring_enter_app().
 */
static inline bool sdp_ring_enter(struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (likely(!conn || !conn->ring_app))
		return false;
	sdp_ring_enter_app(sk);
	return true;
}

/* sdp_fc_credit.c; the rules for messages hold with a ring, too */
void sdp_fc_first(struct sdp_conn *conn);
u32 sdp_fc_credits(const struct sdp_conn *conn);
bool sdp_fc_may_send(const struct sdp_conn *conn, bool payload);
bool sdp_fc_update_due(const struct sdp_conn *conn);
u16 sdp_fc_bufs(struct sdp_conn *conn, u32 ack);
bool sdp_fc_overrun(const struct sdp_conn *conn, u32 mseq);
void sdp_fc_peer(struct sdp_conn *conn, u16 bufs, u32 ack);

/* sdp_qp.c */
void sdp_link_set_ip(struct sdp_conn *conn);
void sdp_link_settle(struct sdp_conn *conn);
int sdp_link_post_recvs(struct sdp_conn *conn);
int sdp_link_send(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal);
void sdp_link_header(struct sdp_conn *conn, const struct sdp_tx_slot *slot,
		     u32 len, struct ib_sge *sge);
int sdp_link_probe(struct sdp_conn *conn, bool alive);
int sdp_link_payload(struct sdp_conn *conn, const struct sdp_tx_msg *m, u32 hdr,
		     struct ib_sge *sge);
struct sdp_chunk *sdp_link_chunk_alloc(struct sdp_conn *conn, gfp_t gfp);
void sdp_link_chunk_free(struct sdp_conn *conn, struct sdp_chunk *c);
bool sdp_link_rx_renew(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_link_rx_grow(struct sdp_conn *conn);
u32 sdp_link_rx_left(const struct sdp_conn *conn);
void sdp_link_rx_refill(struct sdp_conn *conn);
u32 sdp_link_rx_lendable(const struct sock *sk);
void sdp_link_rx_unmap(struct sdp_conn *conn, struct sdp_rx_buf *buf);
u32 sdp_link_rx_limit(const struct sock *sk);
int sdp_link_rx_alloc(struct sdp_conn *conn, struct sdp_rx_buf *buf);
int sdp_link_create_qp(struct sdp_conn *conn);
int sdp_link_grow(struct sdp_conn *conn);

/* sdp_sockopt.c */
int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen);
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen);
void sdp_sockopt_init(struct sock *sk);

/* sdp_info.c */
void sdp_info_fill(struct sock *sk, struct sdp_info *info);
const char *sdp_unshared_name(enum sdp_unshared why);
const char *sdp_fc_reason(const struct sdp_conn *conn);
u32 sdp_rx_reserved(const struct sock *sk);
u32 sdp_credits(const struct sock *sk);

/* sdp_errq.c */
bool sdp_errq_wanted(const struct sock *sk, struct msghdr *msg);
struct ubuf_info *sdp_errq_begin(struct sock *sk, struct msghdr *msg);
void sdp_errq_end(struct sock *sk, struct ubuf_info *uarg, int sent,
		  u64 direct);

/* sdp_sysctl.c: defaults are set by the first of the two as well */
int sdp_sysctl_init_net(struct net *net);
void sdp_sysctl_exit_net(struct net *net);

/* sdp_mib.c */
int sdp_mib_init_net(struct net *net);
void sdp_mib_exit_net(struct net *net);

/* sdp_conn.c */
int sdp_conn_init(void);
void sdp_conn_exit(void);
void sdp_conn_put(struct sdp_conn *conn);
struct sdp_conn *sdp_conn_alloc(struct sock *sk, bool again);
void sdp_conn_down(struct sdp_conn *conn, int error);
void sdp_conn_flushed(struct sdp_conn *conn);
void sdp_fin_progress(struct sdp_conn *conn);
void sdp_tx_wake(struct sdp_conn *conn);
void sdp_tx_kick(struct sdp_conn *conn);
void sdp_tx_ctl(struct sdp_conn *conn, unsigned int bit);
void sdp_tx_fin(struct sdp_conn *conn);
void sdp_tx_count(struct sdp_conn *conn, u32 payload, bool data);
bool sdp_tx_wc_bad(struct sdp_conn *conn, const struct ib_wc *wc);
void sdp_tx_prod(struct sock *sk);
void sdp_tx_leave(struct sdp_conn *conn);
void sdp_tx_return(struct sdp_conn *conn);
int sdp_tx_fault_in(struct sock *sk, struct iov_iter *from, size_t len);
int sdp_push_pending(struct sock *sk);
u32 sdp_outq_bytes(const struct sock *sk);
u32 sdp_notsent_bytes(const struct sock *sk);
u32 sdp_max_payload(const struct sock *sk);
u32 sdp_tx_progress(const struct sock *sk);
u8 sdp_zc_reason(const struct sdp_conn *conn);
unsigned long sdp_user_tick(unsigned long limit);
void sdp_watch_user(struct sock *sk);

/* sdp_netlink.c */
int sdp_netlink_init(void);
void sdp_netlink_exit(void);

/* sdp_sock.c */
void sdp_set_state(struct sock *sk, int state);
void sdp_copy_addr(union sdp_addr *to, const struct sockaddr *sa);
void sdp_addr_to_v6(const union sdp_addr *a, struct in6_addr *v6);
void sdp_set_local(struct sock *sk, const struct sockaddr *sa);
void sdp_set_peer(struct sock *sk, const struct sockaddr *sa);
void sdp_clear_local(struct sock *sk);
const char *sdp_device_name(const struct sock *sk);
int sdp_readable_bytes(const struct sock *sk);
bool sdp_at_mark(const struct sock *sk);
void sdp_rx_oob_pres(struct sdp_sock *sdp, struct sdp_rx_ctx *c, u8 octet);
void sdp_start_timer(struct sock *sk, unsigned long delay);
void sdp_stop_timer(struct sock *sk);
void sdp_start_deadline(struct sock *sk, unsigned long delay);
unsigned long sdp_user_limit(const struct sock *sk);
u32 sdp_zc_threshold(const struct sock *sk);
bool sdp_addr_any(const union sdp_addr *a);
bool sdp_addr_loopback(const union sdp_addr *addr);

/* sdp_port.c */
bool sdp_port_bound(struct sock *sk, const union sdp_addr *addr,
		    bool shares);
bool sdp_port_conflict(struct sock *sk, const union sdp_addr *addr);
__be16 sdp_port_map(struct net *net, __be16 port);
__be16 sdp_port_unmap(struct net *net, __be16 port);
bool sdp_port_tcp_free(struct sock *sk, __be16 port);
bool sdp_port_free(struct sock *sk);
u16 sdp_port_next(struct net *net, struct sdp_port_walk *w);
int sdp_port_next_free(struct sock *sk, struct sdp_port_walk *w);
struct sock *sdp_port_pick(struct sdp_port *port, struct rdma_cm_id *id);
void sdp_port_removal(struct sdp_port *port);
int sdp_port_bind(struct sock *sk, const union sdp_addr *addr,
		  rdma_cm_event_handler handler);
int sdp_port_listen(struct sock *sk, int backlog);
struct sdp_port *sdp_port_unbind(struct sock *sk);
void sdp_port_put(struct sdp_port *port);

/* sdp_inherit.c */
void sdp_inherit_sock(struct sock *sk, const struct sock *parent);
void sdp_inherit_child(struct sock *sk, const struct sock *parent);
int sdp_inherit_ip6_bit(int optname);
void sdp_inherit_ip6(const struct sock *sk, struct socket *tcp);

/* sdp_rx_msg.c */
bool sdp_rx_ready(const struct sock *sk, u32 target);

/* sdp_verbs.c */
int sdp_link_create(struct sdp_conn *conn);
int sdp_link_start(struct sdp_conn *conn);
void sdp_link_destroy(struct sdp_conn *conn);

/* sdp_verbs_txq.c */
void sdp_tx_free(struct sdp_conn *conn);
bool sdp_tx_src_avail(struct sdp_conn *conn, struct iov_iter *from, u32 n);
void sdp_tx_src_unavail(struct sdp_conn *conn);

#endif /* _SDP_H */
