// SPDX-License-Identifier: GPL-2.0
/*
 * Listening cm_ids and their sockets. See hyb_listen.h.
 *
 * A cm_id listens on one socket or more. Cm_ids of several devices may share a socket. A work
 * item of the socket accepts connections, which wait for their Request (hyb_cep.h).
 *
 * Calls hyb_cep.c and hyb_tcp.c.
 */
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_stack_addr.h>

#include "compat.h"
#include "hyb_cep.h"
#include "hyb_listen.h"
#include "hyb_tcp.h"
#include "hybrid.h"

/*
 * Connections of a listening cm_id that have not sent a Request. One more ends
 * the oldest of the address that has most, so that silent peers do not keep out
 * others. This ends them by their work items, which takes a moment: above twice as many,
 * new connections are refused.
 */
#define HYB_MAX_STARTING	1024

#define HYB_T_REQUEST	(10 * HZ)	/* Request complete after accept */
#define HYB_T_LISTEN	HZ	/* another try to listen, or to accept without memory */

#define HYB_LSOCK_PORTS	256	/* lists of listening sockets, by their port */

/**
 * struct hyb_lsock - a listening socket, of one port space
 * @ref: one for @links not being empty, one for queued work
 * @node: entry of hyb_lsocks[]
 * @net: namespace, not referenced: the devices close the socket before it is freed
 * @lock: protects @sock and, with that of the port, @links
 * @links: cm_ids that listen here: one for each device, if a wildcard
 * @sock: the socket, NULL when closed
 * @addr: address and port
 * @ps: port space of the cm_ids
 * @ifindex: net device it is bound to, 0 for none
 * @backlog: of listen()
 * @waits: it could not listen, which was logged; under @lock
 * @work: accepts connections, listens again
 * @data_ready: the socket's own callback
 * @state_change: the socket's own callback
 */
struct hyb_lsock {
	struct kref ref;
	struct hlist_node node;
	struct mutex lock;	/* see above */
	struct list_head links;
	struct net *net;
	struct socket *sock;
	struct sockaddr_storage addr;
	enum rdma_ucm_port_space ps;
	int ifindex;
	int backlog;
	bool waits;
	struct delayed_work work;
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
};

/* Listening sockets whose ports have the same remainder, in all namespaces */
static struct hyb_lsock_port {
	struct mutex lock;	/* @list */
	struct hlist_head list;
} hyb_lsocks[HYB_LSOCK_PORTS];

/* The hash of the peer's address; of IPv6, of its first 64 bits */
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
 * End the oldest connection of the address that has most, by its work item. It
 * leaves the list before it is freed.
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

/* Count a waiting connection; @evict: end another one in its place */
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
		/* the Request may have arrived already */
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

/* -------------------------------------------------------------- sockets */

static void hyb_lsock_free(struct kref *ref)
{
	kfree(container_of(ref, struct hyb_lsock, ref));
}

/*
 * Close by RST: a FIN would not be retransmitted, see hyb_cep_linger(). Without an
 * acknowledgment of the peer, the socket would stay for ever.
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
	/* connections inherit the callback; their user data is NULL or not a listener */
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

/*
 * Remove the inherited callbacks from a connection, as the module may be unloaded before it
 * ends.
 */
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
		/* the ULP's backlog is no limit here: connections are accepted at once */
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

/* A cm_id does not listen here any more; the last one closes the socket */
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
	/* a work item that runs finds no cm_id and returns */
	if (cancel_delayed_work(&ls->work))
		kref_put(&ls->ref, hyb_lsock_free);
	kref_put(&ls->ref, hyb_lsock_free);
}

/* It cannot listen: try again later. Logged once, for this may last. */
static void hyb_lsock_wait(struct hyb_lsock *ls, const struct hyb_lid *lid,
			   int err)
{
	lockdep_assert_held(&ls->lock);
	if (!ls->waits)
		ibdev_warn_ratelimited(&lid->dev->ibdev,
				       "cannot listen at %pISpc yet: error %d\n",
				       &ls->addr, err);
	ls->waits = true;
	hyb_lsock_queue(ls, HYB_T_LISTEN);
}

/* Listen again if the administrator has ended the socket, or it could not listen yet */
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
	if (err)
		hyb_lsock_wait(ls, link->lid, err);
	else
		ls->waits = false;
}

