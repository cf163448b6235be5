// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: one receive queue for many queue pairs.
 *
 * Calls hyb_queue, which takes entries off and raises the limit event. A post kicks the
 * receive engines of queue pairs that found the queue empty, one for each receive. So its
 * cost depends neither on the number of queue pairs, nor on how many of them wait.
 * hyb_rq.lock protects the entries, hyb_srq.starved_lock the list of queue pairs that
 * wait. A post may come with any lock held, so a work item kicks.
 *
 * A user's queue is a ring that the process writes to without a system call (the ABI is
 * that of siw, whose library is used). No post is seen then: while queue pairs wait, one
 * timer looks at the ring, however many they are, the less often the longer they wait.
 */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "hyb_sched.h"
#include "hybrid.h"

#define HYB_SRQ_POLL_SHIFT	3
#define HYB_SRQ_POLL_MIN	msecs_to_jiffies(1)
#define HYB_SRQ_POLL_MAX	msecs_to_jiffies(100)

/**
 * hyb_srq_leave - a queue pair that is being destroyed lets go
 * @qp: queue pair with hyb_qp.srq set, whose engines have stopped
 *
 * Context: process.
 */
void hyb_srq_leave(struct hyb_qp *qp)
{
	spin_lock_bh(&qp->srq->starved_lock);
	list_del_init(&qp->srq_node);
	spin_unlock_bh(&qp->srq->starved_lock);
}

/* Look at a user's ring soon, also if the pending look is due much later. Context: any. */
static void hyb_srq_poll_soon(struct hyb_srq *srq)
{
	struct delayed_work *poll = &srq->poll;

	if (queue_delayed_work(hyb_wq, poll, HYB_SRQ_POLL_MIN))
		return;
	if (timer_pending(&poll->timer) &&
	    time_after(READ_ONCE(poll->timer.expires),
		       jiffies + HYB_SRQ_POLL_MIN))
		mod_delayed_work(hyb_wq, poll, HYB_SRQ_POLL_MIN);
}

/**
 * hyb_srq_wait - have the next post to the shared queue kick a queue pair
 * @qp: queue pair with hyb_qp.srq set
 *
 * The caller looks at the queue once more afterwards (hyb_rq_get() or hyb_rq_ready()): a
 * post before that look may not have seen the queue pair on the list.
 *
 * Context: TCP socket held.
 */
void hyb_srq_wait(struct hyb_qp *qp)
{
	struct hyb_srq *srq = qp->srq;

	hyb_tcp_assert_held(&qp->tcp);
	spin_lock_bh(&srq->starved_lock);
	if (list_empty(&qp->srq_node)) {
		list_add_tail(&qp->srq_node, &srq->starved);
		WRITE_ONCE(srq->since, jiffies);
	}
	spin_unlock_bh(&srq->starved_lock);
	if (srq->rq.umap)
		hyb_srq_poll_soon(srq);
}

/*
 * Take the queue pair that has waited for longest off the list. Returns it with a
 * reference, NULL if there is none; queue pairs that are being destroyed are left out.
 */
static struct hyb_qp *hyb_srq_pop(struct hyb_srq *srq)
{
	struct hyb_qp *qp, *res = NULL;

	spin_lock_bh(&srq->starved_lock);
	while (!res && !list_empty(&srq->starved)) {
		qp = list_first_entry(&srq->starved, struct hyb_qp, srq_node);
		list_del_init(&qp->srq_node);
		if (kref_get_unless_zero(&qp->ref))
			res = qp;
	}
	spin_unlock_bh(&srq->starved_lock);
	return res;
}

static bool hyb_srq_has_receive(struct hyb_srq *srq)
{
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&srq->rq.lock, flags);
	has = READ_ONCE(srq->rq.ring[srq->rq.get & srq->rq.mask].flags) &
	      SIW_WQE_VALID;
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return has;
}

/*
 * Kick queue pairs that wait, no more than there are receives: one that finds nothing
 * is back at the end of the list by hyb_srq_wait(). They are popped one by one, so that
 * hyb_srq_leave() can take any off meanwhile.
 */
static void hyb_srq_kick(struct hyb_srq *srq)
{
	struct hyb_qp *qp;

	while (hyb_srq_has_receive(srq)) {
		qp = hyb_srq_pop(srq);
		if (!qp)
			break;
		hyb_sched_kick_rx(qp);
		hyb_qp_put(qp);
	}
}

static void hyb_srq_kick_work(struct work_struct *work)
{
	hyb_srq_kick(container_of(work, struct hyb_srq, kick));
}

/* The ring of a user, while queue pairs wait */
static void hyb_srq_poll_work(struct work_struct *work)
{
	struct hyb_srq *srq = container_of(to_delayed_work(work),
					   struct hyb_srq, poll);
	unsigned long delay;

	hyb_srq_kick(srq);
	/* one that comes to the list after this look queues the work itself */
	if (list_empty_careful(&srq->starved))
		return;
	delay = (jiffies - READ_ONCE(srq->since)) >> HYB_SRQ_POLL_SHIFT;
	queue_delayed_work(hyb_wq, &srq->poll,
			   clamp(delay, HYB_SRQ_POLL_MIN, HYB_SRQ_POLL_MAX));
}

