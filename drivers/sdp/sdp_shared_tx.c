// SPDX-License-Identifier: GPL-2.0
/*
 * Lower edge over a shared link: user data are copied once, into the pages of
 * the provider that go out. Also decides whether there is a shared link. Calls
 * struct rdma_stack_link, whose callbacks are here and in sdp_shared_rx.c; of SDP
 * sdp_rx_pages.c to make the receive queue, sdp_qp.c, sdp_conn.c and sdp_latency.c.
 *
 * A reservation of the provider is exclusive, so its holder owns tx_mseq and
 * tx.held: sendmsg (lock_sock, not tx_lock: it may be preempted while it
 * copies), or the engine (tx_lock). If the engine finds it taken, it leaves a
 * bit in tx_ctl; sendmsg checks tx_ctl when it is done. tx_commit ends the
 * reservation, so sdp->lock guards what is recorded after it: tx.sum and tx.rec.
 */
#include <linux/export.h>
#include <linux/instrumented.h>
#include <linux/math64.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_gaps.h"
#include "sdp_iter.h"
#include "sdp_latency.h"
#include "sdp_mib.h"
#include "sdp_trace.h"
#include "sdp_verbs.h"

#define SDP_STX_PUSH	(64 * 1024)	/* bytes that may wait for more */
#define SDP_STX_TRIES	8	/* to find a position that is not acknowledged */
#define SDP_IWARP_HDR	24		/* MPA, DDP and CRC of an FPDU */

static const struct rdma_stack_ulp sdp_shared_ulp;

/* ---- choice ---- */

/*
 * Does the stack below do what SDP leaves to it on a shared link? There are neither
 * credits nor buffers for sending there, and small sends are put together below.
 */
static bool sdp_shared_serves(struct ib_device *dev)
{
	static const u8 comps[] = {
		RDMA_STACK_FLOW_CONTROL,
		RDMA_STACK_BUFFERING,
		RDMA_STACK_COALESCING,
	};
	struct rdma_stack_map map;
	int i;

	if (rdma_stack_query(dev, NULL, &map))
		return false;
	for (i = 0; i < ARRAY_SIZE(comps); i++)
		if (map.place[comps[i]] <= RDMA_STACK_ABSENT)
			return false;
	return true;
}

/**
 * sdp_shared_choose - whether this side can use a shared link
 * @conn: connection that knows its device, and on the passive side the peer
 *
 * Sets conn->stack, or conn->terms.link_reason to the reason.
 *
 * Context: process.
 */
void sdp_shared_choose(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));

	conn->stack = NULL;
	conn->terms.link_reason = SDP_REASON_NONE;
	if (conn->terms.fc_requested != SDP_FLOW_AUTO &&
	    conn->terms.fc_requested != SDP_FLOW_TRANSPORT)
		conn->terms.link_reason = SDP_REASON_POLICY;
	else if (!READ_ONCE(sn->sysctl_shared_link))
		conn->terms.link_reason = SDP_REASON_SYSCTL;
	else if (!READ_ONCE(sdp_sk(conn->sk)->shared_link))
		conn->terms.link_reason = SDP_REASON_OPTION;
	else
		conn->stack = rdma_stack_get_link(conn->dev);
	if (!conn->stack && !conn->terms.link_reason)
		conn->terms.link_reason = SDP_REASON_DEVICE;
	if (conn->stack && !sdp_shared_serves(conn->dev)) {
		conn->stack = NULL;
		conn->terms.link_reason = SDP_REASON_STACK;
	}
	if (conn->stack && !test_bit(SDP_CONN_ACTIVE, &conn->flags) &&
	    !(conn->terms.peer_ext & SDP_EXT_SHARED)) {
		conn->stack = NULL;
		conn->terms.link_reason = SDP_REASON_PEER;
	}
}

static void sdp_shared_set_fc(struct sdp_conn *conn,
			      const struct sdp_fc_ops *fc)
{
	spin_lock_bh(&conn->tx_lock);
	conn->fc = fc;
	spin_unlock_bh(&conn->tx_lock);
}

/**
 * sdp_shared_open - use the shared link from now on
 * @conn: connection with a queue pair; both sides can
 *
 * Context: process. The peer's first messages may be here already: the provider
 * hands them over as soon as the link is open, before open() has returned.
 *
 * Return: 0 or a negative errno, when nothing has changed.
 */
