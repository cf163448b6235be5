// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of queue pairs that is there only while it is needed. See hyb_idle.h.
 *
 * A connection that has sent and received nothing for a while may be one of
 * thousands. It keeps its queues and its state; the pages of its stream, rings
 * that have grown and tables are freed. All of it is allocated again when it
 * is needed, as at the first use. The same visit charges TCP's socket for data that wait
 * for the reader of a shared link. Calls the files that the memory belongs to, and
 * hyb_sched.c for the lock.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "hyb_idle.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_rdq.h"
#include "hyb_sched.h"
#include "hyb_sg.h"
#include "hyb_shared.h"
#include "hyb_stream.h"
#include "hybrid.h"

/* A queue pair that has moved fewer bytes since the last visit needs only the current page */
#define HYB_IDLE_LITTLE	32768

/* Context: spinlock of the socket held; no task owns the socket */
static void hyb_idle_trim(struct hyb_qp *qp)
{
	struct hyb_tx *tx = &qp->tx;

	/* records hold pages of the stream; the spare block is for the next record */
	if (!tx->left.len)
		hyb_off_trim(qp);
	if (hyb_stream_empty(&tx->s) && !tx->left.len &&
	    !hyb_shared_reserved(qp->shared))
		hyb_stream_trim(&tx->s);
	hyb_shared_sleep(qp);
	hyb_sg_trim(&tx->sg);
	hyb_ooo_trim(qp);
	hyb_rdq_shrink(tx);
}

/* More memory for receiving, within the limits of TCP and of the control group */
static bool hyb_idle_more(struct sock *sk, int size)
{
	int lack = size - sk->sk_forward_alloc;

	return lack <= 0 || __sk_mem_schedule(sk, lack, SK_MEM_RECV);
}

/**
 * hyb_idle_charge - charge TCP's socket for memory that the upper layer holds
 * @qp: queue pair; one that is not attached any more holds nothing
 * @sk: its socket, spinlock held, owned by no other task
 *
 * TCP no longer accounts for these packets, and no reader has consumed them yet. If there is
 * no room for them within the limits, the next visit tries again.
 *
 * Context: process or softirq.
 * Return: whether the upper layer holds memory, charged or not.
 */
bool hyb_idle_charge(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_shared *sh = qp->shared;
	u32 held = 0;

	lockdep_assert_held(&sk->sk_lock.slock);
	if (!sh)
		return false;
	if (qp->tcp.attached && sh->ulp && sh->ulp->rx_held)
		held = PAGE_ALIGN(sh->ulp->rx_held(sh->ctx));
	if (held > sh->charged) {
		if (!hyb_idle_more(sk, held - sh->charged))
			return true;
		sk_mem_charge(sk, held - sh->charged);
	} else if (held < sh->charged) {
		sk_mem_uncharge(sk, sh->charged - held);
	}
	sh->charged = held;
	return held;
}

/*
 * Free pages that a busy queue pair keeps to use them again: with little traffic (@little) all
 * of them, otherwise half of those that TCP has released
 */
static void hyb_idle_free_spare(struct hyb_qp *qp, bool little)
{
	bool pages = READ_ONCE(qp->tx.s.pool.idle);
	struct sock *sk;

	if (!pages && (!little || !READ_ONCE(qp->shared)))
		return;
	sk = hyb_sched_enter(qp);
	if (IS_ERR_OR_NULL(sk))
		return;
	if (!sock_owned_by_user(sk) && qp->tcp.attached) {
		if (little) {
			hyb_stream_cool(&qp->tx.s);
			hyb_idle_charge(qp, sk);
		} else {
			hyb_stream_ease(&qp->tx.s);
		}
	}
	hyb_sched_leave(qp, sk, false);
}

/* No visits until it sends or receives again. Context: spinlock of the socket held. */
static void hyb_idle_delist(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	spin_lock(&dev->busy_lock);
	list_del_init(&qp->busy_node);
	qp->busy = false;
	spin_unlock(&dev->busy_lock);
}

/*
 * Positions are read without a lock: a connection that has just begun to send is
 * trimmed once though it needs the memory.
 */
