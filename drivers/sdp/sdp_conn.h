/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection as an object, see sdp_conn.c.
 */
#ifndef _SDP_CONN_H
#define _SDP_CONN_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_stack.h>
#include <linux/sdp.h>

#include "sdp_port.h"
#include "sdp_sock.h"

struct sdp_fc_ops;
struct sdp_link_ops;
struct sdp_ring_conn;
struct sdp_shared;
struct sdp_verbs;
struct sdp_zc;
struct sdp_zc_ops;
struct sock;

/*
 * Bits of conn->tx_ctl: control messages that are to be sent, and what else the engine
 * has to do
 */
enum sdp_ctl {
	SDP_CTL_SENDSM,
	SDP_CTL_RD_COMPL,	/* zero copy: bytes have been read */
	SDP_CTL_SRC_CANCEL,
	SDP_CTL_MODE,		/* zero copy: ModeChange */
	SDP_CTL_SINK_AVAIL,	/* a reader waits */
	SDP_CTL_SINK_CANCEL,
	SDP_CTL_SINK_ACK,
	SDP_CTL_CHRCVBUF_ACK,
	SDP_CTL_FIRST,		/* empty Data: opens an iWARP stream, or acknowledges a
				 * DisConn that crossed ours
				 */
	SDP_CTL_RING,		/* tell the peer of our ring */
	/* no messages of their own */
	SDP_CTL_OOB_PEND,	/* flag for the next message of any kind */
	SDP_CTL_SETTLE,		/* verbs link: which messages are complete? */
	SDP_CTL_KEEPALIVE,	/* does the peer live? */
	SDP_CTL_PUSH,		/* shared link: send data that was delayed */
};

/* The message that a bit of tx_ctl asks for. sdp_ctl_msgs has them in the order of sending. */
struct sdp_ctl_msg {
	u8 bit;
	u8 mid;
};

#define SDP_CTL_MSGS	10
extern const struct sdp_ctl_msg sdp_ctl_msgs[SDP_CTL_MSGS];

/* Bits of conn->flags. */
enum sdp_conn_flags {
	SDP_CONN_IWARP,		/* transport is iWARP */
	SDP_CONN_ACTIVE,	/* we called connect */
	SDP_CONN_GROWS,		/* queues of the QP begin small, and grow */
	SDP_CONN_LEAN,		/* these queues are smaller than a verbs link needs */
	SDP_CONN_READY,		/* receives posted, or shared link open */
	SDP_CONN_UP,		/* transport connected; sends allowed */
	SDP_CONN_DOWN,		/* the teardown has begun */
	SDP_CONN_DOWN_DUE,	/* it may be queued, once connect() does not use the cm_id */
	SDP_CONN_DOWN_QUEUED,
	SDP_CONN_FENCED,	/* passive iWARP side before the first message */
	SDP_CONN_GRACEFUL,	/* both DisConn exchanged; or an orphan has to go while
				 * the transport holds its last data: no reset
				 */
	SDP_CONN_CM_CONNECTED,	/* rdma_disconnect() makes sense */
	SDP_CONN_ESTAB_COUNTED,	/* in CURR_ESTAB */
	SDP_CONN_SHARED,	/* shared link is open */
	SDP_CONN_ABORT,		/* sdp_cm_abort() has ended it: data may be lost */
	SDP_CONN_BAD,		/* the peer violated the protocol: ignore its messages */
	SDP_CONN_FLUSHED,	/* the QP has failed */
	SDP_CONN_CLOSED,	/* the provider has closed the shared link */
};

/* Progress of connect(), struct sdp_cm_state.step */
enum sdp_cm_step {
	SDP_CM_RESOLVING,
	SDP_CM_RESOLVED,	/* rdma_connect() is next */
	SDP_CM_CONNECTING,	/* after HelloAck, setup_work makes the link */
	SDP_CM_AGAIN,		/* setup_work tries another port */
	SDP_CM_DONE,		/* connected or failed, see sk_state */
};

/*
 * State of the task that begins an attempt, struct sdp_cm_state.call. That is connect(), or
 * setup_work that tries another port. Only that task changes it, and then the thread that
 * continues for it.
 */
