// SPDX-License-Identifier: GPL-2.0
/*
 * Reading, whatever link the connection has: recvmsg and splice. Calls zero copy
 * and the receive queue of the link (struct sdp_rxq_ops), which is in
 * sdp_verbs_rx.c, sdp_rx_pages.c or sdp_ring.c.
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/net.h>
#include <linux/pipe_fs_i.h>
#include <linux/splice.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fallback.h"
#include "sdp_mib.h"
#include "sdp_ring.h"
#include "sdp_rx.h"

#define SDP_RX_PIECE	(256 * 1024)	/* bytes freed together by a reader */
#define SDP_RX_FAULTS	3		/* in a row, after which nothing could be copied */

/* ---- reading ---- */

/* Forget the urgent byte, and the urgent bytes to skip, that the reader has passed. */
static void sdp_rx_urg_passed(struct sdp_sock *sdp)
{
	if (likely(!READ_ONCE(sdp->urg_state)))
		return;
	spin_lock_bh(&sdp->lock);
	if (!sdp_seq_after(sdp->urg_skip_to, sdp->copied_seq))
		WRITE_ONCE(sdp->urg_skips, false);
	if (sdp->urg_state != SDP_URG_NOTYET &&
	    sdp_seq_after(sdp->copied_seq, sdp->urg_seq))
		WRITE_ONCE(sdp->urg_state, SDP_URG_NONE);
	spin_unlock_bh(&sdp->lock);
}

static bool sdp_rx_idle(struct sock *sk, u32 seq)
{
	return READ_ONCE(sdp_sk(sk)->rx_seq) == seq && !READ_ONCE(sk->sk_err) &&
	       !sdp_zc_pending(sk) &&
	       !(READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) &&
	       READ_ONCE(sk->sk_state) != TCP_CLOSE;
}

static int sdp_rx_wait(struct sock *sk, long *timeo, u32 seq)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret;

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	ret = sk_wait_event(sk, timeo, !sdp_rx_idle(sk, seq), &wait);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	return ret;
}

/* State of one recvmsg. */
struct sdp_read {
	struct msghdr *msg;
	size_t len;		/* bytes still wanted */
	size_t target;		/* return once @copied has reached this */
	int copied;
	int flags;
	u32 seq;		/* next byte of the stream */
	u32 faults;		/* since the last byte was copied */
	long timeo;
	bool wait;		/* the caller allows waiting; stays set when @timeo is 0 */
	bool inline_urg;
};

/*
 * Reasons to stop a reader that found nothing. Data, and after it the end of the stream,
 * may have arrived since the reader looked. One critical section therefore checks both.
 * Sets @done if the peer has finished, and @end if the socket can receive nothing more.
 * Returns false if there is data after all.
 */
static bool sdp_rx_at_end(struct sock *sk, u32 seq, bool *done, bool *end)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	bool empty;

	spin_lock_bh(&sdp->lock);
	empty = sdp->rx_seq == seq;
	*done = sdp->rx_done;
	*end = sk->sk_err || sk->sk_state == TCP_CLOSE ||
	       (sk->sk_shutdown & RCV_SHUTDOWN);
	spin_unlock_bh(&sdp->lock);
	return empty;
}

/* Nothing to read at @r->seq. Returns 0 to look again, 1 to stop, or -errno. */
static int sdp_rx_nothing(struct sock *sk, struct sdp_read *r)
{
	bool done, end;

	if (r->copied >= r->target)
		return 1;
	if (!sdp_rx_at_end(sk, r->seq, &done, &end))
		return 0;
	if (r->copied) {
		if (end || !r->timeo || signal_pending(current))
			return 1;
	} else {
		if (done)
			return 1;
		if (end && sk->sk_err)
			return sock_error(sk);
		if (end)
			return sk->sk_shutdown & RCV_SHUTDOWN ? 1 : -ENOTCONN;
		if (!r->timeo)
			return -EAGAIN;
		if (signal_pending(current))
			return sock_intr_errno(r->timeo);
	}
	sdp_rx_wait(sk, &r->timeo, r->seq);
	return 0;
}

/*
 * Limit a read of *@len bytes at @seq to the next urgent byte. Returns the number of
 * bytes to skip first. Sets *@len to the number of bytes to read after them.
 */
