// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy, the source: a blocking send of many bytes advertises the user's
 * memory and waits until the peer has read it. Calls xfer.c, pool.c for the
 * memory, src_write.c for pipelined mode, and the transmit half over a verbs link.
 *
 * There is one SrcAvail at a time. Nothing but control messages follows until it
 * is over. In combined mode its first bytes travel in the message; for pipelined
 * mode, where it may be a Write instead, see src_write.c. It is over when all of
 * it has been read (RdmaRdCompl) or the peer asks for messages (SendSm). If there
 * is no progress for a while, we cancel it. The kernel of the peer answers the
 * cancel without the peer's program. The caller copies the rest.
 *
 * As long as there is one, the socket is not writable: no other task can queue
 * data after it.
 */
#include <linux/hash.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_verbs.h"

/**
 * sdp_zc_tx_held - whether data have to wait for a SrcAvail or an RDMA Write of ours
 * @conn: connection
 *
 * Context: tx_lock.
 */
bool sdp_zc_tx_held(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->zc->tx_state) > SDP_ZC_TX_QUEUED;
}

/**
 * sdp_zc_tx_busy - whether there is a send whose data are not messages yet
 * @conn: connection
 *
 * Context: tx_lock.
 */
bool sdp_zc_tx_busy(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->zc->tx_state) != SDP_ZC_TX_IDLE;
}

/**
 * sdp_zc_src_avail - our SrcAvail is leaving
 * @conn: connection
 * @m: the message, its number and payload are known; the rest is filled in
 *
 * Data already written, in pipelined mode, is not advertised.
 *
 * Context: tx_lock.
 */
void sdp_zc_src_avail(struct sdp_conn *conn, struct sdp_msg *m)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;

	m->ext.avail.rkey = zc->tx->mr->rkey;
	spin_lock(&sdp->lock);
	m->ext.avail.len = zc->tx_left + m->payload_len;
	m->ext.avail.va = zc->tx->mr->iova + zc->tx_len - m->ext.avail.len;
	/* in pipelined mode it counts as sent already, or it is void */
	if (m->payload_len) {
		zc->tx_mseq = m->h.mseq;
		WRITE_ONCE(zc->tx_state, SDP_ZC_TX_SENT);
	}
	spin_unlock(&sdp->lock);
	SDP_INC_STATS(sock_net(conn->sk), TX_SRCAVAIL);
}

static bool sdp_zc_tx_outstanding(const struct sdp_zc *zc)
{
	return zc->tx_state == SDP_ZC_TX_SENT ||
	       zc->tx_state == SDP_ZC_TX_CANCEL;
}

/* Is this an answer to our SrcAvail, from a peer that has seen it? */
static bool sdp_zc_tx_answer(const struct sdp_rx_ctx *c)
{
	const struct sdp_zc *zc = c->conn->zc;

	return sdp_zc_tx_outstanding(zc) &&
	       !sdp_seq_after(zc->tx_mseq, c->m.h.mseq_ack);
}

/**
 * sdp_zc_tx_payload - a message with payload is leaving
 * @conn: connection
 *
 * If the peer has a reader waiting for a Write, it is the answer to that.
 *
 * Context: tx_lock.
 */
void sdp_zc_tx_payload(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;

	if (likely(!zc->tx_piped)) {
		zc->tx_data++;
		return;
	}
	spin_lock(&sdp->lock);
	zc->tx_data++;
	if (sdp_zc_pop(zc, &zc->tx_sink, NULL))
		zc->tx_void++;
	spin_unlock(&sdp->lock);
}

/**
 * sdp_zc_rd_compl - the peer has read from our memory
 * @sdp: socket
 * @c: RdmaRdCompl
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_rd_compl(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;
	u32 n = c->m.ext.len;

	lockdep_assert_held(&sdp->lock);
	if (!sdp_zc_tx_answer(c) || n > zc->tx_left)
		return SDP_MIB_BAD_RDMA;
	WRITE_ONCE(zc->tx_left, zc->tx_left - n);
	if (!zc->tx_left)
		WRITE_ONCE(zc->tx_state, SDP_ZC_TX_OVER);
	wake_up_all(&c->conn->wait);
	return 0;
}

/**
 * sdp_zc_sendsm - the peer wants the rest, or all of it, in messages
 * @sdp: socket
 * @c: SendSm
 *
 * One that crosses our SrcAvailCancel ends it as well: the peer will find
 * nothing to cancel.
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_sendsm(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	lockdep_assert_held(&sdp->lock);
	if (!sdp_zc_tx_answer(c))
		return SDP_MIB_BAD_STATE;
	SDP_INC_STATS(sock_net(c->sk), TX_ZCOPY_DECLINED);
	WRITE_ONCE(zc->tx_state, SDP_ZC_TX_OVER);
	wake_up_all(&c->conn->wait);
	return 0;
}

/*
 * After failures some sends are copied without another attempt: the rest of
 * this one, and the next ones.
 */
