// SPDX-License-Identifier: GPL-2.0
/*
 * SDP socket options: levels SOL_TCP, SOL_IP, SOL_IPV6 and SOL_SDP, with the values and
 * errors that TCP has. The core handles SOL_SOCKET, except for filters of packets and
 * for three options that it refuses to unknown protocols. Calls the files that an
 * option belongs to (sdp_conn.c, sdp_port.c, sdp_info.c, sdp_rxmap.c, sdp_timer.c,
 * sdp_inherit.c, sdp_fallback.c, zero copy), and the IP layer for options that it
 * keeps in inet_sock.
 *
 * Options that would change how TCP behaves on the wire and have no meaning
 * here (thin streams, quick acknowledgments, ...) are checked, stored and
 * returned: a program that sets them must not fail. Options that would promise
 * something that we do not keep (TCP Fast Open connects, TCP_REPAIR, a
 * congestion control by name, TLS) are refused, as TCP does where it lacks them.
 */
#include <linux/inetdevice.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <net/tcp_states.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_fallback.h"
#include "sdp_port.h"
#include "sdp_verbs.h"

#define SDP_CC_NAME		"sdp"	/* value of TCP_CONGESTION */
#define SDP_MAX_LINGER2		(TCP_FIN_TIMEOUT_MAX / HZ)	/* seconds */

/*
 * A message may be larger than any segment, but programs do not expect such a value: TCP has
 * none above what fits a datagram of IP
 */
#define SDP_MSS_MAX	(IP_MAX_MTU - sizeof(struct iphdr) - \
			 sizeof(struct tcphdr))

/* Bits of sdp_sock.opt_bits: TCP options that are only stored. */
enum {
	SDP_OPT_THIN_LTO,
	SDP_OPT_NO_COOKIE,
	SDP_OPT_SAVE_SYN,		/* two bits: 0, 1, 2 */
};

/* Return an integer to the caller. */
static int sdp_put_int(char __user *optval, int __user *optlen, int val)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(unsigned int, len, sizeof(int));
	if (put_user(len, optlen) || copy_to_user(optval, &val, len))
		return -EFAULT;
	return 0;
}

/* At most @size bytes of @data; returns the number to the caller. */
static int sdp_put_data(char __user *optval, int __user *optlen,
			const void *data, int size)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min(len, size);
	if (put_user(len, optlen) || copy_to_user(optval, data, len))
		return -EFAULT;
	return 0;
}

static int sdp_get_name(char *name, size_t size, sockptr_t optval,
			unsigned int optlen)
{
	long len;

	if (optlen < 1)
		return -EINVAL;
	len = strncpy_from_sockptr(name, optval,
				   min_t(size_t, size - 1, optlen));
	if (len < 0)
		return -EFAULT;
	name[len] = '\0';
	return 0;
}

static bool sdp_is_fresh_or_listening(const struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) & (TCPF_CLOSE | TCPF_LISTEN);
}

static int sdp_store_bit(u32 *bits, int bit, int val)
{
	if (val < 0 || val > 1)
		return -EINVAL;
	WRITE_ONCE(*bits, (*bits & ~BIT(bit)) | (val ? BIT(bit) : 0));
	return 0;
}

/* ---- SOL_TCP, set ---- */

static int sdp_set_window_clamp(struct sock *sk, int val)
{
	if (!val && inet_sk_state_load(sk) != TCP_CLOSE)
		return -EINVAL;
	if (val)
		val = max_t(int, val, SOCK_MIN_RCVBUF / 2);
	WRITE_ONCE(sdp_sk(sk)->window_clamp, val);
	return 0;
}

static int sdp_set_maxseg(struct sock *sk, int val)
{
	if (val && (val < TCP_MIN_MSS || val > MAX_TCP_WINDOW))
		return -EINVAL;
	WRITE_ONCE(sdp_sk(sk)->user_mss, val);
	return 0;
}

static int sdp_set_linger2(struct sock *sk, int val)
{
	WRITE_ONCE(sdp_sk(sk)->linger2,
		   clamp(val, -1, SDP_MAX_LINGER2));
	return 0;
}

static int sdp_set_keepidle(struct sock *sk, int val)
{
	if (val < 1 || val > MAX_TCP_KEEPIDLE)
		return -EINVAL;
	WRITE_ONCE(sdp_sk(sk)->keepidle, val);
	if (sock_flag(sk, SOCK_KEEPOPEN) && !sdp_is_fresh_or_listening(sk))
		sdp_timer_set_keepalive(sk, 1);
	return 0;
}

