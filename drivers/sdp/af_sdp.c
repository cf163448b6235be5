// SPDX-License-Identifier: GPL-2.0
/*
 * Socket layer of SDP: the system calls, with the semantics of a TCP socket.
 * Top layer of sdp.ko; calls everything below it. Per-namespace state and the
 * module's begin and end are here too.
 */
#include <linux/bpf-cgroup.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <asm/ioctls.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <net/addrconf.h>
#include <net/inet_common.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_cgroup.h"
#include "sdp_dial.h"
#include "sdp_fallback.h"
#include "sdp_latency.h"
#include "sdp_mem.h"
#include "sdp_mib.h"
#include "sdp_netlink.h"
#include "sdp_port.h"
#include "sdp_ring.h"
#include "sdp_rx.h"

#define SDP_BIND_TRIES	16	/* ports that rdma_cm may offer before we look at all */
#define SDP_CONNECT_TCP	1	/* continue with the TCP socket */
#define SDP_SYNCNT_LONG	12	/* more attempts of TCP take longer than any limit */

static const struct proto_ops sdp_ops;
static struct proto sdp_prot;

/* ---- state and addresses ---- */

/* Restore the result of bind(); the address may be that of a connection. */
static void sdp_reset_local(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr any = {};

	if (!sdp->user_bound) {
		sdp_sock_clear_local(sk);
		return;
	}
	if (sk->sk_userlocks & SOCK_BINDADDR_LOCK)
		any = sdp->local;
	else
		any.sa.sa_family = sdp->v6 ? AF_INET6 : AF_INET;
	spin_lock_bh(&sdp->lock);
	any.v4.sin_port = sdp_port_kept(sk) ? sdp->local.v4.sin_port : 0;
	sdp_sock_set_local(sk, &any.sa);
	spin_unlock_bh(&sdp->lock);
}

/*
 * A listener has ended, or bind() gave no port. As with TCP, a port that the program
 * did not choose is given back, and an address that it chose stays.
 */
static void sdp_reset_port(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr addr;

	if (sk->sk_userlocks & SOCK_BINDPORT_LOCK)
		return;
	spin_lock_bh(&sdp->lock);
	addr = sdp->local;
	addr.v4.sin_port = 0;
	sdp_sock_set_local(sk, &addr.sa);
	spin_unlock_bh(&sdp->lock);
	sdp->user_bound = sk->sk_userlocks & SOCK_BINDADDR_LOCK;
}

/* ---- creation ---- */

static void sdp_destruct(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp_sock_unhash(sdp);
	sdp_rx_purge(sk);
	sdp_ring_drop(sdp);
	sdp_rxmap_free(sdp);
	if (sdp->tcp_sk)
		sock_put(sdp->tcp_sk);
	put_cred(sdp->cred);
	if (sdp->orphan)
		atomic_dec(&sn->norphans);
	WRITE_ONCE(sk->sk_wmem_queued, 0);
	WARN_ON_ONCE(atomic_read(&sdp->tx_mem));
	sk_sockets_allocated_dec(sk);
	/* warns if sk_rmem_alloc is not 0 */
	inet_sock_destruct(sk);
}

static void sdp_sock_setup(struct sock *sk, int protocol)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp_inet_lock_class(sk);
	sk->sk_protocol = protocol;
	sk->sk_type = SOCK_STREAM;
	sk->sk_destruct = sdp_destruct;
	sk->sk_write_space = sdp_write_space;
	sk->sk_sndbuf = READ_ONCE(sn->sysctl_wmem[1]);
	sk->sk_rcvbuf = READ_ONCE(sn->sysctl_rmem[1]);
	sk->sk_rcvlowat = 1;
	sock_set_flag(sk, SOCK_USE_WRITE_QUEUE);
	sdp->v6 = sk->sk_family == AF_INET6 ||
		  (sk->sk_family == AF_SDP && protocol == SDPPROTO_SDP6);
	sdp->local.sa.sa_family = AF_INET;
	sdp->peer.sa.sa_family = AF_INET;
	spin_lock_init(&sdp->lock);
	INIT_LIST_HEAD(&sdp->accept_q);
	INIT_LIST_HEAD(&sdp->accept_node);
	INIT_LIST_HEAD(&sdp->held);
	INIT_LIST_HEAD(&sdp->unconfirmed);
	INIT_LIST_HEAD(&sdp->port_node);
	INIT_LIST_HEAD(&sdp->bind_same);
	INIT_LIST_HEAD(&sdp->rx_queue);
	INIT_LIST_HEAD(&sdp->rx_pages.blocks);
	sdp->rxq = &sdp_rxq_verbs;
	INIT_WORK(&sdp->hold_work, sdp_cm_hold_work);
	INIT_WORK(&sdp->unbind_work, sdp_cm_unbind_work);
	INIT_DELAYED_WORK(&sdp->timer_work, sdp_timer_work);
#if IS_ENABLED(CONFIG_IPV6)
	if (sdp->v6)
		inet_sk(sk)->pinet6 = &sdp->inet6;
#endif
	sdp_sockopt_init(sk);
	sk_sockets_allocated_inc(sk);
	sdp_sock_hash(sdp);
}

static void sdp_set_flags(struct socket *sock)
{
	/* io_uring may send without copies: its notification says when the memory is free */
	set_bit(SOCK_SUPPORT_ZC, &sock->flags);
#ifdef HAVE_CUSTOM_SOCKOPT
	/* options of SOL_SOCKET come to sdp_setsockopt() */
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
#endif
}

/* net.sdp.group_range is for programs */
static int sdp_may_open(const struct sock *sk)
{
	return sk->sk_kern_sock || sdp_sysctl_may_open(sock_net(sk)) ? 0 : -EACCES;
}

/*
 * Set up the SDP part of a socket that the Internet families have made. They free the socket on
 * error.
 */
static int sdp_init_sock(struct sock *sk)
{
	sdp_sock_setup(sk, sk->sk_protocol);
	if (sk->sk_socket)
		sdp_set_flags(sk->sk_socket);
	return sdp_may_open(sk);
}

/* sk_common_release() calls this for a new socket that is refused; sdp_destruct() unhashes it. */
static void sdp_unhash(struct sock *sk)
{
}

static int sdp_create(struct net *net, struct socket *sock, int protocol,
		      int kern)
{
	struct sock *sk;
	int err;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != SDPPROTO_SDP && protocol != SDPPROTO_SDP6)
		return -EPROTONOSUPPORT;
	/* without the IPv6 module most of its functions do nothing */
	if (protocol == SDPPROTO_SDP6 && !ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	sk = sk_alloc(net, AF_SDP, GFP_KERNEL, &sdp_prot, kern);
	if (!sk)
		return -ENOBUFS;
	sock->ops = &sdp_ops;
	sock->state = SS_UNCONNECTED;
	sdp_set_flags(sock);
	sock_init_data(sock, sk);
	sdp_sock_setup(sk, protocol);
	err = sdp_may_open(sk);
	if (!err && !kern)
		err = BPF_CGROUP_RUN_PROG_INET_SOCK(sk);
	if (err) {
		sk_common_release(sk);
		sock->sk = NULL;
	}
	return err;
}

