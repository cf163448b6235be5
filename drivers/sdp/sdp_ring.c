// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of the flow control "rdma": memory of the receiver that the sender
 * writes payload to, back to back, by RDMA Write, and announces by messages.
 * Registration, writing to the peer's, the receive queue in ours. Calls the
 * verbs and the queue pair.
 *
 * The connection owns the registration: posted with RingAvail, freed after the
 * queue pair, which is alone in its protection domain. The pages stay with the
 * socket until they are read. The peer may change them at any time, thus they
 * hold payload only, and nothing in them is parsed.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mem.h"
#include "sdp_mib.h"
#include "sdp_ring.h"
#include "sdp_rx.h"
#include "sdp_verbs.h"

/* The receiver writes to it as well, see sdp_ring_fill(). */
#define SDP_RING_DIR	DMA_BIDIRECTIONAL

/* ---- memory ---- */

static void sdp_ring_put(struct sock *sk, struct sdp_ring *ring)
{
	u32 i;

	if (!ring || !refcount_dec_and_test(&ring->refs))
		return;
	for (i = 0; i < ring->nr; i++)
		if (ring->page[i])
			__free_pages(ring->page[i], SDP_BUF_ORDER);
	sdp_mem_uncharge_rx(sk, ring->size);
	kfree(ring);
}

static struct sdp_ring *sdp_ring_alloc(struct sock *sk, u32 size)
{
	u32 nr = size / SDP_RING_PIECE, i;
	struct sdp_ring *ring;

	ring = kzalloc(struct_size(ring, page, nr), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return NULL;
	if (sdp_mem_full(sk) || !sdp_mem_charge_rx(sk, size, false)) {
		kfree(ring);
		return NULL;
	}
	refcount_set(&ring->refs, 1);
	ring->size = size;
	ring->nr = nr;
	for (i = 0; i < nr; i++) {
		/* zeroed: a peer may announce what it has not written */
		ring->page[i] = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_COMP |
					    __GFP_NOWARN | __GFP_ZERO,
					    SDP_BUF_ORDER);
		if (!ring->page[i]) {
			sdp_ring_put(sk, ring);
			return NULL;
		}
	}
	return ring;
}

/* SO_RCVBUF, rounded up to a power of two, as far as the limits and the device allow. */
static u32 sdp_ring_size(const struct sdp_conn *conn)
{
	u32 pages = min_t(u32, conn->dev->attrs.max_fast_reg_page_list_len,
			  SDP_RING_MAX / PAGE_SIZE);
	u32 max = rounddown_pow_of_two(pages) * PAGE_SIZE;
	u32 want = clamp_t(u32, READ_ONCE(conn->sk->sk_rcvbuf), SDP_RING_MIN,
			   max);

	return min_t(u32, roundup_pow_of_two(want), max);
}

static int sdp_ring_map(struct sdp_conn *conn, struct sdp_ring_conn *r)
{
	struct sdp_ring *ring = r->mem;
	u32 pages = ring->size / PAGE_SIZE, i;
	struct scatterlist *sg;
	int n;

	sg = kmalloc_array(ring->nr, sizeof(*sg), GFP_KERNEL);
	if (!sg)
		return -ENOMEM;
	sg_init_table(sg, ring->nr);
	r->sg = sg;
	for (i = 0; i < ring->nr; i++) {
		sg_set_page(&sg[i], ring->page[i], SDP_RING_PIECE, 0);
		/* one by one: an IOMMU would merge entries */
		if (!ib_dma_map_sg(conn->dev, &sg[i], 1, SDP_RING_DIR))
			return -ENOMEM;
		r->mapped++;
	}
	r->mr = ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(r->mr)) {
		r->mr = NULL;
		return -ENOMEM;
	}
	n = ib_map_mr_sg(r->mr, sg, ring->nr, NULL, PAGE_SIZE);
	sdp_mr_rename(r->mr);
	return n == ring->nr ? 0 : -ENOMEM;
}

