// SPDX-License-Identifier: GPL-2.0
/*
 * RFC 7306: Immediate Data and atomic operations. See hyb_ext.h.
 *
 * Immediate Data have 8 bytes, immediate data of the verbs 4: these come first.
 * Between peers of this driver the rest is the length of the Write that they
 * belong to, which the completion has to tell; from other peers it is ignored.
 *
 * Atomic operations use the processor's instructions, so they are atomic for every
 * processor. In memory the values have its byte order.
 *
 * Calls hyb_fpdu.c, hyb_mem.c and hyb_recv.c.
 */
#include <linux/atomic.h>

#include "hyb_ext.h"
#include "hyb_fpdu.h"
#include "hyb_mem.h"
#include "hyb_recv.h"
#include "hybrid.h"

/* ------------------------------------------------------------ Immediate Data */

enum hyb_lay hyb_ext_tx_imm(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	bool solicited = tx->sqe.flags & SIW_WQE_SOLICITED;
	u8 ulpdu[RDMAP_IMM_ULPDU];
	enum hyb_lay ret;

	ddp_put_untagged(ulpdu, true,
			 RDMAP_CTRL(solicited ? RDMAP_IMM_SE : RDMAP_IMM), 0,
			 DDP_QN_SEND, tx->msn[DDP_QN_SEND], 0);
	proto_put32(ulpdu + DDP_UNTAGGED_LEN, hyb_sq_slot(&qp->sq, tx->slot)->imm);
	proto_put32(ulpdu + DDP_UNTAGGED_LEN + 4, tx->len);
	ret = hyb_fpdu_whole(qp, ulpdu, sizeof(ulpdu));
	if (ret != HYB_LAY_DONE)
		return ret;
	tx->msn[DDP_QN_SEND]++;
	hyb_stats_inc(qp->dev, HYB_ST_TX_IMM);
	hyb_fpdu_done(qp);
	return ret;
}

static u32 hyb_ext_rx_imm(struct hyb_qp *qp, const struct ddp_hdr *h,
			  const u8 *p)
{
	bool solicited = RDMAP_OP(h->rdmap) == RDMAP_IMM_SE;
	struct hyb_rx *rx = &qp->rx;
	u32 len = proto_get32(p + 4);
	u32 err;

	/* the upper layer of a shared link reads a stream of messages */
	if (qp->shared)
		return TERM_OP_OPCODE;
	err = ddp_check_untagged(h, rx->msn[DDP_QN_SEND], 0, U32_MAX);
	if (err)
		return err;
	if (rx->active)
		return TERM_UNT_MO;
	if (!qp->tx.ext)
		len = 0;
	/* consumers may rely on what the completion says */
	if (len > rx->written)
		return TERM_UNT_LEN;
	err = hyb_recv_start(qp, 0);
	if (err || rx->paused)
		return err;
	rx->msn[DDP_QN_SEND]++;
	rx->written = 0;
	rx->done = len;
	hyb_stats_inc(qp->dev, HYB_ST_RX_IMM);
	hyb_recv_end_imm(qp, proto_get32(p), true, solicited);
	return 0;
}

/* ------------------------------------------------------------------- requester */

/* Operands stand where the second and later SGEs would be */
static void hyb_ext_operands(const struct siw_sqe *sqe, struct rdmap_areq *r)
{
	bool masked = sqe->opcode == HYB_OP_MASKED_FETCH_ADD ||
		      sqe->opcode == HYB_OP_MASKED_COMP_SWAP;

	if (sqe->opcode == SIW_OP_FETCH_AND_ADD ||
	    sqe->opcode == HYB_OP_MASKED_FETCH_ADD) {
		r->op = RDMAP_FETCH_ADD;
		r->data = sqe->sge[HYB_SGE_COMPARE_ADD].laddr;
		r->data_mask = masked ? sqe->sge[HYB_SGE_COMPARE_MASK].laddr : 0;
		r->compare = 0;
		r->compare_mask = U64_MAX;
		return;
	}
	r->op = RDMAP_CMP_SWAP;
	r->data = sqe->sge[HYB_SGE_SWAP].laddr;
	r->data_mask = U64_MAX;
	r->compare = sqe->sge[HYB_SGE_COMPARE_ADD].laddr;
	r->compare_mask = U64_MAX;
	if (masked) {
		r->data_mask = sqe->sge[HYB_SGE_SWAP_MASK].laddr;
		r->compare_mask = sqe->sge[HYB_SGE_COMPARE_MASK].laddr;
	}
}

