// SPDX-License-Identifier: GPL-2.0
/*
 * Steering by filters of ordinary NICs: the flow of a connection to a receive
 * queue of our choice ("ntuple" filters, as "ethtool -N" sets them).
 *
 * The ethtool operations want RTNL, which only a work item takes: a connection is set
 * up and torn down under locks that are also taken under RTNL.
 *
 * The table of the NIC is the administrator's, and small. Connections are made by any
 * user, so they get as many filters of a device as the administrator allows
 * (hyb_dev.ntuple_filters), those of one user other than root at most half of them. When these
 * are in use, a connection takes the filter of one that has received nothing for a while.
 *
 * Calls the net device's ethtool operations.
 */
#include <linux/bitmap.h>
#include <linux/cpu_rmap.h>
#include <linux/ethtool.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/pm_runtime.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/ipv6.h>

#include "compat.h"
#ifdef HAVE_NETDEV_LOCK_OPS
#include <net/netdev_lock.h>
#endif
#include "hyb_off_priv.h"
#include "hybrid.h"

/* For the work items of this file; hyb_off_conn makes and destroys it */
struct workqueue_struct *hyb_off_wq;

#ifndef HAVE_NETDEV_LOCK_OPS
#define netdev_lock_ops(dev)	do { } while (0)
#define netdev_unlock_ops(dev)	do { } while (0)
#endif

/* A connection that has received data within this time keeps its filter */
#define HYB_OFF_STEER_IDLE	HZ
/* A table of the NIC that was full is not read again within this time */
#define HYB_OFF_STEER_FULL	HZ
#define HYB_OFF_STEER_LOOK	32	/* filters that a search for an idle one looks at */

/**
 * hyb_off_steer_can - does the device take filters?
 * @netdev: net device
 *
 * Context: any.
 */
bool hyb_off_steer_can(const struct net_device *netdev)
{
	return (netdev->features & NETIF_F_NTUPLE) && netdev->ethtool_ops &&
	       netdev->ethtool_ops->set_rxnfc &&
	       netdev->real_num_rx_queues > 1;
}

/* The flow of the connection, as incoming packets show it */
static void hyb_off_flow(const struct iwarp_offload_conn *c,
			 struct ethtool_rx_flow_spec *fs)
{
	struct ethtool_tcpip6_spec *k6 = &fs->h_u.tcp_ip6_spec;
	struct ethtool_tcpip6_spec *m6 = &fs->m_u.tcp_ip6_spec;
	struct ethtool_tcpip4_spec *k4 = &fs->h_u.tcp_ip4_spec;
	struct ethtool_tcpip4_spec *m4 = &fs->m_u.tcp_ip4_spec;

	if (c->family == AF_INET) {
		fs->flow_type = TCP_V4_FLOW;
		k4->ip4src = c->daddr.s6_addr32[0];
		k4->ip4dst = c->saddr.s6_addr32[0];
		k4->psrc = c->dport;
		k4->pdst = c->sport;
		m4->ip4src = htonl(~0);
		m4->ip4dst = htonl(~0);
		m4->psrc = htons(~0);
		m4->pdst = htons(~0);
		return;
	}
	fs->flow_type = TCP_V6_FLOW;
	memcpy(k6->ip6src, &c->daddr, sizeof(k6->ip6src));
	memcpy(k6->ip6dst, &c->saddr, sizeof(k6->ip6dst));
	k6->psrc = c->dport;
	k6->pdst = c->sport;
	memset(m6->ip6src, 0xff, sizeof(m6->ip6src));
	memset(m6->ip6dst, 0xff, sizeof(m6->ip6dst));
	m6->psrc = htons(~0);
	m6->pdst = htons(~0);
}

static void hyb_off_places_drop(struct hyb_off_table *table)
{
	bitmap_free(table->free);
	table->free = NULL;
}

/* Note which of @size places are not among @nr used ones */
static int hyb_off_places_note(struct hyb_off_table *table, const u32 *used,
			       u32 nr, u32 size)
{
	u32 i;

	hyb_off_places_drop(table);
	table->free = bitmap_alloc(size, GFP_KERNEL);
	if (!table->free)
		return -ENOMEM;
	table->size = size;
	bitmap_fill(table->free, size);
	for (i = 0; i < nr; i++)
		if (used[i] < size)
			__clear_bit(used[i], table->free);
	return 0;
}

