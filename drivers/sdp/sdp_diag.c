// SPDX-License-Identifier: GPL-2.0
/*
 * SDP sockets for NETLINK_SOCK_DIAG: a module of its own, on top of sdp.ko.
 * Calls sdp_info.c, sdp_sock.c, sdp_conn.c and sdp_fallback.c to read a socket and its
 * connection. SOCK_DESTROY ends a socket. See include/uapi/linux/sdp_diag.h.
 */
#include <linux/cgroup.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sock_diag.h>
#include <linux/sdp_diag.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_fallback.h"
#include "sdp_fc.h"
#include "sdp_verbs.h"

#define SDP_DIAG_REPLY_SIZE	1024	/* one socket with all attributes */

/* Position of a dump, in netlink_callback.ctx. */
struct sdp_diag_ctx {
	struct sock *last;	/* shown, with a reference */
};

/* A query and its origin. */
struct sdp_diag_query {
	struct user_namespace *user_ns;
	u32 portid;
	u32 seq;
	u16 flags;
	u32 show;
	bool net_admin;
};

static void sdp_diag_query_init(struct sdp_diag_query *q, struct sk_buff *in,
				const struct nlmsghdr *nlh, u16 flags)
{
	const struct sdp_diag_req *req = nlmsg_data(nlh);

	q->user_ns = sk_user_ns(NETLINK_CB(in).sk);
	q->portid = NETLINK_CB(in).portid;
	q->seq = nlh->nlmsg_seq;
	q->flags = flags;
	q->show = req->show;
	q->net_admin = netlink_net_capable(in, CAP_NET_ADMIN);
}

/* @extack may be NULL: only a dump has one on kernels up to now. */
static int sdp_diag_check(const struct nlmsghdr *nlh,
			  struct netlink_ext_ack *extack)
{
	const struct sdp_diag_req *req = nlmsg_data(nlh);

	if (nlmsg_len(nlh) < sizeof(*req)) {
		NL_SET_ERR_MSG(extack, "request is shorter than struct sdp_diag_req");
		return -EINVAL;
	}
	if (req->sdiag_protocol || req->pad) {
		NL_SET_ERR_MSG(extack, "protocol and padding must be 0");
		return -EINVAL;
	}
	if (req->show & ~(SDP_DIAG_SHOW_CONN | SDP_DIAG_SHOW_MEMINFO |
			  SDP_DIAG_SHOW_STATS)) {
		NL_SET_ERR_MSG(extack, "unknown bit in show");
		return -EINVAL;
	}
	return 0;
}

/* IPv4 in one word; on an IPv6 socket in its mapped form. */
static void sdp_diag_addr(__be32 out[4], __be16 *port, bool v6,
			  const union sdp_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET6:
		memcpy(out, &addr->v6.sin6_addr, sizeof(addr->v6.sin6_addr));
		*port = addr->v6.sin6_port;
		break;
	case AF_INET:
		if (v6 && addr->v4.sin_addr.s_addr)
			ipv6_addr_set_v4mapped(addr->v4.sin_addr.s_addr,
					       (struct in6_addr *)out);
		else
			out[0] = addr->v4.sin_addr.s_addr;
		*port = addr->v4.sin_port;
		break;
	}
}

/* The TCP socket that has taken over, or NULL; it stays as long as @sk. */
static struct sock *sdp_diag_tcp(const struct sock *sk)
{
	return sdp_fallback_on(sk) ? sdp_sk(sk)->tcp_sk : NULL;
}

/* The socket that the program uses now */
static struct sock *sdp_diag_now(struct sock *sk)
{
	return sdp_diag_tcp(sk) ?: sk;
}

static void sdp_diag_tcp_addr(const struct sock *tsk, struct inet_diag_sockid *id)
{
	const struct inet_sock *inet = inet_sk(tsk);

	id->idiag_sport = inet->inet_sport;
	id->idiag_dport = inet->inet_dport;
#if IS_ENABLED(CONFIG_IPV6)
	if (tsk->sk_family == AF_INET6) {
		memcpy(id->idiag_src, &tsk->sk_v6_rcv_saddr, sizeof(id->idiag_src));
		memcpy(id->idiag_dst, &tsk->sk_v6_daddr, sizeof(id->idiag_dst));
		return;
	}
#endif
	id->idiag_src[0] = inet->inet_rcv_saddr;
	id->idiag_dst[0] = inet->inet_daddr;
}

