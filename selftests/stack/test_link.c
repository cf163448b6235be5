// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, the contract of struct rdma_stack_link: each case has a fresh
 * pair, of any kind, and uses its operations alone.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "test.h"

#define ST_BIG		(64u << 20)	/* no implementation has that much room */

/* Return: 0 if the last message is open for append, and stays so; or the error of tx_append(). */
static int st_is_open(struct st_end *e)
{
	struct rdma_stack_tx tx;
	int i, err = 0;

	for (i = 0; i < 3 && !err; i++) {
		err = st_append(e, 100, ST_BIG, &tx);
		if (!err)
			e->link->tx_abort(e->qp, &tx);
		/* The transport takes data at once, or by a thread */
		msleep(err ? 1 : 20);
	}
	return err;
}

/* Let the window of A close, so that its last message stays open for append */
static bool st_shut(struct st_end *a, struct st_end *b)
{
	u64 begin = a->tx_off;
	int err;

	b->link->rx_buffer(b->qp, 16384);
	st_pause(b);
	while (a->tx_off - begin < ST_BIG) {
		err = st_is_open(a);
		if (!err)
			return true;
		if (err != -ENOENT)
			return kt_ok(false, "append gives %d", err);
		err = st_send(a, 16000, 0);
		if (err < 0)
			return kt_ok(false, "reserve gives %d after %llu bytes",
				     err, a->tx_off);
	}
	return kt_ok(false, "the window did not close");
}

static void st_case_sizes(struct st_pair *p)
{
	static const u32 sizes[] = {
		1, 2, 3, 4, 5, 100, 487, 488, 489, 511, 512, 513, 1400, 1447,
		1448, 1449, 1460, 4096, 8192, 16384, 30000, 65536,
	};
	struct st_end *a = &p->end[0], *b = &p->end[1];
	u32 i, sol = 0;
	int n;

	b->hold = true;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = st_send(a, sizes[i], i & 1 ? RDMA_STACK_TX_SOLICITED : 0);
		if (n <= 0)
			break;
		sol += i & 1;
		if (!st_arrived(a, b))
			break;
	}
	st_same(a, b, "messages of all sizes arrive");
	kt_ok(i == ARRAY_SIZE(sizes), "all could be sent");
	kt_ok(b->solicited == sol, "%u of %u were solicited", b->solicited, sol);
	kt_ok(b->batches && b->batches <= b->calls, "%u calls in %u batches",
	      b->calls, b->batches);
	/* The other way round, too: the stream has a beginning at each end */
	st_send(b, 1000, 0);
	st_same(b, a, "and back");
}

static void st_case_header(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	int err;

	err = st_reserve(a, 0, &tx);
	kt_ok(!err && !tx.nr && !tx.len, "a reservation of 0 bytes succeeds: %d", err);
	if (!err)
		st_commit(a, &tx, 0, 0);
	st_same(a, b, "a message of the header alone");
	err = st_reserve(a, 5000, &tx);
	if (!err)
		st_commit(a, &tx, 0, 0);
	st_same(a, b, "a reservation of which nothing was used");
	err = st_reserve(a, 5000, &tx);
	if (!err) {
		st_fill(a, &tx);
		st_commit(a, &tx, 777, 0);
	}
	st_same(a, b, "a reservation of which a part was used");
	err = a->link->tx_reserve(a->qp, 1, RDMA_STACK_TX_HDR + 1, &tx);
	kt_ok(err == -EINVAL, "a header that is too long is refused: %d", err);
	if (!err)
		a->link->tx_abort(a->qp, &tx);
	err = a->link->tx_reserve(a->qp, 1, 0, &tx);
	kt_ok(err == -EINVAL, "a reservation without a header is refused: %d", err);
	if (!err)
		a->link->tx_abort(a->qp, &tx);
}

