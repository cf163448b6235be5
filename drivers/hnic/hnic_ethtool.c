// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool: engines (private flags), counters, queues, filters, coalescing,
 * pause. Calls hnic_filter.c, the net device's operations for open and stop, and
 * iwarp_offload_changed().
 *
 * Context of all: process, RTNL held.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "hnic.h"

/* By enum iwarp_offload_feature */
static const char hnic_priv_flags[][ETH_GSTRING_LEN] = {
	[IWARP_OFFLOAD_TX_CRC] = "iwarp-tx-crc",
	[IWARP_OFFLOAD_RX_CRC] = "iwarp-rx-crc",
	[IWARP_OFFLOAD_RX_DEMUX] = "iwarp-rx-demux",
	[IWARP_OFFLOAD_TX_CONTIG] = "iwarp-tx-contig",
	[IWARP_OFFLOAD_TX_SG] = "iwarp-tx-sg",
	[IWARP_OFFLOAD_RX_PLACE] = "iwarp-rx-place",
};

/* In the order of the fields of the three structures; then two that are computed */
static const char hnic_stat_names[][ETH_GSTRING_LEN] = {
	"tx_engine_packets",
	"tx_engine_bytes",
	"tx_engine_tso",
	"tx_engine_no_memory",
	"tx_engine_too_long",
	"tx_engine_no_link",
	"tx_engine_fpdus",
	"tx_engine_crc_filled",
	"tx_engine_crc_fallback",
	"tx_engine_crc_unknown",
	"tx_engine_crc_stale",
	"tx_engine_crc_dropped",
	"tx_engine_contig_fpdus",
	"tx_engine_dma_ops",
	"tx_engine_dma_hdr_ops",
	"tx_engine_dma_marker_ops",
	"tx_engine_dma_bytes",
	"tx_engine_move_read_bytes",
	"tx_engine_move_write_bytes",
	"tx_engine_crc_bytes",
	"tx_engine_send_bytes",
	"tx_engine_dma_wait_ns",
	"tx_engine_ns",
	"rx_engine_packets",
	"rx_engine_bytes",
	"rx_engine_csum_good",
	"rx_engine_csum_bad",
	"rx_engine_missed",
	"rx_engine_paused",
	"rx_engine_fpdus",
	"rx_engine_crc_good",
	"rx_engine_crc_bad",
	"rx_engine_verdicts",
	"rx_engine_no_verdict",
	"rx_engine_resync_lost",
	"rx_engine_resync_host",
	"rx_engine_resync_self",
	"rx_engine_placed_fpdus",
	"rx_engine_placed_bytes",
	"rx_engine_place_missed",
	"rx_engine_place_refused",
	"rx_engine_place_lost",
	"rx_engine_steered_conn",
	"rx_engine_steered_ntuple",
	"rx_engine_dropped_ntuple",
	"rx_engine_dma_ops",
	"rx_engine_dma_bytes",
	"rx_engine_crc_bytes",
	"rx_engine_dma_wait_ns",
	"rx_engine_ns",
	"link_lost",
	"link_reordered",
	"link_split",
	"link_coalesced",
	"link_corrupted",
	"link_ns",
	"nic_ns",
	"connections",
};

static_assert(ARRAY_SIZE(hnic_stat_names) ==
	      (sizeof(struct hnic_tx_stats) + sizeof(struct hnic_rx_stats) +
	       sizeof(struct hnic_link_stats)) / sizeof(u64) +
	      2 /* nic_ns, connections */);

static const char * const hnic_queue_names[] = {
	"rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "polls",
};

#define HNIC_QUEUE_STATS	ARRAY_SIZE(hnic_queue_names)

static int hnic_get_sset_count(struct net_device *netdev, int set)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	switch (set) {
	case ETH_SS_STATS:
		return ARRAY_SIZE(hnic_stat_names) +
		       hd->nqueues * HNIC_QUEUE_STATS;
	case ETH_SS_PRIV_FLAGS:
		return ARRAY_SIZE(hnic_priv_flags);
	default:
		return -EOPNOTSUPP;
	}
}

