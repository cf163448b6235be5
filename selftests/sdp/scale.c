// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many connections at a time, one process at each end:
 *
 *	sdp-scale serve sdp|tcp ADDR PORT BACKLOG
 *	sdp-scale call sdp|tcp ADDR PORT
 *
 * The server echoes. The client does what its standard input says and answers
 * each line with one of its own, "ok" or "failed: why":
 *
 *	open N              as many more connections; "ok NANOSECONDS"
 *	touch FIRST N       one request on each of N, one after the other
 *	run FIRST N ROUNDS SIZE
 *	                    requests on all N at once, until each has had ROUNDS
 *	                    answers; "ok FEWEST MOST JAIN GAP": of bytes the index
 *	                    of Jain, in thousandths, and how many answers others got
 *	                    at most between two of one connection
 *	rate N              N times: connect, one request, close; "ok NANOSECONDS".
 *	                    A few before that do not count
 *	close FIRST N       hang up
 *	bound N, listeners N
 *	                    as many more sockets that keep a port each, of a walk
 *	                    over all
 *	any N, bind N, listen N, end N
 *	                    N times: make a socket and bind it to any port; to one
 *	                    of the walk; listen as well; close that. "ok NANOSECONDS"
 *	crowd N             as many more sockets with SO_REUSEADDR that keep ADDR and PORT
 *	reuse N, near N     N times: make a socket and bind it to ADDR and PORT, with
 *	                    SO_REUSEADDR; to a port with the same place in tables of
 *	                    up to 1024. "ok NANOSECONDS"
 * The expected value of a byte follows from its connection and its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../lib/net.h"
#include "../../tools/sdpbench/mark.h"

#define MAX_CONNS 65536
#define MAX_SIZE 16384
#define EVENTS 64
#define STALL_MS 60000

struct conn {
	int fd;
	uint32_t sent; /* bytes since the start */
	uint32_t got;
	uint32_t due; /* bytes that the current request still has to send */
	uint32_t rounds;
	uint32_t got_before; /* bytes, when a run began */
	uint32_t last; /* its latest answer, of those of all */
	/* server: what could not be sent back yet */
	uint32_t held;
	uint32_t held_off;
	unsigned char *hold;
};

static struct conn conns[MAX_CONNS];
static struct sockaddr_in addr;
static int family;
static unsigned char buf[MAX_SIZE];
static char answer[160];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static bool fail(const char *format, ...)
{
	int n = snprintf(answer, sizeof(answer), "failed: ");
	va_list ap;

	va_start(ap, format);
	vsnprintf(answer + n, sizeof(answer) - n, format, ap);
	va_end(ap);
	return false;
}

/* ---- server ---- */

static void serve_watch(int ep, struct conn *c, uint32_t events, int op)
{
	struct epoll_event ev = { .events = events, .data.ptr = c };

	if (epoll_ctl(ep, op, c->fd, &ev))
		die("epoll_ctl");
}

static void serve_accept(int ep, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	struct conn *c;

	if (fd < 0) {
		if (errno == EAGAIN || errno == ECONNABORTED)
			return;
		die("accept");
	}
	if (fd >= MAX_CONNS) {
		fprintf(stderr, "too many\n");
		exit(1);
	}
	c = &conns[fd];
	c->fd = fd;
	c->held = 0;
	serve_watch(ep, c, EPOLLIN, EPOLL_CTL_ADD);
}

static void serve_close(struct conn *c)
{
	free(c->hold);
	c->hold = NULL;
	close(c->fd);
}

/* Everything back, or keep it and wait for room */
static void serve_flush(int ep, struct conn *c)
{
	ssize_t n = send(c->fd, c->hold + c->held_off, c->held, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN) {
		serve_close(c);
		return;
	}
	if (n > 0) {
		c->held -= n;
		c->held_off += n;
	}
	if (!c->held) {
		free(c->hold);
		c->hold = NULL;
		serve_watch(ep, c, EPOLLIN, EPOLL_CTL_MOD);
	}
}