/*
 * The socket of a connection request, without struct socket. As TCP's, it does not wait
 * for memory, since all connections of the machine would wait with it. Context: process;
 * the listener is not locked. Returns NULL without memory.
 */
static struct sock *sdp_sock_child(struct sock *listener)
{
	struct sock *sk;

	sk = sk_alloc(sock_net(listener), listener->sk_family, GFP_ATOMIC,
		      &sdp_prot, 0);
	if (!sk)
		return NULL;
	sock_init_data(NULL, sk);
	sdp_sock_setup(sk, listener->sk_protocol);
	sdp_inherit_child(sk, listener);
	return sk;
}

/* ---- bind ---- */

/*
 * Check an address that a program gave and bring it into our form. AF_SDP is
 * taken as the Internet family of the socket.
 */
static int sdp_get_addr(struct sock *sk, struct sockaddr *sa, int len,
			union sdp_addr *out)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr in;
	int family;

	if (len < (int)sizeof(sa->sa_family))
		return -EINVAL;
	memset(&in, 0, sizeof(in));
	memcpy(&in, sa, min_t(int, len, sizeof(in)));
	family = in.sa.sa_family;
	/* also in @sa, which BPF programs and TCP read */
	if (family == AF_SDP) {
		family = sdp->v6 ? AF_INET6 : AF_INET;
		sa->sa_family = family;
	}
	if (sdp->v6) {
		if (len < SIN6_LEN_RFC2133)
			return -EINVAL;
		if (family != AF_INET6)
			return -EAFNOSUPPORT;
	} else {
		if (len < (int)sizeof(struct sockaddr_in))
			return -EINVAL;
		if (family != AF_INET)
			return -EAFNOSUPPORT;
	}
	in.sa.sa_family = family;
	sdp_addr_copy(out, &in.sa);
	return 0;
}

static bool sdp_nonlocal_ok(struct sock *sk)
{
	struct net *net = sock_net(sk);

	return READ_ONCE(net->ipv4.sysctl_ip_nonlocal_bind) ||
	       inet_test_bit(FREEBIND, sk) ||
	       inet_test_bit(TRANSPARENT, sk);
}

static int sdp_check_bind_v6(struct sock *sk, struct sockaddr_in6 *a)
{
	int type = ipv6_addr_type(&a->sin6_addr);
	struct net_device *dev = NULL;
	int err = 0;

	if (type & IPV6_ADDR_MULTICAST)
		return -EINVAL;
	rcu_read_lock();
	if (type & IPV6_ADDR_LINKLOCAL) {
		if (a->sin6_scope_id)
			sk->sk_bound_dev_if = a->sin6_scope_id;
		if (!sk->sk_bound_dev_if)
			err = -EINVAL;
		/* rdma_cm knows no other device for it */
		a->sin6_scope_id = sk->sk_bound_dev_if;
	}
	if (!err && sk->sk_bound_dev_if) {
		dev = dev_get_by_index_rcu(sock_net(sk), sk->sk_bound_dev_if);
		if (!dev)
			err = -ENODEV;
	}
	if (!err && !(IS_ENABLED(CONFIG_IPV6) &&
		      ipv6_chk_addr(sock_net(sk), &a->sin6_addr, dev, 0)) &&
	    !sdp_nonlocal_ok(sk))
		err = -EADDRNOTAVAIL;
	rcu_read_unlock();
	return err;
}

static int sdp_check_bind_addr(struct sock *sk, union sdp_addr *a)
{
	unsigned int type;

	if (sdp_sk(sk)->v6 && sk->sk_ipv6only && a->sa.sa_family == AF_INET)
		return -EINVAL;
	if (sdp_addr_any(a))
		return 0;
	if (a->sa.sa_family == AF_INET6)
		return sdp_check_bind_v6(sk, &a->v6);
	type = inet_addr_type(sock_net(sk), a->v4.sin_addr.s_addr);
	if (type != RTN_LOCAL && !sdp_nonlocal_ok(sk))
		return -EADDRNOTAVAIL;
	return 0;
}

static void sdp_unbind(struct sock *sk)
{
	struct sdp_port *port = sdp_port_unbind(sk);

	sdp_fallback_let_go(sk);
	sdp_sock_clear_local(sk);
	sdp_port_put(port);
}

/* With SDP_FALLBACK the port is the program's for TCP as well */
static int sdp_bind_both(struct sock *sk)
{
	int err = sdp_sk(sk)->fallback ? sdp_fallback_hold(sk) : 0;

	if (err)
		sdp_unbind(sk);
	return err;
}

static int sdp_bind_free(struct sock *sk, const union sdp_addr *addr)
{
	int err;

	/* don't scan the whole port range if the task is being killed */
	if (fatal_signal_pending(current))
		return -EINTR;
	err = sdp_cm_bind(sk, addr);
	if (err)
		return err;
	if (!sdp_port_free(sk)) {
		sdp_unbind(sk);
		return -EADDRINUSE;
	}
	/* then connect() finds a port, and with listen() TCP gets this one */
	return inet_test_bit(BIND_ADDRESS_NO_PORT, sk) ? 0 : sdp_bind_both(sk);
}

/*
 * rdma_cm offers ports at random, and knows nothing of TCP's, nor of a range of the
 * socket
 */
static int sdp_bind_search(struct sock *sk, const union sdp_addr *addr,
			   bool share)
{
	union sdp_addr some = *addr;
	struct sdp_port_walk w = {};
	int err;
	u16 port;

	while ((port = sdp_port_next(sk, &w))) {
		cond_resched();
		some.v4.sin_port = htons(port);
		/* range and reservation are those of the device's port */
		if (!w.own)
			some.v4.sin_port = sdp_port_unmap(sock_net(sk),
							  some.v4.sin_port);
		if (sdp_port_bound(sk, &some, share))
			continue;
		err = sdp_bind_free(sk, &some);
		if (err != -EADDRINUSE)
			return err;
	}
	return -EADDRINUSE;
}

static int sdp_do_bind(struct sock *sk, const union sdp_addr *addr)
{
	int low, high, i, err;

	if (addr->v4.sin_port) {
		if (sdp_port_conflict(sk, addr))
			return -EADDRINUSE;
		err = sdp_cm_bind(sk, addr);
		return err ? : sdp_bind_both(sk);
	}
	for (i = 0; i < SDP_BIND_TRIES && !sdp_port_range(sk, &low, &high); i++) {
		err = sdp_bind_free(sk, addr);
		if (err != -EADDRINUSE)
			return err;
	}
	err = sdp_bind_search(sk, addr, false);
	if (err == -EADDRINUSE && sk->sk_reuse &&
	    READ_ONCE(sock_net(sk)->ipv4.sysctl_ip_autobind_reuse))
		err = sdp_bind_search(sk, addr, true);
	return err;
}

