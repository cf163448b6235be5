// SPDX-License-Identifier: GPL-2.0
/*
 * SDP as a protocol of the Internet families: socket(AF_INET or AF_INET6,
 * SOCK_STREAM, IPPROTO_SDP). The same sockets as those of AF_SDP, made by the
 * families' own code, so that programs see nothing but the families they know.
 * Registers the operations that the socket layer hands in; calls nothing of SDP.
 */
#include <linux/module.h>
#include <net/protocol.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"

static struct inet_protosw sdp_protosw = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SDP,
};

#if IS_ENABLED(CONFIG_IPV6)
static struct inet_protosw sdp_protosw6 = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SDP,
};

static int sdp_inet6_register(struct proto *prot, const struct proto_ops *ops)
{
	sdp_protosw6.prot = prot;
	sdp_protosw6.ops = ops;
	return inet6_register_protosw(&sdp_protosw6);
}

static void sdp_inet6_unregister(void)
{
	inet6_unregister_protosw(&sdp_protosw6);
}
#else
static int sdp_inet6_register(struct proto *prot, const struct proto_ops *ops)
{
	return 0;
}

static void sdp_inet6_unregister(void)
{
}
#endif

/*
 * The kernel has one class of locks for all sockets of AF_INET. Ours nest over
 * those of the TCP sockets that a provider uses, so they need their own.
 */
static struct lock_class_key sdp_slock_key[2], sdp_lock_key[2];
static struct lock_class_key sdp_callback_key[2];

/**
 * sdp_inet_lock_class - own lock classes for a socket of an Internet family
 * @sk: new socket that is not visible yet
 */
void sdp_inet_lock_class(struct sock *sk)
{
	int i = sk->sk_family == AF_INET6;

	if (sk->sk_family == AF_SDP)
		return;
	if (i)
		sock_lock_init_class_and_name(sk, "slock-AF_INET6-SDP",
					      &sdp_slock_key[i],
					      "sk_lock-AF_INET6-SDP",
					      &sdp_lock_key[i]);
	else
		sock_lock_init_class_and_name(sk, "slock-AF_INET-SDP",
					      &sdp_slock_key[i],
					      "sk_lock-AF_INET-SDP",
					      &sdp_lock_key[i]);
	lockdep_set_class_and_name(&sk->sk_callback_lock, &sdp_callback_key[i],
				   "clock-AF_INET-SDP");
}

/**
 * sdp_inet_init - let the Internet families make SDP sockets
 * @prot: protocol of the sockets, which is registered
 * @ops: operations of IPv4 sockets
 * @ops6: operations of IPv6 sockets
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno.
 */
int sdp_inet_init(struct proto *prot, const struct proto_ops *ops,
		  const struct proto_ops *ops6)
{
	int err;

#ifndef HAVE_PROTO_PINFO_OFFSET
	/* The core expects struct ipv6_pinfo there */
	BUILD_BUG_ON(offsetof(struct sdp_sock, inet6) +
		     sizeof(struct ipv6_pinfo) != sizeof(struct sdp_sock));
#endif
	err = sdp_inet6_register(prot, ops6);
	if (err)
		return err;
	sdp_protosw.prot = prot;
	sdp_protosw.ops = ops;
	inet_register_protosw(&sdp_protosw);
	return 0;
}

/**
 * sdp_inet_exit - the Internet families make no SDP sockets any more
 *
 * Context: module exit; waits for callers that are about to make a socket.
 */
void sdp_inet_exit(void)
{
	inet_unregister_protosw(&sdp_protosw);
	sdp_inet6_unregister();
}

/* "net-pf-2-proto-257-type-1", as the families ask for it */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 257, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 257, 1);
