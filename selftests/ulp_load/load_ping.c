// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: Writes to and fro. The receiver notices one by the last byte of its
 * memory; one thread looks for both ends in turn. See load.h.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "load.h"

/**
 * struct ul_ping - a test under way
 * @bufs: memory that each end sends from
 * @inbox: memory that each end receives into
 * @size: bytes of a message
 * @cqe: of the Writes
 * @err: of the first that failed
 */
struct ul_ping {
	struct ul_bufs bufs[2];
	struct ul_bufs inbox[2];
	u32 size;
	struct ib_cqe cqe;
	int err;
};

static void ul_ping_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ul_ping *p = container_of(wc->wr_cqe, struct ul_ping, cqe);

	if (wc->status)
		p->err = -EIO;
}

/* A Write of end @i whose last byte is @seq */
static int ul_ping_write(struct ul_ping *p, int i, u8 seq)
{
	struct ul_buf *from = &p->bufs[i].buf[0], *to = &p->inbox[!i].buf[0];
	struct ib_sge sge = {
		.addr = from->mr->iova,
		.length = p->size,
		.lkey = from->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &p->cqe,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = to->mr->iova,
		.rkey = to->mr->rkey,
	};

	((u8 *)from->mem)[p->size - 1] = seq;
	return ib_post_send(p->bufs[i].e->id->qp, &wr.wr, NULL);
}

/* Until end @i sees @seq */
static int ul_ping_look(struct ul_ping *p, int i, u8 seq)
{
	const u8 *last = (u8 *)p->inbox[i].buf[0].mem + p->size - 1;
	unsigned long end = jiffies + KT_WAIT;

	while (READ_ONCE(*last) != seq) {
		if (p->err || time_after(jiffies, end))
			return p->err ?: -ETIMEDOUT;
		ul_pump();
		cond_resched();
	}
	/* earlier Writes have arrived, too */
	smp_rmb();
	return 0;
}

static int ul_ping_go(struct ul_ping *p, u32 count)
{
	int err = 0;
	u32 i;

	for (i = 0; i < count && !err; i++) {
		u8 seq = i % 255 + 1;

		ul_work_of(UL_A);
		err = ul_ping_write(p, 0, seq);
		ul_work_of(UL_B);
		err = err ?: ul_ping_look(p, 1, seq);
		err = err ?: ul_ping_write(p, 1, seq);
		ul_work_of(UL_A);
		err = err ?: ul_ping_look(p, 0, seq);
	}
	return err;
}

static int ul_ping_make(struct ul_ping *p, struct ul_conn *c)
{
	struct ul_end *e[] = { &c->a, &c->b };
	int i, err = 0;

	for (i = 0; i < 2; i++) {
		err = err ?: ul_bufs_make(&p->bufs[i], e[i], 1, p->size,
					  UL_REGION);
		err = err ?: ul_bufs_make(&p->inbox[i], e[i], 1, p->size,
					  UL_REGION | UL_OWN);
	}
	return err;
}

/**
 * ul_write_ping() - Writes to and fro
 * @c: connection
 * @opts: size and number of round trips
 * @nsecs: result: how long it took
 *
 * Return: 0 or a negative errno.
 */
int ul_write_ping(struct ul_conn *c, const struct ul_opts *opts, u64 *nsecs)
{
	struct ul_ping *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int i, err;
	u64 start;

	if (!p)
		return -ENOMEM;
	p->size = opts->size;
	p->cqe.done = ul_ping_sent;
	err = ul_ping_make(p, c);
	if (!err) {
		ul_mark(true);
		start = ktime_get_ns();
		err = ul_ping_go(p, opts->count);
		*nsecs = ktime_get_ns() - start;
		ul_mark(false);
	}
	ib_drain_qp(c->a.id->qp);
	ib_drain_qp(c->b.id->qp);
	for (i = 0; i < 2; i++) {
		ul_bufs_free(&p->bufs[i]);
		ul_bufs_free(&p->inbox[i]);
	}
	kfree(p);
	return err;
}
