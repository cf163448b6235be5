/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive engine: walks TCP's receive queue, checks whole FPDUs, places and
 * delivers them. hyb_sched runs it, from data_ready with the TCP socket held.
 *
 * Responses and Terminates to be sent are left in the transmit state.
 */
#ifndef HYB_RX_H
#define HYB_RX_H

#include <linux/types.h>

struct hyb_qp;
struct mpa_result;

/* Of the transport layer: set up, run, and take down the engine */
void hyb_rx_init(struct hyb_qp *qp, const struct mpa_result *res);
void hyb_rx_run(struct hyb_qp *qp);
void hyb_rx_abandon(struct hyb_qp *qp);

#endif