enum sdp_cm_call {
	SDP_CALL_NONE,		/* nothing: setup_work or a thread calls rdma_connect() */
	SDP_CALL_STARTS,	/* uses the cm_id: no teardown yet */
	SDP_CALL_WAITS,		/* for the route, and continues with rdma_connect() */
	SDP_CALL_CONNECTS,	/* it, or its thread, calls rdma_connect(): no teardown yet */
};

/* How far the teardown has come, struct sdp_cm_state.hang_up */
enum sdp_cm_hang_up {
	SDP_HANG_UP_BEGINS,
	SDP_HANG_UP_WAITS,	/* for the peer; the next run of down_work goes on */
	SDP_HANG_UP_DONE,
};

/**
 * struct sdp_cm_state - how a connection is set up, and ended
 * @setup_work: next step of a set-up, out of the handlers of the RDMA CM
 * @hang_up: enum sdp_cm_hang_up; lock of the cm_id's handler to enter or leave
 *	     SDP_HANG_UP_WAITS
 * @gone: DISCONNECTED was seen, or the device goes; lock of the cm_id's handler
 * @listener: passive side until it is in an accept queue, with a reference; handlers of
 *	      the RDMA CM, and the teardown, which waits for them
 * @held_node: on the list of held requests of @listener, or with @answered on that of
 *	       unconfirmed connections; the listener's lock
 * @answered: the request is accepted, and InfiniBand's peer has to confirm; the
 *	      listener's lock
 * @makes_room: ended unconfirmed as a request needs its place; the listener's lock
 * @peer_list: hash of the peer's address, of a request
 * @step: enum sdp_cm_step; WRITE_ONCE(), with sdp->lock to become SDP_CM_RESOLVED, so that
 *	  either the task or the handler sees the state of the other
 * @call: enum sdp_cm_call; sdp->lock to leave SDP_CALL_WAITS for SDP_CALL_NONE
 * @err: why another port is to be tried, with SDP_CM_AGAIN
 * @walk: ports to connect from
 * @deadline: jiffies, for the address; with @answered, to confirm if others wait
 * @dst: destination of connect(), with the port of the device
 * @cred: credentials of the task that called connect(), for sockets that the device
 *	  makes; NULL on the passive side
 * @dial_task: thread that calls rdma_connect(), see sdp_dial.c; sdp_net.dial_lock
 * @dial_dev: device that it does so at, while it does; sdp_net.dial_lock
 */
struct sdp_cm_state {
	struct work_struct setup_work;
	u8 hang_up;
	bool gone;
	bool answered;
	bool makes_room;
	u8 peer_list;
	struct sock *listener;
	struct list_head held_node;
	u8 step;
	u8 call;
	int err;
	struct sdp_port_walk walk;
	unsigned long deadline;
	union sdp_addr dst;
	const struct cred *cred;
	struct task_struct *dial_task;
	struct ib_device *dial_dev;
};

/*
 * States of our DisConn, in this order. tx_lock protects them up to SDP_FIN_SENT; the
 * link sets the last one when DisConn is complete.
 */
enum sdp_tx_fin {
	SDP_FIN_NONE,
	SDP_FIN_WANTED,		/* after all data */
	SDP_FIN_SENT,
	SDP_FIN_DONE,		/* complete */
};

/**
 * struct sdp_terms - what the ends have offered and agreed to, and why
 * @link_reason: enum sdp_reason: why it is not a shared link
 * @fc_requested: SDP_FLOW_* that the program or the sysctl asks for
 * @fc_reason: enum sdp_reason: why it is not that
 * @ext: SDP_EXT_* but SDP_EXT_SHARED, offered or agreed to
 * @peer_ext: SDP_EXT_* in the Hello of the peer
 * @max_adverts: advertisements that the peer may have at a time
 *
 * Written while the connection is set up, fixed once it is established.
 */
struct sdp_terms {
	u8 link_reason;
	u8 fc_requested;
	u8 fc_reason;
	u8 ext;
	u8 peer_ext;
	u8 max_adverts;
};

/* struct sdp_probe.state */
enum sdp_probe_state {
	SDP_PROBE_NONE,
	SDP_PROBE_SETTLES,	/* earlier messages are complete when it is */
	SDP_PROBE_PROVES,	/* and the peer lives */
};

