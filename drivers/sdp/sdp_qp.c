// SPDX-License-Identifier: GPL-2.0
/*
 * Lower edge of a verbs link: queue pair, completion queue, buffers mapped for the device,
 * posting. A shared link uses the queue pair, and probes. Calls the verbs, sdp_mem.c to
 * charge memory, and sdp_tx_pages.c for payload that is sent by reference.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "sdp.h"
#include "sdp_mem.h"
#include "sdp_mib.h"
#include "sdp_verbs.h"

#define SDP_RECV_BATCH	8	/* receives posted by one call */
#define SDP_RX_GROW	4	/* receives added at a time */
#define SDP_RX_AGAIN	(HZ / 50)	/* until a failed allocation is tried again */
#define SDP_RX_LIMITED	(HZ / 4)	/* the same under pressure of net.sdp.mem */
#define SDP_MAP_MIN	2U	/* mapped buffers, however small SO_RCVBUF is */
#define SDP_DRAIN_WRS	2	/* of each queue; ib_drain_qp() posts one there */
#define SDP_PROBE_WRS	1
/* all that a shared link posts, for draining and probes; the provider rounds to powers of two */
#define SDP_SHARED_SQ	(1 + SDP_PROBE_WRS)
#define SDP_SHARED_RQ	1

/*
 * Receives that a connection of this socket may have: as many as SO_RCVBUF asks
 * for, and a quarter more since messages do not fill them. Receives for control
 * messages are added (see sdp_fc_credit.c). If the program has not set
 * SO_RCVBUF, at least the initial number.
 */
static u32 sdp_qp_rx_bufs(const struct sock *sk, u32 size)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	u32 n = (u32)READ_ONCE(sk->sk_rcvbuf) / size;

	n += n / 4 + SDP_MIN_RX_BUFS / 2;
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
		n = max_t(u32, n, READ_ONCE(sn->sysctl_rx_bufs_min));
	n = min_t(u32, n, READ_ONCE(sn->sysctl_rx_bufs_max));
	return clamp_t(u32, n, SDP_MIN_RX_BUFS, SDP_MAX_RX_BUFS);
}

/**
 * sdp_qp_rx_limit - receives that a connection may have now
 * @conn: connection
 *
 * Buffers that are mapped to the program lower it, but not below SDP_MIN_RX_BUFS.
 */
u32 sdp_qp_rx_limit(const struct sdp_conn *conn)
{
	u32 n = sdp_qp_rx_bufs(conn->sk, conn->rx_size);
	u32 mapped = READ_ONCE(sdp_sk(conn->sk)->nmapped);

	return n < mapped + SDP_MIN_RX_BUFS ? SDP_MIN_RX_BUFS : n - mapped;
}

/**
 * sdp_qp_rx_mappable - buffers that may be mapped to the program at a time
 * @sk: socket
 *
 * The remaining buffers are enough for the connection to continue.
 *
 * Context: lock_sock.
 */
u32 sdp_qp_rx_mappable(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 n = sdp_qp_rx_bufs(sk, conn ? conn->rx_size : SDP_BUF_SIZE);

	return max(n - SDP_MIN_RX_BUFS, SDP_MAP_MIN);
}

/* A page for one receive, charged; NULL without memory. @must: as sdp_mem_charge_rx(). */
static struct page *sdp_qp_rx_get(struct sdp_conn *conn, gfp_t gfp, bool must)
{
	struct page *page;

	if (!sdp_mem_charge_rx(conn->sk, SDP_BUF_TRUESIZE, must))
		return NULL;
	page = alloc_pages(gfp | __GFP_ACCOUNT | __GFP_COMP | __GFP_NOWARN,
			   SDP_BUF_ORDER);
	if (!page)
		sdp_mem_uncharge_rx(conn->sk, SDP_BUF_TRUESIZE);
	return page;
}

/**
 * sdp_qp_rx_put - a page of a receive buffer is not needed any more
 * @sk: socket
 * @page: page, to which others (a pipe, a mapping of the program) may have references
 *
 * Context: any.
 */
void sdp_qp_rx_put(struct sock *sk, struct page *page)
{
	put_page(page);
	sdp_mem_uncharge_rx(sk, SDP_BUF_TRUESIZE);
}

/**
 * sdp_qp_rx_alloc - give a receive buffer a page
 * @conn: connection whose device it is for
 * @buf: buffer without a page
 *
 * The initial buffers are always allowed: sdp_verbs_start() has checked the limit.
 *
 * Context: process.
 *
 * Return: 0 or -ENOMEM.
 */
int sdp_qp_rx_alloc(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	bool must = conn->verbs->rx_nbufs < conn->rx_start;
	struct page *page;

	page = sdp_qp_rx_get(conn, GFP_KERNEL, must);
	if (!page)
		return -ENOMEM;
	sg_init_table(&buf->sg, 1);
	sg_set_page(&buf->sg, page, SDP_BUF_SIZE, 0);
	if (!ib_dma_map_sg(conn->dev, &buf->sg, 1, DMA_FROM_DEVICE)) {
		sdp_qp_rx_put(conn->sk, page);
		return -ENOMEM;
	}
	buf->page = page;
	return 0;
}

