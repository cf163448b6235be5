// SPDX-License-Identifier: GPL-2.0
/*
 * The link between two devices: rate, delay, parallel paths, a middle box that
 * cuts and joins TCP segments, loss, reordering, damage. Calls hnic_pkt.c,
 * hnic_dma.c and hnic_engine.c.
 *
 * The link runs in the TX engine of the sender. Its time is no work of a NIC, so
 * it is counted in hnic_link_stats.ns. The wire is a queue ahead of the
 * receiver: the TX engine of the sender fills it, the RX engine of the receiver
 * takes from it. Functions without a "Context" run in the TX engine.
 *
 * Packets that need not be touched or timed go straight to the wire, on its first
 * lane. Chance comes from a generator with a settable seed, so that a test can
 * be repeated.
 */
#include <linux/tcp.h>

#include "hnic.h"

/* How much may be queued at HNIC_RATE; then the TX engine waits */
#define HNIC_LINK_AHEAD	(200 * NSEC_PER_USEC)

/* Retry interval while the wire is full, in case a wake-up is lost */
#define HNIC_WIRE_RETRY	(NSEC_PER_MSEC)

/**
 * hnic_link_update() - settings were changed
 * @hd: device
 *
 * Context: process, hnic_dev.lock held.
 */
void hnic_link_update(struct hnic_dev *hd)
{
	static const u8 knobs[] = {
		HNIC_RATE, HNIC_DELAY, HNIC_LOSS, HNIC_REORDER, HNIC_SPLIT,
		HNIC_COALESCE, HNIC_FAULT_CORRUPT,
	};
	struct hnic_link *l = &hd->link;
	bool active = l->knob[HNIC_NPATHS] > 1;
	int i;

	lockdep_assert_held(&hd->lock);
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		active |= l->knob[knobs[i]];
	for (i = 0; i < HNIC_PATHS; i++)
		active |= l->path_delay[i];
	active |= hnic_dma_timed(hd);
	WRITE_ONCE(l->active, active);
}

/*
 * Drop the held packet, and forget all times. The state of the generator stays.
 * Context: process, the TX engine is stopped.
 */
void hnic_link_reset(struct hnic_dev *hd)
{
	struct hnic_link *l = &hd->link;

	if (l->held)
		hnic_pkt_free(l->held);
	l->held = NULL;
	l->free_at = 0;
	l->next_path = 0;
	memset(l->last, 0, sizeof(l->last));
}

/* The next number. Context: the engine that @random belongs to */
static u32 hnic_link_random(u32 *random)
{
	/* xorshift; never 0 */
	u32 x = *random ?: 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*random = x;
	return x;
}

/* True in @ppm of a million cases. Context: the engine that @random belongs to */
bool hnic_link_chance(u32 *random, u32 ppm)
{
	return ppm && reciprocal_scale(hnic_link_random(random), 1000000) < ppm;
}

static bool hnic_link_roll(struct hnic_link *l, enum hnic_knob knob)
{
	return hnic_link_chance(&l->random, READ_ONCE(l->knob[knob]));
}

static bool hnic_wire_full(const struct hnic_wire *w)
{
	return READ_ONCE(w->count) >= HNIC_WIRE_MAX ||
	       READ_ONCE(w->size) >= HNIC_WIRE_SIZE;
}

/**
 * hnic_link_busy() - may the TX engine send?
 * @hd: device
 * @now: time, ns
 *
 * Context: TX engine.
 * Return: 0 if it may, or when to ask again, ns.
 */
u64 hnic_link_busy(struct hnic_dev *hd, u64 now)
{
	struct hnic_dev *peer = hnic_peer(hd);
	struct hnic_link *l = &hd->link;

	if (l->free_at > now + HNIC_LINK_AHEAD)
		return l->free_at - HNIC_LINK_AHEAD / 2;
	if (!peer || !hnic_wire_full(&peer->wire))
		return 0;
	WRITE_ONCE(peer->wire.full, true);
	/* pairs with the lock taken in hnic_wire_take() */
	smp_mb();
	if (!hnic_wire_full(&peer->wire))
		return 0;
	return now + HNIC_WIRE_RETRY;
}

/* ----------------------------------------------------------- middle box */

/* Plain data: no SYN, FIN, RST, URG */
static bool hnic_link_is_data(const struct hnic_pkt *p)
{
	struct tcphdr *th = (struct tcphdr *)(hnic_pkt_data(p) + p->l4);

	return p->pay && hnic_pkt_pay_len(p) && !th->syn && !th->fin &&
	       !th->rst && !th->urg;
}

