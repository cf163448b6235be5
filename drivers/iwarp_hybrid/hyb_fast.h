/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fast path of the engines, see hyb_fast.c. Used by hyb_tx and hyb_rx.
 */
#ifndef HYB_FAST_H
#define HYB_FAST_H

#include <linux/types.h>

struct hyb_cur;
struct hyb_qp;
struct hyb_rx;
struct sk_buff;

u32 hyb_fast_tx(struct hyb_qp *qp, u64 end);
u32 hyb_fast_rresp(struct hyb_qp *qp, u64 end);
u32 hyb_fast_rx(struct hyb_qp *qp, const struct sk_buff *skb, u32 seq,
		const u8 *p, u32 n);
u32 hyb_fast_there(struct hyb_qp *qp, struct hyb_cur *c, u32 avail);
void hyb_fast_forget(struct hyb_rx *rx);

#endif