/**
 * sdp_qp_rx_unmap - take a receive buffer away from the device
 * @conn: connection whose device knows it
 * @buf: buffer; its page stays
 *
 * Received data was synced to the CPU when it came, see sdp_verbs_rx_headers().
 * The CPU may have added to it since (sdp_verbs_rx_merge()) or mapped it into a
 * program: another sync would bring back what the device has written.
 *
 * Context: any; the buffer is not posted.
 */
void sdp_qp_rx_unmap(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	ib_dma_unmap_sg_attrs(conn->dev, &buf->sg, 1, DMA_FROM_DEVICE,
			      DMA_ATTR_SKIP_CPU_SYNC);
}

/*
 * Charge a page even beyond the limit? Unsent data may wait for credits that come after
 * the message. The page cannot wait until a reader frees another one, since the task that
 * reads may be the one that sends.
 */
static bool sdp_qp_rx_must(const struct sdp_verbs *v)
{
	return READ_ONCE(v->tx_unsent);
}

/* A page for the message that has come; with sdp_verbs.rx_lazy. Context: any. */
static struct page *sdp_qp_rx_page(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct mem_cgroup *old;
	unsigned long flags;
	struct page *page;

	spin_lock_irqsave(&v->rx_lock, flags);
	page = list_first_entry_or_null(&v->rx_spare, struct page, lru);
	if (page)
		list_del(&page->lru);
	spin_unlock_irqrestore(&v->rx_lock, flags);
	if (likely(page))
		return page;
	old = sdp_sock_charge(conn->sk);
	page = sdp_qp_rx_get(conn, GFP_NOWAIT, sdp_qp_rx_must(v));
	set_active_memcg(old);
	return page;
}

/*
 * rdma_stack_link.rx_memory: a message with payload takes a receive. Without memory it
 * waits until sdp_qp_rx_supply() has found some.
 */
static bool sdp_qp_rx_fill(struct ib_cqe *cqe, struct ib_sge *sge)
{
	struct sdp_rx_buf *buf = container_of(cqe, struct sdp_rx_buf, cqe);
	struct sdp_conn *conn = buf->conn;
	struct sdp_verbs *v = conn->verbs;
	struct page *page;

	page = sdp_qp_rx_page(conn);
	if (unlikely(!page)) {
		/* queue once: sdp_qp_rx_supply() has kick_work retry until there is memory */
		if (!READ_ONCE(v->rx_lacks)) {
			WRITE_ONCE(v->rx_lacks, true);
			queue_work(sdp_wq(conn->sk), &conn->ctl_work);
		}
		return false;
	}
	sg_init_table(&buf->sg, 1);
	sg_set_page(&buf->sg, page, SDP_BUF_SIZE, 0);
	/* cannot fail: the device uses virtual addresses */
	ib_dma_map_sg(conn->dev, &buf->sg, 1, DMA_FROM_DEVICE);
	buf->page = page;
	sge->addr = sg_dma_address(&buf->sg);
	sge->length = conn->rx_size;
	sge->lkey = conn->pd->local_dma_lkey;
	return true;
}

/**
 * sdp_qp_rx_lazy - let receives get their pages when messages come, if the device can
 * @conn: connection with a queue pair, and no receives yet
 *
 * On other devices, and with a ring, receives have their memory at all times.
 *
 * Context: process; the connection is not up yet.
 */
void sdp_qp_rx_lazy(struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack = rdma_stack_get_link(conn->dev);

	if (conn->ring || !stack || !stack->rx_memory ||
	    !ib_uses_virt_dma(conn->dev))
		return;
	conn->verbs->rx_lazy = true;
	stack->rx_memory(conn->qp, sdp_qp_rx_fill);
}

/**
 * sdp_qp_queue_idle - memory is kept for traffic to come: queue idle_work, which frees it later
 * @conn: connection with buffers
 *
 * Context: any.
 */
void sdp_qp_queue_idle(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;

	if (likely(READ_ONCE(v->idle_due)))
		return;
	WRITE_ONCE(v->idle_due, true);
	queue_delayed_work(sdp_wq(conn->sk), &v->idle_work, SDP_IDLE);
}

/* Keep a page for a message to come. Context: any. */
static void sdp_qp_rx_keep(struct sdp_conn *conn, struct page *page)
{
	struct sdp_verbs *v = conn->verbs;
	unsigned long flags;

	spin_lock_irqsave(&v->rx_lock, flags);
	list_add(&page->lru, &v->rx_spare);
	spin_unlock_irqrestore(&v->rx_lock, flags);
	sdp_qp_queue_idle(conn);
}

/*
 * Keep or free a page that is not needed now. A message that waits for a page gets
 * it, see sdp_qp_rx_supply(). Context: any.
 */
