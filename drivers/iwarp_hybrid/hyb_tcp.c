// SPDX-License-Identifier: GPL-2.0
/*
 * Transport layer: the TCP socket under a QP. See hyb_tcp.h. Calls the engines
 * (hyb_rx.c, hyb_tx.c), hyb_shared.c, hyb_xmit.c, hyb_idle.c, and the files below
 * these.
 */
#include <linux/delay.h>
#include <linux/ipv6.h>
#include <linux/memcontrol.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>
#include <rdma/rdma_stack_sock.h>

#include "compat.h"
#ifdef HAVE_NET_RPS_H
#include <net/rps.h>
#endif
#include "hyb_fpdu.h"
#include "hyb_idle.h"
#include "hyb_lend.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_rx.h"
#include "hyb_sched.h"
#include "hyb_shared.h"
#include "hyb_stream.h"
#include "hyb_tcp.h"
#include "hyb_tx.h"
#include "hyb_xmit.h"
#include "hybrid.h"
#include "iwarp/mpa.h"

/* Bytes, more than the largest FPDU: set_rcvlowat() makes TCP's window that large */
#define HYB_TCP_LOWAT	(96 * 1024)

/* With fewer unread bytes reception does not wait for more, see hyb_tcp_may_wait() */
#define HYB_TCP_BATCH	(16 * 1024)

/* Private copies of tcp_prot and tcpv6_prot, and what they were copied from */
static struct proto hyb_prot[2];
static struct proto *hyb_prot_base[2];
static DEFINE_MUTEX(hyb_prot_lock);

/*
 * Own lock classes: these sockets' locks nest below those of SDP sockets, and no lock of
 * a socket nests below them
 */
static struct lock_class_key hyb_slock_key[2];
static struct lock_class_key hyb_sk_lock_key[2];

/**
 * hyb_tcp_fini_qp - release the transport layer's part of a queue pair
 * @qp: queue pair without references; there are no more posts
 *
 * Context: process, sleeps.
 */
void hyb_tcp_fini_qp(struct hyb_qp *qp)
{
	WARN_ON_ONCE(qp->tcp.attached);
	hyb_lend_end(qp);
	hyb_sched_fini_qp(qp);
	hyb_tx_free(qp);
	hyb_ooo_free(qp);
	hyb_shared_free(qp);
	if (qp->tcp.sk)
		sock_put(qp->tcp.sk);
	qp->tcp.sk = NULL;
}

/* ---------------------------------------------------------- callbacks */

/*
 * All of them are called with the socket held: by its spinlock, or by the task that owns
 * it. So hyb_cep.live is stable. sk_user_data holds a reference of the connection.
 */

/*
 * May reception wait, in the tasklet hyb_tcp.batch, for the packets that come in with
 * this one? Then there is one walk, one acknowledgment and one wake-up for all of them.
 * Only if many bytes are unread, and only as long as they use no more than half of TCP's
 * receive buffer. And only where a NIC checks the CRCs: software would need so long for
 * all of them that the sender would stall without acknowledgments.
 */
static bool hyb_tcp_may_wait(const struct sock *sk, const struct hyb_qp *qp)
{
	return qp->shared && qp->off && qp->off->rx_crc && !qp->off->verify &&
	       tcp_inq((struct sock *)sk) >= HYB_TCP_BATCH &&
	       atomic_read(&sk->sk_rmem_alloc) <= READ_ONCE(sk->sk_rcvbuf) / 2 &&
	       !(sk->sk_shutdown & RCV_SHUTDOWN);
}

static void hyb_tcp_data_ready(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;

	if (!cep)
		return;
	if (cep->live && hyb_tcp_may_wait(sk, cep->live))
		tasklet_schedule(&cep->live->tcp.batch);
	else if (cep->live)
		hyb_sched_callback(sk, cep->live, HYB_TODO_RX);
	else if (cep->discard)
		tcp_read_done(sk, tcp_inq(sk));
	else
		hyb_cep_event(cep, HYB_EV_SOCK);
}

