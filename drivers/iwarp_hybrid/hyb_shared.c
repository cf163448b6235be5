// SPDX-License-Identifier: GPL-2.0
/*
 * Shared link. See hyb_shared.h.
 */
#include "hybrid.h"
#include "hyb_shared.h"

static int hyb_link_open(struct ib_qp *ibqp, const struct rdma_stack_ulp *ulp,
			 void *ctx)
{
	return -EOPNOTSUPP;
}

const struct rdma_stack_link hyb_link = {
	.open = hyb_link_open,
};