static bool sdp_zc_tx_skip(struct sdp_zc *zc)
{
	if (likely(!zc->tx_skip))
		return false;
	zc->tx_copy = true;
	zc->tx_skip--;
	return true;
}

/**
 * sdp_zc_sent - a sendmsg is over
 * @conn: connection
 *
 * Context: lock_sock.
 */
void sdp_zc_sent(struct sdp_conn *conn)
{
	/* also before the verbs link starts, when nothing may be written there */
	if (conn->zc->tx_copy)
		conn->zc->tx_copy = false;
}

static void sdp_zc_tx_result(struct sdp_zc *zc, bool worked)
{
	if (worked) {
		zc->tx_fails = 0;
		return;
	}
	if (zc->tx_fails < SDP_ZC_SKIP_MAX)
		zc->tx_fails++;
	zc->tx_skip = 1 << zc->tx_fails;
	zc->tx_copy = true;
}

/*
 * Below net.sdp.zcopy_floor pinning and registering take longer than a copy. It
 * is worth it if that need not be done each time, as the program sends from the
 * same memory again, or if a reader waits.
 */
static bool sdp_zc_tx_pays(struct sdp_conn *conn, unsigned long addr, u32 n)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sdp_zc *zc = conn->zc;
	unsigned long *seen = &zc->tx_seen[hash_long(addr, SDP_ZC_SEEN_BITS)];
	bool again = *seen == addr;

	if (n >= READ_ONCE(sn->sysctl_zcopy_floor))
		return true;
	*seen = addr;
	if (again || READ_ONCE(zc->tx_sink.n))
		return true;
	zc->tx_copy = true;
	return false;
}

/* Bytes of @msg to be advertised, 0 if they had better be copied. */
static u32 sdp_zc_tx_want(struct sock *sk, struct msghdr *msg, int flags,
			  unsigned long *at)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 threshold = sdp_sock_zcopy_threshold(sk), n;
	unsigned long addr = 0;

	if (likely(!threshold) || msg_data_left(msg) < threshold ||
	    (flags & (MSG_DONTWAIT | MSG_OOB)) || signal_pending(current))
		return 0;
	n = sdp_zc_segment(&msg->msg_iter, &addr);
	if (n < threshold || !conn->fc->zcopy)
		return 0;
	/* receives that SrcAvail does not fit into */
	if (conn->tx_max_payload <
	    sdp_ext_len(SDP_MID_SRC_AVAIL) + SDP_ZC_HEAD)
		return 0;
	/* two ends that wait for each other to read: one has to send */
	if (READ_ONCE(conn->rx_src_avail) || conn->zc->tx_copy ||
	    sdp_zc_tx_skip(conn->zc))
		return 0;
	if (!conn->zc->able) {
		SDP_INC_STATS(sock_net(sk), ZCOPY_NO_DEVICE);
		return 0;
	}
	*at = addr;
	return sdp_zc_tx_pays(conn, addr, n) ? n : 0;
}

/* Take the memory back. No lock held: it waits. */
static void sdp_zc_tx_leave(struct sdp_conn *conn)
{
	struct sdp_zc_region *r = conn->zc->tx;
	struct ib_send_wr inv;

	sdp_zc_inv_wr(r, &inv);
	sdp_zc_post(conn, r, &inv);
	sdp_zc_leave(conn, r);
}

/*
 * Let others send. Returns bytes that the peer has read. lock_sock, with which the caller
 * sends the rest: until here the state keeps others from coming between. The socket may
 * have lost the connection.
 */
static u32 sdp_zc_tx_end(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	u32 done;

	sock_owned_by_me(conn->sk);
	spin_lock_bh(&conn->tx_lock);
	spin_lock(&sdp->lock);
	done = zc->tx_len - zc->tx_head - zc->tx_left;
	sdp_zc_tx_result(zc, !zc->tx_left);
	clear_bit(SDP_CTL_SRC_CANCEL, &conn->tx_ctl);
	WRITE_ONCE(sdp->tx_bytes, sdp->tx_bytes + done);
	WRITE_ONCE(sdp->tx_zcopy_bytes, sdp->tx_zcopy_bytes + done);
	if (zc->tx_left)
		WRITE_ONCE(sdp->tx_zcopy_fails, sdp->tx_zcopy_fails + 1);
	WRITE_ONCE(zc->tx_state, SDP_ZC_TX_IDLE);
	spin_unlock(&sdp->lock);
	spin_unlock_bh(&conn->tx_lock);
	SDP_ADD_STATS(sock_net(conn->sk), TX_BYTES, done);
	SDP_ADD_STATS(sock_net(conn->sk), TX_ZCOPY_BYTES, done);
	sdp_conn_kick(conn);
	return done;
}

