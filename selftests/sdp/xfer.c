// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xfer: checksummed transfer over stream sockets, server and client.
 *
 *   xfer -s [-p port] [-h address] [-f family] [-P protocol] [-B bytes]
 *   xfer -h host [-p port] [-n up] [-d down] [-m poll|block|mutual|stall]
 *        [-C connections at once] [-r connections one after another]
 *        [-w send size] [-R recv size] [-o eof,sendfile,iov,peek] [-S seed]
 *        [-B socket buffers] [-t seconds] [-f family] [-P protocol]
 *        [-q milliseconds in which nothing moves make a stall]
 *
 * The client ends with 0 and a line "xfer: ok ..." only if every byte was right
 * at both ends and every connection ended as it should.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/net.h"
#include "xfer.h"

static struct {
	bool server;
	int family, protocol;
	int port;
	int conns, rounds;
	int bufs;
	int timeout;
	struct sockaddr_storage sa;
	socklen_t sa_len;
	struct xfer_request req;
	pthread_barrier_t all_connected;
	uint64_t bytes, stalled_up, stalled_down;
	int failed, done;
} opt = {
	.port = 5010,
	.conns = 1,
	.rounds = 1,
	.timeout = 120,
	.req = { .magic = XFER_MAGIC,
		 .up = 1 << 20,
		 .seed = 1,
		 .send_size = 65536,
		 .recv_size = 65536,
		 .stall_ms = 1000 },
};

static int new_socket(void)
{
	int fd = socket(opt.family, SOCK_STREAM, opt.protocol), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (opt.bufs) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.bufs,
			   sizeof(opt.bufs));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.bufs,
			   sizeof(opt.bufs));
	}
	return fd;
}

static int conn_init(struct xfer_conn *conn, int fd,
		     const struct xfer_request *req, bool client)
{
	uint64_t up = req->up, down = req->down;
	int ret;

	conn->fd = fd;
	if (req->mode == XFER_STALL)
		up = down = UINT64_MAX;
	ret = xfer_stream_init(&conn->tx, req->seed * 2 + !client,
			       client ? up : down, req->send_size,
			       client ? req->flags :
					req->flags & ~XFER_SENDFILE) |
	      xfer_stream_init(&conn->rx, req->seed * 2 + client,
			       client ? down : up, req->recv_size, req->flags);
	return ret ? xfer_fail(conn, "malloc") : 0;
}

static void conn_free(struct xfer_conn *conn)
{
	xfer_stream_free(&conn->tx);
	xfer_stream_free(&conn->rx);
	if (conn->fd >= 0)
		close(conn->fd);
}

static void complain(const struct xfer_conn *conn, const char *who)
{
	fprintf(stderr, "xfer: %s: %s: %s (sent %llu, received %llu)\n", who,
		conn->error, conn->err ? strerror(conn->err) : "-",
		(unsigned long long)conn->tx.pos,
		(unsigned long long)conn->rx.pos);
}

static void serve(struct xfer_conn *conn)
{
	struct xfer_verdict v = { .magic = XFER_MAGIC };
	struct xfer_request req;

	if (xfer_get(conn, &req, sizeof(req)))
		return;
	errno = EPROTO;
	if (req.magic != XFER_MAGIC || req.send_size > XFER_BLOCK ||
	    req.recv_size > XFER_BLOCK) {
		xfer_fail(conn, "request");
		return;
	}
	if (conn_init(conn, conn->fd, &req, false))
		return;
	v.bad = xfer_run(conn, &req, false) != 0;
	v.got = conn->rx.pos;
	if (!v.bad && req.flags & XFER_EOF)
		v.bad = xfer_expect_eof(conn) != 0;
	if (req.mode == XFER_STALL || xfer_put(conn, &v, sizeof(v)))
		return;
	shutdown(conn->fd, SHUT_WR);
	if (!(req.flags & XFER_EOF) && !conn->error)
		xfer_expect_eof(conn);
}

