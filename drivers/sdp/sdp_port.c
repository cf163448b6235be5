// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses and ports that sockets are bound to: conflicts among them, the search
 * for a free port, the cm_ids that stand for them at rdma_cm. Calls rdma_cm,
 * rdma_stack and the socket (sdp_sock.c).
 */
#include <linux/filter.h>
#include <linux/jhash.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock_reuseport.h>
#include <rdma/rdma_stack.h>
#include <rdma/rdma_stack_addr.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_port.h"

/*
 * Backlog of requests that devices hold for a short time until they are handled.
 * sdp_cm_admit() enforces the exact backlog of a listener. The IW CM allocates this
 * number of places at each device in listen().
 */
#define SDP_BACKLOG_MIN	16
#define SDP_BACKLOG_MAX	1024
#define SDP_PORT_LOW		1024	/* from here on, ports need no privilege */
#define SDP_PORT_BATCH		64	/* sockets of a port that leave at a time */

/**
 * struct sdp_port - an address and port that sockets are bound to
 * @id: its cm_ids for IPv4 and IPv6, whose context it is
 * @net: namespace; the sockets hold it
 * @handler: for events of @id
 * @addr: the address, with the port
 * @v6only: sk_ipv6only of its sockets
 * @dev_if: sk_bound_dev_if of its sockets; 0 at a wildcard address
 * @node: in sdp_net.ports as long as @users is not 0; sdp_port_mutex()
 * @listening: which of @id listen, by bits; sdp_port_mutex()
 * @users: number of sockets that share it; sdp_port_mutex()
 * @lock: (BH) protects @socks, @listeners and @gone; innermost
 * @socks: sockets that share it and have not listened, linked by sdp_sock.port_node
 * @listeners: those that listen, or have done so, in the order of listen()
 * @gone: its device is being removed, every socket has to leave
 *
 * rdma_cm lets a single cm_id listen on an address. Sockets that may share the
 * address (SDP_REUSEPORT, or SO_REUSEADDR without a listener) share that one.
 * Lives from the first sdp_port_bind() to sdp_port_put() after the last
 * socket has left.
 */
struct sdp_port {
	struct rdma_cm_id *id[2];
	struct net *net;
	rdma_cm_event_handler handler;
	union sdp_addr addr;
	bool v6only;
	int dev_if;
	struct hlist_node node;
	u8 listening;
	unsigned int users;
	spinlock_t lock;		/* see above */
	struct list_head socks;
	struct list_head listeners;
	bool gone;
};

/* ---- conflicts ---- */

/* Would packets to @a reach a socket bound to @b? */
static bool sdp_addr_overlap(const struct sock *ska, const union sdp_addr *a,
			     const struct sock *skb, const union sdp_addr *b)
{
	bool any_a = sdp_addr_any(a), any_b = sdp_addr_any(b);

	if (a->sa.sa_family == b->sa.sa_family) {
		if (any_a || any_b)
			return true;
		if (a->sa.sa_family == AF_INET)
			return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
		return ipv6_addr_equal(&a->v6.sin6_addr, &b->v6.sin6_addr);
	}
	/* an IPv6 wildcard stands for IPv4 as well */
	if (a->sa.sa_family == AF_INET6)
		return any_a && !ska->sk_ipv6only;
	return any_b && !skb->sk_ipv6only;
}

static bool sdp_port_share(const struct sock *a, const struct sock *b)
{
	if (a->sk_reuse && b->sk_reuse && b->sk_state != TCP_LISTEN)
		return true;
	return a->sk_reuseport && b->sk_reuseport &&
	       uid_eq(sk_uid((struct sock *)a), sk_uid((struct sock *)b));
}

