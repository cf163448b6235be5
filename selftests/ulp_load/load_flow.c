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
 * @c: the connection, whose end a is the active one
 * @o: how it is run
 * @op: request of the active end
 * @todo: requests to be posted yet, of the active end and, if it is @pair, of the
 *	  passive one
 * @left: completions that are expected
 * @ping: the passive end answers
 * @pair: each end sends when it has received
 * @chain: all are posted by one call
 * @gathered: requests that have completed since some were posted
 * @err: of the first request that failed
 * @bufs: memory of the requests, of both ends
 * @sent: requests have completed
 * @got: receives have completed, of the active end and of the passive one
 * @done: all have
 */
struct ul_flow {
	struct ul_conn c;
	struct ul_opts o;
	enum ib_wr_opcode op;
	u32 todo[2];
	atomic_t left;
	bool ping;
	bool pair;
	bool chain;
	u32 gathered;
	int err;
	struct ul_bufs bufs[2];
	struct ib_cqe sent;
	struct ib_cqe got[2];
	struct completion done;
};

static void ul_wait_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_wait *w = container_of(wc->wr_cqe, struct ul_wait, cqe);

	w->status = wc->status;
	complete(&w->done);
}

/**
 * ul_wait_init() - before a request is posted that is waited for
 * @w: its completion
 */
void ul_wait_init(struct ul_wait *w)
{
	init_completion(&w->done);
	w->cqe.done = ul_wait_done;
}

/**
 * ul_wait() - wait for it
 * @w: its completion
 *
 * Return: 0 or a negative errno.
 */
int ul_wait(struct ul_wait *w)
{
	if (!ul_completed(&w->done, KT_WAIT))
		return -ETIMEDOUT;
	return w->status ? -EIO : 0;
}

static int ul_recv(struct ul_end *e, u64 dma, u32 len, struct ib_cqe *cqe)
{
	struct ib_sge sge = {
		.addr = dma,
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

/*
 * Wait until nothing of a connection is under way. The handler of a good
 * completion may be between its check and its post, so that its request comes behind the
 * first drain. The second drain waits for that request. No other one follows, as all
 * completions are errors by then.
 */
static void ul_drain(struct ul_conn *c)
{
	int i;

	for (i = 0; i < 2; i++) {
		ib_drain_qp(c->a.id->qp);
		ib_drain_qp(c->b.id->qp);
	}
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
	err = ul_recv(&c->b, c->b.side->dma, 1, &got.cqe);
	if (err)
		return err;
	err = ul_send(&c->a, 1, &sent.cqe);
	if (!err)
		err = ul_wait(&sent);
	if (!err)
		err = ul_wait(&got);
	/* both requests refer to the stack */
	if (err)
		ul_drain(c);
	return err;
}

/* -------------------------------------------------------------------- flows */

/* Requests under way, and how many are posted when as many have completed */
static u32 ul_window(const struct ul_flow *f)
{
	return f->o.window ?: UL_DEPTH;
}

static u32 ul_step(const struct ul_flow *f)
{
	return max_t(u32, f->o.window / 2, 1);
}

/* The source of the next request. Return: Does it need a new region? */
static bool ul_source(struct ul_flow *f, struct ul_buf **buf)
{
	struct ul_bufs *b = &f->bufs[0];

	if (f->o.reuse < 0) {
		*buf = ul_bufs_next(b);
		return false;
	}
	b->sum += f->o.reuse;
	if (b->sum >= 100) {
		b->sum -= 100;
		*buf = &b->buf[0];
		return false;
	}
	b->next = b->next % (b->n - 1) + 1;
	*buf = &b->buf[b->next];
	return true;
}

/* A request of end @i, whose memory is @from */
static void ul_fill(struct ul_flow *f, int i, const struct ul_buf *from,
		    struct ib_rdma_wr *wr, struct ib_sge *sge)
{
	*sge = (struct ib_sge){
		.addr = from->mr ? from->mr->iova : from->dma,
		.length = f->o.size,
		.lkey = from->mr ? from->mr->lkey :
				   f->bufs[i].e->side->pd->local_dma_lkey,
	};
	*wr = (struct ib_rdma_wr){
		.wr.wr_cqe = &f->sent,
		.wr.opcode = f->op,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = sge,
		.wr.num_sge = 1,
	};
	if (f->op != IB_WR_SEND) {
		const struct ul_buf *to = ul_bufs_next(&f->bufs[!i]);

		wr->remote_addr = to->mr->iova;
		wr->rkey = to->mr->rkey;
	}
}

static void ul_spin(u32 ns)
{
	u64 end = ktime_get_ns() + ns;

	while (ns && ktime_get_ns() < end)
		cpu_relax();
}

/* The next request of the active end */
static int ul_post(struct ul_flow *f)
{
	struct ib_send_wr inv, *first;
	struct ib_rdma_wr wr;
	struct ib_reg_wr reg;
	struct ul_buf *buf;
	struct ib_sge sge;
	int err = 0;
	bool anew;

	ul_spin(f->o.spin);
	anew = ul_source(f, &buf);
	first = &wr.wr;
	if (anew) {
		err = ul_buf_renew(&f->bufs[0], buf, &inv, &reg);
		first = &inv;
	}
	ul_fill(f, 0, buf, &wr, &sge);
	if (anew)
		reg.wr.next = &wr.wr;
	return err ?: ib_post_send(f->c.a.id->qp, first, NULL);
}

/* A Send of the passive end */
static int ul_answer(struct ul_flow *f)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	ul_fill(f, 1, &f->bufs[1].buf[0], &wr, &sge);
	return ib_post_send(f->c.b.id->qp, &wr.wr, NULL);
}

static int ul_post_chain(struct ul_flow *f)
{
	struct ib_rdma_wr wr[UL_DEPTH];
	struct ib_sge sge;
	u32 i, n = f->todo[0];

	f->todo[0] = 0;
	for (i = 0; i < n; i++) {
		ul_fill(f, 0, &f->bufs[0].buf[0], &wr[i], &sge);
		wr[i].wr.next = i + 1 < n ? &wr[i + 1].wr : NULL;
	}
	return ib_post_send(f->c.a.id->qp, &wr[0].wr, NULL);
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
	if (atomic_dec_and_test(&f->left))
		complete(&f->done);
}

/* As many requests as may be posted now, up to @n */
static void ul_post_some(struct ul_flow *f, u32 n)
{
	for (; n && f->todo[0]; n--) {
		f->todo[0]--;
		if (ul_failed(f, ul_post(f)))
			return;
	}
}

/* All completions of one end come one after the other */
static void ul_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, sent);

	ul_work_of(cq == f->c.a.side->cq ? UL_A : UL_B);
	if (ul_failed(f, wc->status ? -EIO : 0) || f->ping || f->pair)
		return;
	if (++f->gathered == ul_step(f)) {
		f->gathered = 0;
		ul_post_some(f, ul_step(f));
	}
	if (f->op != IB_WR_SEND)
		ul_less(f);
}

