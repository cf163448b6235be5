/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of queue pairs that is there only while it is needed: rings that grow,
 * and a look at all queue pairs of a device now and then, which takes from
 * those that do nothing what they would get again.
 *
 * hyb_idle_*_room() are called by the engines; hyb_idle calls hyb_stream, hyb_sg,
 * hyb_ooo, hyb_offload and the transport layer.
 */
#ifndef HYB_IDLE_H
#define HYB_IDLE_H

#include <linux/types.h>

struct hyb_dev;
struct hyb_qp;
struct hyb_tx;

void hyb_idle_init(struct hyb_dev *dev);
void hyb_idle_start(struct hyb_dev *dev);
void hyb_idle_stop(struct hyb_dev *dev);

u32 hyb_idle_memory(struct hyb_qp *qp);

#endif
