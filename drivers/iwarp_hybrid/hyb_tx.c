// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit engine: work requests become FPDUs. See hyb_tx.h.
 *
 * FPDUs are laid out in the outgoing stream (hyb_stream.h) and given to TCP by
 * reference, many in one call.
 *
 * Sources, in order: Terminate; ready-to-receive message; Read Responses and the
 * send queue in turns. Only as much is laid out as TCP has room for. The rest stays
 * in the queues until write_space. Messages of a shared link are laid out by
 * hyb_shared, which also decides when TCP gets more on such a QP.
 *
 * Calls hyb_ext.c, hyb_fast.c, hyb_shared.c, hyb_fpdu.c, and the files below these.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat.h"
#include "compat_rdma.h"
#include "hyb_ext.h"
#include "hyb_fast.h"
#include "hyb_fpdu.h"
#include "hyb_lend.h"
#include "hyb_mem.h"
#include "hyb_offload.h"
#include "hyb_rdq.h"
#include "hyb_sched.h"
#include "hyb_sg.h"
#include "hyb_shared.h"
#include "hyb_stream.h"
#include "hyb_tx.h"
#include "hybrid.h"
#include "iwarp/mpa_contig.h"

/* ---------------------------------------------------- memory of requests */

/* Kernel users may give addresses without registering them */
static bool hyb_tx_direct(const struct hyb_qp *qp, const struct siw_sge *sge)
{
	return !qp->user && !sge->lkey;
}

static int hyb_tx_get_mem(struct hyb_qp *qp, int access)
{
	struct hyb_tx *tx = &qp->tx;
	enum hyb_mem_err err;
	int i;

	for (i = 0; i < tx->sqe.num_sge; i++) {
		const struct siw_sge *sge = &tx->sqe.sge[i];

		if (!sge->length || hyb_tx_direct(qp, sge))
			continue;
		tx->mem[i] = hyb_mem_get(qp->ibqp.pd, sge->lkey, sge->laddr,
					 sge->length, access, &err);
		if (!tx->mem[i]) {
			hyb_fpdu_put_mem(tx);
			return -EFAULT;
		}
	}
	return 0;
}

/*
 * Put @len bytes of @mem, or of the kernel's memory; false if @mem or its right @access
 * was revoked. A contiguous run counts as one copy, whatever markers come in between.
 */
static bool hyb_tx_put(struct hyb_tx *tx, struct mpa_build *b,
		       struct hyb_mem *mem, u32 stag, u64 from, u32 len,
		       int access)
{
	void *p = (void *)(uintptr_t)from;
	u32 n;

	for (; len; len -= n, from += n) {
		n = len;
		if (mem && hyb_mem_use(mem, stag, from, &n, access, &p))
			return false;
		mpa_build_put(b, p, n);
		if (mem)
			hyb_mem_unuse(mem);
		tx->copies++;
		tx->copied += n;
	}
	return true;
}

/* Put the next @n bytes of the scatter list; false if it was revoked */
static bool hyb_tx_gather(struct hyb_qp *qp, struct mpa_build *b, u32 n)
{
	struct hyb_tx *tx = &qp->tx;

	if (tx->sqe.flags & SIW_WQE_INLINE) {
		mpa_build_put(b, (u8 *)&tx->sqe.sge[1] + tx->sge_off, n);
		tx->sge_off += n;
		tx->copies++;
		tx->copied += n;
		return true;
	}
	while (n) {
		const struct siw_sge *sge = &tx->sqe.sge[tx->sge];
		u32 len = min(n, sge->length - tx->sge_off);

		if (!hyb_tx_put(tx, b, tx->mem[tx->sge], sge->lkey,
				sge->laddr + tx->sge_off, len, 0))
			return false;
		n -= len;
		tx->sge_off += len;
		if (tx->sge_off == sge->length) {
			tx->sge++;
			tx->sge_off = 0;
		}
	}
	return true;
}

/*
 * Bytes of the FPDU being laid out that can be given by reference: at the
 * next byte of the scatter list, up to @n of them. 0: they must be copied.
 */