static void sdp_qp_rx_spare(struct sdp_conn *conn, struct page *page)
{
	/* a pipe or a mapping of the program may still reference it */
	if (unlikely(page_count(page) != 1 || sdp_mem_short()))
		sdp_qp_rx_put(conn->sk, page);
	else
		sdp_qp_rx_keep(conn, page);
	if (unlikely(READ_ONCE(conn->verbs->rx_lacks)))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
}

/**
 * sdp_qp_rx_bare - take the page of a receive that is about to be posted, with rx_lazy
 * @conn: connection
 * @buf: buffer, empty, on no list
 *
 * sdp_qp_rx_fill() gives it a page again when a message comes.
 *
 * Context: any.
 */
void sdp_qp_rx_bare(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	struct page *page = buf->page;

	if (!conn->verbs->rx_lazy || !page)
		return;
	sdp_qp_rx_unmap(conn, buf);
	buf->page = NULL;
	sdp_qp_rx_spare(conn, page);
}

/**
 * sdp_qp_rx_supply - find memory for a message that waits for it
 * @conn: connection
 *
 * If there is none, kick_work tries again: after SDP_RX_AGAIN, or after SDP_RX_LIMITED
 * under pressure of net.sdp.mem. The limits of net.sdp.mem refuse a page only if the socket
 * has another one, which its reader is to free: then sdp_qp_rx_spare() or sdp_qp_rx_drop()
 * queues ctl_work at once, which calls this.
 *
 * Context: process, may sleep.
 */
void sdp_qp_rx_supply(struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack = rdma_stack_get_link(conn->dev);
	struct sdp_verbs *v = conn->verbs;
	struct page *page = NULL;

	if (!READ_ONCE(v->rx_lacks) || !stack)
		return;
	if (list_empty_careful(&v->rx_spare)) {
		page = sdp_qp_rx_get(conn, GFP_KERNEL, sdp_qp_rx_must(v));
		if (!page) {
			SDP_INC_STATS(sock_net(conn->sk), RX_NO_MEM);
			queue_delayed_work(sdp_wq(conn->sk), &conn->kick_work,
					   sdp_mem_short() ? SDP_RX_LIMITED :
							     SDP_RX_AGAIN);
			return;
		}
	}
	/* clear first: a message that finds no memory from now on sets it again */
	WRITE_ONCE(v->rx_lacks, false);
	if (page)
		sdp_qp_rx_keep(conn, page);
	stack->rx_again(conn->qp);
}

/**
 * sdp_qp_rx_trim - free pages that wait for messages
 * @conn: connection that has received nothing for a while, or ends
 *
 * Context: process.
 *
 * Return: whether there were any.
 */
bool sdp_qp_rx_trim(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct page *page, *tmp;
	LIST_HEAD(pages);

	spin_lock_irq(&v->rx_lock);
	list_splice_init(&v->rx_spare, &pages);
	spin_unlock_irq(&v->rx_lock);
	if (list_empty(&pages))
		return false;
	list_for_each_entry_safe(page, tmp, &pages, lru)
		sdp_qp_rx_put(conn->sk, page);
	return true;
}

/* Free the page of a buffer that is not posted, and do not count the buffer any more. */
static void sdp_qp_rx_drop(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	if (buf->page) {
		sdp_qp_rx_unmap(conn, buf);
		sdp_qp_rx_put(conn->sk, buf->page);
		buf->page = NULL;
	}
	spin_lock_bh(&conn->tx_lock);
	buf->used = false;
	conn->verbs->rx_nbufs--;
	spin_unlock_bh(&conn->tx_lock);
	if (unlikely(READ_ONCE(conn->verbs->rx_lacks)))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
}

/* Count a buffer that has a page, or gets one later, as one of the connection. */
static void sdp_qp_rx_use(struct sdp_conn *conn, struct sdp_rx_buf *buf, bool post)
{
	struct sdp_verbs *v = conn->verbs;

	spin_lock_bh(&conn->tx_lock);
	buf->used = true;
	v->rx_nbufs++;
	if (post)
		list_add_tail(&buf->node, &v->rx_free);
	spin_unlock_bh(&conn->tx_lock);
}

/*
 * With too few receives no message arrives, so no reader tries to allocate memory
 * again: kick_work does so from time to time. Context: lock_sock held.
 */
static void sdp_qp_rx_short(struct sdp_conn *conn)
{
	if (conn->verbs->rx_nbufs < SDP_MIN_RX_BUFS)
		queue_delayed_work(sdp_wq(conn->sk), &conn->kick_work,
				   SDP_RX_AGAIN);
}

/**
 * sdp_qp_rx_renew - make a buffer that was read fit for posting
 * @conn: connection
 * @buf: buffer, empty, on no list
 *
 * If the connection has more buffers than SO_RCVBUF allows, the buffer loses its page;
 * mapped pages count. A page with other references (a pipe, after splice; a program that
 * has it mapped) is replaced. With rx_lazy sdp_qp_rx_bare() does that.
 *
 * Context: lock_sock.
 *
 * Return: false if the buffer is not to be posted: it has no page, and does not count.
 */
