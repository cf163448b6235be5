/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures of a connection: of the connection manager and of the TCP socket.
 *
 * Types, and the operations of hyb_obj on them: all layers include it.
 */
#ifndef HYB_CONN_H
#define HYB_CONN_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sock.h>
#include <rdma/rdma_stack.h>

#include "iwarp/mpa.h"

struct hyb_dev;
struct hyb_lid;
struct hyb_qp;
struct iw_cm_id;
struct kmem_cache;
struct pid;
struct socket;

/**
 * struct hyb_cm_dev - the connection manager's part of a device
 * @lock: protects @ceps, @lids, @down, @adder, @recall
 * @ceps: all connections
 * @lids: all listening cm_ids
 * @down: nothing new is started
 * @adder: task that makes the device known to the RDMA CM, or did so last, referenced;
 *	   or NULL
 * @recall: with @down, until when the network may have memory of requests, jiffies
 * @requests: connections the ULP has to decide about, by number; referenced
 * @next: number of the next one
 * @refused: connections with hyb_cep.refused
 * @users: one for the device, one per connection and listening cm_id
 * @idle: completed when @users is 0
 */
struct hyb_cm_dev {
	struct mutex lock;	/* see above */
	struct list_head ceps;
	struct list_head lids;
	bool down;
	struct pid *adder;
	unsigned long recall;
	struct xarray requests;
	u32 next;
	atomic_t refused;
	refcount_t users;
	struct completion idle;
};

/* Life of a connection. Transitions only under hyb_cep.lock. */
enum hyb_cep_state {
	HYB_CEP_IDLE,		/* being set up */
	HYB_CEP_CONNECT,	/* active: TCP handshake */
	HYB_CEP_WAIT_REP,	/* active: Request sent */
	HYB_CEP_WAIT_REQ,	/* passive: Request awaited */
	HYB_CEP_REQUEST,	/* passive: the ULP decides */
	HYB_CEP_RDMA,		/* full operation */
	HYB_CEP_DRAIN,		/* last FPDUs are going out */
	HYB_CEP_RECALL,		/* no socket, but packets with memory of requests */
	HYB_CEP_LINGER,		/* FIN sent, peer's awaited; no QP any more */
	HYB_CEP_DEAD,		/* no socket any more */
};

/* Bits of hyb_cep.events, for the connection's work item */
enum {
	HYB_EV_SOCK,		/* look at the socket */
	HYB_EV_TIMER,
	HYB_EV_EOF,		/* peer sent FIN, all before it is consumed or discarded */
	HYB_EV_LOST,		/* TCP connection broke */
	HYB_EV_GRACEFUL,	/* local: close when the send queue is empty */
	HYB_EV_ABORT,		/* local: close now */
	HYB_EV_RESET,		/* local: by RST, nothing is sent any more */
	HYB_EV_ERROR,		/* a Terminate message is queued for sending */
	HYB_EV_TERM,		/* the peer sent a Terminate */
	HYB_EV_DRAINED,		/* all data to be sent is with TCP */
	HYB_EV_EVICT,		/* too many connections wait for their Request */
	HYB_EV_RECALLED,	/* the network has no memory of requests any more */
};

/**
 * struct hyb_cep_start - what a connection needs while it starts up
 * @frame: start-up frame received or to be sent
 * @pdata: active: private data to send
 */
struct hyb_cep_start {
	u8 frame[MPA_START_MAX];
	u8 pdata[256];
};

/**
 * struct hyb_cep - one connection, from the socket's creation to its end
 * @ref: one each for: the socket's callbacks; @qp (as hyb_qp.cep); the entry
 *	 in hyb_cm_dev.requests; queued work; armed timer
 * @dev: device, counted in hyb_cm_dev.users
 * @node: entry of the device's list, which has a reference, too
 * @lock: serialises the state machine; taken before the socket's lock
 * @state: where in its life the connection is
 * @sock: the socket, NULL when released
 * @id: cm_id that gets the events, referenced
 * @lid: passive: the listening cm_id, referenced, until the request is up
 * @lid_node: entry of hyb_lid.peers[@peer].waiting, under its lock
 * @peer: hash of the peer's address
 * @qp: queue pair, referenced from connect or accept on
 * @live: queue pair whose engines run; changes under the socket's spinlock
 * @mute: no more payload is sent: it would be memory of requests that are flushed;
 *	  the socket's spinlock
 * @discard: input is discarded; changes while a task owns the socket
 * @data_ready: the socket's own callback
 * @state_change: the socket's own callback
 * @write_space: the socket's own callback
 * @error_report: the socket's own callback
 * @events: HYB_EV_* not yet handled
 * @busy: the task that has @lock handles @events before it releases it
 * @deadline: when @timer is due, in jiffies
 * @until: passive: when the upper layer must have the Request, in jiffies; at the end:
 *	   when TCP must be through, however slowly the peer reads
 * @acked: at the end: the peer's acknowledgment when @timer was armed
 * @work: the state machine
 * @timer: of the state
 * @rev: MPA revision in use
 * @number: in hyb_cm_dev.requests, 0 if not there
 * @active: this side connected
 * @broken: it ended by an error or an abort, see hyb_cep_breaks(), or with unsent data
 * @by_peer: in HYB_CEP_RECALL: the peer ended it
 * @refused: the ULP refused it; counted in hyb_cm_dev.refused until the socket is closed
 * @lim: local side of the negotiation; later its result
 * @req: the Request
 * @rep: the Reply
 * @have: bytes in @start->frame
 * @pdata_len: bytes in @start->pdata
 * @start: NULL from full operation on
 */
