// SPDX-License-Identifier: GPL-2.0
/*
 * A ring at the receiver, managed by the sender: it knows what it has written and
 * what the peer has freed, and writes back to back, at once as long as there is
 * room. While there is none, sends join the message that waits. Each write is
 * announced by a message or by immediate data, which take a receive; sdp_fc_credit.c
 * counts these receives. A small payload travels inside its message instead: a separate
 * write would cost more than the receiver's copy into the ring. Arithmetic only; calls
 * sdp_fc_credit.c, sdp_wire.c, and sdp_ring.c, which posts the writes.
 *
 * Freed space is announced lazily: with other messages, or when it is half of
 * the ring. A sender that waits for room finds less than a quarter free, so a
 * reader that has read everything has more than half to announce.
 */
#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_ring.h"
#include "sdp_rx.h"

static bool sdp_fc_rdma_update_due(const struct sdp_conn *conn)
{
	return sdp_ring_unadvertised(conn) >= conn->ring->mem->size / 2 ||
	       sdp_fc_update_due(conn);
}

/*
 * Up to the end of the ring. A piece that would be small, because there is
 * little room, waits for more.
 */
static u32 sdp_fc_rdma_room(const struct sdp_conn *conn, u32 len)
{
	const struct sdp_ring_conn *r = conn->ring;
	/* pairs with the release of sdp_fc_rdma_avail() */
	u32 size = smp_load_acquire(&r->peer_len), left, n;

	lockdep_assert_held(&conn->tx_lock);
	if (!size)
		return 0;
	if (unlikely(READ_ONCE(r->progress) == SDP_RING_APP_AWAY) &&
	    conn->tx_fin == SDP_FIN_NONE)
		return 0;
	left = size - (r->put - READ_ONCE(r->freed));
	n = min(len, left);
	if (n < len && left < size / 4)
		return 0;
	return min(n, size - (r->put & (size - 1)));
}

/* RingAvail: accepted once, and only with a size that our 32-bit counters can handle. */
static int sdp_fc_rdma_avail(struct sdp_conn *conn, const struct sdp_msg *m)
{
	struct sdp_ring_conn *r = conn->ring;
	u32 len = m->ext.avail.len;

	if (r->peer_len)
		return SDP_MIB_BAD_STATE;
	if (len < SDP_RING_LEN_MIN || len > INT_MAX || !is_power_of_2(len))
		return SDP_MIB_BAD_RDMA;
	r->peer_rkey = m->ext.avail.rkey;
	r->peer_va = m->ext.avail.va;
	/* pairs with the acquire of sdp_fc_rdma_room() */
	smp_store_release(&r->peer_len, len);
	return 0;
}

/* Ring: bytes that the peer has written to our ring, and bytes that it has freed in its own. */
static int sdp_fc_rdma_ring(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	u32 len = c->m.ext.ring.len, freed = c->m.ext.ring.freed;
	struct sdp_conn *conn = c->conn;
	struct sdp_ring_conn *r = conn->ring;
	struct sdp_ring *ring = r->mem;
	u32 used = sdp->rx_seq - ring->base - READ_ONCE(r->advertised);

	/* not more than was written, and never less than before */
	if (freed - r->freed > READ_ONCE(r->put) - r->freed)
		return SDP_MIB_BAD_RDMA;
	if (len > ring->size - used)
		return SDP_MIB_BAD_CREDIT;
	WRITE_ONCE(r->freed, freed);
	c->along = c->m.payload_len;
	c->m.payload_len = len;
	return 0;
}

static int sdp_fc_rdma_rx(struct sdp_sock *sdp, struct sdp_rx_ctx *c)
{
	switch (c->m.h.mid) {
	case SDP_MID_RING_AVAIL:
		return sdp_fc_rdma_avail(c->conn, &c->m);
	case SDP_MID_RING:
		return sdp_fc_rdma_ring(sdp, c);
	default:
		return SDP_MIB_BAD_STATE;
	}
}

/* Most payload of a ring does not follow the header. */
static void sdp_fc_rdma_header(struct sdp_conn *conn, struct sdp_msg *msg, u32 bytes)
{
	const struct sdp_ring_conn *r = conn->ring;

	lockdep_assert_held(&conn->tx_lock);
	if (msg->h.mid == SDP_MID_RING_AVAIL) {
		msg->ext.avail.len = r->mem->size;
		msg->ext.avail.rkey = r->mr->rkey;
		msg->ext.avail.va = r->mr->iova;
		return;
	}
	msg->ext.ring.len = bytes;
	if (sdp_ring_along(bytes))
		msg->payload_len = bytes;
	msg->ext.ring.freed = sdp_ring_advertise(conn);
}

static int sdp_fc_rdma_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
			    const struct sdp_tx_msg *m, const struct sdp_msg *imm,
			    u32 hdr_len, bool signal)
{
	if (imm)
		return sdp_ring_send_imm(conn, slot, m, sdp_build_imm(imm),
					 signal);
	return sdp_ring_post(conn, slot, m, hdr_len, signal);
}

/* "rdma": see Documentation/wire.rst, extension RING */
const struct sdp_fc_ops sdp_fc_rdma = {
	.name		= "rdma",
	.mid		= SDP_MID_RING,
	.flow		= SDP_FLOW_RDMA,
	.credits	= sdp_fc_credits,
	.may_send	= sdp_fc_may_send,
	.update_due	= sdp_fc_rdma_update_due,
	.bufs		= sdp_fc_bufs,
	.overrun	= sdp_fc_overrun,
	.peer		= sdp_fc_peer,
	.room		= sdp_fc_rdma_room,
	.rx		= sdp_fc_rdma_rx,
	.imm		= sdp_ring_by_imm,
	.header		= sdp_fc_rdma_header,
	.post		= sdp_fc_rdma_post,
	.want_space	= sdp_ring_wanted,
};
