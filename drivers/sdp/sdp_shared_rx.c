// SPDX-License-Identifier: GPL-2.0
/*
 * Receive half over a shared link: the provider hands over messages piece by
 * piece, as they arrive. Calls sdp_rx_msg.c for what messages mean and
 * sdp_rx_pages.c to queue payload.
 *
 * All of it runs under the provider's TCP lock, hence one piece at a time, and
 * takes sdp->lock only. Payload can be read before the end of its message has
 * arrived; control messages count when they are complete.
 */
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_rx.h"

/* Bytes of @rx from @skip on, as far as they are in one message header. */
static u32 sdp_srx_gather(struct sdp_srx *s, const struct rdma_stack_rx *rx,
			  u32 skip)
{
	u32 start = s->have, i, n;

	for (i = 0; i < rx->nr && s->have < s->need; i++) {
		const struct rdma_stack_run *run = &rx->run[i];

		for (; skip < run->len && s->have < s->need; skip += n) {
			n = min3(run->len - skip, s->need - s->have,
				 rdma_stack_gaps_span(&run->gaps, skip));
			memcpy(s->hdr + s->have, run->data +
			       rdma_stack_gaps_off(&run->gaps, skip), n);
			s->have += n;
		}
		skip -= run->len;
	}
	return s->have - start;
}

/*
 * Collect the headers, which may be in pieces, and check them when they are
 * complete: BSDH first, it tells how much follows. *@skip becomes the bytes
 * of @rx that they took. Returns 0 or SDP_MIB_BAD_.
 */
static int sdp_srx_header(struct sdp_srx *s, const struct rdma_stack_rx *rx,
			  u32 *skip)
{
	struct sdp_rx_ctx *c = &s->c;
	int bad;

	*skip = sdp_srx_gather(s, rx, 0);
	if (s->have == SDP_BSDH_LEN && s->need == SDP_BSDH_LEN) {
		s->need = sdp_msg_hdr_len(s->hdr);
		if (unlikely(s->need > s->have))
			*skip += sdp_srx_gather(s, rx, *skip);
	}
	if (unlikely(s->have < s->need))
		return 0;
	__SDP_INC_STATS(sock_net(c->sk), RX_MSGS);
	bad = sdp_rx_check(c, s->hdr, s->need, sdp_msg_claim(s->hdr));
	if (bad)
		return bad;
	if (c->m.payload_len > SDP_SHARED_PAYLOAD)
		return SDP_MIB_BAD_LEN;
	s->left = c->m.payload_len;
	return 0;
}

/* The last byte of @rx is urgent. It is not at the reader's disposal yet. */
static void sdp_srx_urgent(struct sdp_sock *sdp, struct sdp_srx *s,
			   const struct rdma_stack_rx *rx, u32 seq)
{
	const struct rdma_stack_run *run = &rx->run[rx->nr - 1];
	u32 at = rdma_stack_gaps_off(&run->gaps, run->len - 1);

	sdp_sock_oob_pres(sdp, &s->c, seq, ((const u8 *)run->data)[at]);
}

/* Payload, in whatever part of its message. Returns 0 or SDP_MIB_BAD_. */
static int sdp_srx_payload(struct sdp_sock *sdp, struct sdp_srx *s,
			   const struct rdma_stack_rx *rx, u32 skip)
{
	u32 len = rx->len - skip, merge;
	struct net *net = sock_net(s->c.sk);

	if (unlikely(len > s->left))
		return SDP_MIB_BAD_LEN;
	merge = max(READ_ONCE(sdp_pernet(net)->sysctl_rx_merge), 0);
	if (unlikely(!sdp_pages_add(sdp, rx, skip, merge))) {
		__SDP_INC_STATS(net, RX_NO_MEM);
		s->c.reset = true;
		return 0;
	}
	s->left -= len;
	if (unlikely(s->c.m.h.flags & SDP_OOB_PRES) && !s->left)
		sdp_srx_urgent(sdp, s, rx, sdp->rx_seq + len - 1);
	/* pairs with the acquire of the reader */
	smp_store_release(&sdp->rx_seq, sdp->rx_seq + len);
	WRITE_ONCE(sdp->rx_bytes, sdp->rx_bytes + len);
	__SDP_ADD_STATS(net, RX_BYTES, len);
	s->c.readable = true;
	return 0;
}

