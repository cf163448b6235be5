// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, ends of connections: posted messages arrive, and both ends get the
 * event, for a close of either end or of both at once. See vt.h.
 */
#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_MESSAGES	32

static struct vt_wr *vt_message(struct vt_side *s, u32 len)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	return vt_post(s, &wr, 0, len);
}

static bool vt_ended(struct vt_conn *c)
{
	return vt_end(&c->a) && vt_end(&c->b);
}

/*
 * All receives have a message, or all from some place on are flushed. Return: the number of
 * messages, -1 otherwise.
 */
static int vt_count(struct vt_side *s, struct vt_wr **r)
{
	int i, n = 0;
	bool over = false;

	for (i = 0; i < VT_MESSAGES; i++) {
		if (!vt_wait(s, r[i]))
			return -1;
		if (r[i]->wc.status == IB_WC_SUCCESS)
			n++;
		else if (r[i]->wc.status != IB_WC_WR_FLUSH_ERR)
			return -1;
		if (over && r[i]->wc.status == IB_WC_SUCCESS)
			return -1;
		over |= r[i]->wc.status != IB_WC_SUCCESS;
	}
	return n;
}

static void vt_graceful(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *r[VT_MESSAGES];
	int i;

	if (!c)
		return;
	for (i = 0; i < VT_MESSAGES; i++)
		r[i] = vt_recv(&c->b, 0, VT_BUF);
	for (i = 0; i < VT_MESSAGES; i++)
		vt_message(&c->a, VT_BUF);
	rdma_disconnect(c->a.id);
	kt_ok(vt_count(&c->b, r) == VT_MESSAGES,
	      "messages posted before the end arrive");
	kt_ok(vt_ended(c), "both ends get the event of the end");
	vt_down(c);
}

/* Both have sent, neither waits for the other */
static void vt_simultaneous(void)
{
	struct vt_wr *ra[VT_MESSAGES], *rb[VT_MESSAGES];
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	int i;

	if (!c)
		return;
	for (i = 0; i < VT_MESSAGES; i++) {
		ra[i] = vt_recv(&c->a, 0, VT_BUF);
		rb[i] = vt_recv(&c->b, 0, VT_BUF);
	}
	for (i = 0; i < VT_MESSAGES; i++) {
		vt_message(&c->a, 1000);
		vt_message(&c->b, 1000);
	}
	rdma_disconnect(c->a.id);
	rdma_disconnect(c->b.id);
	kt_ok(vt_count(&c->a, ra) >= 0 && vt_count(&c->b, rb) >= 0,
	      "both close at once: all receives complete");
	kt_ok(vt_ended(c), "both close at once: both get the event");
	vt_down(c);
}

/* Abortive: posted requests are flushed, the peer's receives, too */
static void vt_abortive(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *r[VT_MESSAGES], *mine;
	int i;

	if (!c)
		return;
	for (i = 0; i < VT_MESSAGES; i++)
		r[i] = vt_recv(&c->b, 0, VT_BUF);
	mine = vt_recv(&c->a, 0, 16);
	kt_ok(!ib_modify_qp(c->a.id->qp, &attr, IB_QP_STATE),
	      "the queue pair enters state ERR");
	kt_ok(vt_wait(&c->a, mine) && mine->wc.status == IB_WC_WR_FLUSH_ERR,
	      "own receives are flushed");
	kt_ok(vt_count(&c->b, r) == 0, "the receives of the peer are flushed");
	kt_ok(vt_ended(c), "both ends get the event");
	kt_ok(vt_wait(&c->a, vt_message(&c->a, 8)),
	      "requests posted afterwards complete");
	vt_down(c);
}

/* A message has no receive, and its sender disconnects: the wait for a receive is limited */
static void vt_unreceived(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *r;

	if (!c)
		return;
	kt_ok(vt_good(&c->a, vt_message(&c->a, 100), IB_WC_SEND),
	      "a message without a receive is sent");
	rdma_disconnect(c->a.id);
	kt_ok(vt_ended(c),
	      "the sender of a message without a receive goes: both ends get the event");
	r = vt_recv(&c->b, 0, 100);
	kt_ok(vt_wait(&c->b, r) && r->wc.status == IB_WC_WR_FLUSH_ERR,
	      "its sender goes: it is lost, a receive is flushed");
	vt_down(c);
}

/* Return: whether the consumer closed before its event handler returned. */
static bool vt_tell(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *r;
	bool first;

	if (!c)
		return false;
	c->b.hasty = true;
	r = vt_recv(&c->b, 0, 16);
	vt_message(&c->a, 17);
	kt_ok(vt_wait(&c->b, r) && r->wc.status != IB_WC_SUCCESS,
	      "a message that is too long is an error");
	kt_ok(vt_ended(c), "both ends get the event of its end");
	first = c->b.closed_first;
	kt_ok(test_bit(IB_EVENT_QP_FATAL, &c->a.qp_events),
	      "closed at once: a Terminate all the same");
	vt_down(c);
	return first;
}

/* The peer gets a Terminate for its error, even if the consumer closes at the event */
static void vt_told(void)
{
	bool first = false;
	int i;

	/* on a busy machine closing may take longer than the event handler waits for it */
	for (i = 0; i < 5 && !first; i++)
		first = vt_tell();
	kt_ok(first, "the consumer was quicker than the Terminate");
}

/**
 * vt_close_tests() - ends of connections
 */
void vt_close_tests(void)
{
	vt_graceful();
	vt_simultaneous();
	vt_abortive();
	vt_unreceived();
	vt_told();
}
