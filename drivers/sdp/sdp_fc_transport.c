// SPDX-License-Identifier: GPL-2.0
/*
 * Flow control left to the transport: a receiver without room stops reading,
 * and TCP's window stops the sender. Nothing is counted here; calls nothing.
 */
#include "sdp.h"
#include "sdp_fc.h"

static u32 sdp_fc_transport_credits(const struct sdp_conn *conn)
{
	return 0;
}

static bool sdp_fc_transport_may_send(const struct sdp_conn *conn, bool payload)
{
	return true;
}

static bool sdp_fc_transport_update_due(const struct sdp_conn *conn)
{
	return false;
}

static u16 sdp_fc_transport_bufs(struct sdp_conn *conn, u32 ack)
{
	return 0;
}

static bool sdp_fc_transport_overrun(const struct sdp_conn *conn, u32 mseq)
{
	return false;
}

static void sdp_fc_transport_peer(struct sdp_conn *conn, u16 bufs, u32 ack)
{
	WRITE_ONCE(conn->peer_ack, ack);
}

/* "transport": see Documentation/wire.rst, extension SHARED */
const struct sdp_fc_ops sdp_fc_transport = {
	.name		= "transport",
	.mid		= SDP_MID_DATA,
	.flow		= SDP_FLOW_TRANSPORT,
	.held		= true,
	.credits	= sdp_fc_transport_credits,
	.may_send	= sdp_fc_transport_may_send,
	.update_due	= sdp_fc_transport_update_due,
	.bufs		= sdp_fc_transport_bufs,
	.overrun	= sdp_fc_transport_overrun,
	.peer		= sdp_fc_transport_peer,
};
