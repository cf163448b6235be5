// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the IW CM for connections, and the connection manager's part of a
 * device. See hyb_cm.h.
 *
 * They take the lock of the connection themselves. Its release takes the steps of the state
 * machine that are due (hyb_cep_unlock()).
 *
 * Calls hyb_cep.c and hyb_listen.c.
 */
#include <linux/inetdevice.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "hyb_cep.h"
#include "hyb_cm.h"
#include "hyb_listen.h"
#include "hyb_tcp.h"
#include "hybrid.h"

/* hyb_iw_get_qp() has taken the reference, and the IW CM calls nothing in between */
void hyb_iw_add_ref(struct ib_qp *ibqp)
{
}

void hyb_iw_rem_ref(struct ib_qp *ibqp)
{
	hyb_qp_put(hyb_qp_of(ibqp));
}

/**
 * hyb_iw_get_qp - ib_device_ops.iw_get_qp
 * @ibdev: device
 * @qpn: number
 *
 * The IW CM takes a reference with iw_add_ref next. A user may name any QP, and
 * it may be destroyed before that: so the reference is taken here.
 *
 * Context: any.
 * Return: the QP, referenced, or NULL.
 */
struct ib_qp *hyb_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct hyb_qp *qp = hyb_qp_lookup(hyb_dev_of(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/*
 * The QP that a cm_id is to be connected with, referenced; NULL if it must not
 * be. The RDMA CM, whose object begins with a struct rdma_cm_id, is the only user
 * of the IW CM. It knows the QP of an upper layer of the kernel. A program may
 * only give the number of a queue pair that it has created itself.
 */
static struct hyb_qp *hyb_cm_qp(const struct iw_cm_id *id, u32 qpn)
{
	struct hyb_qp *qp = hyb_qp_lookup(hyb_dev_of(id->device), qpn);
	const struct rdma_cm_id *cm_id = id->context;
	bool own;

	if (!qp)
		return NULL;
	if (cm_id->qp)
		own = cm_id->qp == &qp->ibqp;
	else
		own = qp->owner && qp->owner == task_tgid(current);
	if (own)
		return qp;
	hyb_qp_put(qp);
	return NULL;
}

/**
 * hyb_connect - ib_device_ops.iw_connect
 * @id: cm_id with both addresses
 * @param: queue pair, private data, IRD and ORD
 *
 * Context: process.
 * Return: 0, and CONNECT_REPLY follows, or an error and nothing follows.
 */
int hyb_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct hyb_dev *dev = hyb_dev_of(id->device);
	struct hyb_cep *cep;
	struct hyb_qp *qp;
	int err;

	if (param->private_data_len > sizeof(cep->start->pdata) ||
	    param->ird > HYB_MAX_RD_ATOM || param->ord > HYB_MAX_RD_ATOM)
		return -EINVAL;
	/*
	 * The RDMA CM finds the device by address, and a net device of any
	 * namespace can have the same addresses.
	 */
	if (!net_eq(hyb_cm_net(id), dev_net(dev->netdev)))
		return -ENETUNREACH;
	qp = hyb_cm_qp(id, param->qpn);
	if (!qp)
		return -EINVAL;
	err = -ENOMEM;
	cep = hyb_cep_new(dev);
	if (!cep)
		goto out_qp;

	hyb_cep_lock(cep);
	cep->active = true;
	cep->rev = dev->mpa_rev;
	cep->lim.ird = param->ird;
	cep->lim.ord = param->ord;
	cep->pdata_len = param->private_data_len;
	memcpy(cep->start->pdata, param->private_data, cep->pdata_len);
	err = hyb_cep_bind(cep, qp);
	if (err)
		goto out_cep;
	err = hyb_cep_enlist(cep);
	if (err)
		goto out_unbind;
	id->add_ref(id);
	cep->id = id;
	err = hyb_cep_dial(cep);
	if (!err)
		goto out_cep;

	cep->id = NULL;
	id->rem_ref(id);
	hyb_cep_dead(cep);
out_unbind:
	hyb_cep_unbind(cep);
out_cep:
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
out_qp:
	hyb_qp_put(qp);
	return err;
}

/**
 * hyb_accept - ib_device_ops.iw_accept
 * @id: cm_id of a CONNECT_REQUEST
 * @param: queue pair, private data, IRD and ORD
 *
 * Context: process.
 * Return: 0, and ESTABLISHED was delivered, or an error and nothing follows.
 */
int hyb_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct hyb_cep *cep = hyb_request_take(id);
	struct hyb_qp *qp;
	int err;

	if (!cep)
		return -ECONNRESET;
	qp = hyb_cm_qp(id, param->qpn);
	hyb_cep_lock(cep);
	cep->number = 0;
	err = -EINVAL;
	if (!qp || param->private_data_len > U8_MAX ||
	    param->ird > HYB_MAX_RD_ATOM || param->ord > HYB_MAX_RD_ATOM)
		goto out_drop;
	err = -ECONNRESET;
	if (cep->state != HYB_CEP_REQUEST)
		goto out_drop;
	err = hyb_cep_bind(cep, qp);
	if (err)
		goto out_drop;
	err = hyb_cep_accept(cep, id, param);
	if (!err)
		goto out;
	hyb_cep_unbind(cep);
out_drop:
	if (cep->state == HYB_CEP_REQUEST)
		hyb_cep_drop(cep, true);
out:
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
	if (qp)
		hyb_qp_put(qp);
	return err;
}

