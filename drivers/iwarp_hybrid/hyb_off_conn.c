// SPDX-License-Identifier: GPL-2.0
/*
 * NIC offload, the provider's half: which connections a NIC takes part in, and
 * how. See hyb_offload.h.
 *
 * There is one struct hyb_off_conn per connection, whether a NIC has engines
 * or not: they may come and go at any time. It is made when the connection
 * enters full operation, and it goes with the socket, because TCP may send for
 * long after the queue pair is gone. hyb_off_apply() works out the engines that are
 * requested from a NIC, after every change of anything that it depends on.
 *
 * Locks: while a task owns the TCP socket (lock_sock) it may change how the NIC
 * takes part; the engines do not run then. The driver's conn_add and conn_del
 * are called with the socket owned, hence they must not take RTNL, which may be
 * held when a driver reports a change. hyb_off_lock protects the list alone. When
 * the socket has no users any more, only its packets, the connection is removed from the NIC
 * under hyb_off_end_lock.
 *
 * Calls hyb_off_place.c, hyb_off_rec.c, hyb_off_steer.c, hyb_off_sw.c and
 * hyb_place.c.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/ipv6.h>
#include <rdma/rdma_stack.h>

#include "compat.h"
#include "hyb_off_priv.h"
#include "hyb_place.h"
#include "hyb_trace.h"
#include "hybrid.h"

#if IS_ENABLED(CONFIG_SOCK_VALIDATE_XMIT)

/*
 * A driver that unregisters waits for these work items with RTNL held. hyb_off_wq cannot be
 * used: its work items take RTNL, and may occupy all of its workers.
 */
static struct workqueue_struct *hyb_off_end_wq;

/* All connections whose sockets are alive, and how many there are at all */
static LIST_HEAD(hyb_offs);
static DEFINE_SPINLOCK(hyb_off_lock);
static atomic_t hyb_off_nr = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(hyb_off_none);

/* For hyb_off_conn.ops when the socket has no users any more, only packets */
static DEFINE_MUTEX(hyb_off_end_lock);

static struct hyb_off_conn *hyb_off_of(struct hyb_qp *qp)
{
	return container_of(qp->off, struct hyb_off_conn, pub);
}

/* --------------------------------------------- called by the NIC's driver */

static int hyb_off_tx_fill(struct iwarp_offload_conn *conn, u32 seq, void *dst,
			   u32 len)
{
	struct hyb_off_conn *o = container_of(conn, struct hyb_off_conn, nic);
	struct hyb_off_sink sink = { .dst = dst, .seq = seq, .len = len };
	int ret = 0;
	u32 done;

	spin_lock_bh(&o->ring.lock);
	done = hyb_off_ring_write(&o->ring, &sink);
	if (done < len)
		ret = hyb_off_ring_miss(&o->ring, seq);
	if (ret == -ENOENT && done)
		ret = 0;
	hyb_off_count(o, HYB_ST_OFF_FILLS, 1);
	hyb_off_count(o, HYB_ST_OFF_FILL_BYTES, done);
	spin_unlock_bh(&o->ring.lock);
	return ret;
}

static int hyb_off_tx_fpdu(struct iwarp_offload_conn *conn, u32 seq, u32 *start,
			   u32 *len, u8 *layout)
{
	struct hyb_off_conn *o = container_of(conn, struct hyb_off_conn, nic);
	int ret = 0;

	spin_lock_bh(&o->ring.lock);
	if (!hyb_off_ring_fpdu(&o->ring, seq, start, len, layout))
		ret = hyb_off_ring_miss(&o->ring, seq);
	spin_unlock_bh(&o->ring.lock);
	return ret;
}

static void hyb_off_rx_lost(struct iwarp_offload_conn *conn)
{
	struct hyb_off_conn *o = container_of(conn, struct hyb_off_conn, nic);

	spin_lock_bh(&o->ring.lock);
	hyb_off_count(o, HYB_ST_OFF_RX_LOST, 1);
	spin_unlock_bh(&o->ring.lock);
	WRITE_ONCE(o->pub.ask, true);
}

