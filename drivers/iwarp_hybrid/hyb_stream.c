// SPDX-License-Identifier: GPL-2.0
/*
 * The outgoing stream: pages and segments. See hyb_stream.h. Calls nothing else of
 * the driver.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "hyb_stream.h"

/* Pages, more than a processor charges ahead (MEMCG_CHARGE_BATCH) */
#define HYB_STREAM_RECLAIM	65

/**
 * hyb_stream_init - an empty stream
 * @s: zeroed stream
 * @ivl: marker interval, 0 for none
 * @memcg: control group that is charged for the pages, or NULL
 */
void hyb_stream_init(struct hyb_stream *s, u32 ivl, struct mem_cgroup *memcg)
{
	s->memcg = memcg;
#ifdef CONFIG_MEMCG
	s->limited = memcg && memcg->css.parent;
#endif
	s->ring = s->first;
	s->mask = HYB_TX_PAGES - 1;
	s->wait_max = 1;
	s->ivl = ivl;
	s->ivl_log = ivl ? ilog2(ivl) : 0;
}

static void hyb_stream_put(struct hyb_tx_page *p)
{
	if (p->page)
		put_page(p->page);
	if (p->stage)
		put_page(p->stage);
	memset(p, 0, sizeof(*p));
}

static void hyb_stream_put_kept(struct hyb_tx_kept *kept)
{
	put_page(kept->page);
	if (kept->stage)
		put_page(kept->stage);
}

static struct hyb_tx_kept *hyb_pool_busy(const struct hyb_tx_pool *pool, u32 i)
{
	return &pool->busy[i & (HYB_TX_POOL - 1)];
}

/**
 * hyb_stream_cool - release the pages that are only kept to be used again
 * @s: stream
 */
void hyb_stream_cool(struct hyb_stream *s)
{
	struct hyb_tx_pool *pool = &s->pool;

	while (pool->nr_idle)
		hyb_stream_put_kept(&pool->idle[--pool->nr_idle]);
	while (pool->get != pool->put)
		hyb_stream_put_kept(hyb_pool_busy(pool, pool->get++));
	kfree(pool->idle);
	WRITE_ONCE(pool->idle, NULL);
}

/* Does TCP have no reference to a page and to its stage any more? @stage may be NULL. */
static bool hyb_stream_idle(struct page *page, struct page *stage)
{
	return page_count(page) == 1 && (!stage || page_count(stage) == 1);
}

/*
 * Find the pages that TCP has let go of. It does so in their order. One that something
 * else holds hides others until it is let go of, or the pool is full.
 */
static void hyb_pool_settle(struct hyb_tx_pool *pool)
{
	struct hyb_tx_kept *kept;

	while (pool->get != pool->put) {
		kept = hyb_pool_busy(pool, pool->get);
		if (!hyb_stream_idle(kept->page, kept->stage))
			break;
		pool->idle[pool->nr_idle++] = *kept;
		pool->get++;
	}
}

/**
 * hyb_stream_ease - release half of the pages that TCP has let go of
 * @s: stream
 *
 * Takes those that TCP has let go of first: they are the least likely to be in a cache.
 */
void hyb_stream_ease(struct hyb_stream *s)
{
	struct hyb_tx_pool *pool = &s->pool;
	u32 i, n;

	hyb_pool_settle(pool);
	n = (pool->nr_idle + 1) / 2;
	for (i = 0; i < n; i++)
		hyb_stream_put_kept(&pool->idle[i]);
	pool->nr_idle -= n;
	memmove(pool->idle, pool->idle + n,
		pool->nr_idle * sizeof(*pool->idle));
}

static void hyb_stream_put_all(struct hyb_stream *s)
{
	u32 i;

	for (i = 0; i <= s->mask; i++)
		hyb_stream_put(&s->ring[i]);
	hyb_stream_cool(s);
}

/**
 * hyb_stream_free - release the pages
 * @s: stream, may never have been set up
 *
 * TCP may still hold references of its own.
 */
void hyb_stream_free(struct hyb_stream *s)
{
	if (!s->ring)
		return;
	hyb_stream_put_all(s);
	if (s->ring != s->first)
		kfree(s->ring);
	memset(s, 0, sizeof(*s));
}

static struct page *hyb_stream_alloc_order(struct hyb_stream *s, gfp_t gfp,
					   int order)
{
	struct mem_cgroup *old = set_active_memcg(s->memcg);
	struct page *page;

	page = alloc_pages(gfp | __GFP_NOWARN | __GFP_COMP | __GFP_ACCOUNT,
			   order);
	set_active_memcg(old);
	return page;
}