static void *serve_main(void *arg)
{
	struct xfer_conn conn = { .fd = (int)(long)arg };

	serve(&conn);
	if (conn.error)
		complain(&conn, "server");
	conn_free(&conn);
	return NULL;
}

static int server(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int l, fd;

	l = new_socket();
	if (l < 0 || bind(l, (struct sockaddr *)&opt.sa, opt.sa_len) ||
	    listen(l, 512)) {
		perror("xfer: listen");
		return 2;
	}
	printf("xfer: listening on port %d\n", opt.port);
	fflush(stdout);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		fd = accept(l, NULL, NULL);
		if (fd < 0) {
			perror("xfer: accept");
			/* connections go on to an end of their own */
			if (errno == EINVAL || errno == EBADF)
				pthread_exit(NULL);
			continue;
		}
		if (pthread_create(&thread, &attr, serve_main,
				   (void *)(long)fd)) {
			fprintf(stderr, "xfer: no thread\n");
			close(fd);
		}
	}
}

static int client_connect(struct xfer_conn *conn)
{
	conn->fd = new_socket();
	if (conn->fd < 0)
		return xfer_fail(conn, "socket");
	if (connect(conn->fd, (struct sockaddr *)&opt.sa, opt.sa_len))
		return xfer_fail(conn, "connect");
	return 0;
}

static int check_verdict(struct xfer_conn *conn, const struct xfer_request *req)
{
	struct xfer_verdict v;

	if (xfer_get(conn, &v, sizeof(v)))
		return -1;
	errno = 0;
	if (v.magic != XFER_MAGIC || v.bad || v.got != req->up)
		return xfer_fail(conn, "the server did not get what was sent");
	return xfer_expect_eof(conn);
}

static int client_once(struct xfer_conn *conn, struct xfer_request *req)
{
	if (conn_init(conn, conn->fd, req, true) ||
	    xfer_put(conn, req, sizeof(*req)) || xfer_run(conn, req, true))
		return -1;
	if (req->mode != XFER_STALL)
		return check_verdict(conn, req);
	__atomic_fetch_add(&opt.stalled_up, conn->tx.pos, __ATOMIC_RELAXED);
	__atomic_fetch_add(&opt.stalled_down, conn->rx.pos, __ATOMIC_RELAXED);
	return 0;
}