static const struct iwarp_offload_host_ops hyb_off_host_ops = {
	.tx_fill = hyb_off_tx_fill,
	.tx_fpdu = hyb_off_tx_fpdu,
	.rx_lost = hyb_off_rx_lost,
};

/* ------------------------------------------- what the NIC is asked to do */

/*
 * Do packets of the connection leave by the device, without encapsulation? The
 * route may be unknown until later.
 */
static bool hyb_off_routed(const struct hyb_off_conn *o)
{
	const struct dst_entry *dst;
	bool ok;

	rcu_read_lock();
	dst = __sk_dst_get(o->sk);
	ok = !dst || dst->dev == o->netdev;
	rcu_read_unlock();
	return ok && !hyb_off_wraps(o->sk);
}

/* Engines that the queue pair requests */
static u32 hyb_off_requested(const struct hyb_off_conn *o)
{
	const struct hyb_qp *qp = o->qp;
	u32 want = 0;

	if (qp->requested.crc == RDMA_STACK_NIC) {
		if (o->ring.crc)
			want |= BIT(IWARP_OFFLOAD_TX_CRC);
		if (qp->rx.crc && !o->mismatch)
			want |= BIT(IWARP_OFFLOAD_RX_CRC);
	}
	if (qp->requested.demux == RDMA_STACK_NIC)
		want |= BIT(IWARP_OFFLOAD_RX_DEMUX);
	if (o->ring.ivl && qp->requested.markers == HYB_MARK_SG)
		want |= BIT(IWARP_OFFLOAD_TX_SG);
	if (o->ring.ivl && qp->requested.markers == HYB_MARK_CONTIG)
		want |= BIT(IWARP_OFFLOAD_TX_CONTIG);
	/* nothing is placed on a shared link, nor if software has to verify the payload */
	if (READ_ONCE(o->dev->placement) == RDMA_STACK_NIC && !qp->shared &&
	    !READ_ONCE(o->dev->verify))
		want |= BIT(IWARP_OFFLOAD_RX_PLACE);
	return want;
}

/*
 * The requested engines that the NIC offers; @o->ops is set. Also stores the NIC's limits. FPDUs
 * fill segments: a NIC that cannot finish such long ones alone is not used for sending.
 */
static u32 hyb_off_wanted(struct hyb_off_conn *o)
{
	struct iwarp_offload_caps caps = {};
	u32 want;

	if (!o->qp)
		return 0;
	o->ops->caps(o->netdev, &caps);
	want = hyb_off_requested(o) & caps.enabled & caps.supported;
	if (caps.max_fpdu < tcp_sk(o->sk)->mss_cache)
		want &= ~HYB_OFF_TX;
	o->pub.max_pieces = min_t(u32, caps.max_frags, HYB_OFF_PIECES);
	o->max_bufs = caps.max_bufs;
	/* the NIC places only payload with a good CRC */
	if (!(want & BIT(IWARP_OFFLOAD_RX_CRC)))
		want &= ~BIT(IWARP_OFFLOAD_RX_PLACE);
	/* an engine that moves or gathers must checksum the result */
	if (o->ring.crc && !(want & BIT(IWARP_OFFLOAD_TX_CRC)))
		want &= ~(BIT(IWARP_OFFLOAD_TX_SG) |
			  BIT(IWARP_OFFLOAD_TX_CONTIG));
	return want;
}

/* For FPDUs that are handed to TCP from now on; the driver is notified afterwards */
static void hyb_off_layout(struct hyb_off_conn *o, u32 want)
{
	bool contig = want & BIT(IWARP_OFFLOAD_TX_CONTIG);

	WRITE_ONCE(o->nic.tx_layout, contig ? IWARP_LAYOUT_CONTIG :
					      IWARP_LAYOUT_FINAL);
}

static int hyb_off_conn_add(struct hyb_off_conn *o, u32 want)
{
	int err;

	hyb_off_layout(o, want);
	o->nic.features = want;
	o->nic.cpu = READ_ONCE(o->qp->tcp.cpu);
	o->nic.queue = -1;
	o->nic.drv = NULL;
	err = o->ops->conn_add(&o->nic);
	hyb_off_count(o, err ? HYB_ST_OFF_REFUSED : HYB_ST_OFF_CONNS, 1);
	if (err)
		o->nic.features = 0;
	return err;
}

