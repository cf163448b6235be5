// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queue of a shared link: references to the pages that the payload
 * came in, in blocks, so that nothing is allocated per packet. Calls rx_resume and
 * rx_buffer of the link, and of SDP only sdp_sock.c, the counters and inline functions
 * of headers. sdp_shared_tx.c opens the queue, sdp_shared_rx.c adds to it, and readers
 * use it through sdp_rxq_shared.
 *
 * Reception adds at the end, under sdp->lock. Only a reader (lock_sock) removes
 * bytes, under sdp->lock as well. So a reader may look at the bytes before
 * rx_seq without sdp->lock, once it has read rx_seq with acquire semantics.
 */
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/instrumented.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_gaps.h"
#include "sdp_iter.h"
#include "sdp_mib.h"
#include "sdp_rx.h"

/*
 * Entries that a call of the provider may need: one for each run, and one for each
 * page that copies begin. If copies fill more than 20 pages in one call,
 * sdp_pages_more() allocates.
 */
#define SDP_PAGES_ROOM	(RDMA_STACK_RUNS + 20)

/*
 * sdp_rx_pages.last points here while an open queue has no block: this one has neither
 * room nor entries. It never changes. Before the link opens, and after a purge, last is
 * NULL.
 */
static struct sdp_rx_block sdp_rx_none __ro_after_init = {
	.head = SDP_RX_FRAGS,
	.tail = SDP_RX_FRAGS,
};

/* A block, charged as the socket is. Context: sdp->lock. */
static struct sdp_rx_block *sdp_block_alloc(struct sdp_rx_pages *q)
{
	struct sdp_sock *sdp = container_of(q, struct sdp_sock, rx_pages);
	struct mem_cgroup *old = sdp_sock_charge(&sdp->inet.sk);
	struct sdp_rx_block *blk;

	lockdep_assert_held(&sdp->lock);
	blk = kmalloc(sizeof(*blk), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(old);
	if (!blk)
		return NULL;
	blk->head = 0;
	blk->tail = 0;
	return blk;
}

/**
 * sdp_pages_init - receive into this queue
 * @conn: connection whose shared link is about to be opened
 *
 * The socket may have another connection by now, or none: then it stays as it is, and
 * the result is -ENOTCONN.
 *
 * Context: process.
 *
 * Return: 0 or -ENOTCONN.
 */
int sdp_pages_init(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_rx_pages *q = &sdp->rx_pages;
	int err = -ENOTCONN;

	BUILD_BUG_ON(sizeof(struct sdp_rx_block) > 2048);
	BUILD_BUG_ON(SDP_PAGES_ROOM > SDP_RX_FRAGS);
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn) {
		q->last = &sdp_rx_none;
		q->paused = false;
		q->starved = false;
		q->waits = false;
		sdp->rxq = &sdp_rxq_shared;
		err = 0;
	}
	spin_unlock_bh(&sdp->lock);
	return err;
}

/**
 * sdp_pages_undo - the shared link could not be opened
 * @conn: connection; nothing was received since sdp_pages_init()
 *
 * Context: process; takes sdp->lock.
 */
void sdp_pages_undo(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn) {
		sdp->rx_pages.last = NULL;
		sdp->rxq = &sdp_rxq_verbs;
	}
	spin_unlock_bh(&sdp->lock);
}

/**
 * sdp_pages_rcvbuf - pass SO_RCVBUF on to the provider
 * @conn: connection with a shared link
 *
 * Half of sk_rcvbuf is for overhead, as with TCP. If the program has not set it, the
 * provider chooses (0).
 *
 * Context: process, no spinlock held; a caller that is not setting up the connection
 * has lock_sock.
 */
void sdp_pages_rcvbuf(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;
	u32 size = READ_ONCE(sk->sk_rcvbuf);

	sdp_sk(sk)->rx_pages.rcvbuf = size;
	conn->stack->rx_buffer(conn->qp, sk->sk_userlocks & SOCK_RCVBUF_LOCK ?
			       size / 2 : 0);
}

