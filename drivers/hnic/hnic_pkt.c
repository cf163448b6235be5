// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in the memory of the NIC, and what a NIC understands of them.
 * Lowest layer of hnic: calls the kernel only.
 *
 * The TX engine takes memory for a packet from large pages, and the same
 * memory becomes the fragment that the peer's host gets: the DMA of the receiver
 * copies nothing, and hnic_dma.c adds its time. Pages are used again when they
 * come back.
 *
 * A pool belongs to one TX engine. The user of a list protects it: an engine, or
 * the lock of a wire. hnic_pkt_free() may run in engines, NAPI and tasks at the
 * same time.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "hnic.h"

void hnic_list_init(struct hnic_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
	l->count = 0;
	l->size = 0;
}

void hnic_list_add(struct hnic_list *l, struct hnic_pkt *p)
{
	p->next = NULL;
	*l->tail = p;
	l->tail = &p->next;
	l->count++;
	l->size += p->size;
}

struct hnic_pkt *hnic_list_pop(struct hnic_list *l)
{
	struct hnic_pkt *p = l->head;

	if (!p)
		return NULL;
	l->head = p->next;
	if (!l->head)
		l->tail = &l->head;
	l->count--;
	l->size -= p->size;
	return p;
}

/* Append all of @from to @to */
void hnic_list_splice(struct hnic_list *to, struct hnic_list *from)
{
	if (!from->head)
		return;
	*to->tail = from->head;
	to->tail = from->tail;
	to->count += from->count;
	to->size += from->size;
	hnic_list_init(from);
}

void hnic_list_purge(struct hnic_list *l)
{
	struct hnic_pkt *p;

	while ((p = hnic_list_pop(l)))
		hnic_pkt_free(p);
}

/* --------------------------------------------------------------- memory */

/* A new page, charged to the control group of the device's creator; NULL at its limit */
static struct page *hnic_pool_page(struct hnic_pool *pool)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_COMP | __GFP_NORETRY |
		    __GFP_ACCOUNT;
	struct mem_cgroup *old = set_active_memcg(pool->memcg);
	struct page *page = alloc_pages(gfp, HNIC_POOL_ORDER);

	set_active_memcg(old);
	return page;
}

/* Is the page of slot @i unused? */
static bool hnic_pool_idle(const struct hnic_pool *pool, u32 i)
{
	return pool->page[i] && page_ref_count(pool->page[i]) == 1;
}

/* Put an idle page into slot @i */
static bool hnic_pool_renew(struct hnic_pool *pool, u32 i)
{
	struct page *page;

	if (hnic_pool_idle(pool, i))
		return true;
	page = hnic_pool_page(pool);
	if (!page)
		return false;
	if (pool->page[i])
		put_page(pool->page[i]);
	pool->page[i] = page;
	return true;
}

/*
 * Continue in the next page: an old one that has no other user, or a new one. Without
 * memory for that, in any idle page.
 */
static bool hnic_pool_next(struct hnic_pool *pool)
{
	u32 next = (pool->cur + 1) % HNIC_POOL_PAGES, n = HNIC_POOL_PAGES;

	if (!hnic_pool_renew(pool, next))
		while (n && !hnic_pool_idle(pool, next)) {
			next = (next + 1) % HNIC_POOL_PAGES;
			n--;
		}
	if (!n)
		return false;
	pool->cur = next;
	pool->fill = 0;
	pool->size = PAGE_SIZE << HNIC_POOL_ORDER;
	return true;
}

/**
 * hnic_pkt_alloc() - memory for a packet
 * @pool: from where
 * @len: bytes, at most HNIC_MTU_MAX and HNIC_HDR_MAX
 *
 * Return: the packet, with @len set and nothing else known of it, or NULL.
 */
struct hnic_pkt *hnic_pkt_alloc(struct hnic_pool *pool, u32 len)
{
	u32 size = ALIGN(sizeof(struct hnic_pkt) + NET_IP_ALIGN + len, 64);
	struct hnic_pkt *p;
	struct page *page;

	if (pool->fill + size > pool->size && !hnic_pool_next(pool))
		return NULL;
	page = pool->page[pool->cur];
	get_page(page);
	p = page_address(page) + pool->fill;
	memset(p, 0, sizeof(*p));
	p->page = page;
	p->off = pool->fill + sizeof(*p) + NET_IP_ALIGN;
	p->len = len;
	p->size = size;
	pool->fill += size;
	return p;
}

void hnic_pkt_free(struct hnic_pkt *p)
{
	struct hnic_placed *placed = p->placed;
	u32 i;

	for (i = 1; placed && i < placed->nr; i++)
		put_page(placed->piece[i].page);
	put_page(p->page);
	kfree(placed);
}

