// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of requests in packets. See hyb_lend.h.
 *
 * An acknowledgment does not mean that the memory is no longer in use: a device
 * may still have a packet, and a receiver on the same machine (veth, macvlan) has the
 * pages of the sender in its queue until it reads them. So each packet gets a token,
 * struct ubuf_info, as those of MSG_ZEROCOPY have one. Code that keeps the packet
 * for long makes a copy, and we are called when the last reference to the memory is gone.
 * A request is complete when it is acknowledged and no packet before its end has a
 * token.
 *
 * Packets get the token between TCP and IP, before any other code can reference them. A
 * retransmission shares the token of the first transmission.
 *
 * Calls hyb_sched.c.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/tcp.h>

#include "compat.h"
#include "hyb_lend.h"
#include "hyb_sched.h"
#include "hybrid.h"

/**
 * struct hyb_lend - packets of a queue pair that have a token
 * @lock: protects all of it; nothing but hyb_tcp.lock and work queues nest below it
 * @qp: the queue pair, NULL when it is gone
 * @packets: in the order of the stream; while there are any, they hold the module
 * @late: a request waits for a token, not for an acknowledgment
 * @recall: the connection waits until there are no packets
 * @users: the queue pair, and one for each packet
 */
struct hyb_lend {
	spinlock_t lock;	/* see above */
	struct hyb_qp *qp;
	struct list_head packets;
	bool late;
	bool recall;
	u32 users;
};

/**
 * struct hyb_lent - token of a packet
 * @ubuf: its part that the network refers to
 * @node: in hyb_lend.packets
 * @lend: of the queue pair
 * @seq: where the packet begins
 * @len: bytes of payload
 */
struct hyb_lent {
	struct ubuf_info ubuf;
	struct list_head node;
	struct hyb_lend *lend;
	u32 seq;
	u32 len;
};

/* Packets with a token, also of queue pairs that are gone */
static atomic_t hyb_lent_count = ATOMIC_INIT(0);

/* Drops a user and the lock */
static void hyb_lend_put(struct hyb_lend *lend, unsigned long flags)
	__releases(&lend->lock)
{
	bool last = !--lend->users;

	spin_unlock_irqrestore(&lend->lock, flags);
	if (last)
		kfree(lend);
}

/* The last reference is gone */
static void hyb_lent_free(struct hyb_lent *p)
{
	struct hyb_lend *lend = p->lend;
	unsigned long flags;

	spin_lock_irqsave(&lend->lock, flags);
	list_del(&p->node);
	/* hyb_lend_exit() waits for the rest of this function, and for its caller */
	if (list_empty(&lend->packets))
		module_put(THIS_MODULE);
	/* TCP's lock may be held, also that of this queue pair */
	if (lend->late && lend->qp)
		hyb_sched_retry(lend->qp, HYB_TODO_TX, 0);
	lend->late = false;
	if (lend->recall && lend->qp && list_empty(&lend->packets))
		hyb_qp_notify_cep(lend->qp, HYB_EV_RECALLED);
	hyb_lend_put(lend, flags);
	kfree(p);
	if (atomic_dec_and_test(&hyb_lent_count))
		wake_up_var(&hyb_lent_count);
}

/* the stack had to make a copy */
static void hyb_lent_copied(struct hyb_lent *p)
{
	struct hyb_lend *lend = p->lend;
	unsigned long flags;

	spin_lock_irqsave(&lend->lock, flags);
	if (lend->qp)
		hyb_stats_add(lend->qp->dev, HYB_ST_TX_REF_COPIED, p->len);
	spin_unlock_irqrestore(&lend->lock, flags);
}

/* A reference to a token is dropped. Any context. */
static void hyb_lent_put(struct sk_buff *skb, struct ubuf_info *ubuf,
			 bool zerocopy)
{
	struct hyb_lent *p = container_of(ubuf, struct hyb_lent, ubuf);

	/* pairs with hyb_lend_exit() */
	rcu_read_lock();
	if (!zerocopy)
		hyb_lent_copied(p);
	if (refcount_dec_and_test(&ubuf->refcnt))
		hyb_lent_free(p);
	rcu_read_unlock();
}

static const struct ubuf_info_ops hyb_lent_ops = {
	.complete	= hyb_lent_put,
};

static struct hyb_lend *hyb_lend_of(struct hyb_qp *qp)
{
	struct hyb_lend *lend = qp->tx.lend;

	if (lend)
		return lend;
	lend = kzalloc(sizeof(*lend), GFP_ATOMIC | __GFP_NOWARN);
	if (!lend)
		return NULL;
	spin_lock_init(&lend->lock);
	INIT_LIST_HEAD(&lend->packets);
	lend->qp = qp;
	lend->users = 1;
	qp->tx.lend = lend;
	return lend;
}

