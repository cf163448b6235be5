// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, results: a table for people, one JSON object for programs. Lines
 * come as soon as they are known. Calls nothing.
 */
#include <stdio.h>

#include "sdpbench.h"

static unsigned int rows;

static const char *family_name(const struct bench_opts *opts)
{
	return opts->family == AF_INET6 ? "ipv6" :
	       opts->family == AF_INET	? "ipv4" :
					  "any";
}

/**
 * report_begin() - before the first result
 * @opts: command line
 */
void report_begin(const struct bench_opts *opts)
{
	rows = 0;
	if (opts->json) {
		printf("{\"tool\":\"sdpbench\",\"transport\":\"%s\",",
		       opts->xp->name);
		printf("\"family\":\"%s\",\"reps\":%u,\"rows\":[",
		       family_name(opts), opts->reps);
	}
	fflush(stdout);
}

static void next_row(const struct bench_opts *opts)
{
	if (opts->json)
		printf("%s\n ", rows ? "," : "");
	rows++;
}

static void json_bw(const struct bw_result *res)
{
	printf("{\"test\":\"bw\",\"size\":%u,\"messages\":%llu,", res->size,
	       (unsigned long long)res->messages);
	printf("\"mbps\":%.3f,\"mbps_min\":%.3f,\"mbps_max\":%.3f,", res->mbps,
	       res->mbps_min, res->mbps_max);
	printf("\"host_ns_per_byte\":%.4f,\"nic_ns_per_byte\":%.4f,",
	       res->ns_per_byte, res->nic);
	printf("\"cpu_tx_ns_per_byte\":%.4f,\"cpu_rx_ns_per_byte\":%.4f}",
	       res->cpu_tx, res->cpu_rx);
}

static void json_lat(const struct lat_result *res)
{
	printf("{\"test\":\"lat\",\"size\":%u,\"pings\":%llu,", res->size,
	       (unsigned long long)res->pings);
	printf("\"lat_us\":%.3f,\"lat_min_us\":%.3f,\"lat_p99_us\":%.3f,",
	       res->median, res->min, res->p99);
	printf("\"cpu_us\":%.3f,\"nic_us\":%.3f}", res->cpu, res->nic);
}

/**
 * report_bw() - bandwidth at one message size
 * @opts: command line
 * @res: result
 */
void report_bw(const struct bench_opts *opts, const struct bw_result *res)
{
	if (!opts->json && (!rows || res->size == opts->sizes[0]))
		printf("%-8s %10s %10s %10s %10s %10s %8s %8s\n", "bw", "size",
		       "messages", "MB/s", "min", "max", "ns/B", "cpu ns/B");
	next_row(opts);
	if (opts->json)
		json_bw(res);
	else
		printf("%-8s %10u %10llu %10.2f %10.2f %10.2f %8.3f %8.3f\n",
		       opts->xp->name, res->size,
		       (unsigned long long)res->messages, res->mbps,
		       res->mbps_min, res->mbps_max, res->ns_per_byte,
		       res->cpu_tx + res->cpu_rx);
	fflush(stdout);
}

/**
 * report_lat() - latency at one message size
 * @opts: command line
 * @res: result
 */
void report_lat(const struct bench_opts *opts, const struct lat_result *res)
{
	if (!opts->json && res->size == opts->lat_sizes[0])
		printf("%-8s %10s %10s %10s %10s %10s %8s\n", "latency", "size",
		       "pings", "median us", "min", "p99", "cpu us");
	next_row(opts);
	if (opts->json)
		json_lat(res);
	else
		printf("%-8s %10u %10llu %10.2f %10.2f %10.2f %8.2f\n",
		       opts->xp->name, res->size,
		       (unsigned long long)res->pings, res->median, res->min,
		       res->p99, res->cpu);
	fflush(stdout);
}

/**
 * report_end() - after the last result
 * @opts: command line
 */
void report_end(const struct bench_opts *opts)
{
	if (opts->json)
		printf("\n]}\n");
	fflush(stdout);
}
