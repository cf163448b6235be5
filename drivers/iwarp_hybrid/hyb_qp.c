// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: verbs, life cycle. Calls the queues (hyb_queue, hyb_cq, hyb_srq), the
 * transport (hyb_tcp), hyb_attr, hyb_idle, hyb_off_place, hyb_place and hyb_sched. The
 * verbs here run in process context. Posts may come with any lock held, see hyb_queue.c.
 */
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>

#include "hyb_attr.h"
#include "hyb_idle.h"
#include "hyb_offload.h"
#include "hyb_place.h"
#include "hyb_sched.h"
#include "hyb_tcp.h"
#include "hybrid.h"

/* Entries that move to queues of another size */
#define HYB_MOVE_MAX	512U

/* ------------------------------------------------------------------- states */

static const u8 hyb_qp_ib_state[HYB_QP_STATES] = {
	[HYB_QP_IDLE] = IB_QPS_INIT,
	[HYB_QP_RTR] = IB_QPS_RTR,
	[HYB_QP_RTS] = IB_QPS_RTS,
	[HYB_QP_CLOSING] = IB_QPS_SQD,
	[HYB_QP_TERMINATE] = IB_QPS_SQE,
	[HYB_QP_ERROR] = IB_QPS_ERR,
};

static void hyb_qp_fault_work(struct work_struct *work)
{
	struct hyb_qp *qp = container_of(work, struct hyb_qp, fault);

	/*
	 * Report once: a program can keep posting with a full completion queue,
	 * and the core queues all events that the program does not read.
	 */
	if (!qp->faulted) {
		qp->faulted = true;
		hyb_qp_event(qp, IB_EVENT_QP_FATAL);
		hyb_qp_close(qp, HYB_CLOSE_ABORT);
	}
	hyb_qp_put(qp);
}

/* ------------------------------------------------------------------ life cycle */

static int hyb_qp_check_attr(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->create_flags || attr->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > HYB_MAX_QP_WR ||
	    cap->max_recv_wr > HYB_MAX_QP_WR ||
	    cap->max_send_sge > SIW_MAX_SGE ||
	    cap->max_recv_sge > SIW_MAX_SGE ||
	    cap->max_inline_data > SIW_MAX_INLINE)
		return -EINVAL;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	return 0;
}

static int hyb_qp_alloc_rings(struct hyb_qp *qp, struct ib_qp_init_attr *attr,
			      struct ib_udata *udata,
			      struct siw_uresp_create_qp *resp)
{
	u32 num_sqe = roundup_pow_of_two(max(attr->cap.max_send_wr, 1U));
	u32 num_rqe = 0;

	/* A user's library maps the queue, even if it is to have no entries */
	if (!attr->srq && (attr->cap.max_recv_wr || udata))
		num_rqe = roundup_pow_of_two(max(attr->cap.max_recv_wr, 1U));

	qp->sq.mask = num_sqe - 1;
	qp->sq.slot = kvcalloc(num_sqe, sizeof(*qp->sq.slot),
			       GFP_KERNEL_ACCOUNT);
	qp->sq.ring = hyb_ring_alloc(udata, num_sqe * sizeof(*qp->sq.ring),
				     &qp->sq.umap, &resp->sq_key);
	if (!qp->sq.slot || !qp->sq.ring)
		return -ENOMEM;
	if (num_rqe) {
		qp->rq.mask = num_rqe - 1;
		qp->rq.ring = hyb_ring_alloc(udata,
					     num_rqe * sizeof(*qp->rq.ring),
					     &qp->rq.umap, &resp->rq_key);
		if (!qp->rq.ring)
			return -ENOMEM;
	}
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->rq.max_sge = attr->cap.max_recv_sge;
	attr->cap.max_send_wr = num_sqe;
	attr->cap.max_recv_wr = num_rqe;
	attr->cap.max_inline_data = SIW_MAX_INLINE;
	resp->num_sqe = num_sqe;
	resp->num_rqe = num_rqe;
	return 0;
}