/* Does @o, which is bound to the port of @addr, prevent @sk from binding to @addr? */
static bool sdp_port_clash(const struct sock *sk, const union sdp_addr *addr,
			   const struct sdp_sock *o, bool shares)
{
	const struct sock *osk = &o->inet.sk;

	if (osk == sk ||
	    (osk->sk_state == TCP_CLOSE && sock_flag(osk, SOCK_DEAD)))
		return false;
	if (osk->sk_bound_dev_if && sk->sk_bound_dev_if &&
	    osk->sk_bound_dev_if != sk->sk_bound_dev_if)
		return false;
	return sdp_addr_overlap(sk, addr, osk, &o->local) &&
	       !(shares && sdp_port_share(sk, osk));
}

static bool sdp_port_clash_any(const struct sock *sk,
			       const union sdp_addr *addr,
			       const struct sdp_sock *first, bool shares)
{
	const struct sdp_sock *o = first;

	if (shares && sk->sk_reuse && first->bind_shares)
		return false;
	do {
		if (sdp_port_clash(sk, addr, o, shares))
			return true;
		o = list_next_entry(o, bind_same);
	} while (o != first);
	return false;
}

/**
 * sdp_port_bound - is another socket bound to an address?
 * @sk: socket
 * @addr: address, with a port
 * @shares: sockets that may share the address do not count
 *
 * Context: process.
 */
bool sdp_port_bound(struct sock *sk, const union sdp_addr *addr,
		    bool shares)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	u16 port = ntohs(addr->v4.sin_port);
	struct sdp_bucket *bucket;
	struct sdp_sock *first;
	bool found = false;

	bucket = &sn->bound[sdp_bind_bucket(port)];
	spin_lock_bh(&bucket->lock);
	hlist_for_each_entry(first, &bucket->socks, bind_node) {
		found = first->inet.inet_num == port &&
			sdp_port_clash_any(sk, addr, first, shares);
		if (found)
			break;
	}
	spin_unlock_bh(&bucket->lock);
	return found;
}

/**
 * sdp_port_conflict - is there a socket that an address may not be shared with?
 * @sk: socket, locked
 * @addr: address, with a port
 *
 * Context: process. The answer stays true with sdp_port_mutex() only.
 */
bool sdp_port_conflict(struct sock *sk, const union sdp_addr *addr)
{
	return sdp_port_bound(sk, addr, true);
}

/* ---- numbers ---- */

static u16 sdp_port_shift(u16 port, u32 offset)
{
	if (!port || !offset)
		return port;
	if (port < SDP_PORT_LOW)
		return max(port + offset, (u32)SDP_PORT_LOW);
	return SDP_PORT_LOW + (port - SDP_PORT_LOW + offset) %
	       (U16_MAX + 1 - SDP_PORT_LOW);
}

/**
 * sdp_port_map - port of the device for a port of the program
 * @net: namespace, whose port_offset it is
 * @port: as bind() and connect() have it
 *
 * An iWARP listener is a TCP listener. So that a program can listen for TCP at
 * the same port, SDP listeners live at another.
 */
__be16 sdp_port_map(struct net *net, __be16 port)
{
	return htons(sdp_port_shift(ntohs(port),
			READ_ONCE(sdp_pernet(net)->sysctl_port_offset)));
}

/**
 * sdp_port_unmap - the other way round, for ports from 1024 on
 * @net: namespace
 * @port: a port that rdma_cm has chosen
 */
__be16 sdp_port_unmap(struct net *net, __be16 port)
{
	u32 offset = READ_ONCE(sdp_pernet(net)->sysctl_port_offset);

	if (!offset)
		return port;
	return htons(sdp_port_shift(ntohs(port),
				    U16_MAX + 1 - SDP_PORT_LOW - offset));
}

/*
 * Can an iWARP device listen on a port? It listens on a TCP port of the same number, which
 * rdma_cm does not know of. Only worth asking while another port can be taken.
 */