/* No device has the address: it is one for TCP alone. */
static int sdp_bind_tcp(struct sock *sk, const union sdp_addr *addr)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int err;

	spin_lock_bh(&sdp->lock);
	sdp_sock_set_local(sk, &addr->sa);
	spin_unlock_bh(&sdp->lock);
	sdp->user_bound = true;
	err = sdp_fallback_turn(sk, false, EADDRNOTAVAIL);
	if (err) {
		sdp->user_bound = false;
		sdp_sock_clear_local(sk);
	}
	return err;
}

/* IP_BIND_ADDRESS_NO_PORT: the address is one of a device, connect() finds a port */
static void sdp_bind_later(struct sock *sk)
{
	struct sdp_port *port = sdp_port_unbind(sk);

	sdp_reset_port(sk);
	sdp_port_put(port);
}

static int sdp_bind_locked(struct sock *sk, union sdp_addr *addr)
{
	bool later = !addr->v4.sin_port &&
		     inet_test_bit(BIND_ADDRESS_NO_PORT, sk);
	struct sdp_sock *sdp = sdp_sk(sk);
	int err;

	if (sk->sk_state != TCP_CLOSE || inet_sk(sk)->inet_num)
		return -EINVAL;
	if (sdp->v6) {
		err = sdp_check_bind_addr(sk, addr);
		if (err)
			return err;
	}
	err = sdp_do_bind(sk, addr);
	if (err == -EADDRNOTAVAIL && sdp->fallback)
		return sdp_bind_tcp(sk, addr);
	if (err)
		return err;
	/* as with TCP, BPF programs look only at ports that bind() gives */
	err = later ? 0 : sdp_cgroup_post_bind(sk);
	if (err) {
		sdp_unbind(sk);
		return err;
	}
	sdp->user_bound = true;
	sdp->bound_later = later;
	if (addr->v4.sin_port)
		sk->sk_userlocks |= SOCK_BINDPORT_LOCK;
	if (!sdp_addr_any(addr))
		sk->sk_userlocks |= SOCK_BINDADDR_LOCK;
	if (later)
		sdp_bind_later(sk);
	return 0;
}

static int sdp_bind(struct socket *sock, struct sockaddr_unsized *uaddr,
		    int len)
{
	struct sockaddr *sa = (struct sockaddr *)uaddr;
	struct sock *sk = sock->sk;
	struct net *net = sock_net(sk);
	union sdp_addr addr;
	struct sockaddr_in any4;
	u32 flags = 0;
	int err;
	u16 port;

	/* an old custom: AF_UNSPEC stands for AF_INET with no address */
	if (!sdp_sk(sk)->v6 && len >= (int)sizeof(any4) &&
	    sa->sa_family == AF_UNSPEC) {
		memcpy(&any4, sa, sizeof(any4));
		if (any4.sin_addr.s_addr)
			return -EAFNOSUPPORT;
		any4.sin_family = AF_INET;
		sa = (struct sockaddr *)&any4;
		len = sizeof(any4);
	}
	err = sdp_get_addr(sk, sa, len, &addr);
	if (!err)
		err = sdp_cgroup_bind(sk, sa, len, &flags);
	if (!err)
		err = sdp_get_addr(sk, sa, len, &addr);
	if (err)
		return err;
	/* as TCP: IPv4 checks the address first, IPv6 first checks that the socket is not bound */
	if (!sdp_sk(sk)->v6)
		err = sdp_check_bind_addr(sk, &addr);
	if (err)
		return err;
	port = ntohs(addr.v4.sin_port);
	if (port && !(flags & BIND_NO_CAP_NET_BIND_SERVICE) &&
	    inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	lock_sock(sk);
	err = sdp_bind_locked(sk, &addr);
	release_sock(sk);
	return err;
}

static int sdp_autobind(struct sock *sk)
{
	union sdp_addr addr = {};

	if (inet_sk(sk)->inet_num)
		return 0;
	if (sk->sk_userlocks & SOCK_BINDADDR_LOCK)
		addr = sdp_sk(sk)->local;
	else
		addr.sa.sa_family = sdp_sk(sk)->v6 ? AF_INET6 : AF_INET;
	return sdp_do_bind(sk, &addr);
}

/* A bound port whose cm_ids are gone (shutdown of a listener) gets new ones. */
static int sdp_rebind(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	union sdp_addr addr = sdp->local;

	if (sdp->port)
		return 0;
	return sdp_cm_bind(sk, &addr);
}

/* ---- listen, accept ---- */

static int sdp_listen_bind(struct sock *sk)
{
	int err = sdp_autobind(sk);

	if (!err)
		err = sdp_rebind(sk);
	if (!err && sdp_port_conflict(sk, &sdp_sk(sk)->local))
		err = -EADDRINUSE;
	return err;
}

static int sdp_listen_again(struct sock *sk, int backlog)
{
	struct socket *tcp = sdp_sk(sk)->tcp;

	sdp_cm_accept_next(sk);
	if (!tcp || tcp->sk->sk_state != TCP_LISTEN)
		return 0;
	return tcp->ops->listen(tcp, backlog);
}

static int sdp_listen_locked(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *sdp = sdp_sk(sk);
	int err;

	if (sock->state != SS_UNCONNECTED)
		return -EINVAL;
	if (!((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN)))
		return -EINVAL;
	if (sdp_sock_filtered(sk))
		return -EOPNOTSUPP;
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	if (sk->sk_state == TCP_LISTEN)
		return sdp_listen_again(sk, backlog);
	err = sdp_listen_bind(sk);
	if (!err && sdp->fallback)
		err = sdp_fallback_listen(sk, backlog);
	if (err)
		return err;
	/* a request may come before rdma_listen() returns */
	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(sk->sk_shutdown, 0);
	sdp_sock_set_state(sk, TCP_LISTEN);
	spin_unlock_bh(&sdp->lock);
	/* check again now that concurrent listen() calls see this listener */
	if (sdp_port_conflict(sk, &sdp->local))
		err = -EADDRINUSE;
	if (!err)
		err = sdp_port_listen(sk, backlog);
	if (!err)
		return 0;
	/* fall back to a listener of TCP alone */
	if (sdp_fallback_only(sk, err))
		err = 0;
	sdp_cm_stop_listen(sk);
	sdp_fallback_stop(sk);
	return err;
}

static int sdp_listen(struct socket *sock, int backlog)
{
	struct sdp_port *port = NULL;
	struct sock *sk = sock->sk;
	int err;

	lock_sock(sk);
	err = sdp_listen_locked(sock, backlog);
	if (sdp_fallback_on(sk))
		port = sdp_port_unbind(sk);
	release_sock(sk);
	sdp_port_put(port);
	return err;
}

static struct sock *sdp_accept_dequeue(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk), *child;

	spin_lock_bh(&sdp->lock);
	child = list_first_entry_or_null(&sdp->accept_q, struct sdp_sock,
					 accept_node);
	if (child) {
		list_del_init(&child->accept_node);
		sk_acceptq_removed(sk);
	}
	spin_unlock_bh(&sdp->lock);
	if (child)
		sdp_cm_accept_next(sk);
	return child ? &child->inet.sk : NULL;
}