/**
 * struct sdp_probe - a request without bytes, posted to learn from its completion
 * @state: enum sdp_probe_state of the one that is posted; there is one at a time
 * @mseq: last MSeq before it
 * @proven: last MSeq that a probe has proved
 * @at: jiffies when it was posted
 * @cqe: its completion
 *
 * tx_lock, until it is posted; then the completion handler. Lockless readers use
 * READ_ONCE().
 */
struct sdp_probe {
	u8 state;
	u32 mseq;
	u32 proven;
	unsigned long at;
	struct ib_cqe cqe;
};

/**
 * struct sdp_timed - the send whose latency is measured, see sdp_latency.c
 * @begin: when it began, ns; 0: none is
 * @left: bytes up to its end that are not acknowledged
 *
 * The lock of tx_queued: tx_lock on a verbs link, sdp->lock on a shared one.
 */
struct sdp_timed {
	u64 begin;
	u32 left;
};

/*
 * struct sdp_conn - a transport connection and its buffers
 *
 * Lives from connect() or the connection request until the teardown work has
 * destroyed QP and cm_id; the socket may have moved on by then. Holds a
 * reference to its socket for its whole life. It is attached while
 * sdp_sk(sk)->conn points to it; that pointer is changed under lock_sock,
 * tx_lock and sdp->lock, so that each of them is enough to read it. A connection
 * request is attached without lock_sock: only sock_diag may use its socket already.
 *
 * @refs: one for the life up to the end of the teardown work, one for setup_work
 *	while it is queued or runs, one for a thread that connects (sdp_dial.c), and
 *	one for each task that still uses the connection when the socket may have lost
 *	it. The other work items have none: the teardown cancels them.
 */
struct sdp_conn {
	struct sock *sk;
	refcount_t refs;
	struct rcu_head rcu;		/* poll looks at it without a lock */
	unsigned long flags;
	const struct sdp_link_ops *link;
	const struct sdp_fc_ops *fc;
	const struct sdp_zc_ops *zco;	/* NULL: no zero copy so far */
	struct sdp_zc *zc;		/* sdp_zc_none until a verbs link starts */
	const struct rdma_stack_link *stack;	/* NULL: no shared link */
	struct sdp_shared *shared;	/* set when the shared link opens */
	struct sdp_verbs *verbs;	/* set when a verbs link starts */
	struct sdp_ring_conn *ring;	/* set when the flow control is "rdma" */
	struct rdma_cm_id *id;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct delayed_work down_work;
	struct delayed_work kick_work;	/* corked data waited long enough, memory
					 * may be there again
					 */
	struct work_struct ctl_work;	/* shared link: a callback has found
					 * something to send; verbs link:
					 * receives, memory for a message, or a
					 * larger send queue are wanted
					 */
	struct sdp_cm_state cm;
	wait_queue_head_t wait;		/* tasks that wait for the connection */

	/*
	 * receive half; the set-up determines the first four. Of the others reception is
	 * the only writer, with sdp->lock, where nothing else is said
	 */
	u32 rx_start;			/* receives that it starts with; fixed */
	u32 rx_size;			/* bytes that may come in one; fixed */
	u32 rx_max;			/* receives that there are structures for;
					 * lock_sock to grow
					 */
	u32 rx_top;			/* and may be; fixed */
	u32 rx_mseq;			/* last message processed */
	bool rx_update;			/* it was a credit update */
	u8 rx_mode;			/* enum sdp_mode */
	bool rx_discon;			/* DisConn received */
	bool rx_src_avail;		/* SrcAvail not yet answered; readers and the
					 * engine clear it, too
					 */
	u32 peer_total;			/* Bufs + MSeqAck of the peer; the first by
					 * Hello or HelloAck
					 */
	u32 peer_ack;			/* MSeqAck of the peer */