static void serve_read(int ep, struct conn *c)
{
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0), m;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		serve_close(c);
		return;
	}
	m = send(c->fd, buf, n, MSG_NOSIGNAL);
	if (m == n)
		return;
	if (m < 0 && errno != EAGAIN) {
		serve_close(c);
		return;
	}
	c->held_off = m > 0 ? m : 0;
	c->held = n - c->held_off;
	c->hold = malloc(n);
	if (!c->hold)
		die("malloc");
	memcpy(c->hold, buf, n);
	serve_watch(ep, c, EPOLLOUT, EPOLL_CTL_MOD);
}

static void serve(int backlog)
{
	int listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event ev[EVENTS], in = { .events = EPOLLIN };
	int ep = epoll_create1(0), i, n;

	if (net_listen(listener, &addr, sizeof(addr), backlog) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &in))
		die("listen");
	for (;;) {
		n = epoll_wait(ep, ev, EVENTS, -1);
		for (i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (!c)
				serve_accept(ep, listener);
			else if (c->held)
				serve_flush(ep, c);
			else
				serve_read(ep, c);
		}
	}
}

/* ---- client ---- */

static unsigned char byte(const struct conn *c, uint32_t pos)
{
	return (c - conns) * 31 + pos + (pos >> 8);
}

static int dial(void)
{
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

static void took(uint64_t start)
{
	snprintf(answer, sizeof(answer), "ok %llu",
		 (unsigned long long)(net_ns() - start));
}

static bool do_open(unsigned int *n, unsigned int more)
{
	uint64_t start = net_ns();

	while (more--) {
		struct conn *c = &conns[*n];

		if (*n == MAX_CONNS)
			return fail("too many");
		memset(c, 0, sizeof(*c));
		c->fd = dial();
		if (c->fd < 0)
			return fail("connection %u: %s", *n, strerror(errno));
		++*n;
	}
	took(start);
	return true;
}

/* Sends what is due as far as there is room */
static bool push(struct conn *c)
{
	uint32_t i, want;
	ssize_t n;

	while (c->due) {
		want = c->due < MAX_SIZE ? c->due : MAX_SIZE;
		for (i = 0; i < want; i++)
			buf[i] = byte(c, c->sent + i);
		n = send(c->fd, buf, want, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN ||
			       fail("send: %s", strerror(errno));
		c->sent += n;
		c->due -= n;
	}
	return true;
}

/* Takes what is there and compares it */
static bool pull(struct conn *c)
{
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0), i;

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return fail("recv: %s", n ? strerror(errno) : "end");
	for (i = 0; i < n; i++, c->got++)
		if (buf[i] != byte(c, c->got))
			return fail("connection %zu, byte %u is wrong",
				    c - conns, c->got);
	return true;
}

static bool request(struct conn *c)
{
	c->due = 64;
	if (!push(c))
		return false;
	while (c->got != c->sent)
		if (!pull(c))
			return false;
	return true;
}

static bool do_touch(unsigned int first, unsigned int n)
{
	while (n--)
		if (!request(&conns[first++]))
			return false;
	return true;
}

struct run {
	int ep;
	uint32_t size;
	uint32_t rounds;
	unsigned int behind; /* connections that have not had theirs */
	uint32_t answers; /* of all */
	uint32_t gap; /* the most between two of one connection */
};

static void run_answered(struct run *r, struct conn *c)
{
	uint32_t gap = r->answers++ - c->last;

	c->last = r->answers;
	if (gap > r->gap)
		r->gap = gap;
	if (++c->rounds == r->rounds)
		r->behind--;
}

static bool run_step(struct run *r, struct conn *c)
{
	struct epoll_event ev = { .data.ptr = c };

	if (!pull(c) || !push(c))
		return false;
	if (!c->due && c->got == c->sent) {
		run_answered(r, c);
		/* all go on until the last one is there */
		if (r->behind) {
			c->due = r->size;
			if (!push(c))
				return false;
		}
	}
	ev.events = c->due ? EPOLLIN | EPOLLOUT : EPOLLIN;
	return !epoll_ctl(r->ep, EPOLL_CTL_MOD, c->fd, &ev) ||
	       fail("epoll_ctl: %s", strerror(errno));
}

static bool run_loop(struct run *r)
{
	struct epoll_event ev[EVENTS];
	int i, n;

	while (r->behind) {
		n = epoll_wait(r->ep, ev, EVENTS, STALL_MS);
		if (n <= 0)
			return fail("%u connections stand still", r->behind);
		for (i = 0; i < n; i++)
			if (!run_step(r, ev[i].data.ptr))
				return false;
	}
	return true;
}

/* Data in flight comes back, too */
static bool run_settle(unsigned int first, unsigned int n)
{
	for (; n--; first++) {
		struct conn *c = &conns[first];

		net_nonblock(c->fd, false);
		while (c->due || c->got != c->sent)
			if (!push(c) || !pull(c))
				return false;
	}
	return true;
}

static bool run_begin(struct run *r, unsigned int first, unsigned int n)
{
	unsigned int i;

	for (i = first; i < first + n; i++) {
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT,
					  .data.ptr = &conns[i] };

		net_nonblock(conns[i].fd, true);
		conns[i].rounds = 0;
		conns[i].last = 0;
		conns[i].got_before = conns[i].got;
		conns[i].due = r->size;
		if (epoll_ctl(r->ep, EPOLL_CTL_ADD, conns[i].fd, &ev))
			return fail("epoll_ctl: %s", strerror(errno));
	}
	return true;
}

