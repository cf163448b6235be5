// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-shared: sends that are interrupted, fault, wait or are delayed. A server checks every
 * byte.
 *
 *	sdp-shared serve ADDRESS PORT [SLEEP_MS [odd]]
 *	sdp-shared fault|fresh|signal|more|cork|nodelay|late|grow ADDRESS PORT
 *
 * The server takes one connection, sleeps, reads to the end ("odd": into places
 * of odd lengths, some with holes), and answers with the number of bytes. The
 * client prints "ok", or what was wrong; "slow" before it if pieces that belong
 * together came too late for that.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>
#include <linux/sockios.h>

#include "../lib/net.h"

#define PAGE 4096
#define BIG (4u << 20)

static uint64_t sent;
static int fd;

static void *pages(size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		net_fail("mmap");
	return p;
}

/*
 * A read of an odd length to an odd place. Nothing is written past what was
 * asked for; every other one ends in a hole in the middle, and loses nothing.
 */
static ssize_t recv_odd(unsigned int i, unsigned char **at)
{
	static const size_t sizes[] = { 1,    4,    100,  508,	 512,
					1448, 4096, 5002, 20000, 65536 };
	static const unsigned char guard[16] = "nothing written";
	static unsigned char *mem;
	size_t len = sizes[i / 2 % 10] + i / 20 % 8;
	size_t ok = i % 2 ? len : len / 2;
	ssize_t n;

	if (!mem) {
		mem = pages(BIG, PROT_READ | PROT_WRITE);
		if (munmap(mem + BIG / 2, BIG / 2))
			net_fail("munmap");
	}
	*at = mem + i % 13;
	if (ok < len)
		*at = mem + BIG / 2 - ok;
	else
		memcpy(*at + len, guard, sizeof(guard));
	n = recv(fd, *at, len, 0);
	net_check(n <= (ssize_t)ok && (n >= 0 || errno == EFAULT),
		  "a read that ends in a hole");
	if (ok == len)
		net_check(n >= 0 && !memcmp(*at + len, guard, sizeof(guard)),
			  "memory after a read");
	return n;
}

static int serve(char **argv)
{
	static unsigned char buf[1 << 16];
	int odd = argv[2] && argv[3];
	unsigned char *at = buf;
	unsigned int calls = 0;
	int l = net_socket(AF_SDP);
	struct sockaddr_in sin;
	uint64_t got = 0;
	ssize_t n;

	net_address4(&sin, argv[0], argv[1]);
	net_listen4(l, &sin, 1);
	fd = net_accept(l);
	if (argv[2])
		usleep(atoi(argv[2]) * 1000);
	while ((n = odd ? recv_odd(calls++, &at) :
			  recv(fd, buf, sizeof(buf), 0)) > 0 ||
	       (odd && n < 0)) {
		if (n > 0) {
			net_check(net_good(at, n, got), "a byte received");
			got += n;
		}
	}
	if (n < 0)
		net_fail("recv");
	if (send(fd, &got, sizeof(got), 0) != sizeof(got))
		net_fail("send");
	close(fd);
	return 0;
}

/* A hole after @ok bytes of the buffer */
static void one_fault(size_t ok)
{
	unsigned char *p =
		pages(ok + PAGE - ok % PAGE + PAGE, PROT_READ | PROT_WRITE);
	size_t end = ok + PAGE - ok % PAGE;
	ssize_t n;

	if (ok % PAGE == 0)
		end = ok;
	if (munmap(p + end, PAGE))
		net_fail("munmap");
	net_fill(p + end - ok, ok, sent);
	n = send(fd, p + end - ok, ok + 100, 0);
	net_check(n > 0 ? (size_t)n <= ok : n < 0 && errno == EFAULT,
		  "a send that ends in a hole");
	if (n > 0)
		sent += n;
	net_check(send(fd, p + end, 100, 0) < 0 && errno == EFAULT,
		  "a send out of a hole");
	munmap(p, end);
}

static void send_all(const unsigned char *p, size_t len, int flags)
{
	if (!net_send_all(fd, p, len, flags))
		net_fail("send");
	sent += len;
}

static void do_fault(void)
{
	static const size_t sizes[] = { 1,	  100,	 PAGE,	5000,
					3 * PAGE, 65536, 70001, 1 << 20 };
	unsigned char buf[1000];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		one_fault(sizes[i]);
		net_fill(buf, sizeof(buf), sent);
		send_all(buf, sizeof(buf), 0);
	}
}