/*
 * Ask the driver which places of its table are used. Returns 1 if it chooses them itself,
 * 0 if @table->free is valid now, or a negative errno. Context: RTNL held.
 */
static int hyb_off_places_ask(struct hyb_off_table *table,
			      struct net_device *netdev)
{
	struct ethtool_rxnfc all = { .cmd = ETHTOOL_GRXCLSRLALL };
	struct ethtool_rxnfc cnt = { .cmd = ETHTOOL_GRXCLSRLCNT };
	u32 *used, size;
	int ret;

	if (!netdev->ethtool_ops->get_rxnfc)
		return -EOPNOTSUPP;
	ret = netdev->ethtool_ops->get_rxnfc(netdev, &cnt, NULL);
	if (ret)
		return ret;
	if (cnt.data & RX_CLS_LOC_SPECIAL)
		return 1;
	/* drivers fail if they have more filters than they are asked for */
	if (cnt.rule_cnt > HYB_OFF_FILTERS_MAX)
		return -ENOSPC;
	all.rule_cnt = cnt.rule_cnt;
	used = kcalloc(all.rule_cnt + 1, sizeof(*used), GFP_KERNEL);
	if (!used)
		return -ENOMEM;
	if (all.rule_cnt)
		ret = netdev->ethtool_ops->get_rxnfc(netdev, &all, used);
	/* some drivers report the size only together with all filters */
	size = min_t(u32, all.data ? all.data : cnt.data, HYB_OFF_FILTERS_MAX);
	if (!ret)
		ret = size ? hyb_off_places_note(table, used, all.rule_cnt,
						 size) : -ENOSPC;
	kfree(used);
	return ret;
}

/* Has an administrator put a filter there? Context: RTNL held. */
static bool hyb_off_place_taken(struct net_device *netdev, u32 loc)
{
	struct ethtool_rxnfc is = { .cmd = ETHTOOL_GRXCLSRULE };

	is.fs.location = loc;
	return !netdev->ethtool_ops->get_rxnfc(netdev, &is, NULL);
}

/*
 * Find a place for a new filter in the device's table, since many drivers do not: the last
 * one that is free. *@loc is RX_CLS_LOC_ANY if the driver does. The driver is asked for
 * its whole table only when the free places that are known have run out, or one is taken. If
 * that was in vain, it is not asked again within HYB_OFF_STEER_FULL. Context: RTNL held.
 */
static int hyb_off_find_loc(struct hyb_off_table *table,
			    struct net_device *netdev, u32 *loc)
{
	bool soon = time_before(jiffies, table->asked + HYB_OFF_STEER_FULL);
	int ret;

	if (table->free) {
		*loc = find_last_bit(table->free, table->size);
		if (*loc < table->size && !hyb_off_place_taken(netdev, *loc))
			return 0;
		if (*loc == table->size && soon)
			return -ENOSPC;
	} else if (table->err && soon) {
		return table->err;
	}
	ret = hyb_off_places_ask(table, netdev);
	table->asked = jiffies;
	table->err = min(ret, 0);
	if (ret < 0)
		return ret;
	*loc = RX_CLS_LOC_ANY;
	if (ret)
		return 0;
	*loc = find_last_bit(table->free, table->size);
	return *loc < table->size ? 0 : -ENOSPC;
}

/* The queue that interrupts @cpu or a CPU near it, if the driver has a map; else any queue */
static u32 hyb_off_near(const struct net_device *netdev, u32 cpu)
{
	u32 n = netdev->real_num_rx_queues;

#ifdef CONFIG_RFS_ACCEL
	if (netdev->rx_cpu_rmap) {
		u32 queue = cpu_rmap_lookup_index(netdev->rx_cpu_rmap, cpu);

		if (queue < n)
			return queue;
	}
#endif
	return cpu % n;
}

