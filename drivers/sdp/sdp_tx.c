// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit half of the stream, what does not depend on the link: sendmsg and
 * its waiting, wake-ups, accounts for the socket. Calls the link's transmit
 * half (struct sdp_link_ops), sdp_verbs_tx.c or sdp_link_shared.c.
 */
#include <linux/export.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_trace.h"

const struct sdp_ctl_msg sdp_ctl_msgs[SDP_CTL_MSGS] = {
	{ SDP_CTL_FIRST, SDP_MID_DATA },
	{ SDP_CTL_RING, SDP_MID_RING_AVAIL },
	{ SDP_CTL_MODE, SDP_MID_MODE_CHANGE },
	{ SDP_CTL_RD_COMPL, SDP_MID_RDMA_RD_COMPL },
	{ SDP_CTL_SENDSM, SDP_MID_SENDSM },
	{ SDP_CTL_SRC_CANCEL, SDP_MID_SRC_CANCEL },
	{ SDP_CTL_SINK_AVAIL, SDP_MID_SINK_AVAIL },
	{ SDP_CTL_SINK_CANCEL, SDP_MID_SINK_CANCEL },
	{ SDP_CTL_SINK_ACK, SDP_MID_SINK_CANCEL_ACK },
	{ SDP_CTL_CHRCVBUF_ACK, SDP_MID_CHRCVBUF_ACK },
};

/**
 * sdp_tx_wake - wake writers if somebody waits and there is room again
 * @conn: connection
 *
 * Context: any; not under sdp->lock.
 */
void sdp_tx_wake(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	if (READ_ONCE(sdp_sk(sk)->conn) == conn)
		sk->sk_write_space(sk);
}

/**
 * sdp_tx_kick - let the transmit engine look for work
 * @conn: connection
 *
 * Context: any; no spinlock held.
 */
void sdp_tx_kick(struct sdp_conn *conn)
{
	int err;

	spin_lock_bh(&conn->tx_lock);
	err = conn->link->run(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (unlikely(err))
		sdp_conn_down(conn, ECONNRESET);
	sdp_tx_wake(conn);
}

/**
 * sdp_tx_ctl - want a control message sent
 * @conn: connection
 * @bit: enum sdp_ctl
 *
 * Context: any. The caller kicks the engine.
 */
void sdp_tx_ctl(struct sdp_conn *conn, unsigned int bit)
{
	set_bit(bit, &conn->tx_ctl);
}

/**
 * sdp_tx_fin - send DisConn after all data
 * @conn: connection
 *
 * Context: any; no spinlock held.
 */
void sdp_tx_fin(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->tx_lock);
	conn->tx_fin = true;
	spin_unlock_bh(&conn->tx_lock);
	sdp_tx_kick(conn);
}

/**
 * sdp_tx_count - count a message that is sent
 * @conn: connection
 * @payload: octets of it, or that were added to one
 * @data: a new message with payload
 *
 * Context: whoever gives out MSeq.
 */
void sdp_tx_count(struct sdp_conn *conn, u32 payload, bool data)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct net *net = sock_net(conn->sk);

	if (payload) {
		WRITE_ONCE(sdp->tx_bytes, sdp->tx_bytes + payload);
		SDP_ADD_STATS(net, TX_BYTES, payload);
		if (!data)
			return;
		SDP_INC_STATS(net, TX_DATA_MSGS);
	} else {
		SDP_INC_STATS(net, TX_CTL);
	}
	WRITE_ONCE(sdp->tx_msgs, sdp->tx_msgs + 1);
	SDP_INC_STATS(net, TX_MSGS);
}

/**
 * sdp_tx_wc_bad - what a completion says about the connection
 * @conn: connection
 * @wc: completion of something sent
 *
 * Context: any. Return: the connection has failed.
 */
