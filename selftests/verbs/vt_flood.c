// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, a lot of waiting data: a message for which there is no receive, and
 * Writes after it, on two connections. Neither may keep the processor until all of its
 * data is received. There are two parts, so that a script can wait in between until all
 * data has arrived. Another test: a buffer may be written to when its request is
 * complete, whether the peer has read the data or not. See vt.h.
 */
#include <linux/preempt.h>
#include <linux/string.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_WRITES	(VT_DEPTH - 3)
#define VT_FLOODED	2		/* connections */

/* Offsets at the peer: marks of the first and of the last Write, data of the others */
enum {
	VT_BEGIN = 0,
	VT_END = 8,
	VT_BULK = 16,
};

static struct vt_conn *vt_flooded[VT_FLOODED];
static struct vt_wr *vt_last[VT_FLOODED];

/* False if it was not posted */
static bool vt_write(struct vt_conn *c, u32 to, u32 len, struct vt_wr **last)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };

	wr.remote_addr = vt_addr(&c->b, to);
	wr.rkey = c->b.mr->rkey;
	*last = vt_post(&c->a, &wr.wr, 0, len);
	return !(*last)->err;
}

/* A message that has to wait, and after it Writes: the first mark, bulk data, the second mark */
static bool vt_flood_one(struct vt_conn *c, struct vt_wr **last)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	bool posted;
	int i;

	memset(c->a.buf, 1, VT_BUF);
	memset(c->b.buf, 0, VT_BUF);
	posted = !vt_post(&c->a, &send, 0, 0)->err &&
		 vt_write(c, VT_BEGIN, VT_END - VT_BEGIN, last);
	for (i = 0; i < VT_WRITES && posted; i++)
		posted = vt_write(c, VT_BULK, VT_BUF - VT_BULK, last);
	return posted && vt_write(c, VT_END, VT_BULK - VT_END, last);
}

static void vt_flood(void)
{
	int i;

	for (i = 0; i < VT_FLOODED; i++) {
		vt_flooded[i] = vt_up(false, VT_RIGHTS);
		if (!vt_flooded[i])
			return;
		kt_ok(vt_flood_one(vt_flooded[i], &vt_last[i]),
		      "many requests are posted");
	}
}

/* True if the peer has begun with the Writes, but has not finished them */
static bool vt_between(const struct vt_conn *c)
{
	return READ_ONCE(c->b.buf[VT_BEGIN]) && !READ_ONCE(c->b.buf[VT_END]);
}

/*
 * A posted receive starts a round of its connection at once, here. A work item of
 * this processor does the rest of the round; it has to wait until we leave the
 * processor, so the second connection has its round before.
 */
static void vt_rounds(struct vt_wr *first[])
{
	bool between[VT_FLOODED];
	int i;

	preempt_disable();
	for (i = 0; i < VT_FLOODED; i++) {
		first[i] = vt_recv(&vt_flooded[i]->b, 0, 0);
		between[i] = vt_between(vt_flooded[i]);
	}
	between[0] &= vt_between(vt_flooded[0]);
	preempt_enable();
	kt_ok(between[0], "a round does not take all of it");
	kt_ok(between[1], "another connection has a round before the next one");
}

static void vt_drain(void)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct vt_wr *first[VT_FLOODED], *second;
	struct vt_conn *c;
	int i;

	if (!vt_flooded[VT_FLOODED - 1])
		return;
	vt_rounds(first);
	for (i = 0; i < VT_FLOODED; i++) {
		c = vt_flooded[i];
		second = vt_recv(&c->b, 0, 0);
		kt_ok(vt_good(&c->b, first[i], IB_WC_RECV),
		      "the message is received");
		kt_ok(vt_good(&c->a, vt_last[i], IB_WC_RDMA_WRITE),
		      "all requests are sent");
		vt_post(&c->a, &send, 0, 0);
		kt_ok(vt_good(&c->b, second, IB_WC_RECV), "the last message is received");
		kt_ok(c->b.buf[VT_END], "the last message is received to its end");
	}
	vt_flood_end();
}

/**
 * vt_flood_tests() - waiting data
 * @receive: the second part, which receives it; otherwise the first, which sends it
 */
void vt_flood_tests(bool receive)
{
	if (receive)
		vt_drain();
	else
		vt_flood();
}

/**
 * vt_reuse_tests() - a buffer that is used again at once
 *
 * The peer has no receive for the Send, so it reads neither that nor the Write after it
 * before the buffer has changed.
 */
void vt_reuse_tests(void)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *first, *second, *r;
	u32 half = VT_BUF / 2;

	if (!c)
		return;
	memset(c->a.buf, 0x5a, VT_BUF);
	memset(c->b.buf, 0, VT_BUF);
	wr.remote_addr = vt_addr(&c->b, half);
	wr.rkey = c->b.mr->rkey;
	first = vt_post(&c->a, &send, 0, half);
	second = vt_post(&c->a, &wr.wr, half, half);
	kt_ok(vt_good(&c->a, first, IB_WC_SEND) &&
	      vt_good(&c->a, second, IB_WC_RDMA_WRITE),
	      "sent, with no receive for it");
	memset(c->a.buf, 0xa5, VT_BUF);
	r = vt_recv(&c->b, 0, half);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV), "the first half is received");
	/* after the Write */
	r = vt_recv(&c->b, 0, 0);
	vt_post(&c->a, &send, 0, 0);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV), "the Write after it is received");
	kt_ok(!memchr_inv(c->b.buf, 0x5a, VT_BUF), "the Write is as it was when it was sent");
	vt_down(c);
}

/**
 * vt_flood_end() - end the connections of vt_flood_tests(), if there are any
 */
void vt_flood_end(void)
{
	int i;

	for (i = 0; i < VT_FLOODED; i++) {
		if (vt_flooded[i])
			vt_down(vt_flooded[i]);
		vt_flooded[i] = NULL;
	}
}
