// SPDX-License-Identifier: GPL-2.0
/*
 * TX engine: fetches what the host put on the TX rings into memory of the
 * NIC, cuts it into packets, has the iWARP engines finish FPDUs, writes
 * checksums and sends. Calls hnic_conn.c, hnic_link.c and below.
 *
 * Memory of the host is only read. Each contiguous piece of payload in a packet is
 * one DMA operation, and the headers of an skb are one.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>

#include "hnic.h"

/* Interrupt after this many bytes were fetched, or after tx_frames packets */
#define HNIC_TX_BYTES	32768

/* Pieces of payload as short as this count as markers or CRCs */
#define HNIC_DMA_MARKER	4

/**
 * struct hnic_dma - reads the bytes of an skb one after the other
 * @skb: the skb; it has no list of fragments
 * @frag: fragment, or -1 for the linear part
 * @off: bytes of it that were read
 */
struct hnic_dma {
	const struct sk_buff *skb;
	int frag;
	u32 off;
};

/* The rest of the current piece; moves on to the next one at its end */
static const u8 *hnic_dma_piece(struct hnic_dma *d, u32 *room)
{
	const struct sk_buff *skb = d->skb;
	const skb_frag_t *frag;

	if (d->frag < 0) {
		if (d->off < skb_headlen(skb)) {
			*room = skb_headlen(skb) - d->off;
			return skb->data + d->off;
		}
		d->frag = 0;
		d->off = 0;
	}
	while (d->frag < skb_shinfo(skb)->nr_frags) {
		frag = &skb_shinfo(skb)->frags[d->frag];
		if (d->off < skb_frag_size(frag)) {
			const u8 *p = skb_frag_address(frag);

			*room = skb_frag_size(frag) - d->off;
			return p ? p + d->off : NULL;
		}
		d->frag++;
		d->off = 0;
	}
	return NULL;
}

/* Fetch @len bytes of payload, fewer if the skb ends */
static void hnic_dma_read(struct hnic_dev *hd, struct hnic_dma *d, u8 *dst,
			  u32 len)
{
	struct hnic_tx_stats *st = &hd->tx_stats;
	const u8 *src;
	u32 n;

	st->dma_bytes += len;
	while (len) {
		src = hnic_dma_piece(d, &n);
		if (!src) {
			memset(dst, 0, len);
			return;
		}
		n = min(n, len);
		memcpy(dst, src, n);
		st->dma_ops++;
		st->dma_marker_ops += n <= HNIC_DMA_MARKER;
		d->off += n;
		dst += n;
		len -= n;
	}
}

/* The packet is complete: count it, and compute when its DMA is over */
static void hnic_tx_emit(struct hnic_dev *hd, struct hnic_pkt *p,
			 struct hnic_list *out)
{
	struct hnic_tx_stats *st = &hd->tx_stats;
	struct hnic_dma_work work;

	st->packets++;
	st->bytes += p->len;
	st->send_bytes += p->len;
	work.ops = st->dma_ops;
	work.bytes = st->dma_bytes;
	work.mem = st->dma_bytes + st->move_read_bytes +
		   st->move_write_bytes + st->send_bytes;
	work.crc = st->crc_bytes;
	p->due = hnic_dma_done(hd, &hd->tx_dma, &work, hd->tx_now);
	hnic_list_add(out, p);
}

/* ----------------------------------------------------------- one packet */

/* As skb_checksum_help(), in memory of the NIC */
static void hnic_tx_partial_csum(const struct sk_buff *skb, struct hnic_pkt *p)
{
	u32 start = skb_checksum_start_offset(skb);
	u32 at = start + skb->csum_offset;
	u8 *data = hnic_pkt_data(p);
	__sum16 sum;

	if (at + sizeof(sum) > p->len)
		return;
	sum = csum_fold(csum_partial(data + start, p->len - start, 0));
	*(__sum16 *)(data + at) = sum ?: CSUM_MANGLED_0;
}

/* An skb that is a packet. The frame keeps its length, even below 60. */
static void hnic_tx_single(struct hnic_dev *hd, const struct sk_buff *skb,
			   struct hnic_list *out)
{
	struct hnic_dma d = { .skb = skb, .frag = -1 };
	struct hnic_pkt *p;

	if (skb->len > hd->netdev->mtu + VLAN_ETH_HLEN) {
		hd->tx_stats.too_long++;
		return;
	}
	p = hnic_pkt_alloc(&hd->pool, skb->len);
	if (!p) {
		hd->tx_stats.no_memory++;
		return;
	}
	/* fetch the linear part, headers included, as one descriptor */
	hnic_dma_read(hd, &d, hnic_pkt_data(p), skb_headlen(skb));
	hd->tx_stats.dma_ops--;
	hd->tx_stats.dma_hdr_ops++;
	hnic_dma_read(hd, &d, hnic_pkt_data(p) + skb_headlen(skb),
		      skb->len - skb_headlen(skb));
	if (skb->ip_summed == CHECKSUM_PARTIAL)
		hnic_tx_partial_csum(skb, p);
	switch (hnic_conn_tx(hd, p, skb)) {
	case HNIC_TX_DROP:
		hnic_pkt_free(p);
		return;
	case HNIC_TX_TOUCHED:
		hnic_pkt_csum(p);
		break;
	case HNIC_TX_PLAIN:
		break;
	}
	hnic_tx_emit(hd, p, out);
}

