/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of idle queue pairs. A work item visits the queue pairs of a device that have
 * sent or received. It frees the pages, rings and tables of those that have not done so
 * since its last run. They are allocated again on demand. When all is freed, and the upper
 * layer holds no packets either, a queue pair is not visited again until an engine runs
 * (see hyb_sched_run()). While there is none to be visited, the work item is not queued.
 */
#ifndef HYB_IDLE_H
#define HYB_IDLE_H

#include <linux/types.h>

/* Jiffies between two visits; a queue pair that has not sent or received in between is idle */
#define HYB_IDLE_PERIOD	(HZ / 2)

struct hyb_dev;
struct hyb_qp;
struct hyb_tx;
struct sock;

/* Context: process, may sleep */
void hyb_idle_init(struct hyb_dev *dev);
void hyb_idle_stop(struct hyb_dev *dev);
u32 hyb_idle_memory(struct hyb_qp *qp);

/* Context: spinlock of the TCP socket held */
bool hyb_idle_charge(struct hyb_qp *qp, struct sock *sk);

#endif