/* Many connections send little: for that a small page does, in which a segment fits */
static int hyb_stream_order(const struct hyb_stream *s)
{
	if (s->pos >= PAGE_SIZE << HYB_TX_ORDER)
		return HYB_TX_ORDER;
	return min(get_order(hyb_stream_max(s)), HYB_TX_ORDER);
}

/* GFP_NOWAIT keeps the limit of the control group, GFP_ATOMIC exceeds it */
static gfp_t hyb_stream_gfp(const struct hyb_stream *s, int order)
{
	if (s->limited)
		return GFP_NOWAIT;
	return order ? GFP_ATOMIC | __GFP_NORETRY : GFP_ATOMIC;
}

/*
 * A page beyond the limit of the control group. While TCP has bytes of the stream,
 * acknowledgments give pages back. Otherwise nothing would, so one small page is taken.
 */
static struct page *hyb_stream_exceed(struct hyb_stream *s)
{
	struct page *page = NULL;

	if (s->limited && s->quiet)
		page = hyb_stream_alloc_order(s, GFP_ATOMIC, 0);
	if (!page)
		WRITE_ONCE(s->lacks, s->limited);
	return page;
}

static struct page *hyb_stream_alloc(struct hyb_stream *s, u32 *size)
{
	int order = hyb_stream_order(s);
	struct page *page = NULL;

	for (; order >= 0 && !page; order--) {
		page = hyb_stream_alloc_order(s, hyb_stream_gfp(s, order),
					      order);
		*size = PAGE_SIZE << order;
	}
	if (unlikely(!page)) {
		page = hyb_stream_exceed(s);
		*size = PAGE_SIZE;
	}
	s->quiet = false;
	return page;
}

/**
 * hyb_stream_reclaim - reclaim memory of the control group, as a page was missing
 * @s: stream
 *
 * One attempt, which does not wait for I/O: the stream may be that of a disk. It takes more than
 * what this processor may have charged ahead, which would not help the others.
 *
 * Context: process, may sleep, also because the group is above memory.high. No lock: the
 * queue pair has a reference to the group.
 * Return: whether there are pages now.
 */
bool hyb_stream_reclaim(struct hyb_stream *s)
{
	gfp_t gfp = GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN | __GFP_ACCOUNT;
	struct page *pages[HYB_STREAM_RECLAIM];
	struct mem_cgroup *old;
	u32 got, n;

	WRITE_ONCE(s->lacks, false);
	old = set_active_memcg(READ_ONCE(s->memcg));
	for (got = 0; got < ARRAY_SIZE(pages); got++) {
		pages[got] = alloc_page(gfp);
		if (!pages[got])
			break;
	}
	set_active_memcg(old);
	for (n = 0; n < got; n++)
		__free_page(pages[n]);
	return got == ARRAY_SIZE(pages);
}

/* Twice as many pages; an index still means the same page */
static int hyb_stream_grow(struct hyb_stream *s)
{
	u32 size = s->mask + 1;
	struct hyb_tx_page *ring;
	u32 i;

	if (size >= HYB_TX_PAGES_MAX)
		return -ENOSPC;
	ring = kcalloc(2 * size, sizeof(*ring), GFP_ATOMIC | __GFP_NOWARN);
	if (!ring)
		return -ENOMEM;
	for (i = s->cur - size + 1; i != s->cur + 1; i++)
		ring[i & (2 * size - 1)] = s->ring[i & s->mask];
	if (s->ring != s->first)
		kfree(s->ring);
	s->ring = ring;
	s->mask = 2 * size - 1;
	return 0;
}

static bool hyb_stream_keep(struct hyb_stream *s, const struct hyb_tx_page *p)
{
	struct hyb_tx_pool *pool = &s->pool;
	struct hyb_tx_kept *kept;

	if (p->size != PAGE_SIZE << HYB_TX_ORDER)
		return false;
	if (!pool->idle) {
		kept = kmalloc_array(2 * HYB_TX_POOL, sizeof(*kept),
				     GFP_ATOMIC | __GFP_NOWARN);
		if (!kept)
			return false;
		pool->busy = kept + HYB_TX_POOL;
		WRITE_ONCE(pool->idle, kept);
	}
	if (pool->nr_idle + pool->put - pool->get == HYB_TX_POOL) {
		if (pool->get == pool->put)
			return false;
		hyb_stream_put_kept(hyb_pool_busy(pool, pool->get++));
	}
	kept = hyb_pool_busy(pool, pool->put++);
	kept->page = p->page;
	kept->stage = p->stage;
	return true;
}

