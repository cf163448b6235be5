// SPDX-License-Identifier: GPL-2.0
/*
 * stack_mock.ko, shared link: messages that are committed are queued. A work item
 * hands them over as far as the window allows, and delivers them to the other end
 * by reference.
 *
 * One lock for both ends plays the part of the transport lock: callbacks run
 * under it, bottom halves off. Positions count bytes of header and payload,
 * and MOCK_FRAME more for each message.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "mock.h"

#define MOCK_FRAME	8
#define MOCK_SEG	508	/* bytes between two gaps */
#define MOCK_GAP	RDMA_STACK_GAP
#define MOCK_PAGES	8	/* of one reservation */
#define MOCK_PAGE_SEGS	(4096 / (MOCK_SEG + MOCK_GAP))
#define MOCK_WINDOW	65536
#define MOCK_ROOM	(1024 * 1024)

/* Data of one reservation */
struct mock_chunk {
	struct list_head node;
	struct page *page[MOCK_PAGES];
	struct kvec seg[MOCK_PAGES * MOCK_PAGE_SEGS];
	struct rdma_stack_seg room[MOCK_PAGES];
	u32 nr;
	u32 len;
};

struct mock_msg {
	struct list_head node;
	struct list_head chunks;
	u8 hdr[RDMA_STACK_TX_HDR];
	u32 hdr_len;
	u32 len;		/* of payload */
	u64 end;		/* position after it */
	bool started;		/* handed over */
	bool closed;		/* for appending */
	bool solicited;
	/* progress of delivery */
	u32 done;
	struct mock_chunk *chunk;
	u32 seg, seg_off;
};

struct mock_pair;

struct mock_qp {
	struct ib_qp qp;
	struct mock_pair *pair;
	struct mock_qp *peer;
	bool up;
	/* sending */
	struct list_head queue;
	u64 laid, sent, acked;	/* positions: committed, handed over, delivered */
	bool hold;		/* the last commit had RDMA_STACK_TX_MORE */
	bool fail;		/* reservations get no memory */
	struct mock_chunk *resv;
	struct mock_msg *resv_msg;
	bool resv_append;
	bool want_room, want_ack;
	u64 want_pos;
	/* receiving */
	const struct rdma_stack_ulp *ulp;
	void *ctx;
	bool begun;		/* rx_begin has found memory */
	bool deaf;		/* closed: messages are dropped */
	bool paused;
	bool told;		/* the end was reported, if there was a consumer */
	u32 mss;
};

struct mock_pair {
	spinlock_t lock;	/* protects both ends; acked, sent may be read without */
	struct work_struct work;
	struct mock_qp end[2];
};

static struct mock_qp *mock_of(struct ib_qp *qp)
{
	return container_of(qp, struct mock_qp, qp);
}

/* --------------------------------------------------------------------- memory */

static void mock_chunk_free(struct mock_chunk *c)
{
	int i;

	for (i = 0; c && i < MOCK_PAGES; i++)
		if (c->page[i])
			put_page(c->page[i]);
	kfree(c);
}

/* Describe a chunk to the upper layer: pages with gaps in them. Return: number of pages. */
static u32 mock_chunk_lend(struct mock_chunk *c)
{
	struct rdma_stack_seg *room;
	u32 i;

	for (i = 0; i < c->nr; i++) {
		room = &c->room[i / MOCK_PAGE_SEGS];
		if (i % MOCK_PAGE_SEGS == 0)
			room->data = c->seg[i].iov_base;
		else
			room->gaps.head = MOCK_SEG;
		room->gaps.step = MOCK_SEG;
		room->len += c->seg[i].iov_len;
	}
	return DIV_ROUND_UP(c->nr, MOCK_PAGE_SEGS);
}

/* Segments with gaps between them, as if headers and markers went there */
static struct mock_chunk *mock_chunk_alloc(u32 want)
{
	struct mock_chunk *c = kzalloc(sizeof(*c), GFP_ATOMIC);
	u32 i, p, off;

	if (!c)
		return NULL;
	for (i = 0; c->len < want && i < ARRAY_SIZE(c->seg); i++) {
		p = i / MOCK_PAGE_SEGS;
		off = i % MOCK_PAGE_SEGS * (MOCK_SEG + MOCK_GAP);
		if (!c->page[p])
			c->page[p] = alloc_page(GFP_ATOMIC);
		if (!c->page[p]) {
			mock_chunk_free(c);
			return NULL;
		}
		c->seg[i].iov_base = page_address(c->page[p]) + off;
		c->seg[i].iov_len = min_t(u32, MOCK_SEG, want - c->len);
		c->len += c->seg[i].iov_len;
		c->nr++;
	}
	return c;
}

