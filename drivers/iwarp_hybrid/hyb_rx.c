// SPDX-License-Identifier: GPL-2.0
/*
 * Receive engine: from TCP's receive queue to registered memory. See hyb_rx.h.
 *
 * The packets stay in TCP's queue. A cursor walks over their pieces; when an
 * FPDU is completely there it is checked (CRC, markers, headers), placed and
 * delivered, and after the walk TCP learns how much was consumed. Nothing of
 * an FPDU is trusted before its CRC is good, except its length, which only
 * decides how long to wait.
 *
 * An error stops reception for good and queues a Terminate message.
 *
 * Calls hyb_ext.c, hyb_fast.c, hyb_shared.c, hyb_recv.c, and the files below these.
 */
#include <linux/log2.h>
#include <net/tcp.h>

#include "compat.h"
#include "hyb_ext.h"
#include "hyb_fast.h"
#include "hyb_fpdu.h"
#include "hyb_mem.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_recv.h"
#include "hyb_rx.h"
#include "hyb_sched.h"
#include "hyb_shared.h"
#include "hyb_trace.h"
#include "hybrid.h"
#include "iwarp/crc.h"

/* Bytes of a ULPDU for the parsers: the largest header */
#define HYB_HDR_MAX	RDMAP_HDR_MAX

/*
 * Interval of looking for receives a user program posted: this part of the time
 * without one, within bounds
 */
#define HYB_RX_POLL_SHIFT	3
#define HYB_RX_POLL_MIN		msecs_to_jiffies(1)
#define HYB_RX_POLL_MAX		msecs_to_jiffies(100)

/* How long a message without a receive delays the end of the connection, from FIN on */
#define HYB_RX_TIMEOUT	(5 * HZ)

/* ------------------------------------------------------------- cursor */

#ifndef HAVE_TCP_SENDPAGE_LOCKED
/*
 * The next fragment belongs to the piece if it also follows in memory: otherwise TCP
 * that makes a fragment of each page would leave no FPDU in one piece.
 */
static void hyb_cur_join(struct hyb_cur *c)
{
	const struct skb_shared_info *info = skb_shinfo(c->part);
	const skb_frag_t *frag = &info->frags[c->frag - 1];
	const struct page *head = compound_head(skb_frag_page(frag));

	for (; c->frag < info->nr_frags; c->frag++) {
		frag = &info->frags[c->frag];
		if (skb_frag_address(frag) != c->p + c->n ||
		    compound_head(skb_frag_page(frag)) != head)
			break;
		c->n += skb_frag_size(frag);
	}
}
#endif

/*
 * A NIC has put the payload into memory of another device, by a rule of the administrator
 * for programs that read it there. The engine cannot: the connection ends, before it looks
 * at a fragment. Returns false.
 *
 * The engine runs for a live queue pair only, with the socket held, so hyb_cep.live is
 * stable and not NULL; sk_user_data has a reference of the connection.
 */
static bool hyb_cur_refuse(struct hyb_cur *c)
{
	struct hyb_cep *cep = c->sk->sk_user_data;
	struct hyb_qp *qp = cep->live;

	sock_owned_by_me(c->sk);
	/* go to the end of the last packet, where the walk ends */
	c->skb = skb_peek_tail(&c->sk->sk_receive_queue);
	c->part = NULL;
	c->n = 0;
	if (qp->rx.stopped)
		return false;
	hyb_stats_inc(qp->dev, HYB_ST_ERR_LOCAL);
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %u: a packet is in the memory of a device\n",
			       qp->ibqp.qp_num);
	qp->rx.stopped = true;
	hyb_off_stop(qp->off);
	hyb_qp_fault(qp);
	return false;
}

/* Next contiguous piece of this packet; false at its end */
static bool hyb_cur_piece(struct hyb_cur *c)
{
	const skb_frag_t *frag;

	while (c->part) {
		if (c->frag < skb_shinfo(c->part)->nr_frags) {
			frag = &skb_shinfo(c->part)->frags[c->frag++];
			c->p = skb_frag_address(frag);
			c->n = skb_frag_size(frag);
#ifndef HAVE_TCP_SENDPAGE_LOCKED
			if (!c->placed)
				hyb_cur_join(c);
#endif
		} else {
			if (c->part == c->skb)
				c->part = skb_shinfo(c->skb)->frag_list;
			else
				c->part = c->part->next;
			if (!c->part)
				break;
			if (unlikely(!skb_frags_readable(c->part)))
				return hyb_cur_refuse(c);
			c->frag = 0;
			c->p = c->part->data;
			c->n = skb_headlen(c->part);
		}
		if (c->n)
			return true;
	}
	c->n = 0;
	return false;
}

/* Enter packet @skb at sequence number c->seq; false if it holds nothing new */
static bool hyb_cur_enter(struct hyb_cur *c, struct sk_buff *skb)
{
	/* a packet may begin with bytes that were received before */
	u32 skip = c->seq - TCP_SKB_CB(skb)->seq;

	c->skb = skb;
	if (unlikely(!skb_frags_readable(skb)))
		return hyb_cur_refuse(c);
	c->part = skb;
	c->frag = 0;
	c->p = skb->data;
	c->n = skb_headlen(skb);
	while (skip >= c->n) {
		skip -= c->n;
		if (!hyb_cur_piece(c))
			return false;
	}
	c->p += skip;
	c->n -= skip;
	return true;
}

/* Make sure that there are bytes at the cursor; false at the end of data */
static bool hyb_cur_fill(struct hyb_cur *c)
{
	struct sk_buff_head *queue = &c->sk->sk_receive_queue;

	if (c->n || hyb_cur_piece(c))
		return true;
	/* read c->skb each time: hyb_cur_refuse() sets it to the end */
	do {
		if (skb_queue_is_last(queue, c->skb))
			return false;
	} while (!hyb_cur_enter(c, skb_queue_next(queue, c->skb)));
	return true;
}

static bool hyb_cur_init(struct hyb_cur *c, struct sock *sk)
{
	struct sk_buff *skb;
	u32 off;

	c->sk = sk;
	c->seq = tcp_sk(sk)->copied_seq;
	skb = tcp_recv_skb(sk, c->seq, &off);
	if (!skb)
		return false;
	return hyb_cur_enter(c, skb) || hyb_cur_fill(c);
}

static void hyb_cur_advance(struct hyb_cur *c, u32 n)
{
	c->p += n;
	c->n -= n;
	c->seq += n;
}

/* Up to @want contiguous bytes; 0 at the end of data */
static u32 hyb_cur_span(struct hyb_cur *c, u32 want)
{
	if (unlikely(!c->n) && !hyb_cur_fill(c))
		return 0;
	return min(want, c->n);
}

static bool hyb_cur_skip(struct hyb_cur *c, u32 len)
{
	u32 n;

	for (; len; len -= n) {
		n = hyb_cur_span(c, len);
		if (!n)
			return false;
		hyb_cur_advance(c, n);
	}
	return true;
}

/* Copy bytes and advance @c; pass a copy of the cursor if it must stay */
static bool hyb_cur_copy(struct hyb_cur *c, u8 *dst, u32 len)
{
	u32 n;

	for (; len; len -= n, dst += n) {
		n = hyb_cur_span(c, len);
		if (!n)
			return false;
		memcpy(dst, c->p, n);
		hyb_cur_advance(c, n);
	}
	return true;
}

/* --------------------------------------------------------------- FPDU */

/**
 * struct hyb_fpdu - an FPDU that is completely there
 * @cur: at its first byte, later at the next byte of payload
 * @walk: takes out the markers
 * @total: bytes of the stream
 * @ulpdu: length of the ULPDU
 * @hdr: its first bytes
 * @hdr_len: how many
 * @h: decoded header
 * @nic: the verdict of the NIC
 * @flat: it lies in one piece of memory
 * @placed: its payload is where it belongs, all that is left is delivery
 * @there: bytes that hyb_rx_copy() found at their destination
 */
struct hyb_fpdu {
	struct hyb_cur cur;
	struct mpa_walk walk;
	u32 total;
	u32 ulpdu;
	u8 hdr[HYB_HDR_MAX];
	u32 hdr_len;
	struct ddp_hdr h;
	enum hyb_off_verdict nic;
	bool flat;
	bool placed;
	u32 there;
};

