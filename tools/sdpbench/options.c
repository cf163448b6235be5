// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the command line: parse it, and check that it makes sense.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sdp.h>

#include "client.h"

#ifndef SDP_VERSION
#define SDP_VERSION "unknown"
#endif

static void usage(FILE *out)
{
	fputs("Usage: sdpbench -s [OPTION]...       server\n"
	      "       sdpbench [OPTION]... HOST...  client, measures\n"
	      "\n"
	      "  -s, --server          be the server, of all clients at once\n"
	      "  -t, --transport NAME  sdp (default), tcp, rsocket or smc; of a server a\n"
	      "                        list, each at a port of its own: sdp, tcp, rsocket,\n"
	      "                        smc at the port and the three after it\n"
	      "  -p, --port N          port of the server (default 7471)\n"
	      "  -4, -6                IPv4 or IPv6 only\n"
	      "  -h, --help            this text\n"
	      "  -V, --version         the version\n"
	      "\n"
	      "Server:\n"
	      "  -b, --bind ADDR       listen on this address only\n"
	      "  -1, --once            end after the first client\n"
	      "\n"
	      "Client, what to measure:\n"
	      "  -T, --tests LIST      of bw, lat (both by default), bibw, bilat, overlap,\n"
	      "                        progress, util, hot; see sdpbench(1)\n"
	      "      --compare A,B     both transports side by side, of a server -t A,B\n"
	      "  -S, --sizes LIST      message sizes for bw, bibw, overlap, progress, util\n"
	      "  -L, --lat-sizes LIST  message sizes for lat, bilat, hot\n"
	      "      --streams N       N connections at once (bw; default 1)\n"
	      "      --window Q        at most Q messages under way (bw, overlap, util)\n"
	      "      --buffers N       messages in N buffers in turn\n"
	      "      --reuse R         R per cent of them in one buffer, others in fresh ones\n"
	      "      --cold            so many buffers that no cache holds them\n"
	      "      --compute HOW:US[,US...]  spin or sleep so long (overlap, progress)\n"
	      "      --burst N         messages of a burst (progress; default 100)\n"
	      "\n"
	      "Client, how:\n"
	      "      --wait HOW        wait for data by block (default), epoll or busy\n"
	      "      --send HOW        copy (default) or zerocopy, that is MSG_ZEROCOPY\n"
	      "      --recv HOW        copy (default) or map, that is SDP_ZEROCOPY_RECEIVE\n"
	      "      --first           real-time priority for the client\n"
	      "  -r, --reps N          repetitions; the median counts (default 5)\n"
	      "      --trim            instead the mean without the best and the worst of\n"
	      "                        10 repetitions or more\n"
	      "      --less-reply      without the time that the last reply takes\n"
	      "  -d, --duration MS     aimed time of a repetition (default 400)\n"
	      "  -n, --count N         messages or iterations of a repetition instead\n"
	      "  -P, --pings N         iterations of lat, bilat and hot (default 300)\n"
	      "  -i, --interval SEC    report every SEC seconds meanwhile (bw)\n"
	      "  -w SEC                go on trying to connect (default 0)\n"
	      "      --timeout SEC     longest time of a repetition (default 60)\n"
	      "      --nic [NETNS/]DEV[:COUNTERS]  a simulated NIC whose time, by these\n"
	      "                        counters of ethtool -S (default nic_ns), is not\n"
	      "                        that of a host\n"
	      "  -j, --json; --csv     print JSON; CSV\n"
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
	if (!errno && end != arg && !*end && *arg != '-' && val >= min &&
	    val <= max)
		return val;
	bench_warn("%s: not a number from %llu to %llu (see --help)", arg, min,
		   max);
	exit(BENCH_EXIT_USAGE);
}

static double parse_seconds(const char *arg, double min, double max)
{
	char *end;
	double val = strtod(arg, &end);

	if (end != arg && !*end && val >= min && val <= max)
		return val;
	bench_warn("%s: not a number of seconds from %g to %g (see --help)",
		   arg, min, max);
	exit(BENCH_EXIT_USAGE);
}

static const char bad_size[] = "no size, 64 and 64K and 1M are";

static uint32_t one_size(const char *arg, char **end)
{
	unsigned long long val;
	int shift = 0;

	errno = 0;
	val = strtoull(arg, end, 10);
	if (*end == arg || *arg == '-')
		bad_use(bad_size, arg);
	if (**end == 'K' || **end == 'k')
		shift = 10;
	else if (**end == 'M' || **end == 'm')
		shift = 20;
	if (shift)
		(*end)++;
	if (errno || !val || val > BENCH_MAX_SIZE >> shift)
		bad_use("sizes are from 1 to 64M", arg);
	return val << shift;
}

static void size_list(const char *arg, struct sizes *s)
{
	char *end;

	for (s->n = 0;;) {
		if (s->n == BENCH_MAX_SIZES)
			bad_use("too many sizes", arg);
		s->val[s->n++] = one_size(arg, &end);
		if (!*end)
			return;
		if (*end != ',')
			bad_use(bad_size, arg);
		arg = end + 1;
	}
}

/* Calls @one for each part of a list; the command line stays as it is */
static void each(const char *list, struct bench_opts *opts,
		 void (*one)(struct bench_opts *opts, const char *name))
{
	char *copy = strdup(list), *rest = copy, *part;

	while (copy && (part = strsep(&rest, ",")))
		one(opts, part);
	free(copy);
}

static void add_test(struct bench_opts *opts, const char *name)
{
	for (unsigned int t = 0; t < bench_n_tests; t++) {
		if (!strcmp(name, bench_tests[t].name)) {
			opts->tests |= 1U << t;
			return;
		}
	}
	bad_use("no such test, bw and lat are some", name);
}

static void add_xport(struct bench_opts *opts, const char *name)
{
	const struct xport *xp = xport_get(name);

	if (!xp)
		bad_use("unknown transport, sdp, tcp, rsocket and smc are known",
			name);
	for (unsigned int i = 0; i < opts->n_xps; i++) {
		if (opts->xps[i] == xp)
			bad_use("transport given twice", name);
	}
	/* the array has room for each transport once */
	opts->xps[opts->n_xps++] = xp;
}

/* Return: number of the name among those of @names, which NULL ends */
static int choice(const char *arg, const char *const *names, const char *help)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(arg, names[i]))
			return i;
	}
	bad_use(help, arg);
}