static void run_tell(const struct run *r, unsigned int first, unsigned int n)
{
	uint32_t fewest = UINT32_MAX, most = 0;
	double sum = 0, squares = 0;
	unsigned int i;

	for (i = first; i < first + n; i++) {
		double x = conns[i].got - conns[i].got_before;

		sum += x;
		squares += x * x;
		if (conns[i].rounds < fewest)
			fewest = conns[i].rounds;
		if (conns[i].rounds > most)
			most = conns[i].rounds;
	}
	snprintf(answer, sizeof(answer), "ok %u %u %.0f %u", fewest, most,
		 1000 * sum * sum / (n * squares), r->gap);
}

static bool do_run(unsigned int first, unsigned int n, uint32_t rounds,
		   uint32_t size)
{
	struct run r = { .ep = epoll_create1(0),
			 .size = size,
			 .rounds = rounds,
			 .behind = n };
	bool ok;

	ok = run_begin(&r, first, n) && run_loop(&r);
	close(r.ep);
	if (!ok)
		return false;
	run_tell(&r, first, n);
	return run_settle(first, n);
}

/* A connection for one request. The last entry of the table is kept for it. */
static bool visit(void)
{
	struct conn *c = &conns[MAX_CONNS - 1];
	bool ok;

	memset(c, 0, sizeof(*c));
	c->fd = dial();
	if (c->fd < 0)
		return fail("connect: %s", strerror(errno));
	ok = request(c);
	close(c->fd);
	return ok;
}

static bool do_rate(unsigned int n)
{
	unsigned int i;
	uint64_t start;
	bool ok = true;

	for (i = 0; i < 4 && ok; i++)
		ok = visit();
	start = net_ns();
	bench_mark_start();
	for (i = 0; i < n && ok; i++)
		ok = visit();
	bench_mark_stop();
	if (ok)
		took(start);
	return ok;
}

/*
 * A socket with a port, 0 for any; -1 with errno. @reuse: at the address of the command
 * line, with SO_REUSEADDR; else at all addresses
 */
static int place(uint16_t port, bool listens, bool reuse)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int fd = socket(family, SOCK_STREAM, 0);
	int err, on = reuse;

	if (fd < 0)
		return -1;
	if (reuse)
		any.sin_addr = addr.sin_addr;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&any, sizeof(any)) &&
	    (!listens || !listen(fd, 16)))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/*
 * A socket with the next port of a walk over all that are not privileged. Another
 * one may have it: a connection that has ended keeps its port for a while.
 */
