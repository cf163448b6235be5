// SPDX-License-Identifier: GPL-2.0
/*
 * Receive half of the stream, what does not depend on the link: checks every
 * message, acts on it, serves recvmsg and splice. Calls flow control and the
 * queue of the link (struct sdp_rxq_ops), sdp_verbs_rx.c or sdp_rx_pages.c.
 *
 * The reception of the link is the only one that adds to the receive queue, a
 * reader (lock_sock) the only one that removes; sdp->lock covers the moment.
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
#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_trace.h"

#define SDP_RX_PIECE	(256 * 1024)	/* octets freed together by a reader */

/* ---- urgent data ---- */

static void sdp_rx_oob_pend(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	lockdep_assert_held(&sdp->lock);
	c->urgent = true;
	if (sdp->urg_state == SDP_URG_NONE || sdp->urg_state == SDP_URG_READ) {
		sdp->urg_state = SDP_URG_NOTYET;
		/* behind everything that is here: its place is not known */
		sdp->urg_seq = sdp->rx_seq + INT_MAX / 2;
	}
}

static void sdp_rx_sigurg(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket && sk->sk_socket->file)
		sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* ---- messages ---- */

/* Each returns 0, or the SDP_MIB_BAD_ number that explains the abort. */

/**
 * sdp_rx_payload - take in the payload of a message
 * @sdp: socket
 * @c: message with @c->m.payload_len octets, more than 0
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_rx_payload(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	bool ring = c->m.h.mid == SDP_MID_RING;
	struct sock *sk = c->sk;

	/* all of it comes by the ring, or nothing */
	if (ring != !!c->conn->fc->rx)
		return SDP_MIB_BAD_STATE;
	if (c->conn->fc->overrun(c->conn, c->m.h.mseq))
		return SDP_MIB_BAD_CREDIT;
	if (c->conn->rx_discon)
		return SDP_MIB_BAD_STATE;
	/* nobody will ever read it: the peer must know (as TCP resets) */
	if (sock_flag(sk, SOCK_DEAD) ||
	    ((sk->sk_shutdown & RCV_SHUTDOWN) &&
	     (1 << sk->sk_state) & (TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2))) {
		c->reset = true;
		return 0;
	}
	if (c->buf)
		sdp_rx_queue(sdp, c);
	return 0;
}

static int sdp_rx_data(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	if (!c->m.payload_len) {
		SDP_INC_STATS(sock_net(c->sk), RX_CREDIT_UPDATES);
		return 0;
	}
	if (unlikely(READ_ONCE(c->conn->rx_src_avail)))
		return SDP_MIB_BAD_STATE;
	return sdp_rx_payload(sdp, c);
}

/*
 * Take the octets that came along. A reader may get the others; else they are
 * asked for by Data messages.
 */
static int sdp_rx_src_avail(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;
	int bad = 0;

	SDP_INC_STATS(sock_net(c->sk), RX_SRCAVAIL);
	if (conn->rx_discon || conn->rx_mode == SDP_MODE_BUFFERED)
		return SDP_MIB_BAD_STATE;
	if (conn->rx_mode == SDP_MODE_COMBINED) {
		if (READ_ONCE(conn->rx_src_avail))
			return SDP_MIB_BAD_STATE;
		if (!c->m.payload_len || c->m.ext.avail.len <= c->m.payload_len)
			return SDP_MIB_BAD_RDMA;
		bad = sdp_rx_payload(sdp, c);
	} else if (c->m.payload_len) {
		return SDP_MIB_BAD_RDMA;
	}
	return bad ? bad : sdp_zc_accept(sdp, c);
}

/* Its payload, if there is any, is the peer's own data. */
static int sdp_rx_sink_avail(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	int bad = sdp_zc_sink_avail(sdp, c);

	return !bad && c->m.payload_len ? sdp_rx_data(sdp, c) : bad;
}

/* Only the source changes the mode of a half, except back from buffered. */
static int sdp_rx_mode_change(struct sdp_rx_ctx *c)
{
	u8 from = c->conn->rx_mode, to = c->m.ext.mch.mode;

	/* our send half is never buffered: nothing to change there */
	if (c->m.ext.mch.send_half)
		return SDP_MIB_BAD_STATE;
	if (from == to || from == SDP_MODE_BUFFERED ||
	    (from == SDP_MODE_PIPELINED && to == SDP_MODE_BUFFERED))
		return SDP_MIB_BAD_STATE;
	return sdp_zc_rx_mode(c);
}

