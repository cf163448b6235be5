// SPDX-License-Identifier: GPL-2.0
/*
 * ntuple filters (ethtool -N): which queue gets packets of a flow. Calls the
 * kernel only.
 *
 * The RX engine reads the table under RCU. Writers replace the whole table, under
 * RTNL; filters are few and changed rarely.
 */
#include <linux/ethtool.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/dsfield.h>

#include "hnic.h"

/**
 * struct hnic_filters - the table
 * @rcu: freed after readers
 * @count: entries in use
 * @used: which; the location is the index, and the smallest has priority
 * @spec: as given by ethtool
 */
struct hnic_filters {
	struct rcu_head rcu;
	u32 count;
	DECLARE_BITMAP(used, HNIC_FILTERS);
	struct ethtool_rx_flow_spec spec[HNIC_FILTERS];
};

static bool hnic_match32(__be32 val, __be32 want, __be32 mask)
{
	return !((val ^ want) & mask);
}

static bool hnic_match16(__be16 val, __be16 want, __be16 mask)
{
	return !((val ^ want) & mask);
}

static bool hnic_match_ip6(const struct in6_addr *val, const __be32 *want,
			   const __be32 *mask)
{
	int i;

	for (i = 0; i < 4; i++)
		if (!hnic_match32(val->s6_addr32[i], want[i], mask[i]))
			return false;
	return true;
}

static bool hnic_match_ip4_flow(const struct ethtool_rx_flow_spec *fs,
				const struct hnic_pkt *p)
{
	const struct ethtool_tcpip4_spec *h = &fs->h_u.tcp_ip4_spec;
	const struct ethtool_tcpip4_spec *m = &fs->m_u.tcp_ip4_spec;
	const u8 *data = hnic_pkt_data(p);
	const struct udphdr *l4 = (const struct udphdr *)(data + p->l4);
	const struct iphdr *ip = (const struct iphdr *)(data + p->l3);

	return hnic_match32(ip->saddr, h->ip4src, m->ip4src) &&
	       hnic_match32(ip->daddr, h->ip4dst, m->ip4dst) &&
	       hnic_match16(l4->source, h->psrc, m->psrc) &&
	       hnic_match16(l4->dest, h->pdst, m->pdst) &&
	       !((ip->tos ^ h->tos) & m->tos);
}

static bool hnic_match_ip6_flow(const struct ethtool_rx_flow_spec *fs,
				const struct hnic_pkt *p)
{
	const struct ethtool_tcpip6_spec *h = &fs->h_u.tcp_ip6_spec;
	const struct ethtool_tcpip6_spec *m = &fs->m_u.tcp_ip6_spec;
	const u8 *data = hnic_pkt_data(p);
	const struct udphdr *l4 = (const struct udphdr *)(data + p->l4);
	const struct ipv6hdr *ip = (const struct ipv6hdr *)(data + p->l3);

	return hnic_match_ip6(&ip->saddr, h->ip6src, m->ip6src) &&
	       hnic_match_ip6(&ip->daddr, h->ip6dst, m->ip6dst) &&
	       hnic_match16(l4->source, h->psrc, m->psrc) &&
	       hnic_match16(l4->dest, h->pdst, m->pdst) &&
	       !((ipv6_get_dsfield(ip) ^ h->tclass) & m->tclass);
}

static bool hnic_filter_hits(const struct ethtool_rx_flow_spec *fs,
			     const struct hnic_pkt *p)
{
	switch (fs->flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
		return !p->ipv6 && hnic_match_ip4_flow(fs, p) &&
		       (fs->flow_type == TCP_V4_FLOW) ==
		       (p->proto == IPPROTO_TCP);
	default:
		return p->ipv6 && hnic_match_ip6_flow(fs, p) &&
		       (fs->flow_type == TCP_V6_FLOW) ==
		       (p->proto == IPPROTO_TCP);
	}
}

/**
 * hnic_filter_match() - match a packet against the filters
 * @hd: device that receives it
 * @p: parsed packet
 *
 * Context: RX engine, RCU.
 * Return: number of a queue, HNIC_FILTER_NONE or HNIC_FILTER_DROP.
 */
int hnic_filter_match(struct hnic_dev *hd, const struct hnic_pkt *p)
{
	const struct hnic_filters *f = rcu_dereference(hd->filters);
	const struct ethtool_rx_flow_spec *fs;
	u32 i;

	if (!f || !p->l4 || !(hd->netdev->features & NETIF_F_NTUPLE))
		return HNIC_FILTER_NONE;
	for_each_set_bit(i, f->used, HNIC_FILTERS) {
		fs = &f->spec[i];
		if (!hnic_filter_hits(fs, p))
			continue;
		if (fs->ring_cookie == RX_CLS_FLOW_DISC)
			return HNIC_FILTER_DROP;
		return (int)fs->ring_cookie;
	}
	return HNIC_FILTER_NONE;
}

