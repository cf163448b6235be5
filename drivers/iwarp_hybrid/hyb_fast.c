// SPDX-License-Identifier: GPL-2.0
/*
 * Fast path of both engines, for the bulk of long messages: FPDUs in one piece of
 * memory, of queue pairs of verbs, and FPDUs whose payload a NIC has placed. A NIC
 * may compute and check CRCs. New memory for a NIC to place to is left to the engine.
 *
 * The results are those of hyb_tx and hyb_rx. All unusual cases, errors above all,
 * are left to them unchanged: the fast path decides and reports nothing. Calls hyb_mem
 * and hyb_fpdu. The TCP socket is held, as for the engines.
 */
#include <linux/skbuff.h>

#include "hyb_fast.h"
#include "hyb_fpdu.h"
#include "hyb_mem.h"
#include "hyb_offload.h"
#include "hyb_stream.h"
#include "hyb_trace.h"
#include "hybrid.h"
#include "iwarp/crc.h"

/* ------------------------------------------------------------ transmit */

/* Does a NIC do more than to fill the CRC field? */
static bool hyb_fast_tx_off(const struct hyb_off *off)
{
	return off && (off->tx_contig || off->tx_sg);
}

/**
 * struct hyb_fast_src - the message that is sent
 * @mem: region that its next bytes are in, or NULL: the kernel's memory
 * @from: the next byte
 * @run: bytes from there on in that region, as far as TCP has room
 * @done: bytes laid out
 * @left: bytes that follow these
 * @hdr: header of a segment
 * @hdr_len: its bytes
 * @at: tagged or message offset of the next byte; headers of the next segments
 *	differ from @hdr only in this
 */
struct hyb_fast_src {
	struct hyb_mem *mem;
	u64 from;
	u32 run;
	u32 *done;
	u32 left;
	u8 hdr[DDP_UNTAGGED_LEN];
	u32 hdr_len;
	u64 at;
};

static void hyb_fast_put_hdr(const struct hyb_fast_src *src, u8 *hdr)
{
	if (src->hdr_len == DDP_TAGGED_LEN)
		ddp_next_tagged(hdr, src->hdr, src->at);
	else
		ddp_next_untagged(hdr, src->hdr, src->at);
}

/* Address of the payload after the first @done bytes; limits *@n to the contiguous bytes there */
static const void *hyb_fast_at(const struct hyb_fast_src *src, u32 done,
			       u32 *n)
{
	return src->mem ? hyb_mem_at(src->mem, src->from + done, n) :
			  (void *)(uintptr_t)(src->from + done);
}

/*
 * Lay out an FPDU at @start but for its CRC; returns its bytes. The functions
 * below lay out most FPDUs that fill a segment. They do nothing else, so that the
 * compiler has enough registers.
 */
static noinline u32 hyb_fast_any(struct hyb_tx *tx,
				 const struct hyb_fast_src *src, u8 *start,
				 u32 pay)
{
	u8 hdr[DDP_UNTAGGED_LEN];
	struct mpa_build b;
	const void *from;
	u32 done, n;

	mpa_build_begin(&b, start, tx->s.pos, src->hdr_len + pay, tx->s.ivl);
	hyb_fast_put_hdr(src, hdr);
	mpa_build_put(&b, hdr, src->hdr_len);
	for (done = 0; done < pay; done += n) {
		n = pay - done;
		from = hyb_fast_at(src, done, &n);
		mpa_build_put(&b, from, n);
		tx->copies++;
	}
	return mpa_build_end(&b);
}

/* Payload in one piece, no markers; there is no PAD */
static u32 hyb_fast_plain(struct hyb_tx *tx, const struct hyb_fast_src *src,
			  u8 *start, u32 pay)
{
	u8 *p = start + MPA_LEN_SIZE;
	const void *from;
	u32 n = pay;

	from = hyb_fast_at(src, 0, &n);
	if (unlikely(n < pay))
		return hyb_fast_any(tx, src, start, pay);
	proto_put16(start, src->hdr_len + pay);
	hyb_fast_put_hdr(src, p);
	p += src->hdr_len;
	memcpy(p, from, pay);
	tx->copies++;
	return p + pay - start;
}