static void hyb_qp_free_memory(struct hyb_qp *qp)
{
	if (qp->sq.ring)
		hyb_ring_free(qp->sq.ring, qp->sq.umap);
	if (qp->rq.ring)
		hyb_ring_free(qp->rq.ring, qp->rq.umap);
	kvfree(qp->sq.slot);
}

/* Queues of the kernel, to be exchanged for those that a queue pair has */
struct hyb_rings {
	struct siw_sqe *sqe;
	struct hyb_sq_slot *slot;
	struct siw_rqe *rqe;
	u32 num_sqe;
	u32 num_rqe;
};

static void hyb_rings_free(const struct hyb_rings *r)
{
	kvfree(r->sqe);
	kvfree(r->slot);
	kvfree(r->rqe);
}

static int hyb_rings_alloc(struct hyb_rings *r, const struct ib_qp_cap *cap)
{
	r->num_sqe = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	r->num_rqe = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	r->sqe = kvcalloc(r->num_sqe, sizeof(*r->sqe), GFP_KERNEL_ACCOUNT);
	r->slot = kvcalloc(r->num_sqe, sizeof(*r->slot), GFP_KERNEL_ACCOUNT);
	r->rqe = kvcalloc(r->num_rqe, sizeof(*r->rqe), GFP_KERNEL_ACCOUNT);
	if (r->sqe && r->slot && r->rqe)
		return 0;
	hyb_rings_free(r);
	return -ENOMEM;
}

/* Entries that are in use go along, if they are few: interrupts are disabled. */
static int hyb_rings_move(const struct hyb_qp *qp, struct hyb_rings *r)
{
	const struct hyb_sq *sq = &qp->sq;
	const struct hyb_rq *rq = &qp->rq;
	u32 i;

	if (sq->put - sq->get > min(r->num_sqe, HYB_MOVE_MAX) ||
	    rq->put - rq->get > min(r->num_rqe, HYB_MOVE_MAX))
		return -EBUSY;
	for (i = sq->get; i != sq->put; i++) {
		r->sqe[i & (r->num_sqe - 1)] = sq->ring[i & sq->mask];
		r->slot[i & (r->num_sqe - 1)] = sq->slot[i & sq->mask];
	}
	for (i = rq->get; i != rq->put; i++)
		r->rqe[i & (r->num_rqe - 1)] = rq->ring[i & rq->mask];
	return 0;
}

/* Exchange the queues. The caller keeps the engines away, the locks keep posts away. */
static int hyb_rings_swap(struct hyb_qp *qp, struct hyb_rings *r)
{
	struct hyb_sq *sq = &qp->sq;
	struct hyb_rq *rq = &qp->rq;
	unsigned long flags;
	int err;

	spin_lock_irqsave(&sq->lock, flags);
	spin_lock(&rq->lock);
	/* in state ERROR a flush may be under way */
	err = hyb_qp_state(qp) == HYB_QP_ERROR ? -EINVAL : hyb_rings_move(qp, r);
	if (!err) {
		swap(sq->ring, r->sqe);
		swap(sq->slot, r->slot);
		swap(rq->ring, r->rqe);
		sq->mask = r->num_sqe - 1;
		rq->mask = r->num_rqe - 1;
	}
	spin_unlock(&rq->lock);
	spin_unlock_irqrestore(&sq->lock, flags);
	return err;
}

/* Of a queue pair without a connection: none can begin meanwhile */
static int hyb_rings_swap_idle(struct hyb_qp *qp, struct hyb_rings *r)
{
	int err = -EBUSY;

	spin_lock_irq(&qp->tcp.lock);
	if (!qp->cep)
		err = hyb_rings_swap(qp, r);
	spin_unlock_irq(&qp->tcp.lock);
	return err;
}