/* ------------------------------------------------------------ TCP packets */

/**
 * struct hnic_tso - an skb being cut
 * @d: payload
 * @hdr: headers of the first packet
 * @hlen: their length
 * @l3: offset of the IP header
 * @l4: offset of the TCP header
 * @ipv6: IPv6
 * @seq: sequence number of the next packet
 * @left: payload that is left
 * @index: packets made
 */
struct hnic_tso {
	struct hnic_dma d;
	u8 hdr[HNIC_HDR_MAX];
	u32 hlen;
	u16 l3;
	u16 l4;
	bool ipv6;
	u32 seq;
	u32 left;
	u32 index;
};

/*
 * The stack sets the offsets, but tc(8), a BPF program or a raw socket can
 * change the length fields in the headers afterwards. Checksums and lengths
 * are written by these fields, so they must agree with the offsets.
 */
static bool hnic_tso_headers_good(const struct hnic_tso *t)
{
	const struct tcphdr *th = (const struct tcphdr *)(t->hdr + t->l4);
	const struct iphdr *ip = (const struct iphdr *)(t->hdr + t->l3);

	if (th->doff < sizeof(*th) / 4)
		return false;
	if (t->ipv6)
		return t->l4 >= t->l3 + sizeof(struct ipv6hdr);
	return ip->ihl >= sizeof(*ip) / 4 && t->l4 == t->l3 + ip->ihl * 4;
}

static bool hnic_tso_begin(struct hnic_dev *hd, struct hnic_tso *t,
			   const struct sk_buff *skb)
{
	struct tcphdr *th;

	t->l3 = skb_network_offset(skb);
	t->l4 = skb_transport_offset(skb);
	t->ipv6 = skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6;
	if (t->l3 >= t->l4 ||
	    t->l4 + sizeof(*th) > min_t(u32, HNIC_HDR_MAX, skb->len) ||
	    skb_copy_bits(skb, 0, t->hdr, t->l4 + sizeof(*th)) ||
	    !hnic_tso_headers_good(t))
		return false;
	th = (struct tcphdr *)(t->hdr + t->l4);
	t->hlen = t->l4 + th->doff * 4;
	if (t->hlen > HNIC_HDR_MAX || t->hlen >= skb->len)
		return false;
	t->d.skb = skb;
	t->d.frag = -1;
	t->d.off = 0;
	hnic_dma_read(hd, &t->d, t->hdr, t->hlen);
	hd->tx_stats.dma_ops--;
	hd->tx_stats.dma_hdr_ops++;
	t->seq = ntohl(th->seq);
	t->left = skb->len - t->hlen;
	t->index = 0;
	return true;
}

/* Headers of the packet that holds the next @len bytes */
static void hnic_tso_headers(struct hnic_tso *t, struct hnic_pkt *p, u32 len)
{
	u8 *data = hnic_pkt_data(p);
	struct tcphdr *th = (struct tcphdr *)(data + t->l4);
	struct iphdr *ip = (struct iphdr *)(data + t->l3);

	memcpy(data, t->hdr, t->hlen);
	p->l3 = t->l3;
	p->l4 = t->l4;
	p->pay = t->hlen;
	p->ipv6 = t->ipv6;
	p->proto = IPPROTO_TCP;
	if (!t->ipv6)
		ip->id = htons(ntohs(ip->id) + t->index);
	hnic_pkt_set_len(p, t->hlen + len);
	th->seq = htonl(t->seq);
	if (t->index)
		th->cwr = 0;
	if (len < t->left) {
		th->fin = 0;
		th->psh = 0;
	}
}

static void hnic_tx_tso(struct hnic_dev *hd, const struct sk_buff *skb,
			struct hnic_list *out)
{
	u32 mss = min_t(u32, skb_shinfo(skb)->gso_size, hd->netdev->mtu);
	struct hnic_pkt *p;
	struct hnic_tso t;
	u32 n;

	if (!mss || !hnic_tso_begin(hd, &t, skb)) {
		hd->tx_stats.too_long++;
		return;
	}
	hd->tx_stats.tso++;
	for (; t.left; t.left -= n, t.seq += n, t.index++) {
		n = min(mss, t.left);
		p = hnic_pkt_alloc(&hd->pool, t.hlen + n);
		if (!p) {
			hd->tx_stats.no_memory++;
			return;
		}
		hnic_tso_headers(&t, p, n);
		hnic_dma_read(hd, &t.d, hnic_pkt_data(p) + t.hlen, n);
		if (hnic_conn_tx(hd, p, skb) == HNIC_TX_DROP) {
			hnic_pkt_free(p);
			continue;
		}
		hnic_pkt_csum(p);
		hnic_tx_emit(hd, p, out);
	}
}

