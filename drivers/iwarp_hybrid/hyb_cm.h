/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connection management: iw_cm operations and the device's part. Connections are in
 * hyb_cep.h, listeners in hyb_listen.h.
 *
 * All functions run in process context, but hyb_iw_get_qp(), hyb_iw_add_ref() and
 * hyb_iw_rem_ref() in any.
 */
#ifndef HYB_CM_H
#define HYB_CM_H

#include <linux/types.h>

struct hyb_dev;
struct ib_device;
struct ib_qp;
struct iw_cm_id;
struct iw_cm_conn_param;

/*
 * The connection manager's part of a device: init sets it up, down ends all
 * connections and listeners, exit does the same and waits until nothing
 * refers to the device.
 *
 * hyb_cm_dev_down() must have returned before the net device leaves its
 * network namespace: the sockets do not hold the namespace. It may be called
 * with the RTNL held, and repeatedly; later connects fail.
 * hyb_cm_dev_exit() belongs after ib_unregister_device().
 *
 * Listeners that are there before the device come with it: between
 * hyb_cm_dev_adding() and hyb_cm_dev_added(), by the task that calls these. The core
 * does not say when it has moved a device to another namespace of its own, so the second
 * call may be missing. Then later listeners of that task are treated like these until the
 * next hyb_cm_dev_adding().
 *
 * Outside of hyb_dev_free(), a caller of hyb_cm_dev_down() has to hold the device:
 * hyb_cm_dev_exit() waits until it is released. hyb_cm_dev_hold() returns false if that
 * wait is over.
 */
void hyb_cm_dev_init(struct hyb_dev *dev);
void hyb_cm_dev_adding(struct hyb_dev *dev);
void hyb_cm_dev_added(struct hyb_dev *dev);
void hyb_cm_dev_down(struct hyb_dev *dev);
void hyb_cm_dev_exit(struct hyb_dev *dev);
bool hyb_cm_dev_hold(struct hyb_dev *dev);
void hyb_cm_dev_release(struct hyb_dev *dev);

/* struct ib_device_ops */
int hyb_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int hyb_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
void hyb_iw_add_ref(struct ib_qp *ibqp);
void hyb_iw_rem_ref(struct ib_qp *ibqp);
struct ib_qp *hyb_iw_get_qp(struct ib_device *ibdev, int qpn);

int hyb_cm_init(void);
void hyb_cm_exit(void);

#endif
