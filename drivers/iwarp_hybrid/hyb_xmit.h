/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between TCP and IP: packets of a connection as TCP passes them on. NIC offload may
 * have a packet finished, hyb_lend tracks memory of requests, and hyb_ooo sees the
 * ACKs that leave. TCP holds the socket when it passes a packet on, in process context
 * or softirq.
 */
#ifndef HYB_XMIT_H
#define HYB_XMIT_H

#include <linux/types.h>

struct sock;

bool hyb_xmit_attach(struct sock *sk);
void hyb_xmit_release(struct sock *sk);

#endif