/* ---- adding ---- */

/*
 * A new block at the end, or NULL without memory. Usually sdp_pages_full() has left a
 * spare one. But the provider may deliver more after it was paused, see
 * RDMA_STACK_RX_PAUSE.
 */
static struct sdp_rx_block *sdp_pages_more(struct sdp_rx_pages *q)
{
	struct sdp_rx_block *blk = q->spare;

	if (unlikely(!blk))
		blk = sdp_block_alloc(q);
	if (unlikely(!blk))
		return NULL;
	q->spare = NULL;
	list_add_tail(&blk->node, &q->blocks);
	q->last = blk;
	return blk;
}

/* The gaps of the @len bytes that remain after the first @skip bytes */
static struct rdma_stack_gaps sdp_gaps_rest(const struct rdma_stack_gaps *g,
					    u32 skip, u32 len)
{
	struct rdma_stack_gaps rest = { .step = g->step };
	u32 span = rdma_stack_gaps_span(g, skip);

	if (span < len)
		rest.head = span;
	return rest;
}

/*
 * Queue a piece of a page; false without memory. Pieces of one page in a row share
 * one reference, which the last of them holds. A reader may look at the earlier entries
 * meanwhile: of these only the length may change, and @held, which it reads
 * under sdp->lock.
 */
static __always_inline bool sdp_pages_ref(struct sdp_rx_pages *q,
					  struct page *page, u32 off, u32 len,
					  struct rdma_stack_gaps gaps)
{
	struct sdp_rx_block *blk = q->last;
	u32 tail = blk->tail;
	struct sdp_rx_frag *f;

	if (unlikely(tail == SDP_RX_FRAGS)) {
		blk = sdp_pages_more(q);
		if (unlikely(!blk))
			return false;
		tail = 0;
	}
	f = &blk->frag[tail];
	if (tail > blk->head && f[-1].page == page) {
		if (!f[-1].gaps.head && !gaps.head &&
		    f[-1].off + f[-1].len == off) {
			WRITE_ONCE(f[-1].len, f[-1].len + len);
			return true;
		}
		/* the reference moves to the new entry */
		f[-1].held = false;
	} else {
		get_page(page);
	}
	f->page = page;
	f->off = off;
	f->len = len;
	f->gaps = gaps;
	f->held = true;
	blk->tail = tail + 1;
	return true;
}

/*
 * Ensure that q->merge has room to copy into; false without memory. If the queue has
 * the only reference, all of the page was read, and it is used again.
 */
static bool sdp_pages_merge_page(struct sdp_rx_pages *q)
{
	if (q->merge && page_count(q->merge) == 1) {
		q->merged = 0;
		return true;
	}
	if (q->merge && q->merged < PAGE_SIZE)
		return true;
	if (q->merge)
		put_page(q->merge);
	q->merge = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	q->merged = 0;
	return q->merge;
}

/* One run from byte @skip on, copied without its gaps; false without memory */
static bool sdp_pages_copy(struct sdp_rx_pages *q,
			   const struct rdma_stack_run *run, u32 skip)
{
	struct rdma_stack_gaps none = { 0 };
	u32 n;

	for (; skip < run->len; skip += n) {
		if (!sdp_pages_merge_page(q))
			return false;
		n = min3(run->len - skip, (u32)PAGE_SIZE - q->merged,
			 rdma_stack_gaps_span(&run->gaps, skip));
		memcpy(page_address(q->merge) + q->merged, run->data +
		       rdma_stack_gaps_off(&run->gaps, skip), n);
		if (!sdp_pages_ref(q, q->merge, q->merged, n, none))
			return false;
		q->merged += n;
	}
	return true;
}

