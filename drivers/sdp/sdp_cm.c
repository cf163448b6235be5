// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: from connect() or a connection request to the end of teardown.
 * Calls rdma_cm, the link and the two halves of the stream.
 *
 * Events arrive with the handler mutex of the cm_id held. Handlers take no
 * socket lock, only sdp->lock and tx_lock, and never destroy anything: every
 * connection ends in its teardown work, which may sleep, drains the queue
 * pair and only then touches the socket. It first waits for handlers and for
 * setup_work, so that no set-up is still running.
 */
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm_ib.h>

#include "sdp.h"
#include "sdp_dial.h"
#include "sdp_fallback.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_port.h"
#include "sdp_ring.h"
#include "sdp_trace.h"
#include "sdp_verbs.h"

#define SDP_CONNECT_TRIES	100	/* ports that looked free but are taken */
#define SDP_NONBLOCK_WAIT	(HZ / 50 + 1)	/* for a known address, at most */
#define SDP_RESOLVE_MS		50	/* before the neighbour is asked again */
#define SDP_GRACE		(5 * HZ)	/* for the peer to hang up too */
#define SDP_GRACE_EVENT		(HZ / 50 + 1)	/* for the event that it has */
#define SDP_RETRY_COUNT		7
#define SDP_READS		4		/* outstanding, for each side */
#define SDP_RNR_RETRY		7		/* for ever */
#define SDP_CONFIRM_SOON	HZ	/* a peer has this long to confirm if others wait */
#define SDP_CONFIRM_SCAN	256	/* unconfirmed connections to look at, the oldest */
#define SDP_PEER_LISTS		64	/* by a hash of the peer's address */
/* Makes the socket of a connection request; set once, before the first socket */
static struct sock *(*sdp_cm_child_sock)(struct sock *listener) __ro_after_init;

/* ---- life of a connection ---- */

/**
 * sdp_cm_init - set the function that makes sockets of connection requests
 * @child: returns a socket without struct socket for a listener, or NULL
 *
 * Context: module init.
 */
void __init sdp_cm_init(struct sock *(*child)(struct sock *listener))
{
	sdp_cm_child_sock = child;
}

static void sdp_cm_kick_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, kick_work);
	struct mem_cgroup *old = sdp_sock_charge(conn->sk);

	sdp_qp_rx_refill(conn);
	conn->link->push(conn);
	set_active_memcg(old);
}

static void sdp_cm_down_work(struct work_struct *work);
static void sdp_cm_setup_work(struct work_struct *work);

/* A connection whose link and flow control are not chosen yet. */
static struct sdp_conn *sdp_cm_new_conn(struct sock *sk, bool again, gfp_t gfp)
{
	struct sdp_conn *conn = sdp_conn_alloc(sk, again, gfp);

	if (!conn)
		return NULL;
	INIT_DELAYED_WORK(&conn->down_work, sdp_cm_down_work);
	INIT_WORK(&conn->cm.setup_work, sdp_cm_setup_work);
	INIT_DELAYED_WORK(&conn->kick_work, sdp_cm_kick_work);
	INIT_WORK(&conn->ctl_work, sdp_shared_work);
	conn->link = &sdp_link_verbs;
	conn->fc = &sdp_fc_credit;
	return conn;
}

static void sdp_cm_attach(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_conn *old = sdp_sk(sk)->conn;
	struct sdp_conn *any = conn ? conn : old;

	if (!any)
		return;
	spin_lock_bh(&any->tx_lock);
	spin_lock(&sdp_sk(sk)->lock);
	WRITE_ONCE(sdp_sk(sk)->conn, conn);
	WRITE_ONCE(sk->sk_wmem_queued, 0);
	if (conn) {
		sdp_sk(sk)->rxq = &sdp_rxq_verbs;	/* the queue is empty */
		sdp_ring_drop(sdp_sk(sk));
	}
	spin_unlock(&sdp_sk(sk)->lock);
	spin_unlock_bh(&any->tx_lock);
}

/* Wake all tasks that may wait on a socket that has ended. */
static void sdp_cm_wake_ended(struct sock *sk, bool error)
{
	if (sock_flag(sk, SOCK_DEAD))
		return;
	sk->sk_state_change(sk);
	if (error)
		sk_error_report(sk);
}

/*
 * Reset the connection at once, dropping data that waits in the transport. Returns false if
 * the device cannot, or if the flow control leaves no data there.
 */
static bool sdp_cm_reset(struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack = conn->stack;

	if (!conn->fc->held)
		return false;
	if (!stack)
		stack = rdma_stack_get_link(conn->dev);
	if (!stack || !stack->reset)
		return false;
	stack->reset(conn->qp);
	return true;
}

/*
 * connect(), or its thread, begins to use the cm_id. While it does so, the teardown is not
 * queued, as some devices block in rdma_connect() for minutes, and no work item waits for
 * that. Returns false if the teardown has begun.
 */
static bool sdp_cm_enter(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->cm.call, SDP_CALL_CONNECTS);
	smp_mb();	/* pairs with test_and_set_bit() in sdp_conn_down() */
	if (!test_bit(SDP_CONN_DOWN, &conn->flags))
		return true;
	sdp_conn_id_done(conn);
	return false;
}

/*
 * Handlers of the RDMA CM run one after the other for all connections of the machine.
 * Memory that is charged to a control group may have to be waited for, so handlers leave
 * all set-up that takes such memory to this work item, in a queue of its own. cm.step says
 * which is next.
 */
static void sdp_cm_queue_setup(struct sdp_conn *conn)
{
	refcount_inc(&conn->refs);
	if (!queue_work(sdp_pernet(sock_net(conn->sk))->setup_wq,
			&conn->cm.setup_work))
		refcount_dec(&conn->refs);
}

/*
 * A set-up that still runs finishes first; later ones see SDP_CONN_DOWN. Parts of it run in
 * handlers, in setup_work, and in sdp_cm_hold_work(), which queues setup_work with the
 * listener's lock.
 */
static void sdp_cm_end_setup(struct sdp_conn *conn)
{
	if (conn->id) {
		rdma_lock_handler(conn->id);
		rdma_unlock_handler(conn->id);
	}
	if (conn->cm.listener) {
		spin_lock_bh(&sdp_sk(conn->cm.listener)->lock);
		spin_unlock_bh(&sdp_sk(conn->cm.listener)->lock);
	}
	if (cancel_work_sync(&conn->cm.setup_work))
		sdp_conn_put(conn);
}

/*
 * Jiffies to wait for DISCONNECTED: the peer gets time to hang up, too. Where it has ended
 * the connection, the event is on its way, and the next steps would sleep until it comes.
 */
static unsigned long sdp_cm_grace(const struct sdp_conn *conn)
{
	if (test_bit(SDP_CONN_GRACEFUL, &conn->flags))
		return SDP_GRACE;
	return test_bit(SDP_CONN_CLOSED, &conn->flags) ? SDP_GRACE_EVENT : 0;
}

/*
 * Stop an attempt that the peer has not answered. iw_cm_disconnect() would wait until the
 * device gives up, and enough waiting teardowns block all others of the namespace. In state
 * ERR the device gives up at once. If this state change fails, the teardown waits as before.
 */
static void sdp_cm_stop_attempt(struct sdp_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (conn->qp && test_bit(SDP_CONN_ACTIVE, &conn->flags) &&
	    !test_bit(SDP_CONN_UP, &conn->flags))
		ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
}

/* Hang up. Returns true if down_work comes again, when that is done. */
static bool sdp_cm_disconnect(struct sdp_conn *conn)
{
	unsigned long grace;
	bool waits;

	/* a FIN would wait for a reader that may never come */
	if (test_bit(SDP_CONN_ABORT, &conn->flags) && sdp_cm_reset(conn))
		return false;
	if (!test_bit(SDP_CONN_CM_CONNECTED, &conn->flags))
		return false;
	sdp_cm_stop_attempt(conn);
	rdma_disconnect(conn->id);
	grace = sdp_cm_grace(conn);
	if (!grace)
		return false;
	rdma_lock_handler(conn->id);
	waits = !conn->cm.gone;
	if (waits) {
		conn->cm.hang_up = SDP_HANG_UP_WAITS;
		queue_delayed_work(sdp_pernet(sock_net(conn->sk))->down_wq,
				   &conn->down_work, grace);
	}
	rdma_unlock_handler(conn->id);
	return waits;
}

