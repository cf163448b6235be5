// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit half over a verbs link: user data go into messages in registered
 * buffers (sdp_verbs_txq.c), which are posted as credits allow. Calls flow
 * control, zero copy, and the queue pair.
 *
 * sendmsg fills messages under lock_sock; the engine, sdp_verbs_run(), posts
 * them under tx_lock, from sendmsg or from a completion, whichever finds a
 * credit first. A message that waits is extended by later sends.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_latency.h"
#include "sdp_mib.h"
#include "sdp_trace.h"
#include "sdp_verbs.h"
#include "sdp_verbs_tx.h"

#define SDP_TX_SILENCE		(HZ / 10)	/* no probes of a peer that speaks */

/* Uncharge the socket for acknowledged or completed data. */
static void sdp_verbs_account(struct sdp_conn *conn)
{
	u32 upto = READ_ONCE(conn->peer_ack), before = conn->tx_queued;
	struct sdp_verbs *v = conn->verbs;

	if (sdp_seq_after(v->tx_done, upto))
		upto = v->tx_done;
	if (!sdp_seq_after(upto, v->tx_acct))
		return;
	while (v->tx_acct != upto)
		conn->tx_queued -= sdp_tx_slot(v, ++v->tx_acct)->charge;
	sdp_latency_acked(conn, before - conn->tx_queued);
	sdp_txq_report(conn);
}

/*
 * Nothing else is to be sent, and keepalive has to know whether this still waits for a
 * reader: a probe would wait after it, and a peer that lives would not answer.
 */
static bool sdp_verbs_watched(const struct sdp_conn *conn)
{
	return conn->fc->held && !conn->verbs->tx_unsent &&
	       sock_flag(conn->sk, SOCK_KEEPOPEN);
}

/*
 * Whether a send has to ask for a completion: DisConn and AbortConn, every few messages
 * (net.sdp.signal_every), and at the latest after a quarter of the send buffer, so that the
 * rest of the buffer comes free without the last, unsignalled messages. Acknowledged data
 * counts as free anyway. For vwin see sdp_fc_vwin_credits(); completions are there the only
 * sign that the peer reads. So each buffer asks for one, or the socket of a closed program
 * would give up a slow reader.
 *
 * siw passes the pages of long unsignalled Sends to TCP by reference, and completes
 * such a Send before the peer acknowledges it. Payload memory is not reused until then,
 * but the slot of a separate header (@own) is. Memory of the program (@ref) has to
 * return even if nothing else is sent.
 */
static bool sdp_verbs_signal(struct sdp_conn *conn, u8 mid, u32 payload, bool own,
			     bool ref)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sdp_verbs *v = conn->verbs;
	u32 every = min_t(u32, READ_ONCE(sn->sysctl_signal_every),
			  v->tx.depth);
	u32 unsignalled = conn->tx_mseq - v->tx_signalled;
	u32 most = (u32)READ_ONCE(conn->sk->sk_sndbuf) / 4;

	if (v->tx_signal && conn->tx_mseq - v->tx_acct >= v->tx_signal)
		every = min(every, v->tx_signal);
	if (v->tx_signal)
		most = min_t(u32, most, SDP_BUF_SIZE);
	v->tx_unsig_bytes += payload;
	if (ref || (v->tx_signal_long && own && payload >= PAGE_SIZE / 2))
		every = 0;
	if (payload && sdp_verbs_watched(conn))
		every = 0;
	if (mid != SDP_MID_DISCON && mid != SDP_MID_ABORT &&
	    unsignalled < every && v->tx_unsig_bytes < most)
		return false;
	v->tx_unsig_bytes = 0;
	return true;
}

