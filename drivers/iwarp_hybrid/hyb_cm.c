// SPDX-License-Identifier: GPL-2.0
/*
 * Connection management. See hyb_cm.h.
 *
 * Every connection is an object with a state machine (enum hyb_cep_state).
 * Every event, in softirq or in a call of the IW CM, sets a bit, and the state
 * machine takes the next step in a work item, or before the task that has the
 * connection lets go of it (hyb_cep_unlock()). Calls of the IW CM take the lock
 * themselves.
 *
 * Locks, outermost first: hyb_cep.lock; hyb_lsock_port.lock; hyb_lsock.lock;
 * hyb_lid.id_lock; hyb_cm_dev.lock; the socket's. Of these a connection takes its own,
 * those of its listener, which are not that of the port, and, for an entry of a list,
 * that of the device. None of them is held while waiting for the RTNL, hence
 * hyb_cm_dev_down() may be called with it held.
 *
 * The IW CM gets only the events that it accepts: CONNECT_REPLY once, CLOSE once
 * and only after an established connection; else it panics.
 */
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_stack_addr.h>
#include <rdma/rdma_stack_sock.h>

#include "compat.h"
#include "hyb_cm.h"
#include "hyb_fpdu.h"
#include "hyb_rx.h"
#include "hyb_sched.h"
#include "hyb_shared.h"
#include "hyb_tcp.h"
#include "hyb_tx.h"
#include "hybrid.h"
#include "iwarp/crc.h"

/* Timeouts, in jiffies */
#define HYB_T_CONNECT	(20 * HZ)	/* TCP handshake */
#define HYB_T_REPLY	(15 * HZ)	/* the peer's program decides */
#define HYB_T_REQUEST	(10 * HZ)	/* Request complete after accept */
#define HYB_T_DECIDE	(60 * HZ)	/* Request complete, ULP's decision */
#define HYB_T_DRAIN	(5 * HZ)	/* last FPDUs with TCP */
#define HYB_T_FLUSH	(1 * HZ)	/* same, when the ULP wants out */
#define HYB_T_LINGER	(10 * HZ)	/* FIN of the peer after ours */

/*
 * Connections of a listening cm_id that have not sent a Request. One more ends
 * the oldest of the address that has most, so that silent peers do not shut out
 * those that talk. Ending takes a moment: from twice as many on new ones are
 * refused.
 */
#define HYB_MAX_STARTING	1024
#define HYB_PEERS		64

#define HYB_T_LISTEN	HZ	/* another try to listen */

/* Requests that the IW CM has no place for, as long as it has to handle others */
#define HYB_T_AGAIN	(HZ / 50 + 1)

#define HYB_LSOCK_PORTS	256	/* lists of listening sockets, by their port */

/**
 * struct hyb_lsock - a listening socket
 * @ref: one for @links not being empty, one for queued work
 * @node: entry of hyb_lsocks[]
 * @net: namespace, not referenced: the devices close the socket before it goes
 * @lock: protects @sock and, with that of the port, @links
 * @links: cm_ids that listen here: one for each device, if a wildcard
 * @sock: the socket, NULL when closed
 * @addr: address and port
 * @ifindex: net device it is bound to, 0 for none
 * @backlog: of listen()
 * @work: accepts connections
 * @data_ready: the socket's own callback
 * @state_change: the same
 */
struct hyb_lsock {
	struct kref ref;
	struct hlist_node node;
	struct mutex lock;	/* see above */
	struct list_head links;
	struct net *net;
	struct socket *sock;
	struct sockaddr_storage addr;
	int ifindex;
	int backlog;
	struct delayed_work work;
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
};

/* Membership of a cm_id in a socket */
struct hyb_link {
	struct list_head node;
	struct hyb_lid *lid;
	struct hyb_lsock *ls;
};

/* Sockets of a cm_id: IPv6 and IPv4, on the net device and on loopback */
#define HYB_LID_LINKS	4

/**
 * struct hyb_lid - a listening cm_id
 * @ref: one for the IW CM until destroy_listen, one for each connection
 *	 whose Request is not complete
 * @dev: device, counted in hyb_cm_dev.users
 * @id_lock: protects @id
 * @id: cm_id, referenced; NULL when destroyed, which it is not while it has @links
 * @node: entry of hyb_cm_dev.lids, under hyb_cm_dev.lock
 * @at: port of its sockets
 * @link: sockets; under the lock of the port
 * @links: how many; the same
 * @starting: connections whose Request is not complete
 * @seed: of the hash of addresses
 * @lock: of @peers
 * @peers: those of them that have not been ended, by hash of the peer's address; each
 *	   oldest first, and how many
 */
struct hyb_lid {
	struct kref ref;
	struct hyb_dev *dev;
	struct mutex id_lock;	/* @id */
	struct iw_cm_id *id;
	struct list_head node;
	struct hyb_lsock_port *at;
	struct hyb_link link[HYB_LID_LINKS];
	int links;
	atomic_t starting;
	u32 seed;
	spinlock_t lock;	/* @peers */
	struct {
		struct list_head waiting;
		u32 nr;
	} peers[HYB_PEERS];
};

/* Listening sockets whose ports have the same remainder, in all namespaces */
static struct hyb_lsock_port {
	struct mutex lock;	/* @list */
	struct hlist_head list;
} hyb_lsocks[HYB_LSOCK_PORTS];

/* ------------------------------------------------------ object and events */

static void hyb_lid_free(struct kref *ref)
{
	struct hyb_lid *lid = container_of(ref, struct hyb_lid, ref);

	hyb_cm_dev_put(lid->dev);
	kfree(lid);
}

static void hyb_lid_put(struct hyb_lid *lid)
{
	kref_put(&lid->ref, hyb_lid_free);
}

/* Start-up is over, and what the peer has sent was handed on */
static void hyb_cep_started(struct hyb_cep *cep)
{
	kfree(cep->start);
	cep->start = NULL;
}

static void hyb_cep_timeout(struct work_struct *work)
{
	struct hyb_cep *cep = container_of(to_delayed_work(work),
					   struct hyb_cep, timer);

	hyb_cep_event(cep, HYB_EV_TIMER);
	hyb_cep_put(cep);
}

static void hyb_cep_step(struct hyb_cep *cep, unsigned long ev);

static void hyb_cep_lock(struct hyb_cep *cep)
{
	mutex_lock(&cep->lock);
	WRITE_ONCE(cep->busy, true);
}

/* Take the steps that are due meanwhile, too. The caller has a reference. */
static void hyb_cep_unlock(struct hyb_cep *cep)
{
	unsigned long ev;

	for (;;) {
		/* full barrier, pairs with hyb_cep_event() */
		smp_store_mb(cep->busy, false);
		if (!READ_ONCE(cep->events))
			break;
		WRITE_ONCE(cep->busy, true);
		ev = xchg(&cep->events, 0);
		/* the timer may have been armed again since it fired */
		if (time_before(jiffies, cep->deadline))
			ev &= ~BIT(HYB_EV_TIMER);
		if (ev)
			hyb_cep_step(cep, ev);
	}
	mutex_unlock(&cep->lock);
}

/* One timer: arming it for a state forgets the former one */
static void hyb_cep_arm(struct hyb_cep *cep, unsigned long delay)
{
	cep->deadline = jiffies + delay;
	hyb_cep_get(cep);
	if (mod_delayed_work(hyb_cm_wq, &cep->timer, delay))
		hyb_cep_put(cep);
}

static void hyb_cep_disarm(struct hyb_cep *cep)
{
	if (cancel_delayed_work(&cep->timer))
		hyb_cep_put(cep);
}

static void hyb_cep_work(struct work_struct *work);

/* The caller holds the one reference; listed, hence found by dev_down */
static struct hyb_cep *hyb_cep_new(struct hyb_dev *dev)
{
	struct hyb_cep *cep = kmem_cache_zalloc(hyb_cep_cache, GFP_KERNEL);

	if (!cep)
		return NULL;
	cep->start = kmalloc(sizeof(*cep->start), GFP_KERNEL);
	if (!cep->start) {
		kmem_cache_free(hyb_cep_cache, cep);
		return NULL;
	}
	kref_init(&cep->ref);
	mutex_init(&cep->lock);
	INIT_LIST_HEAD(&cep->node);
	INIT_LIST_HEAD(&cep->lid_node);
	INIT_WORK(&cep->work, hyb_cep_work);
	INIT_DELAYED_WORK(&cep->timer, hyb_cep_timeout);
	cep->dev = dev;
	cep->state = HYB_CEP_IDLE;
	cep->lim.crc = READ_ONCE(dev->crc);
	cep->lim.markers = READ_ONCE(dev->markers);
	cep->lim.ivl = READ_ONCE(dev->marker_ivl);
	hyb_cm_dev_get(dev);
	return cep;
}

