// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-zcopy: large blocking sends and receives, every byte checked.
 *
 *	sdp-zcopy serve ADDRESS PORT
 *	sdp-zcopy [-n BYTES] [-w SEND_SIZE] [-o SEND_OFFSET] [-R RECV_SIZE]
 *		[-P RECV_OFFSET] [-m READER] [-S SENDER] [-t THRESHOLD]
 *		[-l SLEEP_MS] [-L PAUSE_MS] ADDRESS PORT
 *
 * READER, of the server: plain, waitall, peek, poll, inq (FIONREAD until there is
 * something, and no more than that), pollinq (the same after poll()), inline (urgent
 * bytes), trunc, splice, pieces, file (reads into a mapped file), threads (two that
 * read), kill (shuts the receiving side down after one receive), close (closes after
 * it), parts (one receive of BYTES, another one only when it may), source (it sends
 * instead, BYTES in one send), alarm (a timer interrupts it), timeout (it waits 100 ms
 * at a time), halt (another thread shuts the receiving side down at a SIGUSR1), lowat
 * (SO_RCVLOWAT is 20050). All but halt sleep SLEEP_MS before they read.
 *
 * SENDER: plain, iov, signal (interrupted when it sleeps), private (copy on write,
 * a child writes to the pages), file (out of a mapped file), nonblock, threads
 * (another one receives meanwhile), limit (no memory may be locked), fault
 * (the last page is not there), abort (after half of SLEEP_MS, in the middle), mixed
 * (sends of 1000 bytes in between), small (sends of 1000 bytes after two large
 * ones), urgent (every second send is), fresh (each from other memory). It pauses
 * PAUSE_MS between sends.
 *
 * Buffers are filled with something else as soon as send() is back. Prints
 * "ok" or what was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "zcopy_lib.h"

static struct {
	struct request req;
	uint64_t bytes;
	uint32_t size, offset;
	const char *sender;
	int threshold;
	unsigned int pause_ms;
} opt = {
	.req = { .size = 1 << 20, .mode = "plain" },
	.bytes = 1 << 20,
	.size = 1 << 20,
	.sender = "plain",
	.threshold = -1,
};

static int fd;

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static bool is(const struct request *r, const char *mode)
{
	return !strncmp(r->mode, mode, sizeof(r->mode));
}

/* ---- server ---- */

static ssize_t read_splice(int s, unsigned char *buf, size_t len)
{
	static __thread int p[2];
	ssize_t n;

	if (!p[1] && pipe(p))
		return -1;
	n = splice(s, NULL, p[1], NULL, len > 32768 ? 32768 : len, 0);
	return n > 0 ? read(p[0], buf, n) : n;
}

/* Wait until FIONREAD counts bytes, and receive no more than those */
static ssize_t read_there(int s, unsigned char *buf, size_t len)
{
	int there = 0;

	for (int i = 0; i < 20000 && !there; i++)
		if (ioctl(s, FIONREAD, &there) || usleep(500))
			return -1;
	return recv(s, buf, (size_t)there < len ? (size_t)there : len,
		    MSG_DONTWAIT);
}

static ssize_t read_some(int s, const struct request *r, unsigned char *buf,
			 size_t len)
{
	struct pollfd pfd = { .fd = s, .events = POLLIN };
	ssize_t n;

	if (is(r, "waitall"))
		return recv(s, buf, len, MSG_WAITALL);
	if (is(r, "splice"))
		return read_splice(s, buf, len);
	if (is(r, "poll")) {
		poll(&pfd, 1, -1);
		n = recv(s, buf, len, MSG_DONTWAIT);
		return n < 0 && errno == EAGAIN ? read_some(s, r, buf, len) : n;
	}
	if (is(r, "inq"))
		return read_there(s, buf, len);
	if (is(r, "pollinq")) {
		poll(&pfd, 1, -1);
		return read_there(s, buf, len);
	}
	if (is(r, "peek")) {
		n = recv(s, buf, len, MSG_PEEK);
		return n <= 0 ? n : recv(s, buf, n, 0);
	}
	return recv(s, buf, len, 0);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A timer that interrupts this thread, and no other */
static void want_signals(int on)
{
	static __thread timer_t timer;
	static __thread bool made;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGALRM };
	struct itimerspec it = { { 0, 700000 * on }, { 0, 700000 * on } };
	struct sigaction sa = { .sa_handler = on_alarm };

	if (!made && !on)
		return;
	sigaction(SIGALRM, &sa, NULL);
	ev.sigev_notify_thread_id = gettid();
	if (!made && timer_create(CLOCK_MONOTONIC, &ev, &timer))
		net_fail("timer_create");
	made = true;
	timer_settime(timer, 0, &it, NULL);
}

