// SPDX-License-Identifier: GPL-2.0
/*
 * The timer of a socket: the limit of connect(), orphans after close(),
 * keepalive, and TCP_USER_TIMEOUT. One work item for all of them, which looks at
 * each and says when it wants to run again. Called by the socket layer; calls the
 * link and sdp_cm.c.
 */
#include <linux/workqueue.h>

#include "sdp.h"
#include "sdp_fc.h"
#include "sdp_mib.h"
#include "sdp_verbs.h"

#define SDP_TIMER_AGAIN		(HZ / 20 + 1)	/* when the socket was in use */
#define SDP_TIMER_ORPHAN	16	/* times fin_timeout, to get rid of data */
#define SDP_TIMER_SETTLE	(HZ / 20 + 1)	/* for completions to come */

/* Returns the jiffies until the deadline, 0 if it is over */
static unsigned long sdp_timer_left(const struct sock *sk)
{
	unsigned long deadline = sdp_sk(sk)->deadline;

	return time_before(jiffies, deadline) ? deadline - jiffies : 0;
}

/*
 * Jiffies that an orphan may stay without progress. TCP_LINGER2 is for a peer that does not
 * say that it has finished.
 */
static unsigned long sdp_timer_fin_time(const struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	int linger2 = READ_ONCE(sdp_sk(sk)->linger2);

	if (linger2 > 0 && sk->sk_state == TCP_FIN_WAIT2)
		return (unsigned long)linger2 * HZ;
	return (unsigned long)READ_ONCE(sn->sysctl_fin_timeout) * HZ;
}

/*
 * Progress in sending; where the device delays messages, also what it could
 * send
 */
static u32 sdp_timer_progress(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	const struct sdp_verbs *v = conn ? READ_ONCE(conn->verbs) : NULL;
	u32 done = v && conn->fc->held ? READ_ONCE(v->tx_done) : 0;

	return sdp_conn_progress(sk) + done;
}

/**
 * sdp_timer_start_orphan - close() has left a connection to itself
 * @sk: socket, locked
 *
 * Return: false if the namespace has as many of them as it may.
 */
bool sdp_timer_start_orphan(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	int max = READ_ONCE(sn->sysctl_max_orphans);
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp->orphan = true;
	if (atomic_inc_return(&sn->norphans) > max) {
		SDP_INC_STATS(sock_net(sk), ORPHAN_LIMIT);
		net_info_ratelimited("sdp: more closed connections with data than net.sdp.max_orphans (%d), reset\n",
				     max);
		return false;
	}
	sdp->orphan_state = sk->sk_state;
	sdp->last_progress = sdp_timer_progress(sk);
	sdp->orphan_end = jiffies + SDP_TIMER_ORPHAN * (unsigned long)HZ *
			  READ_ONCE(sn->sysctl_fin_timeout);
	sdp_sock_start_deadline(sk, sdp_timer_fin_time(sk));
	return true;
}

/* Does the transport hold all data, DisConn included, possibly waiting for a reader? */
static bool sdp_timer_orphan_held(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return conn->fc->held && conn->tx_fin == SDP_FIN_DONE &&
	       (1 << sk->sk_state) & (TCPF_LAST_ACK | TCPF_FIN_WAIT2 | TCPF_CLOSING);
}

/**
 * sdp_timer_unwanted - is a closed connection to be dropped, by TCP_LINGER2 below 0?
 * @sk: socket, locked
 *
 * As on TCP, once the peer has got all. A device that delays messages may still have some.
 *
 * Context: process.
 */
bool sdp_timer_unwanted(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	return sk->sk_state == TCP_FIN_WAIT2 &&
	       READ_ONCE(sdp_sk(sk)->linger2) < 0 && conn &&
	       !sdp_conn_delays(conn);
}

