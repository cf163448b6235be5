// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_verbs.ko: the cases. Each has a connection of its own, since most errors
 * end one. See verbs.h.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "verbs.h"

#define UV_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)
#define UV_MANY		40

/* A region on each end, both registered */
struct uv_two {
	struct uv_mr a;
	struct uv_mr b;
};

static bool uv_two_up(struct uv_two *t, struct uv_conn *c, unsigned int pages,
		      int access)
{
	int err = uv_mr_alloc(&t->a, &c->a, pages);

	if (!err)
		err = uv_mr_alloc(&t->b, &c->b, pages);
	if (!err)
		err = uv_mr_reg(&t->a, UV_ACCESS);
	if (!err)
		err = uv_mr_reg(&t->b, access);
	return kt_ok(!err, "%u pages are registered (%d)", pages, err);
}

static void uv_two_down(struct uv_two *t)
{
	uv_mr_free(&t->a);
	uv_mr_free(&t->b);
}

static int uv_two_rdma(struct uv_two *t, enum ib_wr_opcode op)
{
	return uv_rdma(t->a.end, op, t->a.mr->iova, t->a.mr->lkey,
		       t->a.mr->length, t->b.mr->iova, t->b.mr->rkey);
}

/* One byte by Send: earlier Writes have arrived when it has */
static int uv_sync(struct uv_conn *c)
{
	struct ib_sge sge = {
		.addr = c->a.dma,
		.length = 1,
		.lkey = c->a.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct uv_wait w;
	int err;

	err = uv_post_recv(&c->b, c->b.dma, UV_BUF, &w);
	if (!err)
		err = uv_do(&c->a, &wr);
	return err ?: uv_wait(&w);
}

/* The peer must not get at region b any more by @rkey, and says so */
static void uv_refused_by(struct uv_conn *c, struct uv_two *t, u32 rkey,
			  const char *what)
{
	uv_mr_fill(&t->b, 1);
	uv_mr_fill(&t->a, 2);
	uv_rdma(&c->a, IB_WR_RDMA_WRITE, t->a.mr->iova, t->a.mr->lkey,
		t->a.mr->length, t->b.mr->iova, rkey);
	kt_ok(uv_event(&c->a, IB_EVENT_QP_FATAL), "%s: the peer is refused", what);
	kt_ok(uv_mr_check(&t->b, 1), "%s: nothing was written", what);
}

static void uv_refused(struct uv_conn *c, struct uv_two *t, const char *what)
{
	uv_refused_by(c, t, t->b.mr->rkey, what);
}

static void uv_case_pages(struct uv_conn *c, unsigned int pages)
{
	struct uv_two t = {};

	if (uv_two_up(&t, c, pages, UV_ACCESS)) {
		uv_mr_fill(&t.a, 3);
		kt_ok(!uv_two_rdma(&t, IB_WR_RDMA_WRITE) && !uv_sync(c) &&
		      uv_mr_check(&t.b, 3), "Write of %u pages", pages);
		uv_mr_fill(&t.b, 4);
		kt_ok(!uv_two_rdma(&t, IB_WR_RDMA_READ) &&
		      uv_mr_check(&t.a, 4), "Read of %u pages", pages);
		kt_ok(!uv_mr_inv(&t.b) && !uv_mr_reg(&t.b, UV_ACCESS),
		      "invalidated and registered again");
		kt_ok(!uv_mr_inv(&t.b), "the region is invalidated");
		uv_refused(c, &t, "local invalidate");
	}
	uv_two_down(&t);
}

static void uv_case_one(struct uv_conn *c)
{
	uv_case_pages(c, 1);
}

static void uv_case_max(struct uv_conn *c)
{
	unsigned int max = c->a.id->device->attrs.max_fast_reg_page_list_len;

	kt_ok(max >= 256, "the device takes %u pages", max);
	uv_case_pages(c, max);
}

static void uv_case_access(struct uv_conn *c)
{
	struct uv_two t = {};

	if (uv_two_up(&t, c, 2, IB_ACCESS_REMOTE_READ))
		uv_refused(c, &t, "no right to write");
	uv_two_down(&t);
}

/* The first of two Reads is refused, and only that one gets the reason */
static void uv_case_read_refused(struct uv_conn *c)
{
	struct uv_two t = {};
	struct ib_sge sge;
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
	};
	struct uv_wait w[2];

	if (uv_two_up(&t, c, 2, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)) {
		sge.addr = t.a.mr->iova;
		sge.length = t.a.mr->length;
		sge.lkey = t.a.mr->lkey;
		wr.remote_addr = t.b.mr->iova;
		wr.rkey = t.b.mr->rkey;
		kt_ok(!uv_post(&c->a, &wr.wr, &w[0]) &&
		      uv_wait(&w[0]) == IB_WC_REM_ACCESS_ERR,
		      "no right to read");
		kt_ok(!uv_post(&c->a, &wr.wr, &w[1]) &&
		      uv_wait(&w[1]) == IB_WC_WR_FLUSH_ERR,
		      "requests after it are flushed");
	}
	uv_two_down(&t);
}

