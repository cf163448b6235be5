// SPDX-License-Identifier: GPL-2.0
/*
 * A verbs link is made and destroyed: the only file that knows all of its parts.
 * Calls the queue pair (sdp_qp.c), both halves, flow control, zero copy and the
 * choice of the shared link.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_ring.h"
#include "sdp_verbs.h"

/*
 * Free what is kept for traffic to come, when there was none for a while. Sends that did
 * not ask for a completion are asked for, by a probe: their memory is needed until then.
 */
static void sdp_verbs_idle_work(struct work_struct *work)
{
	struct sdp_verbs *v = container_of(to_delayed_work(work),
					   struct sdp_verbs, idle_work);
	struct sdp_conn *conn = v->conn;
	u32 mseq = READ_ONCE(conn->rx_mseq) + READ_ONCE(conn->tx_mseq);
	struct sock *sk = conn->sk;
	bool busy = mseq != v->idle_mseq;

	v->idle_mseq = mseq;
	if (!busy) {
		/* memory that is kept from now on queues this again */
		WRITE_ONCE(v->idle_due, false);
		sdp_qp_rx_trim(conn);
		lock_sock(sk);
		busy = sdp_sk(sk)->conn == conn && sdp_txq_trim(conn);
		release_sock(sk);
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
	spin_lock_init(&v->rx_lock);
	v->tx_lends = test_bit(SDP_CONN_IWARP, &conn->flags) &&
		      ib_uses_virt_dma(conn->dev) &&
		      !rdma_stack_get_link(conn->dev);
	/* pairs with the address dependency of lockless readers */
	smp_store_release(&conn->verbs, v);
	sdp_fc_start(conn);
	return 0;
}

static int sdp_verbs_alloc_rx(struct sdp_conn *conn)
{
	struct ib_device *dev = conn->dev;
	struct sdp_verbs *v = conn->verbs;
	size_t hdrs;
	u32 i;

	v->rx_bufs = kvcalloc(conn->rx_max, sizeof(*v->rx_bufs),
			      GFP_KERNEL_ACCOUNT);
	if (!v->rx_bufs)
		return -ENOMEM;
	v->rx_slot = conn->ring ? SDP_RING_SLOT : SDP_CTL_SLOT;
	hdrs = (size_t)conn->rx_max * v->rx_slot;
	v->rx_hdrs = alloc_pages_exact(hdrs, GFP_KERNEL_ACCOUNT);
	if (!v->rx_hdrs)
		return -ENOMEM;
	sdp_qp_rx_lazy(conn);
	v->rx_hdrs_dma = ib_dma_map_single(dev, v->rx_hdrs, hdrs,
					   DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, v->rx_hdrs_dma)) {
		free_pages_exact(v->rx_hdrs, hdrs);
		v->rx_hdrs = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < conn->rx_max; i++) {
		struct sdp_rx_buf *buf = &v->rx_bufs[i];

		buf->cqe.done = sdp_verbs_rx_done;
		buf->conn = conn;
		buf->hdr = v->rx_hdrs + i * v->rx_slot;
		buf->idx = i;
		INIT_LIST_HEAD(&buf->node);
		/* with a ring headers and a little are all that arrives here */
		if (conn->ring)
			list_add_tail(&buf->node, &v->rx_free);
		if (i >= conn->rx_start || conn->ring)
			continue;
		if (!v->rx_lazy && sdp_qp_rx_alloc(conn, buf))
			return -ENOMEM;
		buf->used = true;
		v->rx_nbufs++;
		list_add_tail(&buf->node, &v->rx_free);
	}
	return 0;
}