static void mock_chunk_cut(struct mock_chunk *c, u32 used)
{
	u32 i, sum = 0;

	for (i = 0; i < c->nr && sum < used; i++) {
		c->seg[i].iov_len = min_t(u32, c->seg[i].iov_len, used - sum);
		sum += c->seg[i].iov_len;
	}
	c->nr = i;
	c->len = sum;
}

static void mock_msg_free(struct mock_msg *msg)
{
	struct mock_chunk *c, *next;

	if (!msg)
		return;
	list_for_each_entry_safe(c, next, &msg->chunks, node)
		mock_chunk_free(c);
	kfree(msg);
}

/* ------------------------------------------------------------------- delivery */

/* Take the next segment if it is in the same page, after a gap. Return: its bytes, at most @max. */
static u32 mock_more(struct mock_msg *msg, const struct page *page, u32 max)
{
	const struct kvec *seg;
	u32 n;

	if (!max || msg->seg == msg->chunk->nr)
		return 0;
	seg = &msg->chunk->seg[msg->seg];
	if (virt_to_page(seg->iov_base) != page)
		return 0;
	n = min_t(u32, max, seg->iov_len);
	msg->seg_off = n == seg->iov_len ? 0 : n;
	msg->seg += n == seg->iov_len;
	msg->done += n;
	return n;
}

/* Take the next piece of a message, to the end of the page. False: none is left. */
static bool mock_next_run(struct mock_msg *msg, struct rdma_stack_run *run,
			  u32 max)
{
	struct kvec *seg;
	u32 n;

	memset(run, 0, sizeof(*run));
	if (msg->done < msg->hdr_len) {
		/* Slab memory may not be referenced */
		run->data = msg->hdr + msg->done;
		run->len = min(max, msg->hdr_len - msg->done);
		msg->done += run->len;
		return true;
	}
	while (!msg->chunk || msg->seg == msg->chunk->nr) {
		if (msg->done == msg->hdr_len + msg->len)
			return false;
		msg->chunk = msg->chunk ? list_next_entry(msg->chunk, node) :
			     list_first_entry(&msg->chunks, struct mock_chunk,
					      node);
		msg->seg = 0;
	}
	seg = &msg->chunk->seg[msg->seg];
	run->data = seg->iov_base + msg->seg_off;
	run->page = virt_to_page(run->data);
	run->off = offset_in_page(run->data);
	run->len = min_t(u32, max, seg->iov_len - msg->seg_off);
	msg->done += run->len;
	msg->seg_off += run->len;
	if (msg->seg_off == seg->iov_len) {
		msg->seg_off = 0;
		msg->seg++;
		run->gaps.step = MOCK_SEG;
		while ((n = mock_more(msg, run->page, max - run->len))) {
			run->gaps.head = run->gaps.head ?: run->len;
			run->len += n;
		}
	}
	return true;
}

/* Deliver at most @mss bytes of a message by one call, as if they were a segment */
static int mock_deliver_part(struct mock_qp *dst, struct mock_msg *msg)
{
	struct rdma_stack_run run[RDMA_STACK_RUNS];
	struct rdma_stack_rx rx = {
		.run = run,
		.msg_off = msg->done,
	};

	while (rx.nr < ARRAY_SIZE(run) && rx.len < dst->mss &&
	       mock_next_run(msg, &run[rx.nr], dst->mss - rx.len))
		rx.len += run[rx.nr++].len;
	rx.truesize = rx.nr * PAGE_SIZE;
	rx.last = msg->done == msg->hdr_len + msg->len;
	rx.solicited = rx.last && msg->solicited;
	return dst->ulp->rx(dst->ctx, &rx);
}

static void mock_end(struct mock_pair *pair, int err)
{
	struct mock_qp *q;

	lockdep_assert_held(&pair->lock);
	for (q = pair->end; q < pair->end + 2; q++) {
		q->up = false;
		if (!q->told && q->ulp)
			q->ulp->closed(q->ctx, err);
		q->told = true;
	}
}