/* Join the device's list, which has a reference; refused when it goes down */
static int hyb_cep_enlist(struct hyb_cep *cep)
{
	struct hyb_cm_dev *cm = &cep->dev->cm;
	int err = 0;

	mutex_lock(&cm->lock);
	if (cm->down) {
		err = -ENODEV;
	} else {
		hyb_cep_get(cep);
		list_add_tail(&cep->node, &cm->ceps);
	}
	mutex_unlock(&cm->lock);
	return err;
}

static void hyb_cep_delist(struct hyb_cep *cep)
{
	struct hyb_cm_dev *cm = &cep->dev->cm;
	bool was;

	mutex_lock(&cm->lock);
	was = !list_empty(&cep->node);
	list_del_init(&cep->node);
	mutex_unlock(&cm->lock);
	if (was)
		hyb_cep_put(cep);
}

/*
 * A cm_id knows a connection that is not accepted yet by a number: the IW CM may
 * drop the event silently, hence it cannot have a reference.
 */
static int hyb_request_add(struct hyb_cep *cep)
{
	struct hyb_cm_dev *cm = &cep->dev->cm;
	int err;

	err = xa_alloc_cyclic(&cm->requests, &cep->number, cep, xa_limit_31b,
			      &cm->next, GFP_KERNEL);
	if (err < 0)
		return err;
	hyb_cep_get(cep);
	return 0;
}

static void hyb_request_del(struct hyb_cep *cep)
{
	if (!cep->number)
		return;
	/* the task that erases it owns the reference */
	if (xa_erase(&cep->dev->cm.requests, cep->number))
		hyb_cep_put(cep);
	cep->number = 0;
}

/* The connection a cm_id stands for, with the reference; NULL if it is gone */
static struct hyb_cep *hyb_request_take(struct iw_cm_id *id)
{
	struct hyb_dev *dev = hyb_dev_of(id->device);
	unsigned long number = (unsigned long)id->provider_data;

	id->provider_data = NULL;
	return number ? xa_erase(&dev->cm.requests, number) : NULL;
}

/* The connection is over and its socket closed */
static void hyb_cep_dead(struct hyb_cep *cep)
{
	lockdep_assert_held(&cep->lock);
	cep->state = HYB_CEP_DEAD;
	hyb_request_del(cep);
	hyb_cep_disarm(cep);
	hyb_cep_delist(cep);
}

/* ----------------------------------------------------------- queue pair */

static int hyb_cep_bind(struct hyb_cep *cep, struct hyb_qp *qp)
{
	int err = -EISCONN;

	spin_lock_irq(&qp->tcp.lock);
	/* seen here, or hyb_qp_close() sees the connection */
	if (hyb_qp_state(qp) == HYB_QP_ERROR) {
		err = -EINVAL;
	} else if (!qp->cep && !qp->tcp.sk) {
		hyb_cep_get(cep);
		hyb_qp_get(qp);
		qp->cep = cep;
		cep->qp = qp;
		err = 0;
	}
	spin_unlock_irq(&qp->tcp.lock);
	return err;
}

static void hyb_cep_unbind(struct hyb_cep *cep)
{
	struct hyb_qp *qp = cep->qp;

	if (!qp)
		return;
	spin_lock_irq(&qp->tcp.lock);
	qp->cep = NULL;
	spin_unlock_irq(&qp->tcp.lock);
	cep->qp = NULL;
	hyb_qp_put(qp);
	hyb_cep_put(cep);
}

/* hyb_iw_get_qp() has, and the IW CM calls nothing in between */
void hyb_iw_add_ref(struct ib_qp *ibqp)
{
}

void hyb_iw_rem_ref(struct ib_qp *ibqp)
{
	hyb_qp_put(hyb_qp_of(ibqp));
}

/**
 * hyb_iw_get_qp - ib_device_ops.iw_get_qp
 * @ibdev: device
 * @qpn: number
 *
 * The IW CM takes a reference with iw_add_ref next. A user may name any QP, and
 * it may be destroyed before that: so the reference is taken here.
 *
 * Return: the QP, referenced, or NULL.
 */
struct ib_qp *hyb_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct hyb_qp *qp = hyb_qp_lookup(hyb_dev_of(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/*
 * The QP that a cm_id is to be connected with, referenced; NULL if it must not
 * be. The RDMA CM, whose object begins with a struct rdma_cm_id, is the only user
 * of the IW CM. It knows the QP of an upper layer of the kernel. Programs give
 * the number of one that they have created themselves, no other.
 */
static struct hyb_qp *hyb_cm_qp(const struct iw_cm_id *id, u32 qpn)
{
	struct hyb_qp *qp = hyb_qp_lookup(hyb_dev_of(id->device), qpn);
	const struct rdma_cm_id *cm_id = id->context;
	bool own;

	if (!qp)
		return NULL;
	if (cm_id->qp)
		own = cm_id->qp == &qp->ibqp;
	else
		own = qp->owner && qp->owner == task_tgid(current);
	if (own)
		return qp;
	hyb_qp_put(qp);
	return NULL;
}

/* ----------------------------------------------------------- upcalls */

static void hyb_sockname(struct socket *sock, struct sockaddr_storage *local,
			 struct sockaddr_storage *peer)
{
	memset(local, 0, sizeof(*local));
	memset(peer, 0, sizeof(*peer));
	kernel_getsockname(sock, (struct sockaddr *)local);
	kernel_getpeername(sock, (struct sockaddr *)peer);
}

/* IPv4 over an IPv6 socket is IPv4 for the RDMA CM */
static void hyb_unmap_v4(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 in6 = *(struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	if (addr->ss_family != AF_INET6 ||
	    !ipv6_addr_v4mapped(&in6.sin6_addr))
		return;
	memset(addr, 0, sizeof(*addr));
	in->sin_family = AF_INET;
	in->sin_port = in6.sin6_port;
	in->sin_addr.s_addr = in6.sin6_addr.s6_addr32[3];
}

static void hyb_upcall_private(struct hyb_cep *cep, struct iw_cm_event *event)
{
	const struct mpa_start *s = cep->active ? &cep->rep : &cep->req;

	event->private_data = cep->start->frame + s->pd_off;
	event->private_data_len = s->pd_len;
}

/*
 * The negotiated limits. In all events the RDMA CM takes "ird" for the Reads that
 * the peer responds to, that is, those which this side may have under way.
 */
static void hyb_upcall_depth(const struct hyb_cep *cep,
			     struct iw_cm_event *event)
{
	event->ird = cep->lim.ord;
	event->ord = cep->lim.ird;
}

/*
 * Answer of the peer, or that there is none. The cm_id is kept on success: false
 * if it is not. The IW CM copies private data, and without memory for that takes
 * the event as not reported; a failure without any it always takes. It has to
 * know of one or the other before CLOSE.
 */
static bool hyb_upcall_reply(struct hyb_cep *cep, int status, bool pdata)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
	};

	hyb_upcall_depth(cep, &event);
	if (cep->sock)
		hyb_sockname(cep->sock, &event.local_addr, &event.remote_addr);
	if (pdata)
		hyb_upcall_private(cep, &event);
	if (cep->id->event_handler(cep->id, &event)) {
		event.private_data_len = 0;
		event.status = status ?: -ENOMEM;
		cep->id->event_handler(cep->id, &event);
	}
	if (!event.status)
		return true;
	cep->id->rem_ref(cep->id);
	cep->id = NULL;
	return false;
}

static void hyb_upcall_established(struct hyb_cep *cep)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED };

	hyb_upcall_depth(cep, &event);
	cep->id->event_handler(cep->id, &event);
}

/* The end of an established connection; the cm_id is let go */
static void hyb_upcall_close(struct hyb_cep *cep, bool by_peer)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_DISCONNECT };
	struct iw_cm_id *id = cep->id;

	if (!id)
		return;
	cep->id = NULL;
	if (by_peer)
		id->event_handler(id, &event);
	event.event = IW_CM_EVENT_CLOSE;
	id->event_handler(id, &event);
	id->rem_ref(id);
}

