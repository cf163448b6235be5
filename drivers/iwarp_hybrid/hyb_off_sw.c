// SPDX-License-Identifier: GPL-2.0
/*
 * Software finishes what a NIC does not: packets on their way to a device, seen
 * by the hook that sockets have for this (sk_validate_xmit_skb), and, before the
 * hook, packets that IP is about to encapsulate, which the hook could not parse.
 *
 * A packet may hold FPDUs without CRC, or with markers elsewhere, when it
 * leaves by another device than its connection was added to, or when the NIC's
 * engines were switched off after the FPDUs were handed to TCP, or when NAT has
 * given it other addresses. A retransmission is subject to the present settings of the NIC. TCP
 * keeps such packets as they were, so each gets a copy in new pages.
 *
 * Context: the transmit path of the stack, any task or softirq; for hyb_off_wraps() any.
 *
 * Calls hyb_off_rec.c.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#ifdef CONFIG_NET_XGRESS
#include <net/tcx.h>
#endif

#include "compat.h"
#include "hyb_off_priv.h"

/* Position of the payload in a packet */
struct hyb_off_payload {
	u32 off;
	u32 len;
	u32 seq;
};

/*
 * Is this a whole packet of TCP without encapsulation? Addresses and ports may
 * have been translated, and VLAN tags may have been added. Otherwise it is
 * encapsulated or a fragment.
 */
static bool hyb_off_plain(const struct sk_buff *skb)
{
	if (skb->encapsulation || !skb_transport_header_was_set(skb))
		return false;
	switch (vlan_get_protocol(skb)) {
	case htons(ETH_P_IP):
		return ip_hdr(skb)->protocol == IPPROTO_TCP &&
		       !ip_is_fragment(ip_hdr(skb));
	case htons(ETH_P_IPV6):
		return ipv6_hdr(skb)->nexthdr == IPPROTO_TCP;
	default:
		return false;
	}
}

/*
 * Is it a fragment of a packet of TCP? IP has computed the checksum before it split the packet,
 * so the payload must not change any more.
 */
static bool hyb_off_cut(const struct sk_buff *skb)
{
	const struct frag_hdr *fh;
	struct frag_hdr buf;

	switch (vlan_get_protocol(skb)) {
	case htons(ETH_P_IP):
		return ip_is_fragment(ip_hdr(skb)) &&
		       ip_hdr(skb)->protocol == IPPROTO_TCP;
	case htons(ETH_P_IPV6):
		if (ipv6_hdr(skb)->nexthdr != NEXTHDR_FRAGMENT)
			return false;
		fh = skb_header_pointer(skb, skb_network_offset(skb) +
					sizeof(struct ipv6hdr), sizeof(buf), &buf);
		return fh && fh->nexthdr == IPPROTO_TCP;
	default:
		return false;
	}
}

/* Find the payload of a packet with a TCP header; false if there is none */
static bool hyb_off_payload(const struct sk_buff *skb,
			    struct hyb_off_payload *pl)
{
	const struct tcphdr *th;

	pl->off = skb_transport_offset(skb) + sizeof(*th);
	if (skb_headlen(skb) < pl->off)
		return false;
	th = tcp_hdr(skb);
	pl->off += th->doff * 4 - sizeof(*th);
	pl->seq = ntohl(th->seq);
	if (skb_headlen(skb) < pl->off || skb->len <= pl->off)
		return false;
	pl->len = skb->len - pl->off;
	return true;
}

/* NICs support one tag, of the usual type; devices on the way may have added others */
static bool hyb_off_one_tag(const struct sk_buff *skb)
{
	if (skb_vlan_tag_present(skb))
		return skb->vlan_proto == htons(ETH_P_8021Q) &&
		       !eth_type_vlan(skb->protocol);
	return skb->protocol != htons(ETH_P_8021AD) &&
	       skb_network_offset(skb) <= VLAN_ETH_HLEN;
}

