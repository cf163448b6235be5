// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 *
 * A queue is a ring in the layout of siw-abi.h, for the kernel as for user
 * space, where programs map it, poll it and arm it without the kernel.
 * Completing a request only writes an entry; consumers are notified once
 * per batch, by hyb_cq_notify().
 *
 * Calls the consumer's handlers, and hyb_obj.c.
 */
#include <linux/log2.h>
#include <linux/random.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "hybrid.h"

#define HYB_CQ_TIMER	0	/* bit of hyb_cq.waiting */

static const u8 hyb_wc_opcode[HYB_NUM_OPCODES] = {
	[SIW_OP_WRITE] = IB_WC_RDMA_WRITE,
	[SIW_OP_READ] = IB_WC_RDMA_READ,
	[SIW_OP_READ_LOCAL_INV] = IB_WC_RDMA_READ,
	[SIW_OP_SEND] = IB_WC_SEND,
	[SIW_OP_SEND_REMOTE_INV] = IB_WC_SEND,
	[SIW_OP_INVAL_STAG] = IB_WC_LOCAL_INV,
	[SIW_OP_REG_MR] = IB_WC_REG_MR,
	[SIW_OP_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[SIW_OP_COMP_AND_SWAP] = IB_WC_COMP_SWAP,
	[HYB_OP_MASKED_FETCH_ADD] = IB_WC_MASKED_FETCH_ADD,
	[HYB_OP_MASKED_COMP_SWAP] = IB_WC_MASKED_COMP_SWAP,
	[SIW_OP_RECEIVE] = IB_WC_RECV,
	[HYB_OP_RECV_IMM] = IB_WC_RECV_RDMA_WITH_IMM,
};

static const u8 hyb_wc_status[SIW_NUM_WC_STATUS] = {
	[SIW_WC_SUCCESS] = IB_WC_SUCCESS,
	[SIW_WC_LOC_LEN_ERR] = IB_WC_LOC_LEN_ERR,
	[SIW_WC_LOC_PROT_ERR] = IB_WC_LOC_PROT_ERR,
	[SIW_WC_LOC_QP_OP_ERR] = IB_WC_LOC_QP_OP_ERR,
	[SIW_WC_WR_FLUSH_ERR] = IB_WC_WR_FLUSH_ERR,
	[SIW_WC_BAD_RESP_ERR] = IB_WC_BAD_RESP_ERR,
	[SIW_WC_LOC_ACCESS_ERR] = IB_WC_LOC_ACCESS_ERR,
	[SIW_WC_REM_ACCESS_ERR] = IB_WC_REM_ACCESS_ERR,
	[SIW_WC_REM_INV_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
	[SIW_WC_GENERAL_ERR] = IB_WC_GENERAL_ERR,
};

static bool hyb_cq_full(const struct hyb_cq *cq)
{
	/* A user's consumer clears the flags of what it has taken */
	if (cq->umap)
		return READ_ONCE(cq->ring[cq->put & cq->mask].flags);
	return cq->put - cq->get > cq->mask;
}

static void hyb_cq_overflow(struct hyb_cq *cq)
{
	struct ib_event event = {
		.event = IB_EVENT_CQ_ERR,
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

/**
 * hyb_cq_push - add an entry
 * @cq: completion queue
 * @cqe: the entry; its flags include SIW_WQE_VALID
 * @solicited: the entry satisfies a consumer armed for solicited events
 *
 * hyb_cq_notify() must follow and notifies the consumer.
 *
 * Context: any.
 * Return: false if the queue is full and the entry lost. The consumer gets an event for the
 * first such entry; the caller puts the queue pair into error.
 */
bool hyb_cq_push(struct hyb_cq *cq, const struct siw_cqe *cqe, bool solicited)
{
	u32 events = SIW_NOTIFY_NEXT_COMPLETION;
	bool full, report = false;
	unsigned long flags;
	struct siw_cqe *slot;

	if (solicited)
		events |= SIW_NOTIFY_SOLICITED;

	spin_lock_irqsave(&cq->lock, flags);
	full = hyb_cq_full(cq);
	if (!full) {
		slot = &cq->ring[cq->put & cq->mask];
		slot->id = cqe->id;
		slot->opcode = cqe->opcode;
		slot->status = cqe->status;
		slot->bytes = cqe->bytes;
		slot->imm_data = cqe->imm_data;
		slot->qp_id = cqe->qp_id;
		/* The flag hands the entry over to the consumer */
		smp_store_release(&slot->flags, cqe->flags);
		cq->put++;
		/*
		 * After the entry, see hyb_cq_raise(). Stored even if
		 * unchanged: another CPU in there may take the bits away
		 * without having seen this entry.
		 */
		smp_store_release(&cq->events, cq->events | events);
	} else if (!cq->overflow) {
		cq->overflow = true;
		report = true;
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	if (report)
		hyb_cq_overflow(cq);
	hyb_stats_inc(cq->dev, full ? HYB_ST_CQ_OVERFLOW : HYB_ST_CQE);
	return !full;
}

/*
 * Disables bottom halves: softirqs that the handler raises run when this returns, in a
 * task as well, not in ksoftirqd.
 */
static void hyb_cq_call(struct hyb_cq *cq)
{
	bool task = in_task() && !irqs_disabled();

	if (task)
		local_bh_disable();
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	if (task)
		local_bh_enable();
}

/* Was the consumer woken? */
static bool hyb_cq_raise(struct hyb_cq *cq)
{
	u32 events;

	/*
	 * Full barrier: the entries are visible before the look at the word
	 * where the consumer arms the queue. It arms first and looks for
	 * entries then, so one of the two sees the other.
	 */
	events = xchg(&cq->events, 0);
	if (!(READ_ONCE(cq->ctrl->flags) & events))
		return false;
	WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_NOT);
	WRITE_ONCE(cq->notified, READ_ONCE(cq->put));
	hyb_stats_inc(cq->dev, HYB_ST_CQ_EVENT);
	if (cq->ibcq.comp_handler)
		hyb_cq_call(cq);
	return true;
}

/* Is it too early for an event? Then a timer raises it. */
static bool hyb_cq_moderate(struct hyb_cq *cq)
{
	if (READ_ONCE(cq->put) - READ_ONCE(cq->notified) >=
	    READ_ONCE(cq->mod_count))
		return false;
	/* Full barrier, pairs with the one in hyb_cq_timeout() */
	if (!test_and_set_bit(HYB_CQ_TIMER, &cq->waiting))
		hrtimer_start(&cq->timer,
			      ns_to_ktime(NSEC_PER_USEC * READ_ONCE(cq->mod_usecs)),
			      HRTIMER_MODE_REL);
	return true;
}

static enum hrtimer_restart hyb_cq_timeout(struct hrtimer *timer)
{
	struct hyb_cq *cq = container_of(timer, struct hyb_cq, timer);

	clear_bit(HYB_CQ_TIMER, &cq->waiting);
	/* A producer that still saw the bit has left its events for us */
	smp_mb__after_atomic();
	hyb_cq_raise(cq);
	return HRTIMER_NORESTART;
}

/**
 * hyb_cq_notify - wake the consumer if it asked for it
 * @cq: completion queue
 *
 * Context: any. Calls the consumer's handler, at most once; with moderation a
 * timer may do that later, with interrupts off.
 * Return: whether it was woken now.
 */
bool hyb_cq_notify(struct hyb_cq *cq)
{
	if (!READ_ONCE(cq->events))
		return false;
	if (unlikely(READ_ONCE(cq->mod_count)) && hyb_cq_moderate(cq))
		return false;
	return hyb_cq_raise(cq);
}

/**
 * hyb_cq_clean - forget entries of a queue pair that goes away
 * @cq: completion queue; nothing is done if it is a user's
 * @qp: queue pair, completes nothing any more
 *
 * Queues are shared, entries carry a pointer to the queue pair and to memory of
 * its user. When no entry is left, there are no events: the core frees the queue
 * after its last queue pair, and expects no call of the handler then. The timer
 * may be about to call it.
 *
 * Context: process.
 */
void hyb_cq_clean(struct hyb_cq *cq, const struct hyb_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	if (cq->umap)
		return;

	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->get; from != cq->put; from++) {
		struct siw_cqe *cqe = &cq->ring[from & cq->mask];

		if (cqe->base_qp == &qp->ibqp)
			continue;
		if (from != to)
			cq->ring[to & cq->mask] = *cqe;
		to++;
	}
	cq->put = to;
	if (cq->get == to)
		xchg(&cq->events, 0);
	spin_unlock_irqrestore(&cq->lock, flags);
	/* do the work of the timer for entries that other queue pairs have added */
	if (hrtimer_cancel(&cq->timer))
		hyb_cq_timeout(&cq->timer);
}

static int hyb_cq_copy_resp(struct hyb_cq *cq, u64 key, struct ib_udata *udata)
{
	struct siw_uresp_create_cq resp = {
		.cq_id = cq->id,
		.num_cqe = cq->mask + 1,
		.cq_key = key,
	};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/**
 * hyb_create_cq - ib_device_ops.create_cq
 * @ibcq: queue allocated by the core
 * @attr: size wanted
 * @COMPAT_CREATE_CQ_ARG: user's part of the request, or NULL
 *
 * Return: 0 or negative errno.
 */
static int hyb_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			 COMPAT_CREATE_CQ_ARG)
{
	struct ib_udata *udata = compat_create_cq_udata;
	struct hyb_dev *dev = hyb_dev_of(ibcq->device);
	struct hyb_cq *cq = hyb_cq_of(ibcq);
	u64 key = SIW_INVAL_UOBJ_KEY;
	u32 size;
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > HYB_MAX_CQE)
		return -EINVAL;
	if (!atomic_add_unless(&dev->num_cq, 1, HYB_MAX_CQ))
		return -ENOMEM;

	size = roundup_pow_of_two(attr->cqe);
	cq->ring = hyb_ring_alloc(udata, size * sizeof(*cq->ring) +
				  sizeof(*cq->ctrl), &cq->umap, &key);
	if (!cq->ring) {
		err = -ENOMEM;
		goto err_count;
	}
	cq->dev = dev;
	cq->ctrl = (struct siw_cq_ctrl *)&cq->ring[size];
	cq->mask = size - 1;
	cq->id = get_random_u32();
	spin_lock_init(&cq->lock);
	hrtimer_setup(&cq->timer, hyb_cq_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	ibcq->cqe = size;

	err = udata ? hyb_cq_copy_resp(cq, key, udata) : 0;
	if (err)
		goto err_ring;
	return 0;

err_ring:
	hyb_ring_free(cq->ring, cq->umap);
err_count:
	atomic_dec(&dev->num_cq);
	return err;
}

/**
 * hyb_destroy_cq - ib_device_ops.destroy_cq
 * @ibcq: queue, not used by a queue pair any more
 * @udata: user's part of the request, or NULL
 *
 * Return: 0.
 */
static int hyb_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct hyb_cq *cq = hyb_cq_of(ibcq);
	unsigned long flags;

	/* No queue pair is left that could start it again */
	hrtimer_cancel(&cq->timer);
	spin_lock_irqsave(&cq->lock, flags);
	cq->ctrl = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
	hyb_ring_free(cq->ring, cq->umap);
	atomic_dec(&cq->dev->num_cq);
	return 0;
}

/* The core still shows a queue that is being destroyed, whose ring is freed already */
static u32 hyb_cq_armed(struct hyb_cq *cq)
{
	unsigned long flags;
	u32 armed = 0;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->ctrl)
		armed = READ_ONCE(cq->ctrl->flags);
	spin_unlock_irqrestore(&cq->lock, flags);

	return armed;
}

/**
 * hyb_modify_cq - ib_device_ops.modify_cq
 * @ibcq: queue
 * @count: completions that make an event
 * @usecs: time after which fewer do
 *
 * With 0 or 1 in @count, or 0 in @usecs, each completion makes one. Concerns
 * only events that the consumer asked for.
 *
 * Return: 0.
 */
static int hyb_modify_cq(struct ib_cq *ibcq, u16 count, u16 usecs)
{
	struct hyb_cq *cq = hyb_cq_of(ibcq);

	WRITE_ONCE(cq->mod_usecs, usecs);
	WRITE_ONCE(cq->mod_count, usecs && count > 1 ? count : 0);
	return 0;
}

/**
 * hyb_fill_res_cq - ib_device_ops.fill_res_cq_entry
 * @msg: netlink message
 * @ibcq: completion queue
 *
 * For "rdma resource show cq -dd".
 *
 * Return: 0 or -EMSGSIZE.
 */
static int hyb_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct hyb_cq *cq = hyb_cq_of(ibcq);
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "completions", READ_ONCE(cq->put)) ||
	    rdma_nl_put_driver_u32(msg, "armed", hyb_cq_armed(cq)) ||
	    rdma_nl_put_driver_u32(msg, "overflow", READ_ONCE(cq->overflow)) ||
	    rdma_nl_put_driver_u32(msg, "mod_count", READ_ONCE(cq->mod_count)) ||
	    rdma_nl_put_driver_u32(msg, "mod_usecs", READ_ONCE(cq->mod_usecs))) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