int sdp_shared_open(struct sdp_conn *conn)
{
	struct sdp_shared *shared;
	int err;

	shared = sdp_conn_alloc_shared();
	if (!shared)
		return -ENOMEM;
	err = sdp_pages_init(conn);
	if (err)
		goto free;
	shared->rx.need = SDP_BSDH_LEN;
	shared->rx.c.sk = conn->sk;
	shared->rx.c.conn = conn;
	shared->tx.rec = shared->tx.inline_rec;
	shared->tx.mask = SDP_STX_INLINE - 1;
	conn->shared = shared;
	sdp_shared_set_fc(conn, &sdp_fc_transport);
	err = conn->stack->open(conn->qp, &sdp_shared_ulp, conn);
	if (err)
		goto undo;
	spin_lock_bh(&conn->tx_lock);
	/* after conn->shared; pairs with sdp_stream_memory_free() */
	smp_store_release(&conn->link, &sdp_link_shared);
	conn->tx_max_payload = SDP_SHARED_PAYLOAD;
	set_bit(SDP_CONN_SHARED, &conn->flags);
	set_bit(SDP_CONN_READY, &conn->flags);
	spin_unlock_bh(&conn->tx_lock);
	sdp_qp_return_cqes(conn);
	sdp_pages_rcvbuf(conn);
	SDP_INC_STATS(sock_net(conn->sk), SHARED_LINKS);
	return 0;
undo:
	sdp_shared_set_fc(conn, &sdp_fc_credit);
	sdp_pages_undo(conn);
	conn->shared = NULL;
free:
	sdp_conn_free_shared(shared);
	return err;
}

/**
 * sdp_shared_close - no callback comes after this
 * @conn: connection, detached from its socket
 *
 * Context: process, may sleep.
 */
void sdp_shared_close(struct sdp_conn *conn)
{
	if (test_and_clear_bit(SDP_CONN_SHARED, &conn->flags))
		conn->stack->close(conn->qp);
}

/* ---- what is acknowledged ---- */

static struct sdp_stx_rec *sdp_stx_rec(const struct sdp_stx *s, u32 i)
{
	return &s->rec[i & s->mask];
}

/* A table for a connection that sends; false: it has that, or there is no memory */
static bool sdp_stx_grow(struct sdp_conn *conn)
{
	struct sdp_stx *s = &conn->shared->tx;
	struct mem_cgroup *old;
	struct sdp_stx_rec *rec;
	u32 i;

	if (s->rec != s->inline_rec)
		return false;
	old = sdp_sock_charge(conn->sk);
	rec = kmalloc_array(SDP_STX_RECORDS, sizeof(*rec),
			    GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(old);
	if (!rec)
		return false;
	for (i = s->tail; i != s->head; i++)
		rec[i & (SDP_STX_RECORDS - 1)] = *sdp_stx_rec(s, i);
	s->rec = rec;
	s->mask = SDP_STX_RECORDS - 1;
	return true;
}

/* Caller: nothing is unacknowledged */
static void sdp_stx_shrink(struct sdp_stx *s)
{
	if (s->rec == s->inline_rec)
		return;
	kfree(s->rec);
	s->rec = s->inline_rec;
	s->mask = SDP_STX_INLINE - 1;
}

/* Payload bytes before @pos; in proportion inside of a message. */
static u32 sdp_stx_sum_at(const struct sdp_stx *s, u64 pos)
{
	struct sdp_stx_rec from = s->base;
	u32 i;

	for (i = s->tail; i != s->head; i++) {
		const struct sdp_stx_rec *r = sdp_stx_rec(s, i);

		if (pos < r->end) {
			if (pos <= from.end)
				return from.sum;
			return from.sum +
			       div64_u64((pos - from.end) * (r->sum - from.sum),
					 r->end - from.end);
		}
		from = *r;
	}
	return from.sum;
}

/* The inverse of sdp_stx_sum_at(): a position with @sum bytes before it. */
static u64 sdp_stx_pos_of(const struct sdp_stx *s, u32 sum)
{
	struct sdp_stx_rec from = s->base;
	u32 i;

	for (i = s->tail; i != s->head; i++) {
		const struct sdp_stx_rec *r = sdp_stx_rec(s, i);
		u32 span = r->sum - from.sum;

		if (!sdp_seq_after(sum, r->sum) && span)
			return from.end +
			       div_u64((r->end - from.end) *
				       (sum - from.sum) + span - 1, span);
		from = *r;
	}
	return from.end;
}

/* Free what is acknowledged. */
static void sdp_stx_account(struct sdp_conn *conn)
{
	struct sdp_stx *s = &conn->shared->tx;
	u64 acked = conn->stack->tx_acked(conn->qp);
	u32 before = conn->tx_queued;

	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	while (s->tail != s->head && sdp_stx_rec(s, s->tail)->end <= acked)
		s->base = *sdp_stx_rec(s, s->tail++);
	conn->tx_queued = s->sum - sdp_stx_sum_at(s, acked);
	sdp_latency_acked(conn, before - conn->tx_queued);
	WRITE_ONCE(conn->sk->sk_wmem_queued, conn->tx_queued);
}

/* The same, if the connection still is that of its socket. */
static void sdp_stx_refresh(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn)
		sdp_stx_account(conn);
	spin_unlock_bh(&sdp->lock);
}

