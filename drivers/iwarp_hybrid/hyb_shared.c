// SPDX-License-Identifier: GPL-2.0
/*
 * Shared link. See hyb_shared.h. Calls hyb_fpdu.c, hyb_stream.c, hyb_sg.c,
 * hyb_off_conn.c, hyb_ooo.c, hyb_queue.c and hyb_sched.c.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat.h"
#include "hyb_fpdu.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_sched.h"
#include "hyb_sg.h"
#include "hyb_shared.h"
#include "hyb_stream.h"
#include "hyb_trace.h"
#include "iwarp/crc.h"
#include "iwarp/mpa_contig.h"

/* Bytes of an FPDU before the DDP payload, without markers */
#define HYB_HEAD_LEN	(MPA_LEN_SIZE + DDP_UNTAGGED_LEN)

/* Bytes of an FPDU that are not ULPDU, PAD or marker */
#define HYB_FPDU_FRAME	(MPA_LEN_SIZE + MPA_CRC_SIZE)

/* Where the payload of an FPDU is until it is sealed */
enum hyb_gap_mode {
	HYB_GAP_INPLACE,	/* in its place */
	HYB_GAP_STAGED,		/* in hyb_tx_page.stage; from there it is copied,
				 * or TCP gets references of it
				 */
	HYB_GAP_CONTIG,		/* in the FPDU, but without gaps for markers */
};

/**
 * struct hyb_gap - what is known of an FPDU that is not sealed, kept at its
 *		    first bytes, where no payload can be
 * @mo: offset in the message
 * @stage: offset of its byte @mo in the staging memory
 * @len: bytes of the FPDU
 * @pay: bytes after the DDP header
 * @room: hyb_stream.room before it
 * @eor: a segment ends before it
 * @mode: enum hyb_gap_mode
 */
struct hyb_gap {
	u32 mo;
	u32 stage;
	u32 len;
	u16 pay;
	u16 room;
	u8 eor;
	u8 mode;
};

static_assert(sizeof(struct hyb_gap) <= HYB_HEAD_LEN);
/* a fresh segment takes headers, and more */
static_assert(HYB_SEG_MIN > 128 + RDMA_STACK_TX_HDR + DDP_UNTAGGED_LEN);

/* ------------------------------------------------------------ messages */

static struct hyb_msg *hyb_shared_msg(const struct hyb_shared *sh, u32 i)
{
	return &sh->msg[i & sh->mask];
}

/* Memory for a shared link, charged as the queue pair is */
static void *hyb_shared_alloc(struct hyb_qp *qp, size_t size)
{
	struct mem_cgroup *old = set_active_memcg(qp->memcg);
	void *p;

	p = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(old);
	return p;
}

/* The first message since hyb_shared_sleep() */
static bool hyb_shared_alloc_tables(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	sh->tables = hyb_shared_alloc(qp, sizeof(*sh->tables));
	if (!sh->tables)
		return false;
	sh->msg = sh->tables->first;
	sh->mask = HYB_MSGS - 1;
	return true;
}

/* Ensure that there is a place for one more message; returns false without memory */
static bool hyb_shared_place_left(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;
	u32 size = sh->mask + 1;
	struct hyb_msg *ring;
	u32 i;

	if (sh->put - sh->get < size)
		return true;
	/* @mask is U32_MAX: there are no tables */
	if (!size)
		return hyb_shared_alloc_tables(qp);
	if (size == HYB_MSGS_MAX)
		return false;
	ring = hyb_shared_alloc(qp, array_size(2 * size, sizeof(*ring)));
	if (!ring)
		return false;
	for (i = sh->get; i != sh->put; i++)
		ring[i & (2 * size - 1)] = *hyb_shared_msg(sh, i);
	if (sh->msg != sh->tables->first)
		kfree(sh->msg);
	sh->msg = ring;
	sh->mask = 2 * size - 1;
	return true;
}

/* -------------------------------------------------------------- layout */

static struct hyb_gap *hyb_gap_at(struct hyb_stream *s,
				  const struct hyb_fpos *at)
{
	return (struct hyb_gap *)(hyb_stream_page(s, at->page)->base + at->off);
}

/* Where the stream ends now */
static void hyb_fpos_end(struct hyb_stream *s, struct hyb_fpos *at)
{
	at->pos = s->pos;
	at->page = s->cur;
	at->off = hyb_stream_cur(s)->fill;
}

/* From an FPDU of a message, not the last, to the next */
static void hyb_fpos_next(struct hyb_stream *s, struct hyb_fpos *at, u32 len)
{
	at->pos += len;
	at->off += len;
	if (at->off == hyb_stream_page(s, at->page)->fill) {
		at->page++;
		at->off = 0;
	}
}

/*
 * The stream ends before this FPDU again. If segments have become shorter
 * since it was laid out, there is no such segment any more: TCP segments its
 * queue again. Alignment is lost until the queue is sent; where it is lost already,
 * the former size does not help. So there is never more room than @s->mss, and
 * hyb_shared_turn() always advances.
 */
static void hyb_shared_rewind(struct hyb_shared *sh, struct hyb_stream *s,
			      const struct hyb_fpos *at)
{
	const struct hyb_gap *gap = hyb_gap_at(s, at);
	struct hyb_tx_page *p;

	s->pos = at->pos;
	s->cur = at->page;
	s->room = s->room && gap->room <= s->mss ? gap->room : 0;
	sh->eor = gap->eor;
	p = hyb_stream_cur(s);
	p->fill = at->off;
	p->stage_fill = gap->stage;
}

/*
 * The last FPDU of @msg is the one at the end of the stream: @pay bytes that
 * make it @len bytes long
 */
static void hyb_shared_place_len(struct hyb_shared *sh, struct hyb_stream *s,
				 struct hyb_msg *msg, u32 mo, u32 pay, u32 len,
				 u8 mode)
{
	struct hyb_tx_page *p = hyb_stream_cur(s);
	struct hyb_gap *gap = (struct hyb_gap *)(p->base + p->fill);

	hyb_fpos_end(s, &msg->last);
	gap->mo = mo;
	gap->stage = p->stage_fill;
	gap->len = len;
	gap->pay = pay;
	gap->room = s->room;
	gap->eor = sh->eor;
	gap->mode = mode;
	if (mode == HYB_GAP_STAGED)
		p->stage_fill += pay;
	sh->eor = false;
	msg->len = mo + pay;
	hyb_stream_add(s, len);
}

static void hyb_shared_place(struct hyb_shared *sh, struct hyb_stream *s,
			     struct hyb_msg *msg, u32 mo, u32 pay, u8 mode)
{
	hyb_shared_place_len(sh, s, msg, mo, pay,
			     mpa_fpdu_len(s->pos, DDP_UNTAGGED_LEN + pay,
					  s->ivl), mode);
}

/* Staged payload of FPDUs stands together */
static void hyb_shared_lend_staged(struct hyb_shared *sh, u8 *p, u32 len)
{
	struct rdma_stack_seg *v = &sh->tables->seg[sh->nr];

	if (sh->nr && v[-1].data + v[-1].len == p) {
		v[-1].len += len;
		return;
	}
	v->data = p;
	v->len = len;
	v->gaps.head = 0;
	sh->nr++;
}

/*
 * Lend @len bytes, not 0, from @p on; markers follow after @run and then in
 * each @ivl bytes
 */
static void hyb_shared_lend_at(struct rdma_stack_seg *v, u8 *p, u32 len,
			       u32 run, u32 ivl)
{
	v->data = p;
	v->len = len;
	v->gaps.head = run < len ? run : 0;
	v->gaps.step = ivl - MPA_MARK_SIZE;
}

