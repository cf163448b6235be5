// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of Reads and atomic operations. See hyb_rdq.h. Calls nothing else of the
 * driver.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "hyb_rdq.h"
#include "hybrid.h"

/*
 * A ring of Reads: @first is the one entry that a queue pair always has, @get and
 * @put are free running indices of the oldest entry and after the newest.
 */
struct hyb_rdq_ring {
	void *mem;
	void *first;
	u32 mask;
	u32 get;
	u32 put;
	size_t size;
};

/* Move to other memory; the entries keep their indices */
static void hyb_rdq_move(struct hyb_rdq_ring *r, void *new, u32 mask)
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
static bool hyb_rdq_room(struct hyb_rdq_ring *r)
{
	u32 n = r->mask + 1;
	void *new;

	if (r->put - r->get < n)
		return true;
	n = max_t(u32, 2 * n, HYB_RDQ_RING);
	new = kmalloc_array(n, r->size, GFP_ATOMIC | __GFP_NOWARN);
	if (!new)
		return false;
	hyb_rdq_move(r, new, n - 1);
	return true;
}

static struct hyb_rdq_ring hyb_rdq_orq(struct hyb_tx *tx)
{
	return (struct hyb_rdq_ring) {
		.mem = tx->orq, .first = &tx->orq_first, .mask = tx->orq_mask,
		.get = tx->orq_get, .put = tx->orq_put, .size = sizeof(*tx->orq),
	};
}

static struct hyb_rdq_ring hyb_rdq_irq(struct hyb_tx *tx)
{
	return (struct hyb_rdq_ring) {
		.mem = tx->irq, .first = &tx->irq_first, .mask = tx->irq_mask,
		.get = tx->irq_get, .put = tx->irq_put, .size = sizeof(*tx->irq),
	};
}

/**
 * hyb_rdq_orq_room - make room for one more Read or atomic operation
 * @tx: transmit engine
 *
 * Context: TCP socket held.
 * Return: false without memory, but never if none is outstanding.
 */
bool hyb_rdq_orq_room(struct hyb_tx *tx)
{
	struct hyb_rdq_ring r = hyb_rdq_orq(tx);

	hyb_tcp_assert_held(&container_of(tx, struct hyb_qp, tx)->tcp);
	if (!hyb_rdq_room(&r))
		return false;
	tx->orq = r.mem;
	tx->orq_mask = r.mask;
	return true;
}

/**
 * hyb_rdq_irq_room - make room for one more of the peer's
 * @tx: transmit engine
 *
 * Context: TCP socket held.
 * Return: false without memory, but never if none is to be answered.
 */
bool hyb_rdq_irq_room(struct hyb_tx *tx)
{
	struct hyb_rdq_ring r = hyb_rdq_irq(tx);

	hyb_tcp_assert_held(&container_of(tx, struct hyb_qp, tx)->tcp);
	if (!hyb_rdq_room(&r))
		return false;
	tx->irq = r.mem;
	tx->irq_mask = r.mask;
	return true;
}

/* Rings that have grown are not needed while they are empty */
void hyb_rdq_shrink(struct hyb_tx *tx)
{
	struct hyb_rdq_ring orq = hyb_rdq_orq(tx), irq = hyb_rdq_irq(tx);

	if (orq.get == orq.put) {
		hyb_rdq_move(&orq, orq.first, 0);
		tx->orq = orq.mem;
		tx->orq_mask = 0;
	}
	if (irq.get == irq.put) {
		hyb_rdq_move(&irq, irq.first, 0);
		tx->irq = irq.mem;
		tx->irq_mask = 0;
	}
}
