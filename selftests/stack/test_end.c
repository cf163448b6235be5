// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, one end of a connection. A message has a header, with the position
 * of the payload in the stream, and payload, each byte of which depends on its
 * position. So all data is checked as it arrives, however it was cut.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>

#include "test.h"

#define ST_MAGIC	0x53744d6b

static u8 st_byte(u64 off)
{
	return off * 131 + (off >> 8) * 7 + (off >> 20);
}

/* ---------------------------------------------------------------------- receive */

/* Only the first fault is kept, others follow from it */
static void __printf(2, 3) st_fault(struct st_end *e, const char *fmt, ...)
{
	va_list ap;

	if (e->fault[0])
		return;
	va_start(ap, fmt);
	vsnprintf(e->fault, sizeof(e->fault), fmt, ap);
	va_end(ap);
}

static void st_rx_hdr(struct st_end *e)
{
	struct st_hdr *h = (struct st_hdr *)e->hdr;

	if (be32_to_cpu(h->magic) != ST_MAGIC)
		st_fault(e, "no header at message %u", e->rx_seq);
	if (be32_to_cpu(h->seq) != e->rx_seq)
		st_fault(e, "message %u instead of %u", be32_to_cpu(h->seq),
			 e->rx_seq);
	if (be64_to_cpu(h->off) != e->rx_off)
		st_fault(e, "message %u at %llu instead of %llu", e->rx_seq,
			 be64_to_cpu(h->off), e->rx_off);
	e->want = be32_to_cpu(h->len);
	e->max_msg = max(e->max_msg, e->want);
}

static void st_rx_data(struct st_end *e, const u8 *p, u32 len)
{
	u32 i = 0;

	while (i < len && e->got < sizeof(e->hdr)) {
		e->hdr[e->got++] = p[i++];
		if (e->got == sizeof(e->hdr))
			st_rx_hdr(e);
	}
	for (; i < len; i++, e->got++, e->rx_off++)
		if (p[i] != st_byte(e->rx_off))
			st_fault(e, "byte %llu is wrong", e->rx_off);
}

/* Sum over payload, without the gaps */
static u32 st_sum(const u8 *p, u32 len, const struct rdma_stack_gaps *g)
{
	u32 i, sum = 0;

	for (i = 0; i < len; i++)
		sum = sum * 31 + p[rdma_stack_gaps_off(g, i)];
	return sum;
}

/* Keep a page; its contents must not change */
static void st_rx_ref(struct st_end *e, const struct rdma_stack_run *run)
{
	if (!run->page) {
		e->refs_none++;
		return;
	}
	/* Also offsets past the first page of a compound one */
	if (page_address(run->page) + run->off != run->data)
		st_fault(e, "run is not where its page says");
	if (!e->hold || e->nr_refs == ST_REFS)
		return;
	get_page(run->page);
	e->ref[e->nr_refs].page = run->page;
	e->ref[e->nr_refs].off = run->off;
	e->ref[e->nr_refs].len = run->len;
	e->ref[e->nr_refs].gaps = run->gaps;
	e->ref[e->nr_refs].sum = st_sum(run->data, run->len, &run->gaps);
	e->nr_refs++;
}

static void st_rx_run(struct st_end *e, const struct rdma_stack_run *run)
{
	const struct rdma_stack_gaps *g = &run->gaps;
	u32 at, n;

	if (!run->len)
		st_fault(e, "an empty run");
	if (g->head && (g->head >= run->len || !g->step))
		st_fault(e, "gaps at %u, %u of %u", g->head, g->step, run->len);
	e->runs++;
	e->gaps += g->head != 0;
	st_rx_ref(e, run);
	for (at = 0; at < run->len && !e->fault[0]; at += n) {
		n = min(run->len - at, rdma_stack_gaps_span(g, at));
		st_rx_data(e, run->data + rdma_stack_gaps_off(g, at), n);
	}
}

