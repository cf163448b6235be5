// SPDX-License-Identifier: GPL-2.0
/*
 * TCP beside SDP, for sockets with SDP_FALLBACK: a client whose SDP attempt fails
 * continues with TCP, a listener takes connections of both. Between the socket
 * layer and the kernel's TCP sockets; of SDP it calls sdp_inherit.c for the
 * options, and sdp_sock.c.
 *
 * An SDP socket that may need it has a TCP socket of its own, made in the
 * context of the program, so that its labels, cgroup and owner are right. It
 * stays as long as the SDP socket does, hence may be looked at without a lock.
 * From bind() on it has the port, which no other program can take before listen().
 *
 * When TCP takes over, the program's file is given to the TCP socket for good:
 * from the next system call on, everything the program does is TCP, as if it
 * had never been anything else. Tasks that already wait on the SDP socket
 * (epoll does so for ever) are woken by the TCP socket through an entry in its
 * wait queue, the bridge. The inode remains with the SDP socket, whose release
 * is that of both.
 */
#include <linux/fs.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_fallback.h"
#include "sdp_mib.h"
#include "sdp_trace.h"

/* Its lock is held while that of the SDP socket's queue is taken. */
static struct lock_class_key sdp_tcp_wq_key;

static enum sdp_tcp_reason sdp_fallback_reason(int error)
{
	switch (error < 0 ? -error : error) {
	case 0:
		return SDP_TCP_REQUESTED;
	case ENODEV:
	case ENETUNREACH:
	case ENETDOWN:
	case ENETRESET:
	case EADDRNOTAVAIL:
		return SDP_TCP_NO_DEVICE;
	case EHOSTUNREACH:
		return SDP_TCP_NO_ROUTE;
	case ECONNREFUSED:
		return SDP_TCP_REFUSED;
	case ETIMEDOUT:
		return SDP_TCP_TIMEOUT;
	case ENOBUFS:
	case ENOMEM:
		return SDP_TCP_LIMIT;
	case EADDRINUSE:
		return SDP_TCP_PORT;
	case ECONNRESET:
	case ECONNABORTED:
	case EPROTO:
		return SDP_TCP_RESET;
	case EALREADY:
		return SDP_TCP_RECENT;
	default:
		return SDP_TCP_OTHER;
	}
}

/**
 * sdp_fallback_reason_name - why a socket is one of TCP
 * @sk: SDP socket, locked
 *
 * Return: a word, as in SDP_DIAG_TCP_REASON; NULL if TCP has not taken over.
 */
const char *sdp_fallback_reason_name(const struct sock *sk)
{
	static const char *const names[] = {
		[SDP_TCP_NO_DEVICE] = "no_device",
		[SDP_TCP_NO_ROUTE] = "no_route",
		[SDP_TCP_REFUSED] = "refused",
		[SDP_TCP_TIMEOUT] = "timeout",
		[SDP_TCP_LIMIT] = "limit",
		[SDP_TCP_PORT] = "port",
		[SDP_TCP_RESET] = "reset",
		[SDP_TCP_OTHER] = "other",
		[SDP_TCP_RECENT] = "recent",
		[SDP_TCP_REQUESTED] = "requested",
	};

	return sdp_sk(sk)->tcp_on ? names[sdp_sk(sk)->tcp_reason] : NULL;
}
EXPORT_SYMBOL_GPL(sdp_fallback_reason_name);

static struct sdp_recent *sdp_recent_slot(struct sdp_net *sn,
					  const struct sdp_recent_key *key)
{
	return &sn->recent[jhash(key, sizeof(*key), 0) % SDP_RECENT];
}

/* Is it there, and not too old? */
static bool sdp_recent_holds(struct sdp_net *sn, const struct sdp_recent *r,
			     const struct sdp_recent_key *key)
{
	u64 most = (u64)READ_ONCE(sn->sysctl_fallback_memory) * HZ;

	lockdep_assert_held(&sn->recent_lock);
	return !memcmp(&r->key, key, sizeof(*key)) &&
	       get_jiffies_64() - r->since < most;
}

