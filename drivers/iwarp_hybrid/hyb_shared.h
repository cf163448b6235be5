/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared link: an upper layer writes into the outgoing stream and reads from
 * the packets that came in (<rdma/rdma_stack.h>).
 *
 * Beside the engines: lays out messages in hyb_stream, is called by hyb_tx,
 * hyb_rx and hyb_tcp, and calls the upper layer. All state is protected by the
 * spinlock of the TCP socket, but where a member says otherwise.
 *
 * A reserved message has its final places in the stream and in the pages; what
 * is known of its FPDUs is written where their headers will be. It is open
 * until its first octet goes to TCP. Then FPDU by FPDU is sealed: header,
 * markers, PAD and CRC are filled in. TCP is given no more than it can send at
 * once and two segments, so that what waits, waits here and can be appended to.
 */
#ifndef HYB_SHARED_H
#define HYB_SHARED_H

#include <linux/mm.h>
#include <linux/types.h>
#include <rdma/rdma_stack.h>

#include "hybrid.h"

struct page;
struct sock;

#define HYB_MSGS	8	/* open messages, a power of two */
#define HYB_MSGS_MAX	512	/* when many wait that nothing may join, same */
#define HYB_WAIT_MAX	(8 << 20) /* octets laid out that TCP has not taken */
#define HYB_WINDOW_MIN	16384U	/* of the receive window */
#define HYB_WINDOW_MAX	BIT(29)
#define HYB_SPACE_MAX	BIT(30)	/* memory for it */

/**
 * struct hyb_fpos - place of an FPDU
 * @pos: in the stream
 * @page: index in hyb_stream.ring
 * @off: in that page
 */
struct hyb_fpos {
	u64 pos;
	u32 page;
	u32 off;
};

/**
 * struct hyb_msg - a message that is not completely sealed
 * @first: its first FPDU
 * @last: its last FPDU
 * @len: octets behind the DDP headers: header of the upper layer and payload
 * @msn: message number
 * @hdr_len: octets of @hdr
 * @solicited: the peer shall have an event
 * @hdr: header of the upper layer
 */
struct hyb_msg {
	struct hyb_fpos first;
	struct hyb_fpos last;
	u32 len;
	u32 msn;
	u8 hdr_len;
	bool solicited;
	u8 hdr[RDMA_STACK_TX_HDR];
};

/**
 * struct hyb_shared - shared link of a queue pair
 * @ulp: upper layer's functions, NULL when it has closed the link; changes
 *	 under hyb_tcp.lock and, if connected, that of the socket
 * @ctx: for them
 * @msg: ring of open messages
 * @mask: its size - 1
 * @get: oldest of them
 * @put: next free
 * @seal: next FPDU to be sealed, if @begun
 * @begun: message @get is partly sealed
 * @open: the last message may be appended to; read without lock
 * @reserved: a reservation is open, the engine does nothing
 * @appending: it appends to the last message
 * @wish: there is something to do when it is over
 * @eor: a segment ends in front of the next FPDU
 * @lent: octets of the reservation
 * @was: hyb_msg.len before it
 * @nr: entries of @seg in use
 * @room: octets up to the end of the segment that TCP is at
 * @seg: where the upper layer writes
 * @want: call tx_space when there is room
 * @notify: call tx_space when @notify_pos is acknowledged
 * @notify_pos: see @notify
 * @window: receive window wanted, 0: TCP's own choice; also changes under
 *	    hyb_tcp.lock while there is no socket
 * @window_now: in effect, if @window is not 0
 * @space: receive buffer of TCP for it
 * @held: the upper layer has paused reception
 * @called: rx was called in this walk
 * @rx_off: octets of the message that were delivered
 * @rx: what to deliver next
 * @run: its pieces
 * @skb_seq: packet whose memory was charged last
 * @skb_size: how much of it was
 * @first: the ring as long as it need not grow
 */
struct hyb_shared {
	const struct rdma_stack_ulp *ulp;
	void *ctx;

	u32 get;
	u32 put;
	struct hyb_fpos seal;
	bool begun;
	bool open;
	bool reserved;
	bool appending;
	bool wish;
	bool eor;
	bool want;
	bool notify;
	u32 lent;
	u32 was;
	u32 nr;
	u32 room;
	u64 notify_pos;

	u32 window;
	u32 window_now;
	u32 space;
	bool held;
	bool called;
	u32 rx_off;
	u32 skb_seq;
	u32 skb_size;
	struct rdma_stack_rx rx;

	struct hyb_msg *msg;
	u32 mask;
	struct hyb_msg first[HYB_MSGS];
	struct rdma_stack_seg seg[RDMA_STACK_TX_SEGS];
	struct rdma_stack_run run[RDMA_STACK_RUNS];
};

/* Operations for struct rdma_stack_provider */
extern const struct rdma_stack_link hyb_link;

/* Is a reservation open? Then the transmit engine must wait. */
static inline bool hyb_shared_reserved(const struct hyb_qp *qp)
{
	return qp->shared && qp->shared->reserved;
}

/* Is there an FPDU whose header, markers and CRC are still missing? */
static inline bool hyb_shared_unsealed(const struct hyb_qp *qp)
{
	return qp->shared && qp->shared->get != qp->shared->put;
}

/* A piece of what came in: payload at @p, @off in @page; markers after @to_mark */
static inline void hyb_shared_run(struct rdma_stack_run *run, struct page *page,
				  u32 off, const u8 *p, u32 len, u32 to_mark,
				  u32 ivl)
{
	run->data = p;
	run->page = page;
	run->off = off;
	run->len = len;
	run->gaps.head = to_mark < len ? to_mark : 0;
	run->gaps.step = ivl - MPA_MARK_SIZE;
}

/* The functions below: of the engines, with the TCP socket held */
bool hyb_shared_hold(struct hyb_qp *qp);
bool hyb_shared_flush(struct hyb_qp *qp, struct sock *sk);
void hyb_shared_tx_done(struct hyb_qp *qp, struct sock *sk);
bool hyb_shared_writeable(struct hyb_qp *qp, struct sock *sk);

void hyb_shared_window(struct hyb_qp *qp, struct sock *sk);
void hyb_shared_window_check(struct hyb_qp *qp, struct sock *sk, u32 rest);
u32 hyb_shared_add(struct hyb_qp *qp, struct sk_buff *skb, struct page *page,
		   const u8 *p, u32 len, u32 to_mark);
u32 hyb_shared_deliver(struct hyb_qp *qp, bool last, bool solicited);
void hyb_shared_rx_done(struct hyb_qp *qp);

void hyb_shared_closed(struct hyb_qp *qp, int err);
void hyb_shared_free(struct hyb_qp *qp);

#endif