static int sdp_rx_discon(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;
	struct sock *sk = c->sk;

	SDP_INC_STATS(sock_net(sk), DISCON_RCVD);
	if (conn->rx_discon || conn->zc.rx_state != SDP_ZC_RX_IDLE)
		return SDP_MIB_BAD_STATE;
	conn->rx_discon = true;
	sdp_zc_sink_end(conn);
	c->eof = true;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	sdp->rx_done = true;
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		sdp_set_state(sk, TCP_CLOSE_WAIT);
		break;
	case TCP_FIN_WAIT1:
		sdp_set_state(sk, TCP_CLOSING);
		break;
	case TCP_FIN_WAIT2:
		c->graceful = true;
		sdp_set_state(sk, TCP_CLOSE);
		break;
	default:
		break;	/* before ESTABLISHED: the CM handler looks */
	}
	return 0;
}

/**
 * sdp_rx_dispatch - act on a message that is in order
 * @sdp: socket, which the connection is attached to
 * @c: the message; its flags say what to do without locks
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_rx_dispatch(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	lockdep_assert_held(&sdp->lock);
	sdp->last_rx = jiffies;
	WRITE_ONCE(sdp->rx_msgs, sdp->rx_msgs + 1);
	if (unlikely(c->m.h.flags & SDP_OOB_PEND))
		sdp_rx_oob_pend(sdp, c);
	switch (c->m.h.mid) {
	case SDP_MID_DATA:
		return sdp_rx_data(sdp, c);
	case SDP_MID_SRC_AVAIL:
		return sdp_rx_src_avail(sdp, c);
	case SDP_MID_DISCON:
		return sdp_rx_discon(sdp, c);
	case SDP_MID_ABORT:
		c->reset = true;
		SDP_INC_STATS(sock_net(c->sk), ABORTS_RCVD);
		return 0;
	case SDP_MID_MODE_CHANGE:
		return sdp_rx_mode_change(c);
	case SDP_MID_CHRCVBUF:
		sdp_tx_ctl(c->conn, SDP_CTL_CHRCVBUF_ACK);
		return 0;
	case SDP_MID_SRC_CANCEL:
		return sdp_zc_src_cancel(sdp, c);
	case SDP_MID_RDMA_RD_COMPL:
		return sdp_zc_rd_compl(sdp, c);
	case SDP_MID_SENDSM:
		return sdp_zc_sendsm(sdp, c);
	case SDP_MID_RDMA_WR_COMPL:
		return sdp_zc_wr_compl(sdp, c);
	case SDP_MID_SINK_AVAIL:
		return sdp_rx_sink_avail(sdp, c);
	case SDP_MID_SINK_CANCEL:
		return sdp_zc_sink_unavail(sdp, c);
	case SDP_MID_SINK_CANCEL_ACK:
		return sdp_zc_sink_ack(sdp, c);
	case SDP_MID_RING_AVAIL:
	case SDP_MID_RING:
		return c->conn->fc->rx ? c->conn->fc->rx(sdp, c) :
					 SDP_MIB_BAD_STATE;
	default:
		/* answers to what we never ask, and SuspComm */
		return SDP_MIB_BAD_STATE;
	}
}

static int sdp_rx_wire_error(enum sdp_wire_err err)
{
	switch (err) {
	case SDP_WIRE_MID:
		return SDP_MIB_BAD_MID;
	case SDP_WIRE_FLAGS:
		return SDP_MIB_BAD_FLAGS;
	case SDP_WIRE_FIELD:
		return SDP_MIB_BAD_RDMA;
	default:
		return SDP_MIB_BAD_LEN;
	}
}

/* Is it the next one, and does it acknowledge what was sent? */
static int sdp_rx_check_seq(struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;

	if (c->m.h.mseq != conn->rx_mseq + 1)
		return SDP_MIB_BAD_MSEQ;
	if (sdp_seq_after(c->m.h.mseq_ack, READ_ONCE(conn->tx_mseq)) ||
	    sdp_seq_after(conn->peer_ack, c->m.h.mseq_ack))
		return SDP_MIB_BAD_ACK;
	return 0;
}