bool sdp_qp_rx_renew(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	struct sdp_verbs *v = conn->verbs;

	if (unlikely(v->rx_nbufs > sdp_qp_rx_limit(conn))) {
		sdp_qp_rx_drop(conn, buf);
		return false;
	}
	if (v->rx_lazy || likely(page_count(buf->page) == 1))
		return true;
	sdp_qp_rx_drop(conn, buf);
	if (sdp_qp_rx_alloc(conn, buf)) {
		SDP_INC_STATS(sock_net(conn->sk), RX_NO_MEM);
		sdp_qp_rx_short(conn);
		return false;
	}
	sdp_qp_rx_use(conn, buf, false);
	return true;
}

/* Queue sizes of a verbs link for a number of sends in flight, and of receives */
static void sdp_qp_cap(const struct sdp_conn *conn, struct ib_qp_cap *cap,
		       u32 sends, u32 receives)
{
	cap->max_send_wr = sends + SDP_DRAIN_WRS + SDP_PROBE_WRS + SDP_ZC_WRS;
	/* a ring: an RDMA Write for each send, the registration */
	if (conn->terms.ext & SDP_EXT_RING)
		cap->max_send_wr += sends + 1;
	cap->max_recv_wr = receives + SDP_DRAIN_WRS;
	cap->max_send_sge = max(conn->tx_pieces + 1, 2U);
	cap->max_recv_sge = 2;
}

/* Queues of other sizes. Context: process; lock_sock, or nothing is posted yet. */
static int sdp_qp_resize(struct sdp_conn *conn, u32 sends, u32 receives)
{
	struct ib_qp_attr attr = { };

	sdp_qp_cap(conn, &attr.cap, sends, receives);
	return ib_modify_qp(conn->qp, &attr, IB_QP_CAP);
}

/**
 * sdp_qp_rx_add - add a segment of receive buffers, none of them in use
 * @conn: connection
 *
 * Context: lock_sock, or nothing is posted yet.
 *
 * Return: 0 or -ENOMEM.
 */
int sdp_qp_rx_add(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	u32 size = SDP_RX_SEG * v->rx_slot, i;
	struct sdp_rx_seg *seg;

	seg = kzalloc(sizeof(*seg), GFP_KERNEL_ACCOUNT);
	if (!seg)
		return -ENOMEM;
	seg->hdrs = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!seg->hdrs)
		goto err_seg;
	seg->dma = ib_dma_map_single(conn->dev, seg->hdrs, size, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(conn->dev, seg->dma))
		goto err_hdrs;
	for (i = 0; i < SDP_RX_SEG; i++) {
		struct sdp_rx_buf *buf = &seg->buf[i];

		buf->cqe.done = v->recv_done;
		buf->conn = conn;
		buf->hdr = seg->hdrs + i * v->rx_slot;
		buf->hdr_dma = seg->dma + i * v->rx_slot;
		INIT_LIST_HEAD(&buf->node);
	}
	v->rx_seg[conn->rx_max / SDP_RX_SEG] = seg;
	conn->rx_max += SDP_RX_SEG;
	return 0;

err_hdrs:
	kfree(seg->hdrs);
err_seg:
	kfree(seg);
	return -ENOMEM;
}

/* Make room for more receives. Returns 0 or an error. Context: lock_sock held. */
static int sdp_qp_rx_more(struct sdp_conn *conn)
{
	int err;

	if (conn->rx_max >= conn->rx_top)
		return -ENOSPC;
	err = sdp_qp_resize(conn, conn->verbs->tx.depth,
			    conn->rx_max + SDP_RX_SEG);
	return err ? : sdp_qp_rx_add(conn);
}

static void sdp_qp_rx_free_seg(struct sdp_conn *conn, struct sdp_rx_seg *seg)
{
	u32 i;

	for (i = 0; i < SDP_RX_SEG; i++) {
		if (!seg->buf[i].page)
			continue;
		sdp_qp_rx_unmap(conn, &seg->buf[i]);
		sdp_qp_rx_put(conn->sk, seg->buf[i].page);
	}
	ib_dma_unmap_single(conn->dev, seg->dma,
			    SDP_RX_SEG * conn->verbs->rx_slot, DMA_FROM_DEVICE);
	kfree(seg->hdrs);
	kfree(seg);
}

/**
 * sdp_qp_rx_free - free all receive buffers
 * @conn: connection without a queue pair
 *
 * Context: process.
 */
void sdp_qp_rx_free(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	u32 i;

	for (i = 0; i < SDP_RX_SEGS && v->rx_seg[i]; i++) {
		sdp_qp_rx_free_seg(conn, v->rx_seg[i]);
		v->rx_seg[i] = NULL;
	}
	sdp_qp_rx_trim(conn);
}

/**
 * sdp_qp_tx_alloc - make room for sends in flight
 * @conn: connection
 * @a: filled in
 * @depth: how many
 *
 * Context: process.
 *
 * Return: 0 or -ENOMEM, when nothing is allocated.
 */