/* The NIC forgets the connection */
static void hyb_off_conn_del(struct hyb_off_conn *o)
{
	hyb_off_place_end(o);
	o->ops->conn_del(&o->nic);
	WRITE_ONCE(o->nic.features, 0);
	o->nic.queue = -1;
	o->ops = NULL;
	iwarp_offload_put(o->nic.netdev);
}

/*
 * Switch the NIC to the engines @want. It still finishes marked packets that are on their
 * way. If none of @want is for sending, the hook finishes later (re)transmissions of FPDUs
 * that were left to the NIC before.
 */
static void hyb_off_conn_set(struct hyb_off_conn *o, u32 want)
{
	u32 keep = o->ring.nr ? o->nic.features & HYB_OFF_TX : 0;

	if (!(want & BIT(IWARP_OFFLOAD_RX_PLACE)))
		hyb_off_place_end(o);
	hyb_off_layout(o, want);
	WRITE_ONCE(o->nic.features, want | keep);
	if (!(want | keep))
		hyb_off_conn_del(o);
	else if (o->ops->conn_update)
		o->ops->conn_update(&o->nic);
}

/* The engines act on this from the next FPDU on */
static void hyb_off_publish(struct hyb_off_conn *o, u32 want)
{
	bool finish = want & HYB_OFF_TX;

	o->want = want;
	if (finish)
		/* never removed: without records the hook returns early */
		WRITE_ONCE(o->sk->sk_validate_xmit_skb, hyb_off_validate);
	WRITE_ONCE(o->finisher, finish ? o->nic.netdev : NULL);
	o->pub.tx_crc = want & BIT(IWARP_OFFLOAD_TX_CRC);
	o->pub.tx_contig = want & BIT(IWARP_OFFLOAD_TX_CONTIG);
	o->pub.tx_sg = want & BIT(IWARP_OFFLOAD_TX_SG);
	o->pub.rx_crc = want & BIT(IWARP_OFFLOAD_RX_CRC);
	o->pub.word = !o->mismatch && (o->pub.word || o->pub.rx_crc);
	o->pub.place = want & BIT(IWARP_OFFLOAD_RX_PLACE) && !o->mismatch &&
		       !o->qp->rx.stopped;
	/* conn_add may have taken some of it away */
	hyb_off_layout(o, want);
	if (!o->qp)
		return;
	o->pub.verify = READ_ONCE(o->dev->verify);
	if (READ_ONCE(o->steer.have))
		want |= BIT(IWARP_OFFLOAD_RX_DEMUX);
	hyb_place_update(o->qp, want);
}

/* Steer by a filter where the NIC does not know connections */
static void hyb_off_apply_steer(struct hyb_off_conn *o, u32 want)
{
	u32 max = 0;

	if (o->qp && o->qp->requested.demux == RDMA_STACK_NIC &&
	    !(want & BIT(IWARP_OFFLOAD_RX_DEMUX)) &&
	    hyb_off_steer_can(o->netdev))
		max = READ_ONCE(o->qp->dev->ntuple_filters);
	if (max == o->steer.max)
		return;
	if (max)
		WRITE_ONCE(o->nic.cpu, READ_ONCE(o->qp->tcp.cpu));
	hyb_off_steer_set(o, max);
}

/* Work out what the NIC does from now on. Context: socket owned. */
static void hyb_off_apply(struct hyb_off_conn *o)
{
	bool known = o->ops;
	u32 want = 0;

	sock_owned_by_me(o->sk);
	if (!known && o->qp && hyb_off_routed(o))
		o->ops = iwarp_offload_get(o->netdev);
	o->asked |= !!o->ops;
	if (o->ops)
		want = hyb_off_wanted(o);
	if (known) {
		hyb_off_conn_set(o, want);
	} else if (o->ops) {
		if (!want || hyb_off_conn_add(o, want)) {
			o->ops = NULL;
			iwarp_offload_put(o->netdev);
		}
		want = o->nic.features;
	}
	hyb_off_publish(o, want);
	if (o->netdev)
		hyb_off_apply_steer(o, want);
}

