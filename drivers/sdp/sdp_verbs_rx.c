// SPDX-License-Identifier: GPL-2.0
/*
 * Receive half over a verbs link: messages arrive in buffers of the connection
 * and wait there for the reader. Calls sdp_rx_msg.c for what messages mean, the
 * transmit engine, which posts receives, and sdp_qp.c for the buffers.
 *
 * Only the completion handler adds to the receive queue, and only a reader (lock_sock)
 * removes from it. Both do so under sdp->lock.
 */
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mem.h"
#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_verbs.h"

/* Are few receives left after this message, if there will be @more? */
static bool sdp_verbs_rx_few(const struct sdp_rx_ctx *c, u32 more, u32 least)
{
	const struct sdp_conn *conn = c->conn;
	const struct sdp_verbs *v = conn->verbs;
	u32 left = READ_ONCE(v->rx_posted_total) + more - c->m.h.mseq;

	return left <= max((READ_ONCE(v->rx_nbufs) + more) / 2, least);
}

/*
 * A connection starts with few receives. The amount that a peer can send must
 * not depend on a reader, so when data holds half of them a work item adds
 * some. It does so before the last one is used; otherwise the peer would wait
 * for it.
 */
static void sdp_verbs_rx_want(struct sdp_rx_ctx *c)
{
	if (!sdp_verbs_rx_few(c, 0, SDP_FC_FLOW + SDP_FC_SPARE) ||
	    !sdp_qp_rx_left(c->conn))
		return;
	WRITE_ONCE(c->conn->verbs->rx_grows, true);
	WRITE_ONCE(c->conn->verbs->rx_wanted, true);
	queue_work(sdp_wq(c->sk), &c->conn->ctl_work);
}

/**
 * sdp_verbs_rx_work - add receives, find memory for one, make the send queue larger
 * @work: ctl_work of a connection
 *
 * Context: work item.
 */
void sdp_verbs_rx_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(work, struct sdp_conn, ctl_work);
	struct sock *sk = conn->sk;
	struct mem_cgroup *old;

	old = sdp_sock_charge(sk);
	sdp_qp_rx_supply(conn);
	lock_sock(sk);
	if (sdp_sk(sk)->conn == conn) {
		if (READ_ONCE(conn->verbs->rx_wanted)) {
			WRITE_ONCE(conn->verbs->rx_wanted, false);
			sdp_qp_rx_grow(conn);
		}
		sdp_qp_tx_grow(conn);
	}
	release_sock(sk);
	set_active_memcg(old);
	sdp_conn_kick(conn);
	/* if memory was lacking no more may come: wake readers that wait for more */
	WRITE_ONCE(conn->verbs->rx_grows, false);
	/* reception queues under this lock, and looks afterwards: one of us sees the other */
	spin_lock_bh(&sdp_sk(sk)->lock);
	spin_unlock_bh(&sdp_sk(sk)->lock);
	if (sdp_sk(sk)->conn == conn &&
	    sdp_rx_ready(sk, READ_ONCE(sk->sk_rcvlowat)))
		sk->sk_data_ready(sk);
}

/*
 * Payload that fits after the youngest queued one is copied there when it is
 * small (net.sdp.rx_merge), when it takes a quarter of a buffer at most and the reader
 * lags anyway, or when so few receives are left, those to be added included, that the
 * sender would stop soon. With net.sdp.rx_merge below 0 nothing is copied.
 */
static bool sdp_verbs_rx_merge(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	struct sdp_net *sn = sdp_pernet(sock_net(c->sk));
	int most = READ_ONCE(sn->sysctl_rx_merge);
	struct sdp_conn *conn = c->conn;
	u32 len = c->m.payload_len;
	struct sdp_rx_buf *tail;

	if (most < 0 || list_empty(&sdp->rx_queue))
		return false;
	tail = list_last_entry(&sdp->rx_queue, struct sdp_rx_buf, node);
	if (tail->conn != conn || conn->rx_size < tail->len + len)
		return false;
	if (len > (u32)most &&
	    (len > conn->rx_size / 4 || list_is_singular(&sdp->rx_queue)) &&
	    !sdp_verbs_rx_few(c, sdp_qp_rx_left(conn), SDP_MIN_RX_BUFS))
		return false;
	memcpy(page_address(tail->page) + tail->len,
	       page_address(c->buf->page) + c->m.payload - SDP_BSDH_LEN, len);
	WRITE_ONCE(tail->len, tail->len + len);
	SDP_INC_STATS(sock_net(c->sk), RX_MERGED);
	SDP_ADD_STATS(sock_net(c->sk), RX_MERGED_BYTES, len);
	return true;
}

/**
 * sdp_verbs_queue - put the payload of a message on the receive queue
 * @sdp: socket
 * @c: message in @c->buf
 *
 * Context: sdp->lock.
 */