/* Options that are about time. */
static int sdp_set_tcp_timing(struct sock *sk, int optname, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	switch (optname) {
	case TCP_KEEPIDLE:
		return sdp_set_keepidle(sk, val);
	case TCP_KEEPINTVL:
		if (val < 1 || val > MAX_TCP_KEEPINTVL)
			return -EINVAL;
		WRITE_ONCE(sdp->keepintvl, val);
		return 0;
	case TCP_KEEPCNT:
		if (val < 1 || val > MAX_TCP_KEEPCNT)
			return -EINVAL;
		WRITE_ONCE(sdp->keepcnt, val);
		return 0;
	case TCP_SYNCNT:
		if (val < 1 || val > MAX_TCP_SYNCNT)
			return -EINVAL;
		WRITE_ONCE(sdp->syn_retries, val);
		return 0;
	case TCP_LINGER2:
		return sdp_set_linger2(sk, val);
	case TCP_DEFER_ACCEPT:
		WRITE_ONCE(sdp->defer_accept, max(val, 0));
		return 0;
	case TCP_USER_TIMEOUT:
		if (val < 0)
			return -EINVAL;
		WRITE_ONCE(sdp->user_timeout, val);
		/* applies to data in flight as well */
		if (!sdp_is_fresh_or_listening(sk) &&
		    !sock_flag(sk, SOCK_DEAD) && sk->sk_state != TCP_SYN_SENT)
			sdp_conn_watch_user(sk);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/* Options of Fast Open: the listener's are hints, the client's a promise. */
static int sdp_set_tcp_fastopen(struct sock *sk, int optname, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	switch (optname) {
	case TCP_FASTOPEN:
		if (val < 0 || !sdp_is_fresh_or_listening(sk))
			return -EINVAL;
		WRITE_ONCE(sdp->fastopen_qlen, val);
		return 0;
	case TCP_FASTOPEN_CONNECT:
		if (val < 0 || val > 1)
			return -EINVAL;
		return val ? -EOPNOTSUPP : 0;
	case TCP_FASTOPEN_NO_COOKIE:
		if (!sdp_is_fresh_or_listening(sk))
			return -EINVAL;
		return sdp_store_bit(&sdp->opt_bits, SDP_OPT_NO_COOKIE, val);
	default:
		return -ENOPROTOOPT;
	}
}

/* Options that are only checked or stored, and those for TCP alone. */
static int sdp_set_tcp_other(struct sock *sk, int optname, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	switch (optname) {
	case TCP_THIN_LINEAR_TIMEOUTS:
		return sdp_store_bit(&sdp->opt_bits, SDP_OPT_THIN_LTO, val);
	case TCP_THIN_DUPACK:
		return val < 0 || val > 1 ? -EINVAL : 0;
	case TCP_SAVE_SYN:
		if (val < 0 || val > 2)
			return -EINVAL;
		WRITE_ONCE(sdp->opt_bits,
			   (sdp->opt_bits & ~(3 << SDP_OPT_SAVE_SYN)) |
			   val << SDP_OPT_SAVE_SYN);
		return 0;
	case TCP_REPAIR_OPTIONS:
		return -EINVAL;
	case TCP_REPAIR:
	case TCP_REPAIR_QUEUE:
	case TCP_REPAIR_WINDOW:
	case TCP_TIMESTAMP:
		return -EPERM;
	case TCP_QUEUE_SEQ:
		return inet_sk_state_load(sk) == TCP_CLOSE ? -EINVAL : -EPERM;
	default:
		return -ENOPROTOOPT;
	}
}

static int sdp_set_tcp_int(struct sock *sk, int optname, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int err;

	switch (optname) {
	case TCP_NODELAY:
		WRITE_ONCE(sdp->nodelay, !!val);
		if (val)
			sdp_conn_push(sk);
		return 0;
	case TCP_CORK:
		WRITE_ONCE(sdp->cork, !!val);
		if (!val)
			sdp_conn_push(sk);
		return 0;
	case TCP_MAXSEG:
		return sdp_set_maxseg(sk, val);
	case TCP_WINDOW_CLAMP:
		return sdp_set_window_clamp(sk, val);
	case TCP_QUICKACK:
		WRITE_ONCE(sdp->quickack, !!val);
		return 0;
	case TCP_NOTSENT_LOWAT:
		WRITE_ONCE(sdp->notsent_lowat, val);
		sk->sk_write_space(sk);
		return 0;
	case TCP_INQ:
		if (val < 0 || val > 1)
			return -EINVAL;
		WRITE_ONCE(sdp->recvmsg_inq, val);
		return 0;
	}

	err = sdp_set_tcp_timing(sk, optname, val);
	if (err == -ENOPROTOOPT)
		err = sdp_set_tcp_fastopen(sk, optname, val);
	if (err == -ENOPROTOOPT)
		err = sdp_set_tcp_other(sk, optname, val);
	return err;
}

/* Options whose value is a name or a key. -ENOPROTOOPT: none of them. */
static int sdp_set_tcp_data(int optname, sockptr_t optval, unsigned int optlen)
{
	char name[TCP_CA_NAME_MAX];
	int err;

	BUILD_BUG_ON(TCP_ULP_NAME_MAX > TCP_CA_NAME_MAX);

	switch (optname) {
	case TCP_CONGESTION:
		err = sdp_get_name(name, sizeof(name), optval, optlen);
		if (err)
			return err;
		return strcmp(name, SDP_CC_NAME) ? -ENOENT : 0;
	case TCP_ULP:
		err = sdp_get_name(name, TCP_ULP_NAME_MAX, optval, optlen);
		return err ? err : -ENOENT;
	case TCP_FASTOPEN_KEY:
		if (optlen != TCP_FASTOPEN_KEY_LENGTH &&
		    optlen != TCP_FASTOPEN_KEY_BUF_LENGTH)
			return -EINVAL;
		return -EOPNOTSUPP;
	default:
		return -ENOPROTOOPT;
	}
}

static int sdp_set_tcp(struct sock *sk, int optname, sockptr_t optval,
		       unsigned int optlen)
{
	int val, err;

	err = sdp_set_tcp_data(optname, optval, optlen);
	if (err != -ENOPROTOOPT)
		return err;

	if (optlen < sizeof(int))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;

	lock_sock(sk);
	err = sdp_set_tcp_int(sk, optname, val);
	release_sock(sk);
	return err;
}

/* ---- SOL_TCP, get ---- */

static u32 sdp_tcp_mss(const struct sock *sk)
{
	u32 user = READ_ONCE(sdp_sk(sk)->user_mss);
	u32 mss = min_t(u32, sdp_conn_max_payload(sk), SDP_MSS_MAX);

	if (user && (sdp_is_fresh_or_listening(sk) || user < mss))
		return user;
	return mss ? mss : TCP_MSS_DEFAULT;
}

static void sdp_fill_tcp_info(struct sock *sk, struct tcp_info *info)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u64 left;

	memset(info, 0, sizeof(*info));
	info->tcpi_state = inet_sk_state_load(sk);
	info->tcpi_pacing_rate = ~0ULL;
	info->tcpi_max_pacing_rate = ~0ULL;
	if (info->tcpi_state == TCP_LISTEN) {
		/* as TCP: children to accept, and their limit */
		info->tcpi_unacked = READ_ONCE(sk->sk_ack_backlog);
		info->tcpi_sacked = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}

	lock_sock(sk);
	info->tcpi_snd_mss = sdp_tcp_mss(sk);
	info->tcpi_rcv_mss = SDP_BUF_SIZE;
	info->tcpi_advmss = info->tcpi_rcv_mss;
	/* the nearest things to a window: messages and bytes we may send */
	info->tcpi_snd_cwnd = sdp_info_credits(sk);
	info->tcpi_rcv_space = READ_ONCE(sk->sk_rcvbuf);
	info->tcpi_notsent_bytes = sdp_conn_unsent(sk);
	info->tcpi_last_data_recv =
		jiffies_to_msecs(jiffies - READ_ONCE(sdp->last_rx));
	info->tcpi_last_ack_recv = info->tcpi_last_data_recv;
	info->tcpi_bytes_sent = READ_ONCE(sdp->tx_bytes);
	info->tcpi_bytes_received = READ_ONCE(sdp->rx_bytes);
	/*
	 * queued and sent data waits for the peer: the rest has arrived. Some of it may
	 * have been sent and acknowledged since the other number was read.
	 */
	left = max_t(s32, sdp_conn_outq(sk) - info->tcpi_notsent_bytes, 0);
	info->tcpi_bytes_acked = info->tcpi_bytes_sent -
				 min(info->tcpi_bytes_sent, left);
	info->tcpi_segs_out = READ_ONCE(sdp->tx_msgs);
	info->tcpi_segs_in = READ_ONCE(sdp->rx_msgs);
	release_sock(sk);
}

static int sdp_get_tcp_info(struct sock *sk, char __user *optval,
			    int __user *optlen)
{
	struct tcp_info info;

	sdp_fill_tcp_info(sk, &info);
	return sdp_put_data(optval, optlen, &info, sizeof(info));
}

static int sdp_tcp_timing(const struct sock *sk, int optname)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	struct net *net = sock_net(sk);
	struct sdp_net *sn = sdp_pernet(net);

	switch (optname) {
	case TCP_KEEPIDLE:
		return READ_ONCE(sdp->keepidle) ?:
		       READ_ONCE(sn->sysctl_keepalive_time);
	case TCP_KEEPINTVL:
		return READ_ONCE(sdp->keepintvl) ?:
		       READ_ONCE(sn->sysctl_keepalive_intvl);
	case TCP_KEEPCNT:
		return READ_ONCE(sdp->keepcnt) ?:
		       READ_ONCE(sn->sysctl_keepalive_probes);
	case TCP_SYNCNT:
		return READ_ONCE(sdp->syn_retries) ?:
		       READ_ONCE(net->ipv4.sysctl_tcp_syn_retries);
	case TCP_LINGER2:
		return READ_ONCE(sdp->linger2) ?:
		       READ_ONCE(sn->sysctl_fin_timeout);
	case TCP_DEFER_ACCEPT:
		return READ_ONCE(sdp->defer_accept);
	default:
		return READ_ONCE(sdp->user_timeout);
	}
}

