// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy by RDMA Write, the sink: a reader that waits with a large buffer
 * offers it to the peer (SinkAvail). Called by recvmsg (sdp_rx.c), the transmit
 * engine and the receive half (sdp_rx_msg.c); calls xfer.c, sink_read.c and the
 * engine.
 *
 * There is one SinkAvail at a time, in pipelined mode, while nothing is queued or
 * advertised. It ends when the peer has written (RdmaWrCompl); when a message with
 * payload comes, after which neither end uses it; with DisConn and ModeChange; with a
 * SrcAvail, if it has not left yet; or when the reader does not want to wait any more and
 * the peer agrees (SinkAvailCancel, SinkCancelAck). The memory is the reader's own again
 * when its invalidation is complete, whatever the peer does.
 *
 * Data placed by RDMA Write bypasses the receive queue. Later data may already
 * be queued when the reader returns, so rx_seq and copied_seq do not count the
 * placed bytes.
 */
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_verbs.h"

/**
 * sdp_zc_sink_due - whether SinkAvail may leave
 * @conn: connection
 *
 * If so, it counts as sent from here on.
 *
 * Context: tx_lock.
 */
bool sdp_zc_sink_due(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	bool due;

	lockdep_assert_held(&conn->tx_lock);
	spin_lock(&sdp->lock);
	due = zc->sink_state == SDP_ZC_SINK_QUEUED;
	if (due) {
		WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_SENT);
		zc->sink_data = zc->rx_data;
	}
	spin_unlock(&sdp->lock);
	return due;
}

/**
 * sdp_zc_sink_fill - SinkAvail is leaving
 * @conn: connection
 * @m: the message; the offer is filled in
 *
 * Context: tx_lock, held since sdp_zc_sink_due(): the reader needs it before it lets the
 * region go.
 */
void sdp_zc_sink_fill(struct sdp_conn *conn, struct sdp_msg *m)
{
	const struct sdp_zc *zc = conn->zc;

	lockdep_assert_held(&conn->tx_lock);
	m->ext.avail.len = zc->rx->len;
	m->ext.avail.rkey = zc->rx->mr->rkey;
	m->ext.avail.va = zc->rx->mr->iova;
	m->ext.avail.non_discards = zc->sink_data;
	SDP_INC_STATS(sock_net(conn->sk), TX_SINKAVAIL);
}

/**
 * sdp_zc_sink_cancel_due - whether SinkAvailCancel may leave
 * @conn: connection
 *
 * If so, it counts as sent from here on.
 *
 * Context: tx_lock.
 */
bool sdp_zc_sink_cancel_due(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	bool due;

	lockdep_assert_held(&conn->tx_lock);
	spin_lock(&sdp->lock);
	due = zc->sink_state == SDP_ZC_SINK_CANCEL;
	if (due)
		WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_CANCELLED);
	spin_unlock(&sdp->lock);
	return due;
}

/**
 * sdp_zc_wr_compl - the peer has written to the reader's memory
 * @sdp: socket
 * @c: RdmaWrCompl
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_wr_compl(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;
	u32 n = c->m.ext.len;

	lockdep_assert_held(&sdp->lock);
	if (!sdp_zc_sink_out(zc) || !n || n > zc->rx->len || c->conn->rx_discon)
		return SDP_MIB_BAD_RDMA;
	zc->sink_done = n;
	sdp_zc_sink_end(c->conn);
	return 0;
}

/**
 * sdp_zc_sink_ack - the peer has given up our SinkAvail
 * @sdp: socket
 * @c: SinkCancelAck
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_sink_ack(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	lockdep_assert_held(&sdp->lock);
	if (zc->sink_state != SDP_ZC_SINK_CANCELLED)
		return SDP_MIB_BAD_STATE;
	sdp_zc_sink_end(c->conn);
	return 0;
}

/*
 * Bytes of the reader's memory to offer, from address *@addr on; 0 if it is not worth
 * it, or not possible. Context: lock_sock held.
 */