/* Cut a segment at a place of any alignment; returns the second part, or NULL: not cut */
static struct hnic_pkt *hnic_link_split(struct hnic_dev *hd,
					struct hnic_pkt *p)
{
	u32 data = p->len - p->pay;
	struct tcphdr *th, *th2;
	struct hnic_pkt *second;
	u32 first;

	if (data < 2)
		return NULL;
	first = 1 + reciprocal_scale(hnic_link_random(&hd->link.random), data - 1);
	second = hnic_pkt_alloc(&hd->pool, p->pay + data - first);
	if (!second)
		return NULL;
	memcpy(hnic_pkt_data(second), hnic_pkt_data(p), p->pay);
	memcpy(hnic_pkt_data(second) + p->pay,
	       hnic_pkt_data(p) + p->pay + first, data - first);
	second->l3 = p->l3;
	second->l4 = p->l4;
	second->pay = p->pay;
	second->ipv6 = p->ipv6;
	second->proto = p->proto;
	second->hash = p->hash;
	second->due = p->due;

	th = (struct tcphdr *)(hnic_pkt_data(p) + p->l4);
	th2 = (struct tcphdr *)(hnic_pkt_data(second) + p->l4);
	th->psh = 0;
	th2->cwr = 0;
	th2->seq = htonl(ntohl(th->seq) + first);
	hnic_pkt_set_len(p, p->pay + first);
	hnic_pkt_csum(p);
	hnic_pkt_set_len(second, p->pay + data - first);
	hnic_pkt_csum(second);
	hd->link.stats.split++;
	return second;
}

/*
 * Can @a and @b be one segment? Addresses, ports and TCP options are the same, and
 * @b continues @a. The other fields of IP are not compared, and the window and the
 * acknowledgment may differ: those of @b are later.
 */
static bool hnic_link_joins(struct hnic_dev *hd, const struct hnic_pkt *a,
			    const struct hnic_pkt *b)
{
	struct tcphdr *ta = (struct tcphdr *)(hnic_pkt_data(a) + a->l4);
	struct tcphdr *tb = (struct tcphdr *)(hnic_pkt_data(b) + b->l4);
	u32 data = b->len - b->pay;

	if (a->hash != b->hash || a->pay != b->pay || a->ipv6 != b->ipv6 ||
	    a->l3 != b->l3 || a->l4 != b->l4 ||
	    a->len + data > hd->netdev->mtu + a->l3)
		return false;
	/* never join packets of different VLANs or macvlans */
	if (memcmp(hnic_pkt_data(a), hnic_pkt_data(b), a->l3))
		return false;
	if (memcmp(hnic_pkt_data(a) + a->l3 + (a->ipv6 ? 8 : 12),
		   hnic_pkt_data(b) + b->l3 + (b->ipv6 ? 8 : 12),
		   a->ipv6 ? 32 : 8))
		return false;
	if (memcmp(ta, tb, 4) || memcmp(ta + 1, tb + 1, a->pay - a->l4 - 20))
		return false;
	return ntohl(ta->seq) + a->len - a->pay == ntohl(tb->seq) && !tb->cwr;
}

/* Join two segments in new memory; both are freed. NULL: nothing was done */
static struct hnic_pkt *hnic_link_join(struct hnic_dev *hd,
				       struct hnic_pkt *a, struct hnic_pkt *b)
{
	u32 data = b->len - b->pay;
	struct tcphdr *th, *tb;
	struct hnic_pkt *p;

	p = hnic_pkt_alloc(&hd->pool, a->len + data);
	if (!p)
		return NULL;
	memcpy(hnic_pkt_data(p), hnic_pkt_data(a), a->len);
	memcpy(hnic_pkt_data(p) + a->len, hnic_pkt_data(b) + b->pay, data);
	p->l3 = a->l3;
	p->l4 = a->l4;
	p->pay = a->pay;
	p->ipv6 = a->ipv6;
	p->proto = a->proto;
	p->hash = a->hash;
	p->due = max(a->due, b->due);
	th = (struct tcphdr *)(hnic_pkt_data(p) + p->l4);
	tb = (struct tcphdr *)(hnic_pkt_data(b) + b->l4);
	th->ack_seq = tb->ack_seq;
	th->window = tb->window;
	th->psh |= tb->psh;
	hnic_pkt_set_len(p, p->len);
	hnic_pkt_csum(p);
	hnic_pkt_free(a);
	hnic_pkt_free(b);
	hd->link.stats.coalesced++;
	return p;
}

