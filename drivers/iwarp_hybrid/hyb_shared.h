/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared link: an upper layer writes into the outgoing stream and reads from
 * the packets that came in (<rdma/rdma_stack.h>).
 *
 * Beside the engines: uses hyb_stream for the layout, is called by hyb_tx,
 * hyb_rx and hyb_tcp, and calls the upper layer. All state is protected by the
 * spinlock of the TCP socket.
 */
#ifndef HYB_SHARED_H
#define HYB_SHARED_H

#include <linux/types.h>
#include <rdma/rdma_stack.h>

struct hyb_qp;
struct sock;

/* Operations for struct rdma_stack_provider */
extern const struct rdma_stack_link hyb_link;

#endif
