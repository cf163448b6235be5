/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues of Reads and atomic operations: outstanding ones of this side (ORQ),
 * and those of the peer to be answered (IRQ). A queue pair has room for one of
 * each; more is allocated when it is needed.
 */
#ifndef HYB_RDQ_H
#define HYB_RDQ_H

#include <linux/types.h>

struct hyb_tx;

/* Entries that rings of Reads and atomic operations grow to, at first */
#define HYB_RDQ_RING	8

bool hyb_rdq_orq_room(struct hyb_tx *tx);
bool hyb_rdq_irq_room(struct hyb_tx *tx);
void hyb_rdq_shrink(struct hyb_tx *tx);

#endif
