// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy, the sink: advertised data is read with RDMA Read into the memory
 * of a waiting reader. Called by recvmsg, poll and the like (sdp_rx.c, af_sdp.c,
 * sdp_rxmap.c), sink_offer.c, the receive half (sdp_rx_msg.c) and the transmit engine;
 * calls xfer.c, pool.c for the memory, and the engine (by sdp_conn.c) for the answers.
 *
 * An advertisement stays until it has been read to its end, by one reader after
 * the other, each of which tells the peer how far it came (RdmaRdCompl); until
 * a reader comes that does not want it, and asks for messages instead
 * (SendSm); or until the peer cancels it. The bytes that are read are never on the
 * receive queue: rx_seq and copied_seq move together.
 *
 * In pipelined mode there may be several, which are read in turn; SendSm and a cancel
 * end all of them. No bytes come along, so the receive queue shows nothing to poll();
 * for a program that polls, messages are asked for. A SrcAvail that has crossed our
 * SendSm or SinkAvail is void.
 *
 * After a SrcAvailCancel MSeqAck stays at the message before it while we read, since
 * MSeqAck would acknowledge the cancel.
 */
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_rx.h"

/**
 * sdp_zc_ack - MSeqAck for a message that leaves now
 * @conn: connection
 * @ack: the last message received, read with acquire semantics
 *
 * Context: any.
 */
u32 sdp_zc_ack(const struct sdp_conn *conn, u32 ack)
{
	/* pairs with sdp_zc_src_cancel() */
	return unlikely(smp_load_acquire(&conn->zc->rx_cancel)) ?
	       READ_ONCE(conn->zc->rx_ack) : ack;
}

/**
 * sdp_zc_fill_rd_compl - RdmaRdCompl is leaving
 * @conn: connection
 * @m: the message; bytes read are filled in
 *
 * Context: tx_lock.
 */
void sdp_zc_fill_rd_compl(struct sdp_conn *conn, struct sdp_msg *m)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	spin_lock(&sdp->lock);
	m->ext.len = conn->zc->rx_done;
	conn->zc->rx_done = 0;
	spin_unlock(&sdp->lock);
}

/**
 * sdp_zc_asked - SendSm is leaving: the peer may send messages again
 * @conn: connection
 *
 * Context: tx_lock.
 */
void sdp_zc_asked(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	spin_lock(&sdp->lock);
	WRITE_ONCE(conn->rx_src_avail, false);
	conn->zc->rx_asked = true;
	conn->zc->rx_asked_mseq = conn->tx_mseq + 1;
	spin_unlock(&sdp->lock);
}

/*
 * A SrcAvail without payload is void if the peer sent it before it had seen a SinkAvail
 * or SendSm of ours. The peer takes it back as well when it receives that message.
 * Context: sdp->lock held.
 */
static bool sdp_zc_void(const struct sdp_rx_ctx *c)
{
	const struct sdp_zc *zc = c->conn->zc;

	return sdp_zc_sink_out(zc) ||
	       (zc->rx_asked &&
		sdp_seq_after(zc->rx_asked_mseq, c->m.h.mseq_ack));
}

/**
 * sdp_zc_rx_payload - a message with payload has come
 * @sdp: socket
 * @c: message
 *
 * Context: sdp->lock.
 */
void sdp_zc_rx_payload(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	lockdep_assert_held(&sdp->lock);
	zc->rx_asked = false;
	if (sdp_zc_sink_out(zc))
		zc->sink_lost = true;
	else
		zc->rx_data++;
	sdp_zc_sink_end(c->conn);
}

/* Make this the advertisement that is read next. Context: sdp->lock held. */
static void sdp_zc_take(struct sdp_zc *zc, u64 va, u32 rkey, u32 len)
{
	zc->rx_va = va;
	zc->rx_rkey = rkey;
	WRITE_ONCE(zc->rx_left, len);
	WRITE_ONCE(zc->rx_state, SDP_ZC_RX_PENDING);
}

/*
 * SrcAvail after others: in pipelined mode, as many as MaxAdverts allows. Context:
 * sdp->lock held.
 */
static int sdp_zc_another(struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	/* SendSm for the earlier ones is to leave, and declines this one, too */
	if (zc->rx_state == SDP_ZC_RX_IDLE)
		return 0;
	if (zc->rx_src.n + 1 >= zc->max ||
	    !sdp_zc_push(zc, &zc->rx_src, &c->m))
		return SDP_MIB_BAD_STATE;
	return 0;
}

