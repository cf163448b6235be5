// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: connections of TCP, set up as those of verbs are: one after the
 * other, all of them stay until the last is there. See load.h.
 */
#include <linux/in.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "compat.h"
#include "load.h"

struct ul_pair {
	struct socket *a;
	struct socket *b;
};

static int ul_tcp_socket(struct socket **sock)
{
	return sock_create_kern(current->nsproxy->net_ns, AF_INET, SOCK_STREAM,
				IPPROTO_TCP, sock);
}

static int ul_tcp_pair(struct ul_pair *p, struct socket *listener,
		       struct sockaddr_in *addr)
{
	int err = ul_tcp_socket(&p->a);

	if (!err)
		err = kernel_connect(p->a, (struct sockaddr_unsized *)addr,
				     sizeof(*addr), 0);
	return err ?: kernel_accept(listener, &p->b, 0);
}

/**
 * ul_tcp() - make connections of TCP, and end them
 * @addr: where one end listens
 * @count: how many
 *
 * Return: 0 or a negative errno.
 */
int ul_tcp(struct sockaddr_in *addr, u32 count)
{
	struct ul_pair *pairs = kvcalloc(count, sizeof(*pairs), GFP_KERNEL);
	struct socket *listener = NULL;
	int err = pairs ? ul_tcp_socket(&listener) : -ENOMEM;
	u32 i;

	err = err ?: kernel_bind(listener, (struct sockaddr_unsized *)addr,
				 sizeof(*addr));
	err = err ?: kernel_listen(listener, 16);
	for (i = 0; i < count && !err; i++)
		err = ul_tcp_pair(&pairs[i], listener, addr);
	for (i = 0; pairs && i < count; i++) {
		if (pairs[i].a)
			sock_release(pairs[i].a);
		if (pairs[i].b)
			sock_release(pairs[i].b);
	}
	if (listener)
		sock_release(listener);
	kvfree(pairs);
	return err;
}
