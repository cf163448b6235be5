// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, statistics. Calls nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "stats.h"

/* Quantile 0.975 of Student's t by degrees of freedom, from 1 on */
static const double t975[] = {
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201,	2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080,	2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
};
#define T975_MANY 1.960

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/**
 * sort_values() - in ascending order
 * @val: values
 * @n: number of them
 */
void sort_values(double *val, size_t n)
{
	qsort(val, n, sizeof(*val), compare);
}

/**
 * percentile() - the smallest value that at least @percent of the values do not exceed
 * @sorted: values in ascending order
 * @n: number of them, at least 1
 * @percent: per cent of @n
 *
 * Return: the value, one of @sorted.
 */
double percentile(const double *sorted, size_t n, double percent)
{
	size_t rank = ceil(n * percent / 100);

	return sorted[rank ? rank - 1 : 0];
}

static double mean(const double *val, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += val[i];
	return sum / n;
}

static double half_width(const double *val, size_t n)
{
	const size_t known = sizeof(t975) / sizeof(*t975);
	double m = mean(val, n), sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += (val[i] - m) * (val[i] - m);
	return (n - 1 <= known ? t975[n - 2] : T975_MANY) *
	       sqrt(sum / (n - 1) / n);
}

/**
 * summarize() - median or trimmed mean, and spread
 * @val: values, sorted here
 * @n: number of them, at least 1, or 3 if @trim
 * @trim: take the mean, without the smallest and the largest, instead of the median
 *
 * Return: summary; minimum and maximum are those of all values, the confidence interval is
 * that of the values that count.
 */
struct summary summarize(double *val, size_t n, bool trim)
{
	struct summary s;

	sort_values(val, n);
	s.min = val[0];
	s.max = val[n - 1];
	s.mid = val[n / 2];
	if (trim) {
		val++;
		n -= 2;
		s.mid = mean(val, n);
	}
	s.ci95 = half_width(val, n);
	return s;
}