/* Another thread that interrupts this one whenever it sleeps */
static struct {
	pthread_t thread;
	pid_t tid;
	bool stop;
} waker;

static bool sleeps(pid_t tid)
{
	char path[64], stat[256] = "";
	ssize_t n;
	int f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = open(path, O_RDONLY);
	n = read(f, stat, sizeof(stat) - 1);
	close(f);
	return n > 0 && strstr(stat, ") S ");
}

static void *wake_sleeper(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&waker.stop, __ATOMIC_RELAXED)) {
		if (sleeps(waker.tid))
			tgkill(getpid(), waker.tid, SIGALRM);
		usleep(700);
	}
	return NULL;
}

/*
 * A signal that is there when a send begins would have all of it copied. Those of a timer
 * may always be there, where the machine is slow.
 */
static void interrupt_sleep(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	waker.tid = gettid();
	sigaction(SIGALRM, &sa, NULL);
	if (pthread_create(&waker.thread, NULL, wake_sleeper, NULL))
		net_fail("pthread_create");
}

static void interrupt_no_more(void)
{
	if (!waker.tid)
		return;
	__atomic_store_n(&waker.stop, true, __ATOMIC_RELAXED);
	pthread_join(waker.thread, NULL);
}

static bool again(const struct request *r)
{
	return (errno == EINTR && is(r, "alarm")) ||
	       (errno == EAGAIN && is(r, "timeout"));
}

/* SIGUSR1, which main() has blocked */
static sigset_t halt;

static void *halt_later(void *arg)
{
	int *s = arg, sig;

	sigwait(&halt, &sig);
	shutdown(*s, SHUT_RD);
	return NULL;
}

static uint64_t receive_halted(int s, const struct request *r)
{
	unsigned char *buf = map(r->size, false);
	pthread_t thread;
	uint64_t got = 0;
	ssize_t n;

	if (pthread_create(&thread, NULL, halt_later, &s))
		return 0;
	while ((n = recv(s, buf, r->size, 0)) > 0)
		got += n;
	pthread_join(thread, NULL);
	munmap(buf, r->size);
	return got;
}

static uint64_t receive(int s, const struct request *r)
{
	struct timeval tv = { 0, is(r, "timeout") ? 100000 : 0 };
	unsigned char *mem = map(r->size + r->offset, is(r, "file"));
	unsigned char *buf = mem + r->offset;
	uint64_t got = 0;
	size_t len;
	ssize_t n;

	int inl = is(r, "inline"), lowat = is(r, "lowat") ? 20050 : 1;

	setsockopt(s, SOL_SOCKET, SO_OOBINLINE, &inl, sizeof(inl));
	setsockopt(s, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat));
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	want_signals(is(r, "alarm"));
	while (got < r->bytes) {
		len = r->size;
		/* sizes that have nothing to do with the sender's */
		if (is(r, "pieces"))
			len = got * 2654435761u % r->size + 1;
		if (len > r->bytes - got)
			len = r->bytes - got;
		if (is(r, "trunc")) {
			n = recv(s, buf, len, MSG_TRUNC);
		} else {
			memset(buf, 0xee, len);
			n = read_some(s, r, buf, len);
		}
		if (n < 0 && again(r))
			continue;
		if (n <= 0 || (!is(r, "trunc") && !net_good(buf, n, got)))
			break;
		got += n;
		if (is(r, "kill"))
			shutdown(s, SHUT_RD);
		if (is(r, "close"))
			break;
	}
	want_signals(0);
	munmap(mem, r->size + r->offset);
	return got;
}

struct half {
	int fd;
	const struct request *r;
	uint64_t got;
};

/* One of two who read the same stream: it can only count. */
static void *read_half(void *arg)
{
	struct half *h = arg;
	unsigned char *buf = map(h->r->size, false);
	ssize_t n;

	while ((n = recv(h->fd, buf, h->r->size, 0)) > 0)
		h->got += n;
	munmap(buf, h->r->size);
	return NULL;
}

static uint64_t receive_two(int s, const struct request *r)
{
	struct half a = { s, r, 0 }, b = { s, r, 0 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, read_half, &a))
		return 0;
	read_half(&b);
	pthread_join(thread, NULL);
	return a.got + b.got;
}

static void be_source(int s, const struct request *r)
{
	unsigned char *buf = map(r->bytes, false);
	uint64_t pos;
	ssize_t n = 0;

	net_fill(buf, r->bytes, 0);
	for (pos = 0; pos < r->bytes; pos += n) {
		n = send(s, buf + pos, r->bytes - pos, MSG_NOSIGNAL);
		if (n <= 0)
			break;
	}
	munmap(buf, r->bytes);
}