/* Integer options. Return: 0, -ENOPROTOOPT for unknown ones, -EINVAL for two of TCP_REPAIR. */
static int sdp_get_tcp_int(const struct sock *sk, int optname, int *val)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	u32 bits = READ_ONCE(sdp->opt_bits);

	switch (optname) {
	case TCP_KEEPIDLE:
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
	case TCP_SYNCNT:
	case TCP_LINGER2:
	case TCP_DEFER_ACCEPT:
	case TCP_USER_TIMEOUT:
		*val = sdp_tcp_timing(sk, optname);
		return 0;
	case TCP_NODELAY:
		*val = READ_ONCE(sdp->nodelay);
		return 0;
	case TCP_CORK:
		*val = READ_ONCE(sdp->cork);
		return 0;
	case TCP_WINDOW_CLAMP:
		*val = READ_ONCE(sdp->window_clamp);
		return 0;
	case TCP_QUICKACK:
		*val = READ_ONCE(sdp->quickack);
		return 0;
	case TCP_NOTSENT_LOWAT:
		*val = READ_ONCE(sdp->notsent_lowat);
		return 0;
	case TCP_INQ:
		*val = READ_ONCE(sdp->recvmsg_inq);
		return 0;
	case TCP_FASTOPEN:
		*val = READ_ONCE(sdp->fastopen_qlen);
		return 0;
	case TCP_THIN_LINEAR_TIMEOUTS:
		*val = !!(bits & BIT(SDP_OPT_THIN_LTO));
		return 0;
	case TCP_FASTOPEN_NO_COOKIE:
		*val = !!(bits & BIT(SDP_OPT_NO_COOKIE));
		return 0;
	case TCP_SAVE_SYN:
		*val = bits >> SDP_OPT_SAVE_SYN & 3;
		return 0;
	case TCP_FASTOPEN_CONNECT:
	case TCP_THIN_DUPACK:
	case TCP_REPAIR:
		*val = 0;
		return 0;
	case TCP_REPAIR_QUEUE:
	case TCP_QUEUE_SEQ:
		return -EINVAL;
	default:
		return -ENOPROTOOPT;
	}
}

