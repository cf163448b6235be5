/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of the receive half: sdp_rx_msg.c knows what a message means,
 * sdp_verbs_rx.c and sdp_shared_rx.c where its bytes are.
 */
#ifndef _SDP_RX_H
#define _SDP_RX_H

#include <linux/types.h>

#include "sdp_wire.h"

struct iov_iter;
struct msghdr;
struct sdp_conn;
struct sdp_rx_buf;
struct sdp_sock;
struct sock;

/**
 * struct sdp_rx_ctx - what a message did, for work to be done without locks
 * @sk: socket of the connection
 * @conn: connection
 * @buf: verbs link: where the message is; NULL: payload is queued elsewhere
 * @m: the message
 * @along: payload of a ring that came with its message
 * @keep: @buf is on the receive queue
 * @readable: wake readers
 * @urgent: raise SIGURG
 * @pending: SrcAvail: wake readers
 * @declined: SrcAvail: send SendSm, when all of it has come
 * @eof: DisConn
 * @reset: AbortConn, or data that will not be read, or that could not be queued
 * @graceful: both DisConn exchanged
 */
struct sdp_rx_ctx {
	struct sock *sk;
	struct sdp_conn *conn;
	struct sdp_rx_buf *buf;
	struct sdp_msg m;
	bool along;
	bool keep;
	bool readable;
	bool urgent;
	bool pending;
	bool declined;
	bool eof;
	bool reset;
	bool graceful;
};

/* sdp_rx.c */
int sdp_rx_turn(struct sock *sk, long *timeo);
u32 sdp_rx_limit(struct sock *sk, u32 have);
void sdp_rx_take(struct sock *sk, u32 len);
int sdp_rx_inq(const struct sock *sk);
int sdp_recvmsg_locked(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags);

/* sdp_verbs_rx.c */
void sdp_verbs_queue(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
u32 sdp_verbs_copy(struct sock *sk, u32 seq, u32 len, struct iov_iter *to);
void sdp_verbs_consume(struct sock *sk, u32 n);

/* sdp_rx_pages.c */
u32 sdp_shared_copy(struct sock *sk, u32 seq, u32 len, struct iov_iter *to);
void sdp_shared_consume(struct sock *sk, u32 n);

/* sdp_rx_msg.c */
bool sdp_rx_ready(const struct sock *sk, u32 target);
int sdp_rx_dispatch(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_rx_check(struct sdp_rx_ctx *c, const u8 *hdr, u32 hdr_len, u32 len);
int sdp_rx_check_imm(struct sdp_rx_ctx *c, u32 imm, u32 written);
void sdp_rx_wake(struct sdp_rx_ctx *c);
void sdp_rx_violation(struct sdp_rx_ctx *c, int mib);
void sdp_rx_taken(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
void sdp_rx_finish(struct sdp_rx_ctx *c, int bad);

#endif /* _SDP_RX_H */
