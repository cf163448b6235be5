// SPDX-License-Identifier: GPL-2.0
/*
 * MSG_ZEROCOPY: programs that ask for it hear, on the error queue, when the
 * memory of a send is theirs again. It always is when sendmsg returns, since
 * it has been copied, or read by the peer (sdp_zcopy_tx.c); so they hear at
 * once. The notifications are those of TCP, made by the core of the kernel.
 * Calls sdp_tx.c.
 */
#include <linux/skbuff.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"

/**
 * sdp_errq_wanted - whether a send has to be notified of
 * @sk: socket
 * @msg: the send
 *
 * io_uring brings a notification of its own, and sees to it itself.
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
 * Return: what sdp_errq_end() takes, or NULL: too many are not read yet, or the
 * user may not lock so much memory, as with TCP.
 */
struct ubuf_info *sdp_errq_begin(struct sock *sk, struct msghdr *msg)
{
	return compat_msg_zerocopy_realloc(sk, msg_data_left(msg));
}

/**
 * sdp_errq_end - a send is over
 * @uarg: its number
 * @sent: octets, or an error: then the number is given back
 * @direct: of these, octets that were not copied
 *
 * Context: lock_sock.
 */
void sdp_errq_end(struct ubuf_info *uarg, int sent, u64 direct)
{
	if (sent <= 0) {
		net_zcopy_put_abort(uarg, true);
		return;
	}
	/* a few octets always go along with the advertisement */
	if (direct < (u64)sent / 2)
		uarg_to_msgzc(uarg)->zerocopy = 0;
	net_zcopy_put(uarg);
}