/**
 * sdp_zc_accept - take a SrcAvail of the peer for a reader to come
 * @sdp: socket
 * @c: SrcAvail, checked, its payload is queued
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_accept(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;
	struct sdp_zc *zc = conn->zc;

	lockdep_assert_held(&sdp->lock);
	if (!c->m.payload_len && sdp_zc_void(c))
		return 0;
	if (READ_ONCE(conn->rx_src_avail))
		return sdp_zc_another(c);
	WRITE_ONCE(conn->rx_src_avail, true);
	if (!sdp_sock_zcopy_threshold(c->sk) || !zc->able || c->reset ||
	    !conn->fc->zcopy || c->sk->sk_shutdown & RCV_SHUTDOWN) {
		SDP_INC_STATS(sock_net(c->sk), RX_ZCOPY_DECLINED);
		c->declined = true;
		return 0;
	}
	sdp_zc_sink_end(conn);
	sdp_zc_take(zc, c->m.ext.avail.va + c->m.payload_len,
		    c->m.ext.avail.rkey, c->m.ext.avail.len - c->m.payload_len);
	c->pending = true;
	return 0;
}

/* Decline the remaining advertisements, by SendSm. Context: sdp->lock held. */
static void sdp_zc_drop(struct sdp_conn *conn)
{
	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	WRITE_ONCE(conn->zc->rx_state, SDP_ZC_RX_IDLE);
	WRITE_ONCE(conn->zc->rx_cancel, false);
	conn->zc->rx_src.n = 0;
	sdp_conn_ctl(conn, SDP_CTL_SENDSM);
}

/*
 * The present advertisement is over: go to the next one, if there is one. Context:
 * sdp->lock held.
 */
static void sdp_zc_rx_next(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;
	struct sdp_zc_advert a;

	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	if (sdp_zc_pop(zc, &zc->rx_src, &a)) {
		sdp_zc_take(zc, a.va, a.rkey, a.len);
		return;
	}
	WRITE_ONCE(zc->rx_state, SDP_ZC_RX_IDLE);
	WRITE_ONCE(zc->rx_cancel, false);
	WRITE_ONCE(conn->rx_src_avail, false);
}

/**
 * sdp_zc_rx_mode - the peer changes the mode of its sending half
 * @c: ModeChange, a legal one
 *
 * Its advertisements of pipelined mode, and ours, are void then. That includes the rest of
 * one that has been read in part: RdmaRdCompl may have crossed ModeChange, which the peer
 * cannot avoid, and says where to continue.
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_rx_mode(struct sdp_rx_ctx *c)
{
	struct sdp_conn *conn = c->conn;
	bool piped = conn->rx_mode == SDP_MODE_PIPELINED;

	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	if (piped && conn->zc->rx_state == SDP_ZC_RX_PENDING) {
		conn->zc->rx_src.n = 0;
		sdp_zc_rx_next(conn);
	}
	if (conn->zc->rx_state != SDP_ZC_RX_IDLE ||
	    (c->m.ext.mch.mode == SDP_MODE_BUFFERED &&
	     READ_ONCE(conn->rx_src_avail)))
		return SDP_MIB_BAD_STATE;
	if (piped)
		sdp_zc_sink_end(conn);
	WRITE_ONCE(conn->rx_mode, c->m.ext.mch.mode);
	return 0;
}

/**
 * sdp_zc_pending - whether a reader may find an advertisement
 * @sk: socket
 *
 * Context: any; the answer may be stale at once. A wake-up follows when it becomes true.
 */
bool sdp_zc_pending(const struct sock *sk)
{
	const struct sdp_conn *conn;
	bool ret;

	rcu_read_lock();
	conn = READ_ONCE(sdp_sk(sk)->conn);
	ret = conn && READ_ONCE(conn->zc->rx_state) == SDP_ZC_RX_PENDING &&
	      READ_ONCE(conn->zc->sink_state) == SDP_ZC_SINK_IDLE &&
	      !READ_ONCE(conn->zc->rx_taking);
	rcu_read_unlock();
	return ret;
}

/**
 * sdp_zc_poll - a program asks whether there is something to read
 * @sk: socket, on whose receive queue the program has not found enough
 * @seq: rx_seq when it looked
 *
 * If the queue has received nothing since then, the advertised data comes next, and the
 * function asks for it as messages. It does so in each mode: the payload that came along in
 * combined mode may have been read by itself.
 *
 * Context: process; no spinlock held.
 */