static int sdp_get_tcp(struct sock *sk, int optname, char __user *optval,
		       int __user *optlen)
{
	static const char cc_name[TCP_CA_NAME_MAX] = SDP_CC_NAME;
	int val, err;

	switch (optname) {
	case TCP_MAXSEG:
		lock_sock(sk);
		val = sdp_tcp_mss(sk);
		release_sock(sk);
		return sdp_put_int(optval, optlen, val);
	case TCP_INFO:
		return sdp_get_tcp_info(sk, optval, optlen);
	case TCP_ZEROCOPY_RECEIVE:
		return sdp_rxmap_getsockopt(sk->sk_socket, optval, optlen);
	case TCP_CONGESTION:
		return sdp_put_data(optval, optlen, cc_name, sizeof(cc_name));
	case TCP_CC_INFO:	/* empty, as with TCP where there are no details */
	case TCP_ULP:
	case TCP_SAVED_SYN:
	case TCP_FASTOPEN_KEY:
		return sdp_put_data(optval, optlen, NULL, 0);
	}

	err = sdp_get_tcp_int(sk, optname, &val);
	return err ? err : sdp_put_int(optval, optlen, val);
}

/* ---- SOL_IP ---- */

/*
 * Options that the IP layer stores in inet_sock and that make sense for a
 * stream. All others would allocate memory that only the IP layer frees
 * (memberships), or act on packets that never reach this socket.
 */