/* Lend the bytes from @from on of the last FPDU of @msg */
static void hyb_shared_lend(struct hyb_shared *sh, struct hyb_stream *s,
			    const struct hyb_msg *msg, u32 from)
{
	struct hyb_tx_page *p = hyb_stream_page(s, msg->last.page);
	const struct hyb_gap *gap = hyb_gap_at(s, &msg->last);
	u32 body = HYB_HEAD_LEN + from;
	u8 *at = p->base + msg->last.off;
	u64 pos = msg->last.pos;
	u32 left = gap->pay - from;
	u32 run;

	sh->lent += left;
	switch (gap->mode) {
	case HYB_GAP_STAGED:
		at = hyb_stream_stage(s, p, gap->stage + from);
		hyb_shared_lend_staged(sh, at, left);
		return;
	case HYB_GAP_CONTIG:
		at += mpa_lead_len(pos, s->ivl) + body;
		run = left;
		break;
	default:
		at += mpa_body_place(pos, body, s->ivl, &run);
	}
	hyb_shared_lend_at(&sh->tables->seg[sh->nr++], at, left, run, s->ivl);
}

/* After hyb_stream_fit() returned 0: end page or segment */
static int hyb_shared_turn(struct hyb_shared *sh, struct hyb_stream *s)
{
	const struct hyb_tx_page *p = hyb_stream_cur(s);

	if (s->room && s->room < HYB_SEG_MIN) {
		sh->eor = true;
		s->room = s->mss;
	}
	if (p->size - p->fill < hyb_stream_max(s))
		return hyb_stream_next_page(s);
	return 0;
}

static u8 hyb_shared_mode(const struct hyb_qp *qp, struct hyb_stream *s)
{
	bool sg = qp->off && qp->off->tx_sg;

	if ((qp->place.markers == HYB_MARK_COPY || sg) && s->ivl &&
	    hyb_stream_stage(s, hyb_stream_cur(s), 0))
		return HYB_GAP_STAGED;
	if (qp->off && qp->off->tx_contig && s->ivl)
		return HYB_GAP_CONTIG;
	return HYB_GAP_INPLACE;
}

/*
 * Put one more FPDU at the end of @msg, for up to @want bytes, of which the
 * first @have are there already. Returns how many it holds; 0 if page or
 * segment must end before.
 */
static u32 hyb_shared_lay_one(struct hyb_qp *qp, struct hyb_msg *msg, u32 mo,
			      u32 have, u32 want)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_stream *s = &qp->tx.s;
	u32 ulpdu, pay, len;
	u8 mode;

	want = min_t(u32, DDP_UNTAGGED_LEN + want, MPA_ULPDU_MAX);
	len = s->room;
	ulpdu = hyb_stream_fill(s, want);
	if (!ulpdu) {
		ulpdu = hyb_stream_fit(s, want, HYB_SEG_MIN);
		len = mpa_fpdu_len(s->pos, ulpdu, s->ivl);
	}
	if (ulpdu <= DDP_UNTAGGED_LEN + have)
		return 0;
	pay = ulpdu - DDP_UNTAGGED_LEN;
	if (!mo && pay < msg->hdr_len)
		return 0;
	mode = have ? hyb_gap_at(s, &msg->last)->mode : hyb_shared_mode(qp, s);
	hyb_shared_place_len(sh, s, msg, mo, pay, len, mode);
	if (!mo && !have) {
		msg->first = msg->last;
		have = msg->hdr_len;
	}
	if (pay > have)
		hyb_shared_lend(sh, s, msg, have);
	return pay;
}

/*
 * The bulk of a long message: as many FPDUs as this page takes that fill their
 * segments, with payload in its place, after the first one of the message.
 * Does what hyb_shared_lay_one() would do for each; returns what they hold. A
 * function of its own, for the loop to have all registers.
 */
static noinline u32 hyb_shared_lay_bulk(struct hyb_qp *qp, struct hyb_msg *msg,
					u32 mo, u32 want)
{
	struct hyb_shared *sh = qp->shared;
	const struct rdma_stack_seg *end = &sh->tables->seg[RDMA_STACK_TX_SEGS];
	struct rdma_stack_seg *v = &sh->tables->seg[sh->nr];
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_tx_page *p = hyb_stream_cur(s);
	u32 ivl = s->ivl, log = s->ivl_log, mss = s->mss;
	u32 fill = p->fill, size = p->size, from = mo;
	u32 pay, run, off, len = s->room;
	u32 stage = p->stage_fill;
	u64 pos = s->pos;
	struct hyb_gap *gap;
	u8 eor = sh->eor;

	for (; len <= size - fill && v < end; v++) {
		pay = mpa_ulpdu_full(pos, len, ivl, log) - DDP_UNTAGGED_LEN;
		/* also if no ULPDU fits exactly (the difference wraps) */
		if (pay > want)
			break;
		gap = (struct hyb_gap *)(p->base + fill);
		gap->mo = mo;
		gap->stage = stage;
		gap->len = len;
		gap->pay = pay;
		gap->room = len;
		gap->eor = eor;
		gap->mode = HYB_GAP_INPLACE;
		if (likely(mpa_head_place(pos, HYB_HEAD_LEN, ivl, &off, &run)))
			off += HYB_HEAD_LEN;
		else
			off = mpa_body_place(pos, HYB_HEAD_LEN, ivl, &run);
		hyb_shared_lend_at(v, (u8 *)gap + off, pay, run, ivl);
		fill += len;
		pos += len;
		mo += pay;
		want -= pay;
		len = mss;
		eor = false;
	}
	if (mo == from)
		return 0;
	sh->eor = eor;
	len = gap->len;
	msg->last.pos = pos - len;
	msg->last.off = fill - len;
	msg->last.page = s->cur;
	msg->len = mo;
	sh->nr = v - sh->tables->seg;
	sh->lent += mo - from;
	p->fill = fill;
	s->pos = pos;
	s->room = mss;
	return mo - from;
}

/* Is hyb_shared_lay_bulk() of use? */
static bool hyb_shared_bulk(const struct hyb_qp *qp, struct hyb_stream *s,
			    u32 want)
{
	return likely(s->room >= HYB_SEG_MIN && !(s->room & 3) &&
		      want >= s->room && s->mss <= MPA_ULPDU_MAX &&
		      hyb_shared_mode(qp, s) == HYB_GAP_INPLACE);
}

/*
 * Lay out @want more bytes of @msg, which is empty or the last in the stream.
 * Stops early when segments, pages or memory are used up. Returns 0 or an error; in both
 * cases sh->lent is the number of bytes laid out.
 */
static int hyb_shared_lay(struct hyb_qp *qp, struct hyb_msg *msg, u32 want)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_stream *s = &qp->tx.s;
	u32 mo = msg->len;
	u32 have = 0;
	u32 n;
	int err;

	if (mo) {
		/* continue in its last FPDU */
		const struct hyb_gap *gap = hyb_gap_at(s, &msg->last);

		have = gap->pay;
		mo = gap->mo;
		hyb_shared_rewind(sh, s, &msg->last);
	}
	want += have;
	while (want > have || (!mo && !have)) {
		if (mo && !have && hyb_shared_bulk(qp, s, want)) {
			n = hyb_shared_lay_bulk(qp, msg, mo, want);
			mo += n;
			want -= n;
			if (!want)
				break;
		}
		if (sh->nr == RDMA_STACK_TX_SEGS)
			break;
		n = hyb_shared_lay_one(qp, msg, mo, have, want);
		if (n) {
			mo += n;
			want -= n;
			have = 0;
			if (!want)
				return 0;
			continue;
		}
		if (have) {
			/* it cannot grow: put it back unchanged */
			hyb_shared_place(sh, s, msg, mo, have,
					 hyb_gap_at(s, &msg->last)->mode);
			mo += have;
			want -= have;
			have = 0;
		}
		err = hyb_shared_turn(sh, s);
		if (err)
			return err;
	}
	if (have)
		hyb_shared_place(sh, s, msg, mo, have,
				 hyb_gap_at(s, &msg->last)->mode);
	return 0;
}

/* Shorten @msg, the last in the stream, to @len bytes, not 0 */
static void hyb_shared_cut(struct hyb_shared *sh, struct hyb_stream *s,
			   struct hyb_msg *msg, u32 len)
{
	struct hyb_fpos at = msg->first;
	struct hyb_gap gap;