int sdp_qp_tx_alloc(struct sdp_conn *conn, struct sdp_tx_area *a, u32 depth)
{
	u32 size = depth * SDP_CTL_SLOT, i;

	a->slot = kcalloc(depth, sizeof(*a->slot), GFP_KERNEL_ACCOUNT);
	a->hdrs = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!a->slot || !a->hdrs)
		goto err;
	a->dma = ib_dma_map_single(conn->dev, a->hdrs, size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->dev, a->dma))
		goto err;
	a->depth = depth;
	for (i = 0; i < depth; i++) {
		a->slot[i].cqe.done = conn->verbs->send_done;
		a->slot[i].conn = conn;
	}
	return 0;

err:
	kfree(a->slot);
	kfree(a->hdrs);
	a->slot = NULL;
	return -ENOMEM;
}

/**
 * sdp_qp_tx_free - free the memory of sdp_qp_tx_alloc()
 * @conn: connection
 * @a: that; there may be none
 *
 * Context: process.
 */
void sdp_qp_tx_free(struct sdp_conn *conn, struct sdp_tx_area *a)
{
	if (!a->slot)
		return;
	ib_dma_unmap_single(conn->dev, a->dma, a->depth * SDP_CTL_SLOT,
			    DMA_TO_DEVICE);
	kfree(a->slot);
	kfree(a->hdrs);
	a->slot = NULL;
}

/*
 * Use a larger area. Completions of sends in flight use the old slots, which stay
 * allocated. All other code uses the copies. Context: tx_lock held.
 */
static void sdp_qp_tx_use(struct sdp_conn *conn, const struct sdp_tx_area *a)
{
	struct sdp_verbs *v = conn->verbs;
	u32 i, mseq;

	lockdep_assert_held(&conn->tx_lock);
	for (i = 0; i < v->tx.depth; i++) {
		mseq = conn->tx_mseq - i;
		a->slot[mseq & (a->depth - 1)] = v->tx.slot[mseq & (v->tx.depth - 1)];
	}
	v->tx_first = v->tx;
	v->tx = *a;
}

/**
 * sdp_qp_tx_grow - make the send queue larger, if it was found full
 * @conn: connection
 *
 * Without memory it stays as it is. Each run of ctl_work tries again until idle_work
 * clears tx_grows. A queue that is full after that sets it again.
 *
 * Context: lock_sock. The caller kicks the engine.
 */
void sdp_qp_tx_grow(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_tx_area a = {};

	if (!READ_ONCE(v->tx_grows))
		return;
	if (v->tx.depth < SDP_SQ_DEPTH &&
	    !sdp_qp_tx_alloc(conn, &a, SDP_SQ_DEPTH) &&
	    sdp_qp_resize(conn, SDP_SQ_DEPTH, conn->rx_max))
		sdp_qp_tx_free(conn, &a);
	if (a.slot) {
		spin_lock_bh(&conn->tx_lock);
		sdp_qp_tx_use(conn, &a);
		v->tx_grows = false;
		spin_unlock_bh(&conn->tx_lock);
	}
	sdp_qp_queue_idle(conn);
}

/**
 * sdp_qp_tx_shrink - make the send queue as small as it was at first
 * @conn: connection that has sent nothing for a while
 *
 * Context: lock_sock.
 *
 * Return: whether it is larger, and in use.
 */
bool sdp_qp_tx_shrink(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_tx_area a = {};

	spin_lock_bh(&conn->tx_lock);
	if (v->tx_first.slot && !v->tx_grows && conn->tx_mseq == v->tx_done &&
	    conn->tx_mseq == v->tx_acct) {
		a = v->tx;
		v->tx = v->tx_first;
		v->tx_first.slot = NULL;
	}
	spin_unlock_bh(&conn->tx_lock);
	if (!a.slot)
		return v->tx_first.slot;
	/* if this fails, the queue is larger than needed, which does no harm */
	sdp_qp_resize(conn, v->tx.depth, conn->rx_max);
	sdp_qp_tx_free(conn, &a);
	return false;
}

/**
 * sdp_qp_rx_left - receives that may be added to those of a connection
 * @conn: connection
 *
 * Context: any; the answer may be stale at once.
 */
u32 sdp_qp_rx_left(const struct sdp_conn *conn)
{
	u32 limit = min(sdp_qp_rx_limit(conn), conn->rx_top);
	u32 have = READ_ONCE(conn->verbs->rx_nbufs);

	/* under pressure it does not grow, as TCP's windows do not */
	if (sdp_mem_short())
		limit = min(limit, conn->rx_start);
	return limit > have ? limit - have : 0;
}

/**
 * sdp_qp_rx_grow - add receives
 * @conn: connection
 *
 * SDP_RX_GROW of them at most, and as far as limits and memory allow.
 *
 * Context: lock_sock; the caller kicks the transmit engine.
 */
void sdp_qp_rx_grow(struct sdp_conn *conn)
{
	u32 n = min_t(u32, sdp_qp_rx_left(conn), SDP_RX_GROW), i;
	struct sdp_verbs *v = conn->verbs;

	for (i = 0; n; i++) {
		struct sdp_rx_buf *buf;

		if (i == conn->rx_max && sdp_qp_rx_more(conn))
			return;
		buf = sdp_rx_buf_at(v, i);
		if (buf->used)
			continue;
		if (!v->rx_lazy && sdp_qp_rx_alloc(conn, buf))
			return;
		sdp_qp_rx_use(conn, buf, true);
		n--;
	}
}