static void add_compute(struct bench_opts *opts, const char *us)
{
	struct sizes *s = &opts->compute;

	if (s->n == BENCH_MAX_SIZES)
		bad_use("too many amounts", us);
	s->val[s->n++] = parse_number(us, 0, 10000000);
}

static void compute_list(struct bench_opts *opts, const char *arg)
{
	bool spin = !strncmp(arg, "spin:", 5);

	if (!spin && strncmp(arg, "sleep:", 6))
		bad_use("neither spin:US nor sleep:US", arg);
	opts->compute_way = spin ? COMPUTE_SPIN : COMPUTE_SLEEP;
	opts->compute.n = 0;
	each(strchr(arg, ':') + 1, opts, add_compute);
}

enum {
	OPT_TIMEOUT = 256,
	OPT_NIC,
	OPT_COMPARE,
	OPT_STREAMS,
	OPT_WINDOW,
	OPT_BUFFERS,
	OPT_REUSE,
	OPT_COLD,
	OPT_COMPUTE,
	OPT_BURST,
	OPT_WAIT,
	OPT_SEND,
	OPT_RECV,
	OPT_FIRST,
	OPT_TRIM,
	OPT_LESS_REPLY,
	OPT_CSV,
};

static const struct option long_options[] = {
	{ "server", no_argument, NULL, 's' },
	{ "transport", required_argument, NULL, 't' },
	{ "port", required_argument, NULL, 'p' },
	{ "bind", required_argument, NULL, 'b' },
	{ "once", no_argument, NULL, '1' },
	{ "tests", required_argument, NULL, 'T' },
	{ "compare", required_argument, NULL, OPT_COMPARE },
	{ "sizes", required_argument, NULL, 'S' },
	{ "lat-sizes", required_argument, NULL, 'L' },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "buffers", required_argument, NULL, OPT_BUFFERS },
	{ "reuse", required_argument, NULL, OPT_REUSE },
	{ "cold", no_argument, NULL, OPT_COLD },
	{ "compute", required_argument, NULL, OPT_COMPUTE },
	{ "burst", required_argument, NULL, OPT_BURST },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "send", required_argument, NULL, OPT_SEND },
	{ "recv", required_argument, NULL, OPT_RECV },
	{ "first", no_argument, NULL, OPT_FIRST },
	{ "reps", required_argument, NULL, 'r' },
	{ "trim", no_argument, NULL, OPT_TRIM },
	{ "less-reply", no_argument, NULL, OPT_LESS_REPLY },
	{ "duration", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "pings", required_argument, NULL, 'P' },
	{ "interval", required_argument, NULL, 'i' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "nic", required_argument, NULL, OPT_NIC },
	{ "json", no_argument, NULL, 'j' },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{}
};