static bool sdp_port_tcp_free(struct sock *sk, __be16 port)
{
	union sdp_addr a = sdp_sk(sk)->local;
	bool v6 = a.sa.sa_family == AF_INET6;
	struct socket *tcp;
	int err;

	err = sock_create_kern(sock_net(sk), a.sa.sa_family, SOCK_STREAM,
			       IPPROTO_TCP, &tcp);
	if (err)
		return true;
	a.v4.sin_port = port;
	sock_set_reuseaddr(tcp->sk);
	/* bind like the TCP socket of @sk: others may exist for IPv4, or on another device */
	tcp->sk->sk_ipv6only = sk->sk_ipv6only;
	tcp->sk->sk_bound_dev_if = READ_ONCE(sk->sk_bound_dev_if);
	err = kernel_bind(tcp, (struct sockaddr_unsized *)&a,
			  v6 ? sizeof(a.v6) : sizeof(a.v4));
	sock_release(tcp);
	return err != -EADDRINUSE;
}

/**
 * sdp_port_free - is the port of a socket free for the device and for TCP?
 * @sk: socket, locked, with an address and a port
 *
 * Checks the port that the device takes, and the one that TCP may be wanted at.
 */
bool sdp_port_free(struct sock *sk)
{
	__be16 port = sdp_sk(sk)->local.v4.sin_port;
	__be16 mapped = sdp_port_map(sock_net(sk), port);

	if (inet_is_local_reserved_port(sock_net(sk), ntohs(mapped)))
		return false;
	if (sdp_port_conflict(sk, &sdp_sk(sk)->local) ||
	    !sdp_port_tcp_free(sk, mapped))
		return false;
	return mapped == port || sdp_port_tcp_free(sk, port);
}

/**
 * sdp_port_kept - does a socket keep its port for another attempt to connect?
 * @sk: socket, locked
 *
 * Return: false if it has no port, or the one that connect() has found. bind() may have
 * given it an address (IP_BIND_ADDRESS_NO_PORT).
 */
bool sdp_port_kept(const struct sock *sk)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	return sdp->user_bound &&
	       (sdp->port || sk->sk_userlocks & SOCK_BINDPORT_LOCK);
}

/**
 * sdp_port_range - ports for a program that does not choose one
 * @sk: socket
 * @low: first port
 * @high: last port
 *
 * Context: process.
 *
 * Return: whether the range is the socket's own (IP_LOCAL_PORT_RANGE). These are ports
 * of the program, those of the namespace are ports of the device.
 */
bool sdp_port_range(const struct sock *sk, int *low, int *high)
{
	int all_low, all_high;

	inet_get_local_port_range(sock_net(sk), low, high);
	all_low = *low;
	all_high = *high;
	inet_sk_get_local_port_range(sk, low, high);
	return *low != all_low || *high != all_high;
}

/**
 * sdp_port_next - the next port for a program that does not choose one
 * @sk: socket
 * @w: the walk, all zero before the first port
 *
 * Walks the range of the socket once, from a random port on, without
 * ip_local_reserved_ports.
 *
 * Context: process.
 *
 * Return: a port, or 0 after the last one.
 */
u16 sdp_port_next(struct sock *sk, struct sdp_port_walk *w)
{
	if (!w->n) {
		int low, high;

		w->own = sdp_port_range(sk, &low, &high);
		w->low = low;
		w->n = high - low + 1;
		w->left = w->n;
		w->at = get_random_u32() % w->n;
	}
	while (w->left) {
		u16 port = w->low + w->at;

		w->left--;
		w->at = (w->at + 1) % w->n;
		if (!inet_is_local_reserved_port(sock_net(sk), port))
			return port;
	}
	return 0;
}

/**
 * sdp_port_next_free - another port to connect from
 * @sk: socket, whose address is known
 * @w: where we are, all zero before the first one; its port is set
 *
 * Context: process.
 *
 * Return: 1; 0 if no port is left that TCP might give an iWARP device; or -EINTR.
 */