static int ul_recv_next(struct ul_flow *f, int i)
{
	struct ul_end *e = f->bufs[i].e;
	struct ul_buf *buf = f->ping || f->pair ? &f->bufs[i].buf[0] :
						  ul_bufs_next(&f->bufs[i]);

	return ul_recv(e, buf->dma, f->o.size, &f->got[i]);
}

static void ul_got_b(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, got[1]);

	ul_work_of(UL_B);
	if (ul_failed(f, wc->status ? -EIO : 0) ||
	    ul_failed(f, ul_recv_next(f, 1)))
		return;
	if (f->ping || f->todo[1]) {
		f->todo[1] -= f->pair;
		ul_failed(f, ul_answer(f));
	}
	if (!f->ping)
		ul_less(f);
}

static void ul_got_a(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_flow *f = container_of(wc->wr_cqe, struct ul_flow, got[0]);

	ul_work_of(UL_A);
	if (ul_failed(f, wc->status ? -EIO : 0) ||
	    ul_failed(f, ul_recv_next(f, 0)))
		return;
	ul_post_some(f, 1);
	ul_less(f);
}

static const struct {
	const char *name;
	enum ib_wr_opcode op;
} ul_kinds[] = {
	{ "send", IB_WR_SEND },		{ "write", IB_WR_RDMA_WRITE },
	{ "read", IB_WR_RDMA_READ },	{ "ping", IB_WR_SEND },
	{ "chain", IB_WR_RDMA_WRITE },
};

static int ul_kind(struct ul_flow *f, const char *what)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ul_kinds); i++)
		if (!strcmp(what, ul_kinds[i].name))
			break;
	if (i == ARRAY_SIZE(ul_kinds))
		return -EINVAL;
	f->op = ul_kinds[i].op;
	f->ping = *what == 'p' && !f->o.both;
	f->pair = *what == 'p' && f->o.both;
	f->chain = *what == 'c';
	/* one request or one way to post, and only one memory, for these */
	if ((f->chain && f->o.count > UL_DEPTH) ||
	    (*what == 'p' && (f->o.window || f->o.bufs > 1)) ||
	    (f->chain && (f->o.window || f->o.bufs > 1 || f->o.both)) ||
	    (f->op == IB_WR_RDMA_READ && f->o.reuse >= 0) ||
	    ul_window(f) > ul_depth())
		return -EINVAL;
	return 0;
}