/*
 * Other sizes for queues that are not mapped by a user. An upper layer learns what it
 * needs when the peer has answered, or when there is traffic.
 */
static int hyb_qp_resize(struct hyb_qp *qp, const struct ib_qp_cap *cap)
{
	struct hyb_rings rings;
	struct sock *sk;
	int err;

	if (qp->user || qp->srq)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > HYB_MAX_QP_WR ||
	    cap->max_recv_wr > HYB_MAX_QP_WR)
		return -EINVAL;
	err = hyb_rings_alloc(&rings, cap);
	if (err)
		return err;
	/* pairs with hyb_tcp_start(); referenced until hyb_tcp_fini_qp() */
	sk = smp_load_acquire(&qp->tcp.sk);
	if (sk) {
		lock_sock(sk);
		err = hyb_rings_swap(qp, &rings);
		release_sock(sk);
	} else {
		err = hyb_rings_swap_idle(qp, &rings);
	}
	hyb_rings_free(&rings);
	return err;
}

static void hyb_qp_init(struct hyb_qp *qp, const struct ib_qp_init_attr *attr)
{
	qp->dev = hyb_dev_of(qp->ibqp.device);
	kref_init(&qp->ref);
	INIT_WORK(&qp->fault, hyb_qp_fault_work);
	spin_lock_init(&qp->state_lock);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	qp->scq = hyb_cq_of(attr->send_cq);
	qp->rcq = hyb_cq_of(attr->recv_cq);
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = HYB_QP_IDLE;
	INIT_LIST_HEAD(&qp->srq_node);
	if (attr->srq)
		qp->srq = hyb_srq_of(attr->srq);
}

/* Gives the QP its number; from now on others may find it */
static int hyb_qp_publish(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;
	int err;
	u32 qpn;

	xa_lock_irq(&dev->qps);
	err = __xa_alloc_cyclic(&dev->qps, &qpn, qp, XA_LIMIT(1, 0xffffff),
				&dev->next_qpn, GFP_KERNEL);
	/* lookups wait for the lock */
	if (err >= 0)
		qp->ibqp.qp_num = qpn;
	xa_unlock_irq(&dev->qps);
	return min(err, 0);
}

/* No lookup finds it any more, and no earlier one still uses it */
static void hyb_qp_withdraw(struct hyb_qp *qp)
{
	xa_erase_irq(&qp->dev->qps, qp->ibqp.qp_num);
	hyb_qp_put(qp);
	wait_var_event(&qp->ref, !kref_read(&qp->ref));
	smp_mb();	/* after all accesses by holders of references */
	if (qp->srq)
		hyb_srq_leave(qp);
}

/*
 * Nothing completes any more; waits until the connection has let go. Frees all but
 * what the core has allocated.
 */
static void hyb_qp_fini(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	WRITE_ONCE(qp->dead, true);
	hyb_attr_qp_del(qp);
	hyb_qp_abort(qp, HYB_CLOSE_ABORT);
	hyb_qp_withdraw(qp);
	hyb_tcp_fini_qp(qp);
	hyb_cq_clean(qp->scq, qp);
	hyb_cq_clean(qp->rcq, qp);
	put_pid(qp->owner);
	mem_cgroup_put(qp->memcg);
	hyb_qp_free_memory(qp);
	atomic_dec(&dev->num_qp);
}