/* Payload in one piece, the first marker after the header; there is no PAD */
static noinline u32 hyb_fast_marked(struct hyb_tx *tx,
				    const struct hyb_fast_src *src,
				    u8 *start, u32 pay)
{
	u32 front = MPA_LEN_SIZE + src->hdr_len;
	u32 to_mark = mpa_to_mark(tx->s.pos, tx->s.ivl);
	const void *from;
	u32 n = pay;

	from = hyb_fast_at(src, 0, &n);
	if (unlikely(n < pay || to_mark < front))
		return hyb_fast_any(tx, src, start, pay);
	proto_put16(start, src->hdr_len + pay);
	hyb_fast_put_hdr(src, start + MPA_LEN_SIZE);
	tx->copies++;
	return mpa_put_marked(start + front, start, from, pay, to_mark - front,
			      tx->s.ivl) - start;
}

/*
 * Lay out an FPDU with the next @pay bytes of a message, not the last ones. It
 * fills a segment, hence has no PAD.
 */
static void hyb_fast_lay(struct hyb_qp *qp, const struct hyb_fast_src *src,
			 u32 pay)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_stream *s = &tx->s;
	struct hyb_tx_page *page = hyb_stream_cur(s);
	u8 *start = page->base + page->fill;
	u32 len;

	if (s->ivl)
		len = hyb_fast_marked(tx, src, start, pay);
	else
		len = hyb_fast_plain(tx, src, start, pay);
	if (hyb_off_tx_crc(qp->off)) {
		hyb_fpdu_seal(qp, page, start, len, s->pos, HYB_TX_NIC);
	} else {
		tx->fpdus++;
		hyb_trace_sealed(qp, start, s->pos, len + MPA_CRC_SIZE, 1, false);
		hyb_fpdu_sum(tx, start, len);
	}
	hyb_stream_add(s, len + MPA_CRC_SIZE);
	tx->copied += pay;
}

/*
 * Lay out segments that fill their TCP segments, but not the last one of the
 * message. The region is held. Advances *@src and returns the number of
 * segments.
 */
static u32 hyb_fast_segs(struct hyb_qp *qp, struct hyb_fast_src *src, u64 end)
{
	struct hyb_tx *tx = &qp->tx;
	u32 ulpdu, pay, nr;

	for (nr = 0; tx->s.pos < end; nr++) {
		ulpdu = hyb_stream_fill(&tx->s, min_t(u32, src->hdr_len + src->run,
						      MPA_ULPDU_MAX));
		pay = ulpdu - src->hdr_len;
		if (!ulpdu || pay == src->left)
			break;
		hyb_fast_lay(qp, src, pay);
		src->at += pay;
		src->from += pay;
		src->run -= pay;
		src->left -= pay;
		*src->done += pay;
	}
	return nr;
}

/*
 * Excludes short messages, and those that are laid out for a NIC. Records for a NIC take
 * locks and memory, which may sleep with PREEMPT_RT, but not while a region is held.
 */
static bool hyb_fast_may(const struct hyb_qp *qp, u32 left, u64 end)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && hyb_off_tx_crc(qp->off))
		return false;
	return !qp->shared && !hyb_fast_tx_off(qp->off) &&
	       left >= HYB_SEG_MIN && qp->tx.s.pos < end;
}

/**
 * hyb_fast_tx - lay out segments of the Send or Write in progress
 * @qp: queue pair
 * @end: position where TCP's room ends
 *
 * Each fills the TCP segment it is in, and none is the last of the message.
 *
 * Context: TCP socket held.
 * Return: how many; 0: the next one is another case.
 */
