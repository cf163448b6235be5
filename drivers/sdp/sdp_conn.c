// SPDX-License-Identifier: GPL-2.0
/*
 * The connection as an object: its memory and references, the beginning of its end,
 * what every layer asks of it. Calls the socket (sdp_sock.c) and, by struct
 * sdp_link_ops, the link.
 */
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_trace.h"
#include "sdp_verbs.h"

/* ---- life ---- */

/*
 * State of connections without a verbs link, which says that the device has no
 * zero copy and that all is idle. So readers of the states need no check for
 * NULL. Never written to.
 */
struct sdp_zc sdp_zc_none __ro_after_init;

/* caches of their own: kmalloc() would round these sizes up by much */
static struct kmem_cache *sdp_conn_cache, *sdp_conn_shared_cache;

/**
 * sdp_conn_init - before the first socket
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int sdp_conn_init(void)
{
	sdp_conn_cache = kmem_cache_create("sdp_conn", sizeof(struct sdp_conn),
					   0, SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT,
					   NULL);
	sdp_conn_shared_cache = kmem_cache_create("sdp_shared",
						  sizeof(struct sdp_shared), 0,
						  SLAB_ACCOUNT, NULL);
	if (sdp_conn_cache && sdp_conn_shared_cache)
		return 0;
	sdp_conn_exit();
	return -ENOMEM;
}

/**
 * sdp_conn_exit - after the last socket
 *
 * No connection is left, and rcu_barrier() was called.
 *
 * Context: module exit.
 */
void sdp_conn_exit(void)
{
	kmem_cache_destroy(sdp_conn_shared_cache);
	kmem_cache_destroy(sdp_conn_cache);
}

/**
 * sdp_conn_alloc_shared - allocate what a connection with a shared link needs
 *
 * Context: process.
 *
 * Return: zeroed memory, or NULL.
 */
struct sdp_shared *sdp_conn_alloc_shared(void)
{
	return kmem_cache_zalloc(sdp_conn_shared_cache, GFP_KERNEL);
}

/**
 * sdp_conn_free_shared - free what sdp_conn_alloc_shared() has returned
 * @shared: memory that is not used any more, or NULL
 *
 * Context: any.
 */
void sdp_conn_free_shared(struct sdp_shared *shared)
{
	if (!shared)
		return;
	if (shared->tx.rec != shared->tx.inline_rec)
		kfree(shared->tx.rec);
	kmem_cache_free(sdp_conn_shared_cache, shared);
}

static void sdp_conn_free(struct rcu_head *rcu)
{
	struct sdp_conn *conn = container_of(rcu, struct sdp_conn, rcu);

	sdp_conn_free_shared(conn->shared);
	if (conn->zc != &sdp_zc_none)
		kfree(conn->zc);
	kfree(conn->verbs);
	kfree(conn->ring);
	put_cred(conn->cm.cred);
	kmem_cache_free(sdp_conn_cache, conn);
}

/**
 * sdp_conn_put - drop a reference
 * @conn: connection
 *
 * Context: any but hard interrupts. The last one is dropped after the teardown.
 */
void sdp_conn_put(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	if (!refcount_dec_and_test(&conn->refs))
		return;
	atomic_dec(&sdp_pernet(sock_net(sk))->nconns);
	/* first, since the module may go with its last socket */
	call_rcu(&conn->rcu, sdp_conn_free);
	sock_put(sk);
}

/*
 * Take a place for one more connection, which sdp_conn_put() gives back. @again:
 * in the place of one that is about to go.
 */
static bool sdp_conn_charge(struct net *net, bool again)
{
	struct sdp_net *sn = sdp_pernet(net);
	int max = READ_ONCE(sn->sysctl_max_connections);

	if (atomic_inc_return(&sn->nconns) <= max || !max || again)
		return true;
	atomic_dec(&sn->nconns);
	SDP_INC_STATS(net, CONN_LIMIT);
	net_info_ratelimited("sdp: more connections than net.sdp.max_connections (%d), refused\n",
			     max);
	return false;
}

/*
 * Completion of sdp_qp_probe(): earlier requests are complete, and the peer
 * lives if it had to answer. Context: softirq.
 */
