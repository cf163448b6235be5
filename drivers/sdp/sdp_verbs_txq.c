// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit queue of a verbs link, the side that sendmsg fills: messages in
 * registered buffers, or with references to pages. sdp_verbs_tx.c empties it.
 * Calls the queue pair (sdp_qp.c) and sdp_tx_pages.c.
 */
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mem.h"
#include "sdp_mib.h"
#include "sdp_verbs.h"
#include "sdp_verbs_tx.h"

#define SDP_TX_KEEP_CHUNKS	8	/* free send buffers a connection keeps */

/**
 * sdp_txq_chunk_release - keep or free a send buffer
 * @conn: connection
 * @c: send buffer without references
 *
 * Context: tx_lock, or the connection is not in use.
 */
void sdp_txq_chunk_release(struct sdp_conn *conn, struct sdp_chunk *c)
{
	struct sdp_verbs *v = conn->verbs;

	/* the transport may still hold the pages (zero copy below us) */
	if (!c->page || v->tx_free_count >= SDP_TX_KEEP_CHUNKS ||
	    sdp_mem_short() || page_count(c->page) != 1 ||
	    c->size != SDP_BUF_TRUESIZE) {
		sdp_qp_chunk_free(conn, c);
		return;
	}
	list_add(&c->node, &v->tx_free_chunks);
	v->tx_free_count++;
}

/**
 * sdp_txq_free - free all send buffers
 * @conn: connection without a QP
 *
 * Context: process, the connection is not in use.
 */
void sdp_txq_free(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_chunk *c, *tmp;
	u32 i;

	for (i = v->tx_tail; i != v->tx_head; i++)
		sdp_txq_chunk_put(conn, sdp_tx_msg(v, i)->chunk);
	v->tx_tail = v->tx_head;
	while (v->tx_done != conn->tx_mseq) {
		struct sdp_tx_slot *slot = sdp_tx_slot(v, ++v->tx_done);

		if (slot->chunk)
			sdp_txq_chunk_put(conn, slot->chunk);
		slot->chunk = NULL;
	}
	if (v->tx_chunk)
		sdp_txq_chunk_put(conn, v->tx_chunk);
	v->tx_chunk = NULL;
	list_for_each_entry_safe(c, tmp, &v->tx_free_chunks, node)
		sdp_qp_chunk_free(conn, c);
	INIT_LIST_HEAD(&v->tx_free_chunks);
}

/**
 * sdp_txq_trim - free send buffers that no message needs
 * @conn: connection that has sent nothing for a while
 *
 * Context: lock_sock.
 *
 * Return: whether messages still refer to tx_chunk.
 */
bool sdp_txq_trim(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_chunk *c, *tmp;
	LIST_HEAD(chunks);
	bool left;

	sock_owned_by_me(conn->sk);
	spin_lock_bh(&conn->tx_lock);
	if (v->tx_chunk && v->tx_chunk->refs == 1) {
		sdp_txq_chunk_put(conn, v->tx_chunk);
		v->tx_chunk = NULL;
	}
	left = v->tx_chunk;
	list_splice_init(&v->tx_free_chunks, &chunks);
	v->tx_free_count = 0;
	if (left && !v->tx_unsent && !conn->probe.state)
		sdp_conn_ctl(conn, SDP_CTL_SETTLE);
	spin_unlock_bh(&conn->tx_lock);
	list_for_each_entry_safe(c, tmp, &chunks, node)
		sdp_qp_chunk_free(conn, c);
	return left;
}

/*
 * There is no memory for another send buffer. Is something under way whose completion makes
 * one free, so that the writer can wait for that? Context: lock_sock held.
 */
static bool sdp_txq_lacks(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	bool waits;

	spin_lock_bh(&conn->tx_lock);
	waits = v->tx_head != v->tx_tail || v->tx_done != conn->tx_mseq;
	WRITE_ONCE(v->tx_lacks, waits);
	spin_unlock_bh(&conn->tx_lock);
	return waits;
}

static struct sdp_chunk *sdp_txq_new_chunk(struct sdp_conn *conn)
{
	gfp_t gfp = conn->sk->sk_allocation | __GFP_ACCOUNT;
	struct sdp_chunk *c;

	c = sdp_qp_chunk_alloc(conn, gfp, false);
	if (!c && !sdp_txq_lacks(conn))
		c = sdp_qp_chunk_alloc(conn, gfp, true);
	return c;
}