/**
 * sdp_rx_check - checks that need nothing but the message and its connection
 * @c: connection; @c->m is filled in
 * @hdr: private copy of its headers
 * @hdr_len: octets of that
 * @len: octets of the message
 *
 * Context: reception.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_rx_check(struct sdp_rx_ctx *c, const u8 *hdr, u32 hdr_len, u32 len)
{
	enum sdp_wire_err err;
	int bad;

	err = sdp_parse_msg(hdr, hdr_len, len, &c->m);
	bad = err ? sdp_rx_wire_error(err) : sdp_rx_check_seq(c);
	if (!bad)
		trace_sdp_msg_rx(c->sk, &c->m.h, c->m.payload_len);
	return bad;
}

/**
 * sdp_rx_check_imm - the same of a Write with immediate data to our ring
 * @c: connection; @c->m is filled in
 * @imm: the immediate data, as a number
 * @written: octets that the device has written
 *
 * Context: reception.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_rx_check_imm(struct sdp_rx_ctx *c, u32 imm, u32 written)
{
	struct sdp_conn *conn = c->conn;
	enum sdp_wire_err err;
	int bad;

	/* what the log says of a violation is in it, too */
	err = sdp_parse_imm(imm, written, conn->rx_mseq + 1, conn->peer_ack,
			    &c->m);
	/* nobody has agreed to it */
	if (!(conn->fc_ext & SDP_EXT_IMM))
		return SDP_MIB_BAD_STATE;
	bad = err ? sdp_rx_wire_error(err) : sdp_rx_check_seq(c);
	if (bad)
		return bad;
	/* what is freed is told by messages */
	c->m.ext.ring.freed = conn->ring_freed;
	SDP_INC_STATS(sock_net(c->sk), RX_IMMEDIATES);
	trace_sdp_msg_rx(c->sk, &c->m.h, c->m.ext.ring.len);
	return 0;
}

/* ---- wake-ups ---- */

