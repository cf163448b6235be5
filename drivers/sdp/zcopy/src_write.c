// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy by RDMA Write, the source: pipelined mode, and what the peer's
 * readers offer. Calls xfer.c and the verbs; called by src_read.c, the transmit
 * engine and the receive half.
 *
 * A sink that would like pipelined mode says so by REQ_PIPE; the source goes
 * there with ModeChange when it has something to send without a copy, never
 * without having been asked. SrcAvail has no payload then, and SinkAvail may
 * come: memory of a waiting reader. A large send is written there, or advertised if
 * there is none, which is decided when its turn comes. RDMA Write and RdmaWrCompl
 * are posted in one critical section of tx_lock, so a SinkAvail either waits or is
 * used up.
 *
 * Both ends count messages with payload, so that they agree on a SinkAvail
 * that such a message has crossed: it is void, and the message is not counted
 * by either. A SrcAvail that a SinkAvail crosses is void as well: its data is
 * written instead. sdp->lock protects the SinkAvail that wait (tx_sink); they are
 * removed with tx_lock held as well, so one that the engine has seen does not vanish.
 */
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_rx.h"

/**
 * sdp_zc_tx_mode - choose the mode for a send that is about to begin
 * @conn: connection, nothing of ours is advertised
 * @mode: enum sdp_mode
 *
 * ModeChange leaves before the next message.
 *
 * Context: lock_sock.
 */
void sdp_zc_tx_mode(struct sdp_conn *conn, u8 mode)
{
	struct sdp_zc *zc = conn->zc;

	if (likely(mode == zc->tx_want))
		return;
	spin_lock_bh(&conn->tx_lock);
	zc->tx_want = mode;
	if (mode == zc->tx_mode)
		clear_bit(SDP_CTL_MODE, &conn->tx_ctl);
	else
		sdp_conn_ctl(conn, SDP_CTL_MODE);
	spin_unlock_bh(&conn->tx_lock);
}

/**
 * sdp_zc_mode_changed - ModeChange is leaving
 * @conn: connection
 * @m: the message; the mode is filled in
 *
 * SinkAvail of the peer are void in combined mode; the peer learns that from this message.
 *
 * Context: tx_lock.
 */
void sdp_zc_mode_changed(struct sdp_conn *conn, struct sdp_msg *m)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;

	m->ext.mch.mode = zc->tx_want;
	spin_lock(&sdp->lock);
	zc->tx_mode = zc->tx_want;
	zc->tx_piped = true;
	zc->tx_piped_data = zc->tx_data;
	zc->tx_sink.n = 0;
	spin_unlock(&sdp->lock);
	SDP_INC_STATS(sock_net(conn->sk), MODE_CHANGES);
}

/**
 * sdp_zc_next - choose the message of a send without copies whose turn has come
 * @conn: connection, all messages before it have left
 *
 * In pipelined mode only: in combined mode SrcAvail has payload (tx_head), and is one
 * of the messages in the transmit queue.
 *
 * Context: tx_lock.
 *
 * Return: message id that the caller posts: SrcAvail, which counts as sent from here on,
 * or RdmaWrCompl, before which it calls sdp_zc_write(); 0 if nothing may leave.
 */
u8 sdp_zc_next(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	u8 mid = 0;

	lockdep_assert_held(&conn->tx_lock);
	if (likely(READ_ONCE(zc->tx_state) != SDP_ZC_TX_QUEUED) ||
	    zc->tx_head || zc->tx_mode != SDP_MODE_PIPELINED)
		return 0;
	spin_lock(&sdp->lock);
	if (zc->tx_state == SDP_ZC_TX_QUEUED && zc->tx_sink.n &&
	    conn->fc->may_send(conn, false)) {
		WRITE_ONCE(zc->tx_state, SDP_ZC_TX_WRITING);
		mid = SDP_MID_RDMA_WR_COMPL;
	} else if (zc->tx_state == SDP_ZC_TX_QUEUED && !zc->tx_sink.n &&
		   conn->fc->may_send(conn, true)) {
		WRITE_ONCE(zc->tx_state, SDP_ZC_TX_SENT);
		zc->tx_mseq = conn->tx_mseq + 1;
		mid = SDP_MID_SRC_AVAIL;
	}
	spin_unlock(&sdp->lock);
	return mid;
}

/**
 * sdp_zc_write - write to the memory of the peer's reader
 * @conn: connection; sdp_zc_next() has returned RdmaWrCompl
 *
 * Context: tx_lock, held until RdmaWrCompl is posted.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_zc_write(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	struct sdp_zc_advert to = {};
	struct ib_rdma_wr wr = {};
	struct ib_sge sge;

	lockdep_assert_held(&conn->tx_lock);
	spin_lock(&sdp->lock);
	sdp_zc_pop(zc, &zc->tx_sink, &to);
	spin_unlock(&sdp->lock);
	zc->tx_written = min(to.len, zc->tx_left);
	sge.addr = zc->tx->mr->iova + (zc->tx_len - zc->tx_left);
	sge.length = zc->tx_written;
	sge.lkey = zc->tx->mr->lkey;
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	wr.wr.wr_cqe = &zc->write_cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = to.va;
	wr.rkey = to.rkey;
	SDP_INC_STATS(sock_net(conn->sk), TX_ZCOPY_WRITES);
	return ib_post_send(conn->qp, &wr.wr, NULL);
}

/**
 * sdp_zc_written - completion of an RDMA Write
 * @cq: completion queue
 * @wc: its entry
 *
 * The rest of the send, if there is one, is written or advertised next.
 *
 * Context: softirq.
 */
