// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench: latency and bandwidth of stream sockets by message size, over SDP,
 * TCP and rsockets. This file: the command line. Calls client or server.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../keep_standard.h"
#include "sdpbench.h"

#ifndef SDP_VERSION
#define SDP_VERSION "unknown"
#endif

static void vsay(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("sdpbench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void bench_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

noreturn void bench_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
	exit(BENCH_EXIT_FAILED);
}

static void usage(FILE *out)
{
	fputs("Usage: sdpbench -s [OPTION]...       server\n"
	      "       sdpbench [OPTION]... HOST     client, measures\n"
	      "\n"
	      "  -s, --server          be the server\n"
	      "  -t, --transport NAME  sdp (default), tcp or rsocket\n"
	      "  -p, --port N          port of the server (default 7471)\n"
	      "  -4, -6                IPv4 or IPv6 only\n"
	      "  -h, --help            this text\n"
	      "  -V, --version         the version\n"
	      "\n"
	      "Server:\n"
	      "  -b, --bind ADDR       listen on this address only\n"
	      "  -1, --once            end after the first client\n"
	      "\n"
	      "Client:\n"
	      "  -T, --tests LIST      bw, lat or both (default bw,lat)\n"
	      "  -S, --sizes LIST      message sizes for bw (default 64,4K,64K,1M)\n"
	      "  -L, --lat-sizes LIST  message sizes for lat (default 1)\n"
	      "  -r, --reps N          repetitions; the median counts (default 5)\n"
	      "  -d, --duration MS     aimed time of a repetition of bw (default 400)\n"
	      "  -n, --count N         messages of a repetition of bw instead\n"
	      "  -P, --pings N         round trips of a repetition of lat (default 300)\n"
	      "  -w, --wait SEC        go on trying to connect (default 0)\n"
	      "      --timeout SEC     longest time of a repetition (default 60)\n"
	      "      --nic [NETNS/]DEV[:COUNTERS]  a simulated NIC whose time, by these\n"
	      "                        counters of ethtool -S (default nic_ns), is not\n"
	      "                        that of a host\n"
	      "  -j, --json            print JSON\n"
	      "\n"
	      "Sizes may end in K or M (1024, 1048576). ns/B is elapsed time; with\n"
	      "both ends on one processor it is the cost of both together. Latency is\n"
	      "half the round trip.\n"
	      "Exit status: 0 success, 1 failure, 2 wrong use, 3 time limit reached.\n",
	      out);
}

static noreturn void bad_use(const char *what, const char *arg)
{
	bench_warn("%s: %s (see --help)", what, arg);
	exit(BENCH_EXIT_USAGE);
}

static unsigned long long parse_number(const char *arg, unsigned long long min,
				       unsigned long long max)
{
	unsigned long long val;
	char *end;

	errno = 0;
	val = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || val < min ||
	    val > max)
		bad_use("not a valid count", arg);
	return val;
}

static uint32_t one_size(const char *arg, char **end)
{
	unsigned long long val;
	int shift = 0;

	errno = 0;
	val = strtoull(arg, end, 10);
	if (*end == arg || *arg == '-')
		bad_use("bad size", arg);
	if (**end == 'K' || **end == 'k')
		shift = 10;
	else if (**end == 'M' || **end == 'm')
		shift = 20;
	if (shift)
		(*end)++;
	if (errno || !val || val > BENCH_MAX_SIZE >> shift)
		bad_use("size out of range", arg);
	return val << shift;
}

static unsigned int size_list(const char *arg, uint32_t *sizes)
{
	unsigned int n = 0;
	char *end;

	for (;;) {
		if (n == BENCH_MAX_SIZES)
			bad_use("too many sizes", arg);
		sizes[n++] = one_size(arg, &end);
		if (!*end)
			return n;
		if (*end != ',')
			bad_use("bad size", arg);
		arg = end + 1;
	}
}

static void test_list(struct bench_opts *opts, const char *arg)
{
	opts->bw = !strcmp(arg, "bw") || !strcmp(arg, "bw,lat") ||
		   !strcmp(arg, "lat,bw");
	opts->lat = strcmp(arg, "bw") != 0;
	if (opts->lat && !opts->bw && strcmp(arg, "lat"))
		bad_use("bad list of tests", arg);
}