static u32 sdp_rx_urg_limit(struct sdp_sock *sdp, u32 seq, bool in_line,
			    u32 *len)
{
	u32 dist, skip;

	if (likely(!READ_ONCE(sdp->urg_state)))
		return 0;
	spin_lock_bh(&sdp->lock);
	skip = sdp_sock_read_seq(sdp) - seq;
	dist = sdp->urg_seq - seq;
	if ((s32)skip > 0) {
		skip = min(skip, *len);
		*len = 0;
	} else if (sdp->urg_state < SDP_URG_VALID || dist >= *len) {
		skip = 0;
	} else if (dist) {
		skip = 0;
		*len = dist;
	} else {
		skip = !in_line;
		*len -= skip;
	}
	spin_unlock_bh(&sdp->lock);
	return skip;
}

/*
 * Is the urgent byte the next one for the reader? After the acquire of rx_seq: the mark of
 * each byte up to there has been set.
 */
static bool sdp_rx_at_urg(const struct sdp_sock *sdp, u32 seq)
{
	u8 state = READ_ONCE(sdp->urg_state);

	return unlikely(state) && state != SDP_URG_NOTYET &&
	       READ_ONCE(sdp->urg_seq) == seq;
}

/*
 * The reader stands at the urgent byte. As in TCP, no call reads on to it. Returns 0 if
 * the call begins there, 1 to stop, or -errno.
 */
static int sdp_rx_stop_at_urg(const struct sdp_read *r)
{
	if (r->copied)
		return 1;
	if (signal_pending(current))
		return r->timeo ? sock_intr_errno(r->timeo) : -EAGAIN;
	return 0;
}

static u32 sdp_rx_copy(struct sock *sk, u32 seq, u32 len, struct iov_iter *to)
{
	u32 done;

	pagefault_disable();
	done = INDIRECT_CALL_2(sdp_sk(sk)->rxq->copy, sdp_shared_copy,
			       sdp_verbs_copy, sk, seq, len, to);
	pagefault_enable();
	if (unlikely(!done))
		return 0;
	SDP_INC_STATS(sock_net(sk), RX_COPIES);
	SDP_ADD_STATS(sock_net(sk), RX_COPY_BYTES, done);
	return done;
}

/**
 * sdp_rx_turn - wait while another task is in the middle of a read
 * @sk: socket
 * @timeo: time left of a program that waits for data, else 0
 *
 * That task fetches its memory, without the lock (sdp_rx_fault_in()). The bytes of a read
 * are one piece of the stream, as with TCP, which keeps the lock. Hence a program that does
 * not wait for data waits here as well.
 *
 * Context: lock_sock, which is released while it waits.
 *
 * Return: 0, also if the socket was disconnected meanwhile (sk_disconnects has changed), or
 * a negative errno.
 */
int sdp_rx_turn(struct sock *sk, long *timeo)
{
	long left = *timeo ?: MAX_SCHEDULE_TIMEOUT;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sdp_sock *sdp = sdp_sk(sk);
	int dis = sk->sk_disconnects;

	while (unlikely(sdp->rx_away) && sk->sk_disconnects == dis) {
		if (signal_pending(current))
			return *timeo ? sock_intr_errno(left) : -EAGAIN;
		if (!left)
			return -EAGAIN;
		sdp->rx_waiters++;
		add_wait_queue(sk_sleep(sk), &wait);
		sk_wait_event(sk, &left, !READ_ONCE(sdp->rx_away), &wait);
		remove_wait_queue(sk_sleep(sk), &wait);
		sdp->rx_waiters--;
		if (*timeo)
			*timeo = left;
	}
	return 0;
}

/* The reader is back, or the socket has nothing more for it. Context: as sdp_rx_purge(). */
static void sdp_rx_end_turn(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	WRITE_ONCE(sdp->rx_away, NULL);
	if (sdp->rx_waiters)
		wake_up_interruptible(sk_sleep(sk));
}

/*
 * The copy faulted. Fault the pages of the reader's buffer in, without the socket lock;
 * see sdp_conn_fault_in(). Attempts are limited: some memory never takes a byte although
 * that succeeds, such as with a pointer whose tag does not match. Returns 0 to look again,
 * 1 to stop, or -errno.
 */