/* The peer has hung up, or the device goes. The lock of the cm_id's handler is held. */
static void sdp_cm_gone(struct sdp_conn *conn)
{
	conn->cm.gone = true;
	if (conn->cm.hang_up == SDP_HANG_UP_WAITS)
		mod_delayed_work(sdp_pernet(sock_net(conn->sk))->down_wq,
				 &conn->down_work, 0);
}

/* The peer has hung up, or its time is over. */
static void sdp_cm_hung_up(struct sdp_conn *conn)
{
	rdma_lock_handler(conn->id);
	conn->cm.hang_up = SDP_HANG_UP_DONE;
	rdma_unlock_handler(conn->id);
	/* the event and the timeout may both have happened */
	cancel_delayed_work(&conn->down_work);
}

/*
 * Disconnect and drain the queues, after which no completion arrives. Returns false
 * if down_work has to run again for that.
 */
static bool sdp_cm_hang_up(struct sdp_conn *conn)
{
	if (conn->cm.hang_up == SDP_HANG_UP_WAITS) {
		sdp_cm_hung_up(conn);
	} else {
		sdp_cm_end_setup(conn);
		if (sdp_cm_disconnect(conn))
			return false;
	}
	/* the engine posts nothing any more once it has seen SDP_CONN_DOWN */
	spin_lock_bh(&conn->tx_lock);
	spin_unlock_bh(&conn->tx_lock);
	/* on a shared link nothing is posted but a probe */
	if (conn->qp && (!conn->link->shared || conn->probe.state))
		ib_drain_qp(conn->qp);
	sdp_zc_drained(conn);
	return true;
}

/* A request that did not make it into the accept queue. */
static void sdp_cm_drop_embryo(struct sdp_conn *conn)
{
	struct sock *listener = conn->cm.listener;
	struct sdp_sock *lsdp = sdp_sk(listener);

	conn->cm.listener = NULL;
	spin_lock_bh(&lsdp->lock);
	if (!list_empty(&conn->cm.held_node) && !conn->cm.answered)
		lsdp->nheld--;
	else
		sk_acceptq_removed(listener);
	if (conn->cm.makes_room)
		lsdp->nending--;
	list_del_init(&conn->cm.held_node);
	spin_unlock_bh(&lsdp->lock);
	sdp_cm_accept_next(listener);
	sock_put(listener);
	/* a set-up that continued after the abort has restarted the timer */
	sdp_sock_stop_timer(conn->sk);
	sock_set_flag(conn->sk, SOCK_DEAD);
	sock_put(conn->sk);
}

static void sdp_cm_down_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, down_work);
	struct sock *sk = conn->sk;
	bool ours = false;

	if (!sdp_cm_hang_up(conn))
		return;
	lock_sock(sk);
	if (sdp_sk(sk)->conn == conn) {
		ours = true;
		if (!sdp_fallback_instead(sk, conn->error))
			sdp_conn_ended(sk, conn);
		sdp_sk(sk)->rxq->orphan(sk, conn);
		sdp_cm_attach(sk, NULL);
		/* under the lock: the timer may be that of the next connection afterwards */
		sdp_sock_stop_timer(sk);
	}
	release_sock(sk);
	/*
	 * the connection is detached: without callbacks, nothing queues the
	 * work items again
	 */
	sdp_shared_close(conn);
	cancel_work_sync(&conn->ctl_work);
	cancel_delayed_work_sync(&conn->kick_work);
	if (test_bit(SDP_CONN_ESTAB_COUNTED, &conn->flags))
		SDP_DEC_STATS(sock_net(sk), CURR_ESTAB);
	if (ours)
		sdp_cm_wake_ended(sk, sk->sk_err);
	sdp_verbs_destroy(conn);
	if (conn->id)
		rdma_destroy_id(conn->id);
	if (conn->cm.listener)
		sdp_cm_drop_embryo(conn);
	sdp_conn_put(conn);
}

/**
 * sdp_cm_expired - connect() has taken too long
 * @sk: socket, locked, in state SYN_SENT
 *
 * The program gets the error, or continues with TCP, at once: a device may need
 * as long again to give up, and no task waits for that.
 *
 * Context: process.
 */
void sdp_cm_expired(struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	sock_owned_by_me(sk);
	if (!conn || test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	/* the teardown that starts below may drop the last reference */
	refcount_inc(&conn->refs);
	conn->error = ETIMEDOUT;
	if (!sdp_fallback_instead(sk, ETIMEDOUT))
		sdp_conn_ended(sk, conn);
	sdp_cm_attach(sk, NULL);
	/* a peer that accepted in the last moment may have sent something */
	sdp_rx_purge(sk);
	sdp_conn_down(conn, ETIMEDOUT);
	sdp_conn_put(conn);
	sdp_cm_wake_ended(sk, sk->sk_err);
}

/**
 * sdp_cm_abort - end the connection of a socket at once
 * @sk: socket, locked
 *
 * The peer sees a disconnect without DisConn, which is a reset. Everything
 * unread and unsent is dropped.
 */
void sdp_cm_abort(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;

	if (!conn)
		return;
	SDP_INC_STATS(sock_net(sk), ABORTS_SENT);
	sdp_sock_stop_timer(sk);
	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	sdp_sock_set_state(sk, TCP_CLOSE);
	spin_unlock_bh(&sdp->lock);
	sdp_cm_attach(sk, NULL);
	sdp_rx_purge(sk);
	set_bit(SDP_CONN_ABORT, &conn->flags);
	sdp_conn_down(conn, ECONNRESET);
}

/* ---- Hello ---- */

static void sdp_cm_put_ip(u8 *p, const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		memcpy(p + 12, &((struct sockaddr_in *)sa)->sin_addr, 4);
	else
		memcpy(p, &((struct sockaddr_in6 *)sa)->sin6_addr, 16);
}

static void sdp_cm_fill_hello(struct sdp_conn *conn, struct sdp_hello *h)
{
	struct rdma_addr *addr = &conn->id->route.addr;
	union sdp_addr src;

	sdp_addr_of_cm(&addr->src_addr, &src);
	memset(h, 0, sizeof(*h));
	h->version = SDP_VERSION;
	h->ipv = src.sa.sa_family == AF_INET ? 4 : 6;
	/* without receives yet: as many as sdp_fc_set_first() advertises later */
	h->bufs = test_bit(SDP_CONN_READY, &conn->flags) &&
		  !test_bit(SDP_CONN_SHARED, &conn->flags) ?
		  min_t(u32, conn->verbs->rx_adv_total, U16_MAX) :
		  conn->rx_start - 1;
	h->max_adverts = conn->terms.max_adverts;
	h->rcvsz = conn->rx_size + SDP_BSDH_LEN;
	h->desired = h->rcvsz;
	h->port = ntohs(src.v4.sin_port);
	/* an offer, or the answer to one */
	if (conn->stack)
		h->ext |= SDP_EXT_SHARED;
	else
		h->ext |= conn->terms.ext;
	sdp_cm_put_ip(h->src, &src.sa);
	sdp_cm_put_ip(h->dst, (struct sockaddr *)&addr->dst_addr);
}

/* The two commonest reasons have counters of their own. */
static void sdp_cm_count_bad_hello(struct net *net, int err)
{
	if (err == SDP_WIRE_VERSION)
		SDP_INC_STATS(net, BAD_VERSION);
	else if (err == SDP_WIRE_ADVERTS)
		SDP_INC_STATS(net, BAD_ADVERTS);
	else
		SDP_INC_STATS(net, HELLO_BAD);
}

/* Take over what the peer has announced. Tests stop here, hence noinline. */
static noinline void sdp_cm_use_hello(struct sdp_conn *conn, const struct sdp_hello *h)
{
	spin_lock_bh(&conn->tx_lock);
	conn->terms.peer_ext = h->ext;
	conn->tx_max_payload = min_t(u32, h->rcvsz - SDP_BSDH_LEN,
				     SDP_BUF_SIZE);
	conn->fc->peer(conn, h->bufs, 0);
	spin_unlock_bh(&conn->tx_lock);
}

static void sdp_cm_param(struct sdp_conn *conn, struct rdma_conn_param *p,
			 const u8 *data, u32 len)
{
	/*
	 * A shared link reads nothing. On a verbs link we have one read under
	 * way at most, see sdp_zc_rx_read(); more are for peers that have more.
	 */
	int reads = conn->stack ? 1 : SDP_READS;

	memset(p, 0, sizeof(*p));
	p->private_data = data;
	p->private_data_len = len;
	p->responder_resources = min(reads, conn->dev->attrs.max_qp_rd_atom);
	p->initiator_depth = min(reads, conn->dev->attrs.max_qp_init_rd_atom);
	p->retry_count = SDP_RETRY_COUNT;
	p->rnr_retry_count = SDP_RNR_RETRY;
}

/* ---- active side ---- */

/* errno that connect() gives for an error on the way */
static int sdp_cm_errno(int event, int status)
{
	int err = abs(status);

	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (err == ENODEV)
			err = ENETUNREACH;
		else if (err == ENOMEM)
			err = ENOBUFS;
		else if (err != ENETUNREACH && err != EACCES)
			err = EHOSTUNREACH;
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		err = err == ENOMEM ? ENOBUFS : EHOSTUNREACH;
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		err = ETIMEDOUT;
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = ECONNREFUSED;
		break;
	default:
		if (err == EADDRINUSE)
			err = EADDRNOTAVAIL;
		else if (err == ENOMEM)
			err = ENOBUFS;
		else if (err == ECONNABORTED)
			err = ECONNRESET;
		else if (err != EADDRNOTAVAIL && err != ENETUNREACH &&
			 err != EHOSTUNREACH && err != ETIMEDOUT &&
			 err != EAGAIN)
			err = ECONNREFUSED;
		break;
	}
	return err;
}

