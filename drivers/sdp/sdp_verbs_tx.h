/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of the transmit half over a verbs link: sdp_verbs_txq.c fills
 * the queue, sdp_verbs_tx.c empties it.
 *
 * sendmsg (lock_sock) opens a message with sdp_txq_open() or sdp_txq_open_ref(), adds
 * payload after m->len, and closes it with sdp_txq_commit(). The engine (tx_lock) does
 * not send the message in between: it is new and not counted in tx_head, or marked
 * busy.
 */
#ifndef _SDP_VERBS_TX_H
#define _SDP_VERBS_TX_H

#include "sdp.h"
#include "sdp_verbs.h"

/* sdp_verbs_txq.c */
void sdp_txq_chunk_release(struct sdp_conn *conn, struct sdp_chunk *c);
int sdp_txq_open(struct sdp_conn *conn, size_t len,
		 struct sdp_tx_msg **msg, bool *append);
struct sdp_tx_msg *sdp_txq_open_ref(struct sdp_conn *conn,
				    const struct msghdr *msg,
				    bool *append);
void sdp_txq_commit(struct sdp_conn *conn, struct sdp_tx_msg *m, u32 n,
		    bool append, bool oob, bool eor);

/* The send with this MSeq (sequence number of SDP messages); tx_lock */
static inline struct sdp_tx_slot *
sdp_tx_slot(struct sdp_verbs *v, u32 mseq)
{
	return &v->tx.slot[mseq & (v->tx.depth - 1)];
}

/*
 * The message with this number in the queue, from tx_tail to tx_head; lock_sock, which
 * keeps the array, or tx_lock
 */
static inline struct sdp_tx_msg *
sdp_tx_msg(struct sdp_verbs *v, u32 idx)
{
	return &v->tx_q[idx & (v->tx_qlen - 1)];
}

/*
 * Messages that may wait. They are few if each send is a message, as in the papers that
 * Documentation/knobs.rst names (net.sdp.credit_join is 0).
 */
static inline u32 sdp_txq_max(const struct sdp_verbs *v)
{
	return v->tx_alone ? SDP_TXQ_MIN : SDP_TXQ_MAX;
}

/*
 * Set the socket's count of queued bytes, unless it has another connection by now.
 * tx_lock, which keeps sdp_sock.conn.
 */
static inline void sdp_txq_report(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	lockdep_assert_held(&conn->tx_lock);
	if (sdp_sk(sk)->conn == conn)
		WRITE_ONCE(sk->sk_wmem_queued, conn->tx_queued);
}

/*
 * Drop a reference to a send buffer; the last one frees or keeps it. tx_lock, or the
 * connection is not in use.
 */
static inline void sdp_txq_chunk_put(struct sdp_conn *conn, struct sdp_chunk *c)
{
	if (!--c->refs)
		sdp_txq_chunk_release(conn, c);
}

#endif
