// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-refer: sends whose data are left where they are, every byte checked.
 *
 *	sdp-refer serve ADDRESS PORT
 *	sdp-refer MODE ADDRESS PORT
 * The server reads only on request, by another connection. MODE:
 *
 * nonblock	MSG_ZEROCOPY and MSG_DONTWAIT until the socket is full, then the
 *		reader begins; memory is filled with something else as soon as
 *		its notification is there
 * copied	the same where everything is copied: notified at once
 * block	MSG_ZEROCOPY to a reader, from pieces that are used again
 * odd		the same of odd places and sizes, by several pieces
 * abort, close, kill	the socket ends so, full
 * hold		it is full until the connection ends
 * limit	by a user who may lock little
 * file, splice	sendfile() or splice() of a file
 *
 * The memory is a file without a name, which can be sealed when no page of it is in
 * use. Prints "ok" or what was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "zcopy_lib.h"

#define PIECE 32768
#define PIECES 256 /* more than both ends have room for, TCP beneath them too */

struct result {
	uint64_t bytes;
	uint64_t good;
};

static struct {
	unsigned char *mem;
	int file, fd;
	char **where;
	uint64_t pos; /* bytes sent */
	unsigned int sends; /* of which there will be notifications */
	unsigned int done; /* notifications */
	unsigned int copied; /* of which so many say so */
} me;

/* ---- server ---- */

static sem_t go, over;
static struct result seen;

static void read_all(int s)
{
	static unsigned char buf[1 << 17];
	struct result r = { 0, 1 };
	ssize_t n;

	while ((n = recv(s, buf, sizeof(buf), 0)) > 0) {
		r.good &= net_good(buf, n, r.bytes);
		r.bytes += n;
	}
	seen = r;
	sem_post(&over);
}

static void *serve_one(void *arg)
{
	int s = (long)arg;
	char what = 0;

	if (recv(s, &what, 1, 0) == 1 && what == 'd') {
		sem_wait(&go);
		read_all(s);
	} else if (what == 'g') {
		sem_post(&go);
		sem_wait(&over);
		send(s, &seen, sizeof(seen), MSG_NOSIGNAL);
	}
	close(s);
	return NULL;
}

/* ---- client ---- */

static int dial(char what)
{
	struct sockaddr_in sin;
	int s, one = 1;

	net_address4(&sin, me.where[0], me.where[1]);
	s = net_socket(AF_SDP);
	net_connect4(s, &sin);
	if (send(s, &what, 1, 0) != 1 ||
	    setsockopt(s, SOL_SDP, SDP_ZEROCOPY, &one, sizeof(one)))
		net_fail("connect");
	return s;
}

static void make_memory(void)
{
	size_t len = PIECES * PIECE;

	me.file = memfd_create("refer", MFD_ALLOW_SEALING);
	if (me.file < 0 || ftruncate(me.file, len))
		net_fail("memory");
	me.mem =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, me.file, 0);
	if (me.mem == MAP_FAILED)
		net_fail("mmap");
}

static unsigned char *piece(unsigned int i)
{
	return me.mem + (i % PIECES) * PIECE;
}

static bool sealed(void)
{
	return !fcntl(me.file, F_ADD_SEALS, F_SEAL_WRITE);
}

/* No page is held, soon if not now. */
static void released(void)
{
	int tries = 300;

	munmap(me.mem, PIECES * PIECE);
	while (!sealed()) {
		net_check(tries--, "pages are held");
		usleep(100000);
	}
}

