/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of idle queue pairs: a periodic look at all queue pairs of a device frees
 * pages, rings and tables of those that do nothing. They are allocated again when
 * they are needed.
 */
#ifndef HYB_IDLE_H
#define HYB_IDLE_H

#include <linux/types.h>

struct hyb_dev;
struct hyb_qp;
struct hyb_tx;
struct sock;

void hyb_idle_init(struct hyb_dev *dev);
void hyb_idle_start(struct hyb_dev *dev);
void hyb_idle_stop(struct hyb_dev *dev);

u32 hyb_idle_memory(struct hyb_qp *qp);
bool hyb_idle_charge(struct hyb_qp *qp, struct sock *sk);

#endif