/* Fill in the header that follows the BSDH */
static void sdp_verbs_ext(struct sdp_conn *conn, struct sdp_msg *msg, u32 bytes)
{
	switch (msg->h.mid) {
	case SDP_MID_CHRCVBUF_ACK:
		msg->ext.size = SDP_BUF_SIZE;
		break;
	case SDP_MID_RING_AVAIL:
	case SDP_MID_RING:
		conn->fc->header(conn, msg, bytes);
		break;
	case SDP_MID_SRC_AVAIL:
		msg->payload_len = bytes;
		sdp_zc_src_avail(conn, msg);
		break;
	case SDP_MID_SINK_AVAIL:
		sdp_zc_sink_fill(conn, msg);
		break;
	case SDP_MID_RDMA_WR_COMPL:
		msg->ext.len = conn->zc->tx_written;
		break;
	case SDP_MID_MODE_CHANGE:
		sdp_zc_mode_changed(conn, msg);
		break;
	case SDP_MID_RDMA_RD_COMPL:
		sdp_zc_fill_rd_compl(conn, msg);
		break;
	default:
		msg->payload_len = bytes;
		break;
	}
}

/* The header of a message at @p. Returns its length. */
static u32 sdp_verbs_header(struct sdp_conn *conn, struct sdp_tx_msg *m,
			    struct sdp_msg *msg, u8 *p)
{
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);
	u32 bytes = m ? m->len : 0;

	msg->h.bufs = conn->fc->bufs(conn, msg->h.mseq_ack);
	if (test_and_clear_bit(SDP_CTL_OOB_PEND, &conn->tx_ctl))
		msg->h.flags |= SDP_OOB_PEND;
	if (m && m->oob) {
		msg->h.flags |= SDP_OOB_PRES;
		SDP_INC_STATS(sock_net(conn->sk), TX_OOB);
	}
	if (unlikely(zco))
		zco->header(conn, msg, bytes);
	else if (bytes)
		conn->zc->tx_data++;
	sdp_verbs_ext(conn, msg, bytes);
	return sdp_build_msg(p, msg);
}

/* The message of the peer that is acknowledged by what leaves now */
static u32 sdp_verbs_ack(const struct sdp_conn *conn)
{
	/* pairs with sdp_zc_src_cancel(): a cancel is seen before its number */
	u32 ack = smp_load_acquire(&conn->rx_mseq);
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);

	return unlikely(zco) ? zco->ack(conn, ack) : ack;
}

/*
 * Give a message its number and header and post it. @m is NULL for control
 * messages and for empty Data.
 */
static int sdp_verbs_post(struct sdp_conn *conn, u8 mid, struct sdp_tx_msg *m)
{
	u32 mseq = conn->tx_mseq + 1, ack = sdp_verbs_ack(conn), len = 0;
	struct sdp_msg msg = { .h = { .mid = mid, .mseq = mseq, .mseq_ack = ack } };
	const struct sdp_fc_ops *fc = conn->fc;
	bool imm = m && unlikely(fc->imm) && fc->imm(conn, m);
	struct sdp_verbs *v = conn->verbs;
	struct sdp_tx_slot *slot = sdp_tx_slot(v, mseq);
	struct net *net = sock_net(conn->sk);
	u32 bytes = m ? m->len : 0;
	bool signal, own;
	u8 *p;

	p = v->tx.hdrs + (slot - v->tx.slot) * SDP_CTL_SLOT;
	own = !m || m->split || fc->post;
	if (!own)
		p = page_address(m->chunk->page) + m->off - SDP_BSDH_LEN;
	if (imm)
		msg.ext.ring.len = bytes;
	else
		len = sdp_verbs_header(conn, m, &msg, p);
	trace_sdp_msg_tx(conn, &msg.h, bytes);

	WRITE_ONCE(conn->tx_mseq, mseq);
	slot->mseq = mseq;
	slot->mid = mid;
	slot->chunk = m ? m->chunk : NULL;
	slot->charge = bytes;
	v->tx_unsent -= bytes;
	signal = sdp_verbs_signal(conn, mid, bytes, own, m && !m->chunk->page);
	if (signal) {
		v->tx_signalled = mseq;
		SDP_INC_STATS(net, TX_SIGNALLED);
	}
	sdp_conn_count(conn, bytes, m);
	if (unlikely(fc->post))
		return fc->post(conn, slot, m, imm ? &msg : NULL, len, signal);
	return sdp_qp_send(conn, slot, m, len, signal);
}

/* Room in the send queue for one more? If it could be larger, a work item makes it so. */
static bool sdp_verbs_slot_free(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;

	if (likely(conn->tx_mseq - v->tx_done < v->tx.depth))
		return true;
	if (v->tx.depth < SDP_SQ_DEPTH && !v->tx_grows) {
		v->tx_grows = true;
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
	}
	return false;
}