/* An orphan may stay while its data leaves, up to a limit. */
static unsigned long sdp_timer_orphan(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 progress;

	if (!sdp->conn || sk->sk_state == TCP_CLOSE)
		return 0;
	if (sdp_timer_unwanted(sk)) {
		sdp_cm_abort(sk);
		return 0;
	}
	progress = sdp_timer_progress(sk);
	if (sk->sk_state != sdp->orphan_state ||
	    (progress != sdp->last_progress &&
	     sk->sk_state != TCP_FIN_WAIT2)) {
		sdp->orphan_state = sk->sk_state;
		sdp->last_progress = progress;
		sdp->deadline = jiffies + sdp_timer_fin_time(sk);
		if (time_after(sdp->deadline, sdp->orphan_end))
			sdp->deadline = sdp->orphan_end;
	}
	if (sdp_timer_left(sk))
		return sdp_timer_left(sk);
	SDP_INC_STATS(sock_net(sk), TIMEOUTS);
	if (sdp_timer_orphan_held(sk)) {
		/* no reset, which would discard data that waits for the peer's reader */
		set_bit(SDP_CONN_GRACEFUL, &sdp->conn->flags);
		sdp_conn_down(sdp->conn, ECONNRESET);
	} else {
		sdp_cm_abort(sk);
	}
	return 0;
}

/* The peer has not confirmed that it got the answer to its request. */
static unsigned long sdp_timer_confirm(struct sock *sk)
{
	struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!conn)
		return 0;
	if (sdp_timer_left(sk))
		return sdp_timer_left(sk);
	SDP_INC_STATS(sock_net(sk), TIMEOUTS);
	sdp_conn_down(conn, ETIMEDOUT);
	return 0;
}

/* connect() has taken too long. */
static unsigned long sdp_timer_connect(struct sock *sk)
{
	if (sdp_timer_left(sk))
		return sdp_timer_left(sk);
	SDP_INC_STATS(sock_net(sk), TIMEOUTS);
	sdp_cm_expired(sk);
	return 0;
}

/* Has the peer left too many probes unanswered, or for too long? As in TCP */
static bool sdp_timer_ka_over(const struct sock *sk, unsigned long idle)
{
	const struct sdp_net *sn = sdp_pernet(sock_net(sk));
	const struct sdp_sock *sdp = sdp_sk(sk);
	unsigned long limit = sdp_sock_user_limit(sk);

	if (limit)
		return sdp->ka_probes && idle >= limit;
	return sdp->ka_probes >= (sdp->keepcnt ? :
				  READ_ONCE(sn->sysctl_keepalive_probes));
}

/*
 * Has the transport of the peer taken all that we have sent, including the last
 * probe? Where a probe may have to wait for unread data, no other answer comes.
 */
static bool sdp_timer_ka_taken(struct sdp_conn *conn)
{
	const struct rdma_stack_link *stack = NULL;
	bool taken = false;

	if (!conn->fc->held)
		return false;
	/* the queue pair stays until sdp_cm_hang_up() has had the lock */
	spin_lock_bh(&conn->tx_lock);
	if (!test_bit(SDP_CONN_DOWN, &conn->flags))
		stack = rdma_stack_get_link(conn->dev);
	if (stack && stack->tx_sent)
		taken = stack->tx_acked(conn->qp) == stack->tx_sent(conn->qp);
	spin_unlock_bh(&conn->tx_lock);
	return taken;
}

/*
 * A probe cannot overtake data that waits for a reader. This data serves as the
 * probe, and the transport checks that the peer lives.
 */
static bool sdp_timer_ka_behind(const struct sock *sk)
{
	return sdp_sk(sk)->conn->fc->held && sdp_conn_outq(sk);
}

/*
 * The last messages may have asked for no completion, if they were sent before SO_KEEPALIVE
 * was set, see sdp_verbs_watched(). Have one probe sent after them: while it is not complete,
 * they wait as well.
 */
static bool sdp_timer_ka_settles(struct sdp_conn *conn)
{
	return sdp_timer_ka_behind(conn->sk) && conn->link->settle &&
	       !READ_ONCE(conn->probe.state) && conn->link->settle(conn);
}

