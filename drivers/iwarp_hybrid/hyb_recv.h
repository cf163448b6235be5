/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receives that Sends go into, and Reads that responses complete. Called by the
 * receive engine and hyb_ext, TCP socket held; hyb_recv_end() also when the engine has stopped.
 */
#ifndef HYB_RECV_H
#define HYB_RECV_H

#include <linux/types.h>
#include <rdma/siw-abi.h>

struct hyb_orq_entry;
struct hyb_qp;

u32 hyb_recv_start(struct hyb_qp *qp, u32 len);
bool hyb_recv_irq_room(struct hyb_qp *qp);
void hyb_recv_end_imm(struct hyb_qp *qp, u32 imm, bool rdma, bool solicited);
u32 hyb_recv_read_done(struct hyb_qp *qp, struct hyb_orq_entry *orq);
u32 hyb_recv_read_error(int err);
void hyb_recv_end(struct hyb_qp *qp, u32 inval, bool solicited,
		  enum siw_wc_status status);

#endif