/* Make sure that tx_chunk has room for a message; called by sendmsg only. */
static struct sdp_chunk *sdp_txq_get_chunk(struct sdp_conn *conn, size_t len)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_chunk *c = v->tx_chunk, *next = NULL;
	u32 want = SDP_BSDH_LEN + 8 + min_t(size_t, len, SDP_TX_SPLIT_MIN);

	if (c && !c->used)
		return c;
	/* a large message gets a buffer of its own, page aligned */
	if (c && c->size - c->used >= want && len <= SDP_BUF_SIZE / 4)
		return c;

	spin_lock_bh(&conn->tx_lock);
	if (c && c->refs == 1 && page_count(c->page) == 1) {
		c->used = 0;	/* all of its messages are complete */
		spin_unlock_bh(&conn->tx_lock);
		return c;
	}
	if (!list_empty(&v->tx_free_chunks)) {
		next = list_first_entry(&v->tx_free_chunks,
					struct sdp_chunk, node);
		list_del(&next->node);
		v->tx_free_count--;
		next->used = 0;
		next->refs = 1;
	}
	spin_unlock_bh(&conn->tx_lock);
	if (!next)
		next = sdp_txq_new_chunk(conn);
	if (!next)
		return NULL;
	sdp_qp_queue_idle(conn);
	spin_lock_bh(&conn->tx_lock);
	v->tx_chunk = next;
	if (c)
		sdp_txq_chunk_put(conn, c);
	spin_unlock_bh(&conn->tx_lock);
	return next;
}

/*
 * Make sure that there is a place for another message: 1, 0 if too many wait, or -ENOMEM.
 * Context: lock_sock held.
 */
static int sdp_txq_room(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;
	u32 len = v->tx_qlen, i;
	struct sdp_tx_msg *q;

	sock_owned_by_me(conn->sk);
	if (v->tx_head - READ_ONCE(v->tx_tail) < len)
		return 1;
	if (len >= sdp_txq_max(v))
		return 0;
	q = kvcalloc(2 * len, sizeof(*q),
		     conn->sk->sk_allocation | __GFP_ACCOUNT);
	if (!q)
		return -ENOMEM;
	spin_lock_bh(&conn->tx_lock);
	for (i = v->tx_tail; i != v->tx_head; i++)
		q[i & (2 * len - 1)] = *sdp_tx_msg(v, i);
	swap(q, v->tx_q);
	v->tx_qlen = 2 * len;
	spin_unlock_bh(&conn->tx_lock);
	kvfree(q);
	return 1;
}

/* Bytes that can still be added to @m, the youngest unsent message. Context: tx_lock held. */
static u32 sdp_txq_append_room(struct sdp_conn *conn, struct sdp_tx_msg *m)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_chunk *c = m->chunk;

	if (m->oob || m->eor || v->tx_alone || c != v->tx_chunk ||
	    m->off + m->len != c->used)
		return 0;
	return min(c->size - c->used, conn->tx_max_payload - m->len);
}

/**
 * sdp_txq_open - open a message for copying
 * @conn: connection
 * @len: bytes that the caller has
 * @msg: set to the message
 * @append: set if it has payload already
 *
 * It is either the youngest message that still waits, marked busy so that it is
 * not sent meanwhile, or a new one that the engine does not see yet.
 *
 * Context: lock_sock.
 *
 * Return: room for payload, 0 without space, or -ENOMEM.
 */
int sdp_txq_open(struct sdp_conn *conn, size_t len,
		 struct sdp_tx_msg **msg, bool *append)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_tx_msg *m;
	struct sdp_chunk *c;
	u32 room;
	int err;

	spin_lock_bh(&conn->tx_lock);
	if (v->tx_head != v->tx_tail) {
		m = sdp_tx_msg(v, v->tx_head - 1);
		room = sdp_txq_append_room(conn, m);
		if (room) {
			m->busy = 1;
			spin_unlock_bh(&conn->tx_lock);
			*msg = m;
			*append = true;
			return room;
		}
	}
	spin_unlock_bh(&conn->tx_lock);
	err = sdp_txq_room(conn);
	if (err <= 0)
		return err;

	/* the peer may have small receives, and many messages share a buffer then */
	len = min_t(size_t, len, conn->tx_max_payload);
	c = sdp_txq_get_chunk(conn, len);
	if (!c)
		return READ_ONCE(v->tx_lacks) ? 0 : -ENOMEM;
	m = sdp_tx_msg(v, v->tx_head);
	memset(m, 0, sizeof(*m));
	m->chunk = c;
	if (!c->used && len > SDP_TX_SPLIT_MIN) {
		m->split = 1;
		m->off = 0;
	} else {
		m->off = ALIGN(c->used + SDP_BSDH_LEN, 8);
	}
	*msg = m;
	*append = false;
	return min(c->size - m->off, conn->tx_max_payload);
}

/* Count @n bytes that were added to a message; @append: it had payload before. */
static void sdp_txq_count_in(struct sdp_conn *conn, u32 n, bool append, bool copy)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct net *net = sock_net(conn->sk);

	if (copy) {
		SDP_INC_STATS(net, TX_COPIES);
		SDP_ADD_STATS(net, TX_COPY_BYTES, n);
	} else {
		WRITE_ONCE(sdp->tx_ref_bytes, sdp->tx_ref_bytes + n);
		SDP_ADD_STATS(net, TX_REF_BYTES, n);
	}
	if (append) {
		SDP_INC_STATS(net, TX_COALESCED);
		SDP_ADD_STATS(net, TX_COALESCED_BYTES, n);
		SDP_ADD_STATS(net, TX_HDR_SAVED, SDP_BSDH_LEN);
	}
}

