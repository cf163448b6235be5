// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T hot: one client, this process, and a growing number of servers. Sending:
 * a message to each, and each confirms with a byte. Receiving: a byte to each, and each
 * answers with a message. The time of an iteration is that until the last has answered.
 * Calls the client.
 */
#include <stdlib.h>

#include "client.h"

static void hot(struct client *cl, struct job *job)
{
	const struct proto_msg req = {
		.op = PROTO_PING,
		.size = job->size,
		.count = job->count,
		.arg = { [PING_ANSWER] = job->answer },
	};
	struct proto_msg sum = { 0 };
	double last, t;

	for (unsigned int k = 0; k < job->servers; k++)
		client_request(&cl->conns[k], &req);
	last = bench_now();
	for (uint64_t i = 0; i < job->count; i++) {
		for (unsigned int k = 0; k < job->servers; k++)
			client_send(&cl->conns[k], job->bufs.mem, job->size);
		for (unsigned int k = 0; k < job->servers; k++)
			client_recv(&cl->conns[k], cl->in, job->answer);
		t = bench_now();
		job->us[i] = (t - last) * 1e6;
		last = t;
	}
	for (unsigned int k = 0; k < job->servers; k++) {
		client_reply(&cl->conns[k], PROTO_PING, &job->reply);
		sum.count += job->reply.count;
		if (conn_settle(&cl->conns[k]))
			bench_die("%s: notifications are missing",
				  cl->xp->name);
	}
	job->reply.count = sum.count;
}

static void hot_row(struct client *cl, unsigned int servers, uint32_t size,
		    bool sending)
{
	struct job job = {
		.run = hot,
		.size = sending ? size : 1,
		.answer = sending ? 1 : size,
		.servers = servers,
		.count = cl->opts->pings,
		.with_nic = true,
	};
	struct series s;
	struct result res;

	job.us = calloc(cl->opts->reps * job.count, sizeof(*job.us));
	if (!job.us)
		bench_die("no memory for the samples");
	client_measure(cl, &job, &s);
	client_result(cl, &res, &job, sending ? "hot-send" : "hot-recv");
	res.size = size;
	result_set(&res, F_SERVERS, servers);
	client_latency(cl, &s, &job, 1, &res);
	/* a message to each server, and one back */
	res.val[F_CPU_US] /= servers;
	res.val[F_NIC_US] /= servers;
	client_row(cl, &res, F_LAT_US, false);
	free(job.us);
}

/**
 * test_hot() - measure and report, a row for each number of servers and way
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_hot(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_SERVERS, F_PINGS, F_LAT_US,
					    F_LAT_MIN, F_P90,	F_P99,
					    F_CPU_US,  F_CI95,	N_FIELDS };

	(void)test;
	for (int sending = 1; sending >= 0; sending--) {
		report_columns(cl->opts, sending ? "hot-send" : "hot-recv",
			       shown);
		for (unsigned int n = 1; n <= cl->n; n++)
			hot_row(cl, n, size, sending);
	}
}