/* --------------------------------------------------------------- engine */

/* Fetch from one ring, up to a full batch */
static void hnic_tx_ring(struct hnic_dev *hd, struct hnic_queue *q,
			 struct hnic_list *out)
{
	struct hnic_txq *tx = q->tx;
	/* pairs with hnic_xmit() */
	u32 head = smp_load_acquire(&tx->head);
	struct sk_buff *skb;

	while (tx->done != head && out->count < HNIC_BATCH) {
		skb = tx->slot[tx->done % HNIC_RING].skb;
		if (skb_is_gso(skb))
			hnic_tx_tso(hd, skb, out);
		else
			hnic_tx_single(hd, skb, out);
		tx->done_bytes += skb->len;
		/* the host may free it from now on */
		smp_store_release(&tx->done, tx->done + 1);
		q->tx_ring = true;
	}
}

/**
 * hnic_tx_run() - a run of the TX engine
 * @hd: device
 * @now: time, ns
 *
 * Context: TX engine, bottom halves disabled.
 * Return: see struct hnic_engine.
 */
u64 hnic_tx_run(struct hnic_dev *hd, u64 now)
{
	struct hnic_list out;
	u64 wait;
	int i;

	wait = hnic_link_busy(hd, now);
	if (wait)
		return wait;
	if (hd->tx_dma.free_at > now + HNIC_DMA_AHEAD)
		return hd->tx_dma.free_at - HNIC_DMA_AHEAD / 2;
	hd->tx_now = now;
	hnic_list_init(&out);
	for (i = 0; i < hd->nqueues && out.count < HNIC_BATCH; i++)
		hnic_tx_ring(hd, &hd->queue[hd->tx_turn++ % hd->nqueues],
			     &out);
	if (!out.count)
		return KTIME_MAX;
	hnic_link_send(hd, &out, now);
	return 0;
}

/* Must the host be notified at once? */
static bool hnic_tx_urgent(const struct hnic_queue *q)
{
	const struct hnic_txq *tx = q->tx;
	struct netdev_queue *txq;

	if (q->index >= q->dev->netdev->real_num_tx_queues)
		return true;
	txq = netdev_get_tx_queue(q->dev->netdev, q->index);
	return tx->done - READ_ONCE(tx->clean) >=
		       READ_ONCE(q->dev->tx_frames) ||
	       tx->done_bytes - READ_ONCE(tx->clean_bytes) >=
	       HNIC_TX_BYTES || netif_xmit_stopped(txq);
}

/**
 * hnic_tx_after() - interrupts after a run of the TX engine
 * @hd: device
 *
 * The interrupt for a few small packets is delayed. If NAPI runs before, for other
 * packets, it frees these as well.
 *
 * Context: TX engine, bottom halves disabled.
 */
void hnic_tx_after(struct hnic_dev *hd)
{
	bool later = false;
	int i;

	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_queue *q = &hd->queue[i];

		if (!q->tx_ring)
			continue;
		q->tx_ring = false;
		if (!READ_ONCE(hd->tx_usecs) || hnic_tx_urgent(q))
			hnic_interrupt(q);
		else
			later = true;
	}
	if (!later)
		return;
	/* pairs with hnic_tx_timeout(), whose timer is not queued any more */
	smp_mb();
	if (!hrtimer_is_queued(&hd->tx_timer))
		hrtimer_start(&hd->tx_timer,
			      ns_to_ktime((u64)READ_ONCE(hd->tx_usecs) *
					  NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/* Context: hard interrupt */
enum hrtimer_restart hnic_tx_timeout(struct hrtimer *timer)
{
	struct hnic_dev *hd = container_of(timer, struct hnic_dev, tx_timer);
	int i;

	/* pairs with hnic_tx_after(): either it starts us, or we see its packets */
	smp_mb();
	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_txq *tx = hd->queue[i].tx;

		if (READ_ONCE(tx->done) != READ_ONCE(tx->clean))
			hnic_interrupt(&hd->queue[i]);
	}
	return HRTIMER_NORESTART;
}

/**
 * hnic_tx_flush() - throw away what is on the TX rings
 * @hd: device; engines, queues and NAPI are stopped
 *
 * Context: process.
 */
void hnic_tx_flush(struct hnic_dev *hd)
{
	int i;

	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_txq *tx = hd->queue[i].tx;

		for (; tx->clean != tx->head; tx->clean++)
			kfree_skb(tx->slot[tx->clean % HNIC_RING].skb);
		tx->head = 0;
		tx->done = 0;
		tx->clean = 0;
		tx->done_bytes = 0;
		tx->clean_bytes = 0;
		hd->queue[i].tx_ring = false;
	}
	hd->tx_dma.free_at = 0;
}