/* False without memory for a message: the work item runs again, and asks again */
static bool mock_has_memory(struct mock_qp *dst)
{
	if (!dst->begun && dst->ulp->rx_begin && !dst->ulp->rx_begin(dst->ctx)) {
		schedule_work(&dst->pair->work);
		return false;
	}
	dst->begun = true;
	return true;
}

/* False if the connection has ended, or if the receiver is not open, is paused or has no memory */
static bool mock_deliver_msg(struct mock_qp *dst, struct mock_msg *msg)
{
	int rc;

	while (!dst->deaf && msg->done < msg->hdr_len + msg->len) {
		if (!dst->ulp || dst->paused || !mock_has_memory(dst))
			return false;
		rc = mock_deliver_part(dst, msg);
		if (rc < 0) {
			mock_end(dst->pair, rc);
			return false;
		}
		dst->paused = rc == RDMA_STACK_RX_PAUSE;
	}
	return true;
}

/* Not during a reservation: an append may still move the end of a message; nor before more data */
static void mock_hand_over(struct mock_qp *src)
{
	struct mock_msg *msg;

	if (src->resv || src->hold)
		return;
	list_for_each_entry(msg, &src->queue, node) {
		if (src->sent - src->acked >= MOCK_WINDOW)
			break;
		if (msg->started)
			continue;
		msg->started = true;
		WRITE_ONCE(src->sent, msg->end);
	}
}

static void mock_tell_space(struct mock_qp *q)
{
	bool ack = q->want_ack && q->acked >= q->want_pos;
	bool room = q->want_room && q->laid - q->acked < MOCK_ROOM;

	if (!ack && !room)
		return;
	q->want_ack = q->want_ack && !ack;
	q->want_room = q->want_room && !room;
	if (q->ulp && q->up)
		q->ulp->tx_space(q->ctx);
}

static void mock_run(struct mock_qp *src)
{
	struct mock_qp *dst = src->peer;
	struct mock_msg *msg;
	bool any = false;

	while (src->up) {
		mock_hand_over(src);
		msg = list_first_entry_or_null(&src->queue, struct mock_msg,
					       node);
		if (!msg || !msg->started)
			break;
		any = true;
		if (!mock_deliver_msg(dst, msg))
			break;
		list_del(&msg->node);
		WRITE_ONCE(src->acked, msg->end);
		mock_msg_free(msg);
	}
	if (any && dst->ulp && !dst->told)
		dst->ulp->rx_done(dst->ctx);
	mock_tell_space(src);
}

static void mock_work(struct work_struct *work)
{
	struct mock_pair *pair = container_of(work, struct mock_pair, work);

	spin_lock_bh(&pair->lock);
	mock_run(&pair->end[0]);
	mock_run(&pair->end[1]);
	spin_unlock_bh(&pair->lock);
}

static void mock_kick(struct mock_qp *q)
{
	schedule_work(&q->pair->work);
}

/* ----------------------------------------------------------------- operations */

static int mock_open(struct ib_qp *qp, const struct rdma_stack_ulp *ulp,
		     void *ctx)
{
	struct mock_qp *q = mock_of(qp);
	int err = 0;

	spin_lock_bh(&q->pair->lock);
	if (q->ulp || q->deaf) {
		err = -EBUSY;
	} else if (q->told) {
		err = -ENOTCONN;
	} else {
		q->ulp = ulp;
		q->ctx = ctx;
	}
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
	return err;
}

static void mock_close(struct ib_qp *qp)
{
	struct mock_qp *q = mock_of(qp);

	/* Callbacks run under the lock */
	spin_lock_bh(&q->pair->lock);
	q->ulp = NULL;
	q->deaf = true;
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
}

static int mock_may_send(struct mock_qp *q)
{
	if (!q->up)
		return q->told ? -EPIPE : -ENOTCONN;
	if (q->resv || q->resv_msg)
		return -EBUSY;
	return 0;
}

static int mock_begin(struct mock_qp *q, u32 want, struct mock_msg *msg,
		      bool append, struct rdma_stack_tx *tx)
{
	struct mock_chunk *c = q->fail ? NULL : mock_chunk_alloc(want);

	if (!c)
		return -ENOMEM;
	q->resv = c;
	q->resv_msg = msg;
	q->resv_append = append;
	memset(tx, 0, sizeof(*tx));
	tx->seg = c->room;
	tx->nr = mock_chunk_lend(c);
	tx->len = c->len;
	tx->msg_len = msg->len;
	return 0;
}

