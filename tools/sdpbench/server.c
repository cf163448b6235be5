// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the passive end: does what the requests of clients say, a thread for
 * each client. Calls the protocol and the transport layer.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buffers.h"
#include "proto.h"
#include "sample.h"

/* Reading in large pieces lets the receiver take what has gathered. */
#define MIN_BUFFER (1U << 20)
#define MAX_BUFFERS (1ULL << 30)
#define MAX_CLIENTS 256
#define MAX_COMPUTE_NS 3600000000000ULL

struct session {
	struct conn conn;
	char *buf;
	size_t buf_len;
	uint32_t size; /* of the largest message */
	uint64_t buffers;
};

static sem_t room; /* for clients */

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts))
		return 0;
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int refuse(struct session *s, const struct proto_msg *req, int err)
{
	const struct proto_msg msg = { .op = req->op, .size = err };

	return proto_send(&s->conn, &msg);
}

/* Use of processors since a request came */
struct used {
	uint64_t cpu;
	struct host_time host;
};

static struct used used_now(void)
{
	return (struct used){ .cpu = thread_cpu_ns(), .host = host_time() };
}

static int reply(struct session *s, const struct proto_msg *req,
		 const struct used *since, const struct samples *samples)
{
	struct used now = used_now();
	struct proto_msg msg = {
		.op = req->op,
		.count = now.cpu - since->cpu,
		.arg = { [REPLY_BUSY] = now.host.busy - since->host.busy,
			 [REPLY_SOFTIRQ] =
				 now.host.softirq - since->host.softirq },
	};

	if (samples && samples->n) {
		msg.arg[REPLY_SAMPLES] = samples->n;
		msg.arg[REPLY_UTIL] = samples->sum / samples->n * 1e6;
	}
	return proto_send(&s->conn, &msg);
}

static int set_ways(struct session *s, const struct proto_msg *req)
{
	if (conn_set_wait(&s->conn, req->arg[HELLO_WAIT]) ||
	    (req->arg[HELLO_MAP] && !s->conn.window &&
	     conn_set_map(&s->conn)) ||
	    (req->arg[HELLO_ZEROCOPY] && conn_set_zerocopy(&s->conn)))
		return errno;
	return 0;
}

static int do_hello(struct session *s, const struct proto_msg *req)
{
	const struct used since = used_now();
	uint64_t len;
	int err;

	if (!req->size || req->size > BENCH_MAX_SIZE ||
	    req->arg[HELLO_BUFFERS] > BENCH_MAX_BUFFERS)
		return refuse(s, req, EMSGSIZE);
	len = req->arg[HELLO_BUFFERS] * req->size;
	if (len > MAX_BUFFERS)
		return refuse(s, req, ENOMEM);
	err = set_ways(s, req);
	if (err)
		return refuse(s, req, err);

	free(s->buf);
	s->buf_len = len > MIN_BUFFER ? len : MIN_BUFFER;
	s->buf_len = s->buf_len > req->size ? s->buf_len : req->size;
	s->buf = malloc(s->buf_len);
	if (!s->buf) {
		s->buf_len = 0;
		return refuse(s, req, ENOMEM);
	}
	buffers_small_pages(s->buf, s->buf_len);
	memset(s->buf, 0, s->buf_len); /* no page faults later */
	s->size = req->size;
	s->buffers = req->arg[HELLO_BUFFERS];
	return reply(s, req, &since, NULL);
}

/* Where byte number @at of a stream of messages goes, and how many may follow */
static char *place(struct session *s, uint32_t size, uint64_t at, size_t *want)
{
	if (!s->buffers) {
		*want = *want < s->buf_len ? *want : s->buf_len;
		return s->buf;
	}
	if (*want > size - at % size)
		*want = size - at % size;
	return s->buf + at / size % s->buffers * size + at % size;
}

/* Confirms each step, half a window of messages, by a byte. Return: 0, or -1 with errno set. */
static int tell(struct session *s, const struct proto_msg *req, uint64_t at,
		uint64_t *told)
{
	static const char steps[256];
	uint64_t window = req->arg[STREAM_WINDOW];
	uint64_t step = window / 2 ? window / 2 : 1;

	while (window && *told < at / req->size / step) {
		uint64_t n = at / req->size / step - *told;

		n = n < sizeof(steps) ? n : sizeof(steps);
		if (conn_send(&s->conn, steps, n))
			return -1;
		*told += n;
	}
	return 0;
}