/* One run from byte @skip on, by reference; false without memory */
static bool sdp_pages_run(struct sdp_rx_pages *q,
			  const struct rdma_stack_run *run, u32 skip)
{
	u32 len = run->len - skip;

	if (likely(!skip))
		return sdp_pages_ref(q, run->page, run->off, len, run->gaps);
	return sdp_pages_ref(q, run->page,
			     run->off + rdma_stack_gaps_off(&run->gaps, skip),
			     len, sdp_gaps_rest(&run->gaps, skip, len));
}

/*
 * The bulk of a long message: whole runs by reference, as far as the last block has
 * room. Does what sdp_pages_ref() would do for each, with fewer checks: the block has
 * an entry already (f[-1]), and runs with gaps never join the previous entry. Returns
 * the first run that it does not take. A function of its own, for the loop to have
 * all registers.
 */
static noinline const struct rdma_stack_run *
sdp_pages_bulk(struct sdp_rx_pages *q, const struct rdma_stack_run *run,
	       const struct rdma_stack_run *end)
{
	struct sdp_rx_block *blk = q->last;
	struct sdp_rx_frag *f = &blk->frag[blk->tail];
	const struct sdp_rx_frag *last = &blk->frag[SDP_RX_FRAGS];

	if (blk->head == blk->tail)
		return run;
	for (; run < end && f < last; run++, f++) {
		struct page *page = run->page;

		if (!page || PageHighMem(page) || !run->gaps.head)
			break;
		if (f[-1].page == page)
			f[-1].held = false;
		else
			get_page(page);
		f->page = page;
		f->off = run->off;
		f->len = run->len;
		f->gaps = run->gaps;
		f->held = true;
	}
	blk->tail = f - blk->frag;
	return run;
}

/*
 * Double the receive buffer, up to @limit and the largest value of net.sdp.rmem,
 * unless the program has set its size. It may do so now, under lock_sock, which reception
 * does not hold. setsockopt() sets the bit before the size, but without a barrier: a
 * processor with weak order may still show the new size first.
 */
static void sdp_pages_grow(struct sock *sk, u32 limit)
{
	u32 max = READ_ONCE(sdp_pernet(sock_net(sk))->sysctl_rmem[2]);
	u32 size = READ_ONCE(sk->sk_rcvbuf);

	max = min(max, limit);
	smp_rmb();	/* the size before the bit */
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK) && size < max)
		cmpxchg(&sk->sk_rcvbuf, size, min(2 * size, max));
}

/*
 * Data has come for a reader that had emptied the queue after the provider was
 * paused. If the reader has waited for it longer than it took to read a full buffer,
 * the buffer is too small for the path, and grows. Otherwise a larger one would not
 * help the reader, and its data would have left the caches before they are read.
 */
static void sdp_pages_waited(struct sock *sk, struct sdp_rx_pages *q)
{
	q->waits = false;
	if (ktime_get_ns() - q->since > q->busy)
		sdp_pages_grow(sk, U32_MAX);
}

/**
 * sdp_pages_add - queue payload
 * @sdp: socket
 * @rx: the provider's runs
 * @skip: bytes at its front that are no payload
 * @merge: largest payload to be copied instead of referenced; and that only if it
 *	   fills less than half of its memory and the queue holds more than half of
 *	   the receive buffer
 *
 * As in TCP such a copy, besides the one to the reader, is made only when memory runs
 * short. Pages that may not be referenced are copied as well. The caller moves rx_seq.
 *
 * Context: sdp->lock.
 *
 * Return: false if the queue was purged, or without memory, when a part may be queued:
 * the caller resets the connection.
 */