/* Take the ring away from the device, and drop the reference to its memory. */
static void sdp_ring_unmap(struct sdp_conn *conn, struct sdp_ring_conn *r)
{
	struct scatterlist *sg;

	if (r->mr)
		ib_dereg_mr(r->mr);
	r->mr = NULL;
	/* announced data is with the CPU, and may be unread */
	while (r->mapped) {
		sg = &r->sg[--r->mapped];
		ib_dma_unmap_sg_attrs(conn->dev, sg, 1, SDP_RING_DIR,
				      DMA_ATTR_SKIP_CPU_SYNC);
	}
	kfree(r->sg);
	r->sg = NULL;
	sdp_ring_put(conn->sk, r->mem);
	r->mem = NULL;
}

static void sdp_ring_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_ring_conn *r = container_of(wc->wr_cqe, struct sdp_ring_conn,
					       cqe);

	sdp_conn_wc_bad(r->conn, wc);
}

static struct sdp_ring_conn *sdp_ring_new(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sdp_ring_conn *r;

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	r->conn = conn;
	r->cqe.done = sdp_ring_failed;
	if (READ_ONCE(sn->sysctl_rdma_progress) == SDP_PROGRESS_APP)
		r->progress = SDP_RING_APP;
	r->mem = sdp_ring_alloc(conn->sk, sdp_ring_size(conn));
	if (r->mem && !sdp_ring_map(conn, r))
		return r;
	sdp_ring_unmap(conn, r);
	kfree(r);
	return NULL;
}

/**
 * sdp_ring_create - make the ring that the peer will write to
 * @conn: connection with a queue pair; nothing has been received
 *
 * Context: process, before buffers are made. After an error there is nothing
 * to clean up.
 *
 * Return: 0 or -ENOMEM.
 */
int sdp_ring_create(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_ring_conn *r = sdp_ring_new(conn);

	if (!r)
		return -ENOMEM;
	/* pairs with the address dependency of sdp_ring_poll() */
	smp_store_release(&conn->ring, r);
	sdp_conn_ctl(conn, SDP_CTL_RING);
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn) {
		refcount_inc(&r->mem->refs);
		r->mem->base = sdp->rx_seq;
		sdp->rx_ring = r->mem;
		sdp->rxq = &sdp_rxq_ring;
		WRITE_ONCE(sdp->rx_tight, r->mem->size / 4);
	}
	spin_unlock_bh(&sdp->lock);
	return 0;
}

/**
 * sdp_ring_destroy - take the ring of a connection away from the device
 * @conn: connection without a queue pair, which may have no ring
 *
 * Context: process.
 */
void sdp_ring_destroy(struct sdp_conn *conn)
{
	/* freed with the connection: sdp_ring_poll() may look at it */
	if (conn->ring)
		sdp_ring_unmap(conn, conn->ring);
}

/**
 * sdp_ring_drop - the socket does not need its ring any more
 * @sdp: socket; it has read everything, or never will
 *
 * Context: sdp->lock, or the socket is not in use.
 */
void sdp_ring_drop(struct sdp_sock *sdp)
{
	sdp_ring_put(&sdp->inet.sk, sdp->rx_ring);
	sdp->rx_ring = NULL;
	WRITE_ONCE(sdp->rx_tight, 0);
}

/* ---- sending ---- */

/* Post the registration, and @next, which announces the ring to the peer. */
static int sdp_ring_register(struct sdp_conn *conn, struct ib_send_wr *next)
{
	struct sdp_ring_conn *r = conn->ring;
	struct ib_reg_wr reg = {
		.wr = {
			.next = next,
			.wr_cqe = &r->cqe,
			.opcode = IB_WR_REG_MR,
		},
		.mr = r->mr,
		.key = r->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};

	lockdep_assert_held(&conn->tx_lock);
	return ib_post_send(conn->qp, &reg.wr, NULL);
}

/* Fill in the payload of @wr and its place in the peer's ring, and post it. */
static int sdp_ring_write(struct sdp_conn *conn, const struct sdp_tx_msg *m,
			  struct ib_rdma_wr *wr)
{
	struct sdp_ring_conn *r = conn->ring;
	struct ib_sge sge[SDP_TX_PIECES];

	lockdep_assert_held(&conn->tx_lock);
	wr->wr.sg_list = sge;
	wr->wr.num_sge = sdp_qp_payload(conn, m, 0, sge);
	wr->remote_addr = r->peer_va + (r->put & (r->peer_len - 1));
	wr->rkey = r->peer_rkey;
	WRITE_ONCE(r->put, r->put + m->len);
	return ib_post_send(conn->qp, &wr->wr, NULL);
}