/* Take a connection that has come. Returns 0, or a negative errno if there is none. */
static int hyb_lsock_accept(struct hyb_lsock *ls)
{
	struct hyb_lid *lid = NULL;
	struct socket *sock;
	struct net *net;
	int err = -EBADF;

	mutex_lock(&ls->lock);
	/*
	 * A kernel socket holds no reference to its namespace. When a namespace ends, the
	 * device closes the connections in its list. A new one is there only at the end of
	 * hyb_lid_take(), so hold the namespace until then.
	 */
	net = ls->sock ? maybe_get_net(sock_net(ls->sock->sk)) : NULL;
	if (net)
		err = kernel_accept(ls->sock, &sock, O_NONBLOCK);
	if (!err) {
		lid = hyb_lsock_choose(ls, sock);
		hyb_lsock_forget(ls, sock->sk);
	} else if (net && err != -EAGAIN) {
		/* no memory: try again by a timer instead of waiting for another connection */
		hyb_lsock_queue(ls, HYB_T_LISTEN);
	}
	mutex_unlock(&ls->lock);
	if (!err && (!lid || hyb_lid_take(lid, sock)))
		hyb_lsock_refuse(sock);
	if (net)
		put_net(net);
	return err;
}

static void hyb_lsock_work(struct work_struct *work)
{
	struct hyb_lsock *ls = container_of(to_delayed_work(work),
					    struct hyb_lsock, work);

	mutex_lock(&ls->lock);
	hyb_lsock_revive(ls);
	mutex_unlock(&ls->lock);
	while (!hyb_lsock_accept(ls))
		;
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

/*
 * The socket that a cm_id may share. The RDMA CM gives a port to one owner in each
 * port space, so cm_ids of one port space are one listener. All port spaces share the
 * ports of TCP, so a cm_id of another port space may have any owner.
 */
static struct hyb_lsock *hyb_lsock_find(const struct hyb_lid *lid,
					const struct sockaddr_storage *addr,
					int ifindex)
{
	struct net *net = dev_net(lid->dev->netdev);
	struct hyb_lsock *ls;

	lockdep_assert_held(&lid->at->lock);
	hlist_for_each_entry(ls, &lid->at->list, node)
		if (net_eq(ls->net, net) && ls->ifindex == ifindex &&
		    hyb_addr_equal(&ls->addr, addr) &&
		    ls->ps == hyb_cm_rdma_id(lid->id)->ps)
			return ls;
	return NULL;
}

/* Returns it locked: connections that come at once wait for the first cm_id. */
static struct hyb_lsock *hyb_lsock_new(const struct hyb_lid *lid,
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
	ls->net = dev_net(lid->dev->netdev);
	ls->addr = *addr;
	ls->ps = hyb_cm_rdma_id(lid->id)->ps;
	ls->ifindex = ifindex;
	ls->backlog = backlog;
	mutex_lock(&ls->lock);
	err = hyb_lsock_open(ls);
	if (err && lid->patient) {
		hyb_lsock_wait(ls, lid, err);
	} else if (err) {
		mutex_unlock(&ls->lock);
		kref_put(&ls->ref, hyb_lsock_free);
		return ERR_PTR(err);
	}
	hlist_add_head(&ls->node, &lid->at->list);
	return ls;
}

/* --------------------------------------------------------------- cm_ids */

/* Listen on an address, sharing the socket with other cm_ids */
static int hyb_lid_bind(struct hyb_lid *lid,
			const struct sockaddr_storage *addr, int ifindex,
			int backlog)
{
	struct hyb_link *link = &lid->link[lid->links];
	struct hyb_lsock *ls;

	lockdep_assert_held(&lid->at->lock);
	ls = hyb_lsock_find(lid, addr, ifindex);
	if (ls)
		mutex_lock(&ls->lock);
	else
		ls = hyb_lsock_new(lid, addr, ifindex, backlog);
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
		err = hyb_lid_bind(lid, addr, LOOPBACK_IFINDEX, backlog);
	return err;
}

/* All the sockets of a cm_id, or an error and maybe some of them */
static int hyb_lid_bind_all(struct hyb_lid *lid, int backlog)
{
	struct sockaddr_storage addr = hyb_local_addr(lid->id);
	struct sockaddr_storage any4 = { .ss_family = AF_INET };
	int err;

	if (!hyb_addr_is_any(&addr))
		return hyb_lid_bind(lid, &addr, 0, backlog);
	err = hyb_lid_bind_any(lid, &addr, backlog);
	if (err || addr.ss_family != AF_INET6 || lid->id->afonly)
		return err;
	((struct sockaddr_in *)&any4)->sin_port =
		((const struct sockaddr_in6 *)&addr)->sin6_port;
	return hyb_lid_bind_any(lid, &any4, backlog);
}

/*
 * Add the cm_id to the list of the device; -ENODEV if the device is going away.
 *
 * When a device is added, the RDMA CM starts its wildcard listeners there. If one of them
 * fails, it does not use the device at all. So one program whose port is taken would keep
 * all programs from using the device. Hence the sockets of these listeners may fail for now.
 */
static int hyb_lid_enlist(struct hyb_lid *lid)
{
	struct hyb_cm_dev *cm = &lid->dev->cm;
	int err = -ENODEV;

	mutex_lock(&cm->lock);
	if (!cm->down) {
		list_add_tail(&lid->node, &cm->lids);
		lid->patient = cm->adder == task_pid(current);
		err = 0;
	}
	mutex_unlock(&cm->lock);
	return err;
}

/*
 * Does the RDMA CM ask all devices to listen at this address? It takes a loopback address
 * for the wildcard.
 */
static bool hyb_lid_everywhere(const struct hyb_lid *lid)
{
	return hyb_addr_is_any(&lid->id->m_local_addr) ||
	       rdma_stack_loopback((const struct sockaddr *)&lid->id->m_local_addr);
}

/*
 * When the RDMA CM asks all devices, an error of one ends the listener on all. So a device
 * that cannot take part opens nothing and returns 0, and its cm_id gets no events. This is a
 * device of another namespace, or one that is going away. The same is true for a listener for
 * datagrams (RDMA_PS_UDP), which other devices may support.
 *
 * The RDMA CM finds a device of another namespace for a specific address, too, if a net
 * device there has the same hardware address, as a VLAN has that of its parent.
 */
static int hyb_lid_open(struct hyb_lid *lid, int backlog)
{
	int err;

	lockdep_assert_held(&lid->at->lock);
	if (!net_eq(hyb_cm_net(lid->id), dev_net(lid->dev->netdev)))
		err = -ENETUNREACH;
	else if (hyb_cm_rdma_id(lid->id)->qp_type == IB_QPT_UD)
		err = -EPROTONOSUPPORT;
	else
		err = hyb_lid_enlist(lid);
	if (err)
		return hyb_lid_everywhere(lid) ? 0 : err;
	return hyb_lid_bind_all(lid, backlog);
}

static void hyb_lid_delist(struct hyb_lid *lid)
{
	struct hyb_cm_dev *cm = &lid->dev->cm;

	mutex_lock(&cm->lock);
	list_del_init(&lid->node);
	mutex_unlock(&cm->lock);
}

/* No connection is passed to the cm_id from now on */
static void hyb_lid_end(struct hyb_lid *lid)
{
	hyb_lid_delist(lid);
	mutex_lock(&lid->at->lock);
	hyb_lid_close(lid);
	mutex_unlock(&lid->at->lock);
	mutex_lock(&lid->id_lock);
	lid->id = NULL;
	mutex_unlock(&lid->id_lock);
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
 * Return: 0 or an error of bind() or listen(); -ENOMEM; for a specific address also -ENETUNREACH
 * in another namespace, -EPROTONOSUPPORT for datagrams, -ENODEV if the device is going away.
 */
int hyb_create_listen(struct iw_cm_id *id, int backlog)
{
	struct hyb_lid *lid = hyb_lid_new(id);
	int err;

	if (!lid)
		return -ENOMEM;
	mutex_lock(&lid->at->lock);
	err = hyb_lid_open(lid, backlog);
	mutex_unlock(&lid->at->lock);
	if (err) {
		hyb_lid_end(lid);
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
	hyb_lid_end(lid);
	id->rem_ref(id);
	hyb_lid_put(lid);
	return 0;
}

/* Close them one by one, as the lock of a port is not taken under that of the device */
void hyb_listen_down(struct hyb_dev *dev)
{
	struct hyb_cm_dev *cm = &dev->cm;
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

void hyb_listen_init(void)
{
	int i;

	for (i = 0; i < HYB_LSOCK_PORTS; i++)
		mutex_init(&hyb_lsocks[i].lock);
}