static int read_stream(struct session *s, const struct proto_msg *req)
{
	uint64_t all = req->count * req->size, at = 0, told = 0;

	while (at < all) {
		size_t want = all - at;
		char *to = place(s, req->size, at, &want);
		ssize_t n = conn_recv_some(&s->conn, to, want);

		if (n < 0)
			return -1;
		at += n;
		if (tell(s, req, at, &told))
			return -1;
	}
	return 0;
}

/* Return: may a request be about @count messages of @size bytes? */
static bool fits(const struct session *s, uint64_t size, uint64_t count)
{
	uint64_t all;

	return size && size <= s->size &&
	       !__builtin_mul_overflow(count, size, &all);
}

static int do_stream(struct session *s, const struct proto_msg *req)
{
	const struct used since = used_now();
	struct samples samples = { .fd = s->conn.fd };
	int ret;

	if (!fits(s, req->size, req->count))
		return refuse(s, req, EINVAL);
	if (!req->arg[STREAM_SAMPLE]) {
		ret = read_stream(s, req);
		return ret ?: reply(s, req, &since, NULL);
	}
	ret = samples_start(&samples, s->conn.xp,
			    req->arg[STREAM_SAMPLE] == SAMPLE_FIRST);
	if (ret)
		return -1; /* the stream has begun: no way to refuse it */
	ret = read_stream(s, req);
	samples_stop(&samples);
	return ret ?: reply(s, req, &since, &samples);
}

static int do_ping(struct session *s, const struct proto_msg *req)
{
	const struct used since = used_now();
	uint64_t answer = req->arg[PING_ANSWER];

	/* a loop over messages of no bytes would not end when the connection does */
	if (!fits(s, req->size, 1) || !fits(s, answer, 1))
		return refuse(s, req, EINVAL);

	for (uint64_t i = 0; i < req->count; i++) {
		uint64_t at = s->buffers ? i % s->buffers * s->size : 0;

		if (conn_recv(&s->conn, s->buf + at, req->size) ||
		    conn_send_message(&s->conn, s->buf + at, answer))
			return -1;
	}
	if (conn_settle(&s->conn))
		return -1;
	return reply(s, req, &since, NULL);
}

static int do_exchange(struct session *s, const struct proto_msg *req)
{
	const struct used since = used_now();
	struct exchange x = {
		.out = s->buf,
		.in = s->buf,
		.in_len = s->buf_len,
		.size = req->size,
		.count = req->count,
	};

	if (!fits(s, req->size, req->count) || !req->count)
		return refuse(s, req, EINVAL);

	for (uint64_t i = 0; i < req->arg[EXCHANGE_ROUNDS]; i++) {
		if (conn_exchange(&s->conn, &x))
			return -1;
	}
	return reply(s, req, &since, NULL);
}

static int burst(struct session *s, const struct proto_msg *req)
{
	for (uint64_t k = 0; k < req->arg[PROGRESS_BURST]; k++) {
		if (conn_recv(&s->conn, s->buf, req->size))
			return -1;
	}
	for (uint64_t k = 0; k < req->arg[PROGRESS_BURST]; k++) {
		if (conn_send_message(&s->conn, s->buf, req->size))
			return -1;
	}
	return 0;
}

static int do_progress(struct session *s, const struct proto_msg *req)
{
	const struct used since = used_now();

	if (!fits(s, req->size, 1) || !req->arg[PROGRESS_BURST] ||
	    req->arg[PROGRESS_NS] > MAX_COMPUTE_NS)
		return refuse(s, req, EINVAL);

	for (uint64_t i = 0; i < req->count; i++) {
		if (burst(s, req))
			return -1;
		compute(req->arg[PROGRESS_WAY], req->arg[PROGRESS_NS]);
	}
	if (conn_settle(&s->conn))
		return -1;
	return reply(s, req, &since, NULL);
}

