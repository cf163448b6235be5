/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection management: iw_cm operations, MPA start-up, tear-down.
 *
 * May call hyb_tcp, lib/iwarp/ and the QP functions of hybrid.h. Everything here
 * runs in process context, except where a function says otherwise.
 */
#ifndef HYB_CM_H
#define HYB_CM_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "iwarp/mpa.h"

struct hyb_dev;
struct hyb_lid;
struct hyb_qp;
struct ib_device;
struct ib_qp;
struct iw_cm_id;
struct iw_cm_conn_param;
struct sock;
struct socket;

/**
 * struct hyb_cm_dev - the connection manager's part of a device
 * @lock: protects @ceps, @lids, @down
 * @ceps: all connections
 * @lids: all listening cm_ids
 * @down: nothing new is started
 * @recall: with @down, until when hyb_tcp_recall() waits, jiffies
 * @requests: connections the ULP has to decide about, by number; referenced
 * @next: number of the next one
 * @users: one for the device, one per connection and listening cm_id
 * @idle: completed when @users is gone
 */
struct hyb_cm_dev {
	struct mutex lock;	/* list and flag */
	struct list_head ceps;
	struct list_head lids;
	bool down;
	unsigned long recall;
	struct xarray requests;
	u32 next;
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
	HYB_CEP_LINGER,		/* FIN sent, peer's awaited; no QP any more */
	HYB_CEP_DEAD,		/* no socket any more */
};

/* Bits of hyb_cep.events, for the connection's work item */
enum {
	HYB_EV_SOCK,		/* look at the socket */
	HYB_EV_TIMER,
	HYB_EV_EOF,		/* peer sent FIN, and all before it is consumed */
	HYB_EV_LOST,		/* TCP connection broke */
	HYB_EV_GRACEFUL,	/* local: close when the send queue is empty */
	HYB_EV_ABORT,		/* local: close now */
	HYB_EV_RESET,		/* local: by RST, nothing is sent any more */
	HYB_EV_ERROR,		/* a Terminate message is queued for sending */
	HYB_EV_TERM,		/* the peer sent a Terminate */
	HYB_EV_DRAINED,		/* what was to be sent is with TCP */
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
 * @id: cm_id to be told, referenced
 * @lid: passive: the listening cm_id, referenced, until the request is up
 * @qp: queue pair, referenced from connect or accept on
 * @live: queue pair whose engines run; changes under the socket's spinlock
 * @mute: no more payload is sent: it would be memory of requests that are flushed;
 *	  same lock
 * @discard: input is thrown away; same lock
 * @data_ready: the socket's own callback, as the following
 * @state_change: same
 * @write_space: same
 * @error_report: same
 * @events: HYB_EV_* not yet handled
 * @deadline: when @timer is due, in jiffies
 * @work: the state machine
 * @timer: of the state
 * @rev: MPA revision in use
 * @number: in hyb_cm_dev.requests, 0 if not there
 * @active: this side connected
 * @broken: it did not end as one side or the other wished
 * @lim: local side of the negotiation; later its result
 * @req: the Request
 * @rep: the Reply
 * @have: octets in @start->frame
 * @pdata_len: octets in @start->pdata
 * @start: NULL in full operation
 */
struct hyb_cep {
	struct kref ref;
	struct hyb_dev *dev;
	struct list_head node;
	struct mutex lock;	/* state machine */
	enum hyb_cep_state state;
	struct socket *sock;
	struct iw_cm_id *id;
	struct hyb_lid *lid;
	struct hyb_qp *qp;
	struct hyb_qp *live;
	bool mute;
	bool discard;
	bool active;
	bool broken;
	u8 rev;
	u32 number;

	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);

	unsigned long events;
	unsigned long deadline;
	struct work_struct work;
	struct delayed_work timer;

	struct mpa_limits lim;
	struct mpa_start req;
	struct mpa_start rep;
	u32 have;
	u16 pdata_len;
	struct hyb_cep_start *start;
};

void hyb_cep_free(struct kref *ref);

static inline void hyb_cep_get(struct hyb_cep *cep)
{
	kref_get(&cep->ref);
}

static inline void hyb_cep_put(struct hyb_cep *cep)
{
	kref_put(&cep->ref, hyb_cep_free);
}

/**
 * hyb_cep_event - tell a connection's work item that something happened
 * @cep: connection, referenced by the caller
 * @ev: HYB_EV_*
 *
 * Context: any.
 */
void hyb_cep_event(struct hyb_cep *cep, int ev);

/* How a connection ends by local decision */
enum hyb_close {
	HYB_CLOSE_GRACEFUL,	/* by FIN, after the send queue has been sent */
	HYB_CLOSE_ABORT,	/* by FIN, what is queued is flushed */
	HYB_CLOSE_RESET,	/* by RST, what TCP has not sent is dropped */
};

/**
 * hyb_qp_close - end the connection of a QP
 * @qp: queue pair, connected or not
 * @how: gracefully or not
 *
 * The QP leaves RTS at once; queues are flushed and the events delivered
 * later, from the connection's work item. Harmless when repeated.
 * Context: any, but not with the QP's TCP socket held.
 */
void hyb_qp_close(struct hyb_qp *qp, enum hyb_close how);

/*
 * The connection manager's part of a device: init sets it up, down ends all
 * connections and listeners, exit does the same and waits until nothing
 * refers to the device.
 *
 * hyb_cm_dev_down() must have returned before the net device leaves its
 * network namespace: the sockets do not hold the namespace. It may be called
 * with the RTNL held, and repeatedly; later connects fail.
 * hyb_cm_dev_exit() belongs behind ib_unregister_device().
 *
 * Who calls hyb_cm_dev_down() and is not the core has to hold the device, which is
 * not freed then until it is released. False: it has no connections any more.
 */
void hyb_cm_dev_init(struct hyb_dev *dev);
void hyb_cm_dev_down(struct hyb_dev *dev);
void hyb_cm_dev_exit(struct hyb_dev *dev);
bool hyb_cm_dev_hold(struct hyb_dev *dev);
void hyb_cm_dev_release(struct hyb_dev *dev);

/* struct ib_device_ops */
int hyb_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
int hyb_create_listen(struct iw_cm_id *id, int backlog);
int hyb_destroy_listen(struct iw_cm_id *id);
void hyb_iw_add_ref(struct ib_qp *ibqp);
void hyb_iw_rem_ref(struct ib_qp *ibqp);
struct ib_qp *hyb_iw_get_qp(struct ib_device *ibdev, int qpn);

int hyb_cm_init(void);
void hyb_cm_exit(void);

#endif
