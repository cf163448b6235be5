// SPDX-License-Identifier: GPL-2.0
/*
 * hnic.ko: module, links, network devices. See hnic.h for the whole.
 *
 * Top layer: calls all others. Context: process with RTNL held, unless a function
 * says otherwise.
 */
#include <linux/cpu_rmap.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/rtnetlink.h>
#include <uapi/linux/hnic.h>

#include "hnic.h"
#include "hnic_trace.h"

#define HNIC_FEATURES	(NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO | \
			 NETIF_F_TSO6 | NETIF_F_TSO_ECN | NETIF_F_RXCSUM | \
			 NETIF_F_RXHASH | NETIF_F_NTUPLE)

#define HNIC_OFFLOAD	(BIT(IWARP_OFFLOAD_TX_CRC) | \
			 BIT(IWARP_OFFLOAD_RX_CRC) | \
			 BIT(IWARP_OFFLOAD_RX_DEMUX) | \
			 BIT(IWARP_OFFLOAD_TX_CONTIG) | \
			 BIT(IWARP_OFFLOAD_TX_SG) | \
			 BIT(IWARP_OFFLOAD_RX_PLACE))

/* ------------------------------------------------------------- transmit */

/* Context: softirq or process, lock of the queue held */
static netdev_tx_t hnic_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int index = skb_get_queue_mapping(skb);
	struct hnic_txq *tx = hd->queue[index].tx;
	struct netdev_queue *txq = netdev_get_tx_queue(netdev, index);
	u32 head = tx->head, len = skb->len;
	struct hnic_tx_slot *slot;
	bool kick;

	/* pairs with hnic_poll_tx(): it does not read the slot any more */
	if (unlikely(head - smp_load_acquire(&tx->clean) == HNIC_RING)) {
		netif_tx_stop_queue(txq);
		return NETDEV_TX_BUSY;
	}
	skb_tx_timestamp(skb);
	slot = &tx->slot[head % HNIC_RING];
	slot->skb = skb;
	slot->len = len;
	/* count it before the slot is visible, as NAPI may complete it without a kick */
	kick = __netdev_tx_sent_queue(txq, len, netdev_xmit_more());
	/* pairs with hnic_tx_ring(): the slot is complete */
	smp_store_release(&tx->head, head + 1);
	if (head + 1 - READ_ONCE(tx->clean) == HNIC_RING) {
		netif_tx_stop_queue(txq);
		/* pairs with hnic_poll_tx() */
		smp_mb();
		if (head + 1 - READ_ONCE(tx->clean) < HNIC_RING)
			netif_tx_start_queue(txq);
	}
	if (kick || netif_xmit_stopped(txq))
		hnic_engine_kick(&hd->tx);
	return NETDEV_TX_OK;
}

/*
 * The engine segments packets without IP options and extension headers only.
 * With these, lengths and the pseudo header of the checksum would differ.
 * Context: softirq or process; the lock of the queue is not held yet.
 */
static netdev_features_t hnic_features_check(struct sk_buff *skb,
					     struct net_device *netdev,
					     netdev_features_t features)
{
	bool ipv6 = skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6;
	u32 plain = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	if (skb_is_gso(skb) && skb_network_header_len(skb) != plain)
		features &= ~NETIF_F_GSO_MASK;
	return vlan_features_check(skb, features);
}

/* ---------------------------------------------------------- open, close */

static void hnic_carrier(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	struct net_device *peer = rtnl_dereference(hd->peer);
	bool on = peer && netif_running(netdev) && netif_running(peer);

	if (on) {
		netif_carrier_on(netdev);
		netif_carrier_on(peer);
		return;
	}
	netif_carrier_off(netdev);
	if (peer)
		netif_carrier_off(peer);
}

static int hnic_start_engines(struct hnic_dev *hd)
{
	char name[IFNAMSIZ + 8];
	int err;

	snprintf(name, sizeof(name), "hnic-tx/%s", hd->netdev->name);
	err = hnic_engine_start(&hd->tx, name);
	if (err)
		return err;
	snprintf(name, sizeof(name), "hnic-rx/%s", hd->netdev->name);
	err = hnic_engine_start(&hd->rx, name);
	if (err)
		hnic_engine_stop(&hd->tx);
	return err;
}