bool sdp_tx_wc_bad(struct sdp_conn *conn, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		sdp_conn_flushed(conn);
		return true;
	}
	SDP_INC_STATS(sock_net(conn->sk), TRANSPORT_ERRORS);
	sdp_conn_down(conn, wc->status == IB_WC_RETRY_EXC_ERR ?
		      ETIMEDOUT : ECONNRESET);
	return true;
}

/**
 * sdp_probe_done - completion of sdp_link_probe()
 * @cq: completion queue
 * @wc: its entry
 *
 * What was posted before is complete, and the peer lives if it had to answer.
 *
 * Context: softirq.
 */
void sdp_probe_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_conn *conn = container_of(wc->wr_cqe, struct sdp_conn,
					     ka_cqe);
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 mseq;

	if (sdp_tx_wc_bad(conn, wc))
		return;
	mseq = conn->tx_probe_mseq;
	if (conn->tx_probe_proves) {
		WRITE_ONCE(conn->tx_proven, mseq);
		spin_lock(&sdp->lock);
		if (sdp->conn == conn)
			WRITE_ONCE(sdp->last_rx, jiffies);
		spin_unlock(&sdp->lock);
	}
	/* the next probe may be posted from here on */
	smp_store_release(&conn->tx_probing, false);
	conn->link->probed(conn, mseq);
	wake_up_all(&conn->cm_wait);
}

/**
 * sdp_tx_settle - learn what has been acknowledged
 * @sk: socket, not locked
 *
 * Where it takes asking the peer, it waits for the answer, but not for long.
 */
void sdp_tx_settle(struct sock *sk)
{
	struct sdp_conn *conn;

	lock_sock(sk);
	conn = sdp_sk(sk)->conn;
	if (!conn || !conn->link->settle || !conn->link->settle(conn)) {
		release_sock(sk);
		return;
	}
	refcount_inc(&conn->refs);
	release_sock(sk);
	wait_event_timeout(conn->cm_wait, !READ_ONCE(conn->tx_probing) ||
			   test_bit(SDP_CONN_DOWN, &conn->flags), HZ / 50);
	sdp_conn_put(conn);
}

/**
 * sdp_stream_memory_free - whether sendmsg may queue more
 * @sk: socket
 * @wake: asked for poll, where notsent_lowat counts half
 *
 * Context: any; the answer may be stale at once, a wake-up follows.
 */
bool sdp_stream_memory_free(const struct sock *sk, int wake)
{
	u32 lowat = READ_ONCE(sdp_sk(sk)->notsent_lowat);
	const struct sdp_conn *conn;
	bool ret = true;

	/* the connection may go meanwhile; its memory stays for us */
	rcu_read_lock();
	conn = READ_ONCE(sdp_sk(sk)->conn);
	if (conn && conn->link->full(conn))
		ret = false;
	else if (conn && unlikely(lowat))
		ret = (conn->link->unsent(conn) << wake) < lowat;
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_write_space - sk_write_space of SDP sockets
 * @sk: socket
 *
 * Wakes only if somebody found the buffer full and a third of it is free.
 *
 * Context: any.
 */
void sdp_write_space(struct sock *sk)
{
	struct socket_wq *wq;
	struct socket *sock;

	rcu_read_lock();
	sock = READ_ONCE(sk->sk_socket);
	if (!sock || !test_bit(SOCK_NOSPACE, &sock->flags) ||
	    !sk_stream_is_writeable(sk))
		goto out;
	clear_bit(SOCK_NOSPACE, &sock->flags);
	SDP_INC_STATS(sock_net(sk), WAKEUPS_TX);
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT |
					   EPOLLWRNORM | EPOLLWRBAND);
	if (wq && wq->fasync_list && !(sk->sk_shutdown & SEND_SHUTDOWN))
		sock_wake_async(wq, SOCK_WAKE_SPACE, POLL_OUT);
out:
	rcu_read_unlock();
}

/**
 * sdp_tx_prod - somebody waits for room in the send buffer
 * @sk: socket
 *
 * Context: any; no spinlock held.
 */
