// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, queues that change their sizes (IB_QP_CAP). See vt.h.
 */
#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define VT_SMALL	2	/* entries; a power of two, as sizes are */
#define VT_LARGE	64
#define VT_TOO_LARGE	BIT(20)

static int vt_resize(struct vt_side *s, u32 send, u32 recv)
{
	struct ib_qp_attr attr = {
		.cap = { .max_send_wr = send, .max_recv_wr = recv },
	};

	return ib_modify_qp(s->id->qp, &attr, IB_QP_CAP);
}

static struct vt_wr *vt_message(struct vt_side *s)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	return vt_post(s, &wr, 0, 64);
}

/* As many receives as there is room for, and as many messages for them */
static bool vt_fill(struct vt_conn *c, int n)
{
	struct vt_wr *r[VT_DEPTH];
	int i;

	for (i = 0; i < n; i++) {
		r[i] = vt_recv(&c->b, 0, 64);
		if (r[i]->err)
			return false;
	}
	if (vt_recv(&c->b, 0, 64)->err != -ENOMEM)
		return false;
	for (i = 0; i < n; i++)
		if (!vt_good(&c->a, vt_message(&c->a), IB_WC_SEND) ||
		    !vt_good(&c->b, r[i], IB_WC_RECV))
			return false;
	return true;
}

static void vt_resize_own(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_wr *r, *more;

	if (!c)
		return;
	kt_ok(!vt_resize(&c->a, VT_SMALL, VT_SMALL) &&
	      !vt_resize(&c->b, VT_SMALL, VT_SMALL), "queues become small");
	kt_ok(vt_fill(c, VT_SMALL), "small queues hold their entries");
	r = vt_recv(&c->b, 0, 64);
	kt_ok(!vt_resize(&c->b, VT_LARGE, VT_LARGE),
	      "queues become large while a receive is posted");
	more = vt_recv(&c->b, 0, 64);
	kt_ok(!vt_resize(&c->b, VT_SMALL, VT_SMALL),
	      "queues become small while two receives are posted");
	kt_ok(vt_resize(&c->b, VT_SMALL / 2, VT_SMALL / 2) == -EBUSY,
	      "queues become no smaller than what is posted");
	kt_ok(vt_good(&c->a, vt_message(&c->a), IB_WC_SEND) &&
	      vt_good(&c->b, r, IB_WC_RECV) &&
	      vt_good(&c->a, vt_message(&c->a), IB_WC_SEND) &&
	      vt_good(&c->b, more, IB_WC_RECV), "receives that were posted before are still there");
	kt_ok(vt_resize(&c->b, VT_TOO_LARGE, 1) == -EINVAL &&
	      vt_resize(&c->b, 1, VT_TOO_LARGE) == -EINVAL,
	      "queues do not become larger than a queue may be");
	kt_ok(!vt_resize(&c->a, VT_LARGE, VT_LARGE) &&
	      !vt_resize(&c->b, VT_LARGE, VT_LARGE), "queues become large");
	kt_ok(vt_fill(c, VT_LARGE), "large queues hold their entries");
	r = vt_recv(&c->b, 0, 64);
	rdma_disconnect(c->a.id);
	kt_ok(vt_wait(&c->b, r) && r->wc.status == IB_WC_WR_FLUSH_ERR,
	      "receives are flushed at the end");
	kt_ok(vt_end(&c->a) && vt_end(&c->b), "both ends get the event of the end");
	kt_ok(vt_resize(&c->b, VT_SMALL, VT_SMALL) == -EINVAL,
	      "queues keep their size after the end");
	vt_down(c);
}

static void vt_resize_srq(void)
{
	struct vt_conn *c = vt_up(true, VT_RIGHTS);

	if (!c)
		return;
	kt_ok(vt_resize(&c->b, VT_SMALL, VT_SMALL) == -EOPNOTSUPP,
	      "queues keep their size with a shared receive queue");
	kt_ok(vt_fill(c, VT_DEPTH), "the shared receive queue serves as before");
	vt_down(c);
}

/**
 * vt_resize_tests() - own and shared receive queues
 */
void vt_resize_tests(void)
{
	vt_resize_own();
	vt_resize_srq();
}
