/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of a socket that a socket of the kernel takes over.
 */
#ifndef _RDMA_RDMA_STACK_SOCK_H
#define _RDMA_RDMA_STACK_SOCK_H

#include <linux/cgroup.h>
#include <net/sock.h>

/**
 * rdma_stack_sock_cgroup() - move a socket to the control group of another one
 * @sk: socket that is not in use yet, or locked; in the group of the task that made it
 * @owner: socket in the group that @sk is to be in
 *
 * Packets of @sk that wait in a queue may still look at the old group. They do so under RCU,
 * for which a group remains after its last reference.
 *
 * Context: any.
 */
static inline void rdma_stack_sock_cgroup(struct sock *sk,
					  const struct sock *owner)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	struct cgroup *old = sock_cgroup_ptr(&sk->sk_cgrp_data);
	struct cgroup *new = sock_cgroup_ptr((void *)&owner->sk_cgrp_data);

	/* @owner keeps its group, even one that was removed; see cgroup_sk_clone() */
	cgroup_get(new);
	cgroup_bpf_get(new);
	sk->sk_cgrp_data = owner->sk_cgrp_data;
	cgroup_bpf_put(old);
	cgroup_put(old);
#endif
}

#endif
