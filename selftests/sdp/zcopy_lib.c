// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common code of the programs that test zero copy, see zcopy_lib.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "zcopy_lib.h"

void fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

void check(int good, const char *what)
{
	if (good)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

/* The byte at a place of the stream */
static unsigned char byte_at(uint64_t pos)
{
	return pos * 7 + (pos >> 8) + (pos >> 16);
}

void fill(unsigned char *p, size_t len, uint64_t pos)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = byte_at(pos + i);
}

bool good(const unsigned char *p, size_t len, uint64_t pos)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != byte_at(pos + i))
			return false;
	return true;
}

unsigned char *map(size_t len, bool file)
{
	int f = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS, tries = 0;
	void *p;

	if (file) {
		f = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		if (f < 0 || ftruncate(f, len))
			fail("file");
		flags = MAP_SHARED;
	}
	/* allocations of the kernel may be made to fail, now and then */
	do {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, f, 0);
	} while (p == MAP_FAILED && errno == ENOMEM && tries++ < 20);
	if (p == MAP_FAILED)
		fail("mmap");
	if (f >= 0)
		close(f);
	return p;
}

void address(struct sockaddr_in *sin, char **argv)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(atoi(argv[1]));
	if (inet_pton(AF_INET, argv[0], &sin->sin_addr) != 1)
		exit(2);
}

/* Of accept(): the next one may be better. ENFILE: no memory for an inode. */
static bool passes(int err)
{
	return err == ECONNABORTED || err == EINTR || err == ENOMEM ||
	       err == ENOBUFS || err == ENFILE;
}

int serve(char **argv, void *(*serve_one)(void *arg))
{
	int l = socket(AF_SDP, SOCK_STREAM, SDPPROTO_SDP), one = 1;
	struct sockaddr_in sin;
	pthread_t thread;
	int s;

	address(&sin, argv);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (l < 0 || bind(l, (struct sockaddr *)&sin, sizeof(sin)) ||
	    listen(l, 16))
		fail("listen");
	printf("listening\n");
	fflush(stdout);
	while ((s = accept(l, NULL, NULL)) >= 0 || passes(errno))
		if (s >= 0 &&
		    pthread_create(&thread, NULL, serve_one, (void *)(long)s))
			close(s);
	return 1;
}
