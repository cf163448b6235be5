// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the passive end: does what the requests of a client say, one
 * client after the other. Calls the protocol and the transport layer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"

/* Reading in large pieces lets the receiver take what has gathered. */
#define MIN_BUFFER (1U << 20)

struct session {
	struct conn conn;
	char *buf;
	size_t buf_len;
};

static int reply(struct session *s, const struct proto_msg *req, int status,
		 uint64_t cpu_ns)
{
	const struct proto_msg msg = {
		.op = req->op,
		.size = status,
		.count = cpu_ns,
	};

	return proto_send(&s->conn, &msg);
}

static int do_hello(struct session *s, const struct proto_msg *req)
{
	size_t len = req->size > MIN_BUFFER ? req->size : MIN_BUFFER;

	if (req->size > BENCH_MAX_SIZE)
		return reply(s, req, EMSGSIZE, 0);

	free(s->buf);
	s->buf_len = 0;
	s->buf = malloc(len);
	if (!s->buf)
		return reply(s, req, ENOMEM, 0);
	memset(s->buf, 0, len); /* no page faults later */
	s->buf_len = len;
	return reply(s, req, 0, 0);
}

static int do_stream(struct session *s, const struct proto_msg *req)
{
	const struct conn *c = &s->conn;
	uint64_t start = proto_cpu_ns();
	uint64_t left;

	if (__builtin_mul_overflow(req->count, (uint64_t)req->size, &left) ||
	    !s->buf)
		return reply(s, req, EINVAL, 0);

	while (left) {
		size_t want = left < s->buf_len ? left : s->buf_len;
		ssize_t n = c->xp->recv(c->fd, s->buf, want, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		left -= n;
	}
	return reply(s, req, 0, proto_cpu_ns() - start);
}

static int do_ping(struct session *s, const struct proto_msg *req)
{
	uint64_t start = proto_cpu_ns();

	/* nothing, however often, would not end with the connection */
	if (!req->size || req->size > s->buf_len)
		return reply(s, req, EINVAL, 0);

	for (uint64_t i = 0; i < req->count; i++) {
		if (conn_recv(&s->conn, s->buf, req->size) ||
		    conn_send(&s->conn, s->buf, req->size))
			return -1;
	}
	return reply(s, req, 0, proto_cpu_ns() - start);
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
	case PROTO_BYE:
		return 1;
	default:
		return reply(s, &req, EOPNOTSUPP, 0);
	}
}

static bool serve_client(const struct xport *xp, int fd)
{
	struct session s = { .conn = { .xp = xp, .fd = fd } };
	int ret;

	xport_nodelay(xp, fd);
	do {
		ret = serve_one(&s);
	} while (!ret);

	if (ret < 0)
		bench_warn("client: %s", strerror(errno));
	free(s.buf);
	xp->close(fd);
	return ret > 0;
}

/**
 * bench_server() - the passive end
 * @opts: command line
 *
 * Return: exit status, with @opts->once; else it does not return.
 */
int bench_server(const struct bench_opts *opts)
{
	const struct xport *xp = opts->xp;
	int fd = xport_listen(xp, opts->host, opts->port, opts->family);

	fprintf(stderr, "sdpbench: %s server on port %u\n", xp->name,
		opts->port);
	for (;;) {
		int client = xp->accept(fd, NULL, NULL);
		bool ok;

		if (client < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (client < 0)
			bench_die("%s: accept: %s", xp->name, strerror(errno));
		ok = serve_client(xp, client);
		if (opts->once) {
			xp->close(fd);
			return ok ? BENCH_EXIT_OK : BENCH_EXIT_FAILED;
		}
	}
}
