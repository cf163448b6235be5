// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, atomic operations: results, memory, order, limits, errors, and the
 * right to them, withdrawn meanwhile. See vt.h.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../hold/test_hold.h"
#include "vt.h"

#define VT_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define VT_WORD		64	/* offset in the peer's region of the word operated on */
#define VT_HELD		20000	/* ms within which an operation is held up */
#define VT_REST		2000	/* ms without traffic; no timer visits a connection then */

struct vt_op {
	const char *what;
	enum ib_wr_opcode opcode;
	enum ib_wc_opcode done;
	u64 before, after;
	u64 compare_add, swap, mask, swap_mask;
};

static const struct vt_op vt_ops[] = {
	{ "add", IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD,
	  41, 42, 1, 0, 0, 0 },
	{ "add, wraps", IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD,
	  ~0ull, 1, 2, 0, 0, 0 },
	{ "add, masks do not count", IB_WR_ATOMIC_FETCH_AND_ADD,
	  IB_WC_FETCH_ADD, 0xff, 0x100, 1, 7, 0x80, ~0ull },
	{ "compare and swap", IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP,
	  0x1122334455667788ull, 5, 0x1122334455667788ull, 5, 0, 0 },
	{ "compare and do not swap", IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP,
	  0x1122334455667788ull, 0x1122334455667788ull, 1, 5, 0, 0 },
	{ "add to fields", IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	  IB_WC_MASKED_FETCH_ADD, 0x00ff00ff, 0x00000100, 0x00010001, 0,
	  0x00800000, 0 },
	{ "swap without comparing", IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	  IB_WC_MASKED_COMP_SWAP, 123, 456, 9, 456, 0, ~0ull },
	{ "compare and swap some bits", IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	  IB_WC_MASKED_COMP_SWAP, 0xaabb, 0xaacc, 0xbb, 0xcc, 0xff, 0xff },
	{ "compare some bits in vain", IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	  IB_WC_MASKED_COMP_SWAP, 0xaabb, 0xaabb, 0xcc, 0xcc, 0xff, 0xff },
};

static u64 *vt_word(struct vt_side *s, u32 off)
{
	return (u64 *)(s->buf + off);
}

static struct vt_wr *vt_operate(struct vt_conn *c, const struct vt_op *op,
				u32 to, u32 result)
{
	struct ib_atomic_wr wr = {
		.wr.opcode = op->opcode,
		.remote_addr = vt_addr(&c->b, to),
		.rkey = c->b.mr->rkey,
		.compare_add = op->compare_add,
		.swap = op->swap,
		.compare_add_mask = op->mask,
		.swap_mask = op->swap_mask,
	};

	return vt_post(&c->a, &wr.wr, result, sizeof(u64));
}

static struct vt_wr *vt_add(struct vt_conn *c, u64 n, u32 to, u32 result)
{
	struct vt_op op = {
		.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.compare_add = n,
	};

	return vt_operate(c, &op, to, result);
}

static struct vt_wr *vt_read(struct vt_conn *c, u32 from, u32 to)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.remote_addr = vt_addr(&c->b, from),
		.rkey = c->b.mr->rkey,
	};

	return vt_post(&c->a, &wr.wr, to, sizeof(u64));
}

static void vt_table(struct vt_conn *c)
{
	const struct vt_op *op;
	struct vt_wr *w;

	for (op = vt_ops; op < vt_ops + ARRAY_SIZE(vt_ops); op++) {
		memset(c->a.buf, 0x55, 24);
		memset(c->b.buf, 0x66, VT_BUF);
		*vt_word(&c->b, VT_WORD) = op->before;
		w = vt_operate(c, op, VT_WORD, 8);
		kt_ok(vt_good(&c->a, w, op->done) && w->wc.byte_len == 8,
		      "%s: the operation completes", op->what);
		kt_ok(*vt_word(&c->a, 8) == op->before &&
		      c->a.buf[7] == 0x55 && c->a.buf[16] == 0x55,
		      "%s: the value before is returned", op->what);
		kt_ok(*vt_word(&c->b, VT_WORD) == op->after &&
		      c->b.buf[VT_WORD - 1] == 0x66 &&
		      c->b.buf[VT_WORD + 8] == 0x66,
		      "%s: the value after is right", op->what);
	}
}