/* Up to @want bytes of the body, markers taken out; 0 at the end of data */
static u32 hyb_rx_span(struct hyb_fpdu *f, u32 want, const u8 **p)
{
	u32 n, raw;

	for (;;) {
		raw = hyb_cur_span(&f->cur, want);
		if (!raw)
			return 0;
		if (!f->walk.ivl) {
			*p = f->cur.p;
			n = raw;
		} else {
			raw = mpa_walk_next(&f->walk, f->cur.p, raw, p, &n);
		}
		hyb_cur_advance(&f->cur, raw);
		if (n)
			return n;
	}
}

/*
 * Copy the next @len bytes of the body. Returns false if they end before, as at a packet
 * that hyb_cur_refuse() refuses. If a NIC has placed them, the packet refers to the memory
 * that they belong in, and they are not copied.
 */
static bool hyb_rx_copy(struct hyb_fpdu *f, u8 *dst, u32 len)
{
	const u8 *p = f->cur.p;
	u32 n;

	if (likely(f->flat)) {
		mpa_take(dst, &p, len, &f->walk.to_mark, f->walk.ivl);
		hyb_cur_advance(&f->cur, p - f->cur.p);
		return true;
	}
	for (; len; len -= n, dst += n) {
		n = hyb_rx_span(f, len, &p);
		if (!n)
			return false;
		if (p == dst)
			f->there += n;
		else
			memcpy(dst, p, n);
	}
	return true;
}

/**
 * hyb_rx_peek - is a complete FPDU there?
 * @rx: receive state
 * @f: @f->cur is at its first byte; length is filled in
 * @avail: bytes from there on
 * @err: set if its length is impossible
 *
 * Return: true if so. If not, and without @err, rx->need is the number of bytes to wait for.
 */
static bool hyb_rx_peek(struct hyb_rx *rx, struct hyb_fpdu *f, u32 avail,
			u32 *err)
{
	u8 len[MPA_LEN_SIZE];

	rx->need = mpa_lead_len(rx->pos, rx->ivl) + MPA_LEN_SIZE;
	if (avail < rx->need)
		return false;
	if (f->cur.n >= rx->need) {
		f->ulpdu = proto_get16(f->cur.p + rx->need - MPA_LEN_SIZE);
	} else {
		struct hyb_cur cur = f->cur;

		if (!hyb_cur_skip(&cur, rx->need - MPA_LEN_SIZE) ||
		    !hyb_cur_copy(&cur, len, sizeof(len)))
			return false;
		f->ulpdu = proto_get16(len);
	}
	f->total = mpa_fpdu_len(rx->pos, f->ulpdu, rx->ivl);
	/* siw sends longer ones than RFC 5044 lets DDP post, if TCP's segments are so long */
	if ((rx->ivl && f->ulpdu > MPA_ULPDU_MAX) || f->ulpdu < DDP_TAGGED_LEN) {
		*err = TERM_MPA_MARKER;
		return false;
	}
	rx->need = f->total;
	return avail >= f->total;
}

/*
 * A private copy of the first bytes of the ULPDU, because a sender on this
 * machine may own the pages. There may be a marker in them.
 */
static void hyb_flat_head(const struct hyb_rx *rx, struct hyb_fpdu *f)
{
	const u8 *p = f->cur.p + mpa_lead_len(rx->pos, rx->ivl) + MPA_LEN_SIZE;
	u32 run = mpa_body_run(rx->pos, 0, rx->ivl) - MPA_LEN_SIZE;
	u32 n;

	if (likely(run >= DDP_UNTAGGED_LEN)) {
		/* of a shorter ULPDU this also copies the CRC, which does no harm */
		memcpy(f->hdr, p, DDP_UNTAGGED_LEN);
	} else {
		n = min_t(u32, f->ulpdu, DDP_UNTAGGED_LEN);
		memcpy(f->hdr, p, min(n, run));
		if (n > run)
			memcpy(f->hdr + run, p + run + MPA_MARK_SIZE, n - run);
	}
	f->hdr_len = DDP_TAGGED_LEN;
	if (!(f->hdr[0] & DDP_T) && f->ulpdu >= DDP_UNTAGGED_LEN)
		f->hdr_len = DDP_UNTAGGED_LEN;
	/* after the header, and a marker if there is one */
	run = mpa_body_off(rx->pos, MPA_LEN_SIZE + f->hdr_len, rx->ivl);
	hyb_cur_advance(&f->cur, run);
	f->flat = true;
	f->walk.ivl = rx->ivl;
	f->walk.to_mark = mpa_body_run(rx->pos, MPA_LEN_SIZE + f->hdr_len,
				       rx->ivl);
	f->walk.have = 0;
	f->walk.in_head = false;
}

/* Checksum and markers of the FPDU of @total bytes at @p: 0 or an error */
static __always_inline u32 hyb_rx_check(const struct hyb_rx *rx,
					enum iwarp_crc_how how, const u8 *p,
					u32 total, u64 pos)
{
	u32 len = total - MPA_CRC_SIZE;

	if (rx->crc && mpa_get_crc(p + len) !=
		       iwarp_crc32c_by(how, ~0, p, len))
		return TERM_MPA_CRC;
	if (rx->ivl && !mpa_marks_good(p, len, pos, rx->ivl))
		return TERM_MPA_MARKER;
	return 0;
}

/* @fpdus FPDUs of @len bytes in all were checked, by the NIC or by us */
static void hyb_rx_checked(struct hyb_rx *rx, u32 len, u32 fpdus, bool nic)
{
	if (nic)
		rx->trusted += len;
	else if (rx->crc)
		rx->summed += len - fpdus * MPA_CRC_SIZE;
}

/*
 * The usual case: all of the FPDU in one piece of memory. Does the work of
 * hyb_rx_verify() and hyb_rx_headers() without walking.
 */
static u32 hyb_rx_flat(struct hyb_rx *rx, struct hyb_fpdu *f)
{
	u32 err;

	if (f->nic != HYB_OFF_GOOD) {
		hyb_rx_checked(rx, f->total, 1, false);
		err = hyb_rx_check(rx, rx->crc_kernel, f->cur.p, f->total,
				   rx->pos);
		if (err)
			return err;
	}
	hyb_flat_head(rx, f);
	err = ddp_parse(f->hdr, f->ulpdu, &f->h);
	return err ? err : rdmap_check(&f->h);
}

/* Checksum of all but the last 4 bytes, and markers on the way */
static u32 hyb_rx_verify(struct hyb_rx *rx, const struct hyb_fpdu *f)
{
	u32 left = f->total - MPA_CRC_SIZE;
	struct hyb_cur cur = f->cur;
	u8 field[MPA_CRC_SIZE];
	struct mpa_walk walk;
	const u8 *data;
	u32 crc = ~0;
	u32 i, k, n;

	if ((!rx->crc && !rx->ivl) || f->nic == HYB_OFF_GOOD)
		return 0;
	mpa_walk_begin(&walk, rx->pos, rx->ivl);
	for (; left; left -= n) {
		n = hyb_cur_span(&cur, left);
		if (!n)
			return TERM_MPA_LOCAL;
		if (rx->crc)
			crc = iwarp_crc32c_by(rx->crc_kernel, crc, cur.p, n);
		for (i = 0; rx->ivl && i < n;)
			i += mpa_walk_next(&walk, cur.p + i, n - i, &data, &k);
		hyb_cur_advance(&cur, n);
	}
	if (rx->crc) {
		rx->summed += f->total - MPA_CRC_SIZE;
		if (!hyb_cur_copy(&cur, field, sizeof(field)))
			return TERM_MPA_LOCAL;
		if (mpa_get_crc(field) != crc)
			return TERM_MPA_CRC;
	}
	return walk.bad ? TERM_MPA_MARKER : 0;
}

/* Read and check the headers; the cursor stops at the payload */
static u32 hyb_rx_headers(struct hyb_rx *rx, struct hyb_fpdu *f)
{
	u8 len[MPA_LEN_SIZE];
	u32 err, n;

	mpa_walk_begin(&f->walk, rx->pos, rx->ivl);
	if (!hyb_rx_copy(f, len, sizeof(len)))
		return TERM_MPA_LOCAL;
	n = min_t(u32, f->ulpdu, DDP_TAGGED_LEN);
	if (!hyb_rx_copy(f, f->hdr, n))
		return TERM_MPA_LOCAL;
	f->hdr_len = n;
	if (!(f->hdr[0] & DDP_T) && f->ulpdu >= DDP_UNTAGGED_LEN) {
		if (!hyb_rx_copy(f, f->hdr + f->hdr_len,
				 DDP_UNTAGGED_LEN - f->hdr_len))
			return TERM_MPA_LOCAL;
		f->hdr_len = DDP_UNTAGGED_LEN;
	}
	err = ddp_parse(f->hdr, f->ulpdu, &f->h);
	return err ? err : rdmap_check(&f->h);
}