static unsigned long sdp_timer_keepalive(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	unsigned long idle, limit, next;

	if (!sock_flag(sk, SOCK_KEEPOPEN) || !conn ||
	    !((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT |
				     TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2)))
		return 0;
	limit = (sdp->keepidle ? : READ_ONCE(sn->sysctl_keepalive_time));
	limit *= HZ;
	idle = jiffies - READ_ONCE(sdp->last_rx);
	if (sdp_timer_ka_settles(conn))
		return SDP_TIMER_SETTLE;
	if (sdp_timer_ka_behind(sk))
		idle = 0;
	if (idle < limit) {
		sdp->ka_probes = 0;
		return limit - idle;
	}
	/* the last probe was answered, although the next one is due already */
	if (sdp->ka_probes && !time_before(READ_ONCE(sdp->last_rx),
					   sdp->ka_sent))
		sdp->ka_probes = 0;
	next = (sdp->keepintvl ? : READ_ONCE(sn->sysctl_keepalive_intvl));
	next *= HZ;
	/* the user timeout made the timer run early */
	if (sdp->ka_probes && time_before(jiffies, sdp->ka_sent + next))
		return sdp->ka_sent + next - jiffies;
	if (sdp->ka_probes && sdp_timer_ka_taken(conn)) {
		sdp->ka_probes = 0;
		return limit;
	}
	if (sdp_timer_ka_over(sk, idle)) {
		SDP_INC_STATS(sock_net(sk), TIMEOUTS);
		sdp_conn_down(conn, ETIMEDOUT);
		return 0;
	}
	sdp->ka_probes++;
	sdp->ka_sent = jiffies;
	SDP_INC_STATS(sock_net(sk), KEEPALIVES);
	sdp_conn_ctl(conn, SDP_CTL_KEEPALIVE);
	sdp_conn_kick(conn);
	return next;
}

/* ---- TCP_USER_TIMEOUT ---- */

/*
 * As in TCP: data is unacknowledged for that long, because the peer is gone or does
 * not read. Where messages complete before they are acknowledged, an unanswered
 * probe shows that.
 */
static bool sdp_timer_user_over(struct sock *sk, unsigned long limit)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	u32 progress = sdp_conn_progress(sk);

	if (!sdp_conn_outq(sk) || progress != sdp->last_progress) {
		sdp->last_progress = progress;
		sdp->user_since = jiffies;
	}
	if (READ_ONCE(conn->probe.state) &&
	    time_after_eq(jiffies, READ_ONCE(conn->probe.at) + limit))
		return true;
	return time_after_eq(jiffies, sdp->user_since + limit);
}

static unsigned long sdp_timer_user(struct sock *sk)
{
	unsigned long limit = sdp_sock_user_limit(sk);
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	bool unproven;

	if (!sdp->user_watched)
		return 0;
	sdp->user_watched = false;
	if (!limit || !conn || test_bit(SDP_CONN_DOWN, &conn->flags))
		return 0;
	if (sdp_timer_user_over(sk, limit)) {
		SDP_INC_STATS(sock_net(sk), TIMEOUTS);
		sdp_conn_down(conn, ETIMEDOUT);
		return 0;
	}
	unproven = conn->link->unproven && conn->link->unproven(conn);
	if (!unproven && !sdp_conn_outq(sk))
		return 0;
	sdp->user_watched = true;
	return sdp_conn_user_tick(limit);
}

/**
 * sdp_timer_work - the timer of a socket has run out
 * @work: of struct sdp_sock; holds a reference of the socket
 *
 * Context: work item.
 */
void sdp_timer_work(struct work_struct *work)
{
	struct sdp_sock *sdp = container_of(to_delayed_work(work),
					    struct sdp_sock, timer_work);
	struct sock *sk = &sdp->inet.sk;
	unsigned long again;

	/*
	 * The socket may be owned for a long time (memory, rdma_cm), so try later.
	 * Only a hint: if it gets owned after this check, lock_sock() below
	 * waits.
	 */
	if (sock_owned_by_user_nocheck(sk)) {
		sdp_sock_start_timer(sk, SDP_TIMER_AGAIN);
		sock_put(sk);
		return;
	}
	lock_sock(sk);
	if (sock_flag(sk, SOCK_DEAD))
		again = sdp_timer_orphan(sk);
	else if (sk->sk_state == TCP_SYN_SENT)
		again = sdp_timer_connect(sk);
	else if (sk->sk_state == TCP_SYN_RECV)
		again = sdp_timer_confirm(sk);
	else if (sk->sk_state == TCP_LISTEN)
		again = sdp_cm_make_room(sk);
	else
		again = min_not_zero(sdp_timer_keepalive(sk),
				     sdp_timer_user(sk));
	/* under the lock: close() has to find the timer to stop it */
	if (again)
		sdp_sock_start_timer(sk, again);
	release_sock(sk);
	sock_put(sk);
}

/**
 * sdp_timer_set_keepalive - SO_KEEPALIVE or its times have changed
 * @sk: socket, locked
 * @on: new value
 *
 * The timer finds out by itself that there is nothing to do any more.
 */
void sdp_timer_set_keepalive(struct sock *sk, int on)
{
	if (on && !((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN)))
		sdp_sock_start_timer(sk, 1);
}
