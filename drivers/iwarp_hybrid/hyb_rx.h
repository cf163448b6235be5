/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive engine: walks TCP's receive queue, checks whole FPDUs, places and
 * delivers them. hyb_sched runs it with the spinlock of the TCP socket held: from TCP's
 * data_ready, when a task releases the socket, after a post (hyb_sched_kick()), in a work item
 * or in a tasklet.
 *
 * Responses and Terminates to be sent are left in hyb_qp.tx for the transmit engine.
 */
#ifndef HYB_RX_H
#define HYB_RX_H

#include <linux/types.h>

struct hyb_qp;
struct mpa_result;

/*
 * Called by hyb_tcp before it attaches the queue pair to its socket. Context: process,
 * hyb_cep.lock held; no engine of the queue pair runs yet.
 */
void hyb_rx_init(struct hyb_qp *qp, const struct mpa_result *res);

/* Called by hyb_sched, see struct hyb_engine_ops */
void hyb_rx_run(struct hyb_qp *qp);

/*
 * Called by hyb_cep after hyb_tcp_detach(), before the queues are flushed. Context:
 * process, hyb_cep.lock held; no engine of the queue pair runs any more.
 */
void hyb_rx_abandon(struct hyb_qp *qp);

#endif
