// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_verbs.ko: two ends of a connection in one program, requests that are
 * waited for, regions for fast registration. See verbs.h.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "verbs.h"

static struct rdma_cm_id *uv_listener;
static struct uv_end *uv_expected;	/* end that the next request is for */
static struct sockaddr_in uv_peer;

/* ------------------------------------------------------------- connections */

static void uv_async(struct ib_event *event, void *context)
{
	struct uv_end *e = context;

	set_bit(event->event, &e->events);
	complete(&e->event);
}

/**
 * uv_event() - wait for an event of a queue pair or shared queue
 * @e: end
 * @type: event
 *
 * Return: whether it came
 */
bool uv_event(struct uv_end *e, enum ib_event_type type)
{
	while (!test_bit(type, &e->events))
		if (!wait_for_completion_timeout(&e->event, KT_WAIT))
			return false;
	return true;
}

static int uv_make_qp(struct uv_end *e)
{
	struct ib_srq_init_attr sattr = {
		.event_handler = uv_async,
		.srq_context = e,
		.attr = { .max_wr = UV_DEPTH, .max_sge = 1 },
	};
	struct ib_qp_init_attr attr = {
		.event_handler = uv_async,
		.qp_context = e,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.port_num = 1,
		.cap = {
			.max_send_wr = UV_DEPTH,
			.max_recv_wr = UV_DEPTH,
			.max_send_sge = UV_SGES,
			.max_recv_sge = 1,
			.max_rdma_ctxs = 2,
		},
	};

	e->pd = ib_alloc_pd(e->id->device, 0);
	if (IS_ERR(e->pd))
		return PTR_ERR(e->pd);
	/* one of the core's pool, and one that may be moderated */
	if (e->pooled)
		e->cq = ib_cq_pool_get(e->id->device, 4 * UV_DEPTH, -1,
				       IB_POLL_SOFTIRQ);
	else
		e->cq = ib_alloc_cq(e->id->device, NULL, 4 * UV_DEPTH, 0,
				    IB_POLL_WORKQUEUE);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	e->buf = (void *)__get_free_pages(GFP_KERNEL, get_order(UV_BUF));
	if (!e->buf)
		return -ENOMEM;
	e->dma = ib_dma_map_single(e->id->device, e->buf, UV_BUF,
				   DMA_BIDIRECTIONAL);
	if (e->use_srq) {
		e->srq = ib_create_srq(e->pd, &sattr);
		if (IS_ERR(e->srq))
			return PTR_ERR(e->srq);
		attr.srq = e->srq;
	}
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	return rdma_create_qp(e->id, e->pd, &attr);
}

static int uv_accept(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources = 8,
		.initiator_depth = 8,
	};
	struct uv_end *e = uv_expected;
	int err;

	if (!e)
		return -ECONNREFUSED;
	uv_expected = NULL;
	e->id = id;
	id->context = e;
	err = uv_make_qp(e);
	if (!err)
		err = rdma_accept(id, &param);
	if (err)
		kt_step_end(&e->step, err);
	return 0;
}

static int uv_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct uv_end *e = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return uv_accept(id);
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

int uv_listen(const char *args)
{
	struct rdma_cm_id *id;
	u32 unused;
	int err = kt_parse_addr(args, &uv_peer, &unused);

	if (err)
		return err;
	id = kt_listen(args, uv_cm_event);
	if (IS_ERR(id))
		return PTR_ERR(id);
	uv_listener = id;
	return 0;
}

void uv_unlisten(void)
{
	rdma_destroy_id(uv_listener);
}

static void uv_end_init(struct uv_end *e)
{
	init_completion(&e->step.done);
	init_completion(&e->event);
}

static int uv_connect(struct uv_end *e)
{
	struct rdma_conn_param param = {
		.responder_resources = 8,
		.initiator_depth = 8,
	};
	int err;

	err = kt_resolve(&e->id, &uv_peer, uv_cm_event, e, &e->step);
	if (!err)
		err = uv_make_qp(e);
	if (!err)
		err = kt_step_wait(&e->step, rdma_connect(e->id, &param));
	return err;
}

/**
 * uv_up() - make a connection
 * @c: both ends; to be given to uv_down() whatever is returned
 * @srq: the accepting end takes its receives from a shared queue
 *
 * Return: 0 or negative errno.
 */
int uv_up(struct uv_conn *c, bool srq)
{
	int err;

	memset(c, 0, sizeof(*c));
	uv_end_init(&c->a);
	uv_end_init(&c->b);
	c->a.pooled = true;
	c->b.use_srq = srq;
	uv_expected = &c->b;
	err = uv_connect(&c->a);
	uv_expected = NULL;
	return kt_step_wait(&c->b.step, err);
}

static void uv_end_free(struct uv_end *e)
{
	if (!e->id)
		return;
	if (e->id->qp) {
		rdma_disconnect(e->id);
		ib_drain_qp(e->id->qp);
		rdma_destroy_qp(e->id);
	}
	if (!IS_ERR_OR_NULL(e->srq))
		ib_destroy_srq(e->srq);
	if (e->buf) {
		ib_dma_unmap_single(e->id->device, e->dma, UV_BUF,
				    DMA_BIDIRECTIONAL);
		free_pages((unsigned long)e->buf, get_order(UV_BUF));
	}
	if (!IS_ERR_OR_NULL(e->cq)) {
		if (e->pooled)
			ib_cq_pool_put(e->cq, 4 * UV_DEPTH);
		else
			ib_free_cq(e->cq);
	}
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
	rdma_destroy_id(e->id);
	e->id = NULL;
}