int sdp_port_next_free(struct sock *sk, struct sdp_port_walk *w)
{
	do {
		if (fatal_signal_pending(current))
			return -EINTR;
		w->port = htons(sdp_port_next(sk, w));
		cond_resched();
	} while (w->port && !sdp_port_tcp_free(sk, w->port));
	return w->port ? 1 : 0;
}

/* ---- listeners and removal ---- */

/* As TCP does: the same client, port included, gets the same listener. */
static u32 sdp_port_hash(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;

	if (peer->ss_family == AF_INET)
		return jhash_2words((__force u32)v4->sin_addr.s_addr,
				    (__force u32)v4->sin_port, 0);
	return jhash(&v6->sin6_addr, sizeof(v6->sin6_addr),
		     (__force u32)v6->sin6_port);
}

/* Does @sk listen at the device of @id, or at an L3 master device above it? */
static bool sdp_port_listens(const struct sock *sk, const struct rdma_cm_id *id)
{
	int by = id->route.addr.dev_addr.bound_dev_if;
	int dev = READ_ONCE(sk->sk_bound_dev_if);

	if (inet_sk_state_load(sk) != TCP_LISTEN)
		return false;
	return !dev || !by || dev == by ||
	       dev == l3mdev_master_ifindex_by_index(sock_net(sk), by);
}

/*
 * The place among @n listeners that a program of SO_ATTACH_REUSEPORT_CBPF or of a
 * socket filter's type chooses; @n if there is none. A request has no packet: the
 * program sees an empty one, so it can go by the processor or by chance. RCU.
 */
static u32 sdp_port_run_prog(struct sdp_port *port, struct rdma_cm_id *id, u32 n)
{
	struct sock_reuseport *reuse;
	struct bpf_prog *prog = NULL;
	struct sdp_sock *sdp;
	struct sk_buff *skb;

	lockdep_assert_held(&port->lock);
	list_for_each_entry(sdp, &port->listeners, port_node) {
		reuse = rcu_dereference(sdp->inet.sk.sk_reuseport_cb);
		if (reuse && sdp_port_listens(&sdp->inet.sk, id))
			prog = rcu_dereference(reuse->prog);
		if (prog)
			break;
	}
	if (!prog || prog->type == BPF_PROG_TYPE_SK_REUSEPORT)
		return n;
	skb = alloc_skb(0, GFP_ATOMIC);
	if (!skb)
		return n;
	/* a program that asks for the payload's offset needs the namespace */
	skb->dev = port->net->loopback_dev;
	skb_reset_network_header(skb);
	n = min(n, bpf_prog_run_save_cb(prog, skb));
	kfree_skb(skb);
	return n;
}

/**
 * sdp_port_pick - find the listener for a connection request
 * @port: port that the request came to
 * @id: cm_id of the request
 *
 * If there are several listeners, a BPF program or else the address of the peer
 * chooses.
 *
 * Context: CM handler.
 *
 * Return: the listener, with a reference; or NULL if there is none, or none at
 * this device, which is counted.
 */
struct sock *sdp_port_pick(struct sdp_port *port, struct rdma_cm_id *id)
{
	struct sock *sk = NULL;
	struct sdp_sock *sdp;
	u32 all = 0, n;

	rcu_read_lock();
	spin_lock_bh(&port->lock);
	list_for_each_entry(sdp, &port->listeners, port_node)
		all += sdp_port_listens(&sdp->inet.sk, id);
	n = sdp_port_run_prog(port, id, all);
	if (n >= all)
		n = reciprocal_scale(sdp_port_hash(&id->route.addr.dst_addr),
				     all);
	list_for_each_entry(sdp, &port->listeners, port_node) {
		if (!sdp_port_listens(&sdp->inet.sk, id))
			continue;
		sk = &sdp->inet.sk;	/* if a listener has just ended, the last one serves */
		if (!n--)
			break;
	}
	if (sk)
		sock_hold(sk);
	spin_unlock_bh(&port->lock);
	rcu_read_unlock();
	if (!sk)
		SDP_INC_STATS(port->net, REFUSED_REQS);
	return sk;
}