/* The case opens the second end, which is in full operation already */
static void st_case_open(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct ib_qp *qp = b->qp;
	int err;

	err = st_open(a);
	kt_ok(err == -EBUSY, "a second open() is refused: %d", err);
	err = st_open(b);
	kt_ok(!err, "open() in full operation succeeds: %d", err);
	err = st_open(b);
	kt_ok(err == -EBUSY, "a second open() in full operation is refused: %d", err);
	st_send(a, 5000, 0);
	st_same(a, b, "messages arrive");
	st_send(b, 5000, 0);
	st_same(b, a, "and back");
	st_close(b);
	err = b->link->open(qp, &st_ulp, b);
	kt_ok(err == -EBUSY, "open() after close() is refused: %d", err);
}

static void st_case_delivered(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	int err;

	if (!p->env->recv)
		return;
	err = p->env->recv(p);
	st_send(a, 100, 0);
	err = err ?: p->env->received(p);
	kt_ok(!err, "a receive takes the first message: %d", err);
	err = st_open(b);
	kt_ok(err == -EBUSY, "open() after a delivered message is refused: %d", err);
}

static void st_case_ended(struct st_pair *p)
{
	int err;

	p->env->down(p);
	err = st_open(&p->end[1]);
	kt_ok(err == -ENOTCONN, "open() after the end is refused: %d", err);
}

static void st_case_busy(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx, tx2;
	u32 calls;
	int err;

	kt_ok(p->early == -ENOTCONN, "a reservation before full operation is refused: %d",
	      p->early);
	err = st_append(a, 100, ST_BIG, &tx);
	kt_ok(err == -ENOENT, "there is no message to append to at first: %d", err);
	if (st_reserve(a, 3000, &tx)) {
		kt_ok(false, "a reservation succeeds");
		return;
	}
	err = st_reserve(a, 10, &tx2);
	kt_ok(err == -EBUSY, "a second reservation is refused: %d", err);
	err = st_append(a, 10, ST_BIG, &tx2);
	kt_ok(err == -EBUSY, "an append during a reservation is refused: %d", err);
	calls = b->calls;
	memset(tx.seg[0].data, 0xff, tx.seg[0].len);
	a->link->tx_abort(a->qp, &tx);
	st_send(a, 100, 0);
	st_same(a, b, "nothing is left of what was aborted");
	kt_ok(b->calls > calls, "the data after it arrives");
}

static void st_case_append(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	u32 len, seq;
	u64 end;
	int err;

	if (!st_shut(a, b))
		return;
	len = a->msg_len;
	seq = a->tx_seq;
	end = a->tx_end;
	err = st_append(a, 500, len, &tx);
	kt_ok(err == -ENOENT, "a message at its limit is closed to appends: %d", err);
	err = st_append(a, 500, len + 300, &tx);
	kt_ok(!err && tx.msg_len == len && tx.len == 300,
	      "append up to the limit: %d, %u bytes", err, tx.len);
	if (err)
		return;
	st_fill(a, &tx);
	st_commit(a, &tx, tx.len, ST_APPEND);
	kt_ok(a->tx_end >= end + 300, "the end of the message moves");
	err = st_append(a, 5000, ST_BIG, &tx);
	if (!err)
		a->link->tx_abort(a->qp, &tx);
	kt_ok(!err && a->tx_seq == seq, "an append can be aborted: %d", err);
	err = st_append(a, 0, 1, &tx);
	kt_ok(!err && !tx.len, "an append of 0 bytes succeeds: %d", err);
	if (!err)
		st_commit(a, &tx, 0, ST_APPEND | RDMA_STACK_TX_SOLICITED);
	err = st_append(a, 3000, ST_BIG, &tx);
	if (!err) {
		st_fill(a, &tx);
		st_commit(a, &tx, 999, ST_APPEND | RDMA_STACK_TX_CLOSE);
	}
	err = st_append(a, 10, ST_BIG, &tx);
	kt_ok(err == -ENOENT, "an append to a closed message is refused: %d", err);
	len = a->msg_len;
	st_send(a, 10, 0);
	st_resume(b);
	st_same(a, b, "messages that were appended to arrive");
	kt_ok(b->solicited == 1 && b->max_msg >= len,
	      "as one, with the flags of the appends (%u, %u of %u)",
	      b->solicited, b->max_msg, len);
}

