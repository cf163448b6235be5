// SPDX-License-Identifier: GPL-2.0
/*
 * The short way of both engines, for the bulk of long messages: FPDUs that lie in
 * one piece, of queue pairs of verbs. A NIC may compute and check CRCs; one that
 * places payload hears of memory from the engine.
 *
 * It does what hyb_tx and hyb_rx do, for the case that nothing is unusual:
 * anything else, errors above all, it leaves alone, and they find it as if it had
 * not looked. So nothing is decided here, and nothing reported.
 *
 * Calls hyb_mem, hyb_crc and proto/.
 */
#include "hyb_crc.h"
#include "hyb_offload.h"
#include "hyb_quick.h"
#include "hyb_rx.h"
#include "hyb_tx.h"
#include "hybrid.h"

/* ------------------------------------------------------------ transmit */

/* Does a NIC do more than to fill the CRC field? */
static bool hyb_quick_tx_off(const struct hyb_off *off)
{
	return off && (off->tx_contig || off->tx_sg);
}

/*
 * Lay out an FPDU with the next @pay octets of a message, not the last ones;
 * false if its header has a marker in it.
 */
static bool hyb_quick_lay(struct hyb_qp *qp, u32 hdr_len, const u8 *src,
			  u32 pay)
{
	bool nic = hyb_off_tx_crc(qp->off);
	struct hyb_tx *tx = &qp->tx;
	struct hyb_stream *s = &tx->s;
	struct hyb_tx_page *page = hyb_stream_cur(s);
	struct mpa_build b;
	u32 len;

	mpa_build_begin(&b, page->base + page->fill, s->pos, hdr_len + pay,
			s->ivl);
	if (b.to_mark < hdr_len)
		return false;
	hyb_tx_put_hdr(tx, b.p, hdr_len, false);
	mpa_build_advance(&b, hdr_len);
	mpa_build_put(&b, src, pay);
	len = mpa_build_end(&b);
	hyb_tx_seal(qp, page, b.start, len, s->pos,
		    nic ? HYB_TX_NIC : HYB_TX_HOST);
	hyb_stream_add(s, len + MPA_CRC_SIZE);
	tx->copies++;
	tx->copied += pay;
	tx->done += pay;
	return true;
}

/**
 * hyb_quick_tx - lay out segments of the Send or Write in progress
 * @qp: queue pair
 * @end: position where TCP's room ends
 *
 * Each fills the TCP segment it is in, and none is the last of the message.
 *
 * Context: TCP socket held.
 * Return: how many; 0: the next one is another case.
 */
u32 hyb_quick_tx(struct hyb_qp *qp, u64 end)
{
	struct hyb_tx *tx = &qp->tx;
	const struct siw_sge *sge = &tx->sqe.sge[tx->sge];
	u64 from = sge->laddr + tx->sge_off;
	struct hyb_mem *mem = tx->mem[tx->sge];
	void *p = (void *)(uintptr_t)from;
	u32 hdr_len, run, ulpdu, nr = 0;

	if (qp->shared || hyb_quick_tx_off(qp->off) ||
	    (tx->sqe.flags & SIW_WQE_INLINE) ||
	    tx->len - tx->done < HYB_SEG_MIN || tx->s.pos >= end)
		return 0;
	hdr_len = tx->sqe.opcode == SIW_OP_WRITE ? DDP_TAGGED_LEN :
						   DDP_UNTAGGED_LEN;
	run = min_t(u64, sge->length - tx->sge_off, end - tx->s.pos);
	if (mem && (!run || hyb_mem_use(mem, sge->lkey, from, &run, &p)))
		return 0;
	for (; tx->s.pos < end; nr++) {
		ulpdu = hyb_stream_fill(&tx->s, hdr_len + run);
		if (!ulpdu || ulpdu - hdr_len == tx->len - tx->done ||
		    !hyb_quick_lay(qp, hdr_len, p, ulpdu - hdr_len))
			break;
		p += ulpdu - hdr_len;
		run -= ulpdu - hdr_len;
		tx->sge_off += ulpdu - hdr_len;
	}
	if (mem)
		hyb_mem_unuse(mem);
	if (tx->sge_off == sge->length) {
		tx->sge++;
		tx->sge_off = 0;
	}
	return nr;
}

/* ------------------------------------------------------------- receive */

