// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-rxmap: receives with SDP_ZEROCOPY_RECEIVE what a server sends, and looks at
 * every byte, wherever it comes.
 *
 *	sdp-rxmap serve ADDRESS PORT
 *	sdp-rxmap [OPTION]... ADDRESS PORT
 *
 *	-n N    bytes			-w N    bytes of one send
 *	-W N    bytes of the window	-c N    bytes of the buffer for copies
 *	-r N    SO_RCVBUF
 *	-t      a TCP program: TCP_ZEROCOPY_RECEIVE of an ordinary TCP socket
 *	-m MODE one of modes[] below
 *
 * Prints "ok MAPPED COPIED READ", bytes, or what is wrong. The modes "mapped" and
 * "copied" look at little and print what the process took of the processor, in ns,
 * from its start on: "cpu NS".
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../lib/net.h"

#define LONG_MS 30000
#define PAGE 4096
#define MIB (1 << 20)
#define MOST (64 * MIB)

struct request {
	uint32_t bytes;
	uint32_t piece;
};

static struct request want = { .bytes = 8 * MIB, .piece = MIB };
static uint32_t window = MIB / 2, copy_room;
static int fd, level = SOL_SDP, option = SDP_ZEROCOPY_RECEIVE;
static struct sdp_zerocopy_receive z;
static struct sockaddr_in addr;
static unsigned char copybuf[MIB], buf[MIB];
static unsigned char *win;
static uint32_t pos, mapped, copied, got;

static void __attribute__((noreturn)) die(const char *what)
{
	printf("%s at %u: %s\n", what, pos, errno ? strerror(errno) : "wrong");
	exit(1);
}

static unsigned char byte(uint32_t at)
{
	return (at * 2654435761u) >> 23;
}

static void check(const unsigned char *p, uint32_t len, uint32_t at,
		  const char *what)
{
	for (uint32_t i = 0; i < len; i++) {
		if (p[i] != byte(at + i)) {
			errno = 0;
			pos = at + i;
			die(what);
		}
	}
}

/* ---- server ---- */

static void send_all(int s, const struct request *r)
{
	uint32_t at = 0, n, i;

	while (at < r->bytes) {
		n = r->piece < r->bytes - at ? r->piece : r->bytes - at;
		for (i = 0; i < n; i++)
			buf[i] = byte(at + i);
		if (!net_send_all(s, buf, n, MSG_NOSIGNAL))
			return;
		at += n;
	}
	shutdown(s, SHUT_WR);
	recv(s, buf, 1, 0);
}

static int serve(void)
{
	int l = net_socket(AF_SDP), s;
	struct request r;

	signal(SIGCHLD, SIG_IGN);
	net_listen4(l, &addr, 8);
	for (;;) {
		s = net_accept(l);
		if (fork()) {
			close(s);
			continue;
		}
		if (recv(s, &r, sizeof(r), MSG_WAITALL) == sizeof(r) &&
		    r.piece && r.piece <= sizeof(buf))
			send_all(s, &r);
		return 0;
	}
}

/* ---- client ---- */