enum hyb_lay hyb_ext_tx_request(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	u32 msn = tx->msn[DDP_QN_READ];
	struct hyb_orq_entry orq = {
		.mem = tx->mem[0],
		.to = tx->sqe.sge[0].laddr,
		.stag = tx->sqe.sge[0].lkey,
		.len = tx->len,
		.left = tx->len,
		.slot = tx->slot,
		.atomic = true,
		.id = msn,
	};
	struct rdmap_areq req = {
		.id = msn,
		.stag = tx->sqe.rkey,
		.to = tx->sqe.raddr,
	};
	u8 ulpdu[RDMAP_AREQ_ULPDU];
	enum hyb_lay ret;

	hyb_ext_operands(&tx->sqe, &req);
	ddp_put_untagged(ulpdu, true, RDMAP_CTRL(RDMAP_ATOMIC_REQ), 0,
			 DDP_QN_READ, msn, 0);
	rdmap_areq_put(ulpdu + DDP_UNTAGGED_LEN, &req);
	ret = hyb_fpdu_whole(qp, ulpdu, sizeof(ulpdu));
	if (ret != HYB_LAY_DONE)
		return ret;
	tx->msn[DDP_QN_READ]++;
	tx->orq[tx->orq_put++ & tx->orq_mask] = orq;
	/* the ORQ has the reference now, and completes the slot */
	tx->mem[0] = NULL;
	tx->busy = HYB_TX_NONE;
	hyb_stats_inc(qp->dev, HYB_ST_TX_ATOMICS);
	return ret;
}

/* Responses come in the order of the requests, Reads included */
static u32 hyb_ext_rx_response(struct hyb_qp *qp, const struct ddp_hdr *h,
			       const u8 *p)
{
	struct hyb_tx *tx = &qp->tx;
	u64 value = proto_get64(p + 4);
	struct hyb_orq_entry *orq;
	u32 err;

	if (tx->orq_get == tx->orq_put)
		return TERM_OP_OPCODE;
	orq = &tx->orq[tx->orq_get & tx->orq_mask];
	if (!orq->atomic)
		return TERM_OP_OPCODE;
	err = ddp_check_untagged(h, qp->rx.msn[DDP_QN_ATOMIC], 0, U32_MAX);
	if (err)
		return err;
	if (proto_get32(p) != orq->id)
		return TERM_OP_UNSPEC;
	if (!orq->mem)
		memcpy((void *)(uintptr_t)orq->to, &value, sizeof(value));
	else if (hyb_mem_write(orq->mem, orq->stag, orq->to, &value,
			       sizeof(value)))
		return TERM_RDMAP_LOCAL;
	qp->rx.msn[DDP_QN_ATOMIC]++;
	return hyb_recv_read_done(qp, orq);
}

/* ------------------------------------------------------------------- responder */

/* Apply the operation atomically with respect to all processors; @old: value before */
static u32 hyb_ext_apply(struct hyb_mem *mem, const struct rdmap_areq *r,
			 u64 *old)
{
	u32 run = sizeof(u64), err = 0;
	u64 cur, new, *p;
	void *at;

	if (hyb_mem_use(mem, r->stag, r->to, &run, IB_ACCESS_REMOTE_ATOMIC, &at))
		return TERM_PROT_STAG;
	p = at;
	if (run < sizeof(*p) || !IS_ALIGNED((uintptr_t)p, sizeof(*p))) {
		err = TERM_OP_STREAM;
		goto out;
	}
	cur = READ_ONCE(*p);
	do {
		*old = cur;
		err = rdmap_atomic(r, *old, &new);
		if (err)
			goto out;
		cur = cmpxchg64(p, *old, new);
	} while (cur != *old);
out:
	hyb_mem_unuse(mem);
	return err;
}