	for (;;) {
		gap = *hyb_gap_at(s, &at);
		if (gap.mo + gap.pay >= len)
			break;
		hyb_fpos_next(s, &at, gap.len);
	}
	hyb_shared_rewind(sh, s, &at);
	hyb_shared_place(sh, s, msg, gap.mo, len - gap.mo, gap.mode);
}

/* ------------------------------------------------------------- sealing */

/* ULPDU_Length and DDP header of an FPDU of @msg */
static __always_inline void
hyb_shared_put_head(u8 *p, const struct hyb_msg *msg, u32 mo, u32 pay)
{
	proto_put16(p, DDP_UNTAGGED_LEN + pay);
	ddp_put_untagged(p + MPA_LEN_SIZE, mo + pay == msg->len,
			 RDMAP_CTRL(rdmap_send_op(msg->solicited, false)), 0,
			 DDP_QN_SEND, msg->msn, mo);
}

/*
 * Fill in what is missing of an FPDU whose payload is in its place: the header
 * has no marker in it
 */
static void hyb_shared_seal_inplace(const struct hyb_stream *s,
				    const struct hyb_msg *msg,
				    const struct hyb_gap *gap, u8 *start,
				    u64 pos)
{
	u8 *head = start + mpa_lead_len(pos, s->ivl);
	u32 body = HYB_HEAD_LEN + gap->pay;

	hyb_shared_put_head(head, msg, gap->mo, gap->pay);
	if (!gap->mo)
		memcpy(head + HYB_HEAD_LEN, msg->hdr, msg->hdr_len);
	if (body & 3)
		memset(start + mpa_body_off(pos, body, s->ivl), 0, -body & 3);
	if (s->ivl)
		mpa_marks_put(start, gap->len - MPA_CRC_SIZE, pos, s->ivl);
}

/* Seal an FPDU with a marker in the header, or with payload to be copied */
static void hyb_shared_seal_walk(struct hyb_qp *qp, u8 *start, u64 pos,
				 const u8 *head, u32 head_len, const u8 *stage,
				 u32 len)
{
	struct hyb_tx *tx = &qp->tx;
	bool sg = stage && hyb_sg_begin(&tx->sg, qp->off);
	u32 left = len;
	struct mpa_build b;
	u32 n;

	mpa_build_begin(&b, start, pos, proto_get16(head), tx->s.ivl);
	mpa_build_put(&b, head + MPA_LEN_SIZE, head_len - MPA_LEN_SIZE);
	for (; left; left -= n) {
		n = mpa_build_room(&b, left);
		if (stage && !(sg && hyb_sg_add(&tx->sg, pos + (b.p - start),
						stage + len - left, n))) {
			memcpy(b.p, stage + len - left, n);
			tx->copies++;
			tx->copied += n;
		}
		mpa_build_advance(&b, n);
	}
	mpa_build_end(&b);
}

/* Seal an FPDU whose payload the NIC will move: the markers go after the PAD */
static void hyb_shared_seal_contig(const struct hyb_stream *s, u8 *start,
				   u64 pos, const u8 *head, u32 head_len,
				   const struct hyb_gap *gap)
{
	u32 ulpdu = DDP_UNTAGGED_LEN + gap->pay;
	u32 lead = mpa_lead_len(pos, s->ivl);
	u32 body = mpa_body_len(ulpdu);
	u32 used = MPA_LEN_SIZE + ulpdu;

	if (lead)
		proto_put32(start, 0);
	memcpy(start + lead, head, head_len);
	memset(start + lead + used, 0, body - used);
	mpa_contig_put_marks(start + lead + body, pos, gap->len, s->ivl);
}

/*
 * Are the markers of this FPDU left to the NIC? If the NIC has stopped doing that since
 * the FPDU was laid out, or there is no room for the record, the payload is moved here.
 */
static bool hyb_shared_contig(struct hyb_qp *qp, u8 *start, u64 pos, u32 len)
{
	if (hyb_off_tx_contig(qp->off))
		return true;
	qp->tx.copies++;
	qp->tx.copied += mpa_contig_open(start, pos, len, qp->tx.s.ivl);
	return false;
}

/*
 * Seal an FPDU that is not for hyb_shared_seal_inplace(). Returns true if the NIC puts
 * its markers in place.
 */
static bool hyb_shared_seal_other(struct hyb_qp *qp, const struct hyb_msg *msg,
				  const struct hyb_gap *gap,
				  struct hyb_tx_page *p, u8 *start, u64 pos)
{
	u8 head[HYB_HEAD_LEN + RDMA_STACK_TX_HDR];
	u32 skip = gap->mo ? 0 : msg->hdr_len;
	u32 head_len = HYB_HEAD_LEN + skip;
	struct hyb_stream *s = &qp->tx.s;
	const u8 *stage = NULL;

	hyb_shared_put_head(head, msg, gap->mo, gap->pay);
	memcpy(head + HYB_HEAD_LEN, msg->hdr, skip);
	if (gap->mode == HYB_GAP_CONTIG &&
	    hyb_shared_contig(qp, start, pos, gap->len)) {
		hyb_shared_seal_contig(s, start, pos, head, head_len, gap);
		return true;
	}
	if (gap->mode == HYB_GAP_STAGED)
		stage = hyb_stream_stage(s, p, gap->stage + skip);
	hyb_shared_seal_walk(qp, start, pos, head, head_len, stage,
			     gap->pay - skip);
	return false;
}

/* Fill in what is missing of the FPDU at sh->seal; returns its length */
static u32 hyb_shared_seal(struct hyb_qp *qp, const struct hyb_msg *msg,
			   struct hyb_tx_page *p)
{
	const struct hyb_fpos *at = &qp->shared->seal;
	u8 *start = p->base + at->off;
	struct hyb_gap gap = *(struct hyb_gap *)start;
	u32 head = HYB_HEAD_LEN + (gap.mo ? 0 : msg->hdr_len);
	enum hyb_tx_who who = HYB_TX_HOST;

	if (likely(gap.mode == HYB_GAP_INPLACE &&
		   mpa_body_run(at->pos, 0, qp->tx.s.ivl) >= head))
		hyb_shared_seal_inplace(&qp->tx.s, msg, &gap, start, at->pos);
	else if (hyb_shared_seal_other(qp, msg, &gap, p, start, at->pos))
		who = HYB_TX_NIC_CONTIG;
	if (who == HYB_TX_HOST && hyb_off_tx_crc(qp->off))
		who = HYB_TX_NIC;
	hyb_fpdu_seal(qp, p, start, gap.len - MPA_CRC_SIZE, at->pos, who);
	return gap.len;
}

/* Seal the next FPDU, go to the one after it */
static void hyb_shared_seal_next(struct hyb_qp *qp, struct hyb_tx_page *p)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_msg *msg = hyb_shared_msg(sh, sh->get);
	u32 mss = qp->tx.s.mss;
	u32 len;

	sh->begun = true;
	len = hyb_shared_seal(qp, msg, p);
	if (sh->seal.pos == msg->last.pos) {
		sh->begun = false;
		sh->get++;
	} else {
		hyb_fpos_next(&qp->tx.s, &sh->seal, len);
	}
	if (len < sh->room)
		sh->room -= len;
	else if (len == sh->room)
		sh->room = mss;
	else
		sh->room = mss - (len - sh->room) % mss;
}

/* Bytes that TCP's queue leaves in its last segment */
static u32 hyb_shared_room(struct sock *sk, u32 mss)
{
	const struct sk_buff *tail = tcp_write_queue_tail(sk);

	return tail && !TCP_SKB_CB(tail)->eor ? mss - tail->len % mss : mss;
}

/*
 * Must a segment end before this FPDU? Either that was decided when it was
 * laid out. Or a segment should begin here, but TCP has sent one earlier that
 * was not full: alignment is found again.
 */
static bool hyb_shared_must_end(const struct hyb_shared *sh,
				const struct hyb_gap *gap, u32 mss)
{
	return gap->eor || (gap->room == mss && sh->room != mss);
}

