// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-rings: a program that calls uverbs and the connection manager when it should
 * not, or for what is not its own.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rings.h"

#define PORT 7911

/* ------------------------------------------------- a port of another port space */

static struct rdma_cm_id *listener(struct rdma_event_channel *channel,
				   enum rdma_port_space ps,
				   struct sockaddr *addr, int *err)
{
	struct rdma_cm_id *id;

	*err = 0;
	if (rdma_create_id(channel, &id, NULL, ps) ||
	    rdma_bind_addr(id, addr) || rdma_listen(id, 4))
		*err = errno;
	return id;
}

/*
 * The connection manager knows the ports of UDP apart from those of TCP, but both
 * are ports of TCP in the end. A listener for IPv4 alone would be preferred.
 */
static void try_ports(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6,
				     .sin6_port = htobe16(PORT) };
	struct sockaddr_in any4 = { .sin_family = AF_INET,
				    .sin_port = htobe16(PORT) };
	struct rdma_cm_id *own, *thief;
	int err, theft;

	own = listener(channel, RDMA_PS_TCP, (struct sockaddr *)&any6, &err);
	thief = listener(channel, RDMA_PS_UDP, (struct sockaddr *)&any4,
			 &theft);
	printf("# listen: %s, in the other port space: %s\n", strerror(err),
	       strerror(theft));
	result(!err && theft == EADDRINUSE,
	       "a port that another port space listens on");
	rdma_destroy_id(thief);
	rdma_destroy_id(own);
	rdma_destroy_event_channel(channel);
}

void calls_tests(void)
{
	try_ports();
}