/**
 * hyb_stream_pass - TCP has all of the oldest page
 * @s: stream, with a page after that one
 *
 * It is kept to be used again, unless there are many. Those that are not kept go
 * back to the page allocator when TCP frees them, which gives out next what was
 * freed last.
 */
void hyb_stream_pass(struct hyb_stream *s)
{
	struct hyb_tx_page *p = hyb_stream_page(s, s->out++);

	if (hyb_stream_keep(s, p))
		memset(p, 0, sizeof(*p));
	else
		hyb_stream_put(p);
}

/*
 * The page that TCP let go of last, if there is one: it is the one that is still
 * in a cache
 */
static bool hyb_stream_reuse(struct hyb_stream *s, struct hyb_tx_page *p)
{
	struct hyb_tx_pool *pool = &s->pool;
	struct hyb_tx_kept *kept;

	hyb_pool_settle(pool);
	if (!pool->nr_idle)
		return false;
	kept = &pool->idle[--pool->nr_idle];
	p->page = kept->page;
	p->stage = kept->stage;
	p->base = page_address(p->page);
	p->size = PAGE_SIZE << HYB_TX_ORDER;
	return true;
}

/**
 * hyb_stream_next_page - continue in the next page of the ring
 * @s: stream
 *
 * Return: 0, -ENOMEM, or -ENOSPC if too much waits for TCP; nothing has
 * changed then.
 */
int hyb_stream_next_page(struct hyb_stream *s)
{
	struct hyb_tx_page *p;
	int err;

	if (s->cur + 1 - s->out > s->mask) {
		err = hyb_stream_grow(s);
		if (err)
			return err;
	}
	p = hyb_stream_page(s, s->cur + 1);
	if (!p->page && !hyb_stream_reuse(s, p)) {
		p->page = hyb_stream_alloc(s, &p->size);
		if (!p->page) {
			p->size = 0;
			return -ENOMEM;
		}
		p->base = page_address(p->page);
	}
	p->fill = 0;
	p->sent = 0;
	p->stage_fill = 0;
	while (hyb_stream_empty(s) && s->out != s->cur + 1)
		hyb_stream_pass(s);
	s->cur++;
	return 0;
}

/**
 * hyb_stream_extend - after hyb_stream_fit() returned 0
 * @s: stream
 *
 * Return: true if the page was full and the next one was taken.
 */
bool hyb_stream_extend(struct hyb_stream *s)
{
	const struct hyb_tx_page *p = hyb_stream_cur(s);

	if (s->cur - s->out >= s->wait_max || p->sent == p->fill)
		return false;
	if (s->room && s->room < HYB_SEG_MIN)
		return false;
	if (p->size - p->fill >= hyb_stream_max(s))
		return false;
	return !hyb_stream_next_page(s);
}

/**
 * hyb_stream_next - after hyb_stream_fit() returned 0
 * @s: stream
 * @sk: TCP socket
 *
 * Ends the segment and the page as far as they are too small. A segment whose
 * end is not with TCP yet cannot be ended here: alignment is lost until it is.
 *
 * Return: 0 or an error of hyb_stream_next_page().
 */
int hyb_stream_next(struct hyb_stream *s, struct sock *sk)
{
	const struct hyb_tx_page *p = hyb_stream_cur(s);
	struct sk_buff *tail;

	if (s->room && s->room < HYB_SEG_MIN) {
		tail = tcp_write_queue_tail(sk);
		if (!hyb_stream_empty(s))
			s->room = 0;
		else if (tail)
			TCP_SKB_CB(tail)->eor = 1;
	}
	if (p->size - p->fill < hyb_stream_max(s))
		return hyb_stream_next_page(s);
	return 0;
}

/*
 * Payload of a segment. FPDUs are multiples of 4, so segments have to be: TCP gets
 * that as the largest segment of the peer. This also makes TCP notice a changed path
 * before bytes are laid out for the former one.
 */
static u32 hyb_stream_mss(struct hyb_stream *s, struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct dst_entry *dst = __sk_dst_get(sk);
	u32 mtu = dst ? dst_mtu(dst) : icsk->icsk_pmtu_cookie;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss;

	if (mtu == s->mtu && mtu == icsk->icsk_pmtu_cookie &&
	    !(tp->mss_cache & 3))
		return tp->mss_cache;
	s->mtu = mtu;
	tp->rx_opt.mss_clamp = s->clamp;
	mss = icsk->icsk_sync_mss(sk, mtu);
	if (!(mss & 3) || mss < HYB_SEG_MIN)
		return mss;
	tp->rx_opt.mss_clamp = (mss & ~3U) + icsk->icsk_ext_hdr_len +
			       tp->tcp_header_len - sizeof(struct tcphdr);
	return icsk->icsk_sync_mss(sk, mtu);
}