/* tx_space follows when messages are delivered, so none may be delayed */
static int mock_no_room(struct mock_qp *q)
{
	q->want_room = true;
	q->hold = false;
	mock_kick(q);
	return -EAGAIN;
}

static int mock_reserve_locked(struct mock_qp *q, u32 want, u32 hdr_len,
			       struct rdma_stack_tx *tx)
{
	struct mock_msg *msg;
	int err = mock_may_send(q);

	if (err)
		return err;
	if (q->laid - q->acked >= MOCK_ROOM)
		return mock_no_room(q);
	msg = kzalloc(sizeof(*msg), GFP_ATOMIC);
	if (!msg)
		return -ENOMEM;
	INIT_LIST_HEAD(&msg->chunks);
	msg->hdr_len = hdr_len;
	err = mock_begin(q, want, msg, false, tx);
	if (err)
		kfree(msg);
	return err;
}

static int mock_tx_reserve(struct ib_qp *qp, u32 want, u32 hdr_len,
			   struct rdma_stack_tx *tx)
{
	struct mock_qp *q = mock_of(qp);
	int err;

	if (!hdr_len || hdr_len > RDMA_STACK_TX_HDR)
		return -EINVAL;
	spin_lock_bh(&q->pair->lock);
	err = mock_reserve_locked(q, want, hdr_len, tx);
	spin_unlock_bh(&q->pair->lock);
	return err;
}

static int mock_append_locked(struct mock_qp *q, u32 want, u32 max,
			      struct rdma_stack_tx *tx)
{
	struct mock_msg *msg;
	int err = mock_may_send(q);

	if (err)
		return err;
	msg = list_empty(&q->queue) ? NULL :
	      list_last_entry(&q->queue, struct mock_msg, node);
	if (!msg || msg->started || msg->closed ||
	    (want && msg->len >= max))
		return -ENOENT;
	if (want && q->laid - q->acked >= MOCK_ROOM)
		return mock_no_room(q);
	return mock_begin(q, want ? min(want, max - msg->len) : 0, msg, true,
			  tx);
}

static int mock_tx_append(struct ib_qp *qp, u32 want, u32 max,
			  struct rdma_stack_tx *tx)
{
	struct mock_qp *q = mock_of(qp);
	int err;

	spin_lock_bh(&q->pair->lock);
	err = mock_append_locked(q, want, max, tx);
	spin_unlock_bh(&q->pair->lock);
	return err;
}

/* End the reservation; messages that it delayed may be handed over */
static void mock_finish(struct mock_qp *q)
{
	q->resv = NULL;
	q->resv_msg = NULL;
}

static void mock_commit_locked(struct mock_qp *q, u32 used, const void *hdr,
			       unsigned int flags)
{
	struct mock_msg *msg = q->resv_msg;

	mock_chunk_cut(q->resv, used);
	memcpy(msg->hdr, hdr, msg->hdr_len);
	list_add_tail(&q->resv->node, &msg->chunks);
	msg->len += q->resv->len;
	if (!q->resv_append) {
		q->laid += MOCK_FRAME + msg->hdr_len;
		list_add_tail(&msg->node, &q->queue);
	}
	q->laid += q->resv->len;
	msg->end = q->laid;
	msg->solicited |= !!(flags & RDMA_STACK_TX_SOLICITED);
	msg->closed |= !!(flags & RDMA_STACK_TX_CLOSE);
	q->hold = flags & RDMA_STACK_TX_MORE;
	mock_finish(q);
}

static void mock_tx_commit(struct ib_qp *qp, struct rdma_stack_tx *tx, u32 used,
			   const void *hdr, unsigned int flags)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	if (!WARN_ON_ONCE(!q->resv || tx->seg != q->resv->room)) {
		mock_commit_locked(q, used, hdr, flags);
		tx->end = q->laid;
	}
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
}

static void mock_tx_abort(struct ib_qp *qp, struct rdma_stack_tx *tx)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	if (!WARN_ON_ONCE(!q->resv || tx->seg != q->resv->room)) {
		mock_chunk_free(q->resv);
		if (!q->resv_append)
			mock_msg_free(q->resv_msg);
		mock_finish(q);
	}
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
}