static u32 sdp_zc_sink_want(struct sock *sk, struct msghdr *msg, size_t len,
			    int flags, unsigned long *addr)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 threshold, n;

	if (likely(!conn || READ_ONCE(conn->rx_mode) != SDP_MODE_PIPELINED))
		return 0;
	threshold = sdp_sock_zcopy_threshold(sk);
	if (!threshold || READ_ONCE(conn->zc->sink_state) != SDP_ZC_SINK_IDLE ||
	    !sdp_zc_asks_pipe(conn) || sk->sk_err ||
	    flags & (MSG_PEEK | MSG_TRUNC) || signal_pending(current))
		return 0;
	/* there is one region: another reader may be using it */
	if (READ_ONCE(conn->zc->rx_state) != SDP_ZC_RX_IDLE ||
	    conn->zc->rx_taking)
		return 0;
	/* a peer may refuse to write where one of its messages would not fit */
	n = min_t(size_t, sdp_zc_segment(&msg->msg_iter, addr), len);
	if (n < max_t(u32, threshold, SDP_BUF_SIZE))
		return 0;
	if (conn->zc->rx_skip) {
		conn->zc->rx_skip--;
		return 0;
	}
	return n;
}

/*
 * Have SinkAvail sent. False if something has come since the reader looked: then the
 * offer is over before it began. Context: lock_sock held.
 */
static bool sdp_zc_sink_start(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_zc *zc = conn->zc;
	bool ok;

	spin_lock_bh(&sdp->lock);
	ok = sdp->rx_seq == sdp->copied_seq && !conn->rx_discon &&
	     !(sk->sk_shutdown & RCV_SHUTDOWN) &&
	     conn->rx_mode == SDP_MODE_PIPELINED &&
	     zc->rx_state == SDP_ZC_RX_IDLE &&
	     (sdp->urg_state == SDP_URG_NONE || sdp->urg_state == SDP_URG_READ);
	zc->sink_done = 0;
	zc->sink_lost = false;
	WRITE_ONCE(zc->sink_state, ok ? SDP_ZC_SINK_QUEUED :
		   SDP_ZC_SINK_OVER);
	if (ok)
		sdp_conn_ctl(conn, SDP_CTL_SINK_AVAIL);
	spin_unlock_bh(&sdp->lock);
	return ok;
}

static bool sdp_zc_sink_over(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->zc->sink_state) == SDP_ZC_SINK_OVER ||
	       test_bit(SDP_CONN_DOWN, &conn->flags);
}

/*
 * Wait as a reader does, until the offer is over (true), or *@timeo is, a signal came, or
 * shutdown() was called (false). shutdown() wakes the socket's wait queue, an answer of
 * the peer that of the connection. No lock held.
 */
static bool sdp_zc_sink_wait(struct sock *sk, struct sdp_conn *conn,
			     long *timeo)
{
	DEFINE_WAIT_FUNC(by_sock, default_wake_function);
	DEFINE_WAIT_FUNC(by_conn, default_wake_function);
	bool over;

	add_wait_queue(sk_sleep(sk), &by_sock);
	add_wait_queue(&conn->wait, &by_conn);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		over = sdp_zc_sink_over(conn);
		if (over || !*timeo || signal_pending(current) ||
		    READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
			break;
		*timeo = schedule_timeout(*timeo);
	}
	__set_current_state(TASK_RUNNING);
	remove_wait_queue(&conn->wait, &by_conn);
	remove_wait_queue(sk_sleep(sk), &by_sock);
	return over;
}

/* The reader does not wait any more: end the offer. No lock held. */
static void sdp_zc_sink_cancel(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;

	spin_lock_bh(&sdp->lock);
	if (zc->sink_state == SDP_ZC_SINK_QUEUED) {
		WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_OVER);
	} else if (zc->sink_state == SDP_ZC_SINK_SENT) {
		WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_CANCEL);
		sdp_conn_ctl(conn, SDP_CTL_SINK_CANCEL);
		SDP_INC_STATS(sock_net(conn->sk), TX_SINK_CANCELS);
	}
	spin_unlock_bh(&sdp->lock);
	sdp_conn_kick(conn);
	sdp_zc_wait_peer(conn, true, sdp_zc_sink_over);
}

