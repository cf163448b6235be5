// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Helpers of the socket semantics probe, see probe.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "probe.h"

struct probe_target target;

static char *next_text(void)
{
	static __thread char ring[16][160];
	static __thread unsigned int turn;

	return ring[turn++ % 16];
}

void row(const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%s: ", name);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
}

const char *res_errno(int err)
{
	const char *name = strerrorname_np(err);
	char *text;

	if (!err)
		return "0";
	if (name)
		return name;
	text = next_text();
	snprintf(text, 160, "errno %d", err);
	return text;
}

const char *res_ok(long ret)
{
	return ret < 0 ? res_errno(errno) : "ok";
}

const char *res_num(long ret)
{
	char *text;

	if (ret < 0)
		return res_errno(errno);
	text = next_text();
	snprintf(text, 160, "%ld", ret);
	return text;
}

const char *res_data(long ret, const void *buf)
{
	char *text;

	if (ret < 0)
		return res_errno(errno);
	text = next_text();
	snprintf(text, 160, "'%.*s'", ret > 100 ? 100 : (int)ret,
		 (const char *)buf);
	return text;
}

const char *res_poll(unsigned int mask)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} names[] = {
		{ POLLIN, "IN" },	  { POLLPRI, "PRI" },
		{ POLLOUT, "OUT" },	  { POLLERR, "ERR" },
		{ POLLHUP, "HUP" },	  { POLLNVAL, "NVAL" },
		{ POLLRDNORM, "RDNORM" }, { POLLRDBAND, "RDBAND" },
		{ POLLWRNORM, "WRNORM" }, { POLLWRBAND, "WRBAND" },
		{ POLLRDHUP, "RDHUP" },
	};
	char *text = next_text();
	size_t i;

	text[0] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(mask & names[i].bit))
			continue;
		if (text[0])
			strcat(text, "|");
		strcat(text, names[i].name);
	}
	return text[0] ? text : "0";
}

const char *res_epoll(int epfd, int timeout_ms)
{
	struct epoll_event ev;
	int n;

	n = epoll_wait(epfd, &ev, 1, timeout_ms);
	if (n < 0)
		return res_errno(errno);
	return n ? res_poll(ev.events) : "none";
}

void setup_failed(const char *what)
{
	printf("! set-up failed: %s: %s\n", what, res_errno(errno));
	fflush(stdout);
	_exit(3);
}

int new_socket(void)
{
	int fd = socket(target.family, SOCK_STREAM, target.protocol);

	if (fd < 0)
		setup_failed("socket");
	return fd;
}

int new_listener(int backlog)
{
	int fd = new_socket();

	if (bind(fd, (struct sockaddr *)&target.host.sa, target.host.len))
		setup_failed("bind");
	if (listen(fd, backlog))
		setup_failed("listen");
	return fd;
}

void bound_to(int fd, struct probe_addr *addr)
{
	addr->len = sizeof(addr->sa);
	if (getsockname(fd, (struct sockaddr *)&addr->sa, &addr->len))
		setup_failed("getsockname");
}

void dead_address(struct probe_addr *addr)
{
	int fd = new_listener(1);

	bound_to(fd, addr);
	close(fd);
}

int connect_to(int fd, const struct probe_addr *addr)
{
	return connect(fd, (const struct sockaddr *)&addr->sa, addr->len);
}

void new_pair(int *client, int *server)
{
	struct probe_addr addr;
	int l = new_listener(16);

	bound_to(l, &addr);
	*client = new_socket();
	if (connect_to(*client, &addr))
		setup_failed("connect");
	*server = accept(l, NULL, NULL);
	if (*server < 0)
		setup_failed("accept");
	close(l);
}

void reset_close(int fd)
{
	struct linger lin = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
	close(fd);
}

/*
 * Write until the socket stays full, to the last byte: what is on its way to
 * the peer may make room once more, and so may a TCP that probes a window of
 * zero after 200 ms, so be sure over several rounds.
 */
size_t fill(int fd)
{
	static char block[65536];
	size_t sum = 0, len = sizeof(block);
	int quiet = 0, enough = 15;
	ssize_t n;

	net_nonblock(fd, true);
	while (quiet < enough) {
		n = send(fd, block, len, MSG_NOSIGNAL);
		if (n > 0) {
			sum += n;
			/* late: a slow machine, or a probe of TCP's */
			if (quiet > 2)
				enough = 25;
			quiet = 0;
			len = sizeof(block);
			continue;
		}
		if (errno == EAGAIN && len > 1) {
			len = len > 256 ? 256 : 1;
			continue;
		}
		if (errno != EAGAIN)
			break;
		quiet++;
		sleep_ms(20);
	}
	return sum;
}

/*
 * Result of send(@flags) while the socket is full, blocking or not. If room came
 * once more after fill(), that was not the case.
 */