static int sdp_rx_fault_in(struct sock *sk, struct sdp_read *r, u32 len)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	size_t left = len;

	if (r->faults++ < SDP_RX_FAULTS &&
	    user_backed_iter(&r->msg->msg_iter)) {
		WRITE_ONCE(sdp->rx_away, r);
		release_sock(sk);
		left = fault_in_iov_iter_writeable(&r->msg->msg_iter, len);
		lock_sock(sk);
		/* it may be that of a reader of another connection by now */
		if (sdp->rx_away == r)
			sdp_rx_end_turn(sk);
	}
	if (left < len && !fatal_signal_pending(current))
		return 0;
	if (r->copied)
		return 1;
	return left < len ? -EINTR : -EFAULT;
}

/**
 * sdp_rx_take - take bytes off the receive queue
 * @sk: socket
 * @len: bytes, which are there
 *
 * Context: lock_sock.
 */
void sdp_rx_take(struct sock *sk, u32 len)
{
	INDIRECT_CALL_2(sdp_sk(sk)->rxq->consume, sdp_shared_consume,
			sdp_verbs_consume, sk, len);
	sdp_rx_urg_passed(sdp_sk(sk));
}

/* How the reader can wait, for zero copy */
static enum sdp_zc_reader sdp_rx_who(const struct sdp_read *r)
{
	if (!r->wait)
		return SDP_ZC_POLLS;
	/* a reader that only peeks will not come back with more room */
	if (r->copied < r->target || r->flags & (MSG_PEEK | MSG_TRUNC))
		return SDP_ZC_WAITS;
	return SDP_ZC_RETURNS;
}

/*
 * Read one piece: from the receive queue, or else by zero copy. Returns 0 to look again,
 * 1 to stop, or -errno.
 */
static int sdp_rx_piece(struct sock *sk, struct sdp_read *r)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 have, want, used, skip;
	int err;

	/* pairs with the release in the queueing code: the bytes are there, and the mark */
	have = smp_load_acquire(&sdp->rx_seq) - r->seq;
	if (sdp_rx_at_urg(sdp, r->seq)) {
		err = sdp_rx_stop_at_urg(r);
		if (err)
			return err;
	}
	if (!have) {
		int n = sdp_zc_recv(sk, r->msg, r->len, r->flags,
				    sdp_rx_who(r), r->seq);

		if (!n && r->copied < r->target)
			n = sdp_zc_offer(sk, r->msg, r->len, r->flags,
					 &r->timeo);
		if (n <= 0)
			return sdp_rx_nothing(sk, r);
		r->copied += n;
		r->len -= n;
		r->seq += n;
		return 0;
	}
	used = min_t(size_t, min_t(u32, have, SDP_RX_PIECE), r->len);
	skip = sdp_rx_urg_limit(sdp, r->seq, r->inline_urg, &used);
	want = used;
	if (used && !(r->flags & MSG_TRUNC)) {
		used = sdp_rx_copy(sk, r->seq + skip, want, &r->msg->msg_iter);
		if (unlikely(!used))
			return sdp_rx_fault_in(sk, r, want);
		r->faults = 0;
	}
	r->copied += used;
	r->len -= used;
	r->seq += used + skip;
	if (!(r->flags & MSG_PEEK))
		sdp_rx_take(sk, used + skip);
	return 0;
}

/*
 * Drop urgent bytes that are to be skipped from the receive queue. A program that only
 * reads with MSG_OOB needs this, too.
 */
static void sdp_rx_urg_drop(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 skip;

	if (likely(!READ_ONCE(sdp->urg_skips)))
		return;
	spin_lock_bh(&sdp->lock);
	skip = sdp_sock_read_seq(sdp) - sdp->copied_seq;
	spin_unlock_bh(&sdp->lock);
	if (skip)
		sdp_rx_take(sk, skip);
}