/* Control first: it must not wait for data that has no credit. */
static int sdp_verbs_run_ctl(struct sdp_conn *conn)
{
	const struct sdp_ctl_msg *ctl = sdp_ctl_msgs;
	int i, err = 0;

	for (i = 0; i < SDP_CTL_MSGS && !err; i++) {
		if (!test_bit(ctl[i].bit, &conn->tx_ctl))
			continue;
		if (!conn->fc->may_send(conn, false) || !sdp_verbs_slot_free(conn))
			break;
		clear_bit(ctl[i].bit, &conn->tx_ctl);
		if (!sdp_zc_ctl_due(conn, ctl[i].bit))
			continue;
		err = sdp_verbs_post(conn, ctl[i].mid, NULL);
	}
	return err;
}

/*
 * Send the first @n bytes of the oldest message, which may be all of it. The
 * posted send has a reference to the chunk: that of the message, if it is gone.
 */
static int sdp_verbs_send_data(struct sdp_conn *conn, struct sdp_tx_msg *m, u32 n)
{
	struct sdp_tx_msg piece = *m;

	if (n == m->len) {
		conn->verbs->tx_tail++;
		return sdp_verbs_post(conn, m->avail ? SDP_MID_SRC_AVAIL :
				      conn->fc->mid, m);
	}
	piece.len = n;
	piece.oob = 0;
	m->off += n;
	m->len -= n;
	m->chunk->refs++;
	return sdp_verbs_post(conn, conn->fc->mid, &piece);
}

/* A send without copies whose turn has come, in pipelined mode. */
static int sdp_verbs_run_zc(struct sdp_conn *conn, const struct sdp_zc_ops *zco)
{
	int err = 0;
	u8 mid;

	while (!err && sdp_verbs_slot_free(conn)) {
		mid = zco->next(conn);
		if (!mid)
			break;
		if (mid == SDP_MID_RDMA_WR_COMPL)
			err = zco->write(conn);
		if (!err)
			err = sdp_verbs_post(conn, mid, NULL);
	}
	return err;
}

/* Credits may have come since sdp_verbs_run_ctl(): SrcAvail must not pass its ModeChange. */
static bool sdp_verbs_mode_first(const struct sdp_conn *conn,
				 const struct sdp_tx_msg *m)
{
	return unlikely(m->avail) && test_bit(SDP_CTL_MODE, &conn->tx_ctl);
}

static int sdp_verbs_run_data(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	/* its state of our sends changes only with the lock held */
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);
	struct sdp_tx_msg *m;
	int err = 0;
	u32 n;

	while (!err && v->tx_tail != v->tx_head &&
	       !(unlikely(zco) && zco->held(conn))) {
		m = sdp_tx_msg(v, v->tx_tail);
		if (m->busy || sdp_verbs_mode_first(conn, m) ||
		    !sdp_verbs_slot_free(conn))
			return 0;
		n = m->len;
		if (conn->fc->room)
			n = conn->fc->room(conn, n);
		if (!n || !conn->fc->may_send(conn, true)) {
			SDP_INC_STATS(sock_net(conn->sk), TX_NO_CREDIT);
			WRITE_ONCE(sdp_sk(conn->sk)->tx_no_credit,
				   sdp_sk(conn->sk)->tx_no_credit + 1);
			return 0;
		}
		err = sdp_verbs_send_data(conn, m, n);
	}
	if (!err && unlikely(zco && zco->next) && v->tx_tail == v->tx_head)
		err = sdp_verbs_run_zc(conn, zco);
	return err;
}

