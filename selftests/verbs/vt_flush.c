// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, receives that are posted while a queue is flushed. See vt.h.
 *
 * The queue pair is not connected, so state ERR flushes it on the spot. Meanwhile
 * another thread goes on to post, as fast as there is room.
 */
#include <linux/kthread.h>

#include "vt.h"

#define VT_QUEUE	1024
#define VT_CHAIN	32		/* receives posted at once */
#define VT_POSTED_MAX	BIT(17)
#define VT_ROUNDS	20

struct vt_poster {
	struct ib_qp *qp;
	struct completion full;
	u32 posted;
	int err;			/* other than that the queue is full */
};

static void vt_post_chain(struct vt_poster *p)
{
	struct ib_recv_wr wr[VT_CHAIN] = {};
	const struct ib_recv_wr *bad = NULL;
	int i, err;

	for (i = 0; i < VT_CHAIN - 1; i++)
		wr[i].next = &wr[i + 1];
	err = ib_post_recv(p->qp, wr, &bad);
	p->posted += err ? bad - wr : VT_CHAIN;
	if (err == -ENOMEM)
		complete_all(&p->full);
	else if (err)
		p->err = err;
}

static int vt_poster(void *arg)
{
	struct vt_poster *p = arg;

	while (!kthread_should_stop()) {
		if (p->posted < VT_POSTED_MAX - VT_CHAIN && !p->err)
			vt_post_chain(p);
		cond_resched();
	}
	return 0;
}

/* How many of its receives never complete; negative: an error */
static int vt_flush_qp(struct vt_poster *p)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct task_struct *task;
	int lost, n, err = -ETIMEDOUT;
	struct ib_wc wc[16];

	task = kthread_run(vt_poster, p, "vt_poster");
	if (IS_ERR(task))
		return PTR_ERR(task);
	if (wait_for_completion_timeout(&p->full, KT_WAIT))
		err = ib_modify_qp(p->qp, &attr, IB_QP_STATE);
	kthread_stop(task);
	lost = p->posted;
	while ((n = ib_poll_cq(p->qp->recv_cq, ARRAY_SIZE(wc), wc)) > 0)
		lost -= n;
	return err ? err : p->err ? p->err : lost;
}

static int vt_flush_round(struct ib_pd *pd, struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = VT_QUEUE,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct vt_poster p = {};
	int lost;

	init_completion(&p.full);
	p.qp = ib_create_qp(pd, &attr);
	if (IS_ERR(p.qp))
		return PTR_ERR(p.qp);
	lost = vt_flush_qp(&p);
	ib_destroy_qp(p.qp);
	return lost;
}

/**
 * vt_flush_tests() - see above
 */
void vt_flush_tests(void)
{
	struct ib_cq_init_attr attr = { .cqe = VT_POSTED_MAX };
	struct vt_conn *c = vt_up(false, IB_ACCESS_LOCAL_WRITE);
	int i, lost = 0;
	struct ib_cq *cq;

	if (!c)
		return;
	cq = ib_create_cq(c->a.id->device, NULL, NULL, NULL, &attr);
	if (IS_ERR(cq)) {
		kt_ok(false, "a completion queue");
	} else {
		for (i = 0; i < VT_ROUNDS && !lost; i++)
			lost = vt_flush_round(c->a.pd, cq);
		if (lost)
			pr_info("verbs_test: flush: %d\n", lost);
		kt_ok(!lost, "what is posted during a flush completes, too");
		ib_destroy_cq(cq);
	}
	vt_down(c);
}
