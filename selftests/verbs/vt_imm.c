// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, immediate data after Writes and with Sends: contents and order of the
 * completions, and the receives that are taken. See vt.h.
 */
#include <linux/delay.h>
#include <linux/string.h>

#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

static struct vt_wr *vt_write_imm(struct vt_conn *c, u32 off, u32 len, u32 imm,
				  int flags)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = flags,
			.ex.imm_data = cpu_to_be32(imm),
		},
		.remote_addr = vt_addr(&c->b, off),
		.rkey = c->b.mr->rkey,
	};

	return vt_post(&c->a, &wr.wr, off, len);
}

static struct vt_wr *vt_send_imm(struct vt_side *s, u32 off, u32 len, u32 imm)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.ex.imm_data = cpu_to_be32(imm),
	};

	return vt_post(s, &wr, off, len);
}

static struct vt_wr *vt_send(struct vt_side *s, u32 off, u32 len)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	return vt_post(s, &wr, off, len);
}

static bool vt_has_imm(const struct vt_wr *w, u32 imm, u32 len)
{
	return w->wc.wc_flags == IB_WC_WITH_IMM &&
	       w->wc.ex.imm_data == cpu_to_be32(imm) && w->wc.byte_len == len;
}

/* Immediate data take a receive of the peer, which the payload does not touch */
static void vt_write_case(struct vt_conn *c, u32 len, u32 imm)
{
	struct vt_wr *r, *w;

	memset(c->a.buf, imm, VT_BUF / 2);
	memset(c->b.buf, 0, VT_BUF);
	r = vt_recv(&c->b, VT_BUF / 2, 64);
	w = vt_write_imm(c, 0, len, imm, 0);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV_RDMA_WITH_IMM),
	      "Write of %u with immediate data completes a receive", len);
	kt_ok(vt_has_imm(r, imm, len),
	      "Write of %u: immediate data and length in the completion", len);
	kt_ok(!memcmp(c->a.buf, c->b.buf, len) && !c->b.buf[len],
	      "Write of %u: payload is there before it", len);
	kt_ok(!memchr_inv(c->b.buf + VT_BUF / 2, 0, 64),
	      "Write of %u: nothing is in the receive", len);
	kt_ok(vt_good(&c->a, w, IB_WC_RDMA_WRITE), "Write of %u is done", len);
}

static void vt_send_case(struct vt_conn *c, u32 len, u32 imm)
{
	struct vt_wr *r, *w;

	memset(c->a.buf, imm, VT_BUF / 2);
	memset(c->b.buf, 0, VT_BUF);
	r = vt_recv(&c->b, 0, VT_BUF);
	w = vt_send_imm(&c->a, 0, len, imm);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV) && vt_has_imm(r, imm, len) &&
	      !memcmp(c->a.buf, c->b.buf, len),
	      "Send of %u with immediate data", len);
	kt_ok(vt_good(&c->a, w, IB_WC_SEND), "Send of %u is done", len);
	/* the message after it has no immediate data */
	r = vt_recv(&c->b, 0, VT_BUF);
	w = vt_send(&c->a, 0, len);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV) && !r->wc.wc_flags &&
	      vt_good(&c->a, w, IB_WC_SEND), "Send of %u without", len);
}

/* Immediate data come in order, and the payload of their Write is there before them */
static void vt_order_case(struct vt_conn *c)
{
	struct vt_wr *r[VT_DEPTH / 2], *w = NULL;
	bool seen = true, order = true;
	u32 i, n = VT_DEPTH / 2;

	memset(c->b.buf, 0, VT_BUF);
	for (i = 0; i < n; i++) {
		c->a.buf[i] = i + 1;
		r[i] = vt_recv(&c->b, VT_BUF / 2, 0);
	}
	for (i = 0; i < n; i++)
		w = vt_write_imm(c, i, 1, i, 0);
	for (i = 0; i < n; i++) {
		order &= vt_good(&c->b, r[i], IB_WC_RECV_RDMA_WITH_IMM) &&
			 vt_has_imm(r[i], i, 1) &&
			 (!i || r[i]->nr == r[i - 1]->nr + 1);
		seen &= c->b.buf[i] == i + 1;
	}
	kt_ok(order, "%u of them in order", n);
	kt_ok(seen, "the bytes of each Write are there when its immediate data come");
	kt_ok(vt_good(&c->a, w, IB_WC_RDMA_WRITE), "the last one is done");
}

/* Sends between Writes with immediate data take the receives in order */
static void vt_mixed_case(struct vt_conn *c)
{
	struct vt_wr *r[4];
	int i;

	for (i = 0; i < 4; i++)
		r[i] = vt_recv(&c->b, VT_BUF / 2, 256);
	vt_write_imm(c, 0, 2000, 10, 0);
	vt_send(&c->a, 0, 100);
	vt_send_imm(&c->a, 0, 200, 11);
	vt_write_imm(c, 0, 0, 12, 0);
	kt_ok(vt_good(&c->b, r[0], IB_WC_RECV_RDMA_WITH_IMM) &&
	      vt_good(&c->b, r[1], IB_WC_RECV) &&
	      vt_good(&c->b, r[2], IB_WC_RECV) &&
	      vt_good(&c->b, r[3], IB_WC_RECV_RDMA_WITH_IMM),
	      "Writes and Sends with and without take receives in turn");
	kt_ok(vt_has_imm(r[0], 10, 2000) && !r[1]->wc.wc_flags &&
	      r[1]->wc.byte_len == 100 && vt_has_imm(r[2], 11, 200) &&
	      vt_has_imm(r[3], 12, 0), "and have what is theirs");
}