void sdp_tx_prod(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn;

	spin_lock_bh(&sdp->lock);
	conn = sdp->conn;
	if (conn)
		refcount_inc(&conn->refs);
	spin_unlock_bh(&sdp->lock);
	if (!conn)
		return;
	conn->link->want_space(conn);
	sdp_conn_put(conn);
}

static bool sdp_tx_may_write(struct sock *sk)
{
	return sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN) ||
	       sk_stream_memory_free(sk);
}

/*
 * Room for sendmsg: waits, or says why not. Only without memory (@nomem) as TCP does:
 * sk_stream_wait_memory() takes a buffer that has become free in this moment for a
 * lack of memory, and sleeps whatever happens.
 */
static int sdp_tx_wait(struct sock *sk, long *timeo, bool nomem)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	SDP_INC_STATS(sock_net(sk), TX_SNDBUF_FULL);
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	sdp_tx_prod(sk);
	if (unlikely(nomem))
		return sk_stream_wait_memory(sk, timeo);
	if (signal_pending(current))
		return *timeo ? sock_intr_errno(*timeo) : -EAGAIN;
	if (sdp_tx_may_write(sk))
		return 0;
	if (!*timeo)
		return -EAGAIN;
	add_wait_queue(sk_sleep(sk), &wait);
	sk->sk_write_pending++;
	sk_wait_event(sk, timeo, sdp_tx_may_write(sk), &wait);
	sk->sk_write_pending--;
	remove_wait_queue(sk_sleep(sk), &wait);
	return 0;
}

/**
 * sdp_tx_leave - let go of the socket in the middle of a send, to get its memory
 * @conn: connection, which the caller may not touch otherwise than to return
 *
 * That may take as long as somebody likes (userfaultfd, FUSE). Teardown, timers and
 * others need lock_sock, so no copy waits for a page with it. But what is sent stays
 * in one piece, as with TCP, which keeps it: other senders wait, see sdp_tx_turn().
 *
 * Context: lock_sock, which is released.
 */
void sdp_tx_leave(struct sdp_conn *conn)
{
	sock_owned_by_me(conn->sk);
	/* the socket may lose the connection meanwhile */
	refcount_inc(&conn->refs);
	WRITE_ONCE(conn->tx_away, true);
	release_sock(conn->sk);
}

/**
 * sdp_tx_return - go on after sdp_tx_leave()
 * @conn: the same connection; no longer to be touched if the socket has lost it
 *
 * Context: process; takes lock_sock.
 */
void sdp_tx_return(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	WRITE_ONCE(conn->tx_away, false);
	if (conn->tx_turns)
		wake_up_interruptible(sk_sleep(sk));
	sdp_conn_put(conn);
}

/*
 * Somebody is in the middle of a send: wait until that goes on, also if the program does
 * not wait for room, as TCP does for the lock. 0 to look again, or -errno.
 */
static int sdp_tx_turn(struct sock *sk, struct sdp_conn *conn, long *timeo)
{
	long left = *timeo ?: MAX_SCHEDULE_TIMEOUT;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	if (signal_pending(current))
		return sock_intr_errno(left);
	refcount_inc(&conn->refs);
	conn->tx_turns++;
	add_wait_queue(sk_sleep(sk), &wait);
	sk_wait_event(sk, &left, sk->sk_err ||
		      (sk->sk_shutdown & SEND_SHUTDOWN) ||
		      !READ_ONCE(conn->tx_away), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
	conn->tx_turns--;
	sdp_conn_put(conn);
	if (*timeo)
		*timeo = left;
	return left ? 0 : -EAGAIN;
}

/**
 * sdp_tx_fault_in - what the user wants to send is not in memory: get it
 * @sk: socket
 * @from: where it is
 * @len: octets wanted
 *
 * Context: lock_sock, which is released meanwhile.
 *
 * Return: as struct sdp_link_ops.send.
 */
int sdp_tx_fault_in(struct sock *sk, struct iov_iter *from, size_t len)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	size_t left;

	SDP_INC_STATS(sock_net(sk), TX_FAULTS);
	if (!user_backed_iter(from))
		return -EFAULT;
	sdp_tx_leave(conn);
	left = fault_in_iov_iter_readable(from, len);
	sdp_tx_return(conn);
	if (left == len)
		return -EFAULT;
	return fatal_signal_pending(current) ? -EINTR : -ERESTART;
}