/**
 * sdp_qp_rx_refill - find memory that a connection needs to continue receiving
 * @conn: connection
 *
 * For a message that waits, and for SDP_MIN_RX_BUFS receives. As long as there is not enough,
 * kick_work calls this again.
 *
 * Context: process; takes lock_sock. The caller kicks the transmit engine.
 */
void sdp_qp_rx_refill(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct sock *sk = conn->sk;

	/* a ring needs no pages here, nor does a shared link */
	if (!v || !v->rx_seg[0] || conn->ring)
		return;
	sdp_qp_rx_supply(conn);
	if (READ_ONCE(v->rx_nbufs) >= SDP_MIN_RX_BUFS)
		return;
	lock_sock(sk);
	if (sdp_sk(sk)->conn == conn) {
		sdp_qp_rx_grow(conn);
		sdp_qp_rx_short(conn);
	}
	release_sock(sk);
}

/**
 * sdp_qp_create - make protection domain, completion queue and queue pair
 * @conn: connection; the link and the flow control that are wanted are known
 *
 * Context: process. After an error sdp_verbs_destroy() cleans up.
 *
 * Return: 0 or a negative errno.
 */
int sdp_qp_create(struct sdp_conn *conn)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
	};
	int err;

	/* the completion queue does not grow */
	sdp_qp_cap(conn, &attr.cap, SDP_SQ_DEPTH, sdp_qp_rx_segs(conn->rx_top));
	conn->pd = ib_alloc_pd(conn->dev, 0);
	if (IS_ERR(conn->pd)) {
		err = PTR_ERR(conn->pd);
		conn->pd = NULL;
		return err;
	}
	conn->nr_cqe = attr.cap.max_send_wr + attr.cap.max_recv_wr;
	/*
	 * With -1, the core assigns vectors round-robin over all devices. Two
	 * devices that connect to each other would take turns, so each would get
	 * every other vector only.
	 */
	conn->cq = ib_cq_pool_get(conn->dev, conn->nr_cqe,
				  get_random_u32() >> 1, IB_POLL_SOFTIRQ);
	if (IS_ERR(conn->cq)) {
		err = PTR_ERR(conn->cq);
		conn->cq = NULL;
		return err;
	}
	attr.send_cq = conn->cq;
	attr.recv_cq = conn->cq;
	sdp_qp_cap(conn, &attr.cap, conn->tx_start, conn->rx_max);
	/* the peer decides later whether there is a ring, and the sizes depend on that */
	if (test_bit(SDP_CONN_GROWS, &conn->flags) &&
	    conn->terms.ext & SDP_EXT_RING)
		set_bit(SDP_CONN_LEAN, &conn->flags);
	if (conn->stack) {
		attr.cap.max_send_wr = SDP_SHARED_SQ;
		attr.cap.max_recv_wr = SDP_SHARED_RQ;
		set_bit(SDP_CONN_LEAN, &conn->flags);
	}
	err = rdma_create_qp(conn->id, conn->pd, &attr);
	if (err)
		return err;
	conn->qp = conn->id->qp;
	return 0;
}

/**
 * sdp_qp_grow - give the queues the sizes of a verbs link
 * @conn: connection with a queue pair, its flow control known
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int sdp_qp_grow(struct sdp_conn *conn)
{
	int err;

	if (!test_bit(SDP_CONN_LEAN, &conn->flags))
		return 0;
	err = sdp_qp_resize(conn, conn->tx_start, conn->rx_max);
	if (!err)
		clear_bit(SDP_CONN_LEAN, &conn->flags);
	return err;
}

/**
 * sdp_qp_return_cqes - give back what only a verbs link needs
 * @conn: connection whose shared link is open
 *
 * Places in the completion queue, which connections share, were taken for
 * either case.
 *
 * Context: process.
 */
void sdp_qp_return_cqes(struct sdp_conn *conn)
{
	u32 keep = SDP_SHARED_SQ + SDP_SHARED_RQ;

	if (conn->nr_cqe <= keep)
		return;
	ib_cq_pool_put(conn->cq, conn->nr_cqe - keep);
	conn->nr_cqe = keep;
}

/**
 * sdp_qp_set_ip - pass the mark, priority, type of service and time to live of a socket to
 * the device
 * @conn: connection that has a queue pair, and is being set up or is established
 *
 * They are properties of the packets that leave from now on. The core changes the first two
 * without a call of the protocol, so each sendmsg() looks for changes. Not every device
 * supports this.
 *
 * Context: process; lock_sock, or the set-up of the connection.
 */