/* Queues and addresses of the TCP socket, as tcp_diag has them */
static void sdp_diag_fill_tcp(const struct sock *tsk, struct sdp_diag_msg *m)
{
	const struct tcp_sock *tp = tcp_sk(tsk);

	sdp_diag_tcp_addr(tsk, &m->id);
	if (m->diag_state == TCP_LISTEN) {
		m->diag_rqueue = READ_ONCE(tsk->sk_ack_backlog);
		m->diag_wqueue = READ_ONCE(tsk->sk_max_ack_backlog);
		return;
	}
	m->diag_rqueue = max_t(int, READ_ONCE(tp->rcv_nxt) -
			       READ_ONCE(tp->copied_seq), 0);
	m->diag_wqueue = READ_ONCE(tp->write_seq) - tp->snd_una;
}

static void sdp_diag_fill_msg(struct sock *sk, struct sdp_diag_msg *m,
			      const struct sdp_diag_query *q)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	memset(m, 0, sizeof(*m));
	m->diag_family = sdp->v6 ? AF_INET6 : AF_INET;
	m->diag_state = inet_sk_state_load(sdp_diag_now(sk));
	m->diag_shutdown = READ_ONCE(sdp_diag_now(sk)->sk_shutdown);
	m->id.idiag_if = READ_ONCE(sdp_diag_now(sk)->sk_bound_dev_if);
	sock_diag_save_cookie(sk, m->id.idiag_cookie);
	m->diag_uid = from_kuid_munged(q->user_ns, sk_uid(sk));
	m->diag_inode = sock_i_ino(sk);
	if (sdp_diag_tcp(sk)) {
		sdp_diag_fill_tcp(sdp_diag_tcp(sk), m);
		return;
	}
	/* the handlers of rdma_cm may be setting the addresses */
	spin_lock_bh(&sdp->lock);
	sdp_diag_addr(m->id.idiag_src, &m->id.idiag_sport, sdp->v6,
		      &sdp->local);
	sdp_diag_addr(m->id.idiag_dst, &m->id.idiag_dport, sdp->v6,
		      &sdp->peer);
	spin_unlock_bh(&sdp->lock);

	if (m->diag_state == TCP_LISTEN) {
		m->diag_rqueue = READ_ONCE(sk->sk_ack_backlog);
		m->diag_wqueue = READ_ONCE(sk->sk_max_ack_backlog);
	} else {
		m->diag_rqueue = max(sdp_sock_readable(sk), 0);
		m->diag_wqueue = sdp_conn_outq(sk);
	}
}

static int sdp_diag_fill_conn(struct sock *sk, struct sk_buff *skb)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;
	u32 rx_mseq, advertised = 0, posted = 0, rx_size;
	char device[IB_DEVICE_NAME_MAX];
	const struct rdma_cm_id *id;
	const struct sdp_verbs *v;

	strscpy(device, sdp_sock_device_name(sk), sizeof(device));
	if (!conn || !device[0])
		return 0;

	/* a connection request is attached without lock_sock: it may be seen before its cm_id */
	id = READ_ONCE(conn->id);
	rx_mseq = READ_ONCE(conn->rx_mseq);
	/* on a shared link nothing is posted, hence nothing advertised */
	v = READ_ONCE(conn->verbs);
	if (v) {
		advertised = READ_ONCE(v->rx_adv_total) - rx_mseq;
		posted = READ_ONCE(v->rx_posted_total) - rx_mseq;
	}
	rx_size = conn->link->shared ? SDP_SHARED_PAYLOAD : conn->rx_size;
	if (nla_put_string(skb, SDP_DIAG_DEVICE, device) ||
	    nla_put_u32(skb, SDP_DIAG_DEVICE_PORT, id ? id->port_num : 0) ||
	    nla_put_string(skb, SDP_DIAG_FLOW_CONTROL, conn->fc->name) ||
	    nla_put_string(skb, SDP_DIAG_LINK, conn->link->name) ||
	    nla_put_string(skb, SDP_DIAG_LINK_REASON,
			   sdp_info_reason(conn->terms.link_reason)) ||
	    nla_put_string(skb, SDP_DIAG_FC_REASON, sdp_info_fc_reason(conn)) ||
	    nla_put_u32(skb, SDP_DIAG_RX_RESERVED, sdp_info_rx_reserved(sk)) ||
	    nla_put_u32(skb, SDP_DIAG_ZCOPY_KEPT,
			READ_ONCE(conn->zc->kept_bytes)) ||
	    nla_put_string(skb, SDP_DIAG_ZCOPY_REASON,
			   sdp_sock_zcopy_threshold(sk) ?
			   sdp_info_reason(sdp_conn_zcopy_reason(conn)) : "") ||
	    nla_put_u32(skb, SDP_DIAG_TX_CREDITS, sdp_info_credits(sk)) ||
	    nla_put_u32(skb, SDP_DIAG_RX_CREDITS, advertised) ||
	    nla_put_u32(skb, SDP_DIAG_RX_POSTED, posted) ||
	    nla_put_u32(skb, SDP_DIAG_TX_SIZE,
			sdp_conn_max_payload(sk) + SDP_BSDH_LEN) ||
	    nla_put_u32(skb, SDP_DIAG_RX_SIZE, rx_size + SDP_BSDH_LEN) ||
	    nla_put_u32(skb, SDP_DIAG_TX_MSEQ, READ_ONCE(conn->tx_mseq)) ||
	    nla_put_u32(skb, SDP_DIAG_TX_MSEQ_ACK, READ_ONCE(conn->peer_ack)) ||
	    nla_put_u32(skb, SDP_DIAG_RX_MSEQ, rx_mseq))
		return -EMSGSIZE;
	return 0;
}