/* A Request is complete: pass the connection to the ULP's listener */
static int hyb_upcall_request(struct hyb_cep *cep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.ird = min_t(u32, cep->req.ird, HYB_MAX_RD_ATOM),
		.ord = min_t(u32, cep->req.ord, HYB_MAX_RD_ATOM),
	};
	struct hyb_lid *lid = cep->lid;
	int err = -ECONNABORTED;

	if (!cep->req.enhanced) {
		event.ird = HYB_MAX_RD_ATOM;
		event.ord = HYB_MAX_RD_ATOM;
	}
	hyb_sockname(cep->sock, &event.local_addr, &event.remote_addr);
	hyb_unmap_v4(&event.local_addr);
	hyb_unmap_v4(&event.remote_addr);
	hyb_upcall_private(cep, &event);

	if (hyb_request_add(cep))
		return -ENOMEM;
	event.provider_data = (void *)(unsigned long)cep->number;
	mutex_lock(&lid->id_lock);
	if (lid->id)
		err = lid->id->event_handler(lid->id, &event);
	mutex_unlock(&lid->id_lock);
	if (err)
		hyb_request_del(cep);
	return err;
}

/* --------------------------------------------------------- MPA frames */

static int hyb_mpa_send(struct hyb_cep *cep, const u8 *frame, size_t len)
{
	struct sock *sk = cep->sock->sk;
	int err;

	lock_sock(sk);
	err = hyb_tcp_send_frame(sk, frame, len);
	release_sock(sk);
	return err;
}

/*
 * Take the bytes of a start-up frame, and none behind it. Returns 1 when it
 * is complete, 0 when not, -ECONNRESET at the end of the stream, MPA_START_*
 * when it is bad.
 */
static int hyb_mpa_recv(struct hyb_cep *cep, struct mpa_start *s)
{
	u32 want = MPA_HDR_LEN;
	int ret;

	for (;;) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
		struct kvec iov = { .iov_base = cep->start->frame + cep->have };

		if (cep->have >= MPA_HDR_LEN)
			want = MPA_HDR_LEN + min_t(u32, MPA_PD_MAX,
						   proto_get16(cep->start->frame + 18));
		ret = mpa_start_parse(cep->start->frame, cep->have, cep->active, s);
		if (ret)
			return min(ret, 1);

		iov.iov_len = want - cep->have;
		ret = kernel_recvmsg(cep->sock, &msg, &iov, 1, iov.iov_len,
				     MSG_DONTWAIT);
		if (ret == -EAGAIN)
			return 0;
		if (ret <= 0)
			return -ECONNRESET;
		cep->have += ret;
	}
}

/* ------------------------------------------------------------ the end */

/**
 * hyb_cep_stop - take the queue pair off the connection
 * @cep: connection, its lock held
 * @by_peer: the peer ended it
 *
 * The engines stop, the queues are flushed, the ULP gets its event, references to
 * the QP and the cm_id are dropped. The socket stays, unless TCP would have to
 * send from memory of requests that are flushed: the consumer may use that memory
 * for something else then.
 */
static void hyb_cep_stop(struct hyb_cep *cep, bool by_peer)
{
	struct hyb_qp *qp = cep->qp;

	lockdep_assert_held(&cep->lock);
	hyb_tcp_detach(cep, qp);
	if (hyb_fpdu_lends(qp))
		hyb_tcp_recall(cep, qp);
	hyb_tx_abandon(qp);
	hyb_rx_abandon(qp);
	hyb_qp_set_state(qp, HYB_QP_ERROR);
	hyb_qp_flush(qp);
	hyb_upcall_close(cep, by_peer);
	hyb_cep_unbind(cep);
}

/* Close the socket now */
static void hyb_cep_drop(struct hyb_cep *cep, bool reset)
{
	hyb_tcp_release(cep, reset);
	hyb_cep_dead(cep);
}

/*
 * Send FIN, then wait until TCP is through with the connection: a kernel
 * socket, which does not hold the namespace, does not retransmit any more
 * when it is closed.
 */
static void hyb_cep_linger(struct hyb_cep *cep)
{
	struct sock *sk = cep->sock->sk;

	lock_sock(sk);
	cep->discard = true;
	tcp_read_done(sk, tcp_inq(sk));
	release_sock(sk);
	kernel_sock_shutdown(cep->sock, SHUT_WR);
	if (READ_ONCE(sk->sk_state) == TCP_CLOSE) {
		hyb_cep_drop(cep, false);
		return;
	}
	cep->state = HYB_CEP_LINGER;
	hyb_cep_arm(cep, HYB_T_LINGER);
}

/* Full operation is over */
static void hyb_cep_finish(struct hyb_cep *cep, bool by_peer)
{
	hyb_stats_inc(cep->dev, cep->broken ? HYB_ST_CM_ABORT : HYB_ST_CM_CLOSE);
	hyb_cep_stop(cep, by_peer);
	if (cep->sock)
		hyb_cep_linger(cep);
	else
		hyb_cep_dead(cep);
}

/* Full operation is over, and the peer shall know that data are lost */
static void hyb_cep_reset(struct hyb_cep *cep)
{
	hyb_stats_inc(cep->dev, HYB_ST_CM_ABORT);
	hyb_cep_stop(cep, false);
	hyb_cep_drop(cep, true);
}

/*
 * Start-up of an active connection failed. The ULP may connect the queue pair
 * again as soon as it gets the event.
 */
static void hyb_cep_fail(struct hyb_cep *cep, int status, bool pdata)
{
	hyb_stats_inc(cep->dev, HYB_ST_CM_ABORT);
	hyb_cep_unbind(cep);
	hyb_upcall_reply(cep, status, pdata);
	hyb_cep_linger(cep);
}

/* --------------------------------------------------- active connections */

static int hyb_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

static void hyb_addr_no_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = 0;
	else
		((struct sockaddr_in *)addr)->sin_port = 0;
}

/* The local address of a cm_id. On lo it may be the alias of one, see rdma_stack_flip(). */
static struct sockaddr_storage hyb_local_addr(const struct iw_cm_id *id)
{
	const struct net_device *netdev = hyb_dev_of(id->device)->netdev;
	struct sockaddr_storage addr = id->m_local_addr, flipped = addr;

	rdma_stack_flip((struct sockaddr *)&flipped);
	return netdev->flags & IFF_LOOPBACK &&
	       rdma_stack_loopback((struct sockaddr *)&flipped) ? flipped : addr;
}

/*
 * A new socket gets the control group of the owner, and IP options for its packets: from
 * the RDMA CM, unless the ULP has set them all.
 */
static void hyb_cep_set_sock(struct hyb_cep *cep, struct sock *sk)
{
	const struct iw_cm_id *id = cep->id;

	if (cep->qp->tcp.owner)
		rdma_stack_sock_cgroup(sk, cep->qp->tcp.owner);
	if (id->tos_set && sk->sk_family == AF_INET)
		ip_sock_set_tos(sk, id->tos);
	lock_sock(sk);
	hyb_sched_use_ip(cep->qp, sk);
	release_sock(sk);
}

