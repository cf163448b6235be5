/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loopback addresses at an RDMA device on lo.
 */
#ifndef _RDMA_RDMA_STACK_ADDR_H
#define _RDMA_RDMA_STACK_ADDR_H

#include <linux/bits.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

/**
 * rdma_stack_loopback - is it a loopback address?
 * @sa: IPv4 or IPv6 address
 */
static inline bool rdma_stack_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return ipv4_is_loopback(((const struct sockaddr_in *)sa)->
					sin_addr.s_addr);
	return sa->sa_family == AF_INET6 &&
	       ipv6_addr_loopback(&((const struct sockaddr_in6 *)sa)->sin6_addr);
}

/**
 * rdma_stack_flip - from a loopback address to its alias, or back
 * @sa: IPv4 or IPv6 address, whose first bit is inverted
 *
 * rdma_cm treats a loopback address as the wildcard: it chooses any device of the machine,
 * and keeps the port from all other addresses. So a ULP that binds to a loopback address
 * passes its alias, with bound_dev_if set to LOOPBACK_IFINDEX. A provider that has
 * struct rdma_stack_link treats the alias as the loopback address if its net device is lo.
 * No host has an alias as its address: 255.0.0.0/8 is reserved, 8000::1 is not assigned.
 */
static inline void rdma_stack_flip(struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		((struct sockaddr_in *)sa)->sin_addr.s_addr ^= htonl(BIT(31));
	else
		((struct sockaddr_in6 *)sa)->sin6_addr.s6_addr[0] ^= BIT(7);
}

#endif