#ifdef CONFIG_SOCK_CGROUP_DATA
static int sdp_diag_fill_cgroup(struct sock *sk, struct sk_buff *skb)
{
	return nla_put_u64_64bit(skb, SDP_DIAG_CGROUP_ID,
				 cgroup_id(sock_cgroup_ptr(&sk->sk_cgrp_data)),
				 SDP_DIAG_PAD);
}
#else
static int sdp_diag_fill_cgroup(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}
#endif

static u8 sdp_diag_tclass(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct sock *tsk = sdp_diag_tcp(sk);

	if (tsk && tsk->sk_family == AF_INET6)
		return READ_ONCE(inet6_sk(tsk)->tclass);
#endif
	return READ_ONCE(sdp_sk(sk)->ip6_tclass);
}

static int sdp_diag_fill_tos(struct sock *sk, struct sk_buff *skb)
{
	if (nla_put_u8(skb, SDP_DIAG_TOS,
		       READ_ONCE(inet_sk(sdp_diag_now(sk))->tos)))
		return -EMSGSIZE;
	if (!sdp_sk(sk)->v6)
		return 0;
	return nla_put_u8(skb, SDP_DIAG_TCLASS, sdp_diag_tclass(sk));
}

/*
 * Payload in both directions, without that of a former peer before TCP took over. TCP counts
 * the peer's FIN as a byte received.
 */
static void sdp_diag_bytes(const struct sock *sk, u64 *tx, u64 *rx)
{
	const struct sock *tsk = sdp_diag_tcp(sk);

	if (!tsk) {
		*tx = READ_ONCE(sdp_sk(sk)->tx_bytes);
		*rx = READ_ONCE(sdp_sk(sk)->rx_bytes);
		return;
	}
	*tx = READ_ONCE(tcp_sk(tsk)->bytes_sent) -
	      READ_ONCE(tcp_sk(tsk)->bytes_retrans);
	*rx = READ_ONCE(tcp_sk(tsk)->bytes_received);
}

