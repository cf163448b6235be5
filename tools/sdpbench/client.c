// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the active end: connections to the servers, and repetitions of what a
 * test does. Calls the protocol and the transport layer.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "mark.h"

#define MAX_COUNT (1ULL << 40)
/* Seconds within which a server answers the first request, without those for its memory */
#define ANSWER_S 1
/* Bytes a second that a slow server fills before it answers */
#define FILL_RATE 50e6
/* Ticks of /proc/stat are 10 ms: a shorter measurement gives no figure */
#define HOST_S 0.2
/* Round trips that tell how long a reply takes */
#define REPLY_PINGS 100

/* ---- time limits ---- */

static char limit_text[256];

static void limit_reached(int sig)
{
	(void)sig;
	if (write(STDERR_FILENO, limit_text, strlen(limit_text)) < 0)
		_exit(BENCH_EXIT_FAILED);
	_exit(BENCH_EXIT_STALLED);
}

static BENCH_PRINTF(2, 3) void limit(double seconds, const char *fmt, ...)
{
	struct itimerval it = {
		.it_value = { .tv_sec = seconds,
			      .tv_usec = (seconds - (long)seconds) * 1e6 },
	};
	va_list ap;
	int n;

	n = snprintf(limit_text, sizeof(limit_text), "sdpbench: ");
	va_start(ap, fmt);
	vsnprintf(limit_text + n, sizeof(limit_text) - n - 1, fmt, ap);
	va_end(ap);
	strcat(limit_text, "\n");
	signal(SIGALRM, limit_reached);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void limit_repetition(const struct client *cl)
{
	limit(cl->opts->timeout, "the repetition did not end within --timeout");
}

/* ---- calls of a test's run() ---- */

static noreturn void broken(const struct conn *c)
{
	bench_die("%s: connection: %s", c->xp->name, strerror(errno));
}

/**
 * client_request() - send a request to the server
 * @c: connection
 * @req: the request
 */
void client_request(struct conn *c, const struct proto_msg *req)
{
	if (proto_send(c, req))
		broken(c);
}

/**
 * client_reply() - await the reply to a request
 * @c: connection
 * @op: the operation of the request
 * @reply: filled in
 */
void client_reply(struct conn *c, enum proto_op op, struct proto_msg *reply)
{
	if (proto_recv(c, reply))
		broken(c);
	if (reply->op != op)
		bench_die("reply to another request: %u", reply->op);
	if (reply->size)
		bench_die("the server refuses: %s", strerror(reply->size));
}

/**
 * client_send() - send a message in the way asked for
 * @c: connection
 * @buf: bytes
 * @len: their number
 */
void client_send(struct conn *c, const void *buf, size_t len)
{
	if (conn_send_message(c, buf, len))
		broken(c);
}

/**
 * client_recv() - receive @len bytes
 * @c: connection
 * @buf: buffer
 * @len: bytes
 */
void client_recv(struct conn *c, void *buf, size_t len)
{
	if (conn_recv(c, buf, len))
		broken(c);
}

/* ---- repetitions ---- */

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		return 0;
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * Adds one repetition to @s, with marks if it has a number and so counts. Return: seconds
 * that it took, without the time of NICs unless @job says with_nic
 */
static double once(struct client *cl, struct job *job, struct series *s)
{
	struct host_time host;
	uint64_t cpu, nic;
	double start, sec, nic_sec;

	buffers_renew(&job->bufs);
	limit_repetition(cl);
	host = host_time();
	nic = nic_ns();
	cpu = own_cpu_ns();
	if (job->repetition)
		bench_mark_start();
	start = bench_now();
	job->run(cl, job);
	sec = bench_now() - start;
	if (job->repetition)
		bench_mark_stop();
	s->cpu_local += own_cpu_ns() - cpu;
	nic_sec = (nic_ns() - nic) * 1e-9;
	s->local.busy += host_time().busy - host.busy;
	s->local.softirq += host_time().softirq - host.softirq;
	s->total += sec;
	s->nic += nic_sec;
	s->cpu_peer += job->reply.count;
	s->peer.busy += job->reply.arg[REPLY_BUSY];
	s->peer.softirq += job->reply.arg[REPLY_SOFTIRQ];
	s->util += job->reply.arg[REPLY_UTIL] * 1e-6 *
		   job->reply.arg[REPLY_SAMPLES];
	s->samples += job->reply.arg[REPLY_SAMPLES];
	if (!job->with_nic)
		sec -= nic_sec;
	/* engines that work at the same time, or other counters */
	if (sec <= 0)
		bench_die("NICs worked for %.6f s, longer than it took",
			  nic_sec);
	return sec;
}

/* Doubles the number of messages until they take at least half of the time asked for. */
static void calibrate(struct client *cl, struct job *job)
{
	struct series unused = { 0 };

	job->count = cl->opts->count ? cl->opts->count : job->first;
	while (once(cl, job, &unused) * 1000 < cl->opts->duration_ms / 2. &&
	       !cl->opts->count && job->count < MAX_COUNT)
		job->count *= 2;
}

/**
 * client_measure() - run the repetitions of a test, after one that does not count
 * @cl: client
 * @job: the work; its buffers are opened, used and closed here
 * @s: filled in
 */
void client_measure(struct client *cl, struct job *job, struct series *s)
{
	double *us = job->us;

	*s = (struct series){ .n = cl->opts->reps };
	limit_repetition(cl);
	job->repetition = 0;
	buffers_open(&job->bufs, cl->opts, job->size);
	if (job->count)
		once(cl, job, s);
	else
		calibrate(cl, job);
	*s = (struct series){ .n = cl->opts->reps };
	for (unsigned int i = 0; i < s->n; i++) {
		if (us)
			job->us = us + i * job->count;
		job->repetition = i + 1;
		s->sec[i] = once(cl, job, s);
	}
	job->us = us;
	buffers_close(&job->bufs);
}

/* ---- results ---- */

/**
 * client_result() - begin a row
 * @cl: client
 * @res: filled in
 * @job: the work that was measured
 * @test: name of the test
 */
void client_result(const struct client *cl, struct result *res,
		   const struct job *job, const char *test)
{
	const struct bench_opts *opts = cl->opts;

	*res = (struct result){
		.transport = cl->xp->name,
		.test = test,
		.size = job->size,
	};
	if (opts->window)
		result_set(res, F_WINDOW, opts->window);
	if (opts->buffers)
		result_set(res, F_BUFFERS, opts->buffers);
	if (opts->reuse >= 0)
		result_set(res, F_REUSE, opts->reuse);
}

/**
 * client_row() - report a row, and keep it for a comparison
 * @cl: client
 * @res: the row
 * @f: the figure that counts
 * @more_is_better: whether that of the better transport is the larger one
 */
void client_row(const struct client *cl, struct result *res, enum field f,
		bool more_is_better)
{
	if (cl->opts->compare)
		compare_add(res, f, more_is_better);
	report_row(cl->opts, res);
}

/**
 * client_hosts() - fill in the load of both hosts, in per cent of one processor
 * @s: repetitions
 * @res: row
 */
void client_hosts(const struct series *s, struct result *res)
{
	if (s->total < HOST_S)
		return;
	result_set(res, F_HOST_TX, s->local.busy / s->total / 1e7);
	result_set(res, F_HOST_RX, s->peer.busy / s->total / 1e7);
	result_set(res, F_SOFTIRQ_TX, s->local.softirq / s->total / 1e7);
	result_set(res, F_SOFTIRQ_RX, s->peer.softirq / s->total / 1e7);
}

/**
 * client_bandwidth() - fields of a test of bandwidth
 * @cl: client
 * @s: repetitions
 * @job: their work
 * @ways: by which the bytes of @job are multiplied: number of streams, 2 if as much came back
 * @res: row
 */
void client_bandwidth(const struct client *cl, struct series *s,
		      const struct job *job, double ways, struct result *res)
{
	double bytes = ways * job->count * job->size, all = bytes * s->n;
	struct summary rate;

	for (unsigned int i = 0; i < s->n; i++) {
		if (s->sec[i] <= cl->reply)
			bench_die(
				"a repetition takes no longer than its reply: use a larger --count or --duration");
		s->sec[i] = bytes / (s->sec[i] - cl->reply) / 1e6;
	}
	rate = summarize(s->sec, s->n, cl->opts->trim);
	result_set(res, F_MESSAGES, job->count);
	result_set(res, F_MBPS, rate.mid);
	result_set(res, F_MBPS_MIN, rate.min);
	result_set(res, F_MBPS_MAX, rate.max);
	result_set(res, F_RATE, rate.mid * 1e6 / job->size);
	result_set(res, F_NS_PER_BYTE, 1e3 / rate.mid);
	result_set(res, F_NIC_PER_BYTE, s->nic * 1e9 / all);
	result_set(res, F_CPU_TX, s->cpu_local / all);
	result_set(res, F_CPU_RX, s->cpu_peer / all);
	result_set(res, F_CPU_PER_BYTE, (s->cpu_local + s->cpu_peer) / all);
	if (cl->opts->trim)
		result_set(res, F_TRIM, rate.mid);
	if (s->n > 1)
		result_set(res, F_CI95, rate.ci95);
	client_hosts(s, res);
}

static struct summary means(const struct client *cl, const struct series *s,
			    const struct job *job, double parts)
{
	double val[BENCH_MAX_REPS];

	for (unsigned int i = 0; i < s->n; i++) {
		val[i] = 0;
		for (uint64_t k = 0; k < job->count; k++)
			val[i] += job->us[i * job->count + k];
		val[i] /= parts * job->count;
	}
	return summarize(val, s->n, cl->opts->trim);
}

/**
 * client_latency() - fields of a test of latency
 * @cl: client
 * @s: repetitions
 * @job: their work; the times of iterations are sorted here
 * @parts: by which the time of an iteration is divided
 * @res: row
 */
void client_latency(const struct client *cl, struct series *s, struct job *job,
		    double parts, struct result *res)
{
	struct summary mean = means(cl, s, job, parts);
	size_t n = job->count * s->n;
	static const struct {
		enum field f;
		double percent;
	} p[] = {
		{ F_P50, 50 }, { F_P90, 90 }, { F_P99, 99 }, { F_P999, 99.9 }
	};

	sort_values(job->us, n);
	result_set(res, F_PINGS, n);
	result_set(res, F_LAT_US,
		   cl->opts->trim ? mean.mid : job->us[n / 2] / parts);
	result_set(res, F_LAT_MIN, job->us[0] / parts);
	for (size_t i = 0; i < sizeof(p) / sizeof(*p); i++)
		result_set(res, p[i].f,
			   percentile(job->us, n, p[i].percent) / parts);
	result_set(res, F_CPU_US,
		   (s->cpu_local + s->cpu_peer) / 1e3 / (2. * n));
	result_set(res, F_NIC_US, s->nic * 1e6 / (2. * n));
	if (cl->opts->trim)
		result_set(res, F_TRIM, mean.mid);
	if (s->n > 1)
		result_set(res, F_CI95, mean.ci95);
	client_hosts(s, res);
}

/* ---- connections ---- */

static void set_ways(struct conn *c, const struct bench_opts *opts)
{
	if (conn_set_wait(c, opts->wait_way))
		bench_die("%s cannot wait in that way: %s", c->xp->name,
			  strerror(errno));
	if (opts->map && conn_set_map(c))
		bench_die("%s cannot map what it receives: %s", c->xp->name,
			  strerror(errno));
	if (opts->zerocopy && conn_set_zerocopy(c))
		bench_die("%s cannot send without copies: %s", c->xp->name,
			  strerror(errno));
}

static noreturn void no_hello(const struct conn *c, const char *host,
			      uint16_t port)
{
	if (errno == EPROTONOSUPPORT)
		bench_die(
			"the server at %s port %u is an sdpbench of protocol %u, this one speaks %u: use the same version at both ends",
			host, port, proto_peer_version(), PROTO_VERSION);
	if (errno == ECONNRESET || errno == EPIPE || errno == EPROTO)
		bench_die(
			"%s: %s port %u refuses the first request: is this sdpbench -s, of protocol %u and with -t %s?",
			c->xp->name, host, port, PROTO_VERSION, c->xp->name);
	broken(c);
}

static void hello(struct client *cl, struct conn *c, const char *host,
		  uint16_t port)
{
	const struct bench_opts *opts = cl->opts;
	const struct proto_msg req = {
		.op = PROTO_HELLO,
		.size = cl->in_len,
		.arg = { [HELLO_WAIT] = opts->wait_way,
			 [HELLO_MAP] = opts->map,
			 [HELLO_BUFFERS] = opts->buffers,
			 [HELLO_ZEROCOPY] = opts->zerocopy },
	};
	double bytes = (double)cl->in_len * (opts->buffers ? opts->buffers : 1);
	struct proto_msg reply;

	limit(ANSWER_S + opts->wait + bytes / FILL_RATE,
	      "%s port %u does not answer: is this sdpbench -s?", host, port);
	if (proto_send(c, &req) || proto_recv(c, &reply))
		no_hello(c, host, port);
	if (reply.op != PROTO_HELLO || reply.size)
		bench_die("%s port %u refuses: %s", host, port,
			  strerror(reply.size ? reply.size : EPROTO));
	set_ways(c, opts);
}

/* How long a reply takes: half of a round trip of one byte */
static double reply_time(struct client *cl)
{
	const struct proto_msg req = {
		.op = PROTO_PING,
		.size = 1,
		.count = REPLY_PINGS,
		.arg = { [PING_ANSWER] = 1 },
	};
	struct conn *c = &cl->conns[0];
	double sec[REPLY_PINGS], start;
	struct proto_msg reply;

	limit_repetition(cl);
	client_request(c, &req);
	for (int i = 0; i < REPLY_PINGS; i++) {
		start = bench_now();
		client_send(c, cl->in, 1);
		client_recv(c, cl->in, 1);
		sec[i] = (bench_now() - start) / 2;
	}
	client_reply(c, PROTO_PING, &reply);
	return summarize(sec, REPLY_PINGS, false).mid;
}

/**
 * client_open() - connect to the servers
 * @cl: filled in
 * @opts: command line
 * @xp: transport
 * @largest: bytes of the largest message of all tests
 *
 * Does not return on errors.
 */
void client_open(struct client *cl, const struct bench_opts *opts,
		 const struct xport *xp, uint32_t largest)
{
	uint16_t port = opts->port + (opts->compare ? xp->place : 0);

	*cl = (struct client){
		.opts = opts,
		.xp = xp,
		.n = opts->n_hosts * opts->streams,
		.in_len = largest,
	};
	cl->conns = calloc(cl->n, sizeof(*cl->conns));
	cl->in = malloc(cl->in_len);
	if (!cl->conns || !cl->in)
		bench_die("no memory for messages of %zu bytes", cl->in_len);
	memset(cl->in, 'x', cl->in_len);

	for (unsigned int i = 0; i < cl->n; i++) {
		const char *host = opts->hosts[i / opts->streams];

		limit(opts->timeout + opts->wait,
		      "no connection to %s port %u within --timeout", host,
		      port);
		conn_init(&cl->conns[i], xp,
			  xport_connect(xp, host, port, opts->family,
					opts->wait));
		xport_nodelay(xp, cl->conns[i].fd);
		hello(cl, &cl->conns[i], host, port);
	}
	limit_repetition(cl);
	if (opts->less_reply)
		cl->reply = reply_time(cl);
}

/**
 * client_close() - end the connections
 * @cl: client
 */
void client_close(struct client *cl)
{
	const struct proto_msg bye = { .op = PROTO_BYE };

	limit_repetition(cl);
	for (unsigned int i = 0; i < cl->n; i++) {
		client_request(&cl->conns[i], &bye);
		conn_close(&cl->conns[i]);
	}
	limit(0, "no limit");
	free(cl->conns);
	free(cl->in);
}