/* -------------------------------------------------------------- errors */

static u32 hyb_rx_tagged_error(enum hyb_mem_err err)
{
	switch (err) {
	case HYB_MEM_PD:
		return TERM_TAG_STREAM;
	case HYB_MEM_BOUNDS:
		return TERM_TAG_BOUNDS;
	case HYB_MEM_WRAP:
		return TERM_TAG_WRAP;
	case HYB_MEM_ACCESS:	/* DDP has no code of its own for this */
		return TERM_PROT_ACCESS;
	default:
		return TERM_TAG_STAG;
	}
}

static const struct {
	u32 err;
	enum hyb_stat stat;
} hyb_rx_stat[] = {
	{ TERM_MPA_CRC, HYB_ST_ERR_CRC },
	{ TERM_MPA_MARKER, HYB_ST_ERR_MARKER },
	{ TERM_DDP_LOCAL, HYB_ST_ERR_LENGTH },
	{ TERM_TAG_VERSION, HYB_ST_ERR_DDP_VERSION },
	{ TERM_UNT_VERSION, HYB_ST_ERR_DDP_VERSION },
	{ TERM_UNT_QN, HYB_ST_ERR_DDP_QN },
	{ TERM_UNT_MSN, HYB_ST_ERR_DDP_MSN },
	{ TERM_UNT_MO, HYB_ST_ERR_DDP_MO },
	{ TERM_UNT_LEN, HYB_ST_ERR_DDP_BUF },
	{ TERM_UNT_NOBUF, HYB_ST_ERR_IRD },
	{ TERM_OP_VERSION, HYB_ST_ERR_RDMAP_VERSION },
	{ TERM_OP_OPCODE, HYB_ST_ERR_RDMAP_OPCODE },
	{ TERM_TAG_STAG, HYB_ST_ERR_STAG },
	{ TERM_PROT_STAG, HYB_ST_ERR_STAG },
	{ TERM_TAG_STREAM, HYB_ST_ERR_PD },
	{ TERM_PROT_STREAM, HYB_ST_ERR_PD },
	{ TERM_TAG_BOUNDS, HYB_ST_ERR_BOUNDS },
	{ TERM_PROT_BOUNDS, HYB_ST_ERR_BOUNDS },
	{ TERM_TAG_WRAP, HYB_ST_ERR_BOUNDS },
	{ TERM_PROT_WRAP, HYB_ST_ERR_BOUNDS },
	{ TERM_PROT_ACCESS, HYB_ST_ERR_ACCESS },
	{ TERM_PROT_INVAL, HYB_ST_ERR_INVAL },
	{ TERM_OP_STREAM, HYB_ST_ERR_ATOMIC },
	{ TERM_OP_UNSPEC, HYB_ST_ERR_ATOMIC },
};

static enum hyb_stat hyb_rx_stat_of(u32 err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hyb_rx_stat); i++)
		if (hyb_rx_stat[i].err == err)
			return hyb_rx_stat[i].stat;
	return HYB_ST_ERR_LOCAL;
}

/*
 * Reception failed, mostly by an error of the peer: count it, notify both sides, receive no
 * more
 */
static void hyb_rx_fail(struct hyb_qp *qp, const struct hyb_fpdu *f, u32 err,
			enum hyb_stat stat)
{
	bool access = TERM_LAYER(err) < 2 && TERM_TYPE(err) == 1;

	hyb_stats_inc(qp->dev, stat);
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %u: peer's error, layer %u type %u code %u\n",
			       qp->ibqp.qp_num, TERM_LAYER(err), TERM_TYPE(err),
			       TERM_CODE(err));
	qp->rx.stopped = true;
	hyb_off_stop(qp->off);
	hyb_qp_event(qp, access ? IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
	hyb_fpdu_terminate(qp, err, f->hdr, f->hdr_len, f->ulpdu);
}

/* ---------------------------------------------------- untagged: Sends */

/*
 * Place @len bytes of payload: in @mem, if it has the right @access, or, without
 * it, in the kernel's memory. A run of them is one copy, whatever markers come in
 * between.
 */
static enum hyb_mem_err hyb_rx_put(struct hyb_rx *rx, struct hyb_fpdu *f,
				   struct hyb_mem *mem, u32 stag, u64 to,
				   u32 len, int access)
{
	void *p = (void *)(uintptr_t)to;
	enum hyb_mem_err err;
	bool ok;
	u32 n;

	for (; len; len -= n, to += n) {
		n = len;
		err = mem ? hyb_mem_use(mem, stag, to, &n, access, &p) :
			    HYB_MEM_OK;
		if (err)
			return err;
		f->there = 0;
		ok = hyb_rx_copy(f, p, n);
		if (mem)
			hyb_mem_unuse(mem);
		if (!ok)
			return HYB_MEM_STAG;
		rx->copies += f->there < n;
		rx->copied += n - f->there;
		rx->there += f->there;
	}
	return HYB_MEM_OK;
}

/*
 * Place @n bytes of payload into the receive's buffers, which have room for
 * it, if they are not there already.
 */
static bool hyb_rx_scatter(struct hyb_qp *qp, struct hyb_fpdu *f, u32 n)
{
	struct hyb_rx *rx = &qp->rx;
	enum hyb_mem_err err;

	while (n) {
		const struct siw_sge *sge = &rx->rqe.sge[rx->sge];
		u32 len = min(n, sge->length - rx->sge_off);
		u64 to = sge->laddr + rx->sge_off;
		struct hyb_mem *mem = rx->mem[rx->sge];

		err = HYB_MEM_OK;
		if (!f->placed)
			err = hyb_rx_put(rx, f, mem, sge->lkey, to, len,
					 IB_ACCESS_LOCAL_WRITE);
		else if (len && mem)
			err = hyb_mem_check(mem, sge->lkey, to, len,
					    IB_ACCESS_LOCAL_WRITE);
		if (err)
			return false;
		n -= len;
		rx->done += len;
		rx->sge_off += len;
		if (rx->sge_off == sge->length) {
			rx->sge++;
			rx->sge_off = 0;
		}
	}
	return true;
}

/* The last segment of a Send is placed: deliver it */
static u32 hyb_rx_deliver(struct hyb_qp *qp, const struct ddp_hdr *h)
{
	u32 op = RDMAP_OP(h->rdmap);
	u32 inval = 0;

	qp->rx.msn[DDP_QN_SEND]++;
	if (rdmap_send_invalidates(op)) {
		inval = h->inval;
		if (hyb_mem_invalidate(qp->ibqp.pd, inval, true)) {
			hyb_recv_end(qp, 0, false, SIW_WC_REM_INV_REQ_ERR);
			return TERM_PROT_INVAL;
		}
	}
	if (unlikely(h->rdmap & RDMAP_SEND_IMM) && qp->tx.ext && !inval)
		hyb_recv_end_imm(qp, h->inval, false, rdmap_send_solicited(op));
	else
		hyb_recv_end(qp, inval, rdmap_send_solicited(op),
			     SIW_WC_SUCCESS);
	return 0;
}

/* The page of the bytes at the cursor, if it may be referenced */
static struct page *hyb_cur_page(const struct hyb_cur *c)
{
	const skb_frag_t *frags = skb_shinfo(c->part)->frags;

	/* the piece may have begun in an earlier page */
	if (c->frag)
		return compound_head(skb_frag_page(&frags[c->frag - 1]));
	return c->part->head_frag ? virt_to_head_page(c->part->head) : NULL;
}

/* A segment of a Send goes to the upper layer, by reference */
static u32 hyb_rx_shared(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	struct hyb_shared *sh = qp->shared;
	const struct ddp_hdr *h = &f->h;
	u32 op = RDMAP_OP(h->rdmap);
	u32 left = h->payload;
	const u8 *p;
	u32 err, n;

	err = ddp_check_untagged(h, qp->rx.msn[DDP_QN_SEND],
				 sh->rx_off + sh->rx.len, U32_MAX);
	if (err)
		return err;
	if (likely(f->flat)) {
		err = hyb_shared_add(qp, f->cur.skb, hyb_cur_page(&f->cur),
				     f->cur.p, left, f->walk.to_mark);
		if (err)
			return err;
		left = 0;
	}
	for (; left; left -= n) {
		n = hyb_rx_span(f, left, &p);
		if (!n)
			return TERM_MPA_LOCAL;
		err = hyb_shared_add(qp, f->cur.skb, hyb_cur_page(&f->cur), p,
				     n, MPA_NO_MARK);
		if (err)
			return err;
	}
	if (!h->last)
		return 0;
	qp->rx.msn[DDP_QN_SEND]++;
	if (rdmap_send_invalidates(op) &&
	    hyb_mem_invalidate(qp->ibqp.pd, h->inval, true))
		return TERM_PROT_INVAL;
	return hyb_shared_deliver(qp, true, rdmap_send_solicited(op));
}