/**
 * sdp_fallback_recent - has TCP taken over from SDP at that destination just before?
 * @sk: SDP socket, locked
 * @dst: where to
 *
 * A try of SDP costs a round trip, or all of net.sdp.fallback_timeout.
 *
 * Return: whether to begin with TCP.
 */
bool sdp_fallback_recent(struct sock *sk, const union sdp_addr *dst)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	struct sdp_recent_key *key = &sdp_sk(sk)->tcp_key;
	unsigned long flags;
	bool recent;

	key->dst = *dst;
	key->bound = READ_ONCE(sk->sk_bound_dev_if);
	spin_lock_irqsave(&sn->recent_lock, flags);
	recent = sdp_recent_holds(sn, sdp_recent_slot(sn, key), key);
	spin_unlock_irqrestore(&sn->recent_lock, flags);
	return recent;
}

/* Store or remove a destination where TCP is to be tried first. Context: any. */
static void sdp_recent_set(struct sdp_sock *sdp, bool connected)
{
	struct sdp_net *sn = sdp_pernet(sock_net(&sdp->inet.sk));
	const struct sdp_recent_key *key = &sdp->tcp_key;
	struct sdp_recent *r = sdp_recent_slot(sn, key);
	unsigned long flags;

	spin_lock_irqsave(&sn->recent_lock, flags);
	if (connected)
		*r = (struct sdp_recent){ .key = *key, .since = get_jiffies_64() };
	else if (sdp_recent_holds(sn, r, key))
		memset(r, 0, sizeof(*r));
	spin_unlock_irqrestore(&sn->recent_lock, flags);
}

/* If the attempt of TCP has ended, learn from its result. Context: any. */
static void sdp_fallback_learn(struct sdp_sock *sdp)
{
	int state = inet_sk_state_load(sdp->tcp_sk);
	u8 learn = READ_ONCE(sdp->tcp_learn);

	if (state != TCP_ESTABLISHED && state != TCP_CLOSE)
		return;
	WRITE_ONCE(sdp->tcp_learn, SDP_LEARN_NOT);
	if (learn == SDP_LEARN_SUCCESS && state == TCP_ESTABLISHED)
		sdp_recent_set(sdp, true);
	else if (learn == SDP_LEARN_FAILURE && state == TCP_CLOSE)
		sdp_recent_set(sdp, false);
}

/*
 * Does a failure of SDP say something about the destination? A limit of the program
 * does not: one with a short limit would have all programs begin with TCP.
 */
static bool sdp_fallback_learns(const struct sock *sk, int error)
{
	switch (sdp_fallback_reason(error)) {
	case SDP_TCP_REFUSED:
		return true;
	case SDP_TCP_TIMEOUT:
		return !sdp_sock_user_limit(sk) && !READ_ONCE(sdp_sk(sk)->syn_retries);
	default:
		return false;
	}
}

static int sdp_fallback_wake(wait_queue_entry_t *wait, unsigned int mode, int sync,
			     void *key)
{
	struct sdp_sock *sdp = container_of(wait, struct sdp_sock, tcp_bridge);
	struct socket_wq *wq;

	if (READ_ONCE(sdp->tcp_learn))
		sdp_fallback_learn(sdp);

	rcu_read_lock();
	wq = rcu_dereference(sdp->inet.sk.sk_wq);
	if (!wq)
		;
	else if (key)
		wake_up_interruptible_poll(&wq->wait, key_to_poll(key));
	else
		wake_up_interruptible_all(&wq->wait);
	rcu_read_unlock();
	return 0;
}

static void sdp_fallback_set(struct socket *tcp, int level, int name, int val)
{
	tcp->ops->setsockopt(tcp, level, name, KERNEL_SOCKPTR(&val),
			     sizeof(val));
}