/* Remember where a message ends, or, after an append, ends now. */
static void sdp_stx_record(struct sdp_conn *conn, u64 end, u32 len, bool append)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_stx *s = &conn->shared->tx;
	struct sdp_stx_rec *r;
	u64 last;

	lockdep_assert_held(&sdp->lock);
	s->sum += len;
	if (s->head - s->tail > s->mask && !append && !sdp_stx_grow(conn))
		sdp_stx_account(conn);
	last = s->head == s->tail ? s->base.end : sdp_stx_rec(s, s->head - 1)->end;
	/* a full table: the last entry stands for one more message */
	if (s->head == s->tail || (!append && s->head - s->tail <= s->mask))
		s->head++;
	r = sdp_stx_rec(s, s->head - 1);
	/*
	 * A message that follows this one may have been recorded since tx_commit, but ends
	 * must not decrease. Then this payload counts as acknowledged with that message.
	 */
	r->end = max(end, last);
	r->sum = s->sum;
	if (likely(sdp->conn == conn)) {
		conn->tx_queued += len;
		WRITE_ONCE(conn->sk->sk_wmem_queued, conn->tx_queued);
	}
}

/* ---- messages ---- */

static void sdp_shared_put_data(struct sdp_conn *conn, u8 *hdr, u32 len,
				u8 flags)
{
	struct sdp_bsdh h = {
		.mid = SDP_MID_DATA,
		.flags = flags,
		.len = SDP_BSDH_LEN + len,
		.mseq = conn->tx_mseq,
		.mseq_ack = READ_ONCE(conn->rx_mseq),
	};

	sdp_put_bsdh(hdr, &h);
	trace_sdp_msg_tx(conn, &h, len);
}

/* Room in the provider's pages: after the last message, or a new one. */
static int sdp_shared_reserve(struct sdp_conn *conn, u32 want,
			      struct rdma_stack_tx *tx, bool *append)
{
	const struct rdma_stack_link *stack = conn->stack;
	int err;

	*append = true;
	err = stack->tx_append(conn->qp, want, SDP_SHARED_PAYLOAD, tx);
	if (err != -ENOENT)
		return err;
	*append = false;
	return stack->tx_reserve(conn->qp, want, SDP_BSDH_LEN, tx);
}

/* The first @want bytes of room; returns how many were copied */
static u32 sdp_shared_fill_iter(const struct rdma_stack_tx *tx,
				struct iov_iter *from, u32 want)
{
	const struct rdma_stack_seg *seg = tx->seg;
	u32 done = 0, in = 0, n;

	while (done < want) {
		n = min3(seg->len - in, want - done,
			 rdma_stack_gaps_span(&seg->gaps, in));
		if (copy_from_iter(seg->data +
				   rdma_stack_gaps_off(&seg->gaps, in),
				   n, from) < n)
			break;
		done += n;
		in += n;
		if (in == seg->len) {
			seg++;
			in = 0;
		}
	}
	return done;
}

/* Bytes that were not copied */
static unsigned long sdp_shared_get(void *to, const u8 __user *from, u32 len)
{
	unsigned long left;

	instrument_copy_from_user_before(to, from, len);
	left = raw_copy_from_user(to, from, len);
	instrument_copy_from_user_after(to, from, len, left);
	return left;
}

/* @len bytes into one piece of memory; returns how many were not copied. */
static u32 sdp_shared_fill_seg(const struct rdma_stack_seg *seg,
			       const u8 __user *from, u32 len)
{
	u32 n = min_t(u32, seg->gaps.head ?: len, len);
	void *to = seg->data;
	unsigned long left;

	for (;;) {
		left = sdp_shared_get(to, from, n);
		len -= n;
		if (unlikely(left) || !len)
			return len + left;
		from += n;
		to += n + RDMA_STACK_GAP;
		n = min_t(u32, seg->gaps.step, len);
	}
}

static u32 sdp_shared_fill_user(const struct rdma_stack_tx *tx,
				const u8 __user *from, u32 want)
{
	const struct rdma_stack_seg *seg;
	u32 rest = want, n, left;

	for (seg = tx->seg; rest; seg++) {
		n = min(seg->len, rest);
		left = 0;
		if (unlikely(!sdp_gaps_get(seg->data, from, n, &seg->gaps)))
			left = sdp_shared_fill_seg(seg, from, n);
		from += n;
		rest -= n;
		if (unlikely(left))
			return want - rest - left;
	}
	return want;
}

static void sdp_shared_fill_kernel(const struct rdma_stack_tx *tx,
				   const u8 *from, u32 want)
{
	const struct rdma_stack_seg *seg;
	u32 n;

	for (seg = tx->seg; want; seg++, from += n, want -= n) {
		n = min(seg->len, want);
		sdp_gaps_fill(seg->data, from, n, &seg->gaps);
	}
}