/* rdma_cm has chosen a reserved port, which is only for explicit use. */
static bool sdp_cm_reserved(const struct sock *sk)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	return !sdp_port_kept(sk) &&
	       inet_is_local_reserved_port(sock_net(sk),
					   ntohs(sdp->local.v4.sin_port));
}

/* Returns the error of the provider as it is. */
static int sdp_cm_call_connect(struct sdp_conn *conn, struct rdma_conn_param *param)
{
	const struct cred *cred;
	int err = 0;

	rdma_lock_handler(conn->id);
	if (!test_bit(SDP_CONN_DOWN, &conn->flags)) {
		/* a socket that the device makes belongs to the program, in any context */
		cred = override_creds(conn->cm.cred);
		err = rdma_connect_locked(conn->id, param);
		revert_creds(cred);
		if (!err)
			set_bit(SDP_CONN_CM_CONNECTED, &conn->flags);
	}
	rdma_unlock_handler(conn->id);
	return err;
}

/*
 * Everything is resolved: make the QP and connect, after sdp_cm_enter() or in setup_work.
 * As with sdp_cm_accept(), only the last step takes the lock of the cm_id's handler.
 * Returns the error of the provider as it is.
 */
static int sdp_cm_do_connect(struct sdp_conn *conn)
{
	struct rdma_conn_param param;
	u8 data[SDP_HELLO_LEN];
	struct sdp_hello h;
	int err;
	u32 len;

	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return 0;
	if (sdp_cm_reserved(conn->sk))
		return -EADDRNOTAVAIL;
	WRITE_ONCE(conn->cm.step, SDP_CM_CONNECTING);
	err = sdp_verbs_create(conn);
	if (err)
		return err;
	/* otherwise wait for the HelloAck, which decides which buffers are needed */
	if (!conn->stack && !conn->terms.ext)
		err = sdp_verbs_start(conn);
	if (err)
		return err;
	sdp_cm_fill_hello(conn, &h);
	len = sdp_build_hello(data, &h,
			      !test_bit(SDP_CONN_IWARP, &conn->flags));
	sdp_cm_param(conn, &param, data, len);
	return sdp_cm_call_connect(conn, &param);
}

/* As TCP, when it has no port left */
static int sdp_cm_port_errno(const struct sock *sk, int err)
{
	return err == -EADDRINUSE && !sdp_port_kept(sk) ? -EADDRNOTAVAIL : err;
}

/* May another port help? */
static bool sdp_cm_port_taken(const struct sock *sk, int err,
			      const struct sdp_port_walk *w)
{
	return (err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	       !sdp_port_kept(sk) && w->tries < SDP_CONNECT_TRIES;
}

/* rdma_connect() has failed, and the call that began the attempt is over. */
static void sdp_cm_not_connected(struct sdp_conn *conn, int err)
{
	struct sock *sk = conn->sk;

	if (!sdp_cm_port_taken(sk, err, &conn->cm.walk) ||
	    test_bit(SDP_CONN_DOWN, &conn->flags)) {
		sdp_conn_down(conn, sdp_cm_errno(0, sdp_cm_port_errno(sk, err)));
		return;
	}
	conn->cm.err = err;
	WRITE_ONCE(conn->cm.step, SDP_CM_AGAIN);
	sdp_cm_queue_setup(conn);
}

/*
 * May rdma_connect() block? The RDMA CM does not report that. It blocks with siw. It does
 * not block with iWARP devices that rdma_stack knows.
 */
static bool sdp_cm_may_block(const struct sdp_conn *conn)
{
	return rdma_protocol_iwarp(conn->id->device, conn->id->port_num) &&
	       !rdma_stack_get_link(conn->id->device);
}

/* Context: setup_work, which the teardown waits for. */
static void sdp_cm_connect_later(struct sdp_conn *conn)
{
	int err = sdp_cm_do_connect(conn);

	if (err)
		sdp_cm_not_connected(conn, err);
}

/* Context: a thread of sdp_dial_start(). */
static void sdp_cm_dial(struct sdp_conn *conn)
{
	struct mem_cgroup *old;
	int err;

	if (!sdp_cm_enter(conn))
		return;
	old = sdp_sock_charge(conn->sk);
	err = sdp_dial_begin(conn, conn->id->device);
	if (!err)
		err = sdp_cm_do_connect(conn);
	set_active_memcg(old);
	sdp_dial_done(conn);
	sdp_conn_id_done(conn);
	if (err)
		sdp_cm_not_connected(conn, err);
}

static void sdp_cm_route_resolved(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	int err;
	u8 call;

	spin_lock_bh(&sdp->lock);
	call = READ_ONCE(conn->cm.call);
	if (conn->cm.step == SDP_CM_RESOLVING)
		WRITE_ONCE(conn->cm.step, SDP_CM_RESOLVED);
	spin_unlock_bh(&sdp->lock);
	if (call == SDP_CALL_STARTS || call == SDP_CALL_WAITS) {
		wake_up_all(&conn->wait);
		return;
	}
	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	if (!sdp_cm_may_block(conn)) {
		sdp_cm_queue_setup(conn);
		return;
	}
	err = sdp_dial_start(conn, sdp_cm_dial);
	if (err)
		sdp_conn_down(conn, sdp_cm_errno(0, err));
}

static int sdp_cm_resolve(struct sdp_conn *conn)
{
	return rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)
				 &conn->cm.dst, SDP_RESOLVE_MS);
}

/*
 * rdma_cm misses the answer of a neighbour that comes while it is asking, and
 * then sleeps to the end of its timeout. So that is short, and we ask again;
 * not from the handler, which rdma_cm would wait for.
 */
static void sdp_cm_addr_error(struct sdp_conn *conn, int status)
{
	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;		/* the teardown may have cancelled setup_work */
	if (status != -ETIMEDOUT ||
	    time_after(jiffies, READ_ONCE(conn->cm.deadline))) {
		sdp_conn_down(conn, sdp_cm_errno(RDMA_CM_EVENT_ADDR_ERROR,
						 status));
		return;
	}
	sdp_cm_queue_setup(conn);
}

/* Is @netdev the net device that the driver of @device has set? */
static bool sdp_cm_netdev_of(struct net_device *netdev,
			     const struct ib_device *device)
{
	struct ib_device *found;

	found = ib_device_get_by_netdev(netdev, RDMA_DRIVER_UNKNOWN);
	if (found)
		ib_device_put(found);
	return found == device;
}

/* Is a net device of @device in @net? Looks at the one with index @bound first. */
static bool sdp_cm_device_in(const struct ib_device *device, struct net *net,
			     int bound)
{
	struct net_device *netdev;
	bool found;

	rcu_read_lock();
	netdev = dev_get_by_index_rcu(net, bound);
	found = netdev && sdp_cm_netdev_of(netdev, device);
	/* A VLAN or a bond lies above the net device of the RDMA device */
	if (!found)
		for_each_netdev_rcu(net, netdev)
			if (sdp_cm_netdev_of(netdev, device)) {
				found = true;
				break;
			}
	rcu_read_unlock();
	return found;
}