static int sdp_rx_urg_recv(struct sock *sk, struct msghdr *msg, size_t len,
			   int flags)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int err = 0;
	u8 byte;

	sdp_rx_urg_drop(sk);
	spin_lock_bh(&sdp->lock);
	byte = sdp->urg_byte;
	if (sock_flag(sk, SOCK_URGINLINE) || !sdp->urg_state ||
	    sdp->urg_state == SDP_URG_READ)
		err = -EINVAL;
	else if (sk->sk_state == TCP_CLOSE && !sdp->rx_done)
		err = -ENOTCONN;
	else if (sdp->urg_state == SDP_URG_NOTYET)
		err = sk->sk_state == TCP_CLOSE ||
		      (sk->sk_shutdown & RCV_SHUTDOWN) ? 0 : -EAGAIN;
	else
		err = 1;
	if (err == 1 && !(flags & MSG_PEEK))
		WRITE_ONCE(sdp->urg_state, SDP_URG_READ);
	spin_unlock_bh(&sdp->lock);
	if (err <= 0)
		return err;
	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	if (flags & MSG_TRUNC)
		return 1;
	/* the copy may fault: not under the socket lock, see sdp_conn_fault_in() */
	release_sock(sk);
	err = copy_to_iter(&byte, 1, &msg->msg_iter) == 1 ? 1 : -EFAULT;
	lock_sock(sk);
	return err;
}

/**
 * sdp_recvmsg_locked - receive or peek, not from the error queue
 * @sk: socket
 * @msg: where to
 * @len: bytes wanted
 * @flags: MSG_*
 *
 * Context: lock_sock, which is released while it waits, while it faults memory in, for
 * the copy of MSG_OOB, and during zero copy.
 *
 * Return: as sdp_recvmsg().
 */
int sdp_recvmsg_locked(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int dis = sk->sk_disconnects;
	struct sdp_read r = {
		.msg = msg, .len = len, .flags = flags, .seq = sdp->copied_seq,
		.inline_urg = sock_flag(sk, SOCK_URGINLINE),
	};
	int err = 0;
	bool entered;

	if (sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	if (flags & MSG_OOB)
		return sdp_rx_urg_recv(sk, msg, len, flags);
	entered = sdp_ring_enter(sk);
	r.timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	r.wait = r.timeo;
	r.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	do {
		err = sdp_rx_turn(sk, &r.timeo);
		/*
		 * the socket was disconnected (and maybe reconnected) while we
		 * slept
		 */
		if (sk->sk_disconnects != dis)
			err = -EPIPE;
		if (err)
			break;
		sdp_rx_urg_drop(sk);
		/* another reader may have been here while we slept */
		if (!(flags & MSG_PEEK))
			r.seq = sdp->copied_seq;
		else if (sdp_seq_after(sdp->copied_seq, r.seq))
			r.seq = sdp->copied_seq;
		err = sdp_rx_piece(sk, &r);
	} while (!err && r.len);
	if (unlikely(entered))
		sdp_ring_leave(sk);
	if (r.copied || err > 0)
		return r.copied;
	return err;
}

/**
 * sdp_rx_inq - TCP_INQ: unread bytes, at least 1 once the peer has finished
 * @sk: socket
 *
 * Context: any; may be stale at once without lock_sock.
 */
int sdp_rx_inq(const struct sock *sk)
{
	int inq = sdp_sock_readable(sk);

	return !inq && READ_ONCE(sdp_sk(sk)->rx_done) ? 1 : inq;
}

static void sdp_rx_put_inq(struct sock *sk, struct msghdr *msg)
{
	int inq = sdp_rx_inq(sk);

	put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/**
 * sdp_recvmsg - recvmsg of AF_SDP
 * @sock: socket
 * @msg: where to
 * @len: bytes wanted
 * @flags: MSG_*
 *
 * Context: process; takes lock_sock, and may sleep.
 *
 * Return: bytes read, 0 at the end of the stream, or a negative errno as
 * TCP would return it.
 */
int sdp_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	struct socket *tcp;
	int ret, inq, dis;

	if (unlikely(flags & MSG_ERRQUEUE))
		return sdp_sk(sk)->v6 ?
		       sock_recv_errqueue(sk, msg, len, SOL_IPV6, IPV6_RECVERR) :
		       sock_recv_errqueue(sk, msg, len, SOL_IP, IP_RECVERR);
	lock_sock(sk);
	dis = sk->sk_disconnects;
	ret = sdp_recvmsg_locked(sk, msg, len, flags);
	inq = READ_ONCE(sdp_sk(sk)->recvmsg_inq);
	/* io_uring asks for it, to know whether to try again at once */
	if (ret >= 0 && msg->msg_get_inq)
		msg->msg_inq = sdp_rx_inq(sk);
	release_sock(sk);
	/* the call waited for a connection, and the socket has fallen back to TCP */
	tcp = ret < 0 ? sdp_fallback_goes_on(sk, dis) : NULL;
	if (unlikely(tcp))
		return tcp->ops->recvmsg(tcp, msg, len, flags);
	if (ret >= 0) {
		msg->msg_namelen = 0;
		if (inq)
			sdp_rx_put_inq(sk, msg);
	}
	return ret;
}

/* ---- end of a connection ---- */

/**
 * sdp_rx_purge - drop everything unread
 * @sk: socket, locked or without users
 */
void sdp_rx_purge(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp->rxq->purge(sk);
	sdp_rx_end_turn(sk);
}

/* ---- splice ---- */

static void sdp_splice_release(struct splice_pipe_desc *spd, unsigned int i)
{
	put_page(spd->pages[i]);
}

/**
 * sdp_rx_limit - bytes that a read by page reference may take: up to the urgent byte
 * @sk: socket
 * @have: bytes on the receive queue
 *
 * Context: lock_sock.
 *
 * Return: bytes; 0 if there were urgent bytes to step over first, which are gone now.
 */
u32 sdp_rx_limit(struct sock *sk, u32 have)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 skip = sdp_rx_urg_limit(sdp, sdp->copied_seq,
				    sock_flag(sk, SOCK_URGINLINE), &have);

	if (likely(!skip))
		return have;
	sdp_rx_take(sk, skip);
	return 0;
}

