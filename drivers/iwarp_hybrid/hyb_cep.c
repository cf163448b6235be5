// SPDX-License-Identifier: GPL-2.0
/*
 * Connection end points: the state machine. See hyb_cep.h.
 *
 * Every event sets a bit, in any context. The state machine takes the next step in a
 * work item, or before the task that has the connection releases it (hyb_cep_unlock()).
 *
 * The IW CM gets only the events that it accepts: CONNECT_REPLY once, CLOSE once
 * and only after an established connection; else it panics.
 *
 * Calls hyb_tcp.c, the engines (hyb_rx.c, hyb_tx.c), hyb_fpdu.c, hyb_queue.c and
 * hyb_sched.c.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_stack_addr.h>
#include <rdma/rdma_stack_sock.h>

#include "compat.h"
#include "hyb_cep.h"
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
#define HYB_T_DECIDE	(60 * HZ)	/* Request complete, ULP's decision */
#define HYB_T_DRAIN	(5 * HZ)	/* last FPDUs with TCP, without progress */
#define HYB_T_FLUSH	(1 * HZ)	/* the same in all, when the ULP aborts */
#define HYB_T_LINGER	(10 * HZ)	/* FIN of the peer after ours, without progress */
#define HYB_T_MORE	(60 * HZ)	/* either of them, with progress */

/* Refused connections of a device that wait for the peer's FIN */
#define HYB_MAX_REFUSED	1024

/* Delay before a Request is offered again to an IW CM whose backlog is full */
#define HYB_T_AGAIN	(HZ / 50 + 1)

/* ------------------------------------------------------ object and events */

static void hyb_lid_free(struct kref *ref)
{
	struct hyb_lid *lid = container_of(ref, struct hyb_lid, ref);

	hyb_cm_dev_put(lid->dev);
	kfree(lid);
}

void hyb_lid_put(struct hyb_lid *lid)
{
	kref_put(&lid->ref, hyb_lid_free);
}

void hyb_lid_unlist(struct hyb_lid *lid, struct hyb_cep *cep)
{
	lockdep_assert_held(&lid->lock);
	if (list_empty(&cep->lid_node))
		return;
	list_del_init(&cep->lid_node);
	lid->peers[cep->peer].nr--;
}

/* Start-up is over, and what the peer has sent was handed on */
static void hyb_cep_started(struct hyb_cep *cep)
{
	kfree(cep->start);
	cep->start = NULL;
}

static void hyb_cep_step(struct hyb_cep *cep, unsigned long ev);
static void hyb_cep_work(struct work_struct *work);

static void hyb_cep_timeout(struct work_struct *work)
{
	struct hyb_cep *cep = container_of(to_delayed_work(work),
					   struct hyb_cep, timer);

	hyb_cep_event(cep, HYB_EV_TIMER);
	hyb_cep_put(cep);
}

void hyb_cep_lock(struct hyb_cep *cep)
{
	mutex_lock(&cep->lock);
	WRITE_ONCE(cep->busy, true);
}

/* Release the connection, after the steps that have become due. The caller has a reference. */
void hyb_cep_unlock(struct hyb_cep *cep)
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
void hyb_cep_arm(struct hyb_cep *cep, unsigned long delay)
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

/* The caller holds the only reference. Once listed, hyb_cm_dev_down() finds it. */
struct hyb_cep *hyb_cep_new(struct hyb_dev *dev)
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
int hyb_cep_enlist(struct hyb_cep *cep)
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
struct hyb_cep *hyb_request_take(struct iw_cm_id *id)
{
	struct hyb_dev *dev = hyb_dev_of(id->device);
	unsigned long number = (unsigned long)id->provider_data;

	id->provider_data = NULL;
	return number ? xa_erase(&dev->cm.requests, number) : NULL;
}

/* The connection is over and its socket closed */
void hyb_cep_dead(struct hyb_cep *cep)
{
	lockdep_assert_held(&cep->lock);
	cep->state = HYB_CEP_DEAD;
	if (cep->refused)
		atomic_dec(&cep->dev->cm.refused);
	cep->refused = false;
	hyb_request_del(cep);
	hyb_cep_disarm(cep);
	hyb_cep_delist(cep);
}

/* ----------------------------------------------------------- queue pair */

