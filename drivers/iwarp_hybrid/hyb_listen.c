// SPDX-License-Identifier: GPL-2.0
/*
 * Listening. See hyb_listen.h.
 *
 * A cm_id listens on one or more sockets, a socket serves one or more cm_ids:
 * a wildcard is one cm_id for each device of the system.
 */
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "compat.h"
#include "hyb_listen.h"
#include "hybrid.h"

/* Connections of a listening cm_id that have not sent a Request */
#define HYB_MAX_STARTING	1024

/**
 * struct hyb_lsock - a listening socket
 * @ref: one for @links not being empty, one for queued work
 * @node: entry of hyb_lsocks
 * @net: namespace, not referenced: the devices close the socket before it goes
 * @links: cm_ids that listen here: one for each device, if a wildcard
 * @sock: the socket, NULL when closed
 * @addr: address and port
 * @ifindex: net device it is bound to, 0 for none
 * @work: accepts connections
 * @data_ready: the socket's own callback
 *
 * All under hyb_listen_lock.
 */
struct hyb_lsock {
	struct kref ref;
	struct list_head node;
	struct list_head links;
	struct net *net;
	struct socket *sock;
	struct sockaddr_storage addr;
	int ifindex;
	struct work_struct work;
	void (*data_ready)(struct sock *sk);
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
 * @id: cm_id, referenced; NULL when destroyed
 * @node: entry of hyb_cm_dev.lids
 * @link: sockets
 * @links: how many
 * @starting: connections whose Request is not complete
 *
 * @id, @node and @link under hyb_listen_lock.
 */
struct hyb_lid {
	struct kref ref;
	struct hyb_dev *dev;
	struct iw_cm_id *id;
	struct list_head node;
	struct hyb_link link[HYB_LID_LINKS];
	int links;
	atomic_t starting;
};

static DEFINE_MUTEX(hyb_listen_lock);
static LIST_HEAD(hyb_lsocks);

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

/**
 * hyb_lid_done - a connection's start-up is over
 * @lid: listening cm_id; the connection's reference is dropped
 */
void hyb_lid_done(struct hyb_lid *lid)
{
	atomic_dec(&lid->starting);
	hyb_lid_put(lid);
}

/**
 * hyb_lid_event - tell the ULP's listener
 * @lid: listening cm_id
 * @event: CONNECT_REQUEST
 *
 * Return: 0, -ECONNABORTED if it was destroyed, or an error of the IW CM.
 */
int hyb_lid_event(struct hyb_lid *lid, struct iw_cm_event *event)
{
	int err = -ECONNABORTED;

	mutex_lock(&hyb_listen_lock);
	if (lid->id)
		err = lid->id->event_handler(lid->id, event);
	mutex_unlock(&hyb_listen_lock);
	return err;
}

/*
 * Namespace of a listening cm_id. The IW CM does not tell, but its only user
 * is the RDMA CM, whose object begins with a struct rdma_cm_id.
 */
static struct net *hyb_listen_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cm_id = id->context;

	return cm_id->route.addr.dev_addr.net;
}

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
 * Who gets a connection: best the cm_id of the same family on the device that
 * has the address, at least one of them. Returns it with a reference.
 */
static struct hyb_lid *hyb_lsock_choose(struct hyb_lsock *ls,
					struct socket *sock)
{
	struct sockaddr_storage local, peer;
	struct hyb_lid *best = NULL;
	struct hyb_link *link;
	int score, max = -1;