/* Take connections of SDP and TCP in turn if both wait. */
static struct sock *sdp_accept_one(struct sock *sk, struct socket *newsock,
				   int *err)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sock *child = NULL;

	*err = -EAGAIN;
	sdp->tcp_next = !sdp->tcp_next;
	if (sdp->tcp_next)
		child = sdp_accept_dequeue(sk);
	if (!child && sdp->tcp)
		*err = sdp_fallback_accept(sk, newsock);
	if (!child && *err)
		child = sdp_accept_dequeue(sk);
	return child;
}

static bool sdp_acceptable(const struct sock *sk)
{
	return !list_empty_careful(&sdp_sk(sk)->accept_q) ||
	       sdp_fallback_waiting(sk);
}

/*
 * Wait for a connection; one waiter is woken for each. A socket of ours is
 * returned, a TCP connection (*@err is 0) is in @newsock already.
 */
static struct sock *sdp_accept_wait(struct sock *sk, struct socket *newsock,
				    long timeo, int *err)
{
	DEFINE_WAIT(wait);
	struct sock *child;

	for (;;) {
		/* not a listener any more, or TCP has the file, and continues to listen */
		*err = sdp_fallback_on(sk) ? -ECONNABORTED : -EINVAL;
		if (sk->sk_state != TCP_LISTEN)
			return NULL;
		*err = -EOPNOTSUPP;
		if (sdp_sock_filtered(sk))
			return NULL;
		child = sdp_accept_one(sk, newsock, err);
		if (child || !*err)
			return child;
		*err = -EAGAIN;
		if (!timeo)
			return NULL;
		*err = sock_intr_errno(timeo);
		if (signal_pending(current))
			return NULL;
		prepare_to_wait_exclusive(sk_sleep(sk), &wait,
					  TASK_INTERRUPTIBLE);
		release_sock(sk);
		if (!sdp_acceptable(sk) &&
		    READ_ONCE(sk->sk_state) == TCP_LISTEN)
			timeo = schedule_timeout(timeo);
		sched_annotate_sleep();
		lock_sock(sk);
		finish_wait(sk_sleep(sk), &wait);
	}
}

static int sdp_accept(struct socket *sock, struct socket *newsock,
		      COMPAT_ACCEPT_ARGS)
{
	struct socket *tcp = sdp_fallback_on(sock->sk);
	struct sock *sk = sock->sk, *child;
	int err;

	if (tcp)
		return -ECONNABORTED;	/* the file has gone to TCP just now */
	lock_sock(sk);
	child = sdp_accept_wait(sk, newsock,
				sock_rcvtimeo(sk, compat_accept_flags &
						  O_NONBLOCK), &err);
	release_sock(sk);
	if (!child)
		return err;
	lock_sock_nested(child, SINGLE_DEPTH_NESTING);
	sock_graft(child, newsock);
	newsock->state = SS_CONNECTED;
	sdp_set_flags(newsock);
	release_sock(child);
	SDP_INC_STATS(sock_net(sk), ACCEPTS);
	return 0;
}

/* ---- connect ---- */

/* Back to a socket that was never connected; a port that the program chose stays. */
static void sdp_disconnect(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int old = sk->sk_state;
	struct sockaddr_in any = { .sin_family = AF_INET };

	if (old == TCP_LISTEN) {
		sdp_cm_stop_listen(sk);
		sdp_fallback_stop(sk);
		sdp_reset_port(sk);
	} else if (old != TCP_CLOSE) {
		WRITE_ONCE(sk->sk_err, ECONNRESET);
	}
	sdp_cm_abort(sk);
	sdp_rx_purge(sk);
	sdp_reset_local(sk);
	spin_lock_bh(&sdp->lock);
	sdp_sock_set_peer(sk, (struct sockaddr *)&any);
	sdp_sock_set_state(sk, TCP_CLOSE);
	WRITE_ONCE(sk->sk_shutdown, 0);
	sdp->rx_done = false;
	spin_unlock_bh(&sdp->lock);
	if (old != TCP_CLOSE)
		sk_error_report(sk);
}

static int sdp_check_dst_v4(struct sock *sk, union sdp_addr *dst)
{
	unsigned int type;

	if (sk->sk_ipv6only && sdp_sk(sk)->v6)
		return -ENETUNREACH;
	if (!dst->v4.sin_addr.s_addr)
		dst->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	type = inet_addr_type(sock_net(sk), dst->v4.sin_addr.s_addr);
	if (type == RTN_MULTICAST || type == RTN_BROADCAST)
		return -ENETUNREACH;
	return 0;
}

static int sdp_check_dst(struct sock *sk, union sdp_addr *dst)
{
	int type;

	if (dst->sa.sa_family == AF_INET)
		return sdp_check_dst_v4(sk, dst);
	if (ipv6_addr_any(&dst->v6.sin6_addr))
		dst->v6.sin6_addr = in6addr_loopback;
	type = ipv6_addr_type(&dst->v6.sin6_addr);
	if (type & IPV6_ADDR_MULTICAST)
		return -ENETUNREACH;
	if (type & IPV6_ADDR_LINKLOCAL) {
		if (dst->v6.sin6_scope_id) {
			if (sk->sk_bound_dev_if &&
			    sk->sk_bound_dev_if != dst->v6.sin6_scope_id)
				return -EINVAL;
			sk->sk_bound_dev_if = dst->v6.sin6_scope_id;
		}
		if (!sk->sk_bound_dev_if)
			return -EINVAL;
		dst->v6.sin6_scope_id = sk->sk_bound_dev_if;
	}
	return 0;
}

/*
 * The attempt of SDP could not begin. With SDP_FALLBACK, TCP is next:
 * sdp_connect() does the rest.
 */
static int sdp_connect_turn(struct sock *sk, int err)
{
	int failed;

	if (!sdp_sk(sk)->fallback || err == -EINTR || err == -ERESTARTSYS)
		return err;
	failed = sdp_fallback_turn(sk, true, err);
	/* SDP was not tried: there is no other error */
	if (failed)
		return err == -EALREADY ? failed : err;
	SDP_INC_STATS(sock_net(sk), TCP_CONNECTS);
	return SDP_CONNECT_TCP;
}

/* Start the timer that limits all of connect(). */
static void sdp_connect_limit(struct sock *sk)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	int limit = READ_ONCE(sn->sysctl_connect_timeout);
	u8 retries = READ_ONCE(sdp_sk(sk)->syn_retries);

	/*
	 * the time that TCP takes for so many retries: each waits twice as long as the last
	 */
	if (retries && retries <= SDP_SYNCNT_LONG)
		limit = min(limit, (2 << retries) - 1);
	if (sdp_sk(sk)->fallback)
		limit = min(limit, READ_ONCE(sn->sysctl_fallback_timeout));
	sdp_sock_start_deadline(sk, min_not_zero((unsigned long)HZ * limit,
						 sdp_sock_user_limit(sk)));
}