/*
 * The NIC's driver unregisters. Context: socket owned, or without users and hyb_off_end_lock
 * held
 */
static void hyb_off_gone(struct hyb_off_conn *o)
{
	if (!o->ops)
		return;
	hyb_off_publish(o, 0);
	hyb_off_conn_del(o);
}

static void hyb_off_steered(struct hyb_off_conn *o, bool added)
{
	bool have = READ_ONCE(o->steer.have);

	if (added)
		hyb_off_count(o, HYB_ST_OFF_FILTERS, 1);
	if (o->qp) {
		hyb_off_publish(o, o->want);
	} else if (!have && o->netdev) {
		netdev_put(o->netdev, &o->tracker);
		o->netdev = NULL;
	}
}

void hyb_off_update(struct hyb_qp *qp)
{
	sock_owned_by_me(qp->tcp.sk);
	if (!qp->off)
		hyb_place_update(qp, 0);
	else if (hyb_off_of(qp)->qp)
		hyb_off_apply(hyb_off_of(qp));
}

/* ------------------------------------------------ called by the engines */

/**
 * hyb_off_room - make sure that an FPDU can be recorded
 * @off: connection
 * @pieces: records needed, at most HYB_OFF_PIECES + 1
 *
 * Context: TCP socket held.
 * Return: whether there is room. If not, this is counted.
 */
bool hyb_off_room(struct hyb_off *off, unsigned int pieces)
{
	struct hyb_off_conn *o = container_of(off, struct hyb_off_conn, pub);

	if (likely(hyb_off_ring_room(&o->ring, pieces)))
		return true;
	hyb_off_count(o, HYB_ST_OFF_NO_ROOM, 1);
	return false;
}

/**
 * hyb_off_record - record an FPDU that the NIC finishes
 * @qp: queue pair
 * @pos: position of its first byte
 * @layout: enum iwarp_layout
 * @piece: its memory, in the order in which TCP gets it
 * @nr: number of pieces; the last hyb_off_room() asked for at least as many. A single piece may
 *	hold several FPDUs, see hyb_off_sealed()
 *
 * Context: TCP socket held.
 */
void hyb_off_record(struct hyb_qp *qp, u64 pos, u8 layout,
		    const struct hyb_off_piece *piece, unsigned int nr)
{
	struct hyb_off_conn *o = hyb_off_of(qp);

	hyb_off_ring_add(&o->ring, o->nic.tx_seq + (u32)pos, layout, piece, nr);
}

/**
 * hyb_off_free_acked - see hyb_off_acked()
 * @qp: queue pair
 */
void hyb_off_free_acked(struct hyb_qp *qp)
{
	struct hyb_off_conn *o = hyb_off_of(qp);

	if (o->ring.nr)
		hyb_off_ring_acked(&o->ring, tcp_sk(o->sk)->snd_una);
	else /* must not fall behind by half of the sequence space */
		WRITE_ONCE(o->ring.una, tcp_sk(o->sk)->snd_una);
}

/**
 * hyb_off_many_records - see hyb_off_many()
 * @off: connection
 */
bool hyb_off_many_records(const struct hyb_off *off)
{
	const struct hyb_off_conn *o =
		container_of(off, const struct hyb_off_conn, pub);

	return o->ring.nr > HYB_OFF_BLK_RECS;
}

/**
 * hyb_off_answer - see hyb_off_rx_at()
 * @qp: queue pair
 * @seq: where an FPDU begins
 * @pos: its position
 */
void hyb_off_answer(struct hyb_qp *qp, u32 seq, u64 pos)
{
	struct hyb_off_conn *o = hyb_off_of(qp);

	WRITE_ONCE(o->pub.ask, false);
	if (!o->ops || !o->ops->rx_resync)
		return;
	hyb_off_count(o, HYB_ST_OFF_RX_RESYNC, 1);
	trace_hyb_off_resync(qp, seq, pos);
	o->ops->rx_resync(&o->nic, seq, pos);
}

