// SPDX-License-Identifier: GPL-2.0
/*
 * The iWARP engines: connections taken over from a provider, CRC and markers
 * of what they send, the verdict on what they receive, their queue. Calls
 * hnic_place.c, hnic_link.c for random faults, hnic_pkt.c, lib/iwarp and the
 * provider.
 *
 * Readers of the table are both engines (RCU). An entry has a lock for each
 * direction, which the engine holds while it calls the provider. conn_del takes
 * both, so that no such call is running when it returns. The provider calls
 * rx_resync with the lock of the TCP socket held. Its callbacks must therefore not
 * take that lock.
 *
 * Positions are only needed modulo the marker interval, a power of two. So the
 * difference of two sequence numbers is enough.
 */
#include <linux/jhash.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "hnic.h"
#include "hnic_fpdu.h"
#include "hnic_place.h"
#include "hnic_trace.h"
#include "iwarp/crc.h"

/* Addresses and ports as the local side sees them; no holes, as it is hashed */
struct hnic_tuple {
	struct in6_addr saddr;
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	u32 ipv6;
};

/**
 * struct hnic_conn - a connection
 * @node: in hnic_dev.conns
 * @key: addresses and ports
 * @rcu: freed after readers
 * @conn: the provider's, NULL when deleted; changed under both locks
 * @queue: where its packets go, or -1
 * @tx_lock: protects the sending part
 * @tx_next: where the next FPDU begins
 * @tx_sync: @tx_next is known
 * @rx_lock: protects the receiving part
 * @rx_next: where the next FPDU begins, after what was seen
 * @rx_sync: @rx_next is known
 * @rx_asked: rx_lost was called and not answered
 * @rx_answers: answers of the provider that are not counted yet
 * @place: placement
 */
struct hnic_conn {
	struct rhash_head node;
	struct hnic_tuple key;
	struct rcu_head rcu;
	struct iwarp_offload_conn *conn;
	int queue;
	spinlock_t tx_lock;	/* sending */
	u32 tx_next;
	bool tx_sync;
	spinlock_t rx_lock;	/* receiving */
	u32 rx_next;
	bool rx_sync;
	bool rx_asked;
	u32 rx_answers;
	struct hnic_place place;
};

static const struct rhashtable_params hnic_conn_params = {
	.head_offset = offsetof(struct hnic_conn, node),
	.key_offset = offsetof(struct hnic_conn, key),
	.key_len = sizeof(struct hnic_tuple),
	.automatic_shrinking = true,
};

int hnic_conn_init(struct hnic_dev *hd)
{
	mutex_init(&hd->conn_lock);
	return rhashtable_init(&hd->conns, &hnic_conn_params);
}

static void hnic_conn_free(void *ptr, void *arg)
{
	kfree(ptr);
}

/* Context: all providers have released the device */
void hnic_conn_exit(struct hnic_dev *hd)
{
	rhashtable_free_and_destroy(&hd->conns, hnic_conn_free, NULL);
}

static struct hnic_conn *hnic_conn_find(struct hnic_dev *hd,
					const struct hnic_pkt *p, bool sending)
{
	struct hnic_tuple key = {};

	hnic_pkt_tuple(p, sending ? &key.saddr : &key.daddr,
		       sending ? &key.daddr : &key.saddr,
		       sending ? &key.sport : &key.dport,
		       sending ? &key.dport : &key.sport);
	key.ipv6 = p->ipv6;
	return rhashtable_lookup(&hd->conns, &key, hnic_conn_params);
}

/* ------------------------------------------------------------- transmit */

/* Ask the provider for the final bytes of a packet that the engine cannot finish itself */
static enum hnic_tx hnic_conn_tx_fallback(struct hnic_dev *hd, struct hnic_conn *hc,
					  u8 *data, u32 seq, u32 len)
{
	int err;

	hc->tx_sync = false;
	err = hc->conn->ops->tx_fill(hc->conn, seq, data, len);
	if (err == -ESTALE) {
		hd->tx_stats.crc_stale++;
		return HNIC_TX_DROP;
	}
	if (err) {
		hd->tx_stats.crc_unknown++;
		return HNIC_TX_PLAIN;
	}
	hd->tx_stats.crc_fallback++;
	hd->tx_stats.dma_ops++;
	hd->tx_stats.dma_bytes += len;
	return HNIC_TX_TOUCHED;
}