/* Does a plain packet have the addresses and ports by which the NIC knows the connection? */
static bool hyb_off_known(const struct iwarp_offload_conn *c,
			  const struct sk_buff *skb)
{
	const struct tcphdr *th = tcp_hdr(skb);

	if (!hyb_off_one_tag(skb))
		return false;
	if (th->source != c->sport || th->dest != c->dport)
		return false;
	if (c->family == AF_INET)
		return ip_hdr(skb)->saddr == c->saddr.s6_addr32[0] &&
		       ip_hdr(skb)->daddr == c->daddr.s6_addr32[0];
	return ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &c->saddr) &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &c->daddr);
}

/* IPsec, or a tunnel that is not a device: the hook does not see what is in it */
static bool hyb_off_dst_wraps(const struct dst_entry *dst)
{
	return dst && (dst_xfrm(dst) || dst->lwtstate);
}

bool hyb_off_wraps(struct sock *sk)
{
	bool wraps;

	rcu_read_lock();
	wraps = hyb_off_dst_wraps(rcu_dereference(sk->sk_dst_cache));
	rcu_read_unlock();
	return wraps;
}

/* Does a device have filters or programs of tc for the packets that it sends? */
static bool hyb_off_tc(const struct net_device *dev)
{
#if defined(CONFIG_NET_XGRESS)
	struct bpf_mprog_entry *entry = rcu_dereference(dev->tcx_egress);

	/* a clsact qdisc without filters has an entry, too */
	return entry && (rcu_access_pointer(tcx_entry(entry)->miniq) ||
			 READ_ONCE(entry->fp_items[0].prog));
#elif defined(CONFIG_NET_CLS_ACT)
	return rcu_access_pointer(dev->miniq_egress);
#else
	return false;
#endif
}

/*
 * May filters of the device that the route leads to send copies elsewhere? These have no
 * socket, so that the hook does not see them.
 */
static bool hyb_off_copies(const struct sock *sk)
{
	const struct dst_entry *dst;
	bool copies = false;

	rcu_read_lock();
	dst = rcu_dereference(sk->sk_dst_cache);
	if (dst) {
		copies = hyb_off_tc(dst->dev);
#ifdef CONFIG_NETFILTER_EGRESS
		copies |= !!rcu_access_pointer(dst->dev->nf_hooks_egress);
#endif
	}
	rcu_read_unlock();
	return copies;
}

/*
 * A wrapped packet was finished before it was wrapped: by hyb_off_leaves(), or here
 * on its way to the device that wrapped it. But if @dev is the device of the route, and the
 * route does not wrap, a layer in between has wrapped an unfinished packet: returns true.
 */
static bool hyb_off_hidden(struct sock *sk, const struct net_device *dev,
			   const struct sk_buff *skb)
{
	const struct dst_entry *dst;
	bool hidden;

	/* the payload of such packets is in pages */
	if (!skb_is_nonlinear(skb))
		return false;
	rcu_read_lock();
	dst = rcu_dereference(sk->sk_dst_cache);
	hidden = dst && dst->dev == dev && !hyb_off_dst_wraps(dst);
	rcu_read_unlock();
	return hidden;
}

/* Same headers, payload in pages of its own; NULL when out of memory */
static struct sk_buff *hyb_off_copy(struct sk_buff *skb,
				    const struct hyb_off_payload *pl)
{
	u32 room = skb_headroom(skb);
	struct sk_buff *copy;
	u32 off = pl->off;
	skb_frag_t *frag;
	int i, err;

	copy = alloc_skb_with_frags(room + pl->off, pl->len,
				    PAGE_ALLOC_COSTLY_ORDER, &err,
				    GFP_ATOMIC | __GFP_NOWARN);
	if (!copy)
		return NULL;
	skb_reserve(copy, room);
	skb_put_data(copy, skb->data, pl->off);
	copy->data_len = pl->len;
	copy->len += pl->len;
	for (i = 0; i < skb_shinfo(copy)->nr_frags; i++) {
		frag = &skb_shinfo(copy)->frags[i];
		if (skb_copy_bits(skb, off, skb_frag_address(frag),
				  skb_frag_size(frag))) {
			kfree_skb(copy);
			return NULL;
		}
		off += skb_frag_size(frag);
	}
	skb_copy_header(copy, skb);
#ifdef CONFIG_TLS_DEVICE
	copy->decrypted = 0;
#endif
	/* callers take a list; this one has one entry */
	copy->prev = copy;
	return copy;
}

