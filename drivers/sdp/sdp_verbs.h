/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs link: messages in private buffers, posted to a queue pair. For the files of the
 * link, zero copy and the ring. Others use the limits, and read the state for reports.
 */
#ifndef _SDP_VERBS_H
#define _SDP_VERBS_H

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_sock.h"

struct msghdr;
struct iov_iter;
struct sdp_conn;
struct sock;

/* Limits of this implementation; struct sdp_net has the tunables. */
#define SDP_BUF_SIZE		SZ_32K	/* bytes of a send or receive buffer in use */
#define SDP_BUF_ORDER		order_base_2(DIV_ROUND_UP(SDP_BUF_SIZE, PAGE_SIZE))
#define SDP_BUF_TRUESIZE	(PAGE_SIZE << SDP_BUF_ORDER)	/* of its pages */
#define SDP_SQ_DEPTH		64	/* sends in flight; a power of two */
#define SDP_SQ_FIRST		16	/* sends in flight at first, at least */
#define SDP_TXQ_FIRST		16	/* unsent messages at first; a power of two */
#define SDP_TXQ_MIN		64	/* limit of unsent messages, if each send is one */
#define SDP_TXQ_MAX		1024	/* limit of unsent messages otherwise */
#define SDP_CTL_SLOT		64	/* bytes for one header or control message */
#define SDP_TX_PIECES		5	/* of payload; software devices take one more */
#define SDP_TX_SPLIT_MIN	2048	/* payloads worth an SGE of their own */
#define SDP_MIN_RX_BUFS		8	/* for data; for others see sdp_fc_credit.c */
#define SDP_IDLE		HZ	/* without messages, until spare memory is freed */
#define SDP_MAX_RX_BUFS		256
#define SDP_RX_SEG		14	/* structures of receives, allocated together */
#define SDP_RX_SEGS		DIV_ROUND_UP(SDP_MAX_RX_BUFS, SDP_RX_SEG)

/* The peer learns it: it must not depend on the size of a page */
static_assert(SDP_BUF_SIZE == 32768);
static_assert(SDP_BUF_TRUESIZE >= SDP_BUF_SIZE);

/*
 * Give a memory region an address that starts at its offset in its page. By
 * default the verbs use its DMA address. On a software device that is a kernel
 * address, which the peer must not learn.
 */
static inline void sdp_mr_rename(struct ib_mr *mr)
{
	mr->iova &= mr->page_size - 1;
}

/**
 * struct sdp_rx_buf - one receive buffer
 * @cqe: completion of the receive that it is posted for
 * @node: on sdp_verbs.rx_free or sdp->rx_queue
 * @conn: connection whose QP it belongs to; NULL: it is over, see sdp_verbs_orphan()
 * @page: compound page of SDP_BUF_ORDER, bytes after the BSDH land at its start; NULL between
 *	  posting and arrival with sdp_verbs.rx_lazy
 * @sg: @page for the device
 * @hdr: where the headers land, inside of sdp_rx_seg.hdrs
 * @hdr_dma: @hdr for the device
 * @off: first payload byte not yet read
 * @len: end of the payload in @page
 * @used: counted in sdp_verbs.rx_nbufs
 *
 * Owned by the device while posted, then by the completion handler, then by the
 * list that it is on: tx_lock for rx_free, sdp->lock for the receive queue.
 */
struct sdp_rx_buf {
	struct ib_cqe cqe;
	struct list_head node;
	struct sdp_conn *conn;
	struct page *page;
	struct scatterlist sg;
	u8 *hdr;
	u64 hdr_dma;
	u32 off;
	u32 len;
	bool used;
};

/**
 * struct sdp_rx_seg - receive buffers that are allocated together
 * @hdrs: headers of messages that arrive, sdp_verbs.rx_slot bytes for each buffer
 * @dma: @hdrs for the device
 * @buf: the buffers
 */
struct sdp_rx_seg {
	u8 *hdrs;
	u64 dma;
	struct sdp_rx_buf buf[SDP_RX_SEG];
};