static bool sdp_tx_corked(const struct sock *sk, int flags)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	if (flags & MSG_OOB)
		return false;
	return (flags & MSG_MORE) || READ_ONCE(sdp->cork);
}

/*
 * Part of sendmsg that runs once per piece; returns < 0 to stop, also when the
 * socket has been disconnected since @dis: another connection is none of its business.
 */
static int sdp_send_piece(struct sock *sk, struct msghdr *msg, int flags,
			  long *timeo, int dis)
{
	struct sdp_conn *conn;
	int n;

	do {
		if (sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN ||
		    sk->sk_disconnects != dis)
			return -EPIPE;
		conn = sdp_sk(sk)->conn;
		if (!conn)
			return -EPIPE;
		if (unlikely(conn->tx_away))
			n = sdp_tx_turn(sk, conn, timeo) ?: -ERESTART;
		else
			n = conn->link->send(sk, msg, flags);
	} while (unlikely(n == -ERESTART));
	if (n > 0)
		return n;
	if (n && n != -ENOMEM)
		return n;
	return sdp_tx_wait(sk, timeo, n == -ENOMEM);
}

/* A send that the program would rather not have copied, where nothing else is */
static void sdp_tx_count_large(struct sock *sk, struct msghdr *msg)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 threshold = sdp_zc_threshold(sk);
	u8 why;

	if (likely(!threshold) || !conn || msg_data_left(msg) < threshold)
		return;
	why = sdp_zc_reason(conn);
	if (why == SDP_UNSHARED_LINK || why == SDP_UNSHARED_POLICY)
		SDP_INC_STATS(sock_net(sk), ZCOPY_NO_LINK);
}

static int sdp_sendmsg_locked(struct sock *sk, struct msghdr *msg)
{
	int flags = msg->msg_flags, copied = 0, err;
	int dis = sk->sk_disconnects;
	struct sdp_conn *conn;
	long timeo;
	bool app;

	timeo = sock_sndtimeo(sk, flags & MSG_DONTWAIT);
	if (((1 << sk->sk_state) & ~(TCPF_ESTABLISHED | TCPF_CLOSE_WAIT))) {
		err = sk_stream_wait_connect(sk, &timeo);
		if (err)
			goto error;
	}
	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	err = -EPIPE;
	if (sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN))
		goto error;
	err = 0;
	if (unlikely(READ_ONCE(sdp_sk(sk)->user_timeout)))
		sdp_watch_user(sk);
	if (sdp_sk(sk)->conn)
		sdp_link_set_ip(sdp_sk(sk)->conn);
	sdp_tx_count_large(sk, msg);
	app = sdp_ring_enter(sk);
	while (msg_data_left(msg)) {
		err = sdp_send_piece(sk, msg, flags, &timeo, dis);
		if (err < 0)
			break;
		copied += err;
		err = 0;
	}
	conn = sdp_sk(sk)->conn;
	if (conn)
		conn->link->sent(conn, copied && !err &&
				 sdp_tx_corked(sk, flags));
	if (unlikely(app))
		sdp_ring_leave(sk);
	if (copied)
		return copied;
	if (!err)
		return 0;
error:
	/* nothing is wrong, the caller goes on with TCP */
	if (sdp_tcp_goes_on(sk, dis))
		return err;
	return sk_stream_error(sk, flags, err);
}

/* Octets that were not copied so far */
static u64 sdp_tx_direct(const struct sdp_sock *sdp)
{
	return READ_ONCE(sdp->tx_zcopy_bytes) + READ_ONCE(sdp->tx_ref_bytes);
}

