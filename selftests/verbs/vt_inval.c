// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, keys that are invalidated: by a Send of the peer, after its Writes with
 * the key, and by a Read, whose local buffer has the key. See vt.h.
 */
#include <linux/string.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)
#define VT_ROUNDS	20
#define VT_WRITES	8
#define VT_PIECE	1000		/* bytes of each */
#define VT_WRITTEN	(VT_WRITES * VT_PIECE)

/* Post all at once: every Write is placed before the Send invalidates the key */
static bool vt_write_and_end(struct vt_conn *c)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND_WITH_INV };
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct vt_wr *w[VT_WRITES], *s, *r;
	u32 key = c->b.mr->rkey;
	bool good = true;
	int i;

	r = vt_recv(&c->b, 0, 0);
	wr.rkey = key;
	for (i = 0; i < VT_WRITES; i++) {
		wr.remote_addr = vt_addr(&c->b, i * VT_PIECE);
		w[i] = vt_post(&c->a, &wr.wr, i * VT_PIECE, VT_PIECE);
	}
	send.ex.invalidate_rkey = key;
	s = vt_post(&c->a, &send, 0, 0);
	good &= vt_good(&c->b, r, IB_WC_RECV) &&
		r->wc.wc_flags & IB_WC_WITH_INVALIDATE &&
		r->wc.ex.invalidate_rkey == key &&
		!memcmp(c->a.buf, c->b.buf, VT_WRITTEN);
	for (i = 0; i < VT_WRITES; i++)
		good &= vt_good(&c->a, w[i], IB_WC_RDMA_WRITE);
	return good && vt_good(&c->a, s, IB_WC_SEND);
}

static bool vt_read_and_end(struct vt_conn *c)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ_WITH_INV,
		.wr.ex.invalidate_rkey = c->a.mr->lkey,
		.remote_addr = vt_addr(&c->b, 0),
		.rkey = c->b.mr->rkey,
	};
	struct vt_wr *w;

	memset(c->a.buf, 0, VT_BUF);
	w = vt_post(&c->a, &wr.wr, 0, VT_WRITTEN);
	return vt_good(&c->a, w, IB_WC_RDMA_READ) &&
	       !memcmp(c->a.buf, c->b.buf, VT_WRITTEN);
}

static bool vt_round(struct vt_conn *c, int round)
{
	int i;

	for (i = 0; i < VT_WRITTEN; i++)
		c->a.buf[i] = i / VT_PIECE * 11 + i * 3 + round + 1;
	memset(c->b.buf, 0, VT_BUF);
	return vt_write_and_end(c) && !vt_reregister(&c->b, VT_RIGHTS) &&
	       vt_read_and_end(c) && !vt_reregister(&c->a, VT_RIGHTS);
}

/* The Send has invalidated the key, and there is no new one yet */
static void vt_old_key(struct vt_conn *c)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.remote_addr = vt_addr(&c->b, 0),
		.rkey = c->b.mr->rkey,
	};

	kt_ok(vt_write_and_end(c), "a Write with a valid key ends well");
	memset(c->b.buf, 0x66, VT_BUF);
	vt_post(&c->a, &wr.wr, 0, 8);
	kt_ok(vt_end(&c->a) && vt_end(&c->b), "a Write by an old key ends the connection");
	kt_ok(test_bit(IB_EVENT_QP_ACCESS_ERR, &c->b.qp_events),
	      "a Write by an old key is an access error");
	kt_ok(!memchr_inv(c->b.buf, 0x66, VT_BUF),
	      "a Write by an old key changes nothing");
}

/**
 * vt_inval_tests() - keys that are invalidated
 */
void vt_inval_tests(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	int i = 0;

	if (!c)
		return;
	while (i < VT_ROUNDS && vt_round(c, i))
		i++;
	kt_ok(i == VT_ROUNDS,
	      "%d keys have ended after %d Writes each, and as many by Reads",
	      i, VT_WRITES);
	vt_old_key(c);
	vt_down(c);
}