/* The first FPDU: is it the ready-to-receive message of RFC 6581? */
static bool hyb_rx_is_rtr(const struct hyb_rx *rx, const struct ddp_hdr *h)
{
	return rx->rtr_send && !h->payload && h->last && !h->mo &&
	       h->msn == rx->msn[DDP_QN_SEND] &&
	       RDMAP_OP(h->rdmap) == RDMAP_SEND;
}

static u32 hyb_rx_send(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	const struct ddp_hdr *h = &f->h;
	struct hyb_rx *rx = &qp->rx;
	u32 err;

	/* the consumer does not see this message, and it takes no receive */
	if (unlikely(!rx->pos) && hyb_rx_is_rtr(rx, h)) {
		rx->msn[DDP_QN_SEND]++;
		return 0;
	}
	if (qp->shared)
		return hyb_rx_shared(qp, f);
	err = ddp_check_untagged(h, rx->msn[DDP_QN_SEND],
				 rx->active ? rx->done : 0, U32_MAX);
	if (err)
		return err;
	if (!rx->active) {
		err = hyb_recv_start(qp, h->last ? h->payload : U32_MAX);
		if (err || rx->paused)
			return err;
	}
	if (h->payload > rx->room - rx->done) {
		hyb_recv_end(qp, 0, false, SIW_WC_LOC_LEN_ERR);
		return TERM_UNT_LEN;
	}
	if (!hyb_rx_scatter(qp, f, h->payload)) {
		hyb_recv_end(qp, 0, false, SIW_WC_LOC_PROT_ERR);
		return TERM_DDP_LOCAL;
	}
	return h->last ? hyb_rx_deliver(qp, h) : 0;
}

/* ------------------------------------------------- tagged: Write, Read */

/* Place tagged payload into @mem, which covers it */
static u32 hyb_rx_place(struct hyb_qp *qp, struct hyb_fpdu *f,
			struct hyb_mem *mem, int access)
{
	u32 len = f->h.payload;
	enum hyb_mem_err err;

	if (f->placed)
		err = hyb_mem_check(mem, f->h.stag, f->h.to, len, access);
	else
		err = hyb_rx_put(&qp->rx, f, mem, f->h.stag, f->h.to, len,
				 access);
	return err ? hyb_rx_tagged_error(err) : 0;
}

static u32 hyb_rx_write(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	const struct ddp_hdr *h = &f->h;
	enum hyb_mem_err merr;
	struct hyb_mem *mem;
	u32 err;

	hyb_rx_wrote(&qp->rx, h->payload, h->last);
	if (!h->payload)
		return 0;
	if (ddp_to_wraps(h->to, h->payload))
		return TERM_TAG_WRAP;
	if (!hyb_qp_grants(qp, IB_ACCESS_REMOTE_WRITE))
		return TERM_PROT_ACCESS;
	mem = hyb_mem_get(qp->ibqp.pd, h->stag, h->to, h->payload,
			  IB_ACCESS_REMOTE_WRITE, &merr);
	if (!mem)
		return hyb_rx_tagged_error(merr);
	err = hyb_rx_place(qp, f, mem, IB_ACCESS_REMOTE_WRITE);
	/* the NIC may place later segments for this region */
	if (!err && list_empty(&mem->bufs))
		hyb_off_place(qp, mem, h->stag, 0, 0, IWARP_PLACE_WRITE);
	hyb_mem_put(mem);
	return err;
}

/* Kernel addresses as the sink of a read: no region to check */
static u32 hyb_rx_place_direct(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	if (f->placed)
		return 0;
	return hyb_rx_put(&qp->rx, f, NULL, 0, f->h.to, f->h.payload, 0) ?
	       TERM_MPA_LOCAL : 0;
}

static u32 hyb_rx_read_resp(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	const struct ddp_hdr *h = &f->h;
	struct hyb_tx *tx = &qp->tx;
	struct hyb_orq_entry *orq;
	u32 err;

	if (tx->orq_get == tx->orq_put)
		return TERM_OP_OPCODE;
	orq = &tx->orq[tx->orq_get & tx->orq_mask];
	if (orq->atomic)
		return TERM_OP_OPCODE;
	if (orq->len) {
		if (h->stag != orq->stag)
			return TERM_TAG_STAG;
		if (h->to != orq->to || h->payload > orq->left)
			return TERM_TAG_BOUNDS;
	} else if (h->payload) {
		return TERM_TAG_BOUNDS;
	}
	if (h->last && h->payload != orq->left)
		return TERM_TAG_BOUNDS;

	if (h->payload) {
		err = orq->mem ? hyb_rx_place(qp, f, orq->mem,
					      IB_ACCESS_LOCAL_WRITE) :
				 hyb_rx_place_direct(qp, f);
		if (err)
			return err;
	}
	orq->to += h->payload;
	orq->left -= h->payload;
	return h->last ? hyb_recv_read_done(qp, orq) : 0;
}

static u32 hyb_rx_read_req(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	struct hyb_tx *tx = &qp->tx;
	struct hyb_rx *rx = &qp->rx;
	struct hyb_irq_entry *irq;
	enum hyb_mem_err merr;
	u32 err;

	err = ddp_check_untagged(&f->h, rx->msn[DDP_QN_READ], 0, U32_MAX);
	if (err)
		return err;
	if (tx->irq_put - tx->irq_get >= tx->ird)
		return TERM_UNT_NOBUF;
	if (!hyb_recv_irq_room(qp))
		return 0;
	if (!hyb_rx_copy(f, f->hdr + f->hdr_len, RDMAP_RREQ_LEN))
		return TERM_MPA_LOCAL;
	f->hdr_len += RDMAP_RREQ_LEN;

	irq = &tx->irq[tx->irq_put & tx->irq_mask];
	rdmap_rreq_parse(f->hdr + DDP_UNTAGGED_LEN, &irq->req);
	irq->msn = f->h.msn;
	irq->done = 0;
	irq->atomic = false;
	irq->mem = NULL;
	if (irq->req.size) {
		if (ddp_to_wraps(irq->req.src_to, irq->req.size))
			return TERM_PROT_WRAP;
		if (!hyb_qp_grants(qp, IB_ACCESS_REMOTE_READ))
			return hyb_recv_read_error(HYB_MEM_ACCESS);
		irq->mem = hyb_mem_get(qp->ibqp.pd, irq->req.src_stag,
				       irq->req.src_to, irq->req.size,
				       IB_ACCESS_REMOTE_READ, &merr);
		if (!irq->mem)
			return hyb_recv_read_error(merr);
	}
	rx->msn[DDP_QN_READ]++;
	tx->irq_put++;
	set_bit(HYB_TODO_TX, &qp->tcp.todo);
	return 0;
}

/*
 * The Read or atomic operation that the peer refuses completes with that error.
 * All others are flushed.
 */
static void hyb_rx_refused(struct hyb_qp *qp, u32 err, u32 msn)
{
	const struct hyb_orq_entry *orq;
	struct hyb_tx *tx = &qp->tx;
	u32 nr = tx->orq_put - tx->orq_get;
	u32 i = msn - (tx->msn[DDP_QN_READ] - nr);

	if (i >= nr)
		return;
	orq = &tx->orq[(tx->orq_get + i) & tx->orq_mask];
	if (!orq->rtr)
		hyb_sq_complete(qp, orq->slot, 0, TERM_TYPE(err) == 1 ?
				SIW_WC_REM_ACCESS_ERR :
				SIW_WC_REM_INV_REQ_ERR);
}

