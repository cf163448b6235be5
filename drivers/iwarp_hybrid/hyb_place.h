/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement of components (CRC, connection lookup, markers), and the payload mode. A queue
 * pair gets the requested placement as far as the NIC supports it. The host
 * does the rest.
 */
#ifndef HYB_PLACE_H
#define HYB_PLACE_H

#include <linux/types.h>

struct hyb_dev;
struct hyb_place;
struct hyb_qp;

bool hyb_place_same(const struct hyb_place *a, const struct hyb_place *b);
struct hyb_place hyb_place_resolve(const struct hyb_place *requested, u32 nic);
void hyb_place_dev_init(struct hyb_dev *dev);

/* A new queue pair requests what its device requests. Context: process. */
void hyb_place_init(struct hyb_qp *qp);

/**
 * hyb_place_update - work out which requests of a queue pair are fulfilled
 * @qp: queue pair
 * @nic: engines of the NIC that serve it, BIT(enum iwarp_offload_feature)
 *
 * The host does the work of a component that the NIC does not serve. Takes effect
 * with the next FPDU. Calls hyb_place_changed() if a component of an attached queue pair moves.
 * Context: TCP socket held, or not connected.
 */
void hyb_place_update(struct hyb_qp *qp, u32 nic);

/**
 * hyb_place_changed - the result of hyb_attr_query() has changed
 * @dev: registered device; its placement, or that of one of its queue pairs, has changed
 *
 * A work item reports it: the caller may hold RTNL or the TCP socket, and one switch
 * of a NIC changes many queue pairs.
 * Context: any.
 */
void hyb_place_changed(struct hyb_dev *dev);

#endif
