// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit half of the stream, what does not depend on the link: sendmsg and
 * its waiting, wake-ups, accounts for the socket. Calls sdp_errq.c, sdp_latency.c, and the
 * transmit half of the link by its operations (struct sdp_link_ops): those of
 * sdp_verbs_tx.c or sdp_shared_tx.c.
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_fallback.h"
#include "sdp_latency.h"
#include "sdp_mib.h"
#include "sdp_ring.h"
#include "sdp_verbs.h"

/**
 * sdp_tx_settle - learn what has been acknowledged
 * @sk: socket, not locked
 *
 * If this takes a probe of the peer, waits for the answer for a short time.
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
	wait_event_timeout(conn->wait, !READ_ONCE(conn->probe.state) ||
			   test_bit(SDP_CONN_DOWN, &conn->flags), HZ / 50);
	sdp_conn_put(conn);
}

/**
 * sdp_stream_memory_free - whether sendmsg may queue more
 * @sk: socket
 * @wake: asked for poll, where notsent_lowat counts half
 *
 * Context: any, but not under sdp->lock, which the link may take; the answer may be stale at
 * once, a wake-up follows.
 */
bool sdp_stream_memory_free(const struct sock *sk, int wake)
{
	u32 lowat = READ_ONCE(sdp_sk(sk)->notsent_lowat);
	const struct sdp_link_ops *link;
	const struct sdp_conn *conn;
	bool ret = true;

	/* the connection may go meanwhile; its memory stays for us */
	rcu_read_lock();
	conn = READ_ONCE(sdp_sk(sk)->conn);
	/* the link's data was written before; pairs with sdp_shared_open() */
	link = conn ? smp_load_acquire(&conn->link) : NULL;
	if (link && link->full(conn))
		ret = false;
	else if (link && unlikely(lowat))
		ret = (link->unsent(conn) << wake) < lowat;
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_write_space - sk_write_space of SDP sockets
 * @sk: socket
 *
 * Wakes only if a writer found the buffer full and a third of it is free.
 *
 * Context: any, but not under sdp->lock.
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

static bool sdp_tx_may_write(struct sock *sk)
{
	return sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN) ||
	       sk_stream_memory_free(sk);
}

/*
 * Wait for room for sendmsg, or return an error. Calls sk_stream_wait_memory() only
 * without memory (@nomem): if a buffer becomes free at this moment, that function
 * takes this for a lack of memory and sleeps in any case.
 */
static int sdp_tx_wait(struct sock *sk, long *timeo, bool nomem)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	SDP_INC_STATS(sock_net(sk), TX_SNDBUF_FULL);
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	sdp_conn_want_space(sk);
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

/*
 * Another task is in the middle of a send: wait for it, also if the program
 * does not wait for room, as TCP does for the lock. 0 to look again, or -errno.
 */
static int sdp_tx_turn(struct sock *sk, struct sdp_conn *conn, long *timeo)
{
	long left = *timeo ?: MAX_SCHEDULE_TIMEOUT;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	if (signal_pending(current))
		return sock_intr_errno(left);
	refcount_inc(&conn->refs);
	conn->tx_waiters++;
	add_wait_queue(sk_sleep(sk), &wait);
	sk_wait_event(sk, &left, sk->sk_err ||
		      (sk->sk_shutdown & SEND_SHUTDOWN) ||
		      !READ_ONCE(conn->tx_away), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
	conn->tx_waiters--;
	sdp_conn_put(conn);
	if (*timeo)
		*timeo = left;
	return left ? 0 : -EAGAIN;
}

static bool sdp_tx_corked(const struct sock *sk, int flags)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	if (flags & MSG_OOB)
		return false;
	return (flags & MSG_MORE) || READ_ONCE(sdp->cork);
}

/*
 * Send one piece of a message, or wait for room. Returns bytes taken, 0 after a wait, or
 * < 0 to stop. It also stops when the socket was disconnected since @dis, since the message
 * must not continue on a new connection.
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
	if (unlikely(READ_ONCE(conn->error))) {
		sdp_conn_ended(sk, conn);
		/* wake other tasks: the teardown does not if the socket is disconnected first */
		sk->sk_state_change(sk);
		return -EPIPE;
	}
	return sdp_tx_wait(sk, timeo, n == -ENOMEM);
}