/* A copy of the table, or an empty one, for the caller to change and hnic_filter_publish() */
static struct hnic_filters *hnic_filter_copy(struct hnic_dev *hd)
{
	struct hnic_filters *old = rtnl_dereference(hd->filters);

	if (old)
		return kmemdup(old, sizeof(*old), GFP_KERNEL);
	return kzalloc(sizeof(*old), GFP_KERNEL);
}

static void hnic_filter_publish(struct hnic_dev *hd, struct hnic_filters *f)
{
	struct hnic_filters *old = rtnl_dereference(hd->filters);

	rcu_assign_pointer(hd->filters, f);
	if (old)
		kfree_rcu(old, rcu);
}

static int hnic_filter_insert(struct hnic_dev *hd,
			      struct ethtool_rx_flow_spec *fs)
{
	struct hnic_filters *f;
	u32 at = fs->location;

	switch (fs->flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
	case TCP_V6_FLOW:
	case UDP_V6_FLOW:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (fs->ring_cookie != RX_CLS_FLOW_DISC &&
	    fs->ring_cookie >= hd->netdev->real_num_rx_queues)
		return -EINVAL;
	/* the order matters, but no place is kept free for the first or the last one */
	if ((at & RX_CLS_LOC_SPECIAL) && at != RX_CLS_LOC_ANY)
		return -EINVAL;
	f = hnic_filter_copy(hd);
	if (!f)
		return -ENOMEM;
	if (at == RX_CLS_LOC_ANY)
		at = find_first_zero_bit(f->used, HNIC_FILTERS);
	if (at >= HNIC_FILTERS) {
		kfree(f);
		return -ENOSPC;
	}
	fs->location = at;
	f->spec[at] = *fs;
	if (!test_and_set_bit(at, f->used))
		f->count++;
	hnic_filter_publish(hd, f);
	return 0;
}

static int hnic_filter_remove(struct hnic_dev *hd, u32 at)
{
	struct hnic_filters *f = rtnl_dereference(hd->filters);

	if (!f || at >= HNIC_FILTERS || !test_bit(at, f->used))
		return -ENOENT;
	f = hnic_filter_copy(hd);
	if (!f)
		return -ENOMEM;
	clear_bit(at, f->used);
	f->count--;
	hnic_filter_publish(hd, f);
	return 0;
}

/* ethtool_ops.set_rxnfc; context: RTNL */
int hnic_filter_set(struct hnic_dev *hd, struct ethtool_rxnfc *nfc)
{
	ASSERT_RTNL();
	switch (nfc->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		return hnic_filter_insert(hd, &nfc->fs);
	case ETHTOOL_SRXCLSRLDEL:
		return hnic_filter_remove(hd, nfc->fs.location);
	default:
		return -EOPNOTSUPP;
	}
}

static int hnic_filter_list(const struct hnic_filters *f,
			    struct ethtool_rxnfc *nfc, u32 *locs)
{
	u32 i, n = 0;

	nfc->data = HNIC_FILTERS;
	if (f) {
		for_each_set_bit(i, f->used, HNIC_FILTERS) {
			if (n == nfc->rule_cnt)
				return -EMSGSIZE;
			locs[n++] = i;
		}
	}
	nfc->rule_cnt = n;
	return 0;
}

/* ethtool_ops.get_rxnfc; context: RTNL */
int hnic_filter_get(struct hnic_dev *hd, struct ethtool_rxnfc *nfc, u32 *locs)
{
	const struct hnic_filters *f = rtnl_dereference(hd->filters);

	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = hd->netdev->real_num_rx_queues;
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		nfc->rule_cnt = f ? f->count : 0;
		nfc->data = HNIC_FILTERS | RX_CLS_LOC_SPECIAL;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		if (!f || nfc->fs.location >= HNIC_FILTERS ||
		    !test_bit(nfc->fs.location, f->used))
			return -ENOENT;
		nfc->fs = f->spec[nfc->fs.location];
		return 0;
	case ETHTOOL_GRXCLSRLALL:
		return hnic_filter_list(f, nfc, locs);
	default:
		return -EOPNOTSUPP;
	}
}

/* Context: the device is not in use any more */
void hnic_filter_purge(struct hnic_dev *hd)
{
	kfree(rcu_dereference_protected(hd->filters, true));
	RCU_INIT_POINTER(hd->filters, NULL);
}
