// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: what goes over a connection. Completions drive it, in softirq:
 * the next request is posted when one has completed. See load.h.
 */
#include <linux/ktime.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "load.h"

/**
 * struct ul_flow - a test under way
 * @c: the connection
 * @op: request of the active end
 * @size: bytes of each
 * @todo: requests to be posted yet
 * @left: completions that are expected
 * @ping: the passive end answers
 * @chain: all are posted by one call
 * @err: of the first request that failed
 * @mr: regions of both ends, for Write and Read
 * @sent: requests have completed
 * @got: receives have completed, of the active end and of the passive one
 * @done: all have
 */
struct ul_flow {
	struct ul_conn *c;
	enum ib_wr_opcode op;
	u32 size;
	u32 todo;
	u32 left;
	bool ping;
	bool chain;
	int err;
	struct ib_mr *mr[2];
	struct ib_cqe sent;
	struct ib_cqe got[2];
	struct completion done;
};

/* A request that a task waits for */
struct ul_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void ul_wait_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_wait *w = container_of(wc->wr_cqe, struct ul_wait, cqe);

	w->status = wc->status;
	complete(&w->done);
}

static void ul_wait_init(struct ul_wait *w)
{
	init_completion(&w->done);
	w->cqe.done = ul_wait_done;
}

static int ul_wait(struct ul_wait *w)
{
	if (!wait_for_completion_timeout(&w->done, KT_WAIT))
		return -ETIMEDOUT;
	return w->status ? -EIO : 0;
}

static int ul_recv(struct ul_end *e, u32 len, struct ib_cqe *cqe)
{
	struct ib_sge sge = {
		.addr = e->side->dma,
		.length = len,
		.lkey = e->side->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(e->id->qp, &wr, NULL);
}

static int ul_send(struct ul_end *e, u32 len, struct ib_cqe *cqe)
{
	struct ib_sge sge = {
		.addr = e->side->dma,
		.length = len,
		.lkey = e->side->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = cqe,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_send(e->id->qp, &wr, NULL);
}

/**
 * ul_touch() - a Send of one byte, waited for at both ends
 * @c: connection
 *
 * Return: 0 or a negative errno.
 */
int ul_touch(struct ul_conn *c)
{
	struct ul_wait sent, got;
	int err;

	ul_wait_init(&sent);
	ul_wait_init(&got);
	err = ul_recv(&c->b, 1, &got.cqe);
	if (err)
		return err;
	err = ul_send(&c->a, 1, &sent.cqe);
	if (!err)
		err = ul_wait(&sent);
	if (!err)
		err = ul_wait(&got);
	if (err)
		ib_drain_qp(c->b.id->qp);
	return err;
}

/* ------------------------------------------------------------------ regions */

static struct ib_mr *ul_reg(struct ul_end *e)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ,
	};
	struct scatterlist sg;
	struct ul_wait w;
	struct ib_mr *mr;
	int err;

	mr = ib_alloc_mr(e->side->pd, IB_MR_TYPE_MEM_REG, UL_BUF / PAGE_SIZE);
	if (IS_ERR(mr))
		return mr;
	sg_init_one(&sg, e->side->buf, UL_BUF);
	ib_dma_map_sg(e->id->device, &sg, 1, DMA_BIDIRECTIONAL);
	err = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
	ul_wait_init(&w);
	wr.wr.wr_cqe = &w.cqe;
	wr.mr = mr;
	wr.key = mr->rkey;
	err = err ?: ib_post_send(e->id->qp, &wr.wr, NULL);
	err = err ?: ul_wait(&w);
	if (!err)
		return mr;
	ib_dereg_mr(mr);
	return ERR_PTR(err);
}

/* -------------------------------------------------------------------- flows */

/* A Write or Read of the first bytes of the regions */
static void ul_fill(struct ul_flow *f, struct ib_rdma_wr *wr,
		    struct ib_sge *sge)
{
	*sge = (struct ib_sge){
		.addr = f->mr[0]->iova,
		.length = f->size,
		.lkey = f->mr[0]->lkey,
	};
	*wr = (struct ib_rdma_wr){
		.wr.wr_cqe = &f->sent,
		.wr.opcode = f->op,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = sge,
		.wr.num_sge = 1,
		.remote_addr = f->mr[1]->iova,
		.rkey = f->mr[1]->rkey,
	};
}

static int ul_post(struct ul_flow *f)
{
	struct ul_end *e = &f->c->a;
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	if (f->op == IB_WR_SEND)
		return ul_send(e, f->size, &f->sent);
	ul_fill(f, &wr, &sge);
	return ib_post_send(e->id->qp, &wr.wr, NULL);
}

static int ul_post_chain(struct ul_flow *f)
{
	struct ib_rdma_wr wr[UL_DEPTH];
	struct ib_sge sge;
	u32 i, n = f->todo;

	f->todo = 0;
	for (i = 0; i < n; i++) {
		ul_fill(f, &wr[i], &sge);
		wr[i].wr.next = i + 1 < n ? &wr[i + 1].wr : NULL;
	}
	return ib_post_send(f->c->a.id->qp, &wr[0].wr, NULL);
}

static bool ul_failed(struct ul_flow *f, int err)
{
	if (!err)
		return false;
	if (!f->err)
		f->err = err;
	complete(&f->done);
	return true;
}