static void hyb_tcp_write_space(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;

	if (!cep)
		return;
	if (!cep->live) {
		cep->write_space(sk);
		return;
	}
	/*
	 * TCP may call this within a call of the engine, without memory. Then
	 * the engine retries by a timer.
	 */
	if (cep->live->tx.calling)
		return;
	if (cep->live->shared ? !hyb_shared_writeable(cep->live, sk) :
				!sk_stream_is_writeable(sk) &&
				!cep->live->sq.nlent)
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	hyb_sched_callback(sk, cep->live, HYB_TODO_TX);
}

static void hyb_tcp_state_change(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;

	if (!cep)
		return;
	cep->state_change(sk);
	/*
	 * A FIN is noticed by the receive engine, when it has consumed all
	 * before it; data_ready follows.
	 */
	if (!cep->live)
		hyb_cep_event(cep, HYB_EV_SOCK);
	else if (sk->sk_state == TCP_CLOSE)
		hyb_cep_event(cep, HYB_EV_LOST);
}

static void hyb_tcp_error_report(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;

	if (cep)
		hyb_cep_event(cep, cep->live ? HYB_EV_LOST : HYB_EV_SOCK);
}

/*
 * A task gives up the ownership of the socket (release_sock()): run the engines, which
 * waited for that. TCP's own function may have given up the ownership already; the
 * spinlock is held until return.
 */
static void hyb_tcp_release_cb(struct sock *sk)
{
	struct hyb_cep *cep = sk->sk_user_data;
	struct proto *base = hyb_prot_base[sk->sk_family == AF_INET6];

	if (base->release_cb)
		base->release_cb(sk);
	if (cep && cep->live && READ_ONCE(cep->live->tcp.todo))
		hyb_sched_run(cep->live);
}

/* ------------------------------------------------------------ sockets */

/* Copy the protocol of a new socket, which nothing else has changed yet */
static void hyb_tcp_copy_prot(struct sock *sk)
{
	int v6 = sk->sk_family == AF_INET6;

	/* the IPv6 module may have been reloaded */
	if (smp_load_acquire(&hyb_prot_base[v6]) != sk->sk_prot) {
		mutex_lock(&hyb_prot_lock);
		if (hyb_prot_base[v6] != sk->sk_prot) {
			hyb_prot[v6] = *sk->sk_prot;
			hyb_prot[v6].release_cb = hyb_tcp_release_cb;
			/* the copy is complete; pairs with the load above */
			smp_store_release(&hyb_prot_base[v6], sk->sk_prot);
		}
		mutex_unlock(&hyb_prot_lock);
	}
}

/*
 * Are the socket's protocol, user data and ULP still TCP's? A BPF program (sockops) can
 * put a connection into a sockmap before we accept it, which uses the same fields. Socket
 * owned.
 */
static bool hyb_tcp_is_free(struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	int v6 = sk->sk_family == AF_INET6;

	/* pairs with hyb_tcp_copy_prot(): the copy is complete */
	return sk->sk_prot == smp_load_acquire(&hyb_prot_base[v6]) &&
	       !READ_ONCE(sk->sk_user_data) && !icsk->icsk_ulp_ops &&
	       !rcu_access_pointer(icsk->icsk_ulp_data);
}

/**
 * hyb_tcp_create - open a TCP socket for a connection or a listener
 * @net: namespace of the net device. Not referenced by the socket: its
 *	 creator must close it before the net device leaves.
 * @family: AF_INET or AF_INET6
 * @res: result
 *
 * Return: 0 or an error of sock_create_kern().
 */