/*
 * May @id use the device that the RDMA CM has found? For iWARP the RDMA CM compares
 * addresses only, and in shared mode it looks at all devices. Any namespace can have a
 * net device with the addresses of a device elsewhere, so a net device of the RDMA
 * device has to be in the namespace of the cm_id. For RoCE the GID names the net device,
 * and the RDMA CM looks in that namespace alone.
 */
static bool sdp_cm_may_use(const struct rdma_cm_id *id)
{
	const struct rdma_dev_addr *addr = &id->route.addr.dev_addr;
	struct ib_device *device = id->device;
	struct net_device *netdev;
	bool ret;

	if (!rdma_protocol_iwarp(device, id->port_num))
		return true;
	if (!device->ops.get_netdev)
		return sdp_cm_device_in(device, addr->net, addr->bound_dev_if);
	netdev = device->ops.get_netdev(device, id->port_num);
	ret = netdev && net_eq(dev_net(netdev), addr->net);
	dev_put(netdev);
	return ret;
}

/*
 * iWARP has no routes, and the RDMA CM would take a work item to say so. It accepts a path
 * of the caller instead, which nothing looks at there.
 */
static int sdp_cm_resolve_route(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	struct sa_path_rec none = { };
	int err;

	if (!rdma_protocol_iwarp(conn->id->device, conn->id->port_num))
		return rdma_resolve_route(conn->id,
					  READ_ONCE(sn->sysctl_resolve_timeout));
	err = rdma_set_ib_path(conn->id, &none);
	if (!err)
		sdp_cm_route_resolved(conn);
	return err;
}

static void sdp_cm_addr_resolved(struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	union sdp_addr src;
	int err;

	if (!sdp_cm_may_use(conn->id)) {
		sdp_conn_down(conn, ENETUNREACH);
		return;
	}
	sdp_addr_of_cm(&conn->id->route.addr.src_addr, &src);
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn)
		sdp_sock_set_local(conn->sk, &src.sa);
	spin_unlock_bh(&sdp->lock);
	err = sdp_cm_resolve_route(conn);
	if (err)
		sdp_conn_down(conn, sdp_cm_errno(RDMA_CM_EVENT_ROUTE_ERROR,
						 err));
}

/* Both sides: the transport is there, the stream may begin. */
static void sdp_cm_up(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp_fc_verify(conn);
	if (!test_and_set_bit(SDP_CONN_ESTAB_COUNTED, &conn->flags))
		SDP_INC_STATS(sock_net(sk), CURR_ESTAB);
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn &&
	    (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)) {
		/* that of connect(); before a writer can start another one */
		sdp_sock_stop_timer(sk);
		sdp_sock_set_state(sk, conn->rx_discon ? TCP_CLOSE_WAIT :
						    TCP_ESTABLISHED);
		sdp->last_rx = jiffies;
		/* under the lock, see sdp_connect_finish() */
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	}
	WRITE_ONCE(conn->cm.step, SDP_CM_DONE);
	spin_unlock_bh(&sdp->lock);
	wake_up_all(&conn->wait);
	if (sock_flag(sk, SOCK_KEEPOPEN))
		sdp_sock_start_timer(sk, HZ);
	spin_lock_bh(&conn->tx_lock);
	set_bit(SDP_CONN_UP, &conn->flags);
	smp_mb__after_atomic();	/* pairs with sdp_conn_flushed() */
	spin_unlock_bh(&conn->tx_lock);
	if (test_bit(SDP_CONN_FLUSHED, &conn->flags))
		sdp_conn_down(conn, ECONNRESET);
	sdp_conn_kick(conn);
}

/*
 * The HelloAck is here: which link is it? On iWARP the peer sends nothing
 * before our first message, elsewhere it tries again, so nothing was lost that
 * would have needed a receive.
 */
static int sdp_cm_active_link(struct sdp_conn *conn)
{
	int err;

	if (conn->terms.ext && !conn->stack) {
		err = sdp_fc_use(conn, conn->terms.peer_ext);
		return err ? err : sdp_verbs_start(conn);
	}
	if (!conn->stack)
		return 0;
	if (conn->terms.peer_ext & SDP_EXT_SHARED)
		return sdp_shared_open(conn);
	conn->stack = NULL;
	conn->terms.link_reason = SDP_REASON_PEER;
	return sdp_verbs_start(conn);
}

/*
 * A HelloAck agrees to one of the things that were offered, or to none; immediate
 * data go with a ring.
 */
static bool sdp_cm_ext_ok(const struct sdp_conn *conn, u8 ext)
{
	u8 offer = conn->stack ? SDP_EXT_SHARED : conn->terms.ext;

	if (ext & ~offer)
		return false;
	if (ext & SDP_EXT_IMM)
		return ext == (SDP_EXT_RING | SDP_EXT_IMM);
	return !(ext & (ext - 1));
}

/* The HelloAck is here: the private data are gone with the event. */
static void sdp_cm_hello_ack(struct sdp_conn *conn, struct rdma_cm_event *ev)
{
	struct sock *sk = conn->sk;
	struct sdp_hello h;
	int err;

	err = sdp_parse_hello_ack(ev->param.conn.private_data,
				  ev->param.conn.private_data_len, &h);
	if (!err && !sdp_cm_ext_ok(conn, h.ext))
		err = SDP_WIRE_FIELD;	/* it was not requested */
	if (err) {
		sdp_cm_count_bad_hello(sock_net(sk), err);
		net_info_ratelimited("sdp: bad HelloAck from %pISpc (%d)\n",
				     &conn->id->route.addr.dst_addr, err);
		sdp_conn_down(conn, ECONNREFUSED);
		return;
	}
	sdp_cm_use_hello(conn, &h);
	sdp_cm_queue_setup(conn);
}

/* Context: setup_work, after sdp_cm_hello_ack(). */
static void sdp_cm_active_up(struct sdp_conn *conn)
{
	int err = sdp_cm_active_link(conn);

	if (err) {
		/* any error but -ENOMEM counts as one of a peer that has ended the connection */
		sdp_conn_down(conn, err == -ENOMEM ? ENOBUFS : ECONNRESET);
		return;
	}
	/* lets the passive side talk, see Documentation/wire.rst */
	if (test_bit(SDP_CONN_IWARP, &conn->flags))
		sdp_conn_ctl(conn, SDP_CTL_FIRST);
	sdp_cm_up(conn);
}

/* ---- passive side ---- */

/* Which link is it? The Hello says what the peer can. */
static int sdp_cm_accept_link(struct sdp_conn *conn)
{
	if (conn->stack) {
		if (!sdp_shared_open(conn))
			return 0;
		conn->stack = NULL;
		conn->terms.link_reason = SDP_REASON_MEMORY;
	}
	if (sdp_fc_use(conn, sdp_fc_agree(conn))) {
		conn->terms.fc_reason = SDP_REASON_MEMORY;
		sdp_fc_use(conn, 0);
	}
	return sdp_verbs_start(conn);
}

/*
 * The CM of InfiniBand waits for the peer as long as the peer's own message says: limit that.
 * Nothing else uses the timer of a socket that is not connected yet.
 */
static void sdp_cm_await_confirm(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	unsigned long delay = (unsigned long)HZ *
			      READ_ONCE(sn->sysctl_confirm_timeout);

	WRITE_ONCE(sdp_sk(sk)->deadline, jiffies + delay);
	sdp_sock_start_timer(sk, delay);
}

/* Jiffies until the oldest unconfirmed connection has had its time, 0 if there is none */
static unsigned long sdp_cm_until_stale(struct sdp_sock *lsdp)
{
	struct sdp_conn *conn = list_first_entry_or_null(&lsdp->unconfirmed, struct sdp_conn,
							 cm.held_node);

	return conn ? max_t(long, conn->cm.deadline - jiffies, 1) : 0;
}

/*
 * Have the listener's timer end connections when they have had their time, if requests wait.
 * The listener's lock is held.
 */
static void sdp_cm_watch(struct sock *listener)
{
	struct sdp_sock *lsdp = sdp_sk(listener);
	unsigned long delay = sdp_cm_until_stale(lsdp);

	if (listener->sk_state == TCP_LISTEN && lsdp->nheld && delay)
		sdp_sock_start_timer(listener, delay);
}

