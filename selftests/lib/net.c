// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sockets and peers of the test programs: see net.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

void net_fail(const char *what)
{
	printf("%s: %s\n", what, errno ? strerror(errno) : "wrong");
	exit(1);
}

void net_check(bool good, const char *what)
{
	if (good)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

socklen_t net_address(struct sockaddr_storage *ss, const char *host, int port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	if (inet_pton(AF_INET6, host, &sin6->sin6_addr) == 1) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		return sizeof(*sin6);
	}
	return 0;
}

void net_address4(struct sockaddr_in *sin, const char *host, const char *port)
{
	struct sockaddr_storage ss;

	if (net_address(&ss, host, atoi(port)) != sizeof(*sin)) {
		fprintf(stderr, "%s is no IPv4 address\n", host);
		exit(2);
	}
	memcpy(sin, &ss, sizeof(*sin));
}

int net_socket(int family)
{
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		net_fail("socket");
	return fd;
}

int net_listen(int fd, const void *sa, socklen_t len, int backlog)
{
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, sa, len))
		return -1;
	return listen(fd, backlog);
}

void net_listen4(int fd, const struct sockaddr_in *sin, int backlog)
{
	if (net_listen(fd, sin, sizeof(*sin), backlog))
		net_fail("listen");
	printf("listening\n");
	fflush(stdout);
}

int net_accept(int fd)
{
	int s = accept(fd, NULL, NULL);

	if (s < 0)
		net_fail("accept");
	return s;
}

void net_connect4(int fd, const struct sockaddr_in *sin)
{
	if (connect(fd, (const struct sockaddr *)sin, sizeof(*sin)))
		net_fail("connect");
}

/* Errors of accept() that the next call may not have. ENFILE: no memory for an inode. */
static bool passes(int err)
{
	return err == ECONNABORTED || err == EINTR || err == ENOMEM ||
	       err == ENOBUFS || err == ENFILE;
}

void net_serve(int fd, size_t stack, void *(*serve_one)(void *arg))
{
	pthread_attr_t attr;
	pthread_t thread;
	int s;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while ((s = accept(fd, NULL, NULL)) >= 0 || passes(errno))
		if (s >= 0 &&
		    pthread_create(&thread, &attr, serve_one, (void *)(long)s))
			close(s);
}

int net_wait(int fd, int events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

void net_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

bool net_send_all(int fd, const void *p, size_t len, int flags)
{
	const unsigned char *at = p;
	ssize_t n;

	for (; len; len -= n, at += n) {
		n = send(fd, at, len, flags);
		if (n < 0)
			return false;
	}
	return true;
}

bool net_recv_all(int fd, void *p, size_t len)
{
	unsigned char *at = p;
	ssize_t n;

	for (; len; len -= n, at += n) {
		n = recv(fd, at, len, 0);
		if (!n)
			errno = 0;
		if (n <= 0)
			return false;
	}
	return true;
}

uint64_t net_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

long net_ms(void)
{
	return net_ns() / 1000000;
}

unsigned char net_byte(uint64_t pos)
{
	return pos * 7 + (pos >> 8) + (pos >> 16);
}

void net_fill(unsigned char *p, size_t len, uint64_t pos)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = net_byte(pos + i);
}

bool net_good(const unsigned char *p, size_t len, uint64_t pos)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != net_byte(pos + i))
			return false;
	return true;
}