/* Give a user's library the size of the ring, and the offset to map it at (@key). */
static int hyb_srq_copy_resp(struct hyb_srq *srq, u64 key,
			     struct ib_udata *udata)
{
	struct siw_uresp_create_srq resp = {
		.num_rqe = srq->rq.mask + 1,
		.srq_key = key,
	};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/**
 * hyb_create_srq - ib_device_ops.create_srq
 * @ibsrq: queue allocated by the core
 * @init: requested attributes
 * @udata: user's part of the request, or NULL
 *
 * Return: 0 or negative errno.
 */
static int hyb_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			  struct ib_udata *udata)
{
	struct hyb_dev *dev = hyb_dev_of(ibsrq->device);
	struct hyb_srq *srq = hyb_srq_of(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	u64 key = SIW_INVAL_UOBJ_KEY;
	u32 size;
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > HYB_MAX_SRQ_WR ||
	    attr->max_sge > SIW_MAX_SGE || attr->srq_limit > attr->max_wr)
		return -EINVAL;
	if (!atomic_add_unless(&dev->num_srq, 1, HYB_MAX_SRQ))
		return -ENOMEM;

	size = roundup_pow_of_two(attr->max_wr);
	srq->rq.ring = hyb_ring_alloc(udata, size * sizeof(*srq->rq.ring),
				      &srq->rq.umap, &key);
	if (!srq->rq.ring) {
		err = -ENOMEM;
		goto err_count;
	}
	srq->rq.mask = size - 1;
	srq->rq.max_sge = attr->max_sge;
	srq->limit = attr->srq_limit;
	spin_lock_init(&srq->rq.lock);
	spin_lock_init(&srq->starved_lock);
	INIT_LIST_HEAD(&srq->starved);
	INIT_WORK(&srq->kick, hyb_srq_kick_work);
	INIT_DELAYED_WORK(&srq->poll, hyb_srq_poll_work);
	attr->max_wr = size;

	err = udata ? hyb_srq_copy_resp(srq, key, udata) : 0;
	if (err)
		goto err_ring;
	return 0;

err_ring:
	hyb_ring_free(srq->rq.ring, srq->rq.umap);
err_count:
	atomic_dec(&dev->num_srq);
	return err;
}

/**
 * hyb_modify_srq - ib_device_ops.modify_srq
 * @ibsrq: queue
 * @attr: new attributes
 * @mask: which of them; the size cannot be changed
 * @udata: user's part of the request, or NULL
 *
 * Return: 0 or negative errno.
 */
static int hyb_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct hyb_srq *srq = hyb_srq_of(ibsrq);
	unsigned long flags;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.mask + 1)
		return -EINVAL;

	spin_lock_irqsave(&srq->rq.lock, flags);
	srq->limit = attr->srq_limit;
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return 0;
}

/**
 * hyb_query_srq - ib_device_ops.query_srq
 * @ibsrq: queue
 * @attr: attributes to fill in
 *
 * Return: 0.
 */
static int hyb_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct hyb_srq *srq = hyb_srq_of(ibsrq);

	attr->max_wr = srq->rq.mask + 1;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

/**
 * hyb_destroy_srq - ib_device_ops.destroy_srq
 * @ibsrq: queue, no queue pair uses it any more
 * @udata: user's part of the request, or NULL
 *
 * Return: 0.
 */
static int hyb_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct hyb_srq *srq = hyb_srq_of(ibsrq);

	cancel_work_sync(&srq->kick);
	cancel_delayed_work_sync(&srq->poll);
	hyb_ring_free(srq->rq.ring, srq->rq.umap);
	atomic_dec(&hyb_dev_of(ibsrq->device)->num_srq);
	return 0;
}

/**
 * hyb_post_srq_recv - ib_device_ops.post_srq_recv
 * @ibsrq: queue of the kernel; users write to the ring
 * @wr: receives
 * @bad: first one that was not taken, on error
 *
 * Context: any.
 * Return: 0; -ENOMEM if the queue is full, -EINVAL.
 */
static int hyb_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	struct hyb_srq *srq = hyb_srq_of(ibsrq);
	unsigned long flags;
	int err = 0;

	if (srq->rq.umap) {
		if (bad)
			*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->rq.lock, flags);
	for (; wr; wr = wr->next) {
		err = hyb_rq_post_one(&srq->rq, wr);
		if (err)
			break;
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);

	if (err && bad)
		*bad = wr;
	/*
	 * A queue pair joins the list before it looks at the queue under
	 * rq.lock. So either it finds the new entry, or this finds it on the
	 * list.
	 */
	if (!list_empty_careful(&srq->starved))
		queue_work(hyb_wq, &srq->kick);
	return err;
}

const struct ib_device_ops hyb_srq_ops = {
	.create_srq = hyb_create_srq,
	.destroy_srq = hyb_destroy_srq,
	.modify_srq = hyb_modify_srq,
	.post_srq_recv = hyb_post_srq_recv,
	.query_srq = hyb_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, hyb_srq, ibsrq),
};