/* NAPI and engines, in this order; all rings are empty */
static int hnic_up(struct hnic_dev *hd)
{
	int i, err;

	for (i = 0; i < hd->nqueues; i++) {
		netif_napi_add(hd->netdev, &hd->queue[i].napi, hnic_poll);
		napi_enable(&hd->queue[i].napi);
	}
	netdev_lock(hd->netdev);
	mutex_lock(&hd->lock);
	err = hnic_start_engines(hd);
	for (i = 0; i < hd->nqueues && !err; i++)
		if (hd->queue[i].cpu >= 0)
			hnic_queue_pin(&hd->queue[i], hd->queue[i].cpu);
	mutex_unlock(&hd->lock);
	netdev_unlock(hd->netdev);
	if (!err) {
		hnic_wire_up(&hd->wire, true);
		return 0;
	}
	for (i = 0; i < hd->nqueues; i++) {
		napi_disable(&hd->queue[i].napi);
		netif_napi_del(&hd->queue[i].napi);
	}
	return err;
}

/*
 * Engines first: they schedule NAPI. There is nothing to do after
 * hnic_up() has failed.
 */
static void hnic_down(struct hnic_dev *hd)
{
	int i;

	if (!hd->tx.task)
		return;
	hnic_wire_up(&hd->wire, false);
	mutex_lock(&hd->lock);
	hnic_engine_stop(&hd->tx);
	hnic_engine_stop(&hd->rx);
	mutex_unlock(&hd->lock);
	hrtimer_cancel(&hd->tx_timer);
	hrtimer_cancel(&hd->rx_timer);
	for (i = 0; i < hd->nqueues; i++) {
		napi_disable(&hd->queue[i].napi);
		netif_napi_del(&hd->queue[i].napi);
	}
	/*
	 * The stack may still send: ethtool does not stop it. Stop the queues after
	 * NAPI, which wakes them. This also waits for calls of hnic_xmit() under way.
	 */
	netif_tx_disable(hd->netdev);
	hnic_link_reset(hd);
	hnic_tx_flush(hd);
	hnic_rx_flush(hd);
	hnic_pool_free(&hd->pool);
}

static int hnic_open(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int i, err;

	if (!rtnl_dereference(hd->peer))
		return -ENOTCONN;
	/* the rings are empty; all queues that were used before are stopped */
	for (i = 0; i < netdev->num_tx_queues; i++)
		netdev_tx_reset_queue(netdev_get_tx_queue(netdev, i));
	err = hnic_up(hd);
	if (err)
		return err;
	/* queueing disciplines kept packets while ethtool had the device stopped */
	netif_tx_wake_all_queues(netdev);
	hnic_carrier(netdev);
	trace_hnic_state(netdev, true);
	return 0;
}

static int hnic_stop(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	struct net_device *peer = rtnl_dereference(hd->peer);

	netif_carrier_off(netdev);
	if (peer)
		netif_carrier_off(peer);
	hnic_down(hd);
	trace_hnic_state(netdev, false);
	return 0;
}

/* ------------------------------------------------------- other functions */

/* Context: RTNL or RCU */
static void hnic_get_stats64(struct net_device *netdev,
			     struct rtnl_link_stats64 *st)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	u64 rxp, rxo, txp, txo;
	unsigned int start;
	int i;

	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_queue *q = &hd->queue[i];

		do {
			start = u64_stats_fetch_begin(&q->sync);
			rxp = q->rx_packets;
			rxo = q->rx_bytes;
			txp = q->tx_packets;
			txo = q->tx_bytes;
		} while (u64_stats_fetch_retry(&q->sync, start));
		st->rx_packets += rxp;
		st->rx_bytes += rxo;
		st->tx_packets += txp;
		st->tx_bytes += txo;
	}
	st->tx_dropped = READ_ONCE(hd->tx_stats.no_memory) +
			 READ_ONCE(hd->tx_stats.too_long) +
			 READ_ONCE(hd->tx_stats.crc_stale) +
			 READ_ONCE(hd->tx_stats.crc_dropped);
	st->tx_carrier_errors = READ_ONCE(hd->tx_stats.no_link);
	st->rx_missed_errors = READ_ONCE(hd->rx_stats.missed);
	st->rx_dropped = READ_ONCE(hd->rx_stats.dropped_ntuple);
}