struct hyb_cep {
	struct kref ref;
	enum hyb_cep_state state;
	struct hyb_dev *dev;
	struct list_head node;
	struct mutex lock;	/* state machine */
	struct socket *sock;
	struct iw_cm_id *id;
	struct hyb_lid *lid;
	struct list_head lid_node;
	struct hyb_qp *qp;
	struct hyb_qp *live;
	u8 peer;
	bool mute;
	bool discard;
	bool active;
	bool broken;
	bool by_peer;
	bool refused;
	u8 rev;
	bool busy;

	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);

	unsigned long events;
	unsigned long deadline;
	unsigned long until;
	struct work_struct work;
	struct delayed_work timer;

	struct hyb_cep_start *start;
	struct mpa_limits lim;
	u32 number;
	u32 acked;
	u32 have;
	struct mpa_start req;
	struct mpa_start rep;
	u16 pdata_len;
};

void hyb_cep_free(struct kref *ref);

/**
 * hyb_cep_event - tell a connection's work item that something happened
 * @cep: connection, referenced by the caller
 * @ev: HYB_EV_*
 *
 * If a task has the connection, that task does the work, and no item is queued.
 *
 * Context: any.
 */
void hyb_cep_event(struct hyb_cep *cep, int ev);

static inline void hyb_cep_get(struct hyb_cep *cep)
{
	kref_get(&cep->ref);
}

static inline void hyb_cep_put(struct hyb_cep *cep)
{
	kref_put(&cep->ref, hyb_cep_free);
}

/* How a connection ends by local decision */
enum hyb_close {
	HYB_CLOSE_GRACEFUL,	/* by FIN, after the send queue has been sent */
	HYB_CLOSE_ABORT,	/* by FIN, what is queued is flushed */
	HYB_CLOSE_RESET,	/* by RST, what TCP has not sent is dropped */
};

/* Bits of hyb_tcp.todo: work left for the holder of the socket */
enum {
	HYB_TODO_TX,		/* transmit engine */
	HYB_TODO_RX,		/* receive engine */
	HYB_TODO_OOO,		/* a look at the out-of-order queue */
	HYB_TODO_FLUSH,		/* hyb_qp_flush_again(), only in hyb_tcp.later */
};

/**
 * struct hyb_tcp - a QP's hold on its TCP socket
 * @sk: the socket; set once at attach and referenced until hyb_tcp_fini_qp(),
 *	so that callers of ib_post_send may lock it at any time
 * @attached: the engines may run; changes only under the socket's spinlock
 * @todo: HYB_TODO_*
 * @later: HYB_TODO_* that @work adds to @todo, or does, when it runs
 * @work: runs the engines for callers with interrupts disabled, for callers
 *	  that run inside the engine of another QP, and as a retry timer
 * @batch: runs the receive engine after the packets that come in at a time
 * @lock: protects hyb_qp.cep, and changes of other fields of the queue pair as long as
 *	  there is no @sk, whose lock protects them later. Taken below the ownership of
 *	  the socket (lock_sock); hyb_sq.lock and hyb_rq.lock nest below it
 * @cpu: where the consumer ran last
 * @reclaim_from: when the last attempt to reclaim memory ended, the lower part of jiffies
 * @reclaim_wait: jiffies until the next one may begin
 * @reclaims: an attempt is under way; set by @work, cleared by the attempt
 * @ip: IP options of packets, if @ip_set; by the rules of rdma_stack_link.set_ip
 * @ip_set: the consumer has set @ip
 * @owner: by rdma_stack_link.set_owner, or NULL. Without a reference: the ULP keeps it
 *	   until the queue pair is destroyed, and that waits for the CEP, which reads this
 */
struct hyb_tcp {
	struct sock *sk;
	bool attached;
	unsigned long todo;
	unsigned long later;
	struct delayed_work work;
	struct tasklet_struct batch;
	spinlock_t lock;	/* see above */
	int cpu;
	u32 reclaim_from;
	u16 reclaim_wait;
	bool reclaims;
	bool ip_set;
	struct rdma_stack_ip ip;
	const struct sock *owner;
};

/* For "TCP socket held": by its spinlock, or by the task that owns it */
static inline void hyb_tcp_assert_held(const struct hyb_tcp *t)
{
	lockdep_assert(lockdep_sock_is_held(t->sk));
}

/* The state machines run on it; all connections are from the cache */
extern struct workqueue_struct *hyb_cm_wq;
extern struct kmem_cache *hyb_cep_cache;

void hyb_cm_dev_get(struct hyb_dev *dev);
void hyb_cm_dev_put(struct hyb_dev *dev);

/**
 * hyb_qp_notify_cep - notify the connection of a QP, if there is one, that something happened
 * @qp: queue pair
 * @ev: HYB_EV_*
 *
 * Context: any.
 */
void hyb_qp_notify_cep(struct hyb_qp *qp, int ev);

/**
 * hyb_qp_close - end the connection of a QP
 * @qp: queue pair, connected or not
 * @how: gracefully or not
 *
 * The QP leaves RTS at once; queues are flushed and the events delivered later, by the
 * connection's work item or the task that has the connection. Harmless when repeated.
 * Context: any, but not with the QP's TCP socket, hyb_tcp.lock or a lock below that held.
 */
void hyb_qp_close(struct hyb_qp *qp, enum hyb_close how);

/**
 * hyb_qp_close_here - as hyb_qp_close(), and the caller does the work
 * @qp: queue pair, which the caller keeps
 * @how: how
 *
 * Context: process, without a lock that is taken within hyb_cep.lock.
 */
void hyb_qp_close_here(struct hyb_qp *qp, enum hyb_close how);

#endif
