// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of a connection's flow control: the request, the abilities of the devices
 * and of the peer, and the result. Refers to the other sdp_fc_*.c, and calls sdp_ring.c.
 *
 * The active side offers in its Hello what it requests and, after that,
 * what it would take instead; the passive side takes the best of it that it
 * does not refuse. The fallback is credit, which every peer knows.
 * Documentation/wire.rst, Extensions.
 */
#include <linux/dma-map-ops.h>
#include <rdma/rdma_cm.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_ring.h"

#define SDP_FC_RNR_TIMER	IB_RNR_TIMER_000_64	/* 0.64 ms */

/* Extensions that a request allows; sdp_fc_agree() has the order of preference */
static u8 sdp_fc_allowed(u8 requested)
{
	switch (requested) {
	case SDP_FLOW_AUTO:
	case SDP_FLOW_VWIN:
		return SDP_EXT_RING | SDP_EXT_IMM | SDP_EXT_HOLD;
	case SDP_FLOW_RDMA:
		return SDP_EXT_RING | SDP_EXT_IMM;
	default:
		return 0;
	}
}

/*
 * A message that finds no receive must wait. InfiniBand and RoCE try again;
 * iwarp_hybrid, the provider that registers itself, stops reading. Others end
 * the connection.
 */
static bool sdp_fc_device_holds(const struct sdp_conn *conn)
{
	struct rdma_stack_map map;

	if (!test_bit(SDP_CONN_IWARP, &conn->flags))
		return true;
	return !rdma_stack_query(conn->dev, NULL, &map) && map.registered &&
	       map.place[RDMA_STACK_FLOW_CONTROL] > RDMA_STACK_ABSENT;
}

/*
 * In a ring, bytes that the peer writes share cache lines with bytes that this
 * side writes, so the device must be cache coherent.
 */
static bool sdp_fc_device_rings(struct ib_device *dev)
{
	return dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
	       dev->attrs.max_fast_reg_page_list_len >=
	       SDP_RING_MIN / PAGE_SIZE &&
	       (ib_uses_virt_dma(dev) || dev_is_dma_coherent(dev->dma_device));
}

/*
 * Each device of InfiniBand and RoCE has Write with immediate data, of iWARP those
 * that say so. With @qp: whether its peer takes them.
 */
static bool sdp_fc_device_imm(const struct sdp_conn *conn, struct ib_qp *qp)
{
	struct rdma_stack_map map;

	if (!test_bit(SDP_CONN_IWARP, &conn->flags))
		return true;
	return !rdma_stack_query(conn->dev, qp, &map) && map.immediate;
}

static u8 sdp_fc_possible(const struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	u8 ext = 0;

	if (!IS_ENABLED(CONFIG_SDP_RESEARCH))
		return 0;
	if (sdp_fc_device_rings(conn->dev)) {
		ext |= SDP_EXT_RING;
		if (sdp_fc_device_imm(conn, NULL) &&
		    READ_ONCE(sn->sysctl_rdma_immediate))
			ext |= SDP_EXT_IMM;
	}
	if (sdp_fc_device_holds(conn))
		ext |= SDP_EXT_HOLD;
	return ext;
}

/**
 * sdp_fc_choose - determine the requested flow control and those that may be offered
 * @conn: connection that knows its device
 *
 * Sets conn->terms and conn->rx_size. fc_reason is SDP_REASON_DEVICE if the device does not
 * support the request, else SDP_REASON_NONE so far.
 *
 * Context: process, before the queue pair is made.
 */
void sdp_fc_choose(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	u8 requested = READ_ONCE(sdp_sk(conn->sk)->flow_control);
	u8 can = sdp_fc_possible(conn);

	if (requested == SDP_FLOW_DEFAULT)
		requested = READ_ONCE(sn->sysctl_flow_control);
	/* a ring has no buffers */
	if (requested != SDP_FLOW_RDMA)
		conn->rx_size = READ_ONCE(sn->sysctl_rx_buf_size);
	conn->terms.fc_requested = requested;
	conn->terms.ext = can & sdp_fc_allowed(requested);
	conn->terms.fc_reason = SDP_REASON_NONE;
	if ((requested == SDP_FLOW_RDMA && !(can & SDP_EXT_RING)) ||
	    (requested == SDP_FLOW_VWIN && !(can & SDP_EXT_HOLD)))
		conn->terms.fc_reason = SDP_REASON_DEVICE;
	if (!test_bit(SDP_CONN_ACTIVE, &conn->flags))
		conn->terms.ext &= conn->terms.peer_ext;
	else if (requested == SDP_FLOW_AUTO)
		conn->terms.ext = 0;	/* no request, nothing to ask for */
	if (conn->terms.ext && !test_bit(SDP_CONN_IWARP, &conn->flags))
		rdma_set_min_rnr_timer(conn->id, SDP_FC_RNR_TIMER);
}