void hyb_off_mismatch(struct hyb_qp *qp)
{
	struct hyb_off_conn *o = hyb_off_of(qp);

	o->mismatch = true;
	o->pub.rx_crc = false;
	o->pub.word = false;
	hyb_off_place_end(o);
	hyb_off_count(o, HYB_ST_OFF_RX_MISMATCH, 1);
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %u: %s passed an FPDU with a bad CRC\n",
			       qp->ibqp.qp_num, o->nic.netdev->name);
}

/* ----------------------------------------------------------- life cycle */

/* A cache, as with many idle connections kmalloc() would waste a quarter */
static struct kmem_cache *hyb_off_cache;

static void hyb_off_free(struct hyb_off_conn *o)
{
	hyb_off_ring_free(&o->ring);
	hyb_off_steer_end(o);
	kmem_cache_free(hyb_off_cache, o);
	if (atomic_dec_and_test(&hyb_off_nr))
		wake_up(&hyb_off_none);
}

static void hyb_off_end(struct work_struct *work)
{
	struct hyb_off_conn *o = container_of(work, struct hyb_off_conn, end);

	mutex_lock(&hyb_off_end_lock);
	if (o->ops)
		hyb_off_conn_del(o);
	mutex_unlock(&hyb_off_end_lock);
	hyb_off_free(o);
}

/*
 * The last packet is gone, and no reference is left: neither steer.work nor
 * a walk over the list runs. The NIC may still look at what is shared with it.
 */
static void hyb_off_destruct(struct sock *sk)
{
	struct hyb_off_conn *o = (__force void *)inet_csk(sk)->icsk_ulp_data;

	rcu_read_lock();
	spin_lock_bh(&hyb_off_lock);
	list_del(&o->node);
	spin_unlock_bh(&hyb_off_lock);
	WRITE_ONCE(o->nic.sk, NULL);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, NULL);
	o->destruct(sk);
	hyb_off_ring_free(&o->ring);
	if (o->asked)
		queue_work(hyb_off_end_wq, &o->end);
	else
		hyb_off_free(o);
	rcu_read_unlock();
}

static void hyb_off_addresses(struct iwarp_offload_conn *c,
			      const struct sock *sk)
{
	c->sport = inet_sk(sk)->inet_sport;
	c->dport = inet_sk(sk)->inet_dport;
	c->family = AF_INET;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 &&
	    !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		c->family = AF_INET6;
		c->saddr = sk->sk_v6_rcv_saddr;
		c->daddr = sk->sk_v6_daddr;
		return;
	}
#endif
	c->saddr.s6_addr32[0] = sk->sk_rcv_saddr;
	c->daddr.s6_addr32[0] = sk->sk_daddr;
}

/* The user of the consumer, whose share of filters is limited. Context: process. */
static kuid_t hyb_off_user(const struct hyb_qp *qp)
{
	const struct sock *owner = qp->tcp.owner;

	return owner ? sk_uid((struct sock *)owner) : qp->uid;
}

static void hyb_off_conn_init(struct hyb_off_conn *o, struct hyb_qp *qp,
			      struct sock *sk)
{
	struct iwarp_offload_conn *c = &o->nic;

	o->qp = qp;
	o->dev = qp->dev;
	o->sk = sk;
	o->netdev = qp->dev->netdev;
	netdev_hold(o->netdev, &o->tracker, GFP_KERNEL);
	INIT_WORK(&o->end, hyb_off_end);
	INIT_LIST_HEAD(&o->bufs);
	hyb_off_steer_init(o, qp->dev->filters, hyb_off_user(qp),
			   hyb_off_steered);

	hyb_off_ring_init(&o->ring);
	o->ring.tx_seq = tcp_sk(sk)->write_seq;
	o->ring.una = tcp_sk(sk)->snd_una;
	o->ring.ivl = qp->tx.s.ivl;
	o->ring.crc = qp->tx.crc;

	c->netdev = o->netdev;
	c->sk = sk;
	c->tx_seq = o->ring.tx_seq;
	c->rx_seq = tcp_sk(sk)->copied_seq;
	c->tx_ivl = qp->tx.s.ivl;
	c->rx_ivl = qp->rx.ivl;
	c->cpu = READ_ONCE(qp->tcp.cpu);
	c->queue = -1;
	c->ops = &hyb_off_host_ops;
	hyb_off_addresses(c, sk);
}

