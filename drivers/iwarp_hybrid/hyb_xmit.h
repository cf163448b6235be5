/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between TCP and IP: each packet that TCP gives to IP (icsk_af_ops->queue_xmit) passes
 * here first. NIC offload may replace it by a finished copy (hyb_off_leaves()),
 * hyb_lend tracks memory of requests in it, and hyb_ooo sees the ACKs that leave. TCP
 * holds the socket meanwhile, in process context or softirq.
 */
#ifndef HYB_XMIT_H
#define HYB_XMIT_H

#include <linux/types.h>

struct sock;

/*
 * Called by hyb_tcp when a connection enters full operation, and when its socket is
 * released. Context: process, the caller owns the TCP socket (lock_sock). If attaching
 * fails (false), packets do not pass here.
 */
bool hyb_xmit_attach(struct sock *sk);
void hyb_xmit_release(struct sock *sk);

#endif