/* Copy until a page is absent: the reservation forbids waiting for one. */
static u32 sdp_shared_fill(const struct rdma_stack_tx *tx,
			   struct iov_iter *from, u32 want)
{
	const u8 __user *user = sdp_iter_user(from, want);
	const u8 *kernel = sdp_iter_kernel(from, want);
	u32 done;

	if (kernel) {
		sdp_shared_fill_kernel(tx, kernel, want);
		iov_iter_advance(from, want);
		return want;
	}
	pagefault_disable();
	if (likely(user))
		done = sdp_shared_fill_user(tx, user, want);
	else
		done = sdp_shared_fill_iter(tx, from, want);
	pagefault_enable();
	if (likely(user))
		iov_iter_advance(from, done);
	return done;
}

/* Context: sdp->lock. */
static void sdp_shared_count(struct sdp_conn *conn, u32 len, bool append,
			     bool joined)
{
	struct net *net = sock_net(conn->sk);

	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	sdp_conn_count(conn, len, !append);
	__SDP_INC_STATS(net, TX_COPIES);
	__SDP_ADD_STATS(net, TX_COPY_BYTES, len);
	if (joined) {
		__SDP_INC_STATS(net, TX_COALESCED);
		__SDP_ADD_STATS(net, TX_COALESCED_BYTES, len);
		__SDP_ADD_STATS(net, TX_HDR_SAVED,
				SDP_BSDH_LEN + SDP_IWARP_HDR);
	}
}

/* Urgent data: it is the last byte of a message, announced with it. */
static u8 sdp_shared_flags(struct sdp_conn *conn, bool oob)
{
	u8 flags = 0;

	if (unlikely(oob)) {
		flags = SDP_OOB_PRES | SDP_OOB_PEND;
		SDP_INC_STATS(sock_net(conn->sk), TX_OOB);
	}
	return flags;
}

/* @len bytes are copied: give them a header and let them go. */
static void sdp_shared_commit(struct sdp_conn *conn, struct rdma_stack_tx *tx,
			      u32 len, bool append, int flags, bool first,
			      bool more)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool oob = !more && (flags & MSG_OOB);
	unsigned int how = 0;
	u8 hdr[SDP_BSDH_LEN];

	if (more || (flags & MSG_MORE) || READ_ONCE(sdp->cork)) {
		conn->shared->tx.held += len;
		if (conn->shared->tx.held < SDP_STX_PUSH && !oob)
			how |= RDMA_STACK_TX_MORE;
	}
	if (!(how & RDMA_STACK_TX_MORE))
		conn->shared->tx.held = 0;
	if (unlikely(!more && (flags & (MSG_OOB | MSG_EOR))))
		how |= RDMA_STACK_TX_CLOSE;
	if (unlikely(oob))
		how |= RDMA_STACK_TX_SOLICITED;
	/* an answer to it may come before tx_commit returns */
	if (!append)
		WRITE_ONCE(conn->tx_mseq, conn->tx_mseq + 1);
	sdp_shared_put_data(conn, hdr, tx->msg_len + len,
			    sdp_shared_flags(conn, oob));
	conn->stack->tx_commit(conn->qp, tx, len, hdr, how);
	spin_lock_bh(&sdp->lock);
	sdp_stx_record(conn, tx->end, len, append);
	sdp_shared_count(conn, len, append, append && first);
	spin_unlock_bh(&sdp->lock);
}

/*
 * A reservation failed. Returns what struct sdp_link_ops.send returns, or -EAGAIN to
 * try once more: tx_space may have been called before we noted that we need it.
 * Without pages (-ENOMEM) there is no room: the provider calls tx_space when to try
 * again, and until then poll() must not report room.
 */
static int sdp_shared_no_room(struct sdp_conn *conn, int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOMEM:
	case -ENOTCONN:
		break;
	default:
		/* the provider has closed the link; its event may arrive later */
		sdp_conn_down(conn, err == -EPIPE ? ECONNRESET : -err);
	}
	if (!READ_ONCE(conn->shared->tx.no_room)) {
		WRITE_ONCE(conn->shared->tx.no_room, true);
		return -EAGAIN;
	}
	/* after -ENOTCONN the connection ends: closed() wakes the writer, not tx_space() */
	SDP_INC_STATS(sock_net(conn->sk), TX_NO_ROOM);
	return 0;
}

/*
 * As in TCP the buffer grows to twice of what is on its way, unless the user
 * has chosen its size. A large one grows to no more than twice of what the path
 * holds: data beyond that would only wait, until no cache has them any more.
 */
static void sdp_shared_grow(struct sock *sk, struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack = conn->stack;
	u64 size;

	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK || !stack->tx_sent)
		return;
	size = 2 * (stack->tx_sent(conn->qp) - stack->tx_acked(conn->qp));
	if (size > SDP_BUF_WARM && stack->tx_path)
		size = min_t(u64, size,
			     max_t(u64, SDP_BUF_WARM,
				   2ULL * stack->tx_path(conn->qp)));
	size = min_t(u64, size, sdp_pernet(sock_net(sk))->sysctl_wmem[2]);
	if (size > sk->sk_sndbuf)
		WRITE_ONCE(sk->sk_sndbuf, size);
}

