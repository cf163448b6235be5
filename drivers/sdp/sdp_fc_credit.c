// SPDX-License-Identifier: GPL-2.0
/*
 * Credit flow control: how many messages the peer has room for, and when to
 * advertise receives of this side. Arithmetic only; calls nothing.
 *
 * Each message carries Bufs, receives that are advertised now, and MSeqAck. Their
 * sum is the number of the last message that there is room for, so it only
 * grows, and reading it and our own count at different times cannot hurt.
 *
 * An update uses up a receive of the peer. If each update were answered by another
 * one, two ends with few receives would do nothing else, and the updates under way
 * would take the credits that data needs. So an update in answer to a mere update
 * has to give two receives or more, unless the peer has none left. Then each one
 * answers two messages at least, and the exchange ends. Therefore the goal is
 * receives for data (SDP_FC_FLOW or more) or for control (SDP_FC_CTL at most), and not
 * the three that would let a single message with payload through.
 *
 * One receive (SDP_FC_SPARE) stays in reserve. Only a message that uses the last
 * credit advertises it, if it has no other one to give, see sdp_fc_bufs(): the last
 * credit may be used only by a message that brings a new one.
 */

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_verbs.h"

/* The last credit is only for messages that bring new ones. */
#define SDP_FC_CTL	2

/* Receives that the peer should know of. Context: tx_lock held. */
static int sdp_fc_goal(const struct sdp_conn *conn, u32 ack)
{
	int n = (int)(conn->verbs->rx_posted_total - ack) - SDP_FC_SPARE;

	return n < SDP_FC_FLOW ? min(n, SDP_FC_CTL) : n;
}

/**
 * sdp_fc_credits - messages that may be sent before the peer says more
 * @conn: connection
 *
 * Context: tx_lock, or for a report that may be stale.
 */
u32 sdp_fc_credits(const struct sdp_conn *conn)
{
	u32 total = READ_ONCE(conn->peer_total);

	if (sdp_seq_after(conn->tx_mseq, total))
		return 0;
	return total - conn->tx_mseq;
}

/**
 * sdp_fc_may_send - whether the rules let one more message go
 * @conn: connection
 * @payload: it has bytes of the stream
 *
 * Context: tx_lock.
 */
bool sdp_fc_may_send(const struct sdp_conn *conn, bool payload)
{
	const struct sdp_verbs *v = conn->verbs;
	u32 credits = sdp_fc_credits(conn);

	lockdep_assert_held(&conn->tx_lock);
	if (payload)
		return credits >= SDP_FC_DATA;
	if (credits >= SDP_FC_CTL)
		return true;
	return credits && v->rx_posted_total != v->rx_adv_total;
}

/*
 * Is the difference between @advertised and @goal large enough for an update? No rule
 * answers each update with another one.
 */
static bool sdp_fc_update_part(const struct sdp_conn *conn, int advertised, int goal)
{
	switch (conn->verbs->update_rule) {
	case SDP_UPDATE_HALF:
		return 2 * advertised <= goal;
	case SDP_UPDATE_EACH:
		return !READ_ONCE(conn->rx_update);
	default:
		return advertised + advertised / 2 < goal;
	}
}

/**
 * sdp_fc_update_due - whether new receives should be announced now
 * @conn: connection
 *
 * With SDP_UPDATE_THIRD, true when half as many credits again can be given, that
 * is, when the peer has used a third of them. SDP_UPDATE_HALF waits until it has used
 * half. Of its first seven credits that leaves three, and the last two are not for
 * data: only one message with payload could be in flight together with the update.
 * SDP_UPDATE_EACH announces every receive, but not in answer to a mere update.
 *
 * With fewer than three credits the peer cannot send data, so any rule announces new
 * receives at once. While the reader lags, the peer gets credits for control: in answer
 * to a mere update only if it has none left.
 *
 * Context: tx_lock.
 */
bool sdp_fc_update_due(const struct sdp_conn *conn)
{
	u32 ack = READ_ONCE(conn->rx_mseq);
	int advertised = (int)(conn->verbs->rx_adv_total - ack);
	int goal = sdp_fc_goal(conn, ack);

	if (goal <= advertised)
		return false;
	if (goal <= SDP_FC_CTL)
		return advertised <= 0 || !READ_ONCE(conn->rx_update);
	return advertised <= SDP_FC_CTL || sdp_fc_update_part(conn, advertised, goal);
}

/**
 * sdp_fc_bufs - value of Bufs for a message that leaves now
 * @conn: connection
 * @ack: MSeqAck of the same message
 *
 * Context: tx_lock, before the message has its number. The receives count as advertised
 * afterwards.
 */
u16 sdp_fc_bufs(struct sdp_conn *conn, u32 ack)
{
	struct sdp_verbs *v = conn->verbs;
	int advertised = (int)(v->rx_adv_total - ack);
	int bufs = max(sdp_fc_goal(conn, ack), advertised);

	/* see sdp_fc_may_send(): the last credit has to bring a new one */
	if (bufs == advertised && sdp_fc_credits(conn) == 1 &&
	    v->rx_posted_total != v->rx_adv_total)
		bufs++;
	bufs = clamp(bufs, 0, U16_MAX);
	WRITE_ONCE(v->rx_adv_total, ack + bufs);
	return bufs;
}

/**
 * sdp_fc_set_first - record how many receives Hello or HelloAck advertises
 * @conn: connection, before it posts its first receives
 *
 * With a ring more receives are posted than Hello advertises. Later messages
 * advertise the others. A message may arrive as soon as there is a receive, and
 * sdp_fc_overrun() must not take it for one without credit.
 *
 * Context: tx_lock.
 */
void sdp_fc_set_first(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->tx_lock);
	WRITE_ONCE(conn->verbs->rx_adv_total,
		   min(conn->rx_max, conn->rx_start) - SDP_FC_SPARE);
}

/**
 * sdp_fc_overrun - whether the peer sent payload without enough credits
 * @conn: connection
 * @mseq: sequence number of the message
 *
 * The peer needed SDP_FC_DATA credits when it sent; the credits given by now
 * can only be more than those it had then.
 *
 * Context: receive completion.
 */
bool sdp_fc_overrun(const struct sdp_conn *conn, u32 mseq)
{
	u32 advertised = READ_ONCE(conn->verbs->rx_adv_total);

	return sdp_seq_after(mseq + SDP_FC_DATA - 1, advertised);
}

/**
 * sdp_fc_peer - take over the credits of a message of the peer
 * @conn: connection
 * @bufs: its Bufs
 * @ack: its MSeqAck, checked
 *
 * Context: receive completion, or the handler of Hello or HelloAck.
 */
void sdp_fc_peer(struct sdp_conn *conn, u16 bufs, u32 ack)
{
	u32 total = ack + bufs;

	if (sdp_seq_after(total, conn->peer_total))
		WRITE_ONCE(conn->peer_total, total);
	if (sdp_seq_after(ack, conn->peer_ack))
		WRITE_ONCE(conn->peer_ack, ack);
}

/* "credit": the standard's way, always available */
const struct sdp_fc_ops sdp_fc_credit = {
	.name		= "credit",
	.mid		= SDP_MID_DATA,
	.flow		= SDP_FLOW_CREDIT,
	.zcopy		= true,
	.credits	= sdp_fc_credits,
	.may_send	= sdp_fc_may_send,
	.update_due	= sdp_fc_update_due,
	.bufs		= sdp_fc_bufs,
	.overrun	= sdp_fc_overrun,
	.peer		= sdp_fc_peer,
};