u32 hyb_fast_tx(struct hyb_qp *qp, u64 end)
{
	struct hyb_tx *tx = &qp->tx;
	const struct siw_sge *sge = &tx->sqe.sge[tx->sge];
	struct hyb_fast_src src = {
		.mem = tx->mem[tx->sge],
		.from = sge->laddr + tx->sge_off,
		.done = &tx->done,
		.left = tx->len - tx->done,
	};
	u32 nr;

	if ((tx->sqe.flags & SIW_WQE_INLINE) || tx->refer ||
	    !hyb_fast_may(qp, src.left, end))
		return 0;
	src.hdr_len = tx->sqe.opcode == SIW_OP_WRITE ? DDP_TAGGED_LEN :
						       DDP_UNTAGGED_LEN;
	src.at = tx->done + (src.hdr_len == DDP_TAGGED_LEN ? tx->sqe.raddr : 0);
	hyb_fpdu_put_hdr(tx, src.hdr, src.hdr_len, false);
	src.run = min_t(u64, sge->length - tx->sge_off, end - tx->s.pos);
	if (src.mem && (!src.run || hyb_mem_hold(src.mem, sge->lkey, src.from,
						 src.run, 0)))
		return 0;
	nr = hyb_fast_segs(qp, &src, end);
	if (src.mem)
		hyb_mem_unuse(src.mem);
	tx->sge_off = src.from - sge->laddr;
	if (tx->sge_off == sge->length) {
		tx->sge++;
		tx->sge_off = 0;
	}
	return nr;
}

/**
 * hyb_fast_rresp - the same for the Read Response in progress
 * @qp: queue pair
 * @end: position where TCP's room ends
 *
 * Context: TCP socket held.
 * Return: how many; 0: the next one is another case.
 */
u32 hyb_fast_rresp(struct hyb_qp *qp, u64 end)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_irq_entry *irq = &tx->irq[tx->irq_get & tx->irq_mask];
	struct hyb_fast_src src = {
		.mem = irq->mem,
		.from = irq->req.src_to + irq->done,
		.done = &irq->done,
		.left = irq->req.size - irq->done,
		.hdr_len = DDP_TAGGED_LEN,
		.at = irq->req.sink_to + irq->done,
	};
	u32 nr;

	if (irq->atomic || !src.mem || !hyb_fast_may(qp, src.left, end))
		return 0;
	ddp_put_tagged(src.hdr, false, RDMAP_CTRL(RDMAP_READ_RESP),
		       irq->req.sink_stag, src.at);
	src.run = min_t(u64, src.left, end - tx->s.pos);
	if (hyb_mem_hold(src.mem, irq->req.src_stag, src.from, src.run,
			 IB_ACCESS_REMOTE_READ))
		return 0;
	nr = hyb_fast_segs(qp, &src, end);
	hyb_mem_unuse(src.mem);
	return nr;
}

/* ------------------------------------------------------------- receive */

/* Front of an FPDU; of a tagged segment, payload follows @u.t */
struct hyb_fast_head {
	__be16 len;
	u8 ctrl;
	u8 rdmap;
	union {
		struct {
			__be32 stag;
			__be64 to;
		} __packed t;
		struct {
			__be32 inval;
			__be32 qn;
			__be32 msn;
			__be32 mo;
		} __packed u;
	};
} __packed;

static_assert(sizeof(struct hyb_fast_head) ==
	      MPA_LEN_SIZE + DDP_UNTAGGED_LEN);

/* The length of the headers of a tagged segment */
#define HYB_FAST_TAG	(MPA_LEN_SIZE + DDP_TAGGED_LEN)

/**
 * struct hyb_fast - FPDUs on the fast path
 * @p: first byte of payload of the current FPDU
 * @len: its bytes of payload
 * @to_mark: bytes to the next marker
 * @held: region of the last Write, held since then; or NULL. The next Write
 *	  usually has the same region, whose access rights are checked already.
 *	  It is hyb_rx.sink, whose reference keeps it. A task that invalidates it
 *	  spins until it is released, at the end of hyb_fast_rx(): nothing in
 *	  between may invalidate, complete a request, or sleep.
 * @stag: STag of the last Write
 * @from: tagged offset of the first Write to @held
 * @span: bytes from there to the end of the region
 */
struct hyb_fast {
	const u8 *p;
	u32 len;
	u32 to_mark;
	struct hyb_mem *held;
	u32 stag;
	u64 from;
	u64 span;
};

/**
 * hyb_fast_forget - let go of the region that was written to last
 * @rx: receive engine
 *
 * Context: TCP socket held, or the engine has stopped.
 */
void hyb_fast_forget(struct hyb_rx *rx)
{
	if (rx->sink)
		hyb_mem_put(rx->sink);
	rx->sink = NULL;
}