/*
 * How many of @want bytes sk_sndbuf lets in, 0 for none; as in TCP the last piece may go
 * over the limit, a small one.
 */
static u32 sdp_shared_space(struct sock *sk, struct sdp_conn *conn, u32 want)
{
	u32 sndbuf = READ_ONCE(sk->sk_sndbuf);

	if (unlikely(sk->sk_wmem_queued + want > sndbuf)) {
		sdp_stx_refresh(conn);
		sdp_shared_grow(sk, conn);
		sndbuf = READ_ONCE(sk->sk_sndbuf);
		if (!sk_stream_memory_free(sk))
			return 0;
		want = min_t(u32, want, max_t(u32, SDP_TX_OVER,
					      sndbuf - sk->sk_wmem_queued));
	} else if (unlikely(!sk_stream_memory_free(sk))) {
		return 0;
	}
	return want;
}

/*
 * The provider does not wait for memory, so it cannot reclaim memory of the socket's control
 * group. TCP does that in sendmsg(): so an allocation here, which may wait, makes room for
 * the next one of the provider. False: there is nothing to try again.
 */
static bool sdp_shared_reclaim(struct sock *sk)
{
	struct mem_cgroup *old;
	struct page *page;

	if (!gfpflags_allow_blocking(sk->sk_allocation))
		return false;
	old = sdp_sock_charge(sk);
	page = alloc_page(sk->sk_allocation | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	if (!page)
		return false;
	__free_page(page);
	return true;
}

/* struct sdp_link_ops.send */
static int sdp_shared_send(struct sock *sk, struct msghdr *msg, int flags)
{
	u32 want = min_t(size_t, msg_data_left(msg), SDP_SHARED_PAYLOAD), n;
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	bool append, first = !conn->shared->tx.in_call;
	struct rdma_stack_tx tx;
	bool reclaimed = false;
	int err;

	want = sdp_shared_space(sk, conn, want);
	if (!want)
		return 0;
	for (;;) {
		err = sdp_shared_reserve(conn, want, &tx, &append);
		if (likely(!err))
			break;
		if (err == -EBUSY) {
			/* wait for the engine, which holds the reservation for a short time only */
			spin_lock_bh(&conn->tx_lock);
			spin_unlock_bh(&conn->tx_lock);
			continue;
		}
		if (unlikely(err == -EINPROGRESS)) {
			/* a task holds the transport, unknown to poll(): wait, as TCP does */
			conn->stack->tx_wait(conn->qp);
			continue;
		}
		if (unlikely(err == -ENOMEM && !reclaimed)) {
			reclaimed = true;
			if (sdp_shared_reclaim(sk))
				continue;
		}
		err = sdp_shared_no_room(conn, err);
		if (err != -EAGAIN)
			return err;
	}
	WRITE_ONCE(conn->shared->tx.no_room, false);
	n = sdp_shared_fill(&tx, &msg->msg_iter, min(want, tx.len));
	if (unlikely(!n)) {
		conn->stack->tx_abort(conn->qp, &tx);
		return sdp_conn_fault_in(sk, &msg->msg_iter, want);
	}
	conn->shared->tx.in_call = true;
	sdp_shared_commit(conn, &tx, n, append, flags, first,
			  msg_data_left(msg));
	return n;
}

/* struct sdp_link_ops.sent */
static void sdp_shared_sent(struct sdp_conn *conn, bool cork)
{
	conn->shared->tx.in_call = false;
	if (unlikely(conn->shared->tx.held)) {
		if (cork)
			queue_delayed_work(sdp_wq(conn->sk), &conn->kick_work,
					   SDP_TX_CORK_TIME);
		else
			sdp_conn_ctl(conn, SDP_CTL_PUSH);
	}
	/* also send what the engine could not send during the reservation */
	if (unlikely(READ_ONCE(conn->tx_ctl)))
		sdp_conn_kick(conn);
}

/* struct sdp_link_ops.push */
static void sdp_shared_push(struct sdp_conn *conn)
{
	sdp_conn_ctl(conn, SDP_CTL_PUSH);
	sdp_conn_kick(conn);
}

/* ---- the engine: control messages ---- */

/* Send a message without payload. -EAGAIN: not now, the bit stays set. */
static int sdp_shared_ctl(struct sdp_conn *conn, u8 mid)
{
	struct sdp_msg msg = { .h.mid = mid };
	u8 hdr[SDP_MSG_HDR_MAX];
	struct rdma_stack_tx tx;
	int err;

	lockdep_assert_held(&conn->tx_lock);
	err = conn->stack->tx_reserve(conn->qp, 0, SDP_BSDH_LEN +
				      sdp_ext_len(mid), &tx);
	if (err)
		return err;
	WRITE_ONCE(conn->tx_mseq, conn->tx_mseq + 1);
	msg.h.mseq = conn->tx_mseq;
	msg.h.mseq_ack = READ_ONCE(conn->rx_mseq);
	if (mid == SDP_MID_CHRCVBUF_ACK)
		msg.ext.size = SDP_BUF_SIZE;
	sdp_build_msg(hdr, &msg);
	trace_sdp_msg_tx(conn, &msg.h, 0);
	conn->shared->tx.held = 0;
	conn->stack->tx_commit(conn->qp, &tx, 0, hdr, RDMA_STACK_TX_CLOSE);
	spin_lock_bh(&sdp_sk(conn->sk)->lock);
	sdp_stx_record(conn, tx.end, 0, false);
	sdp_conn_count(conn, 0, false);
	spin_unlock_bh(&sdp_sk(conn->sk)->lock);
	if (mid == SDP_MID_DISCON)
		conn->shared->tx.fin_end = tx.end;
	return 0;
}

/* Let go what was committed with RDMA_STACK_TX_MORE, if it has not gone. */
static int sdp_shared_run_push(struct sdp_conn *conn)
{
	struct rdma_stack_tx tx;
	u8 hdr[SDP_BSDH_LEN];
	int err;

	err = conn->stack->tx_append(conn->qp, 0, SDP_SHARED_PAYLOAD, &tx);
	if (err)
		return err;
	sdp_shared_put_data(conn, hdr, tx.msg_len, 0);
	conn->shared->tx.held = 0;
	conn->stack->tx_commit(conn->qp, &tx, 0, hdr, 0);
	return 0;
}

static int sdp_shared_run_bits(struct sdp_conn *conn)
{
	const struct sdp_ctl_msg *ctl = sdp_ctl_msgs;
	int i, err = 0;

	if (test_bit(SDP_CTL_PUSH, &conn->tx_ctl)) {
		err = sdp_shared_run_push(conn);
		if (err && err != -ENOENT)
			return err;
		clear_bit(SDP_CTL_PUSH, &conn->tx_ctl);
		err = 0;
	}
	for (i = 0; i < SDP_CTL_MSGS && !err; i++) {
		if (!test_bit(ctl[i].bit, &conn->tx_ctl))
			continue;
		err = sdp_shared_ctl(conn, ctl[i].mid);
		if (err)
			break;
		clear_bit(ctl[i].bit, &conn->tx_ctl);
		if (ctl[i].bit == SDP_CTL_SENDSM)
			WRITE_ONCE(conn->rx_src_avail, false);
	}
	return err;
}

/* Where the send ends that is timed; U64_MAX: none is */
static u64 sdp_shared_timed(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_stx *s = &conn->shared->tx;
	u64 pos = U64_MAX;

	if (!sdp_latency_waits(conn))
		return pos;
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn && conn->timed.begin)
		pos = sdp_stx_pos_of(s, s->sum - conn->tx_queued + conn->timed.left);
	spin_unlock_bh(&sdp->lock);
	return pos;
}

