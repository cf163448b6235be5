// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the receive queue of a shared link, sdp_rx_pages.c, and the copies with
 * gaps, sdp_gaps.h, as they are. Each input runs twice: with the fast paths
 * (sdp_pages_bulk(), sdp_frags_put(), sdp_frags_take(), sdp_gaps_*()), and by the
 * general way alone. Both have to leave the same queue, counters and references, and
 * the reader gets the bytes that were added, and no others.
 */
#include "sdp/sdp_gaps.h"

#define PAGES 24
#define TURNS 400 /* of one input */
#define GUARD 16 /* bytes around memory that is written to */
#define SPACE 65536 /* bytes of a reader's buffer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/**
 * struct result - what may not differ
 * @sum: hash of all that was seen
 * @turns: its value after each step
 * @nr: steps
 */
struct result {
	u64 sum;
	u64 turns[TURNS];
	u32 nr;
};

static struct {
	struct sdp_sock sdp;
	struct sdp_conn conn;
	struct net net;
	struct page *pages[PAGES];
	bool asleep; /* nothing has come since the queue was idle */
	u32 page, fill; /* where the next byte arrives */
	u32 resumed, size;
	struct result *r;
} k;

const struct sdp_rxq_ops sdp_rxq_verbs;
u64 clock_ns;

/* Byte @n of the stream */
static u8 byte(u32 n)
{
	n *= 0x9e3779b1u;
	return n >> 24 ^ n >> 11;
}

static void see(u64 v)
{
	k.r->sum = (k.r->sum ^ v) * 0x100000001b3u;
}

bool page_is_high(const struct page *page)
{
	return page == k.pages[PAGES - 1];
}

static void rx_buffer(void *qp, u32 size)
{
	(void)qp;
	k.size = size;
}

static void rx_resume(void *qp)
{
	(void)qp;
	k.resumed++;
}

static const struct link_ops link = {
	.rx_buffer = rx_buffer,
	.rx_resume = rx_resume,
};

/* ---- the queue as it is ---- */

static u32 page_nr(const struct page *page)
{
	u32 i;

	for (i = 0; i < PAGES && k.pages[i] != page; i++)
		;
	return i;
}

static void see_frag(const struct sdp_rx_frag *f)
{
	see(page_nr(f->page));
	see(f->off);
	see(f->len);
	see(f->gaps.head);
	see(f->gaps.head ? f->gaps.step : 0);
	see(f->held);
}

static void see_queue(void)
{
	const struct sdp_rx_pages *q = &k.sdp.rx_pages;
	const struct sdp_rx_block *blk;
	u32 i;

	list_for_each_entry(blk, &q->blocks, node) {
		see(blk->tail - blk->head);
		for (i = blk->head; i < blk->tail; i++)
			see_frag(&blk->frag[i]);
	}
	for (i = 0; i < PAGES; i++)
		see(k.pages[i]->refs);
	see(q->charge);
	see(q->paused << 2 | q->starved << 1 | q->waits);
	see(k.sdp.inet.sk.sk_rcvbuf);
	see(q->merged);
	see(k.net.merged + k.net.merged_bytes + k.net.pauses);
	see(k.resumed);
	see(k.size);
	see(memory.objects);
	check(k.r->nr < TURNS);
	k.r->turns[k.r->nr++] = k.r->sum;
}

/* ---- adding ---- */

/* Few shapes: none, those between markers, and any */
static struct rdma_stack_gaps gaps_of(u8 how, u32 len)
{
	static const u16 steps[] = { 508, 252, 60, 0 };
	struct rdma_stack_gaps g = { .step = steps[how & 3] };

	if (!(how & 7))
		return (struct rdma_stack_gaps){ 0 };
	if (!g.step)
		g.step = 1 + (how >> 2);
	g.head = 1 + (how >> 3) * 7 % g.step;
	if (how & 4)
		g.head = (g.head + 3) & ~3;
	if (g.head >= len || g.head > g.step)
		g.head = 0;
	return g;
}

/* The next @len bytes with gaps @g arrive in a page, held; false: there is none */
static bool arrive(struct rdma_stack_run *run, u32 seq, u32 len,
		   struct rdma_stack_gaps g, u8 how)
{
	u32 span = rdma_stack_gaps_off(&g, len - 1) + 1, turns, i;
	u8 *p;

	/* those in a row are in one page, but not adjacent */
	k.fill += how & 0x40 ? 0 : RDMA_STACK_GAP;
	if ((how & 3) == 3)
		k.fill = PAGE_SIZE * 4;
	for (turns = 0; k.fill + span > k.pages[k.page]->size; turns++) {
		if (turns == PAGES)
			return false;
		k.page = (k.page + 1) % PAGES;
		k.fill = k.pages[k.page]->refs == 1 ? 0 : UINT32_MAX / 2;
	}
	p = (u8 *)page_address(k.pages[k.page]) + k.fill;
	for (i = 0; i < len; i++)
		p[rdma_stack_gaps_off(&g, i)] = byte(seq + i);
	run->data = p;
	run->page = how & 0x80 && (how & 0x30) == 0x30 ? NULL : k.pages[k.page];
	run->off = k.fill;
	run->len = len;
	run->gaps = g;
	k.fill += span;
	get_page(k.pages[k.page]);
	return true;
}