void sdp_zc_poll(struct sock *sk, u32 seq)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn;

	if (likely(!sdp_zc_pending(sk)))
		return;
	spin_lock_bh(&sdp->lock);
	conn = sdp->conn;
	if (!conn || conn->zc->rx_state != SDP_ZC_RX_PENDING ||
	    sdp->rx_seq != seq) {
		spin_unlock_bh(&sdp->lock);
		return;
	}
	SDP_INC_STATS(sock_net(sk), RX_ZCOPY_DECLINED);
	sdp_zc_drop(conn);
	refcount_inc(&conn->refs);
	spin_unlock_bh(&sdp->lock);
	sdp_conn_kick(conn);
	sdp_conn_put(conn);
}

/**
 * sdp_zc_src_cancel - the peer cancels its SrcAvail
 * @sdp: socket
 * @c: SrcAvailCancel
 *
 * If no SrcAvail is open any more, the message that ended it is on its way, and serves
 * the peer as the answer.
 *
 * Context: sdp->lock.
 *
 * Return: 0, or the SDP_MIB_BAD_ number that explains the abort.
 */
int sdp_zc_src_cancel(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_zc *zc = c->conn->zc;

	lockdep_assert_held(&sdp->lock);
	if (zc->rx_state == SDP_ZC_RX_PENDING) {
		SDP_INC_STATS(sock_net(c->sk), RX_ZCOPY_CANCELS);
		sdp_zc_drop(c->conn);
	} else if (zc->rx_state == SDP_ZC_RX_READING) {
		if (zc->rx_cancel)
			return SDP_MIB_BAD_STATE;
		SDP_INC_STATS(sock_net(c->sk), RX_ZCOPY_CANCELS);
		WRITE_ONCE(zc->rx_ack, c->m.h.mseq - 1);
		/* with rx_ack; pairs with sdp_zc_ack() */
		smp_store_release(&zc->rx_cancel, true);
		/*
		 * before rx_mseq, which changes next; pairs with the acquire in
		 * sdp_verbs_ack()
		 */
		smp_wmb();
	}
	return 0;
}

/**
 * sdp_zc_decline - ask for messages instead of an advertisement, if there is one
 * @sk: socket
 *
 * Context: lock_sock.
 */
void sdp_zc_decline(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	bool drop;

	if (likely(!conn || READ_ONCE(conn->zc->rx_state) != SDP_ZC_RX_PENDING))
		return;
	spin_lock_bh(&sdp->lock);
	drop = conn->zc->rx_state == SDP_ZC_RX_PENDING;
	if (drop) {
		SDP_INC_STATS(sock_net(sk), RX_ZCOPY_DECLINED);
		sdp_zc_drop(conn);
	}
	spin_unlock_bh(&sdp->lock);
	if (drop)
		sdp_conn_kick(conn);
}

/*
 * Bytes of the reader's memory to read into, from address *@addr on; 0 if it is not worth
 * it. Context: lock_sock held.
 */
static u32 sdp_zc_rx_want(struct sock *sk, struct msghdr *msg, size_t len,
			  int flags, unsigned long *addr)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 left = READ_ONCE(conn->zc->rx_left), n;

	if (flags & (MSG_PEEK | MSG_TRUNC))
		return 0;
	n = sdp_zc_segment(&msg->msg_iter, addr);
	n = min(min_t(size_t, n, len), left);
	/* it may have had SDP_ZC_HEAD bytes of its buffer filled from the message */
	if (n + SDP_ZC_HEAD < min(sdp_sock_zcopy_threshold(sk), left))
		return 0;
	if (!test_bit(SDP_CONN_IWARP, &conn->flags))
		n = min_t(u32, n, SDP_ZC_READ);
	return n;
}

/*
 * Claim the advertisement for @len bytes from @seq on, and fill in where they are; false
 * if that is not possible. Pinning memory takes time. Meanwhile the advertisement may have
 * been cancelled, and another one, of another size, have come. Messages may have come before
 * it, which have to be read first, or which another reader has read. Context: lock_sock held.
 */
