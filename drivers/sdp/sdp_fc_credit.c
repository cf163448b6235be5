// SPDX-License-Identifier: GPL-2.0
/*
 * Credit flow control: how many messages the peer has room for, and when to
 * tell it of ours. Arithmetic only; calls nothing.
 *
 * Each message carries Bufs, the receives posted now, and MSeqAck. Their sum
 * is the number of the last message that there is room for, so it only
 * grows, and reading it and our own count at different times cannot hurt.
 */
#include <linux/export.h>

#include "sdp.h"

/* The last credit is only for messages that bring new ones. */
#define SDP_FC_CTL	2

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
 * @payload: it has octets of the stream
 *
 * Context: tx_lock.
 */
bool sdp_fc_may_send(const struct sdp_conn *conn, bool payload)
{
	u32 credits = sdp_fc_credits(conn);

	lockdep_assert_held(&conn->tx_lock);
	if (payload)
		return credits >= SDP_FC_DATA;
	if (credits >= SDP_FC_CTL)
		return true;
	return credits && conn->rx_posted_total != conn->rx_told_total;
}

/**
 * sdp_fc_update_due - whether the peer should hear of new receives now
 * @conn: connection
 *
 * True when at least half as many again as it knows of are posted; below
 * three the peer cannot send data, so that every one counts.
 *
 * Context: tx_lock.
 */
bool sdp_fc_update_due(const struct sdp_conn *conn)
{
	u32 ack = READ_ONCE(conn->rx_mseq);
	u32 told = conn->rx_told_total - ack;
	u32 posted = conn->rx_posted_total - ack;

	if ((int)told <= SDP_FC_CTL)
		return (int)posted > (int)told;
	return told + told / 2 < posted;
}

/**
 * sdp_fc_bufs - value of Bufs for a message that leaves now
 * @conn: connection
 * @ack: MSeqAck of the same message
 *
 * Context: tx_lock. The peer counts as told afterwards.
 */
u16 sdp_fc_bufs(struct sdp_conn *conn, u32 ack)
{
	u32 bufs = min_t(u32, conn->rx_posted_total - ack, U16_MAX);

	conn->rx_told_total = ack + bufs;
	return bufs;
}

/**
 * sdp_fc_overrun - whether a message with payload was sent without the right
 * @conn: connection
 * @mseq: its sequence number
 *
 * The peer needed SDP_FC_DATA credits when it sent; what we have told it by
 * now can only be more than what it knew then.
 *
 * Context: receive completion.
 */
bool sdp_fc_overrun(const struct sdp_conn *conn, u32 mseq)
{
	u32 told = READ_ONCE(conn->rx_told_total);

	return sdp_seq_after(mseq + SDP_FC_DATA - 1, told);
}

/**
 * sdp_fc_peer - take over the credits of a message of the peer
 * @conn: connection
 * @bufs: its Bufs
 * @ack: its MSeqAck, checked
 *
 * Context: receive completion, or the handler of the HelloAck.
 */
void sdp_fc_peer(struct sdp_conn *conn, u16 bufs, u32 ack)
{
	u32 total = ack + bufs;

	if (sdp_seq_after(total, conn->peer_total))
		WRITE_ONCE(conn->peer_total, total);
	if (sdp_seq_after(ack, conn->peer_ack))
		WRITE_ONCE(conn->peer_ack, ack);
}

/**
 * sdp_credits - credits towards the peer, for reports
 * @sk: socket, locked
 *
 * Return: credits, 0 without a connection.
 */
u32 sdp_credits(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? sdp_fc_credits(conn) : 0;
}
EXPORT_SYMBOL_GPL(sdp_credits);