static int place_next(bool listens)
{
	static unsigned int next;
	int fd;

	do
		fd = place(1024 + next++ * 39877ULL % (65536 - 1024), listens,
			   false);
	while (fd < 0 && errno == EADDRINUSE && next < 64000);
	return fd;
}

static bool do_hold(unsigned int n, bool listens)
{
	while (n--)
		if (place_next(listens) < 0)
			return fail("bind or listen: %s", strerror(errno));
	return true;
}

static bool do_crowd(unsigned int n)
{
	while (n--)
		if (place(ntohs(addr.sin_port), false, true) < 0)
			return fail("bind: %s", strerror(errno));
	return true;
}

static int place_as(const char *what)
{
	if (!strcmp(what, "any"))
		return place(0, false, false);
	if (!strcmp(what, "reuse"))
		return place(ntohs(addr.sin_port), false, true);
	if (!strcmp(what, "near"))
		return place(ntohs(addr.sin_port) + 1024, false, false);
	return place_next(strcmp(what, "bind"));
}

static bool do_place(unsigned int n, const char *what)
{
	bool ends = !strcmp(what, "end");
	uint64_t start, begun = 0, ended = 0;
	unsigned int i;
	int fd;

	for (i = 0; i < n + 4; i++) {
		/* a few before that do not count */
		if (i == 4) {
			begun = 0;
			ended = 0;
		}
		start = net_ns();
		fd = place_as(what);
		if (fd < 0)
			return fail("%s: %s", what, strerror(errno));
		begun += net_ns() - start;
		start = net_ns();
		close(fd);
		ended += net_ns() - start;
	}
	snprintf(answer, sizeof(answer), "ok %" PRIu64, ends ? ended : begun);
	return true;
}

static bool places(const char *what)
{
	static const char *const all[] = { "any", "bind",  "listen",
					   "end", "reuse", "near" };
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(what, all[i]))
			return true;
	return false;
}

static void do_close(unsigned int first, unsigned int n)
{
	while (n--) {
		close(conns[first].fd);
		conns[first++].fd = -1;
	}
}

static int call(void)
{
	unsigned int n = 0, first, count, rounds, size;
	char line[80], what[16];
	bool ok;

	while (fgets(line, sizeof(line), stdin)) {
		int got = sscanf(line, "%15s %u %u %u %u", what, &first, &count,
				 &rounds, &size);

		strcpy(answer, "ok");
		if (got == 2 && !strcmp(what, "open"))
			ok = do_open(&n, first);
		else if (got == 3 && !strcmp(what, "touch"))
			ok = do_touch(first, count);
		else if (got == 5 && !strcmp(what, "run"))
			ok = do_run(first, count, rounds, size);
		else if (got == 2 && !strcmp(what, "rate"))
			ok = do_rate(first);
		else if (got == 3 && !strcmp(what, "close"))
			do_close(first, count), ok = true;
		else if (got == 2 &&
			 (!strcmp(what, "bound") || !strcmp(what, "listeners")))
			ok = do_hold(first, *what == 'l');
		else if (got == 2 && !strcmp(what, "crowd"))
			ok = do_crowd(first);
		else if (got == 2 && places(what))
			ok = do_place(first, what);
		else
			ok = fail("no such command");
		puts(answer);
		fflush(stdout);
		if (!ok)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit lim = { MAX_CONNS + 64, MAX_CONNS + 64 };
	bool server = argc == 6 && !strcmp(argv[1], "serve");

	if (!server && (argc != 5 || strcmp(argv[1], "call"))) {
		fprintf(stderr, "usage: see the top of scale.c\n");
		return 2;
	}
	family = strcmp(argv[2], "tcp") ? AF_SDP : AF_INET;
	net_address4(&addr, argv[3], argv[4]);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		die("setrlimit");
	if (server)
		serve(atoi(argv[5]));
	return call();
}