void sdp_verbs_queue(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	u32 start = c->m.payload - SDP_BSDH_LEN, len = c->m.payload_len;
	struct sdp_rx_buf *buf = c->buf;
	u8 last;

	lockdep_assert_held(&sdp->lock);
	last = ((u8 *)page_address(buf->page))[start + len - 1];
	if (!sdp_verbs_rx_merge(sdp, c)) {
		buf->off = start;
		buf->len = start + len;
		list_add_tail(&buf->node, &sdp->rx_queue);
		c->keep = true;
		sdp_verbs_rx_want(c);
	}
	if (unlikely(READ_ONCE(c->conn->zco)))
		sdp_zc_rx_payload(sdp, c);
	else
		c->conn->zc->rx_data++;
	if (unlikely(c->m.h.flags & SDP_OOB_PRES))
		sdp_sock_oob_pres(sdp, c, sdp->rx_seq + len - 1, last);
	sdp_verbs_queued(sdp, c);
}

static void sdp_verbs_rx_error(struct sdp_conn *conn, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		sdp_conn_flushed(conn);
		return;
	}
	if (wc->status == IB_WC_LOC_LEN_ERR)
		SDP_INC_STATS(sock_net(conn->sk), BAD_LEN);
	else
		SDP_INC_STATS(sock_net(conn->sk), TRANSPORT_ERRORS);
	sdp_conn_down(conn, ECONNRESET);
}

/* Give received data back to the CPU, with the headers in @buf->hdr. Returns their length. */
static u32 sdp_verbs_rx_headers(struct sdp_conn *conn, struct sdp_rx_buf *buf,
				u32 len)
{
	u32 n = min_t(u32, len, SDP_BSDH_LEN), ext;
	struct sdp_verbs *v = conn->verbs;
	u8 *hdr = buf->hdr;

	ib_dma_sync_single_for_cpu(conn->dev, buf->hdr_dma, v->rx_slot,
				   DMA_FROM_DEVICE);
	if (conn->ring)
		return min_t(u32, len, v->rx_slot);
	if (len <= SDP_BSDH_LEN)
		return n;
	ib_dma_sync_single_for_cpu(conn->dev, sg_dma_address(&buf->sg),
				   len - SDP_BSDH_LEN, DMA_FROM_DEVICE);
	/* an extended header begins where Data has its payload */
	if (hdr[0] == SDP_MID_DATA)
		return n;
	ext = min_t(u32, len, SDP_MSG_HDR_MAX) - SDP_BSDH_LEN;
	memcpy(hdr + SDP_BSDH_LEN, page_address(buf->page), ext);
	return n + ext;
}

static void sdp_verbs_rx_process(struct sdp_rx_ctx *c)
{
	struct sdp_sock *sdp = sdp_sk(c->sk);
	int bad = 0;

	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(c->conn->zc->tx_pipe, !!(c->m.h.flags & SDP_REQ_PIPE));
	if (sdp->conn == c->conn)
		bad = sdp_rx_dispatch(sdp, c);
	sdp_rx_taken(sdp, c);
	spin_unlock_bh(&sdp->lock);
	sdp_rx_finish(c, bad);
	if (likely(!bad))
		sdp_rx_wake(c);
}

/*
 * Post an empty receive buffer that is on no list again, and look for other work. No
 * spinlock held.
 */
static void sdp_verbs_recycle(struct sdp_conn *conn, struct sdp_rx_buf *buf)
{
	sdp_qp_rx_bare(conn, buf);
	spin_lock_bh(&conn->tx_lock);
	list_add_tail(&buf->node, &conn->verbs->rx_free);
	spin_unlock_bh(&conn->tx_lock);
	sdp_conn_kick(conn);
}

/* Find out what a receive was used for, and whether that is right */
static int sdp_verbs_rx_arrived(struct sdp_rx_ctx *c, const struct ib_wc *wc)
{
	struct sdp_rx_buf *buf = c->buf;
	u32 hdr_len;

	/* the receive itself holds nothing then */
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		return sdp_rx_check_imm(c, be32_to_cpu(wc->ex.imm_data),
					wc->byte_len);
	hdr_len = sdp_verbs_rx_headers(c->conn, buf, wc->byte_len);
	return sdp_rx_check(c, buf->hdr, hdr_len, wc->byte_len);
}

/**
 * sdp_verbs_rx_done - a message arrived
 * @cq: completion queue
 * @wc: its entry
 *
 * Context: softirq; one at a time for a connection.
 */
void sdp_verbs_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_rx_buf *buf = container_of(wc->wr_cqe, struct sdp_rx_buf,
					      cqe);
	struct sdp_conn *conn = buf->conn;
	struct sdp_rx_ctx c = { .sk = conn->sk, .conn = conn, .buf = buf };
	int bad;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		sdp_verbs_rx_error(conn, wc);
		return;
	}
	/* messages that follow a violation are ignored */
	if (unlikely(test_bit(SDP_CONN_BAD, &conn->flags)))
		return;
	SDP_INC_STATS(sock_net(conn->sk), RX_MSGS);
	bad = sdp_verbs_rx_arrived(&c, wc);
	if (unlikely(bad)) {
		sdp_rx_violation(&c, bad);
		return;
	}
	sdp_verbs_rx_process(&c);
	if (c.keep)
		sdp_conn_kick(conn);
	else
		sdp_verbs_recycle(conn, buf);
}

/* ---- the receive queue ---- */