static unsigned char *map(int of, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, of, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static int receive(unsigned char *at, uint32_t room)
{
	socklen_t len = sizeof(z);

	memset(&z, 0, sizeof(z));
	z.address = (uintptr_t)at;
	z.length = room;
	z.copybuf_address = (uintptr_t)copybuf;
	z.copybuf_len = copy_room;
	return getsockopt(fd, level, option, &z, &len);
}

static void await(void)
{
	if (!net_wait(fd, POLLIN, LONG_MS))
		die("poll");
}

static void read_some(uint32_t n)
{
	ssize_t r;

	while (n) {
		r = recv(fd, buf, n < sizeof(buf) ? n : sizeof(buf), 0);
		if (r <= 0)
			die("recv");
		check(buf, r, pos, "read");
		pos += r;
		got += r;
		n -= r;
	}
}

/* One call and what follows from it. Bytes mapped at @at. */
static uint32_t take(unsigned char *at, uint32_t room)
{
	if (receive(at, room))
		die("receive");
	check(at, z.length, pos, "mapped");
	pos += z.length;
	mapped += z.length;
	check(copybuf, z.copybuf_len, pos, "copied");
	pos += z.copybuf_len;
	copied += z.copybuf_len;
	if (z.recv_skip_hint)
		read_some(z.recv_skip_hint);
	else if (!z.length && !z.copybuf_len)
		await();
	return z.length;
}

/* Takes until so many bytes in a row are mapped, from @at on */
static uint32_t take_most(unsigned char *at, uint32_t least)
{
	uint32_t n, start = pos;

	while (pos < want.bytes) {
		await();
		start = pos;
		n = take(at, window);
		if (n >= least) {
			check(at, n, start, "mapped");
			return start;
		}
	}
	errno = 0;
	die("nothing is mapped");
}

static uint32_t rx_mapped(void)
{
	struct sdp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SDP, SDP_INFO, &info, &len))
		die("SDP_INFO");
	return info.rx_mapped;
}

static void returned(void)
{
	for (int i = 0; i < LONG_MS / 10; i++) {
		if (!rx_mapped())
			return;
		usleep(10000);
	}
	errno = 0;
	die("pages are not given back");
}

static void the_end(void)
{
	while (pos < want.bytes)
		take(win, window);
	await();
	/* what TCP says at the end of the stream */
	if (!receive(win, window) || errno != EIO)
		die("end");
}

/* ---- modes ---- */

static void plain(void)
{
	the_end();
	munmap(win, window);
	if (level == SOL_SDP)
		returned();
}

/* Nothing is returned: the connection goes on all the same. */
static void keep(void)
{
	struct {
		uint32_t at, pos, len;
	} part[2048];
	unsigned char *all = map(fd, want.bytes);
	uint32_t at = 0, n = 0, before;

	while (pos < want.bytes) {
		before = pos;
		part[n].len = take(all + at, want.bytes - at);
		part[n].at = at;
		part[n].pos = before;
		at += part[n].len;
		n += !!part[n].len;
		if (n == 2048)
			die("too many parts");
	}
	for (uint32_t i = 0; i < n; i++)
		check(all + part[i].at, part[i].len, part[i].pos, "kept");
	if (!rx_mapped())
		die("nothing is mapped");
	munmap(all, want.bytes);
	returned();
}

/* A child's part remains when the parent gives its own back. */
static void forked(void)
{
	uint32_t at = take_most(win, 2 * PAGE), n = z.length;
	int status, pipes[2];
	pid_t child;

	if (pipe(pipes))
		die("pipe");
	child = fork();
	if (!child) {
		char c;

		close(pipes[1]);
		if (read(pipes[0], &c, 1) < 0)
			_exit(2);
		check(win, n, at, "child");
		_exit(0);
	}
	munmap(win, window);
	win = map(fd, 2 * window);
	win += window;
	while (pos < want.bytes)
		take(win, window);
	if (!rx_mapped())
		die("the child has nothing");
	close(pipes[1]);
	if (waitpid(child, &status, 0) != child || status)
		die("child");
	munmap(win - window, 2 * window);
	returned();
}