/* The subject. Return: false if @opt is no option of that. */
static bool what_option(struct bench_opts *opts, int opt, const char *arg)
{
	switch (opt) {
	case 'T':
		opts->tests = 0;
		each(arg, opts, add_test);
		return true;
	case OPT_COMPARE:
		opts->compare = true;
		opts->n_xps = 0;
		each(arg, opts, add_xport);
		return true;
	case 'S':
		size_list(arg, &opts->sizes);
		return true;
	case 'L':
		size_list(arg, &opts->lat_sizes);
		return true;
	case OPT_STREAMS:
		opts->streams = parse_number(arg, 1, BENCH_MAX_STREAMS);
		return true;
	case OPT_WINDOW:
		opts->window = parse_number(arg, 1, 1 << 20);
		return true;
	case OPT_BUFFERS:
		opts->buffers = parse_number(arg, 1, BENCH_MAX_BUFFERS);
		return true;
	case OPT_REUSE:
		opts->reuse = parse_number(arg, 0, 100);
		return true;
	case OPT_COLD:
		opts->cold = true;
		return true;
	case OPT_COMPUTE:
		compute_list(opts, arg);
		return true;
	case OPT_BURST:
		opts->burst = parse_number(arg, 1, 1000000);
		return true;
	default:
		return false;
	}
}

/* How often and how long. Return: false if @opt is no option of that. */
static bool extent_option(struct bench_opts *opts, int opt, const char *arg)
{
	switch (opt) {
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
	case 'i':
		opts->interval = parse_seconds(arg, 0.01, 3600);
		return true;
	case 'w':
		opts->wait = parse_number(arg, 0, 86400);
		return true;
	case OPT_TIMEOUT:
		opts->timeout = parse_number(arg, 1, 86400);
		return true;
	case OPT_TRIM:
		opts->trim = true;
		return true;
	case OPT_LESS_REPLY:
		opts->less_reply = true;
		return true;
	default:
		return false;
	}
}

/* Ways to send, receive and print. Return: false if @opt is no option of that. */
static bool how_option(struct bench_opts *opts, int opt, const char *arg)
{
	static const char *const waits[] = { "block", "epoll", "busy", NULL };
	static const char *const sends[] = { "copy", "zerocopy", NULL };
	static const char *const recvs[] = { "copy", "map", NULL };

	switch (opt) {
	case OPT_WAIT:
		opts->wait_way = choice(
			arg, waits,
			"--wait is block, epoll or busy; seconds to connect are -w");
		return true;
	case OPT_SEND:
		opts->zerocopy =
			choice(arg, sends, "--send is copy or zerocopy");
		return true;
	case OPT_RECV:
		opts->map = choice(arg, recvs, "--recv is copy or map");
		return true;
	case OPT_FIRST:
		opts->first = true;
		return true;
	case OPT_NIC:
		nic_add(arg);
		return true;
	case 'j':
		opts->format = FORMAT_JSON;
		return true;
	case OPT_CSV:
		opts->format = FORMAT_CSV;
		return true;
	default:
		return false;
	}
}