/*
 * Have the acknowledgment of @pos noticed, or that of a send that is timed, if it comes
 * before: then ctl_work asks again for @pos. False: the earlier of the two is acknowledged.
 */
static bool sdp_shared_notify(struct sdp_conn *conn, u64 pos)
{
	lockdep_assert_held(&conn->tx_lock);
	return conn->stack->tx_notify(conn->qp, min(pos, sdp_shared_timed(conn)));
}

static int sdp_shared_run_fin(struct sdp_conn *conn)
{
	int err;

	if (conn->tx_fin != SDP_FIN_WANTED)
		return 0;
	err = sdp_shared_ctl(conn, SDP_MID_DISCON);
	if (err)
		return err;
	/* fin_end is valid; pairs with sdp_shared_fin_done() */
	smp_store_release(&conn->tx_fin, SDP_FIN_SENT);
	SDP_INC_STATS(sock_net(conn->sk), DISCON_SENT);
	/* acknowledged already: the work item does what tx_space would do */
	if (!sdp_shared_notify(conn, conn->shared->tx.fin_end))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
	return 0;
}

/* struct sdp_link_ops.run */
static int sdp_shared_run(struct sdp_conn *conn)
{
	int err = 0;

	lockdep_assert_held(&conn->tx_lock);
	if (!test_bit(SDP_CONN_UP, &conn->flags) ||
	    test_bit(SDP_CONN_DOWN, &conn->flags))
		return 0;
	if (test_and_clear_bit(SDP_CTL_KEEPALIVE, &conn->tx_ctl) &&
	    !READ_ONCE(conn->probe.state))
		err = sdp_qp_probe(conn, true);
	if (err)
		return err;
	err = sdp_shared_run_bits(conn);
	if (!err)
		err = sdp_shared_run_fin(conn);
	/*
	 * memory is freed at some time; in all other cases there will be
	 * another call
	 */
	if (err == -ENOMEM)
		queue_delayed_work(sdp_wq(conn->sk), &conn->kick_work,
				   HZ / 50);
	return 0;
}