static void uv_case_twice(struct uv_conn *c)
{
	struct uv_two t = {};

	if (uv_two_up(&t, c, 2, UV_ACCESS))
		kt_ok(uv_mr_reg(&t.a, UV_ACCESS) > 0,
		      "a valid key cannot be registered");
	uv_two_down(&t);
}

/* Memory that does not fit is not mapped in part, and the former mapping does not stay */
static void uv_case_too_large(struct uv_conn *c)
{
	void *buf = (void *)__get_free_pages(GFP_KERNEL, 1);
	struct scatterlist sg;
	struct uv_mr m;
	int err;

	if (!kt_ok(buf, "there is memory"))
		return;
	err = uv_mr_alloc(&m, &c->a, 1);
	if (kt_ok(!err && !uv_mr_reg(&m, UV_ACCESS) && !uv_mr_inv(&m),
		  "one page is registered and invalidated")) {
		sg_init_one(&sg, buf, 2 * PAGE_SIZE);
		kt_ok(ib_dma_map_sg(c->a.id->device, &sg, 1, DMA_BIDIRECTIONAL) == 1 &&
		      ib_map_mr_sg(m.mr, &sg, 1, NULL, PAGE_SIZE) < 0,
		      "two pages do not fit");
		kt_ok(uv_mr_reg(&m, UV_ACCESS), "pages that do not fit are not registered");
	}
	uv_mr_free(&m);
	free_pages((unsigned long)buf, 1);
}

#define UV_HALF		(PAGE_SIZE / 2)

/* Only the first half of each page of @m, in pieces of half a page */
static int uv_map_halves(struct uv_mr *m, struct scatterlist *sg, unsigned int n)
{
	struct scatterlist *from;
	unsigned int i;

	sg_init_table(sg, n);
	for_each_sg(m->sgt.sgl, from, n, i)
		sg_set_page(&sg[i], sg_page(from), UV_HALF, 0);
	if (ib_dma_map_sg(m->end->id->device, sg, n, DMA_BIDIRECTIONAL) != n)
		return -EIO;
	return ib_map_mr_sg(m->mr, sg, n, NULL, UV_HALF) == n ? 0 : -EINVAL;
}

/* The first half of each page is of @seed, from the beginning of what was sent */
static bool uv_halves_are(struct uv_mr *m, u32 seed, u32 rest)
{
	struct scatterlist *sg;
	unsigned int i;
	bool ok = true;

	for_each_sg(m->sgt.sgl, sg, m->n, i)
		ok &= uv_check(sg_virt(sg), UV_HALF, (u64)i * UV_HALF, seed) &&
		      uv_check(sg_virt(sg) + UV_HALF, UV_HALF,
			       (u64)i * PAGE_SIZE + UV_HALF, rest);
	return ok;
}

