// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy of a connection: set-up and teardown, and which of its control messages
 * are still wanted. Calls the other files of zero copy; called by the link.
 */
#include <linux/slab.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"

/* A message is leaving: ask for pipelined mode if we would like that, and count payload. */
static void sdp_zc_header(struct sdp_conn *conn, struct sdp_msg *m, u32 bytes)
{
	if (sdp_zc_asks_pipe(conn))
		m->h.flags |= SDP_REQ_PIPE;
	if (bytes)
		sdp_zc_tx_payload(conn);
}

static const struct sdp_zc_ops sdp_zc_ops = {
	.send		= sdp_zc_send,
	.sent		= sdp_zc_sent,
	.ack		= sdp_zc_ack,
	.header		= sdp_zc_header,
	.held		= sdp_zc_tx_held,
	.busy		= sdp_zc_tx_busy,
#if IS_ENABLED(CONFIG_SDP_RESEARCH)
	.next		= sdp_zc_next,
	.write		= sdp_zc_write,
#endif
};

/**
 * sdp_zc_on - an end of a connection wants zero copy
 * @conn: connection
 *
 * Either the program has set SDP_ZCOPY, or net.sdp.zcopy_threshold applies, or the peer has
 * sent SrcAvail. From now on the transmit half asks zero copy about each message.
 *
 * Context: any.
 */
void sdp_zc_on(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->zco, &sdp_zc_ops);
}

/**
 * sdp_zc_init - allocate struct sdp_zc, and check whether the device supports zero copy
 * @conn: connection with a queue pair whose verbs link is about to start
 *
 * Context: process.
 *
 * Return: 0 or -ENOMEM.
 */
int sdp_zc_init(struct sdp_conn *conn)
{
	const struct ib_device_attr *attrs = &conn->dev->attrs;
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sdp_zc *zc = kzalloc(sizeof(*zc), GFP_KERNEL_ACCOUNT);

	if (!zc)
		return -ENOMEM;
	zc->conn = conn;
	if (IS_ENABLED(CONFIG_SDP_RESEARCH))
		zc->write_cqe.done = sdp_zc_written;
	zc->tx_mode = SDP_MODE_COMBINED;
	zc->tx_want = SDP_MODE_COMBINED;
	zc->pipe = IS_ENABLED(CONFIG_SDP_RESEARCH) &&
		   READ_ONCE(sn->sysctl_zcopy_pipelined);
	zc->max = conn->terms.max_adverts;
	zc->able = attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
		   attrs->max_fast_reg_page_list_len >= SDP_ZC_PAGES_MIN &&
		   attrs->max_qp_rd_atom > 0 && attrs->max_qp_init_rd_atom > 0;
	sdp_zc_mem_init(zc);
	if (!zc->able)
		goto out;
	zc->rx_src.slot = kcalloc(2 * zc->max, sizeof(*zc->rx_src.slot),
				  GFP_KERNEL_ACCOUNT);
	if (!zc->rx_src.slot)
		zc->able = false;
	else
		zc->tx_sink.slot = zc->rx_src.slot + zc->max;
out:
	/* pairs with the address dependency of lockless readers */
	smp_store_release(&conn->zc, zc);
	/* if the program sets SDP_ZCOPY later, setsockopt() does this */
	if (sdp_sock_zcopy_threshold(conn->sk))
		sdp_zc_on(conn);
	return 0;
}

/**
 * sdp_zc_free - free the registrations
 * @conn: connection without a queue pair
 *
 * conn->zc stays until the connection is freed: a process that has waited for a region
 * may still look at it.
 *
 * Context: process, the connection is not in use.
 */
void sdp_zc_free(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;

	if (!zc->able)
		return;
	sdp_zc_mem_exit(conn);
	kfree(zc->rx_src.slot);
	zc->rx_src.slot = NULL;
}

/**
 * sdp_zc_drained - nothing reaches memory any more
 * @conn: connection, its queue pair drained
 *
 * Returns when no process waits for the device any more. Pages may be unpinned later,
 * and kept memory stays until sdp_zc_free().
 *
 * Context: process, no lock held.
 */
void sdp_zc_drained(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;

	if (zc == &sdp_zc_none)
		return;
	/* pairs with the acquire of sdp_zc_idle() */
	smp_store_release(&zc->drained, true);
	wake_up_all(&conn->wait);
	/*
	 * This does not take long: a process unmaps its region before it leaves, and waits
	 * for page locks afterwards. Pairs with the release of sdp_zc_leave().
	 */
	wait_event(conn->wait, !smp_load_acquire(&zc->users));
}

/**
 * sdp_zc_ctl_due - whether a control message is still wanted
 * @conn: connection
 * @bit: enum sdp_ctl
 *
 * If so, SinkAvail, SinkAvailCancel, SinkCancelAck and SendSm count as sent from here on.
 *
 * Context: tx_lock.
 */
bool sdp_zc_ctl_due(struct sdp_conn *conn, unsigned int bit)
{
	switch (bit) {
	case SDP_CTL_MODE:
		return conn->zc->tx_want != conn->zc->tx_mode;
	case SDP_CTL_SINK_AVAIL:
		return sdp_zc_sink_due(conn);
	case SDP_CTL_SINK_CANCEL:
		return sdp_zc_sink_cancel_due(conn);
	case SDP_CTL_SINK_ACK:
		return sdp_zc_sink_ack_due(conn);
	case SDP_CTL_SENDSM:
		sdp_zc_asked(conn);
		return true;
	default:
		return true;
	}
}