static bool hnic_conn_tx_contig(struct hnic_dev *hd, u8 *p, u32 len, u32 pos,
				u32 ivl)
{
	u32 moved;

	if (!hnic_fpdu_open(p, len, pos, ivl, &moved))
		return false;
	hd->tx_stats.move_read_bytes += moved;
	hd->tx_stats.move_write_bytes += moved;
	hd->tx_stats.contig_fpdus++;
	return true;
}

/*
 * Length and layout of the FPDU at @seq; 0 if none begins there or this is
 * unknown.
 */
static u32 hnic_conn_tx_fpdu(struct hnic_conn *hc, const u8 *p, u32 room, u32 seq,
			     bool ask, u8 *layout)
{
	struct iwarp_offload_conn *conn = hc->conn;
	u32 start, len;

	if (ask) {
		if (conn->ops->tx_fpdu(conn, seq, &start, &len, layout) ||
		    start != seq)
			return 0;
		return len;
	}
	*layout = IWARP_LAYOUT_FINAL;
	return hnic_fpdu_len(p, room, seq - conn->tx_seq, conn->tx_ivl);
}

/* Finish one whole FPDU. Returns false if its header contradicts @len. */
static bool hnic_conn_tx_fill_one(struct hnic_dev *hd,
				  struct iwarp_offload_conn *conn, u8 *p, u32 seq,
				  u32 len, u8 layout)
{
	u32 whole = len;

	if (layout == IWARP_LAYOUT_CONTIG &&
	    !hnic_conn_tx_contig(hd, p, len, seq - conn->tx_seq, conn->tx_ivl))
		return false;
	if (READ_ONCE(conn->features) & BIT(IWARP_OFFLOAD_TX_CRC)) {
		len -= MPA_CRC_SIZE;
		mpa_put_crc(p + len, iwarp_crc32c(~0, p, len));
		hd->tx_stats.crc_bytes += len;
		hd->tx_stats.crc_filled++;
	}
	hd->tx_stats.fpdus++;
	trace_hnic_fpdu_tx(conn, seq, whole, layout);
	return true;
}

/* Finish a packet */
static enum hnic_tx hnic_conn_tx_finish(struct hnic_dev *hd, struct hnic_conn *hc,
					u8 *data, u32 seq, u32 len)
{
	bool ask = READ_ONCE(hc->conn->features) & BIT(IWARP_OFFLOAD_TX_CONTIG);
	u32 max = READ_ONCE(hd->link.knob[HNIC_MAX_FPDU]);
	bool known = hc->tx_sync && hc->tx_next == seq;
	enum hnic_tx rest;
	u32 at = 0, n;
	u8 layout;

	while (at < len) {
		n = hnic_conn_tx_fpdu(hc, data + at, len - at, seq + at,
				      ask || !known, &layout);
		if (n <= MPA_CRC_SIZE || n > min(len - at, max) ||
		    !hnic_conn_tx_fill_one(hd, hc->conn, data + at, seq + at, n,
					   layout)) {
			rest = hnic_conn_tx_fallback(hd, hc, data + at, seq + at,
						     len - at);
			return rest == HNIC_TX_PLAIN && at ? HNIC_TX_TOUCHED :
			       rest;
		}
		known = true;
		at += n;
	}
	hc->tx_next = seq + len;
	hc->tx_sync = true;
	return HNIC_TX_TOUCHED;
}

/*
 * A packet may have the addresses and ports of a connection, and be of another
 * socket: in a VLAN, of a macvlan, from another namespace. A marked packet is the
 * connection's, and so is one that its socket owns; copies that were made on the way
 * here have no owner.
 */
static bool hnic_conn_tx_own(struct hnic_dev *hd, const struct hnic_conn *hc,
			     const struct hnic_pkt *p, const struct sk_buff *skb)
{
	if (hnic_skb_decrypted(skb))
		return true;
	return hnic_pkt_from(p, hd->netdev->dev_addr) &&
	       (!skb->sk || skb->sk == READ_ONCE(hc->conn->sk));
}

/*
 * The engine finishes a marked packet. A packet without the mark is either final, perhaps
 * with its markers moved by software, or a copy that was made on the way here. In both
 * cases the provider supplies the bytes.
 */
static enum hnic_tx hnic_conn_tx_serve(struct hnic_dev *hd, struct hnic_conn *hc,
				       struct hnic_pkt *p, bool marked)
{
	u8 *data = hnic_pkt_data(p) + p->pay;
	u32 len = hnic_pkt_pay_len(p);

