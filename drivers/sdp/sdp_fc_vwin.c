// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual windows: no credits. A receive is posted only when sdp_conn.rx_size
 * bytes (W) are free for it, and a message has no more than that, so that
 * a message that gets a receive has room. A message that finds none is queued
 * by the device: receiver not ready on InfiniBand and RoCE, a closed TCP window
 * on iwarp_hybrid. Arithmetic only; calls nothing.
 *
 * The send buffer has two parts. Some messages are posted and belong to the
 * device; further data joins the youngest message of the software's part. A
 * completion frees a place in the device's part, and the engine posts the oldest message
 * of the software's part there, independent of the program.
 */
#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_verbs.h"

/*
 * The device has finished with data that the peer has acknowledged. Not every
 * message asks for a completion. But once half of the device's part is in use, at least
 * one of each vwin_posted / 2 messages does: while that part is full, a completion is
 * always to come.
 */
static u32 sdp_fc_vwin_credits(const struct sdp_conn *conn)
{
	const struct sdp_verbs *v = READ_ONCE(conn->verbs);
	u32 done, ack, posted;

	/* a report while the link is being made */
	if (unlikely(!v))
		return 0;
	done = READ_ONCE(v->tx_done);
	ack = READ_ONCE(conn->peer_ack);
	if (sdp_seq_after(ack, done))
		done = ack;
	posted = READ_ONCE(conn->tx_mseq) - done;
	return posted < v->vwin_posted ? v->vwin_posted - posted : 0;
}

static bool sdp_fc_vwin_may_send(const struct sdp_conn *conn, bool payload)
{
	lockdep_assert_held(&conn->tx_lock);
	return !payload || sdp_fc_vwin_credits(conn);
}

static bool sdp_fc_vwin_update_due(const struct sdp_conn *conn)
{
	return false;
}

/* For information: the peer does not look at it. */
static u16 sdp_fc_vwin_bufs(struct sdp_conn *conn, u32 ack)
{
	return min_t(u32, conn->verbs->rx_posted_total - ack, U16_MAX);
}

static bool sdp_fc_vwin_overrun(const struct sdp_conn *conn, u32 mseq)
{
	return false;
}

/* Posted receives count as advertised: there is no explicit update. */
static void sdp_fc_vwin_peer(struct sdp_conn *conn, u16 bufs, u32 ack)
{
	struct sdp_verbs *v = conn->verbs;

	WRITE_ONCE(conn->peer_ack, ack);
	WRITE_ONCE(v->rx_adv_total, READ_ONCE(v->rx_posted_total));
}

/* "vwin": see Documentation/wire.rst, extension HOLD */
const struct sdp_fc_ops sdp_fc_vwin = {
	.name		= "vwin",
	.mid		= SDP_MID_DATA,
	.flow		= SDP_FLOW_VWIN,
	.held		= true,
	.credits	= sdp_fc_vwin_credits,
	.may_send	= sdp_fc_vwin_may_send,
	.update_due	= sdp_fc_vwin_update_due,
	.bufs		= sdp_fc_vwin_bufs,
	.overrun	= sdp_fc_vwin_overrun,
	.peer		= sdp_fc_vwin_peer,
};