static bool sdp_ip_opt_ok(int optname)
{
	switch (optname) {
	case IP_TOS:
	case IP_TTL:
	case IP_MINTTL:
	case IP_MTU:
	case IP_MTU_DISCOVER:
	case IP_PKTINFO:
	case IP_RECVERR:
	case IP_RECVTTL:
	case IP_RECVTOS:
	case IP_RECVOPTS:
	case IP_RETOPTS:
	case IP_PASSSEC:
	case IP_RECVORIGDSTADDR:
	case IP_FREEBIND:
	case IP_TRANSPARENT:
	case IP_BIND_ADDRESS_NO_PORT:
	case IP_UNICAST_IF:
	case IP_MULTICAST_TTL:
	case IP_MULTICAST_LOOP:
	case IP_MULTICAST_ALL:
#ifdef HAVE_LOCAL_PORT_RANGE
	case IP_LOCAL_PORT_RANGE:
#endif
		return true;
	default:
		return false;
	}
}

static int sdp_set_ip(struct sock *sk, int optname, sockptr_t optval,
		      unsigned int optlen)
{
	int err;

	if (optname == IP_ADD_MEMBERSHIP || optname == IP_DROP_MEMBERSHIP)
		return -EPROTO;
	if (!sdp_ip_opt_ok(optname))
		return -ENOPROTOOPT;
	err = ip_setsockopt(sk, SOL_IP, optname, optval, optlen);
	if (!err && optname == IP_MINTTL && READ_ONCE(inet_sk(sk)->min_ttl)) {
		/* devices do not report the TTL of received packets */
		WRITE_ONCE(inet_sk(sk)->min_ttl, 0);
		err = -EOPNOTSUPP;
	}
	return err;
}

/* The path MTU is known to the transport only; the device bounds it. */
static int sdp_get_mtu(struct sock *sk)
{
	struct net_device *dev = NULL;
	struct sdp_conn *conn;
	int mtu = -ENOTCONN;

	lock_sock(sk);
	conn = sdp_sk(sk)->conn;
	rcu_read_lock();
	if (conn && conn->id && sk->sk_state != TCP_SYN_SENT)
		dev = dev_get_by_index_rcu(sock_net(sk),
					   conn->id->route.addr.dev_addr.bound_dev_if);
	if (dev)
		mtu = READ_ONCE(dev->mtu);
	rcu_read_unlock();
	release_sock(sk);
	return mtu;
}

static int sdp_get_ip(struct sock *sk, int optname, char __user *optval,
		      int __user *optlen)
{
	int mtu;

	if (!sdp_ip_opt_ok(optname))
		return -ENOPROTOOPT;
	if (optname == IP_MTU) {
		mtu = sdp_get_mtu(sk);
		return mtu < 0 ? mtu : sdp_put_int(optval, optlen, mtu);
	}
	return ip_getsockopt(sk, SOL_IP, optname, optval, optlen);
}

/* ---- SOL_IPV6 ---- */

#if IS_ENABLED(CONFIG_IPV6)
/* Options with the same value and meaning at both levels. */
static int sdp_ip6_as_ip4(int optname)
{
	switch (optname) {
	case IPV6_FREEBIND:
		return IP_FREEBIND;
	case IPV6_TRANSPARENT:
		return IP_TRANSPARENT;
	case IPV6_UNICAST_IF:
		return IP_UNICAST_IF;
	case IPV6_MINHOPCOUNT:
		return IP_MINTTL;
	default:
		return -1;
	}
}

static int sdp_set_ip6_int(struct sock *sk, int optname, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	int bit;

	switch (optname) {
	case IPV6_V6ONLY:
		if (inet_sk(sk)->inet_num)
			return -EINVAL;
		sk->sk_ipv6only = !!val;
		return 0;
	case IPV6_UNICAST_HOPS:
		if (val < -1 || val > 255)
			return -EINVAL;
		WRITE_ONCE(sdp->ip6_hops, val);
		return 0;
	case IPV6_TCLASS:
		if (val < -1 || val > 255)
			return -EINVAL;
		/* the two ECN bits belong to the transport, as with TCP */
		WRITE_ONCE(sdp->ip6_tclass,
			   val < 0 ? 0 : val & ~INET_ECN_MASK);
		return 0;
	case IPV6_MTU_DISCOVER:
		if (val < IPV6_PMTUDISC_DONT || val > IPV6_PMTUDISC_OMIT)
			return -EINVAL;
		WRITE_ONCE(sdp->ip6_pmtudisc, val);
		return 0;
	}

	bit = sdp_inherit_ip6_bit(optname);
	if (bit < 0)
		return -ENOPROTOOPT;
	sdp->ip6_set |= BIT(bit);
	return sdp_store_bit(&sdp->ip6_bits, bit, !!val);
}