/*
 * No attempt is left. The lock was released meanwhile, so other tasks may have begun to
 * wait for the end of this attempt.
 */
static int sdp_connect_failed(struct sock *sk, int err)
{
	sdp_sock_stop_timer(sk);
	sk->sk_socket->state = SS_UNCONNECTED;
	sdp_reset_local(sk);
	err = sdp_connect_turn(sk, err);
	/* only now: poll() must find TCP, if that is next, once the state is CLOSE */
	sdp_sock_set_closed(sk);
	/* with TCP next, wake tasks only after its connect() has begun, see sdp_connect() */
	if (err != SDP_CONNECT_TCP) {
		sk->sk_state_change(sk);
		if (sk->sk_err)
			sk_error_report(sk);
	}
	return err;
}

static int sdp_connect_start(struct socket *sock, struct sockaddr *sa, int len,
			     long *timeo)
{
	struct sock *sk = sock->sk;
	union sdp_addr dst;
	int err;

	if (sk->sk_state != TCP_CLOSE)
		return -EISCONN;
	err = sdp_get_addr(sk, sa, len, &dst);
	if (!err)
		err = sdp_cgroup_connect(sk, sa, len);
	if (!err)
		err = sdp_get_addr(sk, sa, len, &dst);
	if (!err)
		err = sdp_check_dst(sk, &dst);
	if (!err && sdp_sock_filtered(sk))
		err = -EOPNOTSUPP;
	if (err)
		return err;
	sdp_sock_no_filter(sk);
	sock->state = SS_CONNECTING;
	WRITE_ONCE(sk->sk_shutdown, 0);
	/* the error may be that of a connection that connect(AF_UNSPEC) has ended */
	WRITE_ONCE(sk->sk_err, 0);
	sdp_sk(sk)->user_watched = false;
	/* without a TCP socket, connect() returns the error of SDP */
	if (sdp_sk(sk)->fallback)
		sdp_fallback_prepare(sk);
	sdp_connect_limit(sk);
	if (sdp_sk(sk)->fallback && sock->file && sdp_fallback_recent(sk, &dst)) {
		err = -EALREADY;
	} else {
		sdp_fallback_let_go(sk);
		err = sdp_cm_connect(sk, &dst, timeo);
	}
	return err ? sdp_connect_failed(sk, err) : 0;
}

/* Sleep while the attempt goes on. */
static long sdp_connect_wait(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
		if (signal_pending(current) || !timeo)
			break;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

/* The attempt is under way, if the socket has not been disconnected since @dis. */
static int sdp_connect_finish(struct socket *sock, int err, long timeo, int dis)
{
	struct sock *sk = sock->sk;

	if (dis != sk->sk_disconnects)
		return -EPIPE;
	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV)) {
		if (!timeo)
			return err;
		timeo = sdp_connect_wait(sk, timeo);
		/*
		 * the socket was disconnected (and maybe reconnected) while we
		 * slept
		 */
		if (dis != sk->sk_disconnects)
			return -EPIPE;
		if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
			return signal_pending(current) ?
			       sock_intr_errno(timeo) : err;
	}
	if (sdp_fallback_on(sk))
		return SDP_CONNECT_TCP;
	if (sk->sk_state == TCP_CLOSE) {
		err = sock_error(sk) ? : -ECONNABORTED;
		sock->state = SS_UNCONNECTED;
		sdp_disconnect(sk);
		return err;
	}
	/*
	 * wait until the handler has raised SIGIO, which precedes the return of connect() with
	 * TCP
	 */
	spin_lock_bh(&sdp_sk(sk)->lock);
	spin_unlock_bh(&sdp_sk(sk)->lock);
	sock->state = SS_CONNECTED;
	return 0;
}

static int sdp_connect_locked(struct socket *sock, struct sockaddr *sa,
			      int len, int flags)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	int dis = sk->sk_disconnects;
	int err;

	if (len < (int)sizeof(sa->sa_family))
		return -EINVAL;
	if (sa->sa_family == AF_UNSPEC) {
		sk->sk_disconnects++;
		sdp_disconnect(sk);
		sock->state = SS_UNCONNECTED;
		return 0;
	}
	switch (sock->state) {
	case SS_CONNECTED:
		return -EISCONN;
	case SS_CONNECTING:
		err = -EALREADY;
		break;
	case SS_UNCONNECTED:
		err = sdp_connect_start(sock, sa, len, &timeo);
		if (err)
			return err;
		err = -EINPROGRESS;
		/* if it has already failed, let the next call report it */
		if (flags & O_NONBLOCK)
			return err;
		break;
	default:
		return -EINVAL;
	}
	return sdp_connect_finish(sock, err, timeo, dis);
}

static int sdp_connect(struct socket *sock, struct sockaddr_unsized *uaddr,
		       int len, int flags)
{
	struct socket *tcp = sdp_fallback_on(sock->sk);
	struct sock *sk = sock->sk;
	struct sdp_port *port = NULL;
	int err;

	if (tcp)
		return tcp->ops->connect(tcp, uaddr, len, flags);
	lock_sock(sk);
	err = sdp_connect_locked(sock, (struct sockaddr *)uaddr, len, flags);
	/*
	 * A connection has a cm_id of its own, and a port that bind() gave
	 * stays in our table; listen() would ask for it again.
	 */
	if (sk->sk_state != TCP_LISTEN)
		port = sdp_port_unbind(sk);
	release_sock(sk);
	sdp_port_put(port);
	if (err != SDP_CONNECT_TCP)
		return err;
	tcp = sdp_fallback_on(sk);
	err = tcp->ops->connect(tcp, uaddr, len, flags);
	/* wake other tasks, which waited for SDP and continue with TCP even after an error */
	sk->sk_state_change(sk);
	return err;
}

/* ---- names, poll, ioctl ---- */

static int sdp_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)uaddr;
	union sdp_addr a;

	/* accept4() asks the listener's operations for its TCP connection */
	if (sk->sk_prot != &sdp_prot)
		return sock->ops->getname(sock, uaddr, peer);
	spin_lock_bh(&sdp->lock);
	a = peer ? sdp->peer : sdp->local;
	if (peer && (!a.v4.sin_port ||
		     ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT) &&
		      peer == 1))) {
		spin_unlock_bh(&sdp->lock);
		return -ENOTCONN;
	}
	spin_unlock_bh(&sdp->lock);
	if (!sdp->v6) {
		memcpy(uaddr, &a.v4, sizeof(a.v4));
		sdp_cgroup_name(sk, uaddr, sizeof(a.v4), peer);
		return sizeof(a.v4);
	}
	memset(v6, 0, sizeof(*v6));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = a.v4.sin_port;
	sdp_addr_to_v6(&a, &v6->sin6_addr);
	if (a.sa.sa_family == AF_INET6)
		v6->sin6_scope_id = ipv6_iface_scope_id(&v6->sin6_addr,
							sk->sk_bound_dev_if);
	sdp_cgroup_name(sk, uaddr, sizeof(*v6), peer);
	return sizeof(*v6);
}