static int sdp_diag_fill_stats(struct sock *sk, struct sk_buff *skb)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	struct nlattr *nest;
	u64 tx, rx;

	nest = nla_nest_start(skb, SDP_DIAG_STATS);
	if (!nest)
		return -EMSGSIZE;

	sdp_diag_bytes(sk, &tx, &rx);
	if (nla_put_u64_64bit(skb, SDP_DIAG_STATS_TX_BYTES, tx,
			      SDP_DIAG_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SDP_DIAG_STATS_RX_BYTES, rx,
			      SDP_DIAG_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SDP_DIAG_STATS_TX_MSGS,
			      READ_ONCE(sdp->tx_msgs), SDP_DIAG_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SDP_DIAG_STATS_RX_MSGS,
			      READ_ONCE(sdp->rx_msgs), SDP_DIAG_STATS_PAD) ||
	    nla_put_u64_64bit(skb, SDP_DIAG_STATS_CREDIT_STALLS,
			      READ_ONCE(sdp->tx_no_credit),
			      SDP_DIAG_STATS_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int sdp_diag_fill_attrs(struct sock *sk, struct sk_buff *skb,
			       const struct sdp_diag_query *q)
{
	if (q->show & SDP_DIAG_SHOW_CONN &&
	    (sdp_diag_fill_conn(sk, skb) || sdp_diag_fill_cgroup(sk, skb) ||
	     sdp_diag_fill_tos(sk, skb)))
		return -EMSGSIZE;
	if (q->show & SDP_DIAG_SHOW_MEMINFO &&
	    sock_diag_put_meminfo(sdp_diag_now(sk), skb, SDP_DIAG_MEMINFO))
		return -EMSGSIZE;
	if (q->show & SDP_DIAG_SHOW_STATS && sdp_diag_fill_stats(sk, skb))
		return -EMSGSIZE;
	if (sdp_fallback_reason_name(sk) &&
	    nla_put_string(skb, SDP_DIAG_TCP_REASON, sdp_fallback_reason_name(sk)))
		return -EMSGSIZE;
	if (q->net_admin &&
	    nla_put_u32(skb, SDP_DIAG_MARK, READ_ONCE(sdp_diag_now(sk)->sk_mark)))
		return -EMSGSIZE;
	return 0;
}

/*
 * Appends one socket to @skb, or nothing and returns -EMSGSIZE. The socket lock keeps
 * the connection attached, and so its device, meanwhile.
 */
static int sdp_diag_fill(struct sock *sk, struct sk_buff *skb,
			 const struct sdp_diag_query *q)
{
	struct nlmsghdr *nlh;
	int err;

	nlh = nlmsg_put(skb, q->portid, q->seq, SOCK_DIAG_BY_FAMILY,
			sizeof(struct sdp_diag_msg), q->flags);
	if (!nlh)
		return -EMSGSIZE;

	lock_sock(sk);
	sdp_diag_fill_msg(sk, nlmsg_data(nlh), q);
	err = sdp_diag_fill_attrs(sk, skb, q);
	release_sock(sk);

	if (err)
		nlmsg_cancel(skb, nlh);
	else
		nlmsg_end(skb, nlh);
	return err;
}

/*
 * The next socket of a bucket: the one after @last, which is in it as long as the caller
 * has a reference, or the first one if that is NULL. Return: it with a reference, or NULL.
 */
static struct sock *sdp_diag_next_in(struct sdp_bucket *bucket,
				     const struct sock *last)
{
	struct hlist_node *node;
	struct sock *sk = NULL;

	spin_lock_bh(&bucket->lock);
	node = last ? sdp_sk(last)->net_node.next : bucket->socks.first;
	for (; node && !sk; node = node->next) {
		sk = &hlist_entry(node, struct sdp_sock, net_node)->inet.sk;
		if (!refcount_inc_not_zero(&sk->sk_refcnt))
			sk = NULL;
	}
	spin_unlock_bh(&bucket->lock);
	return sk;
}

/* The same over all buckets. A socket stays in its bucket, and new ones come first. */
static struct sock *sdp_diag_next(struct sdp_net *sn, const struct sock *last)
{
	unsigned int i = last ? sdp_sock_bucket(last) : 0;
	struct sock *sk;

	for (; i < SDP_SOCK_BUCKETS; i++, last = NULL) {
		sk = sdp_diag_next_in(&sn->socks[i], last);
		if (sk)
			return sk;
	}
	return NULL;
}

/* A socket that is there from the first call to the last is shown once. */
static int sdp_diag_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct sdp_diag_ctx *ctx = (struct sdp_diag_ctx *)cb->ctx;
	const struct sdp_diag_req *req = nlmsg_data(cb->nlh);
	struct sdp_net *sn = sdp_pernet(sock_net(skb->sk));
	struct sdp_diag_query q;
	struct sock *sk;
	int err;

	err = sdp_diag_check(cb->nlh, cb->extack);
	if (err)
		return err;

	sdp_diag_query_init(&q, cb->skb, cb->nlh, NLM_F_MULTI);
	while ((sk = sdp_diag_next(sn, ctx->last))) {
		if (req->states & BIT(inet_sk_state_load(sdp_diag_now(sk))))
			err = sdp_diag_fill(sk, skb, &q);
		if (err) {
			sock_put(sk);
			break;
		}
		if (ctx->last)
			sock_put(ctx->last);
		ctx->last = sk;
	}
	return skb->len;
}

static int sdp_diag_dump_done(struct netlink_callback *cb)
{
	struct sdp_diag_ctx *ctx = (struct sdp_diag_ctx *)cb->ctx;

	if (ctx->last)
		sock_put(ctx->last);
	return 0;
}

/* Return: the socket with the cookie in @nlh and a reference, or an error. */
static struct sock *sdp_diag_find(struct net *net, const struct nlmsghdr *nlh)
{
	const struct sdp_diag_req *req = nlmsg_data(nlh);
	struct sdp_net *sn = sdp_pernet(net);
	struct sock *sk, *next;
	int err;

	err = sdp_diag_check(nlh, NULL);
	if (err)
		return ERR_PTR(err);
	if (req->cookie[0] == INET_DIAG_NOCOOKIE &&
	    req->cookie[1] == INET_DIAG_NOCOOKIE)
		return ERR_PTR(-EINVAL);

	for (sk = sdp_diag_next(sn, NULL); sk; sk = next) {
		if (!sock_diag_check_cookie(sk, req->cookie))
			return sk;
		next = sdp_diag_next(sn, sk);
		sock_put(sk);
	}
	return ERR_PTR(-ENOENT);
}

static int sdp_diag_get_one(struct sk_buff *in, const struct nlmsghdr *nlh)
{
	struct net *net = sock_net(in->sk);
	struct sdp_diag_query q;
	struct sk_buff *reply;
	struct sock *sk;
	int err;

	sk = sdp_diag_find(net, nlh);
	if (IS_ERR(sk))
		return PTR_ERR(sk);

	err = -ENOMEM;
	reply = nlmsg_new(SDP_DIAG_REPLY_SIZE, GFP_KERNEL);
	if (!reply)
		goto out;

	sdp_diag_query_init(&q, in, nlh, 0);
	err = sdp_diag_fill(sk, reply, &q);
	if (err)
		nlmsg_free(reply);
	else
		err = nlmsg_unicast(net->diag_nlsk, reply, q.portid);
out:
	sock_put(sk);
	return err;
}

static int sdp_diag_handler_dump(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct netlink_dump_control c = {
		.dump		= sdp_diag_dump,
		.done		= sdp_diag_dump_done,
		.min_dump_alloc	= SKB_WITH_OVERHEAD(32768),
	};

	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		return sdp_diag_get_one(skb, nlh);
	return netlink_dump_start(sock_net(skb->sk)->diag_nlsk, skb, nlh, &c);
}

/*
 * sock_diag_destroy() demands CAP_NET_ADMIN. If TCP has taken over, end the TCP
 * socket, which lives as long as the SDP socket.
 */
static int sdp_diag_handler_destroy(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct sock *sk, *tsk;
	int err;

	sk = sdp_diag_find(sock_net(skb->sk), nlh);
	if (IS_ERR(sk))
		return PTR_ERR(sk);

	tsk = sdp_diag_tcp(sk);
	err = sock_diag_destroy(tsk ? tsk : sk, ECONNABORTED);
	sock_put(sk);
	return err;
}

static const struct sock_diag_handler sdp_diag_handler = {
	.owner		= THIS_MODULE,
	.family		= AF_SDP,
	.dump		= sdp_diag_handler_dump,
	.destroy	= sdp_diag_handler_destroy,
};

static int __init sdp_diag_init(void)
{
	BUILD_BUG_ON(sizeof(struct sdp_diag_ctx) >
		     sizeof_field(struct netlink_callback, ctx));
	return sock_diag_register(&sdp_diag_handler);
}

static void __exit sdp_diag_exit(void)
{
	sock_diag_unregister(&sdp_diag_handler);
}

module_init(sdp_diag_init);
module_exit(sdp_diag_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("SDP sockets over NETLINK_SOCK_DIAG");
MODULE_AUTHOR("Seed bba8b324 maintainers");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_NETLINK, NETLINK_SOCK_DIAG, 27 /* AF_SDP */);