/* We have said yes, and the peer has to confirm. The handler cannot run yet. */
static void sdp_cm_answered(struct sdp_conn *conn)
{
	struct sdp_sock *lsdp = sdp_sk(conn->cm.listener);

	if (test_bit(SDP_CONN_IWARP, &conn->flags))
		return;
	conn->cm.deadline = jiffies + SDP_CONFIRM_SOON;
	spin_lock_bh(&lsdp->lock);
	conn->cm.answered = true;
	list_add_tail(&conn->cm.held_node, &lsdp->unconfirmed);
	sdp_cm_watch(conn->cm.listener);
	spin_unlock_bh(&lsdp->lock);
}

/*
 * Accept a connection request: QP, receives, HelloAck. Only the last step takes the
 * lock of the cm_id's handler, which the RDMA CM waits for with each event.
 */
static int sdp_cm_accept(struct sdp_conn *conn)
{
	struct rdma_conn_param param;
	u8 data[SDP_HELLO_ACK_LEN];
	struct sdp_hello h;
	int err;
	u32 len;

	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return 0;
	err = sdp_verbs_create(conn);
	if (!err)
		err = sdp_cm_accept_link(conn);
	if (err)
		return err;
	/*
	 * An iWARP responder must let the initiator speak first; a provider of
	 * shared links sees to that itself.
	 */
	if (test_bit(SDP_CONN_IWARP, &conn->flags) && !conn->stack)
		set_bit(SDP_CONN_FENCED, &conn->flags);
	sdp_cm_fill_hello(conn, &h);
	len = sdp_build_hello_ack(data, &h);
	sdp_cm_param(conn, &param, data, len);
	if (!test_bit(SDP_CONN_IWARP, &conn->flags))
		sdp_cm_await_confirm(conn->sk);
	rdma_lock_handler(conn->id);
	if (!test_bit(SDP_CONN_DOWN, &conn->flags)) {
		err = rdma_accept(conn->id, &param);
		if (!err) {
			set_bit(SDP_CONN_CM_CONNECTED, &conn->flags);
			sdp_cm_answered(conn);
		}
	}
	rdma_unlock_handler(conn->id);
	return err;
}

static void sdp_cm_next_port(struct sdp_conn *conn);

/* The next step of connect(). Returns 0, or an error of the address. */
static int sdp_cm_setup_active(struct sdp_conn *conn)
{
	switch (READ_ONCE(conn->cm.step)) {
	case SDP_CM_RESOLVING:
		return sdp_cm_resolve(conn);
	case SDP_CM_RESOLVED:
		sdp_cm_connect_later(conn);
		break;
	case SDP_CM_CONNECTING:
		sdp_cm_active_up(conn);
		break;
	case SDP_CM_AGAIN:
		sdp_cm_next_port(conn);
		break;
	case SDP_CM_DONE:
		break;
	}
	return 0;
}

static void sdp_cm_setup_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(work, struct sdp_conn,
					     cm.setup_work);
	struct mem_cgroup *old = sdp_sock_charge(conn->sk);
	int err = 0;

	if (!test_bit(SDP_CONN_ACTIVE, &conn->flags)) {
		err = sdp_cm_accept(conn);
		if (err)
			SDP_INC_STATS(sock_net(conn->sk), REFUSED_REQS);
	} else if (!test_bit(SDP_CONN_DOWN, &conn->flags)) {
		err = sdp_cm_setup_active(conn);
	}
	if (err)
		sdp_conn_down(conn, sdp_cm_errno(RDMA_CM_EVENT_ADDR_ERROR,
						 err));
	set_active_memcg(old);
	sdp_conn_put(conn);
}

/**
 * sdp_cm_hold_work - accept requests that waited for room in the accept queue
 * @work: hold_work of a listener, which it holds a reference to
 *
 * Context: work item.
 */
void sdp_cm_hold_work(struct work_struct *work)
{
	struct sdp_sock *sdp = container_of(work, struct sdp_sock, hold_work);
	struct sock *sk = &sdp->inet.sk;
	struct sdp_conn *conn;

	spin_lock_bh(&sdp->lock);
	while (sk->sk_state == TCP_LISTEN && sdp->nheld &&
	       !sk_acceptq_is_full(sk)) {
		conn = list_first_entry(&sdp->held, struct sdp_conn,
					cm.held_node);
		list_del_init(&conn->cm.held_node);
		sdp->nheld--;
		sk_acceptq_added(sk);
		if (test_bit(SDP_CONN_DOWN, &conn->flags))
			continue;	/* its teardown takes the place back */
		sdp_cm_queue_setup(conn);
	}
	spin_unlock_bh(&sdp->lock);
	sock_put(sk);
}

/**
 * sdp_cm_accept_next - there may be room for a held request
 * @sk: listener
 *
 * Context: any.
 */
void sdp_cm_accept_next(struct sock *sk)
{
	if (!READ_ONCE(sdp_sk(sk)->nheld))
		return;
	sock_hold(sk);
	if (!queue_work(sdp_wq(sk), &sdp_sk(sk)->hold_work))
		sock_put(sk);
}

/* From here on no request may end @conn to get its place. False if one has done so. */
static bool sdp_cm_confirmed(struct sdp_conn *conn)
{
	struct sdp_sock *lsdp = sdp_sk(conn->cm.listener);
	bool lives;

	spin_lock_bh(&lsdp->lock);
	list_del_init(&conn->cm.held_node);
	lives = !test_bit(SDP_CONN_DOWN, &conn->flags);
	spin_unlock_bh(&lsdp->lock);
	return lives;
}

static void sdp_cm_passive_up(struct sdp_conn *conn)
{
	struct sock *listener = conn->cm.listener;
	struct sdp_sock *lsdp = sdp_sk(listener);
	struct sock *sk = conn->sk;
	bool queued = false;

	if (!sdp_cm_confirmed(conn))
		return;
	sdp_cm_up(conn);
	spin_lock_bh(&lsdp->lock);
	if (listener->sk_state == TCP_LISTEN) {
		/* the reference of the embryo passes to the accept queue */
		list_add_tail(&sdp_sk(sk)->accept_node, &lsdp->accept_q);
		conn->cm.listener = NULL;
		queued = true;
	}
	spin_unlock_bh(&lsdp->lock);
	if (!queued) {
		sdp_conn_down(conn, ECONNRESET);
		return;
	}
	SDP_INC_STATS(sock_net(sk), PASSIVE_OPENS);
	listener->sk_data_ready(listener);
	sock_put(listener);
}

static int sdp_cm_check_hello(struct sock *listener, struct rdma_cm_id *id,
			      struct rdma_cm_event *ev, struct sdp_hello *h)
{
	struct sockaddr *peer = (struct sockaddr *)&id->route.addr.dst_addr;
	bool iwarp = rdma_protocol_iwarp(id->device, id->port_num);
	int err;

	err = sdp_parse_hello(ev->param.conn.private_data,
			      ev->param.conn.private_data_len, !iwarp, h);
	if (!err && h->ipv != (peer->sa_family == AF_INET ? 4 : 6) &&
	    !ipv6_addr_v4mapped(&((struct sockaddr_in6 *)peer)->sin6_addr))
		err = SDP_WIRE_IPV;
	if (!err)
		return 0;
	sdp_cm_count_bad_hello(sock_net(listener), err);
	net_info_ratelimited("sdp: bad Hello from %pISpc (%d), refused\n",
			     peer, err);
	return -EINVAL;
}

/* A link-local address means nothing without its device. */
static void sdp_cm_child_scope(struct sock *sk, const struct rdma_cm_id *id)
{
	const union sdp_addr *dst = (void *)&id->route.addr.dst_addr;

	if (!sk->sk_bound_dev_if && dst->sa.sa_family == AF_INET6 &&
	    ipv6_addr_type(&dst->v6.sin6_addr) & IPV6_ADDR_LINKLOCAL)
		sk->sk_bound_dev_if = id->route.addr.dev_addr.bound_dev_if;
}

/* As for TCP, the handler waits for no memory of a child. */
static struct sdp_conn *sdp_cm_child(struct sock *listener,
				     struct rdma_cm_id *id)
{
	struct sdp_conn *conn;
	struct sock *sk;

	sk = sdp_cm_child_sock(listener);
	if (!sk)
		return NULL;
	sdp_cm_child_scope(sk, id);
	conn = sdp_cm_new_conn(sk, false, GFP_ATOMIC);
	if (!conn) {
		sock_set_flag(sk, SOCK_DEAD);
		sock_put(sk);
		return NULL;
	}
	sock_hold(listener);
	conn->cm.listener = listener;
	return conn;
}