/* Copy the payload without its first @done bytes to a region of several pieces */
static noinline void hyb_fast_put_rest(struct hyb_rx *rx, struct hyb_fast *q,
				       struct hyb_mem *mem, u64 to, u32 done)
{
	void *dst;
	u32 n;

	for (; done < q->len; done += n) {
		n = q->len - done;
		dst = hyb_mem_at(mem, to + done, &n);
		mpa_take(dst, &q->p, n, &q->to_mark, rx->ivl);
		rx->copies++;
	}
}

/* Copy the payload to @mem, which is held, or the kernel's memory */
static void hyb_fast_put(struct hyb_rx *rx, struct hyb_fast *q,
			 struct hyb_mem *mem, u64 to)
{
	void *dst = (void *)(uintptr_t)to;
	u32 n = q->len;

	if (mem)
		dst = hyb_mem_at(mem, to, &n);
	mpa_take(dst, &q->p, n, &q->to_mark, rx->ivl);
	rx->copies++;
	if (unlikely(n < q->len))
		hyb_fast_put_rest(rx, q, mem, to, n);
	rx->copied += q->len;
}

/*
 * Is this the next segment of a Send that has its receive, within one buffer of that?
 * If the receive is full, @rx->sge is past the last buffer: test that first.
 */
static bool hyb_fast_is_send(const struct hyb_rx *rx,
			     const struct hyb_fast_head *h, u32 len)
{
	return rx->active && h->ctrl == DDP_DV &&
	       h->rdmap == RDMAP_CTRL(RDMAP_SEND) &&
	       h->u.qn == cpu_to_be32(DDP_QN_SEND) &&
	       be32_to_cpu(h->u.msn) == rx->msn[DDP_QN_SEND] &&
	       be32_to_cpu(h->u.mo) == rx->done &&
	       len < rx->room - rx->done &&
	       len < rx->rqe.sge[rx->sge].length - rx->sge_off;
}

static bool hyb_fast_send(struct hyb_qp *qp, struct hyb_fast *q)
{
	struct hyb_rx *rx = &qp->rx;
	const struct siw_sge *sge = &rx->rqe.sge[rx->sge];
	struct hyb_mem *mem = rx->mem[rx->sge];
	u64 to = sge->laddr + rx->sge_off;

	if (mem && hyb_mem_hold(mem, sge->lkey, to, q->len,
				IB_ACCESS_LOCAL_WRITE))
		return false;
	hyb_fast_put(rx, q, mem, to);
	if (mem)
		hyb_mem_unuse(mem);
	rx->done += q->len;
	rx->sge_off += q->len;
	return true;
}

/*
 * The region of a Write, held; usually the same as for the previous Write.
 * Returns NULL if there is none, if it may not be written, or if a NIC has to
 * be notified of the buffer.
 */
static struct hyb_mem *hyb_fast_sink(struct hyb_qp *qp, u32 stag, u64 to,
				     u32 len)
{
	struct ib_pd *pd = qp->ibqp.pd;
	struct hyb_rx *rx = &qp->rx;
	enum hyb_mem_err err = HYB_MEM_STAG;

	if (!hyb_qp_grants(qp, IB_ACCESS_REMOTE_WRITE))
		return NULL;
	if (rx->sink)
		err = hyb_mem_hold_for(rx->sink, pd, stag, to, len,
				       IB_ACCESS_REMOTE_WRITE);
	if (err) {
		hyb_fast_forget(rx);
		rx->sink = hyb_mem_get(pd, stag, to, len,
				       IB_ACCESS_REMOTE_WRITE, &err);
		if (!rx->sink ||
		    hyb_mem_hold_for(rx->sink, pd, stag, to, len,
				     IB_ACCESS_REMOTE_WRITE))
			return NULL;
	}
	if (hyb_off_places(qp->off) && list_empty(&rx->sink->bufs)) {
		hyb_mem_unuse(rx->sink);
		return NULL;
	}
	return rx->sink;
}

static void hyb_fast_let_go(struct hyb_fast *q)
{
	if (q->held)
		hyb_mem_unuse(q->held);
	q->held = NULL;
}

