// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, what operations cost beside many queue pairs. For the lane that counts
 * instructions, where one is a nanosecond. See vt.h.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_MANY		10000
#define VT_BATCH	8	/* receives, queue pairs that are measured together */
#define VT_TURNS	4	/* the fastest one counts */

/* Nanoseconds of posting VT_BATCH receives to the shared queue */
static u64 vt_scale_post(struct vt_side *s)
{
	u64 best = U64_MAX, start;
	int i, j;

	for (i = 0; i < VT_TURNS; i++) {
		start = ktime_get_ns();
		for (j = 0; j < VT_BATCH; j++)
			if (vt_recv(s, 0, 64)->err)
				return 0;
		best = min(best, ktime_get_ns() - start);
	}
	return best;
}

static struct ib_qp *vt_scale_make(struct vt_side *s)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.srq = s->srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	return ib_create_qp(s->pd, &attr);
}

/* Queue pairs of the shared queue from @from on; how many there are now */
static u32 vt_scale_more(struct vt_side *s, struct ib_qp **qps, u32 from, u32 n)
{
	u32 i;

	for (i = from; i < from + n; i++) {
		qps[i] = vt_scale_make(s);
		if (IS_ERR(qps[i]))
			break;
		cond_resched();
	}
	return i;
}

static void vt_scale_drop(struct ib_qp **qps, u32 from, u32 n)
{
	while (n--) {
		ib_destroy_qp(qps[from + n]);
		cond_resched();
	}
}

/* Nanoseconds to make and to destroy VT_BATCH queue pairs beside @n */
static u64 vt_scale_pair(struct vt_side *s, struct ib_qp **qps, u32 n)
{
	u64 best = U64_MAX, start;
	int i;

	for (i = 0; i < VT_TURNS; i++) {
		start = ktime_get_ns();
		if (vt_scale_more(s, qps, n, VT_BATCH) != n + VT_BATCH)
			return 0;
		vt_scale_drop(qps, n, VT_BATCH);
		best = min(best, ktime_get_ns() - start);
	}
	return best;
}

static void vt_scale_judge(const char *what, u64 none, u64 many)
{
	kt_ok(none && many && 10 * many <= 12 * none,
	      "%s takes at most a fifth more beside %u queue pairs than beside none: %llu, %llu ns",
	      what, VT_MANY, many / VT_BATCH, none / VT_BATCH);
}

/**
 * vt_scale_tests - receives of a shared queue of many queue pairs, and one more of them
 */
void vt_scale_tests(void)
{
	struct ib_qp **qps = kvcalloc(VT_MANY + VT_BATCH, sizeof(*qps),
				      GFP_KERNEL);
	struct vt_conn *c = vt_up(true, VT_RIGHTS);
	u64 post, pair;
	u32 n;

	if (!qps || !c)
		goto out;
	/* what comes for the first time does not count */
	vt_scale_pair(&c->b, qps, 0);
	vt_scale_post(&c->b);
	pair = vt_scale_pair(&c->b, qps, 0);
	post = vt_scale_post(&c->b);
	n = vt_scale_more(&c->b, qps, 0, VT_MANY);
	if (kt_ok(n == VT_MANY, "%u queue pairs have one receive queue", n)) {
		vt_scale_judge("a receive", post, vt_scale_post(&c->b));
		vt_scale_judge("to make and destroy a queue pair", pair,
			       vt_scale_pair(&c->b, qps, VT_MANY));
	}
	vt_scale_drop(qps, 0, n);
out:
	if (c)
		vt_down(c);
	kvfree(qps);
}