static void hyb_idle_visit(struct hyb_qp *qp)
{
	u32 sum = READ_ONCE(qp->tx.s.pos) + READ_ONCE(qp->rx.pos);
	struct sock *sk;
	bool held;

	if (sum != qp->idle_pos) {
		hyb_idle_free_spare(qp, sum - qp->idle_pos < HYB_IDLE_LITTLE);
		qp->idle_pos = sum;
		return;
	}
	sk = hyb_sched_enter(qp);
	if (IS_ERR_OR_NULL(sk))
		return;
	if (!sock_owned_by_user(sk) && qp->tcp.attached) {
		hyb_idle_trim(qp);
		held = hyb_idle_charge(qp, sk);
		/*
		 * otherwise visit it again: freeing was not possible now, or data waits for a
		 * reader
		 */
		if (!held && !hyb_stream_pages(&qp->tx.s))
			hyb_idle_delist(qp);
	}
	hyb_sched_leave(qp, sk, false);
}

static void hyb_idle_work(struct work_struct *work)
{
	struct hyb_dev *dev = container_of(to_delayed_work(work),
					   struct hyb_dev, idle);
	struct hyb_qp *qp;
	LIST_HEAD(now);

	spin_lock_bh(&dev->busy_lock);
	list_splice_init(&dev->busy, &now);
	while (!list_empty(&now)) {
		qp = list_first_entry(&now, struct hyb_qp, busy_node);
		list_move_tail(&qp->busy_node, &dev->busy);
		/* a queue pair that is being destroyed leaves the list by itself */
		if (!kref_get_unless_zero(&qp->ref))
			continue;
		spin_unlock_bh(&dev->busy_lock);
		hyb_idle_visit(qp);
		hyb_qp_put(qp);
		cond_resched();
		spin_lock_bh(&dev->busy_lock);
	}
	if (!list_empty(&dev->busy))
		queue_delayed_work(hyb_wq, &dev->idle, HYB_IDLE_PERIOD);
	spin_unlock_bh(&dev->busy_lock);
}

/* Called for a new device */
void hyb_idle_init(struct hyb_dev *dev)
{
	/* no reason to wake up a processor that has nothing to do */
	INIT_DEFERRABLE_WORK(&dev->idle, hyb_idle_work);
	INIT_LIST_HEAD(&dev->busy);
	spin_lock_init(&dev->busy_lock);
}

/* Called for a device without queue pairs. Context: process, sleeps. */
void hyb_idle_stop(struct hyb_dev *dev)
{
	cancel_delayed_work_sync(&dev->idle);
}

/* ------------------------------------------------------------- how much */

/* As the allocator counts it */
static u32 hyb_idle_slab(size_t size)
{
	return kmalloc_size_roundup(size);
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
	if (tx->s.pool.idle)
		sum += hyb_idle_slab(2 * HYB_TX_POOL *
				     sizeof(*tx->s.pool.idle));
	return sum + hyb_sg_memory(&tx->sg) + hyb_ooo_memory(qp) +
	       hyb_off_memory(qp);
}

/**
 * hyb_idle_memory - bytes that a queue pair takes
 * @qp: queue pair
 *
 * All that the driver allocates for it and its connection. Not counted are the TCP
 * socket and memory of the core, the connection manager and sysfs.
 *
 * Context: process.
 * Return: bytes.
 */
u32 hyb_idle_memory(struct hyb_qp *qp)
{
	u32 sum = hyb_idle_slab(sizeof(*qp));
	struct sock *sk = hyb_sched_enter(qp);

	sum += hyb_idle_queue(qp->sq.umap,
			      (qp->sq.mask + 1) * sizeof(*qp->sq.ring));
	sum += hyb_idle_slab((qp->sq.mask + 1) * sizeof(*qp->sq.slot));
	if (qp->rq.ring)
		sum += hyb_idle_queue(qp->rq.umap, (qp->rq.mask + 1) *
						   sizeof(*qp->rq.ring));
	if (IS_ERR_OR_NULL(sk))
		return sum;
	sum += hyb_shared_memory(qp);
	/* the connection has a cache of its own */
	sum += sizeof(struct hyb_cep) + hyb_idle_engines(qp);
	hyb_sched_leave(qp, sk, false);
	return sum;
}
