// SPDX-License-Identifier: GPL-2.0
/*
 * Reports about a socket and its connection, for diag and, in one structure, for
 * SDP_INFO. Calls the connection and the socket.
 */
#include <linux/export.h>
#include <linux/string.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_ring.h"
#include "sdp_verbs.h"

/**
 * sdp_info_reason - why a connection is not what it could be
 * @why: reason
 *
 * Context: any.
 *
 * Return: a word for diag, "" if there is none.
 */
const char *sdp_info_reason(enum sdp_reason why)
{
	static const char * const names[] = {
		[SDP_REASON_NONE]	= "",
		[SDP_REASON_SYSCTL]	= "sysctl",
		[SDP_REASON_OPTION]	= "option",
		[SDP_REASON_DEVICE]	= "device",
		[SDP_REASON_PEER]	= "peer",
		[SDP_REASON_MEMORY]	= "memory",
		[SDP_REASON_POLICY]	= "policy",
		[SDP_REASON_STACK]	= "stack",
		[SDP_REASON_LINK]	= "link",
	};

	return names[why];
}
EXPORT_SYMBOL_GPL(sdp_info_reason);

/**
 * sdp_info_fc_reason - why a connection does not have the requested flow control
 * @conn: connection
 *
 * Return: a word for diag, "" if it has.
 */
const char *sdp_info_fc_reason(const struct sdp_conn *conn)
{
	return sdp_info_reason(conn->terms.fc_reason);
}
EXPORT_SYMBOL_GPL(sdp_info_fc_reason);

/**
 * sdp_info_rx_reserved - memory that a connection keeps for receiving
 * @sk: socket, locked
 *
 * Return: bytes; on a shared link what is granted to the transport, which
 * takes it only when something comes.
 */
u32 sdp_info_rx_reserved(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	const struct sdp_verbs *v;

	if (!conn)
		return 0;
	if (conn->link->shared)
		return READ_ONCE(sk->sk_rcvbuf);
	v = READ_ONCE(conn->verbs);
	if (!v)
		return 0;
	if (conn->ring)
		return conn->ring->mem->size + conn->rx_max * v->rx_slot;
	return READ_ONCE(v->rx_nbufs) * conn->rx_size;
}
EXPORT_SYMBOL_GPL(sdp_info_rx_reserved);

/**
 * sdp_info_credits - credits towards the peer, for reports
 * @sk: socket, locked
 *
 * Return: credits, 0 without a connection.
 */
u32 sdp_info_credits(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->fc->credits(conn) : 0;
}
EXPORT_SYMBOL_GPL(sdp_info_credits);

/* As in diag: for a listener, the accept queue and its limit. */
static void sdp_info_queues(const struct sock *sk, struct sdp_info *info)
{
	if (info->state == TCP_LISTEN) {
		info->rx_queue = READ_ONCE(sk->sk_ack_backlog);
		info->tx_queue = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}
	info->rx_queue = max(sdp_sock_readable(sk), 0);
	info->tx_queue = sdp_conn_outq(sk);
	info->tx_unsent = sdp_conn_unsent(sk);
}

static void sdp_info_conn(const struct sock *sk, struct sdp_info *info)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!conn)
		return;
	strscpy(info->device, sdp_sock_device_name(sk), sizeof(info->device));
	info->flow_control = conn->fc->flow;
	info->flow_reason = conn->terms.fc_reason;
	info->link = conn->link->shared ? SDP_LINK_SHARED : SDP_LINK_VERBS;
	info->link_reason = conn->terms.link_reason;
	info->tx_credits = sdp_info_credits(sk);
	info->tx_size = sdp_conn_max_payload(sk);
	info->rx_reserved = sdp_info_rx_reserved(sk);
	info->zcopy_reason = sdp_conn_zcopy_reason(conn);
	info->zcopy_able = !info->zcopy_reason;
	if (conn->verbs) {
		u32 ack = READ_ONCE(conn->rx_mseq);

		info->rx_credits = READ_ONCE(conn->verbs->rx_adv_total) - ack;
		info->zcopy_kept = READ_ONCE(conn->zc->kept_bytes);
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
	info->rx_mapped = READ_ONCE(sdp->nmapped) * SDP_BUF_SIZE;
	info->rx_mapped_bytes = READ_ONCE(sdp->rx_mapped_bytes);
	release_sock(sk);
}
