/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sdpstat check: which way a connection would take (route.c). */
#ifndef SDPSTAT_CHECK_H
#define SDPSTAT_CHECK_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

/**
 * struct check_route - what the routing table says
 * @dev: network device that packets leave by
 * @netdev: the one whose RDMA device counts: for an address of this machine
 *	    the one that has it
 * @ifindex: of @netdev
 * @local: an address of this machine
 * @loopback: 127.0.0.0/8 or ::1
 * @has_src: @src is known
 * @src: own address
 */
struct check_route {
	char dev[IF_NAMESIZE];
	char netdev[IF_NAMESIZE];
	int ifindex;
	bool local;
	bool loopback;
	bool has_src;
	struct sockaddr_storage src;
};

/**
 * struct check_device - an RDMA device
 * @name: empty if the network device has none
 * @protocol: "iw", "roce", "ib"
 * @active: its port is in state ACTIVE
 * @others: RDMA devices on other network devices, if @name is empty
 * @may_share: the network device may take one of these
 */
struct check_device {
	char name[64];
	char protocol[16];
	bool active;
	unsigned int others;
	bool may_share;
};

/* Both return 0 or an errno. */
int check_route_get(const struct sockaddr_storage *to, struct check_route *r);
int check_device_find(const struct check_route *r, struct check_device *d);

#endif /* SDPSTAT_CHECK_H */