/* Pages that are present only after they are touched */
static void do_fresh(void)
{
	int mem = memfd_create("fresh", 0), i;
	unsigned char *p;

	if (mem < 0 || ftruncate(mem, BIG))
		net_fail("memfd");
	p = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	if (p == MAP_FAILED)
		net_fail("mmap");
	net_fill(p, BIG, 0);
	munmap(p, BIG);
	for (i = 0; i < 4; i++) {
		p = mmap(NULL, BIG / 4, PROT_READ, MAP_SHARED, mem,
			 i * (BIG / 4));
		if (p == MAP_FAILED)
			net_fail("mmap");
		madvise(p, BIG / 4, MADV_RANDOM);
		send_all(p, BIG / 4, 0);
		munmap(p, BIG / 4);
	}
}

static void nothing(int sig)
{
	(void)sig;
}

/* The server sleeps: a blocking send is interrupted in the middle. */
static void do_signal(void)
{
	/* again and again: the first may come before the send */
	struct itimerval t = {
		.it_value.tv_usec = 200000,
		.it_interval.tv_usec = 200000,
	};
	struct sigaction sa = { .sa_handler = nothing };
	unsigned char *p = pages(BIG, PROT_READ | PROT_WRITE);
	int size = 65536;
	ssize_t n;

	/* one that does not grow, or all might fit in */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)))
		net_fail("SO_SNDBUF");
	net_fill(p, BIG, 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	n = send(fd, p, BIG, 0);
	net_check(n > 0 && n < (ssize_t)BIG, "an interrupted send is short");
	sent = n;
	setitimer(ITIMER_REAL, &t, NULL);
	n = send(fd, p + sent, BIG - sent, 0);
	net_check(n < 0 ? errno == EINTR : n > 0, "the next one");
	if (n > 0)
		sent += n;
	/* it may not have been needed: not in what follows */
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	send_all(p + sent, BIG - sent, 0);
}

static void set_option(int name, int on)
{
	if (setsockopt(fd, IPPROTO_TCP, name, &on, sizeof(on)))
		net_fail("setsockopt");
}

static long long now_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/*
 * Ten pieces with MSG_MORE are one message; so are those that a cork held, but
 * TCP_NODELAY lets go what is there so far.
 */
static void do_more(int cork, int nodelay)
{
	/* of the last tick, from which timers count */
	long long start = now_ms(CLOCK_MONOTONIC_COARSE);
	unsigned char buf[100];
	int i;

	if (cork)
		set_option(TCP_CORK, 1);
	for (i = 0; i < 10; i++) {
		if (nodelay && i == 5)
			set_option(TCP_NODELAY, 1);
		net_fill(buf, sizeof(buf), sent);
		send_all(buf, sizeof(buf), cork || i == 9 ? 0 : MSG_MORE);
	}
	if (cork)
		set_option(TCP_CORK, 0);
	/*
	 * Nothing is delayed for longer than 200 ms, by timers: ticks of a busy
	 * machine can come late, and then many at once.
	 */
	if (now_ms(CLOCK_MONOTONIC) - start > 80)
		printf("slow\n");
}

/* Nothing follows what was sent with MSG_MORE: it goes all the same */
static void do_late(void)
{
	unsigned char buf[100];
	int left = -1, i;

	net_fill(buf, sizeof(buf), sent);
	send_all(buf, sizeof(buf), MSG_MORE);
	for (i = 0; i < 2000 && left; i++) {
		usleep(10000);
		if (ioctl(fd, SIOCOUTQ, &left))
			net_fail("SIOCOUTQ");
	}
	net_check(!left, "delayed data arrives");
}

/* Sizes of all kinds, with a segment of the stream in each alignment */
static void do_grow(void)
{
	unsigned char *p = pages(1 << 17, PROT_READ | PROT_WRITE);
	size_t len;

	for (len = 1; len < 1 << 17; len += len / 7 + 1) {
		net_fill(p, len, sent);
		send_all(p, len, 0);
	}
}

static void finish(void)
{
	uint64_t got = 0;

	if (shutdown(fd, SHUT_WR))
		net_fail("shutdown");
	if (recv(fd, &got, sizeof(got), MSG_WAITALL) != sizeof(got))
		net_fail("recv");
	net_check(got == sent, "the number of bytes");
	close(fd);
	puts("ok");
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin;

	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "serve"))
		return serve(argv + 2);
	net_address4(&sin, argv[2], argv[3]);
	fd = net_socket(AF_SDP);
	net_connect4(fd, &sin);
	if (!strcmp(argv[1], "fault"))
		do_fault();
	else if (!strcmp(argv[1], "fresh"))
		do_fresh();
	else if (!strcmp(argv[1], "signal"))
		do_signal();
	else if (!strcmp(argv[1], "more") || !strcmp(argv[1], "cork"))
		do_more(argv[1][0] == 'c', 0);
	else if (!strcmp(argv[1], "nodelay"))
		do_more(1, 1);
	else if (!strcmp(argv[1], "late"))
		do_late();
	else if (!strcmp(argv[1], "grow"))
		do_grow();
	else
		return 2;
	finish();
	return 0;
}