/* Is the payload inside the held region? A @to below @from wraps and fails. */
static bool hyb_fast_holds(const struct hyb_fast *q, u32 stag, u64 to)
{
	u64 off = to - q->from;

	return q->held && stag == q->stag && off <= q->span &&
	       q->len <= q->span - off;
}

static bool hyb_fast_write(struct hyb_qp *qp, const struct hyb_fast_head *h,
			   struct hyb_fast *q)
{
	u32 stag = be32_to_cpu(h->t.stag);
	u64 to = be64_to_cpu(h->t.to);

	if (!hyb_fast_holds(q, stag, to)) {
		hyb_fast_let_go(q);
		q->held = hyb_fast_sink(qp, stag, to, q->len);
		if (!q->held)
			return false;
		q->stag = stag;
		q->from = to;
		q->span = q->held->len - (to - q->held->va);
	}
	hyb_fast_put(&qp->rx, q, q->held, to);
	hyb_rx_wrote(&qp->rx, q->len, false);
	return true;
}

/* A segment of the Read Response that is due, but not its last? */
static bool hyb_fast_is_read(const struct hyb_tx *tx,
			     const struct hyb_fast_head *h, u32 len)
{
	const struct hyb_orq_entry *orq = &tx->orq[tx->orq_get & tx->orq_mask];

	return tx->orq_get != tx->orq_put && !orq->atomic &&
	       be32_to_cpu(h->t.stag) == orq->stag &&
	       be64_to_cpu(h->t.to) == orq->to && len < orq->left;
}

static bool hyb_fast_read(struct hyb_qp *qp, struct hyb_fast *q)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_orq_entry *orq = &tx->orq[tx->orq_get & tx->orq_mask];

	if (orq->mem && hyb_mem_hold(orq->mem, orq->stag, orq->to, q->len,
				     IB_ACCESS_LOCAL_WRITE))
		return false;
	hyb_fast_put(&qp->rx, q, orq->mem, orq->to);
	if (orq->mem)
		hyb_mem_unuse(orq->mem);
	orq->to += q->len;
	orq->left -= q->len;
	return true;
}

/* Does one of the cases above handle it? Tested before the CRC, to compute that only once. */
static bool hyb_fast_is(struct hyb_qp *qp, const struct hyb_fast_head *h,
			u32 ulpdu)
{
	if (h->ctrl == DDP_DV)
		return hyb_fast_is_send(&qp->rx, h, ulpdu - DDP_UNTAGGED_LEN);
	if (h->ctrl != (DDP_T | DDP_DV))
		return false;
	return h->rdmap == RDMAP_CTRL(RDMAP_WRITE) ||
	       (h->rdmap == RDMAP_CTRL(RDMAP_READ_RESP) &&
		hyb_fast_is_read(&qp->tx, h, ulpdu - DDP_TAGGED_LEN));
}

/*
 * Check CRC and markers of the FPDU at @p, or take the NIC's verdict. If they are
 * bad, the engine repeats the check and reports the error.
 */
static bool hyb_fast_good(struct hyb_qp *qp, const struct sk_buff *skb,
			  u32 seq, const u8 *p, u32 total)
{
	u32 len = total - MPA_CRC_SIZE;
	struct hyb_rx *rx = &qp->rx;

	if (qp->off && qp->off->rx_crc)
		return hyb_off_rx_ok(qp->off, skb, seq, total) == HYB_OFF_GOOD;
	if (rx->crc && mpa_get_crc(p + len) !=
		       iwarp_crc32c_by(rx->crc_kernel, ~0, p, len))
		return false;
	return !rx->ivl || mpa_marks_good(p, len, rx->pos, rx->ivl);
}