static void st_rx_runs(struct st_end *e, const struct rdma_stack_rx *rx)
{
	u32 i, sum = 0;

	if (rx->nr > RDMA_STACK_RUNS)
		st_fault(e, "%u runs", rx->nr);
	if (!rx->nr && !rx->last)
		st_fault(e, "a call with nothing");
	if (rx->msg_off != e->got)
		st_fault(e, "offset %u of the message instead of %u",
			 rx->msg_off, e->got);
	if (rx->truesize < rx->len)
		st_fault(e, "true size %u of %u", rx->truesize, rx->len);
	for (i = 0; i < rx->nr; i++) {
		sum += rx->run[i].len;
		st_rx_run(e, &rx->run[i]);
	}
	if (sum != rx->len)
		st_fault(e, "length %u, sum %u", rx->len, sum);
}

static void st_rx_last(struct st_end *e, const struct rdma_stack_rx *rx)
{
	if (!rx->last) {
		if (rx->solicited)
			st_fault(e, "solicited before the end");
		return;
	}
	if (e->got != sizeof(e->hdr) + e->want)
		st_fault(e, "message of %u instead of %zu", e->got,
			 sizeof(e->hdr) + e->want);
	e->solicited += rx->solicited;
	e->rx_seq++;
	e->got = 0;
}

/* A task that closes on another CPU must wait for this; on this CPU it cannot run */
static void st_rx_stall(struct st_end *e)
{
	int i;

	WRITE_ONCE(e->inside, true);
	for (i = 0; i < 4000 && READ_ONCE(e->stall); i++)
		udelay(5);
	WRITE_ONCE(e->inside, false);
}

static bool st_rx_begin(void *ctx)
{
	struct st_end *e = ctx;

	spin_lock(&e->lock);
	if (e->begun)
		st_fault(e, "rx_begin twice");
	e->begun = !e->no_mem;
	e->no_mem -= !e->begun;
	spin_unlock(&e->lock);
	return e->begun;
}

static void st_idle(void *ctx)
{
	struct st_end *e = ctx;

	spin_lock(&e->lock);
	e->begun = false;
	WRITE_ONCE(e->idles, e->idles + 1);
	spin_unlock(&e->lock);
	wake_up_all(&e->wait);
}

static int st_rx(void *ctx, const struct rdma_stack_rx *rx)
{
	struct st_end *e = ctx;
	int rc = RDMA_STACK_RX_MORE;

	if (!in_softirq())
		st_fault(e, "bottom halves are on");
	if (READ_ONCE(e->stall))
		st_rx_stall(e);
	spin_lock(&e->lock);
	if (!e->begun)
		st_fault(e, "called before rx_begin");
	e->rest = e->paused ? e->rest + rx->len : 0;
	if (e->paused && (!e->part || e->rest > ST_SEGMENT_MAX))
		st_fault(e, "called in a pause");
	e->rests += e->paused;
	e->calls++;
	st_rx_runs(e, rx);
	st_rx_last(e, rx);
	e->part = rx->nr == RDMA_STACK_RUNS && !rx->last;
	if (e->refuse)
		rc = e->refuse;
	else if (e->pause)
		rc = RDMA_STACK_RX_PAUSE;
	e->paused = rc == RDMA_STACK_RX_PAUSE;
	spin_unlock(&e->lock);
	return rc;
}

static void st_rx_done(void *ctx)
{
	struct st_end *e = ctx;

	e->batches++;
	wake_up_all(&e->wait);
}

static void st_tx_space(void *ctx)
{
	struct st_end *e = ctx;

	/* Callbacks may call it */
	e->link->tx_acked(e->qp);
	WRITE_ONCE(e->spaces, e->spaces + 1);
	wake_up_all(&e->wait);
}

static void st_closed(void *ctx, int err)
{
	struct st_end *e = ctx;

	e->err = err;
	WRITE_ONCE(e->closes, e->closes + 1);
	wake_up_all(&e->wait);
}

