// SPDX-License-Identifier: GPL-2.0
/*
 * Options that a socket passes on: to the socket of a connection request, and to
 * the TCP socket beside it. Calls nothing of SDP.
 */
#include <linux/ipv6.h>
#include <linux/memcontrol.h>
#include <linux/security.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/rdma_stack_sock.h>

#include "compat.h"
#include "sdp.h"

/* Options without effect on SDP; TCP may use them */
static void sdp_inherit_stored(struct sock *sk, const struct sock *parent)
{
	/* SO_MAX_PACING_RATE */
	sk->sk_pacing_status = READ_ONCE(parent->sk_pacing_status);
	sk->sk_max_pacing_rate = READ_ONCE(parent->sk_max_pacing_rate);
	sk->sk_pacing_rate = READ_ONCE(parent->sk_pacing_rate);
	sk->sk_txrehash = READ_ONCE(parent->sk_txrehash);
	sk->sk_no_check_tx = parent->sk_no_check_tx;
#ifdef CONFIG_NET_RX_BUSY_POLL
	sk->sk_ll_usec = READ_ONCE(parent->sk_ll_usec);
	sk->sk_prefer_busy_poll = READ_ONCE(parent->sk_prefer_busy_poll);
	sk->sk_busy_poll_budget = READ_ONCE(parent->sk_busy_poll_budget);
#endif
	/* SO_TXTIME */
	sk->sk_clockid = parent->sk_clockid;
	sk->sk_txtime_deadline_mode = parent->sk_txtime_deadline_mode;
	sk->sk_txtime_report_errors = parent->sk_txtime_report_errors;
}

/**
 * sdp_inherit_sock() - options of SOL_SOCKET for a child, or for a TCP socket
 * @sk: socket that is not in use yet
 * @parent: SDP socket that has them
 *
 * Context: any.
 */
void sdp_inherit_sock(struct sock *sk, const struct sock *parent)
{
	static const enum sock_flags flags[] = {
		SOCK_KEEPOPEN, SOCK_LINGER, SOCK_URGINLINE, SOCK_DBG,
		SOCK_LOCALROUTE, SOCK_BROADCAST, SOCK_RCVTSTAMP,
		SOCK_RCVTSTAMPNS, SOCK_TSTAMP_NEW, SOCK_ZEROCOPY,
		SOCK_RXQ_OVFL, SOCK_WIFI_STATUS, SOCK_NOFCS,
		SOCK_SELECT_ERR_QUEUE, SOCK_RCVMARK, SOCK_TXTIME,
#ifdef HAVE_RCVPRIORITY
		SOCK_RCVPRIORITY,
#endif
	};
	int i;

	sk->sk_sndbuf = READ_ONCE(parent->sk_sndbuf);
	sk->sk_rcvbuf = READ_ONCE(parent->sk_rcvbuf);
	sk->sk_userlocks = parent->sk_userlocks &
			   (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	sk->sk_rcvlowat = READ_ONCE(parent->sk_rcvlowat);
	sk->sk_rcvtimeo = parent->sk_rcvtimeo;
	sk->sk_sndtimeo = parent->sk_sndtimeo;
	sk->sk_lingertime = parent->sk_lingertime;
	sk->sk_priority = READ_ONCE(parent->sk_priority);
	sk->sk_mark = READ_ONCE(parent->sk_mark);
	sk->sk_bound_dev_if = READ_ONCE(parent->sk_bound_dev_if);
	sk->sk_reuse = parent->sk_reuse;
	sk->sk_reuseport = parent->sk_reuseport;
	sk->sk_ipv6only = parent->sk_ipv6only;
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		sock_valbool_flag(sk, flags[i], sock_flag(parent, flags[i]));
	sdp_inherit_stored(sk, parent);
}

/* sk_alloc() in a worker sets no memory control group */
static void sdp_inherit_memcg(struct sock *sk, const struct sock *parent)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg = parent->sk_memcg;

	if (!memcg || sk->sk_memcg)
		return;
	css_get(&memcg->css);	/* __sk_free() puts it */
	sk->sk_memcg = memcg;
#endif
}

/**
 * sdp_inherit_child() - give a child the options of its listener
 * @sk: new child, not visible yet
 * @parent: its listener
 *
 * Context: any; a value that is being changed is taken old or new.
 */
