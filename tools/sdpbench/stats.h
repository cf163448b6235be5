/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, statistics.
 */
#ifndef SDPBENCH_STATS_H
#define SDPBENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct summary - summary of some values
 * @mid: median, or trimmed mean
 * @min: smallest
 * @max: largest
 * @ci95: half the width of the 95 % confidence interval of the mean, 0 for one
 *	  value
 */
struct summary {
	double mid;
	double min;
	double max;
	double ci95;
};

struct summary summarize(double *val, size_t n, bool trim);
void sort_values(double *val, size_t n);
double percentile(const double *sorted, size_t n, double percent);

#endif /* SDPBENCH_STATS_H */
