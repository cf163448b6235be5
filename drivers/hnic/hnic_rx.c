// SPDX-License-Identifier: GPL-2.0
/*
 * RX engine and NAPI. Calls hnic_conn.c, hnic_filter.c, hnic_link.c and below.
 *
 * The engine takes packets from the wire and checks their checksums. hnic_conn.c
 * finds the connection, and checks FPDUs. Then the engine chooses a queue: that of
 * the connection, that of a filter, or by hash. When the ring is full it drops the
 * packet. With hnic_dev.pause it stops instead, which eventually stops the peer.
 *
 * NAPI gives the packets to the stack as fragments, so that GRO merges them
 * without a new skb each; short ones are copied, which is cheaper.
 */
#include <linux/cpu_rmap.h>
#include <linux/etherdevice.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/gro.h>

#include "hnic.h"

/* --------------------------------------------------------------- engine */

/* Choose the queue of a packet, or -1 to drop it. @queue: that of its connection, or -1 */
static int hnic_rx_choose(struct hnic_dev *hd, const struct hnic_pkt *p,
			  int queue)
{
	u32 n = hd->netdev->real_num_rx_queues;

	if (queue >= 0) {
		hd->rx_stats.steered_conn++;
		return queue % n;
	}
	queue = hnic_filter_match(hd, p);
	if (queue == HNIC_FILTER_DROP) {
		hd->rx_stats.dropped_ntuple++;
		return -1;
	}
	if (queue != HNIC_FILTER_NONE) {
		hd->rx_stats.steered_ntuple++;
		return queue % n;
	}
	return n > 1 ? reciprocal_scale(p->hash, n) : 0;
}

/* Examine a packet and choose its queue; -1 to drop it */
static int hnic_rx_look(struct hnic_dev *hd, struct hnic_pkt *p)
{
	int queue = -1;

	hnic_pkt_parse(p);
	p->csum_ok = p->l4 && hnic_pkt_csum_good(p);
	hd->rx_stats.packets++;
	hd->rx_stats.bytes += p->len;
	hd->rx_stats.csum_good += p->csum_ok;
	hd->rx_stats.csum_bad += p->l4 && !p->csum_ok;
	/* the ports of a damaged packet are unreliable */
	if (p->pay && p->csum_ok)
		queue = hnic_conn_rx(hd, p);
	return hnic_rx_choose(hd, p, queue);
}

static bool hnic_rx_ring_full(const struct hnic_rxq *rx)
{
	/* pairs with hnic_poll_rx(): the slot was read */
	return rx->head - smp_load_acquire(&rx->tail) == HNIC_RING;
}

/* Put a packet on the ring; false if there is no room */
static bool hnic_rx_put(struct hnic_dev *hd, struct hnic_queue *q,
			struct hnic_pkt *p)
{
	struct hnic_rxq *rx = q->rx;

	if (hnic_rx_ring_full(rx)) {
		WRITE_ONCE(rx->stalled, true);
		/* pairs with hnic_poll_rx() */
		smp_mb();
		if (hnic_rx_ring_full(rx))
			return false;
	}
	rx->slot[rx->head % HNIC_RING] = p;
	/* pairs with hnic_poll_rx() */
	smp_store_release(&rx->head, rx->head + 1);
	q->rx_ring = true;
	return true;
}

/* Retry the packet whose ring was full. True: it still waits, and all later ones behind it. */
static bool hnic_rx_held(struct hnic_dev *hd)
{
	if (!hd->held)
		return false;
	if (!hnic_rx_put(hd, &hd->queue[hd->held->queue], hd->held))
		return true;
	hd->held = NULL;
	return false;
}

/* The ring of a packet is full: stop the engine until there is room, or drop the packet */
static void hnic_rx_full(struct hnic_dev *hd, struct hnic_pkt *p)
{
	if (READ_ONCE(hd->pause)) {
		hd->rx_stats.paused++;
		hd->held = p;
	} else {
		hd->rx_stats.missed++;
		hnic_pkt_free(p);
	}
}

