// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench -T util: how much of the receiver's memory holds data during a test of
 * bandwidth. The server looks at it again and again. Calls the client.
 */
#include "client.h"

/**
 * test_util() - measure and report
 * @cl: client
 * @test: which
 * @size: bytes of a message
 */
void test_util(struct client *cl, const struct test *test, uint32_t size)
{
	static const enum field shown[] = { F_MESSAGES, F_UTIL_PCT, F_SAMPLES,
					    F_MBPS,	F_MBPS_MIN, F_MBPS_MAX,
					    N_FIELDS };
	struct job job = {
		.run = bw_stream,
		.size = size,
		.first = size < 65536 ? 64 : 8,
		.sample = true,
	};
	struct series s;
	struct result res;

	report_columns(cl->opts, test->name, shown);
	client_measure(cl, &job, &s);
	if (!s.samples)
		bench_die(
			"%s: the server has taken no sample: more --count or --duration is needed",
			cl->xp->name);
	client_result(cl, &res, &job, test->name);
	client_bandwidth(cl, &s, &job, 1, &res);
	result_set(&res, F_UTIL_PCT, s.util / s.samples * 100);
	result_set(&res, F_SAMPLES, s.samples);
	client_row(cl, &res, F_UTIL_PCT, true);
}