/* Bind and begin to connect; the handshake goes on without us */
static int hyb_dial_socket(struct socket *sock, const struct iw_cm_id *id,
			   bool any_port)
{
	struct sockaddr_storage local = hyb_local_addr(id);
	struct sockaddr_storage peer = id->m_remote_addr;
	int err;

	if (any_port)
		hyb_addr_no_port(&local);
	err = kernel_bind(sock, (struct sockaddr_unsized *)&local,
			  hyb_addr_len(&local));
	if (!err)
		err = kernel_connect(sock, (struct sockaddr_unsized *)&peer,
				     hyb_addr_len(&peer), O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

/*
 * The port was chosen by the RDMA CM, which does not know what TCP has in
 * use: if it is taken, let TCP choose.
 */
static int hyb_cep_dial(struct hyb_cep *cep)
{
	struct net *net = dev_net(cep->dev->netdev);
	struct iw_cm_id *id = cep->id;
	struct socket *sock;
	int try, err = 0;

	for (try = 0; try < 2; try++) {
		err = hyb_tcp_create(net, id->m_local_addr.ss_family, &sock);
		if (err)
			return err;
		hyb_cep_set_sock(cep, sock->sk);
		/* the Request acknowledges the peer's SYN */
		tcp_sock_set_quickack(sock->sk, 0);
		err = hyb_tcp_adopt(cep, sock);
		if (err) {
			sock_release(sock);
			return err;
		}
		err = hyb_dial_socket(sock, id, try);
		if (!err)
			break;
		hyb_tcp_release(cep, true);
		if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
			return err;
	}
	if (err)
		return err;
	cep->state = HYB_CEP_CONNECT;
	cep->have = 0;
	hyb_cep_arm(cep, HYB_T_CONNECT);
	return 0;
}

static void hyb_cep_send_request(struct hyb_cep *cep)
{
	size_t len;
	int err;

	mpa_request(cep->rev, &cep->lim, &cep->req);
	cep->req.pd_len = cep->pdata_len;
	len = mpa_start_build(cep->start->frame, false, &cep->req, cep->start->pdata);
	err = hyb_mpa_send(cep, cep->start->frame, len);
	if (err) {
		hyb_cep_fail(cep, -ECONNRESET, false);
		return;
	}
	cep->state = HYB_CEP_WAIT_REP;
	hyb_cep_arm(cep, HYB_T_REPLY);
}

static void hyb_step_connect(struct hyb_cep *cep, unsigned long ev)
{
	struct sock *sk = cep->sock->sk;
	int state = READ_ONCE(sk->sk_state);
	int err;

	if (ev & (BIT(HYB_EV_ABORT) | BIT(HYB_EV_RESET))) {
		hyb_cep_fail(cep, -ECONNABORTED, false);
	} else if (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT) {
		hyb_cep_send_request(cep);
	} else if (state == TCP_CLOSE || READ_ONCE(sk->sk_err)) {
		err = sock_error(sk);
		hyb_cep_fail(cep, err ? err : -ECONNREFUSED, false);
	} else if (ev & BIT(HYB_EV_TIMER)) {
		hyb_stats_inc(cep->dev, HYB_ST_CM_TIMEOUT);
		hyb_cep_fail(cep, -ETIMEDOUT, false);
	}
}

/*
 * The peer closed without an answer, or answered in revision 1: it does not
 * know revision 2. Try again without. Returns false if that is not possible.
 */
static bool hyb_cep_fall_back(struct hyb_cep *cep)
{
	if (cep->rev == MPA_REV_1)
		return false;
	hyb_tcp_release(cep, true);
	cep->rev = MPA_REV_1;
	if (hyb_cep_dial(cep)) {
		hyb_cep_unbind(cep);
		hyb_upcall_reply(cep, -ECONNRESET, false);
		hyb_cep_dead(cep);
	}
	return true;
}

/* An accepted connection cannot begin: a Terminate says why, RFC 6581 section 8 */
static void hyb_cep_refuse(struct hyb_cep *cep, int code, u32 ivl)
{
	struct mpa_build b;
	u8 ulpdu[RDMAP_TERM_MAX];
	u8 frame[RDMAP_TERM_MAX + 16];
	u32 len;

	len = rdmap_term_build(ulpdu, TERM_MPA(code), NULL, 0, 0);
	mpa_build_begin(&b, frame, 0, len, ivl);
	mpa_build_put(&b, ulpdu, len);
	len = mpa_build_end(&b);
	mpa_put_crc(b.p, iwarp_crc32c(~0, frame, len));
	hyb_mpa_send(cep, frame, len + MPA_CRC_SIZE);
}

static void hyb_cep_reply(struct hyb_cep *cep)
{
	struct mpa_result res;
	int err;

	if (cep->rep.pd_len > U8_MAX) {
		hyb_stats_inc(cep->dev, HYB_ST_ERR_MPA_REP);
		hyb_cep_fail(cep, -EPROTO, false);
		return;
	}
	if (cep->rep.reject) {
		/* a peer that cannot do markers has no other way to say so */
		if (cep->req.markers)
			ibdev_warn_ratelimited(&cep->dev->ibdev,
					       "peer rejects a connection for which markers are on\n");
		hyb_stats_inc(cep->dev, HYB_ST_CM_REJECT);
		hyb_cep_fail(cep, -ECONNREFUSED, true);
		return;
	}
	if (cep->rep.enhanced != cep->req.enhanced) {
		if (hyb_cep_fall_back(cep))
			return;
		hyb_stats_inc(cep->dev, HYB_ST_ERR_MPA_REP);
		hyb_cep_fail(cep, -EPROTO, false);
		return;
	}
	err = mpa_finish(&cep->req, &cep->rep, &cep->lim, &res);
	if (err) {
		hyb_stats_inc(cep->dev, HYB_ST_ERR_MPA_REP);
		hyb_cep_refuse(cep, err, res.tx_ivl);
		hyb_cep_fail(cep, -EPROTO, false);
		return;
	}
	err = hyb_tcp_attach(cep, cep->qp, &res, NULL, 0);
	if (err) {
		hyb_cep_refuse(cep, MPA_ERR_LOCAL, res.tx_ivl);
		hyb_cep_fail(cep, -ECONNRESET, false);
		return;
	}
	cep->lim.ird = res.ird;
	cep->lim.ord = res.ord;
	cep->state = HYB_CEP_RDMA;
	hyb_cep_disarm(cep);
	hyb_stats_inc(cep->dev, HYB_ST_CM_CONNECT);
	if (!hyb_upcall_reply(cep, 0, true))
		hyb_cep_reset(cep);
	hyb_cep_started(cep);
}

static void hyb_step_wait_rep(struct hyb_cep *cep, unsigned long ev)
{
	int ret;

	if (ev & (BIT(HYB_EV_ABORT) | BIT(HYB_EV_RESET))) {
		hyb_cep_fail(cep, -ECONNABORTED, false);
		return;
	}
	ret = hyb_mpa_recv(cep, &cep->rep);
	if (ret == 1) {
		hyb_cep_reply(cep);
	} else if (ret == -ECONNRESET) {
		if (cep->have || !hyb_cep_fall_back(cep))
			hyb_cep_fail(cep, -ECONNRESET, false);
	} else if (ret < 0) {
		hyb_stats_inc(cep->dev, HYB_ST_ERR_MPA_REP);
		hyb_cep_fail(cep, -EPROTO, false);
	} else if (ev & BIT(HYB_EV_TIMER)) {
		hyb_stats_inc(cep->dev, HYB_ST_ERR_MPA_TIMEOUT);
		hyb_cep_fail(cep, -ETIMEDOUT, false);
	}
}

/*
 * The RDMA CM's object of a cm_id. The IW CM does not offer it, but the RDMA CM is
 * its only user, and that object begins with a struct rdma_cm_id.
 */
static const struct rdma_cm_id *hyb_cm_rdma_id(const struct iw_cm_id *id)
{
	return id->context;
}

/* The namespace of the caller */
static struct net *hyb_cm_net(const struct iw_cm_id *id)
{
	return hyb_cm_rdma_id(id)->route.addr.dev_addr.net;
}

/**
 * hyb_connect - ib_device_ops.iw_connect
 * @id: cm_id with both addresses
 * @param: queue pair, private data, IRD and ORD
 *
 * Context: process.
 * Return: 0, and CONNECT_REPLY follows, or an error and nothing follows.
 */
int hyb_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct hyb_dev *dev = hyb_dev_of(id->device);
	struct hyb_cep *cep;
	struct hyb_qp *qp;
	int err;

	if (param->private_data_len > sizeof(cep->start->pdata) ||
	    param->ird > HYB_MAX_RD_ATOM || param->ord > HYB_MAX_RD_ATOM)
		return -EINVAL;
	/*
	 * The RDMA CM finds the device by address, and any namespace can have a
	 * net device with the addresses of ours.
	 */
	if (!net_eq(hyb_cm_net(id), dev_net(dev->netdev)))
		return -ENETUNREACH;
	qp = hyb_cm_qp(id, param->qpn);
	if (!qp)
		return -EINVAL;
	err = -ENOMEM;
	cep = hyb_cep_new(dev);
	if (!cep)
		goto out_qp;

	hyb_cep_lock(cep);
	cep->active = true;
	cep->rev = dev->mpa_rev;
	cep->lim.ird = param->ird;
	cep->lim.ord = param->ord;
	cep->pdata_len = param->private_data_len;
	memcpy(cep->start->pdata, param->private_data, cep->pdata_len);
	err = hyb_cep_bind(cep, qp);
	if (err)
		goto out_cep;
	err = hyb_cep_enlist(cep);
	if (err)
		goto out_unbind;
	id->add_ref(id);
	cep->id = id;
	err = hyb_cep_dial(cep);
	if (!err)
		goto out_cep;

	cep->id = NULL;
	id->rem_ref(id);
	hyb_cep_dead(cep);
out_unbind:
	hyb_cep_unbind(cep);
out_cep:
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
out_qp:
	hyb_qp_put(qp);
	return err;
}

/* -------------------------------------------------- passive connections */

/* The hash of the peer's address; of IPv6, of its network */
static u32 hyb_lid_peer(const struct hyb_lid *lid, const struct sock *sk)
{
	u32 hash;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		hash = jhash2((__force const u32 *)sk->sk_v6_daddr.s6_addr32, 2,
			      lid->seed);
	else
#endif
		hash = jhash_1word((__force u32)sk->sk_daddr, lid->seed);
	return hash % HYB_PEERS;
}

static void hyb_lid_unlist(struct hyb_lid *lid, struct hyb_cep *cep)
{
	lockdep_assert_held(&lid->lock);
	if (list_empty(&cep->lid_node))
		return;
	list_del_init(&cep->lid_node);
	lid->peers[cep->peer].nr--;
}

/* Start-up is over, the listener may take another one */
static void hyb_cep_drop_lid(struct hyb_cep *cep)
{
	struct hyb_lid *lid = cep->lid;

	cep->lid = NULL;
	spin_lock(&lid->lock);
	hyb_lid_unlist(lid, cep);
	spin_unlock(&lid->lock);
	atomic_dec(&lid->starting);
	hyb_lid_put(lid);
}

/* The Request or its sender is invalid, or the listener is gone */
static void hyb_cep_ignore(struct hyb_cep *cep, enum hyb_stat stat)
{
	hyb_stats_inc(cep->dev, stat);
	hyb_cep_drop_lid(cep);
	hyb_cep_drop(cep, true);
}

static void hyb_step_wait_req(struct hyb_cep *cep, unsigned long ev)
{
	int ret = hyb_mpa_recv(cep, &cep->req);

	if (!ret && !(ev & (BIT(HYB_EV_TIMER) | BIT(HYB_EV_EVICT))))
		return;
	if (!ret) {
		hyb_cep_ignore(cep, HYB_ST_ERR_MPA_TIMEOUT);
		return;
	}
	if (ret < 0 || cep->req.pd_len > U8_MAX) {
		ibdev_warn_ratelimited(&cep->dev->ibdev,
				       "bad MPA request ignored\n");
		hyb_cep_ignore(cep, HYB_ST_ERR_MPA_REQ);
		return;
	}
	cep->state = HYB_CEP_REQUEST;
	hyb_cep_arm(cep, HYB_T_DECIDE);
	ret = hyb_upcall_request(cep);
	if (!ret) {
		hyb_cep_drop_lid(cep);
	} else if (ret == -ENOMEM && time_before(jiffies, cep->until)) {
		/* the IW CM has as many as its backlog admits */
		cep->state = HYB_CEP_WAIT_REQ;
		hyb_cep_arm(cep, HYB_T_AGAIN);
	} else {
		hyb_cep_ignore(cep, HYB_ST_CM_REJECT);
	}
}

/* The ULP has not decided yet; a peer that gives up will not be accepted */
static void hyb_step_request(struct hyb_cep *cep, unsigned long ev)
{
	struct sock *sk = cep->sock->sk;

	if (READ_ONCE(sk->sk_state) == TCP_CLOSE ||
	    (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN) ||
	    (ev & BIT(HYB_EV_TIMER)))
		hyb_cep_drop(cep, true);
}

/* Enter full operation: from here on an error ends like any connection */
static int hyb_cep_accept(struct hyb_cep *cep, struct iw_cm_id *id,
			  struct iw_cm_conn_param *param)
{
	struct mpa_result res;
	size_t len;
	int err;

	cep->lim.ird = param->ird;
	cep->lim.ord = param->ord;
	mpa_respond(&cep->req, &cep->lim, &cep->rep, &res);
	cep->rep.pd_len = param->private_data_len;
	len = mpa_start_build(cep->start->frame, true, &cep->rep,
			      param->private_data);
	if (!len)
		return -EINVAL;
	err = hyb_tcp_attach(cep, cep->qp, &res, cep->start->frame, len);
	if (err)
		return err;
	cep->lim.ird = res.ird;
	cep->lim.ord = res.ord;
	cep->state = HYB_CEP_RDMA;
	hyb_cep_disarm(cep);
	id->add_ref(id);
	cep->id = id;
	hyb_stats_inc(cep->dev, HYB_ST_CM_ACCEPT);
	hyb_cep_started(cep);
	hyb_upcall_established(cep);
	return 0;
}

/**
 * hyb_accept - ib_device_ops.iw_accept
 * @id: cm_id of a CONNECT_REQUEST
 * @param: queue pair, private data, IRD and ORD
 *
 * Context: process.
 * Return: 0, and ESTABLISHED was delivered, or an error and nothing follows.
 */
int hyb_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct hyb_cep *cep = hyb_request_take(id);
	struct hyb_qp *qp;
	int err;

	if (!cep)
		return -ECONNRESET;
	qp = hyb_cm_qp(id, param->qpn);
	hyb_cep_lock(cep);
	cep->number = 0;
	err = -EINVAL;
	if (!qp || param->private_data_len > U8_MAX ||
	    param->ird > HYB_MAX_RD_ATOM || param->ord > HYB_MAX_RD_ATOM)
		goto out_drop;
	err = -ECONNRESET;
	if (cep->state != HYB_CEP_REQUEST)
		goto out_drop;
	err = hyb_cep_bind(cep, qp);
	if (err)
		goto out_drop;
	err = hyb_cep_accept(cep, id, param);
	if (!err)
		goto out;
	hyb_cep_unbind(cep);
out_drop:
	if (cep->state == HYB_CEP_REQUEST)
		hyb_cep_drop(cep, true);
out:
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
	if (qp)
		hyb_qp_put(qp);
	return err;
}