/* Have all receives that the peer can use for data been used? */
static bool sdp_rx_used_up(const struct sdp_sock *sdp)
{
	const struct sdp_conn *conn;
	bool ret = false;
	u32 left;

	/* the connection may go meanwhile; its memory stays for us */
	rcu_read_lock();
	conn = READ_ONCE(sdp->conn);
	if (conn && READ_ONCE(conn->link) == &sdp_link_verbs &&
	    !READ_ONCE(conn->rx_grows)) {
		left = READ_ONCE(conn->rx_posted_total) -
		       READ_ONCE(conn->rx_mseq);
		ret = left < (READ_ONCE(conn->fc)->held ? 1 :
			      SDP_FC_FLOW + SDP_FC_SPARE);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_rx_ready - does a reader who waits for @target octets have to be told?
 * @sk: socket
 * @target: low-water mark
 *
 * Also if there are fewer, but no more will come before those are read. TCP does
 * the same when its window is closed.
 *
 * Context: any; the answer may be stale at once, a wake-up follows.
 */
bool sdp_rx_ready(const struct sock *sk, u32 target)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	u32 unread = READ_ONCE(sdp->rx_seq) - READ_ONCE(sdp->copied_seq);

	return unread >= target || READ_ONCE(sdp->rx_pages.paused) ||
	       sdp_ring_tight(sdp) || (unread && sdp_rx_used_up(sdp));
}

static bool sdp_rx_enough(const struct sock *sk)
{
	return READ_ONCE(sdp_sk(sk)->urg_state) ||
	       sdp_rx_ready(sk, READ_ONCE(sk->sk_rcvlowat));
}

/**
 * sdp_rx_wake - tell the owner of the socket what has happened
 * @c: what that is
 *
 * Context: reception; not under sdp->lock.
 */
void sdp_rx_wake(struct sdp_rx_ctx *c)
{
	struct sock *sk = c->sk;

	if (unlikely(c->urgent)) {
		sdp_rx_sigurg(sk);
		c->readable = true;
	}
	if ((c->readable && sdp_rx_enough(sk)) || c->pending) {
		SDP_INC_STATS(sock_net(sk), WAKEUPS_RX);
		sk->sk_data_ready(sk);
	}
	if (unlikely(c->eof) && !sock_flag(sk, SOCK_DEAD)) {
		bool hup = sk->sk_shutdown == SHUTDOWN_MASK ||
			   sk->sk_state == TCP_CLOSE;

		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
		if (hup)
			sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
	}
}

/**
 * sdp_rx_violation - the peer broke the rules: count, log, abort
 * @c: message
 * @mib: SDP_MIB_BAD_*
 *
 * Context: reception.
 */
void sdp_rx_violation(struct sdp_rx_ctx *c, int mib)
{
	struct net *net = sock_net(c->sk);

	set_bit(SDP_CONN_BAD, &c->conn->flags);
	this_cpu_inc(sdp_pernet(net)->mib->mibs[mib]);
	net_info_ratelimited("sdp: bad %s from %pISpc: mseq %u len %u (%d), aborted\n",
			     sdp_mid_name(c->m.h.mid), &sdp_sk(c->sk)->peer,
			     c->m.h.mseq, c->m.h.len, mib);
	sdp_conn_down(c->conn, ECONNRESET);
}

/**
 * sdp_rx_taken - a message has been received to its end
 * @sdp: socket of the connection
 * @c: message
 *
 * Context: sdp->lock.
 */
void sdp_rx_taken(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	lockdep_assert_held(&sdp->lock);
	WRITE_ONCE(c->conn->rx_update,
		   c->m.h.mid == c->conn->fc->mid && !c->m.payload_len);
	WRITE_ONCE(c->conn->rx_mseq, c->m.h.mseq);
	c->conn->fc->peer(c->conn, c->m.h.bufs, c->m.h.mseq_ack);
}

/**
 * sdp_rx_finish - what a message leads to, outside of sdp->lock
 * @c: message
 * @bad: result of sdp_rx_dispatch()
 *
 * Context: reception.
 */
void sdp_rx_finish(struct sdp_rx_ctx *c, int bad)
{
	struct sdp_conn *conn = c->conn;

	if (unlikely(bad)) {
		sdp_rx_violation(c, bad);
		return;
	}
	if (unlikely(c->graceful))
		set_bit(SDP_CONN_GRACEFUL, &conn->flags);
	if (unlikely(c->reset || c->graceful))
		sdp_conn_down(conn, ECONNRESET);
	if (test_bit(SDP_CONN_FENCED, &conn->flags))
		clear_bit(SDP_CONN_FENCED, &conn->flags);
}

/* ---- reading ---- */

/* The urgent octet lies behind the reader: forget it. */
static void sdp_rx_urg_passed(struct sdp_sock *sdp)
{
	if (likely(!sdp->urg_state))
		return;
	spin_lock_bh(&sdp->lock);
	if (sdp->urg_state != SDP_URG_NOTYET &&
	    sdp_seq_after(sdp->copied_seq, sdp->urg_seq))
		sdp->urg_state = SDP_URG_NONE;
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
	size_t len;		/* octets still wanted */
	size_t target;		/* return when there are so many */
	int copied;
	int flags;
	u32 seq;		/* next octet of the stream */
	long timeo;
	bool wait;		/* it may, or might until its time was up */
	bool inline_urg;
};

/*
 * What stops a reader that found nothing. Data may have come since it looked,
 * and the end of the stream behind that: both are judged at one moment.
 * Returns false if there is something to read after all.
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
 * How the urgent octet limits a read of @*used octets at @r->seq: stop in
 * front of it, or step over it. Returns octets to skip.
 */
static u32 sdp_rx_urg_limit(struct sdp_sock *sdp, struct sdp_read *r, u32 *used)
{
	u32 dist;

	if (likely(!sdp->urg_state) || sdp->urg_state == SDP_URG_NOTYET)
		return 0;
	dist = sdp->urg_seq - r->seq;
	if (dist >= *used)
		return 0;
	if (dist) {
		*used = dist;
		return 0;
	}
	if (r->inline_urg)
		return 0;
	(*used)--;
	return 1;
}

/* Is the reader at the mark, with octets in hand to return first? */
static bool sdp_rx_at_urg(const struct sdp_sock *sdp, const struct sdp_read *r)
{
	return unlikely(sdp->urg_state) && sdp->urg_state != SDP_URG_NOTYET &&
	       sdp->urg_seq == r->seq;
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

/*
 * The reader's memory is not there: get it, see sdp_tx_fault_in(). Returns 0 to look
 * again, 1 to stop, or -errno.
 */
static int sdp_rx_fault_in(struct sock *sk, struct sdp_read *r, u32 len)
{
	size_t left = len;

	if (user_backed_iter(&r->msg->msg_iter)) {
		release_sock(sk);
		left = fault_in_iov_iter_writeable(&r->msg->msg_iter, len);
		lock_sock(sk);
	}
	if (left < len && !fatal_signal_pending(current))
		return 0;
	if (r->copied)
		return 1;
	return left < len ? -EINTR : -EFAULT;
}

/**
 * sdp_rx_take - take octets off the receive queue
 * @sk: socket
 * @len: octets, which are there
 *
 * Context: lock_sock.
 */
void sdp_rx_take(struct sock *sk, u32 len)
{
	INDIRECT_CALL_2(sdp_sk(sk)->rxq->consume, sdp_shared_consume,
			sdp_verbs_consume, sk, len);
	sdp_rx_urg_passed(sdp_sk(sk));
}

static enum sdp_zc_reader sdp_rx_who(const struct sdp_read *r)
{
	if (!r->wait)
		return SDP_ZC_POLLS;
	/* who looks only will not come back with more room */
	if (r->copied < r->target || r->flags & (MSG_PEEK | MSG_TRUNC))
		return SDP_ZC_WAITS;
	return SDP_ZC_RETURNS;
}

static int sdp_rx_piece(struct sock *sk, struct sdp_read *r)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 have, want, used, skip;

	/* pairs with the release of whoever queues: the octets are there */
	have = smp_load_acquire(&sdp->rx_seq) - r->seq;
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
	skip = sdp_rx_urg_limit(sdp, r, &used);
	want = used;
	if (used && !(r->flags & MSG_TRUNC)) {
		used = sdp_rx_copy(sk, r->seq + skip, want, &r->msg->msg_iter);
		if (unlikely(!used))
			return sdp_rx_fault_in(sk, r, want);
	}
	r->copied += used;
	r->len -= used;
	r->seq += used + skip;
	if (!(r->flags & MSG_PEEK))
		sdp_rx_take(sk, used + skip);
	return 0;
}

static int sdp_rx_urg_recv(struct sock *sk, struct msghdr *msg, size_t len,
			   int flags)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int err = 0;
	u8 octet;

	spin_lock_bh(&sdp->lock);
	octet = sdp->urg_byte;
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
		sdp->urg_state = SDP_URG_READ;
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
	/* as in sdp_tx_fault_in(); nothing else is to be done */
	release_sock(sk);
	err = copy_to_iter(&octet, 1, &msg->msg_iter) == 1 ? 1 : -EFAULT;
	lock_sock(sk);
	return err;
}

