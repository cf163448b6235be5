// SPDX-License-Identifier: GPL-2.0
/*
 * What a NIC does not finish, software does: packets on their way to a device,
 * seen by the hook that sockets have for this (sk_validate_xmit_skb).
 *
 * A packet may hold FPDUs without CRC, or with markers elsewhere, when it
 * leaves by another device than its connection was added to, or when the NIC's
 * engines were switched off after the FPDUs were handed to TCP; a
 * retransmission meets the NIC as it is now. TCP keeps such packets as they
 * were, so each gets a copy in fresh pages.
 *
 * Context of everything here: bottom halves disabled, in the transmit path of
 * the stack; any task or softirq.
 *
 * Calls hyb_off_rec and hyb_stats.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "compat.h"
#include "hyb_off_priv.h"

/* Where the payload is */
struct hyb_off_payload {
	u32 off;
	u32 len;
	u32 seq;
};

static bool hyb_off_is_tcp(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return ip_hdr(skb)->protocol == IPPROTO_TCP;
	return skb->protocol == htons(ETH_P_IPV6);
}

/*
 * False if there is none, or if it is wrapped into something: then it has been
 * here before, on its way to the device that wrapped it.
 */
static bool hyb_off_payload(const struct sock *sk, const struct sk_buff *skb,
			    struct hyb_off_payload *pl)
{
	const struct inet_sock *inet = inet_sk(sk);
	const struct tcphdr *th;

	if (skb->encapsulation || !skb_transport_header_was_set(skb) ||
	    !hyb_off_is_tcp(skb))
		return false;
	th = tcp_hdr(skb);
	pl->off = skb_transport_offset(skb) + sizeof(*th);
	if (skb_headlen(skb) < pl->off)
		return false;
	if (th->source != inet->inet_sport || th->dest != inet->inet_dport)
		return false;
	pl->off += th->doff * 4 - sizeof(*th);
	pl->seq = ntohl(th->seq);
	if (skb_headlen(skb) < pl->off || skb->len <= pl->off)
		return false;
	pl->len = skb->len - pl->off;
	return true;
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
	/* a list of one, as callers expect who may get several */
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
	/* a queueing discipline has taken it off the account */
	if (copy->destructor == sock_efree)
		return;
	if (more >= 0)
		refcount_add(more, &sk->sk_wmem_alloc);
	else
		WARN_ON_ONCE(refcount_sub_and_test(-more, &sk->sk_wmem_alloc));
}

/* The checksum that covers the payload is computed behind us */
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
	if (skb->protocol == htons(ETH_P_IPV6))
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
		/* lost, as far as TCP knows; never sent as it is */
		kfree_skb(skb);
		return NULL;
	}
	hyb_off_own(copy, skb);
	hyb_off_checksum(sk, copy, pl);
	consume_skb(skb);
	return copy;
}

/**
 * hyb_off_validate - a packet of a connection is on its way to a device
 * @sk: its TCP socket
 * @dev: the device
 * @skb: the packet, not yet cut into segments
 *
 * Packets for the NIC that finishes them are marked, so that it can drop those
 * that come to it when it does not know the connection any more.
 *
 * Return: the packet, a finished copy of it, or NULL: it was dropped.
 */
struct sk_buff *hyb_off_validate(struct sock *sk, struct net_device *dev,
				 struct sk_buff *skb)
{
	struct hyb_off_conn *o = (__force void *)inet_csk(sk)->icsk_ulp_data;
	struct hyb_off_payload pl;
	bool covers;

	if (!READ_ONCE(o->ring.nr) || !hyb_off_payload(sk, skb, &pl))
		return skb;
	if (dev == READ_ONCE(o->finisher)) {
#ifdef CONFIG_TLS_DEVICE
		skb->decrypted = 1;
#endif
		return skb;
	}
	spin_lock_bh(&o->ring.lock);
	covers = hyb_off_ring_covers(&o->ring, pl.seq, pl.len);
	spin_unlock_bh(&o->ring.lock);
	return covers ? hyb_off_finish(o, sk, skb, &pl) : skb;
}