/* Pieces of a region may be smaller than a page. The rest of the page is not in it. */
static void uv_case_halves(struct uv_conn *c)
{
	struct scatterlist sg[4];
	struct uv_two t = {};
	u32 i;

	if (uv_two_up(&t, c, ARRAY_SIZE(sg), UV_ACCESS) &&
	    kt_ok(!uv_mr_inv(&t.b) &&
		  !uv_map_halves(&t.b, sg, ARRAY_SIZE(sg)) &&
		  !uv_mr_reg(&t.b, UV_ACCESS), "halves of pages are registered")) {
		/* a NIC that places learns of the region by the first one */
		for (i = 5; i < 8; i++) {
			uv_mr_fill(&t.a, i);
			uv_mr_fill(&t.b, 9);
			kt_ok(!uv_rdma(&c->a, IB_WR_RDMA_WRITE, t.a.mr->iova,
				       t.a.mr->lkey, t.b.mr->length,
				       t.b.mr->iova, t.b.mr->rkey) &&
			      !uv_sync(c), "a Write completes");
			kt_ok(uv_halves_are(&t.b, i, 9),
			      "it changes the halves alone");
		}
	}
	uv_two_down(&t);
}

/* The peer invalidates region b by a Send of 1000 bytes */
static bool uv_send_inv(struct uv_conn *c, struct uv_two *t, struct uv_wait *w)
{
	struct ib_sge sge = {
		.addr = c->a.dma,
		.length = 1000,
		.lkey = c->a.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.sg_list = &sge,
		.num_sge = 1,
		.ex.invalidate_rkey = t->b.mr->rkey,
	};

	uv_fill(c->a.buf, 1000, 0, 5);
	return !uv_post_recv(&c->b, c->b.dma, UV_BUF, w) &&
	       !uv_do(&c->a, &wr) && !uv_wait(w);
}

static void uv_case_send_inv(struct uv_conn *c)
{
	struct uv_two t = {};
	struct uv_wait w;

	if (uv_two_up(&t, c, 2, UV_ACCESS)) {
		kt_ok(uv_send_inv(c, &t, &w) && w.wc.byte_len == 1000 &&
		      uv_check(c->b.buf, 1000, 0, 5), "a Send with invalidate completes");
		kt_ok(w.wc.wc_flags & IB_WC_WITH_INVALIDATE &&
		      w.wc.ex.invalidate_rkey == t.b.mr->rkey,
		      "the receive tells what was invalidated");
		uv_refused(c, &t, "remote invalidate");
	}
	uv_two_down(&t);
}

/* The STag of what is not valid is 0, which must not become a name of it */
static void uv_case_zero(struct uv_conn *c)
{
	struct uv_two t = {};
	struct uv_wait w;

	if (uv_two_up(&t, c, UV_MANY, UV_ACCESS)) {
		kt_ok(!uv_two_rdma(&t, IB_WR_RDMA_WRITE) &&
		      uv_send_inv(c, &t, &w), "Write, Send with invalidate");
		uv_refused_by(c, &t, 0, "STag 0");
	}
	uv_two_down(&t);
}

static void uv_case_read_inv(struct uv_conn *c)
{
	struct uv_two t = {};
	struct ib_sge sge;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (uv_two_up(&t, c, 3, UV_ACCESS)) {
		uv_mr_fill(&t.b, 6);
		kt_ok(!uv_two_rdma(&t, IB_WR_RDMA_READ_WITH_INV) &&
		      uv_mr_check(&t.a, 6), "Read with local invalidate");
		sge.addr = t.a.mr->iova;
		sge.length = 8;
		sge.lkey = t.a.mr->lkey;
		kt_ok(uv_do(&c->a, &wr) == IB_WC_LOC_PROT_ERR,
		      "its sink is invalid");
	}
	uv_two_down(&t);
}