static void hnic_get_strings(struct net_device *netdev, u32 set, u8 *data)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	int i, k;

	if (set == ETH_SS_PRIV_FLAGS) {
		memcpy(data, hnic_priv_flags, sizeof(hnic_priv_flags));
		return;
	}
	if (set != ETH_SS_STATS)
		return;
	memcpy(data, hnic_stat_names, sizeof(hnic_stat_names));
	data += sizeof(hnic_stat_names);
	for (i = 0; i < hd->nqueues; i++)
		for (k = 0; k < HNIC_QUEUE_STATS; k++)
			ethtool_sprintf(&data, "queue_%d_%s", i,
					hnic_queue_names[k]);
}

/* Take a consistent snapshot of the counters of an engine */
static void hnic_stats_copy(struct hnic_engine *e, void *to, const void *from,
			    size_t len)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&e->sync);
		memcpy(to, from, len);
	} while (u64_stats_fetch_retry(&e->sync, start));
}

static void hnic_queue_copy(struct hnic_queue *q, u64 *data)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&q->sync);
		data[0] = q->rx_packets;
		data[1] = q->rx_bytes;
		data[2] = q->tx_packets;
		data[3] = q->tx_bytes;
		data[4] = q->polls;
	} while (u64_stats_fetch_retry(&q->sync, start));
}

static void hnic_get_ethtool_stats(struct net_device *netdev,
				   struct ethtool_stats *stats, u64 *data)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	struct hnic_link_stats link;
	struct hnic_tx_stats tx;
	struct hnic_rx_stats rx;
	int i;

	hnic_stats_copy(&hd->tx, &tx, &hd->tx_stats, sizeof(tx));
	hnic_stats_copy(&hd->tx, &link, &hd->link.stats, sizeof(link));
	hnic_stats_copy(&hd->rx, &rx, &hd->rx_stats, sizeof(rx));
	/* the link is simulated in the TX engine, and no part of a NIC */
	tx.ns -= min(tx.ns, link.ns);
	memcpy(data, &tx, sizeof(tx));
	data += sizeof(tx) / sizeof(u64);
	memcpy(data, &rx, sizeof(rx));
	data += sizeof(rx) / sizeof(u64);
	memcpy(data, &link, sizeof(link));
	data += sizeof(link) / sizeof(u64);
	*data++ = tx.ns + rx.ns;
	*data++ = READ_ONCE(hd->nconns);
	for (i = 0; i < hd->nqueues; i++, data += HNIC_QUEUE_STATS)
		hnic_queue_copy(&hd->queue[i], data);
}

static u32 hnic_get_priv_flags(struct net_device *netdev)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	return hd->offload;
}

static int hnic_set_priv_flags(struct net_device *netdev, u32 flags)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	if (flags & ~(BIT(IWARP_OFFLOAD_FEATURES) - 1))
		return -EINVAL;
	if (flags == hd->offload)
		return 0;
	WRITE_ONCE(hd->offload, flags);
	if (hd->offload_on)
		iwarp_offload_changed(netdev);
	return 0;
}

static void hnic_get_drvinfo(struct net_device *netdev,
			     struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "hnic", sizeof(info->driver));
}

static int hnic_get_link_ksettings(struct net_device *netdev,
				   struct ethtool_link_ksettings *cmd)
{
	struct hnic_dev *hd = netdev_priv(netdev);
	u32 rate = READ_ONCE(hd->link.knob[HNIC_RATE]);

	cmd->base.speed = rate ?: SPEED_100000;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

/* ---------------------------------------------------- queues and rings */

static void hnic_get_channels(struct net_device *netdev,
			      struct ethtool_channels *ch)
{
	ch->max_combined = min(netdev->num_rx_queues, netdev->num_tx_queues);
	ch->combined_count = min(netdev->real_num_rx_queues,
				 netdev->real_num_tx_queues);
	ch->max_rx = netdev->num_rx_queues - ch->max_combined;
	ch->max_tx = netdev->num_tx_queues - ch->max_combined;
	ch->rx_count = netdev->real_num_rx_queues - ch->combined_count;
	ch->tx_count = netdev->real_num_tx_queues - ch->combined_count;
}

static int hnic_set_channels(struct net_device *netdev,
			     struct ethtool_channels *ch)
{
	u32 rx = ch->combined_count + ch->rx_count;
	u32 tx = ch->combined_count + ch->tx_count;
	bool running = netif_running(netdev);
	int err, err2;