/* Front of an FPDU; of a tagged segment, payload follows @u.t */
struct hyb_quick_head {
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

static_assert(sizeof(struct hyb_quick_head) ==
	      MPA_LEN_SIZE + DDP_UNTAGGED_LEN);

/**
 * struct hyb_quick - an FPDU on the short way
 * @p: its first octet of payload
 * @len: octets of payload
 * @to_mark: octets to the next marker
 */
struct hyb_quick {
	const u8 *p;
	u32 len;
	u32 to_mark;
};

/**
 * hyb_quick_forget - let go of the region that was written to last
 * @rx: receive engine
 *
 * Context: TCP socket held, or the engine has stopped.
 */
void hyb_quick_forget(struct hyb_rx *rx)
{
	if (rx->sink)
		hyb_mem_put(rx->sink);
	rx->sink = NULL;
}

/* Copy the payload; false, some of it being copied, if @mem was revoked */
static bool hyb_quick_put(struct hyb_rx *rx, struct hyb_quick *q,
			  struct hyb_mem *mem, u32 stag, u64 to)
{
	void *dst = (void *)(uintptr_t)to;
	u32 n, left;

	for (left = q->len; left; left -= n, to += n) {
		n = left;
		if (mem && hyb_mem_use(mem, stag, to, &n, &dst))
			return false;
		mpa_take(dst, &q->p, n, &q->to_mark, rx->ivl);
		if (mem)
			hyb_mem_unuse(mem);
		rx->copies++;
		rx->copied += n;
	}
	return true;
}

/*
 * The next segment of a Send that has its receive, within one buffer of that? Is
 * the receive full, @rx->sge is behind the last buffer: that is asked first.
 */
static bool hyb_quick_is_send(const struct hyb_rx *rx,
			      const struct hyb_quick_head *h, u32 len)
{
	return rx->active && h->ctrl == DDP_DV &&
	       h->rdmap == RDMAP_CTRL(RDMAP_SEND) &&
	       h->u.qn == cpu_to_be32(DDP_QN_SEND) &&
	       be32_to_cpu(h->u.msn) == rx->msn[DDP_QN_SEND] &&
	       be32_to_cpu(h->u.mo) == rx->done &&
	       len < rx->room - rx->done &&
	       len < rx->rqe.sge[rx->sge].length - rx->sge_off;
}

static bool hyb_quick_send(struct hyb_qp *qp, struct hyb_quick *q)
{
	struct hyb_rx *rx = &qp->rx;
	const struct siw_sge *sge = &rx->rqe.sge[rx->sge];

	if (!hyb_quick_put(rx, q, rx->mem[rx->sge], sge->lkey,
			   sge->laddr + rx->sge_off))
		return false;
	rx->done += q->len;
	rx->sge_off += q->len;
	return true;
}

/* As a rule a Write goes where the one before it went */
static bool hyb_quick_write(struct hyb_qp *qp, const struct hyb_quick_head *h,
			    struct hyb_quick *q)
{
	struct hyb_rx *rx = &qp->rx;
	u32 stag = be32_to_cpu(h->t.stag);
	u64 to = be64_to_cpu(h->t.to);
	enum hyb_mem_err err = HYB_MEM_STAG;

	if (rx->sink)
		err = hyb_mem_fits(rx->sink, qp->ibqp.pd, stag, to, q->len,
				   IB_ACCESS_REMOTE_WRITE);
	if (err) {
		hyb_quick_forget(rx);
		rx->sink = hyb_mem_get(qp->ibqp.pd, stag, to, q->len,
				       IB_ACCESS_REMOTE_WRITE, &err);
	}
	if (!rx->sink || !hyb_quick_put(rx, q, rx->sink, stag, to))
		return false;
	rx->written += q->len;
	return true;
}

/* A segment of the Read Response that is due, but not its last? */
static bool hyb_quick_is_read(const struct hyb_tx *tx,
			      const struct hyb_quick_head *h, u32 len)
{
	const struct hyb_orq_entry *orq = &tx->orq[tx->orq_get & tx->orq_mask];

	return tx->orq_get != tx->orq_put && !orq->atomic &&
	       be32_to_cpu(h->t.stag) == orq->stag &&
	       be64_to_cpu(h->t.to) == orq->to && len < orq->left;
}

static bool hyb_quick_read(struct hyb_qp *qp, struct hyb_quick *q)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_orq_entry *orq = &tx->orq[tx->orq_get & tx->orq_mask];

	if (!hyb_quick_put(&qp->rx, q, orq->mem, orq->stag, orq->to))
		return false;
	orq->to += q->len;
	orq->left -= q->len;
	return true;
}