/* The peer terminates the stream: nothing answers that, the connection ends */
static u32 hyb_rx_terminate(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	u32 len = min_t(u32, f->h.payload, RDMAP_TERM_LOOK);
	u8 look[RDMAP_TERM_LOOK];
	u32 err, msn;

	if (!hyb_rx_copy(f, look, len))
		return TERM_MPA_LOCAL;
	hyb_off_stop(qp->off);
	err = rdmap_term_parse(look, len);
	trace_hyb_terminate_rx(qp, err);
	if (rdmap_term_request(look, len, &msn))
		hyb_rx_refused(qp, err, msn);
	hyb_stats_inc(qp->dev, HYB_ST_RX_TERM);
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %u: terminated by peer, layer %u type %u code %u\n",
			       qp->ibqp.qp_num, TERM_LAYER(err), TERM_TYPE(err),
			       TERM_CODE(err));
	qp->rx.stopped = true;
	qp->tx.stopped = true;
	hyb_qp_set_state(qp, HYB_QP_TERMINATE);
	hyb_qp_event(qp, IB_EVENT_QP_FATAL);
	hyb_cep_event(qp->cep, HYB_EV_TERM);
	return 0;
}

/* -------------------------------------------------------------- engine */

/* Operations of RFC 7306: their payload is an RDMAP header and nothing else */
static u32 hyb_rx_ext(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	u8 *p = f->hdr + f->hdr_len;

	if (!hyb_rx_copy(f, p, f->h.payload))
		return TERM_MPA_LOCAL;
	return hyb_ext_rx(qp, &f->h, p);
}

static u32 hyb_rx_dispatch(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	u32 op = RDMAP_OP(f->h.rdmap);
	u32 err;

	/* deliver earlier Sends first */
	if (qp->shared && qp->shared->rx.nr && !rdmap_is_send(op)) {
		err = hyb_shared_deliver(qp, false, false);
		if (err)
			return err;
	}
	switch (op) {
	case RDMAP_WRITE:
		return hyb_rx_write(qp, f);
	case RDMAP_READ_RESP:
		return hyb_rx_read_resp(qp, f);
	case RDMAP_READ_REQ:
		return hyb_rx_read_req(qp, f);
	case RDMAP_TERM:
		return hyb_rx_terminate(qp, f);
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
	case RDMAP_ATOMIC_REQ:
	case RDMAP_ATOMIC_RESP:
		return hyb_rx_ext(qp, f);
	default:
		return hyb_rx_send(qp, f);
	}
}

/* The counter of an error; the meaning of some errors depends on the operation */
static enum hyb_stat hyb_rx_classify(const struct hyb_qp *qp,
				     const struct hyb_fpdu *f, u32 err)
{
	/* from hyb_shared_deliver(), or of an atomic operation */
	if (qp->shared && err == TERM_OP_STREAM &&
	    (!f->hdr_len || RDMAP_OP(f->hdr[1]) != RDMAP_ATOMIC_REQ))
		return HYB_ST_ERR_LOCAL;
	if (f->hdr_len && RDMAP_OP(f->hdr[1]) == RDMAP_READ_RESP &&
	    (f->hdr[0] & DDP_T) && TERM_LAYER(err) < 2 &&
	    err != TERM_OP_VERSION && err != TERM_TAG_VERSION)
		return HYB_ST_ERR_READ_RESP;
	return hyb_rx_stat_of(err);
}

/* Resynchronization and verdict of a NIC for the complete FPDU at f->cur */
static void hyb_rx_nic(struct hyb_qp *qp, struct hyb_fpdu *f)
{
	hyb_off_rx_at(qp, qp->off, f->cur.seq, qp->rx.pos);
	f->nic = hyb_off_rx_ok(qp->off, f->cur.skb, f->cur.seq, f->total);
}

/* Account for @fpdus FPDUs of @len bytes in all that were handled */
static u32 hyb_rx_advance(struct hyb_qp *qp, u32 len, u32 fpdus)
{
	struct hyb_rx *rx = &qp->rx;

	rx->fpdus += fpdus;
	rx->need = 0;
	rx->pos += len;
	if (unlikely(qp->tx.fenced)) {
		qp->tx.fenced = false;
		set_bit(HYB_TODO_TX, &qp->tcp.todo);
	}
	return len;
}

/*
 * Deliver a range that was placed out of order, once all of it is in order.
 * Until then its bytes are consumed as they come. The bytes that were placed had a good
 * CRC; those that come now are not examined.
 */
static u32 hyb_rx_placed(struct hyb_qp *qp, const struct ooo_range *r,
			 u32 avail)
{
	struct hyb_fpdu f = { .ulpdu = r->ulpdu, .placed = true };
	u32 err, fpdus = r->fpdus, len = r->len;

	if (avail < len) {
		hyb_ooo_account(qp, avail);
		return hyb_rx_advance(qp, avail, 0);
	}
	memcpy(f.hdr, r->hdr, sizeof(r->hdr));
	err = ddp_parse(f.hdr, f.ulpdu, &f.h);
	f.hdr_len = f.h.hdr_len;
	f.h.payload = r->payload;
	f.h.last = r->last;
	if (!err)
		err = hyb_rx_dispatch(qp, &f);
	if (err) {
		hyb_rx_fail(qp, &f, err, hyb_rx_classify(qp, &f, err));
		return 0;
	}
	if (qp->rx.paused)
		return 0;
	hyb_ooo_account(qp, len);
	trace_hyb_fpdu_rx(qp, qp->rx.pos, len, fpdus, f.hdr);
	return hyb_rx_advance(qp, len, fpdus);
}

/* Control fields of a segment of a Send that is not the last */
#define HYB_SEND_CTRL	(DDP_DV << 8 | RDMAP_CTRL(RDMAP_SEND))

/* Is this the header of the next segment of the Send that is due? */
static bool hyb_rx_expected(const struct hyb_qp *qp, const u8 *hdr, u32 payload)
{
	u32 mo = qp->shared->rx_off + qp->shared->rx.len;

	return (proto_get16(hdr) & ~(DDP_L << 8)) == HYB_SEND_CTRL &&
	       proto_get32(hdr + 6) == DDP_QN_SEND &&
	       proto_get32(hdr + 10) == qp->rx.msn[DDP_QN_SEND] &&
	       proto_get32(hdr + 14) == mo && payload <= U32_MAX - mo;
}

static u32 hyb_rx_fast_add(struct hyb_qp *qp, const struct hyb_cur *c,
			   const u8 *p, u32 len, u32 to_mark, bool last)
{
	u32 err;

	err = hyb_shared_add(qp, c->skb, hyb_cur_page(c), p, len, to_mark);
	if (err || !last)
		return err;
	qp->rx.msn[DDP_QN_SEND]++;
	return hyb_shared_deliver(qp, true, false);
}

/*
 * Is the FPDU at @c good? *@nic: by the NIC's verdict. Unclear cases are left to
 * hyb_rx_fpdu().
 */
static bool hyb_rx_good(struct hyb_qp *qp, const struct hyb_cur *c, u32 total,
			bool *nic)
{
	enum hyb_off_verdict word;

	word = hyb_off_rx_ok(qp->off, c->skb, c->seq, total);
	*nic = word == HYB_OFF_GOOD;
	return *nic || (word == HYB_OFF_NONE &&
			!hyb_rx_check(&qp->rx, qp->rx.crc_kernel, c->p,
				      total, qp->rx.pos));
}

/*
 * The usual FPDU of a shared link: in one piece of memory, good, and the next
 * segment of a Send. Returns bytes consumed. 0: it is of another kind or not complete, and
 * hyb_rx_fpdu() has to examine it; or it failed, and hyb_rx.stopped is set. As there, the
 * header is read once.
 */