static void wait_gate(uint32_t gate)
{
	char path[64];

	if (!gate)
		return;
	snprintf(path, sizeof(path), GATE_PATH, gate);
	while (access(path, F_OK))
		usleep(1000);
	unlink(path);
}

/* Between the two receives nothing is read. */
static uint64_t receive_parts(int s, const struct request *r)
{
	unsigned char *buf = map(r->size, false);
	ssize_t first, second;

	first = recv(s, buf, r->bytes < r->size ? r->bytes : r->size, 0);
	wait_gate(r->gate ? r->gate + 1 : 0);
	second = recv(s, buf, r->size, MSG_WAITALL);
	munmap(buf, r->size);
	return (first > 0 ? first : 0) + (second > 0 ? second : 0);
}

static void *serve_one(void *arg)
{
	int s = (int)(long)arg, threshold = 65536;
	struct request r;
	uint64_t got;

	while (recv(s, &r, sizeof(r), MSG_WAITALL) == sizeof(r) &&
	       r.size <= BUF_MAX && r.bytes <= 1ull << 32) {
		if (is(&r, "halt")) {
			receive_halted(s, &r);
			break;
		}
		usleep(r.sleep_ms * 1000);
		wait_gate(r.gate);
		if (is(&r, "source")) {
			setsockopt(s, SOL_SDP, SDP_ZCOPY, &threshold,
				   sizeof(threshold));
			be_source(s, &r);
			continue;
		}
		if (is(&r, "threads"))
			got = receive_two(s, &r);
		else if (is(&r, "parts"))
			got = receive_parts(s, &r);
		else
			got = receive(s, &r);
		if (is(&r, "close"))
			break;
		if (send(s, &got, sizeof(got), MSG_NOSIGNAL) != sizeof(got))
			break;
	}
	close(s);
	return NULL;
}

/* ---- client ---- */

static void *receive_meanwhile(void *arg)
{
	static uint64_t got;
	ssize_t n = recv(fd, &got, sizeof(got), MSG_WAITALL);

	(void)arg;
	return n == sizeof(got) ? &got : NULL;
}

