// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench --compare: the figures of two transports for the same test and size, and
 * which of them is ahead. Calls nothing.
 */
#include <stdio.h>
#include <string.h>

#include "report.h"

#define MAX_PAIRS 1024
/* Closer than that is a draw */
#define DRAW 0.02

static struct pair {
	const char *test;
	uint32_t size;
	double other; /* another parameter that tells the rows of a test apart */
	bool more_is_better;
	const char *name[2];
	double val[2];
	bool both;
} pairs[MAX_PAIRS];
static unsigned int n_pairs;

static double variant(const struct result *res)
{
	if (result_has(res, F_SERVERS))
		return res->val[F_SERVERS];
	return result_has(res, F_COMPUTE_US) ? res->val[F_COMPUTE_US] : 0;
}

static struct pair *find(const struct result *res)
{
	struct pair *p;

	for (p = pairs; p < pairs + n_pairs; p++) {
		if (!p->both && !strcmp(p->test, res->test) &&
		    p->size == res->size && p->other == variant(res))
			return p;
	}
	return NULL;
}

/**
 * compare_add() - keep a result; the second of a pair gets the ratio
 * @res: result
 * @f: which figure counts
 * @more_is_better: whether that of the better transport is the larger one
 */
void compare_add(struct result *res, enum field f, bool more_is_better)
{
	struct pair *p = find(res);

	if (p) {
		p->both = true;
		p->name[1] = res->transport;
		p->val[1] = res->val[f];
		result_set(res, F_RATIO, p->val[1] / p->val[0]);
		return;
	}
	if (n_pairs == MAX_PAIRS)
		return;
	pairs[n_pairs++] = (struct pair){
		.test = res->test,
		.size = res->size,
		.other = variant(res),
		.more_is_better = more_is_better,
		.name = { res->transport },
		.val = { res->val[f] },
	};
}

/* Return: the one that is ahead, -1 for neither */
static int ahead(const struct pair *p)
{
	double ratio = p->val[1] / p->val[0];

	if (ratio > 1 / (1 + DRAW) && ratio < 1 + DRAW)
		return -1;
	return (ratio > 1) == p->more_is_better;
}

static void say_ahead(FILE *out, int who, const char *name, const char *other)
{
	const struct pair *p;
	const char *test = "";
	bool any = false;

	fprintf(out, "%s is ahead of %s", name, other);
	for (p = pairs; p < pairs + n_pairs; p++) {
		if (!p->both || ahead(p) != who)
			continue;
		if (strcmp(p->test, test))
			fprintf(out, "%s %s", any ? ";" : " in", p->test);
		test = p->test;
		any = true;
		fprintf(out, " %u", p->size);
		if (p->other)
			fprintf(out, "(%g)", p->other);
	}
	fprintf(out, "%s\n", any ? "" : " nowhere");
}

/**
 * compare_table() - print both results side by side, and which is ahead in each test
 * @opts: command line
 */
void compare_table(const struct bench_opts *opts)
{
	const char *a = opts->xps[0]->name, *b = opts->xps[1]->name;
	/* on standard output it would be mixed with the rows of CSV */
	FILE *out = opts->format == FORMAT_TABLE ? stdout : stderr;

	fprintf(out, "\n%-9s %8s %10s %10s %10s  %s\n", "compare", "size", a, b,
		"ratio", "ahead");
	for (const struct pair *p = pairs; p < pairs + n_pairs; p++) {
		if (!p->both)
			continue;
		fprintf(out, "%-9s %8u %10.2f %10.2f %10.3f  %s\n", p->test,
			p->size, p->val[0], p->val[1], p->val[1] / p->val[0],
			ahead(p) < 0 ? "-" : p->name[ahead(p)]);
	}
	fputc('\n', out);
	say_ahead(out, 0, a, b);
	say_ahead(out, 1, b, a);
}

/**
 * compare_json() - the same for programs, as a member of an object
 */
void compare_json(void)
{
	bool any = false;

	printf(",\"compare\":[");
	for (const struct pair *p = pairs; p < pairs + n_pairs; p++) {
		if (!p->both)
			continue;
		printf("%s{\"test\":\"%s\",\"size\":%u,\"%s\":%.4f,\"%s\":%.4f",
		       any ? "," : "", p->test, p->size, p->name[0], p->val[0],
		       p->name[1], p->val[1]);
		printf(",\"ratio\":%.4f,\"ahead\":\"%s\"}",
		       p->val[1] / p->val[0],
		       ahead(p) < 0 ? "neither" : p->name[ahead(p)]);
		any = true;
	}
	putchar(']');
}