/* Look at the packets that have arrived; returns as hnic_wire_take() */
static u64 hnic_rx_take(struct hnic_dev *hd, u64 now)
{
	struct hnic_rx_stats *st = &hd->rx_stats;
	struct hnic_dma_work work;
	struct hnic_pkt *p;
	u64 next;
	int queue;

	next = hnic_wire_take(hd, &hd->todo, now);
	while ((p = hnic_list_pop(&hd->todo))) {
		queue = hnic_rx_look(hd, p);
		if (queue < 0) {
			hnic_pkt_free(p);
			continue;
		}
		p->queue = queue;
		st->dma_ops++;
		st->dma_bytes += p->len;
		work.ops = st->dma_ops;
		work.bytes = st->dma_bytes;
		work.mem = st->bytes + st->dma_bytes;
		work.crc = st->crc_bytes;
		p->due = hnic_dma_done(hd, &hd->rx_dma, &work, now);
		hnic_list_add(&hd->landing, p);
	}
	return next;
}

/* Packets that are in memory of the host go on its rings */
static void hnic_rx_land(struct hnic_dev *hd, u64 now)
{
	while (hd->landing.head && hd->landing.head->due <= now && !hd->held) {
		struct hnic_pkt *p = hnic_list_pop(&hd->landing);

		if (!hnic_rx_put(hd, &hd->queue[p->queue], p))
			hnic_rx_full(hd, p);
	}
}

/**
 * hnic_rx_run() - a run of the RX engine
 * @hd: device
 * @now: time, ns
 *
 * Context: RX engine, bottom halves disabled.
 * Return: see struct hnic_engine.
 */
u64 hnic_rx_run(struct hnic_dev *hd, u64 now)
{
	u64 next = 0;

	if (hnic_rx_held(hd))
		return KTIME_MAX;
	if (hd->rx_dma.free_at > now + HNIC_DMA_AHEAD)
		next = hd->rx_dma.free_at - HNIC_DMA_AHEAD / 2;
	else
		next = hnic_rx_take(hd, now);
	hnic_rx_land(hd, now);
	if (hd->held)
		return KTIME_MAX;
	return hd->landing.head ? min(next, hd->landing.head->due) : next;
}

static void hnic_interrupt_remote(void *data)
{
	struct hnic_queue *q = data;

	clear_bit(0, &q->csd_busy);
	napi_schedule(&q->napi);
}

/**
 * hnic_interrupt() - make NAPI look at a queue
 * @q: queue
 *
 * The thread of a threaded NAPI runs where hnic_queue_pin() has put it. A softirq
 * runs on the CPU that schedules it, so another CPU gets an interrupt (IPI). An
 * IPI that comes after hnic_down() has no effect: NAPI is disabled.
 *
 * Context: bottom halves disabled, or hard interrupt.
 */
void hnic_interrupt(struct hnic_queue *q)
{
	int cpu = READ_ONCE(q->cpu);

	if (cpu < 0 || cpu == smp_processor_id() ||
	    test_bit(NAPI_STATE_THREADED, &q->napi.state) ||
	    !cpu_online(cpu)) {
		napi_schedule(&q->napi);
		return;
	}
	if (test_and_set_bit(0, &q->csd_busy))
		return;
	if (smp_call_function_single_async(cpu, &q->csd)) {
		clear_bit(0, &q->csd_busy);
		napi_schedule(&q->napi);
	}
}

/* Packets that the host has not seen */
static u32 hnic_rx_waiting(const struct hnic_queue *q)
{
	return READ_ONCE(q->rx->head) - READ_ONCE(q->rx->tail);
}