/* Send buffer of one or more small messages, or memory sent by reference. */
struct sdp_chunk {
	struct list_head node;		/* sdp_verbs.tx_free_chunks */
	struct page *page;		/* NULL: see sdp_tx_pages.c */
	u64 dma;
	u32 size;
	u32 used;			/* lock_sock: where the next byte goes */
	int refs;			/* messages, sends in flight, tx_chunk; tx_lock */
};

/**
 * struct sdp_tx_msg - Data message that has not been sent yet
 * @chunk: where its bytes are; the message holds a reference
 * @off: offset of the payload; an inline header stands before it
 * @len: payload bytes
 * @split: header in the slot of the send, not before the payload
 * @oob: last byte is urgent; nothing may be appended
 * @busy: sendmsg is copying to the bytes after @len; do not send yet
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
 * struct sdp_tx_slot - a send in flight, index MSeq modulo sdp_tx_area.depth
 * @cqe: completion, meaningful for signalled sends
 * @conn: owner
 * @chunk: reference to drop when complete, or NULL
 * @mseq: sequence number of the message
 * @charge: bytes to take from sk_wmem_queued when complete
 * @mid: kind of message
 *
 * Written with tx_lock when the message is posted, read by its completion.
 */
struct sdp_tx_slot {
	struct ib_cqe cqe;
	struct sdp_conn *conn;
	struct sdp_chunk *chunk;
	u32 mseq;
	u32 charge;
	u8 mid;
};

/**
 * struct sdp_tx_area - sends in flight
 * @slot: of each; NULL: none of this is allocated
 * @hdrs: their headers, SDP_CTL_SLOT bytes each
 * @dma: @hdrs for the device
 * @depth: how many there may be, a power of two
 */
struct sdp_tx_area {
	struct sdp_tx_slot *slot;
	u8 *hdrs;
	u64 dma;
	u32 depth;
};

/**
 * struct sdp_verbs - state of a connection with a verbs link, beside struct sdp_conn
 * @conn: the connection
 * @recv_done: handles the completion of a receive; fixed
 * @send_done: handles the completion of a send; fixed
 * @rx_seg: receive buffers, sdp_conn.rx_max of them; lock_sock to add segments
 * @rx_slot: bytes for the headers of one receive
 * @rx_grows: receives are about to be added; reception sets it with sdp->lock, ctl_work
 *	      clears it without
 * @rx_wanted: ctl_work is to add receives; as @rx_grows
 * @rx_free: receive buffers to be posted
 * @rx_nbufs: buffers that have a page, or get one when a message comes
 * @rx_lazy: receives get their page when a message arrives; fixed
 * @rx_lacks: a message waits because no page could be allocated; a callback of the device
 *	      sets it with interrupts disabled, ctl_work and kick_work clear it
 * @rx_lock: protects @rx_spare; interrupts disabled, innermost
 * @rx_spare: spare pages for messages to come, linked by page.lru
 * @rx_posted_total: receives posted since the start
 * @rx_adv_total: receives that the peer knows of; vwin: written by reception, with sdp->lock
 * @tx_done: last MSeq completed
 * @tx_acct: last MSeq completed or acknowledged
 * @tx_signalled: last MSeq sent signalled
 * @tx_unsig_bytes: payload bytes sent since @tx_signalled
 * @tx_head: where @tx_q is filled
 * @tx_tail: where @tx_q is sent from
 * @tx_unsent: payload bytes not posted
 * @tx_want: a writer waits for completions; it sets this without a lock
 * @tx_lacks: a writer found no memory for a send buffer: completions make one free
 * @tx_signal_long: a long Send whose header is in a slot must be signalled: until its
 *	      completion the device may refer to the slot; see sdp_verbs_signal(); fixed
 * @tx_alone: flow control "credit": each send() becomes a message of its own; fixed
 * @update_rule: enum sdp_update; fixed
 * @vwin_posted: vwin: messages that the device has at most; fixed
 * @tx_signal: vwin: once the device has this many messages, one of as many is signalled;
 *	       fixed
 * @tx_chunk: send buffer that is being filled; lock_sock, and tx_lock to change
 * @tx_free_chunks: send buffers kept
 * @tx_free_count: entries of @tx_free_chunks
 * @tx_grows: @tx is full and is to be enlarged, now or, after a failure, later; idle_work
 *	      clears it without a lock
 * @tx_q: messages not sent, @tx_qlen
 * @tx_qlen: a power of two, grows; lock_sock, and tx_lock to change
 * @tx: sends in flight; lock_sock, and tx_lock to change
 * @tx_first: the first, smaller area, while @tx is a larger one. Sends that were in
 *	      flight when @tx grew still refer to it.
 * @idle_work: frees spare memory when there is no traffic
 * @idle_due: @idle_work is queued, or will queue itself; set without a lock by any task that
 *	      queues it, cleared by @idle_work
 * @idle_mseq: sum of both MSeq at the last run of @idle_work, which alone uses it
 *
 * sdp_conn.tx_lock protects it, where nothing else is said. Lockless readers use
 * READ_ONCE(); the arrays go with the queue pair, the structure with the connection.
 *
 * The flags that change without tx_lock have a byte each. A task that sets @rx_grows,
 * @rx_wanted or @rx_lacks queues ctl_work afterwards. ctl_work clears the last two before it
 * acts, and @rx_grows afterwards: the worst is a reader that is woken early. A task that sets
 * @idle_due queues @idle_work, which clears it before it looks. A change of @tx_want or
 * @tx_grows that is lost costs time: the next send that finds no room sets it again, and
 * @idle_work has a probe sent.
 */