/* MSG_ZEROCOPY: the program wants to hear of the end. */
static int sdp_sendmsg_notified(struct sock *sk, struct msghdr *msg)
{
	u64 before = sdp_tx_direct(sdp_sk(sk));
	struct ubuf_info *uarg;
	int ret;

	uarg = sdp_errq_begin(sk, msg);
	if (!uarg)
		return -ENOBUFS;
	msg->msg_ubuf = uarg;
	ret = sdp_sendmsg_locked(sk, msg);
	msg->msg_ubuf = NULL;
	sdp_errq_end(sk, uarg, ret, sdp_tx_direct(sdp_sk(sk)) - before);
	return ret;
}

/**
 * sdp_sendmsg - sendmsg of AF_SDP
 * @sock: socket
 * @msg: data and flags; a destination is ignored as TCP does
 * @len: octets, the same as in @msg
 *
 * Return: octets queued, or a negative errno as TCP would return it.
 */
int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct sockcm_cookie sockc;
	struct socket *tcp;
	int ret, dis;

	if (msg->msg_flags & MSG_FASTOPEN)
		return -EOPNOTSUPP;
	if (msg->msg_controllen) {
		sockcm_init(&sockc, sk);
		ret = sock_cmsg_send(sk, msg, &sockc);
		if (ret)
			return ret;
	}
	lock_sock(sk);
	dis = sk->sk_disconnects;
	if (unlikely(sdp_errq_wanted(sk, msg)))
		ret = sdp_sendmsg_notified(sk, msg);
	else
		ret = sdp_sendmsg_locked(sk, msg);
	release_sock(sk);
	/* it waited for the connection, and that is one of TCP */
	tcp = ret < 0 ? sdp_tcp_goes_on(sk, dis) : NULL;
	return unlikely(tcp) ? tcp->ops->sendmsg(tcp, msg, len) : ret;
}

#ifdef HAVE_PROTO_OPS_SENDPAGE
/**
 * sdp_sendpage - sendmsg of a page, for sendfile and splice before 6.5
 * @sock: socket
 * @page: page
 * @offset: where the data begin
 * @size: octets
 * @flags: MSG_*
 *
 * Return: as sdp_sendmsg().
 */
ssize_t sdp_sendpage(struct socket *sock, struct page *page, int offset,
		     size_t size, int flags)
{
	struct bio_vec bv = {
		.bv_page = page,
		.bv_len = size,
		.bv_offset = offset,
	};
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };

	if (flags & MSG_SENDPAGE_NOTLAST)
		msg.msg_flags |= MSG_MORE;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, size);
	return sdp_sendmsg(sock, &msg, size);
}
#endif

/**
 * sdp_push_pending - send what TCP_CORK or MSG_MORE held back
 * @sk: socket, locked
 *
 * Return: 0.
 */
int sdp_push_pending(struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (conn)
		conn->link->push(conn);
	return 0;
}

/**
 * sdp_outq_bytes - octets written and not acknowledged
 * @sk: socket, locked
 */
u32 sdp_outq_bytes(const struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->outq(conn) : 0;
}
EXPORT_SYMBOL_GPL(sdp_outq_bytes);

/**
 * sdp_notsent_bytes - octets written and not given to the transport
 * @sk: socket, locked
 */
u32 sdp_notsent_bytes(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->unsent(conn) : 0;
}
EXPORT_SYMBOL_GPL(sdp_notsent_bytes);

/**
 * sdp_max_payload - largest payload of one message
 * @sk: socket, locked
 */
u32 sdp_max_payload(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->tx_max_payload : SDP_BUF_SIZE;
}
EXPORT_SYMBOL_GPL(sdp_max_payload);

/**
 * sdp_tx_progress - a number that changes as long as data leave
 * @sk: socket, locked
 */
u32 sdp_tx_progress(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->progress(conn) : 0;
}