/* Interrupts after a run of the RX engine; context as hnic_rx_run() */
void hnic_rx_after(struct hnic_dev *hd)
{
	u32 usecs = READ_ONCE(hd->rx_usecs);
	bool later = false;
	int i;

	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_queue *q = &hd->queue[i];

		if (!q->rx_ring)
			continue;
		q->rx_ring = false;
		/* a full ring stops the engine: there will be no more */
		if (!usecs || hd->held ||
		    hnic_rx_waiting(q) >= READ_ONCE(hd->rx_frames))
			hnic_interrupt(q);
		else
			later = true;
	}
	if (!later)
		return;
	/* pairs with hnic_rx_timeout(), whose timer is not queued any more */
	smp_mb();
	if (!hrtimer_is_queued(&hd->rx_timer))
		hrtimer_start(&hd->rx_timer,
			      ns_to_ktime((u64)usecs * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/* Context: hard interrupt */
enum hrtimer_restart hnic_rx_timeout(struct hrtimer *timer)
{
	struct hnic_dev *hd = container_of(timer, struct hnic_dev, rx_timer);
	int i;

	/* pairs with hnic_rx_after(): either it starts us, or we see its packets */
	smp_mb();
	for (i = 0; i < hd->nqueues; i++)
		if (hnic_rx_waiting(&hd->queue[i]))
			hnic_interrupt(&hd->queue[i]);
	return HRTIMER_NORESTART;
}

/**
 * hnic_rx_flush() - throw away what the RX engine holds and the rings have
 * @hd: device; engines and NAPI are stopped
 *
 * Context: process.
 */
void hnic_rx_flush(struct hnic_dev *hd)
{
	int i;

	if (hd->held)
		hnic_pkt_free(hd->held);
	hd->held = NULL;
	hnic_list_purge(&hd->todo);
	hnic_list_purge(&hd->landing);
	hd->rx_dma.free_at = 0;
	for (i = 0; i < hd->nqueues; i++) {
		struct hnic_rxq *rx = hd->queue[i].rx;

		for (; rx->tail != rx->head; rx->tail++)
			hnic_pkt_free(rx->slot[rx->tail % HNIC_RING]);
		rx->head = 0;
		rx->tail = 0;
		rx->stalled = false;
		hd->queue[i].rx_ring = false;
	}
}

/* ----------------------------------------------------------------- NAPI */

static void hnic_rx_skb(struct hnic_queue *q, struct sk_buff *skb,
			const struct hnic_pkt *p)
{
	netdev_features_t on = q->dev->netdev->features;
	bool csum = p->csum_ok && on & NETIF_F_RXCSUM;

	skb->ip_summed = csum ? CHECKSUM_UNNECESSARY : CHECKSUM_NONE;
	hnic_skb_set_decrypted(skb, p->verdict);
	if (on & NETIF_F_RXHASH && p->l3)
		skb_set_hash(skb, p->hash, p->l4 ? PKT_HASH_TYPE_L4 :
						   PKT_HASH_TYPE_L3);
	else
		skb_clear_hash(skb);
	skb_record_rx_queue(skb, q->index);
}

/* No payload of so short a packet was placed, see hnic_place_rx() */
static bool hnic_receive_copy(struct hnic_queue *q, struct hnic_pkt *p)
{
	struct sk_buff *skb = napi_alloc_skb(&q->napi, p->len);

	if (!skb)
		return false;
	skb_put_data(skb, hnic_pkt_data(p), p->len);
	hnic_rx_skb(q, skb, p);
	hnic_pkt_free(p);
	skb->protocol = eth_type_trans(skb, q->dev->netdev);
	napi_gro_receive(&q->napi, skb);
	return true;
}

/*
 * The fragments of a packet with placed payload: pieces of buffers, and those that
 * stayed in its own page. The skb takes over the references. Its truesize is that
 * of the packet: the first piece accounts for the part that the others do not.
 */
static void hnic_receive_placed(struct sk_buff *skb, const struct hnic_pkt *p)
{
	const struct hnic_placed *placed = p->placed;
	u32 size = p->size - (p->len - placed->piece[0].len);
	u32 i;

	for (i = 0; i < placed->nr; i++) {
		const struct hnic_piece *piece = &placed->piece[i];

		skb_add_rx_frag(skb, i, piece->page, piece->off, piece->len,
				size);
		/* truesize of the next piece */
		size = i + 1 < placed->nr ? piece[1].len : 0;
	}
	kfree(placed);
}

static bool hnic_receive_frag(struct hnic_queue *q, struct hnic_pkt *p)
{
	struct sk_buff *skb = napi_get_frags(&q->napi);

	if (!skb)
		return false;
	hnic_rx_skb(q, skb, p);
	/* the skb takes over the packet's references to pages */
	if (p->placed)
		hnic_receive_placed(skb, p);
	else
		skb_add_rx_frag(skb, 0, p->page, p->off, p->len, p->size);
	napi_gro_frags(&q->napi);
	return true;
}

static void hnic_receive(struct hnic_queue *q, struct hnic_pkt *p)
{
	u32 len = p->len;
	bool done;

	if (len <= HNIC_COPYBREAK)
		done = hnic_receive_copy(q, p);
	else
		done = hnic_receive_frag(q, p);
	if (!done) {
		dev_core_stats_rx_dropped_inc(q->dev->netdev);
		hnic_pkt_free(p);
		return;
	}
	q->rx_packets++;
	q->rx_bytes += len;
}

static int hnic_poll_rx(struct hnic_queue *q, int budget)
{
	struct hnic_rxq *rx = q->rx;
	/* pairs with hnic_rx_put() */
	u32 head = smp_load_acquire(&rx->head);
	int done = 0;

	while (rx->tail != head && done < budget) {
		struct hnic_pkt *p = rx->slot[rx->tail % HNIC_RING];

		/* pairs with hnic_rx_ring_full() */
		smp_store_release(&rx->tail, rx->tail + 1);
		hnic_receive(q, p);
		done++;
	}
	/* pairs with hnic_rx_put() */
	smp_mb();
	if (READ_ONCE(rx->stalled) && head - rx->tail < HNIC_RING / 2) {
		WRITE_ONCE(rx->stalled, false);
		hnic_engine_kick(&q->dev->rx);
	}
	return done;
}

/* Free what the engine has fetched */
static void hnic_poll_tx(struct hnic_queue *q, int budget)
{
	struct net_device *netdev = q->dev->netdev;
	struct hnic_txq *tx = q->tx;
	/* pairs with hnic_tx_ring(): the engine is done with the skb */
	u32 done = smp_load_acquire(&tx->done);
	u32 clean = tx->clean, bytes = 0, n = done - clean;
	struct netdev_queue *txq;

	if (!n)
		return;
	for (; clean != done; clean++) {
		struct hnic_tx_slot *slot = &tx->slot[clean % HNIC_RING];

		bytes += slot->len;
		napi_consume_skb(slot->skb, budget);
	}
	q->tx_packets += n;
	q->tx_bytes += bytes;
	WRITE_ONCE(tx->clean_bytes, tx->clean_bytes + bytes);
	/* pairs with hnic_xmit() */
	smp_store_release(&tx->clean, clean);
	if (q->index >= netdev->real_num_tx_queues)
		return;
	txq = netdev_get_tx_queue(netdev, q->index);
	netdev_tx_completed_queue(txq, n, bytes);
	/* pairs with hnic_xmit() */
	smp_mb();
	if (netif_tx_queue_stopped(txq) &&
	    READ_ONCE(tx->head) - clean < HNIC_RING / 2)
		netif_tx_wake_queue(txq);
}

/* Context: softirq, or a thread with bottom halves disabled */
int hnic_poll(struct napi_struct *napi, int budget)
{
	struct hnic_queue *q = container_of(napi, struct hnic_queue, napi);
	int done;

	u64_stats_update_begin(&q->sync);
	hnic_poll_tx(q, budget);
	done = hnic_poll_rx(q, budget);
	q->polls++;
	u64_stats_update_end(&q->sync);
	if (done == budget && budget)
		return done;
	if (napi_complete_done(napi, done) &&
	    (READ_ONCE(q->rx->head) != q->rx->tail ||
	     READ_ONCE(q->tx->done) - q->tx->clean >=
	     READ_ONCE(q->dev->tx_frames)))
		napi_schedule(napi);
	return done;
}

/* ---------------------------------------------------------------- set-up */

/* Context: ndo_init */
void hnic_queue_init(struct hnic_dev *hd, int index)
{
	struct hnic_queue *q = &hd->queue[index];

	q->dev = hd;
	q->index = index;
	q->cpu = -1;
	u64_stats_init(&q->sync);
	INIT_CSD(&q->csd, hnic_interrupt_remote, q);
}

/**
 * hnic_queue_pin() - choose the CPU that a queue interrupts
 * @q: queue
 * @cpu: online CPU, or -1 for any
 *
 * Context: process, lock of the net device and hnic_dev.lock held.
 * Return: 0 or a negative error.
 */
int hnic_queue_pin(struct hnic_queue *q, int cpu)
{
	struct task_struct *thread;
	int ret = 0;

	lockdep_assert_held(&q->dev->lock);
	/*
	 * NAPI exists while the device is open. Its thread may end before that,
	 * when NAPI is switched back to softirq.
	 */
	thread = q->dev->tx.task ? READ_ONCE(q->napi.thread) : NULL;
	if (thread)
		ret = set_cpus_allowed_ptr(thread, hnic_cpus(cpu));
	if (ret)
		return ret;
	WRITE_ONCE(q->cpu, cpu);
#ifdef CONFIG_RFS_ACCEL
	/*
	 * A queue that may interrupt any CPU is not near a particular one. The
	 * map is gone when the device goes, before the files in sysfs.
	 */
	if (q->index < q->dev->netdev->num_rx_queues &&
	    q->dev->netdev->rx_cpu_rmap)
		ret = cpu_rmap_update(q->dev->netdev->rx_cpu_rmap, q->index,
				      cpu < 0 ? cpu_none_mask : cpumask_of(cpu));
#endif
	return ret;
}
