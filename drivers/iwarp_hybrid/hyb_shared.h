/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared link: an upper layer writes into the outgoing stream and reads from
 * the received packets (<rdma/rdma_stack.h>).
 *
 * All state is protected by the spinlock of the TCP socket, except where a member
 * says otherwise.
 *
 * A reserved message has its final places in the stream and in the pages; the
 * layout of its FPDUs is written where their headers will be. It is open
 * until its first byte goes to TCP. Then FPDU by FPDU is sealed: header,
 * markers, PAD and CRC are filled in. TCP gets no more than it can send at
 * once and two segments, or one burst of a long queue, so that messages wait here and
 * can be appended to.
 */
#ifndef HYB_SHARED_H
#define HYB_SHARED_H

#include <linux/mm.h>
#include <linux/types.h>
#include <rdma/rdma_stack.h>

#include "hybrid.h"

struct page;
struct sock;

#define HYB_MSGS_MAX	512	/* entries of the ring of messages at most, a power of two */
#define HYB_WAIT_MAX	(8 << 20) /* bytes laid out that TCP has not taken */
#define HYB_WINDOW_MIN	16384U	/* of the receive window */
#define HYB_WINDOW_MAX	BIT(29)
#define HYB_SPACE_MAX	BIT(30)	/* of TCP's receive buffer for it */

/* Operations for struct rdma_stack_provider */
extern const struct rdma_stack_link hyb_link;

/* A piece of received payload: at @p, @off in @page; the first marker after @to_mark bytes */
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

/* Called by the engines with the TCP socket held; hyb_shared_free() when they have stopped */
bool hyb_shared_hold(struct hyb_qp *qp);
bool hyb_shared_flush(struct hyb_qp *qp, struct sock *sk);
void hyb_shared_tx_done(struct hyb_qp *qp, struct sock *sk);
bool hyb_shared_writeable(struct hyb_qp *qp, struct sock *sk);

void hyb_shared_window(struct hyb_qp *qp, struct sock *sk);
void hyb_shared_window_check(struct hyb_qp *qp, struct sock *sk, u32 rest);
u32 hyb_shared_add(struct hyb_qp *qp, struct sk_buff *skb, struct page *page,
		   const u8 *p, u32 len, u32 to_mark);
u32 hyb_shared_deliver(struct hyb_qp *qp, bool last, bool solicited);
bool hyb_shared_wake(struct hyb_qp *qp);
void hyb_shared_sleep(struct hyb_qp *qp);
void hyb_shared_rx_done(struct hyb_qp *qp);

void hyb_shared_closed(struct hyb_qp *qp, int err);
void hyb_shared_free(struct hyb_qp *qp);
u32 hyb_shared_memory(const struct hyb_qp *qp);

#endif