static u32 hyb_tx_lend(struct hyb_qp *qp, u64 pos, u32 n)
{
	struct hyb_tx *tx = &qp->tx;
	const struct siw_sge *sge = &tx->sqe.sge[tx->sge];
	u64 from = sge->laddr + tx->sge_off;
	struct hyb_mem *mem = tx->mem[tx->sge];
	void *p = (void *)(uintptr_t)from;
	u32 len = min(n, sge->length - tx->sge_off);
	bool ok;

	if (!len)
		return 0;
	if (mem && hyb_mem_use(mem, sge->lkey, from, &len, 0, &p))
		return 0;
	ok = hyb_sg_add(&tx->sg, pos, p, len);
	if (mem)
		hyb_mem_unuse(mem);
	if (!ok)
		return 0;
	tx->lent = true;
	tx->referred += len;
	tx->sge_off += len;
	if (tx->sge_off == sge->length) {
		tx->sge++;
		tx->sge_off = 0;
	}
	return len;
}

/* The payload of an FPDU at @b, which begins at @pos; false if it failed */
static bool hyb_tx_payload(struct hyb_qp *qp, struct mpa_build *b, u64 pos,
			   u32 left, bool sg)
{
	u32 n, got;

	if (!sg)
		return hyb_tx_gather(qp, b, left);
	for (; left; left -= n) {
		n = mpa_build_room(b, left);
		got = hyb_tx_lend(qp, pos + (b->p - b->start), n);
		if (got) {
			n = got;
			mpa_build_advance(b, n);
		} else if (!hyb_tx_gather(qp, b, n)) {
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------- errors */

/* The request in progress failed for a local reason */
static void hyb_tx_fail(struct hyb_qp *qp, enum siw_wc_status status)
{
	struct hyb_tx *tx = &qp->tx;

	tx->held = false;
	hyb_stats_inc(qp->dev, HYB_ST_ERR_LOCAL);
	hyb_fpdu_end(qp, 0, status);
	hyb_fpdu_terminate(qp, TERM_RDMAP_LOCAL, NULL, 0, 0);
}

/* --------------------------------------------------------- send queue */

static bool hyb_tx_is_send(const struct hyb_tx *tx)
{
	return tx->sqe.opcode != SIW_OP_WRITE;
}

static void hyb_tx_sqe_hdr(const struct hyb_tx *tx, struct mpa_build *b,
			   u32 len, bool last)
{
	u8 buf[DDP_HDR_MAX];

	hyb_fpdu_put_hdr(tx, buf, len, last);
	mpa_build_put(b, buf, len);
}

/*
 * Is payload of the next FPDU given by reference? Where the host finishes FPDUs, not that
 * of short messages.
 */
static bool hyb_tx_by_ref(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (tx->sqe.flags & SIW_WQE_INLINE)
		return false;
	if (hyb_sg_begin(&tx->sg, hyb_fpdu_off(qp)))
		return true;
	return tx->refer && tx->len >= HYB_SEG_MIN &&
	       hyb_sg_begin_host(&tx->sg);
}

/* an FPDU that fits has at least one byte of payload */
static_assert(HYB_SEG_DATA_MIN > 4 + MPA_LEN_SIZE + DDP_UNTAGGED_LEN +
				 2 * MPA_MARK_SIZE + MPA_CRC_SIZE);

/* One FPDU of a Send or Write */
static enum hyb_lay hyb_tx_send(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	u32 hdr_len = hyb_tx_is_send(tx) ? DDP_UNTAGGED_LEN : DDP_TAGGED_LEN;
	u32 left = tx->len - tx->done;
	bool sg = hyb_tx_by_ref(qp);
	u32 max = sg && tx->s.ivl ? HYB_SG_MARKS * tx->s.ivl : MPA_ULPDU_MAX;
	struct mpa_build b;
	u32 ulpdu, pay;

	max = min_t(u32, max, MPA_ULPDU_MAX);
	ulpdu = hyb_stream_fit(&tx->s, min(hdr_len + left, max),
			       HYB_SEG_DATA_MIN);
	if (ulpdu < hdr_len || (ulpdu == hdr_len && left))
		return HYB_LAY_FULL;
	pay = ulpdu - hdr_len;
	hyb_fpdu_begin(qp, &b, ulpdu);
	hyb_tx_sqe_hdr(tx, &b, hdr_len, pay == left);
	tx->done += pay;
	if (!hyb_tx_payload(qp, &b, tx->s.pos, pay, sg)) {
		hyb_sg_drop(&tx->sg);
		hyb_tx_fail(qp, SIW_WC_LOC_PROT_ERR);
		return HYB_LAY_DONE;
	}
	hyb_fpdu_commit(qp, &b);

	if (tx->done == tx->len) {
		if (hdr_len == DDP_UNTAGGED_LEN)
			tx->msn[DDP_QN_SEND]++;
		else if (tx->sqe.flags & HYB_WQE_IMM)
			tx->busy = HYB_TX_IMM;
		if (tx->busy == HYB_TX_SEND)
			hyb_fpdu_done(qp);
	}
	return HYB_LAY_DONE;
}

/* Lay out a Read Request and remember it */
static enum hyb_lay hyb_tx_read_req(struct hyb_qp *qp,
				    const struct hyb_orq_entry *orq,
				    u32 src_stag, u64 src_to)
{
	struct rdmap_rreq req = {
		.sink_stag = orq->stag,
		.sink_to = orq->to,
		.size = orq->len,
		.src_stag = src_stag,
		.src_to = src_to,
	};
	struct hyb_tx *tx = &qp->tx;
	u8 ulpdu[RDMAP_RREQ_ULPDU];
	enum hyb_lay ret;

	ddp_put_untagged(ulpdu, true, RDMAP_CTRL(RDMAP_READ_REQ), 0,
			 DDP_QN_READ, tx->msn[DDP_QN_READ], 0);
	rdmap_rreq_put(ulpdu + DDP_UNTAGGED_LEN, &req);
	ret = hyb_fpdu_whole(qp, ulpdu, sizeof(ulpdu));
	if (ret == HYB_LAY_DONE) {
		tx->msn[DDP_QN_READ]++;
		tx->orq[tx->orq_put++ & tx->orq_mask] = *orq;
	}
	return ret;
}

static enum hyb_lay hyb_tx_read(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	const struct siw_sge *sge = &tx->sqe.sge[0];
	struct hyb_orq_entry orq = {
		.mem = tx->mem[0],
		.left = tx->len,
		.len = tx->len,
		.slot = tx->slot,
	};
	enum hyb_lay ret;

	if (tx->sqe.num_sge) {
		orq.to = sge->laddr;
		orq.stag = sge->lkey;
		orq.inval = tx->sqe.opcode == SIW_OP_READ_LOCAL_INV;
	}
	ret = hyb_tx_read_req(qp, &orq, tx->sqe.rkey, tx->sqe.raddr);
	if (ret == HYB_LAY_DONE) {
		if (orq.mem)
			hyb_off_place(qp, orq.mem, orq.stag, orq.to, orq.len,
				      IWARP_PLACE_READ);
		/* the ORQ has the reference now, and completes the slot */
		tx->mem[0] = NULL;
		tx->busy = HYB_TX_NONE;
	}
	return ret;
}

/* Begin a data transfer; false if it failed */
static bool hyb_tx_start_msg(struct hyb_qp *qp, enum hyb_tx_msg msg, int access)
{
	struct hyb_tx *tx = &qp->tx;
	int i;

	tx->len = 0;
	tx->done = 0;
	tx->lent = false;
	tx->sge = 0;
	tx->sge_off = 0;
	if (tx->sqe.flags & SIW_WQE_INLINE) {
		tx->len = tx->sqe.sge[0].length;
	} else {
		for (i = 0; i < tx->sqe.num_sge; i++)
			tx->len += tx->sqe.sge[i].length;
		if (hyb_tx_get_mem(qp, access)) {
			hyb_tx_fail(qp, SIW_WC_LOC_PROT_ERR);
			return false;
		}
	}
	tx->busy = msg;
	return true;
}

/* Requests that send nothing; false if it failed */
static bool hyb_tx_local(struct hyb_qp *qp)
{
	const struct siw_sqe *sqe = &qp->tx.sqe;
	enum hyb_mem_err err;

	if (sqe->opcode == SIW_OP_REG_MR)
		err = hyb_mem_reg(qp, sqe);
	else
		err = hyb_mem_invalidate(qp->ibqp.pd, sqe->rkey, false);
	if (err) {
		hyb_tx_fail(qp, SIW_WC_LOC_PROT_ERR);
		return false;
	}
	hyb_sq_complete(qp, qp->tx.slot, 0, SIW_WC_SUCCESS);
	return true;
}

/* Must the request wait for outstanding reads? */
static bool hyb_tx_blocked(struct hyb_tx *tx)
{
	u32 reads = tx->orq_put - tx->orq_get;

	if ((tx->sqe.flags & SIW_WQE_READ_FENCE) && reads)
		return true;
	return (tx->sqe.opcode == SIW_OP_READ ||
		tx->sqe.opcode == SIW_OP_READ_LOCAL_INV ||
		hyb_sqe_is_atomic(&tx->sqe)) &&
	       (reads >= tx->ord ||
		!hyb_rdq_orq_room(tx));
}

/* Begin the request in tx->sqe; true when it has something to transmit */
static bool hyb_tx_start_op(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	switch (tx->sqe.opcode) {
	case SIW_OP_SEND:
	case SIW_OP_SEND_REMOTE_INV:
	case SIW_OP_WRITE:
		if (!hyb_tx_start_msg(qp, HYB_TX_SEND, 0))
			return false;
		/* a Write without payload has nothing but its immediate data */
		if (!tx->len && !hyb_tx_is_send(tx) &&
		    (tx->sqe.flags & HYB_WQE_IMM))
			tx->busy = HYB_TX_IMM;
		return true;
	case SIW_OP_READ:
	case SIW_OP_READ_LOCAL_INV:
		if (tx->ord && tx->sqe.num_sge <= 1 &&
		    !(tx->sqe.flags & SIW_WQE_INLINE))
			return hyb_tx_start_msg(qp, HYB_TX_READ,
						IB_ACCESS_LOCAL_WRITE);
		break;
	case SIW_OP_FETCH_AND_ADD:
	case SIW_OP_COMP_AND_SWAP:
	case HYB_OP_MASKED_FETCH_ADD:
	case HYB_OP_MASKED_COMP_SWAP:
		if (tx->ord && !qp->user)
			return hyb_tx_start_msg(qp, HYB_TX_ATOMIC,
						IB_ACCESS_LOCAL_WRITE);
		break;
	case SIW_OP_REG_MR:
	case SIW_OP_INVAL_STAG:
		if (qp->user)
			break;
		hyb_tx_local(qp);
		return false;
	}
	hyb_tx_fail(qp, SIW_WC_LOC_QP_OP_ERR);
	return false;
}

/* Next request of the send queue; true when there is something to transmit */
static bool hyb_tx_start_sqe(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	int ret;

	while (!tx->term_len) {
		if (!tx->held) {
			/*
			 * A request posted to a QP in ERROR is flushed, never
			 * sent: ib_drain_qp() waits for the error of a request
			 * that is not signalled. So read the entry first, and
			 * then the state in which it was posted.
			 */
			if (!hyb_sq_pending(qp) ||
			    hyb_qp_state(qp) == HYB_QP_ERROR)
				return false;
			ret = hyb_sq_next(qp, &tx->sqe, &tx->slot);
			if (!ret)
				return false;
			if (ret < 0) {
				hyb_tx_fail(qp, SIW_WC_LOC_QP_OP_ERR);
				return false;
			}
		}
		tx->held = tx->ord && hyb_tx_blocked(tx);
		if (tx->held)
			return false;
		if (hyb_tx_start_op(qp))
			return true;
	}
	return false;
}

/* ------------------------------------------------------ Read Responses */

static bool hyb_tx_start_rresp(struct hyb_tx *tx)
{
	if (tx->irq_get == tx->irq_put)
		return false;
	tx->busy = HYB_TX_RRESP;
	return true;
}

/* The region of a Read Response went away in between */
static void hyb_tx_rresp_fail(struct hyb_qp *qp, struct hyb_irq_entry *irq)
{
	u8 hdr[RDMAP_RREQ_ULPDU];

	/* the request as it would be for the rest, RFC 5040 section 4.8 */
	irq->req.sink_to += irq->done;
	irq->req.src_to += irq->done;
	irq->req.size -= irq->done;
	ddp_put_untagged(hdr, true, RDMAP_CTRL(RDMAP_READ_REQ), 0, DDP_QN_READ,
			 irq->msn, 0);
	rdmap_rreq_put(hdr + DDP_UNTAGGED_LEN, &irq->req);
	qp->tx.busy = HYB_TX_NONE;
	hyb_stats_inc(qp->dev, HYB_ST_ERR_STAG);
	hyb_fpdu_terminate(qp, TERM_PROT_STAG, hdr, sizeof(hdr), sizeof(hdr));
}

/* One FPDU of a Read Response */
static enum hyb_lay hyb_tx_rresp(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_irq_entry *irq = &tx->irq[tx->irq_get & tx->irq_mask];
	u32 left = irq->req.size - irq->done;
	u32 want = min(left, MPA_ULPDU_MAX - DDP_TAGGED_LEN);
	u8 hdr[DDP_TAGGED_LEN];
	struct mpa_build b;
	u32 ulpdu, pay;

	if (irq->atomic)
		return hyb_ext_tx_response(qp);
	ulpdu = hyb_stream_fit(&tx->s, DDP_TAGGED_LEN + want,
			       HYB_SEG_DATA_MIN);
	if (ulpdu < DDP_TAGGED_LEN || (ulpdu == DDP_TAGGED_LEN && left))
		return HYB_LAY_FULL;
	pay = ulpdu - DDP_TAGGED_LEN;
	ddp_put_tagged(hdr, pay == left, RDMAP_CTRL(RDMAP_READ_RESP),
		       irq->req.sink_stag, irq->req.sink_to + irq->done);

	hyb_fpdu_begin(qp, &b, ulpdu);
	mpa_build_put(&b, hdr, sizeof(hdr));
	if (!hyb_tx_put(tx, &b, irq->mem, irq->req.src_stag,
			irq->req.src_to + irq->done, pay,
			IB_ACCESS_REMOTE_READ)) {
		hyb_tx_rresp_fail(qp, irq);
		return HYB_LAY_DONE;
	}
	irq->done += pay;
	hyb_fpdu_commit(qp, &b);

	if (irq->done == irq->req.size) {
		if (irq->mem)
			hyb_mem_put(irq->mem);
		irq->mem = NULL;
		tx->irq_get++;
		tx->busy = HYB_TX_NONE;
	}
	return HYB_LAY_DONE;
}

/* ------------------------------------------------------------- engine */

/* First FPDU of an initiator, RFC 6581 section 9: an empty message */
static enum hyb_lay hyb_tx_rtr(struct hyb_qp *qp)
{
	struct hyb_orq_entry orq = { .rtr = true };
	struct hyb_tx *tx = &qp->tx;
	u8 ulpdu[DDP_HDR_MAX];
	enum hyb_lay ret;

	switch (tx->rtr) {
	case MPA_RTR_READ:
		ret = hyb_tx_read_req(qp, &orq, 0, 0);
		break;
	case MPA_RTR_SEND:
		ddp_put_untagged(ulpdu, true, RDMAP_CTRL(RDMAP_SEND), 0,
				 DDP_QN_SEND, tx->msn[DDP_QN_SEND], 0);
		ret = hyb_fpdu_whole(qp, ulpdu, DDP_UNTAGGED_LEN);
		if (ret == HYB_LAY_DONE)
			tx->msn[DDP_QN_SEND]++;
		break;
	default:
		ddp_put_tagged(ulpdu, true, RDMAP_CTRL(RDMAP_WRITE), 0, 0);
		ret = hyb_fpdu_whole(qp, ulpdu, DDP_TAGGED_LEN);
	}
	if (ret == HYB_LAY_DONE)
		tx->rtr = MPA_RTR_NONE;
	return ret;
}

static enum hyb_lay hyb_tx_term(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;
	enum hyb_lay ret = hyb_fpdu_whole(qp, tx->term, tx->term_len);

	if (ret == HYB_LAY_DONE) {
		tx->stopped = true;
		hyb_stats_inc(qp->dev, HYB_ST_TX_TERM);
	}
	return ret;
}

/* Choose the next message; false if there is none */
static bool hyb_tx_start(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	tx->rresp_first = !tx->rresp_first;
	if (tx->rresp_first && hyb_tx_start_rresp(tx))
		return true;
	return hyb_tx_start_sqe(qp) ||
	       (!tx->term_len && hyb_tx_start_rresp(tx));
}

static enum hyb_lay hyb_tx_lay(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (tx->stopped)
		return HYB_LAY_IDLE;
	/* nothing may come between the segments of a Send */
	if (tx->term_len && !(tx->busy == HYB_TX_SEND && hyb_tx_is_send(tx)))
		return hyb_tx_term(qp);
	if (tx->fenced)
		return HYB_LAY_IDLE;
	if (tx->rtr)
		return hyb_tx_rtr(qp);
	if (tx->busy == HYB_TX_NONE && !hyb_tx_start(qp))
		return tx->term_len ? hyb_tx_term(qp) : HYB_LAY_IDLE;

	switch (tx->busy) {
	case HYB_TX_SEND:
		return hyb_fast_tx(qp, tx->end) ? HYB_LAY_DONE :
						   hyb_tx_send(qp);
	case HYB_TX_IMM:
		return hyb_ext_tx_imm(qp);
	case HYB_TX_READ:
		return hyb_tx_read(qp);
	case HYB_TX_ATOMIC:
		return hyb_ext_tx_request(qp);
	default:
		return hyb_fast_rresp(qp, tx->end) ? HYB_LAY_DONE :
						      hyb_tx_rresp(qp);
	}
}

/*
 * Hand over what is laid out; false if TCP did not take all of it. Then TCP
 * has sent what it took: it does so whenever it is short of memory.
 */
static bool hyb_tx_flush(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_tx_page *p;

	if (qp->shared)
		return hyb_shared_flush(qp, sk);
	while (!hyb_stream_empty(s)) {
		p = hyb_stream_page(s, s->out);
		if (!hyb_fpdu_give(qp, sk, p, p->fill, s->out != s->cur))
			return false;
		if (s->out != s->cur)
			hyb_stream_pass(s);
	}
	return true;
}

/* Without a NIC that moves or gathers payload: may payload be given by reference? */
static bool hyb_tx_refers(const struct hyb_qp *qp)
{
	const struct hyb_off *off = qp->off;

	return qp->place.payload == HYB_PAY_REF && qp->tx.tracked && !qp->shared &&
	       !(off && (off->tx_contig || off->tx_sg));
}

/*
 * Bytes by reference whose fragments the last packet has room for, else a new one. If
 * TCP began a packet within an FPDU, nothing would be aligned any more.
 */
static u32 hyb_tx_ref_room(struct sock *sk, u32 mss)
{
	/* header after the CRC of the previous FPDU, both ends of the payload */
	u32 frags = mss / PAGE_SIZE + 3;
	struct sk_buff *tail = tcp_write_queue_tail(sk);
	u32 left = MAX_SKB_FRAGS;

	if (tail && !TCP_SKB_CB(tail)->eor) {
		left -= min_t(u32, skb_shinfo(tail)->nr_frags, left);
		if (left < frags) {
			TCP_SKB_CB(tail)->eor = 1;
			left = MAX_SKB_FRAGS;
		}
	}
	return max(left / frags, 1U) * mss;
}

/* Lay out what TCP has room for, in this page and the next; on a shared link in all pages */
static enum hyb_lay hyb_tx_batch(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_stream *s = &qp->tx.s;
	int room = sk_stream_wspace(sk) - (int)hyb_stream_waiting(s);
	u32 mss = READ_ONCE(tcp_sk(sk)->mss_cache);
	struct hyb_tx *tx = &qp->tx;
	enum hyb_lay ret;

	if (room <= 0) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		hyb_stats_inc(qp->dev, HYB_ST_TX_NOSPACE);
		return HYB_LAY_IDLE;
	}
	tx->refer = hyb_tx_refers(qp);
	if (hyb_stream_empty(s))
		room = min_t(u32, room, tx->refer ?
			     hyb_tx_ref_room(sk, mss) :
			     hyb_fpdu_frag_room(sk, s->mss));
	hyb_stream_look(s, sk);
	s->wait_max = qp->shared ? HYB_TX_PAGES_MAX : 1;
	tx->end = s->pos + room;
	do {
		ret = hyb_tx_lay(qp);
		if (ret == HYB_LAY_FULL && hyb_stream_extend(s))
			ret = HYB_LAY_DONE;
	} while (ret == HYB_LAY_DONE && s->pos < tx->end);
	return ret;
}

static void hyb_tx_account(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (!tx->fpdus)
		return;
	hyb_qp_count(qp, HYB_ST_TX_FPDUS, tx->fpdus);
	if (tx->copies) {
		hyb_qp_count(qp, HYB_ST_TX_COPIES, tx->copies);
		hyb_qp_count(qp, HYB_ST_TX_COPY_BYTES, tx->copied);
	}
	if (tx->referred)
		__hyb_stats_add(qp->dev, HYB_ST_TX_REF_BYTES, tx->referred);
	if (tx->summed)
		hyb_qp_count(qp, HYB_ST_TX_CRC_BYTES, tx->summed);
	if (tx->nic)
		__hyb_stats_add(qp->dev, HYB_ST_TX_NIC_BYTES, tx->nic);
	tx->fpdus = 0;
	tx->copies = 0;
	tx->copied = 0;
	tx->referred = 0;
	tx->summed = 0;
	tx->nic = 0;
}

static bool hyb_tx_all_sent(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (!hyb_stream_empty(&tx->s) || hyb_shared_reserved(qp->shared) ||
	    qp->sq.nlent)
		return false;
	if (tx->stopped)
		return true;
	return tx->busy == HYB_TX_NONE && !tx->held && !tx->term_len &&
	       !tx->rtr && !hyb_sq_pending(qp);
}

/*
 * Lay out and hand over in turns. Of a shared link there may be more laid out
 * than TCP gets; later messages are laid out all the same.
 */
static void hyb_tx_pump(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_stream *s = &qp->tx.s;
	bool done = hyb_tx_flush(qp, sk);
	enum hyb_lay ret;

	if (qp->shared && !hyb_fpdu_queued(qp) &&
	    qp->tx.irq_get == qp->tx.irq_put)
		return;
	while (done || qp->shared) {
		ret = hyb_tx_batch(qp, sk);
		done = hyb_tx_flush(qp, sk);
		if (ret == HYB_LAY_IDLE || (ret == HYB_LAY_DONE && !done))
			break;
		if (ret == HYB_LAY_DONE || (!done && !qp->shared))
			continue;
		if (hyb_stream_next(s, sk)) {
			/* an acknowledgment has to call write_space */
			set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
			hyb_sched_retry(qp, HYB_TODO_TX, HYB_FPDU_RETRY);
			break;
		}
	}
}

/* Position up to which memory of requests is not in use and not needed */
static u64 hyb_tx_unlent(struct hyb_qp *qp, const struct sock *sk)
{
	u32 una = hyb_lend_una(qp, tcp_sk(sk)->snd_una);
	const struct hyb_stream *s = &qp->tx.s;
	s32 rest = s->seq + (u32)s->given - una;

	/* the FIN has a number, too */
	return s->given - max(rest, 0);
}

/**
 * hyb_tx_run - transmit what can be transmitted
 * @qp: attached queue pair
 *
 * Context: spinlock of the TCP socket held.
 */
void hyb_tx_run(struct hyb_qp *qp)
{
	struct sock *sk = qp->tcp.sk;
	struct hyb_tx *tx = &qp->tx;

	/*
	 * FPDUs that are laid out have been completed, so they are sent in any case. A
	 * Terminate is sent as well, unless it would end up in the middle of a message.
	 * The upper layer learns of the error before that, and may have closed already.
	 */
	if (hyb_qp_state(qp) == HYB_QP_ERROR &&
	    (!tx->term_len || tx->busy != HYB_TX_NONE))
		tx->stopped = true;
	if (hyb_shared_hold(qp))
		return;
	hyb_off_acked(qp, qp->off);
	if (qp->sq.nlent)
		hyb_sq_unlent(qp, hyb_tx_unlent(qp, sk));
	hyb_stream_rewind(&tx->s);
	hyb_tx_pump(qp, sk);
	hyb_tx_account(qp);
	hyb_qp_count_own(qp, HYB_ST_CQ_EVENT, hyb_qp_notify(qp));
	if (qp->shared)
		hyb_shared_tx_done(qp, sk);
	/* an acknowledgment has to call write_space */
	if (qp->sq.nlent || hyb_off_many(qp->off))
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (tx->drain && hyb_tx_all_sent(qp))
		hyb_cep_event(qp->cep, HYB_EV_DRAINED);
}

/**
 * hyb_tx_init - prepare the engine for a connection
 * @qp: queue pair that never was attached, hyb_cep_bind() takes no other: there is
 *	nothing to be freed
 * @res: result of MPA start-up
 */
void hyb_tx_init(struct hyb_qp *qp, const struct mpa_result *res)
{
	struct hyb_tx *tx = &qp->tx;
	int i;

	tx->orq = &tx->orq_first;
	tx->orq_mask = 0;
	tx->irq = &tx->irq_first;
	tx->irq_mask = 0;
	tx->ord = res->ord;
	tx->ird = res->ird;
	tx->crc = res->crc;
	tx->crc_kernel = READ_ONCE(hyb_dev_of(qp->ibqp.device)->crc_kernel);
	tx->ext = res->ext;
	tx->fenced = res->fenced;
	tx->rtr = res->rtr;
	hyb_stream_init(&tx->s, res->tx_ivl, qp->memcg);
	for (i = 0; i < DDP_QN_COUNT; i++)
		tx->msn[i] = 1;
}

/**
 * hyb_tx_abandon - let go of what unfinished requests refer to
 * @qp: detached queue pair; its queues are flushed next
 */
void hyb_tx_abandon(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	hyb_fpdu_put_mem(tx);
	tx->busy = HYB_TX_NONE;
	tx->held = false;
	for (; tx->orq_get != tx->orq_put; tx->orq_get++)
		if (tx->orq[tx->orq_get & tx->orq_mask].mem)
			hyb_mem_put(tx->orq[tx->orq_get & tx->orq_mask].mem);
	for (; tx->irq_get != tx->irq_put; tx->irq_get++)
		if (tx->irq[tx->irq_get & tx->irq_mask].mem)
			hyb_mem_put(tx->irq[tx->irq_get & tx->irq_mask].mem);
}

/**
 * hyb_tx_free - release the engine's memory
 * @qp: detached queue pair, not kicked any more
 *
 * TCP may still hold references of its own to the pages.
 */
void hyb_tx_free(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (tx->orq != &tx->orq_first)
		kfree(tx->orq);
	if (tx->irq != &tx->irq_first)
		kfree(tx->irq);
	hyb_stream_free(&tx->s);
	hyb_sg_free(&tx->sg);
}