static bool sdp_zc_rx_claim(struct sdp_conn *conn, struct ib_rdma_wr *rd,
			    u32 len, u32 seq)
{
	struct sock *sk = conn->sk;
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_zc *zc = conn->zc;
	bool ok;

	spin_lock_bh(&sdp->lock);
	ok = zc->rx_state == SDP_ZC_RX_PENDING && len <= zc->rx_left &&
	     sdp->rx_seq == seq && sdp->copied_seq == seq && !sk->sk_err &&
	     !(sk->sk_shutdown & RCV_SHUTDOWN);
	if (ok)
		WRITE_ONCE(zc->rx_state, SDP_ZC_RX_READING);
	rd->remote_addr = zc->rx_va;
	rd->rkey = zc->rx_rkey;
	spin_unlock_bh(&sdp->lock);
	return ok;
}

/*
 * Register, read and invalidate, posted together; as sdp_zc_post(). On iWARP the answer
 * to a read is a kind of RDMA Write, so the memory needs that access, and the read can
 * invalidate the registration itself. That saves the fenced invalidation, after which
 * messages in the send queue would wait for the read.
 */
static bool sdp_zc_rx_post(struct sdp_conn *conn, struct ib_rdma_wr *rd)
{
	bool iwarp = test_bit(SDP_CONN_IWARP, &conn->flags);
	struct sdp_zc_region *r = conn->zc->rx;
	struct ib_send_wr inv;
	struct ib_reg_wr reg;
	struct ib_sge sge;

	sdp_zc_reg_wr(r, &reg, IB_ACCESS_LOCAL_WRITE |
		      (iwarp ? IB_ACCESS_REMOTE_WRITE : 0));
	sge.addr = r->mr->iova;
	sge.length = r->len;
	sge.lkey = r->mr->lkey;
	rd->wr.opcode = iwarp ? IB_WR_RDMA_READ_WITH_INV : IB_WR_RDMA_READ;
	rd->wr.wr_cqe = &r->cqe;
	rd->wr.sg_list = &sge;
	rd->wr.num_sge = 1;
	reg.wr.next = &rd->wr;
	if (iwarp) {
		rd->wr.send_flags = IB_SEND_SIGNALED;
		rd->wr.ex.invalidate_rkey = r->mr->lkey;
	} else {
		sdp_zc_inv_wr(r, &inv);
		rd->wr.next = &inv;
	}
	return sdp_zc_post(conn, r, &reg.wr);
}

/*
 * Wake other readers. They left the advertisement to this one while it pinned memory
 * (rx_taking), or while it read (SDP_ZC_RX_READING).
 */
static void sdp_zc_rx_wake(struct sock *sk)
{
	if (sdp_zc_pending(sk))
		sk->sk_data_ready(sk);
}

/*
 * @n bytes are in the reader's memory: report them to the peer. With tx_lock, since
 * RdmaRdCompl has to leave before a SendSm: the engine must not look between the two.
 * Context: lock_sock held.
 */
static void sdp_zc_rx_took(struct sock *sk, struct sdp_conn *conn, u32 n)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_zc *zc = conn->zc;

	spin_lock_bh(&conn->tx_lock);
	spin_lock(&sdp->lock);
	WRITE_ONCE(sdp->rx_seq, sdp->rx_seq + n);
	/*
	 * lockless readers may overestimate rx_seq - copied_seq, but never see
	 * it negative
	 */
	smp_store_release(&sdp->copied_seq, sdp->copied_seq + n);
	WRITE_ONCE(sdp->rx_bytes, sdp->rx_bytes + n);
	WRITE_ONCE(sdp->rx_zcopy_bytes, sdp->rx_zcopy_bytes + n);
	zc->rx_va += n;
	WRITE_ONCE(zc->rx_left, zc->rx_left - n);
	zc->rx_done += n;
	sdp_conn_ctl(conn, SDP_CTL_RD_COMPL);
	/* a cancel is for all: if nothing is left, RdmaRdCompl is its answer */
	if (!zc->rx_left && !(zc->rx_cancel && zc->rx_src.n))
		sdp_zc_rx_next(conn);
	else if (zc->rx_cancel)
		sdp_zc_drop(conn);
	else
		WRITE_ONCE(zc->rx_state, SDP_ZC_RX_PENDING);
	spin_unlock(&sdp->lock);
	spin_unlock_bh(&conn->tx_lock);
	SDP_INC_STATS(sock_net(sk), RX_ZCOPY_READS);
	SDP_ADD_STATS(sock_net(sk), RX_ZCOPY_BYTES, n);
	SDP_ADD_STATS(sock_net(sk), RX_BYTES, n);
	sdp_conn_kick(conn);
	sdp_zc_rx_wake(sk);
}

