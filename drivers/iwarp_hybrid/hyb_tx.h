/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit engine: work requests become FPDUs, laid out at their places in
 * the TCP stream, in pages which are handed to TCP by reference. hyb_sched runs it.
 *
 * Everything here runs with the TCP socket held (see hyb_sched.h).
 */
#ifndef HYB_TX_H
#define HYB_TX_H

#include <linux/types.h>

struct hyb_qp;
struct mpa_result;

/* Of the transport layer: set up, run, and take down the engine */
void hyb_tx_init(struct hyb_qp *qp, const struct mpa_result *res);
void hyb_tx_run(struct hyb_qp *qp);
void hyb_tx_abandon(struct hyb_qp *qp);
void hyb_tx_free(struct hyb_qp *qp);

#endif