const struct rdma_stack_ulp st_ulp = {
	.rx_begin = st_rx_begin,
	.rx = st_rx,
	.rx_done = st_rx_done,
	.tx_space = st_tx_space,
	.idle = st_idle,
	.closed = st_closed,
};

/**
 * st_end_init() - prepare an end: nothing sent, nothing received
 * @e: end
 */
void st_end_init(struct st_end *e)
{
	memset(e, 0, sizeof(*e));
	spin_lock_init(&e->lock);
	init_waitqueue_head(&e->wait);
}

/**
 * st_end_fini() - check the pages that were kept, and drop their references
 * @e: end; closed
 */
void st_end_fini(struct st_end *e)
{
	u32 i, bad = 0;

	for (i = 0; i < e->nr_refs; i++) {
		if (st_sum(page_address(e->ref[i].page) + e->ref[i].off,
			   e->ref[i].len, &e->ref[i].gaps) != e->ref[i].sum)
			bad++;
		put_page(e->ref[i].page);
	}
	if (e->hold)
		kt_ok(!bad && e->nr_refs,
		      "%u pages that were kept are as they came (%u not)",
		      e->nr_refs, bad);
	e->nr_refs = 0;
}

/**
 * st_open() - open an end
 * @e: end; has a queue pair
 *
 * Return: result of open().
 */
int st_open(struct st_end *e)
{
	return e->link->open(e->qp, &st_ulp, e);
}

/**
 * st_close() - close an end, once
 * @e: end, perhaps not open
 */
void st_close(struct st_end *e)
{
	if (e->link && e->qp)
		e->link->close(e->qp);
	e->qp = NULL;
}

/* ------------------------------------------------------------------------- send */

static bool st_tx_sane(const struct rdma_stack_tx *tx, u32 want)
{
	u32 i, sum = 0;

	for (i = 0; i < tx->nr; i++) {
		if (!tx->seg[i].len)
			return false;
		sum += tx->seg[i].len;
	}
	return tx->nr <= RDMA_STACK_TX_SEGS && sum == tx->len &&
	       tx->len <= want && (tx->len || !want);
}

static int st_checked(struct st_end *e, const struct rdma_stack_tx *tx,
		      u32 want, u32 msg_len)
{
	if (st_tx_sane(tx, want) && tx->msg_len == msg_len)
		return 0;
	spin_lock_bh(&e->lock);
	st_fault(e, "reservation: %u segments, %u of %u bytes, message %u of %u",
		 tx->nr, tx->len, want, tx->msg_len, msg_len);
	spin_unlock_bh(&e->lock);
	return 0;
}

/**
 * st_reserve() - begin a message
 * @e: end
 * @want: bytes of payload
 * @tx: reservation
 *
 * Return: result of tx_reserve(). The reservation is checked.
 */
int st_reserve(struct st_end *e, u32 want, struct rdma_stack_tx *tx)
{
	int err = e->link->tx_reserve(e->qp, want, sizeof(struct st_hdr), tx);

	return err ?: st_checked(e, tx, want, 0);
}

/**
 * st_append() - continue the last message
 * @e: end
 * @want: bytes of payload
 * @max: longest payload of a message
 * @tx: reservation
 *
 * Return: result of tx_append(). The reservation is checked.
 */
int st_append(struct st_end *e, u32 want, u32 max, struct rdma_stack_tx *tx)
{
	int err = e->link->tx_append(e->qp, want, max, tx);

	if (err)
		return err;
	if (want && tx->msg_len + tx->len > max)
		st_checked(e, tx, 0, ~0);
	return st_checked(e, tx, want, e->msg_len);
}

/**
 * st_fill() - write the next payload of the stream
 * @e: end
 * @tx: its reservation
 */
