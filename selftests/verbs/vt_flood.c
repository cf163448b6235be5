// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, much that waits: a message for which there is no receive, and
 * Writes behind it. In two parts, so that in between one can wait until all of it
 * has arrived. And what is sent may be written to when the request is complete,
 * whether the peer has looked at it or not. See vt.h.
 */
#include <linux/string.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_WRITES	(VT_DEPTH - 1)

static struct vt_conn *vt_flooded;
static struct vt_wr *vt_last;

static void vt_flood(void)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };
	bool posted;
	int i;

	vt_flooded = vt_up(false, VT_RIGHTS);
	if (!vt_flooded)
		return;
	wr.remote_addr = vt_addr(&vt_flooded->b, 0);
	wr.rkey = vt_flooded->b.mr->rkey;
	posted = !vt_post(&vt_flooded->a, &send, 0, 8)->err;
	for (i = 0; i < VT_WRITES && posted; i++) {
		vt_last = vt_post(&vt_flooded->a, &wr.wr, 0, VT_BUF);
		posted = !vt_last->err;
	}
	kt_ok(posted, "much is posted");
}

static void vt_drain(void)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct vt_conn *c = vt_flooded;
	struct vt_wr *first, *second;

	if (!c)
		return;
	first = vt_recv(&c->b, 0, 8);
	second = vt_recv(&c->b, 0, 8);
	kt_ok(vt_good(&c->b, first, IB_WC_RECV), "the message is received");
	kt_ok(vt_good(&c->a, vt_last, IB_WC_RDMA_WRITE), "all are sent");
	vt_post(&c->a, &send, 0, 8);
	kt_ok(vt_good(&c->b, second, IB_WC_RECV), "and received");
	vt_flood_end();
}

/**
 * vt_flood_tests() - see above
 * @receive: the second part
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
 * The peer has no receive for the Send, so neither that nor the Write behind it is
 * looked at before the buffer has changed.
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
	kt_ok(vt_good(&c->b, r, IB_WC_RECV), "received");
	/* behind the Write */
	r = vt_recv(&c->b, 0, 0);
	vt_post(&c->a, &send, 0, 0);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV), "and the Write behind it");
	kt_ok(!memchr_inv(c->b.buf, 0x5a, VT_BUF), "as it was when it was sent");
	vt_down(c);
}

/**
 * vt_flood_end() - the second part did not come
 */
void vt_flood_end(void)
{
	if (vt_flooded)
		vt_down(vt_flooded);
	vt_flooded = NULL;
}