/*
 * From here on others may find the child and end it (SOCK_DESTROY). Then the
 * teardown waits for the handler, by the lock of the cm_id.
 */
static void sdp_cm_publish(struct sdp_conn *conn)
{
	const struct rdma_addr *addr = &conn->id->route.addr;
	union sdp_addr src = *(union sdp_addr *)&addr->src_addr;
	struct sock *sk = conn->sk;

	/* the port of the device may differ from the program's port */
	src.v4.sin_port = sdp_sk(conn->cm.listener)->local.v4.sin_port;
	spin_lock_bh(&sdp_sk(sk)->lock);
	sdp_sock_set_local(sk, &src.sa);
	sdp_sock_set_peer(sk, (struct sockaddr *)&addr->dst_addr);
	sdp_sock_set_state(sk, TCP_SYN_RECV);
	spin_unlock_bh(&sdp_sk(sk)->lock);
	sdp_cm_attach(sk, conn);
}

/* The list that counts connections of a peer: of its address, or its IPv6 network (/64) */
static u8 sdp_cm_peer_list(const struct rdma_cm_id *id)
{
	const union sdp_addr *peer = (void *)&id->route.addr.dst_addr;
	static u32 seed __read_mostly;
	u32 hash;

	net_get_random_once(&seed, sizeof(seed));
	if (peer->sa.sa_family == AF_INET6)
		hash = jhash2((__force const u32 *)peer->v6.sin6_addr.s6_addr32, 2, seed);
	else
		hash = jhash_1word((__force u32)peer->v4.sin_addr.s_addr, seed);
	return hash % SDP_PEER_LISTS;
}

/* End a connection that is not confirmed. Its teardown takes the place back. */
static void sdp_cm_end_unconfirmed(struct sdp_sock *lsdp, struct sdp_conn *conn)
{
	list_del_init(&conn->cm.held_node);
	conn->cm.makes_room = true;
	lsdp->nending++;
	SDP_INC_STATS(sock_net(conn->sk), LISTEN_DROPS);
	sdp_conn_down(conn, ETIMEDOUT);
}

/* Places that the next requests get: free ones, and those of connections that end for them */
static u32 sdp_cm_places(const struct sock *listener)
{
	u32 used = READ_ONCE(listener->sk_ack_backlog);
	u32 max = READ_ONCE(listener->sk_max_ack_backlog);

	return sdp_sk(listener)->nending + (used > max ? 0 : max - used + 1);
}

/*
 * End the oldest ones that have had time to confirm, until @nr requests get a place. False if
 * there are too few.
 */
static bool sdp_cm_end_stale(struct sock *listener, u32 nr)
{
	struct sdp_sock *lsdp = sdp_sk(listener);
	u32 places = sdp_cm_places(listener);
	struct sdp_conn *conn, *tmp;
	int ended = 0;

	list_for_each_entry_safe(conn, tmp, &lsdp->unconfirmed, cm.held_node) {
		if (places >= nr || ended++ == SDP_CONFIRM_SCAN ||
		    time_before(jiffies, conn->cm.deadline))
			break;
		sdp_cm_end_unconfirmed(lsdp, conn);
		places++;
	}
	return places >= nr;
}

/**
 * sdp_cm_make_room - connections may have had their time to confirm, and requests wait
 * @sk: socket that was a listener
 *
 * Context: process.
 * Return: jiffies until the next call, or 0.
 */
unsigned long sdp_cm_make_room(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	unsigned long again = 0;

	spin_lock_bh(&sdp->lock);
	if (sk->sk_state == TCP_LISTEN && !sdp_cm_end_stale(sk, sdp->nheld))
		again = sdp_cm_until_stale(sdp);
	spin_unlock_bh(&sdp->lock);
	return again;
}

/*
 * End the oldest one of the address that has most, if that has more than the address of
 * @conn would have. So connections that are only being made do not end each other.
 */
static bool sdp_cm_end_of_most(struct sdp_sock *lsdp, const struct sdp_conn *conn)
{
	u8 own = conn->cm.peer_list, most = own;
	u16 nr[SDP_PEER_LISTS] = { };
	struct sdp_conn *old;
	int i = 0;

	list_for_each_entry(old, &lsdp->unconfirmed, cm.held_node) {
		if (i++ == SDP_CONFIRM_SCAN)
			break;
		if (++nr[old->cm.peer_list] > nr[most])
			most = old->cm.peer_list;
	}
	if (nr[most] <= nr[own] + 1)
		return false;
	list_for_each_entry(old, &lsdp->unconfirmed, cm.held_node)
		if (old->cm.peer_list == most)
			break;
	sdp_cm_end_unconfirmed(lsdp, old);
	return true;
}

/*
 * The backlog is full: hold a request if there is room, or a place that a peer does not
 * confirm. Past hold_max each request waits for the teardown of a connection that has ended
 * for it, so no more of them wait than the backlog has places.
 */
static int sdp_cm_hold(struct sock *listener, struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(listener));
	struct sdp_sock *lsdp = sdp_sk(listener);

	if (sdp_cm_end_stale(listener, lsdp->nheld + 1) ||
	    lsdp->nheld < READ_ONCE(sn->sysctl_hold_max)) {
		list_add_tail(&conn->cm.held_node, &lsdp->held);
	} else if (sdp_cm_end_of_most(lsdp, conn)) {
		/* before the requests that the same address may have waiting */
		list_add(&conn->cm.held_node, &lsdp->held);
	} else {
		SDP_INC_STATS(sock_net(listener), LISTEN_DROPS);
		return -ECONNREFUSED;
	}
	lsdp->nheld++;
	sdp_cm_watch(listener);
	SDP_INC_STATS(sock_net(listener), HELD_REQS);
	return 0;
}

/* Accept a request now, hold it for later, or refuse it? Returns < 0 to refuse. */
static int sdp_cm_admit(struct sock *listener, struct sdp_conn *conn)
{
	struct sdp_sock *lsdp = sdp_sk(listener);
	int ret;

	spin_lock_bh(&lsdp->lock);
	if (listener->sk_state != TCP_LISTEN) {
		ret = -ECONNREFUSED;
	} else if (!lsdp->nheld && !sk_acceptq_is_full(listener)) {
		sk_acceptq_added(listener);
		ret = 1;
	} else {
		ret = sdp_cm_hold(listener, conn);
	}
	if (ret < 0)
		sk_acceptq_added(listener);	/* the teardown removes one */
	spin_unlock_bh(&lsdp->lock);
	return ret;
}

static int sdp_cm_conn_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/*
 * Connection request. Returning an error makes rdma_cm refuse it and destroy
 * the cm_id. If 0 is returned, the connection owns the cm_id.
 */
static int sdp_cm_request(struct sock *listener, struct rdma_cm_id *id,
			  struct rdma_cm_event *ev)
{
	struct sdp_conn *conn;
	struct sdp_hello h;
	int ret;

	SDP_INC_STATS(sock_net(listener), CONN_REQS);
	if (sdp_cm_check_hello(listener, id, ev, &h))
		return -EINVAL;
	conn = sdp_cm_child(listener, id);
	if (!conn) {
		SDP_INC_STATS(sock_net(listener), REFUSED_REQS);
		return -ENOMEM;
	}
	sdp_cm_use_hello(conn, &h);
	conn->id = id;
	conn->dev = id->device;
	id->context = conn;
	id->event_handler = sdp_cm_conn_handler;
	conn->cm.peer_list = sdp_cm_peer_list(id);
	sdp_cm_publish(conn);
	ret = sdp_cm_admit(listener, conn);
	if (ret < 0) {
		SDP_INC_STATS(sock_net(listener), REFUSED_REQS);
		/* the teardown refuses the request */
		sdp_conn_down(conn, ECONNREFUSED);
	} else if (ret) {
		sdp_cm_queue_setup(conn);
	}
	return 0;
}

/* ---- events ---- */

static void sdp_cm_established(struct sdp_conn *conn, struct rdma_cm_event *ev)
{
	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	if (test_bit(SDP_CONN_ACTIVE, &conn->flags))
		sdp_cm_hello_ack(conn, ev);
	else if (conn->cm.listener)
		sdp_cm_passive_up(conn);
}

