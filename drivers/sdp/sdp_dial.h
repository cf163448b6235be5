/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that connect, see sdp_dial.c.
 */
#ifndef _SDP_DIAL_H
#define _SDP_DIAL_H

struct ib_device;
struct sdp_conn;

int sdp_dial_start(struct sdp_conn *conn,
		   void (*connect)(struct sdp_conn *conn));
int sdp_dial_begin(struct sdp_conn *conn, struct ib_device *device);
void sdp_dial_done(struct sdp_conn *conn);
int sdp_dial_init(void);
void sdp_dial_exit(void);

#endif /* _SDP_DIAL_H */