static void sdp_conn_probe_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_conn *conn = container_of(wc->wr_cqe, struct sdp_conn,
					     probe.cqe);
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 mseq;

	if (sdp_conn_wc_bad(conn, wc))
		return;
	mseq = conn->probe.mseq;
	if (conn->probe.state == SDP_PROBE_PROVES) {
		WRITE_ONCE(conn->probe.proven, mseq);
		spin_lock(&sdp->lock);
		if (sdp->conn == conn)
			WRITE_ONCE(sdp->last_rx, jiffies);
		spin_unlock(&sdp->lock);
	}
	/* the next probe may be posted from here on */
	smp_store_release(&conn->probe.state, SDP_PROBE_NONE);
	conn->link->probed(conn, mseq);
	wake_up_all(&conn->wait);
}

/**
 * sdp_conn_alloc - make a connection for a socket
 * @sk: socket, which the connection gets a reference to
 * @again: in the place of a connection that is about to go
 * @gfp: how to allocate
 *
 * The caller sets link, flow control and work items.
 *
 * Context: process.
 *
 * Return: a connection with one reference, or NULL.
 */
struct sdp_conn *sdp_conn_alloc(struct sock *sk, bool again, gfp_t gfp)
{
	struct net *net = sock_net(sk);
	struct sdp_conn *conn;

	if (!sdp_conn_charge(net, again))
		return NULL;
	conn = kmem_cache_zalloc(sdp_conn_cache, gfp);
	if (!conn) {
		atomic_dec(&sdp_pernet(net)->nconns);
		return NULL;
	}
	sock_hold(sk);
	conn->sk = sk;
	conn->zc = &sdp_zc_none;
	refcount_set(&conn->refs, 1);
	spin_lock_init(&conn->tx_lock);
	init_waitqueue_head(&conn->wait);
	INIT_LIST_HEAD(&conn->cm.held_node);
	conn->rx_mode = SDP_MODE_COMBINED;
	conn->rx_size = SDP_BUF_SIZE;
	conn->ip.ttl = -1;
	conn->probe.cqe.done = sdp_conn_probe_done;
	return conn;
}

/* sdp_conn_id_done() and sdp_conn_down() may both get here: only the first one queues */
static void sdp_conn_queue_down(struct sdp_conn *conn)
{
	if (!test_and_set_bit(SDP_CONN_DOWN_QUEUED, &conn->flags))
		queue_delayed_work(sdp_pernet(sock_net(conn->sk))->down_wq,
				   &conn->down_work, 0);
}

/**
 * sdp_conn_id_done - connect() is done with the cm_id
 * @conn: connection, which the caller has a reference to
 *
 * Queues the teardown if it has waited for this.
 *
 * Context: process.
 */
void sdp_conn_id_done(struct sdp_conn *conn)
{
	/* the next state of a connect() that continues */
	WRITE_ONCE(conn->cm.call, conn->cm.call == SDP_CALL_STARTS ?
		   SDP_CALL_WAITS : SDP_CALL_NONE);
	smp_mb();	/* pairs with sdp_conn_down() */
	if (test_bit(SDP_CONN_DOWN_DUE, &conn->flags))
		sdp_conn_queue_down(conn);
}

/* Interrupt the thread that connects. */
static void sdp_conn_interrupt(struct sdp_conn *conn)
{
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));
	unsigned long irq;

	if (!READ_ONCE(conn->cm.dial_task))
		return;
	spin_lock_irqsave(&sn->dial_lock, irq);
	if (conn->cm.dial_task)
		send_sig(SIGKILL, conn->cm.dial_task, 1);
	spin_unlock_irqrestore(&sn->dial_lock, irq);
}

/**
 * sdp_conn_down - start the teardown, once
 * @conn: connection
 * @error: errno for the socket if this was not a graceful end
 *
 * Context: any.
 */