/* Up to @nr runs; @skip bytes at the front are no payload. @held: their pages */
static void arrive_all(struct rdma_stack_rx *rx, struct rdma_stack_run *runs,
		       struct page **held, u32 nr, u32 skip, const u8 *op)
{
	u32 len, i;

	for (i = 0; i < nr; i++) {
		len = 1 + (op[2] << (op[3] & 3)) % 1500 +
		      (op[1] & 0x80 ? i : 0);
		if (op[3] & 4)
			len = (len + 3) & ~3;
		if (!arrive(&runs[i], k.sdp.rx_seq - skip + rx->len, len,
			    gaps_of(op[3] ^ (op[0] & 8 ? i : 0), len),
			    op[1] + i))
			break;
		held[i] = k.pages[k.page];
		rx->len += len;
		rx->nr++;
	}
}

/* @op: number and kind of runs, length, gaps; false: there is no memory */
static bool add(const u8 *op)
{
	u32 nr = 1 + op[1] % RDMA_STACK_RUNS, skip, i;
	struct rdma_stack_run runs[RDMA_STACK_RUNS];
	struct rdma_stack_rx rx = { .run = runs };
	struct page *held[RDMA_STACK_RUNS];
	bool ok = true;

	/* the provider keeps what it has, and asks again */
	if (k.asleep && !sdp_pages_wake(&k.conn))
		return true;
	k.asleep = false;
	skip = op[0] & 0x20 ? 1 + op[3] % 32 : 0;
	arrive_all(&rx, runs, held, nr, skip, op);
	rx.truesize = rx.len * (1 + (op[0] >> 6));
	if (rx.len > skip) {
		ok = sdp_pages_add(&k.sdp, &rx, skip, op[2] * 4);
		if (ok)
			k.sdp.rx_seq += rx.len - skip;
	}
	for (i = 0; i < rx.nr; i++)
		put_page(held[i]);
	if (ok)
		see(sdp_pages_full(&k.sdp.inet.sk));
	return ok;
}

/* ---- reading ---- */

static u8 space[GUARD + SPACE + GUARD];

static void guard(u8 *p, u32 len)
{
	memset(p - GUARD, 0x77, len + 2 * GUARD);
}

static void guarded(const u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i < GUARD; i++)
		check(p[-1 - (int)i] == 0x77 && p[len + i] == 0x77);
}

static void copy(const u8 *op)
{
	u32 have = k.sdp.rx_seq - k.sdp.copied_seq, skip, len, done, i;
	struct iov_iter to = { .p = space + GUARD, .user = op[0] & 0x10 };
	u32 seq;

	if (!have)
		return;
	skip = op[0] & 0x20 ? op[1] * 5 % have : 0;
	seq = k.sdp.copied_seq + skip;
	to.kernel = !to.user && !(op[0] & 0x80);
	len = min(1 + op[2] * (1u + op[3]) % (have - skip), (u32)SPACE);
	if (op[0] & 0x40)
		len = min(have - skip, (u32)SPACE);
	to.count = len;
	to.max = !to.user && op[0] & 0x80 ? op[3] * 16u : SPACE;
	guard(space + GUARD, len);
	done = sdp_rxq_shared.copy(&k.sdp.inet.sk, seq, len, &to);
	check(done == (u32)min_t(size_t, len, to.user ? len : to.max + done));
	guarded(space + GUARD, len);
	for (i = 0; i < done; i++)
		check(space[GUARD + i] == byte(seq + i));
	check(to.p == space + GUARD + done);
	see(done);
}

static void find(const u8 *op)
{
	u32 have = k.sdp.rx_seq - k.sdp.copied_seq, seq, i;
	struct sdp_rx_run run;

	seq = k.sdp.copied_seq + op[1] * 9u % (have + 1);
	if (!sdp_rxq_shared.find(&k.sdp.inet.sk, seq, &run)) {
		check(seq == k.sdp.rx_seq);
		return;
	}
	for (i = 0; i < run.len; i++)
		check(((u8 *)page_address(run.page))[run.off + i] ==
		      byte(seq + i));
	see(run.len);
}

static void consume(const u8 *op)
{
	u32 have = k.sdp.rx_seq - k.sdp.copied_seq;

	if (have)
		sdp_rxq_shared.consume(&k.sdp.inet.sk,
				       op[0] & 8 ? have :
						   1 + op[1] * op[2] % have);
}

/* ---- sending: memory to payload with gaps, as sdp_shared_fill() ---- */