/* The FPDU at @p, if it is complete in @n bytes: its length, or 0 */
static u32 hyb_fast_fpdu(struct hyb_qp *qp, struct hyb_fast *q,
			 const struct sk_buff *skb, u32 seq, const u8 *p,
			 u32 n)
{
	struct hyb_rx *rx = &qp->rx;
	u32 lead = mpa_lead_len(rx->pos, rx->ivl);
	u32 to_mark = mpa_body_run(rx->pos, 0, rx->ivl);
	struct hyb_fast_head h;
	u32 ulpdu, total, hdr;
	bool ok;

	if (n < lead + sizeof(h) + MPA_MARK_SIZE)
		return 0;
	/* once: a sender on this machine may own the page */
	memcpy(&h, p + lead, sizeof(h));
	/* skip a marker in the header; it is checked with the others */
	if (unlikely(to_mark < sizeof(h)))
		memcpy((u8 *)&h + to_mark, p + lead + to_mark + MPA_MARK_SIZE,
		       sizeof(h) - to_mark);
	ulpdu = be16_to_cpu(h.len);
	if (ulpdu < HYB_SEG_MIN || ulpdu > MPA_ULPDU_MAX)
		return 0;
	total = mpa_fpdu_len(rx->pos, ulpdu, rx->ivl);
	if (total > n || !hyb_fast_is(qp, &h, ulpdu) ||
	    !hyb_fast_good(qp, skb, seq, p, total))
		return 0;
	hdr = h.ctrl & DDP_T ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	q->p = p + lead + MPA_LEN_SIZE + hdr;
	q->len = ulpdu - hdr;
	q->to_mark = to_mark - MPA_LEN_SIZE - hdr;
	if (unlikely(to_mark < MPA_LEN_SIZE + hdr))
		q->p = p + mpa_body_place(rx->pos, MPA_LEN_SIZE + hdr, rx->ivl,
					  &q->to_mark);

	if (h.ctrl == DDP_DV)
		ok = hyb_fast_send(qp, q);
	else if (h.rdmap == RDMAP_CTRL(RDMAP_WRITE))
		ok = hyb_fast_write(qp, &h, q);
	else
		ok = hyb_fast_read(qp, q);
	if (!ok)
		return 0;
	trace_hyb_fpdu_rx(qp, rx->pos, total, 1, &h.ctrl);
	return total;
}

/* Nothing is unusual about the connection, and nothing came out of order */
static bool hyb_fast_open(const struct hyb_qp *qp)
{
	return qp->rx.pos && !qp->tx.fenced && !(qp->ooo && qp->ooo->tab) &&
	       !(qp->off && READ_ONCE(qp->off->ask));
}

/*
 * The FPDU of @len bytes is done with. Count its CRC only now: if the engine has to
 * handle the payload, it checks the CRC again.
 */
static void hyb_fast_advance(struct hyb_qp *qp, u32 len)
{
	struct hyb_rx *rx = &qp->rx;

	if (qp->off && qp->off->rx_crc)
		rx->trusted += len;
	else if (rx->crc)
		rx->summed += len - MPA_CRC_SIZE;
	rx->fpdus++;
	rx->need = 0;
	rx->pos += len;
}

/**
 * hyb_fast_rx - receive FPDUs that lie one after the other
 * @qp: queue pair
 * @skb: packet they are in
 * @seq: sequence number of the first one
 * @p: the first one
 * @n: bytes there
 *
 * Context: TCP socket held.
 * Return: bytes that are done with; 0: the first one is another case.
 */
u32 hyb_fast_rx(struct hyb_qp *qp, const struct sk_buff *skb, u32 seq,
		const u8 *p, u32 n)
{
	struct hyb_fast q = { .held = NULL };
	u32 len, done = 0;

	/* a NIC that places must be notified of FPDUs that it did not check */
	if (qp->shared || !hyb_fast_open(qp) ||
	    (hyb_off_places(qp->off) && !qp->off->rx_crc))
		return 0;
	while (done < n) {
		len = hyb_fast_fpdu(qp, &q, skb, seq + done, p + done,
				    n - done);
		if (!len)
			break;
		hyb_fast_advance(qp, len);
		done += len;
	}
	hyb_fast_let_go(&q);
	return done;
}

/*
 * Are the fragments from @frag on the memory that @len bytes at @to belong in?
 * Returns the fragment after them, NULL if not. Context: the region is held.
 */