/* Elements that neither begin nor end at a word */
static void uv_case_gather(struct uv_conn *c)
{
	struct ib_sge sge[UV_SGES + 1];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = sge,
		.num_sge = UV_SGES,
	};
	struct uv_wait w;
	u32 i, len = 0;

	for (i = 0; i <= UV_SGES; i++) {
		u32 n = i == 2 ? 0 : 1001 * i + 7;
		u32 off = i * 8000 + i;

		uv_fill(c->a.buf + off, n, len, 7);
		sge[i].addr = c->a.dma + off;
		sge[i].length = n;
		sge[i].lkey = c->a.pd->local_dma_lkey;
		len += i < UV_SGES ? n : 0;
	}
	kt_ok(!uv_post_recv(&c->b, c->b.dma, UV_BUF, &w) && !uv_do(&c->a, &wr) &&
	      !uv_wait(&w) && w.wc.byte_len == len &&
	      uv_check(c->b.buf, len, 0, 7), "Send of %u elements", UV_SGES);
	wr.num_sge++;
	kt_ok(uv_do(&c->a, &wr) == -EINVAL, "one more is refused");
}

static void uv_case_inline(struct uv_conn *c)
{
	struct ib_sge sge[2];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 2,
	};
	struct uv_wait sent, got;
	u8 bytes[96];

	uv_fill(bytes, sizeof(bytes), 0, 8);
	sge[0].addr = (uintptr_t)bytes;
	sge[0].length = 30;
	sge[1].addr = (uintptr_t)bytes + 30;
	sge[1].length = 50;
	if (!kt_ok(!uv_post_recv(&c->b, c->b.dma, UV_BUF, &got) &&
		   !uv_post(&c->a, &wr, &sent), "an inline Send is posted"))
		return;
	memset(bytes, 0, sizeof(bytes));
	kt_ok(!uv_wait(&sent) && !uv_wait(&got) && got.wc.byte_len == 80 &&
	      uv_check(c->b.buf, 80, 0, 8), "the data were taken at once");
	sge[1].length = 51;
	kt_ok(uv_do(&c->a, &wr) == -EINVAL, "81 bytes are refused");
}

/* The API of targets: more pages than one region has, both directions */
static bool uv_rw(struct uv_two *t, enum dma_data_direction dir)
{
	struct rdma_cm_id *id = t->a.end->id;
	struct rdma_rw_ctx ctx;
	struct uv_wait w = {};
	int err;

	err = rdma_rw_ctx_init(&ctx, id->qp, 1, t->a.sgt.sgl, t->a.n, 0,
			       t->b.mr->iova, t->b.mr->rkey, dir);
	if (err < 0)
		return false;
	/* a request with nothing to send, after those of the transfer */
	{
		struct ib_send_wr last = {
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
			.wr_cqe = &w.cqe,
		};
		struct uv_wait got;

		err = uv_post_recv(t->b.end, t->b.end->dma, UV_BUF, &got);
		last.send_flags |= IB_SEND_FENCE;
		err = err ?: uv_post(t->a.end,
				     rdma_rw_ctx_wrs(&ctx, id->qp, 1, NULL, &last),
				     &w);
		err = err ?: uv_wait(&w);
		err = err ?: uv_wait(&got);
	}
	rdma_rw_ctx_destroy(&ctx, id->qp, 1, t->a.sgt.sgl, t->a.n, dir);
	return !err;
}

static void uv_case_rw(struct uv_conn *c)
{
	struct uv_two t = {};

	if (uv_two_up(&t, c, 300, UV_ACCESS)) {
		uv_mr_fill(&t.b, 9);
		kt_ok(uv_rw(&t, DMA_FROM_DEVICE) && uv_mr_check(&t.a, 9),
		      "rdma_rw reads 300 pages");
		uv_mr_fill(&t.a, 10);
		kt_ok(uv_rw(&t, DMA_TO_DEVICE) && uv_mr_check(&t.b, 10),
		      "rdma_rw writes 300 pages");
	}
	uv_two_down(&t);
}