	if (!rx || !tx || rx > netdev->num_rx_queues ||
	    tx > netdev->num_tx_queues)
		return -EINVAL;
	if (running)
		netdev->netdev_ops->ndo_stop(netdev);
	err = netif_set_real_num_queues(netdev, tx, rx);
	if (!running)
		return err;
	err2 = netdev->netdev_ops->ndo_open(netdev);
	/* the user can bring it up again if this fails */
	if (err2)
		dev_close(netdev);
	return err ?: err2;
}

static void hnic_get_ringparam(struct net_device *netdev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kring,
			       struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = HNIC_RING;
	ring->tx_max_pending = HNIC_RING;
	ring->rx_pending = HNIC_RING;
	ring->tx_pending = HNIC_RING;
}

static int hnic_get_coalesce(struct net_device *netdev,
			     struct ethtool_coalesce *ec,
			     struct kernel_ethtool_coalesce *kec,
			     struct netlink_ext_ack *extack)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	ec->tx_coalesce_usecs = hd->tx_usecs;
	ec->tx_max_coalesced_frames = hd->tx_frames;
	ec->rx_coalesce_usecs = hd->rx_usecs;
	ec->rx_max_coalesced_frames = hd->rx_frames;
	return 0;
}

static bool hnic_coalesce_frames(u32 frames)
{
	return frames && frames <= HNIC_RING / 2;
}

static int hnic_set_coalesce(struct net_device *netdev,
			     struct ethtool_coalesce *ec,
			     struct kernel_ethtool_coalesce *kec,
			     struct netlink_ext_ack *extack)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	if (ec->tx_coalesce_usecs > 10000 || ec->rx_coalesce_usecs > 10000) {
		NL_SET_ERR_MSG(extack, "hnic: tx-usecs and rx-usecs are at most 10000");
		return -EINVAL;
	}
	if (!hnic_coalesce_frames(ec->tx_max_coalesced_frames) ||
	    !hnic_coalesce_frames(ec->rx_max_coalesced_frames)) {
		NL_SET_ERR_MSG(extack, "hnic: tx-frames and rx-frames must be between 1 and 256");
		return -EINVAL;
	}
	WRITE_ONCE(hd->rx_usecs, ec->rx_coalesce_usecs);
	WRITE_ONCE(hd->rx_frames, ec->rx_max_coalesced_frames);
	WRITE_ONCE(hd->tx_usecs, ec->tx_coalesce_usecs);
	WRITE_ONCE(hd->tx_frames, ec->tx_max_coalesced_frames);
	return 0;
}

static void hnic_get_pauseparam(struct net_device *netdev,
				struct ethtool_pauseparam *pause)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	pause->rx_pause = 1;
	pause->tx_pause = hd->pause;
}

/* The peer always honours pause frames, so only tx_pause can be changed */
static int hnic_set_pauseparam(struct net_device *netdev,
			       struct ethtool_pauseparam *pause)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	if (pause->autoneg || !pause->rx_pause)
		return -EINVAL;
	WRITE_ONCE(hd->pause, !!pause->tx_pause);
	return 0;
}

#ifdef HAVE_GET_RX_RING_COUNT
static u32 hnic_get_rx_ring_count(struct net_device *netdev)
{
	return netdev->real_num_rx_queues;
}
#endif

static int hnic_get_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc,
			  u32 *locs)
{
	return hnic_filter_get(netdev_priv(netdev), nfc, locs);
}

static int hnic_set_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc)
{
	return hnic_filter_set(netdev_priv(netdev), nfc);
}

const struct ethtool_ops hnic_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS |
				     ETHTOOL_COALESCE_MAX_FRAMES,
	.get_drvinfo		= hnic_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= hnic_get_link_ksettings,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= hnic_get_sset_count,
	.get_strings		= hnic_get_strings,
	.get_ethtool_stats	= hnic_get_ethtool_stats,
	.get_priv_flags		= hnic_get_priv_flags,
	.set_priv_flags		= hnic_set_priv_flags,
	.get_channels		= hnic_get_channels,
	.set_channels		= hnic_set_channels,
	.get_ringparam		= hnic_get_ringparam,
	.get_coalesce		= hnic_get_coalesce,
	.set_coalesce		= hnic_set_coalesce,
	.get_pauseparam		= hnic_get_pauseparam,
	.set_pauseparam		= hnic_set_pauseparam,
#ifdef HAVE_GET_RX_RING_COUNT
	/* formerly ETHTOOL_GRXRINGS of get_rxnfc */
	.get_rx_ring_count	= hnic_get_rx_ring_count,
#endif
	.get_rxnfc		= hnic_get_rxnfc,
	.set_rxnfc		= hnic_set_rxnfc,
};