/* Account for @n sealed FPDUs of @len bytes from sh->seal on, as hyb_fpdu_seal() does */
static void hyb_shared_sealed(struct hyb_qp *qp, struct hyb_tx_page *p, u32 n,
			      u32 len, bool nic)
{
	const struct hyb_fpos *at = &qp->shared->seal;
	struct hyb_tx *tx = &qp->tx;

	tx->fpdus += n;
	hyb_trace_sealed(qp, p->base + at->off, at->pos, len, n, false);
	if (nic) {
		hyb_fpdu_leave(qp, p->page, at->off, len, at->pos,
			       IWARP_LAYOUT_FINAL);
		tx->nic += len - n * MPA_CRC_SIZE;
	} else if (tx->crc) {
		tx->summed += len - n * MPA_CRC_SIZE;
	}
}

/* As hyb_shared_put_head(), of which @ctrl and @msn are the first 16 bytes */
static __always_inline void hyb_shared_seal_head(u8 *p, u64 ctrl, u64 msn,
						 u32 mo)
{
	proto_put64(p, ctrl);
	proto_put64(p + 8, msn);
	proto_put32(p + 16, mo);
}

/* As hyb_shared_seal_head(), around a marker, which may be right after the header */
static void hyb_shared_seal_split(u8 *start, u64 pos, u32 ivl, u64 ctrl,
				  u64 msn, u32 mo)
{
	u32 first = mpa_to_mark(pos, ivl);
	u8 head[HYB_HEAD_LEN];

	hyb_shared_seal_head(head, ctrl, msn, mo);
	memcpy(start, head, first);
	memcpy(start + first + MPA_MARK_SIZE, head + first,
	       HYB_HEAD_LEN - first);
}

/*
 * The bulk of a long message: seal FPDUs from sh->seal on that fill their
 * segments, with payload in its place, the CRC being left to the NIC or not.
 * Neither the first of a message nor the last; @quota bytes of page @p, and up
 * to the end of a segment. Does what hyb_shared_seal_next() would do for each;
 * returns their bytes. A function of its own as hyb_shared_lay_bulk().
 */
static noinline u32 hyb_shared_seal_bulk(struct hyb_qp *qp,
					 const struct hyb_msg *msg,
					 struct hyb_tx_page *p, u32 quota)
{
	u8 op = rdmap_send_op(msg->solicited, false);
	u64 ctrl, send = (u64)(DDP_DV << 8 | RDMAP_CTRL(op)) << 32;
	u64 msn = (u64)DDP_QN_SEND << 32 | msg->msn;
	u32 mss = qp->tx.s.mss, ivl = qp->tx.s.ivl, msg_len = msg->len;
	struct hyb_shared *sh = qp->shared;
	struct hyb_fpos *at = &sh->seal;
	u32 lead, run, mo, pay, len = mss - MPA_CRC_SIZE;
	u8 *start = p->base + at->off, *from = start;
	u8 *end = p->base + min(p->fill, p->sent + quota);
	enum iwarp_crc_how how = IWARP_CRC_OWN;
	const struct hyb_gap *gap;
	u64 pos = at->pos;
	bool nic, crc;

	if (!likely(sh->begun && sh->room == mss))
		return 0;
	nic = hyb_off_tx_crc(qp->off) && hyb_off_room(qp->off, 2);
	crc = qp->tx.crc && !nic;
	if (crc)
		how = iwarp_crc_begin(qp->tx.crc_kernel, end - start);
	for (; start < end; start += mss, pos += mss) {
		gap = (const struct hyb_gap *)start;
		mo = gap->mo;
		pay = gap->pay;
		if (mo + pay == msg_len || gap->len != mss || pay & 3 ||
		    gap->eor || gap->mode != HYB_GAP_INPLACE)
			break;
		ctrl = (u64)(DDP_UNTAGGED_LEN + pay) << 48 | send;
		/* this is where @gap was */
		if (likely(mpa_head_place(pos, HYB_HEAD_LEN, ivl, &lead, &run)))
			hyb_shared_seal_head(start + lead, ctrl, msn, mo);
		else
			hyb_shared_seal_split(start, pos, ivl, ctrl, msn, mo);
		if (ivl)
			mpa_marks_put(start, len, pos, ivl);
		mpa_put_crc(start + len, crc ?
			    iwarp_crc32c_by(how, ~0, start, len) : ~0);
	}
	iwarp_crc_end(how);
	len = start - from;
	if (!len)
		return 0;
	hyb_shared_sealed(qp, p, len / mss, len, nic);
	hyb_fpos_next(&qp->tx.s, at, len);
	return len;
}

/*
 * Make bytes of page @p ready for TCP, @quota if that many are there, and up
 * to the end of a segment. Returns where they end. FPDUs that are not of the
 * shared link are sealed already.
 */
static u32 hyb_shared_ready(struct hyb_qp *qp, struct sock *sk,
			    struct hyb_tx_page *p, u32 quota)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_stream *s = &qp->tx.s;
	const struct hyb_gap *gap;
	const struct hyb_msg *msg;
	struct sk_buff *tail;
	u32 end;

	while (sh->get != sh->put) {
		msg = hyb_shared_msg(sh, sh->get);
		if (!sh->begun)
			sh->seal = msg->first;
		if (sh->seal.page != s->out)
			break;
		end = sh->seal.off;
		gap = hyb_gap_at(s, &sh->seal);
		if (end - p->sent >= quota &&
		    (gap->eor || !gap->room || gap->room == s->mss))
			return end;
		if (hyb_shared_must_end(sh, gap, s->mss)) {
			if (end != p->sent)
				return end;
			tail = tcp_write_queue_tail(sk);
			if (tail)
				TCP_SKB_CB(tail)->eor = 1;
			sh->room = s->mss;
		}
		if (sh->get + 1 == sh->put)
			WRITE_ONCE(sh->open, false);
		if (!hyb_shared_seal_bulk(qp, msg, p, quota))
			hyb_shared_seal_next(qp, p);
	}
	return p->fill;
}

/*
 * The number of bytes to hand to TCP now: as many as it can send, and two segments. If
 * more than a burst of TCP (gso_segs) waits and the peer's window admits it, a burst in
 * place of two segments: TCP sends no less, but waits for more acknowledgments, and FPDUs
 * handed over after these would miss the burst.
 */
static u32 hyb_shared_quota(const struct hyb_qp *qp, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 unsent = tp->write_seq - tp->snd_nxt;
	s64 wnd = (s32)(tcp_wnd_end(tp) - tp->write_seq);
	u32 mss = tp->mss_cache, more = 2 * mss;
	u32 burst = tp->gso_segs * mss;
	s64 cwnd;

	/* FPDUs wait for the initiator's first one, RFC 5044 section 7.1.2 */
	if (unlikely(qp->tx.fenced) && !qp->tx.term_len)
		return 0;
	if (qp->tx.drain)
		return HYB_WAIT_MAX;
	if (burst > more && wnd >= burst &&
	    hyb_stream_waiting(&qp->tx.s) >= burst)
		more = burst;
	if (unsent >= more)
		return 0;
	cwnd = (s64)tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);
	cwnd = cwnd * mss - unsent;
	return more - unsent +
	       clamp_t(s64, min(wnd, cwnd), 0, HYB_WAIT_MAX);
}

/* Hand over @quota bytes, if there are as many; false if TCP took less */
static bool hyb_shared_push(struct hyb_qp *qp, struct sock *sk, u32 quota)
{
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_tx_page *p;
	u32 end, n, max;

	while (quota && !hyb_stream_empty(s)) {
		p = hyb_stream_page(s, s->out);
		if (p->sent == p->fill) {
			hyb_stream_pass(s);
			continue;
		}
		max = min(quota, hyb_fpdu_frag_room(sk, s->mss));
		qp->shared->room = hyb_shared_room(sk, s->mss);
		end = hyb_shared_ready(qp, sk, p, max);
		n = end - p->sent;
		if (!hyb_fpdu_give(qp, sk, p, end,
				   n < quota && n < hyb_stream_waiting(s)))
			return false;
		quota -= min(quota, n);
	}
	return true;
}

/**
 * hyb_shared_flush - hand over what TCP can use
 * @qp: queue pair with a shared link
 * @sk: its TCP socket
 *
 * Return: false if more is laid out.
 */