	/* transmit half and posting */
	spinlock_t tx_lock ____cacheline_aligned_in_smp;
	u32 tx_mseq;			/* last MSeq given out */
	u32 tx_queued;			/* payload bytes not acknowledged; verbs link:
					 * after tx_acct. For its lock see struct
					 * sdp_timed
					 */
	u32 tx_max_payload;		/* bytes of payload of one message */
	u32 tx_pieces;			/* pieces of payload of one message; 0: copy it */
	u32 tx_start;			/* sends in flight that it starts with */
	unsigned long tx_ctl;		/* enum sdp_ctl */
	struct sdp_probe probe;
	struct sdp_timed timed;
	bool tx_away;			/* a sender is away, see sdp_conn_leave() */
	u32 tx_waiters;			/* others that wait for it */
	u8 tx_fin;			/* enum sdp_tx_fin */
	u32 fin_mseq;			/* verbs link: MSeq of our DisConn, once sent */

	/* of neither half; here, they fill the last cache line */
	struct sdp_terms terms;
	unsigned int nr_cqe;
	struct rdma_stack_ip ip;	/* as last set at the device */
	int error;			/* why it ended, for sk_err */
};

/* Our DisConn is wanted, and not complete. Any context; may be stale at once. */
static inline bool sdp_conn_fin_busy(const struct sdp_conn *conn)
{
	u8 fin = READ_ONCE(conn->tx_fin);

	return fin == SDP_FIN_WANTED || fin == SDP_FIN_SENT;
}

/* The next message will be our DisConn, on a verbs link. Context: tx_lock. */
static inline void sdp_conn_fin_sent(struct sdp_conn *conn)
{
	conn->fin_mseq = conn->tx_mseq + 1;
	/* pairs with sdp_conn_fin_waits() */
	smp_store_release(&conn->tx_fin, SDP_FIN_SENT);
}

/*
 * Did the connection end without an error? @error is its conn->error. After both DisConns
 * the failure of the queue pair (ECONNRESET) is no error. But a software device completes a
 * Send, also that of our DisConn, when TCP has it. So a peer that does not answer, or the
 * removal of the device, is an error even then. Any context; may be stale at once.
 */
static inline bool sdp_conn_graceful(const struct sdp_conn *conn, int error)
{
	return test_bit(SDP_CONN_GRACEFUL, &conn->flags) ||
	       (error == ECONNRESET && READ_ONCE(conn->rx_discon) &&
		READ_ONCE(conn->tx_fin) == SDP_FIN_DONE);
}

/* sdp_conn.c */
extern struct sdp_zc sdp_zc_none;
int sdp_conn_init(void);
bool sdp_conn_delays(const struct sdp_conn *conn);
bool sdp_conn_fin_waits(const struct sdp_conn *conn, u32 ack);
void sdp_conn_exit(void);
struct sdp_shared *sdp_conn_alloc_shared(void);
void sdp_conn_free_shared(struct sdp_shared *shared);
void sdp_conn_put(struct sdp_conn *conn);
struct sdp_conn *sdp_conn_alloc(struct sock *sk, bool again, gfp_t gfp);
void sdp_conn_down(struct sdp_conn *conn, int error);
void sdp_conn_id_done(struct sdp_conn *conn);
void sdp_conn_ended(struct sock *sk, struct sdp_conn *conn);
void sdp_conn_flushed(struct sdp_conn *conn);
void sdp_conn_fin_done(struct sdp_conn *conn);
void sdp_conn_wake(struct sdp_conn *conn);
void sdp_conn_kick(struct sdp_conn *conn);
void sdp_conn_ctl(struct sdp_conn *conn, unsigned int bit);
void sdp_conn_fin(struct sdp_conn *conn);
void sdp_conn_count(struct sdp_conn *conn, u32 payload, bool data);
bool sdp_conn_wc_bad(struct sdp_conn *conn, const struct ib_wc *wc);
void sdp_conn_want_space(struct sock *sk);
void sdp_conn_leave(struct sdp_conn *conn);
void sdp_conn_return(struct sdp_conn *conn);
int sdp_conn_fault_in(struct sock *sk, struct iov_iter *from, size_t len);
int sdp_conn_push(struct sock *sk);
u32 sdp_conn_outq(const struct sock *sk);
u32 sdp_conn_unsent(const struct sock *sk);
u32 sdp_conn_max_payload(const struct sock *sk);
u32 sdp_conn_progress(const struct sock *sk);
enum sdp_reason sdp_conn_zcopy_reason(const struct sdp_conn *conn);
unsigned long sdp_conn_user_tick(unsigned long limit);
void sdp_conn_watch_user(struct sock *sk);

#endif /* _SDP_CONN_H */