/*
 * Copy options at SOL_TCP. Errors are ignored: TCP refuses 0 for some of them, which means
 * that they have not been set.
 */
static void sdp_fallback_copy_tcp(const struct sdp_sock *sdp, struct socket *tcp)
{
	const struct {
		int name;
		int val;
	} opts[] = {
		{ TCP_NODELAY, sdp->nodelay },
		{ TCP_CORK, sdp->cork },
		{ TCP_KEEPIDLE, sdp->keepidle },
		{ TCP_KEEPINTVL, sdp->keepintvl },
		{ TCP_KEEPCNT, sdp->keepcnt },
		{ TCP_SYNCNT, sdp->syn_retries },
		{ TCP_LINGER2, sdp->linger2 },
		{ TCP_DEFER_ACCEPT, sdp->defer_accept },
		{ TCP_USER_TIMEOUT, sdp->user_timeout },
		{ TCP_NOTSENT_LOWAT, sdp->notsent_lowat },
		{ TCP_WINDOW_CLAMP, sdp->window_clamp },
		{ TCP_MAXSEG, sdp->user_mss },
		{ TCP_INQ, sdp->recvmsg_inq },
	};
	int i;

	/* also options that are 0 now: an earlier call may have copied another value */
	for (i = 0; i < ARRAY_SIZE(opts); i++)
		sdp_fallback_set(tcp, SOL_TCP, opts[i].name, opts[i].val);
}

static void sdp_fallback_copy_ip(const struct sock *sk, struct sock *tsk)
{
	struct inet_sock *to = inet_sk(tsk);
	const struct inet_sock *from = inet_sk(sk);

	to->tos = from->tos;
	to->uc_ttl = from->uc_ttl;
	to->pmtudisc = from->pmtudisc;
#ifdef HAVE_LOCAL_PORT_RANGE
	to->local_port_range = from->local_port_range;
#endif
#if IS_ENABLED(CONFIG_IPV6)
	if (tsk->sk_family == AF_INET6) {
		inet6_sk(tsk)->hop_limit = sdp_sk(sk)->ip6_hops;
		inet6_sk(tsk)->tclass = sdp_sk(sk)->ip6_tclass;
		inet6_sk(tsk)->pmtudisc = sdp_sk(sk)->ip6_pmtudisc;
	}
#endif
}

/*
 * Copy the options for time stamps of received data. Setting a flag is not
 * enough: the options also enable the stamping of packets.
 */
static void sdp_fallback_copy_tstamp(const struct sock *sk, struct socket *tcp)
{
	bool new = sock_flag(sk, SOCK_TSTAMP_NEW);
	bool ns = sock_flag(sk, SOCK_RCVTSTAMPNS);
	int flags = READ_ONCE(sk->sk_tsflags);
	int one = 1, name;

	if (sock_flag(sk, SOCK_RCVTSTAMP)) {
		if (new)
			name = ns ? SO_TIMESTAMPNS_NEW : SO_TIMESTAMP_NEW;
		else
			name = ns ? SO_TIMESTAMPNS_OLD : SO_TIMESTAMP_OLD;
		sock_setsockopt(tcp, SOL_SOCKET, name, KERNEL_SOCKPTR(&one),
				sizeof(one));
	}
	if (flags || READ_ONCE(tcp->sk->sk_tsflags))
		sock_setsockopt(tcp, SOL_SOCKET, new ? SO_TIMESTAMPING_NEW :
				SO_TIMESTAMPING_OLD, KERNEL_SOCKPTR(&flags),
				sizeof(flags));
}