static void ul_less(struct ul_flow *f)
{
	if (!--f->left)
		complete(&f->done);
}

/* All completions of one end come one after the other */
static void ul_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, sent);

	ul_work_of(cq == f->c->a.side->cq ? UL_A : UL_B);
	if (ul_failed(f, wc->status ? -EIO : 0) || f->ping)
		return;
	if (f->todo) {
		f->todo--;
		ul_failed(f, ul_post(f));
	}
	if (f->op != IB_WR_SEND)
		ul_less(f);
}

static void ul_got_b(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, got[1]);

	ul_work_of(UL_B);
	if (ul_failed(f, wc->status ? -EIO : 0) ||
	    ul_failed(f, ul_recv(&f->c->b, f->size, &f->got[1])))
		return;
	if (f->ping)
		ul_failed(f, ul_send(&f->c->b, f->size, &f->sent));
	else
		ul_less(f);
}

static void ul_got_a(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, got[0]);

	ul_work_of(UL_A);
	if (ul_failed(f, wc->status ? -EIO : 0) ||
	    ul_failed(f, ul_recv(&f->c->a, f->size, &f->got[0])))
		return;
	if (f->todo) {
		f->todo--;
		ul_failed(f, ul_post(f));
	}
	ul_less(f);
}

static int ul_begin(struct ul_flow *f, const char *what)
{
	int i, err = 0;

	if (!strcmp(what, "write") || !strcmp(what, "chain"))
		f->op = IB_WR_RDMA_WRITE;
	else if (!strcmp(what, "read"))
		f->op = IB_WR_RDMA_READ;
	else if (!strcmp(what, "send") || !strcmp(what, "ping"))
		f->op = IB_WR_SEND;
	else
		return -EINVAL;
	f->ping = *what == 'p';
	f->chain = *what == 'c';
	if (f->chain && f->todo > UL_DEPTH)
		return -EINVAL;
	if (f->op != IB_WR_SEND) {
		for (i = 0; i < 2 && !err; i++) {
			f->mr[i] = ul_reg(i ? &f->c->b : &f->c->a);
			err = PTR_ERR_OR_ZERO(f->mr[i]);
		}
		return err;
	}
	for (i = 0; i < UL_DEPTH && !err; i++) {
		err = ul_recv(&f->c->b, f->size, &f->got[1]);
		if (f->ping)
			err = err ?: ul_recv(&f->c->a, f->size, &f->got[0]);
	}
	return err;
}

/* When this has arrived, earlier Writes have, too */
static int ul_sync(struct ul_flow *f)
{
	return f->op == IB_WR_RDMA_WRITE ? ul_touch(f->c) : 0;
}

static int ul_go(struct ul_flow *f)
{
	u32 i, n = f->ping ? 1 : min_t(u32, f->todo, UL_DEPTH);

	if (f->chain) {
		ul_failed(f, ul_post_chain(f));
		n = 0;
	}
	f->todo -= n;
	for (i = 0; i < n; i++)
		if (ul_failed(f, ul_post(f)))
			break;
	/* for as long as it takes, unless nothing comes at all */
	i = f->left;
	while (!wait_for_completion_timeout(&f->done, KT_WAIT)) {
		if (f->left == i)
			return -ETIMEDOUT;
		i = f->left;
	}
	return f->err ?: ul_sync(f);
}

/*
 * Marks for profile.sh, those of tools/sdpbench/mark.h: nopl with a displacement
 * that no compiler uses
 */
static void ul_mark(bool start)
{
#ifdef CONFIG_X86_64
	if (!ul_marks)
		return;
	if (start)
		asm volatile(".byte 0x0f, 0x1f, 0x84, 0, 0x53, 0x44, 0x50, 1");
	else
		asm volatile(".byte 0x0f, 0x1f, 0x84, 0, 0x53, 0x44, 0x50, 2");
#endif
}

/**
 * ul_flow() - requests of one kind
 * @c: connection; of no use afterwards but for requests without receives
 * @what: "send", "write", "read", "ping" or "chain"
 * @size: bytes of each
 * @count: how many
 * @nsecs: result: how long it took
 *
 * Return: 0 or a negative errno; -EINVAL if there is no such kind.
 */
int ul_flow(struct ul_conn *c, const char *what, u32 size, u32 count,
	    u64 *nsecs)
{
	struct ul_flow *f = kzalloc(sizeof(*f), GFP_KERNEL);
	u64 start;
	int i, err;

	if (!f)
		return -ENOMEM;
	f->c = c;
	f->size = size;
	f->todo = count;
	f->left = count;
	f->sent.done = ul_sent;
	f->got[0].done = ul_got_a;
	f->got[1].done = ul_got_b;
	init_completion(&f->done);
	err = ul_begin(f, what);
	if (!err) {
		ul_mark(true);
		ul_work_of(UL_A);
		start = ktime_get_ns();
		err = ul_go(f);
		*nsecs = ktime_get_ns() - start;
		ul_mark(false);
	}
	/* receives that are left refer to it */
	if (f->op == IB_WR_SEND || err) {
		ib_drain_qp(c->a.id->qp);
		ib_drain_qp(c->b.id->qp);
	}
	for (i = 0; i < 2; i++)
		if (!IS_ERR_OR_NULL(f->mr[i]))
			ib_dereg_mr(f->mr[i]);
	kfree(f);
	return err;
}
