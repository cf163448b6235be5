// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many short and rude AF_SDP connections, to find what races:
 *
 *	sdp-stress serve|call ADDR PORT SECONDS PROCESSES [SEED]
 *
 * Every process opens (or accepts) one connection after the other and does
 * something random with it; now and then one is killed. The server also closes
 * its listener with requests pending and listens again. Errors are expected,
 * hanging is not: a process without progress for 30 seconds is a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../lib/net.h"

#define MAX_PROCESSES 64
#define WATCHDOG 30

/* Shared by all processes, updated without locks: a rough count is enough. */
struct counts {
	unsigned long connections;
	unsigned long failed;
	unsigned long sent;
	unsigned long received;
	unsigned long hung;
};

static struct counts *counts;
static struct sockaddr_storage addr;
static socklen_t addr_len;
static unsigned int seed;
static bool v6;

static unsigned int pick(unsigned int n)
{
	return rand_r(&seed) % n;
}

static double now(void)
{
	return net_ns() / 1e9;
}

static int new_socket(void)
{
	return socket(AF_SDP, SOCK_STREAM | SOCK_CLOEXEC,
		      v6 ? SDPPROTO_SDP6 : SDPPROTO_SDP);
}

static void on_alarm(int sig)
{
	static const char text[] = "sdp-stress: a process hangs\n";

	(void)sig;
	counts->hung++;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

/* ---- one connection ---- */

static char data[100000];

static void do_send(int fd)
{
	static const int flags[] = { 0, 0, MSG_MORE, MSG_OOB, MSG_EOR };
	size_t len = pick(3) ? 1 + pick(1000) : 1 + pick(sizeof(data));
	ssize_t n;

	n = send(fd, data, len, flags[pick(5)] | MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		counts->sent += n;
}

static void do_recv(int fd)
{
	static const int flags[] = { 0, 0, MSG_PEEK, MSG_OOB, MSG_TRUNC };
	ssize_t n;

	if (pick(2))
		net_wait(fd, POLLIN, pick(30));
	n = recv(fd, data, 1 + pick(sizeof(data)),
		 flags[pick(5)] | MSG_DONTWAIT);
	if (n > 0)
		counts->received += n;
}

static void do_option(int fd)
{
	struct linger linger = { .l_onoff = 1, .l_linger = pick(2) };
	int v = 1 + pick(100000);

	switch (pick(4)) {
	case 0:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		break;
	case 1:
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &v, sizeof(v));
		break;
	case 2:
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &v, sizeof(v));
		break;
	case 3:
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &v, sizeof(v));
		break;
	}
}

static void do_disconnect(int fd)
{
	struct sockaddr sa = { .sa_family = AF_UNSPEC };

	connect(fd, &sa, sizeof(sa));
}

static void play(int fd)
{
	int steps = pick(12);

	alarm(WATCHDOG);
	while (steps-- > 0) {
		switch (pick(16)) {
		case 0:
			shutdown(fd, pick(3));
			break;
		case 1:
			do_option(fd);
			break;
		case 2:
			if (!pick(4))
				do_disconnect(fd);
			break;
		case 3:
			usleep(pick(5000));
			break;
		case 4 ... 9:
			do_send(fd);
			break;
		default:
			do_recv(fd);
		}
	}
	close(fd);
}

/* ---- the processes ---- */

static void call(void)
{
	bool nonblock = pick(2);
	int fd = new_socket();

	if (fd < 0)
		return;
	alarm(WATCHDOG);
	if (nonblock)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	if (!connect(fd, (struct sockaddr *)&addr, addr_len)) {
		counts->connections++;
	} else if (nonblock && errno == EINPROGRESS) {
		/* some lose patience */
		if (pick(8) && net_wait(fd, POLLOUT, 2000))
			counts->connections++;
	} else {
		counts->failed++;
		usleep(pick(10000));
	}
	play(fd);
}

static void answer(int listener)
{
	int fd;

	alarm(WATCHDOG);
	if (!net_wait(listener, POLLIN, 1000))
		return;
	fd = accept(listener, NULL, NULL);
	if (fd < 0) {
		counts->failed++;
		return;
	}
	counts->connections++;
	play(fd);
}

static pid_t start(int listener)
{
	pid_t parent = getpid(), pid;

	seed += 7919;
	pid = fork();
	if (pid)
		return pid;
	/* a killed process must not leave anything that keeps the module */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGALRM, on_alarm);
	for (;;) {
		if (listener >= 0)
			answer(listener);
		else
			call();
	}
}

static int listen_now(void)
{
	int fd = new_socket(), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SDP, SDP_REUSEPORT, &on, sizeof(on));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (bind(fd, (struct sockaddr *)&addr, addr_len) ||
	    listen(fd, pick(10))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Runs @n processes until @end and kills one of them now and then. */
static void keep_busy(int n, int listener, double end)
{
	pid_t pid[MAX_PROCESSES];
	int i;

	for (i = 0; i < n; i++)
		pid[i] = start(listener);
	while (now() < end && !counts->hung) {
		usleep(20000);
		if (pick(4))
			continue;
		i = pick(n);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		pid[i] = start(listener);
	}
	for (i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < n; i++)
		waitpid(pid[i], NULL, 0);
}

static void serve(int n, double end)
{
	double until;
	int fd;

	while (now() < end && !counts->hung) {
		fd = listen_now();
		if (fd < 0) {
			counts->failed++;
			usleep(50000);
			continue;
		}
		until = now() + 0.5 + pick(3000) / 1000.0;
		keep_busy(n, fd, until < end ? until : end);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	double end;
	int n;

	if (argc < 6) {
		fprintf(stderr,
			"usage: sdp-stress serve|call ADDR PORT SECONDS PROCESSES [SEED]\n");
		return 2;
	}
	addr_len = net_address(&addr, argv[2], atoi(argv[3]));
	if (!addr_len)
		return 2;
	v6 = addr.ss_family == AF_INET6;
	end = now() + atof(argv[4]);
	n = atoi(argv[5]);
	if (n < 1 || n > MAX_PROCESSES)
		n = MAX_PROCESSES;
	seed = argc > 6 ? (unsigned int)atoi(argv[6]) :
			  (unsigned int)time(NULL);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	printf("seed %u\n", seed);
	fflush(stdout);

	if (!strcmp(argv[1], "serve"))
		serve(n, end);
	else
		keep_busy(n, -1, end);
	printf("connections %lu failed %lu sent %lu received %lu hung %lu\n",
	       counts->connections, counts->failed, counts->sent,
	       counts->received, counts->hung);
	return counts->hung ? 1 : 0;
}
