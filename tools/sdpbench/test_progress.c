// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T progress: a burst of messages to and fro, and each end computes when
 * it has sent its burst. An iteration takes as long as one computation if data
 * goes on meanwhile, and as both if it does not. Calls the client.
 */
#include "client.h"

static void progress(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_PROGRESS,
		.size = job->size,
		.count = job->count,
		.arg = { [PROGRESS_BURST] = job->burst,
			 [PROGRESS_WAY] = cl->opts->compute_way,
			 [PROGRESS_NS] = job->compute_ns },
	};
	struct conn *c = &cl->conns[0];

	client_request(c, &req);
	for (uint64_t i = 0; i < job->count; i++) {
		for (uint32_t k = 0; k < job->burst; k++)
			client_send(c, buffers_next(&job->bufs), job->size);
		compute(cl->opts->compute_way, job->compute_ns);
		for (uint32_t k = 0; k < job->burst; k++)
			client_recv(c, cl->in, job->size);
	}
	client_reply(c, PROTO_PROGRESS, &job->reply);
	if (conn_settle(c))
		bench_die("%s: notifications are missing", cl->xp->name);
}

static void fields(const struct client *cl, struct series *s,
		   const struct job *job, struct result *res)
{
	struct summary iter;

	for (unsigned int i = 0; i < s->n; i++)
		s->sec[i] *= 1e6 / job->count;
	iter = summarize(s->sec, s->n, cl->opts->trim);
	res->compute = cl->opts->compute_way == COMPUTE_SPIN ? "spin" : "sleep";
	result_set(res, F_COMPUTE_US, job->compute_ns / 1000);
	result_set(res, F_BURST, job->burst);
	result_set(res, F_MESSAGES, job->count * job->burst);
	result_set(res, F_ITER_US, iter.mid);
	result_set(res, F_ITER_MIN, iter.min);
	result_set(res, F_ITER_MAX, iter.max);
	result_set(res, F_NIC_US, s->nic * 1e6 / (job->count * s->n));
	if (cl->opts->trim)
		result_set(res, F_TRIM, iter.mid);
	if (s->n > 1)
		result_set(res, F_CI95, iter.ci95);
	client_hosts(s, res);
}

/**
 * test_progress() - measure and report, a row for each amount of computation
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_progress(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = {
		F_COMPUTE_US, F_BURST,	 F_ITER_US, F_ITER_MIN, F_ITER_MAX,
		F_HOST_TX,    F_HOST_RX, F_CI95,    N_FIELDS
	};
	const struct sizes *amounts = &cl->opts->compute;

	report_columns(cl->opts, test->name, shown);
	for (unsigned int i = 0; i < amounts->n; i++) {
		struct job job = {
			.run = progress,
			.size = size,
			.first = 1,
			.burst = cl->opts->burst,
			.compute_ns = amounts->val[i] * 1000ULL,
			.with_nic = true,
		};
		struct series s;
		struct result res;

		client_measure(cl, &job, &s);
		client_result(cl, &res, &job, test->name);
		fields(cl, &s, &job, &res);
		client_row(cl, &res, F_ITER_US, false);
	}
}
