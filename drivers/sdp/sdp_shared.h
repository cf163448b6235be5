/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared link: sends and receives in buffers of the provider. Used by the files of
 * the link; the socket and the connection hold its state.
 */
#ifndef _SDP_SHARED_H
#define _SDP_SHARED_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <rdma/rdma_stack.h>

#include "sdp_rx.h"

struct sdp_conn;
struct sdp_sock;
struct sock;
struct work_struct;

#define SDP_STX_INLINE		4	/* records of an idle link; a power of two */
#define SDP_STX_RECORDS		64	/* records of a link that sends; a power of two */
#define SDP_RX_FRAGS		84	/* of a block, which takes 2 KB */

/**
 * struct sdp_rx_frag - payload in a received page
 * @page: the page
 * @off: where its first byte is
 * @len: bytes, without the gaps
 * @gaps: gaps between them
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
 * @head: first entry of @frag that is not read to its end; only readers move it
 * @tail: next entry to be filled in
 * @frag: the references
 *
 * Changes under sdp->lock. A reader (lock_sock) may look at entries before
 * rx_seq without it.
 */
struct sdp_rx_block {
	struct list_head node;
	u32 head;
	u32 tail;
	struct sdp_rx_frag frag[SDP_RX_FRAGS];
};

/*
 * Receive buffers of programs that have not set their size grow up to this, whenever the
 * reader is faster than the sender; the caches of a CPU may hold most of it. Beyond it see
 * sdp_pages_waited() and, for send buffers, sdp_shared_grow().
 */
#define SDP_BUF_WARM	(1024U * 1024)

/**
 * struct sdp_rx_pages - receive queue of a shared link; sdp->lock
 * @blocks: none while the link is idle
 * @last: of @blocks, or one without room if there is none; NULL: not open yet, or purged
 * @spare: an empty block for the producer, or NULL
 * @merge: page that small payloads are copied into, with a reference
 * @merged: bytes of it in use
 * @charge: bytes of memory that the queue holds (truesize), as sk_rcvbuf limits them
 * @left: the part of it that is charged to the socket, as the link has ended: whole pages
 * @rcvbuf: sk_rcvbuf as the provider knows it; lock_sock once the link is open
 * @paused: the provider is paused
 * @starved: the provider was paused, and the queue has not been empty since then
 * @waits: after @starved the queue became empty, and no data has arrived since then
 * @since: ktime_get_ns() at the pause; with @waits, when the queue became empty
 * @busy: nanoseconds from the pause until the queue was empty: how long the reader
 *	  took for a full buffer
 *
 * The last four decide whether the buffer grows, see sdp_pages_emptied() and
 * sdp_pages_waited().
 */
struct sdp_rx_pages {
	struct list_head blocks;
	struct sdp_rx_block *last;
	struct sdp_rx_block *spare;
	struct page *merge;
	u32 merged;
	u32 charge;
	u32 left;
	u32 rcvbuf;
	bool paused;
	bool starved;
	bool waits;
	u64 since;
	u64 busy;
};

/* Where a message, or several, end in the transport's stream. */
struct sdp_stx_rec {
	u64 end;		/* position after it */
	u32 sum;		/* payload bytes up to there */
};

/**
 * struct sdp_stx - transmit state of a shared link
 * @rec: messages not acknowledged; sdp->lock
 * @mask: size of @rec - 1
 * @inline_rec: @rec points here while the link is idle, and until more are needed
 * @head: next free entry of @rec
 * @tail: the oldest
 * @base: the message before @tail
 * @sum: payload bytes committed; sdp->lock
 * @fin_end: position after DisConn; valid from SDP_FIN_SENT on
 * @held: bytes committed that the provider may delay; owned by the holder of the reservation
 * @no_room: the provider has no room and will call tx_space
 * @in_call: not the first piece of a sendmsg; lock_sock
 */
struct sdp_stx {
	struct sdp_stx_rec *rec;
	u32 mask;
	u32 head, tail;
	struct sdp_stx_rec base;
	struct sdp_stx_rec inline_rec[SDP_STX_INLINE];
	u32 sum;
	u32 held;
	u64 fin_end;
	bool no_room;
	bool in_call;
};

/**
 * struct sdp_srx - the message that a shared link is receiving
 * @hdr: private copy of its headers
 * @have: bytes of @hdr
 * @need: bytes that @hdr will have
 * @left: payload bytes to come
 * @c: parsed when @have is @need; its flags collect what the whole batch did
 */
struct sdp_srx {
	u8 hdr[SDP_MSG_HDR_MAX];
	u32 have;
	u32 need;
	u32 left;
	struct sdp_rx_ctx c;
};

/**
 * struct sdp_shared - state of a connection with a shared link, beside struct sdp_conn
 * @tx: transmit half
 * @rx: receive half
 */
struct sdp_shared {
	struct sdp_stx tx;
	struct sdp_srx rx;
};

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
bool sdp_pages_wake(struct sdp_conn *conn);
void sdp_pages_idle(struct sdp_sock *sdp);
void sdp_pages_undo(struct sdp_conn *conn);
bool sdp_pages_add(struct sdp_sock *sdp, const struct rdma_stack_rx *rx,
		   u32 skip, u32 merge);
bool sdp_pages_full(struct sock *sk);
void sdp_pages_rcvbuf(struct sdp_conn *conn);

#endif /* _SDP_SHARED_H */