static bool sdp_is_readable(const struct sock *sk)
{
	u32 target = sock_rcvlowat(sk, 0, INT_MAX);

	if (sdp_sock_at_mark(sk) && !sock_flag(sk, SOCK_URGINLINE))
		target++;
	return sdp_rx_ready(sk, target);
}

static __poll_t sdp_poll_read(struct sock *sk, __poll_t events)
{
	u32 seq = READ_ONCE(sdp_sk(sk)->rx_seq);

	if (sdp_is_readable(sk))
		return EPOLLIN | EPOLLRDNORM;
	/* do not request the data for a poll that only wants to write */
	if (events & (EPOLLIN | EPOLLRDNORM))
		sdp_zc_poll(sk, seq);
	return 0;
}

static __poll_t sdp_poll_write(struct sock *sk)
{
	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
		return EPOLLOUT | EPOLLWRNORM;
	if (__sk_stream_is_writeable(sk, 1))
		return EPOLLOUT | EPOLLWRNORM;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/* space freed before the bit was set caused no wake-up: look again */
	smp_mb__after_atomic();
	sdp_conn_want_space(sk);
	if (__sk_stream_is_writeable(sk, 1))
		return EPOLLOUT | EPOLLWRNORM;
	return 0;
}

static __poll_t sdp_poll(struct file *file, struct socket *sock,
			 poll_table *wait)
{
	struct sock *sk = sock->sk;
	struct socket *tcp;
	__poll_t mask = 0;
	u8 shutdown;
	int state;

	sock_poll_wait(file, sock, wait);
	sdp_ring_poll(sk);
	state = inet_sk_state_load(sk);
	/* seen in time: it is set before the state becomes CLOSE */
	tcp = sdp_fallback_on(sk);
	if (tcp)
		return tcp->ops->poll(file, tcp, NULL);
	if (state == TCP_LISTEN)
		return sdp_acceptable(sk) ? EPOLLIN | EPOLLRDNORM : 0;
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV) {
		mask |= sdp_poll_read(sk, poll_requested_events(wait));
		mask |= sdp_poll_write(sk);
		if (READ_ONCE(sdp_sk(sk)->urg_state) == SDP_URG_VALID)
			mask |= EPOLLPRI;
	}
	/* sk_err was written before sk_state */
	smp_rmb();
	if (READ_ONCE(sk->sk_err) ||
	    !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/* Addresses, routes and neighbours of the namespace, for which any socket will do */
static int sdp_ioctl_inet(struct socket *sock, unsigned int cmd,
			  unsigned long arg)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sdp_sk(sock->sk)->v6)
		return inet6_ioctl(sock, cmd, arg);
#endif
	return inet_ioctl(sock, cmd, arg);
}

/*
 * As with TCP, up to the urgent byte: 0 for a reader that stands at it. A program that
 * polls by FIONREAD must see data that the peer only advertises.
 */
static int sdp_inq(struct sock *sk)
{
	u32 seq = READ_ONCE(sdp_sk(sk)->rx_seq);
	int n = sdp_sock_readable(sk);

	if (sdp_sock_at_mark(sk) && !sock_flag(sk, SOCK_URGINLINE))
		n = 0;
	if (!n)
		sdp_zc_poll(sk, seq);
	return n;
}

static int sdp_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	int answ = 0;

	switch (cmd) {
	case SIOCINQ:
	case SIOCOUTQ:
	case SIOCOUTQNSD:
		if (sk->sk_state == TCP_LISTEN)
			return -EINVAL;
		break;
	case SIOCATMARK:
		break;
	default:
		return sdp_ioctl_inet(sock, cmd, arg);
	}
	if (cmd == SIOCOUTQ)
		sdp_tx_settle(sk);
	lock_sock(sk);
	if (cmd == SIOCATMARK)
		answ = sdp_sock_at_mark(sk);
	else if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		answ = 0;
	else if (cmd == SIOCINQ)
		answ = sdp_inq(sk);
	else if (cmd == SIOCOUTQ)
		answ = sdp_conn_outq(sk);
	else
		answ = sdp_conn_unsent(sk);
	release_sock(sk);
	return put_user(answ, (int __user *)arg);
}

/*
 * As in TCP: no more than half of the buffer if the program has chosen its size, else half
 * of its maximum (net.sdp.rmem). In that case the buffer grows to twice the mark.
 */
static int sdp_set_rcvlowat(struct sock *sk, int val)
{
	const struct sdp_net *sn = sdp_pernet(sock_net(sk));
	bool fixed = sk->sk_userlocks & SOCK_RCVBUF_LOCK;
	int max = fixed ? sk->sk_rcvbuf : READ_ONCE(sn->sysctl_rmem[2]);

	val = min(val, max >> 1);
	WRITE_ONCE(sk->sk_rcvlowat, val ? : 1);
	if (!fixed && val > sk->sk_rcvbuf >> 1)
		WRITE_ONCE(sk->sk_rcvbuf, val << 1);
	/*
	 * Reception queues under this lock, and looks at the mark afterwards
	 * (sdp_rx_wake()): either we see its bytes, or it sees our mark
	 */
	spin_lock_bh(&sdp_sk(sk)->lock);
	spin_unlock_bh(&sdp_sk(sk)->lock);
	/* a reader may wait for less than there is */
	if (sdp_sock_readable(sk) >= sk->sk_rcvlowat)
		sk->sk_data_ready(sk);
	return 0;
}

/* ---- shutdown, close ---- */

/* Our half of the stream ends: DisConn after all data. */
static void sdp_send_fin(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_conn *conn = sdp->conn;
	bool fin = false;

	spin_lock_bh(&sdp->lock);
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
	case TCP_SYN_RECV:
		sdp_sock_set_state(sk, TCP_FIN_WAIT1);
		fin = true;
		break;
	case TCP_CLOSE_WAIT:
		sdp_sock_set_state(sk, TCP_LAST_ACK);
		fin = true;
		break;
	default:
		break;
	}
	spin_unlock_bh(&sdp->lock);
	if (fin && conn)
		sdp_conn_fin(conn);
}