enum { OPT_TIMEOUT = 256, OPT_NIC };

static const struct option long_options[] = {
	{ "server", no_argument, NULL, 's' },
	{ "transport", required_argument, NULL, 't' },
	{ "port", required_argument, NULL, 'p' },
	{ "bind", required_argument, NULL, 'b' },
	{ "once", no_argument, NULL, '1' },
	{ "tests", required_argument, NULL, 'T' },
	{ "sizes", required_argument, NULL, 'S' },
	{ "lat-sizes", required_argument, NULL, 'L' },
	{ "reps", required_argument, NULL, 'r' },
	{ "duration", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "pings", required_argument, NULL, 'P' },
	{ "wait", required_argument, NULL, 'w' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "nic", required_argument, NULL, OPT_NIC },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{}
};

/* Options of the measurement. Return: false if @opt is none. */
static bool client_option(struct bench_opts *opts, int opt, const char *arg)
{
	switch (opt) {
	case 'T':
		test_list(opts, arg);
		return true;
	case 'S':
		opts->n_sizes = size_list(arg, opts->sizes);
		return true;
	case 'L':
		opts->n_lat_sizes = size_list(arg, opts->lat_sizes);
		return true;
	case 'r':
		opts->reps = parse_number(arg, 1, BENCH_MAX_REPS);
		return true;
	case 'd':
		opts->duration_ms = parse_number(arg, 1, 3600000);
		return true;
	case 'n':
		opts->count = parse_number(arg, 1, 1ULL << 40);
		return true;
	case 'P':
		opts->pings = parse_number(arg, 1, 10000000);
		return true;
	case 'w':
		opts->wait = parse_number(arg, 0, 86400);
		return true;
	case OPT_TIMEOUT:
		opts->timeout = parse_number(arg, 1, 86400);
		return true;
	case OPT_NIC:
		nic_add(arg);
		return true;
	case 'j':
		opts->json = true;
		return true;
	default:
		return false;
	}
}

/* Options of both ends and of the server. Return: false if @opt is none. */
static bool common_option(struct bench_opts *opts, int opt, const char *arg)
{
	switch (opt) {
	case 't':
		opts->xp = xport_get(arg);
		if (!opts->xp)
			bad_use("unknown transport", arg);
		return true;
	case 'p':
		opts->port = parse_number(arg, 1, 65535);
		return true;
	case 'b':
		opts->host = arg;
		return true;
	case '4':
		opts->family = AF_INET;
		return true;
	case '6':
		opts->family = AF_INET6;
		return true;
	case '1':
		opts->once = true;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct bench_opts opts = {
		.port = BENCH_PORT,
		.family = AF_UNSPEC,
		.bw = true,
		.lat = true,
		.sizes = { 64, 4096, 65536, 1 << 20 },
		.n_sizes = 4,
		.lat_sizes = { 1 },
		.n_lat_sizes = 1,
		.reps = 5,
		.duration_ms = 400,
		.pings = 300,
		.timeout = 60,
	};
	bool server = false;
	int opt, rc;

	keep_standard();
	while ((opt = getopt_long(argc, argv, "st:p:b:461T:S:L:r:d:n:P:w:jhV",
				  long_options, NULL)) != -1) {
		if (opt == 's') {
			server = true;
		} else if (opt == 'h') {
			usage(stdout);
			return BENCH_EXIT_OK;
		} else if (opt == 'V') {
			puts("sdpbench " SDP_VERSION);
			return BENCH_EXIT_OK;
		} else if (!common_option(&opts, opt, optarg) &&
			   !client_option(&opts, opt, optarg)) {
			return BENCH_EXIT_USAGE; /* getopt has said why */
		}
	}
	if (argc - optind != !server) {
		usage(stderr);
		return BENCH_EXIT_USAGE;
	}
	if (!opts.xp)
		opts.xp = xport_get("sdp");
	if (server)
		return bench_server(&opts);
	opts.host = argv[optind];
	rc = bench_client(&opts);
	if (fflush(stdout) || ferror(stdout))
		bench_die("cannot write: %s", strerror(errno));
	return rc;
}