bool hyb_shared_flush(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_stream *s = &qp->tx.s;
	u32 quota;

	while (!hyb_stream_empty(s)) {
		quota = hyb_shared_quota(qp, sk);
		if (!quota || !hyb_shared_push(qp, sk, quota))
			return false;
	}
	return true;
}

/* ---------------------------------------- called by the transmit engine */

/**
 * hyb_shared_hold - must the transmit engine wait?
 * @qp: queue pair
 *
 * It runs again when the reservation is over.
 */
bool hyb_shared_hold(struct hyb_qp *qp)
{
	if (!hyb_shared_reserved(qp->shared))
		return false;
	qp->shared->pending = true;
	return true;
}

/* Position of TCP's sequence number @seq, or the end of what TCP has if that is less; no lock */
static u64 hyb_shared_pos_of(const struct hyb_qp *qp, u32 seq)
{
	const struct hyb_stream *s = &qp->tx.s;
	u64 given = READ_ONCE(s->given);
	s32 diff = s->seq + (u32)given - seq;

	/* the FIN has a number, too, and bytes may be on their way already */
	return given - max(diff, 0);
}

/* Position that the peer's TCP has acknowledged; no lock needed */
static u64 hyb_shared_acked(const struct hyb_qp *qp, const struct sock *sk)
{
	u32 una = READ_ONCE(tcp_sk(sk)->snd_una);

	smp_rmb();	/* before hyb_stream.given, which is never less */
	return hyb_shared_pos_of(qp, una);
}

/* May a reservation that was refused be tried again? */
static bool hyb_shared_space(const struct hyb_qp *qp)
{
	const struct hyb_shared *sh = qp->shared;

	if (hyb_qp_state(qp) != HYB_QP_RTS || qp->tx.stopped)
		return true;
	return !hyb_fpdu_queued(qp) && sh->put - sh->get <= sh->mask &&
	       !hyb_stream_full(&qp->tx.s) &&
	       hyb_stream_waiting(&qp->tx.s) <= HYB_WAIT_MAX / 2;
}

/**
 * hyb_shared_tx_done - tell the upper layer what it waits for
 * @qp: queue pair with a shared link
 * @sk: its TCP socket
 *
 * While the upper layer waits, or FPDUs wait for TCP, TCP calls write_space with each ACK.
 */
void hyb_shared_tx_done(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_shared *sh = qp->shared;
	bool call = false;

	if (sh->notify && hyb_shared_acked(qp, sk) >= sh->notify_pos) {
		sh->notify = false;
		call = true;
	}
	if (READ_ONCE(sh->want) && hyb_shared_space(qp)) {
		WRITE_ONCE(sh->want, false);
		call = true;
	}
	if (call && sh->ulp)
		sh->ulp->tx_space(sh->ctx);
	if (sh->notify || sh->want || !hyb_stream_empty(&qp->tx.s))
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

/**
 * hyb_shared_writeable - is there something to do after an ACK?
 * @qp: queue pair with a shared link
 * @sk: its TCP socket
 *
 * Return: true if so; if not, TCP asks again with the next ACK.
 */
bool hyb_shared_writeable(struct hyb_qp *qp, struct sock *sk)
{
	const struct hyb_shared *sh = qp->shared;

	smp_rmb();	/* SOCK_NOSPACE is set; pairs with hyb_link_notify() */
	if (READ_ONCE(sh->notify) && hyb_shared_acked(qp, sk) >= sh->notify_pos)
		return true;
	if (!hyb_stream_empty(&qp->tx.s))
		return hyb_shared_quota(qp, sk) && sk_stream_wspace(sk) > 0;
	return sk_stream_is_writeable(sk);
}

/* ------------------------------------------------ operations: transmit */

/* The link has ended: -EPIPE, or how TCP has lost the peer */
static int hyb_link_ended(const struct hyb_qp *qp)
{
	int why = hyb_fpdu_why(qp);

	return why == -ECONNRESET ? -EPIPE : why;
}

/* The link carries no messages: returns an error, for one that has ended or not begun */
static int hyb_link_no_conn(const struct hyb_qp *qp)
{
	return hyb_qp_state(qp) > HYB_QP_RTS ? hyb_link_ended(qp) : -ENOTCONN;
}

/* Can a reservation begin? Returns 0 or an error. */
static int hyb_link_check(const struct hyb_qp *qp)
{
	if (qp->shared->reserved)
		return -EBUSY;
	if (qp->tx.stopped || qp->tx.term_len)
		return hyb_link_ended(qp);
	if (!qp->tcp.attached || hyb_qp_state(qp) != HYB_QP_RTS)
		return hyb_link_no_conn(qp);
	return 0;
}

/* Refuse for now; tx_space follows */
static int hyb_link_again(struct hyb_qp *qp)
{
	WRITE_ONCE(qp->shared->want, true);
	hyb_stats_inc(qp->dev, HYB_ST_TX_REFUSED);
	return -EAGAIN;
}

/* Try again when there may be memory; tx_space will follow */
static void hyb_link_later(struct hyb_qp *qp)
{
	WRITE_ONCE(qp->shared->want, true);
	set_bit(SOCK_NOSPACE, &qp->tcp.sk->sk_socket->flags);
	hyb_sched_retry(qp, HYB_TODO_TX, HYB_FPDU_RETRY);
}

/*
 * Transmit requests that were posted earlier first. Returns 0 when none is left
 * and there is room.
 */
static int hyb_link_make_room(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_shared *sh = qp->shared;
	int err;

	err = hyb_link_check(qp);
	if (err)
		return err;
	if (sock_owned_by_user(sk)) {
		hyb_link_again(qp);
		return -EINPROGRESS;
	}
	if (unlikely(hyb_fpdu_queued(qp))) {
		hyb_sched_run_todo(qp, HYB_TODO_TX);
		err = hyb_link_check(qp);
		if (err)
			return err;
		if (hyb_fpdu_queued(qp))
			return hyb_link_again(qp);
	}
	if (!hyb_shared_place_left(qp)) {
		if (sh->tables)
			return hyb_link_again(qp);
		hyb_link_later(qp);
		return -ENOMEM;
	}
	if (hyb_stream_waiting(&qp->tx.s) >= HYB_WAIT_MAX)
		return hyb_link_again(qp);
	return 0;
}

static void hyb_link_lent(struct hyb_shared *sh, enum hyb_reserved kind,
			  struct rdma_stack_tx *tx)
{
	sh->reserved = kind;
	sh->pending = false;
	tx->seg = sh->tables->seg;
	tx->nr = sh->nr;
	tx->len = sh->lent;
}

static int hyb_link_lay(struct hyb_qp *qp, struct sock *sk, u32 want,
			u32 hdr_len)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_msg *msg = hyb_shared_msg(sh, sh->put);
	int err;

	hyb_off_acked(qp, qp->off);
	hyb_stream_rewind(&qp->tx.s);
	hyb_stream_look(&qp->tx.s, sk);
	if (hyb_stream_empty(&qp->tx.s))
		sh->eor = false;
	msg->len = 0;
	msg->hdr_len = hdr_len;
	msg->solicited = false;
	sh->nr = 0;
	sh->lent = 0;
	sh->was = hdr_len;
	err = hyb_shared_lay(qp, msg, hdr_len + want);
	if (msg->len)
		return 0;
	hyb_link_later(qp);
	/* the number of small pages can reach its limit before the number of bytes does */
	return err == -ENOSPC ? -EAGAIN : err;
}

static int hyb_link_reserve(struct ib_qp *ibqp, u32 want, u32 hdr_len,
			    struct rdma_stack_tx *tx)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	struct sock *sk;
	int err;

	if (!hdr_len || hdr_len > RDMA_STACK_TX_HDR)
		return -EINVAL;
	hyb_sched_here(qp);
	sk = hyb_sched_enter(qp);
	if (!sk)
		return hyb_link_no_conn(qp);
	if (IS_ERR(sk)) {
		hyb_link_again(qp);
		hyb_sched_retry(qp, HYB_TODO_TX, 0);
		return -EAGAIN;
	}
	err = hyb_link_make_room(qp, sk);
	if (!err)
		err = hyb_link_lay(qp, sk, min_t(u32, want, HYB_WAIT_MAX),
				   hdr_len);
	if (!err) {
		tx->msg_len = 0;
		hyb_link_lent(sh, HYB_RESERVED_NEW, tx);
	}
	hyb_sched_leave(qp, sk, err == -EAGAIN || err == -EINPROGRESS);
	return err;
}

