/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reregister a memory region: libsiw does not implement ibv_rereg_mr(), so rereg()
 * calls the kernel. Returns 0, or -1 and errno.
 */
#ifndef SELFTESTS_REREG_H
#define SELFTESTS_REREG_H

#include <stdint.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#define REREG_TRANS IBV_REREG_MR_CHANGE_TRANSLATION
#define REREG_ACCESS IBV_REREG_MR_CHANGE_ACCESS
#define REREG_PD IBV_REREG_MR_CHANGE_PD

static int rereg(struct ibv_mr *mr, int flags, void *addr, size_t len,
		 int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_CMD_REREG_MR,
			 .in_words = sizeof(req) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp,
			 .mr_handle = mr->handle,
			 .flags = flags,
			 .start = (uintptr_t)addr,
			 .length = len,
			 .hca_va = (uintptr_t)addr,
			 .access_flags = access,
			 .pd_handle = mr->pd->handle },
	};

	if (write(mr->context->cmd_fd, &req, sizeof(req)) < 0)
		return -1;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

#endif /* SELFTESTS_REREG_H */
