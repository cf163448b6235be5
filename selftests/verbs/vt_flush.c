// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, requests posted while a queue is flushed. See vt.h.
 *
 * Receives: the queue pair is not connected, so state ERR flushes it at once. Sends: the
 * queue pair is connected, and the peer has no receives, so that the queue fills up.
 * Meanwhile another thread continues to post whenever there is room.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>

#include "vt.h"

#define VT_QUEUE	1024
#define VT_CHAIN	32		/* receives posted at once */
#define VT_POSTED_MAX	BIT(17)
#define VT_ROUNDS	20
#define VT_SENDS	VT_DEPTH	/* posted at once */
#define VT_SENDS_MAX	(3 * VT_DEPTH)	/* no more are posted while so many are not complete */

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

/* Return: how many of its receives never complete; negative: an error. */
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

/* ------------------------------------------------------------------- sends */

struct vt_sender {
	struct vt_side *side;
	struct ib_send_wr wr[VT_SENDS];
	struct ib_cqe cqe;
	struct completion full;
	u32 posted;
	u32 completed;
	int err;			/* other than that the queue is full */
};

static void vt_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	container_of(wc->wr_cqe, struct vt_sender, cqe)->completed++;
}

static void vt_send_chain(struct vt_sender *p)
{
	const struct ib_send_wr *bad = NULL;
	u32 posted = VT_SENDS;
	int err;

	err = ib_post_send(p->side->id->qp, p->wr, &bad);
	if (err)
		posted = bad - p->wr;
	WRITE_ONCE(p->posted, p->posted + posted);
	if (err == -ENOMEM)
		complete_all(&p->full);
	else if (err)
		p->err = err;
}

static int vt_sender(void *arg)
{
	struct vt_sender *p = arg;

	while (!kthread_should_stop()) {
		if (p->posted - p->completed < VT_SENDS_MAX && !p->err)
			vt_send_chain(p);
		ib_process_cq_direct(p->side->cq, -1);
		cond_resched();
	}
	return 0;
}

/* Enter state ERR, and wait until four times the depth of the queue has been posted since */
static int vt_send_end(struct vt_sender *p)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned long end = jiffies + KT_WAIT;
	u32 before;
	int err;

	if (!wait_for_completion_timeout(&p->full, KT_WAIT))
		return -ETIMEDOUT;
	before = READ_ONCE(p->posted);
	err = ib_modify_qp(p->side->id->qp, &attr, IB_QP_STATE);
	while (!err && READ_ONCE(p->posted) - before < 4 * VT_DEPTH) {
		usleep_range(500, 1000);
		if (time_after(jiffies, end))
			err = -ETIMEDOUT;
	}
	return err;
}

/* Return: how many of its sends never complete; negative: an error. */
static int vt_flush_sends(struct vt_sender *p)
{
	unsigned long end = jiffies + 2 * KT_WAIT;
	struct task_struct *task;
	int err;

	task = kthread_run(vt_sender, p, "vt_sender");
	if (IS_ERR(task))
		return PTR_ERR(task);
	err = vt_send_end(p);
	kthread_stop(task);
	while (p->completed != p->posted && time_before(jiffies, end)) {
		ib_process_cq_direct(p->side->cq, -1);
		usleep_range(500, 1000);
	}
	return err ? err : p->err ? p->err : p->posted - p->completed;
}

static int vt_send_round(struct vt_side *s)
{
	struct vt_sender *p = kvzalloc(sizeof(*p), GFP_KERNEL);
	int i, lost;

	if (!p)
		return -ENOMEM;
	p->side = s;
	p->cqe.done = vt_sent;
	init_completion(&p->full);
	for (i = 0; i < VT_SENDS; i++) {
		p->wr[i].next = i < VT_SENDS - 1 ? &p->wr[i + 1] : NULL;
		p->wr[i].opcode = IB_WR_SEND;
		p->wr[i].send_flags = IB_SEND_SIGNALED;
		p->wr[i].wr_cqe = &p->cqe;
	}
	lost = vt_flush_sends(p);
	/* a late completion must not refer to freed memory */
	ib_drain_qp(s->id->qp);
	kvfree(p);
	return lost;
}

static void vt_send_rounds(void)
{
	struct vt_conn *c;
	int i, lost = 0;

	for (i = 0; i < VT_ROUNDS && !lost; i++) {
		c = vt_up(false, IB_ACCESS_LOCAL_WRITE);
		if (!c)
			return;
		lost = vt_send_round(&c->a);
		vt_down(c);
	}
	if (lost)
		pr_info("verbs_test: flush: sends: %d\n", lost);
	kt_ok(!lost, "sends that are posted during a flush complete, too");
}

/**
 * vt_flush_tests() - requests posted during a flush complete
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
		kt_ok(!lost, "receives that are posted during a flush complete, too");
		ib_destroy_cq(cq);
	}
	vt_down(c);
	vt_send_rounds();
}
