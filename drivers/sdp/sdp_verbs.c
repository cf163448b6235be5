// SPDX-License-Identifier: GPL-2.0
/*
 * A verbs link is made and destroyed: the only file that knows all of its parts.
 * Calls the queue pair (sdp_qp.c), both halves, flow control, zero copy and the
 * choice of the shared link.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mem.h"
#include "sdp_ring.h"
#include "sdp_verbs.h"

/*
 * Free what is kept for traffic to come, when there was none for a while. The memory of
 * sends that did not ask for a completion is needed until they are complete: a probe finds
 * that out.
 */
static void sdp_verbs_idle_work(struct work_struct *work)
{
	struct sdp_verbs *v = container_of(to_delayed_work(work),
					   struct sdp_verbs, idle_work);
	struct sdp_conn *conn = v->conn;
	u32 mseq = READ_ONCE(conn->rx_mseq) + READ_ONCE(conn->tx_mseq);
	struct sock *sk = conn->sk;
	bool busy = mseq != v->idle_mseq;
	struct mem_cgroup *old;

	v->idle_mseq = mseq;
	/* if there was no memory for that, there may be some now */
	WRITE_ONCE(v->tx_grows, false);
	if (!busy) {
		/* memory that is kept from now on queues this again */
		WRITE_ONCE(v->idle_due, false);
		sdp_qp_rx_trim(conn);
		old = sdp_sock_charge(sk);
		lock_sock(sk);
		busy = sdp_sk(sk)->conn == conn &&
		       (sdp_txq_trim(conn) || sdp_qp_tx_shrink(conn));
		release_sock(sk);
		set_active_memcg(old);
		if (!busy)
			return;
		sdp_conn_kick(conn);
	}
	WRITE_ONCE(v->idle_due, true);
	queue_delayed_work(sdp_wq(sk), &v->idle_work, SDP_IDLE);
}

static int sdp_verbs_alloc(struct sdp_conn *conn)
{
	struct sdp_verbs *v = kzalloc(sizeof(*v), GFP_KERNEL_ACCOUNT);

	if (!v)
		return -ENOMEM;
	INIT_LIST_HEAD(&v->rx_free);
	INIT_LIST_HEAD(&v->rx_spare);
	INIT_LIST_HEAD(&v->tx_free_chunks);
	INIT_DELAYED_WORK(&v->idle_work, sdp_verbs_idle_work);
	v->conn = conn;
	v->recv_done = sdp_verbs_rx_done;
	v->send_done = sdp_verbs_tx_done;
	spin_lock_init(&v->rx_lock);
	v->tx_signal_long = test_bit(SDP_CONN_IWARP, &conn->flags) &&
			    ib_uses_virt_dma(conn->dev) &&
			    !rdma_stack_get_link(conn->dev);
	/* pairs with the address dependency of lockless readers */
	smp_store_release(&conn->verbs, v);
	sdp_fc_start(conn);
	return 0;
}

static int sdp_verbs_alloc_rx(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	u32 want = conn->rx_max, i;
	int err = 0;

	v->rx_slot = conn->ring ? SDP_RING_SLOT : SDP_CTL_SLOT;
	sdp_qp_rx_lazy(conn);
	conn->rx_max = 0;
	while (!err && conn->rx_max < want)
		err = sdp_qp_rx_add(conn);
	for (i = 0; !err && i < conn->rx_max; i++) {
		struct sdp_rx_buf *buf = sdp_rx_buf_at(v, i);

		/* with a ring headers and a little are all that arrives here */
		if (conn->ring)
			list_add_tail(&buf->node, &v->rx_free);
		if (i >= conn->rx_start || conn->ring)
			continue;
		if (!v->rx_lazy)
			err = sdp_qp_rx_alloc(conn, buf);
		if (err)
			break;
		buf->used = true;
		v->rx_nbufs++;
		list_add_tail(&buf->node, &v->rx_free);
	}
	return err;
}

static int sdp_verbs_alloc_tx(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;

	v->tx_qlen = SDP_TXQ_FIRST;
	v->tx_q = kvcalloc(v->tx_qlen, sizeof(*v->tx_q), GFP_KERNEL_ACCOUNT);
	if (!v->tx_q)
		return -ENOMEM;
	return sdp_qp_tx_alloc(conn, &v->tx, conn->tx_start);
}

/* Pieces of payload that a message may have, after its header; 0: all is copied */
static u32 sdp_verbs_pieces(const struct ib_device *dev)
{
	int n = min(dev->attrs.max_send_sge - 1, SDP_TX_PIECES);

	/* a page at a time is no gain */
	return n > 1 ? n : 0;
}