	if (marked)
		return hnic_conn_tx_finish(hd, hc, data, hnic_pkt_seq(p), len);
	return hnic_conn_tx_fallback(hd, hc, data, hnic_pkt_seq(p), len);
}

/**
 * hnic_conn_tx() - fill in what the provider left to the NIC
 * @hd: device
 * @p: packet, with all of its bytes, before its checksum
 * @skb: where it comes from; if marked, it has to be finished by the NIC
 *
 * Context: TX engine, RCU.
 */
enum hnic_tx hnic_conn_tx(struct hnic_dev *hd, struct hnic_pkt *p,
			  const struct sk_buff *skb)
{
	/*
	 * includes TX_SG, so that a marked packet counts as served, although the
	 * engine fills in nothing without TX_CRC
	 */
	u32 tx_features = BIT(IWARP_OFFLOAD_TX_CRC) | BIT(IWARP_OFFLOAD_TX_CONTIG) |
			  BIT(IWARP_OFFLOAD_TX_SG);
	bool marked = hnic_skb_decrypted(skb);
	enum hnic_tx ret = HNIC_TX_PLAIN;
	struct hnic_conn *hc;
	bool served = false;

	if (!marked && !READ_ONCE(hd->nconns))
		return HNIC_TX_PLAIN;
	if (!p->pay)
		hnic_pkt_parse(p);
	if (!p->pay) {
		if (!marked)
			return HNIC_TX_PLAIN;
		hd->tx_stats.crc_dropped++;
		return HNIC_TX_DROP;
	}
	hc = hnic_conn_find(hd, p, true);
	if (hc) {
		spin_lock(&hc->tx_lock);
		if (hc->conn && hnic_conn_tx_own(hd, hc, p, skb)) {
			hnic_place_sent(&hc->place, p);
			served = hnic_pkt_pay_len(p) &&
				 READ_ONCE(hc->conn->features) & tx_features;
		}
		if (served)
			ret = hnic_conn_tx_serve(hd, hc, p, marked);
		spin_unlock(&hc->tx_lock);
	}
	if (!hnic_pkt_pay_len(p))
		return HNIC_TX_PLAIN;
	if (!served && marked) {
		/* TCP retransmits it, and the provider has finished it by then */
		hd->tx_stats.crc_dropped++;
		return HNIC_TX_DROP;
	}
	return ret;
}

/* -------------------------------------------------------------- receive */

/* Check CRC and markers of all FPDUs of a packet that consists of whole FPDUs */
static bool hnic_conn_rx_good(struct hnic_dev *hd, const u8 *p, u32 len, u32 pos,
			      u32 ivl)
{
	u32 at, n;

	for (at = 0; at < len; at += n) {
		n = hnic_fpdu_len(p + at, len - at, pos + at, ivl);
		hd->rx_stats.fpdus++;
		hd->rx_stats.crc_bytes += n - MPA_CRC_SIZE;
		if (iwarp_crc32c(~0, p + at, n - MPA_CRC_SIZE) !=
		    mpa_get_crc(p + at + n - MPA_CRC_SIZE) ||
		    !hnic_fpdu_marks_good(p + at, n, pos + at, ivl)) {
			hd->rx_stats.crc_bad++;
			return false;
		}
		hd->rx_stats.crc_good++;
	}
	return true;
}

/* Is none of the FPDUs that fill a packet too long for the engine? */
static bool hnic_conn_rx_able(struct hnic_dev *hd, const u8 *p, u32 len, u32 pos,
			      u32 ivl)
{
	u32 max = READ_ONCE(hd->link.knob[HNIC_MAX_FPDU]);
	u32 at, n;

	if (len <= max)
		return true;
	for (at = 0; at < len; at += n) {
		n = hnic_fpdu_len(p + at, len - at, pos + at, ivl);
		if (n > max)
			return false;
	}
	return true;
}

static void hnic_conn_rx_lose(struct hnic_dev *hd, struct hnic_conn *hc)
{
	hc->rx_sync = false;
	if (hc->rx_asked)
		return;
	hc->rx_asked = true;
	hd->rx_stats.resync_lost++;
	trace_hnic_rx_lost(hc->conn, hc->rx_next);
	hc->conn->ops->rx_lost(hc->conn);
}

/* Continue after this packet, which ends at @end */
static void hnic_conn_rx_sync(struct hnic_dev *hd, struct hnic_conn *hc, u32 end)
{
	if (!hc->rx_sync)
		hd->rx_stats.resync_self++;
	hc->rx_sync = true;
	hc->rx_asked = false;
	hc->rx_next = end;
}

