// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: connections, one after the other. See load.h.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "load.h"

struct ul_conn *ul_conns;
u32 ul_count;

static struct ul_side ul_sides[2];
static struct rdma_cm_id *ul_listener;
static struct ul_end *ul_expected;	/* end that the next request is for */
static u32 ul_room;			/* connections that queues have room for */

enum ib_poll_context ul_poll = IB_POLL_SOFTIRQ;

/**
 * ul_poll_by() - choose how completions are noticed, of connections made afterwards
 * @name: "softirq"; "poll", by looking at the queue; "event", by a thread that an
 *	  event of the queue wakes
 *
 * Return: 0 or a negative errno.
 */
int ul_poll_by(const char *name)
{
	static const char * const names[] = {
		[IB_POLL_DIRECT] = "poll",
		[IB_POLL_SOFTIRQ] = "softirq",
		[IB_POLL_WORKQUEUE] = "event",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!names[i] || strcmp(names[i], name))
			continue;
		if (ul_conns)
			return -EBUSY;
		ul_poll = i;
		return 0;
	}
	return -EINVAL;
}

/**
 * ul_pump() - look for completions, where nothing else does
 */
void ul_pump(void)
{
	int i;

	if (ul_poll != IB_POLL_DIRECT)
		return;
	for (i = 0; i < 2; i++)
		if (ul_sides[i].cq)
			ib_process_cq_direct(ul_sides[i].cq, -1);
}

/**
 * ul_completed() - wait, and look for completions meanwhile
 * @done: for this
 * @timeout: no longer than so many jiffies
 *
 * Return: is it complete?
 */
bool ul_completed(struct completion *done, unsigned long timeout)
{
	unsigned long end = jiffies + timeout;

	if (ul_poll != IB_POLL_DIRECT)
		return wait_for_completion_timeout(done, timeout);
	while (!try_wait_for_completion(done)) {
		if (time_after(jiffies, end))
			return false;
		ul_pump();
		cond_resched();
	}
	return true;
}

/**
 * ul_depth() - room of each queue of a queue pair
 *
 * Many connections have to share memory.
 *
 * Return: requests.
 */
u32 ul_depth(void)
{
	return ul_room == 1 ? UL_QUEUE : UL_DEPTH;
}

static int ul_side_up(struct ul_side *s, struct ib_device *dev)
{
	struct ib_cq *cq;
	struct ib_pd *pd;

	if (s->buf)
		return 0;
	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	s->pd = pd;
	/* one receive of each, and all of one */
	cq = ib_alloc_cq(dev, NULL, 4 * (ul_room + ul_depth()), 0, ul_poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	s->cq = cq;
	s->buf = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					  get_order(UL_BUF));
	if (!s->buf)
		return -ENOMEM;
	s->dma = ib_dma_map_single(dev, s->buf, UL_BUF, DMA_BIDIRECTIONAL);
	return 0;
}

static void ul_side_down(struct ul_side *s)
{
	if (s->buf) {
		ib_dma_unmap_single(s->pd->device, s->dma, UL_BUF,
				    DMA_BIDIRECTIONAL);
		free_pages((unsigned long)s->buf, get_order(UL_BUF));
	}
	if (s->cq)
		ib_free_cq(s->cq);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	memset(s, 0, sizeof(*s));
}

static int ul_make_qp(struct ul_end *e)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.port_num = 1,
		.cap = {
			.max_send_wr = ul_depth(),
			.max_recv_wr = ul_depth(),
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	int err;

	err = ul_side_up(e->side, e->id->device);
	if (err)
		return err;
	attr.send_cq = e->side->cq;
	attr.recv_cq = e->side->cq;
	return rdma_create_qp(e->id, e->side->pd, &attr);
}

static void ul_param(const struct ul_end *e, struct rdma_conn_param *param)
{
	u32 max = e->id->device->attrs.max_qp_rd_atom;

	*param = (struct rdma_conn_param) {
		.responder_resources = min_t(u32, max, U8_MAX),
		.initiator_depth = min_t(u32, max, U8_MAX),
	};
}

static int ul_accept(struct rdma_cm_id *id)
{
	struct ul_end *e = ul_expected;
	struct rdma_conn_param param;
	int err;

	if (!e)
		return -ECONNREFUSED;
	ul_expected = NULL;
	e->id = id;
	id->context = e;
	err = ul_make_qp(e);
	ul_param(e, &param);
	if (!err)
		err = rdma_accept(id, &param);
	if (err)
		kt_step_end(&e->step, err);
	return 0;
}

static int ul_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct ul_end *e = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return ul_accept(id);
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		kt_step_end(&e->step, 0);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		break;
	default:
		if (e)
			kt_step_end(&e->step, event->status ?: -EIO);
	}
	return 0;
}

int ul_listen(const char *args)
{
	struct rdma_cm_id *id;

	if (ul_listener)
		return -EBUSY;
	id = kt_listen(args, ul_event);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ul_listener = id;
	return 0;
}

void ul_unlisten(void)
{
	if (ul_listener)
		rdma_destroy_id(ul_listener);
	ul_listener = NULL;
}

static void ul_end_init(struct ul_end *e, struct ul_side *side)
{
	e->side = side;
	init_completion(&e->step.done);
}

static int ul_connect(struct ul_conn *c, struct sockaddr_in *peer)
{
	struct rdma_conn_param param;
	int err;

	ul_end_init(&c->a, &ul_sides[0]);
	ul_end_init(&c->b, &ul_sides[1]);
	err = kt_resolve(&c->a.id, peer, ul_event, &c->a, &c->a.step);
	err = err ?: ul_make_qp(&c->a);
	if (err)
		return err;
	ul_expected = &c->b;
	ul_param(&c->a, &param);
	err = kt_step_wait(&c->a.step, rdma_connect(c->a.id, &param));
	err = kt_step_wait(&c->b.step, err);
	ul_expected = NULL;
	return err;
}

/**
 * ul_open() - make connections
 * @peer: where the listener is
 * @count: how many
 *
 * Return: 0 or a negative errno.
 */
int ul_open(struct sockaddr_in *peer, u32 count)
{
	int err = 0;

	if (ul_conns)
		return -EBUSY;
	ul_conns = kvcalloc(count, sizeof(*ul_conns), GFP_KERNEL);
	if (!ul_conns)
		return -ENOMEM;
	ul_room = count;
	for (ul_count = 0; ul_count < count && !err; ul_count++)
		err = ul_connect(&ul_conns[ul_count], peer);
	return err;
}

static void ul_end_down(struct ul_end *e)
{
	if (!e->id)
		return;
	if (e->id->qp) {
		ib_drain_qp(e->id->qp);
		rdma_destroy_qp(e->id);
	}
	rdma_destroy_id(e->id);
	e->id = NULL;
}

/**
 * ul_close() - end all connections
 */
void ul_close(void)
{
	u32 i;

	for (i = 0; i < ul_count; i++)
		if (ul_conns[i].a.id)
			rdma_disconnect(ul_conns[i].a.id);
	for (i = 0; i < ul_count; i++) {
		ul_end_down(&ul_conns[i].a);
		ul_end_down(&ul_conns[i].b);
	}
	ul_side_down(&ul_sides[0]);
	ul_side_down(&ul_sides[1]);
	kvfree(ul_conns);
	ul_conns = NULL;
	ul_count = 0;
}
