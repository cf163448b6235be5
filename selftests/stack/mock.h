/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack_mock.ko: a provider without a network. Its queue pairs come in pairs: one
 * receives the data that the other sends. It is a second implementation of struct
 * rdma_stack_link, as simple as the contract permits.
 */
#ifndef _STACK_MOCK_H
#define _STACK_MOCK_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_stack.h>

/**
 * struct mock_gate - holds up a query
 * @entered: completed when a query is inside
 * @open: the query goes on when this is completed
 * @left: the query has gone on
 */
struct mock_gate {
	struct completion entered;
	struct completion open;
	bool left;
};

/* mock_dev.c: devices. Context: process, may sleep. */
struct ib_device *mock_add(const char *name);
void mock_del(struct ib_device *dev);
void mock_set_place(struct ib_device *dev, enum rdma_stack_comp comp,
		    enum rdma_stack_place place);
void mock_set_gate(struct ib_device *dev, struct mock_gate *gate);
int mock_register(struct ib_device *dev);

/* mock_link.c: queue pairs. Context of these functions: process, may sleep. */
extern const struct rdma_stack_link mock_link;

int mock_pair(struct ib_device *dev, struct ib_qp *qp[2]);
void mock_pair_free(struct ib_qp *qp[2]);
void mock_up(struct ib_qp *qp);
void mock_down(struct ib_qp *qp, int err);
void mock_set_mss(struct ib_qp *qp, u32 mss);
void mock_fail_alloc(struct ib_qp *qp, bool fail);

#endif