/**
 * hyb_reject - ib_device_ops.iw_reject
 * @id: cm_id of a CONNECT_REQUEST
 * @pdata: private data
 * @pdata_len: its length
 *
 * Context: process.
 * Return: 0 or an error; the connection is over in any case.
 */
int hyb_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct hyb_cep *cep = hyb_request_take(id);
	struct mpa_result res;
	size_t len;
	int err;

	if (!cep)
		return -ECONNRESET;
	hyb_cep_lock(cep);
	cep->number = 0;
	err = -ECONNRESET;
	if (cep->state == HYB_CEP_REQUEST) {
		mpa_respond(&cep->req, &cep->lim, &cep->rep, &res);
		cep->rep.reject = true;
		cep->rep.pd_len = pdata_len;
		len = mpa_start_build(cep->start->frame, true, &cep->rep, pdata);
		err = hyb_mpa_send(cep, cep->start->frame, len);
		hyb_stats_inc(cep->dev, HYB_ST_CM_REJECT);
		hyb_cep_linger(cep);
	}
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
	return err;
}

/* ------------------------------------------------------- full operation */

/* Let the engine send the rest, then close */
static void hyb_cep_drain(struct hyb_cep *cep, unsigned long timeout)
{
	cep->state = HYB_CEP_DRAIN;
	hyb_cep_arm(cep, timeout);
	hyb_tcp_drain(cep, cep->qp);
}

/* True if neither side wanted this end. A side that has closed may use a timeout. */
static bool hyb_cep_breaks(unsigned long ev)
{
	unsigned long fault = BIT(HYB_EV_LOST) | BIT(HYB_EV_ERROR) |
			      BIT(HYB_EV_ABORT);
	unsigned long closing = BIT(HYB_EV_EOF) | BIT(HYB_EV_GRACEFUL);

	return (ev & BIT(HYB_EV_TERM)) || ((ev & fault) && !(ev & closing));
}

static void hyb_step_rdma(struct hyb_cep *cep, unsigned long ev)
{
	unsigned long peer = BIT(HYB_EV_EOF) | BIT(HYB_EV_LOST) |
			     BIT(HYB_EV_TERM);

	cep->broken = hyb_cep_breaks(ev);
	if (ev & peer)
		hyb_cep_finish(cep, true);
	else if (ev & BIT(HYB_EV_RESET))
		hyb_cep_reset(cep);
	else if (ev & BIT(HYB_EV_ABORT))
		hyb_cep_drain(cep, HYB_T_FLUSH);
	else if (ev & (BIT(HYB_EV_GRACEFUL) | BIT(HYB_EV_ERROR)))
		hyb_cep_drain(cep, HYB_T_DRAIN);
}