/*
 * Copy shorter runs, such as those between markers, into one page: a pipe has 16 slots,
 * whatever the length of a piece.
 */
#define SDP_SPLICE_COPY	1024

/**
 * struct sdp_splice - pages on their way to a pipe
 * @spd: description of the pages for the pipe
 * @pages: the pages; each holds a reference
 * @partial: their parts
 * @own: the pages of the receive queue stay there, so all is copied
 * @joins: the last page is a copy that more can be added to
 * @copied: bytes copied
 */
struct sdp_splice {
	struct splice_pipe_desc spd;
	struct page *pages[PIPE_DEF_BUFFERS];
	struct partial_page partial[PIPE_DEF_BUFFERS];
	bool own;
	bool joins;
	u32 copied;
};

static void sdp_splice_init(struct sdp_splice *s, bool own)
{
	s->spd = (struct splice_pipe_desc) {
		.pages = s->pages,
		.partial = s->partial,
		.nr_pages_max = PIPE_DEF_BUFFERS,
		.ops = &nosteal_pipe_buf_ops,
		.spd_release = sdp_splice_release,
	};
	s->own = own;
	s->joins = false;
	s->copied = 0;
}

static bool sdp_splice_full(const struct sdp_splice *s)
{
	return s->spd.nr_pages == PIPE_DEF_BUFFERS;
}

/* A new page to copy to, after the others */
static bool sdp_splice_open(struct sdp_splice *s)
{
	struct page *page;

	if (sdp_splice_full(s))
		return false;
	page = alloc_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return false;
	s->pages[s->spd.nr_pages] = page;
	s->partial[s->spd.nr_pages].offset = 0;
	s->partial[s->spd.nr_pages++].len = 0;
	s->joins = true;
	return true;
}

/* Copy as much as the page takes; returns how much, 0 without a page. */
static u32 sdp_splice_copy(struct sdp_splice *s, const void *from, u32 n)
{
	struct partial_page *part;

	if (!s->joins || s->partial[s->spd.nr_pages - 1].len == PAGE_SIZE) {
		if (!sdp_splice_open(s))
			return 0;
	}
	part = &s->partial[s->spd.nr_pages - 1];
	n = min_t(u32, n, PAGE_SIZE - part->len);
	memcpy(page_address(s->pages[s->spd.nr_pages - 1]) + part->len, from, n);
	part->len += n;
	s->copied += n;
	return n;
}

/* Hand out a reference; returns the length, 0 without a place. */
static u32 sdp_splice_ref(struct sdp_splice *s, struct page *page, u32 off,
			  u32 n)
{
	if (sdp_splice_full(s))
		return 0;
	get_page(page);
	s->pages[s->spd.nr_pages] = page;
	s->partial[s->spd.nr_pages].offset = off;
	s->partial[s->spd.nr_pages++].len = n;
	s->joins = false;
	return n;
}