/* Parts of the mapping go, or go somewhere else. */
static void moved(void)
{
	uint32_t at = take_most(win, 3 * PAGE), n = z.length;
	size_t rest = window - 2 * PAGE;
	unsigned char *to;

	munmap(win + PAGE, PAGE);
	check(win, PAGE, at, "first");
	check(win + 2 * PAGE, n - 2 * PAGE, at + 2 * PAGE, "third");
	if (!receive(win + PAGE, PAGE) || errno != EINVAL)
		die("a hole");
	to = mmap(NULL, rest, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = mremap(win + 2 * PAGE, rest, rest, MREMAP_MAYMOVE | MREMAP_FIXED,
		    to);
	if (to == MAP_FAILED)
		die("mremap");
	check(to, n - 2 * PAGE, at + 2 * PAGE, "moved");
	/* its first page is left */
	take(win, window);
	munmap(win, PAGE);
	win = to;
	window = rest;
	the_end();
	munmap(to, rest);
	returned();
}

/* The descriptor goes, the mapping keeps the socket and what was mapped. */
static void closed(void)
{
	uint32_t at = take_most(win, PAGE), n = z.length;

	close(fd);
	usleep(100000);
	check(win, n, at, "after close");
	munmap(win, window);
}

/* Mapped pages go into a pipe by reference: nothing writes to them there. */
static void piped(void)
{
	struct iovec iov;
	uint32_t at, n;
	int ends[2];

	if (pipe(ends) || fcntl(ends[0], F_SETPIPE_SZ, MIB) < 0)
		die("pipe");
	at = take_most(win, PAGE);
	n = z.length;
	iov = (struct iovec){ win, n };
	if (vmsplice(ends[1], &iov, 1, SPLICE_F_GIFT) != n)
		die("vmsplice");
	munmap(win, window);
	win = map(fd, window);
	while (pos < want.bytes / 2)
		take(win, window);
	for (uint32_t have = 0; have < n; have += iov.iov_len) {
		ssize_t r = read(ends[0], buf, n - have);

		if (r <= 0)
			die("pipe");
		iov.iov_len = r;
		check(buf, r, at + have, "piped");
	}
	close(ends[0]);
	close(ends[1]);
	the_end();
	munmap(win, window);
	returned();
}

/* Peeking, splice, SO_RCVLOWAT and FIONREAD between the calls */
static void mixed(void)
{
	int ends[2], low = 3 * PAGE;
	struct pollfd p;
	ssize_t n;

	if (pipe(ends))
		die("pipe");
	while (pos < want.bytes / 2) {
		await();
		n = recv(fd, buf, 10000, MSG_PEEK);
		if (n <= 0)
			die("peek");
		check(buf, n, pos, "peeked");
		take(win, window);
		n = splice(fd, NULL, ends[1], NULL, 5000, 0);
		if (n <= 0 || read(ends[0], buf, n) != n)
			die("splice");
		check(buf, n, pos, "spliced");
		pos += n;
		got += n;
	}
	/* with a low water mark, poll() waits for so much */
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
	while (pos < want.bytes - 2 * MIB) {
		await();
		if (recv(fd, buf, low, MSG_PEEK | MSG_DONTWAIT) < low)
			die("SO_RCVLOWAT");
		take(win, window);
	}
	low = 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
	the_end();
	p = (struct pollfd){ .fd = fd, .events = POLLIN | POLLRDHUP };
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLRDHUP))
		die("POLLRDHUP");
	munmap(win, window);
	returned();
}

/* Something happens to the connection: the test says when it is over. */
static void gone(void)
{
	uint32_t at = take_most(win, PAGE), n = z.length;
	unsigned char *second;
	char c;

	printf("mapped\n");
	fflush(stdout);
	if (read(0, &c, 1) < 0)
		die("stdin");
	check(win, n, at, "still there");
	/* data that came before can be read as before */
	second = map(fd, window);
	for (;;) {
		at = pos;
		if (receive(second, window))
			break;
		check(second, z.length, at, "late");
		check(copybuf, z.copybuf_len, at + z.length, "late copy");
		pos += z.length + z.copybuf_len;
		if (z.err || (!z.length && !z.copybuf_len && !z.recv_skip_hint))
			break;
		if (z.recv_skip_hint)
			read_some(z.recv_skip_hint);
	}
	munmap(win, window);
	munmap(second, window);
	returned();
}