/* Can the last message be appended to? */
static int hyb_link_open_msg(struct hyb_qp *qp, struct sock *sk,
			     struct hyb_msg **res)
{
	struct hyb_shared *sh = qp->shared;
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_msg *msg;
	int err;

	err = hyb_link_check(qp);
	if (err)
		return err;
	if (!sh->open || sock_owned_by_user(sk) || hyb_fpdu_queued(qp))
		return -ENOENT;
	msg = hyb_shared_msg(sh, sh->put - 1);
	if (msg->last.pos + hyb_gap_at(s, &msg->last)->len != s->pos)
		return -ENOENT;
	*res = msg;
	return 0;
}

static int hyb_link_append(struct ib_qp *ibqp, u32 want, u32 max,
			   struct rdma_stack_tx *tx)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	struct hyb_msg *msg;
	struct sock *sk;
	int err;

	/* test without the lock: usually the peer keeps up, and no message is open */
	if (!READ_ONCE(sh->open))
		return READ_ONCE(sh->reserved) ? -EBUSY : -ENOENT;
	sk = hyb_sched_enter(qp);
	if (IS_ERR_OR_NULL(sk))
		return sk ? -ENOENT : hyb_link_no_conn(qp);
	err = hyb_link_open_msg(qp, sk, &msg);
	if (err)
		goto out;
	tx->msg_len = msg->len - msg->hdr_len;
	err = -ENOENT;
	if (want && tx->msg_len >= max)
		goto out;
	sh->nr = 0;
	sh->lent = 0;
	sh->was = msg->len;
	if (want) {
		hyb_stream_look(&qp->tx.s, sk);
		hyb_shared_lay(qp, msg, min(want, max - tx->msg_len));
		if (!sh->lent)
			goto out;
	}
	err = 0;
	hyb_link_lent(sh, HYB_RESERVED_APPEND, tx);
out:
	hyb_sched_leave(qp, sk, false);
	return err;
}

static void hyb_link_count(struct hyb_qp *qp, const struct hyb_msg *msg,
			   u32 used)
{
	struct hyb_dev *dev = qp->dev;

	__hyb_stats_add(dev, HYB_ST_TX_SHARED_BYTES, used);
	if (qp->shared->reserved == HYB_RESERVED_NEW) {
		__hyb_stats_add(dev, HYB_ST_TX_SHARED_MSGS, 1);
	} else if (used) {
		__hyb_stats_add(dev, HYB_ST_TX_APPENDED, 1);
		__hyb_stats_add(dev, HYB_ST_TX_APPENDED_BYTES, used);
		__hyb_stats_add(dev, HYB_ST_TX_SAVED_BYTES,
				msg->hdr_len + DDP_UNTAGGED_LEN +
				HYB_FPDU_FRAME);
	}
}

/* The reservation becomes a message, or more of one */
static void hyb_link_take(struct hyb_qp *qp, struct sock *sk, u32 used,
			  const void *hdr, unsigned int flags)
{
	struct hyb_shared *sh = qp->shared;
	bool append = sh->reserved == HYB_RESERVED_APPEND;
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_msg *msg;

	msg = hyb_shared_msg(sh, append ? sh->put - 1 : sh->put);
	if (used < sh->lent)
		hyb_shared_cut(sh, s, msg, sh->was + used);
	if (s->mss != tcp_sk(sk)->mss_cache)
		hyb_stats_inc(qp->dev, HYB_ST_TX_MSS_CHANGED);
	memcpy(msg->hdr, hdr, msg->hdr_len);
	if (flags & RDMA_STACK_TX_SOLICITED)
		msg->solicited = true;
	if (!append) {
		msg->msn = qp->tx.msn[DDP_QN_SEND]++;
		sh->put++;
	}
	WRITE_ONCE(sh->open, !(flags & RDMA_STACK_TX_CLOSE));
	hyb_link_count(qp, msg, used);
}

/* Will there be no room for a message? tx_space follows then, too. */
static bool hyb_link_full(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	if ((sh->open || sh->put - sh->get < HYB_MSGS_MAX) &&
	    !hyb_stream_full(&qp->tx.s) &&
	    hyb_stream_waiting(&qp->tx.s) < HYB_WAIT_MAX)
		return false;
	WRITE_ONCE(sh->want, true);
	if (sh->ulp && sh->ulp->tx_full)
		sh->ulp->tx_full(sh->ctx);
	return true;
}

static void hyb_link_commit(struct ib_qp *ibqp, struct rdma_stack_tx *tx,
			    u32 used, const void *hdr, unsigned int flags)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	struct sock *sk = hyb_sched_enter(qp);
	bool run;

	if (WARN_ON_ONCE(IS_ERR_OR_NULL(sk)))
		return;
	if (!WARN_ON_ONCE(!sh->reserved || used > sh->lent)) {
		hyb_link_take(qp, sk, used, hdr, flags);
		sh->reserved = HYB_RESERVED_NONE;
	}
	tx->end = qp->tx.s.pos;
	run = !(flags & RDMA_STACK_TX_MORE) || sh->pending;
	run |= hyb_link_full(qp);
	hyb_sched_leave(qp, sk, run);
}

static void hyb_link_abort(struct ib_qp *ibqp, struct rdma_stack_tx *tx)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	struct hyb_stream *s = &qp->tx.s;
	struct sock *sk = hyb_sched_enter(qp);
	struct hyb_msg *msg;

	if (WARN_ON_ONCE(IS_ERR_OR_NULL(sk)))
		return;
	if (!WARN_ON_ONCE(!sh->reserved)) {
		if (sh->reserved == HYB_RESERVED_APPEND) {
			msg = hyb_shared_msg(sh, sh->put - 1);
			hyb_shared_cut(sh, s, msg, sh->was);
		} else {
			msg = hyb_shared_msg(sh, sh->put);
			hyb_shared_rewind(sh, s, &msg->first);
		}
		sh->reserved = HYB_RESERVED_NONE;
		hyb_stats_inc(qp->dev, HYB_ST_TX_ABORTED);
	}
	hyb_sched_leave(qp, sk, sh->pending);
}

static void hyb_link_wait(struct ib_qp *ibqp)
{
	hyb_sched_wait(hyb_qp_of(ibqp));
}

static u64 hyb_link_acked(struct ib_qp *ibqp)
{
	const struct hyb_qp *qp = hyb_qp_of(ibqp);
	/* pairs with hyb_tcp_start() */
	const struct sock *sk = smp_load_acquire(&qp->tcp.sk);

	return sk ? hyb_shared_acked(qp, sk) : 0;
}

static u64 hyb_link_sent(struct ib_qp *ibqp)
{
	const struct hyb_qp *qp = hyb_qp_of(ibqp);
	/* pairs with hyb_tcp_start() */
	const struct sock *sk = smp_load_acquire(&qp->tcp.sk);
	u32 nxt;

	if (!sk)
		return 0;
	nxt = READ_ONCE(tcp_sk(sk)->snd_nxt);
	smp_rmb();	/* as in hyb_shared_acked() */
	return hyb_shared_pos_of(qp, nxt);
}

static u32 hyb_link_path(struct ib_qp *ibqp)
{
	const struct hyb_qp *qp = hyb_qp_of(ibqp);
	/* pairs with hyb_tcp_start() */
	const struct sock *sk = smp_load_acquire(&qp->tcp.sk);
	const struct tcp_sock *tp;
	u64 sum;
	u32 us;

	if (!sk)
		return 0;
	tp = tcp_sk(sk);
	us = READ_ONCE(tp->rate_interval_us);
	if (!us)
		return 0;
	sum = (u64)READ_ONCE(tp->rate_delivered) * READ_ONCE(tp->mss_cache) *
	      tcp_min_rtt(tp);
	return min_t(u64, div_u64(sum, us), HYB_WINDOW_MAX);
}