/* Count a send that exceeds the zero copy threshold on a connection that can only copy */
static void sdp_tx_count_large(struct sock *sk, struct msghdr *msg)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	enum sdp_reason why;

	if (likely(!READ_ONCE(sdp_sk(sk)->zcopy_threshold)) || !conn ||
	    msg_data_left(msg) < sdp_sock_zcopy_threshold(sk))
		return;
	why = sdp_conn_zcopy_reason(conn);
	if (why == SDP_REASON_LINK || why == SDP_REASON_POLICY)
		SDP_INC_STATS(sock_net(sk), ZCOPY_NO_LINK);
}

static int sdp_sendmsg_locked(struct sock *sk, struct msghdr *msg)
{
	int flags = msg->msg_flags, copied = 0, err;
	int dis = sk->sk_disconnects;
	struct sdp_conn *conn;
	long timeo;
	u64 begin;
	bool entered;

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
		sdp_conn_watch_user(sk);
	if (sdp_sk(sk)->conn)
		sdp_qp_set_ip(sdp_sk(sk)->conn);
	sdp_tx_count_large(sk, msg);
	begin = sdp_latency_begin(sk);
	entered = sdp_ring_enter(sk);
	while (msg_data_left(msg)) {
		err = sdp_send_piece(sk, msg, flags, &timeo, dis);
		if (err < 0)
			break;
		copied += err;
		err = 0;
	}
	conn = sdp_sk(sk)->conn;
	/* as with TCP, an empty send does not release data that waits for more */
	if (conn && (copied || err))
		conn->link->sent(conn, copied && !err &&
				 sdp_tx_corked(sk, flags));
	if (conn && copied)
		sdp_latency_sent(conn, begin);
	if (unlikely(entered))
		sdp_ring_leave(sk);
	if (copied)
		return copied;
	if (!err)
		return 0;
error:
	/* no error: the caller continues with TCP */
	if (sdp_fallback_goes_on(sk, dis))
		return err;
	return sk_stream_error(sk, flags, err);
}

/* Bytes that were not copied so far */
static u64 sdp_tx_direct(const struct sdp_sock *sdp)
{
	return READ_ONCE(sdp->tx_zcopy_bytes) + READ_ONCE(sdp->tx_ref_bytes);
}

/* MSG_ZEROCOPY: the program wants a notification of the end. */
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
 * @len: bytes, the same as in @msg
 *
 * Context: process; takes lock_sock, and may sleep.
 *
 * Return: bytes queued, or a negative errno as TCP would return it.
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
	if (ret > 0)
		SDP_INC_SIZE(sock_net(sk), TX_SENDS_64, ret);
	release_sock(sk);
	/* the call waited for a connection, and the socket has fallen back to TCP */
	tcp = ret < 0 ? sdp_fallback_goes_on(sk, dis) : NULL;
	return unlikely(tcp) ? tcp->ops->sendmsg(tcp, msg, len) : ret;
}

#ifdef HAVE_PROTO_OPS_SPLICE_EOF
/**
 * sdp_splice_eof - sendfile or splice has found the end of its source
 * @sock: socket
 *
 * It expected more, and its last send said so (MSG_MORE).
 */
void sdp_splice_eof(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_conn *conn;
	struct socket *tcp;

	lock_sock(sk);
	conn = sdp_sk(sk)->conn;
	if (conn)
		conn->link->sent(conn, sdp_tx_corked(sk, 0));
	release_sock(sk);
	tcp = sdp_fallback_on(sk);
	if (unlikely(tcp) && tcp->ops->splice_eof)
		tcp->ops->splice_eof(tcp);
}
#endif

#ifdef HAVE_PROTO_OPS_SENDPAGE
/**
 * sdp_sendpage - sendmsg of a page, for sendfile and splice before 6.5
 * @sock: socket
 * @page: page
 * @offset: where the data begin
 * @size: bytes
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
