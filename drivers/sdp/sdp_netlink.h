/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generic netlink family "sdp", see sdp_netlink.c.
 */
#ifndef _SDP_NETLINK_H
#define _SDP_NETLINK_H

struct sock;

int sdp_netlink_init(void);
void sdp_netlink_exit(void);
void sdp_netlink_state(struct sock *sk, int state);

#endif /* _SDP_NETLINK_H */
