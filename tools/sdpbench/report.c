// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, results: a table for people, JSON or CSV for programs. Rows come as
 * soon as they are known. Calls compare.c.
 */
#include <stdio.h>
#include <string.h>

#include "report.h"

#ifndef SDP_VERSION
#define SDP_VERSION "unknown"
#endif

/* Name for programs, title of a column, digits for programs and for people */
static const struct {
	const char *name;
	const char *title;
	unsigned int digits;
	unsigned int shown;
} fields[N_FIELDS] = {
	[F_MESSAGES] = { "messages", "messages", 0, 0 },
	[F_PINGS] = { "pings", "pings", 0, 0 },
	[F_WINDOW] = { "window", "window", 0, 0 },
	[F_BUFFERS] = { "buffers", "buffers", 0, 0 },
	[F_REUSE] = { "reuse", "reuse %", 0, 0 },
	[F_BURST] = { "burst", "burst", 0, 0 },
	[F_SERVERS] = { "servers", "servers", 0, 0 },
	[F_STREAMS] = { "streams", "streams", 0, 0 },
	[F_COMPUTE_US] = { "compute_us", "compute us", 0, 0 },
	[F_REPETITION] = { "repetition", "repetition", 0, 0 },
	[F_STREAM] = { "stream", "stream", 0, 0 },
	[F_FROM] = { "from_s", "from s", 3, 2 },
	[F_TO] = { "to_s", "to s", 3, 2 },
	[F_BYTES] = { "bytes", "bytes", 0, 0 },
	[F_MBPS] = { "mbps", "MB/s", 3, 2 },
	[F_MBPS_MIN] = { "mbps_min", "min", 3, 2 },
	[F_MBPS_MAX] = { "mbps_max", "max", 3, 2 },
	[F_NS_PER_BYTE] = { "host_ns_per_byte", "ns/B", 4, 3 },
	[F_NIC_PER_BYTE] = { "nic_ns_per_byte", "NIC ns/B", 4, 3 },
	[F_CPU_TX] = { "cpu_tx_ns_per_byte", "cpu tx", 4, 3 },
	[F_CPU_RX] = { "cpu_rx_ns_per_byte", "cpu rx", 4, 3 },
	[F_CPU_PER_BYTE] = { NULL, "cpu ns/B", 0, 3 },
	[F_REL] = { "relative", "relative", 4, 3 },
	[F_SHARE_PCT] = { "compute_pct", "compute %", 2, 1 },
	[F_ITER_US] = { "iter_us", "iter us", 3, 1 },
	[F_ITER_MIN] = { "iter_min_us", "min", 3, 1 },
	[F_ITER_MAX] = { "iter_max_us", "max", 3, 1 },
	[F_UTIL_PCT] = { "util_pct", "used %", 2, 1 },
	[F_SAMPLES] = { "samples", "samples", 0, 0 },
	[F_LAT_US] = { "lat_us", "us", 3, 2 },
	[F_LAT_MIN] = { "lat_min_us", "min", 3, 2 },
	[F_P50] = { "p50_us", "50%", 3, 2 },
	[F_P90] = { "p90_us", "90%", 3, 2 },
	[F_P99] = { "p99_us", "99%", 3, 2 },
	[F_P999] = { "p999_us", "99.9%", 3, 2 },
	[F_CPU_US] = { "cpu_us", "cpu us", 3, 2 },
	[F_NIC_US] = { "nic_us", "NIC us", 3, 2 },
	[F_TRIM] = { "mean_trim", "mean", 3, 2 },
	[F_CI95] = { "ci95", "+-95%", 3, 2 },
	[F_HOST_TX] = { "cpu_tx_pct", "tx cpu%", 2, 1 },
	[F_HOST_RX] = { "cpu_rx_pct", "rx cpu%", 2, 1 },
	[F_SOFTIRQ_TX] = { "softirq_tx_pct", "softirq%", 2, 1 },
	[F_SOFTIRQ_RX] = { "softirq_rx_pct", "softirq%", 2, 1 },
	[F_RATE] = { "messages_per_s", "msgs/s", 1, 0 },
	[F_RATIO] = { "ratio", "ratio", 4, 3 },
};

