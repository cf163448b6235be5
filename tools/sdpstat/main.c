// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: shows SDP sockets and counters. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
	{ "kill", optional_argument, NULL, 'K' },
	{ "help", no_argument, NULL, 'h' },
	{ "openmetrics", no_argument, NULL, 'M' },
	{ "no-header", no_argument, NULL, 'H' },
	{ "oneline", no_argument, NULL, 'O' },
	{ "tcp", no_argument, NULL, 't' },
	{ "watch", no_argument, NULL, 'w' },
	{ "events", no_argument, NULL, 'E' },
	{ "summary", no_argument, NULL, 'S' },
	{ "context", no_argument, NULL, 'Z' },
	{ "changes", no_argument, NULL, 'C' },
	{ "threads", no_argument, NULL, 'T' },
	{ "ipv4", no_argument, NULL, '4' },
	{ "ipv6", no_argument, NULL, '6' },
	{ "filter", required_argument, NULL, 'F' },
	{ "no-queues", no_argument, NULL, 'Q' },
	{ "bound-inactive", no_argument, NULL, 'B' },
	{ "net", required_argument, NULL, 'N' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *f)
{
	fputs("Usage: sdpstat [OPTION]... [FILTER]\n"
	      "       sdpstat -s|-C|-M [OPTION]... [COUNTER]...\n"
	      "       sdpstat advise [-j]\n"
	      "       sdpstat stack [OPTION]... [DEV [QPN]]\n"
	      "       sdpstat check [OPTION]... HOST:PORT\n"
	      "Shows the SDP sockets of this network namespace: connected ones, if nothing\n"
	      "else is asked for.\n"
	      "\n"
	      "  -l, --listening      listening sockets only\n"
	      "  -a, --all            all sockets; with -s the counters that are zero, too\n"
	      "  -B, --bound-inactive sockets with a port that neither listen nor connect\n"
	      "  -E, --events         states of sockets as they change, until interrupted\n"
	      "  -S, --summary        how many sockets there are, by state, family and device\n"
	      "  -p, --processes      the processes that hold a socket\n"
	      "  -Z, --context        as -p, with the security labels of process and socket\n"
	      "  -e, --extended       all there is to know about a socket\n"
	      "  -T, --threads        as -p, with each thread that has the socket\n"
	      "  -4, --ipv4           sockets of IPv4 only; -6, --ipv6: of IPv6\n"
	      "  -F, --filter=FILE    the filter in FILE (-: standard input)\n"
	      "  -t, --tcp            state of the TCP connection below a socket\n"
	      "  -n, --numeric        addresses as numbers (the default)\n"
	      "  -r, --resolve        addresses as names\n"
	      "  -s, --counters       counters instead of sockets\n"
	      "  -C, --changes        counters since the last call with -C, by this user\n"
	      "  -z, --zeros          counters that are zero, too\n"
	      "  -i, --interval=SEC   again every SEC seconds, with what has changed\n"
	      "  -c, --count=N        no more than N times\n"
	      "  -w, --watch          as -i 1, what moves most first; in place on a terminal\n"
	      "  -H, --no-header      no line of headings\n"
	      "  -Q, --no-queues      no columns for the queues\n"
	      "  -O, --oneline        with -e all of a socket in one line\n"
	      "  -N, --net=NAME       of that network namespace (ip-netns(8)), or of a process\n"
	      "  -j, --json           JSON, one object per line\n"
	      "  -M, --openmetrics    counters for Prometheus and its like\n"
	      "  -K, --kill           end the sockets of the filter, and show which; or with\n"
	      "      [=COOKIE]        what -e shows as sk:COOKIE that one\n"
	      "  -h, --help           this text\n"
	      "  -V, --version        the version\n"
	      "\n"
	      "FILTER is as with ss: [state STATE] [EXPRESSION], as in\n"
	      "'state established ( dport = :6379 or src 10.0.0.0/8 )'. COUNTER is a name or\n"
	      "a pattern, as in 'tx_*'.\n"
	      "sdpstat stack shows which protocol component of an RDMA device is where:\n"
	      "see 'sdpstat stack --help'. sdpstat check explains whether a connection would\n"
	      "be an SDP one: see 'sdpstat check --help'. sdpstat advise says what the counters\n"
	      "call for.\n"
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

/* NAME as ip-netns(8) has it, or the number of a process */
static void enter_namespace(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path),
		 name[strspn(name, "0123456789")] ? "/run/netns/%s" :
						    "/proc/%s/ns/net",
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if ((fd < 0 && errno == ENOENT) || strstr(name, ".."))
		die("there is no network namespace %s: 'ip netns' lists those that have names",
		    name);
	if (fd < 0)
		die("cannot open the network namespace of %s: %s", name,
		    strerror(errno));
	if (setns(fd, CLONE_NEWNET))
		die("cannot go to the network namespace %s: %s", name,
		    strerror(errno));
	close(fd);
}

/* The switch that option @c sets, if that is all it does; else NULL */
static bool *find_switch(struct options *o, int c)
{
	switch (c) {
	case 'r':
		return &o->resolve;
	case 'p':
		return &o->processes;
	case 'e':
		return &o->extended;
	case 's':
		return &o->counters;
	case 'z':
		return &o->zeros;
	case 'j':
		return &o->json;
	case 'M':
		return &o->metrics;
	case 'H':
		return &o->no_header;
	case 'O':
		return &o->one_line;
	case 't':
		return &o->tcp;
	case 'w':
		return &o->watch;
	case 'S':
		return &o->summary;
	case 'Z':
		return &o->context;
	case 'T':
		return &o->threads;
	case 'Q':
		return &o->no_queues;
	default:
		return NULL;
	}
}

/* Options with an argument; false if it is none of them */
static bool parse_argument(struct options *o, int c)
{
	switch (c) {
	case 'F':
		if (o->filter_path)
			bad_use("-F",
				"for one file: join the filters by 'and'");
		o->filter_path = optarg;
		break;
	case 'N':
		enter_namespace(optarg);
		break;
	case 'i':
		o->interval = parse_seconds(optarg);
		break;
	case 'c':
		o->count = parse_number(optarg, 10, "no number of times");
		break;
	case 'K':
		o->kill = true;
		if (optarg)
			o->kill_cookie = parse_number(optarg, 16, "no cookie");
		break;
	default:
		return false;
	}
	return true;
}

static void parse_option(struct options *o, int c)
{
	bool *on = find_switch(o, c);

	if (on) {
		*on = true;
		return;
	}
	if (parse_argument(o, c))
		return;
	switch (c) {
	case 'E':
		o->events = true;
		break;
	case 'l':
		o->states = STATES_LISTEN;
		o->states_given = true;
		break;
	case 'a':
		o->states = STATES_ALL;
		o->states_given = true;
		o->zeros = true;
		break;
	case 'n':
		o->resolve = false;
		break;
	case 'C':
		o->changes = true;
		o->counters = true;
		break;
	case 'B':
		o->bound = true;
		o->states = 1u << STATE_CLOSE;
		break;
	case '4':
		o->family = AF_INET;
		break;
	case '6':
		o->family = AF_INET6;
		break;
	case 'h':
		usage(stdout);
		flush_output();
		exit(0);
	case 'V':
		puts("sdpstat " SDP_VERSION);
		flush_output();
		exit(0);
	default:
		fputs("See 'sdpstat --help'.\n", stderr);
		exit(2);
	}
}

/* Of the options that are for sockets alone, one that is given */
static const char *socket_option(const struct options *o)
{
	const struct {
		bool on;
		const char *name;
	} options[] = {
		{ o->states == STATES_LISTEN, "-l" },
		{ o->bound, "-B" },
		{ o->events, "-E" },
		{ o->summary, "-S" },
		{ o->context, "-Z" },
		{ o->threads, "-T" },
		{ o->processes, "-p" },
		{ o->extended, "-e" },
		{ o->tcp, "-t" },
		{ o->resolve, "-r" },
		{ o->family == AF_INET, "-4" },
		{ o->family == AF_INET6, "-6" },
		{ o->kill, "-K" },
		{ o->filter_path, "-F" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].on)
			return options[i].name;
	return NULL;
}

/* Options that would be without effect, or that exclude each other */
static void check_use(const struct options *o)
{
	const char *name = socket_option(o);

	if (o->metrics && o->json)
		bad_use("-M", "a format of its own: leave out -j");
	if (o->metrics && (o->changes || o->watch))
		bad_use("-M", "totals: leave out -C and -w");
	if ((o->counters || o->metrics) && name)
		bad_use(name, "for sockets: leave it out with -s, -C and -M");
	if (o->events && (o->summary || o->interval || o->watch))
		bad_use("-E", "changes as they come: leave out -S, -i and -w");
	if (o->events && (o->bound || o->processes || o->extended || o->tcp ||
			  o->threads || o->context))
		bad_use("-E",
			"states, addresses and devices alone: leave out -B, -e, -p, -T, -t and -Z");
	if (o->kill && (o->events || o->summary || o->interval || o->watch ||
			o->count || o->bound))
		bad_use("-K",
			"for connections and listeners, once: leave out -B, -c, -E, -i, -S and -w");
}

/* -K has a cookie as an argument, too */
static void parse_kill(struct options *o, int *n, char **args)
{
	if (*n == 1 && !o->kill_cookie &&
	    !args[0][strspn(args[0], "0123456789abcdefABCDEF")]) {
		o->kill_cookie = parse_number(args[0], 16, "no cookie");
		*n = 0;
	}
	if (o->kill_cookie && (*n || o->filter_path))
		bad_use("-K COOKIE", "for one socket: leave out the filter");
}

/* Without a filter, as after a forgotten word or an empty file, -K would end all sockets */
static void check_kill(const struct options *o)
{
	if (o->kill && !o->kill_cookie && !o->filter && !o->states_given)
		bad_use("-K",
			"for a cookie, which -e shows, or a filter: 'state connected' is that of all connections");
}

/* Refuses a pattern that fits no counter: it may be meant as a filter of sockets */
static void check_patterns(char **patterns)
{
	struct options one = { .patterns = (char *[]){ NULL, NULL } };
	unsigned int id;

	for (; *patterns; patterns++) {
		one.patterns[0] = *patterns;
		for (id = SDP_MIB_PAD + 1; id < COUNTERS_MAX; id++)
			if (counter_wanted(&one, id))
				break;
		if (id == COUNTERS_MAX)
			bad_use(*patterns,
				"no name of counters, as -s -z lists them, and counters are not of one socket");
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	int c, n;

	while ((c = getopt_long(argc, argv,
				"lanrpetszjMHOwESZCTQB46F:N:i:c:K::hV",
				long_options, NULL)) != -1)
		parse_option(o, c);
	if (optind < argc && o->filter_path)
		bad_use(argv[optind], "a second filter, beside that of -F");
	check_use(o);
	if (o->counters || o->metrics) {
		o->patterns = argv + optind;
		check_patterns(o->patterns);
		return;
	}
	if ((o->summary || o->events) && o->states == STATES_DEFAULT)
		o->states = STATES_ALL;
	n = argc - optind;
	if (o->kill)
		parse_kill(o, &n, argv + optind);
	if (o->filter_path)
		filter_file(o, o->filter_path);
	else
		filter_parse(o, n, argv + optind);
	check_kill(o);
	if (o->events && !filter_of_events(o->filter))
		bad_use("-E",
			"changes, which have no mark and no control group: leave out fwmark and cgroup");
	o->processes |= o->context || o->threads;
}

/* -c and -w have an interval; -E has events instead */
static void set_interval(struct options *o)
{
	if (!o->events && (o->count || o->watch) && !o->interval)
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

/*
 * If a counter is lower than at the last call, the module was loaded again since, and counters
 * are compared with 0. Return: has there been a last call?
 */
static bool since_last_call(uint64_t old[COUNTERS_MAX], const uint64_t *v,
			    unsigned int n, double t, double *then)
{
	bool any = history_read(old, then);
	unsigned int i;

	for (i = SDP_MIB_PAD + 1; i < n; i++)
		if (!counter_gauge(i) && old[i] > v[i])
			memset(old, 0, COUNTERS_MAX * sizeof(*old));
	history_write(v, n, t);
	return any;
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
	if (o->changes)
		first = !since_last_call(old, v, n, t, &then);
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

static void select_sockets(struct sock_list *list, const struct options *o)
{
	size_t i, n = 0;

	for (i = 0; i < list->n; i++)
		if ((!o->family || list->v[i].family == o->family) &&
		    (!o->bound || list->v[i].sport) &&
		    filter_fits(o->filter, &list->v[i]))
			list->v[n++] = list->v[i];
	list->n = n;
}

/* Does the terminal have colours, and are they welcome (https://no-color.org)? */
static bool has_colours(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return term && *term && strcmp(term, "dumb") &&
	       !(no_color && *no_color);
}

/* In place of the last listing, as much as there is room for */
static void begin_screen(struct options *o)
{
	struct winsize size;

	if (!o->watch || o->json || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	fputs("\033[H\033[J", stdout);
	/* one for the cursor; a terminal that does not know its size says 0 */
	o->lines = size.ws_row > 1 ? size.ws_row - 1 : 0;
	o->line_columns = size.ws_col ? size.ws_col : 80;
	o->colours = has_colours();
}

static void show_metrics(const struct options *o)
{
	static uint64_t v[COUNTERS_MAX];
	unsigned int n = counters_get(v);

	counters_metrics(v, n, o);
}

/* Those of the options and the filter, with what there is to know about them */
static void get_selected(struct sock_list *list, const struct options *o)
{
	sockets_get(list, o);
	select_sockets(list, o);
	if (o->processes)
		processes_scan(o->threads);
	if (o->tcp)
		tcp_get(list);
}

static void show_list(const struct sock_list *list, const struct sock_list *old,
		      double seconds, const struct options *o)
{
	struct json j;

	if (!o->json) {
		sockets_print(list, old, seconds, o);
		return;
	}
	json_start(&j, stdout);
	if (old)
		json_double(&j, "seconds", seconds);
	sockets_json(&j, list, old, seconds, o);
	json_end(&j);
}

static void show_sockets(const struct options *o, bool first)
{
	static struct sock_list list, old;
	static double then;
	struct sock_list tmp = old;
	double t = now();

	old = list;
	list = tmp;
	sockets_keep(&old);
	get_selected(&list, o);
	if (o->summary)
		summary_show(&list, o);
	else
		show_list(&list, first ? NULL : &old, t - then, o);
	then = t;
}

/* Only sockets that this call has ended are shown: others may have ended by themselves */
static void kill_sockets(struct options *o)
{
	struct sock_list list = { 0 };
	struct query q = { 0 };
	size_t i, n = 0;
	int err = 0;

	if (o->kill_cookie) {
		err = socket_destroy(o->kill_cookie, &q);
		if (!err)
			return;
		destroy_fail(&q, err);
		die("no SDP socket has the cookie %llx: see 'sdpstat -ae'",
		    (unsigned long long)o->kill_cookie);
	}
	/* a closed socket has nothing to end */
	o->states &= ~(1u << STATE_CLOSE);
	get_selected(&list, o);
	for (i = 0; i < list.n && (!err || err == ENOENT); i++) {
		err = socket_destroy(list.v[i].cookie, &q);
		if (!err)
			list.v[n++] = list.v[i];
	}
	list.n = n;
	if (n || !err || err == ENOENT)
		show_list(&list, NULL, 0, o);
	flush_output();
	if (err)
		destroy_fail(&q, err);
}

static void advise_usage(FILE *f)
{
	fputs("Usage: sdpstat advise [-j]\n"
	      "Looks at the counters of this network namespace since the module was loaded,\n"
	      "and says which of them call for a change, and for which one.\n"
	      "\n"
	      "  -j, --json   JSON\n"
	      "  -h, --help   this text\n",
	      f);
}

static int advise_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	static uint64_t v[COUNTERS_MAX];
	bool json = false;
	struct json j;
	int c;

	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			advise_usage(stdout);
			flush_output();
			return 0;
		default:
			fputs("See 'sdpstat advise --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc)
		bad_use(argv[optind], "an unexpected argument");
	counters_get(v);
	if (json) {
		json_start(&j, stdout);
		json_open(&j, "advice", '[');
		advise(&j, v);
		json_close(&j, ']');
		json_end(&j);
	} else if (!advise(NULL, v)) {
		puts("no counter calls for a change");
	}
	flush_output();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*main)(int argc, char **argv);
	} commands[] = {
		{ "stack", stack_main },
		{ "advise", advise_main },
		{ "check", check_main },
	};
	struct options o = { .states = STATES_DEFAULT };
	unsigned long i;
	char name[32];

	keep_standard();
	for (i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		/* as getopt(3) is to name us */
		snprintf(name, sizeof(name), "sdpstat %s", argv[1]);
		argv[1] = name;
		return commands[i].main(argc - 1, argv + 1);
	}
	parse(&o, argc, argv);
	set_interval(&o);
	if (o.kill) {
		kill_sockets(&o);
		return 0;
	}
	if (o.events)
		events_show(&o);

	for (i = 0;; i++) {
		if (i && !o.json && !o.watch && !o.metrics)
			putchar('\n');
		begin_screen(&o);
		if (o.metrics)
			show_metrics(&o);
		else if (o.counters)
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