/* Is it for one of the above? Asked first, so that a CRC is computed once. */
static bool hyb_quick_is(struct hyb_qp *qp, const struct hyb_quick_head *h,
			 u32 ulpdu)
{
	if (h->ctrl == DDP_DV)
		return hyb_quick_is_send(&qp->rx, h, ulpdu - DDP_UNTAGGED_LEN);
	if (h->ctrl != (DDP_T | DDP_DV))
		return false;
	return h->rdmap == RDMAP_CTRL(RDMAP_WRITE) ||
	       (h->rdmap == RDMAP_CTRL(RDMAP_READ_RESP) &&
		hyb_quick_is_read(&qp->tx, h, ulpdu - DDP_TAGGED_LEN));
}

/*
 * CRC and markers of the FPDU at @p, by the NIC's word or ours; the same is found
 * again when they are bad
 */
static bool hyb_quick_good(struct hyb_qp *qp, const struct sk_buff *skb,
			   u32 seq, const u8 *p, u32 total)
{
	u32 len = total - MPA_CRC_SIZE;
	struct hyb_rx *rx = &qp->rx;

	if (qp->off && qp->off->rx_crc) {
		if (hyb_off_rx_ok(qp->off, skb, seq, total) != HYB_OFF_GOOD)
			return false;
		rx->trusted += total;
		return true;
	}
	if (rx->crc) {
		if (mpa_get_crc(p + len) != hyb_crc32c(~0, p, len))
			return false;
		rx->summed += len;
	}
	return !rx->ivl || mpa_marks_good(p, len, rx->pos, rx->ivl);
}

/* The FPDU at @p, if it is complete in @n octets: its length, or 0 */
static u32 hyb_quick_fpdu(struct hyb_qp *qp, const struct sk_buff *skb,
			  u32 seq, const u8 *p, u32 n)
{
	struct hyb_rx *rx = &qp->rx;
	u32 lead = mpa_lead_len(rx->pos, rx->ivl);
	u32 to_mark = mpa_body_run(rx->pos, 0, rx->ivl);
	struct hyb_quick_head h;
	u32 ulpdu, total, hdr;
	struct hyb_quick q;
	bool ok;

	if (n < lead + sizeof(h) || to_mark < sizeof(h))
		return 0;
	/* once: a sender on this machine may own the page */
	memcpy(&h, p + lead, sizeof(h));
	ulpdu = be16_to_cpu(h.len);
	if (ulpdu < HYB_SEG_MIN || ulpdu > MPA_ULPDU_MAX)
		return 0;
	total = mpa_fpdu_len(rx->pos, ulpdu, rx->ivl);
	if (total > n || !hyb_quick_is(qp, &h, ulpdu) ||
	    !hyb_quick_good(qp, skb, seq, p, total))
		return 0;
	hdr = h.ctrl & DDP_T ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	q.p = p + lead + MPA_LEN_SIZE + hdr;
	q.len = ulpdu - hdr;
	q.to_mark = to_mark - MPA_LEN_SIZE - hdr;

	if (h.ctrl == DDP_DV)
		ok = hyb_quick_send(qp, &q);
	else if (h.rdmap == RDMAP_CTRL(RDMAP_WRITE))
		ok = hyb_quick_write(qp, &h, &q);
	else
		ok = hyb_quick_read(qp, &q);
	return ok ? total : 0;
}

/**
 * hyb_quick_rx - FPDUs that lie one behind the other
 * @qp: queue pair
 * @skb: packet they are in
 * @seq: sequence number of the first one
 * @p: the first one
 * @n: octets there
 *
 * Context: TCP socket held.
 * Return: octets that are done with; 0: the first one is another case.
 */
u32 hyb_quick_rx(struct hyb_qp *qp, const struct sk_buff *skb, u32 seq,
		 const u8 *p, u32 n)
{
	const struct hyb_off *off = qp->off;
	struct hyb_rx *rx = &qp->rx;
	u32 len, done = 0;

	if (!rx->pos || qp->tx.fenced || qp->shared || qp->ooo ||
	    (off && (off->place || READ_ONCE(off->ask))))
		return 0;
	while (done < n) {
		len = hyb_quick_fpdu(qp, skb, seq + done, p + done, n - done);
		if (!len)
			break;
		rx->fpdus++;
		rx->need = 0;
		rx->pos += len;
		done += len;
	}
	return done;
}