/* The packet begins inside of an FPDU or was here before: find the next FPDU */
static void hnic_conn_rx_track(struct hnic_dev *hd, struct hnic_conn *hc,
			       const u8 *data, u32 seq, u32 len)
{
	struct iwarp_offload_conn *conn = hc->conn;
	u32 skip = hc->rx_next - seq;
	u32 n;

	if (skip >= len)
		return;
	n = hnic_fpdu_walk(data + skip, len - skip,
			   hc->rx_next - conn->rx_seq, conn->rx_ivl);
	if (n)
		hc->rx_next += n;
	else
		hnic_conn_rx_lose(hd, hc);
}

/**
 * hnic_conn_rx_check() - the verdict on a packet
 * @hd: device
 * @hc: its connection, rx_lock held
 * @data: its payload
 * @seq: sequence number of that
 * @len: its bytes
 *
 * Packets usually consist of whole FPDUs. So each is parsed from its first
 * byte on, and CRCs are computed only if the lengths add up. The verdict says
 * no more than that lengths, CRCs and markers fit: only the host knows whether
 * an FPDU really begins there.
 */
static bool hnic_conn_rx_check(struct hnic_dev *hd, struct hnic_conn *hc,
			       const u8 *data, u32 seq, u32 len)
{
	struct iwarp_offload_conn *conn = hc->conn;
	bool ahead = !hc->rx_sync || (s32)(seq - hc->rx_next) >= 0;
	u32 pos = seq - conn->rx_seq;
	u32 n;

	n = hnic_fpdu_walk(data, len, pos, conn->rx_ivl);
	if (n == len && !hnic_conn_rx_able(hd, data, len, pos, conn->rx_ivl)) {
		if (ahead)
			hnic_conn_rx_sync(hd, hc, seq + len);
		return false;
	}
	if (n == len && hnic_conn_rx_good(hd, data, len, pos, conn->rx_ivl)) {
		if (ahead)
			hnic_conn_rx_sync(hd, hc, seq + len);
		return true;
	}
	if (!ahead)
		hnic_conn_rx_track(hd, hc, data, seq, len);
	else if (hc->rx_sync && seq == hc->rx_next && n > len)
		hc->rx_next = seq + n;
	else
		hnic_conn_rx_lose(hd, hc);
	return false;
}

/*
 * Give the verdict on a packet. Returns true if the packet is good and the verdict says
 * so: fault injection can make the two differ.
 */
static bool hnic_conn_rx_verdict(struct hnic_dev *hd, struct hnic_conn *hc,
				 struct hnic_pkt *p)
{
	u32 len = hnic_pkt_pay_len(p);
	bool good, really;

	if (!len)
		return false;
	hd->rx_stats.resync_host += hc->rx_answers;
	hc->rx_answers = 0;
	if (hnic_link_chance(&hd->rx_random,
			     READ_ONCE(hd->link.knob[HNIC_FAULT_RESYNC]))) {
		hnic_conn_rx_lose(hd, hc);
		good = false;
	} else {
		good = hnic_conn_rx_check(hd, hc, hnic_pkt_data(p) + p->pay,
					  hnic_pkt_seq(p), len);
	}
	really = good;
	if (hnic_link_chance(&hd->rx_random,
			     READ_ONCE(hd->link.knob[HNIC_FAULT_VERDICT])))
		good = !good;
	trace_hnic_fpdu_rx(hc->conn, hnic_pkt_seq(p), len, good);
	p->verdict = good;
	hd->rx_stats.verdicts += good;
	hd->rx_stats.no_verdict += !good;
	return really && good;
}

/**
 * hnic_conn_rx() - run the iWARP engines on a packet
 * @hd: device
 * @p: parsed packet of TCP with a good checksum
 *
 * Context: RX engine, RCU.
 * Return: the queue of its connection, or -1.
 */
