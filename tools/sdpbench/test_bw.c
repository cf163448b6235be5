// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T bw: messages of one size in one direction, as fast as they go, or
 * with a window. Calls the client.
 */
#include "client.h"

/* Until another message fits into the window */
static void window_wait(struct client *cl, struct conn *c, uint32_t step,
			uint64_t *under_way)
{
	while (*under_way >= cl->opts->window) {
		client_recv(c, cl->in, 1);
		*under_way -= step;
	}
}

static enum sample sampling(const struct client *cl, const struct job *job)
{
	if (!job->sample)
		return SAMPLE_NONE;
	return cl->opts->first ? SAMPLE_FIRST : SAMPLE_TURN;
}

/**
 * bw_stream() - one repetition
 * @cl: client
 * @job: with computation before each message, if it says so
 */
void bw_stream(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_STREAM,
		.size = job->size,
		.count = job->count,
		.arg = { [STREAM_WINDOW] = cl->opts->window,
			 [STREAM_SAMPLE] = sampling(cl, job) },
	};
	uint32_t step = cl->opts->window / 2 ? cl->opts->window / 2 : 1;
	struct conn *c = &cl->conns[0];
	uint64_t under_way = 0;

	client_request(c, &req);
	for (uint64_t i = 0; i < job->count; i++) {
		if (cl->opts->window)
			window_wait(cl, c, step, &under_way);
		compute(cl->opts->compute_way, job->compute_ns);
		client_send(c, buffers_next(&job->bufs), job->size);
		under_way++;
	}
	/* the server reports whole steps only */
	for (; cl->opts->window && under_way >= step; under_way -= step)
		client_recv(c, cl->in, 1);
	client_reply(c, PROTO_STREAM, &job->reply);
	if (conn_settle(c))
		bench_die("%s: notifications are missing", cl->xp->name);
}

/**
 * test_bw() - measure and report
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_bw(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_MESSAGES,	   F_MBPS,
					    F_MBPS_MIN,	   F_MBPS_MAX,
					    F_NS_PER_BYTE, F_CPU_PER_BYTE,
					    F_HOST_TX,	   F_HOST_RX,
					    F_CI95,	   N_FIELDS };
	struct job job = {
		.run = bw_stream,
		.size = size,
		.first = size < 65536 ? 64 : 8,
	};
	struct series s;
	struct result res;

	report_columns(cl->opts, test->name, shown);
	client_measure(cl, &job, &s);
	client_result(cl, &res, &job, test->name);
	client_bandwidth(cl, &s, &job, 1, &res);
	client_row(cl, &res, F_MBPS, true);
}