/* TCP's account of memory in flight goes to the copy */
static void hyb_off_own(struct sk_buff *copy, struct sk_buff *skb)
{
	int more = copy->truesize - skb->truesize;
	struct sock *sk = skb->sk;

	copy->sk = sk;
	copy->destructor = skb->destructor;
	skb->sk = NULL;
	skb->destructor = NULL;
	/* a queueing discipline has orphaned the packet, which is not accounted any more */
	if (copy->destructor == sock_efree)
		return;
	if (more >= 0)
		refcount_add(more, &sk->sk_wmem_alloc);
	else
		WARN_ON_ONCE(refcount_sub_and_test(-more, &sk->sk_wmem_alloc));
}

/* The checksum that covers the payload is computed later */
static void hyb_off_checksum(const struct sock *sk, struct sk_buff *skb,
			     const struct hyb_off_payload *pl)
{
	u32 len = skb->len - skb_transport_offset(skb);
	struct tcphdr *th = tcp_hdr(skb);

	if (likely(skb->ip_summed == CHECKSUM_PARTIAL))
		return;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (vlan_get_protocol(skb) == htons(ETH_P_IPV6))
		th->check = ~csum_ipv6_magic(&ipv6_hdr(skb)->saddr,
					     &ipv6_hdr(skb)->daddr, len,
					     IPPROTO_TCP, 0);
	else
		th->check = ~csum_tcpudp_magic(ip_hdr(skb)->saddr,
					       ip_hdr(skb)->daddr, len,
					       IPPROTO_TCP, 0);
}

static struct sk_buff *hyb_off_finish(struct hyb_off_conn *o,
				      struct sock *sk, struct sk_buff *skb,
				      const struct hyb_off_payload *pl)
{
	struct sk_buff *copy = hyb_off_copy(skb, pl);
	struct hyb_off_sink sink = {
		.skb = copy,
		.off = pl->off,
		.seq = pl->seq,
		.len = pl->len,
	};

	spin_lock_bh(&o->ring.lock);
	if (copy)
		hyb_off_ring_write(&o->ring, &sink);
	hyb_off_count(o, copy ? HYB_ST_OFF_SW_PACKETS : HYB_ST_OFF_SW_DROPS, 1);
	hyb_off_count(o, HYB_ST_OFF_SW_BYTES, copy ? pl->len : 0);
	spin_unlock_bh(&o->ring.lock);
	if (!copy) {
		/* TCP takes it for lost and retransmits; never send it unfinished */
		kfree_skb(skb);
		return NULL;
	}
	hyb_off_own(copy, skb);
	hyb_off_checksum(sk, copy, pl);
	consume_skb(skb);
	return copy;
}

static struct sk_buff *hyb_off_drop(struct hyb_off_conn *o, struct sk_buff *skb)
{
	spin_lock_bh(&o->ring.lock);
	hyb_off_count(o, HYB_ST_OFF_SW_DROPS, 1);
	spin_unlock_bh(&o->ring.lock);
	kfree_skb(skb);
	return NULL;
}

/* A packet with payload, some of which may have to be finished */
static struct sk_buff *hyb_off_serve(struct hyb_off_conn *o, struct sock *sk,
				     struct sk_buff *skb,
				     const struct hyb_off_payload *pl)
{
	bool covers;

	spin_lock_bh(&o->ring.lock);
	covers = hyb_off_ring_covers(&o->ring, pl->seq, pl->len);
	spin_unlock_bh(&o->ring.lock);
	return covers ? hyb_off_finish(o, sk, skb, pl) : skb;
}

