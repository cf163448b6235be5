// SPDX-License-Identifier: GPL-2.0
/*
 * Received messages, whatever link they came by: checks each of them, acts on it,
 * wakes the reader. Calls the connection, flow control, zero copy, and the receive
 * queue of the link. Called by the receive halves of the links.
 *
 * Only the reception of the link adds to the receive queue, and only a reader
 * (lock_sock) removes from it. Both do so under sdp->lock.
 */
#include <linux/indirect_call_wrapper.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_ring.h"
#include "sdp_rx.h"
#include "sdp_trace.h"

/* ---- messages ---- */

/* An urgent byte will come. As in TCP, MSG_OOB cannot read an earlier one any more. */
static void sdp_rx_oob_pend(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	lockdep_assert_held(&sdp->lock);
	c->urgent = true;
	sdp_sock_urg_skip(sdp);
	WRITE_ONCE(sdp->urg_state, SDP_URG_NOTYET);
	/* past everything received so far: its place is not known */
	WRITE_ONCE(sdp->urg_seq, sdp->rx_seq + INT_MAX / 2);
}

/* The following functions return 0, or the SDP_MIB_BAD_ number that explains the abort. */

/* Take in the payload of a message, more than 0 bytes. */
static int sdp_rx_payload(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
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
	/* it will never be read: the peer must know (as TCP resets) */
	if (sock_flag(sk, SOCK_DEAD) ||
	    ((sk->sk_shutdown & RCV_SHUTDOWN) &&
	     (1 << sk->sk_state) & (TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2))) {
		c->reset = true;
		return 0;
	}
	if (c->buf)
		INDIRECT_CALL_1(sdp->rxq->queue, sdp_verbs_queue, sdp, c);
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
 * Take the bytes that came along. A reader may read the others. Otherwise SendSm
 * asks the peer for them, and they come in Data messages.
 */
static int sdp_rx_src_avail(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;
	int bad = 0;

	SDP_INC_STATS(sock_net(c->sk), RX_SRCAVAIL);
	sdp_zc_on(conn);
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

/* Memory that a reader offers: in pipelined mode, which one end has asked for */
static int sdp_rx_sink(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	if (!IS_ENABLED(CONFIG_SDP_RESEARCH))
		return SDP_MIB_BAD_STATE;
	switch (c->m.h.mid) {
	case SDP_MID_RDMA_WR_COMPL:
		return sdp_zc_wr_compl(sdp, c);
	case SDP_MID_SINK_AVAIL:
		return sdp_rx_sink_avail(sdp, c);
	case SDP_MID_SINK_CANCEL:
		return sdp_zc_sink_unavail(sdp, c);
	default:
		return sdp_zc_sink_ack(sdp, c);
	}
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
	if (conn->rx_discon || conn->zc->rx_state != SDP_ZC_RX_IDLE)
		return SDP_MIB_BAD_STATE;
	conn->rx_discon = true;
	sdp_zc_sink_end(conn);
	c->eof = true;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	sdp->rx_done = true;
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		sdp_sock_set_state(sk, TCP_CLOSE_WAIT);
		break;
	case TCP_FIN_WAIT1:
		sdp_sock_set_state(sk, TCP_CLOSING);
		break;
	case TCP_FIN_WAIT2:
		/* sdp_rx_closing() continues */
		if (sdp_conn_fin_waits(conn, c->m.h.mseq_ack)) {
			sdp_sock_set_state(sk, TCP_CLOSING);
			break;
		}
		c->graceful = true;
		sdp_sock_set_state(sk, TCP_CLOSE);
		break;
	default:
		break;	/* before ESTABLISHED: sdp_cm_up() looks at rx_discon */
	}
	return 0;
}

/* A message that only the flow control of the connection knows */
static int sdp_rx_fc(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	const struct sdp_fc_ops *fc = c->conn->fc;
	int bad = fc->rx ? fc->rx(sdp, c) : SDP_MIB_BAD_STATE;

	if (bad || c->m.h.mid != fc->mid)
		return bad;
	return sdp_rx_data(sdp, c);
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
		sdp_conn_ctl(c->conn, SDP_CTL_CHRCVBUF_ACK);
		return 0;
	case SDP_MID_SRC_CANCEL:
		return sdp_zc_src_cancel(sdp, c);
	case SDP_MID_RDMA_RD_COMPL:
		return sdp_zc_rd_compl(sdp, c);
	case SDP_MID_SENDSM:
		return sdp_zc_sendsm(sdp, c);
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SINK_CANCEL:
	case SDP_MID_SINK_CANCEL_ACK:
		return sdp_rx_sink(sdp, c);
	case SDP_MID_RING_AVAIL:
	case SDP_MID_RING:
		return sdp_rx_fc(sdp, c);
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
 * @hdr_len: bytes of that
 * @len: bytes of the message
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
		trace_sdp_msg_rx(c->conn, &c->m.h, c->m.payload_len);
	return bad;
}

/**
 * sdp_rx_check_imm - parse and check a Write with immediate data to our ring
 * @c: connection; @c->m is filled in
 * @imm: the immediate data, as a number
 * @written: bytes that the device has written
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

	/* first, since sdp_rx_violation() prints c->m */
	err = sdp_parse_imm(imm, written, conn->rx_mseq + 1, conn->peer_ack,
			    &c->m);
	/* it was not agreed to */
	if (!conn->ring || !(conn->terms.ext & SDP_EXT_IMM))
		return SDP_MIB_BAD_STATE;
	bad = err ? sdp_rx_wire_error(err) : sdp_rx_check_seq(c);
	if (bad)
		return bad;
	/* freed space is announced by messages */
	c->m.ext.ring.freed = conn->ring->freed;
	SDP_INC_STATS(sock_net(c->sk), RX_IMMEDIATES);
	trace_sdp_msg_rx(c->conn, &c->m.h, c->m.ext.ring.len);
	return 0;
}