/* The window of A opens, and more is acknowledged */
static bool st_ack(struct st_end *a, struct st_end *b)
{
	u64 acked = a->link->tx_acked(a->qp);
	int i;

	st_resume(b);
	for (i = 0; i < 1500 && a->link->tx_acked(a->qp) == acked; i++)
		msleep(20);
	return kt_ok(i < 1500, "acknowledged during the reservation");
}

/*
 * The path MTU changes between reservation and commit, and the transport adopts
 * it: all data sent so far is acknowledged when the MTU changes, and more data is
 * acknowledged before the commit, so it was sent with the new MTU. The connection
 * was made with an MTU of 1500.
 */
static void st_case_path(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	int i;

	if (!st_shut(a, b))
		return;
	for (i = 0; i < 1500 && a->link->tx_sent &&
	     a->link->tx_acked(a->qp) != a->link->tx_sent(a->qp); i++)
		msleep(20);
	if (st_reserve(a, 5000, &tx)) {
		kt_ok(false, "a reservation succeeds");
		return;
	}
	p->env->path(p, 2);
	st_ack(a, b);
	st_fill(a, &tx);
	st_commit(a, &tx, tx.len, 0);
	st_send(a, 5000, 0);
	st_same(a, b, "data laid out for another path arrives");
	p->env->path(p, 1);
	st_send(a, 5000, 0);
	st_same(a, b, "and back");
}

/*
 * The path MTU shrinks while a message waits, then an append makes the message grow.
 * This happens for many lengths of the room that is left in a page of waiting data:
 * all messages fill about twenty of the largest pages (32 KiB). Code that takes the
 * rest of the former segment for the available room never ends where the page has
 * less than that.
 */
static void st_case_shrink(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	int i, err = 0;

	if (!st_shut(a, b))
		return;
	for (i = 0; i < 400 && !err; i++) {
		p->env->path(p, 1);
		err = st_send(a, 100, 0);
		if (err < 0)
			break;
		p->env->path(p, 2);
		err = st_append(a, 1400 + i % 256, ST_BIG, &tx);
		if (err)
			break;
		st_fill(a, &tx);
		st_commit(a, &tx, tx.len, ST_APPEND);
	}
	kt_ok(!err, "%d messages grew after a path that shrank: %d", i, err);
	p->env->path(p, 1);
	st_resume(b);
	st_same(a, b, "messages that grew arrive");
}

static void st_case_more(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	int err;

	st_send(a, 100, RDMA_STACK_TX_MORE);
	st_send(a, 100, RDMA_STACK_TX_MORE);
	err = st_append(a, 0, ST_BIG, &tx);
	if (!err)
		st_commit(a, &tx, 0, ST_APPEND);
	kt_ok(!err || err == -ENOENT, "a push releases delayed data: %d", err);
	st_same(a, b, "delayed data arrives");
	st_send(a, 100, RDMA_STACK_TX_MORE);
	st_send(a, 100, 0);
	st_same(a, b, "delayed data leaves with the next message");
}

static void st_case_notify(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	u64 acked, sent;
	u32 before;

	st_send(a, 100, 0);
	st_arrived(a, b);
	kt_ok(!a->link->tx_notify(a->qp, a->tx_end), "no notice comes for acknowledged data");
	if (!st_shut(a, b))
		return;
	before = READ_ONCE(a->spaces);
	acked = a->link->tx_acked(a->qp);
	sent = a->link->tx_sent ? a->link->tx_sent(a->qp) : acked;
	kt_ok(sent < a->tx_end && acked <= sent,
	      "acknowledged %llu, sent %llu of %llu", acked, sent, a->tx_end);
	/* The last request applies */
	a->link->tx_notify(a->qp, 1);
	kt_ok(a->link->tx_notify(a->qp, a->tx_end), "a notice comes for unacknowledged data");
	kt_ok(READ_ONCE(a->spaces) == before, "there is no call before the acknowledgment");
	st_resume(b);
	st_same(a, b, "all arrives");
	wait_event_timeout(a->wait, READ_ONCE(a->spaces) != before, KT_WAIT);
	st_send(a, 5000, 0);
	st_arrived(a, b);
	kt_ok(READ_ONCE(a->spaces) == before + 1, "one call, not %u",
	      READ_ONCE(a->spaces) - before);
}