static int sdp_shutdown_locked(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *sdp = sdp_sk(sk);
	int err = 0;

	if (sock->state == SS_CONNECTING) {
		if ((1 << sk->sk_state) &
		    (TCPF_SYN_SENT | TCPF_SYN_RECV | TCPF_CLOSE))
			sock->state = SS_DISCONNECTING;
		else
			sock->state = SS_CONNECTED;
	}
	switch (sk->sk_state) {
	case TCP_CLOSE:
		err = -ENOTCONN;
		fallthrough;
	default:
		spin_lock_bh(&sdp->lock);
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
		spin_unlock_bh(&sdp->lock);
		/* data that the peer waits to deliver will not be read */
		if (how & RCV_SHUTDOWN)
			sdp_zc_decline(sk);
		if (how & SEND_SHUTDOWN)
			sdp_send_fin(sk);
		break;
	case TCP_LISTEN:
		if (!(how & RCV_SHUTDOWN))
			break;
		sdp_cm_stop_listen(sk);
		sdp_fallback_stop(sk);
		sdp_reset_port(sk);
		break;
	case TCP_SYN_SENT:
		sdp_disconnect(sk);
		sock->state = SS_UNCONNECTED;
		break;
	}
	sk->sk_state_change(sk);
	return err;
}

static int sdp_shutdown(struct socket *sock, int how)
{
	struct sdp_port *port = NULL;
	struct sock *sk = sock->sk;
	struct socket *tcp;
	bool listened;
	int err;

	how++;	/* SHUT_RD is 0, RCV_SHUTDOWN is 1 */
	if ((how & ~SHUTDOWN_MASK) || !how)
		return -EINVAL;
	lock_sock(sk);
	/* it may have become a TCP socket while we waited for the lock */
	tcp = sdp_fallback_on(sk);
	if (tcp) {
		release_sock(sk);
		return tcp->ops->shutdown(tcp, how - 1);
	}
	listened = sk->sk_state == TCP_LISTEN;
	err = sdp_shutdown_locked(sock, how);
	if (listened && sk->sk_state == TCP_CLOSE)
		port = sdp_port_unbind(sk);
	release_sock(sk);
	sdp_port_put(port);
	return err;
}

/* For close(): is there data, queued or advertised, that no task can read any more? */
static bool sdp_unread(const struct sock *sk)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	return READ_ONCE(sdp->rx_seq) != sdp_sock_read_seq(sdp) ||
	       sdp_zc_pending(sk);
}

static bool sdp_fin_pending(const struct sock *sk)
{
	return (1 << READ_ONCE(sk->sk_state)) &
	       (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/* SO_LINGER: until the peer has got all, but no longer than @timeo */
static void sdp_linger(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && sdp_fin_pending(sk) && !signal_pending(current))
		sk_wait_event(sk, &timeo, !sdp_fin_pending(sk), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
}

static void sdp_close_stream(struct sock *sk, long timeout)
{
	if (sk->sk_state == TCP_CLOSE)
		return;
	if (sk->sk_state == TCP_SYN_SENT || sdp_unread(sk) ||
	    (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)) {
		sdp_cm_abort(sk);
		return;
	}
	sdp_send_fin(sk);
	sdp_linger(sk, timeout);
}

/* The rest continues without the program. */
static void sdp_leave_orphan(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	spin_lock_bh(&sdp->lock);
	sock_orphan(sk);
	spin_unlock_bh(&sdp->lock);
	sdp_sock_stop_timer(sk);
	/* data has arrived during the wait: reset, as if it had been there before close() */
	if (sk->sk_state != TCP_CLOSE && sdp_unread(sk))
		sdp_cm_abort(sk);
	if (sdp_timer_unwanted(sk))
		sdp_cm_abort(sk);
	if (sk->sk_state == TCP_CLOSE) {
		sdp_rx_purge(sk);
		return;
	}
	if (sdp_timer_start_orphan(sk))
		return;
	sdp_cm_abort(sk);
	sdp_rx_purge(sk);
}

/* SOCK_DESTROY of sock_diag: the owner finds a reset connection, error @err. */
static int sdp_diag_destroy(struct sock *sk, int err)
{
	struct sdp_port *port = NULL;

	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		sdp_cm_stop_listen(sk);
		sdp_fallback_stop(sk);
		port = sdp_port_unbind(sk);
		sdp_reset_port(sk);
		WRITE_ONCE(sk->sk_err, err);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		sk_error_report(sk);
	} else if (sk->sk_state != TCP_CLOSE) {
		if (sk->sk_state == TCP_SYN_SENT)
			SDP_INC_STATS(sock_net(sk), ATTEMPT_FAILS);
		else if (sk->sk_state != TCP_SYN_RECV)
			SDP_INC_STATS(sock_net(sk), ESTAB_RESETS);
		WRITE_ONCE(sk->sk_err, err);
		sdp_cm_abort(sk);
		sk_error_report(sk);
	}
	sk->sk_state_change(sk);
	release_sock(sk);
	sdp_port_put(port);
	return 0;
}

static int sdp_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_port *port;
	struct sdp_sock *sdp;
	long timeout = 0;

	if (!sk)
		return 0;
	sdp = sdp_sk(sk);
	if (!sk->sk_kern_sock)
		BPF_CGROUP_RUN_PROG_INET_SOCK_RELEASE(sk);
	if (sock_flag(sk, SOCK_LINGER) && !(current->flags & PF_EXITING))
		timeout = sk->sk_lingertime;
	lock_sock(sk);
	spin_lock_bh(&sdp->lock);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	spin_unlock_bh(&sdp->lock);
	if (sk->sk_state == TCP_LISTEN)
		sdp_cm_stop_listen(sk);
	else
		sdp_close_stream(sk, timeout);
	sdp_leave_orphan(sk);
	port = sdp_port_unbind(sk);
	sock->sk = NULL;
	release_sock(sk);
	sdp_port_put(port);
	sdp_fallback_release(sk, sock);
	sock_put(sk);
	return 0;
}

/* ---- registration ---- */

#define SDP_PROTO_OPS(_family) {					\
	.family		= (_family),					\
	.owner		= THIS_MODULE,					\
	.release	= sdp_release,					\
	.bind		= sdp_bind,					\
	.connect	= sdp_connect,					\
	.socketpair	= sock_no_socketpair,				\
	.accept		= sdp_accept,					\
	.getname	= sdp_getname,					\
	.poll		= sdp_poll,					\
	.ioctl		= sdp_ioctl,					\
	.gettstamp	= sock_gettstamp,				\
	.listen		= sdp_listen,					\
	.shutdown	= sdp_shutdown,					\
	.setsockopt	= sdp_setsockopt,				\
	.getsockopt	= sdp_getsockopt,				\
	.sendmsg	= sdp_sendmsg,					\
	.recvmsg	= sdp_recvmsg,					\
	.mmap		= sdp_rxmap_mmap,					\
	.splice_read	= sdp_splice_read,				\
	.set_rcvlowat	= sdp_set_rcvlowat,				\
	COMPAT_OPS_SENDPAGE(sdp_sendpage)				\
	COMPAT_OPS_SPLICE_EOF(sdp_splice_eof)				\
}

static const struct proto_ops sdp_ops = SDP_PROTO_OPS(PF_SDP);
static const struct proto_ops sdp_inet_ops = SDP_PROTO_OPS(PF_INET);
static const struct proto_ops sdp_inet6_ops = SDP_PROTO_OPS(PF_INET6);