/* Damage that no TCP checksum sees */
static void hnic_link_corrupt(struct hnic_dev *hd, struct hnic_pkt *p)
{
	u32 at = reciprocal_scale(hnic_link_random(&hd->link.random),
				  p->len - p->pay);

	hnic_pkt_data(p)[p->pay + at] ^= 1 << (at % 8);
	hnic_pkt_csum(p);
	hd->link.stats.corrupted++;
}

/* ---------------------------------------------------------------- wires */

/* The lane on which a packet arrives, and in @p->due when */
static u32 hnic_link_time(struct hnic_dev *hd, struct hnic_pkt *p, u64 now)
{
	struct hnic_link *l = &hd->link;
	u32 rate = READ_ONCE(l->knob[HNIC_RATE]);
	u32 paths = READ_ONCE(l->knob[HNIC_NPATHS]);
	/* not before its DMA is over */
	u64 due = max(now, p->due);
	u32 lane;

	if (rate) {
		/*
		 * a byte takes 8000 / rate ns; preamble, check sequence and gap
		 * are 24 bytes
		 */
		due = max(due, l->free_at) +
		      div_u64((u64)max_t(u32, p->len, 60) * 8000 + 24 * 8000,
			      rate);
		l->free_at = due;
	}
	lane = paths > 1 ? l->next_path++ % paths : 0;
	due += (u64)(READ_ONCE(l->knob[HNIC_DELAY]) +
		     READ_ONCE(l->path_delay[lane])) * NSEC_PER_USEC;
	if (hnic_link_roll(l, HNIC_REORDER)) {
		l->stats.reordered++;
		lane = HNIC_PATHS;
		due += (u64)READ_ONCE(l->knob[HNIC_REORDER_DELAY]) *
		       NSEC_PER_USEC;
	}
	due = max(due, l->last[lane]);
	l->last[lane] = due;
	p->due = due;
	return lane;
}

static void hnic_link_put(struct hnic_dev *hd, struct hnic_pkt *p,
			  struct hnic_list *lanes, u64 now)
{
	if (hnic_link_roll(&hd->link, HNIC_LOSS)) {
		hd->link.stats.lost++;
		hnic_pkt_free(p);
		return;
	}
	hnic_list_add(&lanes[hnic_link_time(hd, p, now)], p);
}

/* Join a packet to the one that is held, hold it for the next one, or pass it on */
static void hnic_link_pass_one(struct hnic_dev *hd, struct hnic_pkt *p,
			       struct hnic_list *lanes, u64 now)
{
	struct hnic_pkt *held = hd->link.held, *joined;

	hd->link.held = NULL;
	if (held) {
		joined = hnic_link_is_data(p) && hnic_link_joins(hd, held, p) ?
			 hnic_link_join(hd, held, p) : NULL;
		if (!joined)
			hnic_link_put(hd, held, lanes, now);
		hnic_link_put(hd, joined ?: p, lanes, now);
		return;
	}
	if (hnic_link_is_data(p) && hnic_link_roll(&hd->link, HNIC_COALESCE))
		hd->link.held = p;
	else
		hnic_link_put(hd, p, lanes, now);
}

/* One packet through the middle box */
static void hnic_link_pass(struct hnic_dev *hd, struct hnic_pkt *p,
			   struct hnic_list *lanes, u64 now)
{
	struct hnic_pkt *second = NULL;

	hnic_pkt_parse(p);
	if (hnic_link_is_data(p)) {
		/* padding of a short frame is no payload */
		p->len = p->pay + hnic_pkt_pay_len(p);
		if (hnic_link_roll(&hd->link, HNIC_FAULT_CORRUPT))
			hnic_link_corrupt(hd, p);
		if (hnic_link_roll(&hd->link, HNIC_SPLIT))
			second = hnic_link_split(hd, p);
	}
	hnic_link_pass_one(hd, p, lanes, now);
	if (second)
		hnic_link_pass_one(hd, second, lanes, now);
}

/* Give packets to the receiver. If it is down, they stay in @lanes. */
static void hnic_wire_put(struct hnic_dev *peer, struct hnic_list *lanes,
			  u32 n, bool timed)
{
	struct hnic_wire *w = &peer->wire;
	u32 i;

	spin_lock(&w->lock);
	if (w->up) {
		w->timed |= timed;
		for (i = 0; i < n; i++) {
			WRITE_ONCE(w->count, w->count + lanes[i].count);
			WRITE_ONCE(w->size, w->size + lanes[i].size);
			hnic_list_splice(&w->lane[i], &lanes[i]);
		}
	}
	spin_unlock(&w->lock);
	hnic_engine_kick(&peer->rx);
}

