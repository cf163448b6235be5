// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, random load: one thread at each end sends, appends, aborts,
 * pauses; the path MTU changes between reservation and commit.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kthread.h>

#include "test.h"

static u32 st_bulk_total;

struct st_load {
	struct st_pair *pair;
	struct st_end *end;
	u32 total;
	u32 seed;
	bool path;
	struct completion done;
};

/* Repeatable: the same numbers in every run */
static u32 st_random(struct st_load *l)
{
	l->seed = l->seed * 1664525 + 1013904223;
	return l->seed >> 8;
}

/* Wait for tx_space(); false if it did not come, or the connection has ended */
static bool st_wait_space(struct st_end *e, u32 before)
{
	e->again++;
	return wait_event_timeout(e->wait, READ_ONCE(e->spaces) != before ||
				  READ_ONCE(e->closes), KT_WAIT) > 0 &&
	       !READ_ONCE(e->closes);
}

/* One reservation, or a wait for room; false if the load cannot go on */
static bool st_load_step(struct st_load *l, u32 left)
{
	static unsigned int rounds;
	struct st_end *e = l->end;
	u32 r = st_random(l), want, before = READ_ONCE(e->spaces);
	unsigned int flags = 0;
	struct rdma_stack_tx tx;
	int err = -ENOENT;

	want = min(left, r & 1 ? 1 + st_random(l) % 200 :
				 1 + st_random(l) % 20000);
	if (e->tx_seq && r & 2)
		err = st_append(e, want, 65536, &tx);
	if (!err) {
		flags |= ST_APPEND;
		e->appends++;
	} else if (err == -ENOENT) {
		err = st_reserve(e, want, &tx);
	}
	if (err == -EAGAIN)
		return st_wait_space(e, before);
	if (err == -ENOMEM) {
		usleep_range(1000, 2000);
		return true;
	}
	if (err)
		return kt_ok(false, "%s: load: error %d", l->pair->env->name, err);
	if (l->path && !(r & 0x70))
		l->pair->env->path(l->pair, rounds++);
	if (!(r & 0xf00)) {
		memset(tx.seg[0].data, 0xee, tx.seg[0].len);
		e->link->tx_abort(e->qp, &tx);
		e->aborts++;
		return true;
	}
	st_fill(e, &tx);
	if (r & 0x1000)
		flags |= RDMA_STACK_TX_MORE;
	if (!(r & 0xe000))
		flags |= RDMA_STACK_TX_CLOSE;
	want = r & 0x10000 ? tx.len : 1 + st_random(l) % tx.len;
	if (want == left)
		flags &= ~RDMA_STACK_TX_MORE;
	st_commit(e, &tx, want, flags);
	return true;
}

static int st_load_thread(void *arg)
{
	struct st_load *l = arg;
	struct st_end *e = l->end;

	while (e->tx_off < l->total && !e->fault[0]) {
		if (!st_load_step(l, l->total - e->tx_off))
			break;
		/* This end as a reader */
		if (!(st_random(l) & 0x3f)) {
			st_pause(e);
			usleep_range(100, 2000);
			st_resume(e);
		}
		cond_resched();
	}
	complete(&l->done);
	return 0;
}

static void st_load_start(struct st_load *l, struct st_pair *p, int i, u32 total)
{
	struct task_struct *t;

	l->pair = p;
	l->end = &p->end[i];
	l->total = total;
	l->seed = 4711 + i;
	l->path = i == 0 && p->env->path;
	init_completion(&l->done);
	t = kthread_run(st_load_thread, l, "st_load/%d", i);
	if (IS_ERR(t))
		complete(&l->done);
}

static void st_bulk_run(struct st_pair *p)
{
	struct st_load load[2];
	int i;

	for (i = 0; i < 2; i++)
		st_load_start(&load[i], p, i, st_bulk_total);
	for (i = 0; i < 2; i++)
		wait_for_completion(&load[i].done);
	st_same(&p->end[0], &p->end[1], "all arrives");
	st_same(&p->end[1], &p->end[0], "and back");
	for (i = 0; i < 2; i++)
		kt_ok(p->end[i].aborts && p->end[i].appends &&
		      p->end[i].tx_off == st_bulk_total,
		      "%llu bytes, %u messages, %u appends, %u aborts, %u waits, %u calls, %u in a pause, %u runs",
		      p->end[i].tx_off, p->end[i].tx_seq, p->end[i].appends,
		      p->end[i].aborts, p->end[i].again, p->end[i].calls,
		      p->end[i].rests, p->end[i].runs);
}

/**
 * st_bulk_test() - random load in both directions
 * @env: kind of pair
 * @total: bytes each way
 */
void st_bulk_test(const struct st_env *env, u32 total)
{
	st_bulk_total = total;
	st_link_case(env, "load", st_bulk_run);
}