static int hnic_change_mtu(struct net_device *netdev, int mtu)
{
	WRITE_ONCE(netdev->mtu, mtu);
	return 0;
}

/* Context: RTNL or RCU */
static int hnic_get_iflink(const struct net_device *netdev)
{
	const struct hnic_dev *hd = netdev_priv(netdev);
	struct net_device *peer;
	int index;

	rcu_read_lock();
	peer = rcu_dereference(hd->peer);
	index = peer ? peer->ifindex : 0;
	rcu_read_unlock();
	return index;
}

/*
 * The device receives packets to all addresses; the stack drops those of others.
 * Context: netif_addr_lock_bh() held.
 */
static void hnic_set_rx_mode(struct net_device *netdev)
{
}

static int hnic_alloc_queues(struct hnic_dev *hd)
{
	struct hnic_queue *q;
	int i;

	hd->nqueues = max(hd->netdev->num_rx_queues, hd->netdev->num_tx_queues);
	hd->queue = kvcalloc(hd->nqueues, sizeof(*hd->queue),
			     GFP_KERNEL_ACCOUNT);
	if (!hd->queue)
		return -ENOMEM;
	for (i = 0; i < hd->nqueues; i++) {
		hnic_queue_init(hd, i);
		q = &hd->queue[i];
		q->tx = kvzalloc(sizeof(*q->tx), GFP_KERNEL_ACCOUNT);
		q->rx = kvzalloc(sizeof(*q->rx), GFP_KERNEL_ACCOUNT);
		if (!q->tx || !q->rx)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Also of a device whose hnic_init() failed in the middle. Context: process, with or
 * without RTNL: the core calls it when the last reference of the device is gone.
 */
static void hnic_free(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int i;

	for (i = 0; hd->queue && i < hd->nqueues; i++) {
		kvfree(hd->queue[i].tx);
		kvfree(hd->queue[i].rx);
	}
	kvfree(hd->queue);
	hd->queue = NULL;
	mem_cgroup_put(hd->pool.memcg);
	hd->pool.memcg = NULL;
	hnic_filter_purge(hd);
}

#ifdef CONFIG_RFS_ACCEL
/* The queue near to each CPU: hnic_queue_pin() writes it, RFS and iwarp_hybrid read it */
static int hnic_alloc_rmap(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	u32 i;

	netdev->rx_cpu_rmap = alloc_cpu_rmap(netdev->num_rx_queues, GFP_KERNEL);
	if (!netdev->rx_cpu_rmap)
		return -ENOMEM;
	for (i = 0; i < netdev->num_rx_queues; i++)
		cpu_rmap_add(netdev->rx_cpu_rmap, &hd->queue[i]);
	return 0;
}

/* The files in sysfs stay for a while: hnic_queue_pin() may be called later */
static void hnic_free_rmap(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	mutex_lock(&hd->lock);
	if (netdev->rx_cpu_rmap)
		cpu_rmap_put(netdev->rx_cpu_rmap);
	netdev->rx_cpu_rmap = NULL;
	mutex_unlock(&hd->lock);
}

/*
 * RFS asks devices with a map for filters; the filters here are for "ethtool -N".
 * Context: softirq, RCU.
 */
static int hnic_rx_flow_steer(struct net_device *netdev,
			      const struct sk_buff *skb, u16 queue, u32 flow)
{
	return -EOPNOTSUPP;
}
#else
static int hnic_alloc_rmap(struct net_device *netdev)
{
	return 0;
}

static void hnic_free_rmap(struct net_device *netdev)
{
}
#endif

/* -------------------------------------------------------------- devices */

/* ndo_init: the numbers of queues are known */
static int hnic_init(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int err;

	netdev_lockdep_set_classes(netdev);
	err = hnic_conn_init(hd);
	if (err)
		return err;
	hd->pool.memcg = get_mem_cgroup_from_mm(current->mm);
	err = hnic_alloc_queues(hd);
	if (!err)
		err = hnic_alloc_rmap(netdev);
	if (!err)
		return 0;
	hnic_conn_exit(hd);
	hnic_free(netdev);
	return err;
}

static void hnic_uninit(struct net_device *netdev)
{
	hnic_conn_exit(netdev_priv(netdev));
	hnic_free_rmap(netdev);
}

static const struct net_device_ops hnic_netdev_ops = {
	.ndo_init		= hnic_init,
	.ndo_uninit		= hnic_uninit,
	.ndo_open		= hnic_open,
	.ndo_stop		= hnic_stop,
	.ndo_start_xmit		= hnic_xmit,
	.ndo_features_check	= hnic_features_check,
	.ndo_get_stats64	= hnic_get_stats64,
	.ndo_set_rx_mode	= hnic_set_rx_mode,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
	.ndo_change_mtu		= hnic_change_mtu,
	.ndo_get_iflink		= hnic_get_iflink,
#ifdef CONFIG_RFS_ACCEL
	.ndo_rx_flow_steer	= hnic_rx_flow_steer,
#endif
};

/* ---------------------------------------------------------------- links */

static void hnic_setup(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int i;

	ether_setup(netdev);
	netdev->netdev_ops = &hnic_netdev_ops;
	netdev->ethtool_ops = &hnic_ethtool_ops;
	netdev->sysfs_groups[0] = &hnic_sysfs_group;
	netdev->priv_flags &= ~IFF_TX_SKB_SHARING;
	netdev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	netdev->features = HNIC_FEATURES;
	netdev->hw_features = HNIC_FEATURES;
	netdev->vlan_features = HNIC_FEATURES & ~NETIF_F_NTUPLE;
	netdev->max_mtu = HNIC_MTU_MAX;
	netdev->needs_free_netdev = true;
	netdev->priv_destructor = hnic_free;

	hd->netdev = netdev;
	mutex_init(&hd->lock);
	spin_lock_init(&hd->wire.lock);
	for (i = 0; i < HNIC_LANES; i++)
		hnic_list_init(&hd->wire.lane[i]);
	hnic_list_init(&hd->todo);
	hnic_list_init(&hd->landing);
	hrtimer_setup(&hd->tx_timer, hnic_tx_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	hrtimer_setup(&hd->rx_timer, hnic_rx_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	hd->rx_frames = 1;
	hd->tx_dma.wait_ns = &hd->tx_stats.dma_wait_ns;
	hd->rx_dma.wait_ns = &hd->rx_stats.dma_wait_ns;
	hd->tx_usecs = 100;
	hd->tx_frames = 32;
	hd->pause = true;
	hd->offload = HNIC_OFFLOAD;
	hd->link.random = 1;
	hd->rx_random = 1;
	hd->link.knob[HNIC_NPATHS] = 1;
	hd->link.knob[HNIC_REORDER_DELAY] = 200;
	hd->link.knob[HNIC_MAX_CONNS] = HNIC_CONNS;
	hd->link.knob[HNIC_MAX_FRAGS] = MAX_SKB_FRAGS;
	hd->link.knob[HNIC_MAX_FPDU] = HNIC_MTU_MAX;
	hd->link.knob[HNIC_MAX_BUFS] = HNIC_BUFS;
	hd->link.knob[HNIC_SEED] = 1;

	hnic_engine_init(&hd->tx, hd);
	hd->tx.run = hnic_tx_run;
	hd->tx.after = hnic_tx_after;
	hd->tx.ns = &hd->tx_stats.ns;
	hnic_engine_init(&hd->rx, hd);
	hd->rx.run = hnic_rx_run;
	hd->rx.after = hnic_rx_after;
	hd->rx.ns = &hd->rx_stats.ns;
}

/* Refuse more queues than HNIC_QUEUES, which the core would allow */
static int hnic_check_queues(struct nlattr *num,
			     struct netlink_ext_ack *extack)
{
	if (!num || nla_get_u32(num) <= HNIC_QUEUES)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, num, "hnic: at most 16 queues");
	return -EINVAL;
}

/* Context: process; not every kernel holds RTNL */
static int hnic_validate(struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	struct nlattr *mac = tb[IFLA_ADDRESS];
	int err;

	err = hnic_check_queues(tb[IFLA_NUM_TX_QUEUES], extack) ?:
	      hnic_check_queues(tb[IFLA_NUM_RX_QUEUES], extack);
	if (err || !mac)
		return err;
	if (nla_len(mac) != ETH_ALEN) {
		NL_SET_ERR_MSG_ATTR(extack, mac, "hnic: not an Ethernet address");
		return -EINVAL;
	}
	if (!is_valid_ether_addr(nla_data(mac))) {
		NL_SET_ERR_MSG_ATTR(extack, mac, "hnic: a multicast or zero address");
		return -EADDRNOTAVAIL;
	}
	return 0;
}

static struct rtnl_link_ops hnic_link_ops;

/* One end, to be followed by hnic_tie(); nothing to undo if it fails */
static int hnic_register(struct net_device *netdev, bool has_address)
{
	int err;

	if (!has_address)
		eth_hw_addr_random(netdev);
	/*
	 * NAPI has threads of its own: the host's work is apart from the engines'. The core
	 * wants this before the device is registered, or else with its lock.
	 */
	netif_threaded_enable(netdev);
	err = register_netdevice(netdev);
	if (err)
		return err;
	netif_carrier_off(netdev);
	return 0;
}

/* Create and register the other end in its namespace */
static struct net_device *hnic_new_peer(struct net *net, struct nlattr *tb[],
					struct ifinfomsg *ifm,
					struct netlink_ext_ack *extack)
{
	unsigned char assign = NET_NAME_ENUM;
	char name[IFNAMSIZ] = "hnic%d";
	struct net_device *peer;
	int err;

	if (ifm && tb[IFLA_IFNAME]) {
		nla_strscpy(name, tb[IFLA_IFNAME], sizeof(name));
		assign = NET_NAME_USER;
	}
	peer = rtnl_create_link(net, name, assign, &hnic_link_ops, tb, extack);
	if (IS_ERR(peer))
		return peer;
	if (ifm && ifm->ifi_index > 0)
		peer->ifindex = ifm->ifi_index;
	/* without attributes of its own, the address in @tb is the other end's */
	err = hnic_register(peer, ifm && tb[IFLA_ADDRESS]);
	if (err) {
		free_netdev(peer);
		return ERR_PTR(err);
	}
	err = rtnl_configure_link(peer, ifm, 0, NULL);
	if (err) {
		unregister_netdevice(peer);
		return ERR_PTR(err);
	}
	return peer;
}

static void hnic_announce(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	hd->offload_on = !iwarp_offload_register(netdev, &hnic_offload_ops);
}

static void hnic_tie(struct net_device *a, struct net_device *b)
{
	struct hnic_dev *ha = netdev_priv(a), *hb = netdev_priv(b);

	rcu_assign_pointer(ha->peer, b);
	rcu_assign_pointer(hb->peer, a);
	hnic_announce(a);
	hnic_announce(b);
}

static int hnic_new_pair(struct net_device *netdev, struct net *peer_net,
			 struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	struct nlattr *peer_tb[IFLA_MAX + 1], **ptb = tb;
	struct ifinfomsg *ifm = NULL;
	struct net_device *peer;
	int err;

	/*
	 * Kernel threads of a pair are in no control group: four, and one for each queue.
	 * This includes the right in each user namespace, so in that of the peer.
	 */
	if (!capable(CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG(extack, "hnic: not permitted in a user namespace");
		return -EPERM;
	}
	if (data && data[HNIC_INFO_PEER]) {
		ifm = nla_data(data[HNIC_INFO_PEER]);
		err = rtnl_nla_parse_ifinfomsg(peer_tb, data[HNIC_INFO_PEER],
					       extack);
		if (err)
			return err;
		err = hnic_validate(peer_tb, NULL, extack);
		if (err)
			return err;
		ptb = peer_tb;
	}
	peer = hnic_new_peer(peer_net, ptb, ifm, extack);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	err = hnic_register(netdev, tb[IFLA_ADDRESS]);
	if (err) {
		unregister_netdevice(peer);
		return err;
	}
	hnic_tie(netdev, peer);
	return 0;
}

#ifdef HAVE_RTNL_NEWLINK_PARAMS
static int hnic_newlink(struct net_device *netdev,
			struct rtnl_newlink_params *params,
			struct netlink_ext_ack *extack)
{
	return hnic_new_pair(netdev, rtnl_newlink_peer_net(params), params->tb,
			     params->data, extack);
}
#else
static int hnic_newlink(struct net *src_net, struct net_device *netdev,
			struct nlattr *tb[], struct nlattr *data[],
			struct netlink_ext_ack *extack)
{
	struct nlattr *peer_tb[IFLA_MAX + 1], **ptb = tb;
	struct net *net;
	int err;

	if (data && data[HNIC_INFO_PEER]) {
		err = rtnl_nla_parse_ifinfomsg(peer_tb, data[HNIC_INFO_PEER],
					       extack);
		if (err)
			return err;
		ptb = peer_tb;
	}
	net = rtnl_link_get_net(src_net, ptb);
	if (IS_ERR(net))
		return PTR_ERR(net);
	err = hnic_new_pair(netdev, net, tb, data, extack);
	put_net(net);
	return err;
}
#endif

static void hnic_unlink_one(struct net_device *netdev, struct list_head *head)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	if (hd->offload_on)
		iwarp_offload_unregister(netdev);
	hd->offload_on = false;
	unregister_netdevice_queue(netdev, head);
}

/*
 * Both ends go, wherever they are. An engine may still use what it read from
 * the pointer: both devices are closed before RTNL is released, and only then
 * are they freed.
 */
static void hnic_dellink(struct net_device *netdev, struct list_head *head)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	struct net_device *peer = rtnl_dereference(hd->peer);
	struct hnic_dev *ph = peer ? netdev_priv(peer) : NULL;
	LIST_HEAD(own);

	if (!head)
		head = &own;
	hnic_unlink_one(netdev, head);
	if (peer)
		hnic_unlink_one(peer, head);
	if (head == &own)
		unregister_netdevice_many(&own);
	RCU_INIT_POINTER(hd->peer, NULL);
	if (ph)
		RCU_INIT_POINTER(ph->peer, NULL);
}

static struct net *hnic_get_link_net(const struct net_device *netdev)
{
	const struct hnic_dev *hd = netdev_priv(netdev);
	struct net_device *peer = rtnl_dereference(hd->peer);

	return peer ? dev_net(peer) : dev_net(netdev);
}

static unsigned int hnic_num_queues(void)
{
	return min_t(unsigned int, num_possible_cpus(), HNIC_QUEUES);
}

static const struct nla_policy hnic_policy[HNIC_INFO_MAX + 1] = {
	[HNIC_INFO_PEER] = { .len = sizeof(struct ifinfomsg) },
};

static struct rtnl_link_ops hnic_link_ops = {
	.kind			= "hnic",
	.priv_size		= sizeof(struct hnic_dev),
	.setup			= hnic_setup,
	.validate		= hnic_validate,
	.newlink		= hnic_newlink,
	.dellink		= hnic_dellink,
	.policy			= hnic_policy,
	.maxtype		= HNIC_INFO_MAX,
	.get_link_net		= hnic_get_link_net,
	.get_num_tx_queues	= hnic_num_queues,
	.get_num_rx_queues	= hnic_num_queues,
#ifdef HAVE_RTNL_NEWLINK_PARAMS
	.peer_type		= HNIC_INFO_PEER,
#endif
};

static int __init hnic_module_init(void)
{
	return rtnl_link_register(&hnic_link_ops);
}

static void __exit hnic_module_exit(void)
{
	rtnl_link_unregister(&hnic_link_ops);
	rcu_barrier();
}

module_init(hnic_module_init);
module_exit(hnic_module_exit);

MODULE_DESCRIPTION("Simulated NIC with iWARP engines");
MODULE_AUTHOR("Seed bba8b324 maintainers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("hnic");