void sdp_conn_down(struct sdp_conn *conn, int error)
{
	u8 call;

	if (test_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	/* before the bit: a sender that sees the bit needs the error, see sdp_send_piece() */
	cmpxchg(&conn->error, 0, error);
	if (test_and_set_bit(SDP_CONN_DOWN, &conn->flags))
		return;
	trace_sdp_down(conn, error);
	WRITE_ONCE(conn->cm.step, SDP_CM_DONE);
	wake_up_all(&conn->wait);
	smp_mb__before_atomic();	/* the teardown sees conn->error */
	set_bit(SDP_CONN_DOWN_DUE, &conn->flags);
	smp_mb__after_atomic();	/* pairs with sdp_conn_id_done() */
	sdp_conn_interrupt(conn);
	call = READ_ONCE(conn->cm.call);
	if (call != SDP_CALL_STARTS && call != SDP_CALL_CONNECTS)
		sdp_conn_queue_down(conn);
}

/**
 * sdp_conn_ended - show a socket that its connection has ended
 * @sk: socket
 * @conn: its connection; conn->error is set
 *
 * The teardown does so when the queue pair is drained. sdp_cm_expired() does so before. So
 * does a sender that finds no room: to say "try again" would be wrong after poll() has said
 * that there is room or an error. The second call changes nothing.
 *
 * Context: lock_sock.
 */
void sdp_conn_ended(struct sock *sk, struct sdp_conn *conn)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int error = conn->error;

	sock_owned_by_me(sk);
	spin_lock_bh(&sdp->lock);
	if (sdp_conn_graceful(conn, error))
		error = 0;
	else if (error == ECONNRESET && sk->sk_state == TCP_CLOSE_WAIT)
		error = EPIPE;	/* as tcp_reset() */
	if (error && sk->sk_state != TCP_CLOSE) {
		WRITE_ONCE(sk->sk_err, error);
		/* a request that failed is counted where it is refused */
		if (sk->sk_state == TCP_SYN_SENT)
			SDP_INC_STATS(sock_net(sk), ATTEMPT_FAILS);
		else if (sk->sk_state != TCP_SYN_RECV)
			SDP_INC_STATS(sock_net(sk), ESTAB_RESETS);
	}
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	sdp_sock_set_state(sk, TCP_CLOSE);
	spin_unlock_bh(&sdp->lock);
}

/**
 * sdp_conn_flushed - the queue pair has failed, what it had comes back
 * @conn: connection
 *
 * When an attempt to connect fails, rdma_cm first flushes the queue pair and then
 * reports the reason, which connect() returns.
 *
 * Context: any.
 */
void sdp_conn_flushed(struct sdp_conn *conn)
{
	set_bit(SDP_CONN_FLUSHED, &conn->flags);
	smp_mb__after_atomic();	/* pairs with sdp_cm_up() */
	if (!test_bit(SDP_CONN_ACTIVE, &conn->flags) ||
	    test_bit(SDP_CONN_UP, &conn->flags))
		sdp_conn_down(conn, ECONNRESET);
}

/**
 * sdp_conn_delays - may messages that are complete wait at the peer's device, or before it?
 * @conn: connection
 *
 * On a verbs link whose device delays messages they may. On a shared link they have arrived.
 *
 * Context: any.
 */
bool sdp_conn_delays(const struct sdp_conn *conn)
{
	return conn->fc->held && !conn->shared;
}

/**
 * sdp_conn_fin_waits - may our DisConn wait for the peer's reader, though complete?
 * @conn: connection
 * @ack: last MSeqAck of the peer
 *
 * See sdp_conn_delays(). It may until the peer acknowledges it.
 *
 * Context: any.
 *
 * Return: true if it may, or has not been sent.
 */
bool sdp_conn_fin_waits(const struct sdp_conn *conn, u32 ack)
{
	if (!sdp_conn_delays(conn))
		return false;
	/* pairs with sdp_conn_fin_sent() */
	return smp_load_acquire(&conn->tx_fin) < SDP_FIN_SENT ||
	       sdp_seq_after(conn->fin_mseq, ack);
}

/**
 * sdp_conn_fin_done - our DisConn is complete, or acknowledged on a shared link
 * @conn: connection
 *
 * Context: softirq or process; not under sdp->lock or tx_lock.
 */
void sdp_conn_fin_done(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;
	struct sdp_sock *sdp = sdp_sk(sk);
	bool graceful = false;

	spin_lock_bh(&sdp->lock);
	if (sdp->conn == conn) {
		if (sk->sk_state == TCP_FIN_WAIT1) {
			sdp_sock_set_state(sk, TCP_FIN_WAIT2);
		} else if (sk->sk_state == TCP_CLOSING &&
			   !sdp_conn_fin_waits(conn, conn->peer_ack)) {
			graceful = true;
			sdp_sock_set_state(sk, TCP_CLOSE);
		}
	}
	spin_unlock_bh(&sdp->lock);
	if (graceful) {
		set_bit(SDP_CONN_GRACEFUL, &conn->flags);
		sdp_conn_down(conn, ECONNRESET);
	}
	if (!sock_flag(sk, SOCK_DEAD))
		sk->sk_state_change(sk);
	else
		sdp_sock_start_timer(sk, 1);	/* restart: other limits apply from now on */
}

/* ---- transmit half ---- */