struct sdp_verbs {
	struct sdp_conn *conn;
	void (*recv_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*send_done)(struct ib_cq *cq, struct ib_wc *wc);
	struct sdp_rx_seg *rx_seg[SDP_RX_SEGS];
	u32 rx_slot;
	bool rx_grows;
	bool rx_wanted;
	struct list_head rx_free;
	u32 rx_nbufs;
	bool rx_lazy;
	bool rx_lacks;
	spinlock_t rx_lock;		/* see above */
	struct list_head rx_spare;
	u32 rx_posted_total;
	u32 rx_adv_total;
	u32 tx_done;
	u32 tx_acct;
	u32 tx_signalled;
	u32 tx_unsig_bytes;
	u32 tx_head, tx_tail;
	u32 tx_unsent;
	bool tx_want;
	bool tx_lacks;
	bool tx_signal_long;
	bool tx_alone;
	u8 update_rule;
	u32 vwin_posted;
	u32 tx_signal;
	struct sdp_chunk *tx_chunk;
	struct list_head tx_free_chunks;
	u32 tx_free_count;
	bool tx_grows;
	struct sdp_tx_msg *tx_q;
	u32 tx_qlen;
	struct sdp_tx_area tx;
	struct sdp_tx_area tx_first;
	struct delayed_work idle_work;
	bool idle_due;
	u32 idle_mseq;
};

/* The receive buffer with this number */
static inline struct sdp_rx_buf *sdp_rx_buf_at(struct sdp_verbs *v, u32 i)
{
	return &v->rx_seg[i / SDP_RX_SEG]->buf[i % SDP_RX_SEG];
}

/* Receives that structures are allocated for, if there may be @n */
static inline u32 sdp_qp_rx_segs(u32 n)
{
	return roundup(n, SDP_RX_SEG);
}

/*
 * All payload of a message is on the receive queue, of buffers or of a ring: count it, and
 * let the reader have it. Context: sdp->lock.
 */
static inline void sdp_verbs_queued(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	u32 len = c->m.payload_len;

	/* pairs with the acquire of the reader */
	smp_store_release(&sdp->rx_seq, sdp->rx_seq + len);
	c->readable = true;
	WRITE_ONCE(sdp->rx_bytes, sdp->rx_bytes + len);
	SDP_INC_STATS(sock_net(c->sk), RX_DATA_MSGS);
	SDP_INC_SIZE(sock_net(c->sk), RX_MSGS_64, len);
	SDP_ADD_STATS(sock_net(c->sk), RX_BYTES, len);
}