/* In the place of a mapping of the socket comes another one. */
static void *replaces(void *place)
{
	prctl(PR_SET_NAME, "held");
	if (mmap(place, PAGE, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		die("mmap");
	return NULL;
}

/* The test stops that. All memory that the call needs of this process is present then. */
static void held_calls(void (*call)(int nr))
{
	unsigned char *second = map(fd, PAGE);
	pthread_t thread;
	char c;

	for (int i = 0; i < 3; i++) {
		if (read(0, &c, 1) != 1)
			die("stdin");
		if (i == 1 && pthread_create(&thread, NULL, replaces, second))
			die("pthread_create");
		else if (i != 1)
			call(i);
	}
	pthread_join(thread, NULL);
}

static void receive_again(int nr)
{
	(void)nr;
	receive(win, window);
}

static void held(void)
{
	held_calls(receive_again);
}

static unsigned char *absent;

/* At last of memory that was never used */
static void send_again(int nr)
{
	send(fd, nr ? absent : copybuf, 4 * PAGE, MSG_ZEROCOPY | MSG_NOSIGNAL);
}

static void held_send(void)
{
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	absent = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	held_calls(send_again);
}

/* ---- misuse ---- */

static void fails(const char *what, long ret, int error)
{
	if (ret >= 0 || errno != error)
		die(what);
}

static void bad_maps(void)
{
	const int prot[] = { PROT_WRITE, PROT_READ | PROT_WRITE,
			     PROT_READ | PROT_EXEC };
	unsigned char *p;

	for (size_t i = 0; i < 3; i++)
		fails("mmap",
		      (long)mmap(NULL, PAGE, prot[i], MAP_SHARED, fd, 0),
		      EPERM);
	fails("mmap private",
	      (long)mmap(NULL, PAGE, PROT_WRITE, MAP_PRIVATE, fd, 0), EPERM);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	fails("mprotect private", mprotect(p, PAGE, PROT_WRITE), EACCES);
	munmap(p, PAGE);
	fails("mprotect", mprotect(win, window, PROT_READ | PROT_WRITE),
	      EACCES);
	fails("mprotect exec", mprotect(win, window, PROT_READ | PROT_EXEC),
	      EACCES);
}

static void swap(int *other)
{
	int was = fd;

	fd = *other;
	*other = was;
}

static void bad_addresses(void)
{
	unsigned char *anon = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int other = socket(AF_SDP, SOCK_STREAM, 0);
	unsigned char *theirs = map(other, MIB);
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	unsigned char *tcps = map(tcp, MIB), *ours = win;

	fails("unaligned", receive(win + 1, window), EINVAL);
	fails("nowhere", receive(NULL, window), EINVAL);
	fails("memory", receive(anon, window), EINVAL);
	fails("our stack", receive((void *)((uintptr_t)&anon & -PAGE), window),
	      EINVAL);
	fails("another socket", receive(theirs, window), EINVAL);
	fails("a TCP socket", receive(tcps, window), EINVAL);
	fails("an address of the kernel", receive((void *)(~0ul << 47), window),
	      EINVAL);
	fails("past the end", receive(win + window, window), EINVAL);
	munmap(anon, MIB);
	munmap(theirs, MIB);
	munmap(tcps, MIB);
	close(tcp);
	/* not connected, and a listener */
	win = map(other, window);
	swap(&other);
	if (receive(win, window) || z.length || z.inq)
		die("not connected");
	listen(fd, 1);
	fails("listener", receive(win, window), ENOTCONN);
	munmap(win, window);
	close(fd);
	fd = other;
	win = ours;
}

/* A structure with one value that is wrong */
static int bad(size_t at, uint32_t value, socklen_t len)
{
	unsigned char raw[sizeof(z) + 16] = {};
	socklen_t n = len;

	*(uint64_t *)raw = (uintptr_t)win;
	*(uint32_t *)(raw + 8) = window;
	memcpy(raw + at, &value, sizeof(value));
	return getsockopt(fd, level, option, raw, &n);
}

static void bad_structures(void)
{
	void *readonly =
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	socklen_t len = sizeof(z);

	fails("short", bad(8, window, 11), EINVAL);
	fails("negative", bad(8, window, -1), EINVAL);
	fails("trailing", bad(sizeof(z) + 4, 1, sizeof(z) + 8), EINVAL);
	fails("copybuf_len",
	      bad(offsetof(struct sdp_zerocopy_receive, copybuf_len), -1,
		  sizeof(z)),
	      EINVAL);
	fails("flags",
	      bad(offsetof(struct sdp_zerocopy_receive, flags), 2, sizeof(z)),
	      EINVAL);
	fails("reserved",
	      bad(offsetof(struct sdp_zerocopy_receive, reserved), 1,
		  sizeof(z)),
	      EINVAL);
	fails("nothing to ask", getsockopt(fd, level, option, NULL, &len),
	      EFAULT);
	fails("no room for the answer",
	      getsockopt(fd, level, option, readonly, &len), EFAULT);
	fails("no length", getsockopt(fd, level, option, &z, NULL), EFAULT);
	munmap(readonly, PAGE);
}

/* Bad memory for the copy, all sizes of windows: no byte is lost. */
static void odd_sizes(void)
{
	const uint32_t room[] = { 0,	    1,	    PAGE - 1,	   PAGE,
				  PAGE + 1, window, window + PAGE, UINT32_MAX };
	socklen_t len = sizeof(z);

	for (size_t i = 0; i < sizeof(room) / sizeof(*room); i++) {
		await();
		if (receive(win, room[i]))
			die("receive");
		if (z.length > room[i] || z.length > window)
			die("more than there is room");
		check(win, z.length, pos, "mapped");
		pos += z.length;
		mapped += z.length;
		if (z.recv_skip_hint)
			read_some(1);
		memset(&z, 0, sizeof(z));
		z.copybuf_address = 4096;
		z.copybuf_len = MIB;
		fails("bad copybuf", getsockopt(fd, level, option, &z, &len),
		      EFAULT);
	}
}

static void poke(void)
{
	int mem = open("/proc/self/mem", O_RDWR);
	uint32_t at = take_most(win, PAGE);
	int status;

	if (pwrite(mem, "x", 1, (uintptr_t)win) > 0)
		die("written by /proc");
	fails("recv into it", recv(fd, win, PAGE, 0), EFAULT);
	close(mem);
	check(win, PAGE, at, "untouched");
	if (!fork()) {
		munmap(win, window);
		win = map(fd, window);
		_exit(*(volatile unsigned char *)win);
	}
	wait(&status);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGBUS)
		die("a page that is not mapped");
}

static void misuse(void)
{
	bad_maps();
	bad_addresses();
	bad_structures();
	await();
	odd_sizes();
	poke();
	the_end();
	munmap(win, window);
	returned();
}

/* ---- threads ---- */

static atomic_uint taken;
static atomic_bool over;

static void *receiver(void *arg)
{
	struct sdp_zerocopy_receive a;
	socklen_t len;

	while (!over) {
		len = sizeof(a);
		memset(&a, 0, sizeof(a));
		a.address = (uintptr_t)win + (uintptr_t)arg;
		a.length = window / 2;
		if (getsockopt(fd, level, option, &a, &len)) {
			/* the window may be away at the moment */
			if (errno != EINVAL)
				break;
			continue;
		}
		taken += a.length;
	}
	return NULL;
}

static void *reader(void *arg)
{
	unsigned char *own = malloc(10000);
	ssize_t n;

	(void)arg;
	while (!over) {
		n = recv(fd, own, 10000, MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			taken += n;
	}
	free(own);
	return NULL;
}

static void *mapper(void *arg)
{
	unsigned int i = 0;

	(void)arg;
	while (!over) {
		switch (i++ % 4) {
		case 0:
			madvise(win, window / 2, MADV_DONTNEED);
			break;
		case 1:
			munmap(win + window / 2, PAGE);
			break;
		case 2:
			mmap(win, window, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
			     0);
			break;
		default:
			usleep(1000);
		}
	}
	return NULL;
}

/* Looks at the window as the kernel does, for which there is no SIGBUS */
static void *looker(void *arg)
{
	struct iovec to = { malloc(PAGE), PAGE };

	(void)arg;
	while (!over) {
		struct iovec from = { win + window / 4, PAGE };

		process_vm_readv(getpid(), &to, 1, &from, 1, 0);
		usleep(100);
	}
	free(to.iov_base);
	return NULL;
}

static void threads(bool cut)
{
	void *(*const run[])(void *) = { receiver, receiver, reader, mapper,
					 looker };
	pthread_t thread[5];
	int i;

	for (i = 0; i < 5; i++)
		pthread_create(&thread[i], NULL, run[i],
			       (void *)(uintptr_t)(i == 1 ? window / 2 : 0));
	while (taken < want.bytes / (1 + cut))
		usleep(10000);
	if (cut)
		shutdown(fd, SHUT_RDWR);
	over = true;
	for (i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	if (!cut && taken != want.bytes)
		die("bytes");
	munmap(win, window);
	returned();
}

static void race(void)
{
	threads(false);
}

static void cut(void)
{
	threads(true);
}

/* ---- what it costs ---- */

/* A program that looks at one byte of each page */
static void glance(const unsigned char *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += PAGE)
		check(p + i, 1, pos + i, "byte");
	pos += len;
}

static uint32_t read_on(uint32_t most)
{
	ssize_t n = recv(fd, buf, most < window ? most : window, 0);

	if (n <= 0)
		die("recv");
	glance(buf, n);
	return n;
}

static void receive_on(void)
{
	if (receive(win, window))
		die("receive");
	glance(win, z.length);
	mapped += z.length;
	if (z.recv_skip_hint)
		got += read_on(z.recv_skip_hint);
	else if (!z.length)
		await();
}

static void cost(bool mapping)
{
	struct timespec ts;

	while (pos < want.bytes) {
		if (mapping)
			receive_on();
		else
			got += read_on(window);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	printf("cpu %llu\n", ts.tv_sec * 1000000000ULL + ts.tv_nsec);
}

static void costs_mapped(void)
{
	cost(true);
}

static void costs_copied(void)
{
	cost(false);
}

/* ---- main ---- */

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "plain", plain },
	{ "keep", keep },
	{ "fork", forked },
	{ "move", moved },
	{ "close", closed },
	{ "pipe", piped },
	{ "mix", mixed },
	{ "gone", gone },
	{ "misuse", misuse },
	{ "race", race },
	{ "cut", cut },
	{ "mapped", costs_mapped },
	{ "copied", costs_copied },
	{ "held", held },
	{ "held-send", held_send },
};

static void dial(int rcvbuf)
{
	fd = net_socket(level == SOL_SDP ? AF_SDP : AF_INET);
	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	net_connect4(fd, &addr);
	if (send(fd, &want, sizeof(want), 0) != sizeof(want))
		die("send");
	win = map(fd, window);
}

int main(int argc, char **argv)
{
	const char *mode = "plain";
	int opt, rcvbuf = 0;

	while ((opt = getopt(argc, argv, "n:w:W:c:r:tm:")) != -1) {
		if (opt == 'n')
			want.bytes = atoi(optarg);
		else if (opt == 'w')
			want.piece = atoi(optarg);
		else if (opt == 'W')
			window = atoi(optarg);
		else if (opt == 'c')
			copy_room = atoi(optarg);
		else if (opt == 'r')
			rcvbuf = atoi(optarg);
		else if (opt == 'm')
			mode = optarg;
		else
			level = SOL_TCP, option = TCP_ZEROCOPY_RECEIVE;
	}
	if (argc - optind < 2 || want.bytes > MOST || copy_room > MIB)
		return 2;
	net_address4(&addr, argv[argc - 2], argv[argc - 1]);
	if (!strcmp(argv[optind], "serve"))
		return serve();
	dial(rcvbuf);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(mode, modes[i].name))
			continue;
		modes[i].run();
		printf("ok %u %u %u\n", mapped, copied, got);
		return 0;
	}
	return 2;
}
