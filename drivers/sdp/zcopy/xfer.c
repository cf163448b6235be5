// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy, common to source and sink: work requests for the memory of processes,
 * waiting for them, and the lists of the peer's advertisements. A registration serves one
 * transfer, and is then invalidated; pool.c may keep the memory pinned. Calls pool.c,
 * region.c and the verbs; used by the other files of zero copy. For locks see zcopy.h.
 *
 * A region is released when its invalidation is complete, or when the queue
 * pair is dead: before that the peer may read it, or the device write to it.
 * Until then the process waits. If it is killed, the connection ends, but only after
 * half a second: an answer of the peer may be on its way.
 */
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_iter.h"
#include "sdp_mib.h"

/**
 * sdp_zc_push - keep an advertisement of the peer
 * @zc: zero copy of the connection
 * @q: where
 * @m: SrcAvail or SinkAvail
 *
 * Context: sdp->lock.
 *
 * Return: false if there are as many as it may have.
 */
bool sdp_zc_push(const struct sdp_zc *zc, struct sdp_zc_adverts *q,
		 const struct sdp_msg *m)
{
	struct sdp_zc_advert *a;

	lockdep_assert_held(&sdp_sk(zc->conn->sk)->lock);
	if (q->n >= zc->max)
		return false;
	a = &q->slot[(q->first + q->n) % zc->max];
	a->va = m->ext.avail.va;
	a->rkey = m->ext.avail.rkey;
	a->len = m->ext.avail.len;
	q->n++;
	return true;
}

/**
 * sdp_zc_pop - take the oldest advertisement
 * @zc: zero copy of the connection
 * @q: where from
 * @a: filled in, if not NULL
 *
 * Context: sdp->lock.
 *
 * Return: false if there is none.
 */
bool sdp_zc_pop(const struct sdp_zc *zc, struct sdp_zc_adverts *q,
		struct sdp_zc_advert *a)
{
	lockdep_assert_held(&sdp_sk(zc->conn->sk)->lock);
	if (!q->n)
		return false;
	if (a)
		*a = q->slot[q->first];
	q->first = (q->first + 1) % zc->max;
	q->n--;
	return true;
}

/**
 * sdp_zc_asks_pipe - whether to ask the peer to send in pipelined mode (REQ_PIPE)
 * @conn: connection
 *
 * Context: any.
 */
bool sdp_zc_asks_pipe(const struct sdp_conn *conn)
{
	return unlikely(sdp_sock_zcopy_threshold(conn->sk)) && conn->zc->able &&
	       conn->zc->pipe && conn->fc->zcopy;
}

/**
 * sdp_zc_sink_out - whether the peer has, or may have, a SinkAvail of ours
 * @zc: zero copy of a connection
 *
 * Context: sdp->lock.
 */
bool sdp_zc_sink_out(const struct sdp_zc *zc)
{
	return zc->sink_state >= SDP_ZC_SINK_SENT &&
	       zc->sink_state <= SDP_ZC_SINK_CANCELLED;
}

/**
 * sdp_zc_sink_end - a SinkAvail, if there is one, is over: filled, void or given up
 * @conn: connection
 *
 * Context: sdp->lock.
 */
void sdp_zc_sink_end(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;

	lockdep_assert_held(&sdp_sk(conn->sk)->lock);
	if (likely(zc->sink_state == SDP_ZC_SINK_IDLE))
		return;
	WRITE_ONCE(zc->sink_state, SDP_ZC_SINK_OVER);
	wake_up_all(&conn->wait);
}

/**
 * sdp_zc_segment - the user memory at the front of an iterator
 * @iter: iterator
 * @addr: set to the user address where it begins
 *
 * Return: bytes in one piece, not more than one region can have; 0 if it is no user
 * memory.
 */
u32 sdp_zc_segment(const struct iov_iter *iter, unsigned long *addr)
{
	return min_t(size_t, sdp_iter_segment(iter, addr),
		     SDP_ZC_PAGES * PAGE_SIZE);
}

/**
 * sdp_zc_reg_wr - the work request that makes a region usable
 * @r: region
 * @wr: filled in
 * @access: IB_ACCESS_*
 */
void sdp_zc_reg_wr(struct sdp_zc_region *r, struct ib_reg_wr *wr, int access)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = IB_WR_REG_MR;
	wr->wr.wr_cqe = &r->cqe;
	wr->mr = r->mr;
	wr->key = r->mr->rkey;
	wr->access = access;
}

/**
 * sdp_zc_inv_wr - the work request that ends the use of a region
 * @r: region
 * @wr: filled in, signalled
 *
 * If the device writes to the region, the request is fenced: it waits for our earlier
 * RDMA Reads. Memory that the peer reads needs no fence: a fence would only delay the
 * request and all that is posted later.
 */
void sdp_zc_inv_wr(struct sdp_zc_region *r, struct ib_send_wr *wr)
{
	memset(wr, 0, sizeof(*wr));
	wr->opcode = IB_WR_LOCAL_INV;
	wr->wr_cqe = &r->cqe;
	wr->send_flags = IB_SEND_SIGNALED | (r->write ? IB_SEND_FENCE : 0);
	wr->ex.invalidate_rkey = r->mr->rkey;
}