/* Copy the options set so far; sizes of buffers only if they were set. */
static void sdp_fallback_copy_options(struct sock *sk, struct socket *tcp)
{
	struct sock *tsk = tcp->sk;
	int sndbuf, rcvbuf, bound;

	lock_sock_nested(tsk, SINGLE_DEPTH_NESTING);
	sndbuf = tsk->sk_sndbuf;
	rcvbuf = tsk->sk_rcvbuf;
	bound = tsk->sk_userlocks & (SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK);
	sdp_inherit_sock(tsk, sk);
	tsk->sk_userlocks |= bound;
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK))
		WRITE_ONCE(tsk->sk_sndbuf, sndbuf);
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
		WRITE_ONCE(tsk->sk_rcvbuf, rcvbuf);
	/* also enlarges the receive buffer if needed */
	tcp->ops->set_rcvlowat(tsk, READ_ONCE(sk->sk_rcvlowat));
	/* not inherited: in a child of TCP it is the CPU that received its packets */
	WRITE_ONCE(tsk->sk_incoming_cpu, READ_ONCE(sk->sk_incoming_cpu));
	sdp_fallback_copy_ip(sk, tsk);
	release_sock(tsk);
	sdp_fallback_copy_tstamp(sk, tcp);
	sdp_fallback_copy_tcp(sdp_sk(sk), tcp);
	sdp_fallback_set(tcp, SOL_IP, IP_RECVERR, inet_test_bit(RECVERR, sk));
	sdp_fallback_set(tcp, SOL_IP, IP_BIND_ADDRESS_NO_PORT,
			 inet_test_bit(BIND_ADDRESS_NO_PORT, sk));
	if (inet_test_bit(FREEBIND, sk))
		sdp_fallback_set(tcp, SOL_IP, IP_FREEBIND, 1);
	if (inet_test_bit(TRANSPARENT, sk))
		sdp_fallback_set(tcp, SOL_IP, IP_TRANSPARENT, 1);
	if (IS_ENABLED(CONFIG_IPV6) && tsk->sk_family == AF_INET6)
		sdp_inherit_ip6(sk, tcp);
}

/* An address of ours in the form that the TCP socket wants. */
static int sdp_fallback_addr(const struct sock *sk, const union sdp_addr *a,
			     struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (!sdp_sk(sk)->v6) {
		memcpy(ss, &a->v4, sizeof(a->v4));
		return sizeof(a->v4);
	}
	if (a->sa.sa_family == AF_INET6) {
		*v6 = a->v6;
		v6->sin6_scope_id = sk->sk_bound_dev_if;
	} else if (a->v4.sin_addr.s_addr) {
		ipv6_addr_set_v4mapped(a->v4.sin_addr.s_addr, &v6->sin6_addr);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = a->v4.sin_port;
	return sizeof(*v6);
}

/**
 * sdp_fallback_prepare - make the TCP socket, or bring its options up to date
 * @sk: SDP socket, locked
 *
 * Context: process; that of the program, if there is no TCP socket yet.
 *
 * Return: 0 or the error of socket().
 */
int sdp_fallback_prepare(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct socket *tcp = sdp->tcp;
	int err;

	if (!tcp) {
		err = __sock_create(sock_net(sk), sdp->v6 ? AF_INET6 : AF_INET,
				    SOCK_STREAM, IPPROTO_TCP, &tcp, 0);
		if (err)
			return err;
		lockdep_set_class_and_name(&tcp->wq.wait.lock, &sdp_tcp_wq_key,
					   "sdp_tcp_wq");
		init_waitqueue_func_entry(&sdp->tcp_bridge, sdp_fallback_wake);
		add_wait_queue(&tcp->wq.wait, &sdp->tcp_bridge);
		sock_hold(tcp->sk);
		sdp->tcp_sk = tcp->sk;
		/* poll looks at it without a lock */
		smp_store_release(&sdp->tcp, tcp);
	}
	if (tcp->sk->sk_state == TCP_CLOSE)
		sdp_fallback_copy_options(sk, tcp);
	return 0;
}

/*
 * Bind the TCP socket to the address that bind() gave, or that an SDP listener has got.
 * @connect: the device may have a TCP socket with that address, which is about to go.
 */
static int sdp_fallback_bind(struct sock *sk, bool connect)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sock *tsk = sdp->tcp->sk;
	union sdp_addr local = sdp->local;
	struct sockaddr_storage ss;
	const struct cred *old;
	unsigned char reuse;
	int len, err;

	if (inet_sk(tsk)->inet_num)
		return 0;
	reuse = tsk->sk_reuse;
	if (connect)
		tsk->sk_reuse = SK_CAN_REUSE;
	/* its port is one that rdma_cm chose for SDP alone, and TCP may not have it */
	if (connect && sdp->bound_later)
		local.v4.sin_port = 0;
	len = sdp_fallback_addr(sk, &local, &ss);
	old = sdp_sock_use_port(sk, local.v4.sin_port);
	err = kernel_bind(sdp->tcp, (struct sockaddr_unsized *)&ss, len);
	sdp_sock_used_port(old);
	tsk->sk_reuse = reuse;
	return err;
}

