/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses and ports that sockets are bound to, see sdp_port.c.
 */
#ifndef _SDP_PORT_H
#define _SDP_PORT_H

#include <rdma/rdma_cm.h>

#include "sdp_sock.h"

struct sdp_port;

/**
 * struct sdp_port_walk - position of a search for a free local port
 * @own: the range is that of IP_LOCAL_PORT_RANGE, not of the namespace
 * @low: first port of the range
 * @n: ports in the range; 0: the search has not begun
 * @at: offset of the next port from @low
 * @left: ports that have not been tried
 * @tries: attempts to connect that found their port taken
 * @port: result of sdp_port_next_free(); 0: none yet
 *
 * Belongs to the caller; no lock. See sdp_port_next().
 */
struct sdp_port_walk {
	bool own;
	u32 low, n, at, left, tries;
	__be16 port;
};

/* sdp_port.c */
bool sdp_port_bound(struct sock *sk, const union sdp_addr *addr,
		    bool shares);
bool sdp_port_conflict(struct sock *sk, const union sdp_addr *addr);
__be16 sdp_port_map(struct net *net, __be16 port);
__be16 sdp_port_unmap(struct net *net, __be16 port);
bool sdp_port_free(struct sock *sk);
bool sdp_port_kept(const struct sock *sk);
bool sdp_port_range(const struct sock *sk, int *low, int *high);
u16 sdp_port_next(struct sock *sk, struct sdp_port_walk *w);
int sdp_port_next_free(struct sock *sk, struct sdp_port_walk *w);
struct sock *sdp_port_pick(struct sdp_port *port, struct rdma_cm_id *id);
void sdp_port_removal(struct sdp_port *port);
int sdp_port_bind_id(struct rdma_cm_id *id, const struct sock *sk,
		     union sdp_addr *addr, __be16 port);
int sdp_port_bind_lo(struct rdma_cm_id *id, const struct sock *sk,
		     const union sdp_addr *addr, __be16 port);
int sdp_port_bind(struct sock *sk, const union sdp_addr *addr,
		  rdma_cm_event_handler handler);
int sdp_port_listen(struct sock *sk, int backlog);
struct sdp_port *sdp_port_unbind(struct sock *sk);
bool sdp_port_gone(const struct sock *sk);
void sdp_port_put(struct sdp_port *port);

#endif /* _SDP_PORT_H */
