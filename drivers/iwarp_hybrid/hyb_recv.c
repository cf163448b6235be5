// SPDX-License-Identifier: GPL-2.0
/*
 * Receives and Reads in progress. See hyb_recv.h. Calls the queues (hyb_queue.c,
 * hyb_srq.c, hyb_rdq.c), hyb_mem.c, hyb_off_place.c, hyb_ooo.c and hyb_sched.c.
 */
#include <linux/overflow.h>

#include "hyb_mem.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_rdq.h"
#include "hyb_recv.h"
#include "hyb_sched.h"
#include "hybrid.h"

u32 hyb_recv_read_error(int err)
{
	switch (err) {
	case HYB_MEM_PD:
		return TERM_PROT_STREAM;
	case HYB_MEM_BOUNDS:
		return TERM_PROT_BOUNDS;
	case HYB_MEM_WRAP:
		return TERM_PROT_WRAP;
	case HYB_MEM_ACCESS:
		return TERM_PROT_ACCESS;
	default:
		return TERM_PROT_STAG;
	}
}

static void hyb_recv_put_mem(struct hyb_rx *rx)
{
	int i;

	for (i = 0; i < SIW_MAX_SGE; i++) {
		if (rx->mem[i])
			hyb_mem_put(rx->mem[i]);
		rx->mem[i] = NULL;
	}
}

/* Resolve the buffers of the receive that was just taken; false if bad */
static bool hyb_recv_get_mem(struct hyb_qp *qp)
{
	struct hyb_rx *rx = &qp->rx;
	enum hyb_mem_err err;
	int i;

	for (i = 0; i < rx->rqe.num_sge; i++) {
		const struct siw_sge *sge = &rx->rqe.sge[i];

		if (check_add_overflow(rx->room, sge->length, &rx->room))
			return false;
		if (!sge->length || (!qp->user && !sge->lkey))
			continue;
		rx->mem[i] = hyb_mem_get(qp->ibqp.pd, sge->lkey, sge->laddr,
					 sge->length, IB_ACCESS_LOCAL_WRITE,
					 &err);
		if (!rx->mem[i])
			return false;
	}
	return true;
}

void hyb_recv_end(struct hyb_qp *qp, u32 inval, bool solicited,
		  enum siw_wc_status status)
{
	struct hyb_rx *rx = &qp->rx;

	hyb_recv_put_mem(rx);
	rx->active = false;
	hyb_rq_complete(qp, &rx->rqe, rx->done, inval, solicited, status);
}

/**
 * hyb_recv_end_imm - a message with immediate data is complete
 * @qp: queue pair, with a receive from hyb_recv_start()
 * @imm: immediate data
 * @rdma: of a Write, else of a Send
 * @solicited: the peer asks for an event
 *
 * Context: TCP socket held.
 */
void hyb_recv_end_imm(struct hyb_qp *qp, u32 imm, bool rdma, bool solicited)
{
	struct hyb_rx *rx = &qp->rx;

	hyb_recv_put_mem(rx);
	rx->active = false;
	hyb_rq_complete_imm(qp, &rx->rqe, rx->done, imm, rdma, solicited);
}

/* The next receive of the queue; out-of-order placement may have it already */
static int hyb_recv_next(struct hyb_qp *qp, u32 len)
{
	if (qp->ooo && hyb_ooo_recv(qp, &qp->rx.rqe))
		return 1;
	return hyb_rq_get(qp, &qp->rx.rqe, len);
}

/**
 * hyb_recv_start - take a receive for a new message
 * @qp: queue pair
 * @len: bytes that the message has, U32_MAX: not known
 *
 * hyb_rx.paused is set if there is none, or no memory for it. Context: TCP socket held.
 * Return: 0 or an error: the receive was no good.
 */
u32 hyb_recv_start(struct hyb_qp *qp, u32 len)
{
	struct hyb_rx *rx = &qp->rx;
	int ret;

	ret = hyb_recv_next(qp, len);
	if (!ret) {
		/* a post after this sees it and kicks */
		WRITE_ONCE(rx->paused, true);
		if (qp->srq)
			hyb_srq_wait(qp);
		ret = hyb_rq_get(qp, &rx->rqe, len);
		if (!ret) {
			rx->starved = true;
			return 0;
		}
		rx->paused = false;
	}
	rx->active = true;
	rx->room = 0;
	rx->done = 0;
	rx->sge = 0;
	rx->sge_off = 0;
	if (ret < 0 || !hyb_recv_get_mem(qp)) {
		hyb_recv_end(qp, 0, false, SIW_WC_LOC_PROT_ERR);
		return TERM_DDP_LOCAL;
	}
	return 0;
}

/**
 * hyb_recv_read_done - the response is complete: the request is, too
 * @qp: queue pair
 * @orq: the request, the oldest one
 *
 * Context: TCP socket held.
 * Return: 0 or an error.
 */
u32 hyb_recv_read_done(struct hyb_qp *qp, struct hyb_orq_entry *orq)
{
	enum siw_wc_status status = SIW_WC_SUCCESS;
	struct hyb_tx *tx = &qp->tx;

	hyb_off_read_done(qp, orq->mem);
	if (orq->mem)
		hyb_mem_put(orq->mem);
	orq->mem = NULL;
	if (orq->inval &&
	    hyb_mem_invalidate(qp->ibqp.pd, orq->stag, false))
		status = SIW_WC_LOC_PROT_ERR;
	tx->orq_get++;
	if (!orq->rtr)
		hyb_sq_complete(qp, orq->slot, orq->len, status);
	if (tx->held || tx->drain || hyb_sq_pending(qp))
		set_bit(HYB_TODO_TX, &qp->tcp.todo);
	return status ? TERM_RDMAP_LOCAL : 0;
}

/**
 * hyb_recv_irq_room - room for one more request of the peer, within IRD
 * @qp: queue pair
 *
 * Context: TCP socket held.
 * Return: false without memory: the request stays where it is, hyb_rx.paused is
 * set, and reception continues at the next tick.
 */
bool hyb_recv_irq_room(struct hyb_qp *qp)
{
	if (hyb_rdq_irq_room(&qp->tx))
		return true;
	qp->rx.paused = true;
	hyb_sched_retry(qp, HYB_TODO_RX, 1);
	return false;
}