/* All requests in flight when the queue pair is drained have completed then */
static void uv_case_drain(struct uv_conn *c)
{
	struct ib_sge sge = {
		.addr = c->a.dma,
		.length = UV_BUF,
		.lkey = c->a.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct uv_wait *w = kcalloc(2 * UV_MANY, sizeof(*w), GFP_KERNEL);
	unsigned int i, done = 0, posted = 0;

	if (!kt_ok(w, "there is memory"))
		return;
	for (i = 0; i < UV_MANY; i++) {
		posted += !uv_post_recv(&c->b, c->b.dma, UV_BUF, &w[2 * i]);
		posted += !uv_post(&c->a, &wr, &w[2 * i + 1]);
	}
	ib_drain_qp(c->a.id->qp);
	ib_drain_qp(c->b.id->qp);
	for (i = 0; i < 2 * UV_MANY; i++)
		done += completion_done(&w[i].done);
	kt_ok(done == posted && posted == 2 * UV_MANY,
	      "drained: %u of %u requests are complete", done, posted);
	kfree(w);
}

/* Sends of nothing: each takes the oldest receive, which are those in @w */
static int uv_take(struct uv_conn *c, struct uv_wait *w, unsigned int n)
{
	int err = 0;

	while (n-- && !err) {
		struct ib_send_wr wr = { .opcode = IB_WR_SEND };

		err = uv_do(&c->a, &wr);
		err = err ?: uv_wait(w++);
	}
	return err;
}

static void uv_case_srq(struct uv_conn *c)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_srq_attr attr = { .srq_limit = 2 };
	struct uv_wait w[5];
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(w) && !err; i++)
		err = uv_post_recv(&c->b, c->b.dma, UV_BUF, &w[i]);
	kt_ok(!err && !ib_modify_srq(c->b.srq, &attr, IB_SRQ_LIMIT),
	      "a limit of 2 is set");
	kt_ok(!uv_take(c, w, 3) &&
	      !test_bit(IB_EVENT_SRQ_LIMIT_REACHED, &c->b.events),
	      "no event with 2 left");
	kt_ok(!uv_take(c, &w[3], 1) &&
	      uv_event(&c->b, IB_EVENT_SRQ_LIMIT_REACHED),
	      "an event with 1 left");
	kt_ok(!ib_modify_qp(c->b.id->qp, &error, IB_QP_STATE) &&
	      uv_event(&c->b, IB_EVENT_QP_LAST_WQE_REACHED),
	      "an event when the queue pair takes no more");
}

/* Fewer events than completions, and none that is lost */
static void uv_case_moderation(struct uv_conn *c)
{
	unsigned int i;
	int err = 0;

	kt_ok(!rdma_set_cq_moderation(c->b.cq, 16, 2000), "moderation is on");
	for (i = 0; i < 40 && !err; i++)
		err = uv_sync(c);
	kt_ok(!err, "single completions are reported");
	kt_ok(!rdma_set_cq_moderation(c->b.cq, 0, 0) && !uv_sync(c),
	      "moderation is off");
}

/* Many at once: so many bytes, each by a Send */
static int uv_burst_with(struct uv_conn *c, struct ib_send_wr *wr,
			 struct uv_wait *w)
{
	struct ib_sge sge = {
		.addr = c->a.dma,
		.length = 1,
		.lkey = c->a.pd->local_dma_lkey,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; i < UV_BURST && !err; i++) {
		wr[i].opcode = IB_WR_SEND;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < UV_BURST ? &wr[i + 1] : NULL;
		err = uv_post_recv(&c->b, c->b.dma, UV_BUF, &w[i]);
	}
	if (!err)
		err = uv_do(&c->a, wr);
	for (i = 0; i < UV_BURST && !err; i++)
		err = uv_wait(&w[i]);
	/* they may still complete */
	if (err)
		ib_drain_qp(c->b.id->qp);
	return err;
}

static int uv_burst(struct uv_conn *c)
{
	struct ib_send_wr *wr = kcalloc(UV_BURST, sizeof(*wr), GFP_KERNEL);
	struct uv_wait *w = kcalloc(UV_BURST, sizeof(*w), GFP_KERNEL);
	int err = -ENOMEM;

	if (wr && w)
		err = uv_burst_with(c, wr, w);
	kfree(w);
	kfree(wr);
	return err;
}

/* The core moderates by what it sees of 64 events, if that differs from before */
static int uv_adapt(struct uv_conn *c, const struct dim *dim)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 50 * 70 && !err && !READ_ONCE(dim->profile_ix); i++)
		err = i / 70 & 1 ? uv_burst(c) : uv_sync(c);
	return err;
}

