// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_INFO: what a program may know of a socket and its connection, in one
 * structure. Calls the reports of the layers below.
 */
#include <linux/string.h>
#include <net/sock.h>

#include "sdp.h"

/* As in diag: of a listener, who waits to be accepted, and how many may. */
static void sdp_info_queues(const struct sock *sk, struct sdp_info *info)
{
	if (info->state == TCP_LISTEN) {
		info->rx_queue = READ_ONCE(sk->sk_ack_backlog);
		info->tx_queue = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}
	info->rx_queue = max(sdp_readable_bytes(sk), 0);
	info->tx_queue = sdp_outq_bytes(sk);
	info->tx_unsent = sdp_notsent_bytes(sk);
}

static void sdp_info_conn(const struct sock *sk, struct sdp_info *info)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!conn)
		return;
	strscpy(info->device, sdp_device_name(sk), sizeof(info->device));
	info->flow_control = conn->fc->wish;
	info->flow_reason = conn->fc_reason;
	info->link = conn->link == &sdp_link_shared ? SDP_LINK_SHARED :
						      SDP_LINK_VERBS;
	info->link_reason = conn->unshared;
	info->tx_credits = sdp_credits(sk);
	info->tx_size = sdp_max_payload(sk);
	info->rx_reserved = sdp_rx_reserved(sk);
	info->zcopy_reason = sdp_zc_reason(conn);
	info->zcopy_able = !info->zcopy_reason;
	if (info->link == SDP_LINK_VERBS) {
		u32 ack = READ_ONCE(conn->rx_mseq);

		info->rx_credits = READ_ONCE(conn->rx_told_total) - ack;
		info->zcopy_kept = READ_ONCE(conn->zc.kept_octets);
	}
}

/**
 * sdp_info_fill - answer SDP_INFO
 * @sk: socket
 * @info: filled in
 *
 * Context: process; takes lock_sock.
 */
void sdp_info_fill(struct sock *sk, struct sdp_info *info)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	memset(info, 0, sizeof(*info));
	info->version = SDP_INFO_VERSION;
	info->size = sizeof(*info);
	lock_sock(sk);
	info->state = inet_sk_state_load(sk);
	sdp_info_queues(sk, info);
	sdp_info_conn(sk, info);
	info->zcopy_threshold = READ_ONCE(sdp->zcopy_threshold);
	info->tx_bytes = READ_ONCE(sdp->tx_bytes);
	info->rx_bytes = READ_ONCE(sdp->rx_bytes);
	info->tx_msgs = READ_ONCE(sdp->tx_msgs);
	info->rx_msgs = READ_ONCE(sdp->rx_msgs);
	info->tx_no_credit = READ_ONCE(sdp->tx_no_credit);
	info->tx_zcopy_bytes = READ_ONCE(sdp->tx_zcopy_bytes);
	info->rx_zcopy_bytes = READ_ONCE(sdp->rx_zcopy_bytes);
	info->tx_zcopy_fails = READ_ONCE(sdp->tx_zcopy_fails);
	info->rx_lent = READ_ONCE(sdp->nlent) * SDP_BUF_SIZE;
	info->rx_lent_bytes = READ_ONCE(sdp->rx_lent_bytes);
	release_sock(sk);
}