/**
 * sdp_fallback_hold - have TCP's port from bind() on, so that no other program takes it
 * @sk: SDP socket, locked, with an address and a port
 *
 * Context: process, that of the program.
 *
 * Return: 0 or the error of socket() or bind().
 */
int sdp_fallback_hold(struct sock *sk)
{
	return sdp_fallback_prepare(sk) ? : sdp_fallback_bind(sk, false);
}

/**
 * sdp_fallback_let_go - give back TCP's port, which an iWARP device needs to connect from
 * @sk: SDP socket, locked
 *
 * Context: process.
 */
void sdp_fallback_let_go(struct sock *sk)
{
	struct socket *tcp = sdp_sk(sk)->tcp;
	struct sock *tsk;

	if (!tcp || sdp_sk(sk)->tcp_on)
		return;
	tsk = tcp->sk;
	lock_sock_nested(tsk, SINGLE_DEPTH_NESTING);
	if (tsk->sk_state == TCP_CLOSE && inet_sk(tsk)->inet_num) {
		tsk->sk_prot->put_port(tsk);
		inet_sk(tsk)->inet_sport = 0;
		tsk->sk_userlocks &= ~(SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK);
	}
	release_sock(tsk);
}

/* O_ASYNC goes with the file. */
static void sdp_fallback_move_async(struct sock *sk, struct socket *sock,
				    struct socket *tcp)
{
	lock_sock_nested(tcp->sk, SINGLE_DEPTH_NESTING);
	tcp->wq.fasync_list = sock->wq.fasync_list;
	sock->wq.fasync_list = NULL;
	sock_valbool_flag(tcp->sk, SOCK_FASYNC, sock_flag(sk, SOCK_FASYNC));
	release_sock(tcp->sk);
}

/*
 * Give the file to the TCP socket. The release of the SDP socket takes its
 * lock, so there is a file as long as that has not begun.
 */
static bool sdp_fallback_take_over(struct sock *sk, int error)
{
	enum sdp_tcp_reason reason = sdp_fallback_reason(error);
	unsigned int id = SDP_MIB_TCP_NO_DEVICE + reason - SDP_TCP_NO_DEVICE;
	struct socket *sock = sk->sk_socket, *tcp = sdp_sk(sk)->tcp;
	struct sockaddr_in any = { .sin_family = AF_INET };

	if (!sock || !sock->file || !tcp || sock_flag(sk, SOCK_DEAD))
		return false;
	sdp_fallback_move_async(sk, sock, tcp);
	SOCK_INODE(tcp)->i_ino = SOCK_INODE(sock)->i_ino;
	tcp->file = sock->file;
	sdp_sk(sk)->tcp_reason = reason;
	if (reason != SDP_TCP_REQUESTED)
		this_cpu_inc(sdp_pernet(sock_net(sk))->mib->mibs[id]);
	trace_sdp_tcp(sk, reason, error);
	/* pairs with sdp_fallback_on() in calls that still use the old operations */
	smp_store_release(&sdp_sk(sk)->tcp_on, true);
	WRITE_ONCE(sock->file->private_data, tcp);
	/* the port is no longer ours */
	spin_lock_bh(&sdp_sk(sk)->lock);
	sdp_sock_set_local(sk, (struct sockaddr *)&any);
	spin_unlock_bh(&sdp_sk(sk)->lock);
	return true;
}

