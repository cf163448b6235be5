// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T bibw,bilat: both ends send and receive at the same time. Calls the
 * client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static void one_round(struct client *cl, const struct job *job,
		      struct exchange *x)
{
	x->out = job->bufs.mem;
	if (conn_exchange(&cl->conns[0], x))
		bench_die("%s: connection: %s", cl->xp->name, strerror(errno));
}

static void bibw(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_EXCHANGE,
		.size = job->size,
		.count = job->count,
		.arg = { [EXCHANGE_ROUNDS] = 1 },
	};
	struct exchange x = {
		.in = cl->in,
		.in_len = cl->in_len,
		.size = job->size,
		.count = job->count,
	};

	client_request(&cl->conns[0], &req);
	one_round(cl, job, &x);
	client_reply(&cl->conns[0], PROTO_EXCHANGE, &job->reply);
}

static void bilat(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_EXCHANGE,
		.size = job->size,
		.count = 1,
		.arg = { [EXCHANGE_ROUNDS] = job->count },
	};
	struct exchange x = {
		.in = cl->in,
		.in_len = cl->in_len,
		.size = job->size,
		.count = 1,
	};
	double last, t;

	client_request(&cl->conns[0], &req);
	last = bench_now();
	for (uint64_t i = 0; i < job->count; i++) {
		one_round(cl, job, &x);
		t = bench_now();
		job->us[i] = (t - last) * 1e6;
		last = t;
	}
	client_reply(&cl->conns[0], PROTO_EXCHANGE, &job->reply);
}

/**
 * test_bibw() - measure and report
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_bibw(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_MESSAGES,	   F_MBPS,
					    F_MBPS_MIN,	   F_MBPS_MAX,
					    F_NS_PER_BYTE, F_CPU_PER_BYTE,
					    F_HOST_TX,	   F_HOST_RX,
					    F_CI95,	   N_FIELDS };
	struct job job = {
		.run = bibw,
		.size = size,
		.first = size < 65536 ? 64 : 8,
	};
	struct series s;
	struct result res;

	report_columns(cl->opts, test->name, shown);
	client_measure(cl, &job, &s);
	client_result(cl, &res, &job, test->name);
	client_bandwidth(cl, &s, &job, 2, &res);
	client_row(cl, &res, F_MBPS, true);
}

/**
 * test_bilat() - measure and report
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_bilat(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_PINGS,  F_LAT_US, F_LAT_MIN,
					    F_P90,    F_P99,	F_P999,
					    F_CPU_US, F_CI95,	N_FIELDS };
	struct job job = {
		.run = bilat,
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
	client_latency(cl, &s, &job, 1, &res);
	client_row(cl, &res, F_LAT_US, false);
	free(job.us);
}