static bool hyb_link_notify(struct ib_qp *ibqp, u64 pos)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	struct sock *sk = hyb_sched_enter(qp);
	bool wait;

	if (!sk)
		return false;
	if (IS_ERR(sk)) {
		/* the engine of another QP runs here: without the lock */
		hyb_link_again(qp);
		hyb_sched_retry(qp, HYB_TODO_TX, 0);
		return true;
	}
	wait = qp->tcp.attached && hyb_shared_acked(qp, sk) < pos;
	sh->notify_pos = pos;
	WRITE_ONCE(sh->notify, wait);
	if (wait) {
		/* pairs with hyb_shared_writeable() */
		smp_mb__before_atomic();
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/*
		 * A task that owns the socket may process the last ACK now, without
		 * this lock. Pairs with the barrier in tcp_check_space().
		 */
		smp_mb__after_atomic();
		wait = hyb_shared_acked(qp, sk) < pos;
		WRITE_ONCE(sh->notify, wait);
	}
	hyb_sched_leave(qp, sk, false);
	return wait;
}

/* --------------------------------------------------------- reception */

/* Memory of a packet beyond its data is reported once, with its first bytes */
static void hyb_shared_charge(struct hyb_shared *sh, struct sk_buff *skb)
{
	u32 seq = TCP_SKB_CB(skb)->seq;
	u32 size = skb->truesize > skb->len ? skb->truesize - skb->len : 0;

	if (seq != sh->skb_seq) {
		sh->skb_seq = seq;
		sh->skb_size = 0;
	}
	/* TCP may have merged later packets into it */
	if (size > sh->skb_size) {
		sh->rx.truesize += size - sh->skb_size;
		sh->skb_size = size;
	}
}

/**
 * hyb_shared_add - payload for the upper layer
 * @qp: queue pair
 * @skb: packet that it is in
 * @page: page that it is in, or NULL if that cannot be referenced
 * @p: first byte
 * @len: bytes, without markers, which may be between them
 * @to_mark: bytes up to the first marker, not 0
 *
 * Return: 0 or an error for the Terminate.
 */
u32 hyb_shared_add(struct hyb_qp *qp, struct sk_buff *skb, struct page *page,
		   const u8 *p, u32 len, u32 to_mark)
{
	struct hyb_shared *sh = qp->shared;
	u32 err;

	BUILD_BUG_ON(MPA_MARK_SIZE != RDMA_STACK_GAP);
	BUILD_BUG_ON(MPA_WANT_IVL_MAX > U16_MAX);
	if (unlikely(!len))
		return 0;
	hyb_shared_charge(sh, skb);
	if (unlikely(sh->rx.nr == RDMA_STACK_RUNS)) {
		err = hyb_shared_deliver(qp, false, false);
		if (err)
			return err;
	}
	hyb_shared_run(&sh->run[sh->rx.nr++], page,
		       page ? p - (u8 *)page_address(page) : 0, p, len, to_mark,
		       qp->rx.ivl);
	sh->rx.len += len;
	sh->rx.truesize += len;
	return 0;
}

/**
 * hyb_shared_deliver - pass the added pieces to the upper layer
 * @qp: queue pair
 * @last: the message ends here
 * @solicited: and the peer asked for an event
 *
 * Return: 0 or an error for the Terminate.
 */
u32 hyb_shared_deliver(struct hyb_qp *qp, bool last, bool solicited)
{
	struct hyb_shared *sh = qp->shared;
	struct rdma_stack_rx *rx = &sh->rx;
	int ret = RDMA_STACK_RX_MORE;

	rx->run = sh->run;
	rx->msg_off = sh->rx_off;
	rx->last = last;
	rx->solicited = solicited;
	if (sh->ulp) {
		sh->called = true;
		__hyb_stats_add(qp->dev, HYB_ST_RX_SHARED_CALLS, 1);
		__hyb_stats_add(qp->dev, HYB_ST_RX_SHARED_RUNS, rx->nr);
		__hyb_stats_add(qp->dev, HYB_ST_RX_SHARED_BYTES, rx->len);
		ret = sh->ulp->rx(sh->ctx, rx);
	}
	sh->rx_off = last ? 0 : sh->rx_off + rx->len;
	rx->nr = 0;
	rx->len = 0;
	rx->truesize = 0;
	if (ret == RDMA_STACK_RX_PAUSE && !sh->held) {
		sh->held = true;
		hyb_stats_inc(qp->dev, HYB_ST_RX_SHARED_PAUSED);
	}
	return ret < 0 ? TERM_OP_STREAM : 0;
}

/**
 * hyb_shared_rx_done - a walk is over
 * @qp: queue pair with a shared link
 */
void hyb_shared_rx_done(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	if (!sh->called)
		return;
	sh->called = false;
	if (sh->ulp)
		sh->ulp->rx_done(sh->ctx);
}

static void hyb_link_resume(struct ib_qp *ibqp)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct sock *sk = hyb_sched_enter(qp);

	if (!sk)
		return;
	if (IS_ERR(sk)) {
		WRITE_ONCE(qp->shared->held, false);
		hyb_sched_retry(qp, HYB_TODO_RX, 0);
		return;
	}
	qp->shared->held = false;
	hyb_sched_run_todo(qp, HYB_TODO_RX);
	hyb_sched_leave(qp, sk, false);
}

/**
 * hyb_shared_wake - something has come, perhaps the first since hyb_shared_sleep()
 * @qp: queue pair with a shared link
 *
 * Context: TCP socket held, as in the engines. Does not sleep.
 * Return: whether there is memory to deliver it.
 */
bool hyb_shared_wake(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	hyb_tcp_assert_held(&qp->tcp);
	if (!sh->run)
		sh->run = hyb_shared_alloc(qp, RDMA_STACK_RUNS *
					       sizeof(*sh->run));
	if (!sh->run)
		return false;
	return !sh->ulp || !sh->ulp->rx_begin || sh->ulp->rx_begin(sh->ctx);
}

/*
 * Caller: there is no message and no reservation, or the queue pair is not in use any more.
 * The next message allocates again.
 */
static void hyb_shared_free_tables(struct hyb_shared *sh)
{
	if (!sh->tables)
		return;
	if (sh->msg != sh->tables->first)
		kfree(sh->msg);
	kfree(sh->tables);
	sh->tables = NULL;
	sh->msg = NULL;
	sh->mask = U32_MAX;
}

/**
 * hyb_shared_sleep - free what is not needed while nothing moves
 * @qp: queue pair
 *
 * Context: TCP socket held, and no task owns it.
 */
void hyb_shared_sleep(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	hyb_tcp_assert_held(&qp->tcp);
	if (!sh)
		return;
	if (!sh->reserved && sh->get == sh->put)
		hyb_shared_free_tables(sh);
	/* the upper layer keeps data for a reader, and may go on at once */
	if (sh->held || qp->rx.paused)
		return;
	kfree(sh->run);
	sh->run = NULL;
	qp->rx.starved = true;
	if (sh->ulp && sh->ulp->idle)
		sh->ulp->idle(sh->ctx);
}

/**
 * hyb_shared_memory - memory of a shared link
 * @qp: queue pair
 *
 * Context: TCP socket held.
 * Return: bytes, as the allocator counts them.
 */
u32 hyb_shared_memory(const struct hyb_qp *qp)
{
	const struct hyb_shared *sh = qp->shared;
	u32 sum;

	if (!sh)
		return 0;
	sum = kmalloc_size_roundup(sizeof(*sh));
	if (sh->run)
		sum += kmalloc_size_roundup(RDMA_STACK_RUNS * sizeof(*sh->run));
	if (!sh->tables)
		return sum;
	sum += kmalloc_size_roundup(sizeof(*sh->tables));
	if (sh->msg != sh->tables->first)
		sum += kmalloc_size_roundup((sh->mask + 1) * sizeof(*sh->msg));
	return sum;
}