/**
 * sdp_recvmsg_locked - receive, or look, but for the error queue
 * @sk: socket
 * @msg: where to
 * @len: octets wanted
 * @flags: MSG_*
 *
 * Context: lock_sock, which is released while it waits.
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
	bool app;

	if (sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	if (flags & MSG_OOB)
		return sdp_rx_urg_recv(sk, msg, len, flags);
	app = sdp_ring_enter(sk);
	r.timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	r.wait = r.timeo;
	r.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	do {
		/* another connection is none of its business */
		if (sk->sk_disconnects != dis) {
			err = -EPIPE;
			break;
		}
		if (sdp_rx_at_urg(sdp, &r)) {
			if (r.copied)
				break;
			if (signal_pending(current)) {
				err = r.timeo ? sock_intr_errno(r.timeo) :
						-EAGAIN;
				break;
			}
		}
		/* another reader may have been here while we slept */
		if (!(flags & MSG_PEEK))
			r.seq = sdp->copied_seq;
		else if (sdp_seq_after(sdp->copied_seq, r.seq))
			r.seq = sdp->copied_seq;
		err = sdp_rx_piece(sk, &r);
	} while (!err && r.len);
	if (unlikely(app))
		sdp_ring_leave(sk);
	if (r.copied || err > 0)
		return r.copied;
	return err;
}

/**
 * sdp_rx_inq - TCP_INQ: what is left, at least 1 once the peer has finished
 * @sk: socket
 */
int sdp_rx_inq(const struct sock *sk)
{
	int inq = sdp_readable_bytes(sk);

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
 * @len: octets wanted
 * @flags: MSG_*
 *
 * Return: octets read, 0 at the end of the stream, or a negative errno as
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
	release_sock(sk);
	/* it waited for the connection, and that is one of TCP */
	tcp = ret < 0 ? sdp_tcp_goes_on(sk, dis) : NULL;
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
}

/* ---- splice ---- */

static void sdp_splice_release(struct splice_pipe_desc *spd, unsigned int i)
{
	put_page(spd->pages[i]);
}

/**
 * sdp_rx_limit - how far a read by pages may go, as recv: to the urgent octet
 * @sk: socket
 * @have: octets on the receive queue
 *
 * Context: lock_sock.
 *
 * Return: octets; 0 if there was nothing but an urgent octet to step over, which
 * is gone now.
 */
u32 sdp_rx_limit(struct sock *sk, u32 have)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 dist = sdp->urg_seq - sdp->copied_seq;

	if (likely(sdp->urg_state < SDP_URG_VALID) || dist >= have)
		return have;
	if (dist)
		return dist;
	if (sock_flag(sk, SOCK_URGINLINE))
		return have;
	sdp_rx_take(sk, 1);
	return 0;
}

