/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes in /sys/class/infiniband/DEV/hybrid/, per device and per queue
 * pair; the profiles; what rdma_stack is told about where components are.
 *
 * May call the transport and offload layers. Process context, except where a
 * function says otherwise.
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

/* A new queue pair wishes what its device wishes. Context: process. */
void hyb_place_init(struct hyb_qp *qp);

/**
 * hyb_place_update - work out which wishes of a queue pair are fulfilled
 * @qp: queue pair
 * @nic: engines of the NIC that serve it, BIT(enum iwarp_offload_feature)
 *
 * What the NIC does not do is done by the host. Counts from the next FPDU on.
 * Tells whoever wants to know, if a connection is under way.
 * Context: TCP socket held, or not connected.
 */
void hyb_place_update(struct hyb_qp *qp, u32 nic);

/**
 * hyb_attr_changed - hyb_attr_query() gives something else now
 * @dev: device that the core has, or one of its queue pairs
 *
 * Told by a work item: who changes it may hold RTNL or the TCP socket, and one
 * switch of a NIC changes many queue pairs.
 * Context: any.
 */
void hyb_attr_changed(struct hyb_dev *dev);

/**
 * hyb_attr_attached - a connection has its socket
 * @qp: its queue pair
 *
 * Takes over what was written while the connection was made.
 * Context: process, the caller owns the TCP socket.
 */
void hyb_attr_attached(struct hyb_qp *qp);

/* struct rdma_stack_provider */
void hyb_attr_query(struct ib_device *ibdev, struct ib_qp *ibqp,
		    struct rdma_stack_map *map);

#endif
