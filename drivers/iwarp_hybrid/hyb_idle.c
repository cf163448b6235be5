// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of queue pairs that is there only while it is needed. See hyb_idle.h.
 *
 * A connection of which nothing has been heard for a while may be one of
 * thousands. It keeps its queues and its state; the pages of its stream, rings
 * that have grown and tables go. What is needed again is allocated again, as at
 * the first use.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "hyb_idle.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_shared.h"
#include "hybrid.h"

/* Between two looks; who has not moved from one to the next is idle */
#define HYB_IDLE_PERIOD	(2 * HZ)

/*
 * A ring of Reads: @first is the one entry that a queue pair always has, @get and
 * @put are free running indices of the oldest entry and behind the newest.
 */
struct hyb_idle_ring {
	void *mem;
	void *first;
	u32 mask;
	u32 get;
	u32 put;
	size_t size;
};

/* In other memory; the entries keep their indices */
static void hyb_idle_move(struct hyb_idle_ring *r, void *new, u32 mask)
{
	u32 i;

	for (i = r->get; i != r->put; i++)
		memcpy(new + (i & mask) * r->size,
		       r->mem + (i & r->mask) * r->size, r->size);
	if (r->mem != r->first)
		kfree(r->mem);
	r->mem = new;
	r->mask = mask;
}

