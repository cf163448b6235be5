// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-append: many small sends to a reader that sleeps.
 *
 *   sdp-append -s -h ADDRESS -p PORT [-f FAMILY] [-r RCVBUF] -w FIFO
 *	accepts one connection and reads nothing until FIFO is opened for
 *	writing; then reads to the end of the stream and checks every byte
 *   sdp-append -h ADDRESS -p PORT [-f FAMILY] [-e] [-i FILL] -n COUNT -m SIZE
 *	sends COUNT times SIZE bytes, into a send buffer that takes them all;
 *	-e: with MSG_EOR; -i: FILL bytes before them, by one call
 *
 * The first prints "BYTES NANOSECONDS" when it has read everything; looking at
 * the bytes is not part of the time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/net.h"

#define BUFFER (256 << 10)
#define STREAM_MAX (32 << 20)

static char buf[BUFFER];
static char stream[STREAM_MAX];

/* The byte at a position of the stream; no power of two is a period */
static char pattern(unsigned long long pos)
{
	return pos % 251;
}

static int fail(const char *what)
{
	fprintf(stderr, "sdp-append: %s: %s\n", what, strerror(errno));
	return 1;
}

static int drain(int fd)
{
	long long start, end;
	size_t len = 0;
	ssize_t n;

	/* page faults are no part of it, either */
	memset(stream, 1, sizeof(stream));
	start = net_ns();
	while ((n = recv(fd, stream + len, sizeof(stream) - len, 0)) > 0)
		len += n;
	end = net_ns();
	if (n < 0)
		return fail("recv");
	for (size_t i = 0; i < len; i++) {
		if (stream[i] == pattern(i))
			continue;
		fprintf(stderr, "sdp-append: byte %zu is wrong\n", i);
		return 1;
	}
	printf("%zu %lld\n", len, end - start);
	return 0;
}

static int server(int l, const struct sockaddr_in *sa, const char *fifo)
{
	int fd;

	if (net_listen(l, sa, sizeof(*sa), 1))
		return fail("listen");
	fd = accept(l, NULL, NULL);
	if (fd < 0)
		return fail("accept");
	if (open(fifo, O_RDONLY) < 0)
		return fail(fifo);
	return drain(fd);
}

/* The next bytes of the stream, by one call */
static int put(int fd, int size, int flags)
{
	static unsigned long long pos;

	for (int k = 0; k < size; k++)
		buf[k] = pattern(pos++);
	return send(fd, buf, size, MSG_NOSIGNAL | flags) == size ? 0 : -1;
}

static int client(int fd, const struct sockaddr_in *sa, int fill, int count,
		  int size, int flags)
{
	int room = 64 << 20;
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)))
		return fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fill && put(fd, fill, 0))
		return fail("send");
	for (int i = 0; i < count; i++) {
		if (put(fd, size, flags))
			return fail("send");
	}
	/* the end of the stream reaches the reader after the data */
	if (shutdown(fd, SHUT_WR))
		return fail("shutdown");
	printf("sent\n");
	fflush(stdout);
	if (recv(fd, buf, 1, 0) < 0)
		return fail("recv");
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int c, fd, family = 27, count = 0, size = 0, rcvbuf = 0, flags = 0;
	int fill = 0;
	const char *fifo = NULL;
	bool srv = false;

	while ((c = getopt(argc, argv, "seh:p:f:i:r:w:n:m:")) != -1) {
		if (c == 's')
			srv = true;
		else if (c == 'e')
			flags = MSG_EOR;
		else if (c == 'p')
			sa.sin_port = htons(atoi(optarg));
		else if (c == 'f')
			family = atoi(optarg);
		else if (c == 'i')
			fill = atoi(optarg);
		else if (c == 'r')
			rcvbuf = atoi(optarg);
		else if (c == 'w')
			fifo = optarg;
		else if (c == 'n')
			count = atoi(optarg);
		else if (c == 'm')
			size = atoi(optarg);
		else if (c != 'h' ||
			 inet_pton(AF_INET, optarg, &sa.sin_addr) != 1)
			return 2;
	}
	if (srv ? !fifo : count <= 0 || size <= 0 || size > BUFFER)
		return 2;
	if (fill < 0 || fill > BUFFER)
		return 2;
	fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0)
		return fail("socket");
	if (rcvbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)))
		return fail("SO_RCVBUF");
	return srv ? server(fd, &sa, fifo) :
		     client(fd, &sa, fill, count, size, flags);
}