/* Have a socket leave its port. port->lock. */
static void sdp_port_leave(struct sdp_sock *sdp)
{
	struct sock *sk = &sdp->inet.sk;

	sock_hold(sk);
	if (!queue_work(sdp_wq(sk), &sdp->unbind_work))
		sock_put(sk);
}

/*
 * Make all sockets of a list leave. The lock is released between batches: sockets may
 * leave by themselves meanwhile, and sdp_port_join() makes new ones leave.
 */
static void sdp_port_leave_all(struct sdp_port *port, struct list_head *socks)
{
	LIST_HEAD(left);
	int n = 0;

	lockdep_assert_held(&port->lock);
	while (!list_empty(socks)) {
		list_move_tail(socks->next, &left);
		sdp_port_leave(list_last_entry(&left, struct sdp_sock,
					       port_node));
		if (++n % SDP_PORT_BATCH)
			continue;
		spin_unlock_bh(&port->lock);
		cond_resched();
		spin_lock_bh(&port->lock);
	}
	list_splice(&left, socks);
}

/**
 * sdp_port_removal - the device of a port goes away: make its sockets leave
 * @port: port
 *
 * The device waits for the cm_ids, which may not be destroyed here.
 *
 * Context: CM handler.
 */
void sdp_port_removal(struct sdp_port *port)
{
	spin_lock_bh(&port->lock);
	WRITE_ONCE(port->gone, true);
	sdp_port_leave_all(port, &port->listeners);
	sdp_port_leave_all(port, &port->socks);
	spin_unlock_bh(&port->lock);
}

/* ---- bind, listen ---- */

/*
 * Errno of bind() for one of rdma_cm, which says EADDRNOTAVAIL in three cases: there is no
 * such address, a wildcard address conflicts with another one, or no port is left. In the
 * first case it has found no device.
 */
static int sdp_port_errno(const struct rdma_cm_id *id,
			  const union sdp_addr *addr, int err)
{
	if (err == -ENODEV)
		return -EADDRNOTAVAIL;
	if (err == -EADDRNOTAVAIL &&
	    (sdp_addr_any(addr) || id->route.addr.dev_addr.bound_dev_if))
		return -EADDRINUSE;
	return err;
}

/**
 * sdp_port_bind_id - bind a cm_id to an address of a device
 * @id: cm_id, which is to be destroyed after an error
 * @sk: its socket
 * @addr: address, with the port of the device
 * @port: port of the program, which may use it
 *
 * Context: process.
 *
 * Return: as rdma_bind_addr().
 */
int sdp_port_bind_id(struct rdma_cm_id *id, const struct sock *sk,
		     union sdp_addr *addr, __be16 port)
{
	const struct cred *old = sdp_sock_use_port(sk, port);
	int err = rdma_bind_addr(id, &addr->sa);

	sdp_sock_used_port(old);
	return err;
}

/**
 * sdp_port_bind_lo - bind a cm_id to a loopback address at the device on lo
 * @id: cm_id, which is to be destroyed after an error
 * @sk: its socket
 * @addr: loopback address, with the port of the device
 * @port: port of the program, which may use it
 *
 * Context: process.
 *
 * Return: 0; -ENODEV if the socket is bound to another interface, or if there is no device
 * on lo that takes the alias, see rdma_stack_flip(); or an error of rdma_bind_addr().
 */
int sdp_port_bind_lo(struct rdma_cm_id *id, const struct sock *sk,
		     const union sdp_addr *addr, __be16 port)
{
	union sdp_addr alias = *addr;
	int err;

	if (sk->sk_bound_dev_if && sk->sk_bound_dev_if != LOOPBACK_IFINDEX)
		return -ENODEV;
	rdma_stack_flip(&alias.sa);
	id->route.addr.dev_addr.bound_dev_if = LOOPBACK_IFINDEX;
	err = sdp_port_bind_id(id, sk, &alias, port);
	if (err)
		return err;
	/* devices of other drivers do not know the aliases */
	return rdma_stack_get_link(id->device) ? 0 : -ENODEV;
}

