// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, pairs of an iWARP device that offers the shared link: queue
 * pairs of two devices in two network namespaces, connected by rdma_cm.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "test.h"

struct st_side {
	struct st_end *end;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct kt_step step;		/* of connecting, the present one */
	struct kt_step posted;		/* a work request */
	struct ib_cqe cqe;		/* of that */
	u8 buf[256];			/* of a receive */
	struct completion ended;	/* of the connection or its device */
};

struct st_conn {
	struct st_side side[2];		/* connecting end, listening end */
	struct st_pair *pair;
};

static struct rdma_cm_id *st_listener;
static struct st_conn *st_expected;	/* connection of the next request */
static struct sockaddr_in st_addr;

/* One request at a time is posted, apart from those of ib_drain_qp() */
static int st_make_qp(struct st_side *s)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	s->pd = ib_alloc_pd(s->id->device, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	s->cq = ib_alloc_cq(s->id->device, NULL, 32, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(s->cq))
		return PTR_ERR(s->cq);
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	return rdma_create_qp(s->id, s->pd, &attr);
}

static int st_side_open(struct st_side *s)
{
	struct st_end *e = s->end;

	e->link = rdma_stack_get_link(s->id->device);
	if (!e->link)
		return -EOPNOTSUPP;
	e->qp = s->id->qp;
	return e->late ? 0 : st_open(e);
}

static int st_side_up(struct st_side *s)
{
	int err = st_make_qp(s);

	return err ?: st_side_open(s);
}

static void st_side_free(struct st_side *s)
{
	if (!s->id)
		return;
	if (s->id->qp) {
		rdma_disconnect(s->id);
		ib_drain_qp(s->id->qp);
		st_close(s->end);
		rdma_destroy_qp(s->id);
	}
	if (!IS_ERR_OR_NULL(s->cq))
		ib_free_cq(s->cq);
	if (!IS_ERR_OR_NULL(s->pd))
		ib_dealloc_pd(s->pd);
	rdma_destroy_id(s->id);
	s->id = NULL;
}

static void st_ended(struct st_side *s)
{
	complete(&s->ended);
}

static int st_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct st_side *s = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		kt_step_end(&s->step, 0);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		st_ended(s);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		kt_step_end(&s->step, event->status ?: -EIO);
		break;
	}
	return 0;
}

/* On the listener: a new id has its context, NULL. The queue pair is made before accept. */
static int st_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { };
	struct st_side *s;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return id->context ? st_cm_event(id, event) : 0;
	if (!st_expected)
		return -ECONNREFUSED;
	s = &st_expected->side[1];
	st_expected = NULL;
	s->id = id;
	id->context = s;
	err = st_side_up(s);
	if (!err)
		err = rdma_accept(id, &param);
	if (err)
		kt_step_end(&s->step, err);
	return 0;
}

static int st_dial(struct st_conn *c)
{
	struct st_side *s = &c->side[0];
	struct rdma_conn_param param = { };
	struct rdma_stack_tx tx;
	int err;

	err = kt_resolve(&s->id, &st_addr, st_cm_event, s, &s->step);
	if (err)
		return err;
	err = st_side_up(s);
	if (err)
		return err;
	c->pair->early = st_reserve(s->end, 100, &tx);
	return kt_step_wait(&s->step, rdma_connect(s->id, &param));
}

static void st_hybrid_free(struct st_pair *p)
{
	struct st_conn *c = p->priv;

	st_expected = NULL;
	st_side_free(&c->side[0]);
	st_side_free(&c->side[1]);
	kfree(c);
}

static int st_hybrid_up(struct st_pair *p)
{
	struct st_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int i, err;

	if (!c)
		return -ENOMEM;
	p->priv = c;
	c->pair = p;
	for (i = 0; i < 2; i++) {
		c->side[i].end = &p->end[i];
		init_completion(&c->side[i].step.done);
		init_completion(&c->side[i].ended);
	}
	st_expected = c;
	err = st_dial(c);
	err = err ?: kt_step_wait(&c->side[1].step, 0);
	if (err)
		st_hybrid_free(p);
	return err;
}

static void st_hybrid_down(struct st_pair *p)
{
	struct st_conn *c = p->priv;
	int i;

	rdma_disconnect(c->side[0].id);
	for (i = 0; i < 2; i++)
		wait_for_completion_timeout(&c->side[i].ended, KT_WAIT);
}