static void hyb_cqe_to_wc(const struct siw_cqe *cqe, struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->id;
	wc->status = hyb_wc_status[cqe->status];
	wc->opcode = hyb_wc_opcode[cqe->opcode];
	wc->byte_len = cqe->bytes;
	wc->qp = cqe->base_qp;
	if (cqe->flags & SIW_WQE_REM_INVAL) {
		wc->ex.invalidate_rkey = cqe->inval_stag;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	} else if (cqe->flags & HYB_WQE_IMM) {
		wc->ex.imm_data = cpu_to_be32(cqe->imm_data);
		wc->wc_flags = IB_WC_WITH_IMM;
	}
}

/**
 * hyb_poll_cq - ib_device_ops.poll_cq
 * @ibcq: queue of the kernel; users poll theirs without the driver
 * @num: most entries to take
 * @wc: where to put them
 *
 * Context: any.
 * Return: number of entries taken; -EINVAL for the queue of a user.
 */
static int hyb_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct hyb_cq *cq = hyb_cq_of(ibcq);
	unsigned long flags;
	int n;

	if (cq->umap)
		return -EINVAL;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num && cq->get != cq->put; n++)
		hyb_cqe_to_wc(&cq->ring[cq->get++ & cq->mask], wc++);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* Full barrier. No cmpxchg loop: a user may write to the word of its queue at any time. */
