// SPDX-License-Identifier: GPL-2.0
/*
 * Out-of-order placement. See hyb_ooo.h.
 *
 * TCP has no callback for a segment that joins its out-of-order queue, but it sends
 * an ACK. hyb_xmit sees that leave, and then we have a look at what the SACK blocks
 * name, which are the latest arrivals.
 *
 * The work done is remembered by stream position, never by packet: TCP merges
 * packets of this queue and may throw them away again. Bytes that were placed
 * are those whose CRC was good; the bytes that TCP delivers in their place later
 * are not examined.
 *
 * Nothing is an error here. An FPDU that cannot be placed is left to the receive
 * engine, which gets it in order and finds the error in it.
 *
 * Calls lib/iwarp/, hyb_mem.c, hyb_queue.c and hyb_sched.c.
 */
#include <linux/gfp.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat.h"
#include "hyb_mem.h"
#include "hyb_ooo.h"
#include "hyb_sched.h"
#include "hybrid.h"
#include "iwarp/crc.h"

/**
 * struct hyb_ooo_run - walk over a run of bytes in the queue
 * @w: the walk over it
 * @qp: queue pair
 * @sk: its socket
 * @skb: packet to begin a search with, or NULL
 * @base: sequence number of position 0, modulo 2^32
 */
struct hyb_ooo_run {
	struct ooo_walk w;
	struct hyb_qp *qp;
	struct sock *sk;
	struct sk_buff *skb;
	u32 base;
};

/**
 * struct hyb_ooo_fpdu - where the payload of an FPDU goes
 * @fpdu: the FPDU
 * @h: its header
 * @mem: region of a tagged segment, or NULL for kernel addresses
 * @rqe: receive of an untagged segment, else NULL
 * @copies: pieces copied
 */
struct hyb_ooo_fpdu {
	const struct ooo_fpdu *fpdu;
	const struct ddp_hdr *h;
	struct hyb_mem *mem;
	const struct siw_rqe *rqe;
	u32 copies;
};

static struct hyb_ooo_run *hyb_ooo_run(struct ooo_walk *w)
{
	return container_of(w, struct hyb_ooo_run, w);
}

/* ------------------------------------------------------------- reading */

typedef bool (*hyb_ooo_fn)(void *arg, const u8 *p, u32 n);

/* The packet that holds the byte with this number, or the one after it */
static struct sk_buff *hyb_ooo_packet(const struct sock *sk, u32 seq)
{
	struct rb_node *n = tcp_sk(sk)->out_of_order_queue.rb_node;
	struct sk_buff *skb, *res = NULL;