static void uv_case_adaptive(struct uv_conn *c)
{
	struct dim *dim = c->b.cq->dim;
	unsigned int i;
	int err;

	if (!kt_ok(dim, "the core looks at a queue"))
		return;
	err = uv_adapt(c, dim);
	flush_work(&dim->work);
	kt_ok(!err && READ_ONCE(dim->profile_ix), "the core moderates the queue (%d)", err);
	for (i = 0; i < 40 && !err; i++)
		err = uv_sync(c);
	kt_ok(!err, "single completions are reported then (%d)", err);
	err = err ?: uv_burst(c);
	kt_ok(!err, "many are reported (%d)", err);
}

static void uv_no_event(struct ib_cq *cq, void *context)
{
	atomic_inc(context);
}

/*
 * A receive is flushed on a queue pair that then goes, before the timer of
 * moderation has reported: number of events that are reported afterwards, or -EAGAIN if
 * it was too late for that
 */
static int uv_late_event(struct ib_pd *pd, struct ib_cq *cq, atomic_t *events)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr wr = {};
	struct ib_qp *qp;
	int err, early;

	qp = ib_create_qp(pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	atomic_set(events, 0);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	err = ib_post_recv(qp, &wr, NULL);
	err = err ?: ib_modify_qp(qp, &error, IB_QP_STATE);
	ib_destroy_qp(qp);
	early = atomic_read(events);
	if (err || early)
		return err ?: -EAGAIN;
	msleep(200);
	return atomic_read(events);
}

/* A caller that frees a queue has ensured that no event is being handled, and none comes then */
static void uv_case_late_event(struct uv_conn *c)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };
	atomic_t events = ATOMIC_INIT(0);
	int err = -EAGAIN, tries = 50;
	struct ib_cq *cq;

	cq = ib_create_cq(c->a.id->device, uv_no_event, NULL, &events, &attr);
	if (!kt_ok(!IS_ERR(cq), "a completion queue is made"))
		return;
	rdma_set_cq_moderation(cq, 16, U16_MAX);
	while (err == -EAGAIN && tries--)
		err = uv_late_event(c->a.pd, cq, &events);
	kt_ok(!err, "no event for a queue pair that has gone: %d", err);
	ib_destroy_cq(cq);
}

/* A Send out of any memory of the kernel; netem holds it back for a while */
static int uv_send_from(struct uv_conn *c, const void *p, u32 len,
			struct uv_wait *got)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)p,
		.length = len,
		.lkey = c->a.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	int err = uv_post_recv(&c->b, c->b.dma, UV_BUF, got);

	return err ?: uv_do(&c->a, &wr);
}

/* Of two pages that are no compound one TCP takes the first by reference only */
static void uv_case_two_pages(struct uv_conn *c)
{
	u8 *buf = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	u8 *at = buf + PAGE_SIZE - 200;
	struct uv_wait got;
	int err;

	if (!kt_ok(buf, "there is memory"))
		return;
	uv_fill(at, 400, 0, 11);
	err = uv_send_from(c, at, 400, &got);
	kt_ok(!err, "a Send out of two pages: %d", err);
	memset(at, 0, 400);
	err = err ?: uv_wait(&got);
	kt_ok(!err && got.wc.byte_len == 400 && uv_check(c->b.buf, 400, 0, 11),
	      "it is as it was before its completion: %d", err);
	ib_drain_qp(c->a.id->qp);
	free_pages((unsigned long)buf, 1);
}

/* The kernel's image has addresses other than those of its pages */
static void uv_case_image(struct uv_conn *c)
{
	const u8 *at = (const u8 *)&init_uts_ns.name;
	struct uv_wait got;
	int err;

	BUILD_BUG_ON(sizeof(init_uts_ns.name) < 300);
	err = uv_send_from(c, at, 300, &got);
	err = err ?: uv_wait(&got);
	kt_ok(!err && got.wc.byte_len == 300 && !memcmp(c->b.buf, at, 300),
	      "a Send out of the kernel's image: %d", err);
}