/* ---- waiting for room ---- */

/* The position whose acknowledgment is to wake a writer; 0: it need not wait. */
static u64 sdp_shared_wake_pos(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 sndbuf = READ_ONCE(conn->sk->sk_sndbuf), limit;
	struct sdp_stx *s = &conn->shared->tx;
	u64 pos = 0;

	spin_lock_bh(&sdp->lock);
	if (sdp->conn != conn)
		goto out;
	sdp_stx_account(conn);
	/* up to this limit a third is free, as sk_stream_is_writeable() requires */
	limit = sndbuf - DIV_ROUND_UP(sndbuf, 3);
	if (conn->tx_queued > limit)
		pos = sdp_stx_pos_of(s, s->sum - limit);
	else if (READ_ONCE(sdp->notsent_lowat) && conn->tx_queued)
		pos = conn->stack->tx_acked(conn->qp) + 1;
out:
	spin_unlock_bh(&sdp->lock);
	return pos;
}

/* struct sdp_link_ops.want_space */
static void sdp_shared_want_space(struct sdp_conn *conn)
{
	u64 pos = 0;
	int i;

	if (READ_ONCE(conn->shared->tx.held))
		sdp_shared_push(conn);
	/* for poll, which has no lock: keeps the teardown from the queue pair */
	spin_lock_bh(&conn->tx_lock);
	/* acknowledgments meanwhile make room, so this ends soon */
	for (i = 0; i < SDP_STX_TRIES; i++) {
		if (test_bit(SDP_CONN_DOWN, &conn->flags))
			break;
		pos = sdp_shared_wake_pos(conn);
		if (!pos || sdp_shared_notify(conn, pos))
			break;
	}
	/*
	 * If acknowledgments arrive one by one without making room (TCP_NOTSENT_LOWAT),
	 * the work item continues. It also requests the notice of DisConn again, which a
	 * late request here has replaced.
	 */
	if (i == SDP_STX_TRIES ||
	    (conn->tx_fin == SDP_FIN_SENT && !pos &&
	     !test_bit(SDP_CONN_DOWN, &conn->flags)))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
	spin_unlock_bh(&conn->tx_lock);
	if (!pos)
		sdp_conn_wake(conn);
}

/* DisConn is acknowledged? Returns true once. */
static bool sdp_shared_fin_done(struct sdp_conn *conn)
{
	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	/* the other side has tx_lock, not this lock; pairs with sdp_shared_run_fin() */
	if (smp_load_acquire(&conn->tx_fin) != SDP_FIN_SENT ||
	    conn->stack->tx_acked(conn->qp) < conn->shared->tx.fin_end)
		return false;
	conn->tx_fin = SDP_FIN_DONE;
	return true;
}

/*
 * True if a writer is blocked and there is still too little space to wake it. After a
 * shutdown there is none: the bit is left from before.
 */
static bool sdp_shared_waiters(struct sock *sk)
{
	struct socket *sock;
	bool ret;

	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
		return false;
	rcu_read_lock();
	sock = READ_ONCE(sk->sk_socket);
	ret = sock && test_bit(SOCK_NOSPACE, &sock->flags);
	rcu_read_unlock();
	return ret;
}

/* New acknowledgments were noticed, in a callback or by asking. */
static void sdp_shared_acked(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool fin = false;

	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(conn->shared->tx.no_room, false);
	if (sdp->conn == conn) {
		sdp_stx_account(conn);
		fin = sdp_shared_fin_done(conn);
	}
	spin_unlock_bh(&sdp->lock);
	if (unlikely(fin))
		sdp_conn_fin_done(conn);
	sdp_conn_wake(conn);
}

/*
 * A writer that waited may have had the notice of DisConn replaced by its own. The position
 * that is acknowledged already may be that of a timed send, so look again.
 */
static void sdp_shared_want_fin(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->tx_lock);
	if (!test_bit(SDP_CONN_DOWN, &conn->flags) &&
	    !sdp_shared_notify(conn, conn->shared->tx.fin_end))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
	spin_unlock_bh(&conn->tx_lock);
}

/* A writer that waits asks for both, see sdp_shared_notify(). */
static void sdp_shared_want_timed(struct sdp_conn *conn)
{
	bool acked = false;
	u64 pos;

	spin_lock_bh(&conn->tx_lock);
	pos = sdp_shared_timed(conn);
	if (pos != U64_MAX && !test_bit(SDP_CONN_DOWN, &conn->flags) &&
	    !sdp_shared_waiters(conn->sk))
		acked = !conn->stack->tx_notify(conn->qp, pos);
	spin_unlock_bh(&conn->tx_lock);
	if (acked)
		sdp_shared_acked(conn);
}