/**
 * sdp_fc_agree - choose the passive side's answer to an offer
 * @conn: connection; the Hello was read, sdp_fc_choose() was called
 *
 * Return: SDP_EXT_HOLD, SDP_EXT_RING without SDP_EXT_IMM or with it, or 0 for
 * credit.
 */
u8 sdp_fc_agree(const struct sdp_conn *conn)
{
	if (conn->terms.ext & SDP_EXT_HOLD)
		return SDP_EXT_HOLD;
	if (conn->terms.ext & SDP_EXT_RING)
		return conn->terms.ext;
	return 0;
}

static const struct sdp_fc_ops *sdp_fc_of(u8 ext)
{
	if (!IS_ENABLED(CONFIG_SDP_RESEARCH))
		return &sdp_fc_credit;
	if (ext & SDP_EXT_RING)
		return &sdp_fc_rdma;
	return ext & SDP_EXT_HOLD ? &sdp_fc_vwin : &sdp_fc_credit;
}

/**
 * sdp_fc_use - set the flow control of a connection on a verbs link
 * @conn: connection without buffers yet
 * @ext: result of the negotiation, see sdp_fc_agree()
 *
 * Context: setup_work.
 *
 * Return: 0, or -ENOMEM, when nothing has changed.
 */
int sdp_fc_use(struct sdp_conn *conn, u8 ext)
{
	int err = ext & SDP_EXT_RING ? sdp_ring_create(conn) : 0;

	if (err)
		return err;
	spin_lock_bh(&conn->tx_lock);
	if (ext & SDP_EXT_RING)
		conn->rx_size = SDP_BUF_SIZE;
	conn->terms.ext = ext;
	conn->fc = sdp_fc_of(ext);
	spin_unlock_bh(&conn->tx_lock);
	return 0;
}

/**
 * sdp_fc_start - read the settings of the flow control of a verbs link
 * @conn: connection whose flow control is chosen; nothing has been sent
 *
 * Context: process; the set-up of the connection.
 */
void sdp_fc_start(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sdp_verbs *v = conn->verbs;

	v->tx_alone = conn->fc->flow == SDP_FLOW_CREDIT &&
		      !READ_ONCE(sn->sysctl_credit_join);
	v->update_rule = READ_ONCE(sn->sysctl_credit_update);
	v->vwin_posted = READ_ONCE(sn->sysctl_vwin_posted);
	/* a completion for half of the device's part, so that it never stays full */
	if (conn->fc->flow == SDP_FLOW_VWIN)
		v->tx_signal = max_t(u32, v->vwin_posted / 2, 1);
}

/**
 * sdp_fc_verify - a connection is up: is its flow control the one requested?
 * @conn: connection
 *
 * Context: setup_work, or handler of the cm_id.
 */
void sdp_fc_verify(struct sdp_conn *conn)
{
	struct net *net = sock_net(conn->sk);

	/* with iWARP, the peer's ability is known only now */
	if (conn->ring && conn->terms.ext & SDP_EXT_IMM)
		WRITE_ONCE(conn->ring->imm, sdp_fc_device_imm(conn, conn->qp));
	if (conn->fc->flow == SDP_FLOW_RDMA)
		SDP_INC_STATS(net, RING_LINKS);
	else if (conn->fc->flow == SDP_FLOW_VWIN)
		SDP_INC_STATS(net, VWIN_LINKS);
	if (conn->terms.fc_requested == SDP_FLOW_AUTO ||
	    conn->terms.fc_requested == conn->fc->flow) {
		conn->terms.fc_reason = SDP_REASON_NONE;
		return;
	}
	if (conn->terms.fc_requested == SDP_FLOW_TRANSPORT)
		conn->terms.fc_reason = conn->terms.link_reason;
	else if (!conn->terms.fc_reason)
		conn->terms.fc_reason = SDP_REASON_PEER;
	SDP_INC_STATS(net, FC_FALLBACKS);
}