static int sdp_set_ip6(struct sock *sk, int optname, sockptr_t optval,
		       unsigned int optlen)
{
	int val, err;

	if (!sdp_sk(sk)->v6)
		return -ENOPROTOOPT;
	if (optname == IPV6_ADD_MEMBERSHIP || optname == IPV6_DROP_MEMBERSHIP)
		return optlen < sizeof(struct ipv6_mreq) ? -EINVAL : -EPROTO;
	if (sdp_ip6_as_ip4(optname) >= 0)
		return sdp_set_ip(sk, sdp_ip6_as_ip4(optname), optval, optlen);

	if (optlen < sizeof(int))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;

	lock_sock(sk);
	err = sdp_set_ip6_int(sk, optname, val);
	release_sock(sk);
	return err;
}

static int sdp_get_ip6_int(struct sock *sk, int optname, int *val)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	int bit;

	switch (optname) {
	case IPV6_V6ONLY:
		*val = sk->sk_ipv6only;
		return 0;
	case IPV6_UNICAST_HOPS:
		*val = READ_ONCE(sdp->ip6_hops);
		if (*val < 0)
			*val = sock_net(sk)->ipv6.devconf_all->hop_limit;
		return 0;
	case IPV6_TCLASS:
		*val = READ_ONCE(sdp->ip6_tclass);
		return 0;
	case IPV6_MTU_DISCOVER:
		*val = READ_ONCE(sdp->ip6_pmtudisc);
		return 0;
	case IPV6_MTU:
		*val = sdp_get_mtu(sk);
		return *val < 0 ? *val : 0;
	}

	bit = sdp_inherit_ip6_bit(optname);
	if (bit < 0)
		return -ENOPROTOOPT;
	*val = !!(READ_ONCE(sdp->ip6_bits) & BIT(bit));
	return 0;
}

static int sdp_get_ip6(struct sock *sk, int optname, char __user *optval,
		       int __user *optlen)
{
	int val, err;

	if (sdp_ip6_as_ip4(optname) >= 0)
		return sdp_get_ip(sk, sdp_ip6_as_ip4(optname), optval, optlen);

	err = sdp_get_ip6_int(sk, optname, &val);
	return err ? err : sdp_put_int(optval, optlen, val);
}
#else
static int sdp_set_ip6(struct sock *sk, int optname, sockptr_t optval,
		       unsigned int optlen)
{
	return -ENOPROTOOPT;
}

static int sdp_get_ip6(struct sock *sk, int optname, char __user *optval,
		       int __user *optlen)
{
	return -ENOPROTOOPT;
}
#endif

/* ---- SOL_SDP ---- */

static int sdp_set_fallback(struct sock *sk, int val)
{
	/* LSMs do not see connect() and bind() of the kernel's TCP socket */
	bool may = READ_ONCE(sdp_pernet(sock_net(sk))->sysctl_fallback);
	struct sdp_port *port = NULL;
	int err = 0;

	if (val < SDP_FALLBACK_NONE || val > SDP_FALLBACK_ONLY)
		return -EINVAL;
	if (val == SDP_FALLBACK_TCP && !may)
		return -EPERM;
	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE || sk->sk_socket->state != SS_UNCONNECTED)
		err = -EISCONN;
	else if (val == SDP_FALLBACK_ONLY && sdp_sk(sk)->user_bound && !may)
		err = -EPERM;
	else if (val != SDP_FALLBACK_ONLY)
		sdp_sk(sk)->fallback = val;
	else
		err = sdp_fallback_turn(sk, false, 0);
	if (!err && val == SDP_FALLBACK_NONE)
		sdp_fallback_let_go(sk);
	if (!err && val == SDP_FALLBACK_ONLY)
		port = sdp_port_unbind(sk);
	release_sock(sk);
	sdp_port_put(port);
	return err;
}

/* Can it be set? */
static bool sdp_sdp_opt_ok(int optname)
{
	switch (optname) {
	case SDP_REUSEPORT:
	case SDP_SHARED_LINK:
	case SDP_FLOW_CONTROL:
	case SDP_ZCOPY:
	case SDP_ZEROCOPY:
	case SDP_FALLBACK:
		return true;
	default:
		return false;
	}
}

/* SDP_ZCOPY; lock_sock */
static void sdp_set_zcopy(struct sock *sk, int val)
{
	struct sdp_sock *sdp = sdp_sk(sk);

	WRITE_ONCE(sdp->zcopy_threshold, val);
	if (val && sdp->conn)
		sdp_zc_on(sdp->conn);
}

