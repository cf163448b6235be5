// SPDX-License-Identifier: GPL-2.0
/*
 * The IP route of a connection, before the RDMA CM looks for it. Calls the IP layers
 * only, in process context with lock_sock.
 */
#include <linux/in.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/route.h>

#include "sdp.h"

static struct dst_entry *sdp_route_v4(struct sock *sk,
				      const union sdp_addr *dst,
				      union sdp_addr *src)
{
	struct flowi4 fl4 = {
		.daddr = dst->v4.sin_addr.s_addr,
		.saddr = src->v4.sin_addr.s_addr,
		.flowi4_oif = sk->sk_bound_dev_if,
	};
	struct rtable *rt = ip_route_output_key(sock_net(sk), &fl4);

	if (IS_ERR(rt))
		return ERR_CAST(rt);
	src->v4.sin_addr.s_addr = fl4.saddr;
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *sdp_route_v6(struct sock *sk,
				      const union sdp_addr *dst,
				      union sdp_addr *src)
{
	struct flowi6 fl6 = {
		.daddr = dst->v6.sin6_addr,
		.saddr = src->v6.sin6_addr,
		.flowi6_oif = sk->sk_bound_dev_if,
	};
	struct dst_entry *route;

	route = ip6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);
	if (!IS_ERR(route))
		src->v6.sin6_addr = fl6.saddr;
	return route;
}
#else
static struct dst_entry *sdp_route_v6(struct sock *sk,
				      const union sdp_addr *dst,
				      union sdp_addr *src)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

static bool sdp_route_neigh_valid(const struct dst_entry *route,
				  const void *daddr)
{
	struct neighbour *neigh;
	bool valid;

	if (route->dev->flags & (IFF_LOOPBACK | IFF_NOARP))
		return true;
	neigh = dst_neigh_lookup(route, daddr);
	if (!neigh)
		return false;
	valid = READ_ONCE(neigh->nud_state) & NUD_VALID;
	neigh_release(neigh);
	return valid;
}

/**
 * sdp_route_known - is the link-layer address of a destination known?
 * @sk: socket, locked
 * @dst: destination; IPv4-mapped addresses as IPv4
 * @src: source address or none, of the same family; that of the route afterwards
 *
 * Context: process.
 *
 * Return: true if the RDMA CM finds the address without a request to the
 * network.
 */
bool sdp_route_known(struct sock *sk, const union sdp_addr *dst,
		     union sdp_addr *src)
{
	bool v4 = dst->sa.sa_family == AF_INET;
	struct dst_entry *route;
	bool known;

	route = v4 ? sdp_route_v4(sk, dst, src) : sdp_route_v6(sk, dst, src);
	if (IS_ERR(route))
		return false;
	known = sdp_route_neigh_valid(route, v4 ? (void *)&dst->v4.sin_addr :
						  (void *)&dst->v6.sin6_addr);
	dst_release(route);
	return known;
}
