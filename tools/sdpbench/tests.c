// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the table of tests, in the order in which they run.
 */
#include "client.h"

const struct test bench_tests[] = {
	{
		.name = "bw",
		.run = test_bw,
		.sizes = { 4, { 64, 4096, 65536, 1 << 20 } },
	},
	{
		.name = "lat",
		.run = test_lat,
		.latency = true,
		.sizes = { 1, { 1 } },
	},
	{
		.name = "bibw",
		.run = test_bibw,
		.sizes = { 4, { 64, 4096, 65536, 1 << 20 } },
	},
	{
		.name = "bilat",
		.run = test_bilat,
		.latency = true,
		.sizes = { 1, { 1 } },
	},
	{
		.name = "overlap",
		.run = test_overlap,
		.sizes = { 1, { 262144 } },
		.compute = { 8, { 0, 20, 50, 100, 200, 500, 1000, 2000 } },
		.compute_way = COMPUTE_SPIN,
	},
	{
		.name = "progress",
		.run = test_progress,
		.sizes = { 1, { 4096 } },
		.compute = { 7, { 0, 100, 200, 500, 1000, 2000, 5000 } },
		.compute_way = COMPUTE_SLEEP,
	},
	{
		.name = "util",
		.run = test_util,
		.sizes = { 4, { 64, 512, 4096, 32768 } },
	},
	{
		.name = "hot",
		.run = test_hot,
		.latency = true,
		.sizes = { 1, { 4 } },
	},
};

const unsigned int bench_n_tests = sizeof(bench_tests) / sizeof(*bench_tests);