/* Options of both ends and of the server. Return: false if @opt is none. */
static bool common_option(struct bench_opts *opts, int opt, const char *arg)
{
	switch (opt) {
	case 's':
		opts->server = true;
		return true;
	case 't':
		opts->n_xps = 0;
		each(arg, opts, add_xport);
		return true;
	case 'p':
		opts->port = parse_number(arg, 1, 65535);
		return true;
	case 'b':
		opts->hosts[0] = arg;
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

/* Return: is one of the tests of that list chosen? */
static bool chosen(const struct bench_opts *opts, const char *names)
{
	size_t len;

	for (unsigned int t = 0; t < bench_n_tests; t++) {
		const char *p = names;

		for (len = strlen(bench_tests[t].name); p; p = strchr(p, ',')) {
			p += *p == ',';
			if (!strncmp(p, bench_tests[t].name, len) &&
			    (p[len] == ',' || !p[len]) && opts->tests >> t & 1)
				return true;
		}
	}
	return false;
}

/* Options of bw alone, which sends one buffer on several connections */
static void check_streams(const struct bench_opts *opts)
{
	bool sized = opts->buffers || opts->cold || opts->reuse >= 0;

	if ((opts->streams > 1 || opts->interval) && !chosen(opts, "bw"))
		bad_use("they are for bw", "--streams, --interval");
	if (opts->streams > 1 && chosen(opts, "hot"))
		bad_use("hot has a connection to each server", "--streams");
	if (opts->streams > 1 && sized)
		bad_use("several streams send one buffer",
			"--buffers, --reuse, --cold");
}

/* Options that would be without effect, or that exclude each other */
static void check_tests(const struct bench_opts *opts)
{
	int sized = !!opts->buffers + opts->cold;

	if (opts->reuse >= 0)
		sized++;

	if (opts->n_hosts > 1 && !chosen(opts, "hot"))
		bad_use("several servers are for -T hot", opts->hosts[1]);
	if (opts->window && !chosen(opts, "bw,overlap,util"))
		bad_use("a window is for bw, overlap and util", "--window");
	if (opts->compute.n && !chosen(opts, "overlap,progress"))
		bad_use("computation is for overlap and progress", "--compute");
	if ((sized || opts->zerocopy || opts->map) &&
	    chosen(opts, "bibw,bilat"))
		bad_use("bibw and bilat send and receive one buffer, by copies",
			"--buffers, --reuse, --cold, --send, --recv");
	if (sized > 1)
		bad_use("only one of them", "--buffers, --reuse, --cold");
	if (opts->map && opts->wait_way != WAIT_BLOCK)
		bad_use("mapped pages are waited for by block", "--wait");
	if (opts->trim && opts->reps < BENCH_TRIM_REPS)
		bad_use("a trimmed mean is that of 10 repetitions or more",
			"--reps");
	check_streams(opts);
}

/* Options of the other end; @of_client: one of the client's has been given */
static void check_end(const struct bench_opts *opts, bool of_client)
{
	if (opts->server && of_client)
		bad_use("a server takes -t, -p, -b, -1, -4 and -6 alone", "-s");
	if (!opts->server && opts->once)
		bad_use("only a server, which has -s, ends after a client",
			"-1");
	if (!opts->server && opts->hosts[0])
		bad_use("only a server, which has -s, listens", "-b");
}

static void check_xports(const struct bench_opts *opts)
{
	if (opts->compare && opts->n_xps != 2)
		bad_use("two transports are compared", "--compare");
	if (!opts->compare && !opts->server && opts->n_xps > 1)
		bad_use("a list of transports is for -s and --compare", "-t");
	if (opts->n_xps > 1 && opts->port > 65535 - BENCH_XPORTS + 1)
		bad_use("no room for a port for each transport", "--port");
	for (unsigned int i = 0; i < opts->n_xps; i++) {
		const struct xport *xp = opts->xps[i];

		if (xp->family != AF_SDP && opts->map)
			bad_use("only sdp maps what it has received",
				"--recv map");
		if (xp->family != AF_SDP && !opts->server &&
		    chosen(opts, "util"))
			bad_use("only sdp tells how much of its memory is in use",
				"-T util");
		if (!xp->kernel &&
		    (opts->zerocopy || opts->wait_way == WAIT_EPOLL))
			bad_use("rsocket has neither",
				"--send zerocopy, --wait epoll");
		if (xp->family == AF_SMC && opts->zerocopy)
			bad_use("smc has no MSG_ZEROCOPY", "--send zerocopy");
	}
}

/**
 * options() - read the command line
 * @opts: filled in
 * @argc: as of main()
 * @argv: as of main()
 *
 * Does not return on wrong use, and after --help and --version.
 */
void options(struct bench_opts *opts, int argc, char **argv)
{
	bool of_client = false;
	int opt;

	*opts = (struct bench_opts){
		.port = BENCH_PORT,
		.family = AF_UNSPEC,
		.duration_ms = 400,
		.pings = 300,
		.timeout = 60,
		.streams = 1,
		.reuse = -1,
		.burst = 100,
	};
	while ((opt = getopt_long(argc, argv, "st:p:b:461T:S:L:r:d:n:P:i:w:jhV",
				  long_options, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			flush_output();
			exit(BENCH_EXIT_OK);
		} else if (opt == 'V') {
			puts("sdpbench " SDP_VERSION);
			flush_output();
			exit(BENCH_EXIT_OK);
		} else if (common_option(opts, opt, optarg)) {
			continue;
		} else if (what_option(opts, opt, optarg) ||
			   extent_option(opts, opt, optarg) ||
			   how_option(opts, opt, optarg)) {
			of_client = true;
		} else {
			/* getopt has said why */
			fputs("See 'sdpbench --help'.\n", stderr);
			exit(BENCH_EXIT_USAGE);
		}
	}
	check_end(opts, of_client);
	if ((argc - optind > 0) == opts->server) {
		if (opts->server)
			bad_use("a server takes no host, -b has its address",
				argv[optind]);
		bench_warn(
			"give the host of a server, or -s to be one (see --help)");
		exit(BENCH_EXIT_USAGE);
	}
	if (!opts->n_xps)
		add_xport(opts, "sdp");
	if (!opts->tests && !opts->server)
		each("bw,lat", opts, add_test);
	if (!opts->reps)
		opts->reps = opts->trim ? BENCH_TRIM_REPS : 5;
	if (argc - optind > BENCH_MAX_HOSTS)
		bad_use("too many servers", argv[optind + BENCH_MAX_HOSTS]);
	for (; optind < argc; optind++)
		opts->hosts[opts->n_hosts++] = argv[optind];
	check_xports(opts);
	check_tests(opts);
}