/* Write payload to the ring of the peer, and post @next, which announces it. */
static int sdp_ring_send(struct sdp_conn *conn, const struct sdp_tx_msg *m,
			 struct ib_send_wr *next)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.next = next,
			.wr_cqe = &conn->ring->cqe,
			.opcode = IB_WR_RDMA_WRITE,
		},
	};

	return sdp_ring_write(conn, m, &wr);
}

/**
 * sdp_ring_unadvertised - bytes of this side's ring that are free and not advertised yet
 * @conn: connection with a ring
 *
 * Context: tx_lock.
 */
u32 sdp_ring_unadvertised(const struct sdp_conn *conn)
{
	const struct sdp_ring_conn *r = conn->ring;

	lockdep_assert_held(&conn->tx_lock);
	return READ_ONCE(sdp_sk(conn->sk)->copied_seq) - r->mem->base -
	       r->advertised;
}

/**
 * sdp_ring_by_imm - whether immediate data can announce a payload
 * @conn: connection
 * @m: payload
 *
 * Immediate data has room for MSeqAck and the length only. Urgent data, an update of
 * credits and freed space need a message. Freed space gets one from a quarter of the ring
 * on, before it would need a message of its own. A payload that goes along with its
 * message (SDP_RING_INLINE) needs one, too.
 *
 * Context: tx_lock.
 */
bool sdp_ring_by_imm(const struct sdp_conn *conn, const struct sdp_tx_msg *m)
{
	const struct sdp_ring_conn *r = conn->ring;

	lockdep_assert_held(&conn->tx_lock);
	return READ_ONCE(r->imm) && !sdp_ring_along(m->len) &&
	       m->len <= SDP_IMM_MAX && !m->oob &&
	       !test_bit(SDP_CTL_OOB_PEND, &conn->tx_ctl) &&
	       !conn->fc->update_due(conn) &&
	       sdp_ring_unadvertised(conn) < r->mem->size / 4;
}

/**
 * sdp_ring_send_imm - write payload to the peer's ring, announced by immediate data
 * @conn: connection
 * @slot: of the message that this stands for
 * @m: payload, which there is room for without a break
 * @imm: immediate data
 * @signal: want a completion
 *
 * Context: tx_lock.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_ring_send_imm(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		      const struct sdp_tx_msg *m, u32 imm, bool signal)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &slot->cqe,
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = signal ? IB_SEND_SIGNALED : 0,
			.ex.imm_data = cpu_to_be32(imm),
		},
	};

	SDP_INC_STATS(sock_net(conn->sk), TX_IMMEDIATES);
	return sdp_ring_write(conn, m, &wr);
}

/**
 * sdp_ring_post - post one SDP message of a connection with a ring
 * @conn: connection
 * @slot: where its header was built, and its completion
 * @m: payload, which there is room for without a break, or NULL
 * @hdr_len: bytes of the header
 * @signal: want a completion for it
 *
 * A small payload goes along with its message, and the receiver copies it to its place
 * in the ring. A large one is written to the ring, before the message that announces it.
 *
 * Context: tx_lock.
 *
 * Return: 0, or the error of the provider: the connection cannot go on.
 */
int sdp_ring_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal)
{
	struct sdp_ring_conn *r = conn->ring;
	struct ib_sge sge[SDP_TX_PIECES + 1];
	struct ib_send_wr wr = {
		.wr_cqe = &slot->cqe,
		.opcode = IB_WR_SEND,
		.send_flags = signal ? IB_SEND_SIGNALED : 0,
		.sg_list = sge,
		.num_sge = 1,
	};

	lockdep_assert_held(&conn->tx_lock);
	sdp_qp_header(conn, slot, hdr_len, sge);
	if (m && m->oob)
		wr.send_flags |= IB_SEND_SOLICITED;
	if (slot->mid == SDP_MID_RING_AVAIL)
		return sdp_ring_register(conn, &wr);
	if (m && !sdp_ring_along(m->len))
		return sdp_ring_send(conn, m, &wr);
	if (m) {
		wr.num_sge += sdp_qp_payload(conn, m, 0, &sge[1]);
		WRITE_ONCE(r->put, r->put + m->len);
	}
	return ib_post_send(conn->qp, &wr, NULL);
}

