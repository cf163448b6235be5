// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: shows SDP sockets and counters. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../keep_standard.h"
#include "sdpstat.h"

#ifndef SDP_VERSION
#define SDP_VERSION "unknown"
#endif

static const struct option long_options[] = {
	{ "listening", no_argument, NULL, 'l' },
	{ "all", no_argument, NULL, 'a' },
	{ "numeric", no_argument, NULL, 'n' },
	{ "resolve", no_argument, NULL, 'r' },
	{ "processes", no_argument, NULL, 'p' },
	{ "extended", no_argument, NULL, 'e' },
	{ "counters", no_argument, NULL, 's' },
	{ "zeros", no_argument, NULL, 'z' },
	{ "json", no_argument, NULL, 'j' },
	{ "interval", required_argument, NULL, 'i' },
	{ "count", required_argument, NULL, 'c' },
	{ "kill", required_argument, NULL, 'K' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *f)
{
	fputs("Usage: sdpstat [OPTION]...\n"
	      "       sdpstat stack [OPTION]... [DEV [QPN]]\n"
	      "       sdpstat check [OPTION]... HOST:PORT\n"
	      "Shows the SDP sockets of this network namespace: connected ones, if nothing\n"
	      "else is asked for.\n"
	      "\n"
	      "  -l, --listening      listening sockets only\n"
	      "  -a, --all            all sockets; with -s the counters that are zero, too\n"
	      "  -p, --processes      the processes that hold a socket\n"
	      "  -e, --extended       all there is to know about a socket\n"
	      "  -n, --numeric        addresses as numbers (the default)\n"
	      "  -r, --resolve        addresses as names\n"
	      "  -s, --counters       counters instead of sockets\n"
	      "  -z, --zeros          counters that are zero, too\n"
	      "  -i, --interval=SEC   again every SEC seconds, with what has changed\n"
	      "  -c, --count=N        no more than N times\n"
	      "  -j, --json           JSON, one object per line\n"
	      "  -K, --kill=COOKIE    end the connection that -e shows as sk:COOKIE\n"
	      "  -h, --help           this text\n"
	      "  -V, --version        the version\n"
	      "\n"
	      "Credits are messages: those we may send / those the peer may send.\n"
	      "sdpstat stack shows which protocol component of an RDMA device is where:\n"
	      "see 'sdpstat stack --help'. sdpstat check explains whether a connection would\n"
	      "be an SDP one: see 'sdpstat check --help'.\n"
	      "See sdpstat(8).\n",
	      f);
}

static double parse_seconds(const char *arg)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(arg, &end);
	if (errno || end == arg || *end || !(v >= 0.01 && v <= 86400))
		bad_use(arg, "no number of seconds (0.01 to 86400)");
	return v;
}

static void parse_option(struct options *o, int c)
{
	switch (c) {
	case 'l':
		o->states = STATES_LISTEN;
		break;
	case 'a':
		o->states = STATES_ALL;
		o->zeros = true;
		break;
	case 'n':
		o->resolve = false;
		break;
	case 'r':
		o->resolve = true;
		break;
	case 'p':
		o->processes = true;
		break;
	case 'e':
		o->extended = true;
		break;
	case 's':
		o->counters = true;
		break;
	case 'z':
		o->zeros = true;
		break;
	case 'j':
		o->json = true;
		break;
	case 'i':
		o->interval = parse_seconds(optarg);
		break;
	case 'c':
		o->count = parse_number(optarg, 10, "no number of times");
		break;
	case 'K':
		o->kill_cookie = parse_number(optarg, 16, "no cookie");
		break;
	case 'h':
		usage(stdout);
		exit(0);
	case 'V':
		puts("sdpstat " SDP_VERSION);
		exit(0);
	default:
		fputs("See 'sdpstat --help'.\n", stderr);
		exit(2);
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "lanrpeszji:c:K:hV", long_options,
				NULL)) != -1)
		parse_option(o, c);
	if (optind < argc)
		bad_use(argv[optind], "an unexpected argument");
	if (o->count && !o->interval)
		o->interval = 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void wait_interval(double seconds)
{
	time_t whole = seconds;
	struct timespec ts = { .tv_sec = whole,
			       .tv_nsec = (seconds - whole) * 1e9 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void show_counters(const struct options *o, bool first)
{
	static uint64_t v[COUNTERS_MAX], old[COUNTERS_MAX];
	static double then;
	double t = now();
	struct json j;
	unsigned int n;

	memcpy(old, v, sizeof(old));
	n = counters_get(v);
	if (o->json) {
		json_start(&j, stdout);
		if (!first)
			json_double(&j, "seconds", t - then);
		counters_json(&j, v, first ? NULL : old, n, o);
		json_end(&j);
	} else {
		counters_print(v, first ? NULL : old, n, t - then, o);
	}
	then = t;
}

static void show_sockets(const struct options *o, bool first)
{
	static struct sock_list list, old;
	static double then;
	struct sock_list tmp = old;
	double t = now();
	struct json j;

	old = list;
	list = tmp;
	sockets_get(&list, o);
	if (o->processes)
		processes_scan();
	if (o->json) {
		json_start(&j, stdout);
		if (!first)
			json_double(&j, "seconds", t - then);
		sockets_json(&j, &list, first ? NULL : &old, t - then, o);
		json_end(&j);
	} else {
		sockets_print(&list, first ? NULL : &old, t - then, o);
	}
	then = t;
}

int main(int argc, char **argv)
{
	struct options o = { .states = STATES_DEFAULT };
	unsigned long i;

	keep_standard();
	if (argc > 1 && !strcmp(argv[1], "stack"))
		return stack_main(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "check"))
		return check_main(argc - 1, argv + 1);
	parse(&o, argc, argv);
	if (o.kill_cookie) {
		socket_destroy(o.kill_cookie);
		return 0;
	}

	for (i = 0;; i++) {
		if (i && !o.json)
			putchar('\n');
		if (o.counters)
			show_counters(&o, !i);
		else
			show_sockets(&o, !i);
		flush_output();
		if (!o.interval || (o.count && i + 1 >= o.count))
			break;
		wait_interval(o.interval);
	}
	return 0;
}