/* Insert the filter, for the queue that is near the consumer. Context: RTNL held. */
static int hyb_off_filter_add(struct hyb_off_conn *o)
{
	struct ethtool_rxnfc nfc = { .cmd = ETHTOOL_SRXCLSRLINS };
	struct hyb_off_table *table = o->steer.table;
	struct net_device *netdev = o->netdev;
	int err;

	ASSERT_RTNL();
	o->steer.queue = hyb_off_near(netdev, READ_ONCE(o->nic.cpu));
	hyb_off_flow(&o->nic, &nfc.fs);
	nfc.fs.ring_cookie = o->steer.queue;
	err = hyb_off_find_loc(table, netdev, &nfc.fs.location);
	if (err)
		return err;
	err = netdev->ethtool_ops->set_rxnfc(netdev, &nfc);
	if (err) {
		/* the table may be smaller now */
		hyb_off_places_drop(table);
		return err;
	}
	o->steer.loc = nfc.fs.location;
	if (table->free && o->steer.loc < table->size)
		__clear_bit(o->steer.loc, table->free);
	return 0;
}

static bool hyb_off_flow_same(const struct ethtool_rx_flow_spec *a,
			      const struct ethtool_rx_flow_spec *b)
{
	const struct ethtool_tcpip6_spec *a6 = &a->h_u.tcp_ip6_spec;
	const struct ethtool_tcpip6_spec *b6 = &b->h_u.tcp_ip6_spec;
	const struct ethtool_tcpip4_spec *a4 = &a->h_u.tcp_ip4_spec;
	const struct ethtool_tcpip4_spec *b4 = &b->h_u.tcp_ip4_spec;

	if (a->flow_type != b->flow_type)
		return false;
	if (a->flow_type == TCP_V4_FLOW)
		return a4->ip4src == b4->ip4src && a4->ip4dst == b4->ip4dst &&
		       a4->psrc == b4->psrc && a4->pdst == b4->pdst;
	return !memcmp(a6->ip6src, b6->ip6src, sizeof(a6->ip6src)) &&
	       !memcmp(a6->ip6dst, b6->ip6dst, sizeof(a6->ip6dst)) &&
	       a6->psrc == b6->psrc && a6->pdst == b6->pdst;
}

/*
 * Delete the filter, unless an administrator has deleted it and put another one in its
 * place. Context: RTNL held.
 */
static void hyb_off_filter_del(struct hyb_off_conn *o)
{
	struct ethtool_rxnfc is = { .cmd = ETHTOOL_GRXCLSRULE };
	struct ethtool_rxnfc nfc = { .cmd = ETHTOOL_SRXCLSRLDEL };
	struct hyb_off_table *table = o->steer.table;
	struct net_device *netdev = o->netdev;

	ASSERT_RTNL();
	hyb_off_flow(&o->nic, &nfc.fs);
	nfc.fs.location = o->steer.loc;
	is.fs.location = o->steer.loc;
	if (netdev->ethtool_ops->get_rxnfc(netdev, &is, NULL) ||
	    !hyb_off_flow_same(&is.fs, &nfc.fs) ||
	    netdev->ethtool_ops->set_rxnfc(netdev, &nfc))
		return;
	if (table->free && o->steer.loc < table->size)
		__set_bit(o->steer.loc, table->free);
}

/* Jiffies since the connection has received data. Context: any. */
static u32 hyb_off_idle(const struct hyb_off_conn *o)
{
	return tcp_jiffies32 - READ_ONCE(inet_csk(o->sk)->icsk_ack.lrcvtime);
}

/*
 * The connection that makes room, with the filter of @user if that is not NULL: of the
 * next few, the one that has received nothing for longest, or NULL if all of them are
 * busy. Context: RTNL held.
 */
static struct hyb_off_conn *hyb_off_filter_idle(struct hyb_off_table *table,
						const kuid_t *user)
{
	struct hyb_off_conn *o, *idle = NULL;
	u32 most = HYB_OFF_STEER_IDLE;
	u32 n;

	ASSERT_RTNL();
	for (n = min_t(u32, table->nr, HYB_OFF_STEER_LOOK); n; n--) {
		o = list_first_entry(&table->conns, struct hyb_off_conn,
				     steer.node);
		/* the next search begins with others */
		list_move_tail(&o->steer.node, &table->conns);
		if (user && !uid_eq(o->steer.user, *user))
			continue;
		if (hyb_off_idle(o) < most)
			continue;
		most = hyb_off_idle(o);
		idle = o;
	}
	return idle;
}

/* Queue the work item, which holds a reference of the socket. Context: any. */
static void hyb_off_steer_queue(struct hyb_off_conn *o)
{
	sock_hold(o->sk);
	if (!queue_work(hyb_off_wq, &o->steer.work))
		sock_put(o->sk);
}