/* All packets through the middle box; then the one that is still held leaves, too */
static void hnic_link_pass_all(struct hnic_dev *hd, struct hnic_list *pkts,
			       struct hnic_list *lanes, u64 now)
{
	struct hnic_pkt *p;

	while ((p = hnic_list_pop(pkts)))
		hnic_link_pass(hd, p, lanes, now);
	p = hd->link.held;
	hd->link.held = NULL;
	if (p)
		hnic_link_put(hd, p, lanes, now);
}

/**
 * hnic_link_send() - packets leave a device
 * @hd: device
 * @pkts: packets; empty on return
 * @now: time, ns
 *
 * Context: TX engine.
 */
void hnic_link_send(struct hnic_dev *hd, struct hnic_list *pkts, u64 now)
{
	struct hnic_dev *peer = hnic_peer(hd);
	struct hnic_list lanes[HNIC_LANES];
	bool active = READ_ONCE(hd->link.active);
	u64 start;
	int i;

	for (i = 0; i < HNIC_LANES; i++)
		hnic_list_init(&lanes[i]);
	if (active) {
		start = ktime_get_ns();
		hnic_link_pass_all(hd, pkts, lanes, now);
		hd->link.stats.ns += ktime_get_ns() - start;
	} else {
		hnic_list_splice(&lanes[0], pkts);
	}
	if (peer)
		hnic_wire_put(peer, lanes, active ? HNIC_LANES : 1, active);
	for (i = 0; i < HNIC_LANES; i++) {
		hd->tx_stats.no_link += lanes[i].count;
		hnic_list_purge(&lanes[i]);
	}
}

/**
 * hnic_wire_up() - the receiver is open, or not any more
 * @w: its wire
 * @up: take packets
 *
 * Context: process.
 */
void hnic_wire_up(struct hnic_wire *w, bool up)
{
	int i;

	spin_lock_bh(&w->lock);
	w->up = up;
	w->timed = false;
	w->full = false;
	w->count = 0;
	w->size = 0;
	for (i = 0; i < HNIC_LANES; i++)
		hnic_list_purge(&w->lane[i]);
	spin_unlock_bh(&w->lock);
}

/* The lane whose first packet arrives first. Context: w->lock held */
static struct hnic_list *hnic_wire_first(struct hnic_wire *w)
{
	struct hnic_list *first = NULL;
	int i;

	for (i = 0; i < HNIC_LANES; i++) {
		struct hnic_list *l = &w->lane[i];

		if (l->head && (!first || l->head->due < first->head->due))
			first = l;
	}
	return first;
}

/* As hnic_wire_take(). Context: w->lock held */
static u64 hnic_wire_take_timed(struct hnic_wire *w, struct hnic_list *to,
				u64 now)
{
	struct hnic_list *l;

	while ((l = hnic_wire_first(w))) {
		if (l->head->due > now)
			return l->head->due;
		if (to->count == HNIC_BATCH)
			return 0;
		hnic_list_add(to, hnic_list_pop(l));
	}
	w->timed = false;
	return KTIME_MAX;
}

/**
 * hnic_wire_take() - packets that have arrived at a device
 * @hd: device
 * @to: empty; gets HNIC_BATCH of them at most
 * @now: time, ns
 *
 * Context: RX engine.
 * Return: 0 if more have arrived, the time when the next one arrives, or
 * KTIME_MAX if none is under way.
 */
u64 hnic_wire_take(struct hnic_dev *hd, struct hnic_list *to, u64 now)
{
	struct hnic_dev *peer = hnic_peer(hd);
	struct hnic_wire *w = &hd->wire;
	u64 next = KTIME_MAX;
	bool wake = false;

	spin_lock(&w->lock);
	if (w->timed) {
		next = hnic_wire_take_timed(w, to, now);
	} else {
		while (w->lane[0].head && to->count < HNIC_BATCH)
			hnic_list_add(to, hnic_list_pop(&w->lane[0]));
		if (w->lane[0].head)
			next = 0;
	}
	WRITE_ONCE(w->count, w->count - to->count);
	WRITE_ONCE(w->size, w->size - to->size);
	if (w->full && w->count < HNIC_WIRE_MAX / 2 &&
	    w->size < HNIC_WIRE_SIZE / 2) {
		w->full = false;
		wake = true;
	}
	spin_unlock(&w->lock);
	if (wake && peer)
		hnic_engine_kick(&peer->tx);
	return next;
}