static int sdp_verbs_run_end(struct sdp_conn *conn)
{
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);
	struct net *net = sock_net(conn->sk);
	struct sdp_verbs *v = conn->verbs;
	int err = 0;
	bool due;

	if (conn->tx_fin == SDP_FIN_WANTED &&
	    v->tx_tail == v->tx_head && !(zco && zco->busy(conn)) &&
	    sdp_verbs_slot_free(conn) && conn->fc->may_send(conn, false)) {
		sdp_conn_fin_sent(conn);
		SDP_INC_STATS(net, DISCON_SENT);
		err = sdp_verbs_post(conn, SDP_MID_DISCON, NULL);
	}
	due = conn->fc->update_due(conn);
	/* announce urgent data even if it cannot be sent yet */
	if (!err && (due || test_bit(SDP_CTL_OOB_PEND, &conn->tx_ctl)) &&
	    sdp_verbs_slot_free(conn) && conn->fc->may_send(conn, false)) {
		if (due)
			SDP_INC_STATS(net, TX_CREDIT_UPDATES);
		if (due && conn->fc->mid == SDP_MID_RING)
			SDP_INC_STATS(net, RING_UPDATES);
		err = sdp_verbs_post(conn, conn->fc->mid, NULL);
	}
	return err;
}

/*
 * A probe if one was asked for, or if a writer waits and nothing will tell that
 * the last messages are complete: none of them was signalled, and the peer may
 * be silent for long.
 */
static int sdp_verbs_run_probe(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	bool stranded = READ_ONCE(v->tx_want) &&
			conn->tx_mseq != v->tx_done &&
			!sdp_seq_after(v->tx_signalled, v->tx_done);
	bool alive;

	if (READ_ONCE(conn->probe.state) ||
	    !(stranded || conn->tx_ctl & (BIT(SDP_CTL_SETTLE) |
					  BIT(SDP_CTL_KEEPALIVE))))
		return 0;
	clear_bit(SDP_CTL_SETTLE, &conn->tx_ctl);
	alive = test_and_clear_bit(SDP_CTL_KEEPALIVE, &conn->tx_ctl);
	conn->probe.mseq = conn->tx_mseq;
	return sdp_qp_probe(conn, alive);
}

/*
 * Post what may be posted. Receives first, so that their advertised number is
 * fresh. Returns an error of the provider, after which the caller, without
 * tx_lock, takes the connection down.
 */
static int sdp_verbs_run(struct sdp_conn *conn)
{
	int err;

	lockdep_assert_held(&conn->tx_lock);
	if (!test_bit(SDP_CONN_READY, &conn->flags) ||
	    test_bit(SDP_CONN_DOWN, &conn->flags))
		return 0;
	sdp_verbs_account(conn);
	err = sdp_qp_post_recvs(conn);
	if (err || !test_bit(SDP_CONN_UP, &conn->flags) ||
	    test_bit(SDP_CONN_FENCED, &conn->flags))
		return err;
	if (unlikely(conn->tx_ctl))
		err = sdp_verbs_run_ctl(conn);
	if (!err)
		err = sdp_verbs_run_data(conn);
	if (!err)
		err = sdp_verbs_run_end(conn);
	if (!err)
		err = sdp_verbs_run_probe(conn);
	return err;
}

/* Everything up to @mseq is complete. Returns whether DisConn is among it. */
static bool sdp_verbs_complete(struct sdp_conn *conn, u32 mseq)
{
	struct sdp_verbs *v = conn->verbs;
	bool fin = false;

	while (sdp_seq_after(mseq, v->tx_done)) {
		struct sdp_tx_slot *s = sdp_tx_slot(v, v->tx_done + 1);

		if (s->chunk)
			sdp_txq_chunk_put(conn, s->chunk);
		s->chunk = NULL;
		if (s->mid == SDP_MID_DISCON) {
			conn->tx_fin = SDP_FIN_DONE;
			fin = true;
		}
		v->tx_done++;
		WRITE_ONCE(v->tx_lacks, false);
	}
	return fin;
}

static void sdp_verbs_completed(struct sdp_conn *conn, u32 mseq)
{
	bool fin;
	int err;

	spin_lock(&conn->tx_lock);
	fin = sdp_verbs_complete(conn, mseq);
	sdp_verbs_account(conn);
	err = sdp_verbs_run(conn);
	spin_unlock(&conn->tx_lock);
	if (unlikely(err))
		sdp_conn_down(conn, ECONNRESET);
	if (unlikely(fin))
		sdp_conn_fin_done(conn);
	sdp_conn_wake(conn);
}