void sdp_qp_set_ip(struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack;
	const struct sock *sk = conn->sk;
	bool v6 = sdp_sk(sk)->peer.sa.sa_family == AF_INET6;
	struct rdma_stack_ip ip = {
		.mark = READ_ONCE(sk->sk_mark),
		.priority = READ_ONCE(sk->sk_priority),
		.tos = v6 ? READ_ONCE(sdp_sk(sk)->ip6_tclass) :
			    READ_ONCE(inet_sk(sk)->tos),
		.ttl = v6 ? READ_ONCE(sdp_sk(sk)->ip6_hops) :
			    READ_ONCE(inet_sk(sk)->uc_ttl),
	};

	if (likely(ip.mark == conn->ip.mark && ip.priority == conn->ip.priority &&
		   ip.tos == conn->ip.tos && ip.ttl == conn->ip.ttl))
		return;
	conn->ip = ip;
	stack = rdma_stack_get_link(conn->dev);
	if (stack && stack->set_ip)
		stack->set_ip(conn->qp, &ip);
}

static void sdp_qp_fill_recv(struct sdp_conn *conn, struct sdp_rx_buf *buf,
			     struct ib_recv_wr *wr, struct ib_sge *sge)
{
	u32 lkey = conn->pd->local_dma_lkey;
	struct sdp_verbs *v = conn->verbs;

	sge[0].addr = buf->hdr_dma;
	sge[0].length = SDP_BSDH_LEN;
	sge[0].lkey = lkey;
	wr->wr_cqe = &buf->cqe;
	wr->sg_list = sge;
	wr->num_sge = 1;
	/* all of the slot: extended headers were copied there */
	ib_dma_sync_single_for_device(conn->dev, sge[0].addr, v->rx_slot,
				      DMA_FROM_DEVICE);
	if (conn->ring) {
		sge[0].length = v->rx_slot;
		return;
	}
	/* see sdp_qp_rx_fill() */
	if (v->rx_lazy)
		return;
	sge[1].addr = sg_dma_address(&buf->sg);
	ib_dma_sync_single_for_device(conn->dev, sge[1].addr, SDP_BUF_SIZE,
				      DMA_FROM_DEVICE);
	sge[1].length = conn->rx_size;
	sge[1].lkey = lkey;
	wr->num_sge = 2;
}

static int sdp_qp_post_batch(struct sdp_conn *conn)
{
	struct ib_sge sge[SDP_RECV_BATCH][2];
	struct ib_recv_wr wr[SDP_RECV_BATCH];
	struct sdp_verbs *v = conn->verbs;
	struct sdp_rx_buf *buf;
	int n = 0, err;

	while (n < SDP_RECV_BATCH && !list_empty(&v->rx_free)) {
		buf = list_first_entry(&v->rx_free, struct sdp_rx_buf, node);
		list_del_init(&buf->node);
		if (n)
			wr[n - 1].next = &wr[n];
		sdp_qp_fill_recv(conn, buf, &wr[n], sge[n]);
		wr[n].next = NULL;
		n++;
	}
	err = ib_post_recv(conn->qp, wr, NULL);
	if (!err)
		v->rx_posted_total += n;
	return err;
}

/**
 * sdp_qp_post_recvs - post every receive buffer that is free
 * @conn: connection with a QP
 *
 * Context: tx_lock.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_qp_post_recvs(struct sdp_conn *conn)
{
	int err = 0;

	lockdep_assert_held(&conn->tx_lock);
	while (!err && !list_empty(&conn->verbs->rx_free))
		err = sdp_qp_post_batch(conn);
	return err;
}

/**
 * sdp_qp_payload - where the payload of a message is, for the device
 * @conn: connection
 * @m: message
 * @hdr: bytes of the header before it, which go along
 * @sge: filled in, SDP_TX_PIECES at most
 *
 * Context: tx_lock.
 *
 * Return: pieces.
 */
int sdp_qp_payload(struct sdp_conn *conn, const struct sdp_tx_msg *m, u32 hdr,
		   struct ib_sge *sge)
{
	if (!m->chunk->page)
		return sdp_ref_sge(m, sge);
	sge->addr = m->chunk->dma + m->off - hdr;
	sge->length = hdr + m->len;
	sge->lkey = conn->pd->local_dma_lkey;
	ib_dma_sync_single_for_device(conn->dev, sge->addr, sge->length,
				      DMA_TO_DEVICE);
	return 1;
}

/**
 * sdp_qp_header - the header of a message, in the slot of its send
 * @conn: connection
 * @slot: where the header was built
 * @len: bytes of it
 * @sge: filled in
 *
 * Context: tx_lock.
 */
void sdp_qp_header(struct sdp_conn *conn, const struct sdp_tx_slot *slot,
		   u32 len, struct ib_sge *sge)
{
	struct sdp_verbs *v = conn->verbs;
	u32 idx = slot - v->tx.slot;

	sge->addr = v->tx.dma + idx * SDP_CTL_SLOT;
	sge->length = len;
	sge->lkey = conn->pd->local_dma_lkey;
	ib_dma_sync_single_for_device(conn->dev, sge->addr, len, DMA_TO_DEVICE);
}