int hyb_cep_bind(struct hyb_cep *cep, struct hyb_qp *qp)
{
	int err = -EISCONN;

	spin_lock_irq(&qp->tcp.lock);
	/* either this sees the state, or hyb_qp_close() sees the connection */
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

void hyb_cep_unbind(struct hyb_cep *cep)
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

/* -------------------------------------------------------------- upcalls */

/*
 * The RDMA CM's object of a cm_id. The IW CM does not offer it, but the RDMA CM is
 * its only user, and that object begins with a struct rdma_cm_id.
 */
const struct rdma_cm_id *hyb_cm_rdma_id(const struct iw_cm_id *id)
{
	return id->context;
}

/* The namespace of the caller */
struct net *hyb_cm_net(const struct iw_cm_id *id)
{
	return hyb_cm_rdma_id(id)->route.addr.dev_addr.net;
}

void hyb_sockname(struct socket *sock, struct sockaddr_storage *local,
		  struct sockaddr_storage *peer)
{
	memset(local, 0, sizeof(*local));
	memset(peer, 0, sizeof(*peer));
	kernel_getsockname(sock, (struct sockaddr *)local);
	kernel_getpeername(sock, (struct sockaddr *)peer);
}

/* IPv4 over an IPv6 socket is IPv4 for the RDMA CM */
void hyb_unmap_v4(struct sockaddr_storage *addr)
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
 * Report the peer's answer, or that there is none. Returns false if a failure was reported
 * and the cm_id released. The IW CM copies private data, and refuses an event if there is no
 * memory for that. It always accepts a failure event without private data. It must accept one
 * of the two before CLOSE.
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

/* The end of an established connection; the cm_id is released */
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

/* ----------------------------------------------------------- MPA frames */

int hyb_mpa_send(struct hyb_cep *cep, const u8 *frame, size_t len)
{
	struct sock *sk = cep->sock->sk;
	int err;

	lock_sock(sk);
	err = hyb_tcp_send_frame(sk, frame, len);
	release_sock(sk);
	return err;
}

/*
 * Take the bytes of a start-up frame, and none after it. Returns 1 when it
 * is complete, 0 when not, -ECONNRESET at the end of the stream or after an error of TCP,
 * MPA_START_BAD_* when it is bad.
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

/* -------------------------------------------------------------- the end */

/*
 * Stop the engines. The socket stays, unless TCP would have to send from memory of
 * requests that are flushed: the consumer may use that memory for something else then.
 * Returns false if packets that the device has not sent yet contain some of it.
 */
static bool hyb_cep_stop(struct hyb_cep *cep)
{
	struct hyb_qp *qp = cep->qp;

	lockdep_assert_held(&cep->lock);
	hyb_tcp_detach(cep, qp);
	return !hyb_fpdu_lends(qp) || !hyb_tcp_recall(cep, qp);
}

/*
 * Take the stopped queue pair off the connection: the queues are flushed, the ULP gets
 * its event, references to the QP and the cm_id are dropped.
 */
static void hyb_cep_flush(struct hyb_cep *cep, bool by_peer)
{
	struct hyb_qp *qp = cep->qp;

	lockdep_assert_held(&cep->lock);
	hyb_tx_abandon(qp);
	hyb_rx_abandon(qp);
	hyb_qp_set_state(qp, HYB_QP_ERROR);
	hyb_qp_flush(qp);
	hyb_upcall_close(cep, by_peer);
	hyb_cep_unbind(cep);
}

/*
 * Packets with memory of requests are left: wait for them by an event, as other connections
 * need the worker meanwhile
 */
static void hyb_cep_recall(struct hyb_cep *cep, bool by_peer)
{
	cep->state = HYB_CEP_RECALL;
	cep->by_peer = by_peer;
	hyb_cep_arm(cep, HYB_T_RECALL);
}

/* Close the socket now */
void hyb_cep_drop(struct hyb_cep *cep, bool reset)
{
	hyb_tcp_release(cep, reset);
	hyb_cep_dead(cep);
}

/*
 * Give TCP @delay to be through with the connection, and again whenever the peer has
 * acknowledged something meanwhile, until @most is over.
 */
static void hyb_cep_end_in(struct hyb_cep *cep, unsigned long delay,
			   unsigned long most)
{
	lockdep_assert_held(&cep->lock);
	cep->until = jiffies + most;
	cep->acked = READ_ONCE(tcp_sk(cep->sock->sk)->snd_una);
	hyb_cep_arm(cep, delay);
}

/* The time is up: does a peer that reads slowly get @delay once more? */
static bool hyb_cep_more(struct hyb_cep *cep, unsigned long delay)
{
	u32 acked = READ_ONCE(tcp_sk(cep->sock->sk)->snd_una);

	lockdep_assert_held(&cep->lock);
	if (acked == cep->acked || time_after_eq(jiffies, cep->until))
		return false;
	cep->acked = acked;
	hyb_cep_arm(cep, delay);
	return true;
}

/*
 * Send FIN, then wait until TCP is through with the connection: a kernel
 * socket, which does not hold the namespace, does not retransmit any more
 * when it is closed.
 */
void hyb_cep_linger(struct hyb_cep *cep)
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
	hyb_cep_end_in(cep, HYB_T_LINGER,
		       cep->refused ? HYB_T_LINGER : HYB_T_MORE);
}