/* Filters that connections of the user have. Context: RTNL held. */
static u32 hyb_off_user_filters(const struct hyb_off_conn *o)
{
	ASSERT_RTNL();
	return xa_to_value(xa_load(&o->steer.table->users,
				   __kuid_val(o->steer.user)));
}

/* Memory is needed for the first filter of a user only. Context: RTNL held. */
static int hyb_off_user_set(const struct hyb_off_conn *o, u32 n)
{
	return xa_err(xa_store(&o->steer.table->users,
			       __kuid_val(o->steer.user),
			       n ? xa_mk_value(n) : NULL, GFP_KERNEL));
}

/* The NIC does not have the filter any more. Context: RTNL held. */
static void hyb_off_filter_forget(struct hyb_off_conn *o)
{
	ASSERT_RTNL();
	list_del(&o->steer.node);
	o->steer.table->nr--;
	hyb_off_user_set(o, hyb_off_user_filters(o) - 1);
	WRITE_ONCE(o->steer.have, false);
}

/* How many of @max filters connections of the user may have: root all of them */
static u32 hyb_off_filter_share(const struct hyb_off_conn *o, u32 max)
{
	if (uid_eq(o->steer.user, GLOBAL_ROOT_UID))
		return max;
	return DIV_ROUND_UP(max, 2);
}

/*
 * Make room for one more filter, so that the table has no more than @max, and the user no
 * more than the share. A user has at least half of the filters then, so a search for an
 * idle one meets them. Connections of an RDMA device share one net device, so its lock
 * covers the filter that is deleted here, too. Context: RTNL held.
 */
static bool hyb_off_filter_room(struct hyb_off_conn *o, u32 max)
{
	u32 share = hyb_off_filter_share(o, max), own = hyb_off_user_filters(o);
	struct hyb_off_table *table = o->steer.table;
	struct hyb_off_conn *idle = NULL;

	if (table->nr < max && own < share)
		return true;
	/* the limit was lowered: filters above it stay as long as their connections */
	if (table->nr <= max && own <= share)
		idle = hyb_off_filter_idle(table, own == share ?
					   &o->steer.user : NULL);
	if (!idle)
		return false;
	hyb_off_filter_del(idle);
	hyb_off_filter_forget(idle);
	WRITE_ONCE(idle->steer.lost, true);
	/* only the owner of its socket can act on the loss */
	hyb_off_steer_queue(idle);
	return true;
}

/* Have one filter more, if there is room within the limit @max. Context: RTNL held. */
static void hyb_off_filter_get(struct hyb_off_conn *o, u32 max)
{
	struct hyb_off_table *table = o->steer.table;
	u32 own;

	if (!hyb_off_filter_room(o, max))
		return;
	own = hyb_off_user_filters(o);
	if (hyb_off_user_set(o, own + 1))
		return;
	if (hyb_off_filter_add(o)) {
		hyb_off_user_set(o, own);
		return;
	}
	list_add_tail(&o->steer.node, &table->conns);
	table->nr++;
	WRITE_ONCE(o->steer.have, true);
}

/*
 * Insert a filter within the limit @max, or remove that of the connection if @max is 0.
 * Context: RTNL held, device registered.
 */
static void hyb_off_filter_change(struct hyb_off_conn *o, u32 max)
{
	if (!max && o->steer.have) {
		hyb_off_filter_del(o);
		hyb_off_filter_forget(o);
	} else if (max && !o->steer.have && hyb_off_steer_can(o->netdev)) {
		hyb_off_filter_get(o, max);
	}
}

/*
 * Wake the device and begin with its ethtool operations, as ethtool does. Returns false if
 * it is gone, or cannot be woken. Context: RTNL held.
 */
static bool hyb_off_ops_begin(struct net_device *netdev)
{
	struct device *parent = netdev->dev.parent;

	ASSERT_RTNL();
	if (netdev->reg_state != NETREG_REGISTERED)
		return false;
	if (parent)
		pm_runtime_get_sync(parent);
	if (netif_device_present(netdev)) {
		netdev_lock_ops(netdev);
		if (!netdev->ethtool_ops->begin ||
		    netdev->ethtool_ops->begin(netdev) >= 0)
			return true;
		netdev_unlock_ops(netdev);
	}
	if (parent)
		pm_runtime_put(parent);
	return false;
}