static u32 hyb_rx_fast(struct hyb_qp *qp, const struct hyb_cur *c, u32 avail,
		       bool *nic)
{
	u8 hdr[MPA_LEN_SIZE + DDP_UNTAGGED_LEN];
	struct hyb_rx *rx = &qp->rx;
	u32 lead = mpa_lead_len(rx->pos, rx->ivl);
	u32 run = mpa_body_run(rx->pos, 0, rx->ivl);
	u32 ulpdu, total, err;

	/* no marker in the header nor right after it */
	if (c->n < lead + sizeof(hdr) || run <= sizeof(hdr))
		return 0;
	memcpy(hdr, c->p + lead, sizeof(hdr));
	ulpdu = proto_get16(hdr);
	if (ulpdu <= DDP_UNTAGGED_LEN || ulpdu > MPA_ULPDU_MAX)
		return 0;
	total = mpa_fpdu_len(rx->pos, ulpdu, rx->ivl);
	if (total > min(c->n, avail) ||
	    (qp->off && READ_ONCE(qp->off->ask)) ||
	    !hyb_rx_expected(qp, hdr + MPA_LEN_SIZE, ulpdu - DDP_UNTAGGED_LEN) ||
	    !hyb_rx_good(qp, c, total, nic))
		return 0;
	err = hyb_rx_fast_add(qp, c, c->p + lead + sizeof(hdr),
			      ulpdu - DDP_UNTAGGED_LEN, run - sizeof(hdr),
			      hdr[MPA_LEN_SIZE] & DDP_L);
	if (unlikely(err)) {
		struct hyb_fpdu f = {
			.hdr_len = DDP_UNTAGGED_LEN, .ulpdu = ulpdu,
		};

		memcpy(f.hdr, hdr + MPA_LEN_SIZE, DDP_UNTAGGED_LEN);
		hyb_rx_fail(qp, &f, err, hyb_rx_classify(qp, &f, err));
		return 0;
	}
	hyb_rx_checked(rx, total, 1, *nic);
	trace_hyb_fpdu_rx(qp, rx->pos, total, 1, hdr + MPA_LEN_SIZE);
	return hyb_rx_advance(qp, total, 1);
}

/* Front of an FPDU that holds a segment of a Send */
struct hyb_send_head {
	__be32 len_ctrl;
	__be32 inval;
	__be64 qn_msn;
	__be32 mo;
} __packed;

static_assert(sizeof(struct hyb_send_head) ==
	      MPA_LEN_SIZE + DDP_UNTAGGED_LEN);

/*
 * Is @h the header of an FPDU that holds the segment of the Send that is due, at
 * @mo, but not its last, with a ULPDU of @ulpdu bytes?
 */
static __always_inline bool hyb_rx_whole(const struct hyb_send_head *h,
					 u32 ulpdu, u64 msn, u32 mo)
{
	return h->len_ctrl == cpu_to_be32(ulpdu << 16 | HYB_SEND_CTRL) &&
	       h->qn_msn == cpu_to_be64(msn) && h->mo == cpu_to_be32(mo);
}

/*
 * A header that has a marker in it, or right after it: where the payload of the
 * FPDU at @p is, and its bytes up to the next marker
 */
static u32 hyb_rx_head(struct hyb_send_head *h, const u8 *p, u64 pos, u32 ivl,
		       u32 *to_mark)
{
	const u8 *at = p;

	*to_mark = mpa_to_mark(pos, ivl);
	mpa_take((u8 *)h, &at, sizeof(*h), to_mark, ivl);
	if (*to_mark)
		return at - p;
	*to_mark = ivl - MPA_MARK_SIZE;
	return at - p + MPA_MARK_SIZE;
}

/*
 * At the end of a piece: does a fragment follow in this part of the packet, or is one the
 * first piece of the next part? @c goes to that part.
 */
static bool hyb_cur_frags(struct hyb_cur *c)
{
	struct sk_buff *part = c->part;

	if (!part || c->frag < skb_shinfo(part)->nr_frags)
		return part;
	part = part == c->skb ? skb_shinfo(part)->frag_list : part->next;
	/* hyb_cur_piece() refuses one that cannot be read */
	if (!part || skb_headlen(part) || unlikely(!skb_frags_readable(part)))
		return false;
	c->part = part;
	c->frag = 0;
	return true;
}

/* @fpdus FPDUs of @len bytes, segments of the Send that is due, from @mo on */
static void hyb_rx_trace_bulk(const struct hyb_qp *qp, u32 len, u32 fpdus, u32 mo)
{
	u8 hdr[DDP_UNTAGGED_LEN];

	ddp_put_untagged(hdr, false, RDMAP_CTRL(RDMAP_SEND), 0, DDP_QN_SEND,
			 qp->rx.msn[DDP_QN_SEND], mo);
	trace_hyb_fpdu_rx(qp, qp->rx.pos, len, fpdus, hdr);
}

/*
 * Is the FPDU of @n bytes at @p the segment of the Send that is due, at @mo, not
 * its last, without PAD, and good? Returns its payload, which is @off bytes
 * after @p, with the first marker @to_mark bytes after that; or 0. The header
 * is read once, as in hyb_rx_fast().
 */
static __always_inline u32
hyb_rx_bulk_one(const struct hyb_rx *rx, enum iwarp_crc_how how, const u8 *p,
		u32 n, u64 pos, u64 msn, u32 mo, bool nic, u32 *off, u32 *to_mark)
{
	struct hyb_send_head h;
	u32 ulpdu;

	ulpdu = mpa_ulpdu_full(pos, n, rx->ivl, rx->ivl_log);
	if (likely(mpa_head_place(pos, sizeof(h), rx->ivl, off, to_mark))) {
		memcpy(&h, p + *off, sizeof(h));
		*off += sizeof(h);
	} else {
		*off = hyb_rx_head(&h, p, pos, rx->ivl, to_mark);
	}
	if (!ulpdu || !hyb_rx_whole(&h, ulpdu, msn, mo) ||
	    (!nic && hyb_rx_check(rx, how, p, n, pos)))
		return 0;
	return ulpdu - DDP_UNTAGGED_LEN;
}

/* CRCs of @len bytes follow, unless the NIC has checked them */
static enum iwarp_crc_how hyb_rx_bulk_begin(const struct hyb_rx *rx, bool nic,
					    u32 len)
{
	return nic || !rx->crc ? IWARP_CRC_OWN :
				 iwarp_crc_begin(rx->crc_kernel, len);
}

/* May a segment in the bulk have this length? */
static bool hyb_rx_bulk_len(u32 n)
{
	return !(n & 3) && n >= HYB_SEG_MIN && n <= MPA_ULPDU_MAX;
}

/* @fpdus FPDUs of @len bytes were added, with @payload bytes; returns @len */
static u32 hyb_rx_bulk_end(struct hyb_qp *qp, struct hyb_cur *c, u32 len,
			   u32 fpdus, u32 payload, bool nic)
{
	struct hyb_shared *sh = qp->shared;

	if (!len)
		return 0;
	if (trace_hyb_fpdu_rx_enabled())
		hyb_rx_trace_bulk(qp, len, fpdus, sh->rx_off + sh->rx.len);
	c->seq += len;
	sh->rx.nr += fpdus;
	sh->rx.len += payload;
	sh->rx.truesize += payload;
	hyb_rx_checked(&qp->rx, len, fpdus, nic);
	return hyb_rx_advance(qp, len, fpdus);
}

/*
 * The bulk of a long message: FPDUs from @c on, each of them a fragment of
 * this part of the packet, without PAD. Does what hyb_rx_fast() would do for
 * each. That function has taken an earlier one of this packet, so the NIC's verdict, if
 * @nic, holds to the end of the packet. Leaves @c at the first byte not taken, and returns
 * the bytes consumed. A function of its own, for the loop to have all registers.
 */
static noinline u32 hyb_rx_bulk(struct hyb_qp *qp, struct hyb_cur *c,
				u32 avail, bool nic)
{
	u64 msn = (u64)DDP_QN_SEND << 32 | qp->rx.msn[DDP_QN_SEND];
	const struct skb_shared_info *info = skb_shinfo(c->part);
	struct hyb_shared *sh = qp->shared;
	struct rdma_stack_run *run = &sh->run[sh->rx.nr];
	const struct rdma_stack_run *end = &sh->run[RDMA_STACK_RUNS];
	const skb_frag_t *frag = &info->frags[c->frag];
	const skb_frag_t *last = &info->frags[info->nr_frags];
	u32 from = sh->rx_off + sh->rx.len, mo = from;
	u32 left = avail, fpdus, off, to_mark, pay, n;
	enum iwarp_crc_how how;
	u64 pos = qp->rx.pos;
	const u8 *p;

	if (avail > U32_MAX - from)
		return 0;
	how = hyb_rx_bulk_begin(&qp->rx, nic, avail);
	for (; run < end && frag < last; run++, frag++) {
		n = skb_frag_size(frag);
		if (n > left || !hyb_rx_bulk_len(n))
			break;
		p = skb_frag_address(frag);
		pay = hyb_rx_bulk_one(&qp->rx, how, p, n, pos, msn, mo, nic,
				      &off, &to_mark);
		if (!pay)
			break;
		hyb_shared_run(run, skb_frag_page(frag),
			       skb_frag_off(frag) + off, p + off, pay, to_mark,
			       qp->rx.ivl);
		mo += pay;
		pos += n;
		left -= n;
	}
	iwarp_crc_end(how);
	fpdus = frag - &info->frags[c->frag];
	c->frag += fpdus;
	return hyb_rx_bulk_end(qp, c, avail - left, fpdus, mo - from, nic);
}