static int hyb_qp_copy_resp(struct hyb_qp *qp, struct ib_udata *udata,
			    struct siw_uresp_create_qp *resp)
{
	resp->qp_id = qp->ibqp.qp_num;
	if (udata->outlen < sizeof(*resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, resp, sizeof(*resp));
}

/**
 * hyb_create_qp - ib_device_ops.create_qp
 * @ibqp: queue pair allocated by the core
 * @attr: requested attributes; capabilities are updated to the granted ones
 * @udata: user's part of the request, or NULL
 *
 * Return: 0 or negative errno.
 */
static int hyb_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata)
{
	/*
	 * Not SIW_INVAL_UOBJ_KEY, which the library takes for a failure: with a
	 * shared receive queue there is none to map.
	 */
	struct siw_uresp_create_qp resp = {};
	struct hyb_dev *dev = hyb_dev_of(ibqp->device);
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	int err;

	err = hyb_qp_check_attr(attr);
	if (err)
		return err;
	if (!atomic_add_unless(&dev->num_qp, 1, HYB_MAX_QP))
		return -ENOMEM;

	hyb_qp_init(qp, attr);
	hyb_place_init(qp);
	qp->user = udata;
	qp->owner = udata ? get_pid(task_tgid(current)) : NULL;
	/* of the task, or of the task that it works for */
	qp->memcg = get_mem_cgroup_from_mm(NULL);
	qp->uid = current_uid();
	err = hyb_qp_alloc_rings(qp, attr, udata, &resp);
	if (err)
		goto err_memory;
	hyb_sched_init_qp(qp);
	err = hyb_qp_publish(qp);
	if (err)
		goto err_data;
	hyb_attr_qp_add(qp);
	err = udata ? hyb_qp_copy_resp(qp, udata, &resp) : 0;
	/* another thread may have guessed its number and connected it */
	if (err)
		hyb_qp_fini(qp);
	return err;

err_data:
	hyb_tcp_fini_qp(qp);
err_memory:
	put_pid(qp->owner);
	mem_cgroup_put(qp->memcg);
	hyb_qp_free_memory(qp);
	atomic_dec(&dev->num_qp);
	return err;
}

static int hyb_qp_modify_state(struct hyb_qp *qp, enum ib_qp_state to)
{
	enum hyb_qp_state now = hyb_qp_state(qp);

	switch (to) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
		return now == HYB_QP_IDLE ? 0 : -EINVAL;
	case IB_QPS_RTR:
		if (now > HYB_QP_RTR)
			return -EINVAL;
		return hyb_qp_set_state(qp, HYB_QP_RTR) ? 0 : -EINVAL;
	case IB_QPS_RTS:
		/* Only connection management gets it there */
		return now == HYB_QP_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		if (now < HYB_QP_RTS)
			return -EINVAL;
		hyb_qp_close_here(qp, HYB_CLOSE_GRACEFUL);
		return 0;
	case IB_QPS_ERR:
		hyb_qp_abort(qp, HYB_CLOSE_ABORT);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * @cm: the flags come with a change of state, perhaps from the RDMA CM, which did not ask
 * the ULP. It sets no flag as long as it has no cm_id of the IW CM, and it never sets that
 * of atomic operations. A flag that it leaves out in this way refuses nothing.
 *
 * Returns 0 or a negative errno. After 0 the peer writes nothing that it may not.
 */
static int hyb_qp_set_access(struct hyb_qp *qp, int access, bool cm)
{
	u8 refuses = (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
		      IB_ACCESS_REMOTE_ATOMIC) & ~access;
	struct sock *sk;

	if (cm)
		refuses &= access ? ~IB_ACCESS_REMOTE_ATOMIC : 0;
	WRITE_ONCE(qp->access, access);
	/* before hyb_sched_enter() looks for a socket: an engine that begins later sees it */
	smp_store_mb(qp->refuses, refuses);
	if (!(refuses & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)))
		return 0;
	/*
	 * The receive engine may have looked before. A NIC that places does not ask for
	 * each Write; from now on no buffer is added.
	 */
	sk = hyb_sched_enter(qp);
	if (IS_ERR_OR_NULL(sk))
		return PTR_ERR_OR_ZERO(sk);
	if (refuses & IB_ACCESS_REMOTE_WRITE)
		hyb_off_no_writes(qp);
	hyb_sched_leave(qp, sk, false);
	return 0;
}