static int sdp_verbs_alloc_tx(struct sdp_conn *conn)
{
	size_t len = SDP_SQ_DEPTH * SDP_CTL_SLOT;
	struct sdp_verbs *v = conn->verbs;
	int i;

	v->tx_qlen = SDP_TXQ_MIN;
	v->tx_q = kvcalloc(v->tx_qlen, sizeof(*v->tx_q), GFP_KERNEL_ACCOUNT);
	v->tx_slots = kvcalloc(SDP_SQ_DEPTH, sizeof(*v->tx_slots),
			       GFP_KERNEL_ACCOUNT);
	if (!v->tx_q || !v->tx_slots)
		return -ENOMEM;
	v->tx_ctl_area = alloc_pages_exact(len, GFP_KERNEL_ACCOUNT);
	if (!v->tx_ctl_area)
		return -ENOMEM;
	v->tx_ctl_dma = ib_dma_map_single(conn->dev, v->tx_ctl_area, len,
					  DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->dev, v->tx_ctl_dma)) {
		free_pages_exact(v->tx_ctl_area, len);
		v->tx_ctl_area = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < SDP_SQ_DEPTH; i++) {
		v->tx_slots[i].cqe.done = sdp_verbs_tx_done;
		v->tx_slots[i].conn = conn;
	}
	return 0;
}

/* Pieces of payload that a message may have, with its header in front; 0: all is copied */
static u32 sdp_verbs_pieces(const struct ib_device *dev)
{
	int n = min(dev->attrs.max_send_sge - 1, SDP_TX_PIECES);

	/* a page at a time is no gain */
	return n > 1 ? n : 0;
}

/**
 * sdp_verbs_create - make the queue pair
 * @conn: connection whose cm_id has found its device
 *
 * Buffers follow with sdp_verbs_start(), or are the provider's, with
 * sdp_shared_open(). If the latter is possible, the queues are small.
 *
 * Context: process, may sleep; no lock but that of the CM handler. After an
 * error sdp_verbs_destroy() cleans up.
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
	if (rdma_protocol_iwarp(conn->dev, conn->id->port_num))
		set_bit(SDP_CONN_IWARP, &conn->flags);
	conn->rx_max = clamp_t(u32, READ_ONCE(sn->sysctl_rx_bufs_max), limit,
			       SDP_MAX_RX_BUFS);
	conn->rx_start = min_t(u32, READ_ONCE(sn->sysctl_rx_bufs_min), limit);
	conn->tx_pieces = sdp_verbs_pieces(conn->dev);
	sdp_fc_choose(conn);
	sdp_shared_choose(conn);
	conn->terms.max_adverts = READ_ONCE(sn->sysctl_max_adverts);
	err = sdp_qp_create(conn);
	if (err)
		return err;
	sdp_qp_set_ip(conn);
	stack = rdma_stack_get_link(conn->dev);
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
	err = sdp_qp_post_recvs(conn);
	sdp_fc_first(conn);
	spin_unlock_bh(&conn->tx_lock);
	return err;
}

static void sdp_verbs_free_rx(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	size_t hdrs = (size_t)conn->rx_max * v->rx_slot;
	u32 i;

	for (i = 0; v->rx_bufs && i < conn->rx_max; i++) {
		struct sdp_rx_buf *buf = &v->rx_bufs[i];

		if (!buf->page)
			continue;
		sdp_qp_rx_unmap(conn, buf);
		put_page(buf->page);
	}
	sdp_qp_rx_trim(conn);
	if (v->rx_hdrs) {
		ib_dma_unmap_single(conn->dev, v->rx_hdrs_dma, hdrs,
				    DMA_FROM_DEVICE);
		free_pages_exact(v->rx_hdrs, hdrs);
	}
	kvfree(v->rx_bufs);
	v->rx_bufs = NULL;
	v->rx_hdrs = NULL;
}

static void sdp_verbs_free_tx(struct sdp_conn *conn)
{
	size_t len = SDP_SQ_DEPTH * SDP_CTL_SLOT;
	struct sdp_verbs *v = conn->verbs;

	if (v->tx_slots)
		sdp_txq_free(conn);
	if (v->tx_ctl_area) {
		ib_dma_unmap_single(conn->dev, v->tx_ctl_dma, len,
				    DMA_TO_DEVICE);
		free_pages_exact(v->tx_ctl_area, len);
		v->tx_ctl_area = NULL;
	}
	kvfree(v->tx_q);
	kvfree(v->tx_slots);
	v->tx_q = NULL;
	v->tx_slots = NULL;
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
		sdp_verbs_free_rx(conn);
	}
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->pd = NULL;
}