/*
 * As hyb_rx_bulk(), for FPDUs of @n bytes one after the other in the piece that @c
 * is in, as a sender on this machine leaves them
 */
static noinline u32 hyb_rx_bulk_piece(struct hyb_qp *qp, struct hyb_cur *c,
				      u32 avail, u32 n, bool nic)
{
	u64 msn = (u64)DDP_QN_SEND << 32 | qp->rx.msn[DDP_QN_SEND];
	struct hyb_shared *sh = qp->shared;
	struct rdma_stack_run *run = &sh->run[sh->rx.nr];
	const struct rdma_stack_run *end = &sh->run[RDMA_STACK_RUNS];
	u32 from = sh->rx_off + sh->rx.len, mo = from;
	struct page *page = hyb_cur_page(c);
	u32 left = min(avail, c->n), len, off, to_mark, pay;
	enum iwarp_crc_how how;
	u64 pos = qp->rx.pos;
	const u8 *p = c->p;

	if (avail > U32_MAX - from || !page || !hyb_rx_bulk_len(n))
		return 0;
	how = hyb_rx_bulk_begin(&qp->rx, nic, left);
	for (; run < end && n <= left; run++, left -= n) {
		pay = hyb_rx_bulk_one(&qp->rx, how, p, n, pos, msn, mo, nic,
				      &off, &to_mark);
		if (!pay)
			break;
		hyb_shared_run(run, page,
			       p + off - (u8 *)page_address(page), p + off, pay,
			       to_mark, qp->rx.ivl);
		mo += pay;
		pos += n;
		p += n;
	}
	iwarp_crc_end(how);
	len = p - c->p;
	c->p += len;
	c->n -= len;
	return hyb_rx_bulk_end(qp, c, len, len / n, mo - from, nic);
}

/* Between two FPDUs: deliver what was collected */
static u32 hyb_rx_shared_flush(struct hyb_qp *qp)
{
	struct hyb_fpdu none = { .hdr_len = 0 };
	u32 err = 0;

	if (qp->shared->rx.nr)
		err = hyb_shared_deliver(qp, false, false);
	if (err && !qp->rx.stopped)
		hyb_rx_fail(qp, &none, err, HYB_ST_ERR_LOCAL);
	return err;
}

/* Is payload wanted? Not while the upper layer pauses, except after the peer's FIN. */
static bool hyb_rx_shared_wanted(const struct hyb_qp *qp)
{
	return !qp->shared->held || (qp->tcp.sk->sk_shutdown & RCV_SHUTDOWN);
}

/*
 * Is another FPDU wanted? The upper layer can pause between two FPDUs, so what
 * was collected is delivered if there is no room for one in one piece.
 */
static bool hyb_rx_shared_goes_on(struct hyb_qp *qp)
{
	if (qp->shared->rx.nr == RDMA_STACK_RUNS && hyb_rx_shared_flush(qp))
		return false;
	return hyb_rx_shared_wanted(qp);
}

/*
 * Is there room for a complete FPDU in several pieces, which markers split further? If
 * not, deliver what was collected.
 */
static bool hyb_rx_shared_fits(struct hyb_qp *qp, const struct hyb_fpdu *f)
{
	u32 nr = qp->shared->rx.nr, left = f->total, n;
	struct hyb_cur cur = f->cur;

	if (!nr)
		return true;
	if (qp->rx.ivl)
		nr += (left >> qp->rx.ivl_log) + 1;
	for (; left && nr <= RDMA_STACK_RUNS; left -= n, nr++) {
		n = hyb_cur_span(&cur, left);
		if (!n)
			break;
		hyb_cur_advance(&cur, n);
	}
	if (nr <= RDMA_STACK_RUNS)
		return true;
	return !hyb_rx_shared_flush(qp) && hyb_rx_shared_wanted(qp);
}

/*
 * Handle the FPDU at @cur, where there are bytes. Returns bytes consumed; 0 if it is not
 * complete, has to wait, or failed.
 */
static u32 hyb_rx_fpdu(struct hyb_qp *qp, const struct hyb_cur *cur, u32 avail)
{
	const struct ooo_range *r = qp->ooo ? hyb_ooo_due(qp) : NULL;
	struct hyb_rx *rx = &qp->rx;
	struct hyb_fpdu f;
	u32 err = 0;

	if (unlikely(r)) {
		hyb_off_passed(qp->off, cur->seq + min(avail, r->len),
			       HYB_OFF_NONE);
		return hyb_rx_placed(qp, r, avail);
	}
	f.cur = *cur;
	f.nic = HYB_OFF_NONE;
	f.flat = false;
	f.placed = false;
	f.hdr_len = 0;
	f.ulpdu = 0;
	if (!hyb_rx_peek(rx, &f, avail, &err)) {
		if (err)
			hyb_rx_fail(qp, &f, err, HYB_ST_ERR_LENGTH);
		return 0;
	}
	if (qp->shared && f.cur.n < f.total && !hyb_rx_shared_fits(qp, &f))
		return 0;
	if (qp->off)
		hyb_rx_nic(qp, &f);
	if (likely(f.cur.n >= f.total)) {
		err = hyb_rx_flat(rx, &f);
	} else {
		err = hyb_rx_verify(rx, &f);
		if (!err)
			err = hyb_rx_headers(rx, &f);
	}
	if (!err && qp->ooo)
		err = hyb_ooo_cross(qp, f.total);
	hyb_off_passed(qp->off, cur->seq + f.total, f.nic);
	if (!err)
		err = hyb_rx_dispatch(qp, &f);
	if (err) {
		/* hyb_cur_refuse() has ended the connection */
		if (rx->stopped)
			return 0;
		if (f.nic == HYB_OFF_DOUBLE && err == TERM_MPA_CRC)
			hyb_off_mismatch(qp);
		hyb_rx_fail(qp, &f, err, hyb_rx_classify(qp, &f, err));
		return 0;
	}
	if (rx->paused)
		return 0;
	if (f.nic == HYB_OFF_GOOD)
		rx->trusted += f.total;
	trace_hyb_fpdu_rx(qp, rx->pos, f.total, 1, f.hdr);
	return hyb_rx_advance(qp, f.total, 1);
}

static void hyb_rx_account(struct hyb_qp *qp, u32 done)
{
	struct hyb_rx *rx = &qp->rx;

	__hyb_stats_add(qp->dev, HYB_ST_RX_WALKS, 1);
	hyb_qp_count(qp, HYB_ST_RX_BYTES, done);
	hyb_qp_count(qp, HYB_ST_RX_FPDUS, rx->fpdus);
	if (rx->copies) {
		hyb_qp_count(qp, HYB_ST_RX_COPIES, rx->copies);
		hyb_qp_count(qp, HYB_ST_RX_COPY_BYTES, rx->copied);
	}
	if (rx->summed)
		hyb_qp_count(qp, HYB_ST_RX_CRC_BYTES, rx->summed);
	if (rx->trusted)
		__hyb_stats_add(qp->dev, HYB_ST_RX_NIC_BYTES, rx->trusted);
	if (rx->there)
		__hyb_stats_add(qp->dev, HYB_ST_RX_NIC_PLACED, rx->there);
	rx->fpdus = 0;
	rx->copies = 0;
	rx->copied = 0;
	rx->summed = 0;
	rx->trusted = 0;
	rx->there = 0;
}

/*
 * No receive, or no memory. Look again by timer, since user programs post to the queue pair's own
 * queue without a system call (hyb_srq looks at shared queues). The timer also limits the
 * wait after the peer has closed.
 */
static void hyb_rx_wait(struct hyb_qp *qp, bool fin)
{
	struct hyb_rx *rx = &qp->rx;
	unsigned long delay;

	if (rx->wait == HYB_RX_WAIT_NONE) {
		hyb_stats_inc(qp->dev, HYB_ST_RX_PAUSED);
		rx->wait = HYB_RX_WAIT_RECV;
		rx->since = jiffies;
	}
	/* a reader may have paused for long before the peer closed */
	if (fin && rx->wait != HYB_RX_WAIT_FIN) {
		rx->wait = HYB_RX_WAIT_FIN;
		rx->since = jiffies;
	}
	if ((!qp->user || qp->srq) && !fin)
		return;
	if (fin && time_after(jiffies, rx->since + HYB_RX_TIMEOUT)) {
		rx->stopped = true;
		return;
	}
	delay = (jiffies - rx->since) >> HYB_RX_POLL_SHIFT;
	hyb_sched_retry(qp, HYB_TODO_RX,
			clamp(delay, HYB_RX_POLL_MIN, HYB_RX_POLL_MAX));
}