/*
 * A Read, whose answer waits behind a Send for which there is no receive, and a Send
 * by reference, which is acknowledged meanwhile. Nothing more need come from the peer when
 * the answer is taken.
 */
static int uv_behind(struct uv_conn *c, struct uv_two *t, struct uv_wait *w)
{
	struct ib_sge sink = {
		.addr = t->a.mr->iova,
		.length = t->a.mr->length,
		.lkey = t->a.mr->lkey,
	};
	struct ib_rdma_wr read = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sink, .num_sge = 1 },
		.remote_addr = t->b.mr->iova,
		.rkey = t->b.mr->rkey,
	};
	struct ib_sge from = {
		.addr = c->a.dma,
		.length = 1000,
		.lkey = c->a.pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND,
		.sg_list = &from,
		.num_sge = 1,
	};
	struct ib_send_wr empty = { .opcode = IB_WR_SEND };
	int err;

	err = uv_post(&c->b, &empty, &w[0]);
	err = err ?: uv_post_recv(&c->b, c->b.dma, UV_BUF, &w[1]);
	err = err ?: uv_post(&c->a, &read.wr, &w[2]);
	err = err ?: uv_post(&c->a, &send, &w[3]);
	err = err ?: uv_wait(&w[0]);
	err = err ?: uv_wait(&w[1]);
	/* the acknowledgment, and the answer */
	msleep(1000);
	kt_ok(!err && !completion_done(&w[2].done) && !completion_done(&w[3].done),
	      "a Read and a Send wait: %d", err);
	err = err ?: uv_post_recv(&c->a, c->a.dma, UV_BUF, &w[4]);
	err = err ?: uv_wait(&w[4]);
	return err ?: uv_wait(&w[2]);
}

static void uv_case_behind(struct uv_conn *c)
{
	struct uv_two t = {};
	struct uv_wait w[5];
	int err;

	if (uv_two_up(&t, c, 1, UV_ACCESS)) {
		err = uv_behind(c, &t, w);
		kt_ok(!err, "the Read completes: %d", err);
		err = err ?: uv_wait(&w[3]);
		kt_ok(!err, "the Send behind it completes, too: %d", err);
	}
	/* what is left completes into our stack */
	ib_drain_qp(c->a.id->qp);
	ib_drain_qp(c->b.id->qp);
	uv_two_down(&t);
}

static void uv_case(const char *name, void (*run)(struct uv_conn *c), bool srq)
{
	struct uv_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!kt_ok(c, "%s", name))
		return;
	err = uv_up(c, srq);
	if (err)
		kt_ok(false, "%s: no connection (%d)", name, err);
	else
		run(c);
	uv_down(c);
	kfree(c);
}

void uv_cases(void)
{
	uv_case("one page", uv_case_one, false);
	uv_case("most pages", uv_case_max, false);
	uv_case("access rights", uv_case_access, false);
	uv_case("Read refused", uv_case_read_refused, false);
	uv_case("registered twice", uv_case_twice, false);
	uv_case("too large", uv_case_too_large, false);
	uv_case("halves of pages", uv_case_halves, false);
	uv_case("remote invalidate", uv_case_send_inv, false);
	uv_case("STag 0", uv_case_zero, false);
	uv_case("Read with invalidate", uv_case_read_inv, false);
	uv_case("scatter elements", uv_case_gather, false);
	uv_case("inline", uv_case_inline, false);
	uv_case("rdma_rw", uv_case_rw, false);
	uv_case("drain", uv_case_drain, false);
	uv_case("shared receive queue", uv_case_srq, true);
	uv_case("moderation", uv_case_moderation, false);
	uv_case("late event", uv_case_late_event, false);
}

/* Where moderation is adaptive */
void uv_adaptive_cases(void)
{
	uv_case("adaptive", uv_case_adaptive, false);
}

/* Where payload is given by reference */
void uv_refer_cases(void)
{
	uv_case("two pages", uv_case_two_pages, false);
	uv_case("image", uv_case_image, false);
	uv_case("behind a Read", uv_case_behind, false);
}