	while (n) {
		skb = rb_to_skb(n);
		if (before(seq, TCP_SKB_CB(skb)->seq + skb->len)) {
			res = skb;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return res;
}

/* Pass bytes of one packet to @fn, piece by piece */
static bool hyb_ooo_pieces(struct sk_buff *skb, u32 off, u32 len, hyb_ooo_fn fn,
			   void *arg)
{
	struct skb_seq_state st;
	const u8 *p;
	u32 done, n;

	skb_prepare_seq_read(skb, off, off + len, &st);
	for (done = 0; done < len; done += n) {
		n = min(skb_seq_read(done, &p, &st), len - done);
		if (!n)
			return false;	/* and the state is done with */
		if (!fn(arg, p, n))
			break;
	}
	skb_abort_seq_read(&st);
	return done == len;
}

/* Pass the bytes [@pos, @pos + @len) to @fn; false if they are not all there */
static bool hyb_ooo_each(struct hyb_ooo_run *run, u64 pos, u32 len,
			 hyb_ooo_fn fn, void *arg)
{
	u32 seq = run->base + (u32)pos;
	struct sk_buff *skb = run->skb;
	u32 off, n;

	if (!skb || before(seq, TCP_SKB_CB(skb)->seq))
		skb = hyb_ooo_packet(run->sk, seq);
	for (; len; skb = skb_rb_next(skb)) {
		if (!skb || before(seq, TCP_SKB_CB(skb)->seq))
			return false;
		/* the receive engine ends the connection at this packet, see hyb_cur_refuse() */
		if (unlikely(!skb_frags_readable(skb)))
			return false;
		off = seq - TCP_SKB_CB(skb)->seq;
		if (off >= skb->len)
			continue;
		run->skb = skb;
		n = min(len, skb->len - off);
		if (!hyb_ooo_pieces(skb, off, n, fn, arg))
			return false;
		seq += n;
		len -= n;
	}
	return true;
}

static bool hyb_ooo_copy_fn(void *arg, const u8 *p, u32 n)
{
	u8 **dst = arg;

	memcpy(*dst, p, n);
	*dst += n;
	return true;
}

static bool hyb_ooo_copy(struct hyb_ooo_run *run, u64 pos, u8 *dst, u32 len)
{
	return hyb_ooo_each(run, pos, len, hyb_ooo_copy_fn, &dst);
}

/* ------------------------------------------------------------- deferral */

static const enum hyb_stat hyb_ooo_stat[] = {
	[OOO_MARK] = HYB_ST_OOO_WAIT_MARK,
	[OOO_STAG] = HYB_ST_OOO_WAIT_STAG,
	[OOO_RECV] = HYB_ST_OOO_WAIT_RECV,
	[OOO_ORDER] = HYB_ST_OOO_WAIT_ORDER,
	[OOO_PARTIAL] = HYB_ST_OOO_WAIT_PARTIAL,
	[OOO_BAD] = HYB_ST_OOO_WAIT_BAD,
	[OOO_LIMIT] = HYB_ST_OOO_WAIT_LIMIT,
};

static void hyb_ooo_count(const struct hyb_qp *qp, enum ooo_why why)
{
	hyb_stats_inc(qp->dev, hyb_ooo_stat[why]);
}

/* An FPDU that is examined repeatedly counts once */
static void hyb_ooo_defer(struct ooo_walk *w, enum ooo_why why, u64 pos)
{
	struct hyb_qp *qp = hyb_ooo_run(w)->qp;
	u64 *last = NULL;

	if (why == OOO_PARTIAL)
		last = &qp->ooo->partial;
	else if (why == OOO_MARK)
		last = &qp->ooo->no_mark;
	if (last && *last == pos)
		return;
	if (last)
		*last = pos;
	hyb_ooo_count(qp, why);
}

/* ------------------------------------------------------- where it goes */

/* The read that this response belongs to, if its sink has room for it */
static const struct hyb_orq_entry *hyb_ooo_read(struct hyb_qp *qp,
						const struct ddp_hdr *h)
{
	const struct hyb_tx *tx = &qp->tx;
	const struct hyb_orq_entry *orq;
	u32 i;

	for (i = tx->orq_get; i != tx->orq_put; i++) {
		orq = &tx->orq[i & tx->orq_mask];
		if (orq->len && !orq->atomic && h->stag == orq->stag &&
		    h->to >= orq->to &&
		    h->to - orq->to <= orq->left &&
		    h->payload <= orq->left - (h->to - orq->to))
			return orq;
	}
	return NULL;
}

/*
 * The receive of message @msn. Receives are taken in the order of messages, so
 * the earlier ones are taken, too. Nothing is taken early from a shared queue,
 * as other queue pairs use it as well.
 */
static const struct siw_rqe *hyb_ooo_rqe(struct hyb_qp *qp, u32 msn)
{
	u32 ahead = msn - qp->rx.msn[DDP_QN_SEND];
	struct hyb_ooo *o = qp->ooo;

	/* the first Send may be the ready-to-receive message, which takes no receive */
	if (!qp->rx.pos && qp->rx.rtr_send)
		return NULL;
	if (qp->rx.active && !ahead--)
		return &qp->rx.rqe;
	if (qp->srq || ahead >= HYB_OOO_RECVS)
		return NULL;
	if (!o->rqe)
		o->rqe = kmalloc_array(HYB_OOO_RECVS, sizeof(*o->rqe),
				       GFP_ATOMIC | __GFP_NOWARN);
	if (!o->rqe)
		return NULL;
	while (o->rqe_put - o->rqe_get <= ahead) {
		if (hyb_rq_get(qp, &o->rqe[o->rqe_put % HYB_OOO_RECVS],
			       U32_MAX) <= 0)
			return NULL;
		o->rqe_put++;
	}
	return &o->rqe[(o->rqe_get + ahead) % HYB_OOO_RECVS];
}

/* Does the segment fit into the receive, after what was delivered of its message? */
static bool hyb_ooo_fits(struct hyb_qp *qp, const struct hyb_ooo_fpdu *f)
{
	u64 room = 0;
	u32 i;

	if (f->rqe == &qp->rx.rqe && f->h->mo < qp->rx.done)
		return false;
	for (i = 0; i < f->rqe->num_sge; i++)
		room += f->rqe->sge[i].length;
	return room <= U32_MAX && (u64)f->h->mo + f->h->payload <= room;
}

/* Where does the payload go? Else why it is deferred */
static enum ooo_why hyb_ooo_target(struct hyb_qp *qp, struct hyb_ooo_fpdu *f)
{
	const struct hyb_orq_entry *orq;
	enum hyb_mem_err err;
	u32 op = RDMAP_OP(f->h->rdmap);

	if (rdmap_is_send(op)) {
		f->rqe = hyb_ooo_rqe(qp, f->h->msn);
		if (!f->rqe)
			return OOO_RECV;
		return hyb_ooo_fits(qp, f) ? OOO_NOW : OOO_BAD;
	}
	if (op != RDMAP_WRITE && op != RDMAP_READ_RESP)
		return OOO_ORDER;
	if (!f->h->payload)
		return OOO_NOW;
	if (op == RDMAP_READ_RESP) {
		orq = hyb_ooo_read(qp, f->h);
		if (!orq)
			return OOO_STAG;
		f->mem = orq->mem;
		if (f->mem)
			refcount_inc(&f->mem->ref);
		return OOO_NOW;
	}
	if (!hyb_qp_grants(qp, IB_ACCESS_REMOTE_WRITE))
		return OOO_STAG;
	f->mem = hyb_mem_get(qp->ibqp.pd, f->h->stag, f->h->to, f->h->payload,
			     IB_ACCESS_REMOTE_WRITE, &err);
	return f->mem ? OOO_NOW : OOO_STAG;
}

/* ------------------------------------------------------ CRC, placement */

struct hyb_ooo_sum {
	struct mpa_walk walk;
	bool kernel;
	u32 crc;
};

/* Checksum, and markers on the way */
static bool hyb_ooo_sum_fn(void *arg, const u8 *p, u32 n)
{
	struct hyb_ooo_sum *s = arg;
	const u8 *data;
	u32 i, k;

	s->crc = iwarp_crc32c_by(s->kernel, s->crc, p, n);
	for (i = 0; i < n;)
		i += mpa_walk_next(&s->walk, p + i, n - i, &data, &k);
	return true;
}

static bool hyb_ooo_verify(struct hyb_ooo_run *run, const struct ooo_fpdu *f)
{
	u32 len = f->total - MPA_CRC_SIZE;
	struct hyb_ooo_sum s = {
		.crc = ~0,
		.kernel = run->qp->rx.crc_kernel,
	};
	u8 field[MPA_CRC_SIZE];

	mpa_walk_begin(&s.walk, f->pos, run->qp->rx.ivl);
	if (!hyb_ooo_each(run, f->pos, len, hyb_ooo_sum_fn, &s) ||
	    !hyb_ooo_copy(run, f->pos + len, field, sizeof(field)))
		return false;
	hyb_qp_count(run->qp, HYB_ST_RX_CRC_BYTES, len);
	return mpa_get_crc(field) == s.crc && !s.walk.bad;
}

/* Copy into a receive's buffers, from offset @off of them on */
static bool hyb_ooo_scatter(struct hyb_qp *qp, const struct siw_rqe *rqe,
			    u32 off, const u8 *p, u32 n)
{
	const struct siw_sge *sge;
	enum hyb_mem_err err;
	struct hyb_mem *mem;
	u32 len;

	for (sge = rqe->sge; n; sge++, off = 0) {
		while (off >= sge->length)
			off -= sge++->length;
		len = min(n, sge->length - off);
		if (!qp->user && !sge->lkey) {
			memcpy((void *)(uintptr_t)(sge->laddr + off), p, len);
		} else {
			mem = hyb_mem_get(qp->ibqp.pd, sge->lkey,
					  sge->laddr + off, len,
					  IB_ACCESS_LOCAL_WRITE, &err);
			if (!mem)
				return false;
			err = hyb_mem_write(mem, sge->lkey, sge->laddr + off,
					    p, len);
			hyb_mem_put(mem);
			if (err)
				return false;
		}
		p += len;
		n -= len;
	}
	return true;
}

struct hyb_ooo_place {
	struct hyb_qp *qp;
	struct hyb_ooo_fpdu *f;
	struct mpa_walk walk;
	u32 skip;	/* bytes of the body before the payload */
	u32 done;	/* bytes placed */
};

static bool hyb_ooo_put(struct hyb_ooo_place *pl, const u8 *p, u32 n)
{
	struct hyb_ooo_fpdu *f = pl->f;
	u64 to = f->h->to + pl->done;

	f->copies++;
	if (f->rqe)
		return hyb_ooo_scatter(pl->qp, f->rqe, f->h->mo + pl->done, p,
				       n);
	if (f->mem)
		return !hyb_mem_write(f->mem, f->h->stag, to, p, n);
	memcpy((void *)(uintptr_t)to, p, n);
	return true;
}

/* Take out markers and headers, place what is left up to the PAD */
static bool hyb_ooo_place_fn(void *arg, const u8 *p, u32 n)
{
	struct hyb_ooo_place *pl = arg;
	const u8 *data;
	u32 i, k, skip;

	for (i = 0; i < n;) {
		i += mpa_walk_next(&pl->walk, p + i, n - i, &data, &k);
		skip = min(k, pl->skip);
		pl->skip -= skip;
		k = min(k - skip, pl->f->h->payload - pl->done);
		if (!k)
			continue;
		if (!hyb_ooo_put(pl, data + skip, k))
			return false;
		pl->done += k;
	}
	return true;
}

static bool hyb_ooo_place(struct hyb_ooo_run *run, struct hyb_ooo_fpdu *f)
{
	struct hyb_ooo_place pl = {
		.qp = run->qp,
		.f = f,
		.skip = MPA_LEN_SIZE + f->h->hdr_len,
	};
	bool good;

	if (!f->h->payload)
		return true;
	mpa_walk_begin(&pl.walk, f->fpdu->pos, run->qp->rx.ivl);
	good = hyb_ooo_each(run, f->fpdu->pos, f->fpdu->total - MPA_CRC_SIZE,
			    hyb_ooo_place_fn, &pl);
	hyb_qp_count(run->qp, HYB_ST_RX_COPIES, f->copies);
	hyb_qp_count(run->qp, HYB_ST_RX_COPY_BYTES, pl.done);
	return good;
}

/* ---------------------------------------------------------------- walks */

static bool hyb_ooo_copy_walk(struct ooo_walk *w, u64 pos, u8 *dst, u32 len)
{
	return hyb_ooo_copy(hyb_ooo_run(w), pos, dst, len);
}

static enum ooo_why hyb_ooo_take(struct ooo_walk *w, const struct ooo_fpdu *fpdu)
{
	struct hyb_ooo_run *run = hyb_ooo_run(w);
	struct hyb_ooo_fpdu f = { .fpdu = fpdu, .h = &fpdu->h };
	struct hyb_qp *qp = run->qp;
	enum ooo_why why;

	why = hyb_ooo_target(qp, &f);
	/* a deferred FPDU is checked when it is in order, and only then */
	if (why == OOO_NOW && !hyb_ooo_verify(run, fpdu))
		why = OOO_BAD;
	if (why == OOO_NOW && !hyb_ooo_place(run, &f))
		why = OOO_STAG;
	if (f.mem)
		hyb_mem_put(f.mem);
	if (why == OOO_NOW) {
		hyb_qp_count(qp, HYB_ST_OOO_FPDUS, 1);
		hyb_stats_add(qp->dev, HYB_ST_OOO_BYTES, fpdu->h.payload);
	}
	return why;
}

static const struct ooo_ops hyb_ooo_ops = {
	.copy = hyb_ooo_copy_walk,
	.take = hyb_ooo_take,
	.defer = hyb_ooo_defer,
};

static void hyb_ooo_drop_table(struct hyb_ooo *o)
{
	if (o->tab)
		free_pages_exact(o->tab, sizeof(*o->tab));
	o->tab = NULL;
}

/*
 * The table is there while TCP has something out of order. It has whole pages,
 * since the allocator of smaller things would round it up to 16 KiB.
 */
static bool hyb_ooo_table(struct hyb_ooo *o)
{
	if (!o->tab) {
		o->tab = alloc_pages_exact(sizeof(*o->tab),
					   GFP_ATOMIC | __GFP_NOWARN);
		if (!o->tab)
			return false;
		o->tab->first = 0;
		o->tab->nr = 0;
	}
	return true;
}

/**
 * hyb_ooo_look - place what has arrived out of order
 * @qp: attached queue pair
 *
 * Looks at what the SACK blocks name and no look before has seen.
 *
 * Context: spinlock of the TCP socket held. Does not call into TCP.
 */
void hyb_ooo_look(struct hyb_qp *qp)
{
	struct sock *sk = qp->tcp.sk;
	struct tcp_sock *tp = tcp_sk(sk);
	struct hyb_ooo *o = qp->ooo;
	const struct tcp_sack_block *sack;
	struct hyb_ooo_run run = {
		.w = { .ops = &hyb_ooo_ops, .ivl = qp->rx.ivl },
		.qp = qp,
		.sk = sk,
	};
	u32 arrived;
	u64 pos;
	int i;

	lockdep_assert_held(&sk->sk_lock.slock);
	arrived = tp->rcv_ooopack - o->seen;
	if (!arrived)
		return;
	o->seen = tp->rcv_ooopack;
	hyb_qp_count(qp, HYB_ST_OOO_SEGMENTS, arrived);
	if (qp->rx.stopped || hyb_qp_state(qp) == HYB_QP_ERROR)
		return;
	/* a shared link that was opened meanwhile gets packets in order */
	if (qp->shared)
		return;
	hyb_stats_inc(qp->dev, HYB_ST_OOO_LOOKS);
	if (RB_EMPTY_ROOT(&tp->out_of_order_queue))
		return;
	if (!hyb_ooo_table(o)) {
		hyb_ooo_count(qp, OOO_LIMIT);
		return;
	}
	run.w.table = o->tab;
	run.base = tp->copied_seq - (u32)qp->rx.pos;
	for (i = 0; i < tp->rx_opt.num_sacks; i++) {
		sack = &tp->selective_acks[i];
		if (!after(sack->start_seq, tp->rcv_nxt))
			continue;
		pos = qp->rx.pos + (u32)(sack->start_seq - tp->copied_seq);
		run.w.end = pos + (u32)(sack->end_seq - sack->start_seq);
		run.skb = NULL;
		ooo_walk_run(&run.w, pos);
	}
}

/* ----------------------------------------------------------- in order */

/**
 * hyb_ooo_due - was what comes next placed already?
 * @qp: queue pair with out-of-order placement
 *
 * Context: TCP socket held. Called by the receive engine for every FPDU, and to release
 * the table.
 * Return: the range that begins at the receive engine's position, or NULL.
 * hyb_ooo_account() must follow when it is consumed, in whole or in part.
 */
const struct ooo_range *hyb_ooo_due(struct hyb_qp *qp)
{
	struct hyb_ooo *o = qp->ooo;
	struct ooo_range *r;

	if (!o->tab)
		return NULL;
	while ((r = ooo_at(o->tab, 0)) && !r->placed && r->pos <= qp->rx.pos)
		ooo_advance(o->tab, r->len);
	if (r)
		return r->placed && r->pos == qp->rx.pos ? r : NULL;
	/* until something is out of order again */
	hyb_ooo_drop_table(o);
	return NULL;
}

/**
 * hyb_ooo_account - bytes that were placed early have had their turn
 * @qp: queue pair
 * @len: bytes at the beginning of the range that hyb_ooo_due() returned
 *
 * Context: TCP socket held.
 */
void hyb_ooo_account(struct hyb_qp *qp, u32 len)
{
	hyb_stats_add(qp->dev, HYB_ST_OOO_DONE, len);
	ooo_advance(qp->ooo->tab, len);
}

/**
 * hyb_ooo_cross - does an FPDU reach into one that was placed?
 * @qp: queue pair with out-of-order placement
 * @len: bytes of the FPDU at the receive engine's position
 *
 * In that case a marker or a length of the peer was wrong, since both walks
 * must find the same FPDUs.
 *
 * Context: TCP socket held.
 * Return: 0 or TERM_MPA_MARKER.
 */
u32 hyb_ooo_cross(struct hyb_qp *qp, u32 len)
{
	const struct ooo_range *r;
	struct hyb_ooo *o = qp->ooo;
	u32 i;

	for (i = 0; o->tab; i++) {
		r = ooo_at(o->tab, i);
		if (!r || r->pos >= qp->rx.pos + len)
			break;
		if (r->placed)
			return TERM_MPA_MARKER;
	}
	return 0;
}

/**
 * hyb_ooo_early - have receives been taken from the queue out of order?
 * @qp: queue pair
 *
 * If not, no Send was placed early.
 *
 * Context: TCP socket held.
 */
bool hyb_ooo_early(const struct hyb_qp *qp)
{
	return qp->ooo && qp->ooo->rqe_get != qp->ooo->rqe_put;
}

/**
 * hyb_ooo_recv - the next receive, if it was taken early
 * @qp: queue pair with out-of-order placement
 * @rqe: private copy of it
 *
 * Context: TCP socket held.
 * Return: 1, or 0 if the queue has it.
 */
int hyb_ooo_recv(struct hyb_qp *qp, struct siw_rqe *rqe)
{
	struct hyb_ooo *o = qp->ooo;

	if (o->rqe_get == o->rqe_put)
		return 0;
	*rqe = o->rqe[o->rqe_get++ % HYB_OOO_RECVS];
	return 1;
}

/* -------------------------------------------------------- life of a QP */

/**
 * hyb_ooo_sent - a packet has left
 * @sk: TCP socket
 *
 * The engine walks the out-of-order queue only after that: the walk does not delay the ACK.
 *
 * Context: TCP socket held.
 */
void hyb_ooo_sent(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;

	/* hyb_tcp_start() and hyb_tcp_detach() change cep->live under the lock held here */
	if (cep && cep->live && cep->live->ooo &&
	    cep->live->ooo->seen != tcp_sk(sk)->rcv_ooopack)
		hyb_sched_look(sk, cep->live);
}

/**
 * hyb_ooo_attach - place out of order from now on, where that can be done
 * @qp: queue pair that enters full operation, hyb_rx_init() was called
 * @sk: its TCP socket, which hyb_xmit knows
 *
 * It requires markers, to find FPDUs, and a CRC, to verify them. The shared
 * link takes packets in order by reference and gains nothing.
 *
 * Context: process, the caller owns the TCP socket (lock_sock).
 */
void hyb_ooo_attach(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_ooo *o;

	if (!READ_ONCE(qp->dev->ooo) || !qp->rx.ivl || !qp->rx.crc ||
	    qp->shared || qp->ooo)
		return;
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return;
	o->seen = tcp_sk(sk)->rcv_ooopack;
	o->partial = U64_MAX;
	o->no_mark = U64_MAX;
	WRITE_ONCE(qp->ooo, o);
}

/**
 * hyb_ooo_abandon - forget all of it, flush receives that were taken early
 * @qp: detached queue pair, whose active receive was flushed already
 *
 * Context: any.
 */
void hyb_ooo_abandon(struct hyb_qp *qp)
{
	struct hyb_ooo *o = qp->ooo;

	if (!o)
		return;
	for (; o->rqe_get != o->rqe_put; o->rqe_get++)
		hyb_rq_complete(qp, &o->rqe[o->rqe_get % HYB_OOO_RECVS], 0, 0,
				false, SIW_WC_WR_FLUSH_ERR);
	kfree(o->rqe);
	o->rqe = NULL;
	hyb_ooo_drop_table(o);
}

/**
 * hyb_ooo_trim - release memory in which nothing is remembered
 * @qp: attached queue pair that has been idle for a while
 *
 * Context: spinlock of the TCP socket held.
 */
void hyb_ooo_trim(struct hyb_qp *qp)
{
	struct hyb_ooo *o = qp->ooo;

	if (!o)
		return;
	hyb_ooo_due(qp);
	if (o->rqe_get == o->rqe_put) {
		kfree(o->rqe);
		o->rqe = NULL;
	}
}

/* Bytes that it takes. Context: spinlock of the TCP socket held. */
u32 hyb_ooo_memory(const struct hyb_qp *qp)
{
	const struct hyb_ooo *o = qp->ooo;

	if (!o)
		return 0;
	return kmalloc_size_roundup(sizeof(*o)) +
	       (o->tab ? PAGE_ALIGN(sizeof(*o->tab)) : 0) +
	       (o->rqe ? kmalloc_size_roundup(HYB_OOO_RECVS * sizeof(*o->rqe)) :
			 0);
}

/* The last reference of the queue pair is gone */
void hyb_ooo_free(struct hyb_qp *qp)
{
	kfree(qp->ooo);
	qp->ooo = NULL;
}