bool sdp_pages_add(struct sdp_sock *sdp, const struct rdma_stack_rx *rx,
		   u32 skip, u32 merge)
{
	const struct rdma_stack_run *run, *end = &rx->run[rx->nr];
	u32 len = rx->len - skip, copied = 0;
	struct sdp_rx_pages *q = &sdp->rx_pages;
	struct net *net = sock_net(&sdp->inet.sk);
	bool small;

	lockdep_assert_held(&sdp->lock);
	if (!q->last)
		return false;
	if (unlikely(q->waits))
		sdp_pages_waited(&sdp->inet.sk, q);
	small = len <= merge && 2 * len < rx->truesize &&
		q->charge > (u32)READ_ONCE(sdp->inet.sk.sk_rcvbuf) / 2;
	for (run = rx->run; run < end; run++) {
		if (skip >= run->len) {
			skip -= run->len;
			continue;
		}
		if (likely(!small && !skip && run->gaps.head)) {
			run = sdp_pages_bulk(q, run, end);
			if (run == end)
				break;
		}
		if (!small && run->page && !PageHighMem(run->page)) {
			if (!sdp_pages_run(q, run, skip))
				return false;
		} else {
			if (!sdp_pages_copy(q, run, skip))
				return false;
			copied += run->len - skip;
		}
		skip = 0;
	}
	if (copied) {
		SDP_INC_STATS(net, RX_MERGED);
		SDP_ADD_STATS(net, RX_MERGED_BYTES, copied);
	}
	q->charge += copied == len ? len : max(rx->truesize, len);
	return true;
}

/* Is there room for another call of the provider? Allocates a block if needed. */
static bool sdp_pages_room(struct sdp_rx_pages *q)
{
	if (q->spare)
		return true;
	if (SDP_RX_FRAGS - q->last->tail >= SDP_PAGES_ROOM)
		return true;
	q->spare = sdp_block_alloc(q);
	return q->spare;
}

/**
 * sdp_pages_wake - something is about to come, perhaps the first since sdp_pages_idle()
 * @conn: connection with a shared link
 *
 * Context: provider's TCP lock; takes sdp->lock.
 *
 * Return: whether there is room for a call of the provider.
 */
bool sdp_pages_wake(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool room = true;

	spin_lock(&sdp->lock);
	/* Another connection's queue, or one that was purged, gets nothing */
	if (sdp->conn == conn && sdp->rx_pages.last)
		room = sdp_pages_room(&sdp->rx_pages);
	spin_unlock(&sdp->lock);
	if (!room)
		__SDP_INC_STATS(sock_net(conn->sk), RX_NO_MEM);
	return room;
}

/**
 * sdp_pages_idle - nothing has come for a while: free what an empty queue keeps
 * @sdp: socket with a shared link
 *
 * A reader does not look into a queue that is empty.
 *
 * Context: sdp->lock.
 */
void sdp_pages_idle(struct sdp_sock *sdp)
{
	struct sdp_rx_pages *q = &sdp->rx_pages;
	struct sdp_rx_block *blk;

	lockdep_assert_held(&sdp->lock);
	if (!q->last)
		return;
	if (!list_empty(&q->blocks)) {
		blk = list_first_entry(&q->blocks, struct sdp_rx_block, node);
		if (!list_is_singular(&q->blocks) || blk->head != blk->tail)
			return;
		list_del(&blk->node);
		kfree(blk);
	}
	q->last = &sdp_rx_none;
	kfree(q->spare);
	q->spare = NULL;
	if (q->merge)
		put_page(q->merge);
	q->merge = NULL;
}

/**
 * sdp_pages_full - whether the provider has to pause
 * @sk: socket
 *
 * If so, sdp_shared_consume() resumes it when no more than half of the buffer is in
 * use and there is a block for what comes.
 *
 * Context: sdp->lock, after sdp_pages_add().
 */
bool sdp_pages_full(struct sock *sk)
{
	struct sdp_rx_pages *q = &sdp_sk(sk)->rx_pages;

	lockdep_assert_held(&sdp_sk(sk)->lock);
	/* purged: the connection is on its way out */
	if (!q->last)
		return true;
	/* do not pause with an empty queue: no reader would resume the provider */
	if (q->charge < (u32)READ_ONCE(sk->sk_rcvbuf) &&
	    (sdp_pages_room(q) || list_empty(&q->blocks)))
		return false;
	if (!q->paused) {
		SDP_INC_STATS(sock_net(sk), RX_PAUSES);
		q->since = ktime_get_ns();
	}
	WRITE_ONCE(q->paused, true);
	q->starved = true;
	q->waits = false;
	return true;
}