/* Of user memory, of the kernel's, or byte by byte */
static void put_by(u8 *to, const u8 *from, u32 len, struct rdma_stack_gaps *g,
		   bool user)
{
	u32 i;

	if (user && sdp_gaps_get(to, from, len, g))
		return;
	if (!user && !general) {
		sdp_gaps_fill(to, from, len, g);
		return;
	}
	for (i = 0; i < len; i++)
		to[rdma_stack_gaps_off(g, i)] = from[i];
}

static void put(const u8 *op)
{
	u32 len = 1 + op[1] * 16 + op[0] / 8 % 16, span, i;
	struct rdma_stack_gaps g;
	static u8 from[8192];

	if (op[0] & 0x80)
		len = (len + 3) & ~3;
	g = gaps_of(op[2], len);
	span = rdma_stack_gaps_off(&g, len - 1) + 1;
	for (i = 0; i < len; i++)
		from[i] = byte(op[3] + i);
	guard(space + GUARD, span);
	put_by(space + GUARD, from, len, &g, op[3] & 1);
	guarded(space + GUARD, span);
	for (i = 0; i < len; i++)
		check(space[GUARD + rdma_stack_gaps_off(&g, i)] == from[i]);
}

/* ---- from the beginning to the end ---- */

/* Nothing comes for a while. An empty queue keeps nothing then. */
static void idle(void)
{
	bool paused = k.sdp.rx_pages.paused;

	if (paused)
		return;
	sdp_pages_idle(&k.sdp);
	k.asleep = true;
	if (k.sdp.rx_seq == k.sdp.copied_seq)
		check(!memory.objects && memory.pages == PAGES);
}

static void change(const u8 *op)
{
	struct sock *sk = &k.sdp.inet.sk;

	clock_ns += op[3];
	if (op[1] & 1)
		memory.no_objects = op[1] & 2;
	if (op[1] & 4)
		memory.order_max = op[1] & 8 ? -1 : 2;
	if (op[1] & 16)
		sk->sk_rcvbuf = 1 + op[2] * (op[1] & 64 ? 8192 : 512);
	if (op[1] & 32)
		sk->sk_userlocks ^= SOCK_RCVBUF_LOCK;
	if (op[1] & 128)
		idle();
}

/* False: memory has run out, and the connection is over */
static bool step(const u8 *op)
{
	switch (op[0] & 7) {
	case 0:
	case 1:
	case 2:
		return add(op);
	case 3:
		copy(op);
		break;
	case 4:
		consume(op);
		break;
	case 5:
		find(op);
		break;
	case 6:
		put(op);
		break;
	default:
		change(op);
		break;
	}
	return true;
}

static void begin(void)
{
	u32 i;

	memset(&k.sdp, 0, sizeof(k.sdp));
	memset(&k.net, 0, sizeof(k.net));
	memory.order_max = 2;
	memory.no_objects = false;
	for (i = 0; i < PAGES; i++)
		k.pages[i] = alloc_pages(GFP_KERNEL, i % 3);
	k.page = 0;
	k.fill = 0;
	k.resumed = 0;
	k.size = 0;
	clock_ns = 0;
	k.asleep = true;
	k.net.sysctl_rmem[2] = 1u << 22;
	INIT_LIST_HEAD(&k.sdp.rx_pages.blocks);
	k.sdp.inet.sk.net = &k.net;
	k.sdp.inet.sk.sk_rcvbuf = 1u << 15;
	k.sdp.conn = &k.conn;
	k.conn.sk = &k.sdp.inet.sk;
	k.conn.stack = &link;
	k.conn.flags = BIT(SDP_CONN_SHARED);
	check(!sdp_pages_init(&k.conn));
}

/* The socket is charged for what the connection leaves, until it is read */
static void leave(void)
{
	struct sock *sk = &k.sdp.inet.sk;
	u32 unread = k.sdp.rx_seq - k.sdp.copied_seq;

	sdp_rxq_shared.orphan(sk, &k.conn);
	k.sdp.conn = NULL;
	check(sk->charged == PAGE_ALIGN(k.sdp.rx_pages.charge));
	if (unread)
		sdp_rxq_shared.consume(sk, (unread + 1) / 2);
	check(sk->charged == PAGE_ALIGN(k.sdp.rx_pages.charge));
	sdp_rxq_shared.purge(sk);
	check(!sk->charged);
}

static void end(void)
{
	u32 i;

	leave();
	for (i = 0; i < PAGES; i++) {
		check(k.pages[i]->refs == 1);
		put_page(k.pages[i]);
	}
	check(!memory.pages && !memory.objects);
}

static void run(struct result *r, const u8 *data, size_t size)
{
	memset(r, 0, sizeof(*r));
	k.r = r;
	begin();
	for (; size >= 4 && r->nr < TURNS; data += 4, size -= 4) {
		if (!step(data))
			break;
		see_queue();
	}
	end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result fast, slow;

	general = false;
	run(&fast, data, size);
	general = true;
	run(&slow, data, size);
	check(fast.nr == slow.nr);
	check(!memcmp(fast.turns, slow.turns, fast.nr * sizeof(u64)));
	return 0;
}
