// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, cost of operations beside many queue pairs. For run.sh --count, where an
 * instruction takes a nanosecond. See vt.h.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_MANY		10000
#define VT_BATCH	8	/* receives or queue pairs measured together */
#define VT_TURNS	4	/* the fastest one counts */
#define VT_WAITING	1000	/* queue pairs with a message that waits for a receive */
#define VT_CROWD	(VT_WAITING + VT_TURNS * VT_BATCH)
#define VT_LEN		64	/* bytes of a message */

/* Nanoseconds of posting VT_BATCH receives to the shared queue */
static u64 vt_scale_post(struct vt_side *s)
{
	u64 best = U64_MAX, start;
	int i, j;

	for (i = 0; i < VT_TURNS; i++) {
		start = ktime_get_ns();
		for (j = 0; j < VT_BATCH; j++)
			if (vt_recv(s, 0, VT_LEN)->err)
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

/* Make @n queue pairs of the shared queue. Return: how many there are now. */
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

static void vt_scale_judge(const char *what, u64 none, u64 many, u32 others,
			   const char *which)
{
	kt_ok(none && many && 10 * many <= 12 * none,
	      "%s takes at most a fifth more beside %u %s than beside none: %llu, %llu ns",
	      what, others, which, many / VT_BATCH, none / VT_BATCH);
}

/* --------------------------------------------- messages that wait for a receive */

static atomic_t vt_kicks;

static int vt_kicked(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_inc(&vt_kicks);
	return 0;
}

/* Called when a posted receive lets a queue pair continue */
static struct kprobe vt_kick_probe = {
	.symbol_name = "hyb_sched_kick_rx",
	.pre_handler = vt_kicked,
};

/* Make connections whose listening sides share one receive queue. Return: how many there are. */
static u32 vt_scale_connect(struct vt_conn **c, u32 from, u32 to)
{
	for (; from < to; from++) {
		c[from] = from ? vt_up_beside(&c[0]->b, VT_RIGHTS) :
				 vt_up(true, VT_RIGHTS);
		if (!c[from])
			break;
	}
	return from;
}

/* Send a message to each of @n queue pairs, where it waits */
static bool vt_scale_send(struct vt_conn **c, u32 n)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u32 i;

	for (i = 0; i < n; i++) {
		if (vt_post(&c[i]->a, &wr, 0, VT_LEN)->err)
			return false;
		cond_resched();
	}
	msleep(200);
	return true;
}

/* Nanoseconds until VT_BATCH receives, posted together, have a message each; or 0 */
static u64 vt_scale_serve(struct vt_side *s)
{
	unsigned long end = jiffies + KT_WAIT;
	struct vt_wr *w[VT_BATCH];
	u64 start = ktime_get_ns();
	int i;

	for (i = 0; i < VT_BATCH; i++)
		w[i] = vt_recv(s, 0, VT_LEN);
	for (i = 0; i < VT_BATCH; i++) {
		while (!w[i]->done) {
			if (w[i]->err || time_after(jiffies, end))
				return 0;
			/* let the work item run that serves the queue pairs */
			schedule();
			ib_process_cq_direct(s->cq, -1);
		}
	}
	return ktime_get_ns() - start;
}

/* The fastest turn. @again: the queue pairs get a new message before each */
static u64 vt_scale_serve_best(struct vt_conn **c, u32 n, bool again)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < VT_TURNS; i++) {
		if ((again || !i) && !vt_scale_send(c, n))
			return 0;
		best = min(best, vt_scale_serve(&c[0]->b));
	}
	return best;
}

static void vt_scale_kicks(struct vt_conn **c)
{
	u64 few = 0, many = 0;
	u32 n;

	n = vt_scale_connect(c, 0, VT_BATCH);
	if (n == VT_BATCH)
		few = vt_scale_serve_best(c, n, true);
	if (few)
		n = vt_scale_connect(c, n, VT_CROWD);
	if (n == VT_CROWD) {
		atomic_set(&vt_kicks, 0);
		many = vt_scale_serve_best(c, n, false);
	}
	kt_ok(atomic_read(&vt_kicks) == VT_TURNS * VT_BATCH,
	      "%u receives let %d of %u queue pairs with a message go on",
	      VT_TURNS * VT_BATCH, atomic_read(&vt_kicks), n);
	vt_scale_judge("a receive for a message that waits", few, many, VT_WAITING,
		       "queue pairs that wait");
	while (n--)
		vt_down(c[n]);
}

static void vt_scale_waiting(void)
{
	struct vt_conn **c = kvcalloc(VT_CROWD, sizeof(*c), GFP_KERNEL);

	if (!kt_ok(c && !register_kprobe(&vt_kick_probe),
		   "calls that let a queue pair go on can be counted"))
		goto out;
	vt_scale_kicks(c);
	unregister_kprobe(&vt_kick_probe);
out:
	kvfree(c);
}

/**
 * vt_scale_tests() - post receives, make a queue pair, serve a message beside many queue pairs
 */
void vt_scale_tests(void)
{
	struct ib_qp **qps = kvcalloc(VT_MANY + VT_BATCH, sizeof(*qps),
				      GFP_KERNEL);
	struct vt_conn *c = vt_up(true, VT_RIGHTS);
	u64 post, pair;
	u32 n;

	if (!kt_ok(qps, "there is memory for queue pairs") || !c)
		goto out;
	/* the first call of each does not count */
	vt_scale_pair(&c->b, qps, 0);
	vt_scale_post(&c->b);
	pair = vt_scale_pair(&c->b, qps, 0);
	post = vt_scale_post(&c->b);
	n = vt_scale_more(&c->b, qps, 0, VT_MANY);
	if (kt_ok(n == VT_MANY, "%u queue pairs have one receive queue", n)) {
		vt_scale_judge("a receive", post, vt_scale_post(&c->b), VT_MANY,
			       "queue pairs");
		vt_scale_judge("to make and destroy a queue pair", pair,
			       vt_scale_pair(&c->b, qps, VT_MANY), VT_MANY,
			       "queue pairs");
	}
	vt_scale_drop(qps, 0, n);
out:
	if (c)
		vt_down(c);
	kvfree(qps);
	vt_scale_waiting();
}