/*
 * As hyb_cep_linger(), after the ULP's refusal. The peer decides how many there are, and
 * TCP does not count them as orphans. One too many is reset.
 */
void hyb_cep_linger_refused(struct hyb_cep *cep)
{
	lockdep_assert_held(&cep->lock);
	cep->refused = true;
	if (atomic_inc_return(&cep->dev->cm.refused) <= HYB_MAX_REFUSED)
		hyb_cep_linger(cep);
	else
		hyb_cep_drop(cep, true);
}

/* Full operation is over */
static void hyb_cep_finish(struct hyb_cep *cep, bool by_peer)
{
	hyb_stats_inc(cep->dev, cep->broken ? HYB_ST_CM_ABORT : HYB_ST_CM_CLOSE);
	if (!hyb_cep_stop(cep)) {
		hyb_cep_recall(cep, by_peer);
		return;
	}
	hyb_cep_flush(cep, by_peer);
	if (cep->sock)
		hyb_cep_linger(cep);
	else
		hyb_cep_dead(cep);
}

/* Full operation is over, and the peer must learn that data are lost */
static void hyb_cep_reset(struct hyb_cep *cep)
{
	hyb_stats_inc(cep->dev, HYB_ST_CM_ABORT);
	if (!hyb_cep_stop(cep)) {
		hyb_cep_recall(cep, false);
		return;
	}
	hyb_cep_flush(cep, false);
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

int hyb_addr_len(const struct sockaddr_storage *addr)
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
struct sockaddr_storage hyb_local_addr(const struct iw_cm_id *id)
{
	const struct net_device *netdev = hyb_dev_of(id->device)->netdev;
	struct sockaddr_storage addr = id->m_local_addr, flipped = addr;

	rdma_stack_flip((struct sockaddr *)&flipped);
	return netdev->flags & IFF_LOOPBACK &&
	       rdma_stack_loopback((struct sockaddr *)&flipped) ? flipped : addr;
}

/*
 * Set the control group and the IP options of a new socket. The TOS of the RDMA CM applies to
 * IPv4, unless the ULP has set all options.
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

/* Bind and begin to connect, without waiting for the handshake */
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
 * The RDMA CM has chosen the port without knowing the ports of TCP: if the port
 * is taken, let TCP choose another one.
 */
int hyb_cep_dial(struct hyb_cep *cep)
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
 * know revision 2. Try again with revision 1. Returns false if that was in use already. If
 * the new attempt cannot begin, this reports the failure.
 */
static bool hyb_cep_fall_back(struct hyb_cep *cep)
{
	if (cep->rev == MPA_REV_1)
		return false;
	hyb_tcp_release(cep, true);
	cep->rev = MPA_REV_1;
	if (hyb_cep_dial(cep)) {
		hyb_stats_inc(cep->dev, HYB_ST_CM_ABORT);
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
		/* a peer without support for markers has no other way to refuse them */
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
		/* not -ECONNRESET: the peer has accepted, but rdma_cm would report a rejection */
		hyb_cep_fail(cep, -ECONNABORTED, false);
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

/* -------------------------------------------------- passive connections */

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

/* The Request is invalid, is missing, or cannot be passed to the ULP */
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
	} else if (ret == -ENOMEM && !(ev & BIT(HYB_EV_EVICT)) &&
		   time_before(jiffies, cep->until)) {
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

/* Enter full operation. Returns 0 or an error. A later error ends the connection as usual. */
int hyb_cep_accept(struct hyb_cep *cep, struct iw_cm_id *id,
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

/* ------------------------------------------------------- full operation */

/* Let the engine send the rest, then close */
static void hyb_cep_drain(struct hyb_cep *cep, unsigned long delay,
			  unsigned long most)
{
	cep->state = HYB_CEP_DRAIN;
	hyb_cep_end_in(cep, delay, most);
	hyb_tcp_drain(cep, cep->qp);
}

/*
 * True if an error or an abort ends the connection. If one side has closed it at the same
 * time, only a Terminate of the peer counts: that side may use a timeout.
 */
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
		hyb_cep_drain(cep, HYB_T_FLUSH, HYB_T_FLUSH);
	else if (ev & (BIT(HYB_EV_GRACEFUL) | BIT(HYB_EV_ERROR)))
		hyb_cep_drain(cep, HYB_T_DRAIN, HYB_T_MORE);
}

static void hyb_step_drain(struct hyb_cep *cep, unsigned long ev)
{
	unsigned long end = BIT(HYB_EV_DRAINED) | BIT(HYB_EV_TIMER) |
			    BIT(HYB_EV_LOST) | BIT(HYB_EV_EOF) |
			    BIT(HYB_EV_TERM);

	if (ev == BIT(HYB_EV_TIMER) && hyb_cep_more(cep, HYB_T_DRAIN))
		return;
	/* with the timer, unsent data was left */
	if (ev & (BIT(HYB_EV_LOST) | BIT(HYB_EV_TERM) | BIT(HYB_EV_TIMER)))
		cep->broken = true;
	if (ev & BIT(HYB_EV_RESET))
		hyb_cep_reset(cep);
	else if (ev & end)
		hyb_cep_finish(cep, false);
	else if (ev & BIT(HYB_EV_ABORT))
		hyb_cep_drain(cep, HYB_T_FLUSH, HYB_T_FLUSH);
}

static void hyb_step_recall(struct hyb_cep *cep, unsigned long ev)
{
	if (!(ev & (BIT(HYB_EV_RECALLED) | BIT(HYB_EV_TIMER))))
		return;
	hyb_cep_flush(cep, cep->by_peer);
	hyb_cep_dead(cep);
}

/*
 * The peer's TCP has all, and RST would discard what its ULP has not read. Without RST
 * the connection becomes one of TIME_WAIT; where it would have to stay longer, a socket
 * would stay, and tcp_close() stops the timers of a kernel socket.
 */
static bool hyb_cep_may_leave(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) == TCP_FIN_WAIT2 &&
	       tcp_fin_time(sk) <= TCP_TIMEWAIT_LEN;
}

static void hyb_step_linger(struct hyb_cep *cep, unsigned long ev)
{
	const struct sock *sk = cep->sock->sk;

	if (READ_ONCE(sk->sk_state) == TCP_CLOSE)
		hyb_cep_drop(cep, false);
	else if (ev & BIT(HYB_EV_TIMER) && !hyb_cep_more(cep, HYB_T_LINGER))
		hyb_cep_drop(cep, !hyb_cep_may_leave(sk));
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
	case HYB_CEP_RECALL:
		hyb_step_recall(cep, ev);
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

/*
 * End a connection whatever state it is in, and free all of it. RTNL may be held,
 * so all connections of a device share one limit, hyb_cm_dev.recall.
 */
void hyb_cep_kill(struct hyb_cep *cep)
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
		if (!hyb_cep_stop(cep))
			hyb_tcp_recall_wait(cep->qp, cep->dev->cm.recall);
		hyb_cep_flush(cep, true);
		break;
	case HYB_CEP_RECALL:
		hyb_tcp_recall_wait(cep->qp, cep->dev->cm.recall);
		hyb_cep_flush(cep, cep->by_peer);
		break;
	default:
		break;
	}
	hyb_cep_drop(cep, true);
}
