/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening cm_ids: their sockets, and the connections that these accept.
 *
 * hyb_create_listen() and hyb_destroy_listen() belong to struct ib_device_ops.
 * hyb_listen_down() closes the sockets of all cm_ids of a device. Everything here
 * runs in process context, except where a function says otherwise.
 */
#ifndef HYB_LISTEN_H
#define HYB_LISTEN_H

struct hyb_dev;
struct iw_cm_id;

int hyb_create_listen(struct iw_cm_id *id, int backlog);
int hyb_destroy_listen(struct iw_cm_id *id);
void hyb_listen_down(struct hyb_dev *dev);
void hyb_listen_init(void);

#endif