/* ---- reading ---- */

/*
 * @len bytes, which the queue has, from fragment number *@i of a block on to a user
 * address, as far as sdp_gaps_put() takes them and the block has them. If not all are
 * copied, *@i becomes the fragment that is next. A function of its own, for the loop
 * to have all registers. Returns how many were copied.
 */
static noinline u32 sdp_frags_put(const struct sdp_rx_block *blk, u32 *i,
				  void __user *user, u32 len)
{
	const struct sdp_rx_frag *f = &blk->frag[*i];
	const struct sdp_rx_frag *end = &blk->frag[SDP_RX_FRAGS];
	u32 n, left = len;
	const u8 *p;

	for (; left && f < end; f++) {
		n = min(READ_ONCE(f->len), left);
		p = page_address(f->page) + f->off;
		if (unlikely(!sdp_gaps_put(user, p, n, &f->gaps)))
			break;
		user += n;
		left -= n;
	}
	*i = f - blk->frag;
	return len - left;
}

/* The same to the kernel's memory */
static noinline u32 sdp_frags_take(const struct sdp_rx_block *blk, u32 *i,
				   void *to, u32 len)
{
	const struct sdp_rx_frag *f = &blk->frag[*i];
	const struct sdp_rx_frag *end = &blk->frag[SDP_RX_FRAGS];
	u32 n, left = len;

	for (; left && f < end; f++) {
		n = min(READ_ONCE(f->len), left);
		sdp_gaps_take(to, page_address(f->page) + f->off, n, &f->gaps);
		to += n;
		left -= n;
	}
	*i = f - blk->frag;
	return len - left;
}

/*
 * @len bytes of a fragment, from byte @skip on, to @user, or to @to if that is NULL.
 * Returns how many were copied, fewer after a fault.
 */
static u32 sdp_frag_out(const struct sdp_rx_frag *f, u32 skip, u32 len,
			void __user *user, struct iov_iter *to)
{
	const u8 *p = page_address(f->page) + f->off +
		      rdma_stack_gaps_off(&f->gaps, skip);
	u32 span = min(rdma_stack_gaps_span(&f->gaps, skip), len);
	u32 done = 0, n, got;

	for (;;) {
		n = min(len - done, span);
		if (user) {
			instrument_copy_to_user(user + done, p, n);
			got = n - raw_copy_to_user(user + done, p, n);
		} else {
			got = copy_to_iter(p, n, to);
		}
		done += got;
		if (got != n || done == len)
			return done;
		p += n + RDMA_STACK_GAP;
		span = f->gaps.step;
	}
}

/*
 * struct sdp_rxq_ops.copy
 *
 * Context: lock_sock, page faults disabled.
 */
u32 sdp_shared_copy(struct sock *sk, u32 seq, u32 len, struct iov_iter *to)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 skip = seq - sdp->copied_seq, done = 0, i, n, got;
	void __user *user = sdp_iter_user(to, len);
	struct sdp_rx_block *blk;
	void *kernel;

	might_fault();
	blk = list_first_entry(&sdp->rx_pages.blocks, struct sdp_rx_block,
			       node);
	for (i = blk->head; done < len;) {
		struct sdp_rx_frag *f;

		if (i == SDP_RX_FRAGS) {
			blk = list_next_entry(blk, node);
			i = blk->head;
		}
		if (likely(user && !skip)) {
			done += sdp_frags_put(blk, &i, user + done, len - done);
			if (done == len || i == SDP_RX_FRAGS)
				continue;
		}
		kernel = user || skip ? NULL : sdp_iter_kernel(to, len - done);
		if (kernel) {
			n = sdp_frags_take(blk, &i, kernel, len - done);
			iov_iter_advance(to, n);
			done += n;
			continue;
		}
		f = &blk->frag[i];
		n = READ_ONCE(f->len);
		i++;
		if (unlikely(skip >= n)) {
			skip -= n;
			continue;
		}
		n = min(n - skip, len - done);
		got = sdp_frag_out(f, skip, n, user ? user + done : NULL, to);
		done += got;
		if (unlikely(got != n))
			break;
		skip = 0;
	}
	if (likely(user))
		iov_iter_advance(to, done);
	return done;
}