/* May a send begin now? The socket may have changed while memory was pinned. */
static bool sdp_zc_tx_ready(struct sock *sk, const struct sdp_conn *conn)
{
	return !sk->sk_err && !(sk->sk_shutdown & SEND_SHUTDOWN) &&
	       sk_stream_memory_free(sk) &&
	       READ_ONCE(conn->zc->tx_state) == SDP_ZC_TX_IDLE &&
	       !READ_ONCE(conn->rx_src_avail);
}

/* Register and queue. Returns 1, or as sdp_zc_send(). */
static int sdp_zc_tx_begin(struct sdp_conn *conn, struct msghdr *msg,
			   struct sdp_zc_region *r)
{
	struct sdp_zc *zc = conn->zc;
	struct ib_reg_wr reg;
	bool pipe;

	zc->tx = r;
	sdp_zc_enter(conn);
	sdp_zc_reg_wr(r, &reg, IB_ACCESS_REMOTE_READ);
	if (!sdp_zc_post(conn, r, &reg.wr)) {
		sdp_zc_leave(conn, r);
		sdp_conn_put(conn);
		return 0;
	}
	pipe = READ_ONCE(zc->tx_pipe) && sdp_zc_asks_pipe(conn);
	sdp_zc_tx_mode(conn, pipe ? SDP_MODE_PIPELINED : SDP_MODE_COMBINED);
	spin_lock_bh(&conn->tx_lock);
	zc->tx_head = pipe ? 0 : SDP_ZC_HEAD;
	zc->tx_len = r->len;
	zc->tx_left = r->len - zc->tx_head;
	zc->tx_stop = false;
	WRITE_ONCE(zc->tx_state, SDP_ZC_TX_QUEUED);
	spin_unlock_bh(&conn->tx_lock);
	if (pipe || sdp_txq_src_avail(conn, &msg->msg_iter, SDP_ZC_HEAD))
		return 1;
	/*
	 * The invalidation may take long: it is queued after requests that wait for the
	 * peer. Other senders wait meanwhile, since a part of this send may be queued
	 * already.
	 */
	sdp_conn_leave(conn);
	sdp_zc_tx_leave(conn);
	sdp_conn_return(conn);
	sdp_zc_tx_end(conn);
	sdp_conn_put(conn);
	return -ERESTART;
}

/* Pin, register, queue. Returns as sdp_zc_tx_begin(). */
static int sdp_zc_tx_start(struct sock *sk, struct msghdr *msg,
			   unsigned long addr, u32 len)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	struct sdp_zc_region *r;

	r = sdp_zc_get(conn, addr, len, false);
	if (!IS_ERR(r)) {
		if (likely(sdp_zc_tx_ready(sk, conn)))
			return sdp_zc_tx_begin(conn, msg, r);
		sdp_zc_give_back(r);
	} else if (PTR_ERR(r) != -ERESTART) {
		SDP_INC_STATS(sock_net(sk), ZCOPY_NO_MEM);
		sdp_zc_tx_result(conn->zc, false);
	}
	return -ERESTART;
}

static bool sdp_zc_tx_over(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->zc->tx_state) == SDP_ZC_TX_OVER ||
	       test_bit(SDP_CONN_DOWN, &conn->flags);
}

/*
 * A number that changes as long as we get somewhere. Before its turn that is the data
 * ahead of it. Control messages do not count: the peer decides how many answers it wants.
 */
static u32 sdp_zc_tx_progress(const struct sdp_conn *conn)
{
	u32 sent = (u32)READ_ONCE(sdp_sk(conn->sk)->tx_bytes) -
		   READ_ONCE(conn->zc->tx_left);

	/* its turn, or a turn in vain, is progress, too */
	return READ_ONCE(conn->zc->tx_state) == SDP_ZC_TX_QUEUED ? sent : ~sent;
}

/*
 * The same for the transport, if it reports that: the position that the peer has
 * acknowledged. *@sent is the position up to which bytes were sent. It may take
 * longer than one wait until SrcAvail is acknowledged, since the bytes of a complete
 * RDMA Write may still be on their way.
 */
static u64 sdp_zc_tx_acked(struct sdp_conn *conn, u64 *sent)
{
	const struct rdma_stack_link *stack = NULL;
	u64 acked = 0;

	/* the queue pair stays until sdp_cm_hang_up() has had the lock */
	spin_lock_bh(&conn->tx_lock);
	if (!test_bit(SDP_CONN_DOWN, &conn->flags))
		stack = rdma_stack_get_link(conn->dev);
	if (stack)
		acked = stack->tx_acked(conn->qp);
	*sent = stack && stack->tx_sent ? stack->tx_sent(conn->qp) : acked;
	spin_unlock_bh(&conn->tx_lock);
	return acked;
}

