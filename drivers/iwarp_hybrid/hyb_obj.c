// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of the driver: references, states and events of queue pairs and
 * connections, rings that users map, work queues.
 *
 * The lowest layer: calls the kernel only, and the tracepoints.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include <rdma/uverbs_ioctl.h>

#include "hyb_trace.h"
#include "hybrid.h"

struct workqueue_struct *hyb_wq;
struct workqueue_struct *hyb_cm_wq;

/* A cache, as with many idle connections kmalloc() would waste a third */
struct kmem_cache *hyb_cep_cache;

/* --------------------------------------------------------- connections */

void hyb_cm_dev_get(struct hyb_dev *dev)
{
	refcount_inc(&dev->cm.users);
}

void hyb_cm_dev_put(struct hyb_dev *dev)
{
	if (refcount_dec_and_test(&dev->cm.users))
		complete(&dev->cm.idle);
}

void hyb_cep_free(struct kref *ref)
{
	struct hyb_cep *cep = container_of(ref, struct hyb_cep, ref);
	struct hyb_dev *dev = cep->dev;

	WARN_ON_ONCE(cep->sock || cep->qp || cep->id);
	kfree(cep->start);
	kmem_cache_free(hyb_cep_cache, cep);
	hyb_cm_dev_put(dev);
}

void hyb_cep_event(struct hyb_cep *cep, int ev)
{
	trace_hyb_cep_event(cep, ev);
	set_bit(ev, &cep->events);
	smp_mb__after_atomic();	/* pairs with hyb_cep_unlock() */
	if (READ_ONCE(cep->busy))
		return;
	hyb_cep_get(cep);
	if (!queue_work(hyb_cm_wq, &cep->work))
		hyb_cep_put(cep);
}

/* As hyb_cep_event(), but the caller does the work. Context: as hyb_qp_close_here(). */
static void hyb_cep_event_here(struct hyb_cep *cep, int ev)
{
	trace_hyb_cep_event(cep, ev);
	set_bit(ev, &cep->events);
	hyb_cep_get(cep);	/* which the work item drops */
	cep->work.func(&cep->work);
}

/* --------------------------------------------------------- queue pairs */

#define TO(state)	BIT(HYB_QP_##state)
static const u8 hyb_qp_moves[HYB_QP_STATES] = {
	[HYB_QP_IDLE] = TO(IDLE) | TO(RTR) | TO(RTS) | TO(ERROR),
	[HYB_QP_RTR] = TO(RTR) | TO(RTS) | TO(ERROR),
	[HYB_QP_RTS] = TO(RTS) | TO(CLOSING) | TO(TERMINATE) | TO(ERROR),
	[HYB_QP_CLOSING] = TO(CLOSING) | TO(TERMINATE) | TO(ERROR),
	[HYB_QP_TERMINATE] = TO(TERMINATE) | TO(ERROR),
	[HYB_QP_ERROR] = TO(ERROR),
};

#undef TO

/**
 * hyb_qp_set_state - move a queue pair to another state
 * @qp: queue pair
 * @state: new state
 *
 * Context: any.
 * Return: false if the table does not allow it; nothing has changed then.
 */
bool hyb_qp_set_state(struct hyb_qp *qp, enum hyb_qp_state state)
{
	enum hyb_qp_state from;
	unsigned long flags;
	bool allowed;

	spin_lock_irqsave(&qp->state_lock, flags);
	from = qp->state;
	allowed = hyb_qp_moves[qp->state] & BIT(state);
	if (allowed)
		WRITE_ONCE(qp->state, state);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (allowed && from != state)
		trace_hyb_qp_state(qp, from, state);
	return allowed;
}

/* True if the QP was never connected and now never will be */
bool hyb_qp_set_error(struct hyb_qp *qp)
{
	enum hyb_qp_state from;
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&qp->state_lock, flags);
	from = qp->state;
	idle = from == HYB_QP_IDLE || from == HYB_QP_RTR;
	if (idle)
		WRITE_ONCE(qp->state, HYB_QP_ERROR);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (idle)
		trace_hyb_qp_state(qp, from, HYB_QP_ERROR);
	return idle;
}

static const int hyb_close_event[] = {
	[HYB_CLOSE_GRACEFUL]	= HYB_EV_GRACEFUL,
	[HYB_CLOSE_ABORT]	= HYB_EV_ABORT,
	[HYB_CLOSE_RESET]	= HYB_EV_RESET,
};