/*
 * After offers that failed some receives are copied without another one. By the reader:
 * with lock_sock, or in its offer.
 */
static void sdp_zc_sink_failed(struct sdp_zc *zc)
{
	if (zc->rx_fails < SDP_ZC_SKIP_MAX)
		zc->rx_fails++;
	zc->rx_skip = 1 << zc->rx_fails;
}

static void sdp_zc_sink_result(struct sdp_zc *zc)
{
	if (zc->sink_done)
		zc->rx_fails = 0;
	if (zc->sink_lost)
		sdp_zc_sink_failed(zc);
}

/*
 * Take the memory back and end the offer. Returns bytes that the peer has written. No
 * lock held: it waits.
 */
static u32 sdp_zc_sink_done(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct net *net = sock_net(conn->sk);
	struct sdp_zc *zc = conn->zc;
	struct ib_send_wr inv;
	bool pending;
	u32 done;

	sdp_zc_inv_wr(zc->rx, &inv);
	sdp_zc_post(conn, zc->rx, &inv);
	sdp_zc_leave(conn, zc->rx);
	spin_lock_bh(&sdp->lock);
	done = zc->sink_done;
	sdp_zc_sink_result(zc);
	WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_IDLE);
	WRITE_ONCE(sdp->rx_bytes, sdp->rx_bytes + done);
	WRITE_ONCE(sdp->rx_zcopy_bytes, sdp->rx_zcopy_bytes + done);
	pending = zc->rx_state == SDP_ZC_RX_PENDING;
	spin_unlock_bh(&sdp->lock);
	if (done)
		SDP_INC_STATS(net, RX_ZCOPY_WRITES);
	SDP_ADD_STATS(net, RX_ZCOPY_BYTES, done);
	SDP_ADD_STATS(net, RX_BYTES, done);
	/* readers that came meanwhile left the SrcAvail alone, as there is one zc->rx */
	if (pending)
		conn->sk->sk_data_ready(conn->sk);
	return done;
}

/*
 * Offer @len bytes of the reader's memory. Returns bytes written there. lock_sock, which
 * is released meanwhile; bytes that were written count even if the socket has lost the
 * connection by then.
 */
static u32 sdp_zc_sink(struct sock *sk, unsigned long addr, u32 len,
		       long *timeo)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	struct sdp_zc_region *r;
	struct ib_reg_wr reg;
	u32 done = 0;

	r = sdp_zc_rx_get(conn, addr, len);
	if (IS_ERR(r)) {
		if (PTR_ERR(r) != -ERESTART)
			sdp_zc_sink_failed(conn->zc);
		return 0;
	}
	conn->zc->rx = r;
	sdp_zc_enter(conn);
	sdp_zc_reg_wr(r, &reg, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	if (!sdp_zc_post(conn, r, &reg.wr)) {
		sdp_zc_leave(conn, r);
		goto put;
	}
	if (sdp_zc_sink_start(sk, conn)) {
		release_sock(sk);
		sdp_conn_kick(conn);
		if (!sdp_zc_sink_wait(sk, conn, timeo))
			sdp_zc_sink_cancel(conn);
	} else {
		release_sock(sk);
	}
	done = sdp_zc_sink_done(conn);
	lock_sock(sk);
put:
	sdp_conn_put(conn);
	return done;
}

/**
 * sdp_zc_offer - receive without a copy: let the peer write
 * @sk: socket, nothing is on its receive queue
 * @msg: where to
 * @len: bytes wanted
 * @flags: MSG_*
 * @timeo: time that the reader may wait; updated to the rest
 *
 * Context: lock_sock, which is released while memory is pinned and the peer may write.
 *
 * Return: bytes written, 0 if the caller has to look at what has come, or to
 * wait for messages.
 */
int sdp_zc_offer(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		 long *timeo)
{
	unsigned long addr;
	u32 n;

	n = *timeo ? sdp_zc_sink_want(sk, msg, len, flags, &addr) : 0;
	if (!n)
		return 0;
	n = sdp_zc_sink(sk, addr, n, timeo);
	iov_iter_advance(&msg->msg_iter, n);
	return n;
}
