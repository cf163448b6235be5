// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, the data that two sides exchange when they connect: private data,
 * the number of Reads that may be under way, a rejection. See vt.h.
 */
#include <linux/string.h>
#include <rdma/rdma_cm.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)
#define VT_MANY		32		/* Reads, more than may be under way */
#define VT_PIECE	128		/* bytes of each */
#define VT_REASON	200		/* bytes of private data of a rejection */

static bool vt_has_private(const struct vt_side *s, u32 len)
{
	int i;

	for (i = 0; i < len; i++)
		if (s->pdata[i] != (u8)(i ^ 0x5a))
			return false;
	return s->pdata_len == len;
}

/* As much private data as rdma_cm takes, both ways */
static void vt_private(void)
{
	struct vt_conn *c;

	vt_set_private(U8_MAX);
	c = vt_up(false, VT_RIGHTS);
	vt_set_private(64);
	if (!c)
		return;
	kt_ok(vt_has_private(&c->b, U8_MAX), "255 bytes with the Request");
	kt_ok(vt_has_private(&c->a, U8_MAX), "255 bytes with the Reply");
	vt_down(c);
}

static void vt_check_reads(const char *what, struct vt_reads r,
			   struct vt_reads want)
{
	kt_ok(r.initiator == want.initiator && r.responder == want.responder,
	      "%s: %u of its own, %u of the peer", what, r.initiator,
	      r.responder);
}

static struct vt_reads vt_query(struct vt_side *s)
{
	int mask = IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(s->id->qp, &attr, mask, &init))
		return (struct vt_reads) {};
	return (struct vt_reads) { attr.max_rd_atomic,
				   attr.max_dest_rd_atomic };
}

static void vt_fill(struct vt_side *s, u8 seed)
{
	int i;

	for (i = 0; i < VT_BUF / 2; i++)
		s->buf[i] = i / VT_PIECE * 7 + i + seed;
}

/* Read from the first half of the peer's region to the second half of the own one */
static struct vt_wr *vt_piece(struct vt_side *s, struct vt_side *peer, int i)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.remote_addr = vt_addr(peer, i * VT_PIECE),
		.rkey = peer->mr->rkey,
	};

	return vt_post(s, &wr.wr, VT_BUF / 2 + i * VT_PIECE, VT_PIECE);
}

static bool vt_pieces(struct vt_side *s, struct vt_side *peer,
		      struct vt_wr **w)
{
	int i;

	for (i = 0; i < VT_MANY; i++)
		if (!vt_good(s, w[i], IB_WC_RDMA_READ))
			return false;
	return !memcmp(s->buf + VT_BUF / 2, peer->buf, VT_MANY * VT_PIECE);
}

/* All Reads at once, both ways */
static void vt_read_all(struct vt_conn *c)
{
	struct vt_wr *wa[VT_MANY], *wb[VT_MANY];
	int i;

	vt_fill(&c->a, 1);
	vt_fill(&c->b, 2);
	for (i = 0; i < VT_MANY; i++) {
		wa[i] = vt_piece(&c->a, &c->b, i);
		wb[i] = vt_piece(&c->b, &c->a, i);
	}
	kt_ok(vt_pieces(&c->a, &c->b, wa), "all Reads of the connecting side complete");
	kt_ok(vt_pieces(&c->b, &c->a, wb), "all Reads of the listening side complete");
}

/* The sides ask for different numbers; the smaller one of a direction counts */
static void vt_depths(void)
{
	struct vt_reads plain = { VT_READS, VT_READS };
	struct vt_reads a = { 3, 5 }, b = { 7, 2 };
	struct vt_conn *c;

	vt_set_reads(a, b);
	c = vt_up(false, VT_RIGHTS);
	vt_set_reads(plain, plain);
	if (!c)
		return;
	vt_check_reads("the request", c->b.asked, (struct vt_reads) { 5, 3 });
	vt_check_reads("the connecting side gets", c->a.agreed,
		       (struct vt_reads) { 2, 5 });
	vt_check_reads("the listening side gets", c->b.agreed,
		       (struct vt_reads) { 5, 2 });
	vt_check_reads("the queue pair of the connecting side", vt_query(&c->a),
		       (struct vt_reads) { 2, 5 });
	vt_check_reads("the queue pair of the listening side", vt_query(&c->b),
		       (struct vt_reads) { 5, 2 });
	vt_read_all(c);
	vt_down(c);
}

/**
 * vt_agree_tests() - private data, and the number of Reads
 */
void vt_agree_tests(void)
{
	vt_private();
	vt_depths();
}

/**
 * vt_reject_tests() - the listener rejects, with private data
 */
void vt_reject_tests(void)
{
	struct vt_conn *c;
	int err = 0;

	vt_set_private(VT_REASON);
	c = vt_up_rejected(&err);
	vt_set_private(64);
	if (!c)
		return;
	kt_ok(err == -ECONNREFUSED && c->a.rejected,
	      "rejected by the consumer: %d", err);
	kt_ok(vt_has_private(&c->a, VT_REASON), "the rejection comes with its data");
	vt_down(c);
}