/*
 * rdma_cm lets a single cm_id listen at a wildcard address, whichever device it is bound
 * to: sockets of several devices share that one, and sdp_port_pick() looks at the device.
 */
static int sdp_port_dev_if(const struct sock *sk, const union sdp_addr *addr)
{
	return sdp_addr_any(addr) ? 0 : sk->sk_bound_dev_if;
}

static int sdp_port_add_id(struct sdp_port *port, struct sock *sk,
			   const union sdp_addr *addr, bool lo)
{
	int i = addr->sa.sa_family == AF_INET6, err;
	union sdp_addr mapped = *addr;
	struct rdma_cm_id *id;

	id = rdma_create_id(port->net, port->handler, port, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	id->route.addr.dev_addr.bound_dev_if = port->dev_if;
	/* conflicts among SDP sockets are found by our own table */
	rdma_set_reuseaddr(id, 1);
	rdma_set_afonly(id, 1);
	mapped.v4.sin_port = sdp_port_map(port->net, addr->v4.sin_port);
	err = lo ? sdp_port_bind_lo(id, sk, &mapped, addr->v4.sin_port) :
		   sdp_port_bind_id(id, sk, &mapped, addr->v4.sin_port);
	if (err) {
		err = sdp_port_errno(id, addr, err);
		rdma_destroy_id(id);
		return err;
	}
	port->id[i] = id;
	return 0;
}

/*
 * Bind to a loopback address. Without a device on lo, a cm_id is needed only if
 * rdma_cm chooses the port number, to reserve that number.
 */
static int sdp_port_add_lo(struct sdp_port *port, struct sock *sk,
			   const union sdp_addr *addr)
{
	int err = sdp_port_add_id(port, sk, addr, true);

	if (err != -EADDRNOTAVAIL)
		return err;
	return addr->v4.sin_port ? 0 : sdp_port_add_id(port, sk, addr, false);
}

/* A port with cm_ids of its own; @addr gets the number if it had none. */
static struct sdp_port *sdp_port_new(struct sock *sk, union sdp_addr *addr,
				     rdma_cm_event_handler handler)
{
	bool v6 = addr->sa.sa_family == AF_INET6;
	struct sockaddr_in *got;
	struct sdp_port *port;
	union sdp_addr v4;
	int err;

	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return ERR_PTR(-ENOBUFS);
	port->net = sock_net(sk);
	port->handler = handler;
	port->v6only = sk->sk_ipv6only;
	port->dev_if = sdp_port_dev_if(sk, addr);
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->socks);
	INIT_LIST_HEAD(&port->listeners);
	port->addr = *addr;
	if (sdp_addr_loopback(addr))
		err = sdp_port_add_lo(port, sk, addr);
	else
		err = sdp_port_add_id(port, sk, addr, false);
	if (err)
		goto free;
	if (!port->id[v6])
		return port;
	got = (struct sockaddr_in *)&port->id[v6]->route.addr.src_addr;
	if (!addr->v4.sin_port)
		addr->v4.sin_port = sdp_port_unmap(port->net, got->sin_port);
	port->addr = *addr;
	if (!v6 || sk->sk_ipv6only || !ipv6_addr_any(&addr->v6.sin6_addr))
		return port;
	memset(&v4, 0, sizeof(v4));
	v4.sa.sa_family = AF_INET;
	v4.v4.sin_port = addr->v4.sin_port;
	err = sdp_port_add_id(port, sk, &v4, false);
	if (!err)
		return port;
free:
	sdp_port_put(port);
	return ERR_PTR(err);
}

/*
 * Protects the ports of a number. rdma_cm is called with it, so a listener that waits for
 * its devices keeps few others waiting.
 */