void uv_down(struct uv_conn *c)
{
	uv_end_free(&c->a);
	uv_end_free(&c->b);
}

/* ---------------------------------------------------------------- requests */

static void uv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct uv_wait *w = container_of(wc->wr_cqe, struct uv_wait, cqe);

	w->wc = *wc;
	complete(&w->done);
}

static void uv_wait_init(struct uv_wait *w)
{
	w->cqe.done = uv_done;
	init_completion(&w->done);
}

/* The last of the chain @wr is what @w waits for */
int uv_post(struct uv_end *e, struct ib_send_wr *wr, struct uv_wait *w)
{
	struct ib_send_wr *last = wr;

	while (last->next)
		last = last->next;
	uv_wait_init(w);
	last->wr_cqe = &w->cqe;
	last->send_flags |= IB_SEND_SIGNALED;
	return ib_post_send(e->id->qp, wr, NULL);
}

int uv_post_recv(struct uv_end *e, u64 addr, u32 len, struct uv_wait *w)
{
	struct ib_sge sge = {
		.addr = addr,
		.length = len,
		.lkey = e->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &w->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	uv_wait_init(w);
	return e->srq ? ib_post_srq_recv(e->srq, &wr, NULL) :
			ib_post_recv(e->id->qp, &wr, NULL);
}

/* Returns the status of the completion, or a negative errno */
int uv_wait(struct uv_wait *w)
{
	if (!wait_for_completion_timeout(&w->done, KT_WAIT))
		return -ETIMEDOUT;
	return w->wc.status;
}

int uv_do(struct uv_end *e, struct ib_send_wr *wr)
{
	struct uv_wait w;
	int err = uv_post(e, wr, &w);

	if (!err)
		err = uv_wait(&w);
	/* it may still complete, into our stack */
	if (err == -ETIMEDOUT)
		ib_drain_qp(e->id->qp);
	return err;
}

/* RDMA Read or Write with one element */
int uv_rdma(struct uv_end *e, enum ib_wr_opcode op, u64 addr, u32 lkey, u32 len,
	    u64 raddr, u32 rkey)
{
	struct ib_sge sge = { .addr = addr, .length = len, .lkey = lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = raddr,
		.rkey = rkey,
	};

	return uv_do(e, &wr.wr);
}

/* ----------------------------------------------------------------- regions */

/**
 * uv_mr_alloc() - a region and pages for it
 * @m: region; to be given to uv_mr_free() whatever is returned
 * @e: whose
 * @pages: number of pages, each allocated by itself
 *
 * Return: 0 or negative errno.
 */
int uv_mr_alloc(struct uv_mr *m, struct uv_end *e, unsigned int pages)
{
	struct scatterlist *sg;
	unsigned int i;
	int err;

	memset(m, 0, sizeof(*m));
	m->end = e;
	err = sg_alloc_table(&m->sgt, pages, GFP_KERNEL);
	if (err)
		return err;
	m->n = pages;
	for_each_sg(m->sgt.sgl, sg, pages, i) {
		struct page *page = alloc_page(GFP_KERNEL);

		if (!page)
			return -ENOMEM;
		sg_set_page(sg, page, PAGE_SIZE, 0);
	}
	if (!ib_dma_map_sg(e->id->device, m->sgt.sgl, pages, DMA_BIDIRECTIONAL))
		return -EIO;
	m->mr = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(m->mr))
		return PTR_ERR(m->mr);
	err = ib_map_mr_sg(m->mr, m->sgt.sgl, pages, NULL, PAGE_SIZE);
	return err == pages ? 0 : -EINVAL;
}

/* Registers it with a new key */
int uv_mr_reg(struct uv_mr *m, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = m->mr,
		.access = access,
	};

	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	wr.key = m->mr->rkey;
	return uv_do(m->end, &wr.wr);
}

int uv_mr_inv(struct uv_mr *m)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = m->mr->rkey,
	};

	return uv_do(m->end, &wr);
}

void uv_mr_free(struct uv_mr *m)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!IS_ERR_OR_NULL(m->mr))
		ib_dereg_mr(m->mr);
	for_each_sg(m->sgt.sgl, sg, m->n, i)
		if (sg_page(sg))
			__free_page(sg_page(sg));
	sg_free_table(&m->sgt);
}

void uv_fill(void *p, size_t len, u64 off, u32 seed)
{
	u8 *c = p;

	for (; len--; off++)
		*c++ = (off * 31 + (off >> 8) * 7 + seed) & 0xff;
}

bool uv_check(const void *p, size_t len, u64 off, u32 seed)
{
	const u8 *c = p;

	for (; len--; off++)
		if (*c++ != ((off * 31 + (off >> 8) * 7 + seed) & 0xff))
			return false;
	return true;
}

void uv_mr_fill(struct uv_mr *m, u32 seed)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(m->sgt.sgl, sg, m->n, i)
		uv_fill(sg_virt(sg), sg->length, (u64)i * PAGE_SIZE, seed);
}

bool uv_mr_check(struct uv_mr *m, u32 seed)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(m->sgt.sgl, sg, m->n, i)
		if (!uv_check(sg_virt(sg), sg->length, (u64)i * PAGE_SIZE, seed))
			return false;
	return true;
}
