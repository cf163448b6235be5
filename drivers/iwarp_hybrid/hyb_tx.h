/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit engine: work requests become FPDUs, laid out at their places in
 * the TCP stream, in pages which are handed to TCP by reference. hyb_sched runs it.
 *
 * hyb_tx_run() and all that it calls run with the TCP socket held (see hyb_sched.h).
 */
#ifndef HYB_TX_H
#define HYB_TX_H

#include <linux/types.h>

struct hyb_qp;
struct mpa_result;

/*
 * Called by hyb_tcp before it attaches the queue pair to its socket. Context: process,
 * hyb_cep.lock held; no engine of the queue pair runs yet.
 */
void hyb_tx_init(struct hyb_qp *qp, const struct mpa_result *res);

/* Called by hyb_sched, see struct hyb_engine_ops */
void hyb_tx_run(struct hyb_qp *qp);

/*
 * Called by hyb_cep after hyb_tcp_detach(), before the queues are flushed. Context:
 * process, hyb_cep.lock held; no engine of the queue pair runs any more.
 */
void hyb_tx_abandon(struct hyb_qp *qp);

/* Called by hyb_tcp when the queue pair is destroyed. Context: process */
void hyb_tx_free(struct hyb_qp *qp);

#endif