static void st_case_again(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	u32 before = READ_ONCE(a->spaces);
	struct rdma_stack_tx tx;
	int err = 0;

	b->link->rx_buffer(b->qp, 16384);
	st_pause(b);
	while (err >= 0 && a->tx_off < ST_BIG)
		err = st_send(a, 30000, RDMA_STACK_TX_CLOSE);
	kt_ok(err == -EAGAIN, "no room after %llu bytes: %d", a->tx_off, err);
	/* The transport may have taken data meanwhile, and have called tx_space() */
	err = st_reserve(a, 1, &tx);
	if (!err)
		a->link->tx_abort(a->qp, &tx);
	kt_ok(!err || err == -EAGAIN, "reserve without room: %d", err);
	st_resume(b);
	wait_event_timeout(a->wait, READ_ONCE(a->spaces) != before, KT_WAIT);
	kt_ok(READ_ONCE(a->spaces) != before, "tx_space is called when there is room");
	err = st_send(a, 100, 0);
	kt_ok(err == 100, "a send succeeds then: %d", err);
	st_same(a, b, "all arrives");
}

/* The next @times calls of rx_begin() find no memory, unless one has already found some */
static void st_no_mem(struct st_end *e, u32 times)
{
	spin_lock_bh(&e->lock);
	e->no_mem = e->begun ? 0 : times;
	spin_unlock_bh(&e->lock);
}

/* Data waits while the upper layer has no memory */
static void st_case_memory(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];

	st_no_mem(b, 3);
	st_send(a, 3000, 0);
	st_same(a, b, "data arrive when there is memory");
	kt_ok(!b->no_mem, "it was asked for: %u times left", b->no_mem);
	/* not every provider calls idle() */
	wait_event_timeout(b->wait, READ_ONCE(b->idles), 3 * HZ);
	st_no_mem(b, 2);
	st_send(a, 3000, 0);
	st_same(a, b, "and after it was idle");
	kt_ok(!b->no_mem, "it was asked for again: %u times left", b->no_mem);
}

static void st_case_pause(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	u32 calls;
	int i;

	st_pause(b);
	for (i = 0; i < 20; i++)
		st_send(a, 2000, 0);
	wait_event_timeout(b->wait, READ_ONCE(b->calls), KT_WAIT);
	msleep(50);
	calls = READ_ONCE(b->calls);
	kt_ok(calls == 1 && b->paused, "%u call, then a pause", calls);
	/* One call at a time: rx_resume() while the answer is still a pause */
	for (i = 2; i < 6; i++) {
		spin_lock_bh(&b->lock);
		b->paused = false;
		spin_unlock_bh(&b->lock);
		b->link->rx_resume(b->qp);
		wait_event_timeout(b->wait, READ_ONCE(b->calls) >= i, KT_WAIT);
	}
	kt_ok(READ_ONCE(b->calls) == 5, "each rx_resume causes one call: %u", b->calls);
	st_send(b, 3000, 0);
	st_same(b, a, "the other direction goes on");
	st_resume(b);
	st_same(a, b, "all arrives");
}

struct st_closer {
	struct work_struct work;
	struct st_end *end;
	bool inside;
};

static void st_closer_work(struct work_struct *work)
{
	struct st_closer *c = container_of(work, struct st_closer, work);

	st_close(c->end);
	c->inside = READ_ONCE(c->end->inside);
}