/* Sends in flight at first: at least net.sdp.signal_every, so one asks for a completion */
static u32 sdp_verbs_first_sends(const struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	u32 every = READ_ONCE(sn->sysctl_signal_every);

	if (!test_bit(SDP_CONN_GROWS, &conn->flags))
		return SDP_SQ_DEPTH;
	return max_t(u32, SDP_SQ_FIRST, roundup_pow_of_two(every));
}

/**
 * sdp_verbs_create - make the queue pair
 * @conn: connection whose cm_id has found its device
 *
 * Buffers follow with sdp_verbs_start(), or are the provider's, with
 * sdp_shared_open(). If the latter is possible, the queues are small.
 *
 * Context: process, may sleep; no lock. After an error sdp_verbs_destroy() cleans
 * up.
 *
 * Return: 0 or a negative errno.
 */
int sdp_verbs_create(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	const struct rdma_stack_link *stack;
	u32 limit = sdp_qp_rx_limit(conn);
	int err;

	conn->dev = conn->id->device;
	stack = rdma_stack_get_link(conn->dev);
	if (rdma_protocol_iwarp(conn->dev, conn->id->port_num))
		set_bit(SDP_CONN_IWARP, &conn->flags);
	conn->rx_top = clamp_t(u32, READ_ONCE(sn->sysctl_rx_bufs_max), limit,
			       SDP_MAX_RX_BUFS);
	conn->rx_start = min_t(u32, READ_ONCE(sn->sysctl_rx_bufs_min), limit);
	/* such a device resizes queues */
	if (stack)
		set_bit(SDP_CONN_GROWS, &conn->flags);
	conn->tx_start = sdp_verbs_first_sends(conn);
	conn->rx_max = sdp_qp_rx_segs(stack ? conn->rx_start : conn->rx_top);
	conn->tx_pieces = sdp_verbs_pieces(conn->dev);
	sdp_fc_choose(conn);
	sdp_shared_choose(conn);
	conn->terms.max_adverts = READ_ONCE(sn->sysctl_max_adverts);
	err = sdp_qp_create(conn);
	if (err)
		return err;
	sdp_qp_set_ip(conn);
	if (stack && stack->set_owner)
		stack->set_owner(conn->qp, conn->sk);
	return 0;
}

/**
 * sdp_verbs_start - make the buffers and post the first receives
 * @conn: connection with a queue pair
 *
 * Context: as sdp_verbs_create().
 *
 * Return: 0 or a negative errno.
 */
int sdp_verbs_start(struct sdp_conn *conn)
{
	int err;

	INIT_WORK(&conn->ctl_work, sdp_verbs_rx_work);
	if (sdp_mem_full(conn->sk))
		return -ENOMEM;
	/* small messages take a receive each, and are few bytes */
	if (conn->ring)
		conn->rx_max = sdp_qp_rx_segs(conn->rx_top);
	err = sdp_qp_grow(conn);
	if (!err)
		err = sdp_zc_init(conn);
	if (!err)
		err = sdp_verbs_alloc(conn);
	if (!err)
		err = sdp_verbs_alloc_rx(conn);
	if (!err)
		err = sdp_verbs_alloc_tx(conn);
	if (err)
		return err;

	spin_lock_bh(&conn->tx_lock);
	set_bit(SDP_CONN_READY, &conn->flags);
	sdp_fc_set_first(conn);
	err = sdp_qp_post_recvs(conn);
	spin_unlock_bh(&conn->tx_lock);
	return err;
}

static void sdp_verbs_free_tx(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;

	if (v->tx.slot)
		sdp_txq_free(conn);
	sdp_qp_tx_free(conn, &v->tx);
	sdp_qp_tx_free(conn, &v->tx_first);
	kvfree(v->tx_q);
	v->tx_q = NULL;
}

/**
 * sdp_verbs_destroy - free all that belongs to the queue pair, and itself
 * @conn: connection, detached from its socket; the QP is drained
 *
 * conn->verbs stays until the connection is freed: lockless readers may look at it.
 *
 * Context: process, may sleep. Not under lock_sock.
 */
void sdp_verbs_destroy(struct sdp_conn *conn)
{
	if (conn->qp)
		rdma_destroy_qp(conn->id);
	conn->qp = NULL;
	if (conn->cq)
		ib_cq_pool_put(conn->cq, conn->nr_cqe);
	conn->cq = NULL;
	sdp_ring_destroy(conn);
	sdp_zc_free(conn);
	if (conn->verbs) {
		cancel_delayed_work_sync(&conn->verbs->idle_work);
		sdp_verbs_free_tx(conn);
		sdp_qp_rx_free(conn);
	}
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->pd = NULL;
}