int hyb_tcp_create(struct net *net, int family, struct socket **res)
{
	int v6 = family == AF_INET6;
	struct socket *sock;
	int err;

	err = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	sock_lock_init_class_and_name(sock->sk,
				      v6 ? "slock-AF_INET6-HYBRID" :
					   "slock-AF_INET-HYBRID",
				      &hyb_slock_key[v6],
				      v6 ? "sk_lock-AF_INET6-HYBRID" :
					   "sk_lock-AF_INET-HYBRID",
				      &hyb_sk_lock_key[v6]);
	sock_set_reuseaddr(sock->sk);
	hyb_tcp_copy_prot(sock->sk);
	*res = sock;
	return 0;
}

/*
 * A task of the kernel, which has no control group, has made the socket: charge the group
 * of the queue pair from now on. TCP uncharges the group for all memory that it frees. So
 * if the socket has memory already, for which the group was not charged, it stays without
 * a group. Socket owned.
 */
static void hyb_tcp_charge(struct sock *sk, struct mem_cgroup *memcg)
{
#ifdef CONFIG_MEMCG
	/* the root group is not charged, and those of version 1 count otherwise */
	if (!mem_cgroup_sockets_enabled || sk->sk_memcg || !memcg ||
	    !memcg->css.parent || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return;
	sk_mem_reclaim(sk);
	if (sk->sk_forward_alloc || sk_rmem_alloc_get(sk) || sk->sk_wmem_queued)
		return;
	css_get(&memcg->css);	/* __sk_free() puts it */
	sk->sk_memcg = memcg;
#endif
}

/**
 * hyb_tcp_adopt - take over a socket for a connection
 * @cep: connection, its lock held
 * @sock: new or accepted socket; the connection owns it from now on
 *
 * The callbacks hold a reference of @cep until hyb_tcp_release().
 *
 * Return: 0, or -EBUSY if something else uses the socket, such as a sockmap; it remains
 * the caller's.
 */
int hyb_tcp_adopt(struct hyb_cep *cep, struct socket *sock)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	/* finds a peer that is gone when there is nothing to send to it */
	sock_set_keepalive(sk);
	lock_sock(sk);
	if (!hyb_tcp_is_free(sk)) {
		release_sock(sk);
		return -EBUSY;
	}
	/* urgent data of a peer is data, and we never sleep in TCP */
	sock_set_flag(sk, SOCK_URGINLINE);
	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	hyb_cep_get(cep);
	cep->sock = sock;
	cep->discard = false;
	if (cep->qp)
		hyb_tcp_charge(sk, cep->qp->memcg);

	write_lock_bh(&sk->sk_callback_lock);
	cep->data_ready = sk->sk_data_ready;
	cep->state_change = sk->sk_state_change;
	cep->write_space = sk->sk_write_space;
	cep->error_report = sk->sk_error_report;
	sk->sk_user_data = cep;
	sk->sk_data_ready = hyb_tcp_data_ready;
	sk->sk_state_change = hyb_tcp_state_change;
	sk->sk_write_space = hyb_tcp_write_space;
	sk->sk_error_report = hyb_tcp_error_report;
	write_unlock_bh(&sk->sk_callback_lock);

	WRITE_ONCE(sk->sk_prot, &hyb_prot[sk->sk_family == AF_INET6]);
	release_sock(sk);
	return 0;
}

/**
 * hyb_tcp_send_frame - send a frame of MPA start-up
 * @sk: socket, owned
 * @frame: frame
 * @len: its length
 *
 * TCP copies it into a page of the task, which is there already. It does so for
 * sockets of GFP_KERNEL only, others get pages of their own.
 *
 * Return: 0 or an error.
 */
int hyb_tcp_send_frame(struct sock *sk, const u8 *frame, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov = { .iov_base = (void *)frame, .iov_len = len };
	gfp_t old = sk->sk_allocation;
	unsigned int noio;
	int ret;

	sock_owned_by_me(sk);
	/* an answer follows, which the next frame or FPDU acknowledges */
	inet_csk_enter_pingpong_mode(sk);
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	noio = memalloc_noio_save();
	sk->sk_allocation = GFP_KERNEL;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_allocation = old;
	memalloc_noio_restore(noio);
	if (ret == len)
		return 0;
	return ret < 0 ? ret : -ENOBUFS;
}