static int sdp_set_sdp(struct sock *sk, int optname, sockptr_t optval,
		       unsigned int optlen)
{
	int val;

	if (!sdp_sdp_opt_ok(optname))
		return -ENOPROTOOPT;
	if (optlen < sizeof(int))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;
	if (optname == SDP_ZCOPY && val < 0)
		return -EINVAL;
	if (optname == SDP_ZEROCOPY && (val < 0 || val > 1))
		return -EINVAL;
	if (optname == SDP_FLOW_CONTROL &&
	    (val < SDP_FLOW_DEFAULT || val > SDP_FLOW_TRANSPORT))
		return -EINVAL;
	if (optname == SDP_FLOW_CONTROL && !IS_ENABLED(CONFIG_SDP_RESEARCH) &&
	    (val == SDP_FLOW_RDMA || val == SDP_FLOW_VWIN))
		return -EOPNOTSUPP;

	if (optname == SDP_FALLBACK)
		return sdp_set_fallback(sk, val);
	lock_sock(sk);
	if (optname == SDP_REUSEPORT)
		sk->sk_reuseport = !!val;
	else if (optname == SDP_FLOW_CONTROL)
		WRITE_ONCE(sdp_sk(sk)->flow_control, val);
	else if (optname == SDP_ZCOPY)
		sdp_set_zcopy(sk, val);
	else if (optname == SDP_ZEROCOPY)
		sock_valbool_flag(sk, SOCK_ZEROCOPY, val);
	else
		WRITE_ONCE(sdp_sk(sk)->shared_link, !!val);
	release_sock(sk);
	return 0;
}

static int sdp_get_sdp(struct sock *sk, int optname, char __user *optval,
		       int __user *optlen)
{
	char name[IB_DEVICE_NAME_MAX];
	struct sdp_info info;
	u32 credits;

	switch (optname) {
	case SDP_ZEROCOPY_RECEIVE:
		return sdp_rxmap_getsockopt(sk->sk_socket, optval, optlen);
	case SDP_INFO:
		sdp_info_fill(sk, &info);
		return sdp_put_data(optval, optlen, &info, sizeof(info));
	case SDP_ZEROCOPY:
		return sdp_put_int(optval, optlen,
				   sock_flag(sk, SOCK_ZEROCOPY));
	case SDP_REUSEPORT:
		return sdp_put_int(optval, optlen, sk->sk_reuseport);
	case SDP_SHARED_LINK:
		return sdp_put_int(optval, optlen,
				   READ_ONCE(sdp_sk(sk)->shared_link));
	case SDP_FLOW_CONTROL:
		return sdp_put_int(optval, optlen,
				   READ_ONCE(sdp_sk(sk)->flow_control));
	case SDP_FALLBACK:
		return sdp_put_int(optval, optlen,
				   READ_ONCE(sdp_sk(sk)->fallback));
	case SDP_ZCOPY:
		return sdp_put_int(optval, optlen,
				   READ_ONCE(sdp_sk(sk)->zcopy_threshold));
	case SDP_LAST_CREDITS:
		lock_sock(sk);
		credits = sdp_info_credits(sk);
		release_sock(sk);
		return sdp_put_int(optval, optlen, credits);
	case SDP_DEVICE:
		lock_sock(sk);
		strscpy(name, sdp_sock_device_name(sk), sizeof(name));
		release_sock(sk);
		if (!name[0])
			return -ENOTCONN;
		return sdp_put_data(optval, optlen, name, strlen(name) + 1);
	default:
		return -ENOPROTOOPT;
	}
}

/* ---- SOL_SOCKET, where it is left to us, see sdp_set_flags() ---- */

/* Used if TCP takes over. The core itself accepts it for TCP sockets only. */
static int sdp_set_txrehash(struct sock *sk, sockptr_t optval,
			    unsigned int optlen)
{
	int val;

	if (optlen < sizeof(int))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;
	if (val < -1 || val > 1)
		return -EINVAL;
	if (val < 0)
		val = READ_ONCE(sock_net(sk)->core.sysctl_txrehash);
	WRITE_ONCE(sk->sk_txrehash, val);
	return 0;
}

static int sdp_set_socket(struct socket *sock, int optname, sockptr_t optval,
			  unsigned int optlen)
{
	switch (optname) {
	case SO_REUSEPORT:
		return sdp_set_sdp(sock->sk, SDP_REUSEPORT, optval, optlen);
	case SO_ZEROCOPY:
		return sdp_set_sdp(sock->sk, SDP_ZEROCOPY, optval, optlen);
	case SO_TXREHASH:
		return sdp_set_txrehash(sock->sk, optval, optlen);
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
		/* it would see no packets, so it would let everything pass */
		return -EOPNOTSUPP;
	default:
		return sock_setsockopt(sock, SOL_SOCKET, optname, optval,
				       optlen);
	}
}

/* ---- entry points ---- */

