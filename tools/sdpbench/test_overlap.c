// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T overlap: bandwidth while the sender computes before each message.
 * Calls the client.
 */
#include "client.h"

/**
 * test_overlap() - measure and report, a row for each amount of computation
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_overlap(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_COMPUTE_US, F_MESSAGES, F_MBPS,
					    F_MBPS_MIN,	  F_MBPS_MAX, F_REL,
					    F_SHARE_PCT,  F_HOST_TX,  F_HOST_RX,
					    N_FIELDS };
	const struct sizes *amounts = &cl->opts->compute;
	double base = 0;

	report_columns(cl->opts, test->name, shown);
	for (unsigned int i = 0; i < amounts->n; i++) {
		struct job job = {
			.run = bw_stream,
			.size = size,
			.first = 8,
			.compute_ns = amounts->val[i] * 1000ULL,
		};
		double rate, busy;
		struct series s;
		struct result res;

		client_measure(cl, &job, &s);
		client_result(cl, &res, &job, test->name);
		client_bandwidth(cl, &s, &job, 1, &res);
		rate = res.val[F_MBPS];
		base = base ? base : rate;
		/* of the time that a message takes */
		busy = amounts->val[i] / (size / rate) * 100;
		res.compute = cl->opts->compute_way == COMPUTE_SPIN ? "spin" :
								      "sleep";
		result_set(&res, F_COMPUTE_US, amounts->val[i]);
		result_set(&res, F_REL, rate / base);
		result_set(&res, F_SHARE_PCT, busy);
		client_row(cl, &res, F_MBPS, true);
	}
}