/* The engines run from now on. Socket owned. */
static void hyb_tcp_start(struct hyb_cep *cep, struct hyb_qp *qp,
			  struct sock *sk)
{
	unsigned long irq;

	spin_lock_bh(&sk->sk_lock.slock);
	sock_hold(sk);
	hyb_stream_attach(&qp->tx.s, sk);
	qp->tcp.attached = true;
	set_bit(HYB_TODO_RX, &qp->tcp.todo);
	set_bit(HYB_TODO_TX, &qp->tcp.todo);
	cep->live = qp;
	spin_unlock_bh(&sk->sk_lock.slock);
	/* the lock is for hyb_shared and hyb_attr */
	spin_lock_irqsave(&qp->tcp.lock, irq);
	/* pairs with hyb_sched_kick() */
	smp_store_release(&qp->tcp.sk, sk);
	spin_unlock_irqrestore(&qp->tcp.lock, irq);
	/* an attribute was written before there was @sk; later writers find it */
	if (qp->attr_behind)
		hyb_off_update(qp);
	if (qp->shared) {
		spin_lock_bh(&sk->sk_lock.slock);
		hyb_shared_window(qp, sk);
		spin_unlock_bh(&sk->sk_lock.slock);
	}
}

/**
 * hyb_tcp_attach - enter full operation
 * @cep: connection, its lock held
 * @qp: its queue pair, not attached; the caller keeps references of both
 * @res: result of MPA start-up
 * @frame: responder: the Reply, sent before anything else can be; else NULL
 * @len: its length
 *
 * Return: 0; or a negative errno: the queue pair is not attached, but the Reply may have
 * been sent.
 */
int hyb_tcp_attach(struct hyb_cep *cep, struct hyb_qp *qp,
		   const struct mpa_result *res, const u8 *frame, size_t len)
{
	struct sock *sk = cep->sock->sk;
	int err;

	hyb_tx_init(qp, res);
	hyb_rx_init(qp, res);

	lock_sock(sk);
	err = -ECONNRESET;
	if (sk->sk_state != TCP_ESTABLISHED)
		goto out;
	hyb_tcp_charge(sk, qp->memcg);
	/* until now in that of the listening socket, which any task may have made */
	if (frame && qp->tcp.owner)
		rdma_stack_sock_cgroup(sk, qp->tcp.owner);
	hyb_sched_use_ip(qp, sk);
	/* count segments from now on: those after the Reply do not belong to start-up */
	qp->rx.segs = READ_ONCE(tcp_sk(sk)->data_segs_in);
	if (frame && hyb_tcp_send_frame(sk, frame, len))
		goto out;
	err = -EINVAL;
	if (qp->tcp.sk || !hyb_qp_set_state(qp, HYB_QP_RTS))
		goto out;
	/* the window must admit a whole FPDU, then wake at every segment */
	cep->sock->ops->set_rcvlowat(sk, HYB_TCP_LOWAT);
	WRITE_ONCE(sk->sk_rcvlowat, 1);

	/* if this fails, software does all the work */
	qp->tx.tracked = hyb_xmit_attach(sk);
	if (qp->tx.tracked) {
		hyb_off_attach(qp, sk);
		hyb_ooo_attach(qp, sk);
	}

	hyb_tcp_start(cep, qp, sk);
	err = 0;
out:
	release_sock(sk);
	return err;
}

/**
 * hyb_tcp_drain - have the transmit engine report when it is done
 * @cep: connection, its lock held
 * @qp: its live queue pair
 *
 * HYB_EV_DRAINED comes when TCP has taken the Terminate, or, if there is none, all
 * queued work, and has no memory of requests any more. The engine runs when the socket is
 * released here.
 */
void hyb_tcp_drain(struct hyb_cep *cep, struct hyb_qp *qp)
{
	struct sock *sk = cep->sock->sk;

	lock_sock(sk);
	qp->tx.drain = true;
	set_bit(HYB_TODO_TX, &qp->tcp.todo);
	release_sock(sk);
}