/**
 * hyb_stream_attach - the bytes of the stream are TCP's next ones
 * @s: empty stream
 * @sk: TCP socket, owned by the caller
 */
void hyb_stream_attach(struct hyb_stream *s, struct sock *sk)
{
	s->seq = tcp_sk(sk)->write_seq;
	s->clamp = tcp_sk(sk)->rx_opt.mss_clamp;
	hyb_stream_mss(s, sk);
}

/**
 * hyb_stream_look - where in a segment the stream ends
 * @s: stream
 * @sk: TCP socket
 *
 * With bytes waiting for TCP that is known, unless the MSS has changed.
 */
void hyb_stream_look(struct hyb_stream *s, struct sock *sk)
{
	struct sk_buff *tail = tcp_write_queue_tail(sk);
	u32 waiting = hyb_stream_waiting(s);
	u32 used, mss;

	s->quiet = !waiting && tcp_rtx_and_write_queues_empty(sk);
	/* do not change the MSS of a socket that a task owns */
	mss = sock_owned_by_user(sk) ? tcp_sk(sk)->mss_cache :
				       hyb_stream_mss(s, sk);
	if (waiting && s->mss == mss)
		return;
	s->mss = mss;
	s->room = 0;
	if ((mss & 3) || mss < HYB_SEG_MIN)
		return;
	used = tail && !TCP_SKB_CB(tail)->eor ? tail->len : 0;
	s->room = mss - (used + waiting) % mss;
}

/**
 * hyb_stream_rewind - start from the front of the page if TCP has let go of it
 * @s: stream
 */
void hyb_stream_rewind(struct hyb_stream *s)
{
	struct hyb_tx_page *p = hyb_stream_cur(s);

	if (p->fill && hyb_stream_empty(s) &&
	    hyb_stream_idle(p->page, p->stage)) {
		p->fill = 0;
		p->sent = 0;
		p->stage_fill = 0;
	}
}

/**
 * hyb_stream_trim - release the pages
 * @s: stream, empty and nothing being laid out
 *
 * The stream continues with a fresh page. Pages that TCP still has are freed when
 * TCP releases them. That may be long after the peer acknowledged it, in a packet
 * that waits on another CPU's list of packets to be freed, until that CPU
 * receives one (skb_attempt_defer_free()): it must not be counted as ours.
 */
void hyb_stream_trim(struct hyb_stream *s)
{
	if (!s->ring)
		return;
	hyb_stream_put_all(s);
	if (s->ring == s->first)
		return;
	kfree(s->ring);
	/* clear the entries of a ring that was replaced */
	memset(s->first, 0, sizeof(s->first));
	s->ring = s->first;
	s->mask = HYB_TX_PAGES - 1;
}

static u32 hyb_page_memory(struct page *page, struct page *stage)
{
	return (page ? page_size(page) : 0) + (stage ? page_size(stage) : 0);
}

/**
 * hyb_stream_pages - memory of the pages
 * @s: stream
 *
 * Return: bytes.
 */
u32 hyb_stream_pages(const struct hyb_stream *s)
{
	const struct hyb_tx_pool *pool = &s->pool;
	u32 i, sum = 0;

	for (i = 0; s->ring && i <= s->mask; i++)
		sum += hyb_page_memory(s->ring[i].page, s->ring[i].stage);
	for (i = 0; i < pool->nr_idle; i++)
		sum += hyb_page_memory(pool->idle[i].page, pool->idle[i].stage);
	for (i = pool->get; i != pool->put; i++) {
		const struct hyb_tx_kept *kept = hyb_pool_busy(pool, i);

		sum += hyb_page_memory(kept->page, kept->stage);
	}
	return sum;
}

/**
 * hyb_stream_stage - memory beside a page of the stream
 * @s: stream
 * @p: page
 * @off: offset
 *
 * Return: where, or NULL without memory.
 */
void *hyb_stream_stage(struct hyb_stream *s, struct hyb_tx_page *p, u32 off)
{
	if (!p->stage)
		p->stage = hyb_stream_alloc_order(s, hyb_stream_gfp(s, 0),
						  get_order(p->size));
	return p->stage ? page_address(p->stage) + off : NULL;
}