void sdp_zc_written(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_zc *zc = container_of(wc->wr_cqe, struct sdp_zc, write_cqe);
	struct sdp_conn *conn = zc->conn;
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool more;

	if (sdp_conn_wc_bad(conn, wc))
		return;
	spin_lock(&conn->tx_lock);
	spin_lock(&sdp->lock);
	WRITE_ONCE(zc->tx_left, zc->tx_left - zc->tx_written);
	zc->tx_written = 0;
	more = zc->tx_left && !zc->tx_stop;
	WRITE_ONCE(zc->tx_state, more ? SDP_ZC_TX_QUEUED : SDP_ZC_TX_OVER);
	spin_unlock(&sdp->lock);
	spin_unlock(&conn->tx_lock);
	wake_up_all(&conn->wait);
	if (more)
		sdp_conn_kick(conn);
}

/*
 * A SrcAvail of ours and this SinkAvail have crossed: the peer drops ours, and the send
 * has its turn again, unless it was cancelled. Context: sdp->lock held.
 */
static void sdp_zc_crossed(struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	if (zc->tx_state != SDP_ZC_TX_SENT && zc->tx_state != SDP_ZC_TX_CANCEL)
		return;
	SDP_INC_STATS(sock_net(c->sk), SRCAVAIL_CROSSED);
	WRITE_ONCE(zc->tx_state, zc->tx_state == SDP_ZC_TX_SENT ?
		   SDP_ZC_TX_QUEUED : SDP_ZC_TX_OVER);
	wake_up_all(&c->conn->wait);
}

/*
 * Messages with payload that the peer may have counted when it sent a SinkAvail. If that
 * has crossed ModeChange to combined mode, it has not seen those after ModeChange.
 * Context: sdp->lock held.
 */
static u32 sdp_zc_tx_counted(const struct sdp_zc *zc)
{
	u32 sent = zc->tx_mode == SDP_MODE_PIPELINED ?
		   READ_ONCE(zc->tx_data) : zc->tx_piped_data;

	return sent - zc->tx_void;
}

/**
 * sdp_zc_sink_avail - a reader of the peer waits
 * @sdp: socket
 * @c: SinkAvail
 *
 * Context: sdp->lock. The caller kicks the engine.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_sink_avail(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;
	u32 sent, counted = c->m.ext.avail.non_discards;

	lockdep_assert_held(&sdp->lock);
	if (!zc->tx_piped || c->m.ext.avail.len < SDP_ZC_MIN)
		return SDP_MIB_BAD_RDMA;
	SDP_INC_STATS(sock_net(c->sk), RX_SINKAVAIL);
	sent = sdp_zc_tx_counted(zc);
	if (sdp_seq_after(counted, sent))
		return SDP_MIB_BAD_RDMA;
	if (counted != sent) {
		SDP_INC_STATS(sock_net(c->sk), SINKAVAIL_STALE);
		zc->tx_void++;
		return 0;
	}
	/* it has crossed ModeChange, and no payload before that */
	if (zc->tx_mode != SDP_MODE_PIPELINED)
		return 0;
	/* those that the peer has cancelled are gone: this one is not meant */
	if (!zc->tx_sink.n)
		zc->tx_unavail = false;
	if (!sdp_zc_push(zc, &zc->tx_sink, &c->m))
		return SDP_MIB_BAD_STATE;
	sdp_zc_crossed(c);
	return 0;
}

/**
 * sdp_zc_sink_unavail - no reader of the peer waits any more
 * @sdp: socket
 * @c: SinkAvailCancel
 *
 * If no SinkAvail is left, the message that ended it is on its way, and serves the peer
 * as the answer.
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_sink_unavail(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	lockdep_assert_held(&sdp->lock);
	if (!zc->tx_piped)
		return SDP_MIB_BAD_STATE;
	if (zc->tx_sink.n) {
		zc->tx_unavail = true;
		sdp_conn_ctl(c->conn, SDP_CTL_SINK_ACK);
	}
	return 0;
}

/**
 * sdp_zc_sink_ack_due - whether SinkCancelAck has to leave
 * @conn: connection
 *
 * Only if the SinkAvail still waits: it may have been used up since, and another one may
 * have come, which is not cancelled. Nothing is sent after our DisConn. The SinkAvail is
 * dropped in either case.
 *
 * Context: tx_lock.
 */
bool sdp_zc_sink_ack_due(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_zc *zc = conn->zc;
	bool due;

	lockdep_assert_held(&conn->tx_lock);
	spin_lock(&sdp->lock);
	due = zc->tx_unavail && zc->tx_sink.n;
	if (due)
		zc->tx_sink.n = 0;
	zc->tx_unavail = false;
	spin_unlock(&sdp->lock);
	return due && conn->tx_fin < SDP_FIN_SENT;
}