/**
 * sdp_verbs_tx_done - completion of a signalled send
 * @cq: completion queue
 * @wc: its entry
 *
 * Everything posted before is complete as well.
 *
 * Context: softirq.
 */
void sdp_verbs_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_tx_slot *slot = container_of(wc->wr_cqe, struct sdp_tx_slot,
						cqe);

	if (!sdp_conn_wc_bad(slot->conn, wc))
		sdp_verbs_completed(slot->conn, slot->mseq);
}

/*
 * May the payload be sent by reference? The memory then stays unchanged until the sender is
 * notified (MSG_ZEROCOPY, io_uring), or consists of pages that a file or a pipe gives out
 * (splice). Urgent data is always copied.
 */
static bool sdp_verbs_refers(const struct sdp_conn *conn, const struct msghdr *msg,
			     int flags)
{
	if (likely(!msg->msg_ubuf && !(flags & MSG_SPLICE_PAGES)))
		return false;
	return conn->tx_pieces && !(flags & MSG_OOB);
}

/* Leave data where they are. Bytes taken, 0 if they have to be copied. */
static u32 sdp_verbs_refer(struct sock *sk, struct msghdr *msg, int flags)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	struct sdp_tx_msg *m;
	bool append, last;
	u32 n, space;

	if (msg_data_left(msg) < SDP_TX_SPLIT_MIN)
		return 0;
	m = sdp_txq_open_ref(conn, msg, &append);
	if (!m)
		return 0;
	space = READ_ONCE(sk->sk_sndbuf) - READ_ONCE(sk->sk_wmem_queued);
	n = min(conn->tx_max_payload - m->len, max_t(u32, space, SDP_TX_OVER));
	n = sdp_ref_fill(conn, m->chunk, msg, n);
	last = n && !msg_data_left(msg);
	if (!n && !append)
		sdp_ref_free(conn, m->chunk);
	else
		sdp_txq_commit(conn, m, n, append, false,
			       last && (flags & MSG_EOR));
	if (n && !last)
		sdp_conn_kick(conn);
	return n;
}

static bool sdp_verbs_full(const struct sdp_conn *conn)
{
	const struct sdp_verbs *v = READ_ONCE(conn->verbs);

	if (unlikely(!v))
		return false;
	return READ_ONCE(conn->zc->tx_state) != SDP_ZC_TX_IDLE ||
	       READ_ONCE(v->tx_lacks) ||
	       READ_ONCE(v->tx_head) - READ_ONCE(v->tx_tail) >=
	       sdp_txq_max(v) - 1;
}

/*
 * struct sdp_link_ops.send: without a copy (zero copy, by reference) if possible, else with
 * one. Returns bytes taken, 0 without space, or an error.
 */
static int sdp_verbs_send(struct sock *sk, struct msghdr *msg, int flags)
{
	size_t left = msg_data_left(msg);
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);
	struct sdp_tx_msg *m;
	bool append, last, refers;
	u32 space, want, n;
	int room;

	if (!sk_stream_memory_free(sk))
		return 0;
	room = unlikely(zco) ? zco->send(sk, msg, flags) : 0;
	if (room)
		return room;
	refers = sdp_verbs_refers(conn, msg, flags);
	if (unlikely(refers)) {
		/* skip zero-length segments */
		iov_iter_advance(&msg->msg_iter, 0);
		room = sdp_verbs_refer(sk, msg, flags);
		if (room)
			return room;
		/* data after this piece may be sent by reference */
		left = iov_iter_single_seg_count(&msg->msg_iter) ?: left;
	}
	room = sdp_txq_open(conn, left, &m, &append);
	if (room <= 0)
		return room;
	space = READ_ONCE(sk->sk_sndbuf) - READ_ONCE(sk->sk_wmem_queued);
	want = min_t(size_t, left, room);
	/* as in TCP the last piece may go over the limit, a small one */
	want = min(want, max_t(u32, space, SDP_TX_OVER));

	pagefault_disable();
	n = copy_from_iter(page_address(m->chunk->page) + m->off + m->len, want,
			   &msg->msg_iter);
	pagefault_enable();
	last = n && !msg_data_left(msg);
	sdp_txq_commit(conn, m, n, append, last && (flags & MSG_OOB),
		       last && (flags & MSG_EOR));
	/*
	 * Full messages leave while the next one is filled, and what the engine has
	 * found busy while we wait for memory.
	 */
	if (!n || !(last || refers))
		sdp_conn_kick(conn);
	return n ? n : sdp_conn_fault_in(sk, &msg->msg_iter, want);
}