/**
 * hyb_modify_qp - ib_device_ops.modify_qp
 * @ibqp: queue pair
 * @attr: new attributes
 * @mask: which of them
 * @udata: user's part of the request, or NULL
 *
 * With IB_QP_CAP, the numbers of work requests, for the kernel only: -EBUSY if the
 * queues hold more, or too many to be moved, or a connection has just begun; -EINVAL
 * in state ERR.
 *
 * Return: 0 or negative errno.
 */
static int hyb_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_CAP) {
		err = hyb_qp_resize(qp, &attr->cap);
		if (err)
			return err;
	}
	if (mask & IB_QP_ACCESS_FLAGS) {
		err = hyb_qp_set_access(qp, attr->qp_access_flags,
					mask & IB_QP_STATE);
		if (err)
			return err;
	}
	if (mask & IB_QP_STATE)
		return hyb_qp_modify_state(qp, attr->qp_state);
	return 0;
}

/**
 * hyb_query_qp - ib_device_ops.query_qp
 * @ibqp: queue pair
 * @attr: attributes to fill in
 * @mask: not used, all are filled in
 * @init: attributes given at creation
 *
 * Return: 0.
 */
static int hyb_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_qp_init_attr *init)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);

	attr->qp_state = hyb_qp_ib_state[hyb_qp_state(qp)];
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = ib_mtu_int_to_enum(qp->dev->netdev->mtu);
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->max_rd_atomic = READ_ONCE(qp->tx.ord);
	attr->max_dest_rd_atomic = READ_ONCE(qp->tx.ird);
	attr->port_num = 1;
	attr->cap.max_send_wr = qp->sq.mask + 1;
	attr->cap.max_recv_wr = qp->rq.ring ? qp->rq.mask + 1 : 0;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = SIW_MAX_INLINE;

	init->qp_type = ibqp->qp_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	return 0;
}

/**
 * hyb_destroy_qp - ib_device_ops.destroy_qp
 * @ibqp: queue pair
 * @udata: user's part of the request, or NULL
 *
 * Nothing completes any more; waits until the connection has let go.
 *
 * Return: 0.
 */
static int hyb_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	hyb_qp_fini(hyb_qp_of(ibqp));
	return 0;
}

/**
 * hyb_fill_res_qp - ib_device_ops.fill_res_qp_entry
 * @msg: netlink message
 * @ibqp: queue pair
 *
 * For "rdma resource show qp -dd": how full the queues are, and its memory.
 *
 * Return: 0 or -EMSGSIZE.
 */
static int hyb_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_qp *live;
	struct nlattr *table;
	u32 memory = 0;

	/* the core may still show what is being destroyed */
	live = hyb_qp_lookup(qp->dev, ibqp->qp_num);
	if (live) {
		memory = hyb_idle_memory(live);
		hyb_qp_put(live);
	}
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "sq_size", qp->sq.mask + 1) ||
	    rdma_nl_put_driver_u32(msg, "sq_active",
				   READ_ONCE(qp->sq.tx) -
				   READ_ONCE(qp->sq.get)) ||
	    rdma_nl_put_driver_u32(msg, "rq_size",
				   qp->rq.ring ? qp->rq.mask + 1 : 0) ||
	    rdma_nl_put_driver_u32(msg, "rq_taken", READ_ONCE(qp->rq.get)) ||
	    rdma_nl_put_driver_u32(msg, "ord", READ_ONCE(qp->tx.ord)) ||
	    rdma_nl_put_driver_u32(msg, "ird", READ_ONCE(qp->tx.ird)) ||
	    rdma_nl_put_driver_u32(msg, "memory", memory)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

const struct ib_device_ops hyb_qp_ops = {
	.create_qp = hyb_create_qp,
	.destroy_qp = hyb_destroy_qp,
	.fill_res_qp_entry = hyb_fill_res_qp,
	.modify_qp = hyb_modify_qp,
	.query_qp = hyb_query_qp,

	INIT_RDMA_OBJ_SIZE(ib_qp, hyb_qp, ibqp),
};