/* ---- wake-ups ---- */

static void sdp_rx_sigurg(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket && sk->sk_socket->file)
		sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Have all receives that the peer can use for data been used, or all memory for them? */
static bool sdp_rx_used_up(const struct sdp_sock *sdp)
{
	const struct sdp_conn *conn;
	const struct sdp_verbs *v;
	bool ret = false;
	u32 left;

	/* the connection may go meanwhile; its memory stays for us */
	rcu_read_lock();
	conn = READ_ONCE(sdp->conn);
	v = conn ? READ_ONCE(conn->verbs) : NULL;
	if (v && READ_ONCE(v->rx_lacks)) {
		ret = true;
	} else if (v && !READ_ONCE(v->rx_grows)) {
		left = READ_ONCE(v->rx_posted_total) - READ_ONCE(conn->rx_mseq);
		ret = left < (READ_ONCE(conn->fc)->held ? 1 :
			      SDP_FC_FLOW + SDP_FC_SPARE);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_rx_ready - must a reader that waits for @target bytes be woken?
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
	u32 seq = sdp_sock_read_seq(sdp);
	u32 unread = READ_ONCE(sdp->rx_seq) - seq;

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
 * @c: message; its flags say what has happened
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

/* ---- the end of a message ---- */

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

/*
 * Both ends have finished. An end that hangs up before the peer has got its DisConn loses
 * what waits for the peer's reader, see sdp_conn_fin_waits(). DisConns that cross do not
 * acknowledge each other: then an empty message does so.
 */
static void sdp_rx_closing(struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;

	if (sdp_conn_fin_waits(conn, c->m.h.mseq_ack)) {
		if (c->m.h.mid == SDP_MID_DISCON)
			sdp_conn_ctl(conn, SDP_CTL_FIRST);
	} else if (READ_ONCE(conn->tx_fin) == SDP_FIN_DONE) {
		c->graceful = true;
		sdp_sock_set_state(c->sk, TCP_CLOSE);
	}
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
	if (unlikely(c->declined)) {
		/* SendSm acknowledges the message, so it has to be complete */
		c->declined = false;
		sdp_conn_ctl(c->conn, SDP_CTL_SENDSM);
	}
	if (unlikely(c->sk->sk_state == TCP_CLOSING && sdp->conn == c->conn))
		sdp_rx_closing(c);
}

/**
 * sdp_rx_finish - finish a message outside of sdp->lock
 * @c: message
 * @bad: result of the checks and of sdp_rx_dispatch()
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