void hnic_pool_free(struct hnic_pool *pool)
{
	int i;

	for (i = 0; i < HNIC_POOL_PAGES; i++)
		if (pool->page[i])
			put_page(pool->page[i]);
	memset(pool->page, 0, sizeof(pool->page));
	pool->cur = 0;
	pool->fill = 0;
	pool->size = 0;
}

/* -------------------------------------------------------------- headers */

static struct iphdr *hnic_ip4(const struct hnic_pkt *p)
{
	return (struct iphdr *)(hnic_pkt_data(p) + p->l3);
}

static struct ipv6hdr *hnic_ip6(const struct hnic_pkt *p)
{
	return (struct ipv6hdr *)(hnic_pkt_data(p) + p->l3);
}

static struct tcphdr *hnic_tcp(const struct hnic_pkt *p)
{
	return (struct tcphdr *)(hnic_pkt_data(p) + p->l4);
}

/* Bytes from the IP header on that are not padding of the Ethernet frame */
static u32 hnic_pkt_l3_len(const struct hnic_pkt *p)
{
	if (p->ipv6)
		return sizeof(struct ipv6hdr) +
		       ntohs(hnic_ip6(p)->payload_len);
	return ntohs(hnic_ip4(p)->tot_len);
}

static bool hnic_parse_ip4(struct hnic_pkt *p, u32 room)
{
	struct iphdr *ip = hnic_ip4(p);
	u32 total;

	if (room < sizeof(*ip) || ip->version != 4 || ip->ihl < 5)
		return false;
	total = ntohs(ip->tot_len);
	if (total > room || total < ip->ihl * 4)
		return false;
	p->hash = jhash_2words((__force u32)ip->saddr, (__force u32)ip->daddr,
			       0);
	if (ip_is_fragment(ip))
		return true;
	p->proto = ip->protocol;
	p->l4 = p->l3 + ip->ihl * 4;
	return true;
}

static bool hnic_parse_ip6(struct hnic_pkt *p, u32 room)
{
	struct ipv6hdr *ip = hnic_ip6(p);

	if (room < sizeof(*ip) || ip->version != 6 ||
	    sizeof(*ip) + ntohs(ip->payload_len) > room)
		return false;
	p->ipv6 = 1;
	p->hash = jhash2((u32 *)&ip->saddr, 8, 0);
	p->proto = ip->nexthdr;
	p->l4 = p->l3 + sizeof(*ip);
	return true;
}

/* Is there a whole TCP or UDP header? */
static bool hnic_parse_l4(struct hnic_pkt *p)
{
	u32 room = p->l3 + hnic_pkt_l3_len(p) - p->l4;
	struct tcphdr *th = hnic_tcp(p);

	if (p->proto == IPPROTO_UDP)
		return room >= sizeof(struct udphdr) &&
		       ntohs(((struct udphdr *)th)->len) == room;
	if (p->proto != IPPROTO_TCP || room < sizeof(*th) ||
	    th->doff < 5 || th->doff * 4 > room)
		return false;
	p->pay = p->l4 + th->doff * 4;
	return true;
}

/**
 * hnic_pkt_parse() - find the headers of a packet
 * @p: packet; may hold anything
 *
 * Sets the offsets, the protocol and the hash. One VLAN tag is skipped. Packets
 * with extension headers are not parsed further: like fragments, they are hashed
 * by address.
 */
void hnic_pkt_parse(struct hnic_pkt *p)
{
	u8 *data = hnic_pkt_data(p);
	__be16 type;
	u32 l3 = ETH_HLEN;
	bool good;

	p->l3 = 0;
	p->l4 = 0;
	p->pay = 0;
	p->proto = 0;
	p->ipv6 = 0;
	p->hash = 0;
	if (p->len < ETH_HLEN + VLAN_HLEN)
		return;
	type = ((struct ethhdr *)data)->h_proto;
	if (type == htons(ETH_P_8021Q)) {
		type = ((struct vlan_ethhdr *)data)->h_vlan_encapsulated_proto;
		l3 += VLAN_HLEN;
	}
	p->l3 = l3;
	if (type == htons(ETH_P_IP))
		good = hnic_parse_ip4(p, p->len - l3);
	else if (type == htons(ETH_P_IPV6))
		good = hnic_parse_ip6(p, p->len - l3);
	else
		good = false;
	if (!good)
		p->l3 = 0;
	if (!good || !p->l4 || !hnic_parse_l4(p)) {
		p->l4 = 0;
		p->proto = 0;
		return;
	}
	p->hash = jhash_1word(*(u32 *)hnic_tcp(p), p->hash);
}

/* TCP sequence number of the first byte of payload */
u32 hnic_pkt_seq(const struct hnic_pkt *p)
{
	return ntohl(hnic_tcp(p)->seq) + hnic_tcp(p)->syn;
}

