// SPDX-License-Identifier: GPL-2.0
/*
 * MSG_ZEROCOPY: programs that ask for it learn, on the error queue, when the
 * memory of a send is theirs again: when sendmsg returns, if it was copied or read
 * by the peer (zcopy/src_read.c), else when the last message that was sent out of
 * it is complete (sdp_tx_pages.c). Notifications use the core's refcounted
 * ubuf_info, as in TCP.
 *
 * sendmsg calls it with lock_sock; it calls the core only.
 */
#include <linux/skbuff.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"

/**
 * sdp_errq_wanted - does a send need a notification on the error queue?
 * @sk: socket
 * @msg: the send
 *
 * io_uring has a notification of its own, and handles it itself.
 *
 * Context: lock_sock held.
 */
bool sdp_errq_wanted(const struct sock *sk, struct msghdr *msg)
{
	return (msg->msg_flags & MSG_ZEROCOPY) && !msg->msg_ubuf &&
	       sock_flag(sk, SOCK_ZEROCOPY) && msg_data_left(msg);
}

/**
 * sdp_errq_begin - number a send
 * @sk: socket, locked
 * @msg: the send
 *
 * Return: argument for sdp_errq_end(), or NULL: too many are not read yet, or
 * the user may not lock so much memory, as with TCP.
 */
struct ubuf_info *sdp_errq_begin(struct sock *sk, struct msghdr *msg)
{
	return msg_zerocopy_realloc(sk, msg_data_left(msg), NULL, false);
}

/**
 * sdp_errq_end - sendmsg is over
 * @sk: socket
 * @uarg: its number; messages that are not complete have references to it
 * @sent: bytes, or an error: then the number is given back
 * @direct: of these, bytes that were not copied
 *
 * Context: lock_sock.
 */
void sdp_errq_end(struct sock *sk, struct ubuf_info *uarg, int sent,
		  u64 direct)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (sent <= 0) {
		net_zcopy_put_abort(uarg, true);
		return;
	}
	/* the ends of sends are copied, and a few bytes of an advertisement */
	if (direct < (u64)sent / 2 && conn) {
		/* a completion writes there, too */
		spin_lock_bh(&conn->tx_lock);
		uarg_to_msgzc(uarg)->zerocopy = 0;
		spin_unlock_bh(&conn->tx_lock);
	}
	net_zcopy_put(uarg);
}