static u64 mock_tx_acked(struct ib_qp *qp)
{
	return READ_ONCE(mock_of(qp)->acked);
}

static u64 mock_tx_sent(struct ib_qp *qp)
{
	return READ_ONCE(mock_of(qp)->sent);
}

static bool mock_tx_notify(struct ib_qp *qp, u64 pos)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	q->want_pos = pos;
	q->want_ack = q->acked < pos;
	spin_unlock_bh(&q->pair->lock);
	return q->want_ack;
}

static void mock_rx_resume(struct ib_qp *qp)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	q->paused = false;
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
}

static void mock_rx_buffer(struct ib_qp *qp, u32 bytes)
{
}

const struct rdma_stack_link mock_link = {
	.open = mock_open,
	.close = mock_close,
	.tx_reserve = mock_tx_reserve,
	.tx_append = mock_tx_append,
	.tx_commit = mock_tx_commit,
	.tx_abort = mock_tx_abort,
	.tx_acked = mock_tx_acked,
	.tx_sent = mock_tx_sent,
	.tx_notify = mock_tx_notify,
	.rx_resume = mock_rx_resume,
	.rx_buffer = mock_rx_buffer,
};
EXPORT_SYMBOL_GPL(mock_link);

/* ---------------------------------------------------------------- queue pairs */

/**
 * mock_pair() - make two queue pairs that are connected, but not in full operation
 * @dev: their device
 * @qp: filled in
 *
 * Return: 0 or -ENOMEM.
 */
int mock_pair(struct ib_device *dev, struct ib_qp *qp[2])
{
	struct mock_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);
	int i;

	if (!pair)
		return -ENOMEM;
	spin_lock_init(&pair->lock);
	INIT_WORK(&pair->work, mock_work);
	for (i = 0; i < 2; i++) {
		pair->end[i].pair = pair;
		pair->end[i].peer = &pair->end[!i];
		pair->end[i].qp.device = dev;
		pair->end[i].qp.qp_num = 1 + i;
		pair->end[i].mss = 1448;
		INIT_LIST_HEAD(&pair->end[i].queue);
		qp[i] = &pair->end[i].qp;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(mock_pair);

/**
 * mock_pair_free() - undo mock_pair()
 * @qp: the two, closed; an open reservation is freed with them
 */
void mock_pair_free(struct ib_qp *qp[2])
{
	struct mock_pair *pair = mock_of(qp[0])->pair;
	struct mock_msg *msg, *next;
	int i;

	cancel_work_sync(&pair->work);
	for (i = 0; i < 2; i++) {
		struct mock_qp *q = &pair->end[i];

		WARN_ON(q->ulp);
		mock_chunk_free(q->resv);
		if (!q->resv_append)
			mock_msg_free(q->resv_msg);
		list_for_each_entry_safe(msg, next, &q->queue, node)
			mock_msg_free(msg);
	}
	kfree(pair);
}
EXPORT_SYMBOL_GPL(mock_pair_free);

/**
 * mock_up() - begin full operation of both ends
 * @qp: one of the two
 */
void mock_up(struct ib_qp *qp)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	q->up = true;
	q->peer->up = true;
	spin_unlock_bh(&q->pair->lock);
	mock_kick(q);
}
EXPORT_SYMBOL_GPL(mock_up);

/**
 * mock_down() - end the connection of both ends
 * @qp: one of the two
 * @err: error for closed()
 */
void mock_down(struct ib_qp *qp, int err)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	mock_end(q->pair, err);
	spin_unlock_bh(&q->pair->lock);
}
EXPORT_SYMBOL_GPL(mock_down);

/**
 * mock_set_mss() - set the size of the parts in which messages are delivered
 * @qp: receiver
 * @mss: bytes
 */
void mock_set_mss(struct ib_qp *qp, u32 mss)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	q->mss = mss;
	spin_unlock_bh(&q->pair->lock);
}
EXPORT_SYMBOL_GPL(mock_set_mss);

/**
 * mock_fail_alloc() - let reservations fail for lack of memory
 * @qp: sender
 * @fail: whether they fail from now on
 */
void mock_fail_alloc(struct ib_qp *qp, bool fail)
{
	struct mock_qp *q = mock_of(qp);

	spin_lock_bh(&q->pair->lock);
	q->fail = fail;
	spin_unlock_bh(&q->pair->lock);
}
EXPORT_SYMBOL_GPL(mock_fail_alloc);