/**
 * sdp_zc_rx_get - take hold of the memory of a reader
 * @conn: connection
 * @addr: where it begins
 * @len: bytes wanted
 *
 * rx_taking keeps other readers from doing the same while lock_sock is released. After
 * -ERESTART it stays set: the connection may be freed already.
 *
 * Context: as sdp_zc_get().
 *
 * Return: as sdp_zc_get().
 */
struct sdp_zc_region *sdp_zc_rx_get(struct sdp_conn *conn, unsigned long addr,
				    u32 len)
{
	struct sock *sk = conn->sk;
	struct sdp_zc_region *r;

	WRITE_ONCE(conn->zc->rx_taking, true);
	r = sdp_zc_get(conn, addr, len, true);
	if (IS_ERR(r) && PTR_ERR(r) == -ERESTART)
		return r;
	WRITE_ONCE(conn->zc->rx_taking, false);
	if (IS_ERR(r)) {
		SDP_INC_STATS(sock_net(sk), ZCOPY_NO_MEM);
		sdp_zc_rx_wake(sk);
	}
	return r;
}

/*
 * Read @len bytes from @seq on into the reader's memory. Returns bytes read. lock_sock,
 * which is released meanwhile.
 */
static u32 sdp_zc_rx_read(struct sock *sk, unsigned long addr, u32 len, u32 seq)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	struct ib_rdma_wr rd = {};
	struct sdp_zc_region *r;
	u32 done = 0;

	r = sdp_zc_rx_get(conn, addr, len);
	if (IS_ERR(r)) {
		if (PTR_ERR(r) != -ERESTART)
			sdp_zc_decline(sk);
		return 0;
	}
	if (!sdp_zc_rx_claim(conn, &rd, r->len, seq)) {
		sdp_zc_give_back(r);
		sdp_zc_rx_wake(sk);
		return 0;
	}
	conn->zc->rx = r;
	len = r->len;
	sdp_zc_enter(conn);
	if (!sdp_zc_rx_post(conn, &rd)) {
		sdp_zc_leave(conn, r);
		goto put;
	}
	release_sock(sk);
	if (sdp_zc_leave(conn, r))
		done = len;
	lock_sock(sk);
	/* it may have been aborted while the lock was free */
	if (sdp_sk(sk)->conn != conn)
		done = 0;
	else if (done)
		sdp_zc_rx_took(sk, conn, done);
put:
	sdp_conn_put(conn);
	return done;
}

/*
 * Has data come since the reader looked? Then the advertisement comes after it, and the
 * reader must read the data first.
 */
static bool sdp_zc_rx_behind(struct sdp_sock *sdp, u32 seq)
{
	bool ret;

	spin_lock_bh(&sdp->lock);
	ret = sdp->rx_seq != seq;
	spin_unlock_bh(&sdp->lock);
	return ret;
}

/**
 * sdp_zc_recv - receive without a copy
 * @sk: socket, on whose receive queue the reader has found nothing
 * @msg: where to
 * @len: bytes wanted
 * @flags: MSG_*
 * @who: the reader
 * @seq: sequence number of the next byte that the reader wants
 *
 * If the peer has advertised memory, the function reads it, or asks for messages if the
 * reader cannot use it. A reader that returns anyway leaves it to the next receive, which
 * may have more room.
 *
 * Context: lock_sock, which is released while memory is pinned and the device reads.
 *
 * Return: bytes read, 0 if the caller has to look again and to wait for messages.
 */
int sdp_zc_recv(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		enum sdp_zc_reader who, u32 seq)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	bool wait = who != SDP_ZC_POLLS;
	unsigned long addr;
	u32 n;

	if (likely(!conn || READ_ONCE(conn->zc->rx_state) != SDP_ZC_RX_PENDING))
		return 0;
	if (sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN ||
	    READ_ONCE(conn->zc->sink_state) != SDP_ZC_SINK_IDLE ||
	    (wait && conn->zc->rx_taking) || sdp_zc_rx_behind(sdp_sk(sk), seq))
		return 0;
	n = wait ? sdp_zc_rx_want(sk, msg, len, flags, &addr) : 0;
	if (!n) {
		if (who != SDP_ZC_RETURNS)
			sdp_zc_decline(sk);
		return 0;
	}
	n = sdp_zc_rx_read(sk, addr, n, seq);
	iov_iter_advance(&msg->msg_iter, n);
	return n;
}
