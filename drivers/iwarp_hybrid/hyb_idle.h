/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of idle queue pairs: a periodic look at the queue pairs of a device that have
 * moved frees pages, rings and tables of those that do nothing now. They are allocated
 * again when they are needed. An idle queue pair is not looked at before it moves again,
 * see hyb_sched_run(); without one that is not idle there is no look at all.
 */
#ifndef HYB_IDLE_H
#define HYB_IDLE_H

#include <linux/types.h>

/* Between two looks; a queue pair that has not moved in between is idle */
#define HYB_IDLE_PERIOD	(HZ / 2)

struct hyb_dev;
struct hyb_qp;
struct hyb_tx;
struct sock;

void hyb_idle_init(struct hyb_dev *dev);
void hyb_idle_stop(struct hyb_dev *dev);

u32 hyb_idle_memory(struct hyb_qp *qp);
bool hyb_idle_charge(struct hyb_qp *qp, struct sock *sk);

#endif