static struct mutex *sdp_port_mutex(struct net *net, __be16 number)
{
	return &sdp_pernet(net)->port_mutex[ntohs(number) % SDP_PORT_LOCKS];
}

static void sdp_port_lock(struct net *net, __be16 number)
{
	mutex_lock(sdp_port_mutex(net, number));
}

static void sdp_port_unlock(struct net *net, __be16 number)
{
	mutex_unlock(sdp_port_mutex(net, number));
}

/* A port with this address. The caller has checked that it may be shared. */
static struct sdp_port *sdp_port_find(struct sock *sk,
				      const union sdp_addr *addr)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	int dev_if = sdp_port_dev_if(sk, addr);
	u16 num = ntohs(addr->v4.sin_port);
	struct sdp_port *port;

	if (!num)
		return NULL;
	hlist_for_each_entry(port, &sn->ports[sdp_bind_bucket(num)], node)
		if (!READ_ONCE(port->gone) &&
		    !memcmp(&port->addr, addr, sizeof(*addr)) &&
		    port->v6only == sk->sk_ipv6only &&
		    port->dev_if == dev_if)
			return port;
	return NULL;
}

/* Return the port of @addr, which has a number, or a new one if there is no conflict. */
static struct sdp_port *sdp_port_get(struct sock *sk, union sdp_addr *addr,
				     rdma_cm_event_handler handler)
{
	struct sdp_port *port;

	lockdep_assert_held(sdp_port_mutex(sock_net(sk), addr->v4.sin_port));
	if (sdp_port_conflict(sk, addr))
		return ERR_PTR(-EADDRINUSE);
	port = sdp_port_find(sk, addr);
	return port ? : sdp_port_new(sk, addr, handler);
}

/* @local: its address */
static void sdp_port_join(struct sdp_port *port, struct sock *sk,
			  const union sdp_addr *local)
{
	struct sdp_net *sn = sdp_pernet(sock_net(sk));
	u16 num = ntohs(local->v4.sin_port);
	struct sdp_sock *sdp = sdp_sk(sk);

	lockdep_assert_held(sdp_port_mutex(sock_net(sk), local->v4.sin_port));
	if (!port->users++)
		hlist_add_head(&port->node, &sn->ports[sdp_bind_bucket(num)]);
	sdp->port = port;
	spin_lock_bh(&port->lock);
	list_add_tail(&sdp->port_node, &port->socks);
	/* the removal did not see this socket */
	if (port->gone)
		sdp_port_leave(sdp);
	spin_unlock_bh(&port->lock);
	spin_lock_bh(&sdp->lock);
	sdp_sock_set_local(sk, &local->sa);
	spin_unlock_bh(&sdp->lock);
}

/**
 * sdp_port_bind - reserve address and port with rdma_cm
 * @sk: socket, locked, not bound
 * @addr: address, checked for conflicts; port 0 for any
 * @handler: for events of the cm_id, whose context is the port
 *
 * Conflicts are looked for once more: others bind at the same time. With port 0 the caller
 * does so afterwards (sdp_port_free()).
 *
 * Return: 0 with the port in sdp->local, or a negative errno.
 */
int sdp_port_bind(struct sock *sk, const union sdp_addr *addr,
		  rdma_cm_event_handler handler)
{
	union sdp_addr local = *addr;
	struct sdp_port *port = NULL;

	/* without a port number, the mutex is known only after rdma_cm has chosen one */
	if (!local.v4.sin_port)
		port = sdp_port_new(sk, &local, handler);
	if (IS_ERR(port))
		return PTR_ERR(port);
	sdp_port_lock(sock_net(sk), local.v4.sin_port);
	if (!port)
		port = sdp_port_get(sk, &local, handler);
	if (!IS_ERR(port))
		sdp_port_join(port, sk, &local);
	sdp_port_unlock(sock_net(sk), local.v4.sin_port);
	return PTR_ERR_OR_ZERO(port);
}