/* The walk is over: the collected pieces go to the upper layer */
static void hyb_rx_shared_end(struct hyb_qp *qp)
{
	hyb_rx_shared_flush(qp);
	hyb_shared_rx_done(qp);
}

/*
 * An FPDU that is not complete stays with TCP, and with it the packets it is
 * in, however much of them has been consumed: TCP merges packets. Enlarge the
 * receive buffer by their memory: otherwise there is no room for the missing
 * bytes, and the window stays closed.
 */
static void hyb_rx_make_room(struct hyb_qp *qp, struct sock *sk,
			     struct hyb_cur *cur, bool part)
{
	/* a peer may send one byte per packet: no more than TCP allows itself */
	u32 max = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[2]);
	const struct hyb_shared *sh = qp->shared;
	struct sk_buff *skb;
	u32 rest = 0;

	if (hyb_cur_fill(cur)) {
		skb = cur->skb;
		skb_queue_walk_from(&sk->sk_receive_queue, skb) {
			rest += skb->truesize;
			/* data that waits for a reader or for a receive has to close the window */
			if (qp->rx.paused || part || (sh && sh->held))
				break;
		}
	}
	if (sh && READ_ONCE(sh->window))
		hyb_shared_window_check(qp, sk, min(rest, max));
	else if (rest > sk->sk_rcvbuf / 2 && 2 * rest <= max &&
		 !(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
		WRITE_ONCE(sk->sk_rcvbuf, 2 * rest);
}

/* Walk over the complete FPDUs; returns the bytes consumed */
static u32 hyb_rx_walk(struct hyb_qp *qp, struct sock *sk, u32 avail)
{
	const struct hyb_shared *sh = qp->shared;
	struct hyb_rx *rx = &qp->rx;
	bool places = hyb_off_places(qp->off);
	bool fast = sh && !qp->ooo && !places;
	bool bulk = false, nic = false;
	struct hyb_cur cur;
	u32 done = 0, len = 0;
	u32 n;

	cur.placed = places;
	if (!hyb_cur_init(&cur, sk))
		return 0;
	while (done < avail && !rx->stopped) {
		if (sh && !hyb_rx_shared_goes_on(qp))
			break;
		if (bulk) {
			n = 0;
			if (!cur.n && hyb_cur_frags(&cur))
				n = hyb_rx_bulk(qp, &cur, avail - done, nic);
			else if (cur.n >= len)
				n = hyb_rx_bulk_piece(qp, &cur, avail - done,
						      len, nic);
			done += n;
			if (n)
				continue;
		}
		if (!hyb_cur_fill(&cur))
			break;
		if (places && !sh) {
			n = hyb_fast_there(qp, &cur, avail - done);
			done += n;
			if (n)
				continue;
		}
		if (fast)
			n = hyb_rx_fast(qp, &cur, avail - done, &nic);
		else
			n = hyb_fast_rx(qp, cur.skb, cur.seq, cur.p,
					min(cur.n, avail - done));
		bulk = fast && n;
		len = n;
		if (!n && !rx->stopped)
			n = hyb_rx_fpdu(qp, &cur, avail - done);
		if (!n)
			break;
		done += n;
		if (!hyb_cur_skip(&cur, n))
			break;
	}
	if (sh)
		hyb_rx_shared_end(qp);
	hyb_rx_make_room(qp, sk, &cur, avail < tcp_inq(sk));
	return done;
}

/*
 * Has the round ended by its budget, so that another one continues? Not if even
 * a full budget does not help.
 */
static bool hyb_rx_later(struct hyb_qp *qp, u32 done)
{
	struct hyb_rx *rx = &qp->rx;
	bool more = done || rx->budget < HYB_RX_BUDGET;

	rx->budget -= done;
	if (!more || rx->paused || rx->stopped)
		return false;
	hyb_stats_inc(qp->dev, HYB_ST_RX_BUDGET);
	hyb_sched_retry(qp, HYB_TODO_RX, 0);
	return true;
}

/*
 * A shared link on which nothing has come for a while, or since it was opened. The first
 * bytes wake it. Returns true if there is no memory for them: they wait.
 */
static bool hyb_rx_asleep(struct hyb_qp *qp)
{
	struct hyb_rx *rx = &qp->rx;

	if (!tcp_inq(qp->tcp.sk))
		return false;
	rx->starved = !hyb_shared_wake(qp);
	if (rx->starved) {
		WRITE_ONCE(rx->paused, true);
		hyb_sched_retry(qp, HYB_TODO_RX, 1);
	}
	return rx->starved;
}

/*
 * The next FPDU was checked, and there was no receive for it. Until there is one it is
 * not examined again, whatever arrives after it.
 */
static bool hyb_rx_starved(struct hyb_qp *qp)
{
	struct hyb_rx *rx = &qp->rx;

	if (!rx->starved)
		return false;
	if (qp->shared)
		return hyb_rx_asleep(qp);
	/* a post after this sees it and kicks */
	WRITE_ONCE(rx->paused, true);
	if (qp->srq)
		hyb_srq_wait(qp);
	rx->starved = !hyb_ooo_early(qp) && !hyb_rq_ready(qp);
	return rx->starved;
}

/**
 * hyb_rx_run - process what has arrived
 * @qp: attached queue pair
 *
 * If that is more than a round takes, the rest is left to a work item.
 *
 * Context: spinlock of the TCP socket held, called by TCP or not.
 */
void hyb_rx_run(struct hyb_qp *qp)
{
	struct sock *sk = qp->tcp.sk;
	struct hyb_rx *rx = &qp->rx;
	u32 inq = tcp_inq(sk);
	u32 avail = min(inq, rx->budget);
	bool later = false;
	u32 done = 0;
	bool fin;

	if (!hyb_rx_starved(qp))
		rx->paused = false;
	if (!rx->stopped && hyb_qp_state(qp) != HYB_QP_ERROR) {
		if (!rx->paused && avail && avail >= rx->need)
			done = hyb_rx_walk(qp, sk, avail);
		if (avail < inq)
			later = hyb_rx_later(qp, done);
		else
			rx->budget -= done;
		if (done) {
			tcp_read_done(sk, done);
			rx->wait = HYB_RX_WAIT_NONE;
		}
		if (done || rx->stopped)
			hyb_rx_account(qp, done);
		hyb_qp_count_own(qp, HYB_ST_CQ_EVENT, hyb_qp_notify(qp));
	}
	/* TCP sets this after a reset as well, which HYB_EV_LOST reports */
	fin = sk->sk_shutdown & RCV_SHUTDOWN && sk->sk_state != TCP_CLOSE;
	if (rx->paused)
		hyb_rx_wait(qp, fin);
	if (rx->stopped)
		tcp_read_done(sk, tcp_inq(sk));
	if (fin && !rx->eof && !later && (rx->stopped || !rx->paused)) {
		rx->eof = true;
		hyb_cep_event(qp->cep, HYB_EV_EOF);
	}
}

/**
 * hyb_rx_init - prepare the engine for a connection
 * @qp: queue pair, not attached
 * @res: result of MPA start-up
 */
void hyb_rx_init(struct hyb_qp *qp, const struct mpa_result *res)
{
	struct hyb_rx *rx = &qp->rx;
	int i;

	rx->crc = res->crc;
	rx->crc_kernel = READ_ONCE(hyb_dev_of(qp->ibqp.device)->crc_kernel);
	rx->ivl = res->rx_ivl;
	rx->ivl_log = rx->ivl ? ilog2(rx->ivl) : 0;
	rx->rtr_send = res->rtr_send;
	for (i = 0; i < DDP_QN_COUNT; i++)
		rx->msn[i] = 1;
}

/**
 * hyb_rx_abandon - flush the receives that the engine has taken, and release regions
 * @qp: detached queue pair; its queues are flushed next
 */
void hyb_rx_abandon(struct hyb_qp *qp)
{
	if (qp->rx.active) {
		qp->rx.done = 0;
		hyb_recv_end(qp, 0, false, SIW_WC_WR_FLUSH_ERR);
	}
	hyb_fast_forget(&qp->rx);
	hyb_ooo_abandon(qp);
}