static void st_case_close(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct st_closer c = { .end = b };
	u32 calls;
	int i;

	WRITE_ONCE(b->stall, true);
	st_send(a, 1000, 0);
	for (i = 0; i < 1000 && !READ_ONCE(b->inside) && !READ_ONCE(b->calls); i++)
		usleep_range(100, 200);
	INIT_WORK_ONSTACK(&c.work, st_closer_work);
	queue_work(system_unbound_wq, &c.work);
	msleep(20);
	WRITE_ONCE(b->stall, false);
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	kt_ok(!c.inside, "no callback runs after close");
	calls = READ_ONCE(b->calls);
	for (i = 0; i < 20; i++)
		st_send(a, 2000, 0);
	p->env->down(p);
	msleep(50);
	kt_ok(READ_ONCE(b->calls) == calls && !b->closes,
	      "nothing is delivered, nothing told");
	kt_ok(!b->fault[0], "received data is good %s", b->fault);
}

/* Close with data on their way in both directions, a reservation open */
static void st_case_middle(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	int i;

	for (i = 0; i < 50; i++) {
		st_send(a, 5000, 0);
		st_send(b, 5000, 0);
	}
	st_close(b);
	if (!st_reserve(a, 5000, &tx)) {
		st_fill(a, &tx);
		st_commit(a, &tx, tx.len, 0);
	}
	st_close(a);
	kt_ok(!a->fault[0] && !b->fault[0], "close in the middle %s%s",
	      a->fault, b->fault);
}

static void st_gone(struct st_end *a, struct st_end *b,
		    struct rdma_stack_tx *tx, u32 want)
{
	struct rdma_stack_tx tx2;
	int err;

	wait_event_timeout(a->wait, READ_ONCE(a->closes), KT_WAIT);
	wait_event_timeout(b->wait, READ_ONCE(b->closes), KT_WAIT);
	/* The provider's memory is valid until commit or abort */
	st_fill(a, tx);
	st_commit(a, tx, want, 0);
	kt_ok(true, "a reservation outlives the connection");
	err = st_reserve(a, 10, &tx2);
	kt_ok(err == -EPIPE, "a reservation after the end is refused: %d", err);
	err = st_append(a, 10, ST_BIG, &tx2);
	kt_ok(err == -EPIPE, "an append after the end is refused: %d", err);
	a->link->tx_acked(a->qp);
	if (a->link->tx_sent)
		a->link->tx_sent(a->qp);
	a->link->rx_resume(a->qp);
	msleep(20);
	kt_ok(a->closes == 1 && b->closes == 1, "the end is reported: %u, %u times",
	      a->closes, b->closes);
	kt_ok(!a->fault[0] && !b->fault[0], "received data is good %s%s",
	      a->fault, b->fault);
}

/* The end comes, in one way or another, while a reservation is open */
static void st_case_reserved(struct st_pair *p, void (*end)(struct st_pair *p))
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;

	st_send(a, 100, 0);
	st_arrived(a, b);
	if (st_reserve(a, 3000, &tx)) {
		kt_ok(false, "a reservation succeeds");
		return;
	}
	end(p);
	st_gone(a, b, &tx, tx.len);
}

static void st_case_down(struct st_pair *p)
{
	st_case_reserved(p, p->env->down);
}

static void st_case_remove(struct st_pair *p)
{
	st_case_reserved(p, p->env->remove);
}

/* The holder of a reservation ends: the link is closed without commit or abort */
static void st_case_dropped(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	struct rdma_stack_tx tx;
	u32 calls;

	st_send(a, 100, 0);
	st_same(a, b, "earlier data arrives");
	calls = READ_ONCE(b->calls);
	if (st_reserve(a, 3000, &tx)) {
		kt_ok(false, "a reservation succeeds");
		return;
	}
	st_fill(a, &tx);
	st_close(a);
	p->env->down(p);
	wait_event_timeout(b->wait, READ_ONCE(b->closes), KT_WAIT);
	kt_ok(b->closes == 1, "the peer sees the end");
	kt_ok(READ_ONCE(b->calls) == calls && !b->fault[0],
	      "nothing of the reservation arrives %s", b->fault);
}