/* Room for one more entry; false without memory, then nothing has changed */
static bool hyb_idle_room(struct hyb_idle_ring *r)
{
	u32 n = r->mask + 1;
	void *new;

	if (r->put - r->get < n)
		return true;
	n = max_t(u32, 2 * n, HYB_IDLE_RING);
	new = kmalloc_array(n, r->size, GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return false;
	hyb_idle_move(r, new, n - 1);
	return true;
}

static struct hyb_idle_ring hyb_idle_orq(struct hyb_tx *tx)
{
	return (struct hyb_idle_ring) {
		.mem = tx->orq, .first = &tx->orq_first, .mask = tx->orq_mask,
		.get = tx->orq_get, .put = tx->orq_put, .size = sizeof(*tx->orq),
	};
}

static struct hyb_idle_ring hyb_idle_irq(struct hyb_tx *tx)
{
	return (struct hyb_idle_ring) {
		.mem = tx->irq, .first = &tx->irq_first, .mask = tx->irq_mask,
		.get = tx->irq_get, .put = tx->irq_put, .size = sizeof(*tx->irq),
	};
}

/**
 * hyb_idle_orq_room - make room for one more Read or atomic operation
 * @tx: transmit engine
 *
 * Context: TCP socket held.
 * Return: false without memory, but never if none is outstanding.
 */
bool hyb_idle_orq_room(struct hyb_tx *tx)
{
	struct hyb_idle_ring r = hyb_idle_orq(tx);

	hyb_tcp_assert_held(&container_of(tx, struct hyb_qp, tx)->tcp);
	if (!hyb_idle_room(&r))
		return false;
	tx->orq = r.mem;
	tx->orq_mask = r.mask;
	return true;
}

/**
 * hyb_idle_irq_room - make room for one more of the peer's
 * @tx: transmit engine
 *
 * Context: TCP socket held.
 * Return: false without memory, but never if none is to be answered.
 */
bool hyb_idle_irq_room(struct hyb_tx *tx)
{
	struct hyb_idle_ring r = hyb_idle_irq(tx);

	hyb_tcp_assert_held(&container_of(tx, struct hyb_qp, tx)->tcp);
	if (!hyb_idle_room(&r))
		return false;
	tx->irq = r.mem;
	tx->irq_mask = r.mask;
	return true;
}

/* Rings that have grown are not needed while they are empty */
static void hyb_idle_shrink(struct hyb_tx *tx)
{
	struct hyb_idle_ring orq = hyb_idle_orq(tx), irq = hyb_idle_irq(tx);

	if (orq.get == orq.put) {
		hyb_idle_move(&orq, orq.first, 0);
		tx->orq = orq.mem;
		tx->orq_mask = 0;
	}
	if (irq.get == irq.put) {
		hyb_idle_move(&irq, irq.first, 0);
		tx->irq = irq.mem;
		tx->irq_mask = 0;
	}
}

/* With the spinlock of the socket, which nobody owns */
static void hyb_idle_trim(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	/* records hold pages of the stream */
	hyb_off_trim(qp);
	if (hyb_stream_empty(&tx->s) && !tx->left.len &&
	    !hyb_shared_reserved(qp))
		hyb_stream_trim(&tx->s);
	hyb_sg_trim(&tx->sg);
	hyb_ooo_trim(qp);
	hyb_idle_shrink(tx);
}

/*
 * Positions are read without a lock: a connection that has just begun to move
 * is trimmed in vain once.
 */
static void hyb_idle_look(struct hyb_qp *qp)
{
	u64 sum = READ_ONCE(qp->tx.s.pos) + READ_ONCE(qp->rx.pos);
	struct sock *sk;

	if (sum != qp->idle_pos) {
		qp->idle_pos = sum;
		qp->idle = false;
		return;
	}
	if (qp->idle)
		return;
	sk = hyb_tcp_enter(qp);
	if (IS_ERR_OR_NULL(sk))
		return;
	if (!sock_owned_by_user(sk) && qp->tcp.attached) {
		hyb_idle_trim(qp);
		/* or next time, if it was not possible now */
		qp->idle = !hyb_stream_pages(&qp->tx.s);
	}
	hyb_tcp_leave(qp, sk, false);
}

static void hyb_idle_work(struct work_struct *work)
{
	struct hyb_dev *dev = container_of(to_delayed_work(work),
					   struct hyb_dev, idle);
	unsigned long qpn = 0;
	struct hyb_qp *qp;

	/* the entry found may go at once: it is looked up again, referenced */
	while (xa_find_after(&dev->qps, &qpn, ULONG_MAX, XA_PRESENT)) {
		qp = hyb_qp_lookup(dev, qpn);
		if (!qp)
			continue;
		hyb_idle_look(qp);
		hyb_qp_put(qp);
		cond_resched();
	}
	if (atomic_read(&dev->num_qp))
		hyb_idle_start(dev);
}

/* Of a new device */
void hyb_idle_init(struct hyb_dev *dev)
{
	/* no reason to wake up a processor that has nothing to do */
	INIT_DEFERRABLE_WORK(&dev->idle, hyb_idle_work);
}

/**
 * hyb_idle_start - look after queue pairs until there are none
 * @dev: device with queue pairs
 *
 * Context: any.
 */
void hyb_idle_start(struct hyb_dev *dev)
{
	queue_delayed_work(hyb_wq, &dev->idle, HYB_IDLE_PERIOD);
}

/* Of a device without queue pairs. Context: process, sleeps. */
void hyb_idle_stop(struct hyb_dev *dev)
{
	cancel_delayed_work_sync(&dev->idle);
}

/* ------------------------------------------------------------- how much */

/* As the allocator counts it */
static u32 hyb_idle_slab(size_t size)
{
	return roundup_pow_of_two(size);
}

static u32 hyb_idle_queue(const struct hyb_umap *umap, size_t size)
{
	return umap ? PAGE_ALIGN(size) + hyb_idle_slab(sizeof(*umap)) :
		      hyb_idle_slab(size);
}

static u32 hyb_idle_engines(struct hyb_qp *qp)
{
	const struct hyb_tx *tx = &qp->tx;
	u32 sum = hyb_stream_pages(&tx->s);

	if (tx->orq_mask)
		sum += hyb_idle_slab((tx->orq_mask + 1) * sizeof(*tx->orq));
	if (tx->irq_mask)
		sum += hyb_idle_slab((tx->irq_mask + 1) * sizeof(*tx->irq));
	if (tx->s.ring != tx->s.first)
		sum += hyb_idle_slab((tx->s.mask + 1) * sizeof(*tx->s.ring));
	return sum + hyb_sg_memory(&tx->sg) + hyb_ooo_memory(qp) +
	       hyb_off_memory(qp);
}

/**
 * hyb_idle_memory - octets that a queue pair takes
 * @qp: queue pair
 *
 * All that the driver allocates for it and its connection, but neither the TCP
 * socket nor what the core, the connection manager and sysfs keep.
 *
 * Context: process.
 * Return: octets.
 */
u32 hyb_idle_memory(struct hyb_qp *qp)
{
	u32 sum = hyb_idle_slab(sizeof(*qp));
	struct sock *sk = hyb_tcp_enter(qp);

	sum += hyb_idle_queue(qp->sq.umap,
			      (qp->sq.mask + 1) * sizeof(*qp->sq.ring));
	sum += hyb_idle_slab((qp->sq.mask + 1) * sizeof(*qp->sq.slot));
	if (qp->rq.ring)
		sum += hyb_idle_queue(qp->rq.umap, (qp->rq.mask + 1) *
						   sizeof(*qp->rq.ring));
	if (qp->shared)
		sum += hyb_idle_slab(sizeof(*qp->shared));
	if (IS_ERR_OR_NULL(sk))
		return sum;
	/* that has a cache of its own */
	sum += sizeof(struct hyb_cep) + hyb_idle_engines(qp);
	hyb_tcp_leave(qp, sk, false);
	return sum;
}
