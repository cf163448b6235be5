/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time from send() until all of it is acknowledged or complete, see sdp_latency.c.
 */
#ifndef _SDP_LATENCY_H
#define _SDP_LATENCY_H

#include <linux/jump_label_ratelimit.h>
#include <linux/types.h>

#include "sdp_conn.h"

struct sock;

extern struct static_key_false_deferred sdp_latency_key;

u64 __sdp_latency_begin(struct sock *sk);
void __sdp_latency_sent(struct sdp_conn *conn, u64 begin);
void __sdp_latency_acked(struct sdp_conn *conn, s32 n);
void sdp_latency_set(int *on, int value);
void sdp_latency_exit(void);

/* A send begins: the time in ns if it is to be timed, else 0. Context: lock_sock held. */
static inline u64 sdp_latency_begin(struct sock *sk)
{
	if (static_branch_unlikely(&sdp_latency_key.key))
		return __sdp_latency_begin(sk);
	return 0;
}

/* The send that began at @begin is queued. Context: lock_sock held. */
static inline void sdp_latency_sent(struct sdp_conn *conn, u64 begin)
{
	if (static_branch_unlikely(&sdp_latency_key.key) && begin)
		__sdp_latency_sent(conn, begin);
}

/* Is a send timed that is not acknowledged? Any context; may be stale at once. */
static inline bool sdp_latency_waits(const struct sdp_conn *conn)
{
	return static_branch_unlikely(&sdp_latency_key.key) && READ_ONCE(conn->timed.begin);
}

/*
 * @n more bytes are acknowledged or complete. @n is negative when an estimate within a
 * message is corrected. Context: the lock of tx_queued, see struct sdp_timed.
 */
static inline void sdp_latency_acked(struct sdp_conn *conn, s32 n)
{
	if (static_branch_unlikely(&sdp_latency_key.key))
		__sdp_latency_acked(conn, n);
}

#endif /* _SDP_LATENCY_H */