static void st_case_refuse(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];

	b->refuse = -EPROTO;
	st_send(a, 100, 0);
	wait_event_timeout(a->wait, READ_ONCE(a->closes), KT_WAIT);
	wait_event_timeout(b->wait, READ_ONCE(b->closes), KT_WAIT);
	msleep(20);
	kt_ok(a->closes == 1 && b->closes == 1 && b->calls == 1,
	      "a message that is refused ends the connection (%u, %u, %u)",
	      a->closes, b->closes, b->calls);
}

/* A request of the send queue comes in the stream after messages that wait */
static void st_case_behind(struct st_pair *p)
{
	struct st_end *a = &p->end[0], *b = &p->end[1];
	int i, err;

	if (!p->env->post)
		return;
	for (i = 0; i < 3; i++) {
		if (!st_shut(a, b))
			return;
		err = p->env->post(p);
		kt_ok(!err, "a request can be posted after messages that wait: %d", err);
		st_send(a, 5000, 0);
		st_resume(b);
		st_same(a, b, "messages before it and after it arrive");
		err = err ?: p->env->posted(p);
		kt_ok(!err, "the request after messages is complete: %d", err);
	}
	kt_ok(!a->closes && !b->closes, "the connection has not ended");
}

static const struct {
	const char *name;
	void (*run)(struct st_pair *p);
	bool late;		/* the case opens the second end */
} st_cases[] = {
	{ "open", st_case_open, true },
	{ "delivered", st_case_delivered, true },
	{ "ended", st_case_ended, true },
	{ "sizes", st_case_sizes },
	{ "header", st_case_header },
	{ "busy", st_case_busy },
	{ "append", st_case_append },
	{ "more", st_case_more },
	{ "notify", st_case_notify },
	{ "again", st_case_again },
	{ "pause", st_case_pause },
	{ "memory", st_case_memory },
	{ "behind", st_case_behind },
	{ "close", st_case_close },
	{ "middle", st_case_middle },
	{ "down", st_case_down },
	{ "dropped", st_case_dropped },
	{ "refuse", st_case_refuse },
};

static bool st_run_case(const struct st_env *env, const char *name,
			void (*run)(struct st_pair *p), bool late)
{
	struct st_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return kt_ok(false, "%s, %s: there is memory", env->name, name);
	p->env = env;
	st_end_init(&p->end[0]);
	st_end_init(&p->end[1]);
	p->end[1].late = late;
	err = env->up(p);
	if (kt_ok(!err, "%s, %s: the ends connect: %d", env->name, name, err)) {
		run(p);
		env->free(p);
		st_end_fini(&p->end[0]);
		st_end_fini(&p->end[1]);
	}
	kfree(p);
	return !err;
}

/**
 * st_link_case() - run one case on a fresh pair
 * @env: kind of pair
 * @name: of the case
 * @run: the case
 *
 * Return: whether there was a pair.
 */
bool st_link_case(const struct st_env *env, const char *name,
		  void (*run)(struct st_pair *p))
{
	return st_run_case(env, name, run, false);
}

/**
 * st_path_test() - the path MTU changes during a reservation, and before an append
 * @env: kind of pair; has a path
 */
void st_path_test(const struct st_env *env)
{
	st_link_case(env, "path", st_case_path);
	st_link_case(env, "shrink", st_case_shrink);
}

/**
 * st_link_tests() - all cases on one kind of pairs
 * @env: kind
 */
void st_link_tests(const struct st_env *env)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(st_cases); i++)
		if (!st_run_case(env, st_cases[i].name, st_cases[i].run,
				 st_cases[i].late))
			return;
	/* Last, since the device is removed */
	if (env->remove)
		st_link_case(env, "remove", st_case_remove);
}