/*
 * A queueing discipline may keep packets for an unlimited time, so the module cannot be removed
 * while there are any. False if it is being removed.
 */
static bool hyb_lend_add(struct hyb_lend *lend, struct hyb_lent *p)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&lend->lock, flags);
	ok = !list_empty(&lend->packets) || try_module_get(THIS_MODULE);
	if (ok) {
		atomic_inc(&hyb_lent_count);
		list_add_tail(&p->node, &lend->packets);
		lend->users++;
	}
	spin_unlock_irqrestore(&lend->lock, flags);
	return ok;
}

/**
 * hyb_lend_packet - TCP sends a packet that may have memory of requests
 * @qp: live queue pair
 * @sk: its TCP socket
 * @skb: the packet, with payload; TCP keeps another with the same pages
 *
 * Context: TCP socket held.
 * Return: false if it must not be sent: out of memory, or the module is being removed.
 */
bool hyb_lend_packet(struct hyb_qp *qp, const struct sock *sk,
		     struct sk_buff *skb)
{
	u32 seq = ntohl(tcp_hdr(skb)->seq);
	struct hyb_lend *lend;
	bool have_ref = true;
	struct hyb_lent *p;

	/* a retransmission, which other code may share: it has a token, or needs none */
	if (before(seq, tcp_sk(sk)->snd_nxt) || skb_zcopy(skb) ||
	    !skb_is_nonlinear(skb))
		return true;
	lend = hyb_lend_of(qp);
	p = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p || !lend) {
		kfree(p);
		return false;
	}
#ifdef HAVE_UBUF_INFO_OPS
	p->ubuf.ops = &hyb_lent_ops;
#else
	p->ubuf.callback = hyb_lent_ops.complete;
#endif
	/* only receivers on this machine get a copy: TCP and devices may keep the pages */
	p->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&p->ubuf.refcnt, 1);
	p->lend = lend;
	p->seq = seq;
	p->len = skb->len - tcp_hdrlen(skb);
	if (!hyb_lend_add(lend, p)) {
		kfree(p);
		return false;
	}
	skb_zcopy_set(skb, &p->ubuf, &have_ref);
	return true;
}

/**
 * hyb_lend_una - sequence number up to which memory of requests is not needed any more
 * @qp: queue pair
 * @una: sequence number up to which TCP does not need it
 *
 * If the result is less than @una, the transmit engine runs again when a packet is freed.
 *
 * Context: TCP socket held.
 * Return: @una, or the start of a packet before it.
 */
u32 hyb_lend_una(struct hyb_qp *qp, u32 una)
{
	struct hyb_lend *lend = qp->tx.lend;
	const struct hyb_lent *p;
	unsigned long flags;

	if (!lend)
		return una;
	spin_lock_irqsave(&lend->lock, flags);
	p = list_first_entry_or_null(&lend->packets, struct hyb_lent, node);
	lend->late = p && before(p->seq, una);
	if (lend->late)
		una = p->seq;
	spin_unlock_irqrestore(&lend->lock, flags);
	return una;
}

/**
 * hyb_lend_recall - does the network have memory of requests?
 * @qp: detached queue pair
 *
 * Context: any.
 * Return: false if it has none. If it has, HYB_EV_RECALLED comes when it has none any
 * more.
 */
bool hyb_lend_recall(struct hyb_qp *qp)
{
	struct hyb_lend *lend = qp->tx.lend;
	unsigned long flags;
	bool busy;

	if (!lend)
		return false;
	spin_lock_irqsave(&lend->lock, flags);
	busy = !list_empty(&lend->packets);
	lend->recall = busy;
	spin_unlock_irqrestore(&lend->lock, flags);
	return busy;
}

/**
 * hyb_lend_end - the queue pair is being destroyed
 * @qp: detached queue pair; packets with a token may be left
 */
void hyb_lend_end(struct hyb_qp *qp)
{
	struct hyb_lend *lend = qp->tx.lend;
	unsigned long flags;

	if (!lend)
		return;
	qp->tx.lend = NULL;
	spin_lock_irqsave(&lend->lock, flags);
	lend->qp = NULL;
	hyb_lend_put(lend, flags);
}

/**
 * hyb_lend_exit - wait for the functions that freed the last tokens
 *
 * Tokens hold the module, so none is left when it is removed.
 *
 * Context: process, sleeps; there are no queue pairs any more.
 */
void hyb_lend_exit(void)
{
	wait_var_event(&hyb_lent_count, !atomic_read(&hyb_lent_count));
	synchronize_rcu();
}