/**
 * struct sdp_zc_look - how far a send was when we looked
 * @progress: sdp_zc_tx_progress()
 * @acked: sdp_zc_tx_acked()
 * @nr: looks so far
 * @end: jiffies from which on only progress of our own counts
 */
struct sdp_zc_look {
	u32 progress;
	u64 acked;
	u32 nr;
	unsigned long end;
};

/*
 * Has it made progress since? Bytes in flight count, too: no answer can arrive
 * before the acknowledgment of the data that it answers, and a cancel would
 * have to follow them. Progress of the transport may be unrelated, so the wait
 * is limited, also by SO_SNDTIMEO: packets may be lost for good.
 */
static bool sdp_zc_tx_moves(struct sdp_conn *conn,
			    const struct sdp_zc_look *was)
{
	u64 acked, sent;

	if (READ_ONCE(conn->zc->tx_state) == SDP_ZC_TX_WRITING ||
	    sdp_zc_tx_progress(conn) != was->progress)
		return true;
	if (was->nr >= SDP_ZC_LOOKS || time_after_eq(jiffies, was->end))
		return false;
	acked = sdp_zc_tx_acked(conn, &sent);
	return acked != was->acked || sent != acked;
}

/* Let the peer read; true when it is over. */
static bool sdp_zc_tx_wait(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	u64 us = READ_ONCE(sn->sysctl_zcopy_wait);
	ktime_t limit = ns_to_ktime(us * NSEC_PER_USEC);
	struct sdp_zc_look look = {
		.end = jiffies + sdp_zc_timeout(conn, false),
	};
	u64 sent;
	int ret;

	do {
		look.nr++;
		look.progress = sdp_zc_tx_progress(conn);
		look.acked = sdp_zc_tx_acked(conn, &sent);
		ret = wait_event_interruptible_hrtimeout(conn->wait,
							 sdp_zc_tx_over(conn),
							 limit);
	} while (ret == -ETIME && sdp_zc_tx_moves(conn, &look));
	return !ret;
}

/* It took too long, or a signal came. The message may still be with us. */
static void sdp_zc_tx_cancel(struct sdp_conn *conn)
{
	struct net *net = sock_net(conn->sk);
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	spin_lock_bh(&conn->tx_lock);
	spin_lock(&sdp->lock);
	conn->zc->tx_stop = true;
	if (conn->zc->tx_state == SDP_ZC_TX_QUEUED) {
		if (conn->zc->tx_head)
			sdp_txq_src_unavail(conn);
		WRITE_ONCE(conn->zc->tx_state, SDP_ZC_TX_OVER);
	} else if (conn->zc->tx_state == SDP_ZC_TX_SENT) {
		WRITE_ONCE(conn->zc->tx_state, SDP_ZC_TX_CANCEL);
		sdp_conn_ctl(conn, SDP_CTL_SRC_CANCEL);
		SDP_INC_STATS(net, TX_ZCOPY_CANCELS);
	}
	spin_unlock(&sdp->lock);
	spin_unlock_bh(&conn->tx_lock);
	sdp_conn_kick(conn);
	sdp_zc_wait_peer(conn, false, sdp_zc_tx_over);
}

/**
 * sdp_zc_send - send without a copy
 * @sk: socket with a connection
 * @msg: data
 * @flags: MSG_*
 *
 * Waits for the peer, not longer than it makes progress. The memory is the
 * user's own again when this returns.
 *
 * Context: lock_sock, which is released meanwhile.
 *
 * Return: bytes taken, 0 if the data has to be copied, -ERESTART if the caller has
 * to look at the state of the socket first, because lock_sock was released.
 */
int sdp_zc_send(struct sock *sk, struct msghdr *msg, int flags)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	unsigned long addr;
	u32 len, head, done;
	int err;

	len = sdp_zc_tx_want(sk, msg, flags, &addr);
	if (!len)
		return 0;
	err = sdp_zc_tx_start(sk, msg, addr, len);
	if (err <= 0)
		return err;
	release_sock(sk);
	sdp_conn_kick(conn);
	if (!sdp_zc_tx_wait(conn))
		sdp_zc_tx_cancel(conn);
	sdp_zc_tx_leave(conn);
	lock_sock(sk);
	head = conn->zc->tx_head;
	done = sdp_zc_tx_end(conn);
	sdp_conn_put(conn);
	iov_iter_advance(&msg->msg_iter, done);
	return head + done ? head + done : -ERESTART;
}