static struct proto sdp_prot = {
	.name			= "SDP",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct sdp_sock),
	.init			= sdp_init_sock,
	.unhash			= sdp_unhash,
	.keepalive		= sdp_timer_set_keepalive,
	.diag_destroy		= sdp_diag_destroy,
	.stream_memory_free	= sdp_stream_memory_free,
	.memory_allocated	= &sdp_mem_allocated,
	.per_cpu_fw_alloc	= &sdp_mem_fw_alloc,
	.sockets_allocated	= &sdp_mem_sockets,
	.memory_pressure	= &sdp_mem_pressure,
	.sysctl_mem		= sdp_mem_limits,
	.sysctl_rmem		= &sdp_mem_min,
#ifdef HAVE_PROTO_PINFO_OFFSET
	.ipv6_pinfo_offset	= offsetof(struct sdp_sock, inet6),
#endif
};

static const struct net_proto_family sdp_family = {
	.family	= PF_SDP,
	.owner	= THIS_MODULE,
	.create	= sdp_create,
};

static int sdp_net_tables(struct sdp_net *sn)
{
	int i;

	for (i = 0; i < SDP_PORT_LOCKS; i++)
		mutex_init(&sn->port_mutex[i]);
	sn->ports = kcalloc(SDP_BIND_BUCKETS, sizeof(*sn->ports),
			    GFP_KERNEL_ACCOUNT);
	if (!sn->ports)
		return -ENOMEM;
	sn->bound = kvcalloc(SDP_BIND_BUCKETS + SDP_SOCK_BUCKETS,
			     sizeof(*sn->bound), GFP_KERNEL_ACCOUNT);
	if (!sn->bound) {
		kfree(sn->ports);
		return -ENOMEM;
	}
	for (i = 0; i < SDP_BIND_BUCKETS + SDP_SOCK_BUCKETS; i++)
		spin_lock_init(&sn->bound[i].lock);
	sn->socks = sn->bound + SDP_BIND_BUCKETS;
	return 0;
}

static void sdp_net_free_tables(struct sdp_net *sn)
{
	int i;

	for (i = 0; i < SDP_SOCK_BUCKETS; i++)
		WARN_ON_ONCE(!hlist_empty(&sn->socks[i].socks));
	kvfree(sn->bound);
	kfree(sn->ports);
}

static int __net_init sdp_net_init(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);
	int err;

	spin_lock_init(&sn->recent_lock);
	INIT_LIST_HEAD(&sn->dials);
	xa_init_flags(&sn->dial_users, XA_FLAGS_ACCOUNT);
	spin_lock_init(&sn->dial_lock);
	sdp_zc_cache_init_net(&sn->zc_cache);
	err = sdp_net_tables(sn);
	if (err)
		return err;
	err = -ENOMEM;
	sn->wq = alloc_workqueue("sdp", WQ_UNBOUND, 0);
	if (!sn->wq)
		goto free_tables;
	sn->setup_wq = alloc_workqueue("sdp_setup", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!sn->setup_wq)
		goto free_wq;
	sn->down_wq = alloc_workqueue("sdp_down", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!sn->down_wq)
		goto free_setup_wq;
	err = sdp_mib_init_net(net);
	if (err)
		goto free_down_wq;
	err = sdp_sysctl_init_net(net);
	if (err)
		goto free_mib;
	return 0;

free_mib:
	sdp_mib_exit_net(net);
free_down_wq:
	destroy_workqueue(sn->down_wq);
free_setup_wq:
	destroy_workqueue(sn->setup_wq);
free_wq:
	destroy_workqueue(sn->wq);
free_tables:
	sdp_net_free_tables(sn);
	return err;
}

static void __net_exit sdp_net_exit(struct net *net)
{
	/* the work item that has released the last socket may not have returned */
	destroy_workqueue(sdp_pernet(net)->down_wq);
	destroy_workqueue(sdp_pernet(net)->setup_wq);
	destroy_workqueue(sdp_pernet(net)->wq);
	WARN_ON_ONCE(!xa_empty(&sdp_pernet(net)->dial_users));
	WARN_ON_ONCE(atomic_read(&sdp_pernet(net)->nconns));
	WARN_ON_ONCE(atomic_read(&sdp_pernet(net)->norphans));
	WARN_ON_ONCE(sdp_mib_read(net, SDP_MIB_MEM_PAGES));
	sdp_zc_cache_exit_net(&sdp_pernet(net)->zc_cache);
	sdp_sysctl_exit_net(net);
	sdp_mib_exit_net(net);
	sdp_net_free_tables(sdp_pernet(net));
}

static struct pernet_operations sdp_net_ops = {
	.init	= sdp_net_init,
	.exit	= sdp_net_exit,
	.id	= &sdp_net_id,
	.size	= sizeof(struct sdp_net),
};

static int __init sdp_init(void)
{
	int err;

	sdp_cm_init(sdp_sock_child);
	err = sdp_conn_init();
	if (err)
		return err;
	err = sdp_mem_init();
	if (err)
		goto free_conn;
	err = register_pernet_subsys(&sdp_net_ops);
	if (err)
		goto free_mem;
	err = sdp_dial_init();
	if (err)
		goto free_net;
	err = proto_register(&sdp_prot, 1);
	if (err)
		goto free_dial;
	err = sdp_netlink_init();
	if (err)
		goto free_proto;
	err = sock_register(&sdp_family);
	if (err)
		goto free_netlink;
	err = sdp_inet_init(&sdp_prot, &sdp_inet_ops, &sdp_inet6_ops);
	if (err)
		goto free_family;
	return 0;

free_family:
	sock_unregister(PF_SDP);
free_netlink:
	sdp_netlink_exit();
free_proto:
	proto_unregister(&sdp_prot);
free_dial:
	sdp_dial_exit();
free_net:
	unregister_pernet_subsys(&sdp_net_ops);
free_mem:
	sdp_mem_exit();
free_conn:
	sdp_latency_exit();
	sdp_conn_exit();
	return err;
}

/* No socket is left, but the work items that freed the last ones may not be over */
static void __exit sdp_flush_all(void)
{
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		flush_workqueue(sdp_pernet(net)->down_wq);
		flush_workqueue(sdp_pernet(net)->wq);
	}
	up_read(&net_rwsem);
}

static void __exit sdp_exit(void)
{
	sdp_inet_exit();
	sock_unregister(PF_SDP);
	sdp_netlink_exit();
	sdp_flush_all();
	rcu_barrier();
	proto_unregister(&sdp_prot);
	sdp_dial_exit();
	unregister_pernet_subsys(&sdp_net_ops);
	sdp_mem_exit();
	sdp_latency_exit();
	sdp_conn_exit();
}

module_init(sdp_init);
module_exit(sdp_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sockets Direct Protocol");
MODULE_AUTHOR("Seed bba8b324 maintainers");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_NETPROTO(PF_SDP);
