/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Out-of-order placement: FPDUs in TCP's out-of-order queue are found by their
 * markers, checked and placed before the gap that precedes them closes. Then the
 * receive engine delivers them without touching a single byte again. RFC 5044
 * section 4.3, RFC 5041 section 5.3.
 *
 * Placement sends nothing, completes nothing and reports no error.
 *
 * All functions run with the TCP socket held (see hyb_sched.h), except hyb_ooo_abandon() and
 * hyb_ooo_free(): they run when the engines have stopped.
 */
#ifndef HYB_OOO_H
#define HYB_OOO_H

#include <linux/types.h>

struct ooo_range;
struct hyb_qp;
struct siw_rqe;
struct sock;

/* Called by hyb_tcp, hyb_xmit, hyb_sched, hyb_rx and hyb_idle */
void hyb_ooo_attach(struct hyb_qp *qp, struct sock *sk);
void hyb_ooo_sent(struct sock *sk);
void hyb_ooo_look(struct hyb_qp *qp);
void hyb_ooo_abandon(struct hyb_qp *qp);
void hyb_ooo_free(struct hyb_qp *qp);
void hyb_ooo_trim(struct hyb_qp *qp);
u32 hyb_ooo_memory(const struct hyb_qp *qp);

/* Called by hyb_shared and hyb_rx: has a receive been taken from the queue early? */
bool hyb_ooo_early(const struct hyb_qp *qp);

/* Called by the receive engine and hyb_recv */
const struct ooo_range *hyb_ooo_due(struct hyb_qp *qp);
void hyb_ooo_account(struct hyb_qp *qp, u32 len);
u32 hyb_ooo_cross(struct hyb_qp *qp, u32 len);
int hyb_ooo_recv(struct hyb_qp *qp, struct siw_rqe *rqe);

#endif