int hnic_conn_rx(struct hnic_dev *hd, struct hnic_pkt *p)
{
	bool next, good = false;
	struct hnic_conn *hc;
	u32 features = 0;

	if (!READ_ONCE(hd->nconns))
		return -1;
	/* packets of a VLAN or a macvlan may belong to another namespace */
	if (!hnic_pkt_to(p, hd->netdev->dev_addr))
		return -1;
	hc = hnic_conn_find(hd, p, false);
	if (!hc)
		return -1;
	spin_lock(&hc->rx_lock);
	if (hc->conn)
		features = READ_ONCE(hc->conn->features) &
			   READ_ONCE(hd->offload);
	if (features & BIT(IWARP_OFFLOAD_RX_CRC))
		good = hnic_conn_rx_verdict(hd, hc, p);
	/* track always, as placement may be switched on later */
	next = hnic_place_track(&hc->place, hnic_pkt_seq(p),
				hnic_pkt_pay_len(p));
	if (features & BIT(IWARP_OFFLOAD_RX_PLACE))
		hnic_place_rx(hd, &hc->place, hc->conn, p, next, good);
	spin_unlock(&hc->rx_lock);
	if (!(features & BIT(IWARP_OFFLOAD_RX_DEMUX)))
		return -1;
	return READ_ONCE(hc->queue);
}

/* ------------------------------------------------------- for the provider */

static void hnic_caps(struct net_device *netdev,
		      struct iwarp_offload_caps *caps)
{
	struct hnic_dev *hd = netdev_priv(netdev);

	caps->supported = BIT(IWARP_OFFLOAD_FEATURES) - 1;
	caps->enabled = READ_ONCE(hd->offload);
	caps->max_conns = READ_ONCE(hd->link.knob[HNIC_MAX_CONNS]);
	caps->max_frags = READ_ONCE(hd->link.knob[HNIC_MAX_FRAGS]);
	caps->max_fpdu = READ_ONCE(hd->link.knob[HNIC_MAX_FPDU]);
	caps->max_bufs = READ_ONCE(hd->link.knob[HNIC_MAX_BUFS]);
}

/* The queue of the CPU that the provider prefers, or else one by a hash of the addresses */
static int hnic_conn_queue(struct hnic_dev *hd, const struct hnic_conn *hc,
			   int cpu)
{
	u32 n = min_t(u32, READ_ONCE(hd->netdev->real_num_rx_queues),
		      hd->nqueues);
	u32 i;

	for (i = 0; cpu >= 0 && i < n; i++)
		if (READ_ONCE(hd->queue[i].cpu) == cpu)
			return i;
	return reciprocal_scale(jhash(&hc->key, sizeof(hc->key), 0), n);
}

static void hnic_conn_key(struct hnic_tuple *key,
			  const struct iwarp_offload_conn *conn)
{
	u32 len = conn->family == AF_INET ? 4 : sizeof(key->saddr);

	memset(key, 0, sizeof(*key));
	memcpy(&key->saddr, &conn->saddr, len);
	memcpy(&key->daddr, &conn->daddr, len);
	key->sport = conn->sport;
	key->dport = conn->dport;
	key->ipv6 = conn->family == AF_INET6;
}

/* Returns -EEXIST while a former connection with these addresses has packets in flight */
static int hnic_conn_insert(struct hnic_dev *hd, struct hnic_conn *hc)
{
	int err = -ENOSPC;

	mutex_lock(&hd->conn_lock);
	if (hd->nconns < READ_ONCE(hd->link.knob[HNIC_MAX_CONNS]))
		err = rhashtable_lookup_insert_fast(&hd->conns, &hc->node,
						    hnic_conn_params);
	if (!err)
		WRITE_ONCE(hd->nconns, hd->nconns + 1);
	mutex_unlock(&hd->conn_lock);
	return err;
}

static int hnic_conn_add(struct iwarp_offload_conn *conn)
{
	struct hnic_dev *hd = netdev_priv(conn->netdev);
	struct hnic_conn *hc;
	int err;

	if ((conn->family != AF_INET && conn->family != AF_INET6) ||
	    (conn->tx_ivl && conn->tx_ivl < MPA_MARK_IVL_MIN) ||
	    (conn->rx_ivl && conn->rx_ivl < MPA_MARK_IVL_MIN))
		return -EOPNOTSUPP;
	hc = kzalloc(sizeof(*hc), GFP_KERNEL);
	if (!hc)
		return -ENOMEM;
	spin_lock_init(&hc->tx_lock);
	spin_lock_init(&hc->rx_lock);
	hnic_conn_key(&hc->key, conn);
	hc->conn = conn;
	hc->rx_next = conn->rx_seq;
	hc->rx_sync = true;
	hnic_place_init(&hc->place, conn->rx_seq);
	conn->features &= READ_ONCE(hd->offload);
	hc->queue = -1;
	if (conn->features & BIT(IWARP_OFFLOAD_RX_DEMUX))
		hc->queue = hnic_conn_queue(hd, hc, conn->cpu);
	conn->queue = hc->queue;
	conn->drv = hc;
	err = hnic_conn_insert(hd, hc);
	if (err) {
		conn->drv = NULL;
		kfree(hc);
	} else {
		trace_hnic_conn_add(conn);
	}
	return err;
}

