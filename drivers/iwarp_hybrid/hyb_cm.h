/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection management: iw_cm operations, MPA start-up, tear-down.
 *
 * May call hyb_tcp, proto/ and the QP functions of hybrid.h. Everything here
 * runs in process context, except where a function says otherwise.
 */
#ifndef HYB_CM_H
#define HYB_CM_H

#include <linux/types.h>

struct hyb_cep;
struct hyb_dev;
struct hyb_qp;
struct ib_device;
struct ib_qp;
struct iw_cm_id;
struct iw_cm_conn_param;

/* How a connection ends by local decision */
enum hyb_close {
	HYB_CLOSE_GRACEFUL,	/* send what is queued, then FIN */
	HYB_CLOSE_ABORT,	/* RST */
};

/**
 * hyb_qp_close - end the connection of a QP
 * @qp: queue pair, connected or not
 * @how: gracefully or not
 *
 * The QP leaves RTS at once; queues are flushed and the events delivered
 * later, from the connection's work item. Harmless when repeated.
 * Context: any, but not with the QP's TCP socket held.
 */
void hyb_qp_close(struct hyb_qp *qp, enum hyb_close how);

/**
 * hyb_cm_dev_init - per-device state of the connection manager
 * hyb_cm_dev_down - end all connections and listeners of a device, wait for it
 *
 * hyb_cm_dev_down() must have returned before the net device leaves its
 * network namespace: the sockets do not hold the namespace. May be called
 * with the RTNL held, and repeatedly; later connects fail.
 */
void hyb_cm_dev_init(struct hyb_dev *dev);
void hyb_cm_dev_down(struct hyb_dev *dev);

/* struct ib_device_ops */
int hyb_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
int hyb_create_listen(struct iw_cm_id *id, int backlog);
int hyb_destroy_listen(struct iw_cm_id *id);
void hyb_iw_add_ref(struct ib_qp *ibqp);
void hyb_iw_rem_ref(struct ib_qp *ibqp);
struct ib_qp *hyb_iw_get_qp(struct ib_device *ibdev, int qpn);

int hyb_cm_init(void);
void hyb_cm_exit(void);

#endif