/* A reference to a page, or its copy, at the same place, if it is not lent. */
static struct page *sdp_splice_page(struct page *page, u32 off, u32 n, bool own)
{
	struct page *copy;

	if (!own) {
		get_page(page);
		return page;
	}
	copy = alloc_page(GFP_KERNEL_ACCOUNT);
	if (copy)
		memcpy(page_address(copy) + off, page_address(page) + off, n);
	return copy;
}

/* Pages of one run; returns octets covered. */
static u32 sdp_splice_fill(struct splice_pipe_desc *spd, struct sdp_rx_run *run,
			   bool own)
{
	u32 pos = run->off, left = run->len;

	while (left && spd->nr_pages < PIPE_DEF_BUFFERS) {
		u32 off = offset_in_page(pos);
		u32 n = min_t(u32, left, PAGE_SIZE - off);
		struct page *page = run->page + (pos >> PAGE_SHIFT);

		page = sdp_splice_page(page, off, n, own);
		if (!page)
			break;
		spd->pages[spd->nr_pages] = page;
		spd->partial[spd->nr_pages].offset = off;
		spd->partial[spd->nr_pages++].len = n;
		pos += n;
		left -= n;
	}
	return run->len - left;
}

/* Hand out references to the pages of what is at the front. */
static ssize_t sdp_splice_some(struct sock *sk, struct pipe_inode_info *pipe,
			       size_t len)
{
	struct partial_page partial[PIPE_DEF_BUFFERS];
	struct page *pages[PIPE_DEF_BUFFERS];
	struct splice_pipe_desc spd = {
		.pages = pages,
		.partial = partial,
		.nr_pages_max = PIPE_DEF_BUFFERS,
		.ops = &nosteal_pipe_buf_ops,
		.spd_release = sdp_splice_release,
	};
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 seq = sdp->copied_seq, have, n;
	struct sdp_rx_run run;
	ssize_t ret;

	/* pairs with the release of whoever queues */
	have = smp_load_acquire(&sdp->rx_seq) - seq;
	have = min_t(size_t, have, len);
	if (!have)
		return 0;
	have = sdp_rx_limit(sk, have);
	if (!have)
		return -ERESTART;
	while (have && spd.nr_pages < PIPE_DEF_BUFFERS) {
		n = sdp->rxq->find(sk, seq, &run);
		run.len = min(n, have);
		n = sdp_splice_fill(&spd, &run, sdp->rxq->own);
		if (!n)
			break;
		seq += n;
		have -= n;
	}
	ret = spd.nr_pages ? splice_to_pipe(pipe, &spd) : -ENOMEM;
	if (ret > 0)
		sdp_rx_take(sk, ret);
	return ret;
}

/**
 * sdp_splice_read - splice from a socket to a pipe, by page reference
 * @sock: socket
 * @ppos: must be at 0
 * @pipe: where to
 * @len: octets, at most
 * @flags: SPLICE_F_*
 *
 * Return: octets, 0 at the end of the stream, or a negative errno.
 */
ssize_t sdp_splice_read(struct socket *sock, loff_t *ppos,
			struct pipe_inode_info *pipe, size_t len,
			unsigned int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_read r = { .target = 1, };
	ssize_t ret = 0, done = 0;
	struct socket *tcp;
	bool app;
	int dis;

	if (*ppos)
		return -ESPIPE;
	lock_sock(sk);
	dis = sk->sk_disconnects;
	if (sk->sk_state == TCP_LISTEN) {
		release_sock(sk);
		return -ENOTCONN;
	}
	app = sdp_ring_enter(sk);
	r.timeo = sock_rcvtimeo(sk, (sock->file->f_flags & O_NONBLOCK) ||
				(flags & SPLICE_F_NONBLOCK));
	while (len) {
		ret = sdp_splice_some(sk, pipe, len);
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
		/* another connection is none of its business */
		if (sk->sk_disconnects != dis)
			ret = -EPIPE;
		if (ret)
			break;
	}
	if (unlikely(app))
		sdp_ring_leave(sk);
	release_sock(sk);
	if (done || ret >= 0)
		return done;
	/* it waited for the connection, and that is one of TCP */
	tcp = sdp_tcp_goes_on(sk, dis);
	return tcp ? tcp->ops->splice_read(tcp, ppos, pipe, len, flags) : ret;
}