/* struct sdp_rxq_ops.find. Context: lock_sock. */
static u32 sdp_shared_find(struct sock *sk, u32 seq, struct sdp_rx_run *run)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 skip = seq - sdp->copied_seq, i;
	struct sdp_rx_block *blk;

	list_for_each_entry(blk, &sdp->rx_pages.blocks, node) {
		for (i = blk->head; i < READ_ONCE(blk->tail); i++) {
			const struct sdp_rx_frag *f = &blk->frag[i];
			u32 n = READ_ONCE(f->len);

			if (skip < n) {
				run->page = f->page;
				run->off = f->off +
					   rdma_stack_gaps_off(&f->gaps, skip);
				run->len = min(n - skip,
					       rdma_stack_gaps_span(&f->gaps,
								    skip));
				return run->len;
			}
			skip -= n;
		}
	}
	return 0;
}

/* ---- removing ---- */

/*
 * All of the first block was read. The only one stays in the queue, empty. Another one becomes
 * the spare one, or is freed.
 */
static void sdp_block_put(struct sdp_rx_pages *q, struct sdp_rx_block *blk)
{
	blk->head = 0;
	blk->tail = 0;
	if (list_is_singular(&q->blocks)) {
		/* the queue is empty, and may stay so for long: save memory */
		kfree(q->spare);
		q->spare = NULL;
		return;
	}
	list_del(&blk->node);
	if (q->spare)
		kfree(blk);
	else
		q->spare = blk;
}

/* Drop @len bytes, or as many as it has, from the first block; returns how many. */
static u32 sdp_block_drop(struct sdp_rx_pages *q, u32 len)
{
	struct sdp_rx_block *blk;
	u32 left = len;

	blk = list_first_entry(&q->blocks, struct sdp_rx_block, node);
	while (left && blk->head < blk->tail) {
		struct sdp_rx_frag *f = &blk->frag[blk->head];

		if (left < f->len) {
			f->off += rdma_stack_gaps_off(&f->gaps, left);
			f->len -= left;
			f->gaps = sdp_gaps_rest(&f->gaps, left, f->len);
			return len;
		}
		left -= f->len;
		if (f->held)
			put_page(f->page);
		blk->head++;
	}
	if (blk->head == blk->tail)
		sdp_block_put(q, blk);
	return len - left;
}

/*
 * @len of @queued bytes were read. Uncharge in proportion: which of the memory was
 * charged for them is not known any more.
 */
static void sdp_pages_uncharge(struct sdp_rx_pages *q, u32 len, u32 queued)
{
	if (len == queued)
		q->charge = 0;
	else
		q->charge -= (u32)div_u64((u64)q->charge * len, queued);
}

/* Uncharge the read part of @left. Context: sdp->lock, and lock_sock or no users. */
static void sdp_pages_uncharge_left(struct sdp_sock *sdp)
{
	struct sdp_rx_pages *q = &sdp->rx_pages;
	u32 size = PAGE_ALIGN(q->charge);

	lockdep_assert_held(&sdp->lock);
	if (q->left <= size)
		return;
	sk_mem_uncharge(&sdp->inet.sk, q->left - size);
	q->left = size;
}

/*
 * The reader has emptied the queue, after the provider was paused. A small buffer
 * grows: the reader is faster. Of a large one, note how long the reader took for it,
 * for sdp_pages_waited().
 */