/* Immediate data without a receive wait for one */
static void vt_late_case(struct vt_conn *c)
{
	struct vt_wr *r, *w;

	w = vt_write_imm(c, 0, 10, 77, 0);
	kt_ok(vt_good(&c->a, w, IB_WC_RDMA_WRITE), "sent before the receive");
	msleep(20);
	r = vt_recv(&c->b, 0, 0);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV_RDMA_WITH_IMM) &&
	      vt_has_imm(r, 77, 10), "a receive that is late gets it");
}

/* Has the handler been called @want times? The call follows the completion. */
static bool vt_events(struct vt_side *s, int want)
{
	unsigned long end = jiffies + KT_WAIT;

	while (atomic_read(&s->events) < want && time_before(jiffies, end))
		usleep_range(500, 1000);
	return atomic_read(&s->events) == want;
}

/* A queue armed for solicited events: the second of two Writes is solicited, and causes an event */
static void vt_solicited_case(struct vt_conn *c)
{
	struct vt_wr *r1 = vt_recv(&c->b, 0, 0), *r2 = vt_recv(&c->b, 0, 0);
	int before, plain;

	ib_process_cq_direct(c->b.cq, -1);
	ib_req_notify_cq(c->b.cq, IB_CQ_SOLICITED);
	before = atomic_read(&c->b.events);
	vt_write_imm(c, 0, 8, 1, 0);
	kt_ok(vt_good(&c->b, r1, IB_WC_RECV_RDMA_WITH_IMM), "a Write that is not solicited");
	plain = atomic_read(&c->b.events);
	vt_write_imm(c, 0, 8, 2, IB_SEND_SOLICITED);
	kt_ok(vt_good(&c->b, r2, IB_WC_RECV_RDMA_WITH_IMM), "a solicited Write is received");
	kt_ok(plain == before && vt_events(&c->b, before + 1),
	      "one event, for the solicited one");
}

/* A queue armed for any completion, then for solicited ones: the former still applies */
static void vt_rearmed_case(struct vt_conn *c)
{
	struct vt_wr *r = vt_recv(&c->b, 0, 0);
	int before;

	ib_process_cq_direct(c->b.cq, -1);
	ib_req_notify_cq(c->b.cq, IB_CQ_NEXT_COMP);
	ib_req_notify_cq(c->b.cq, IB_CQ_SOLICITED);
	before = atomic_read(&c->b.events);
	vt_write_imm(c, 0, 8, 3, 0);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV_RDMA_WITH_IMM), "not solicited, armed twice");
	kt_ok(vt_events(&c->b, before + 1), "one event, as asked for first");
}

static void vt_imm_cases(bool use_srq)
{
	struct vt_conn *c = vt_up(use_srq, VT_RIGHTS);

	if (!c)
		return;
	kt_ok(true, use_srq ? "with a shared receive queue" : "own receives");
	vt_write_case(c, 1, 0x12345678);
	vt_write_case(c, 1000, 0xffffffff);
	vt_write_case(c, VT_BUF / 2 - 1, 0);
	vt_write_case(c, 0, 5);
	vt_send_case(c, 100, 0xdeadbeef);
	vt_send_case(c, VT_BUF / 2, 1);
	vt_send_case(c, 0, 2);
	vt_order_case(c);
	vt_mixed_case(c);
	vt_late_case(c);
	vt_solicited_case(c);
	vt_rearmed_case(c);
	vt_down(c);
}

/**
 * vt_imm_tests() - immediate data, with own and with shared receives
 */
void vt_imm_tests(void)
{
	vt_imm_cases(false);
	vt_imm_cases(true);
}

static int vt_refused(struct vt_side *s, enum ib_wr_opcode opcode)
{
	struct ib_atomic_wr wr = { .wr.opcode = opcode };

	return vt_post(s, &wr.wr, 0, 8)->err;
}

/**
 * vt_stranger_tests() - the peer's driver has neither immediate data nor atomic operations
 * @args: "a" or "b", the side that posts them
 */
void vt_stranger_tests(const char *args)
{
	static const enum ib_wr_opcode ops[] = {
		IB_WR_SEND_WITH_IMM,	      IB_WR_ATOMIC_CMP_AND_SWP,
		IB_WR_ATOMIC_FETCH_AND_ADD,   IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		IB_WR_RDMA_WRITE_WITH_IMM,    IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	};
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct vt_side *s, *peer;
	struct vt_wr *r, *w;
	int i, bad = 0;

	if (!c)
		return;
	s = args[0] == 'a' ? &c->a : &c->b;
	peer = args[0] == 'a' ? &c->b : &c->a;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		bad += vt_refused(s, ops[i]) != -EOPNOTSUPP;
	kt_ok(!bad, "immediate data for a peer of another driver is refused");
	/* the connecting side sends first */
	r = vt_recv(&c->b, 0, 100);
	w = vt_send(&c->a, 0, 50);
	kt_ok(vt_good(&c->b, r, IB_WC_RECV) && vt_good(&c->a, w, IB_WC_SEND),
	      "the connection goes on");
	r = vt_recv(peer, 0, 100);
	w = vt_send(s, 0, 60);
	kt_ok(vt_good(peer, r, IB_WC_RECV) && r->wc.byte_len == 60 &&
	      vt_good(s, w, IB_WC_SEND), "messages pass both ways");
	vt_down(c);
}