/* Pages of one run; returns the bytes covered. */
static u32 sdp_splice_fill(struct sdp_splice *s, const struct sdp_rx_run *run)
{
	bool copy = s->own || run->len < SDP_SPLICE_COPY;
	u32 pos = run->off, left = run->len;

	while (left) {
		struct page *page = run->page + (pos >> PAGE_SHIFT);
		u32 off = offset_in_page(pos);
		u32 n = min_t(u32, left, PAGE_SIZE - off);

		if (copy)
			n = sdp_splice_copy(s, page_address(page) + off, n);
		else
			n = sdp_splice_ref(s, page, off, n);
		if (!n)
			break;
		pos += n;
		left -= n;
	}
	return run->len - left;
}

/*
 * Move bytes from the front of the receive queue to a pipe. Returns the number of bytes,
 * 0 if the queue is empty or, after the first bytes, at the urgent byte, -ERESTART to look
 * again, or another negative errno. Context: lock_sock held.
 */
static ssize_t sdp_splice_some(struct sock *sk, struct pipe_inode_info *pipe,
			       size_t len, bool first)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 seq = sdp->copied_seq, have, n;
	struct sdp_rx_run run;
	struct sdp_splice s;
	ssize_t ret;

	/* pairs with the release in the queueing code */
	have = smp_load_acquire(&sdp->rx_seq) - seq;
	have = min_t(size_t, have, len);
	if (!have || (!first && sdp_rx_at_urg(sdp, seq)))
		return 0;
	have = sdp_rx_limit(sk, have);
	if (!have)
		return -ERESTART;
	sdp_splice_init(&s, sdp->rxq->own);
	do {
		n = sdp->rxq->find(sk, seq, &run);
		run.len = min(n, have);
		n = sdp_splice_fill(&s, &run);
		seq += n;
		have -= n;
	} while (have && n == run.len);
	if (s.copied) {
		SDP_INC_STATS(sock_net(sk), RX_COPIES);
		SDP_ADD_STATS(sock_net(sk), RX_COPY_BYTES, s.copied);
	}
	ret = s.spd.nr_pages ? splice_to_pipe(pipe, &s.spd) : -ENOMEM;
	if (ret > 0)
		sdp_rx_take(sk, ret);
	return ret;
}

/**
 * sdp_splice_read - splice from a socket to a pipe, by page reference
 * @sock: socket
 * @ppos: must be at 0
 * @pipe: where to
 * @len: bytes, at most
 * @flags: SPLICE_F_*
 *
 * Context: process; takes lock_sock, and may sleep.
 *
 * Return: bytes, 0 at the end of the stream, or a negative errno.
 */
ssize_t sdp_splice_read(struct socket *sock, loff_t *ppos,
			struct pipe_inode_info *pipe, size_t len,
			unsigned int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_read r = { .target = 1, };
	ssize_t ret = 0, done = 0;
	struct socket *tcp;
	bool entered;
	int dis;

	if (*ppos)
		return -ESPIPE;
	lock_sock(sk);
	dis = sk->sk_disconnects;
	if (sk->sk_state == TCP_LISTEN) {
		release_sock(sk);
		return -ENOTCONN;
	}
	entered = sdp_ring_enter(sk);
	/* SPLICE_F_NONBLOCK is for the pipe, as with TCP */
	r.timeo = sock_rcvtimeo(sk, sock->file->f_flags & O_NONBLOCK);
	while (len) {
		ret = sdp_rx_turn(sk, &r.timeo);
		if (sk->sk_disconnects != dis)
			ret = -EPIPE;
		if (ret)
			break;
		ret = sdp_splice_some(sk, pipe, len, !done);
		if (ret == -ERESTART)
			continue;
		if (ret < 0)
			break;
		done += ret;
		len -= ret;
		if (ret)
			continue;
		if (done)
			break;
		sdp_zc_decline(sk);
		r.seq = sdp_sk(sk)->copied_seq;
		ret = sdp_rx_nothing(sk, &r);
		/*
		 * the socket was disconnected (and maybe reconnected) while we
		 * slept
		 */
		if (sk->sk_disconnects != dis)
			ret = -EPIPE;
		if (ret)
			break;
	}
	if (unlikely(entered))
		sdp_ring_leave(sk);
	release_sock(sk);
	if (done || ret >= 0)
		return done;
	/* the call waited for a connection, and the socket has fallen back to TCP */
	tcp = sdp_fallback_goes_on(sk, dis);
	return tcp ? tcp->ops->splice_read(tcp, ppos, pipe, len, flags) : ret;
}