/* More operations and Reads at once than IRD and ORD allow; all in order */
static void vt_many(struct vt_conn *c)
{
	const u32 n = VT_DEPTH - 8;
	struct vt_wr *w[VT_DEPTH];
	bool good = true;
	u32 i;

	memset(c->b.buf, 0, VT_BUF);
	for (i = 0; i < n; i++)
		w[i] = i % 5 == 4 ? vt_read(c, 1024, 8 * i) :
				    vt_add(c, 1, VT_WORD, 8 * i);
	for (i = 0; i < n; i++) {
		good &= vt_good(&c->a, w[i], i % 5 == 4 ? IB_WC_RDMA_READ :
						    IB_WC_FETCH_ADD) &&
			(!i || w[i]->nr == w[i - 1]->nr + 1) &&
			*vt_word(&c->a, 8 * i) ==
				(i % 5 == 4 ? 0 : i - i / 5);
	}
	kt_ok(good, "%u operations and Reads, in order", n);
	kt_ok(*vt_word(&c->b, VT_WORD) == n - n / 5, "none is lost or repeated");
}

/* An operation after a Write sees the data that the Write has written */
static void vt_behind_write(struct vt_conn *c)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.remote_addr = vt_addr(&c->b, VT_WORD),
		.rkey = c->b.mr->rkey,
	};
	bool good = true;
	struct vt_wr *w;
	u64 i;

	for (i = 1; i < 20; i++) {
		*vt_word(&c->a, 0) = i << 40;
		vt_post(&c->a, &wr.wr, 0, sizeof(u64));
		w = vt_add(c, 1, VT_WORD, 512);
		good &= vt_good(&c->a, w, IB_WC_FETCH_ADD) &&
			*vt_word(&c->a, 512) == i << 40;
	}
	kt_ok(good, "operations see the Writes before them");
}

static void vt_bad_posts(struct vt_conn *c)
{
	struct ib_atomic_wr wr = { .wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD };

	kt_ok(vt_post(&c->a, &wr.wr, 0, 4)->err == -EINVAL, "an operand of 4 bytes is refused");
	kt_ok(vt_post(&c->a, &wr.wr, 0, 0)->err == -EINVAL,
	      "a request without an operand is refused");
	kt_ok(vt_post(&c->a, &wr.wr, 0, 16)->err == -EINVAL,
	      "an operand of 16 bytes is refused");
}

/* A refused operation ends the connection, and changes nothing */
static void vt_error(const char *what, int access, u32 to, u32 stag,
		     enum ib_wc_status status)
{
	struct vt_conn *c = vt_up(false, access);
	struct ib_atomic_wr wr = { .wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD };
	struct vt_wr *w;

	if (!c)
		return;
	memset(c->b.buf, 0x66, VT_BUF);
	wr.remote_addr = vt_addr(&c->b, to);
	wr.rkey = c->b.mr->rkey ^ stag;
	wr.compare_add = 1;
	w = vt_post(&c->a, &wr.wr, 0, sizeof(u64));
	kt_ok(!w->err && vt_wait(&c->a, w) && w->wc.status == status,
	      "%s: %s", what, ib_wc_status_msg(status));
	kt_ok(!memchr_inv(c->b.buf, 0x66, VT_BUF), "%s: nothing changes", what);
	kt_ok(vt_end(&c->a) && vt_end(&c->b), "%s: both ends get the event", what);
	kt_ok(test_bit(IB_EVENT_QP_FATAL, &c->a.qp_events) &&
	      (test_bit(IB_EVENT_QP_ACCESS_ERR, &c->b.qp_events) ||
	       test_bit(IB_EVENT_QP_REQ_ERR, &c->b.qp_events)),
	      "%s: Terminate is an event on both sides", what);
	vt_down(c);
}

/* An addition that another task requests */
struct vt_late_add {
	struct work_struct work;
	struct vt_conn *c;
	struct vt_wr *w;
};

static void vt_late_add_work(struct work_struct *work)
{
	struct vt_late_add *late = container_of(work, struct vt_late_add, work);

	late->w = vt_add(late->c, 1, VT_WORD, 0);
}

/*
 * Wait until a task is held up on another processor. Not by jiffies: that processor may be the
 * one that counts them. No other task runs on this processor meanwhile, since it might wait for
 * a lock of the held task. Return: false if none is held up within VT_HELD.
 */
