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
#include "hyb_ooo.h"
#include "hyb_shared.h"
#include "hybrid.h"

/* Between two looks; who has not moved from one to the next is idle */
#define HYB_IDLE_PERIOD	(2 * HZ)

/**
 * hyb_idle_room - make room for one more entry of a ring
 * @ring: its memory, which may be replaced
 * @mask: its size - 1, a power of two
 * @get: free running index of the oldest entry
 * @put: free running index behind the newest
 * @size: octets of an entry
 *
 * Context: the ring is locked.
 * Return: false without memory; nothing has changed then.
 */
bool hyb_idle_room(void **ring, u32 *mask, u32 get, u32 put, size_t size)
{
	u32 n = *mask + 1;
	void *new;
	u32 i;

	if (put - get < n)
		return true;
	new = kmalloc_array(2 * n, size, GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return false;
	for (i = get; i != put; i++)
		memcpy(new + (i & (2 * n - 1)) * size,
		       *ring + (i & *mask) * size, size);
	kfree(*ring);
	*ring = new;
	*mask = 2 * n - 1;
	return true;
}

/* An empty ring that has grown becomes small again, if there is memory for it */
static void hyb_idle_shrink(void **ring, u32 *mask, u32 get, u32 put,
			    size_t size)
{
	void *new;

	if (get != put || *mask < HYB_IDLE_RING)
		return;
	new = kmalloc_array(HYB_IDLE_RING, size, GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return;
	kfree(*ring);
	*ring = new;
	*mask = HYB_IDLE_RING - 1;
}

/* With the spinlock of the socket, which nobody owns */
static void hyb_idle_trim(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	if (hyb_stream_empty(&tx->s) && !tx->left.len &&
	    !hyb_shared_reserved(qp))
		hyb_stream_trim(&tx->s);
	hyb_sg_trim(&tx->sg);
	hyb_ooo_trim(qp);
	hyb_idle_shrink((void **)&tx->orq, &tx->orq_mask, tx->orq_get,
			tx->orq_put, sizeof(*tx->orq));
	hyb_idle_shrink((void **)&tx->irq, &tx->irq_mask, tx->irq_get,
			tx->irq_put, sizeof(*tx->irq));
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

	if (tx->orq)
		sum += hyb_idle_slab((tx->orq_mask + 1) * sizeof(*tx->orq)) +
		       hyb_idle_slab((tx->irq_mask + 1) * sizeof(*tx->irq));
	if (tx->s.ring != tx->s.first)
		sum += hyb_idle_slab((tx->s.mask + 1) * sizeof(*tx->s.ring));
	return sum + hyb_sg_memory(&tx->sg) + hyb_ooo_memory(qp);
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
	u32 sum = hyb_idle_slab(sizeof(*qp)) + hyb_idle_slab(sizeof(*qp->stats));
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
	sum += hyb_idle_slab(sizeof(struct hyb_cep)) + hyb_idle_engines(qp);
	hyb_tcp_leave(qp, sk, false);
	return sum;
}