/**
 * sdp_zc_post - post work requests for a region
 * @conn: connection
 * @r: region, pinned
 * @wr: work requests; the last one for @r, which may come with a later call, is signalled
 *
 * Context: process, no spinlock held; takes tx_lock.
 *
 * Return: false if nothing was posted, because the connection goes down. If
 * ib_post_send() fails, this ends the connection and returns true.
 */
bool sdp_zc_post(struct sdp_conn *conn, struct sdp_zc_region *r,
		 const struct ib_send_wr *wr)
{
	bool down;
	int err = 0;

	spin_lock_bh(&conn->tx_lock);
	down = test_bit(SDP_CONN_DOWN, &conn->flags);
	if (!down) {
		WRITE_ONCE(r->posted, true);
		err = ib_post_send(conn->qp, wr, NULL);
	} else if (!r->posted) {
		/*
		 * The device has not written to it. Without this, the caller
		 * would wait for the locks of pages to mark them dirty.
		 */
		r->dirty = false;
	}
	spin_unlock_bh(&conn->tx_lock);
	if (err)
		sdp_conn_down(conn, ECONNRESET);
	return !down;
}

/**
 * sdp_zc_enter - a region is about to be used by the device
 * @conn: connection
 *
 * The queue pair stays until sdp_zc_leave(). Takes a reference of the connection, which
 * the caller puts after sdp_zc_leave().
 *
 * Context: lock_sock.
 */
void sdp_zc_enter(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);

	refcount_inc(&conn->refs);
	spin_lock_bh(&sdp->lock);
	conn->zc->users++;
	spin_unlock_bh(&sdp->lock);
}

/* Has the device done with the region, for good? */
static bool sdp_zc_idle(const struct sdp_conn *conn,
			const struct sdp_zc_region *r)
{
	/* pairs with the release of sdp_zc_done() */
	if (!smp_load_acquire(&r->posted))
		return true;
	/* pairs with the release of sdp_zc_drained() */
	return smp_load_acquire(&conn->zc->drained);
}

/**
 * sdp_zc_timeout - how long to wait for the peer or the device
 * @conn: connection
 * @reads: for a receive, else for a send
 *
 * Context: any.
 *
 * Return: jiffies.
 */
long sdp_zc_timeout(const struct sdp_conn *conn, bool reads)
{
	const struct sock *sk = conn->sk;
	long limit = READ_ONCE(sdp_pernet(sock_net(sk))->sysctl_fin_timeout) * HZ;
	long timeo = reads ? READ_ONCE(sk->sk_rcvtimeo) : READ_ONCE(sk->sk_sndtimeo);

	return min(limit, max(timeo, SDP_ZC_ANSWER));
}

/**
 * sdp_zc_wait_peer - wait for something that the peer or the device owes us
 * @conn: connection
 * @reads: for a receive, else for a send
 * @over: whether it is there, or the connection is going down
 *
 * Waits for half a second, or sdp_zc_timeout() if that is less, whatever happens. Then ends
 * the connection when it does not come within another sdp_zc_timeout(), or when the process
 * is killed. The kernel of the peer answers without the peer's program. Until it has
 * answered, the memory is not free for our program.
 *
 * Context: process, no spinlock held.
 */
void sdp_zc_wait_peer(struct sdp_conn *conn, bool reads,
		      bool (*over)(const struct sdp_conn *conn))
{
	long limit = sdp_zc_timeout(conn, reads), left;

	/* uninterruptible: the answer may be on its way to a killed process */
	if (wait_event_timeout(conn->wait, over(conn), min(limit, HZ / 2)))
		return;
	left = wait_event_killable_timeout(conn->wait, over(conn), limit);
	if (left > 0)
		return;
	if (!left)
		SDP_INC_STATS(sock_net(conn->sk), TIMEOUTS);
	sdp_conn_down(conn, left ? ECONNRESET : ETIMEDOUT);
}

static bool sdp_zc_tx_idle(const struct sdp_conn *conn)
{
	return sdp_zc_idle(conn, conn->zc->tx);
}

static bool sdp_zc_rx_idle(const struct sdp_conn *conn)
{
	return sdp_zc_idle(conn, conn->zc->rx);
}

/**
 * sdp_zc_leave - wait until the device has done with a region, and let it go
 * @conn: connection
 * @r: region; its invalidation has been posted, or the connection goes down
 *
 * The caller still has the reference that sdp_zc_enter() took.
 *
 * Context: process; not under lock_sock, unless nothing was posted, since it waits for
 * the peer and for locks of pages.
 *
 * Return: whether the device has done with it without an error.
 */
bool sdp_zc_leave(struct sdp_conn *conn, struct sdp_zc_region *r)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool ok, ends;

	sdp_zc_wait_peer(conn, r->write, r->write ? sdp_zc_rx_idle : sdp_zc_tx_idle);
	/*
	 * Without a limit: the device may use the memory until the queue pair is drained.
	 * Before that it must not become something else.
	 */
	wait_event(conn->wait, sdp_zc_idle(conn, r));
	ok = !READ_ONCE(r->posted);
	ends = sdp_zc_put(r);
	spin_lock_bh(&sdp->lock);
	/* pairs with the acquire of sdp_zc_drained() */
	smp_store_release(&conn->zc->users, conn->zc->users - 1);
	spin_unlock_bh(&sdp->lock);
	wake_up_all(&conn->wait);
	if (ends)
		sdp_zc_region_end(r);
	return ok;
}