	lockdep_assert_held(&hyb_listen_lock);
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

static int hyb_lid_take(struct hyb_lid *lid, struct socket *sock)
{
	int err = -EBUSY;

	if (atomic_inc_return(&lid->starting) <= HYB_MAX_STARTING)
		err = hyb_cm_incoming(lid, lid->dev, sock);
	if (err)
		hyb_lid_done(lid);
	return err;
}

static void hyb_lsock_free(struct kref *ref)
{
	kfree(container_of(ref, struct hyb_lsock, ref));
}

static void hyb_lsock_work(struct work_struct *work)
{
	struct hyb_lsock *ls = container_of(work, struct hyb_lsock, work);
	void (*data_ready)(struct sock *sk) = ls->data_ready;
	struct hyb_lid *lid;
	struct socket *sock;
	int err;

	for (;;) {
		lid = NULL;
		mutex_lock(&hyb_listen_lock);
		err = ls->sock ? kernel_accept(ls->sock, &sock, O_NONBLOCK) :
				 -EBADF;
		if (!err)
			lid = hyb_lsock_choose(ls, sock);
		mutex_unlock(&hyb_listen_lock);
		if (err)
			break;
		/* not the listener's callback, which may be gone some day */
		sock->sk->sk_data_ready = data_ready;
		if (!lid || hyb_lid_take(lid, sock))
			sock_release(sock);
	}
	kref_put(&ls->ref, hyb_lsock_free);
}

/* A connection is complete. Not called with the listening socket held. */
static void hyb_lsock_data_ready(struct sock *sk)
{
	struct hyb_lsock *ls;

	read_lock_bh(&sk->sk_callback_lock);
	/* connections inherit the callback, but not the pointer */
	ls = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (ls) {
		kref_get(&ls->ref);
		if (!queue_work(hyb_cm_wq, &ls->work))
			kref_put(&ls->ref, hyb_lsock_free);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static int hyb_lsock_open(struct hyb_lsock *ls, int backlog)
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
		__rcu_assign_sk_user_data_with_flags(sk, ls,
						     SK_USER_DATA_NOCOPY);
		sk->sk_data_ready = hyb_lsock_data_ready;
		write_unlock_bh(&sk->sk_callback_lock);
		err = kernel_listen(sock, backlog);
	}
	if (err) {
		sock_release(sock);
		return err;
	}
	ls->sock = sock;
	return 0;
}

static void hyb_lsock_close(struct hyb_lsock *ls)
{
	struct sock *sk = ls->sock->sk;

	lockdep_assert_held(&hyb_listen_lock);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = ls->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	sock_release(ls->sock);
	ls->sock = NULL;
	list_del(&ls->node);
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

static struct hyb_lsock *hyb_lsock_find(struct net *net,
					const struct sockaddr_storage *addr,
					int ifindex)
{
	struct hyb_lsock *ls;

	list_for_each_entry(ls, &hyb_lsocks, node)
		if (net_eq(ls->net, net) && ls->ifindex == ifindex &&
		    hyb_addr_equal(&ls->addr, addr))
			return ls;
	return NULL;
}

static struct hyb_lsock *hyb_lsock_new(struct net *net,
				       const struct sockaddr_storage *addr,
				       int ifindex, int backlog)
{
	struct hyb_lsock *ls = kzalloc(sizeof(*ls), GFP_KERNEL);
	int err;

	if (!ls)
		return ERR_PTR(-ENOMEM);
	kref_init(&ls->ref);
	INIT_LIST_HEAD(&ls->links);
	INIT_WORK(&ls->work, hyb_lsock_work);
	ls->net = net;
	ls->addr = *addr;
	ls->ifindex = ifindex;
	err = hyb_lsock_open(ls, backlog);
	if (err) {
		kref_put(&ls->ref, hyb_lsock_free);
		return ERR_PTR(err);
	}
	list_add(&ls->node, &hyb_lsocks);
	return ls;
}

/* Listen on an address, sharing the socket with other cm_ids */
static int hyb_lid_bind(struct hyb_lid *lid,
			const struct sockaddr_storage *addr, int ifindex,
			int backlog)
{
	struct net *net = dev_net(lid->dev->netdev);
	struct hyb_link *link = &lid->link[lid->links];
	struct hyb_lsock *ls;

	lockdep_assert_held(&hyb_listen_lock);
	ls = hyb_lsock_find(net, addr, ifindex);
	if (!ls)
		ls = hyb_lsock_new(net, addr, ifindex, backlog);
	if (IS_ERR(ls))
		return PTR_ERR(ls);
	link->lid = lid;
	link->ls = ls;
	list_add_tail(&link->node, &ls->links);
	lid->links++;
	return 0;
}

static void hyb_lid_close(struct hyb_lid *lid)
{
	lockdep_assert_held(&hyb_listen_lock);
	while (lid->links) {
		struct hyb_link *link = &lid->link[--lid->links];

		list_del(&link->node);
		if (list_empty(&link->ls->links))
			hyb_lsock_close(link->ls);
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
 * devices: nothing is opened there, the cm_id just never hears anything.
 */
static int hyb_lid_open(struct hyb_lid *lid, int backlog)
{
	const struct sockaddr_storage *addr = &lid->id->m_local_addr;
	struct sockaddr_storage any4 = { .ss_family = AF_INET };
	int err;

	if (!net_eq(hyb_listen_net(lid->id), dev_net(lid->dev->netdev)))
		return 0;
	if (!hyb_addr_is_any(addr))
		return hyb_lid_bind(lid, addr, 0, backlog);

	err = hyb_lid_bind_any(lid, addr, backlog);
	if (err || addr->ss_family != AF_INET6 || lid->id->afonly)
		return err;
	/* without IPv4 if somebody else has the port there */
	((struct sockaddr_in *)&any4)->sin_port =
		((const struct sockaddr_in6 *)addr)->sin6_port;
	hyb_lid_bind_any(lid, &any4, backlog);
	return 0;
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
	struct hyb_dev *dev = hyb_dev_of(id->device);
	struct hyb_lid *lid;
	int err = -ENODEV;

	lid = kzalloc(sizeof(*lid), GFP_KERNEL);
	if (!lid)
		return -ENOMEM;
	kref_init(&lid->ref);
	lid->dev = dev;
	lid->id = id;
	hyb_cm_dev_get(dev);

	mutex_lock(&hyb_listen_lock);
	if (!hyb_cm_is_down(&dev->cm))
		err = hyb_lid_open(lid, backlog);
	if (!err) {
		id->add_ref(id);
		id->provider_data = lid;
		list_add_tail(&lid->node, &dev->cm.lids);
	}
	mutex_unlock(&hyb_listen_lock);
	if (err)
		hyb_lid_put(lid);
	return err;
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
	mutex_lock(&hyb_listen_lock);
	lid->id = NULL;
	list_del(&lid->node);
	hyb_lid_close(lid);
	mutex_unlock(&hyb_listen_lock);
	id->rem_ref(id);
	hyb_lid_put(lid);
	return 0;
}

/**
 * hyb_listen_down - close the listening sockets of a device
 * @dev: device
 *
 * The cm_ids stay until the IW CM destroys them.
 */
void hyb_listen_down(struct hyb_dev *dev)
{
	struct hyb_lid *lid;

	mutex_lock(&hyb_listen_lock);
	list_for_each_entry(lid, &dev->cm.lids, node)
		hyb_lid_close(lid);
	mutex_unlock(&hyb_listen_lock);
}