static void hyb_off_ops_end(struct net_device *netdev)
{
	if (netdev->ethtool_ops->complete)
		netdev->ethtool_ops->complete(netdev);
	netdev_unlock_ops(netdev);
	if (netdev->dev.parent)
		pm_runtime_put(netdev->dev.parent);
}

/*
 * As hyb_off_filter_change(), with RTNL; a device that is gone has no filters any more.
 * Context: process, no lock.
 */
static void hyb_off_filter_set(struct hyb_off_conn *o, u32 max)
{
	struct net_device *netdev = o->netdev;

	rtnl_lock();
	if (hyb_off_ops_begin(netdev)) {
		hyb_off_filter_change(o, max);
		hyb_off_ops_end(netdev);
	} else if (o->steer.have) {
		hyb_off_filter_forget(o);
	}
	rtnl_unlock();
}

/*
 * Insert or remove the filter if that is wanted, then report to hyb_off_conn. Drops the
 * reference that hyb_off_steer_queue() took.
 */
static void hyb_off_steer_work(struct work_struct *work)
{
	struct hyb_off_conn *o = container_of(work, struct hyb_off_conn,
					      steer.work);
	u32 max = READ_ONCE(o->steer.lost) ? 0 : READ_ONCE(o->steer.max);
	bool have = READ_ONCE(o->steer.have);
	struct sock *sk = o->sk;

	if (have == !max)
		hyb_off_filter_set(o, max);
	lock_sock(sk);
	o->steer.done(o, READ_ONCE(o->steer.have) && !have);
	release_sock(sk);
	sock_put(sk);
}

/**
 * hyb_off_steer_set - have the flow steered by a filter, or not
 * @o: connection
 * @max: filters that connections of the RDMA device may have in all; 0: this one
 *	 gets none
 *
 * The work item does it. Then it calls @o->steer.done; @o->steer.have says whether there
 * is a filter.
 *
 * Context: process, TCP socket owned.
 */
void hyb_off_steer_set(struct hyb_off_conn *o, u32 max)
{
	WRITE_ONCE(o->steer.max, max);
	WRITE_ONCE(o->steer.lost, false);
	hyb_off_steer_queue(o);
}

/**
 * hyb_off_steer_init - no filter yet
 * @o: new connection
 * @table: of its RDMA device; gets a reference
 * @user: the user that the filter counts for
 * @done: see struct hyb_off_steer
 *
 * Context: process; @o is not in use yet.
 */
void hyb_off_steer_init(struct hyb_off_conn *o, struct hyb_off_table *table,
			kuid_t user,
			void (*done)(struct hyb_off_conn *o, bool added))
{
	kref_get(&table->ref);
	o->steer.table = table;
	o->steer.user = user;
	o->steer.done = done;
	INIT_WORK(&o->steer.work, hyb_off_steer_work);
}

static void hyb_off_table_free(struct kref *ref)
{
	struct hyb_off_table *table = container_of(ref, struct hyb_off_table,
						   ref);

	/* each filter was subtracted, and an empty array has no memory */
	WARN_ON_ONCE(!xa_empty(&table->users));
	hyb_off_places_drop(table);
	kfree(table);
}

/**
 * hyb_off_steer_end - the connection is being freed
 * @o: connection without a filter, whose work item is not queued
 *
 * Context: any.
 */
void hyb_off_steer_end(struct hyb_off_conn *o)
{
	kref_put(&o->steer.table->ref, hyb_off_table_free);
}

/**
 * hyb_off_dev_init - make the table of connections with filters
 * @dev: new RDMA device
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int hyb_off_dev_init(struct hyb_dev *dev)
{
	struct hyb_off_table *table = kzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	kref_init(&table->ref);
	INIT_LIST_HEAD(&table->conns);
	xa_init(&table->users);
	dev->filters = table;
	return 0;
}

/**
 * hyb_off_dev_exit - drop the device's reference of the table
 * @dev: RDMA device; connections that still wait for their peers keep the table
 *
 * Context: process.
 */
void hyb_off_dev_exit(struct hyb_dev *dev)
{
	kref_put(&dev->filters->ref, hyb_off_table_free);
}