/**
 * sdp_ring_advertise - bytes of our ring that were read, to be announced now
 * @conn: connection
 *
 * Context: tx_lock.
 */
u32 sdp_ring_advertise(struct sdp_conn *conn)
{
	const struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct sdp_ring_conn *r = conn->ring;

	lockdep_assert_held(&conn->tx_lock);
	/* the socket may have another connection by now */
	if (READ_ONCE(sdp->conn) == conn)
		WRITE_ONCE(r->advertised, READ_ONCE(sdp->copied_seq) -
				    r->mem->base);
	return r->advertised;
}

/**
 * sdp_ring_enter_app - the program enters a system call on a socket
 * @sk: socket with a connection, whose ring has net.sdp.rdma_progress=app
 *
 * While the program is away, no payload is sent, until it shuts down sending. Other messages
 * leave.
 *
 * Context: lock_sock, which the call may release while it waits.
 */
void sdp_ring_enter_app(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;

	sdp->ring_calls++;
	WRITE_ONCE(conn->ring->progress, SDP_RING_APP);
	sdp_conn_kick(conn);
}

/**
 * sdp_ring_wanted - a writer waits for room: the program counts as in a system call
 * @conn: connection with a ring
 *
 * Context: any, without a lock: poll() calls it.
 */
void sdp_ring_wanted(struct sdp_conn *conn)
{
	struct sdp_ring_conn *r = READ_ONCE(conn->ring);

	if (r && READ_ONCE(r->progress) == SDP_RING_APP_AWAY)
		WRITE_ONCE(r->progress, SDP_RING_APP);
}

/**
 * sdp_ring_leave - the program leaves a system call on a socket
 * @sk: socket, for which sdp_ring_enter() has returned true
 *
 * The program is away when none of its threads is in a system call on the
 * socket.
 *
 * Context: lock_sock.
 */
void sdp_ring_leave(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_ring_conn *r = sdp->conn ? sdp->conn->ring : NULL;

	if (!--sdp->ring_calls && r && r->progress == SDP_RING_APP)
		WRITE_ONCE(r->progress, SDP_RING_APP_AWAY);
}

/**
 * sdp_ring_poll - the program asks for the state of a socket
 * @sk: socket, not locked
 *
 * The program may wait for an answer to data that is delayed, so send that. The program
 * counts as in a system call until its next one ends.
 *
 * Context: process; no spinlock held.
 */
void sdp_ring_poll(struct sock *sk)
{
	const struct sdp_ring_conn *r;
	const struct sdp_conn *conn;
	bool app;

	rcu_read_lock();
	conn = READ_ONCE(sdp_sk(sk)->conn);
	r = conn ? READ_ONCE(conn->ring) : NULL;
	app = r && READ_ONCE(r->progress) != SDP_RING_ANY;
	rcu_read_unlock();
	if (unlikely(app))
		sdp_conn_want_space(sk);
}

/* ---- receiving ---- */

/**
 * sdp_ring_tight - whether unread data may keep the peer from sending
 * @sdp: socket
 *
 * Freed space is announced at half of the ring, and a sender waits if it knows of less than
 * a quarter, see sdp_fc_rdma.c. So it may wait when only a quarter of the ring is unread. A
 * reader that waits for more (SO_RCVLOWAT) would then wait for ever, so it has to be woken.
 *
 * Context: any; the answer may be stale at once.
 */
bool sdp_ring_tight(const struct sdp_sock *sdp)
{
	u32 unread = READ_ONCE(sdp->rx_seq) - READ_ONCE(sdp->copied_seq);
	u32 tight = READ_ONCE(sdp->rx_tight);

	return tight && unread >= tight;
}

/* Bytes in one piece from stream position @seq on, @len at most. */
static u32 sdp_ring_at(const struct sdp_ring *ring, u32 seq, u32 len,
		       struct sdp_rx_run *run)
{
	u32 at = (seq - ring->base) & (ring->size - 1);

	run->page = ring->page[at / SDP_RING_PIECE];
	run->off = at % SDP_RING_PIECE;
	run->len = min_t(u32, len, SDP_RING_PIECE - run->off);
	return run->len;
}