/**
 * hyb_tcp_detach - stop the engines for good
 * @cep: connection, its lock held
 * @qp: its live queue pair
 *
 * On return no engine of @qp runs or will run. Further input is discarded.
 */
void hyb_tcp_detach(struct hyb_cep *cep, struct hyb_qp *qp)
{
	struct sock *sk = cep->sock->sk;
	int inq;

	lock_sock(sk);
	spin_lock_bh(&sk->sk_lock.slock);
	if (sk->sk_err)
		WRITE_ONCE(qp->tx.why, -sk->sk_err);
	/* deliver all data that arrived before the end to the upper layer */
	if (qp->shared) {
		do {
			inq = tcp_inq(sk);
			set_bit(HYB_TODO_RX, &qp->tcp.todo);
			hyb_sched_run(qp);
		} while (tcp_inq(sk) < inq);
		hyb_shared_closed(qp, qp->rx.eof && !qp->rx.stopped ?
				  0 : hyb_fpdu_why(qp));
	}
	cep->live = NULL;
	cep->mute = hyb_fpdu_lends(qp);
	cep->discard = true;
	qp->tcp.attached = false;
	hyb_idle_charge(qp, sk);
	spin_unlock_bh(&sk->sk_lock.slock);
	hyb_off_detach(qp);
	tcp_read_done(sk, tcp_inq(sk));
	release_sock(sk);
}

/**
 * hyb_tcp_release - close the socket of a connection
 * @cep: connection, its lock held, no live queue pair
 * @reset: by RST, at once and without leaving anything in the namespace
 *
 * Puts the reference that the callbacks held: afterwards the caller's may be the last.
 */
void hyb_tcp_release(struct hyb_cep *cep, bool reset)
{
	struct socket *sock = cep->sock;
	struct sock *sk;

	if (!sock)
		return;
	sk = sock->sk;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = cep->data_ready;
	sk->sk_state_change = cep->state_change;
	sk->sk_write_space = cep->write_space;
	sk->sk_error_report = cep->error_report;
	write_unlock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_prot, hyb_prot_base[sk->sk_family == AF_INET6]);
	hyb_xmit_release(sk);
	release_sock(sk);

	if (reset)
		sock_no_linger(sk);
	cep->sock = NULL;
	sock_release(sock);
	hyb_cep_put(cep);
}

/**
 * hyb_tcp_recall - take memory of requests back from TCP
 * @cep: connection, its lock held
 * @qp: its detached queue pair
 *
 * Ends the connection by RST, so TCP sends nothing of the memory any more. The device
 * may still have packets that TCP has sent.
 *
 * Return: false if it has none. Otherwise HYB_EV_RECALLED comes when it has freed them,
 * which a working device does in time.
 */
bool hyb_tcp_recall(struct hyb_cep *cep, struct hyb_qp *qp)
{
	hyb_tcp_release(cep, true);
	return hyb_lend_recall(qp);
}

/**
 * hyb_tcp_recall_wait - wait until the device has freed the packets
 * @qp: queue pair after hyb_tcp_recall()
 * @end: until when, in jiffies
 *
 * Context: process, sleeps.
 */
void hyb_tcp_recall_wait(struct hyb_qp *qp, unsigned long end)
{
	while (hyb_lend_recall(qp) && time_before(jiffies, end))
		usleep_range(500, 2000);
}

static const struct hyb_engine_ops hyb_tcp_engines = {
	.rx = hyb_rx_run,
	.ooo = hyb_ooo_look,
	.tx = hyb_tx_run,
	.flush = hyb_qp_flush_again,
};

int __init hyb_tcp_init(void)
{
	return hyb_sched_init(&hyb_tcp_engines);
}

void hyb_tcp_exit(void)
{
	/* for callbacks that were called before the sockets were closed */
	synchronize_net();
	hyb_lend_exit();
	hyb_sched_exit();
}