/* Notifications that are there; the memory is written to at once. */
static void hear(void)
{
	char control[256];
	struct msghdr msg;
	const struct sock_extended_err *e;

	for (;;) {
		msg = (struct msghdr){ .msg_control = control,
				       .msg_controllen = sizeof(control) };
		if (recvmsg(me.fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		e = (const void *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
		net_check(e->ee_origin == SO_EE_ORIGIN_ZEROCOPY, "origin");
		net_check(e->ee_info == me.done, "a number is missing");
		for (; me.done <= e->ee_data; me.done++) {
			memset(piece(me.done), 0xaa, PIECE);
			me.copied += e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
		}
	}
}

static void hear_until(unsigned int n)
{
	for (hear(); me.done < n; hear())
		net_check(net_wait(me.fd, 0, 60000), "no notification");
	net_check(me.done <= me.sends, "too many notifications");
}

static ssize_t send_piece(int flags)
{
	unsigned char *p = piece(me.sends);
	ssize_t n;

	net_fill(p, PIECE, me.pos);
	n = send(me.fd, p, PIECE, MSG_ZEROCOPY | MSG_NOSIGNAL | flags);
	if (n > 0) {
		me.pos += n;
		me.sends++;
	}
	return n;
}

/* Until no more is taken */
static void fill_up(int error)
{
	while (me.sends < PIECES && send_piece(MSG_DONTWAIT) > 0)
		;
	net_check(me.sends < PIECES && errno == error, "it does not get full");
}

/* Also when what is under way has arrived */
static void fill_for_good(void)
{
	do {
		fill_up(EAGAIN);
		hear();
	} while (net_wait(me.fd, POLLOUT, 500));
}

/* Ask the reader to begin; it will report what it has received. */
static int begin_reader(void)
{
	return dial('g');
}

static struct result outcome(int s)
{
	struct result r;

	if (recv(s, &r, sizeof(r), MSG_WAITALL) != sizeof(r))
		net_fail("result");
	net_check(r.good, "bytes differ");
	close(s);
	return r;
}

static void end_reader(int s)
{
	shutdown(me.fd, SHUT_WR);
	net_check(outcome(s).bytes == me.pos, "number of bytes");
	close(me.fd);
}

static void nonblock(bool copied)
{
	int s;

	fill_for_good();
	if (copied)
		net_check(me.done == me.sends,
			  "notified late of what was copied");
	else
		net_check(me.done < me.sends, "notified before it was sent");
	s = begin_reader();
	hear_until(me.sends);
	end_reader(s);
	net_check(me.copied == (copied ? me.sends : 0), "copied bytes");
	released();
}

static void block(void)
{
	int s = begin_reader();

	while (me.sends < 2 * PIECES) {
		if (me.sends >= PIECES)
			hear_until(me.sends - PIECES + 1);
		if (send_piece(0) != PIECE)
			net_fail("send");
	}
	hear_until(me.sends);
	end_reader(s);
	released();
}

static void odd(void)
{
	size_t len = 0, at = 1, n;
	/* the first one is of nothing, as a program may have it */
	struct iovec iov[4] = { { me.mem, 0 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 4 };
	int s = begin_reader();

	/* each of them has its own place, never to be used again */
	for (int i = 0; i < 40; i++) {
		len = 0;
		for (int k = 0; k < 3; k++) {
			n = 1 + (i * 7919 + k * 2677) % 20000;
			net_fill(me.mem + at, n, me.pos + len);
			iov[k + 1] = (struct iovec){ me.mem + at, n };
			at += n + 13;
			len += n;
		}
		if (sendmsg(me.fd, &msg, MSG_ZEROCOPY) != (ssize_t)len)
			net_fail("sendmsg");
		me.pos += len;
		me.sends++;
	}
	net_check(at < PIECES * PIECE, "room");
	end_reader(s);
	released();
}

static void end_full(const char *mode)
{
	struct linger now = { 1, 0 };
	struct result r;

	fill_for_good();
	if (!strcmp(mode, "kill"))
		kill(getpid(), SIGKILL);
	munmap(me.mem, PIECES * PIECE);
	net_check(!sealed() && errno == EBUSY, "nothing is held");
	if (!strcmp(mode, "abort"))
		setsockopt(me.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(me.fd);
	r = outcome(begin_reader());
	if (strcmp(mode, "abort"))
		net_check(r.bytes == me.pos, "number of bytes");
	released();
}

static void hold(void)
{
	fill_for_good();
	printf("full\n");
	fflush(stdout);
	hear_until(me.sends);
	released();
}

/* Locked memory is given back with the notifications. */
static void limit(void)
{
	struct rlimit little = { 5 * PIECE, 5 * PIECE };
	unsigned int first;
	int s;

	if (setrlimit(RLIMIT_MEMLOCK, &little) ||
	    setresuid(65534, 65534, 65534))
		net_fail("setresuid");
	fill_up(ENOBUFS);
	first = me.sends;
	s = begin_reader();
	hear_until(me.sends);
	for (unsigned int i = 0; i < first; i++) {
		if (send_piece(0) != PIECE)
			net_fail("send");
		hear_until(me.sends);
	}
	end_reader(s);
	released();
}

static ssize_t splice_some(int from, loff_t *off, size_t len)
{
	static int p[2];
	ssize_t n, k, done;

	if (!p[1] && pipe(p))
		net_fail("pipe");
	n = splice(from, off, p[1], NULL, len, 0);
	for (done = 0; done < n; done += k) {
		k = splice(p[0], NULL, me.fd, NULL, n - done, SPLICE_F_MORE);
		if (k <= 0)
			return k;
	}
	return n;
}

static void file(bool by_splice)
{
	size_t len = PIECES * PIECE;
	loff_t off = 100;
	int s = begin_reader();
	ssize_t n;

	/* the stream begins in the middle of a page */
	net_fill(me.mem + off, len - off, 0);
	while ((size_t)off < len) {
		if (by_splice)
			n = splice_some(me.file, &off, len - off);
		else
			n = sendfile(me.fd, me.file, &off, len - off);
		if (n <= 0)
			net_fail("sendfile");
		me.pos += n;
	}
	end_reader(s);
	released();
}

static void run(const char *mode)
{
	me.fd = dial('d');
	if (!strcmp(mode, "nonblock"))
		nonblock(false);
	else if (!strcmp(mode, "copied"))
		nonblock(true);
	else if (!strcmp(mode, "block"))
		block();
	else if (!strcmp(mode, "odd"))
		odd();
	else if (!strcmp(mode, "hold"))
		hold();
	else if (!strcmp(mode, "limit"))
		limit();
	else if (!strcmp(mode, "file") || !strcmp(mode, "splice"))
		file(!strcmp(mode, "splice"));
	else
		end_full(mode);
}

static void killed(void)
{
	pid_t pid = fork();

	if (!pid) {
		run("kill");
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	/* its sent data continues without it, as after close() */
	outcome(begin_reader());
	released();
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "serve")) {
		sem_init(&go, 0, 0);
		sem_init(&over, 0, 0);
		return serve(argv + 2, serve_one);
	}
	me.where = argv + 2;
	make_memory();
	if (!strcmp(argv[1], "kill"))
		killed();
	else
		run(argv[1]);
	printf("ok\n");
	return 0;
}