/**
 * hyb_shared_window - set how much TCP may advertise
 * @qp: queue pair
 * @sk: its TCP socket, its spinlock held
 *
 * Memory must be there for all that has been advertised: the buffer shrinks when that
 * has arrived. An FPDU is delivered when all of it is there, so the window is never
 * smaller than one: the peer's FPDUs fit its segments and are not known before
 * one comes, hence the window grows when one is longer.
 */
void hyb_shared_window(struct hyb_qp *qp, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 was = qp->shared->window_now;
	u32 win = READ_ONCE(qp->shared->window);
	u32 come, space;

	lockdep_assert_held(&sk->sk_lock.slock);
	if (!win) {
		sk->sk_userlocks &= ~SOCK_RCVBUF_LOCK;
		return;
	}
	win = max3(win, HYB_WINDOW_MIN, qp->rx.need + HYB_WINDOW_MIN / 2);
	WRITE_ONCE(tp->window_clamp, win);
	tp->rcv_ssthresh = min(tp->rcv_ssthresh, win);
	/* the window does not grow by data that waits for the reader */
	come = tcp_receive_window(tp) + tcp_inq(sk);
	win = max(win, was ? min(was, come) : come);
	qp->shared->window_now = win;
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	/*
	 * The window scale can have any value, so search with growing steps.
	 * The window for the largest space is the limit.
	 */
	for (space = win; space < HYB_SPACE_MAX &&
	     tcp_win_from_space(sk, space) < win;)
		space = min_t(u32, space + max(win / 2, space / 8),
			      HYB_SPACE_MAX);
	qp->shared->space = space;
	WRITE_ONCE(sk->sk_rcvbuf, space);
}

/**
 * hyb_shared_window_check - follow what has come, after a walk
 * @qp: queue pair with a shared link and a window of the upper layer
 * @sk: its TCP socket, held
 * @rest: memory of packets that could not be consumed and do not count
 */
void hyb_shared_window_check(struct hyb_qp *qp, struct sock *sk, u32 rest)
{
	const struct hyb_shared *sh = qp->shared;

	if (!sh->window_now || qp->rx.need > sh->window_now ||
	    sh->window_now > max(READ_ONCE(sh->window), HYB_WINDOW_MIN))
		hyb_shared_window(qp, sk);
	WRITE_ONCE(sk->sk_rcvbuf, sh->space + rest);
}

static void hyb_link_buffer(struct ib_qp *ibqp, u32 bytes)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	unsigned long irq;
	struct sock *sk;

	bytes = min_t(u32, bytes, HYB_WINDOW_MAX);
	/* needed while there is no socket; hyb_tcp_attach() finds the value */
	spin_lock_irqsave(&qp->tcp.lock, irq);
	WRITE_ONCE(qp->shared->window, bytes);
	spin_unlock_irqrestore(&qp->tcp.lock, irq);
	sk = smp_load_acquire(&qp->tcp.sk);	/* hyb_tcp_start() */
	if (!sk)
		return;
	spin_lock_bh(&sk->sk_lock.slock);
	qp->shared->window_now = 0;
	/* while a task owns the socket, this is left to the next walk */
	if (qp->tcp.attached && !sock_owned_by_user(sk))
		hyb_shared_window(qp, sk);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/* --------------------------------------------------------- life cycle */

static int hyb_link_open(struct ib_qp *ibqp, const struct rdma_stack_ulp *ulp,
			 void *ctx)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh;
	unsigned long irq;
	struct sock *sk;
	int err = 0;

	/* each idle connection has one; the other structures exist during traffic only */
	BUILD_BUG_ON(sizeof(*sh) > 256);
	BUILD_BUG_ON(sizeof(*sh->tables) > 2048);
	BUILD_BUG_ON(RDMA_STACK_RUNS * sizeof(*sh->run) > 1024);
	if (qp->user)
		return -EOPNOTSUPP;
	if (qp->shared)
		return -EBUSY;
	sh = kzalloc(sizeof(*sh), GFP_KERNEL_ACCOUNT);
	if (!sh)
		return -ENOMEM;
	sh->ulp = ulp;
	sh->ctx = ctx;
	sh->mask = U32_MAX;

	spin_lock_irqsave(&qp->tcp.lock, irq);
	sk = qp->tcp.sk;
	if (!sk) {
		qp->shared = sh;
		/* the first delivery allocates; reusing @starved saves a test on the fast path */
		qp->rx.starved = true;
	}
	spin_unlock_irqrestore(&qp->tcp.lock, irq);
	if (!sk)
		return 0;

	spin_lock_bh(&sk->sk_lock.slock);
	if (!qp->tcp.attached)
		err = -ENOTCONN;
	else if (qp->rx.msn[DDP_QN_SEND] != 1 || qp->rx.active ||
		 hyb_ooo_early(qp))
		err = -EBUSY;
	if (!err) {
		qp->shared = sh;
		qp->rx.starved = true;
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (err) {
		kfree(sh);
		return err;
	}
	hyb_sched_kick(qp, HYB_TODO_RX);
	return 0;
}

static void hyb_link_close(struct ib_qp *ibqp)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_shared *sh = qp->shared;
	unsigned long irq;
	struct sock *sk;

	if (!sh)
		return;
	/* either the engines start after this, or we wait for them */
	spin_lock_irqsave(&qp->tcp.lock, irq);
	sk = qp->tcp.sk;
	if (!sk)
		sh->ulp = NULL;
	spin_unlock_irqrestore(&qp->tcp.lock, irq);
	if (!sk)
		return;
	spin_lock_bh(&sk->sk_lock.slock);
	sh->ulp = NULL;
	sh->held = false;
	sh->want = false;
	sh->notify = false;
	spin_unlock_bh(&sk->sk_lock.slock);
	/* received data is discarded from now on, also data that waits */
	hyb_sched_kick(qp, HYB_TODO_RX);
}

static void hyb_link_reset(struct ib_qp *ibqp)
{
	hyb_qp_abort(hyb_qp_of(ibqp), HYB_CLOSE_RESET);
}

static void hyb_link_set_ip(struct ib_qp *ibqp, const struct rdma_stack_ip *ip)
{
	hyb_sched_set_ip(hyb_qp_of(ibqp), ip);
}

static void hyb_link_set_owner(struct ib_qp *ibqp, const struct sock *owner)
{
	hyb_qp_of(ibqp)->tcp.owner = owner;
}

/**
 * hyb_shared_closed - the engines stop for good
 * @qp: queue pair
 * @err: 0, or why
 */
void hyb_shared_closed(struct hyb_qp *qp, int err)
{
	struct hyb_shared *sh = qp->shared;

	if (!sh || !sh->ulp)
		return;
	WRITE_ONCE(sh->open, false);
	sh->ulp->closed(sh->ctx, err);
}

/**
 * hyb_shared_free - free the shared link
 * @qp: queue pair that is not in use any more
 */
void hyb_shared_free(struct hyb_qp *qp)
{
	struct hyb_shared *sh = qp->shared;

	if (!sh)
		return;
	hyb_shared_free_tables(sh);
	kfree(sh->run);
	kfree(sh);
	qp->shared = NULL;
}

const struct rdma_stack_link hyb_link = {
	.open = hyb_link_open,
	.close = hyb_link_close,
	.reset = hyb_link_reset,
	.tx_reserve = hyb_link_reserve,
	.tx_append = hyb_link_append,
	.tx_commit = hyb_link_commit,
	.tx_abort = hyb_link_abort,
	.tx_wait = hyb_link_wait,
	.tx_acked = hyb_link_acked,
	.tx_sent = hyb_link_sent,
	.tx_path = hyb_link_path,
	.tx_notify = hyb_link_notify,
	.rx_resume = hyb_link_resume,
	.rx_buffer = hyb_link_buffer,
	.set_ip = hyb_link_set_ip,
	.set_owner = hyb_link_set_owner,
	.rx_memory = hyb_rq_memory,
	.rx_again = hyb_rq_again,
};