/* Memory of both ends, and the receives */
static int ul_begin(struct ul_flow *f)
{
	unsigned int reg = f->op != IB_WR_SEND ? UL_REGION : 0;
	/* one is used again, the others rest until they have been sent */
	u32 n = f->o.reuse < 0 ? f->o.bufs : min_t(u32, ul_window(f) + 2, UL_BUFS);
	unsigned int own = n > 1 ? UL_OWN : 0;
	/* some devices report a Send that the peer has no receive for yet */
	u32 recvs = min_t(u32, ul_depth(), 2 * UL_WINDOW);
	u32 i, k;
	int err;

	err = ul_bufs_make(&f->bufs[0], &f->c.a, n, f->o.size,
			   own | (f->o.reuse < 0 ? reg : UL_REGION));
	err = err ?: ul_bufs_make(&f->bufs[1], &f->c.b, f->o.bufs, f->o.size,
				  reg | (f->o.bufs > 1 ? UL_OWN : 0));
	for (i = 0; f->op == IB_WR_SEND && i < 2; i++) {
		if (!i && !f->ping && !f->pair)
			continue;
		for (k = 0; k < recvs && !err; k++)
			err = ul_recv_next(f, i);
	}
	return err;
}

static void ul_start(struct ul_flow *f)
{
	if (f->chain) {
		ul_failed(f, ul_post_chain(f));
	} else if (f->pair) {
		f->todo[1]--;
		ul_post_some(f, 1);
		ul_failed(f, ul_answer(f));
	} else {
		ul_post_some(f, f->ping ? 1 : ul_window(f));
	}
}

/* For as long as it takes, unless nothing comes at all */
static int ul_finish(struct ul_flow *f)
{
	int left = atomic_read(&f->left);

	while (!ul_completed(&f->done, KT_WAIT)) {
		if (atomic_read(&f->left) == left)
			return -ETIMEDOUT;
		left = atomic_read(&f->left);
	}
	return f->err;
}

/* When this has arrived, earlier Writes have, too */
static int ul_sync(struct ul_flow *f)
{
	return f->op == IB_WR_RDMA_WRITE ? ul_touch(&f->c) : 0;
}

static struct ul_flow *ul_flow_new(struct ul_conn *c, const struct ul_opts *o)
{
	struct ul_flow *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return NULL;
	f->c = *c;
	f->o = *o;
	f->todo[0] = o->count;
	f->sent.done = ul_sent;
	f->got[0].done = ul_got_a;
	f->got[1].done = ul_got_b;
	init_completion(&f->done);
	return f;
}

static void ul_flow_free(struct ul_flow *f)
{
	if (!f)
		return;
	ul_bufs_free(&f->bufs[0]);
	ul_bufs_free(&f->bufs[1]);
	kfree(f);
}

/**
 * ul_mark() - marks for profile.sh, those of tools/sdpbench/mark.h
 * @start: before a test, or after it
 *
 * A nopl with a displacement that no compiler uses.
 */
void ul_mark(bool start)
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

static int ul_run_flows(struct ul_flow *f, struct ul_flow *back, u64 *nsecs)
{
	u64 start;
	int err;

	ul_mark(true);
	ul_work_of(UL_A);
	start = ktime_get_ns();
	ul_start(f);
	if (back)
		ul_start(back);
	err = ul_finish(f);
	if (back)
		err = err ?: ul_finish(back);
	err = err ?: ul_sync(f);
	if (back)
		err = err ?: ul_sync(back);
	*nsecs = ktime_get_ns() - start;
	ul_mark(false);
	return err;
}

/**
 * ul_flow() - requests of one kind
 * @c: connection; of no use afterwards but for requests without receives
 * @what: "send", "write", "read", "ping" or "chain"
 * @o: how
 * @nsecs: result: how long it took
 *
 * With two active ends, those are two flows; a "ping" is one then, in which each
 * end sends when it has received.
 *
 * Return: 0 or a negative errno; -EINVAL if there is no such kind.
 */
int ul_flow(struct ul_conn *c, const char *what, const struct ul_opts *o,
	    u64 *nsecs)
{
	struct ul_conn turned = { .a = c->b, .b = c->a };
	struct ul_flow *f = ul_flow_new(c, o), *back = NULL;
	int err = f ? ul_kind(f, what) : -ENOMEM;

	if (!err && o->both && !f->pair) {
		back = ul_flow_new(&turned, o);
		err = back ? ul_kind(back, what) : -ENOMEM;
	}
	if (!err) {
		f->todo[1] = f->pair ? o->count : 0;
		atomic_set(&f->left, f->pair ? 2 * o->count : o->count);
		err = ul_begin(f);
	}
	if (!err && back) {
		atomic_set(&back->left, o->count);
		err = ul_begin(back);
	}
	if (!err)
		err = ul_run_flows(f, back, nsecs);
	/* receives that are left refer to them, and so may requests */
	if (f && (f->op == IB_WR_SEND || err))
		ul_drain(c);
	ul_flow_free(f);
	ul_flow_free(back);
	return err;
}
