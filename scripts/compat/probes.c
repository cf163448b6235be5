// SPDX-License-Identifier: GPL-2.0
/*
 * Compile probes, see probe.sh: each asks for one interface of today's kernel,
 * in the shape in which the drivers use it. Nothing here is linked or run.
 */
#include <linux/crc32c.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>

/* PROBE: ALWAYS */
static int always(struct sock *sk)
{
	return sk->sk_err;
}

/* PROBE: NEVER */
static int never(struct sock *sk)
{
	return sk->no_kernel_has_this;
}

/* PROBE: HAVE_UNALIGNED_H */
#if !__has_include(<linux/unaligned.h>)
#error asm/unaligned.h
#endif

/* PROBE: HAVE_REGISTER_NET_SYSCTL_SZ */
static void *register_net_sysctl_sz_(struct net *net, struct ctl_table *t)
{
	return register_net_sysctl_sz(net, "net/x", t, 1);
}

/* PROBE: HAVE_PROTO_IOCTL_KARG */
static int proto_ioctl(struct sock *sk, int cmd, int *karg);
static struct proto proto_ioctl_ = { .ioctl = proto_ioctl };

/* PROBE: HAVE_PROTO_ACCEPT_ARG */
static int accept_arg(struct socket *sock, struct socket *newsock,
		      struct proto_accept_arg *arg);
static struct proto_ops accept_arg_ = { .accept = accept_arg };

/* PROBE: HAVE_SOCKADDR_UNSIZED */
static int bind_unsized(struct socket *sock, struct sockaddr_unsized *addr,
			int len);
static struct proto_ops bind_unsized_ = { .bind = bind_unsized };

/* PROBE: HAVE_TIMER_DELETE */
static int timer_delete_(struct timer_list *t)
{
	return timer_delete(t) + timer_delete_sync(t) + timer_shutdown_sync(t);
}

/* PROBE: HAVE_TIMER_CONTAINER_OF */
#ifndef timer_container_of
#error from_timer
#endif