static void hyb_qp_closing(struct hyb_qp *qp, enum hyb_close how)
{
	hyb_qp_set_state(qp, how == HYB_CLOSE_GRACEFUL ? HYB_QP_CLOSING :
							 HYB_QP_ERROR);
}

void hyb_qp_notify_cep(struct hyb_qp *qp, int ev)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->tcp.lock, flags);
	if (qp->cep)
		hyb_cep_event(qp->cep, ev);
	spin_unlock_irqrestore(&qp->tcp.lock, flags);
}

void hyb_qp_close(struct hyb_qp *qp, enum hyb_close how)
{
	hyb_qp_closing(qp, how);
	hyb_qp_notify_cep(qp, hyb_close_event[how]);
}

void hyb_qp_close_here(struct hyb_qp *qp, enum hyb_close how)
{
	struct hyb_cep *cep;

	hyb_qp_closing(qp, how);
	spin_lock_irq(&qp->tcp.lock);
	cep = qp->cep;
	if (cep)
		hyb_cep_get(cep);
	spin_unlock_irq(&qp->tcp.lock);
	if (!cep)
		return;
	hyb_cep_event_here(cep, hyb_close_event[how]);
	hyb_cep_put(cep);
}

/**
 * hyb_qp_event - report an asynchronous event
 * @qp: queue pair
 * @type: event
 *
 * Context: any.
 */
void hyb_qp_event(struct hyb_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.event = type,
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};

	if (qp->ibqp.event_handler && !READ_ONCE(qp->dead))
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/**
 * hyb_qp_fault - abort the connection from a context that must not call hyb_qp_close()
 * @qp: queue pair
 *
 * Context: any.
 */
void hyb_qp_fault(struct hyb_qp *qp)
{
	/* hyb_qp_flush_again() has no reference: destroying the queue pair waits for it */
	if (!kref_get_unless_zero(&qp->ref))
		return;
	if (!queue_work(hyb_wq, &qp->fault))
		hyb_qp_put(qp);
}

void hyb_qp_release(struct kref *ref)
{
	/* pairs with the one in hyb_qp_withdraw(), which may free it right now */
	smp_mb();
	wake_up_var(ref);
}

/**
 * hyb_qp_lookup - find a queue pair by its number
 * @dev: device
 * @qpn: number
 *
 * Context: any.
 * Return: queue pair with a reference, or NULL.
 */
struct hyb_qp *hyb_qp_lookup(struct hyb_dev *dev, u32 qpn)
{
	unsigned long flags;
	struct hyb_qp *qp;

	/*
	 * hyb_qp_withdraw() erases the entry before it drops its reference. The
	 * IW CM calls with interrupts off, under a lock it takes in softirqs.
	 */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp)
		hyb_qp_get(qp);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/* --------------------------------------------------------------- rings */

/**
 * hyb_ring_alloc - memory of a queue
 * @udata: user request, or NULL for a queue of the kernel
 * @size: bytes
 * @umap: handle to be given to hyb_ring_free(), NULL for the kernel
 * @key: offset for mmap(), for the user
 *
 * Charged to the control group of the caller, which may create very many queues of 32768
 * requests.
 *
 * Context: process, may sleep.
 * Return: zeroed memory, or NULL.
 */
void *hyb_ring_alloc(struct ib_udata *udata, size_t size,
		     struct hyb_umap **umap, u64 *key)
{
	struct hyb_ucontext *ctx;
	struct hyb_umap *map;

	*umap = NULL;
	if (!udata)
		return kvzalloc(size, GFP_KERNEL_ACCOUNT);

	ctx = rdma_udata_to_drv_context(udata, struct hyb_ucontext, ibctx);
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return NULL;
	map->addr = __vmalloc(PAGE_ALIGN(size), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!map->addr)
		goto err_map;
	if (rdma_user_mmap_entry_insert(&ctx->ibctx, &map->entry, size))
		goto err_ring;
	*key = rdma_user_mmap_get_offset(&map->entry);
	*umap = map;
	return map->addr;

err_ring:
	vfree(map->addr);
err_map:
	kfree(map);
	return NULL;
}

/**
 * hyb_ring_free - give memory of hyb_ring_alloc() back
 * @ring: the memory, or NULL
 * @umap: its handle
 *
 * A user's ring may outlive this call while an mmap() of it is in progress.
 */
void hyb_ring_free(void *ring, struct hyb_umap *umap)
{
	if (umap)
		rdma_user_mmap_entry_remove(&umap->entry);
	else
		kvfree(ring);
}