static bool vt_held(bool (*hit)(void))
{
	ktime_t end = ktime_add_ms(ktime_get(), VT_HELD);

	while (!hit()) {
		if (ktime_after(ktime_get(), end))
			return false;
		cpu_relax();
		touch_nmi_watchdog();
	}
	return true;
}

/* The right is withdrawn while an addition, which still had it, is held up on another processor */
static void vt_withdraw(struct vt_conn *c, bool (*hit)(void))
{
	struct ib_qp_attr attr = {
		.qp_access_flags = VT_RIGHTS & ~IB_ACCESS_REMOTE_ATOMIC,
	};
	struct vt_late_add late = { .c = c };
	u64 *word = vt_word(&c->b, VT_WORD);
	u64 before, seen;
	bool held;
	int err;

	*word = 41;
	INIT_WORK_ONSTACK(&late.work, vt_late_add_work);
	/* the other processor runs no timers while its task is held up */
	preempt_disable();
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()),
			 &late.work);
	held = vt_held(hit);
	before = READ_ONCE(*word);
	migrate_disable();
	preempt_enable();
	err = ib_modify_qp(c->b.id->qp, &attr, IB_QP_ACCESS_FLAGS);
	seen = READ_ONCE(*word);
	migrate_enable();
	flush_work(&late.work);
	destroy_work_on_stack(&late.work);
	kt_ok(held && before == 41, "the addition is held up");
	kt_ok(!err && vt_good(&c->a, late.w, IB_WC_FETCH_ADD),
	      "the addition succeeds: it came before the right went");
	kt_ok(seen == 42 && READ_ONCE(*word) == 42,
	      "nothing changes after modify_qp has withdrawn the right");
}

/**
 * vt_withdraw_test() - withdraw a right while an addition that still had it is held up
 *
 * The caller has loaded test_hold.ko to hold up hyb_mem_use() for seconds.
 */
void vt_withdraw_test(void)
{
	typeof(test_hold_hit) *hit = symbol_get(test_hold_hit);
	struct vt_conn *c;

	if (!kt_ok(!!hit, "test_hold.ko is there"))
		return;
	c = vt_up(false, VT_RIGHTS);
	if (c) {
		/*
		 * TCP's timer of delayed acknowledgments would wait for the socket on
		 * this CPU, and so would the provider's search for idle connections. The
		 * search comes every half second. It does not visit a connection that it
		 * has found idle twice. After such a connection sends again, the next
		 * visit is half a second later.
		 */
		msleep(VT_REST);
		vt_withdraw(c, hit);
		vt_down(c);
	}
	symbol_put(test_hold_hit);
}

/**
 * vt_atomic_tests() - atomic operations, but for vt_withdraw_test()
 */
void vt_atomic_tests(void)
{
	struct vt_conn *c = vt_up(false, VT_RIGHTS);
	struct ib_device_attr *attr;

	if (!c)
		return;
	attr = &c->a.id->device->attrs;
	kt_ok(attr->atomic_cap == IB_ATOMIC_GLOB &&
	      attr->masked_atomic_cap == IB_ATOMIC_GLOB,
	      "the device says that it has them");
	vt_table(c);
	vt_many(c);
	vt_behind_write(c);
	vt_bad_posts(c);
	vt_down(c);

	vt_error("not aligned", VT_RIGHTS, VT_WORD + 4, 0,
		 IB_WC_REM_INV_REQ_ERR);
	vt_error("past the end", VT_RIGHTS, VT_BUF, 0, IB_WC_REM_ACCESS_ERR);
	vt_error("another key", VT_RIGHTS, VT_WORD, 1, IB_WC_REM_ACCESS_ERR);
	vt_error("no right", VT_RIGHTS & ~IB_ACCESS_REMOTE_ATOMIC, VT_WORD, 0,
		 IB_WC_REM_ACCESS_ERR);
}

/**
 * vt_fetch_test() - an addition, whose answer may be anything
 * @args: address and port of the peer, which is not this module
 *
 * Return: 0 or -ECONNREFUSED.
 */
int vt_fetch_test(const char *args)
{
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.remote_addr = 4096,
		.rkey = 0x100,
		.compare_add = 1,
	};
	struct vt_conn *c = vt_up_to(args);
	struct vt_wr *w;

	if (!c)
		return -ECONNREFUSED;
	w = vt_post(&c->a, &wr.wr, 0, sizeof(u64));
	kt_ok(vt_wait(&c->a, w), "an addition comes to an end");
	vt_down(c);
	return 0;
}