/**
 * hyb_reject - ib_device_ops.iw_reject
 * @id: cm_id of a CONNECT_REQUEST
 * @pdata: private data
 * @pdata_len: its length
 *
 * Context: process.
 * Return: 0 or an error; the connection is over in any case.
 */
int hyb_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct hyb_cep *cep = hyb_request_take(id);
	struct mpa_result res;
	size_t len;
	int err;

	if (!cep)
		return -ECONNRESET;
	hyb_cep_lock(cep);
	cep->number = 0;
	err = -ECONNRESET;
	if (cep->state == HYB_CEP_REQUEST) {
		mpa_respond(&cep->req, &cep->lim, &cep->rep, &res);
		cep->rep.reject = true;
		cep->rep.pd_len = pdata_len;
		len = mpa_start_build(cep->start->frame, true, &cep->rep, pdata);
		err = hyb_mpa_send(cep, cep->start->frame, len);
		hyb_stats_inc(cep->dev, HYB_ST_CM_REJECT);
		hyb_cep_linger_refused(cep);
	}
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
	return err;
}

/* ---------------------------------------------------- device and module */

void hyb_cm_dev_init(struct hyb_dev *dev)
{
	struct hyb_cm_dev *cm = &dev->cm;

	mutex_init(&cm->lock);
	INIT_LIST_HEAD(&cm->ceps);
	INIT_LIST_HEAD(&cm->lids);
	xa_init_flags(&cm->requests, XA_FLAGS_ALLOC1);
	refcount_set(&cm->users, 1);
	init_completion(&cm->idle);
}

static void hyb_cm_set_adder(struct hyb_cm_dev *cm, struct pid *pid)
{
	mutex_lock(&cm->lock);
	swap(cm->adder, pid);
	mutex_unlock(&cm->lock);
	put_pid(pid);
}

void hyb_cm_dev_adding(struct hyb_dev *dev)
{
	hyb_cm_set_adder(&dev->cm, get_pid(task_pid(current)));
}

void hyb_cm_dev_added(struct hyb_dev *dev)
{
	hyb_cm_set_adder(&dev->cm, NULL);
}

void hyb_cm_dev_down(struct hyb_dev *dev)
{
	struct hyb_cm_dev *cm = &dev->cm;
	struct hyb_cep *cep;

	mutex_lock(&cm->lock);
	if (!cm->down)
		cm->recall = jiffies + HYB_T_RECALL;
	cm->down = true;
	mutex_unlock(&cm->lock);

	hyb_listen_down(dev);

	for (;;) {
		mutex_lock(&cm->lock);
		cep = list_first_entry_or_null(&cm->ceps, struct hyb_cep, node);
		if (cep)
			hyb_cep_get(cep);
		mutex_unlock(&cm->lock);
		if (!cep)
			break;
		hyb_cep_lock(cep);
		hyb_cep_kill(cep);
		hyb_cep_unlock(cep);
		hyb_cep_put(cep);
	}
}

void hyb_cm_dev_exit(struct hyb_dev *dev)
{
	hyb_cm_dev_down(dev);
	hyb_cm_dev_put(dev);
	wait_for_completion(&dev->cm.idle);
	hyb_cm_dev_added(dev);
	xa_destroy(&dev->cm.requests);
}

bool hyb_cm_dev_hold(struct hyb_dev *dev)
{
	return refcount_inc_not_zero(&dev->cm.users);
}

void hyb_cm_dev_release(struct hyb_dev *dev)
{
	hyb_cm_dev_put(dev);
}

int hyb_cm_init(void)
{
	hyb_listen_init();
	hyb_cep_cache = KMEM_CACHE(hyb_cep, 0);
	if (!hyb_cep_cache)
		return -ENOMEM;
	hyb_cm_wq = alloc_workqueue("hyb_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (hyb_cm_wq)
		return 0;
	kmem_cache_destroy(hyb_cep_cache);
	return -ENOMEM;
}

void hyb_cm_exit(void)
{
	destroy_workqueue(hyb_cm_wq);
	kmem_cache_destroy(hyb_cep_cache);
}