static unsigned int rows;
static const enum field *columns;
static const char *headed; /* test whose columns were named last */

static const char *family_name(const struct bench_opts *opts)
{
	return opts->family == AF_INET6 ? "ipv6" :
	       opts->family == AF_INET	? "ipv4" :
					  "any";
}

static void csv_head(void)
{
	printf("transport,test,size,compute");
	for (int f = 0; f < N_FIELDS; f++) {
		if (fields[f].name)
			printf(",%s", fields[f].name);
	}
	putchar('\n');
}

static void json_head(const struct bench_opts *opts)
{
	printf("{\"tool\":\"sdpbench\",\"version\":\"%s\",\"transport\":\"",
	       SDP_VERSION);
	for (unsigned int i = 0; i < opts->n_xps; i++)
		printf("%s%s", i ? "," : "", opts->xps[i]->name);
	printf("\",\"family\":\"%s\",\"reps\":%u,\"rows\":[", family_name(opts),
	       opts->reps);
}

/**
 * report_begin() - before the first result
 * @opts: command line
 */
void report_begin(const struct bench_opts *opts)
{
	rows = 0;
	if (opts->format == FORMAT_JSON)
		json_head(opts);
	else if (opts->format == FORMAT_CSV)
		csv_head();
	fflush(stdout);
}

/**
 * report_columns() - before the results of a test
 * @opts: command line
 * @test: its name
 * @want: the fields that are shown to people, terminated by N_FIELDS
 */
void report_columns(const struct bench_opts *opts, const char *test,
		    const enum field *want)
{
	columns = want;
	if (opts->format != FORMAT_TABLE || (headed && !strcmp(headed, test)))
		return;
	headed = test;
	printf("%-9s %8s", test, "size");
	for (; *want != N_FIELDS; want++)
		printf(" %10s", fields[*want].title);
	putchar('\n');
}

static void table_row(const struct result *res)
{
	printf("%-9s %8u", res->transport, res->size);
	for (const enum field *f = columns; *f != N_FIELDS; f++) {
		if (result_has(res, *f))
			printf(" %10.*f", fields[*f].shown, res->val[*f]);
		else
			printf(" %10s", "-");
	}
	putchar('\n');
}

static void json_row(const struct result *res)
{
	printf("%s\n {\"test\":\"%s\",\"transport\":\"%s\",\"size\":%u",
	       rows ? "," : "", res->test, res->transport, res->size);
	if (res->compute)
		printf(",\"compute\":\"%s\"", res->compute);
	for (int f = 0; f < N_FIELDS; f++) {
		if (fields[f].name && result_has(res, f))
			printf(",\"%s\":%.*f", fields[f].name, fields[f].digits,
			       res->val[f]);
	}
	putchar('}');
}

static void csv_row(const struct result *res)
{
	printf("%s,%s,%u,%s", res->transport, res->test, res->size,
	       res->compute ? res->compute : "");
	for (int f = 0; f < N_FIELDS; f++) {
		if (!fields[f].name)
			continue;
		putchar(',');
		if (result_has(res, f))
			printf("%.*f", fields[f].digits, res->val[f]);
	}
	putchar('\n');
}

/**
 * report_row() - a result
 * @opts: command line
 * @res: result
 */
void report_row(const struct bench_opts *opts, const struct result *res)
{
	switch (opts->format) {
	case FORMAT_JSON:
		json_row(res);
		break;
	case FORMAT_CSV:
		csv_row(res);
		break;
	default:
		table_row(res);
	}
	rows++;
	fflush(stdout);
}

/**
 * report_end() - after the last result
 * @opts: command line
 */
void report_end(const struct bench_opts *opts)
{
	if (opts->format == FORMAT_JSON) {
		printf("\n]");
		if (opts->compare)
			compare_json();
		printf("}\n");
	} else if (opts->compare) {
		compare_table(opts);
	}
	fflush(stdout);
}
