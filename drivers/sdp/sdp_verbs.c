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

static int sdp_verbs_alloc_rx(struct sdp_conn *conn)
{
	struct ib_device *dev = conn->dev;
	size_t hdrs;
	u32 i;

	conn->rx_bufs = kvcalloc(conn->rx_max, sizeof(*conn->rx_bufs),
				 GFP_KERNEL_ACCOUNT);
	if (!conn->rx_bufs)
		return -ENOMEM;
	conn->rx_slot = conn->ring ? SDP_RING_SLOT : SDP_CTL_SLOT;
	hdrs = (size_t)conn->rx_max * conn->rx_slot;
	conn->rx_hdrs = alloc_pages_exact(hdrs, GFP_KERNEL_ACCOUNT);
	if (!conn->rx_hdrs)
		return -ENOMEM;
	conn->rx_hdrs_dma = ib_dma_map_single(dev, conn->rx_hdrs, hdrs,
					      DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, conn->rx_hdrs_dma)) {
		free_pages_exact(conn->rx_hdrs, hdrs);
		conn->rx_hdrs = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < conn->rx_max; i++) {
		struct sdp_rx_buf *buf = &conn->rx_bufs[i];

		buf->cqe.done = sdp_verbs_rx_done;
		buf->conn = conn;
		buf->hdr = conn->rx_hdrs + i * conn->rx_slot;
		buf->idx = i;
		INIT_LIST_HEAD(&buf->node);
		/* with a ring headers and a little are all that arrives here */
		if (conn->ring)
			list_add_tail(&buf->node, &conn->rx_free);
		if (i >= conn->rx_start || conn->ring)
			continue;
		if (sdp_qp_rx_alloc(conn, buf))
			return -ENOMEM;
		conn->rx_nbufs++;
		list_add_tail(&buf->node, &conn->rx_free);
	}
	return 0;
}

static int sdp_verbs_alloc_tx(struct sdp_conn *conn)
{
	size_t len = SDP_SQ_DEPTH * SDP_CTL_SLOT;
	int i;

	conn->tx_q = kvcalloc(SDP_TXQ_DEPTH, sizeof(*conn->tx_q),
			      GFP_KERNEL_ACCOUNT);
	conn->tx_slots = kvcalloc(SDP_SQ_DEPTH, sizeof(*conn->tx_slots),
				  GFP_KERNEL_ACCOUNT);
	if (!conn->tx_q || !conn->tx_slots)
		return -ENOMEM;
	conn->tx_ctl_area = alloc_pages_exact(len, GFP_KERNEL_ACCOUNT);
	if (!conn->tx_ctl_area)
		return -ENOMEM;
	conn->tx_ctl_dma = ib_dma_map_single(conn->dev, conn->tx_ctl_area, len,
					     DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->dev, conn->tx_ctl_dma)) {
		free_pages_exact(conn->tx_ctl_area, len);
		conn->tx_ctl_area = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < SDP_SQ_DEPTH; i++) {
		conn->tx_slots[i].cqe.done = sdp_verbs_tx_done;
		conn->tx_slots[i].conn = conn;
	}
	return 0;
}

/* Of payload, that a message may have, with its header in front of it */
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
	u32 limit = sdp_qp_rx_limit(conn);
	int err;

	conn->dev = conn->id->device;
	if (rdma_protocol_iwarp(conn->dev, conn->id->port_num))
		set_bit(SDP_CONN_IWARP, &conn->flags);
	conn->tx_lends = test_bit(SDP_CONN_IWARP, &conn->flags) &&
			 ib_uses_virt_dma(conn->dev) &&
			 !rdma_stack_get_link(conn->dev);
	conn->rx_max = clamp_t(u32, READ_ONCE(sn->sysctl_rx_bufs_max), limit,
			       SDP_MAX_RX_BUFS);
	conn->rx_start = min_t(u32, READ_ONCE(sn->sysctl_rx_bufs_min), limit);
	conn->tx_pieces = sdp_verbs_pieces(conn->dev);
	sdp_fc_choose(conn);
	sdp_shared_choose(conn);
	sdp_zc_init(conn);
	err = sdp_qp_create(conn);
	if (!err)
		sdp_qp_set_ip(conn);
	return err;
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
	size_t hdrs = (size_t)conn->rx_max * conn->rx_slot;
	u32 i;

	for (i = 0; conn->rx_bufs && i < conn->rx_max; i++) {
		struct sdp_rx_buf *buf = &conn->rx_bufs[i];

		if (!buf->page)
			continue;
		sdp_qp_rx_unmap(conn, buf);
		put_page(buf->page);
	}
	if (conn->rx_hdrs) {
		ib_dma_unmap_single(conn->dev, conn->rx_hdrs_dma, hdrs,
				    DMA_FROM_DEVICE);
		free_pages_exact(conn->rx_hdrs, hdrs);
	}
	kvfree(conn->rx_bufs);
	conn->rx_bufs = NULL;
	conn->rx_hdrs = NULL;
}

/**
 * sdp_verbs_destroy - free all that belongs to the queue pair, and itself
 * @conn: connection, detached from its socket; the QP is drained
 *
 * Context: process, may sleep. Not under lock_sock.
 */
void sdp_verbs_destroy(struct sdp_conn *conn)
{
	size_t len = SDP_SQ_DEPTH * SDP_CTL_SLOT;

	if (conn->qp)
		rdma_destroy_qp(conn->id);
	conn->qp = NULL;
	if (conn->cq)
		ib_cq_pool_put(conn->cq, conn->nr_cqe);
	conn->cq = NULL;
	sdp_ring_destroy(conn);
	sdp_zc_free(conn);
	if (conn->tx_slots)
		sdp_txq_free(conn);
	if (conn->tx_ctl_area) {
		ib_dma_unmap_single(conn->dev, conn->tx_ctl_dma, len,
				    DMA_TO_DEVICE);
		free_pages_exact(conn->tx_ctl_area, len);
		conn->tx_ctl_area = NULL;
	}
	kvfree(conn->tx_q);
	kvfree(conn->tx_slots);
	conn->tx_q = NULL;
	conn->tx_slots = NULL;
	sdp_verbs_free_rx(conn);
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->pd = NULL;
}