static const skb_frag_t *hyb_fast_same(const skb_frag_t *frag,
				       const skb_frag_t *last,
				       const struct hyb_mem *mem, u64 to,
				       u32 len)
{
	u32 size, n;

	for (; len; frag++, len -= size, to += size) {
		if (frag == last)
			return NULL;
		size = skb_frag_size(frag);
		n = size;
		if (size > len || hyb_mem_at(mem, to, &n) != skb_frag_address(frag) ||
		    n < size)
			return NULL;
	}
	return frag < last ? frag : NULL;
}

/* As hyb_fast_same(), for the payload of the FPDU with header @h; copies nothing */
static const skb_frag_t *hyb_fast_placed(struct hyb_qp *qp,
					 const struct hyb_cur *c,
					 const struct hyb_fast_head *h,
					 u32 len)
{
	const struct hyb_tx *tx = &qp->tx;
	const struct skb_shared_info *info = skb_shinfo(c->part);
	u32 stag = be32_to_cpu(h->t.stag);
	u64 to = be64_to_cpu(h->t.to);
	const skb_frag_t *frag;
	struct hyb_mem *mem;

	if (h->rdmap == RDMAP_CTRL(RDMAP_WRITE)) {
		mem = hyb_fast_sink(qp, stag, to, len);
	} else {
		mem = tx->orq[tx->orq_get & tx->orq_mask].mem;
		if (mem && hyb_mem_hold(mem, stag, to, len,
					IB_ACCESS_LOCAL_WRITE))
			mem = NULL;
	}
	if (!mem)
		return NULL;
	frag = hyb_fast_same(&info->frags[c->frag],
			     &info->frags[info->nr_frags], mem, to, len);
	hyb_mem_unuse(mem);
	return frag;
}

/* Payload of the FPDU with header @h is where it belongs */
static void hyb_fast_took(struct hyb_qp *qp, const struct hyb_fast_head *h,
			  u32 len)
{
	struct hyb_orq_entry *orq;

	qp->rx.there += len;
	if (h->rdmap == RDMAP_CTRL(RDMAP_WRITE)) {
		hyb_rx_wrote(&qp->rx, len, false);
		return;
	}
	orq = &qp->tx.orq[qp->tx.orq_get & qp->tx.orq_mask];
	orq->to += len;
	orq->left -= len;
}

/**
 * hyb_fast_there - an FPDU whose payload a NIC has placed
 * @qp: queue pair, of verbs; a NIC places for it
 * @c: start of the FPDU; moves on
 * @avail: bytes there are
 *
 * Only for streams without markers. @c is at the header, the fragments after it are the
 * memory that the payload belongs in, then come PAD and CRC.
 *
 * Context: TCP socket held.
 * Return: bytes that are done with; 0: it is another case.
 */
u32 hyb_fast_there(struct hyb_qp *qp, struct hyb_cur *c, u32 avail)
{
	struct hyb_rx *rx = &qp->rx;
	u32 ulpdu, total, len, tail;
	struct hyb_fast_head h;
	const skb_frag_t *frag;

	if (c->n != HYB_FAST_TAG || rx->ivl ||
	    !qp->off->rx_crc || !hyb_fast_open(qp))
		return 0;
	memcpy(&h, c->p, HYB_FAST_TAG);
	ulpdu = be16_to_cpu(h.len);
	total = mpa_fpdu_len(rx->pos, ulpdu, 0);
	if (ulpdu < HYB_SEG_MIN || ulpdu > MPA_ULPDU_MAX || total > avail ||
	    h.ctrl != (DDP_T | DDP_DV) || !hyb_fast_is(qp, &h, ulpdu) ||
	    hyb_off_rx_ok(qp->off, c->skb, c->seq, total) != HYB_OFF_GOOD)
		return 0;
	len = ulpdu - DDP_TAGGED_LEN;
	tail = total - HYB_FAST_TAG - len;
	frag = hyb_fast_placed(qp, c, &h, len);
	if (!frag || skb_frag_size(frag) < tail)
		return 0;
	hyb_fast_took(qp, &h, len);
	trace_hyb_fpdu_rx(qp, rx->pos, total, 1, &h.ctrl);
	hyb_fast_advance(qp, total);
	c->p = skb_frag_address(frag) + tail;
	c->n = skb_frag_size(frag) - tail;
	c->frag = frag + 1 - skb_shinfo(c->part)->frags;
	c->seq += total;
	return total;
}