void sdp_inherit_child(struct sock *sk, const struct sock *parent)
{
	const struct sdp_sock *from = sdp_sk(parent);
	struct sdp_sock *sdp = sdp_sk(sk);

	sdp_inherit_sock(sk, parent);
	sdp_inherit_memcg(sk, parent);
	sdp_sock_no_filter(sk);
	/* owner, label and control group are not those of the worker that handles the request */
	WRITE_ONCE(sk->sk_uid, sk_uid((struct sock *)parent));
	security_sk_clone(parent, sk);
	rdma_stack_sock_cgroup(sk, parent);
	sk->sk_tsflags = READ_ONCE(parent->sk_tsflags);

	inet_sk(sk)->tos = inet_sk(parent)->tos;
	inet_sk(sk)->uc_ttl = inet_sk(parent)->uc_ttl;
	inet_sk(sk)->pmtudisc = inet_sk(parent)->pmtudisc;

	sdp->nodelay = from->nodelay;
	sdp->cork = from->cork;
	sdp->quickack = from->quickack;
	sdp->shared_link = from->shared_link;
	sdp->flow_control = from->flow_control;
	sdp->zcopy_threshold = from->zcopy_threshold;
	sdp->recvmsg_inq = from->recvmsg_inq;
	sdp->syn_retries = from->syn_retries;
	sdp->keepcnt = from->keepcnt;
	sdp->keepidle = from->keepidle;
	sdp->keepintvl = from->keepintvl;
	sdp->linger2 = from->linger2;
	sdp->user_mss = from->user_mss;
	sdp->user_timeout = from->user_timeout;
	sdp->notsent_lowat = from->notsent_lowat;
	sdp->window_clamp = from->window_clamp;
	sdp->opt_bits = from->opt_bits;
	sdp->ip6_bits = from->ip6_bits;
	sdp->ip6_set = from->ip6_set;
	sdp->ip6_hops = from->ip6_hops;
	sdp->ip6_tclass = from->ip6_tclass;
	sdp->ip6_pmtudisc = from->ip6_pmtudisc;
}

/* Switches that are stored only. Their places are bits of sdp_sock.ip6_bits. */
static const u8 sdp_ip6_switches[] = {
	IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVRTHDR,
	IPV6_RECVHOPOPTS, IPV6_RECVDSTOPTS, IPV6_RECVTCLASS,
	IPV6_RECVPATHMTU, IPV6_RECVERR, IPV6_RECVORIGDSTADDR,
	IPV6_FLOWINFO, IPV6_FLOWINFO_SEND, IPV6_AUTOFLOWLABEL,
	IPV6_DONTFRAG, IPV6_MULTICAST_ALL, IPV6_2292PKTINFO,
	IPV6_2292HOPLIMIT, IPV6_2292RTHDR, IPV6_2292HOPOPTS,
	IPV6_2292DSTOPTS,
};

/**
 * sdp_inherit_ip6_bit() - the place of an option in sdp_sock.ip6_bits
 * @optname: IPV6_*
 *
 * Context: any.
 *
 * Return: number of the bit, or -1 if the option has none.
 */
int sdp_inherit_ip6_bit(int optname)
{
	int i;

	BUILD_BUG_ON(ARRAY_SIZE(sdp_ip6_switches) > 32);
	for (i = 0; i < ARRAY_SIZE(sdp_ip6_switches); i++)
		if (sdp_ip6_switches[i] == optname)
			return i;
	return -1;
}

/**
 * sdp_inherit_ip6() - give a TCP socket the switches of SOL_IPV6
 * @sk: SDP socket, locked
 * @tcp: AF_INET6 socket, not connected
 *
 * Only those that the program has set: TCP has defaults of its own.
 *
 * Context: process.
 */
void sdp_inherit_ip6(const struct sock *sk, struct socket *tcp)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	int i, val;

	sock_owned_by_me(sk);
	for (i = 0; i < ARRAY_SIZE(sdp_ip6_switches); i++) {
		if (!(sdp->ip6_set & BIT(i)))
			continue;
		val = !!(sdp->ip6_bits & BIT(i));
		tcp->ops->setsockopt(tcp, SOL_IPV6, sdp_ip6_switches[i],
				     KERNEL_SOCKPTR(&val), sizeof(val));
	}
}