static ssize_t send_iov(const unsigned char *p, size_t len)
{
	struct iovec iov[3] = {
		{ (void *)p, len / 8 },
		{ (void *)(p + len / 8), len / 2 },
		{ (void *)(p + len / 8 + len / 2), len - len / 8 - len / 2 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };

	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* The child, which shares the pages with us, writes to them while we send. */
static ssize_t send_private(unsigned char *p, size_t len)
{
	pid_t pid = fork();
	ssize_t n;

	if (!pid) {
		memset(p, 0x55, len);
		_exit(0);
	}
	n = send(fd, p, len, MSG_NOSIGNAL);
	waitpid(pid, NULL, 0);
	return n;
}

static ssize_t send_some(unsigned char *p, size_t len)
{
	static unsigned int sends;
	int flags = MSG_NOSIGNAL;
	ssize_t n;

	if (!strcmp(opt.sender, "iov"))
		return send_iov(p, len);
	if (!strcmp(opt.sender, "private"))
		return send_private(p, len);
	if (!strcmp(opt.sender, "nonblock"))
		flags |= MSG_DONTWAIT;
	if (!strcmp(opt.sender, "urgent") && ++sends % 2)
		flags |= MSG_OOB;
	do {
		n = send(fd, p, len, flags);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

/* All bytes; returns false if the connection ended. */
static bool send_all(void)
{
	bool fault = !strcmp(opt.sender, "fault");
	bool mixed = !strcmp(opt.sender, "mixed");
	bool small = !strcmp(opt.sender, "small");
	size_t room = opt.size + opt.offset;
	unsigned char *mem, *buf;
	unsigned int sends = 0;
	uint64_t pos = 0;
	ssize_t n = 0;
	size_t len;

	room = (room + PAGE - 1) / PAGE * PAGE;
	mem = map(room + PAGE, !strcmp(opt.sender, "file"));
	buf = mem + opt.offset;
	if (fault)
		munmap(mem + room, PAGE);
	for (; pos < opt.bytes; pos += n) {
		if (pos)
			usleep(opt.pause_ms * 1000);
		len = opt.bytes - pos < opt.size ? opt.bytes - pos : opt.size;
		sends++;
		if (len > 1000 &&
		    ((mixed && sends % 3 == 0) || (small && sends > 2)))
			len = 1000;
		if (!strcmp(opt.sender, "fresh")) {
			/* the old one stays, so it is at another place */
			mem = map(room + PAGE, false);
			buf = mem + opt.offset;
		}
		net_fill(buf, fault ? room - opt.offset : len, pos);
		/* past the end nothing can be read; what is there is sent */
		n = send_some(buf, fault ? room - opt.offset + 100 : len);
		if (n <= 0)
			break;
		net_check((size_t)n <= room - opt.offset,
			  "bytes out of nowhere");
		memset(buf, 0xaa, fault ? room - opt.offset : len);
	}
	munmap(mem, room);
	return pos >= opt.bytes;
}

/* A user without rights, who may lock nothing */
static void lock_nothing(void)
{
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_MEMLOCK, &none) || setresuid(65534, 65534, 65534))
		net_fail("setresuid");
}

static void *abort_later(void *arg)
{
	struct sockaddr sa = { .sa_family = AF_UNSPEC };

	(void)arg;
	usleep(opt.req.sleep_ms * 1000 / 2);
	connect(fd, &sa, sizeof(sa));
	return NULL;
}

static void dial(char **argv)
{
	struct sockaddr_in sin;

	net_address4(&sin, argv[0], argv[1]);
	fd = socket(AF_SDP, SOCK_STREAM, SDPPROTO_SDP);
	if (fd < 0 || (opt.threshold >= 0 &&
		       setsockopt(fd, SOL_SDP, SDP_ZCOPY, &opt.threshold,
				  sizeof(opt.threshold))))
		net_fail("socket");
	net_connect4(fd, &sin);
}

static void receive_all(void)
{
	struct request here = opt.req;

	here.bytes = opt.bytes;
	memset(here.mode, 0, sizeof(here.mode));
	strcpy(here.mode, "plain");
	net_check(receive(fd, &here) == opt.bytes, "bytes received");
}

static int client(char **argv)
{
	bool reader = !strcmp(opt.sender, "threads"), ends, done;
	uint64_t *got = NULL;
	pthread_t thread;

	dial(argv);
	opt.req.bytes = opt.bytes;
	ends = is(&opt.req, "close") || !strcmp(opt.sender, "abort");
	if (send(fd, &opt.req, sizeof(opt.req), 0) != sizeof(opt.req))
		net_fail("request");
	if (is(&opt.req, "source")) {
		receive_all();
		goto ok;
	}
	if (!strcmp(opt.sender, "signal"))
		interrupt_sleep();
	if (!strcmp(opt.sender, "limit"))
		lock_nothing();
	if (!strcmp(opt.sender, "abort"))
		pthread_create(&thread, NULL, abort_later, NULL);
	if (reader)
		pthread_create(&thread, NULL, receive_meanwhile, NULL);
	done = send_all();
	interrupt_no_more();
	/* a peer that reads no more may close before all is sent */
	if (is(&opt.req, "kill") || is(&opt.req, "halt"))
		goto ok;
	net_check(done != ends, ends ? "it does not end" : "it ends");
	if (ends)
		goto ok;
	if (is(&opt.req, "threads"))
		shutdown(fd, SHUT_WR);
	if (reader)
		pthread_join(thread, (void **)&got);
	else
		got = receive_meanwhile(NULL);
	net_check(got && *got == opt.bytes, "bytes that arrived");
ok:
	printf("ok\n");
	return 0;
}

static int option(int c, const char *arg)
{
	switch (c) {
	case 'n':
		opt.bytes = strtoull(arg, NULL, 0);
		return 0;
	case 'w':
		opt.size = strtoul(arg, NULL, 0);
		return 0;
	case 'o':
		opt.offset = strtoul(arg, NULL, 0);
		return 0;
	case 'R':
		opt.req.size = strtoul(arg, NULL, 0);
		return 0;
	case 'P':
		opt.req.offset = strtoul(arg, NULL, 0);
		return 0;
	case 'm':
		snprintf(opt.req.mode, sizeof(opt.req.mode), "%s", arg);
		return 0;
	case 'S':
		opt.sender = arg;
		return 0;
	case 't':
		opt.threshold = atoi(arg);
		return 0;
	case 'l':
		opt.req.sleep_ms = atoi(arg);
		return 0;
	case 'L':
		opt.pause_ms = atoi(arg);
		return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	int c;

	signal(SIGPIPE, SIG_IGN);
	sigaddset(&halt, SIGUSR1);
	sigprocmask(SIG_BLOCK, &halt, NULL);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv + 2, serve_one);
	while ((c = getopt(argc, argv, "n:w:o:R:P:m:S:t:l:L:")) != -1)
		if (option(c, optarg))
			return 2;
	if (argc - optind != 2)
		return 2;
	return client(argv + optind);
}
