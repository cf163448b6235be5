// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, pairs of stack_mock, and cases that only it has: no memory, gaps.
 */
#include <linux/kernel.h>

#include "mock.h"
#include "test.h"

static struct ib_device *st_mock;

static int st_mock_up(struct st_pair *p)
{
	struct rdma_stack_tx tx;
	struct ib_qp *qp[2];
	int i, err;

	err = mock_pair(st_mock, qp);
	if (err)
		return err;
	for (i = 0; i < 2; i++) {
		p->end[i].qp = qp[i];
		p->end[i].link = rdma_stack_get_link(st_mock);
		err = p->end[i].late ? 0 : st_open(&p->end[i]);
		if (err)
			return err;
	}
	p->priv = qp[0];
	p->early = st_reserve(&p->end[0], 100, &tx);
	mock_up(qp[0]);
	return 0;
}

static void st_mock_down(struct st_pair *p)
{
	mock_down(p->priv, -ECONNRESET);
}

static void st_mock_free(struct st_pair *p)
{
	struct ib_qp *qp[2] = { p->priv, NULL };

	st_close(&p->end[0]);
	st_close(&p->end[1]);
	mock_pair_free(qp);
}

static void st_mock_path(struct st_pair *p, unsigned int n)
{
	static const u32 mss[] = { 1448, 536, 8948, 100, 17, 1460 };

	mock_set_mss(p->end[1].qp, mss[n % ARRAY_SIZE(mss)]);
}

static const struct st_env st_mock_env = {
	.name = "mock",
	.up = st_mock_up,
	.down = st_mock_down,
	.free = st_mock_free,
	.path = st_mock_path,
};

static void st_mock_nomem(struct st_pair *p)
{
	struct rdma_stack_tx tx;
	int err;

	mock_fail_alloc(p->priv, true);
	err = st_reserve(&p->end[0], 1000, &tx);
	kt_ok(err == -ENOMEM, "a reservation without memory fails: %d", err);
	mock_fail_alloc(p->priv, false);
	err = st_send(&p->end[0], 1000, 0);
	kt_ok(err == 1000, "a send with memory works again: %d", err);
	st_same(&p->end[0], &p->end[1], "the message arrives");
}

static void st_mock_gaps(struct st_pair *p)
{
	st_send(&p->end[0], 10000, 0);
	st_same(&p->end[0], &p->end[1], "payload with gaps arrives");
	kt_ok(p->end[1].gaps, "%u runs of %u had gaps", p->end[1].gaps,
	      p->end[1].runs);
}

/**
 * st_mock_tests() - the contract on the mock
 * @total: bytes of random load
 */
void st_mock_tests(u32 total)
{
	int err;

	st_mock = mock_add("mock%d");
	if (!kt_ok(!IS_ERR(st_mock), "the device is added: %d", PTR_ERR_OR_ZERO(st_mock)))
		return;
	err = mock_register(st_mock);
	if (kt_ok(!err, "the provider is registered: %d", err)) {
		st_link_tests(&st_mock_env);
		st_link_case(&st_mock_env, "memory", st_mock_nomem);
		st_link_case(&st_mock_env, "gaps", st_mock_gaps);
		st_bulk_test(&st_mock_env, total);
	}
	mock_del(st_mock);
}