static void st_set_mtu(struct rdma_cm_id *id, int mtu)
{
	struct net_device *netdev;

	rtnl_lock();
	netdev = dev_get_by_index(id->route.addr.dev_addr.net,
				  id->route.addr.dev_addr.bound_dev_if);
	if (netdev) {
		dev_set_mtu(netdev, mtu);
		dev_put(netdev);
	}
	rtnl_unlock();
}

static void st_posted(struct ib_cq *cq, struct ib_wc *wc)
{
	struct st_side *s = container_of(wc->wr_cqe, struct st_side, cqe);

	kt_step_end(&s->posted, wc->status);
}

/* A Write of no bytes: it needs no memory, and the peer checks none */
static int st_hybrid_post(struct st_pair *p)
{
	struct st_side *s = &((struct st_conn *)p->priv)->side[0];
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &s->cqe,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
	};

	s->cqe.done = st_posted;
	init_completion(&s->posted.done);
	return ib_post_send(s->id->qp, &wr.wr, NULL);
}

static int st_hybrid_posted(struct st_pair *p)
{
	struct st_conn *c = p->priv;

	return kt_step_wait(&c->side[0].posted, 0);
}

static int st_hybrid_recv(struct st_pair *p)
{
	struct st_side *s = &((struct st_conn *)p->priv)->side[1];
	struct ib_sge sge = {
		.length = sizeof(s->buf),
		.lkey = s->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &s->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	/* the device does no DMA: there is nothing to unmap */
	sge.addr = ib_dma_map_single(s->id->device, s->buf, sizeof(s->buf),
				     DMA_FROM_DEVICE);
	s->cqe.done = st_posted;
	init_completion(&s->posted.done);
	return ib_post_recv(s->id->qp, &wr, NULL);
}

static int st_hybrid_received(struct st_pair *p)
{
	struct st_conn *c = p->priv;

	return kt_step_wait(&c->side[1].posted, 0);
}

static int st_side_recv(struct st_side *s)
{
	struct ib_recv_wr wr = { .wr_cqe = &s->cqe };

	s->cqe.done = st_posted;
	init_completion(&s->posted.done);
	return ib_post_recv(s->id->qp, &wr, NULL);
}

/* The posted receive is flushed, and so is one that is posted after the reset */
static void st_reset_check(struct st_side *s, const char *what)
{
	int err = kt_step_wait(&s->posted, 0);
	bool ok = err == IB_WC_WR_FLUSH_ERR;

	kt_ok(ok, "%s: the receive is flushed: %d", what, err);
	if (ok) {
		err = st_side_recv(s);
		err = err ?: kt_step_wait(&s->posted, 0);
		kt_ok(err == IB_WC_WR_FLUSH_ERR, "%s: a later receive is flushed: %d",
		      what, err);
		return;
	}
	/* it could not be drained */
	st_close(s->end);
	rdma_destroy_qp(s->id);
}

/* Reset a queue pair that was never connected, or, @dial, is about to be */
static void st_reset_side(struct st_side *s, const char *what, bool dial)
{
	struct rdma_conn_param param = { };
	int err;

	err = kt_resolve(&s->id, &st_addr, st_cm_event, s, &s->step);
	err = err ?: st_side_up(s);
	err = err ?: st_side_recv(s);
	if (!err && dial) {
		err = rdma_connect(s->id, &param);
		/* the peer has the request, and does not answer */
		msleep(100);
	}
	if (kt_ok(!err, "%s: a queue pair is made: %d", what, err)) {
		s->end->link->reset(s->end->qp);
		if (dial)
			kt_ok(kt_step_wait(&s->step, 0) < 0,
			      "%s: it does not connect", what);
		st_reset_check(s, what);
	}
	st_side_free(s);
}

static void st_reset_case(const char *what, bool dial)
{
	struct st_side *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct st_end *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (kt_ok(s && e, "%s: there is memory", what)) {
		st_end_init(e);
		s->end = e;
		init_completion(&s->step.done);
		init_completion(&s->ended);
		st_reset_side(s, what, dial);
	}
	kfree(e);
	kfree(s);
}

/* Both ends of the path get the same MTU, the n-th of the list */
static void st_hybrid_path(struct st_pair *p, unsigned int n)
{
	static const int mtu[] = { 9000, 1500, 576, 4000, 1400, 8996 };
	struct st_conn *c = p->priv;

	st_set_mtu(c->side[0].id, mtu[n % ARRAY_SIZE(mtu)]);
	st_set_mtu(c->side[1].id, mtu[n % ARRAY_SIZE(mtu)]);
}

/* Queued: the core waits until the cm_id is destroyed, which is after the case */
static void st_hybrid_remove(struct st_pair *p)
{
	struct st_conn *c = p->priv;
	struct ib_device *dev = c->side[0].id->device;

	if (ib_device_try_get(dev)) {
		ib_unregister_device_queued(dev);
		ib_device_put(dev);
	}
	wait_for_completion_timeout(&c->side[0].ended, KT_WAIT);
	/* rdma_cm only reports the removal, and does not end the connection */
	rdma_disconnect(c->side[0].id);
}

static const struct st_env st_hybrid_env = {
	.name = "link",
	.up = st_hybrid_up,
	.down = st_hybrid_down,
	.free = st_hybrid_free,
	.path = st_hybrid_path,
	.post = st_hybrid_post,
	.posted = st_hybrid_posted,
	.recv = st_hybrid_recv,
	.received = st_hybrid_received,
	.remove = st_hybrid_remove,
};

/**
 * st_listen() - listen for connections, until the next call or the end of the module
 * @args: address and port
 *
 * Return: 0 or a negative errno.
 */
int st_listen(const char *args)
{
	struct rdma_cm_id *id;

	st_hybrid_exit();
	id = kt_listen(args, st_listen_event);
	if (IS_ERR(id))
		return PTR_ERR(id);
	st_listener = id;
	return 0;
}

/**
 * st_hybrid_tests() - the contract on an iWARP device
 * @args: address and port where st_listen() listens; bytes of random load, without which all
 *	cases run
 *
 * Return: 0 or -EINVAL.
 */
int st_hybrid_tests(const char *args)
{
	u32 total = 0;

	if (!st_listener || kt_parse_addr(args, &st_addr, &total))
		return -EINVAL;
	if (total) {
		st_path_test(&st_hybrid_env);
		st_bulk_test(&st_hybrid_env, total);
	} else {
		st_link_tests(&st_hybrid_env);
	}
	return 0;
}

/**
 * st_reset_tests() - reset before there is a connection
 * @args: address and port of a TCP listener that never answers
 *
 * Return: 0 or -EINVAL.
 */
int st_reset_tests(const char *args)
{
	u32 unused;

	if (kt_parse_addr(args, &st_addr, &unused))
		return -EINVAL;
	st_reset_case("never connected", false);
	st_reset_case("about to connect", true);
	return 0;
}

/* open() refuses the queue pair of a program, which does not change */
static void st_program_case(const struct rdma_stack_link *link,
			    struct ib_qp *qp)
{
	struct st_end *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int err;

	if (!kt_ok(e, "there is memory"))
		return;
	st_end_init(e);
	e->link = link;
	e->qp = qp;
	err = st_open(e);
	if (!kt_ok(err == -EOPNOTSUPP, "the queue pair of a program is refused: %d", err) && !err)
		st_close(e);
	kt_ok(link->tx_acked(qp), "the acknowledged position is known");
	st_end_fini(e);
	kfree(e);
}

/**
 * st_program_tests() - a queue pair that belongs to a program
 * @args: its number, of the device where st_listen() listens
 *
 * Return: 0 or -EINVAL.
 */
int st_program_tests(const char *args)
{
	const struct rdma_stack_link *link;
	struct rdma_restrack_entry *res;
	struct ib_device *dev;
	u32 qpn;

	if (!st_listener || kstrtou32(args, 0, &qpn))
		return -EINVAL;
	dev = st_listener->device;
	link = dev ? rdma_stack_get_link(dev) : NULL;
	if (!kt_ok(link, "the device has a link"))
		return 0;
	res = rdma_restrack_get_byid(dev, RDMA_RESTRACK_QP, qpn);
	if (kt_ok(!IS_ERR(res), "the queue pair is found")) {
		st_program_case(link, container_of(res, struct ib_qp, res));
		rdma_restrack_put(res);
	}
	return 0;
}

/**
 * st_hybrid_exit() - stop listening
 */
void st_hybrid_exit(void)
{
	if (st_listener)
		rdma_destroy_id(st_listener);
	st_listener = NULL;
}
