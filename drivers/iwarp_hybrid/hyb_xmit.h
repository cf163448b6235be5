/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between TCP and IP: packets of a connection as TCP gives them away.
 *
 * A part of the transport layer, called by hyb_tcp; calls hyb_offload, which may
 * have a packet finished, hyb_lend, which follows memory of requests, and hyb_ooo,
 * which wants to see ACKs leave; counts.
 */
#ifndef HYB_XMIT_H
#define HYB_XMIT_H

#include <linux/types.h>

struct sock;

bool hyb_xmit_attach(struct sock *sk);
void hyb_xmit_release(struct sock *sk);

#endif
