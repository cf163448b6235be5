// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T bw: messages of one size in one direction, as fast as they go, or
 * with a window. Calls the client.
 */
#include "streams.h"

/* Waits until another message fits into the window */
static void window_wait(const struct stream *s, uint32_t step,
			uint64_t *under_way)
{
	char told;

	while (*under_way >= s->cl->opts->window) {
		client_recv(s->conn, &told, 1);
		*under_way -= step;
	}
}

static enum sample sampling(const struct client *cl, const struct job *job)
{
	if (!job->sample)
		return SAMPLE_NONE;
	return cl->opts->first ? SAMPLE_FIRST : SAMPLE_TURN;
}

/* All messages of a repetition, on one connection */
static void bw_send(struct stream *s)
{
	struct client *cl = s->cl;
	struct job *job = s->job;
	const struct proto_msg req = {
		.op = PROTO_STREAM,
		.size = job->size,
		.count = job->count,
		.arg = { [STREAM_WINDOW] = cl->opts->window,
			 [STREAM_SAMPLE] = sampling(cl, job) },
	};
	uint32_t step = cl->opts->window / 2 ? cl->opts->window / 2 : 1;
	struct conn *c = s->conn;
	uint64_t under_way = 0;
	char told;

	client_request(c, &req);
	for (uint64_t i = 0; i < job->count; i++) {
		if (cl->opts->window)
			window_wait(s, step, &under_way);
		compute(cl->opts->compute_way, job->compute_ns);
		client_send(c, buffers_next(&job->bufs), job->size);
		under_way++;
		__atomic_store_n(&s->sent, s->sent + job->size,
				 __ATOMIC_RELAXED);
	}
	/* the server reports whole steps only */
	for (; cl->opts->window && under_way >= step; under_way -= step)
		client_recv(c, &told, 1);
	client_reply(c, PROTO_STREAM, &s->reply);
	if (conn_settle(c))
		bench_die("%s: notifications are missing", cl->xp->name);
}

/**
 * bw_stream() - one repetition, on one connection
 * @cl: client
 * @job: with computation before each message, if it says so
 */
void bw_stream(struct client *cl, struct job *job)
{
	struct stream s = { .cl = cl, .job = job, .conn = &cl->conns[0] };

	bw_send(&s);
	job->reply = s.reply;
}

/* On all connections, whose buffer is the same: nothing is written to it */
static void bw_streams(struct client *cl, struct job *job)
{
	streams_run(cl, job, bw_send);
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
	unsigned int streams = cl->opts->streams;
	struct job job = {
		.run = bw_streams,
		.size = size,
		.first = size < 65536 ? 64 : 8,
	};
	struct series s;
	struct result res;

	if (!cl->opts->interval)
		report_columns(cl->opts, test->name, shown);
	client_measure(cl, &job, &s);
	report_columns(cl->opts, test->name, shown);
	client_result(cl, &res, &job, test->name);
	client_bandwidth(cl, &s, &job, streams, &res);
	if (streams > 1) {
		result_set(&res, F_STREAMS, streams);
		result_set(&res, F_MESSAGES, job.count * streams);
	}
	client_row(cl, &res, F_MBPS, true);
}
