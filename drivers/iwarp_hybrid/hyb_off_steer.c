// SPDX-License-Identifier: GPL-2.0
/*
 * Steering by filters of ordinary NICs: the flow of a connection to a receive
 * queue of our choice ("ntuple" filters, as "ethtool -N" sets them).
 *
 * The operations want RTNL, which is taken in a work item: a connection is set
 * up and torn down under locks that others take under RTNL.
 *
 * Calls the net device's ethtool operations.
 */
#include <linux/cpu_rmap.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat.h"
#include "hyb_off_priv.h"

struct workqueue_struct *hyb_off_wq;
#ifdef HAVE_NETDEV_LOCK_OPS
#include <net/netdev_lock.h>
#endif

#ifndef HAVE_NETDEV_LOCK_OPS
#define netdev_lock_ops(dev)	do { } while (0)
#define netdev_unlock_ops(dev)	do { } while (0)
#endif

/* Tables larger than this are not searched for a free place */
#define HYB_OFF_RULES_MAX	8192

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

/* The connection as the incoming packets have it */
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

/* The last place of @size that is not among @nr used ones */
static int hyb_off_free_loc(const u32 *used, u32 nr, u32 size)
{
	u32 loc = size;
	u32 i;

	while (loc--) {
		for (i = 0; i < nr && used[i] != loc; i++)
			;
		if (i == nr)
			return loc;
	}
	return -ENOSPC;
}

/* Many drivers require the place of a filter in their table */
static int hyb_off_find_loc(struct net_device *netdev, u32 *loc)
{
	struct ethtool_rxnfc all = { .cmd = ETHTOOL_GRXCLSRLALL };
	struct ethtool_rxnfc cnt = { .cmd = ETHTOOL_GRXCLSRLCNT };
	u32 *used;
	int ret;

	if (!netdev->ethtool_ops->get_rxnfc)
		return -EOPNOTSUPP;
	ret = netdev->ethtool_ops->get_rxnfc(netdev, &cnt, NULL);
	if (ret)
		return ret;
	*loc = RX_CLS_LOC_ANY;
	if (cnt.data & RX_CLS_LOC_SPECIAL)
		return 0;
	all.rule_cnt = min_t(u32, cnt.rule_cnt, HYB_OFF_RULES_MAX);
	used = kcalloc(all.rule_cnt + 1, sizeof(*used), GFP_KERNEL);
	if (!used)
		return -ENOMEM;
	ret = 0;
	if (all.rule_cnt)
		ret = netdev->ethtool_ops->get_rxnfc(netdev, &all, used);
	if (!ret) {
		/* some count in the call for all of them only */
		u32 size = all.data ? all.data : cnt.data;

		ret = hyb_off_free_loc(used, all.rule_cnt,
				       min_t(u32, size, HYB_OFF_RULES_MAX));
	}
	kfree(used);
	if (ret < 0)
		return ret;
	*loc = ret;
	return 0;
}

/* The queue that interrupts @cpu, or one nearby, if the driver tells; else any */
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

/* Context: RTNL held */
static int hyb_off_filter_add(struct hyb_off_conn *o)
{
	struct ethtool_rxnfc nfc = { .cmd = ETHTOOL_SRXCLSRLINS };
	struct net_device *netdev = o->netdev;
	int err;

	o->steer.queue = hyb_off_near(netdev, READ_ONCE(o->nic.cpu));
	hyb_off_flow(&o->nic, &nfc.fs);
	nfc.fs.ring_cookie = o->steer.queue;
	err = hyb_off_find_loc(netdev, &nfc.fs.location);
	if (!err)
		err = netdev->ethtool_ops->set_rxnfc(netdev, &nfc);
	if (!err)
		o->steer.loc = nfc.fs.location;
	return err;
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
 * An administrator may have deleted the filter and put another one in its place.
 * Context: RTNL held.
 */
static void hyb_off_filter_del(struct hyb_off_conn *o)
{
	struct ethtool_rxnfc is = { .cmd = ETHTOOL_GRXCLSRULE };
	struct ethtool_rxnfc nfc = { .cmd = ETHTOOL_SRXCLSRLDEL };
	struct net_device *netdev = o->netdev;

	ASSERT_RTNL();
	hyb_off_flow(&o->nic, &nfc.fs);
	nfc.fs.location = o->steer.loc;
	is.fs.location = o->steer.loc;
	if (!netdev->ethtool_ops->get_rxnfc(netdev, &is, NULL) &&
	    hyb_off_flow_same(&is.fs, &nfc.fs))
		netdev->ethtool_ops->set_rxnfc(netdev, &nfc);
}

/* With the device gone its filters are, too */
static void hyb_off_filter_set(struct hyb_off_conn *o, bool want)
{
	struct net_device *netdev = o->netdev;
	bool have = false;

	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED) {
		netdev_lock_ops(netdev);
		if (want)
			have = hyb_off_steer_can(netdev) &&
			       !hyb_off_filter_add(o);
		else
			hyb_off_filter_del(o);
		netdev_unlock_ops(netdev);
	}
	rtnl_unlock();
	WRITE_ONCE(o->steer.have, have);
}

static void hyb_off_steer_work(struct work_struct *work)
{
	struct hyb_off_conn *o = container_of(work, struct hyb_off_conn,
					      steer.work);
	bool want = READ_ONCE(o->steer.want);
	bool have = o->steer.have;
	struct sock *sk = o->sk;

	if (want != have)
		hyb_off_filter_set(o, want);
	lock_sock(sk);
	o->steer.done(o, o->steer.have && !have);
	release_sock(sk);
	sock_put(sk);
}

/**
 * hyb_off_steer_set - have the flow steered, or not
 * @o: connection
 * @want: by a filter
 *
 * Later @o->steer.done is called, with @o->steer.have set.
 *
 * Context: process, TCP socket owned.
 */
void hyb_off_steer_set(struct hyb_off_conn *o, bool want)
{
	WRITE_ONCE(o->steer.want, want);
	sock_hold(o->sk);
	if (!queue_work(hyb_off_wq, &o->steer.work))
		sock_put(o->sk);
}

/**
 * hyb_off_steer_init - no filter yet
 * @o: new connection
 * @done: see struct hyb_off_steer
 */
void hyb_off_steer_init(struct hyb_off_conn *o,
			void (*done)(struct hyb_off_conn *o, bool added))
{
	o->steer.done = done;
	INIT_WORK(&o->steer.work, hyb_off_steer_work);
}