const struct sdp_ctl_msg sdp_ctl_msgs[SDP_CTL_MSGS] = {
	{ SDP_CTL_FIRST, SDP_MID_DATA },
	{ SDP_CTL_RING, SDP_MID_RING_AVAIL },
	{ SDP_CTL_MODE, SDP_MID_MODE_CHANGE },
	{ SDP_CTL_RD_COMPL, SDP_MID_RDMA_RD_COMPL },
	{ SDP_CTL_SENDSM, SDP_MID_SENDSM },
	{ SDP_CTL_SRC_CANCEL, SDP_MID_SRC_CANCEL },
	{ SDP_CTL_SINK_AVAIL, SDP_MID_SINK_AVAIL },
	{ SDP_CTL_SINK_CANCEL, SDP_MID_SINK_CANCEL },
	{ SDP_CTL_SINK_ACK, SDP_MID_SINK_CANCEL_ACK },
	{ SDP_CTL_CHRCVBUF_ACK, SDP_MID_CHRCVBUF_ACK },
};

/**
 * sdp_conn_wake - wake waiting writers if there is room again
 * @conn: connection
 *
 * Context: any; not under sdp->lock.
 */
void sdp_conn_wake(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	if (READ_ONCE(sdp_sk(sk)->conn) == conn)
		sk->sk_write_space(sk);
}

/**
 * sdp_conn_kick - let the transmit engine look for work
 * @conn: connection
 *
 * Context: any; no spinlock held.
 */
void sdp_conn_kick(struct sdp_conn *conn)
{
	int err;

	spin_lock_bh(&conn->tx_lock);
	err = conn->link->run(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (unlikely(err))
		sdp_conn_down(conn, ECONNRESET);
	sdp_conn_wake(conn);
}

/**
 * sdp_conn_ctl - request a control message, or other work of the engine
 * @conn: connection
 * @bit: enum sdp_ctl
 *
 * Context: any. The caller kicks the engine.
 */
void sdp_conn_ctl(struct sdp_conn *conn, unsigned int bit)
{
	set_bit(bit, &conn->tx_ctl);
}

/**
 * sdp_conn_fin - send DisConn after all data
 * @conn: connection
 *
 * Context: any; no spinlock held.
 */
void sdp_conn_fin(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->tx_lock);
	if (conn->tx_fin == SDP_FIN_NONE)
		conn->tx_fin = SDP_FIN_WANTED;
	spin_unlock_bh(&conn->tx_lock);
	sdp_conn_kick(conn);
}

/**
 * sdp_conn_count - count a message that is sent
 * @conn: connection
 * @payload: bytes of it, or that were added to one
 * @data: a new message with payload
 *
 * Context: sdp->lock on a shared link, otherwise tx_lock.
 */
void sdp_conn_count(struct sdp_conn *conn, u32 payload, bool data)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	struct net *net = sock_net(conn->sk);

	if (payload) {
		WRITE_ONCE(sdp->tx_bytes, sdp->tx_bytes + payload);
		__SDP_ADD_STATS(net, TX_BYTES, payload);
		if (!data)
			return;
		__SDP_INC_STATS(net, TX_DATA_MSGS);
	} else {
		__SDP_INC_STATS(net, TX_CTL);
	}
	WRITE_ONCE(sdp->tx_msgs, sdp->tx_msgs + 1);
	__SDP_INC_STATS(net, TX_MSGS);
}

/**
 * sdp_conn_wc_bad - check a completion for an error of the connection
 * @conn: connection
 * @wc: completion of something sent
 *
 * Context: any. Return: the connection has failed.
 */
bool sdp_conn_wc_bad(struct sdp_conn *conn, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		sdp_conn_flushed(conn);
		return true;
	}
	SDP_INC_STATS(sock_net(conn->sk), TRANSPORT_ERRORS);
	sdp_conn_down(conn, wc->status == IB_WC_RETRY_EXC_ERR ?
		      ETIMEDOUT : ECONNRESET);
	return true;
}

/**
 * sdp_conn_want_space - a writer waits for room in the send buffer
 * @sk: socket
 *
 * Context: any; no spinlock held.
 */
void sdp_conn_want_space(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn;

	spin_lock_bh(&sdp->lock);
	conn = sdp->conn;
	if (conn)
		refcount_inc(&conn->refs);
	spin_unlock_bh(&sdp->lock);
	if (!conn)
		return;
	conn->link->want_space(conn);
	sdp_conn_put(conn);
}

/**
 * sdp_conn_leave - release the socket in the middle of a send, to get its
 * memory
 * @conn: connection, which the caller may not touch otherwise than to return
 *
 * That may take arbitrarily long (userfaultfd, FUSE). Teardown, timers and
 * others need lock_sock, so no copy waits for a page with it. But the data of a
 * send stays in one piece, as with TCP, which keeps the lock: other senders
 * wait, see sdp_tx_turn().
 *
 * Context: lock_sock, which is released.
 */