/* Bytes of payload of a TCP packet */
u32 hnic_pkt_pay_len(const struct hnic_pkt *p)
{
	return p->l3 + hnic_pkt_l3_len(p) - p->pay;
}

/* Addresses and ports; for IPv4, only the first four bytes of an address are written */
void hnic_pkt_tuple(const struct hnic_pkt *p, struct in6_addr *saddr,
		    struct in6_addr *daddr, __be16 *sport, __be16 *dport)
{
	if (p->ipv6) {
		*saddr = hnic_ip6(p)->saddr;
		*daddr = hnic_ip6(p)->daddr;
	} else {
		saddr->s6_addr32[0] = hnic_ip4(p)->saddr;
		daddr->s6_addr32[0] = hnic_ip4(p)->daddr;
	}
	*sport = hnic_tcp(p)->source;
	*dport = hnic_tcp(p)->dest;
}

/**
 * hnic_pkt_set_len() - change the length of a packet
 * @p: a TCP packet
 * @len: bytes in all; the memory is there
 */
void hnic_pkt_set_len(struct hnic_pkt *p, u32 len)
{
	p->len = len;
	if (p->ipv6) {
		hnic_ip6(p)->payload_len = htons(len - p->l4);
		return;
	}
	hnic_ip4(p)->tot_len = htons(len - p->l3);
	ip_send_check(hnic_ip4(p));
}

static __sum16 hnic_pkt_sum(const struct hnic_pkt *p)
{
	u32 len = p->l3 + hnic_pkt_l3_len(p) - p->l4;
	__wsum sum = csum_partial(hnic_tcp(p), len, 0);

	if (p->ipv6)
		return csum_ipv6_magic(&hnic_ip6(p)->saddr,
				       &hnic_ip6(p)->daddr, len, p->proto,
				       sum);
	return csum_tcpudp_magic(hnic_ip4(p)->saddr, hnic_ip4(p)->daddr, len,
				 p->proto, sum);
}

/* Write the checksum of a TCP packet */
void hnic_pkt_csum(struct hnic_pkt *p)
{
	hnic_tcp(p)->check = 0;
	hnic_tcp(p)->check = hnic_pkt_sum(p);
}

/* Is the checksum of this TCP or UDP packet good? Not without one, as UDP allows. */
bool hnic_pkt_csum_good(const struct hnic_pkt *p)
{
	if (p->proto == IPPROTO_UDP &&
	    !((struct udphdr *)hnic_tcp(p))->check)
		return false;
	return !hnic_pkt_sum(p);
}

/* Timestamps as TCP aligns them, RFC 7323 appendix A; others are not read */
#define HNIC_TS_HEAD	0x0101080aU
#define HNIC_TS_DOFF	8

/* Was this packet sent by the device with address @addr itself, not in a VLAN? */
bool hnic_pkt_from(const struct hnic_pkt *p, const u8 *addr)
{
	const struct ethhdr *eth = (struct ethhdr *)hnic_pkt_data(p);

	return p->l3 == ETH_HLEN && ether_addr_equal(eth->h_source, addr);
}

/* Is it for the device with address @addr itself, not in a VLAN? */
bool hnic_pkt_to(const struct hnic_pkt *p, const u8 *addr)
{
	const struct ethhdr *eth = (struct ethhdr *)hnic_pkt_data(p);

	return p->l3 == ETH_HLEN && ether_addr_equal(eth->h_dest, addr);
}

/**
 * hnic_pkt_plain() - is this an ordinary segment of an established connection?
 * @p: TCP packet with a good checksum, for the device itself
 * @ack: set to its acknowledgment
 * @ts: set to its timestamp, 0 without
 * @doff: set to its data offset
 *
 * Return: false if TCP flags or options are unusual, or the IPv4 header has
 * options or a bad checksum.
 */
bool hnic_pkt_plain(const struct hnic_pkt *p, u32 *ack, u32 *ts, u8 *doff)
{
	const struct tcphdr *th = hnic_tcp(p);
	const __be32 *opt = (const __be32 *)(th + 1);

	*ack = ntohl(th->ack_seq);
	*doff = th->doff;
	*ts = 0;
	if (!th->ack || th->syn || th->fin || th->rst || th->urg)
		return false;
	if (!p->ipv6 && (hnic_ip4(p)->ihl != 5 ||
			 ip_fast_csum((u8 *)hnic_ip4(p), 5)))
		return false;
	if (th->doff == sizeof(*th) / 4)
		return true;
	if (th->doff != HNIC_TS_DOFF || ntohl(opt[0]) != HNIC_TS_HEAD)
		return false;
	*ts = ntohl(opt[1]);
	return true;
}