/* sdp_verbs.c */
int sdp_verbs_create(struct sdp_conn *conn);
int sdp_verbs_start(struct sdp_conn *conn);
void sdp_verbs_destroy(struct sdp_conn *conn);

/* sdp_qp.c */
void sdp_qp_set_ip(struct sdp_conn *conn);
void sdp_qp_return_cqes(struct sdp_conn *conn);
int sdp_qp_post_recvs(struct sdp_conn *conn);
int sdp_qp_send(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		const struct sdp_tx_msg *m, u32 hdr_len, bool signal);
void sdp_qp_header(struct sdp_conn *conn, const struct sdp_tx_slot *slot,
		   u32 len, struct ib_sge *sge);
int sdp_qp_probe(struct sdp_conn *conn, bool alive);
int sdp_qp_payload(struct sdp_conn *conn, const struct sdp_tx_msg *m, u32 hdr,
		   struct ib_sge *sge);
struct sdp_chunk *sdp_qp_chunk_alloc(struct sdp_conn *conn, gfp_t gfp, bool must);
void sdp_qp_chunk_free(struct sdp_conn *conn, struct sdp_chunk *c);
bool sdp_qp_rx_renew(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_qp_rx_grow(struct sdp_conn *conn);
u32 sdp_qp_rx_left(const struct sdp_conn *conn);
void sdp_qp_rx_refill(struct sdp_conn *conn);
u32 sdp_qp_rx_mappable(const struct sock *sk);
void sdp_qp_rx_unmap(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_qp_queue_idle(struct sdp_conn *conn);
void sdp_qp_rx_lazy(struct sdp_conn *conn);
void sdp_qp_rx_bare(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_qp_rx_supply(struct sdp_conn *conn);
bool sdp_qp_rx_trim(struct sdp_conn *conn);
u32 sdp_qp_rx_limit(const struct sdp_conn *conn);
int sdp_qp_rx_alloc(struct sdp_conn *conn, struct sdp_rx_buf *buf);
void sdp_qp_rx_put(struct sock *sk, struct page *page);
int sdp_qp_create(struct sdp_conn *conn);
int sdp_qp_grow(struct sdp_conn *conn);
int sdp_qp_rx_add(struct sdp_conn *conn);
void sdp_qp_rx_free(struct sdp_conn *conn);
int sdp_qp_tx_alloc(struct sdp_conn *conn, struct sdp_tx_area *a, u32 depth);
void sdp_qp_tx_free(struct sdp_conn *conn, struct sdp_tx_area *a);
void sdp_qp_tx_grow(struct sdp_conn *conn);
bool sdp_qp_tx_shrink(struct sdp_conn *conn);

/* sdp_verbs_tx.c */
void sdp_verbs_tx_done(struct ib_cq *cq, struct ib_wc *wc);

/* sdp_verbs_txq.c */
void sdp_txq_free(struct sdp_conn *conn);
bool sdp_txq_trim(struct sdp_conn *conn);
bool sdp_txq_src_avail(struct sdp_conn *conn, struct iov_iter *from, u32 n);
void sdp_txq_src_unavail(struct sdp_conn *conn);

/* sdp_verbs_rx.c */
void sdp_verbs_rx_done(struct ib_cq *cq, struct ib_wc *wc);
void sdp_verbs_rx_work(struct work_struct *work);

/* sdp_tx_pages.c */
struct sdp_chunk *sdp_ref_alloc(struct sdp_conn *conn);
void sdp_ref_free(struct sdp_conn *conn, struct sdp_chunk *c);
u32 sdp_ref_fill(struct sdp_conn *conn, struct sdp_chunk *c,
		 struct msghdr *msg, u32 max);
bool sdp_ref_room(const struct sdp_conn *conn, const struct sdp_chunk *c,
		  const struct msghdr *msg);
int sdp_ref_sge(const struct sdp_tx_msg *m, struct ib_sge *sge);

#endif /* _SDP_VERBS_H */