static void sdp_ring_sync(struct sdp_conn *conn, u32 seq, u32 len)
{
	struct sdp_ring_conn *r = conn->ring;
	struct sdp_ring *ring = r->mem;
	struct sdp_rx_run run;

	while (len) {
		u32 at = (seq - ring->base) & (ring->size - 1);
		struct scatterlist *sg;

		sdp_ring_at(ring, seq, len, &run);
		sg = &r->sg[at / SDP_RING_PIECE];
		ib_dma_sync_single_for_cpu(conn->dev,
					   sg_dma_address(sg) + run.off,
					   run.len, SDP_RING_DIR);
		seq += run.len;
		len -= run.len;
	}
}

/* Copy payload that came along with its message to its place in the ring. */
static void sdp_ring_fill(struct sdp_rx_ctx *c, u32 seq, u32 len)
{
	const u8 *src = c->buf->hdr + c->m.payload;
	struct sdp_ring *ring = c->conn->ring->mem;
	struct sdp_rx_run run;

	for (; len; len -= run.len, seq += run.len, src += run.len) {
		u32 at = (seq - ring->base) & (ring->size - 1);
		struct scatterlist *sg = &c->conn->ring->sg[at / SDP_RING_PIECE];

		sdp_ring_at(ring, seq, len, &run);
		memcpy(page_address(run.page) + run.off, src, run.len);
		ib_dma_sync_single_for_device(c->conn->dev,
					      sg_dma_address(sg) + run.off,
					      run.len, SDP_RING_DIR);
	}
}

/*
 * struct sdp_rxq_ops.queue: the bytes that a message has announced, for which there
 * was room, belong to the stream.
 */
static void sdp_ring_queue(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	u32 len = c->m.payload_len, seq = sdp->rx_seq;
	struct sdp_rx_run run;

	lockdep_assert_held(&sdp->lock);
	if (c->along)
		sdp_ring_fill(c, seq, len);
	else
		sdp_ring_sync(c->conn, seq, len);
	if (unlikely(c->m.h.flags & SDP_OOB_PRES)) {
		sdp_ring_at(c->conn->ring->mem, seq + len - 1, 1, &run);
		sdp_sock_oob_pres(sdp, c, seq + len - 1,
				  READ_ONCE(((u8 *)page_address(run.page))[run.off]));
	}
	sdp_verbs_queued(sdp, c);
}

static u32 sdp_ring_find(struct sock *sk, u32 seq, struct sdp_rx_run *run)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	return sdp_ring_at(sdp->rx_ring, seq, READ_ONCE(sdp->rx_seq) - seq,
			   run);
}

static u32 sdp_ring_copy(struct sock *sk, u32 seq, u32 len,
			 struct iov_iter *to)
{
	struct sdp_ring *ring = sdp_sk(sk)->rx_ring;
	u32 done = 0, n, got;
	struct sdp_rx_run run;

	while (done < len) {
		n = sdp_ring_at(ring, seq + done, len - done, &run);
		got = copy_to_iter(page_address(run.page) + run.off, n, to);
		done += got;
		if (got != n)
			break;
	}
	return done;
}

static void sdp_ring_consume(struct sock *sk, u32 len)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	const struct sdp_ring_conn *r = conn ? conn->ring : NULL;
	u32 before, now;

	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(sdp->copied_seq, sdp->copied_seq + len);
	spin_unlock_bh(&sdp->lock);
	/* the ring may be what an earlier connection has left */
	if (!r || r->mem != sdp->rx_ring)
		return;
	now = sdp->copied_seq - sdp->rx_ring->base - READ_ONCE(r->advertised);
	before = now - len;
	/* once for each quarter; the engine decides */
	if (before / (sdp->rx_ring->size / 4) != now / (sdp->rx_ring->size / 4))
		sdp_conn_kick(conn);
}

static void sdp_ring_purge(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	spin_lock_bh(&sdp->lock);
	sdp_sock_read_all(sdp);
	spin_unlock_bh(&sdp->lock);
}

/* The socket has a reference of its own: nothing to do. */
static void sdp_ring_orphan(struct sock *sk, struct sdp_conn *conn)
{
}

const struct sdp_rxq_ops sdp_rxq_ring = {
	.queue		= sdp_ring_queue,
	.find		= sdp_ring_find,
	.copy		= sdp_ring_copy,
	.consume	= sdp_ring_consume,
	.purge		= sdp_ring_purge,
	.orphan		= sdp_ring_orphan,
	.own		= true,
};
