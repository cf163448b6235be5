/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes in /sys/class/infiniband/DEV/hybrid/, per device and per queue
 * pair; the profiles; the placement that rdma_stack learns.
 *
 * Process context, except where a function says otherwise.
 */
#ifndef HYB_ATTR_H
#define HYB_ATTR_H

#include <linux/types.h>

struct attribute_group;
struct hyb_dev;
struct hyb_qp;
struct ib_device;
struct ib_qp;
struct rdma_stack_map;

extern const struct attribute_group hyb_attr_group;

/* Of a device: defaults, directory of the queue pairs */
void hyb_attr_dev_init(struct hyb_dev *dev);
int hyb_attr_dev_add(struct ib_device *ibdev);
void hyb_attr_dev_del(struct hyb_dev *dev);

/* Directory of a queue pair */
void hyb_attr_qp_add(struct hyb_qp *qp);
void hyb_attr_qp_del(struct hyb_qp *qp);

/* struct rdma_stack_provider */
void hyb_attr_query(struct ib_device *ibdev, struct ib_qp *ibqp,
		    struct rdma_stack_map *map);

#endif
