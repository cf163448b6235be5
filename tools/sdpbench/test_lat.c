// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T lat: a message goes to the server and back; latency is half of that.
 * Calls the client.
 */
#include <stdlib.h>

#include "client.h"

static void ping(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_PING,
		.size = job->size,
		.count = job->count,
		.arg = { [PING_ANSWER] = job->size },
	};
	struct conn *c = &cl->conns[0];
	double last, t;

	client_request(c, &req);
	last = bench_now();
	for (uint64_t i = 0; i < job->count; i++) {
		client_send(c, buffers_next(&job->bufs), job->size);
		client_recv(c, cl->in, job->size);
		t = bench_now();
		job->us[i] = (t - last) * 1e6;
		last = t;
	}
	client_reply(c, PROTO_PING, &job->reply);
	if (conn_settle(c))
		bench_die("%s: notifications are missing", cl->xp->name);
}

/**
 * test_lat() - measure and report
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_lat(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_PINGS,  F_LAT_US, F_LAT_MIN,
					    F_P90,    F_P99,	F_P999,
					    F_CPU_US, F_CI95,	N_FIELDS };
	struct job job = {
		.run = ping,
		.size = size,
		.count = cl->opts->pings,
		.with_nic = true,
	};
	struct series s;
	struct result res;

	job.us = calloc(cl->opts->reps * job.count, sizeof(*job.us));
	if (!job.us)
		bench_die("no memory for the samples");
	report_columns(cl->opts, test->name, shown);
	client_measure(cl, &job, &s);
	client_result(cl, &res, &job, test->name);
	/* 2: an iteration is a round trip */
	client_latency(cl, &s, &job, 2, &res);
	client_row(cl, &res, F_LAT_US, false);
	free(job.us);
}