/**
 * sdp_txq_commit - close what sdp_txq_open() or sdp_txq_open_ref() opened
 * @conn: connection
 * @m: message
 * @n: bytes that were added; 0: none, and a new message of sdp_txq_open() is dropped
 * @append: the message had payload before
 * @oob: the last byte is urgent
 * @eor: nothing may be appended
 *
 * Context: lock_sock.
 */
void sdp_txq_commit(struct sdp_conn *conn, struct sdp_tx_msg *m, u32 n,
		    bool append, bool oob, bool eor)
{
	struct sdp_verbs *v = conn->verbs;
	bool copy = m->chunk->page;

	spin_lock_bh(&conn->tx_lock);
	m->busy = 0;
	if (!n) {
		spin_unlock_bh(&conn->tx_lock);
		return;
	}
	v->tx_want = false;
	m->len += n;
	m->oob = oob;
	m->eor = eor;
	m->chunk->used = m->off + m->len;
	conn->tx_queued += n;
	v->tx_unsent += n;
	if (!append) {
		m->chunk->refs++;
		WRITE_ONCE(v->tx_head, v->tx_head + 1);
	}
	if (oob)
		sdp_conn_ctl(conn, SDP_CTL_OOB_PEND);
	sdp_txq_report(conn);
	spin_unlock_bh(&conn->tx_lock);
	sdp_txq_count_in(conn, n, append, copy);
}

/**
 * sdp_txq_open_ref - open a message for references to pages
 * @conn: connection
 * @msg: the data
 * @append: set if the message has payload already
 *
 * It is the youngest message that still waits, marked busy, if it refers to pages
 * and has room, or a new one. The chunk of a new one has no reference yet: if nothing is
 * added, the caller frees the chunk by sdp_ref_free(), and does not commit.
 *
 * Context: lock_sock.
 *
 * Return: the message, or NULL without memory or space.
 */
struct sdp_tx_msg *sdp_txq_open_ref(struct sdp_conn *conn,
				    const struct msghdr *msg,
				    bool *append)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_chunk *c = NULL;
	struct sdp_tx_msg *m;

	spin_lock_bh(&conn->tx_lock);
	if (v->tx_head != v->tx_tail) {
		m = sdp_tx_msg(v, v->tx_head - 1);
		c = m->chunk;
		*append = !c->page && !m->eor && !v->tx_alone &&
			  m->len < conn->tx_max_payload &&
			  sdp_ref_room(conn, c, msg);
		m->busy = *append;
		c = *append ? c : NULL;
	}
	spin_unlock_bh(&conn->tx_lock);
	if (c)
		return m;
	if (sdp_txq_room(conn) <= 0)
		return NULL;
	c = sdp_ref_alloc(conn);
	if (!c)
		return NULL;
	m = sdp_tx_msg(v, v->tx_head);
	memset(m, 0, sizeof(*m));
	m->chunk = c;
	m->split = 1;
	*append = false;
	return m;
}

/**
 * sdp_txq_src_avail - queue a SrcAvail
 * @conn: connection
 * @from: the data
 * @n: bytes of it that go along, at most SDP_TX_SPLIT_MIN
 *
 * Context: lock_sock.
 *
 * Return: false if there is no room, no memory or a fault: nothing is queued.
 */
bool sdp_txq_src_avail(struct sdp_conn *conn, struct iov_iter *from, u32 n)
{
	struct sdp_verbs *v = conn->verbs;
	struct sdp_tx_msg *m;
	struct sdp_chunk *c;
	bool ok;

	if (sdp_txq_room(conn) <= 0)
		return false;
	c = sdp_txq_get_chunk(conn, n);
	if (!c)
		return false;
	m = sdp_tx_msg(v, v->tx_head);
	memset(m, 0, sizeof(*m));
	m->chunk = c;
	m->split = 1;	/* the header is longer than that of Data */
	m->avail = 1;
	m->off = ALIGN(c->used + SDP_BSDH_LEN, 8);
	pagefault_disable();
	ok = copy_from_iter_full(page_address(c->page) + m->off, n, from);
	pagefault_enable();
	if (ok)
		sdp_txq_commit(conn, m, n, false, false, true);
	return ok;
}

/**
 * sdp_txq_src_unavail - a SrcAvail that has not been sent becomes Data
 * @conn: connection; SrcAvail is the youngest message
 *
 * Context: tx_lock.
 */
void sdp_txq_src_unavail(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->verbs;

	lockdep_assert_held(&conn->tx_lock);
	sdp_tx_msg(v, v->tx_head - 1)->avail = 0;
}