/* Return: 0 to go on, 1 at the end, -1 with errno set. */
static int serve_one(struct session *s)
{
	struct proto_msg req;

	if (proto_recv(&s->conn, &req))
		return -1;

	switch (req.op) {
	case PROTO_HELLO:
		return do_hello(s, &req);
	case PROTO_STREAM:
		return do_stream(s, &req);
	case PROTO_PING:
		return do_ping(s, &req);
	case PROTO_EXCHANGE:
		return do_exchange(s, &req);
	case PROTO_PROGRESS:
		return do_progress(s, &req);
	case PROTO_BYE:
		return 1;
	default:
		return refuse(s, &req, EOPNOTSUPP);
	}
}

static void client_failed(struct session *s)
{
	const struct proto_msg msg = { .op = PROTO_HELLO,
				       .size = EPROTONOSUPPORT };

	if (errno != EPROTONOSUPPORT) {
		bench_warn("client: %s", strerror(errno));
		return;
	}
	bench_warn(
		"client: it speaks protocol %u, this server %u: use the same version at both ends",
		proto_peer_version(), PROTO_VERSION);
	/* the version in the reply lets the client report the same */
	proto_send(&s->conn, &msg);
}

static bool serve_client(const struct xport *xp, int fd)
{
	struct session s = { 0 };
	int ret;

	conn_init(&s.conn, xp, fd);
	xport_nodelay(xp, fd);
	do {
		ret = serve_one(&s);
	} while (!ret);

	if (ret < 0)
		client_failed(&s);
	free(s.buf);
	conn_close(&s.conn);
	return ret > 0;
}

struct client_thread {
	const struct xport *xp;
	int fd;
};

static void *client_main(void *arg)
{
	struct client_thread t = *(struct client_thread *)arg;

	free(arg);
	serve_client(t.xp, t.fd);
	sem_post(&room);
	return NULL;
}

static void start_client(const struct xport *xp, int fd)
{
	struct client_thread *t = malloc(sizeof(*t));
	pthread_t thread;

	if (t) {
		*t = (struct client_thread){ .xp = xp, .fd = fd };
		if (!pthread_create(&thread, NULL, client_main, t)) {
			pthread_detach(thread);
			return;
		}
	}
	bench_warn("no memory for another client");
	free(t);
	xp->close(fd);
	sem_post(&room);
}

struct listener {
	const struct bench_opts *opts;
	const struct xport *xp;
	int fd;
};

/* After accept() has failed: a lack of memory or descriptors may end in a while */
static void go_on(const struct listener *l)
{
	switch (errno) {
	case EINTR:
	case ECONNABORTED:
		break;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		bench_warn("%s: accept: %s; clients wait until others end",
			   l->xp->name, strerror(errno));
		sleep(1);
		break;
	default:
		bench_die("%s: accept: %s", l->xp->name, strerror(errno));
	}
}

static void *listener_main(void *arg)
{
	const struct listener *l = arg;

	for (;;) {
		int fd;

		/* clients beyond MAX_CLIENTS wait to be accepted */
		while (sem_wait(&room))
			;
		fd = l->xp->accept(l->fd, NULL, NULL);
		if (fd < 0) {
			go_on(l);
			sem_post(&room);
			continue;
		}
		if (l->opts->once)
			exit(serve_client(l->xp, fd) ? BENCH_EXIT_OK :
						       BENCH_EXIT_FAILED);
		start_client(l->xp, fd);
	}
	return NULL;
}

/**
 * bench_server() - the passive end
 * @opts: command line
 *
 * It does not return.
 */
int bench_server(const struct bench_opts *opts)
{
	struct listener l[BENCH_XPORTS];
	pthread_t thread;

	sem_init(&room, 0, MAX_CLIENTS);
	for (unsigned int i = 0; i < opts->n_xps; i++) {
		const struct xport *xp = opts->xps[i];
		uint16_t port = opts->port + (opts->n_xps > 1 ? xp->place : 0);

		l[i] = (struct listener){ .opts = opts, .xp = xp };
		l[i].fd = xport_listen(xp, opts->hosts[0], port, opts->family);
		fprintf(stderr, "sdpbench: %s server on port %u\n", xp->name,
			port);
	}
	for (unsigned int i = 1; i < opts->n_xps; i++) {
		if (pthread_create(&thread, NULL, listener_main, &l[i]))
			bench_die("no memory for a thread");
	}
	listener_main(&l[0]);
	return BENCH_EXIT_FAILED;
}