/* Connection lost or not established: map the CM event to an errno. */
static void sdp_cm_failed(struct sdp_conn *conn, struct rdma_cm_event *ev)
{
	int error = sdp_cm_errno(ev->event, ev->status);

	/* a connection that is down has been counted by its deadline, or closed by its program */
	if (ev->event == RDMA_CM_EVENT_UNREACHABLE &&
	    !test_bit(SDP_CONN_DOWN, &conn->flags))
		SDP_INC_STATS(sock_net(conn->sk), TIMEOUTS);
	/* on InfiniBand the passive side rejects if it has not received our RTU */
	if (ev->event == RDMA_CM_EVENT_REJECTED &&
	    test_bit(SDP_CONN_UP, &conn->flags))
		error = ECONNRESET;
	sdp_conn_down(conn, error);
}

static int sdp_cm_conn_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct sdp_conn *conn = id->context;
	struct net *net = sock_net(conn->sk);

	trace_sdp_cm_event(conn->sk, ev->event, ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		sdp_cm_addr_resolved(conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		sdp_cm_addr_error(conn, ev->status);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		sdp_cm_route_resolved(conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		sdp_cm_established(conn, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		sdp_cm_gone(conn);
		sdp_conn_down(conn, ECONNRESET);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (!test_bit(SDP_CONN_DOWN, &conn->flags))
			SDP_INC_STATS(net, DEVICE_REMOVALS);
		sdp_cm_gone(conn);
		sdp_conn_down(conn, ENETRESET);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		sdp_cm_failed(conn, ev);
		break;
	}
	return 0;
}

/* A listening or bound cm_id; its context is the port. */
static int sdp_cm_listen_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct sdp_port *port = id->context;
	struct mem_cgroup *old;
	struct sock *sk;
	int ret;

	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		sdp_port_removal(port);
	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	sk = sdp_port_pick(port, id);
	if (!sk)
		return -ECONNREFUSED;
	trace_sdp_cm_event(sk, ev->event, ev->status);
	old = sdp_sock_charge(sk);
	ret = sdp_cm_request(sk, id, ev);
	set_active_memcg(old);
	sock_put(sk);
	return ret;
}

/**
 * sdp_cm_unbind_work - the device of a bound address went away
 * @work: unbind_work of a socket, which it holds a reference to
 *
 * A listener ends with an error, or TCP alone continues to listen (SDP_FALLBACK). A
 * socket that is only bound stays bound to its port.
 *
 * Context: work item.
 */
void sdp_cm_unbind_work(struct work_struct *work)
{
	struct sdp_sock *sdp = container_of(work, struct sdp_sock, unbind_work);
	struct sock *sk = &sdp->inet.sk;
	struct sdp_port *port = NULL;

	lock_sock(sk);
	/* the program may have bound the socket to another port meanwhile */
	if (!sdp_port_gone(sk))
		goto out;
	port = sdp_port_unbind(sk);
	if (sk->sk_state == TCP_LISTEN) {
		SDP_INC_STATS(sock_net(sk), DEVICE_REMOVALS);
		/*
		 * programs get an error from a connection, but may never notice that a listener
		 * is gone
		 */
		pr_info_ratelimited("sdp: the listener at %pISpc has lost its RDMA device\n",
				    &sdp->local);
		if (!sdp_fallback_only(sk, ENODEV))
			WRITE_ONCE(sk->sk_err, ENETRESET);
		sdp_cm_stop_listen(sk);
		sk->sk_state_change(sk);
	}
out:
	release_sock(sk);
	sdp_port_put(port);
	sock_put(sk);
}

/* ---- connect ---- */

/* Between loopback addresses: at the device on lo */
static int sdp_cm_bind_lo(struct sock *sk, struct sdp_conn *conn,
			  const union sdp_addr *dst, const union sdp_addr *src,
			  __be16 port)
{
	bool bound = sdp_sk(sk)->user_bound && !port;
	union sdp_addr from = *src;

	if (!sdp_addr_loopback(dst) || !sdp_addr_loopback(src))
		return -ENODEV;
	from.v4.sin_port = bound ? sdp_sk(sk)->local.v4.sin_port : port;
	rdma_set_reuseaddr(conn->id, bound);
	rdma_set_afonly(conn->id, 1);
	return sdp_port_bind_lo(conn->id, sk, &from, from.v4.sin_port);
}

/* @route: the local address of the route to @dst */
static int sdp_cm_new_id(struct sock *sk, struct sdp_conn *conn,
			 const union sdp_addr *dst, const union sdp_addr *route,
			 __be16 port)
{
	int family = dst->sa.sa_family, err;
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr src;

	conn->id = rdma_create_id(sock_net(sk), sdp_cm_conn_handler, conn,
				  RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(conn->id)) {
		err = PTR_ERR(conn->id);
		conn->id = NULL;
		return err;
	}
	rdma_set_service_type(conn->id, inet_sk(sk)->tos);
	conn->id->route.addr.dev_addr.bound_dev_if = sk->sk_bound_dev_if;
	if (sdp_addr_loopback(dst) || sdp_addr_loopback(route))
		return sdp_cm_bind_lo(sk, conn, dst, route, port);
	if (!sdp->user_bound && !port)
		return 0;
	memset(&src, 0, sizeof(src));
	if (sdp->local.sa.sa_family == family)
		src = sdp->local;
	src.sa.sa_family = family;
	src.v4.sin_port = port ?: sdp->local.v4.sin_port;
	rdma_set_reuseaddr(conn->id, !port);
	rdma_set_afonly(conn->id, 1);
	err = sdp_port_bind_id(conn->id, sk, &src, src.v4.sin_port);
	return err == -ENODEV ? -EADDRNOTAVAIL : err;
}

/*
 * Wait until addresses are known, then connect from here, in the control group of the
 * caller. A device that may block gets a thread instead, also if the program waits: its
 * wait has a limit, ends with a signal, and does not delay the removal of the device.
 * Without lock_sock.
 */
static int sdp_cm_resolve_and_connect(struct sock *sk, struct sdp_conn *conn,
				      long *timeo, long wait)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	bool resolved, dial;
	int err = 0;
	long left;

	left = wait_event_interruptible_timeout(conn->wait,
						READ_ONCE(conn->cm.step) !=
						SDP_CM_RESOLVING,
						wait);
	if (*timeo && left >= 0)
		*timeo = left;
	spin_lock_bh(&sdp->lock);
	/* if the route is not resolved yet, setup_work or a thread calls rdma_connect() */
	WRITE_ONCE(conn->cm.call, SDP_CALL_NONE);
	resolved = conn->cm.step == SDP_CM_RESOLVED;
	spin_unlock_bh(&sdp->lock);
	if (!resolved || !sdp_cm_enter(conn))
		return 0;
	dial = sdp_cm_may_block(conn);
	if (!dial)
		err = sdp_cm_do_connect(conn);
	sdp_conn_id_done(conn);
	return dial ? sdp_dial_start(conn, sdp_cm_dial) : err;
}

/*
 * The address that a program sees after connect(), until the RDMA CM has found it. The port
 * is chosen already.
 */
static void sdp_cm_expect_local(struct sock *sk, const struct sdp_conn *conn,
				const union sdp_addr *src)
{
	const union sdp_addr *bound = (void *)&conn->id->route.addr.src_addr;
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr local = *src;

	local.v4.sin_port = bound->v4.sin_port;
	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn && local.v4.sin_port && sdp_addr_any(&sdp->local))
		sdp_sock_set_local(sk, &local.sa);
	spin_unlock_bh(&sdp->lock);
}

/*
 * @wait: jiffies that connect() waits; if 0, it is nonblocking, and waits as long as a
 * known address takes, so the route is looked up here, too. The look-up also fills in the
 * source address. For a loopback address that tells whether the device on lo has the
 * connection, so a blocking connect() does it as well.
 */