static void hyb_step_drain(struct hyb_cep *cep, unsigned long ev)
{
	unsigned long end = BIT(HYB_EV_DRAINED) | BIT(HYB_EV_TIMER) |
			    BIT(HYB_EV_LOST) | BIT(HYB_EV_EOF) |
			    BIT(HYB_EV_TERM);

	/* the timer: something was left to be sent */
	if (ev & (BIT(HYB_EV_LOST) | BIT(HYB_EV_TERM) | BIT(HYB_EV_TIMER)))
		cep->broken = true;
	if (ev & BIT(HYB_EV_RESET))
		hyb_cep_reset(cep);
	else if (ev & end)
		hyb_cep_finish(cep, false);
	else if (ev & BIT(HYB_EV_ABORT))
		hyb_cep_drain(cep, HYB_T_FLUSH);
}

static void hyb_step_linger(struct hyb_cep *cep, unsigned long ev)
{
	bool gone = READ_ONCE(cep->sock->sk->sk_state) == TCP_CLOSE;

	if (gone || (ev & BIT(HYB_EV_TIMER)))
		hyb_cep_drop(cep, !gone);
}

static void hyb_cep_step(struct hyb_cep *cep, unsigned long ev)
{
	switch (cep->state) {
	case HYB_CEP_CONNECT:
		hyb_step_connect(cep, ev);
		break;
	case HYB_CEP_WAIT_REP:
		hyb_step_wait_rep(cep, ev);
		break;
	case HYB_CEP_WAIT_REQ:
		hyb_step_wait_req(cep, ev);
		break;
	case HYB_CEP_REQUEST:
		hyb_step_request(cep, ev);
		break;
	case HYB_CEP_RDMA:
		hyb_step_rdma(cep, ev);
		break;
	case HYB_CEP_DRAIN:
		hyb_step_drain(cep, ev);
		break;
	case HYB_CEP_LINGER:
		hyb_step_linger(cep, ev);
		break;
	case HYB_CEP_IDLE:
	case HYB_CEP_DEAD:
		break;
	}
}

static void hyb_cep_work(struct work_struct *work)
{
	struct hyb_cep *cep = container_of(work, struct hyb_cep, work);

	hyb_cep_lock(cep);
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
}

/* ------------------------------------------------------------ listening */

/* Is the local address of a connection one of this net device? */
static bool hyb_netdev_has(const struct net_device *netdev,
			   const struct sockaddr_storage *addr)
{
	struct net *net = dev_net(netdev);
	struct net_device *owner;
	bool has = false;

	if (addr->ss_family == AF_INET) {
		rcu_read_lock();
		owner = __ip_dev_find(net, ((struct sockaddr_in *)addr)->
				      sin_addr.s_addr, false);
		has = owner == netdev;
		rcu_read_unlock();
	} else if (IS_ENABLED(CONFIG_IPV6)) {
		has = ipv6_chk_addr(net, &((struct sockaddr_in6 *)addr)->
				    sin6_addr, netdev, 0);
	}
	return has;
}

/*
 * The cm_id that gets a connection: if possible the one of the same family on the
 * device that has the address, else any. Returns it with a reference.
 */
static struct hyb_lid *hyb_lsock_choose(struct hyb_lsock *ls,
					struct socket *sock)
{
	struct sockaddr_storage local, peer;
	struct hyb_lid *best = NULL;
	struct hyb_link *link;
	int score, max = -1;

	lockdep_assert_held(&ls->lock);
	hyb_sockname(sock, &local, &peer);
	hyb_unmap_v4(&local);
	list_for_each_entry(link, &ls->links, node) {
		struct hyb_lid *lid = link->lid;

		score = hyb_netdev_has(lid->dev->netdev, &local) ? 2 : 0;
		score += lid->id->local_addr.ss_family == local.ss_family;
		if (score > max) {
			max = score;
			best = lid;
		}
	}
	if (best)
		kref_get(&best->ref);
	return best;
}

/*
 * The oldest of the address that has most ends, by its own work. It leaves the list
 * before it is freed.
 */
static void hyb_lid_evict(struct hyb_lid *lid)
{
	struct hyb_cep *old;
	int i, most = 0;

	lockdep_assert_held(&lid->lock);
	for (i = 1; i < HYB_PEERS; i++)
		if (lid->peers[i].nr > lid->peers[most].nr)
			most = i;
	old = list_first_entry_or_null(&lid->peers[most].waiting,
				       struct hyb_cep, lid_node);
	if (!old)
		return;
	hyb_lid_unlist(lid, old);
	hyb_cep_event(old, HYB_EV_EVICT);
}

/* One more waits; @evict: another one ends for it */
static void hyb_lid_queue(struct hyb_lid *lid, struct hyb_cep *cep, bool evict)
{
	cep->peer = hyb_lid_peer(lid, cep->sock->sk);
	spin_lock(&lid->lock);
	if (evict)
		hyb_lid_evict(lid);
	list_add_tail(&cep->lid_node, &lid->peers[cep->peer].waiting);
	lid->peers[cep->peer].nr++;
	spin_unlock(&lid->lock);
}

/* A new connection: wait for its Request. Takes over the reference of @lid. */
static int hyb_lid_take(struct hyb_lid *lid, struct socket *sock)
{
	int starting = atomic_inc_return(&lid->starting);
	struct hyb_cep *cep;
	int err = -ENOMEM;

	if (starting > 2 * HYB_MAX_STARTING)
		goto out;
	cep = hyb_cep_new(lid->dev);
	if (!cep)
		goto out;
	hyb_cep_lock(cep);
	err = hyb_cep_enlist(cep);
	if (!err) {
		err = hyb_tcp_adopt(cep, sock);
		if (err)
			hyb_cep_dead(cep);
	}
	if (!err) {
		cep->lid = lid;
		hyb_lid_queue(lid, cep, starting > HYB_MAX_STARTING);
		cep->state = HYB_CEP_WAIT_REQ;
		cep->until = jiffies + HYB_T_REQUEST;
		hyb_cep_arm(cep, HYB_T_REQUEST);
		/* it may be there already */
		hyb_cep_event(cep, HYB_EV_SOCK);
	}
	hyb_cep_unlock(cep);
	hyb_cep_put(cep);
out:
	if (err) {
		atomic_dec(&lid->starting);
		hyb_lid_put(lid);
	}
	return err;
}

static void hyb_lsock_free(struct kref *ref)
{
	kfree(container_of(ref, struct hyb_lsock, ref));
}

/*
 * By RST: a FIN would not be sent again, see hyb_cep_linger(), and if the peer does
 * not acknowledge it, the socket would be there for ever.
 */