const char *send_when_full(int fd, bool nonblock, int flags)
{
	const char *text;
	int tries = 20;

	do {
		fill(fd);
		net_nonblock(fd, nonblock);
		text = do_send(fd, "x", flags);
	} while (--tries && !strcmp(text, "1"));
	return text;
}

/* Read at least that many bytes, or until nothing comes any more. */
void drain(int fd, size_t bytes)
{
	static char block[65536];
	unsigned int idle = 0;
	ssize_t n;

	net_nonblock(fd, true);
	while (bytes && idle < PROBE_WAIT_MS / 10) {
		n = recv(fd, block, sizeof(block), 0);
		if (!n || (n < 0 && errno != EAGAIN))
			return;
		if (n > 0) {
			bytes -= (size_t)n < bytes ? (size_t)n : bytes;
			idle = 0;
			continue;
		}
		idle++;
		sleep_ms(10);
	}
}

const char *do_recv(int fd, size_t len, int flags)
{
	char buf[128] = "";
	ssize_t n;

	n = recv(fd, buf, len < sizeof(buf) ? len : sizeof(buf), flags);
	return res_data(n, buf);
}

const char *do_send(int fd, const char *text, int flags)
{
	return res_num(send(fd, text, strlen(text), flags | MSG_NOSIGNAL));
}

const char *do_accept(int fd)
{
	int n = accept(fd, NULL, NULL);

	if (n >= 0)
		close(n);
	return res_ok(n);
}

int get_int(int fd, int level, int opt)
{
	socklen_t len = sizeof(int);
	int val = -1;

	if (getsockopt(fd, level, opt, &val, &len))
		return -errno;
	return val;
}

const char *set_int(int fd, int level, int opt, int val)
{
	return res_ok(setsockopt(fd, level, opt, &val, sizeof(val)));
}

int queue_size(int fd, unsigned long request)
{
	int val = -1;

	return ioctl(fd, request, &val) ? -errno : val;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (ms % 1000) * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

unsigned int poll_now(int fd)
{
	struct pollfd p = {
		.fd = fd,
		.events = POLLIN | POLLPRI | POLLOUT | POLLRDNORM | POLLRDBAND |
			  POLLWRNORM | POLLWRBAND | POLLRDHUP,
	};

	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

void wait_events(int fd, unsigned int bits)
{
	unsigned int ms;

	for (ms = 0; ms < PROBE_WAIT_MS; ms += 10) {
		if ((poll_now(fd) & bits) == bits)
			return;
		sleep_ms(10);
	}
}

/* The mask once it contains the bits and has stopped changing. */
const char *poll_settled(int fd, unsigned int bits)
{
	unsigned int last, now, same = 0;

	wait_events(fd, bits);
	last = poll_now(fd);
	while (same < 4) {
		sleep_ms(10);
		now = poll_now(fd);
		same = now == last ? same + 1 : 0;
		last = now;
	}
	return res_poll(last);
}

void wait_readable(int fd, int bytes)
{
	unsigned int ms;

	for (ms = 0; ms < PROBE_WAIT_MS; ms += 10) {
		if (queue_size(fd, FIONREAD) >= bytes)
			return;
		sleep_ms(10);
	}
}

static void *blocked_main(void *arg)
{
	struct blocked *b = arg;

	__atomic_store_n(&b->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	snprintf(b->result, sizeof(b->result), "%s", b->call(b->fd));
	__atomic_store_n(&b->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_sleeping(pid_t tid)
{
	char path[64], line[512], *p;
	bool ret = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f)) {
		p = strrchr(line, ')');
		ret = p && p[1] == ' ' && p[2] == 'S';
	}
	fclose(f);
	return ret;
}

/* Returns when the thread sleeps in its call (or has come back already). */
void blocked_start(struct blocked *b, int fd, const char *(*call)(int fd))
{
	unsigned int ms, asleep = 0;
	pid_t tid;

	memset(b, 0, sizeof(*b));
	b->fd = fd;
	b->call = call;
	if (pthread_create(&b->thread, NULL, blocked_main, b))
		setup_failed("pthread_create");
	for (ms = 0; ms < PROBE_WAIT_MS && asleep < 3; ms += 10) {
		sleep_ms(10);
		tid = __atomic_load_n(&b->tid, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&b->done, __ATOMIC_ACQUIRE))
			return;
		asleep = tid && is_sleeping(tid) ? asleep + 1 : 0;
	}
}

bool blocked_finished(struct blocked *b, unsigned int ms)
{
	unsigned int t;

	for (t = 0; t <= ms; t += 10) {
		if (__atomic_load_n(&b->done, __ATOMIC_ACQUIRE))
			return true;
		sleep_ms(10);
	}
	return false;
}
