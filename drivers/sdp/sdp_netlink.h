/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink family "sdp": see sdp_netlink.c. */
#ifndef _SDP_NETLINK_H
#define _SDP_NETLINK_H

int sdp_netlink_init(void);
void sdp_netlink_exit(void);

#endif /* _SDP_NETLINK_H */