/* Sockets that share the port join it later, each with a backlog of its own. */
static int sdp_port_backlog(const struct sock *sk, int backlog)
{
	if (sk->sk_reuseport)
		return SDP_BACKLOG_MAX;
	return clamp(backlog, SDP_BACKLOG_MIN, SDP_BACKLOG_MAX);
}

/*
 * An iWARP device gets the port of TCP only now. siw takes it in the namespace of the task,
 * whatever that of the socket is: the privilege of one is no privilege in the other.
 */
static int sdp_port_listen_id(struct sdp_port *port, struct sock *sk, int i,
			      int backlog)
{
	bool here = net_eq(current->nsproxy->net_ns, sock_net(sk));
	const struct cred *old;
	int err;

	old = sdp_sock_use_port(sk, here ? port->addr.v4.sin_port : 0);
	err = rdma_listen(port->id[i], sdp_port_backlog(sk, backlog));
	sdp_sock_used_port(old);
	if (!err)
		port->listening |= BIT(i);
	return err;
}

/**
 * sdp_port_listen - let requests come in
 * @sk: socket, locked, bound
 * @backlog: requests that devices may have to pass on; sdp_cm_admit() counts connections
 *
 * Return: 0 or a negative errno.
 */
int sdp_port_listen(struct sock *sk, int backlog)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_port *port = sdp->port;
	int i, err = 0;

	sdp_port_lock(port->net, port->addr.v4.sin_port);
	spin_lock_bh(&port->lock);
	list_move_tail(&sdp->port_node, &port->listeners);
	/* the removal may have processed the list already */
	if (port->gone)
		sdp_port_leave(sdp);
	spin_unlock_bh(&port->lock);
	for (i = 0; i < 2 && !err; i++) {
		/* already listens, by an earlier listen() or by a socket that shares the port */
		if (!port->id[i] || port->listening & BIT(i))
			continue;
		/* without a device on lo no peer can reach it */
		if (sdp_addr_loopback(&port->addr) && !port->id[i]->device)
			continue;
		err = sdp_port_listen_id(port, sk, i, backlog);
	}
	sdp_port_unlock(port->net, port->addr.v4.sin_port);
	return err == -EADDRNOTAVAIL ? -EADDRINUSE : err;
}

/**
 * sdp_port_unbind - take a socket off its port
 * @sk: socket, locked
 *
 * Return: the port if this was the last socket, for sdp_port_put() when
 * the socket lock is released, or NULL.
 */
struct sdp_port *sdp_port_unbind(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_port *port = sdp->port;
	struct net *net = sock_net(sk);
	__be16 number;

	/* most connections have no port of their own */
	if (!port)
		return NULL;
	number = port->addr.v4.sin_port;
	sdp_port_lock(net, number);
	sdp->port = NULL;
	spin_lock_bh(&port->lock);
	list_del_init(&sdp->port_node);
	spin_unlock_bh(&port->lock);
	if (--port->users)
		port = NULL;
	else
		hlist_del(&port->node);
	sdp_port_unlock(net, number);
	return port;
}

/**
 * sdp_port_gone - has the device of the socket's port gone away?
 * @sk: socket, locked
 */
bool sdp_port_gone(const struct sock *sk)
{
	const struct sdp_port *port = sdp_sk(sk)->port;

	sock_owned_by_me(sk);
	return port && READ_ONCE(port->gone);
}

/**
 * sdp_port_put - destroy a port that is no longer in use
 * @port: result of sdp_port_unbind(), or NULL
 *
 * Context: process; waits for handlers. No socket lock held.
 */
void sdp_port_put(struct sdp_port *port)
{
	int i;

	if (!port)
		return;
	for (i = 0; i < 2; i++)
		if (port->id[i])
			rdma_destroy_id(port->id[i]);
	kfree(port);
}
