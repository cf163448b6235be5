// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests of sdpbench: statistics against values computed by hand, and the order
 * in which messages are in buffers.
 */
#include <math.h>
#include <stdio.h>

#include "../../tools/sdpbench/buffers.h"
#include "../../tools/sdpbench/stats.h"
#include "unit.h"

noreturn void bench_die(const char *fmt, ...)
{
	fputs(fmt, stderr);
	exit(1);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 0.0005;
}

static void median(void)
{
	double val[] = { 5, 1, 9, 3, 7 }, one[] = { 4 };
	struct summary s = summarize(val, 5, false);

	CHECK(near(s.mid, 5) && near(s.min, 1) && near(s.max, 9));
	/* t = 2.776, deviation sqrt(10), of the mean sqrt(2) */
	CHECK(near(s.ci95, 3.9259));
	s = summarize(one, 1, false);
	CHECK(near(s.mid, 4) && near(s.ci95, 0));
}

static void trimmed(void)
{
	double val[] = { 100, 3, 5, 7, 0 };
	struct summary s = summarize(val, 5, true);

	/* those that do not count are shown */
	CHECK(near(s.min, 0) && near(s.max, 100));
	CHECK(near(s.mid, 5));
	/* of 3, 5, 7: t = 4.303, deviation 2 */
	CHECK(near(s.ci95, 4.9687));
}

static void many(void)
{
	double val[40];

	for (int i = 0; i < 40; i++)
		val[i] = i & 1;
	/* deviation 0.50637, of the mean 0.080064, the normal distribution */
	CHECK(near(summarize(val, 40, false).ci95, 0.15693));
}

static void percentiles(void)
{
	double val[1000];

	for (int i = 0; i < 1000; i++)
		val[i] = i + 1;
	CHECK(near(percentile(val, 1000, 50), 500));
	CHECK(near(percentile(val, 1000, 99), 990));
	CHECK(near(percentile(val, 1000, 99.9), 999));
	CHECK(near(percentile(val, 1000, 100), 1000));
	CHECK(near(percentile(val, 10, 99.9), 10));
	CHECK(near(percentile(val, 1, 50), 1));
}

/* Messages of @n that are in the first buffer */
static unsigned int in_first(struct buffers *b, unsigned int n)
{
	unsigned int first = 0;

	while (n--)
		first += buffers_next(b) == b->mem;
	return first;
}

static void reuse(void)
{
	static const struct {
		int percent;
		unsigned int of_100;
	} want[] = { { 0, 0 }, { 25, 25 }, { 33, 33 }, { 100, 100 } };

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct bench_opts opts = { .reuse = want[i].percent };
		struct buffers b;

		/* so many buffers that none is used twice */
		buffers_open(&b, &opts, 1 << 20);
		CHECK(b.n > 200);
		CHECK_EQ(in_first(&b, 100), want[i].of_100);
		buffers_close(&b);
	}
}

static void in_turn(void)
{
	struct bench_opts opts = { .reuse = -1, .buffers = 3 };
	struct buffers b;
	char *p[6];

	buffers_open(&b, &opts, 5000);
	for (int i = 0; i < 6; i++)
		p[i] = buffers_next(&b);
	CHECK(p[0] == p[3] && p[1] == p[4] && p[2] == p[5]);
	/* apart from each other, on pages of their own */
	CHECK(p[1] - p[0] == 8192 && p[2] - p[1] == 8192);
	buffers_close(&b);
	opts.buffers = 0;
	buffers_open(&b, &opts, 5000);
	CHECK(buffers_next(&b) == buffers_next(&b));
	buffers_close(&b);
	opts.cold = true;
	buffers_open(&b, &opts, 1 << 20);
	CHECK(b.len >= 4U << 20 && b.n > 1);
	buffers_close(&b);
}

int main(void)
{
	static const struct unit_test tests[] = {
		{ "median and its interval", median },
		{ "trimmed mean", trimmed },
		{ "interval of many values", many },
		{ "percentiles", percentiles },
		{ "messages in one buffer and in fresh ones", reuse },
		{ "buffers in turn", in_turn },
	};

	return unit_main("sdpbench", tests, ARRAY_LEN(tests));
}
