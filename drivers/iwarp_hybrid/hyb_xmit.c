// SPDX-License-Identifier: GPL-2.0
/*
 * Between TCP and IP. See hyb_xmit.h.
 *
 * A private copy of the socket's address family operations sees every packet
 * before it gets its IP header.
 *
 * Calls hyb_lend.c, hyb_off_sw.c, hyb_ooo.c and hyb_fpdu.c.
 */
#include <linux/mutex.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "hyb_fpdu.h"
#include "hyb_lend.h"
#include "hyb_offload.h"
#include "hyb_ooo.h"
#include "hyb_xmit.h"
#include "hybrid.h"

/* TCP has three: IPv4, IPv6, and IPv6 sockets with an IPv4 address. One is spare. */
#define HYB_XMIT_FAMILIES	4

/**
 * struct hyb_xmit_ops - private copy of a socket's operations
 * @ops: the copy
 * @base: the original that it was copied from
 */
struct hyb_xmit_ops {
	struct inet_connection_sock_af_ops ops;
	const struct inet_connection_sock_af_ops *base;
};

static struct hyb_xmit_ops hyb_xmit_ops[HYB_XMIT_FAMILIES];
static DEFINE_MUTEX(hyb_xmit_lock);	/* for writers of hyb_xmit_ops */

/* As hyb_qp_count(): the socket may be held by a task, with bottom halves enabled */
static void hyb_xmit_add(struct hyb_qp *qp, enum hyb_stat id, u64 n)
{
	hyb_qp_count_own(qp, id, n);
	hyb_stats_add(qp->dev, id, n);
}

/*
 * Counts segments with payload: those sent, retransmissions included, and those
 * received since the last packet. TCP acknowledges all of them, also duplicates that
 * it drops.
 */
static void hyb_xmit_count(struct sock *sk, const struct sk_buff *skb)
{
	u32 segs = tcp_sk(sk)->data_segs_in;
	struct hyb_cep *cep = sk->sk_user_data;
	struct hyb_qp *qp = cep ? cep->live : NULL;

	if (!qp)
		return;
	if (skb->len > tcp_hdrlen(skb))
		hyb_xmit_add(qp, HYB_ST_TX_SEGMENTS,
			     max_t(u32, skb_shinfo(skb)->gso_segs, 1));
	if (segs == qp->rx.segs)
		return;
	hyb_xmit_add(qp, HYB_ST_RX_SEGMENTS, segs - qp->rx.segs);
	qp->rx.segs = segs;
}

/*
 * May a packet leave? Packets with memory of requests are tracked until they are
 * freed, and not sent when the requests are flushed.
 */
static bool hyb_xmit_may(struct sock *sk, struct sk_buff *skb)
{
	const struct hyb_cep *cep = sk->sk_user_data;

	if (!cep || skb->len <= tcp_hdrlen(skb))
		return true;
	if (!cep->live)
		return !cep->mute;
	return !hyb_fpdu_lends(cep->live) || hyb_lend_packet(cep->live, sk, skb);
}

/* Replaces TCP's function that gives a segment to IP */
static int hyb_xmit_queue(struct sock *sk, struct sk_buff *skb,
			  struct flowi *fl)
{
	const struct inet_connection_sock_af_ops *ops =
		inet_csk(sk)->icsk_af_ops;
	int ret;

	hyb_xmit_count(sk, skb);
	if (!hyb_xmit_may(sk, skb)) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	/* only now, since TCP retransmits its own packet and not the finished copy */
	skb = hyb_off_leaves(sk, skb);
	if (!skb)
		return -ENOBUFS;
	ret = container_of(ops, struct hyb_xmit_ops, ops)->base
		->queue_xmit(sk, skb, fl);
	hyb_ooo_sent(sk);
	return ret;
}

/* The copy of @base, made at its first use; NULL if there is no place for another one */
static const struct inet_connection_sock_af_ops *
hyb_xmit_copy_ops(const struct inet_connection_sock_af_ops *base)
{
	struct hyb_xmit_ops *o = NULL;
	int i;

	mutex_lock(&hyb_xmit_lock);
	for (i = 0; i < HYB_XMIT_FAMILIES; i++) {
		o = &hyb_xmit_ops[i];
		if (o->base == base)
			break;
		if (o->base)
			continue;
		o->ops = *base;
		o->ops.queue_xmit = hyb_xmit_queue;
		o->base = base;
		break;
	}
	mutex_unlock(&hyb_xmit_lock);
	return i < HYB_XMIT_FAMILIES ? &o->ops : NULL;
}

/**
 * hyb_xmit_attach - see the packets of a connection from now on
 * @sk: its TCP socket
 *
 * Context: process, the caller owns the TCP socket (lock_sock).
 * Return: false if there is no place for a copy of its operations.
 */
bool hyb_xmit_attach(struct sock *sk)
{
	const struct inet_connection_sock_af_ops *ops =
		hyb_xmit_copy_ops(inet_csk(sk)->icsk_af_ops);

	if (ops)
		WRITE_ONCE(inet_csk(sk)->icsk_af_ops, ops);
	return ops;
}

/**
 * hyb_xmit_release - give a socket its own operations back
 * @sk: TCP socket
 *
 * Context: process, the caller owns the TCP socket.
 */
void hyb_xmit_release(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	int i;

	for (i = 0; i < HYB_XMIT_FAMILIES; i++)
		if (icsk->icsk_af_ops == &hyb_xmit_ops[i].ops)
			WRITE_ONCE(icsk->icsk_af_ops, hyb_xmit_ops[i].base);
}