static void sdp_pages_emptied(struct sock *sk, struct sdp_rx_pages *q)
{
	u64 now;

	q->starved = false;
	if (READ_ONCE(sk->sk_rcvbuf) < SDP_BUF_WARM) {
		sdp_pages_grow(sk, SDP_BUF_WARM);
		return;
	}
	now = ktime_get_ns();
	q->waits = true;
	q->busy = now - q->since;
	q->since = now;
}

/* struct sdp_rxq_ops.consume. Context: lock_sock. */
void sdp_shared_consume(struct sock *sk, u32 len)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_pages *q = &sdp->rx_pages;
	struct sdp_conn *conn = sdp->conn;
	bool resume = false;
	u32 left = len;

	spin_lock_bh(&sdp->lock);
	sdp_pages_uncharge(q, len, sdp->rx_seq - sdp->copied_seq);
	if (unlikely(q->left))
		sdp_pages_uncharge_left(sdp);
	if (unlikely(q->starved) && !q->charge)
		sdp_pages_emptied(sk, q);
	while (left)
		left -= sdp_block_drop(q, left);
	WRITE_ONCE(sdp->copied_seq, sdp->copied_seq + len);
	if (unlikely(q->paused) &&
	    q->charge <= (u32)READ_ONCE(sk->sk_rcvbuf) / 2 &&
	    sdp_pages_room(q)) {
		WRITE_ONCE(q->paused, false);
		resume = true;
	}
	spin_unlock_bh(&sdp->lock);
	if (!conn || !test_bit(SDP_CONN_SHARED, &conn->flags))
		return;
	if (unlikely(q->rcvbuf != READ_ONCE(sk->sk_rcvbuf)))
		sdp_pages_rcvbuf(conn);
	if (unlikely(resume))
		conn->stack->rx_resume(conn->qp);
}

/*
 * struct sdp_rxq_ops.purge. Nothing is queued afterwards: sdp_pages_add() fails
 * when sdp_rx_pages.last is NULL.
 */
static void sdp_shared_purge(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_pages *q = &sdp->rx_pages;
	struct sdp_rx_block *blk, *tmp;

	spin_lock_bh(&sdp->lock);
	list_for_each_entry_safe(blk, tmp, &q->blocks, node) {
		for (; blk->head < blk->tail; blk->head++)
			if (blk->frag[blk->head].held)
				put_page(blk->frag[blk->head].page);
		list_del(&blk->node);
		kfree(blk);
	}
	kfree(q->spare);
	q->spare = NULL;
	q->last = NULL;
	if (q->merge)
		put_page(q->merge);
	q->merge = NULL;
	q->charge = 0;
	sdp_pages_uncharge_left(sdp);
	WRITE_ONCE(q->paused, false);
	sdp_sock_read_all(sdp);
	spin_unlock_bh(&sdp->lock);
}

/*
 * struct sdp_rxq_ops.orphan. The pages outlive the connection, and the provider does not charge
 * its transport for them any more. So charge the socket, as TCP does for its receive queue. Up
 * to here they were within the limits of TCP.
 */
static void sdp_shared_orphan(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_pages *q = &sdp->rx_pages;
	u32 size;

	/* sk_forward_alloc is the owner's */
	sock_owned_by_me(sk);
	spin_lock_bh(&sdp->lock);
	size = PAGE_ALIGN(q->charge);
	if (size && __sk_mem_schedule(sk, size, SK_MEM_RECV)) {
		sk_mem_charge(sk, size);
		q->left = size;
	}
	spin_unlock_bh(&sdp->lock);
}

const struct sdp_rxq_ops sdp_rxq_shared = {
	.find		= sdp_shared_find,
	.copy		= sdp_shared_copy,
	.consume	= sdp_shared_consume,
	.purge		= sdp_shared_purge,
	.orphan		= sdp_shared_orphan,
};
