/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, results: a row for each test, size and transport.
 */
#ifndef SDPBENCH_REPORT_H
#define SDPBENCH_REPORT_H

#include "sdpbench.h"

/* Figures of a row; names and units are in report.c */
enum field {
	F_MESSAGES,
	F_PINGS,
	F_WINDOW,
	F_BUFFERS,
	F_REUSE,
	F_BURST,
	F_SERVERS,
	F_STREAMS,
	F_COMPUTE_US,
	F_REPETITION, /* of an interval, as are the next four */
	F_STREAM,
	F_FROM,
	F_TO,
	F_BYTES,
	F_MBPS,
	F_MBPS_MIN,
	F_MBPS_MAX,
	F_NS_PER_BYTE,
	F_NIC_PER_BYTE,
	F_CPU_TX,
	F_CPU_RX,
	F_CPU_PER_BYTE, /* of both processes */
	F_REL,
	F_SHARE_PCT,
	F_ITER_US,
	F_ITER_MIN,
	F_ITER_MAX,
	F_UTIL_PCT,
	F_SAMPLES,
	F_LAT_US,
	F_LAT_MIN,
	F_P50,
	F_P90,
	F_P99,
	F_P999,
	F_CPU_US,
	F_NIC_US,
	F_TRIM,
	F_CI95,
	F_HOST_TX,
	F_HOST_RX,
	F_SOFTIRQ_TX,
	F_SOFTIRQ_RX,
	F_RATE, /* of messages */
	F_RATIO,
	N_FIELDS
};

/**
 * struct result - a row
 * @transport: name
 * @test: name
 * @compute: "spin", "sleep", or NULL
 * @size: bytes of a message
 * @set: bit for each field that is there
 * @val: the fields
 */
struct result {
	const char *transport;
	const char *test;
	const char *compute;
	uint32_t size;
	uint64_t set;
	double val[N_FIELDS];
};

static inline void result_set(struct result *res, enum field f, double val)
{
	res->set |= 1ULL << f;
	res->val[f] = val;
}

static inline bool result_has(const struct result *res, enum field f)
{
	return res->set >> f & 1;
}

#define REPORT_COLUMNS 10

void report_begin(const struct bench_opts *opts);
void report_columns(const struct bench_opts *opts, const char *test,
		    const enum field *columns);
void report_row(const struct bench_opts *opts, const struct result *res);
void report_end(const struct bench_opts *opts);

/* compare.c */
void compare_add(struct result *res, enum field f, bool more_is_better);
void compare_table(const struct bench_opts *opts);
void compare_json(void);

#endif /* SDPBENCH_REPORT_H */