static int sdp_set_any(struct socket *sock, int level, int optname,
		       sockptr_t optval, unsigned int optlen)
{
	struct sock *sk = sock->sk;

	switch (level) {
	case SOL_TCP:
		return sdp_set_tcp(sk, optname, optval, optlen);
	case SOL_IP:
		return sdp_set_ip(sk, optname, optval, optlen);
	case SOL_IPV6:
		return sdp_set_ip6(sk, optname, optval, optlen);
	case SOL_SDP:
		return sdp_set_sdp(sk, optname, optval, optlen);
	case SOL_SOCKET:
		return sdp_set_socket(sock, optname, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

/*
 * The TCP socket, if it has the file by now. TCP takes over under the lock, after it has
 * copied the options, and some options are set without the lock: wait for that to end.
 */
static struct socket *sdp_set_missed(struct sock *sk)
{
	if (READ_ONCE(sdp_sk(sk)->fallback) &&
	    (1 << inet_sk_state_load(sk)) & (TCPF_CLOSE | TCPF_SYN_SENT)) {
		lock_sock(sk);
		release_sock(sk);
	}
	return sdp_fallback_on(sk);
}

/**
 * sdp_setsockopt() - set an option of any level
 * @sock: an SDP socket
 * @level: SOL_TCP, SOL_IP, SOL_IPV6 or SOL_SDP; SOL_SOCKET, if the core leaves
 *	   that to us
 * @optname: number of the option
 * @optval: value from the user or the kernel
 * @optlen: bytes at @optval
 *
 * If TCP takes over meanwhile, its socket gets the option as well: the program may not
 * set it again.
 *
 * Context: process; takes lock_sock.
 * Return: 0 or the errno that TCP has for the same call.
 */
int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen)
{
	int again, err = sdp_set_any(sock, level, optname, optval, optlen);
	struct socket *tcp;

	/* TCP does not know it, and SDP_FALLBACK may just have turned the socket */
	if (level == SOL_SDP)
		return err;
	tcp = sdp_set_missed(sock->sk);
	if (!tcp)
		return err;
	if (level == SOL_SOCKET)
		again = sock_setsockopt(tcp, level, optname, optval, optlen);
	else
		again = tcp->ops->setsockopt(tcp, level, optname, optval, optlen);
	/* an option that was set in time may be refused the second time */
	return err ? again : 0;
}

/**
 * sdp_getsockopt() - get an option of any level but SOL_SOCKET
 * @sock: an SDP socket
 * @level: SOL_TCP, SOL_IP, SOL_IPV6 or SOL_SDP
 * @optname: number of the option
 * @optval: where the value goes
 * @optlen: room there; set to the bytes written
 *
 * Context: process; may take lock_sock.
 * Return: 0 or the errno that TCP has for the same call.
 */
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen)
{
	struct sock *sk = sock->sk;
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;

	switch (level) {
	case SOL_TCP:
		return sdp_get_tcp(sk, optname, optval, optlen);
	case SOL_IP:
		return sdp_get_ip(sk, optname, optval, optlen);
	case SOL_SDP:
		return sdp_get_sdp(sk, optname, optval, optlen);
	case SOL_IPV6:
		if (sdp_sk(sk)->v6)
			return sdp_get_ip6(sk, optname, optval, optlen);
		break;
	}

	/* unknown level: IPv4 returns -EOPNOTSUPP, IPv6 -ENOPROTOOPT */
	return sdp_sk(sk)->v6 ? -ENOPROTOOPT : -EOPNOTSUPP;
}

/**
 * sdp_sockopt_init() - values of a new socket that are not zero
 * @sk: zeroed SDP socket after sock_init_data()
 */
void sdp_sockopt_init(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);
	struct sdp_sock *sdp = sdp_sk(sk);
	struct net *net = sock_net(sk);

	inet->uc_ttl = -1;
	inet->mc_ttl = 1;
	inet->pmtudisc = READ_ONCE(net->ipv4.sysctl_ip_no_pmtu_disc) ?
			 IP_PMTUDISC_DONT : IP_PMTUDISC_WANT;
	sdp->quickack = 1;
	sdp->shared_link = 1;
	sdp->zcopy_threshold = READ_ONCE(sdp_pernet(net)->
					   sysctl_zcopy_threshold);
	sdp->ip6_hops = -1;
	sk->sk_txrehash = READ_ONCE(net->core.sysctl_txrehash);
#if IS_ENABLED(CONFIG_IPV6)
	sdp->ip6_pmtudisc = IPV6_PMTUDISC_WANT;
	sk->sk_ipv6only = sdp->v6 && READ_ONCE(net->ipv6.sysctl.bindv6only);
#endif
}