static void hyb_cq_arm(struct hyb_cq *cq, u32 arm)
{
	u32 old = READ_ONCE(cq->ctrl->flags);

	if (cq->umap) {
		/* pairs with the one in hyb_cq_raise() */
		smp_store_mb(cq->ctrl->flags, (old & SIW_NOTIFY_ALL) | arm);
		return;
	}
	while (!try_cmpxchg(&cq->ctrl->flags, &old, old | arm))
		;
}

/**
 * hyb_req_notify_cq - ib_device_ops.req_notify_cq
 * @ibcq: queue
 * @flags: for which entries to call the handler
 *
 * Calls add up until the handler is called: one for all entries still counts after one
 * for solicited entries (as IBTA has it, and rxe).
 *
 * Context: any.
 * Return: 1 if entries are waiting in a queue of the kernel and IB_CQ_REPORT_MISSED_EVENTS is
 * set, else 0.
 */
static int hyb_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct hyb_cq *cq = hyb_cq_of(ibcq);
	u32 arm = SIW_NOTIFY_ALL;

	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED)
		arm = SIW_NOTIFY_SOLICITED;
	/* Arm before the look at the queue, see hyb_cq_raise() */
	hyb_cq_arm(cq, arm);

	if (!(flags & IB_CQ_REPORT_MISSED_EVENTS) || cq->umap)
		return 0;
	return READ_ONCE(cq->put) != READ_ONCE(cq->get);
}

const struct ib_device_ops hyb_cq_ops = {
	.create_cq = hyb_create_cq,
	.destroy_cq = hyb_destroy_cq,
	.fill_res_cq_entry = hyb_fill_res_cq,
	.modify_cq = hyb_modify_cq,
	.poll_cq = hyb_poll_cq,
	.req_notify_cq = hyb_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, hyb_cq, ibcq),
};