/**
 * sdp_fallback_turn - make a socket that is not connected a TCP socket for good
 * @sk: SDP socket, locked, in state CLOSE, or in SYN_SENT without a connection
 * @connect: for connect(); a device may have its port a little longer
 * @error: why, an errno of either sign; 0: the program requests it
 *
 * Context: process, that of the program.
 *
 * Return: 0 or a negative errno; -EOPNOTSUPP if it has no file, or a filter of packets.
 */
int sdp_fallback_turn(struct sock *sk, bool connect, int error)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int err;

	if (!sk->sk_socket->file || sdp_sock_filtered(sk))
		return -EOPNOTSUPP;
	err = sdp_fallback_prepare(sk);
	if (!err && sdp->user_bound)
		err = sdp_fallback_bind(sk, connect);
	if (err)
		return err;
	if (error == -EALREADY)
		WRITE_ONCE(sdp->tcp_learn, SDP_LEARN_FAILURE);
	sdp_fallback_take_over(sk, error);
	return 0;
}

/**
 * sdp_fallback_instead - the SDP attempt of connect() failed: continue with TCP
 * @sk: SDP socket, locked; its former connection is over
 * @error: why, an errno
 *
 * Context: process, any.
 *
 * Return: whether TCP is connecting; the socket is in state CLOSE then, without
 * an error.
 */
bool sdp_fallback_instead(struct sock *sk, int error)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sockaddr_storage ss;
	int len, err;

	if (sk->sk_state != TCP_SYN_SENT || !sdp->tcp || !sdp->fallback ||
	    sock_flag(sk, SOCK_DEAD))
		return false;
	/* options set since connect() began */
	sdp_fallback_prepare(sk);
	if (sdp->user_bound && sdp_fallback_bind(sk, true))
		return false;
	len = sdp_fallback_addr(sk, &sdp->peer, &ss);
	if (sdp_fallback_learns(sk, error))
		WRITE_ONCE(sdp->tcp_learn, SDP_LEARN_SUCCESS);
	/*
	 * By its file a firewall knows whose the first packet is. It stays as
	 * sdp_fallback_take_over() says, which gives it for good below.
	 */
	if (sk->sk_socket)
		sdp->tcp->file = sk->sk_socket->file;
	err = kernel_connect(sdp->tcp, (struct sockaddr_unsized *)&ss, len,
			     O_NONBLOCK);
	/* the program reads an error of TCP from sk_err, as no connect() is left to return it */
	if (err && err != -EINPROGRESS)
		WRITE_ONCE(sdp->tcp->sk->sk_err, -err);
	if (!sdp_fallback_take_over(sk, error))
		return false;
	SDP_INC_STATS(sock_net(sk), ATTEMPT_FAILS);
	SDP_INC_STATS(sock_net(sk), TCP_CONNECTS);
	sdp_sock_set_closed(sk);
	return true;
}

/**
 * sdp_fallback_listen - listen for TCP connections, too
 * @sk: SDP socket, locked, bound
 * @backlog: as for listen()
 *
 * Return: 0 or the error of socket(), bind() or listen().
 */
int sdp_fallback_listen(struct sock *sk, int backlog)
{
	struct socket *tcp;
	int err;

	err = sdp_fallback_prepare(sk);
	if (!err)
		err = sdp_fallback_bind(sk, false);
	if (err)
		return err;
	tcp = sdp_sk(sk)->tcp;
	return tcp->ops->listen(tcp, backlog);
}

/**
 * sdp_fallback_only - a listener cannot listen for SDP: it becomes a TCP listener
 * @sk: SDP socket, locked, whose TCP socket listens
 * @error: why, an errno
 *
 * Return: whether it did.
 */
