// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench: latency, bandwidth and more of stream sockets by message size, over
 * SDP, TCP and rsockets. This file: which end, which tests. Calls all others.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../keep_standard.h"
#include "client.h"

static void be_first(void)
{
	const struct sched_param param = { .sched_priority = FIRST_PRIORITY };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		bench_die("--first needs CAP_SYS_NICE, run as root: %s",
			  strerror(errno));
}

/* One test over all transports, size by size, so that rows to compare are close */
static void run_test(struct client *clients, struct bench_opts *opts,
		     const struct test *test)
{
	const struct sizes *given = test->latency ? &opts->lat_sizes :
						    &opts->sizes;
	const struct sizes *sizes = given->n ? given : &test->sizes;
	struct bench_opts saved = *opts;

	if (!opts->compute.n) {
		opts->compute = test->compute;
		opts->compute_way = test->compute_way;
	}
	for (unsigned int i = 0; i < sizes->n; i++) {
		for (unsigned int x = 0; x < opts->n_xps; x++)
			test->run(&clients[x], test, sizes->val[i]);
	}
	*opts = saved;
}

/* Bytes of the largest message of the tests that run */
static uint32_t largest(const struct bench_opts *opts)
{
	uint32_t max = 1;

	for (unsigned int t = 0; t < bench_n_tests; t++) {
		const struct test *test = &bench_tests[t];
		const struct sizes *given = test->latency ? &opts->lat_sizes :
							    &opts->sizes;
		const struct sizes *s = given->n ? given : &test->sizes;

		for (unsigned int i = 0; opts->tests >> t & 1 && i < s->n; i++)
			max = s->val[i] > max ? s->val[i] : max;
	}
	return max;
}

static int bench_client(struct bench_opts *opts)
{
	struct client clients[BENCH_XPORTS];

	compute_init();
	for (unsigned int x = 0; x < opts->n_xps; x++)
		client_open(&clients[x], opts, opts->xps[x], largest(opts));
	if (opts->first)
		be_first();
	report_begin(opts);
	for (unsigned int t = 0; t < bench_n_tests; t++) {
		if (opts->tests >> t & 1)
			run_test(clients, opts, &bench_tests[t]);
	}
	report_end(opts);
	for (unsigned int x = 0; x < opts->n_xps; x++)
		client_close(&clients[x]);
	return BENCH_EXIT_OK;
}

int main(int argc, char **argv)
{
	static struct bench_opts opts;
	int rc;

	keep_standard();
	options(&opts, argc, argv);
	if (opts.server) {
		compute_init();
		return bench_server(&opts);
	}
	rc = bench_client(&opts);
	flush_output();
	return rc;
}