/* End of the message. Returns 0 or SDP_MIB_BAD_. */
static int sdp_srx_end(struct sdp_sock *sdp, struct sdp_srx *s)
{
	struct sdp_rx_ctx *c = &s->c;
	int bad = 0;

	if (s->have < s->need || s->left)
		return SDP_MIB_BAD_LEN;
	if (!c->m.payload_len)
		bad = sdp_rx_dispatch(sdp, c);
	sdp_rx_taken(sdp, c);
	s->have = 0;
	s->need = SDP_BSDH_LEN;
	return bad;
}

/* Handle a piece of a message whose headers may be incomplete. */
static int sdp_srx_take(struct sdp_sock *sdp, struct sdp_srx *s,
			const struct rdma_stack_rx *rx, u32 skip, bool begin)
{
	struct sdp_rx_ctx *c = &s->c;
	int bad = 0;

	if (begin && c->m.payload_len) {
		__SDP_INC_STATS(sock_net(c->sk), RX_DATA_MSGS);
		__SDP_INC_SIZE(sock_net(c->sk), RX_MSGS_64, c->m.payload_len);
		bad = sdp_rx_dispatch(sdp, c);
	} else if (sock_flag(c->sk, SOCK_DEAD) && rx->len > skip) {
		c->reset = true;
	}
	if (!bad && !c->reset && rx->len > skip)
		bad = sdp_srx_payload(sdp, s, rx, skip);
	if (!bad && !c->reset && rx->last)
		bad = sdp_srx_end(sdp, s);
	return bad;
}

/**
 * sdp_shared_rx - struct rdma_stack_ulp.rx
 * @ctx: connection
 * @rx: payload of a Send, or a part of it
 *
 * Context: provider's TCP lock.
 *
 * Return: enum rdma_stack_rx_verdict, or -EPROTO if the peer broke the rules.
 */
int sdp_shared_rx(void *ctx, const struct rdma_stack_rx *rx)
{
	struct sdp_conn *conn = ctx;
	struct sdp_srx *s = &conn->shared->rx;
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	bool begin = false, stop = true;
	u32 skip = 0;
	int bad = 0;

	if (unlikely(test_bit(SDP_CONN_DOWN, &conn->flags)))
		return RDMA_STACK_RX_PAUSE;
	if (s->have < s->need) {
		bad = sdp_srx_header(s, rx, &skip);
		begin = s->have == s->need;
	}
	spin_lock(&sdp->lock);
	if (likely(!bad && sdp->conn == conn)) {
		bad = sdp_srx_take(sdp, s, rx, skip, begin);
		stop = sdp_pages_full(conn->sk);
	}
	spin_unlock(&sdp->lock);
	if (unlikely(bad || s->c.reset || s->c.graceful ||
		     test_bit(SDP_CONN_FENCED, &conn->flags)))
		sdp_rx_finish(&s->c, bad);
	if (unlikely(conn->tx_ctl))
		queue_work(sdp_wq(conn->sk), &conn->ctl_work);
	if (unlikely(bad))
		return -EPROTO;
	return stop || s->c.reset ? RDMA_STACK_RX_PAUSE : RDMA_STACK_RX_MORE;
}

/**
 * sdp_shared_rx_done - struct rdma_stack_ulp.rx_done
 * @ctx: connection
 *
 * Context: provider's TCP lock.
 */
void sdp_shared_rx_done(void *ctx)
{
	struct sdp_conn *conn = ctx;
	struct sdp_rx_ctx *c = &conn->shared->rx.c;

	if (!c->readable && !c->urgent && !c->eof)
		return;
	if (READ_ONCE(sdp_sk(c->sk)->conn) == conn)
		sdp_rx_wake(c);
	c->readable = false;
	c->urgent = false;
	c->eof = false;
}