/* Buffer that holds byte @seq of the stream, which is queued. */
static u32 sdp_verbs_find(struct sock *sk, u32 seq, struct sdp_rx_run *run)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 off = seq - sdp->copied_seq;
	struct sdp_rx_buf *buf;

	run->len = 0;
	spin_lock_bh(&sdp->lock);
	list_for_each_entry(buf, &sdp->rx_queue, node) {
		u32 have = buf->len - buf->off;

		if (off < have) {
			run->page = buf->page;
			run->off = buf->off + off;
			run->len = have - off;
			break;
		}
		off -= have;
	}
	spin_unlock_bh(&sdp->lock);
	return run->len;
}

/*
 * struct sdp_rxq_ops.copy: one buffer at a time, so that a receive can be
 * posted again as soon as it has been read.
 */
u32 sdp_verbs_copy(struct sock *sk, u32 seq, u32 len, struct iov_iter *to)
{
	struct sdp_rx_run run;

	len = min(len, sdp_verbs_find(sk, seq, &run));
	return copy_to_iter(page_address(run.page) + run.off, len, to);
}

/*
 * If the peer has one advertised receive for data left, or none, although the program
 * keeps reading, it could send faster. Allow half as many receives again, by the size
 * of the receive buffer, up to the maximum of rmem, and add a few of them. As TCP
 * does, keep a size that the program has chosen.
 */
static void sdp_verbs_rx_grow(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_verbs *v = conn->verbs;
	u32 left = READ_ONCE(v->rx_adv_total) - READ_ONCE(conn->rx_mseq);
	int want = (v->rx_nbufs + v->rx_nbufs / 2) * conn->rx_size;

	if (likely(left > SDP_FC_DATA))
		return;
	want = min(want, READ_ONCE(sn->sysctl_rmem[2]));
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK) && want > sk->sk_rcvbuf &&
	    !sdp_mem_short())
		WRITE_ONCE(sk->sk_rcvbuf, want);
	sdp_qp_rx_grow(conn);
}

/* A buffer that was read to its end is posted again, or freed. */
static void sdp_verbs_rx_release(struct sock *sk, struct sdp_rx_buf *buf)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!buf->conn) {
		sdp_qp_rx_put(sk, buf->page);
		kfree(buf);
		return;
	}
	sdp_verbs_rx_grow(sk, conn);
	if (!sdp_qp_rx_renew(conn, buf)) {
		sdp_conn_kick(conn);
		return;
	}
	SDP_INC_STATS(sock_net(sk), RX_REPOSTED);
	sdp_verbs_recycle(conn, buf);
}

/* struct sdp_rxq_ops.consume */
void sdp_verbs_consume(struct sock *sk, u32 n)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_buf *buf;

	while (n) {
		u32 take;

		spin_lock_bh(&sdp->lock);
		buf = list_first_entry_or_null(&sdp->rx_queue,
					       struct sdp_rx_buf, node);
		if (WARN_ON_ONCE(!buf)) {
			spin_unlock_bh(&sdp->lock);
			return;
		}
		take = min(n, buf->len - buf->off);
		buf->off += take;
		WRITE_ONCE(sdp->copied_seq, sdp->copied_seq + take);
		if (buf->off == buf->len)
			list_del_init(&buf->node);
		else
			buf = NULL;
		spin_unlock_bh(&sdp->lock);
		n -= take;
		if (buf)
			sdp_verbs_rx_release(sk, buf);
	}
}

/* Buffers of a connection stay with it and are freed with it. */
static void sdp_verbs_purge(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_buf *buf, *tmp;
	LIST_HEAD(list);

	spin_lock_bh(&sdp->lock);
	list_splice_init(&sdp->rx_queue, &list);
	sdp_sock_read_all(sdp);
	spin_unlock_bh(&sdp->lock);
	list_for_each_entry_safe(buf, tmp, &list, node) {
		list_del_init(&buf->node);
		if (buf->conn)
			continue;
		sdp_qp_rx_put(sk, buf->page);
		kfree(buf);
	}
}

/*
 * The pages move to buffers of their own, since those of the connection, whose
 * queue pair is drained, are about to be freed.
 */
static void sdp_verbs_orphan(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_buf *buf, *tmp, *copy;

	list_for_each_entry_safe(buf, tmp, &sdp->rx_queue, node) {
		if (buf->conn != conn)
			continue;
		copy = kzalloc(sizeof(*copy), GFP_KERNEL | __GFP_NOFAIL);
		sdp_qp_rx_unmap(conn, buf);
		copy->page = buf->page;
		copy->off = buf->off;
		copy->len = buf->len;
		buf->page = NULL;
		spin_lock_bh(&sdp->lock);
		list_replace_init(&buf->node, &copy->node);
		spin_unlock_bh(&sdp->lock);
	}
}

const struct sdp_rxq_ops sdp_rxq_verbs = {
	.queue		= sdp_verbs_queue,
	.find		= sdp_verbs_find,
	.copy		= sdp_verbs_copy,
	.consume	= sdp_verbs_consume,
	.purge		= sdp_verbs_purge,
	.orphan		= sdp_verbs_orphan,
	.mappable	= true,
};