bool sdp_fallback_only(struct sock *sk, int error)
{
	if (!sdp_sk(sk)->tcp || !sdp_sk(sk)->fallback ||
	    sdp_sk(sk)->tcp->sk->sk_state != TCP_LISTEN ||
	    !sdp_fallback_take_over(sk, error))
		return false;
	SDP_INC_STATS(sock_net(sk), TCP_LISTENS);
	return true;
}

/**
 * sdp_fallback_stop - do not listen for TCP connections any more
 * @sk: SDP socket, locked, not a listener any more
 */
void sdp_fallback_stop(struct sock *sk)
{
	struct socket *tcp = sdp_sk(sk)->tcp;

	if (!tcp || sdp_sk(sk)->tcp_on || tcp->sk->sk_state != TCP_LISTEN)
		return;
	/* it has the port by bind(), but the program may not have chosen it */
	if (!(sk->sk_userlocks & SOCK_BINDPORT_LOCK))
		tcp->sk->sk_userlocks &= ~SOCK_BINDPORT_LOCK;
	kernel_sock_shutdown(tcp, SHUT_RDWR);
}

/**
 * sdp_fallback_waiting - is there a TCP connection to be accepted?
 * @sk: SDP listener
 *
 * Context: any; no lock.
 */
bool sdp_fallback_waiting(const struct sock *sk)
{
	/* pairs with sdp_fallback_prepare() */
	const struct socket *tcp = smp_load_acquire(&sdp_sk(sk)->tcp);

	return tcp && tcp->sk->sk_state == TCP_LISTEN &&
	       !reqsk_queue_empty(&inet_csk(tcp->sk)->icsk_accept_queue);
}

/**
 * sdp_fallback_accept - take a TCP connection
 * @sk: SDP listener, locked
 * @newsock: the result of accept(); becomes a TCP socket
 *
 * Return: 0, or a negative errno: there is none.
 */
int sdp_fallback_accept(struct sock *sk, struct socket *newsock)
{
	struct socket *tcp = sdp_sk(sk)->tcp;
#ifdef HAVE_PROTO_ACCEPT_ARG
	struct proto_accept_arg arg = { .flags = O_NONBLOCK };
#endif
	int err;

	if (!sdp_fallback_waiting(sk))
		return -EAGAIN;
#ifdef HAVE_PROTO_ACCEPT_ARG
	err = tcp->ops->accept(tcp, newsock, &arg);
#else
	err = tcp->ops->accept(tcp, newsock, O_NONBLOCK, false);
#endif
	if (err)
		return err;
	/* our reference was taken for the listener's proto_ops */
	__module_get(tcp->ops->owner);
	module_put(newsock->ops->owner);
	newsock->ops = tcp->ops;
	SDP_INC_STATS(sock_net(sk), TCP_ACCEPTS);
	return 0;
}

/**
 * sdp_fallback_release - end of the TCP socket, which may linger
 * @sk: SDP socket, not locked, without other users
 * @sock: the socket it was of
 */
void sdp_fallback_release(struct sock *sk, struct socket *sock)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct socket *tcp = sdp->tcp;

	if (!tcp)
		return;
	remove_wait_queue(&tcp->wq.wait, &sdp->tcp_bridge);
	if (tcp->file) {
		/*
		 * fcntl() may have set O_ASYNC on either socket while the file
		 * changed hands
		 */
		fasync_helper(-1, tcp->file, 0, &tcp->wq.fasync_list);
		fasync_helper(-1, tcp->file, 0, &sock->wq.fasync_list);
		/*
		 * With the file, by which a firewall knows whose the FIN is;
		 * sock_release(), which must see none, has nothing left to close
		 */
		tcp->ops->release(tcp);
		tcp->file = NULL;
	}
	sdp->tcp = NULL;
	sock_release(tcp);
}