struct sk_buff *hyb_off_leaves(struct sock *sk, struct sk_buff *skb)
{
	struct hyb_off_conn *o = (__force void *)inet_csk(sk)->icsk_ulp_data;
	struct hyb_off_payload pl;

	if (!o || !READ_ONCE(o->ring.nr) || !hyb_off_payload(skb, &pl))
		return skb;
	/* as IP does next: replaces an outdated route */
	inet_csk(sk)->icsk_af_ops->rebuild_header(sk);
	return hyb_off_wraps(sk) || hyb_off_copies(sk) ?
	       hyb_off_serve(o, sk, skb, &pl) : skb;
}

/*
 * Was the packet acknowledged before it got here? Then its record is freed. It
 * cannot be finished any more, and no receiver waits for it.
 */
static bool hyb_off_stale(struct hyb_off_conn *o, struct sk_buff *skb)
{
	struct hyb_off_payload pl;

	return hyb_off_plain(skb) && hyb_off_payload(skb, &pl) &&
	       before(pl.seq, READ_ONCE(o->ring.una));
}

/* Where a byte of a packet is, unless in its linear part */
static const u8 *hyb_off_byte(const struct sk_buff *skb, u32 off)
{
	const skb_frag_t *frag;
	int i;

	if (off < skb_headlen(skb))
		return NULL;
	off -= skb_headlen(skb);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		frag = &skb_shinfo(skb)->frags[i];
		if (off < skb_frag_size(frag))
			return (u8 *)skb_frag_address(frag) + off;
		off -= skb_frag_size(frag);
	}
	return NULL;
}

/*
 * Do the gaps for markers still have to be opened? That must happen exactly once. A packet
 * through a device on top of the NIC (bridge, VLAN, macvlan) was finished on its
 * way to that device, and is a copy: not in the memory that TCP was given.
 */
static bool hyb_off_fresh(struct hyb_off_conn *o, const struct sk_buff *skb,
			  const struct hyb_off_payload *pl)
{
	bool fresh = true;
	const u8 *p;
	u32 off;

	if (!(READ_ONCE(o->nic.features) & BIT(IWARP_OFFLOAD_TX_CONTIG)))
		return true;
	spin_lock_bh(&o->ring.lock);
	p = hyb_off_ring_contig(&o->ring, pl->seq, pl->len, &off);
	if (p)
		fresh = hyb_off_byte(skb, pl->off + off) == p;
	spin_unlock_bh(&o->ring.lock);
	return fresh;
}

/**
 * hyb_off_validate - a packet of a connection is on its way to a device
 * @sk: its TCP socket
 * @dev: the device
 * @skb: the packet, not yet cut into segments
 *
 * Packets for the NIC that finishes them are marked, so that it can drop those
 * that reach it when it does not know the connection any more. Packets with
 * other addresses, by NAT, or with other tags are finished here, as the NIC does
 * not recognize them. Fragments, and packets that can no longer be finished, are dropped.
 *
 * Return: the packet, a finished copy of it, or NULL: it was dropped.
 */
struct sk_buff *hyb_off_validate(struct sock *sk, struct net_device *dev,
				 struct sk_buff *skb)
{
	struct hyb_off_conn *o = (__force void *)inet_csk(sk)->icsk_ulp_data;
	struct hyb_off_payload pl;

	if (!READ_ONCE(o->ring.nr))
		return hyb_off_stale(o, skb) ? hyb_off_drop(o, skb) : skb;
	if (hyb_off_cut(skb))
		return hyb_off_drop(o, skb);
	if (!hyb_off_plain(skb))
		return hyb_off_hidden(sk, dev, skb) ? hyb_off_drop(o, skb) :
						      skb;
	if (!hyb_off_payload(skb, &pl))
		return skb;
	if (dev == READ_ONCE(o->finisher) && hyb_off_known(&o->nic, skb) &&
	    !hyb_off_wraps(sk) && hyb_off_fresh(o, skb, &pl)) {
#ifdef CONFIG_TLS_DEVICE
		skb->decrypted = 1;
#endif
		return skb;
	}
	return hyb_off_serve(o, sk, skb, &pl);
}