static void sdp_verbs_sent(struct sdp_conn *conn, bool cork)
{
	const struct sdp_zc_ops *zco = READ_ONCE(conn->zco);

	if (unlikely(zco))
		zco->sent(conn);
	if (cork)
		queue_delayed_work(sdp_wq(conn->sk), &conn->kick_work,
				   SDP_TX_CORK_TIME);
	else
		sdp_conn_kick(conn);
}

/*
 * From now on the engine makes sure that completions come: the rest may be
 * waiting for credits that take long.
 */
static void sdp_verbs_want_space(struct sdp_conn *conn)
{
	struct sdp_verbs *v = READ_ONCE(conn->verbs);

	if (likely(v))
		WRITE_ONCE(v->tx_want, true);
	if (unlikely(conn->fc->want_space))
		conn->fc->want_space(conn);
	sdp_conn_kick(conn);
}

static u32 sdp_verbs_outq(struct sdp_conn *conn)
{
	return READ_ONCE(conn->tx_queued);
}

/*
 * Small sends are not signalled one by one, so the last few of them can look
 * unacknowledged for long. A probe that follows them tells.
 */
static bool sdp_verbs_settle(struct sdp_conn *conn)
{
	struct sdp_verbs *v = READ_ONCE(conn->verbs);

	if (!v || !READ_ONCE(conn->tx_queued) || READ_ONCE(v->tx_unsent) ||
	    conn->tx_mseq == v->tx_signalled)
		return false;
	sdp_conn_ctl(conn, SDP_CTL_SETTLE);
	sdp_conn_kick(conn);
	return true;
}

static void sdp_verbs_notice(struct sdp_conn *conn)
{
	sdp_verbs_settle(conn);
}

/*
 * A Send of a software device completes when TCP has it, not when it arrives.
 * Only a message of the peer, or its answer to a probe, proves that it has arrived.
 */
static bool sdp_verbs_unproven(struct sdp_conn *conn)
{
	const struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 mseq = READ_ONCE(conn->tx_mseq);

	if (mseq == READ_ONCE(conn->peer_ack) ||
	    mseq == READ_ONCE(conn->probe.proven))
		return false;
	if (!READ_ONCE(conn->probe.state) &&
	    time_after(jiffies, READ_ONCE(sdp->last_rx) + SDP_TX_SILENCE)) {
		sdp_conn_ctl(conn, SDP_CTL_KEEPALIVE);
		sdp_conn_kick(conn);
	}
	return true;
}

static u32 sdp_verbs_unsent(const struct sdp_conn *conn)
{
	const struct sdp_verbs *v = READ_ONCE(conn->verbs);

	return likely(v) ? READ_ONCE(v->tx_unsent) : 0;
}

/* Control messages do not count: the peer decides how many answers it wants */
static u32 sdp_verbs_progress(const struct sdp_conn *conn)
{
	return (u32)READ_ONCE(sdp_sk(conn->sk)->tx_bytes);
}

static void sdp_verbs_probed(struct sdp_conn *conn, u32 mseq)
{
	sdp_verbs_completed(conn, mseq);
}

const struct sdp_link_ops sdp_link_verbs = {
	.name		= "verbs",
	.send		= sdp_verbs_send,
	.sent		= sdp_verbs_sent,
	.push		= sdp_conn_kick,
	.run		= sdp_verbs_run,
	.want_space	= sdp_verbs_want_space,
	.full		= sdp_verbs_full,
	.outq		= sdp_verbs_outq,
	.settle		= sdp_verbs_settle,
	.notice		= sdp_verbs_notice,
	.unproven	= sdp_verbs_unproven,
	.unsent		= sdp_verbs_unsent,
	.progress	= sdp_verbs_progress,
	.probed		= sdp_verbs_probed,
};