void st_fill(struct st_end *e, const struct rdma_stack_tx *tx)
{
	const struct rdma_stack_seg *seg;
	u64 off = e->tx_off;
	u32 i, j;

	for (i = 0; i < tx->nr; i++) {
		seg = &tx->seg[i];
		for (j = 0; j < seg->len; j++)
			((u8 *)seg->data)[rdma_stack_gaps_off(&seg->gaps, j)] =
				st_byte(off++);
	}
}

/**
 * st_commit() - send payload that st_fill() has written
 * @e: end
 * @tx: its reservation
 * @used: bytes of it to send
 * @flags: RDMA_STACK_TX_*, and ST_APPEND if it continues a message
 */
void st_commit(struct st_end *e, struct rdma_stack_tx *tx, u32 used,
	       unsigned int flags)
{
	struct st_hdr h = { .magic = cpu_to_be32(ST_MAGIC) };

	if (!(flags & ST_APPEND)) {
		e->msg_off = e->tx_off;
		e->msg_len = 0;
		e->tx_seq++;
	}
	e->msg_len += used;
	e->tx_off += used;
	h.seq = cpu_to_be32(e->tx_seq - 1);
	h.len = cpu_to_be32(e->msg_len);
	h.off = cpu_to_be64(e->msg_off);
	e->link->tx_commit(e->qp, tx, used, &h, flags & ~ST_APPEND);
	e->tx_end = tx->end;
}

/**
 * st_send() - send one message, which is shorter if the reservation is
 * @e: end
 * @len: of the payload
 * @flags: RDMA_STACK_TX_*
 *
 * Return: bytes of payload sent, or the error of tx_reserve().
 */
int st_send(struct st_end *e, u32 len, unsigned int flags)
{
	struct rdma_stack_tx tx;
	int err = st_reserve(e, len, &tx);

	if (err)
		return err;
	st_fill(e, &tx);
	st_commit(e, &tx, tx.len, flags);
	return tx.len;
}

/* --------------------------------------------------------------------- receiver */

/**
 * st_pause() - take one more call, then no more
 * @e: receiver
 */
void st_pause(struct st_end *e)
{
	spin_lock_bh(&e->lock);
	e->pause = true;
	spin_unlock_bh(&e->lock);
}

/**
 * st_resume() - undo st_pause()
 * @e: receiver
 */
void st_resume(struct st_end *e)
{
	spin_lock_bh(&e->lock);
	e->pause = false;
	e->paused = false;
	spin_unlock_bh(&e->lock);
	e->link->rx_resume(e->qp);
}

/**
 * st_arrived() - wait until all that was sent has arrived and is acknowledged
 * @from: sender
 * @to: receiver
 *
 * Return: false if it did not within KT_WAIT, or a fault was found.
 */
bool st_arrived(struct st_end *from, struct st_end *to)
{
	unsigned long end = jiffies + KT_WAIT;

	wait_event_timeout(to->wait, READ_ONCE(to->rx_seq) == from->tx_seq ||
			   to->fault[0], KT_WAIT);
	while (from->link->tx_acked(from->qp) < from->tx_end &&
	       time_before(jiffies, end) && !to->fault[0])
		msleep(20);
	return !from->fault[0] && !to->fault[0] &&
	       to->rx_seq == from->tx_seq && to->rx_off == from->tx_off &&
	       from->link->tx_acked(from->qp) == from->tx_end;
}

/**
 * st_same() - check that everything that was sent arrives
 * @from: sender
 * @to: receiver
 * @what: title of the check
 *
 * Return: whether it has.
 */
bool st_same(struct st_end *from, struct st_end *to, const char *what)
{
	if (st_arrived(from, to))
		return kt_ok(true, "%s", what);
	return kt_ok(false,
		     "%s: %s%s %u of %u messages, %llu of %llu bytes, %llu of %llu acknowledged",
		     what, from->fault, to->fault, to->rx_seq, from->tx_seq,
		     to->rx_off, from->tx_off,
		     from->link->tx_acked(from->qp), from->tx_end);
}