static int sdp_cm_start(struct sock *sk, struct sdp_conn *conn,
			const union sdp_addr *dst, __be16 port, long *wait)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr src = {};
	int err;

	set_bit(SDP_CONN_ACTIVE, &conn->flags);
	if (sdp->local.sa.sa_family == dst->sa.sa_family)
		src = sdp->local;
	src.sa.sa_family = dst->sa.sa_family;
	if (!*wait) {
		if (sdp_route_known(sk, dst, &src))
			*wait = SDP_NONBLOCK_WAIT;
	} else if (sdp_addr_loopback(dst)) {
		sdp_route_known(sk, dst, &src);
	}
	conn->cm.call = SDP_CALL_STARTS;
	err = sdp_cm_new_id(sk, conn, dst, &src, port);
	if (err)
		return err;
	spin_lock_bh(&sdp->lock);
	sdp_sock_set_peer(sk, &dst->sa);
	sdp_sock_set_state(sk, TCP_SYN_SENT);
	spin_unlock_bh(&sdp->lock);
	sdp_cm_attach(sk, conn);
	conn->cm.dst = *dst;
	conn->cm.dst.v4.sin_port = sdp_port_map(sock_net(sk),
						dst->v4.sin_port);
	conn->cm.deadline = jiffies +
		msecs_to_jiffies(READ_ONCE(sn->sysctl_resolve_timeout));
	err = sdp_cm_resolve(conn);
	if (!err && !sdp_addr_any(&src))
		sdp_cm_expect_local(sk, conn, &src);
	return err;
}

/*
 * Drop an attempt that left no trace except for the result of connect(). The state stays:
 * there may be another attempt, and poll() must not see that this one has ended.
 */
static void sdp_cm_give_up(struct sock *sk, struct sdp_conn *conn)
{
	sdp_cm_attach(sk, NULL);
	sdp_conn_down(conn, 0);
}

/* Errno of connect() for an attempt that could not begin: as TCP */
static int sdp_cm_start_errno(int err)
{
	switch (err) {
	case -ENODEV:
		return -ENETUNREACH;
	case -ENOMEM:
		return -ENOBUFS;
	default:
		return err;
	}
}

/*
 * @err: result of an attempt. If the port was not free, choose another one: rdma_cm does not
 * know the ports of TCP below an iWARP device. As TCP does, walk over all ports. Those that
 * look free are tried, SDP_CONNECT_TRIES at most. Returns 1 to try again, else the final
 * result: @err or -EINTR.
 */
static int sdp_cm_other_port(struct sock *sk, int err, struct sdp_port_walk *w)
{
	if (!sdp_cm_port_taken(sk, err, w))
		return err;
	w->tries++;
	return sdp_port_next_free(sk, w) ? : err;
}

/*
 * Try to connect from the port of @w, or from any. Returns 1 if there is another port to
 * try, 0 if the attempt has begun, which may have failed since, or an error if it could not
 * begin.
 */
static int sdp_cm_try(struct sock *sk, const union sdp_addr *dst,
		      long *timeo, struct sdp_port_walk *w)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn;
	long wait;
	int err;

	conn = sdp_cm_new_conn(sk, w->tries, GFP_KERNEL);
	if (!conn)
		return -ENOBUFS;
	refcount_inc(&conn->refs);
	conn->cm.cred = get_cred(sdp->cred);
	conn->cm.walk = *w;
	wait = *timeo;
	err = sdp_cm_start(sk, conn, dst, w->port, &wait);
	sdp_conn_id_done(conn);
	if (err) {
		sdp_cm_give_up(sk, conn);
		sdp_conn_put(conn);
		/* rdma_cm does not offer the same port twice in a row */
		err = sdp_cm_other_port(sk, err, w);
		return sdp_cm_start_errno(sdp_cm_port_errno(sk, err));
	}
	release_sock(sk);
	err = sdp_cm_resolve_and_connect(sk, conn, timeo, wait);
	lock_sock(sk);
	if (sdp->conn == conn)
		err = sdp_cm_other_port(sk, err, w);
	if (err > 0) {
		sdp_cm_give_up(sk, conn);
	} else if (err) {
		err = sdp_cm_port_errno(sk, err);
		sdp_conn_down(conn, sdp_cm_errno(0, err));
		err = 0;
	}
	sdp_conn_put(conn);
	return err;
}

/* There is no other port to try: the attempt that the program sees fails now. */
static void sdp_cm_none_left(struct sock *sk, int err)
{
	sdp_sock_stop_timer(sk);
	if (!sdp_fallback_instead(sk, -err)) {
		SDP_INC_STATS(sock_net(sk), ATTEMPT_FAILS);
		WRITE_ONCE(sk->sk_err, -err);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		sdp_sock_set_closed(sk);
	}
	sdp_cm_wake_ended(sk, sk->sk_err);
}

/* Try another port, after setup_work or a thread has tried one. Context: setup_work */
static void sdp_cm_next_port(struct sdp_conn *conn)
{
	struct sdp_port_walk w = conn->cm.walk;
	struct sock *sk = conn->sk;
	long timeo = 0;
	int err;

	lock_sock(sk);
	if (sdp_sk(sk)->conn != conn || test_bit(SDP_CONN_DOWN, &conn->flags))
		goto out;
	err = sdp_cm_other_port(sk, conn->cm.err, &w);
	if (err > 0) {
		union sdp_addr dst = conn->cm.dst;

		dst.v4.sin_port = sdp_sk(sk)->peer.v4.sin_port;
		sdp_cm_give_up(sk, conn);
		while (err > 0)
			err = sdp_cm_try(sk, &dst, &timeo, &w);
		if (err)
			sdp_cm_none_left(sk, err);
	} else if (err) {
		err = sdp_cm_port_errno(sk, err);
		sdp_conn_down(conn, sdp_cm_errno(0, err));
	}
out:
	release_sock(sk);
}

/* rdma_cm chooses the first port, but for a socket with a range of its own */
static int sdp_cm_first_port(struct sock *sk, struct sdp_port_walk *w)
{
	int low, high;

	if (sdp_port_kept(sk) || !sdp_port_range(sk, &low, &high))
		return 1;
	return sdp_port_next_free(sk, w) ? : -EADDRNOTAVAIL;
}

/**
 * sdp_cm_connect - start connecting
 * @sk: socket, locked, in state CLOSE; the lock is released meanwhile
 * @dst: where to; IPv4-mapped addresses as IPv4
 * @timeo: jiffies to wait, those that are left afterwards; 0: no longer than is needed
 *	   for a known address, and not for the device
 *
 * Return: 0 when the attempt is under way or has ended, which sk_state and
 * sk_err tell; a negative errno when it could not even begin. Then there is no
 * connection, and the state may be SYN_SENT: the caller sets it, and wakes others.
 */
int sdp_cm_connect(struct sock *sk, const union sdp_addr *dst, long *timeo)
{
	struct sdp_port_walk w = {};
	int err;

	put_cred(sdp_sk(sk)->cred);
	sdp_sk(sk)->cred = sdp_sock_port_cred(sk, sdp_sk(sk)->local.v4.sin_port);
	SDP_INC_STATS(sock_net(sk), ACTIVE_OPENS);
	err = sdp_cm_first_port(sk, &w);
	while (err > 0)
		err = sdp_cm_try(sk, dst, timeo, &w);
	/* attempts that have begun are counted when they end */
	if (err)
		SDP_INC_STATS(sock_net(sk), ATTEMPT_FAILS);
	return err;
}

/* ---- bind, end of listening ---- */

/**
 * sdp_cm_bind - reserve address and port with rdma_cm
 * @sk: socket, locked, not bound
 * @addr: address, checked for conflicts; port 0 for any
 *
 * Return: as sdp_port_bind().
 */
int sdp_cm_bind(struct sock *sk, const union sdp_addr *addr)
{
	return sdp_port_bind(sk, addr, sdp_cm_listen_handler);
}

/**
 * sdp_cm_stop_listen - end listening and reset unaccepted connections
 * @sk: listener, locked; its state is CLOSE afterwards
 */
void sdp_cm_stop_listen(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk), *child, *tmp;
	struct sdp_conn *conn;
	LIST_HEAD(children);

	spin_lock_bh(&sdp->lock);
	sdp_sock_set_state(sk, TCP_CLOSE);
	list_splice_init(&sdp->accept_q, &children);
	/* the teardown takes them off the list */
	list_for_each_entry(conn, &sdp->held, cm.held_node) {
		SDP_INC_STATS(sock_net(sk), LISTEN_DROPS);
		sdp_conn_down(conn, ECONNREFUSED);
	}
	spin_unlock_bh(&sdp->lock);

	list_for_each_entry_safe(child, tmp, &children, accept_node) {
		struct sock *csk = &child->inet.sk;

		list_del_init(&child->accept_node);
		spin_lock_bh(&sdp->lock);
		sk_acceptq_removed(sk);
		spin_unlock_bh(&sdp->lock);
		lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
		sock_set_flag(csk, SOCK_DEAD);
		sdp_cm_abort(csk);
		sdp_rx_purge(csk);
		release_sock(csk);
		sock_put(csk);
	}
}