void sdp_conn_leave(struct sdp_conn *conn)
{
	sock_owned_by_me(conn->sk);
	/* the socket may lose the connection meanwhile */
	refcount_inc(&conn->refs);
	WRITE_ONCE(conn->tx_away, true);
	release_sock(conn->sk);
}

/**
 * sdp_conn_return - go on after sdp_conn_leave()
 * @conn: the same connection; no longer to be touched if the socket has lost it
 *
 * Context: process; takes lock_sock.
 */
void sdp_conn_return(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	WRITE_ONCE(conn->tx_away, false);
	if (conn->tx_waiters)
		wake_up_interruptible(sk_sleep(sk));
	sdp_conn_put(conn);
}

/**
 * sdp_conn_fault_in - bring the user's data into memory
 * @sk: socket
 * @from: where it is
 * @len: bytes wanted
 *
 * Context: lock_sock, which is released meanwhile.
 *
 * Return: as struct sdp_link_ops.send.
 */
int sdp_conn_fault_in(struct sock *sk, struct iov_iter *from, size_t len)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;
	size_t left;

	SDP_INC_STATS(sock_net(sk), TX_FAULTS);
	if (!user_backed_iter(from))
		return -EFAULT;
	sdp_conn_leave(conn);
	left = fault_in_iov_iter_readable(from, len);
	sdp_conn_return(conn);
	if (left == len)
		return -EFAULT;
	return fatal_signal_pending(current) ? -EINTR : -ERESTART;
}

/**
 * sdp_conn_push - send data that TCP_CORK or MSG_MORE has delayed
 * @sk: socket, locked
 *
 * Return: 0.
 */
int sdp_conn_push(struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (conn)
		conn->link->push(conn);
	return 0;
}

/* ---- reports ---- */

/**
 * sdp_conn_outq - bytes written and not acknowledged
 * @sk: socket, locked
 */
u32 sdp_conn_outq(const struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->outq(conn) : 0;
}
EXPORT_SYMBOL_GPL(sdp_conn_outq);

/**
 * sdp_conn_unsent - bytes written and not given to the transport
 * @sk: socket, locked
 */
u32 sdp_conn_unsent(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->unsent(conn) : 0;
}

/**
 * sdp_conn_max_payload - largest payload of one message
 * @sk: socket, locked
 */
u32 sdp_conn_max_payload(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->tx_max_payload : SDP_BUF_SIZE;
}
EXPORT_SYMBOL_GPL(sdp_conn_max_payload);

/**
 * sdp_conn_progress - a number that changes as long as data leave
 * @sk: socket, locked
 */
u32 sdp_conn_progress(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn ? conn->link->progress(conn) : 0;
}

/**
 * sdp_conn_zcopy_reason - why a connection copies, whatever the size of a send
 * @conn: connection
 *
 * Context: any.
 *
 * Return: SDP_REASON_NONE if it need not.
 */
enum sdp_reason sdp_conn_zcopy_reason(const struct sdp_conn *conn)
{
	if (conn->link->shared)
		return SDP_REASON_LINK;
	if (!conn->fc->zcopy)
		return SDP_REASON_POLICY;
	return conn->zc->able ? SDP_REASON_NONE : SDP_REASON_DEVICE;
}
EXPORT_SYMBOL_GPL(sdp_conn_zcopy_reason);

/**
 * sdp_conn_user_tick - how often to look whether TCP_USER_TIMEOUT is over
 * @limit: jiffies
 *
 * A quarter of it, so that the limit is exceeded by no more than that; at most a second, so
 * that keepalive comes in time, too.
 *
 * Context: any.
 */
unsigned long sdp_conn_user_tick(unsigned long limit)
{
	return clamp(limit / 4, 1UL, (unsigned long)HZ);
}

/**
 * sdp_conn_watch_user - something is about to be sent, and has to be acknowledged in time
 * @sk: socket, locked
 */
void sdp_conn_watch_user(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	unsigned long limit = sdp_sock_user_limit(sk);

	sock_owned_by_me(sk);
	if (!limit || sdp->user_watched || !sdp->conn)
		return;
	sdp->user_watched = true;
	sdp->user_since = jiffies;
	sdp->last_progress = sdp_conn_progress(sk);
	sdp_sock_start_timer(sk, sdp_conn_user_tick(limit));
}