static void *client_main(void *arg)
{
	struct xfer_request req = opt.req;
	struct xfer_conn conn;
	int i;

	for (i = 0; i < opt.rounds; i++) {
		memset(&conn, 0, sizeof(conn));
		req.seed = opt.req.seed + (long)arg * 1000003 + i;
		client_connect(&conn);
		/* the first ones are all open before the first byte moves */
		if (!i)
			pthread_barrier_wait(&opt.all_connected);
		if (!conn.error)
			client_once(&conn, &req);
		if (conn.error) {
			complain(&conn, "client");
			__atomic_fetch_add(&opt.failed, 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&opt.bytes, conn.tx.pos + conn.rx.pos,
				   __ATOMIC_RELAXED);
		__atomic_fetch_add(&opt.done, 1, __ATOMIC_RELAXED);
		conn_free(&conn);
		if (conn.error)
			break;
	}
	return NULL;
}

static void on_alarm(int sig)
{
	static const char text[] = "xfer: FAIL timed out\n";

	(void)sig;
	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static int client(void)
{
	pthread_t *threads = calloc(opt.conns, sizeof(*threads));
	pthread_attr_t attr;
	long i;

	signal(SIGALRM, on_alarm);
	alarm(opt.timeout);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	pthread_barrier_init(&opt.all_connected, NULL, opt.conns);
	for (i = 0; threads && i < opt.conns; i++) {
		if (pthread_create(&threads[i], &attr, client_main,
				   (void *)i)) {
			printf("xfer: FAIL pthread_create\n");
			return 2;
		}
	}
	for (i = 0; threads && i < opt.conns; i++)
		pthread_join(threads[i], NULL);
	printf("xfer: %s connections=%d failed=%d bytes=%llu",
	       opt.failed ? "FAIL" : "ok", opt.done, opt.failed,
	       (unsigned long long)opt.bytes);
	if (opt.req.mode == XFER_STALL)
		printf(" up=%llu down=%llu", (unsigned long long)opt.stalled_up,
		       (unsigned long long)opt.stalled_down);
	printf("\n");
	free(threads);
	return opt.failed ? 1 : 0;
}

static uint64_t size_arg(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (*end == 'k' || *end == 'K')
		n <<= 10;
	else if (*end == 'm' || *end == 'M')
		n <<= 20;
	else if (*end == 'g' || *end == 'G')
		n <<= 30;
	return n;
}

static int set_mode(const char *text)
{
	static const char *const names[] = { "poll", "block", "mutual",
					     "stall" };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		if (!strcmp(text, names[i])) {
			opt.req.mode = i;
			return 0;
		}
	}
	return -1;
}

static int set_flags(const char *text)
{
	if (strstr(text, "eof"))
		opt.req.flags |= XFER_EOF;
	if (strstr(text, "sendfile"))
		opt.req.flags |= XFER_SENDFILE;
	if (strstr(text, "iov"))
		opt.req.flags |= XFER_IOV;
	if (strstr(text, "peek"))
		opt.req.flags |= XFER_PEEK;
	return opt.req.flags ? 0 : -1;
}

static int set_address(const char *host)
{
	opt.sa_len = net_address(&opt.sa, host, opt.port);
	if (!opt.sa_len)
		return -1;
	if (!opt.family)
		opt.family = opt.sa.ss_family;
	return 0;
}

static int parse_size(int c, const char *arg)
{
	switch (c) {
	case 'n':
		opt.req.up = size_arg(arg);
		return 0;
	case 'd':
		opt.req.down = size_arg(arg);
		return 0;
	case 'w':
		opt.req.send_size = size_arg(arg);
		return opt.req.send_size > XFER_BLOCK ? -1 : 0;
	case 'R':
		opt.req.recv_size = size_arg(arg);
		return opt.req.recv_size > XFER_BLOCK ? -1 : 0;
	case 'S':
		opt.req.seed = size_arg(arg);
		return 0;
	case 'B':
		opt.bufs = size_arg(arg);
		return 0;
	case 'q':
		opt.req.stall_ms = size_arg(arg);
		return 0;
	}
	return -1;
}

static int parse_one(int c, const char *arg)
{
	switch (c) {
	case 's':
		opt.server = true;
		return 0;
	case 'p':
		opt.port = atoi(arg);
		return 0;
	case 'f':
		opt.family = atoi(arg);
		return 0;
	case 'P':
		opt.protocol = atoi(arg);
		return 0;
	case 'C':
		opt.conns = atoi(arg);
		return opt.conns < 1 ? -1 : 0;
	case 'r':
		opt.rounds = atoi(arg);
		return 0;
	case 't':
		opt.timeout = atoi(arg);
		return 0;
	case 'm':
		return set_mode(arg);
	case 'o':
		return set_flags(arg);
	}
	return parse_size(c, arg);
}

int main(int argc, char **argv)
{
	const char *host = "0.0.0.0";
	int c;

	while ((c = getopt(argc, argv, "sp:h:f:P:n:d:m:C:r:w:R:o:S:B:t:q:")) !=
	       -1) {
		if (c == 'h') {
			host = optarg;
		} else if (parse_one(c, optarg)) {
			fprintf(stderr, "xfer: bad option, see xfer.c\n");
			return 2;
		}
	}
	if (set_address(host)) {
		fprintf(stderr, "xfer: %s is not an address\n", host);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return opt.server ? server() : client();
}
