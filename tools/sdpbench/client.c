// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the active end: the measurements. Calls the protocol and the
 * transport layer, and hands results to the report.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mark.h"
#include "proto.h"

#define MAX_MESSAGES (1ULL << 40)

/* The time is what the hosts had of it: without that of simulated NICs. */
struct run {
	double seconds;
	double nic_seconds;
	uint64_t cpu_local;
	uint64_t cpu_peer;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void stalled(int sig)
{
	static const char text[] = "sdpbench: no end within --timeout\n";

	(void)sig;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(BENCH_EXIT_FAILED);
	_exit(BENCH_EXIT_STALLED);
}

static noreturn void broken(const struct conn *c)
{
	bench_die("%s: connection: %s", c->xp->name, strerror(errno));
}

static void request(const struct conn *c, enum proto_op op, uint32_t size,
		    uint64_t count)
{
	const struct proto_msg req = { .op = op, .size = size, .count = count };

	if (proto_send(c, &req))
		broken(c);
}

/* Return: processor time of the server */
static uint64_t await_reply(const struct conn *c, enum proto_op op)
{
	struct proto_msg msg;

	if (proto_recv(c, &msg))
		broken(c);
	if (msg.op != op)
		bench_die("reply to another request: %u", msg.op);
	if (msg.size)
		bench_die("the server refuses: %s", strerror(msg.size));
	return msg.count;
}

static struct run stream(const struct conn *c, const char *buf, uint32_t size,
			 uint64_t count)
{
	struct run run;
	uint64_t nic = nic_ns();
	double start;

	run.cpu_local = proto_cpu_ns();
	start = now();
	request(c, PROTO_STREAM, size, count);
	for (uint64_t i = 0; i < count; i++) {
		if (conn_send(c, buf, size))
			broken(c);
	}
	run.cpu_peer = await_reply(c, PROTO_STREAM);
	run.seconds = now() - start;
	run.cpu_local = proto_cpu_ns() - run.cpu_local;
	run.nic_seconds = (nic_ns() - nic) * 1e-9;
	run.seconds -= run.nic_seconds;
	/* engines that work at the same time, or other counters */
	if (run.seconds <= 0)
		bench_die("NICs worked for %.6f s, longer than it took",
			  run.nic_seconds);
	return run;
}

/* Doubles the number of messages until they take about the time asked for. */
static uint64_t calibrate(const struct bench_opts *opts, const struct conn *c,
			  const char *buf, uint32_t size)
{
	uint64_t n = opts->count ? opts->count : size < 65536 ? 64 : 8;

	for (;;) {
		struct run run;

		alarm(opts->timeout);
		run = stream(c, buf, size, n);
		if (opts->count || n >= MAX_MESSAGES ||
		    run.seconds * 1000 >= opts->duration_ms / 2.)
			return n;
		n *= 2;
	}
}

static void measure_bw(const struct bench_opts *opts, const struct conn *c,
		       const char *buf, uint32_t size)
{
	struct bw_result res = { .size = size };
	double sec[BENCH_MAX_REPS];
	double bytes;

	res.messages = calibrate(opts, c, buf, size);
	bytes = (double)res.messages * size;
	for (unsigned int i = 0; i < opts->reps; i++) {
		struct run run;

		alarm(opts->timeout);
		bench_mark_start();
		run = stream(c, buf, size, res.messages);
		bench_mark_stop();
		sec[i] = run.seconds;
		res.cpu_tx += run.cpu_local / bytes / opts->reps;
		res.cpu_rx += run.cpu_peer / bytes / opts->reps;
		res.nic += run.nic_seconds * 1e9 / bytes / opts->reps;
	}
	qsort(sec, opts->reps, sizeof(*sec), compare);
	res.mbps = bytes / sec[opts->reps / 2] / 1e6;
	res.mbps_min = bytes / sec[opts->reps - 1] / 1e6;
	res.mbps_max = bytes / sec[0] / 1e6;
	res.ns_per_byte = sec[opts->reps / 2] * 1e9 / bytes;
	report_bw(opts, &res);
}

/* One repetition: half of each round trip, in microseconds, to @us. */
static uint64_t ping(const struct conn *c, char *buf, uint32_t size,
		     unsigned int count, double *us)
{
	uint64_t cpu = proto_cpu_ns();
	double last, t;

	request(c, PROTO_PING, size, count);
	last = now();
	for (unsigned int i = 0; i < count; i++) {
		if (conn_send(c, buf, size) || conn_recv(c, buf, size))
			broken(c);
		t = now();
		us[i] = (t - last) * 1e6 / 2;
		last = t;
	}
	cpu = proto_cpu_ns() - cpu;
	return cpu + await_reply(c, PROTO_PING);
}

static void measure_lat(const struct bench_opts *opts, const struct conn *c,
			char *buf, uint32_t size)
{
	uint64_t n = (uint64_t)opts->reps * opts->pings;
	struct lat_result res = { .size = size, .pings = n };
	double *us = calloc(n, sizeof(*us));
	uint64_t cpu = 0, nic;

	if (!us)
		bench_die("no memory for %llu samples", (unsigned long long)n);

	alarm(opts->timeout);
	ping(c, buf, size, opts->pings, us); /* warms up, overwritten below */
	nic = nic_ns();
	for (unsigned int i = 0; i < opts->reps; i++) {
		alarm(opts->timeout);
		bench_mark_start();
		cpu += ping(c, buf, size, opts->pings,
			    us + (size_t)i * opts->pings);
		bench_mark_stop();
	}
	res.nic = (nic_ns() - nic) / 1e3 / (2. * n);
	qsort(us, n, sizeof(*us), compare);
	res.median = us[n / 2];
	res.min = us[0];
	res.p99 = us[(n * 99 + 99) / 100 - 1];
	res.cpu = cpu / 1e3 / (2. * n);
	report_lat(opts, &res);
	free(us);
}

static uint32_t largest(const struct bench_opts *opts)
{
	uint32_t max = 1;

	for (unsigned int i = 0; i < opts->n_sizes; i++)
		max = opts->sizes[i] > max ? opts->sizes[i] : max;
	for (unsigned int i = 0; i < opts->n_lat_sizes; i++)
		max = opts->lat_sizes[i] > max ? opts->lat_sizes[i] : max;
	return max;
}

/**
 * bench_client() - the active end: measure and report
 * @opts: command line
 *
 * Return: exit status.
 */
int bench_client(const struct bench_opts *opts)
{
	struct conn c = { .xp = opts->xp };
	uint32_t max = largest(opts);
	char *buf = malloc(max);

	if (!buf)
		bench_die("no memory for messages of %u bytes", max);
	memset(buf, 'x', max);

	signal(SIGALRM, stalled);
	alarm(opts->timeout + opts->wait);
	c.fd = xport_connect(opts->xp, opts->host, opts->port, opts->family,
			     opts->wait);
	xport_nodelay(c.xp, c.fd);
	request(&c, PROTO_HELLO, max, 0);
	await_reply(&c, PROTO_HELLO);

	report_begin(opts);
	for (unsigned int i = 0; opts->bw && i < opts->n_sizes; i++)
		measure_bw(opts, &c, buf, opts->sizes[i]);
	for (unsigned int i = 0; opts->lat && i < opts->n_lat_sizes; i++)
		measure_lat(opts, &c, buf, opts->lat_sizes[i]);
	report_end(opts);

	request(&c, PROTO_BYE, 0, 0);
	alarm(0);
	c.xp->close(c.fd);
	free(buf);
	return BENCH_EXIT_OK;
}