static u32 hyb_ext_execute(struct hyb_qp *qp, const struct rdmap_areq *r,
			   u64 *old)
{
	enum hyb_mem_err merr;
	struct hyb_mem *mem;
	u32 err;

	if (r->op != RDMAP_FETCH_ADD && r->op != RDMAP_CMP_SWAP)
		return TERM_OP_OPCODE;
	if (r->to & (sizeof(u64) - 1))
		return TERM_OP_STREAM;
	if (!hyb_qp_grants(qp, IB_ACCESS_REMOTE_ATOMIC))
		return hyb_recv_read_error(HYB_MEM_ACCESS);
	mem = hyb_mem_get(qp->ibqp.pd, r->stag, r->to, sizeof(u64),
			  IB_ACCESS_REMOTE_ATOMIC, &merr);
	if (!mem)
		return hyb_recv_read_error(merr);
	err = hyb_ext_apply(mem, r, old);
	hyb_mem_put(mem);
	return err;
}

/* Atomic and Read Requests share message numbers and the ring hyb_tx.irq */
static u32 hyb_ext_rx_request(struct hyb_qp *qp, const struct ddp_hdr *h,
			      const u8 *p)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_irq_entry *irq;
	struct rdmap_areq req;
	u64 old;
	u32 err;

	err = ddp_check_untagged(h, qp->rx.msn[DDP_QN_READ], 0, U32_MAX);
	if (err)
		return err;
	if (tx->irq_put - tx->irq_get >= tx->ird)
		return TERM_UNT_NOBUF;
	if (!hyb_recv_irq_room(qp))
		return 0;
	irq = &tx->irq[tx->irq_put & tx->irq_mask];
	rdmap_areq_parse(p, &req);
	err = hyb_ext_execute(qp, &req, &old);
	if (err)
		return err;
	irq->mem = NULL;
	irq->msn = h->msn;
	irq->atomic = true;
	irq->id = req.id;
	irq->old = old;
	qp->rx.msn[DDP_QN_READ]++;
	tx->irq_put++;
	set_bit(HYB_TODO_TX, &qp->tcp.todo);
	hyb_stats_inc(qp->dev, HYB_ST_RX_ATOMICS);
	return 0;
}

enum hyb_lay hyb_ext_tx_response(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	const struct hyb_irq_entry *irq = &tx->irq[tx->irq_get & tx->irq_mask];
	u8 ulpdu[RDMAP_ARESP_ULPDU];
	enum hyb_lay ret;

	ddp_put_untagged(ulpdu, true, RDMAP_CTRL(RDMAP_ATOMIC_RESP), 0,
			 DDP_QN_ATOMIC, tx->msn[DDP_QN_ATOMIC], 0);
	proto_put32(ulpdu + DDP_UNTAGGED_LEN, irq->id);
	proto_put64(ulpdu + DDP_UNTAGGED_LEN + 4, irq->old);
	ret = hyb_fpdu_whole(qp, ulpdu, sizeof(ulpdu));
	if (ret != HYB_LAY_DONE)
		return ret;
	tx->msn[DDP_QN_ATOMIC]++;
	tx->irq_get++;
	tx->busy = HYB_TX_NONE;
	return ret;
}

u32 hyb_ext_rx(struct hyb_qp *qp, const struct ddp_hdr *h, const u8 *p)
{
	switch (RDMAP_OP(h->rdmap)) {
	case RDMAP_ATOMIC_REQ:
		return hyb_ext_rx_request(qp, h, p);
	case RDMAP_ATOMIC_RESP:
		return hyb_ext_rx_response(qp, h, p);
	default:
		return hyb_ext_rx_imm(qp, h, p);
	}
}