/*
 * Features or the layout have changed. The engines read both for each packet; the queue
 * and the state of placement are updated here.
 */
static void hnic_conn_update(struct iwarp_offload_conn *conn)
{
	struct hnic_dev *hd = netdev_priv(conn->netdev);
	struct hnic_conn *hc = conn->drv;
	int queue = -1;

	if (!hc)
		return;
	if (READ_ONCE(conn->features) & BIT(IWARP_OFFLOAD_RX_DEMUX))
		queue = hc->queue >= 0 ? hc->queue :
					 hnic_conn_queue(hd, hc, conn->cpu);
	WRITE_ONCE(hc->queue, queue);
	conn->queue = queue;
	/* without RX_PLACE the provider has not reported what it processed */
	spin_lock_bh(&hc->rx_lock);
	hc->place.sync = false;
	hc->place.asked = false;
	spin_unlock_bh(&hc->rx_lock);
}

static void hnic_conn_del(struct iwarp_offload_conn *conn)
{
	struct hnic_dev *hd = netdev_priv(conn->netdev);
	struct hnic_conn *hc = conn->drv;

	if (!hc)
		return;
	trace_hnic_conn_del(conn);
	mutex_lock(&hd->conn_lock);
	rhashtable_remove_fast(&hd->conns, &hc->node, hnic_conn_params);
	WRITE_ONCE(hd->nconns, hd->nconns - 1);
	mutex_unlock(&hd->conn_lock);
	spin_lock_bh(&hc->tx_lock);
	spin_lock(&hc->rx_lock);
	hc->conn = NULL;
	spin_unlock(&hc->rx_lock);
	spin_unlock_bh(&hc->tx_lock);
	conn->drv = NULL;
	kfree_rcu(hc, rcu);
}

static void hnic_conn_rx_resync(struct iwarp_offload_conn *conn, u32 seq, u64 pos)
{
	struct hnic_conn *hc = conn->drv;

	if (!hc)
		return;
	trace_hnic_rx_resync(conn, seq);
	spin_lock_bh(&hc->rx_lock);
	hc->rx_asked = false;
	/* the engine may have resynchronized by itself, at a later position */
	if (!hc->rx_sync) {
		hc->rx_next = seq;
		hc->rx_sync = true;
		hc->rx_answers++;
	}
	hnic_place_passed(&hc->place, seq);
	spin_unlock_bh(&hc->rx_lock);
}

static void hnic_conn_rx_passed(struct iwarp_offload_conn *conn, u32 seq)
{
	struct hnic_conn *hc = conn->drv;

	if (!hc)
		return;
	spin_lock_bh(&hc->rx_lock);
	hnic_place_passed(&hc->place, seq);
	spin_unlock_bh(&hc->rx_lock);
}

static int hnic_buf_add(struct iwarp_offload_conn *conn,
			struct iwarp_offload_buf *buf)
{
	struct hnic_dev *hd = netdev_priv(conn->netdev);
	struct hnic_conn *hc = conn->drv;
	int err;

	if (!hc)
		return -ENOSPC;
	spin_lock_bh(&hc->rx_lock);
	err = hnic_place_add(&hc->place, buf,
			     READ_ONCE(hd->link.knob[HNIC_MAX_BUFS]));
	spin_unlock_bh(&hc->rx_lock);
	return err;
}

/* The engine places with the lock held, so it writes nothing to @buf after return */
static void hnic_buf_del(struct iwarp_offload_conn *conn,
			 struct iwarp_offload_buf *buf)
{
	struct hnic_conn *hc = conn->drv;

	spin_lock_bh(&hc->rx_lock);
	hnic_place_del(&hc->place, buf);
	spin_unlock_bh(&hc->rx_lock);
}

const struct iwarp_offload_ops hnic_offload_ops = {
	.caps = hnic_caps,
	.conn_add = hnic_conn_add,
	.conn_del = hnic_conn_del,
	.conn_update = hnic_conn_update,
	.rx_resync = hnic_conn_rx_resync,
	.rx_passed = hnic_conn_rx_passed,
	.place_add = hnic_buf_add,
	.place_del = hnic_buf_del,
};