static void hyb_lsock_refuse(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/* Have the work done, now or after @delay. Context: any. */
static void hyb_lsock_queue(struct hyb_lsock *ls, unsigned long delay)
{
	kref_get(&ls->ref);
	if (mod_delayed_work(hyb_cm_wq, &ls->work, delay))
		kref_put(&ls->ref, hyb_lsock_free);
}

/* A connection is complete. Not called with the listening socket held. */
static void hyb_lsock_data_ready(struct sock *sk)
{
	struct hyb_lsock *ls;

	read_lock_bh(&sk->sk_callback_lock);
	/* connections inherit the callback; their pointer is another's, or NULL */
	ls = sk->sk_state == TCP_LISTEN ?
	     __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY) : NULL;
	if (ls)
		hyb_lsock_queue(ls, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* The administrator has ended the socket (SOCK_DESTROY), or it is a new connection. */
static void hyb_lsock_state_change(struct sock *sk)
{
	struct hyb_lsock *ls;

	read_lock_bh(&sk->sk_callback_lock);
	/* connections inherit the callback; their pointer is a psock, or NULL */
	ls = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (ls && sk->sk_state == TCP_CLOSE &&
	    !__locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_PSOCK))
		hyb_lsock_queue(ls, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Connections do not keep the listener's callbacks, which may be gone some day. */
static void hyb_lsock_forget(const struct hyb_lsock *ls, struct sock *sk)
{
	if (sk->sk_data_ready == hyb_lsock_data_ready)
		sk->sk_data_ready = ls->data_ready;
	if (sk->sk_state_change == hyb_lsock_state_change)
		sk->sk_state_change = ls->state_change;
}

static int hyb_lsock_open(struct hyb_lsock *ls)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = hyb_tcp_create(ls->net, ls->addr.ss_family, &sock);
	if (err)
		return err;
	sk = sock->sk;
	/* IPv4 has a socket of its own */
	if (ls->addr.ss_family == AF_INET6)
		sk->sk_ipv6only = true;
	sk->sk_bound_dev_if = ls->ifindex;
	err = kernel_bind(sock, (struct sockaddr_unsized *)&ls->addr,
			  hyb_addr_len(&ls->addr));
	if (!err) {
		write_lock_bh(&sk->sk_callback_lock);
		ls->data_ready = sk->sk_data_ready;
		ls->state_change = sk->sk_state_change;
		__rcu_assign_sk_user_data_with_flags(sk, ls,
						     SK_USER_DATA_NOCOPY);
		sk->sk_data_ready = hyb_lsock_data_ready;
		sk->sk_state_change = hyb_lsock_state_change;
		write_unlock_bh(&sk->sk_callback_lock);
		/* no limit of ours: connections are taken at once */
		err = kernel_listen(sock, max(ls->backlog, HYB_MAX_STARTING));
	}
	/* connections inherit it: the Reply acknowledges the Request */
	if (!err)
		tcp_sock_set_quickack(sk, 0);
	if (err) {
		sock_release(sock);
		return err;
	}
	ls->sock = sock;
	return 0;
}

static void hyb_lsock_close_sock(struct hyb_lsock *ls)
{
	struct sock *sk;

	lockdep_assert_held(&ls->lock);
	if (!ls->sock)
		return;
	sk = ls->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = ls->data_ready;
	sk->sk_state_change = ls->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	sock_release(ls->sock);
	ls->sock = NULL;
}

/* A cm_id does not listen here any more: with the last one the socket goes */
static void hyb_lsock_leave(struct hyb_lsock *ls, struct hyb_link *link)
{
	bool last;

	mutex_lock(&ls->lock);
	list_del(&link->node);
	last = list_empty(&ls->links);
	if (last)
		hyb_lsock_close_sock(ls);
	mutex_unlock(&ls->lock);
	if (!last)
		return;
	hlist_del(&ls->node);
	/* if it runs it finds no cm_id, and comes to an end */
	if (cancel_delayed_work(&ls->work))
		kref_put(&ls->ref, hyb_lsock_free);
	kref_put(&ls->ref, hyb_lsock_free);
}

/* Listen again if the administrator has ended the socket. */
static void hyb_lsock_revive(struct hyb_lsock *ls)
{
	struct hyb_link *link;
	int err;

	lockdep_assert_held(&ls->lock);
	link = list_first_entry_or_null(&ls->links, struct hyb_link, node);
	if (!link || (ls->sock &&
		      inet_sk_state_load(ls->sock->sk) == TCP_LISTEN))
		return;
	hyb_lsock_close_sock(ls);
	err = hyb_lsock_open(ls);
	if (!err)
		return;
	ibdev_warn_ratelimited(&link->lid->dev->ibdev,
			       "cannot listen again at %pISpc: error %d\n",
			       &ls->addr, err);
	hyb_lsock_queue(ls, HYB_T_LISTEN);
}

static void hyb_lsock_work(struct work_struct *work)
{
	struct hyb_lsock *ls = container_of(to_delayed_work(work),
					    struct hyb_lsock, work);
	struct hyb_lid *lid;
	struct socket *sock;
	int err;

	mutex_lock(&ls->lock);
	hyb_lsock_revive(ls);
	mutex_unlock(&ls->lock);
	for (;;) {
		lid = NULL;
		mutex_lock(&ls->lock);
		err = ls->sock ? kernel_accept(ls->sock, &sock, O_NONBLOCK) :
				 -EBADF;
		if (!err) {
			lid = hyb_lsock_choose(ls, sock);
			hyb_lsock_forget(ls, sock->sk);
		}
		mutex_unlock(&ls->lock);
		if (err)
			break;
		if (!lid || hyb_lid_take(lid, sock))
			hyb_lsock_refuse(sock);
	}
	kref_put(&ls->ref, hyb_lsock_free);
}

static bool hyb_addr_equal(const struct sockaddr_storage *a,
			   const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       a6->sin6_scope_id == b6->sin6_scope_id &&
		       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
	return a4->sin_port == b4->sin_port &&
	       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

static struct hyb_lsock *hyb_lsock_find(const struct hyb_lsock_port *at,
					struct net *net,
					const struct sockaddr_storage *addr,
					int ifindex)
{
	struct hyb_lsock *ls;

	lockdep_assert_held(&at->lock);
	hlist_for_each_entry(ls, &at->list, node)
		if (net_eq(ls->net, net) && ls->ifindex == ifindex &&
		    hyb_addr_equal(&ls->addr, addr))
			return ls;
	return NULL;
}

/* Returns it locked: connections that come at once wait for the first cm_id. */
static struct hyb_lsock *hyb_lsock_new(struct hyb_lsock_port *at,
				       struct net *net,
				       const struct sockaddr_storage *addr,
				       int ifindex, int backlog)
{
	struct hyb_lsock *ls = kzalloc(sizeof(*ls), GFP_KERNEL);
	int err;

	if (!ls)
		return ERR_PTR(-ENOMEM);
	kref_init(&ls->ref);
	mutex_init(&ls->lock);
	INIT_LIST_HEAD(&ls->links);
	INIT_DELAYED_WORK(&ls->work, hyb_lsock_work);
	ls->net = net;
	ls->addr = *addr;
	ls->ifindex = ifindex;
	ls->backlog = backlog;
	mutex_lock(&ls->lock);
	err = hyb_lsock_open(ls);
	if (err) {
		mutex_unlock(&ls->lock);
		kref_put(&ls->ref, hyb_lsock_free);
		return ERR_PTR(err);
	}
	hlist_add_head(&ls->node, &at->list);
	return ls;
}

/*
 * May a cm_id join those that listen here? They are one listener of the RDMA CM,
 * which gives a port to one owner, but has separate ports for each port space.
 * Here these are all the same, and another listener may have any owner.
 */
static bool hyb_lsock_admits(const struct hyb_lsock *ls,
			     const struct hyb_lid *lid)
{
	const struct hyb_link *link;

	lockdep_assert_held(&lid->at->lock);
	link = list_first_entry(&ls->links, struct hyb_link, node);
	return hyb_cm_rdma_id(link->lid->id)->ps == hyb_cm_rdma_id(lid->id)->ps;
}

/* Listen on an address, sharing the socket with other cm_ids */
static int hyb_lid_bind(struct hyb_lid *lid,
			const struct sockaddr_storage *addr, int ifindex,
			int backlog)
{
	struct net *net = dev_net(lid->dev->netdev);
	struct hyb_link *link = &lid->link[lid->links];
	struct hyb_lsock *ls;

	lockdep_assert_held(&lid->at->lock);
	ls = hyb_lsock_find(lid->at, net, addr, ifindex);
	if (ls && !hyb_lsock_admits(ls, lid))
		return -EADDRINUSE;
	if (ls)
		mutex_lock(&ls->lock);
	else
		ls = hyb_lsock_new(lid->at, net, addr, ifindex, backlog);
	if (IS_ERR(ls))
		return PTR_ERR(ls);
	link->lid = lid;
	link->ls = ls;
	list_add_tail(&link->node, &ls->links);
	lid->links++;
	mutex_unlock(&ls->lock);
	return 0;
}

static void hyb_lid_close(struct hyb_lid *lid)
{
	lockdep_assert_held(&lid->at->lock);
	while (lid->links) {
		struct hyb_link *link = &lid->link[--lid->links];

		hyb_lsock_leave(link->ls, link);
	}
}

static bool hyb_addr_is_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->
				     sin6_addr);
	return !((const struct sockaddr_in *)addr)->sin_addr.s_addr;
}

/*
 * A wildcard: one socket on the net device, and one on loopback, where the
 * connections to own addresses arrive. They are not bound to "any device",
 * for the other devices of the RDMA CM are going to bind the port as well,
 * among them those of siw, which use the namespace of the caller.
 */
static int hyb_lid_bind_any(struct hyb_lid *lid,
			    const struct sockaddr_storage *addr, int backlog)
{
	struct net_device *netdev = lid->dev->netdev;
	int err;

	err = hyb_lid_bind(lid, addr, netdev->ifindex, backlog);
	if (!err && !(netdev->flags & IFF_LOOPBACK))
		hyb_lid_bind(lid, addr, LOOPBACK_IFINDEX, backlog);
	return err;
}

/*
 * A device of another namespace is asked, too, when a wildcard listens on all
 * devices: nothing is opened there, the cm_id just never hears anything. The same is
 * true for a listener for datagrams (RDMA_PS_UDP), which other devices may have.
 */
static int hyb_lid_open(struct hyb_lid *lid, int backlog)
{
	bool datagrams = hyb_cm_rdma_id(lid->id)->qp_type == IB_QPT_UD;
	struct sockaddr_storage addr = hyb_local_addr(lid->id);
	struct sockaddr_storage any4 = { .ss_family = AF_INET };
	int err;

	if (!net_eq(hyb_cm_net(lid->id), dev_net(lid->dev->netdev)))
		return 0;
	if (!hyb_addr_is_any(&addr))
		return datagrams ? -EPROTONOSUPPORT :
				   hyb_lid_bind(lid, &addr, 0, backlog);
	if (datagrams)
		return 0;

	err = hyb_lid_bind_any(lid, &addr, backlog);
	if (err || addr.ss_family != AF_INET6 || lid->id->afonly)
		return err;
	/* without IPv4 if another socket has the port there */
	((struct sockaddr_in *)&any4)->sin_port =
		((const struct sockaddr_in6 *)&addr)->sin6_port;
	hyb_lid_bind_any(lid, &any4, backlog);
	return 0;
}

/* Whether it comes in time to be closed when the device goes */
static int hyb_lid_enlist(struct hyb_lid *lid)
{
	struct hyb_cm_dev *cm = &lid->dev->cm;
	int err = -ENODEV;

	mutex_lock(&cm->lock);
	if (!cm->down) {
		list_add_tail(&lid->node, &cm->lids);
		err = 0;
	}
	mutex_unlock(&cm->lock);
	return err;
}

static void hyb_lid_delist(struct hyb_lid *lid)
{
	struct hyb_cm_dev *cm = &lid->dev->cm;

	mutex_lock(&cm->lock);
	list_del_init(&lid->node);
	mutex_unlock(&cm->lock);
}

static struct hyb_lid *hyb_lid_new(struct iw_cm_id *id)
{
	struct hyb_lid *lid = kzalloc(sizeof(*lid), GFP_KERNEL);
	/* IPv6 has it at the same place */
	__be16 port = ((struct sockaddr_in *)&id->m_local_addr)->sin_port;
	int i;

	if (!lid)
		return NULL;
	kref_init(&lid->ref);
	mutex_init(&lid->id_lock);
	spin_lock_init(&lid->lock);
	INIT_LIST_HEAD(&lid->node);
	for (i = 0; i < HYB_PEERS; i++)
		INIT_LIST_HEAD(&lid->peers[i].waiting);
	lid->seed = get_random_u32();
	lid->at = &hyb_lsocks[ntohs(port) % HYB_LSOCK_PORTS];
	lid->dev = hyb_dev_of(id->device);
	lid->id = id;
	hyb_cm_dev_get(lid->dev);
	return lid;
}

/**
 * hyb_create_listen - ib_device_ops.iw_create_listen
 * @id: cm_id with local address
 * @backlog: of the socket
 *
 * Context: process.
 * Return: 0 or an error of bind() or listen().
 */
int hyb_create_listen(struct iw_cm_id *id, int backlog)
{
	struct hyb_lid *lid = hyb_lid_new(id);
	int err;

	if (!lid)
		return -ENOMEM;
	mutex_lock(&lid->at->lock);
	err = hyb_lid_enlist(lid);
	if (!err)
		err = hyb_lid_open(lid, backlog);
	mutex_unlock(&lid->at->lock);
	if (err) {
		hyb_lid_delist(lid);
		hyb_lid_put(lid);
		return err;
	}
	id->add_ref(id);
	id->provider_data = lid;
	return 0;
}

/**
 * hyb_destroy_listen - ib_device_ops.iw_destroy_listen
 * @id: listening cm_id
 *
 * Context: process.
 * Return: 0; no event is delivered from now on.
 */
int hyb_destroy_listen(struct iw_cm_id *id)
{
	struct hyb_lid *lid = id->provider_data;

	if (!lid)
		return 0;
	id->provider_data = NULL;
	hyb_lid_delist(lid);
	mutex_lock(&lid->at->lock);
	hyb_lid_close(lid);
	mutex_unlock(&lid->at->lock);
	mutex_lock(&lid->id_lock);
	lid->id = NULL;
	mutex_unlock(&lid->id_lock);
	id->rem_ref(id);
	hyb_lid_put(lid);
	return 0;
}

/* --------------------------------------------------- device and module */

/* End a connection whatever state it is in, and leave nothing behind */
static void hyb_cep_kill(struct hyb_cep *cep)
{
	lockdep_assert_held(&cep->lock);
	switch (cep->state) {
	case HYB_CEP_CONNECT:
	case HYB_CEP_WAIT_REP:
		hyb_cep_unbind(cep);
		hyb_upcall_reply(cep, -ENODEV, false);
		break;
	case HYB_CEP_WAIT_REQ:
		hyb_cep_drop_lid(cep);
		break;
	case HYB_CEP_RDMA:
	case HYB_CEP_DRAIN:
		hyb_cep_stop(cep, true);
		break;
	default:
		break;
	}
	hyb_cep_drop(cep, true);
}

void hyb_cm_dev_init(struct hyb_dev *dev)
{
	struct hyb_cm_dev *cm = &dev->cm;

	mutex_init(&cm->lock);
	INIT_LIST_HEAD(&cm->ceps);
	INIT_LIST_HEAD(&cm->lids);
	xa_init_flags(&cm->requests, XA_FLAGS_ALLOC1);
	refcount_set(&cm->users, 1);
	init_completion(&cm->idle);
}

/* One after the other, as the lock of a port is not taken under that of the device */
static void hyb_lids_down(struct hyb_cm_dev *cm)
{
	struct hyb_lid *lid;

	for (;;) {
		mutex_lock(&cm->lock);
		lid = list_first_entry_or_null(&cm->lids, struct hyb_lid, node);
		if (lid) {
			list_del_init(&lid->node);
			kref_get(&lid->ref);
		}
		mutex_unlock(&cm->lock);
		if (!lid)
			return;
		mutex_lock(&lid->at->lock);
		hyb_lid_close(lid);
		mutex_unlock(&lid->at->lock);
		hyb_lid_put(lid);
	}
}

void hyb_cm_dev_down(struct hyb_dev *dev)
{
	struct hyb_cm_dev *cm = &dev->cm;
	struct hyb_cep *cep;

	mutex_lock(&cm->lock);
	if (!cm->down)
		cm->recall = jiffies + HYB_TCP_RECALL;
	/* pairs with hyb_tcp_recall_end() */
	smp_store_release(&cm->down, true);
	mutex_unlock(&cm->lock);

	hyb_lids_down(cm);

	for (;;) {
		mutex_lock(&cm->lock);
		cep = list_first_entry_or_null(&cm->ceps, struct hyb_cep, node);
		if (cep)
			hyb_cep_get(cep);
		mutex_unlock(&cm->lock);
		if (!cep)
			break;
		hyb_cep_lock(cep);
		hyb_cep_kill(cep);
		hyb_cep_unlock(cep);
		hyb_cep_put(cep);
	}
}

void hyb_cm_dev_exit(struct hyb_dev *dev)
{
	hyb_cm_dev_down(dev);
	hyb_cm_dev_put(dev);
	wait_for_completion(&dev->cm.idle);
	xa_destroy(&dev->cm.requests);
}

bool hyb_cm_dev_hold(struct hyb_dev *dev)
{
	return refcount_inc_not_zero(&dev->cm.users);
}

void hyb_cm_dev_release(struct hyb_dev *dev)
{
	hyb_cm_dev_put(dev);
}

int hyb_cm_init(void)
{
	int i;

	for (i = 0; i < HYB_LSOCK_PORTS; i++)
		mutex_init(&hyb_lsocks[i].lock);
	hyb_cep_cache = KMEM_CACHE(hyb_cep, 0);
	if (!hyb_cep_cache)
		return -ENOMEM;
	hyb_cm_wq = alloc_workqueue("hyb_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (hyb_cm_wq)
		return 0;
	kmem_cache_destroy(hyb_cep_cache);
	return -ENOMEM;
}

void hyb_cm_exit(void)
{
	destroy_workqueue(hyb_cm_wq);
	kmem_cache_destroy(hyb_cep_cache);
}
