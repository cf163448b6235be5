// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-fc: a sender, and a reader that reads on request, for flow control.
 * They talk over a file that both map, so that nothing but the test itself
 * uses the socket.
 *
 *	sdp-fc serve ADDRESS PORT FILE
 *	sdp-fc send ADDRESS PORT FILE COUNT SIZE
 *		COUNT sends of SIZE bytes to a reader that reads only, but
 *		then all, when no more are taken; prints "waited", how many
 *		bytes had not left then, and how often that was
 *	sdp-fc fill ADDRESS PORT FILE SIZE
 *		sends of SIZE bytes until no more are taken; prints "full",
 *		how many bytes that are and how many have not left, waits
 *		for a line, lets the reader go on, sees all arrive
 *	sdp-fc compute ADDRESS PORT FILE SIZE MS through|stalls
 *		as fill, but computes for MS milliseconds when the reader goes
 *		on, or longer: what is held up has to arrive meanwhile, or may
 *		not
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <linux/sdp.h>

#include "../lib/net.h"

#define PIECE 65536
#define LONG_MS 60000 /* nothing takes that long */

/* Messages between the two; @got starts at 0 with every connection */
static struct shared {
	_Atomic uint64_t got;
	_Atomic uint32_t go; /* the reader may read */
} * shm;

static unsigned char buf[PIECE];
static uint64_t sent;
static int fd;

static void map(const char *file)
{
	int f = open(file, O_RDWR | O_CREAT, 0600);

	if (f < 0 || ftruncate(f, sizeof(*shm)))
		net_fail(file);
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, f,
		   0);
	if (shm == MAP_FAILED)
		net_fail("mmap");
	close(f);
}

static void address(struct sockaddr_in *sin, char **argv)
{
	net_address4(sin, argv[0], argv[1]);
	fd = net_socket(AF_SDP);
}

/* Something is there, and may be read */
static void may_read(int s)
{
	struct pollfd p = { .fd = s, .events = POLLIN };

	if (poll(&p, 1, -1) < 0)
		net_fail("poll");
	while (!atomic_load(&shm->go))
		usleep(1000);
}

static void reader(int s)
{
	uint64_t got = 0;
	ssize_t n;

	atomic_store(&shm->got, 0);
	for (;;) {
		may_read(s);
		n = recv(s, buf, sizeof(buf), 0);
		if (n <= 0)
			break;
		if (!net_good(buf, n, got)) {
			errno = 0;
			net_fail("a byte");
		}
		got += n;
		atomic_store(&shm->got, got);
	}
	if (n < 0)
		net_fail("recv");
	close(s);
}

static void __attribute__((noreturn)) serve(char **argv)
{
	struct sockaddr_in sin;

	address(&sin, argv);
	net_listen4(fd, &sin, 5);
	for (;;)
		reader(net_accept(fd));
}

static void begin(char **argv)
{
	struct sockaddr_in sin;

	atomic_store(&shm->go, 0);
	address(&sin, argv);
	net_connect4(fd, &sin);
}

/* The next bytes of the stream; returns how many were taken */
static size_t send_some(size_t len, int flags)
{
	ssize_t n;

	net_fill(buf, len, sent);
	n = send(fd, buf, len, flags);
	if (n < 0 && errno != EAGAIN)
		net_fail("send");
	sent += n > 0 ? n : 0;
	return n > 0 ? n : 0;
}

static void all_read(void)
{
	long end = net_ms() + LONG_MS;

	while (atomic_load(&shm->got) != sent) {
		if (net_ms() > end) {
			printf("sent %llu, received %llu\n",
			       (unsigned long long)sent,
			       (unsigned long long)atomic_load(&shm->got));
			exit(1);
		}
		usleep(1000);
	}
}

/* Both ends finish; the reader does when it sees that we have */
static int finish(void)
{
	if (shutdown(fd, SHUT_WR) || recv(fd, buf, 1, 0))
		net_fail("end");
	all_read();
	printf("ok %llu\n", (unsigned long long)sent);
	return 0;
}

/* Bytes that have not been sent */
static int unsent(void)
{
	int n;

	if (ioctl(fd, SIOCOUTQNSD, &n))
		net_fail("SIOCOUTQNSD");
	return n;
}

static int do_send(char **argv)
{
	unsigned long count = strtoul(argv[3], NULL, 0), rounds = 0;
	size_t size = strtoul(argv[4], NULL, 0), done, n;
	unsigned long long waited = 0;

	begin(argv);
	for (; count; count--)
		for (done = 0; done < size; done += n) {
			n = send_some(size - done, MSG_DONTWAIT);
			if (n)
				continue;
			waited += unsent();
			rounds++;
			atomic_store(&shm->go, 1);
			all_read();
			atomic_store(&shm->go, 0);
		}
	printf("waited %llu %lu\n", waited, rounds);
	atomic_store(&shm->go, 1);
	return finish();
}

/*
 * Write until nothing is taken any more, and was not for a while: what the
 * transport holds at first it may pass on later.
 */
static void fill(size_t size)
{
	long quiet = net_ms();

	while (net_ms() - quiet < 500) {
		if (send_some(size, MSG_DONTWAIT))
			quiet = net_ms();
		else
			usleep(10000);
	}
}

static int do_fill(char **argv)
{
	char line[8];

	begin(argv);
	fill(strtoul(argv[3], NULL, 0));
	printf("full %llu %d\n", (unsigned long long)sent, unsent());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		net_fail("stdin");
	atomic_store(&shm->go, 1);
	return finish();
}

/*
 * No system call; on and on until @ms are over and the reader has all, or is at
 * rest for @rest
 */
static uint64_t compute(long ms, long rest)
{
	long end = net_ms() + ms, quiet = net_ms();
	uint64_t got = 0, now;

	while (net_ms() < end || net_ms() - quiet < rest) {
		now = atomic_load(&shm->got);
		if (now != got)
			quiet = net_ms();
		got = now;
		if (got == sent && net_ms() >= end)
			break;
	}
	return got;
}

static int do_compute(char **argv)
{
	bool stalls = !strcmp(argv[5], "stalls");
	struct pollfd p = { .events = POLLIN };
	uint64_t got;
	bool all;

	begin(argv);
	fill(strtoul(argv[3], NULL, 0));
	atomic_store(&shm->go, 1);
	got = compute(atol(argv[4]), stalls ? 500 : LONG_MS);
	printf("sent %llu, received while computing %llu\n",
	       (unsigned long long)sent, (unsigned long long)got);
	all = got >= sent;
	if (!got || stalls == all) {
		errno = 0;
		net_fail(argv[5]);
	}
	p.fd = fd;
	poll(&p, 1, 0);
	all_read();
	return finish();
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	map(argv[4]);
	if (!strcmp(argv[1], "serve"))
		serve(argv + 2);
	if (!strcmp(argv[1], "send") && argc == 7)
		return do_send(argv + 2);
	if (!strcmp(argv[1], "fill") && argc == 6)
		return do_fill(argv + 2);
	if (!strcmp(argv[1], "compute") && argc == 8)
		return do_compute(argv + 2);
	return 2;
}