int hyb_off_attach(struct hyb_qp *qp, struct sock *sk)
{
	struct hyb_off_conn *o;

	sock_owned_by_me(sk);
	/* no other module may have attached a ULP to this socket */
	if (WARN_ON_ONCE(inet_csk(sk)->icsk_ulp_ops ||
			 rcu_access_pointer(inet_csk(sk)->icsk_ulp_data)))
		return -EBUSY;
	o = kmem_cache_zalloc(hyb_off_cache, GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	hyb_off_conn_init(o, qp, sk);
	rcu_assign_pointer(inet_csk(sk)->icsk_ulp_data, o);
	o->destruct = sk->sk_destruct;
	WRITE_ONCE(sk->sk_destruct, hyb_off_destruct);
	atomic_inc(&hyb_off_nr);
	qp->off = &o->pub;
	/* from now on a change of the NIC applies to the connection */
	spin_lock_bh(&hyb_off_lock);
	list_add_tail(&o->node, &hyb_offs);
	spin_unlock_bh(&hyb_off_lock);
	hyb_off_apply(o);
	return 0;
}

void hyb_off_detach(struct hyb_qp *qp)
{
	struct hyb_off_conn *o;

	if (!qp->off)
		return;
	o = hyb_off_of(qp);
	hyb_place_update(qp, 0);
	hyb_off_place_end(o);
	hyb_off_ring_acked(&o->ring, tcp_sk(o->sk)->snd_una);
	o->qp = NULL;
	spin_lock_bh(&o->ring.lock);
	o->dev = NULL;
	spin_unlock_bh(&o->ring.lock);
	/* the NIC still finishes packets that were left to it before */
	o->pub.tx_crc = false;
	o->pub.tx_contig = false;
	o->pub.tx_sg = false;
	o->pub.rx_crc = false;
	if (o->ops)
		hyb_off_conn_set(o, 0);
	/* queue the work item again, as it may have read the queue pair already */
	if (o->steer.max || READ_ONCE(o->steer.have) ||
	    work_busy(&o->steer.work)) {
		hyb_off_steer_set(o, 0);
	} else if (o->netdev) {
		netdev_put(o->netdev, &o->tracker);
		o->netdev = NULL;
	}
}

/**
 * hyb_off_memory - memory of the NIC's part, with that of its records
 * @qp: queue pair
 *
 * Context: TCP socket held.
 * Return: bytes.
 */
u32 hyb_off_memory(struct hyb_qp *qp)
{
	hyb_tcp_assert_held(&qp->tcp);
	if (!qp->off)
		return 0;
	return sizeof(struct hyb_off_conn) +
	       hyb_off_ring_memory(&hyb_off_of(qp)->ring);
}

/**
 * hyb_off_trim - free what is not needed while nothing moves
 * @qp: queue pair
 *
 * Context: TCP socket held, and no task owns it.
 */
void hyb_off_trim(struct hyb_qp *qp)
{
	hyb_tcp_assert_held(&qp->tcp);
	if (!qp->off)
		return;
	hyb_off_free_acked(qp);
	hyb_off_ring_trim(&hyb_off_of(qp)->ring);
}

/* ------------------------------------------------------ changes of NICs */

/*
 * The next connection after @last at @netdev, at any if that is NULL. Drops the
 * reference to @last.
 */
static struct hyb_off_conn *hyb_off_walk(struct net_device *netdev,
					 struct hyb_off_conn *last)
{
	struct hyb_off_conn *o = last, *res = NULL;

	spin_lock_bh(&hyb_off_lock);
	o = list_prepare_entry(o, &hyb_offs, node);
	list_for_each_entry_continue(o, &hyb_offs, node) {
		if ((!netdev || o->nic.netdev == netdev) &&
		    refcount_inc_not_zero(&o->sk->sk_refcnt)) {
			res = o;
			break;
		}
	}
	spin_unlock_bh(&hyb_off_lock);
	if (last)
		sock_put(last->sk);
	return res;
}

/* A connection of @netdev whose socket only its packets refer to */
static struct hyb_off_conn *hyb_off_orphan(struct net_device *netdev)
{
	struct hyb_off_conn *o, *res = NULL;

	spin_lock_bh(&hyb_off_lock);
	list_for_each_entry(o, &hyb_offs, node) {
		if (o->nic.netdev == netdev && o->ops &&
		    !refcount_read(&o->sk->sk_refcnt)) {
			res = o;
			break;
		}
	}
	spin_unlock_bh(&hyb_off_lock);
	return res;
}

/*
 * Packets may wait for an unlimited time in a queueing discipline, and the
 * driver waits for us under RTNL. A connection that was found on the list is not freed
 * before hyb_off_end_lock is released: hyb_off_end() takes that lock first.
 */
static void hyb_off_gone_orphans(struct net_device *netdev)
{
	struct hyb_off_conn *o;

	mutex_lock(&hyb_off_end_lock);
	while ((o = hyb_off_orphan(netdev)))
		hyb_off_gone(o);
	mutex_unlock(&hyb_off_end_lock);
}

static int hyb_off_event(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct hyb_off_conn *o = NULL;

	while ((o = hyb_off_walk(data, o))) {
		lock_sock(o->sk);
		if (event == IWARP_OFFLOAD_GONE)
			hyb_off_gone(o);
		else if (o->qp)
			hyb_off_apply(o);
		release_sock(o->sk);
	}
	if (event == IWARP_OFFLOAD_GONE)
		hyb_off_gone_orphans(data);
	return NOTIFY_DONE;
}

static struct notifier_block hyb_off_nb = {
	.notifier_call = hyb_off_event,
};

/* ----------------------------------------------------------------- sysfs */

u32 hyb_off_dev_nic(struct net_device *netdev)
{
	const struct iwarp_offload_ops *ops = iwarp_offload_get(netdev);
	struct iwarp_offload_caps caps = {};

	if (!ops)
		return 0;
	ops->caps(netdev, &caps);
	iwarp_offload_put(netdev);
	return caps.enabled & caps.supported;
}

int hyb_off_cpu(struct hyb_qp *qp)
{
	/* pairs with hyb_tcp_start() */
	const struct sock *sk = smp_load_acquire(&qp->tcp.sk);

	return sk ? READ_ONCE(sk->sk_incoming_cpu) : -1;
}

/* The queue pair holds the socket, with which the structure at hyb_qp.off is freed */
static struct hyb_off_conn *hyb_off_look(struct hyb_qp *qp)
{
	/* pairs with hyb_tcp_start() */
	return smp_load_acquire(&qp->tcp.sk) && qp->off ? hyb_off_of(qp) : NULL;
}

int hyb_off_queue(struct hyb_qp *qp)
{
	struct hyb_off_conn *o = hyb_off_look(qp);

	if (!o)
		return -1;
	if (READ_ONCE(o->steer.have))
		return o->steer.queue;
	return READ_ONCE(o->nic.queue);
}

const char *hyb_off_steering_name(struct hyb_qp *qp)
{
	struct hyb_off_conn *o = hyb_off_look(qp);

	if (!o)
		return "host";
	if (READ_ONCE(o->nic.features) & BIT(IWARP_OFFLOAD_RX_DEMUX))
		return "nic";
	return READ_ONCE(o->steer.have) ? "ntuple" : "host";
}

static const char *const hyb_off_names[IWARP_OFFLOAD_FEATURES] = {
	[IWARP_OFFLOAD_TX_CRC] = "tx-crc",
	[IWARP_OFFLOAD_RX_CRC] = "rx-crc",
	[IWARP_OFFLOAD_RX_DEMUX] = "rx-demux",
	[IWARP_OFFLOAD_TX_CONTIG] = "tx-contig",
	[IWARP_OFFLOAD_TX_SG] = "tx-sg",
	[IWARP_OFFLOAD_RX_PLACE] = "rx-place",
};

int hyb_off_show(struct hyb_qp *qp, char *buf)
{
	struct hyb_off_conn *o = hyb_off_look(qp);
	u32 features;
	int i, n;

	if (!o)
		return sysfs_emit(buf, "not connected\n");
	features = READ_ONCE(o->nic.features);
	n = sysfs_emit(buf, "device: %s\nfeatures:", o->nic.netdev->name);
	for (i = 0; i < IWARP_OFFLOAD_FEATURES; i++)
		if (features & BIT(i))
			n += sysfs_emit_at(buf, n, " %s", hyb_off_names[i]);
	n += sysfs_emit_at(buf, n, "%s\n", features ? "" : " none");
	n += sysfs_emit_at(buf, n, "records: %u\n", READ_ONCE(o->ring.nr));
	n += sysfs_emit_at(buf, n, "buffers: %u\n", READ_ONCE(o->nbufs));
	n += sysfs_emit_at(buf, n, "verify: %d\n", o->pub.verify);
	n += sysfs_emit_at(buf, n, "trusted: %d\n", !o->mismatch);
	n += sysfs_emit_at(buf, n, "steering: %s\n", hyb_off_steering_name(qp));
	return n;
}

int hyb_off_dev_show(struct net_device *netdev, char *buf)
{
	const struct iwarp_offload_ops *ops = iwarp_offload_get(netdev);
	struct iwarp_offload_caps caps = {};
	const char *state;
	int i, n = 0;

	if (!ops)
		return sysfs_emit(buf, "none\n");
	ops->caps(netdev, &caps);
	iwarp_offload_put(netdev);
	for (i = 0; i < IWARP_OFFLOAD_FEATURES; i++) {
		state = !(caps.supported & BIT(i)) ? "absent" :
			caps.enabled & BIT(i) ? "on" : "off";
		n += sysfs_emit_at(buf, n, "%s: %s\n", hyb_off_names[i], state);
	}
	n += sysfs_emit_at(buf, n, "max_conns: %u\n", caps.max_conns);
	n += sysfs_emit_at(buf, n, "max_frags: %u\n", caps.max_frags);
	n += sysfs_emit_at(buf, n, "max_fpdu: %u\n", caps.max_fpdu);
	n += sysfs_emit_at(buf, n, "max_bufs: %u\n", caps.max_bufs);
	return n;
}

/* --------------------------------------------------------------- module */

/**
 * hyb_off_init - before the first connection
 *
 * Return: 0 or -ENOMEM.
 */
int __init hyb_off_init(void)
{
	int err = -ENOMEM;

	hyb_off_cache = KMEM_CACHE(hyb_off_conn, 0);
	if (!hyb_off_cache)
		return -ENOMEM;
	hyb_off_wq = alloc_workqueue("hyb_offload", WQ_UNBOUND, 0);
	if (!hyb_off_wq)
		goto err_cache;
	hyb_off_end_wq = alloc_workqueue("hyb_offload_end", WQ_UNBOUND, 0);
	if (!hyb_off_end_wq)
		goto err_wq;
	err = iwarp_offload_register_notifier(&hyb_off_nb);
	if (err)
		goto err_end_wq;
	hyb_off_place_init();
	return 0;

err_end_wq:
	destroy_workqueue(hyb_off_end_wq);
err_wq:
	destroy_workqueue(hyb_off_wq);
err_cache:
	kmem_cache_destroy(hyb_off_cache);
	return err;
}

/* Free sockets that were closed and still wait for their peers */
static void hyb_off_reap(void)
{
	struct hyb_off_conn *o = NULL;

	while ((o = hyb_off_walk(NULL, o)))
		if (sock_flag(o->sk, SOCK_DEAD))
			o->sk->sk_prot->diag_destroy(o->sk, ECONNABORTED);
}

/* Called after the last device is gone. On return no socket calls the module any more. */
void hyb_off_exit(void)
{
	while (atomic_read(&hyb_off_nr)) {
		hyb_off_reap();
		wait_event_timeout(hyb_off_none, !atomic_read(&hyb_off_nr),
				   HZ / 50 + 1);
	}
	iwarp_offload_unregister_notifier(&hyb_off_nb);
	/* wait for destructors that have not returned yet */
	synchronize_rcu();
	destroy_workqueue(hyb_off_end_wq);
	destroy_workqueue(hyb_off_wq);
	kmem_cache_destroy(hyb_off_cache);
}

#endif