/**
 * sdp_qp_send - post one SDP message
 * @conn: connection
 * @slot: where its header was built, and its completion
 * @m: payload, or NULL; if not split the header was built before it
 * @hdr_len: bytes of the header
 * @signal: want a completion for it
 *
 * Context: tx_lock.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_qp_send(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		const struct sdp_tx_msg *m, u32 hdr_len, bool signal)
{
	struct ib_send_wr wr = {
		.wr_cqe = &slot->cqe,
		.opcode = IB_WR_SEND,
		.send_flags = signal ? IB_SEND_SIGNALED : 0,
	};
	bool own = !m || m->split;	/* header in the slot */
	struct ib_sge sge[SDP_TX_PIECES + 1];
	int n = 0;

	lockdep_assert_held(&conn->tx_lock);
	if (own)
		sdp_qp_header(conn, slot, hdr_len, &sge[n++]);
	if (m)
		n += sdp_qp_payload(conn, m, own ? 0 : hdr_len, &sge[n]);
	if (m && m->oob)
		wr.send_flags |= IB_SEND_SOLICITED;
	wr.sg_list = sge;
	wr.num_sge = n;
	return ib_post_send(conn->qp, &wr, NULL);
}

/**
 * sdp_qp_probe - post a request without bytes, to learn from its completion
 * @conn: connection
 * @alive: the peer must answer; else it is enough that what was posted before is
 *	   complete
 *
 * It transfers no bytes, and needs neither a credit nor a receive at the peer.
 * InfiniBand and RoCE acknowledge a Write. On iWARP one is complete when it has been
 * sent; a Read is answered by the peer's device (neither end validates an STag of no
 * bytes, RFC 5040, 5.2). siw answers a Read with a wrong length, that of the message that
 * it was sending, so Reads are sent to a silent peer only.
 *
 * Context: tx_lock.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_qp_probe(struct sdp_conn *conn, bool alive)
{
	bool iwarp = test_bit(SDP_CONN_IWARP, &conn->flags);
	struct ib_sge nothing = { .lkey = conn->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &conn->probe.cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	lockdep_assert_held(&conn->tx_lock);
	if (iwarp && alive) {
		wr.wr.opcode = IB_WR_RDMA_READ;
		wr.wr.sg_list = &nothing;
		wr.wr.num_sge = 1;
	}
	WRITE_ONCE(conn->probe.at, jiffies);
	WRITE_ONCE(conn->probe.state, alive || !iwarp ? SDP_PROBE_PROVES :
							SDP_PROBE_SETTLES);
	return ib_post_send(conn->qp, &wr.wr, NULL);
}

/* Pages of a send buffer, charged; NULL without memory */
static struct page *sdp_qp_tx_get(struct sdp_conn *conn, gfp_t gfp,
				  unsigned int order, bool must)
{
	struct page *page;

	if (!sdp_mem_charge_tx(conn->sk, PAGE_SIZE << order, must))
		return NULL;
	page = alloc_pages(gfp, order);
	if (!page)
		sdp_mem_uncharge_tx(conn->sk, PAGE_SIZE << order);
	return page;
}

static void sdp_qp_tx_put(struct sdp_conn *conn, struct sdp_chunk *c)
{
	put_page(c->page);
	sdp_mem_uncharge_tx(conn->sk, c->size);
	kfree(c);
}

/**
 * sdp_qp_chunk_alloc - get a send buffer
 * @conn: connection with a QP
 * @gfp: how to allocate
 * @must: as for sdp_mem_charge_tx()
 *
 * Its pages are SDP_BUF_TRUESIZE bytes, or a single page if so many are not free.
 *
 * Context: lock_sock, no spinlock if @gfp may sleep.
 *
 * Return: a chunk with one reference, or NULL.
 */
struct sdp_chunk *sdp_qp_chunk_alloc(struct sdp_conn *conn, gfp_t gfp, bool must)
{
	unsigned int order = SDP_BUF_ORDER;
	struct sdp_chunk *c;

	c = kmalloc(sizeof(*c), gfp);
	if (!c)
		return NULL;
	c->page = sdp_qp_tx_get(conn, (gfp & ~__GFP_DIRECT_RECLAIM) |
				__GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
				order, must);
	if (!c->page) {
		order = 0;
		c->page = sdp_qp_tx_get(conn, gfp, order, must);
	}
	if (!c->page) {
		kfree(c);
		return NULL;
	}
	c->size = PAGE_SIZE << order;
	c->dma = ib_dma_map_page(conn->dev, c->page, 0, c->size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->dev, c->dma)) {
		sdp_qp_tx_put(conn, c);
		return NULL;
	}
	c->used = 0;
	c->refs = 1;
	return c;
}

/**
 * sdp_qp_chunk_free - give a send buffer back
 * @conn: connection it was allocated for
 * @c: chunk, no longer referenced by any message
 *
 * Context: any.
 */
void sdp_qp_chunk_free(struct sdp_conn *conn, struct sdp_chunk *c)
{
	if (!c->page) {
		sdp_ref_free(conn, c);
		return;
	}
	ib_dma_unmap_page(conn->dev, c->dma, c->size, DMA_TO_DEVICE);
	sdp_qp_tx_put(conn, c);
}
