/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of requests in packets: how long the network has it.
 *
 * hyb_xmit shows it the packets; the transmit engine asks which memory is free.
 */
#ifndef HYB_LEND_H
#define HYB_LEND_H

#include <linux/types.h>

struct hyb_qp;
struct sk_buff;
struct sock;

bool hyb_lend_packet(struct hyb_qp *qp, const struct sock *sk,
		     struct sk_buff *skb);
u32 hyb_lend_una(struct hyb_qp *qp, u32 una);
bool hyb_lend_recall(struct hyb_qp *qp);
void hyb_lend_end(struct hyb_qp *qp);
void hyb_lend_exit(void);

#endif