/* struct sdp_link_ops.notice, and what is still wanted after a callback */
static void sdp_shared_notice(struct sdp_conn *conn)
{
	if (sdp_shared_waiters(conn->sk))
		sdp_shared_want_space(conn);
	else if (conn->tx_fin == SDP_FIN_SENT)
		sdp_shared_want_fin(conn);
	else
		sdp_shared_want_timed(conn);
}

/* struct rdma_stack_ulp.tx_space: under the provider's TCP lock */
static void sdp_shared_tx_space(void *ctx)
{
	struct sdp_conn *conn = ctx;

	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	sdp_shared_acked(conn);
	if (unlikely(conn->tx_ctl || sdp_conn_fin_busy(conn) ||
		     sdp_shared_waiters(conn->sk) || sdp_latency_waits(conn)))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
}

/* struct rdma_stack_ulp.tx_full: under the provider's TCP lock, as tx_space */
static void sdp_shared_tx_full(void *ctx)
{
	struct sdp_conn *conn = ctx;

	WRITE_ONCE(conn->shared->tx.no_room, true);
}

/* struct rdma_stack_ulp.rx_begin: under the provider's TCP lock */
static bool sdp_shared_rx_begin(void *ctx)
{
	return sdp_pages_wake(ctx);
}

/* struct rdma_stack_ulp.rx_held: under the provider's TCP lock */
static u32 sdp_shared_held(void *ctx)
{
	struct sdp_conn *conn = ctx;
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 held;

	spin_lock(&sdp->lock);
	held = sdp->conn == conn ? sdp->rx_pages.charge : 0;
	spin_unlock(&sdp->lock);
	return held;
}

/* struct rdma_stack_ulp.idle: under the provider's TCP lock */
static void sdp_shared_idle(void *ctx)
{
	struct sdp_conn *conn = ctx;
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_stx *s = &conn->shared->tx;

	spin_lock(&sdp->lock);
	if (sdp->conn == conn) {
		sdp_stx_account(conn);
		sdp_pages_idle(sdp);
	}
	if (s->head == s->tail)
		sdp_stx_shrink(s);
	spin_unlock(&sdp->lock);
}

/* struct rdma_stack_ulp.closed: under the provider's TCP lock */
static void sdp_shared_closed(void *ctx, int err)
{
	struct sdp_conn *conn = ctx;

	set_bit(SDP_CONN_CLOSED, &conn->flags);
	sdp_conn_down(conn, err ? -err : ECONNRESET);
}

static const struct rdma_stack_ulp sdp_shared_ulp = {
	.rx_begin	= sdp_shared_rx_begin,
	.rx		= sdp_shared_rx,
	.rx_done	= sdp_shared_rx_done,
	.tx_space	= sdp_shared_tx_space,
	.tx_full	= sdp_shared_tx_full,
	.rx_held	= sdp_shared_held,
	.idle		= sdp_shared_idle,
	.closed		= sdp_shared_closed,
};

/**
 * sdp_shared_work - work left by callbacks
 * @work: ctl_work of a connection
 *
 * Context: work item.
 */
void sdp_shared_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(work, struct sdp_conn, ctl_work);

	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	sdp_conn_kick(conn);
	sdp_shared_acked(conn);
	sdp_shared_notice(conn);
}

/* ---- reports ---- */

static bool sdp_shared_full(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->shared->tx.no_room);
}

static u32 sdp_shared_outq(struct sdp_conn *conn)
{
	sdp_stx_refresh(conn);
	return conn->tx_queued;
}

static u32 sdp_shared_unsent(const struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 unsent = 0;

	if (!conn->stack->tx_sent)
		return 0;
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn)
		unsent = conn->shared->tx.sum -
			 sdp_stx_sum_at(&conn->shared->tx,
					conn->stack->tx_sent(conn->qp));
	spin_unlock_bh(&sdp->lock);
	return unsent;
}

static u32 sdp_shared_progress(const struct sdp_conn *conn)
{
	return (u32)conn->stack->tx_acked(conn->qp);
}

static void sdp_shared_probed(struct sdp_conn *conn, u32 mseq)
{
}

const struct sdp_link_ops sdp_link_shared = {
	.shared		= true,
	.name		= "shared",
	.send		= sdp_shared_send,
	.sent		= sdp_shared_sent,
	.push		= sdp_shared_push,
	.run		= sdp_shared_run,
	.want_space	= sdp_shared_want_space,
	.full		= sdp_shared_full,
	.outq		= sdp_shared_outq,
	.notice		= sdp_shared_notice,
	.unsent		= sdp_shared_unsent,
	.progress	= sdp_shared_progress,
	.probed		= sdp_shared_probed,
};
