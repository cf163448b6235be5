/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of the flow control "rdma", see sdp_ring.c.
 */
#ifndef _SDP_RING_H
#define _SDP_RING_H

#include "sdp_conn.h"
#include "sdp_verbs.h"
#include "sdp_wire.h"

#define SDP_RING_PIECE		SDP_BUF_TRUESIZE	/* bytes that lie together */
#define SDP_RING_MIN		SDP_RING_PIECE	/* bytes; a power of two */
#define SDP_RING_MAX		SZ_2M
#define SDP_RING_INLINE		264	/* payload that goes along with a message */
#define SDP_RING_SLOT		(24 + SDP_RING_INLINE)	/* bytes of a receive */

static_assert(SDP_RING_MIN >= SDP_RING_LEN_MIN && SDP_RING_MIN <= SDP_RING_MAX);

/* Whether payload for a ring goes along with the message that announces it */
static inline bool sdp_ring_along(u32 bytes)
{
	return bytes <= SDP_RING_INLINE;
}

/**
 * struct sdp_ring - memory that the peer writes its payload to
 * @refs: one of the connection, while the peer may write, one of the socket,
 *	  until it is read
 * @base: rx_seq of the socket at the beginning of the ring
 * @size: bytes, a power of two
 * @nr: pages, each of SDP_RING_PIECE bytes
 * @page: the pages
 *
 * There is nothing in it but payload: the peer can change it at any time.
 */
struct sdp_ring {
	refcount_t refs;
	u32 base;
	u32 size;
	u32 nr;
	struct page *page[];
};

/* When a connection may send payload: follows net.sdp.rdma_progress (enum sdp_progress) */
enum sdp_ring_progress {
	SDP_RING_ANY,		/* whenever there is room */
	SDP_RING_APP,		/* in system calls only; the program is in one */
	SDP_RING_APP_AWAY,	/* in system calls only; the program is in none */
};

/**
 * struct sdp_ring_conn - state of a connection with the flow control "rdma", beside
 *			  struct sdp_conn
 * @conn: the connection
 * @mem: our ring; NULL after the teardown
 * @mr: its registration
 * @sg: @mem, for the device
 * @mapped: entries of @sg that are mapped
 * @cqe: of the registration and the writes, if they fail
 * @peer_len: size of the peer's ring; 0 until it is known
 * @peer_rkey: its key; valid with @peer_len
 * @peer_va: its address; valid with @peer_len
 * @freed: bytes that the peer has read from its ring, since the start; reception
 * @put: bytes written to the peer's ring, since the start; tx_lock
 * @advertised: bytes read from @mem, since the start, as the peer knows; tx_lock
 * @progress: enum sdp_ring_progress; lock_sock, lockless readers use READ_ONCE(). Without
 *	      the lock sdp_ring_wanted() changes SDP_RING_APP_AWAY to SDP_RING_APP
 * @imm: writes have immediate data
 *
 * sdp_ring_wanted() may cross sdp_ring_leave(). If SDP_RING_APP wins, payload may leave until
 * the next system call ends, as after any poll(). If SDP_RING_APP_AWAY wins, payload waits
 * for the next system call, as if poll() had come before. The lock would permit both, too.
 */
struct sdp_ring_conn {
	struct sdp_conn *conn;
	struct sdp_ring *mem;
	struct ib_mr *mr;
	struct scatterlist *sg;
	u32 mapped;
	struct ib_cqe cqe;
	u32 peer_len;
	u32 peer_rkey;
	u64 peer_va;
	u32 freed;
	u32 put;
	u32 advertised;
	u8 progress;
	bool imm;
};

/* sdp_ring.c */
#if IS_ENABLED(CONFIG_SDP_RESEARCH)
int sdp_ring_create(struct sdp_conn *conn);
void sdp_ring_destroy(struct sdp_conn *conn);
bool sdp_ring_tight(const struct sdp_sock *sdp);
void sdp_ring_drop(struct sdp_sock *sdp);
void sdp_ring_enter_app(struct sock *sk);
void sdp_ring_leave(struct sock *sk);
void sdp_ring_poll(struct sock *sk);
#else
static inline int sdp_ring_create(struct sdp_conn *conn)
{
	return -EOPNOTSUPP;
}

static inline void sdp_ring_destroy(struct sdp_conn *conn) { }

static inline bool sdp_ring_tight(const struct sdp_sock *sdp)
{
	return false;
}

static inline void sdp_ring_drop(struct sdp_sock *sdp) { }
static inline void sdp_ring_enter_app(struct sock *sk) { }
static inline void sdp_ring_leave(struct sock *sk) { }
static inline void sdp_ring_poll(struct sock *sk) { }
#endif

/* for sdp_fc_rdma.c */
u32 sdp_ring_unadvertised(const struct sdp_conn *conn);
bool sdp_ring_by_imm(const struct sdp_conn *conn, const struct sdp_tx_msg *m);
int sdp_ring_send_imm(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		      const struct sdp_tx_msg *m, u32 imm, bool signal);
int sdp_ring_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal);
u32 sdp_ring_advertise(struct sdp_conn *conn);
void sdp_ring_wanted(struct sdp_conn *conn);

/*
 * The program enters a system call on a socket. Returns whether sdp_ring_leave()
 * has to be called when it leaves. Context: as sdp_ring_enter_app().
 */
static inline bool sdp_ring_enter(struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!IS_ENABLED(CONFIG_SDP_RESEARCH) ||
	    likely(!conn || !conn->ring || !READ_ONCE(conn->ring->progress)))
		return false;
	sdp_ring_enter_app(sk);
	return true;
}

#endif /* _SDP_RING_H */
