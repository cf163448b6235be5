/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening: cm_ids, their sockets, and whom an accepted connection is for.
 *
 * May call hyb_cm and hyb_tcp. Process context.
 */
#ifndef HYB_LISTEN_H
#define HYB_LISTEN_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>

struct hyb_dev;
struct hyb_lid;
struct iw_cm_event;

void hyb_lid_done(struct hyb_lid *lid);
int hyb_lid_event(struct hyb_lid *lid, struct iw_cm_event *event);
void hyb_listen_down(struct hyb_dev *dev);

static inline int hyb_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

#endif
